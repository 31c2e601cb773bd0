package redact

import "strings"

// flag hides what stands behind a flag of a command, as in --password hunter2, --password "a b" and ["--password", "a b"], unless that
// is the next flag or the name of a header.
func (t *scanner) flag(from, end int) int {
	s, i := t.s, end
	listed := false // each in quotes of its own
	if q := skipBackslashes(s, i); at(s, q) == '"' || at(s, q) == '\'' {
		if i, listed = q+1, true; at(s, i) == ',' {
			i++
		}
	}
	i, spaced := skipSpaces(s, i), i
	if i == spaced && (!listed || s[i-1] != ',') || i == len(s) {
		return end
	}
	q := skipBackslashes(s, i)
	quoted := at(s, q) == '"' || at(s, q) == '\''
	if listed && !quoted {
		return end
	}
	if !quoted {
		q = i - 1 // of no quote
	}
	if value := s[q+1:]; value == "" || value[0] == '-' || strings.HasPrefix(value, Mask) || !t.m.Name(s[from:end]) {
		return end
	}
	if quoted {
		to := quoteEnd(s, q, q-i)
		if to < len(s) {
			to -= q - i
		}
		return t.hide(q+1, to, Mask)
	}
	to := beforeNext(s, i, runEnd(s, i, &bare))
	if strings.IndexByte("([{|.,:", s[i]) >= 0 { // of a description
		return end
	}
	if s[to-1] == ':' && at(s, to) == ' ' {
		if name := s[i : to-1]; wordEnd(s, i) == to-1 && (headerLine(name) || t.certain(name)) {
			return end // --header Authorization: Token X
		}
	}
	return t.hide(i, beforeName(s, i, to), Mask)
}
