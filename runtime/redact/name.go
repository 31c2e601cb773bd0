package redact

import (
	"bytes"
	"strings"
)

// parts of names whose values are secret, folded, by their first byte. API_KEY and APIKEY hold KEY.
var parts = byFirst("TOKEN KEY SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL CONNECTION_STRING CONNECTIONSTRING PRIVATE AUTH DSN COOKIE SESSION")

// words are secret as one word of several.
var words = byFirst("PWD PASS")

func byFirst(list string) (by [256][]string) {
	for s := range strings.FieldsSeq(list) {
		by[s[0]] = append(by[s[0]], s)
	}
	return by
}

// Name reports whether what goes by a name is secret whatever it looks like.
func (m Masker) Name(name string) bool {
	var room [64]byte
	folded := fold(room[:0], name)
	for i, c := range folded {
		for _, part := range parts[c] {
			if hasPrefix(folded[i:], part) {
				return true
			}
		}
		for _, word := range words[c] {
			if hasPrefix(folded[i:], word) && oneOfSeveral(folded, i, i+len(word)) {
				return true
			}
		}
	}
	for _, part := range m.Names {
		if part != "" && bytes.Contains(folded, fold(nil, part)) {
			return true
		}
	}
	return false
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// oneOfSeveral reports whether name[from:to] is one of several words: PWD of DB_PWD and PWD_FILE, and
// neither of PWD nor of OLDPWD.
func oneOfSeveral(name []byte, from, to int) bool {
	return to-from < len(name) && (from == 0 || name[from-1] == '_') && (to == len(name) || name[to] == '_')
}

// fold appends a name in capitals, with an underscore for whatever separates words.
func fold(to []byte, name string) []byte {
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case c == '-' || c == '.' || c == ' ':
			c = '_'
		}
		to = append(to, c)
	}
	return to
}
