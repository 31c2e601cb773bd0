package decode

import (
	"bytes"
	"encoding"
	"slices"
	"strconv"
)

// Map reads an object with arbitrary names into a map. key converts a name to a key and reports
// whether it is valid. read reads the value.
func Map[M ~map[K]V, K comparable, V any](
	r *Reader, v *M, key func(*Reader, []byte, *K) bool, read func(*Reader, *V),
) {
	if !r.begin(objectKind, "object") {
		return
	}
	if f := r.open(); f != nil {
		r.fail(f)
		return
	}
	m := M{}
	var names nameSet
	depth, keys := len(r.at), 0
	for first := true; ; first = false {
		r.at = r.at[:depth]
		name, more := r.member(first, &names)
		if !more {
			break
		}
		var k K
		var value V
		known := key(r, name, &k)
		if read(r, &value); known {
			m[k] = value
			keys++
		}
	}
	if keys > len(m) {
		r.report(nil, SameKeyMessage) // one of the values would be lost
	}
	*v = m
}

// member steps to the next property of an object of any names. Its value must be read next.
func (r *Reader) member(first bool, names *nameSet) ([]byte, bool) {
	if r.fault != nil {
		return nil, false
	}
	more, f := r.more('}', first)
	if f != nil {
		r.fail(f)
		return nil, false
	}
	if !more {
		return nil, false
	}
	name, f := r.name()
	if f == nil && !names.add(name) {
		f = twice(name)
	}
	if f != nil {
		r.fail(f)
		return nil, false
	}
	r.at = append(r.at, step{name: name})
	return name, true
}

// StringKey accepts every name.
func StringKey[K ~string](_ *Reader, name []byte, k *K) bool {
	*k = K(name)
	return true
}

// EnumKey accepts the names that are constants of the key's type.
func EnumKey[K ~string](r *Reader, name []byte, k *K, choices ...string) bool {
	*k = K(name)
	if slices.Contains(choices, string(*k)) {
		return true
	}
	r.report(nil, "is not a valid name: it "+EnumMessage(quoteAll(choices)))
	return false
}

// IntKey accepts names that are integers as encoding/json writes them, without unnecessary signs
// and zeros.
func IntKey[K Signed](r *Reader, name []byte, k *K) bool {
	if n, err := strconv.ParseInt(string(name), 10, 64); err == nil {
		*k = K(n)
		if int64(*k) == n && strconv.FormatInt(n, 10) == string(name) {
			return true
		}
	}
	r.badKey(name, true)
	return false
}

// UintKey is IntKey for types without a sign.
func UintKey[K Unsigned](r *Reader, name []byte, k *K) bool {
	if n, err := strconv.ParseUint(string(name), 10, 64); err == nil {
		*k = K(n)
		if uint64(*k) == n && strconv.FormatUint(n, 10) == string(name) {
			return true
		}
	}
	r.badKey(name, false)
	return false
}

// TextKey accepts the names that the UnmarshalText method of the key's type accepts.
func TextKey[K comparable, P interface {
	*K
	encoding.TextUnmarshaler
}](r *Reader, name []byte, k *K) bool {
	err := P(k).UnmarshalText(bytes.Clone(name))
	if err != nil {
		r.report(nil, BadNameMessage+r.describeRefused(err))
	}
	return err == nil
}

// badKey reports a name that is not a number, or a number that the key's type cannot hold.
func (r *Reader) badKey(name []byte, signed bool) {
	digits := name
	if signed && len(digits) > 1 && digits[0] == '-' {
		digits = digits[1:]
	}
	whole := len(digits) > 0 && (digits[0] != '0' || len(name) == 1)
	for _, c := range digits {
		whole = whole && isDigit(c)
	}
	if whole {
		r.report(nil, BadIndexMessage)
	} else {
		r.report(nil, "unknown property")
	}
}
