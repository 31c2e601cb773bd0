package decode

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Any reads a value as encoding/json does: into a map[string]any, []any, string, float64, bool or
// nil. The value must have one of the types, named as in JSON Schema. No types allow all.
func (r *Reader) Any(v *any, types ...string) {
	if r.fault != nil {
		return
	}
	k, f := r.kind()
	if f != nil {
		r.fail(f)
		return
	}
	if !r.isOf(k, types) {
		r.mismatch(k, types...)
		return
	}
	r.orNull = false
	r.any(k, v)
}

// isOf reports whether the value that stands next, of kind k, has one of the types.
func (r *Reader) isOf(k kind, types []string) bool {
	is := Value(r.doc[r.pos:]).Type()
	if len(types) == 0 || slices.Contains(types, is) {
		return true
	}
	if k != numberKind || !slices.Contains(types, "integer") {
		return false
	}
	ahead := r.lexer
	number, f := ahead.number()
	// the reader of the number reports the fault
	return f != nil || parseDecimal(number).isInteger()
}

func (r *Reader) any(k kind, v *any) {
	switch k {
	case stringKind:
		raw, escaped, f := r.lexer.text()
		if f != nil {
			r.fail(f)
			return
		}
		if escaped {
			raw = unescape(raw)
		}
		*v = string(raw)
	case numberKind:
		number, f := r.lexer.number()
		if f != nil {
			r.fail(f)
			return
		}
		n, err := strconv.ParseFloat(string(number), 64)
		if err != nil {
			r.report(number, SaysFloatRange(64))
		}
		*v = n
	case arrayKind:
		r.anyList(v)
	case objectKind:
		r.anyObject(v)
	default:
		start := r.pos
		if f := r.lexer.word(); f != nil {
			r.fail(f)
			return
		}
		if c := r.doc[start]; c != 'n' {
			*v = c == 't'
		}
	}
}

func (r *Reader) anyList(v *any) {
	if f := r.open(); f != nil {
		r.fail(f)
		return
	}
	list := []any{}
	r.at = append(r.at, step{})
	for items := (elements{r: r}); items.next(); {
		list = append(list, nil)
		r.Any(&list[len(list)-1])
	}
	*v = list
}

func (r *Reader) anyObject(v *any) {
	if f := r.open(); f != nil {
		r.fail(f)
		return
	}
	object := map[string]any{}
	var names nameSet
	depth := len(r.at)
	for first := true; ; first = false {
		r.at = r.at[:depth]
		name, more := r.member(first, &names)
		if !more {
			break
		}
		var value any
		r.Any(&value)
		object[string(name)] = value
	}
	*v = object
}

// Raw copies the JSON text of a value. types are as for Any.
func (r *Reader) Raw(v *json.RawMessage, types ...string) {
	if r.fault != nil {
		return
	}
	k, f := r.kind()
	if f == nil && !r.isOf(k, types) {
		r.mismatch(k, types...)
		return
	}
	if f == nil {
		start := r.pos
		if f = skipKind(&r.lexer, k); f == nil {
			*v = append(json.RawMessage(nil), r.doc[start:r.pos]...)
		}
	}
	if f != nil {
		r.fail(f)
	}
	r.orNull = false
}
