package redact

import "strings"

// parts of names whose values are secret, folded, by their first byte. API_KEY and APIKEY hold KEY.
var parts = byFirst("TOKEN KEY SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL " +
	"CONNECTION_STRING CONNECTIONSTRING PRIVATE AUTH DSN COOKIE SESSION PWD")

// words are secret as one word of several.
var words = byFirst("PASS")

// lasts are secret as the last word of several: X-Jwt, and not JWT_ISSUER.
var lasts = [...]string{"_JWT", "_BEARER", "_OTP"}

func byFirst(list string) (by [256][]string) {
	for s := range strings.FieldsSeq(list) {
		by[s[0]] = append(by[s[0]], s)
	}
	return by
}

// likeASCII replaces the two letters outside of ASCII that fold to ASCII ones, as encoding/json
// does.
var likeASCII = strings.NewReplacer("\u017f", "s", "\u212a", "k")

// Name reports whether every value with this name is secret.
func (m Masker) Name(name string) bool {
	if strings.Contains(name, "\u017f") || strings.Contains(name, "\u212a") {
		name = likeASCII.Replace(name)
	}
	var room [64]byte
	folded := fold(room[:0], name)
	for i, c := range folded {
		for _, part := range parts[c] {
			if hasPrefix(folded[i:], part) && (part != "PWD" || !directory(folded)) {
				return true
			}
		}
		for _, word := range words[c] {
			to := i + len(word)
			if hasPrefix(folded[i:], word) && (oneOfSeveral(folded, i, to) || humped(name, i, to)) {
				return true
			}
		}
	}
	for _, word := range lasts {
		if hasSuffix(folded, word) {
			return true
		}
	}
	for _, part := range m.Names {
		if part != "" && containsFolded(folded, part) {
			return true
		}
	}
	return false
}

func hasSuffix(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// directory reports whether a folded name is that of a working directory.
func directory(name []byte) bool {
	return string(name) == "PWD" || hasSuffix(name, "OLDPWD") || hasSuffix(name, "OLD_PWD")
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

// containsFolded reports whether a folded name contains a part, folded or not.
func containsFolded(folded []byte, part string) bool {
	for i := 0; i+len(part) <= len(folded); i++ {
		n := 0
		for n < len(part) && folded[i+n] == foldedByte(part[n]) {
			n++
		}
		if n == len(part) {
			return true
		}
	}
	return false
}

// fold appends a name in capitals, with an underscore between words.
func fold(to []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		to = append(to, foldedByte(name[i]))
	}
	return to
}

func foldedByte(c byte) byte {
	switch {
	case lower(c):
		return c - ('a' - 'A')
	case c == '-' || c == '.' || c == ' ':
		return '_'
	}
	return c
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
