package redact

import (
	"bytes"
	"strings"
)

// parts of names whose values are secret, folded, by their first byte. API_KEY and APIKEY hold KEY.
// PASS is secret as one word of several, and the parts with an underscore as the last one: X-Jwt,
// and not JWT_ISSUER.
var parts = func() (by [256][]string) {
	for s := range strings.FieldsSeq("TOKEN KEY SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL " +
		"CONNECTION_STRING CONNECTIONSTRING PRIVATE AUTH DSN COOKIE SESSION PWD PASS " +
		"_JWT _BEARER _OTP") {
		by[s[0]] = append(by[s[0]], s)
	}
	return by
}()

// likeASCII replaces the two letters outside of ASCII that fold to ASCII ones, as encoding/json
// does.
var likeASCII = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// Name reports whether every value with this name is secret.
func (m Masker) Name(name string) bool {
	if strings.Contains(name, "\u017f") || strings.Contains(name, "\u212a") {
		name = likeASCII.Replace(name)
	}
	var room, more [64]byte
	folded := fold(room[:0], name)
	for i, c := range folded {
		for _, part := range parts[c] {
			to := i + len(part)
			if to > len(folded) || string(folded[i:to]) != part {
				continue
			}
			if c == '_' && to < len(folded) || part == "PWD" && directory(folded) ||
				part == "PASS" && !oneOfSeveral(folded, i, to) && !humped(name, i, to) {
				continue
			}
			return true
		}
	}
	for _, part := range m.Names {
		if part != "" && bytes.Contains(folded, fold(more[:0], part)) {
			return true
		}
	}
	return false
}

// directory reports whether a folded name is that of a working directory.
func directory(name []byte) bool {
	return string(name) == "PWD" || bytes.HasSuffix(name, []byte("OLDPWD")) ||
		bytes.HasSuffix(name, []byte("OLD_PWD"))
}

// oneOfSeveral reports whether name[from:to] is one of several words: PASS of DB_PASS and
// PASS_FILE, and neither of PASS nor of BYPASS.
func oneOfSeveral(name []byte, from, to int) bool {
	return to-from < len(name) && (from == 0 || name[from-1] == '_') &&
		(to == len(name) || name[to] == '_')
}

// humped is oneOfSeveral where capitals separate the words: Pass of dbPass and passFile.
func humped(name string, from, to int) bool {
	inner := strings.Trim(name[from+1:to], "abcdefghijklmnopqrstuvwxyz") == ""
	begins := from == 0 || lower(name[from-1]) && !lower(name[from]) || name[from-1] == '_'
	ends := to == len(name) || !lower(name[to])
	return inner && begins && ends && to-from < len(name)
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// fold appends a name in capitals, with an underscore between words.
func fold(to []byte, name string) []byte {
	for i := range len(name) {
		switch c := name[i]; {
		case lower(c):
			to = append(to, c-('a'-'A'))
		case c == '-' || c == '.' || c == ' ':
			to = append(to, '_')
		default:
			to = append(to, c)
		}
	}
	return to
}

// isOne reports whether a word is one of some words, in any case.
func isOne(word string, of ...string) bool {
	for _, known := range of {
		if strings.EqualFold(word, known) {
			return true
		}
	}
	return false
}

// measure reports whether a name stands for a number or a duration and the value is one:
// max_tokens=4096, session_timeout: 30m, "password_length":12.
func measure(name, value string) bool {
	const longest = len("999999999ms")
	if len(value) > longest || !quantity(name) {
		return false
	}
	value = strings.TrimRight(value, ".,")
	digits := strings.TrimLeft(value, "0123456789")
	switch digits {
	case "", "ns", "us", "ms", "s", "m", "h", "d":
		return len(value) > len(digits) && len(value)-len(digits) < 10
	}
	return false
}

// quantity reports whether a name ends in a word for a quantity.
func quantity(name string) bool {
	for _, word := range [...]string{
		"tokens", "timeout", "ttl", "age", "lifetime", "expiry", "length", "interval", "count",
		"limit", "size", "attempts",
	} {
		if at := len(name) - len(word); at > 0 && strings.EqualFold(name[at:], word) {
			return true
		}
	}
	return false
}
