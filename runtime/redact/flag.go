package redact

import (
	"encoding/json"
	"fmt"
	"strings"
)

// flag hides the value after a flag of a command, as in --password hunter2, --password "a b" and
// ["--password", "a b"], unless that is the next flag or the name of a header. The items of a list
// may be on lines of their own, and a flag in a list may have one hyphen.
func (t *scanner) flag(from, end int) int {
	s, i := t.s, end
	first := from // of the item of a list
	listed, comma := false, false
	// each in quotes of its own
	if q := skipBackslashes(s, i); at(s, q) == '"' || at(s, q) == '\'' {
		first -= q + 1 - i
		i, listed = q+1, true
		if comma = at(s, i) == ','; comma {
			i++
		}
	}
	if !comma && s[from+1] != '-' {
		return end
	}
	next := skipLines(s, i)
	item := !comma && next > skipSpaces(s, i) // of a list in YAML
	if item {
		if first < 0 || !strings.HasSuffix(s[:first], "- ") || !strings.HasPrefix(s[next:], "- ") {
			return end
		}
		next = skipSpaces(s, next+1)
	} else if next == i && !comma || next == len(s) {
		return end
	}
	i = next
	q := skipBackslashes(s, i)
	if begin := literal(s, i); begin >= 0 && listed {
		q, i = begin, begin
	}
	quoted := at(s, q) == '"' || at(s, q) == '\''
	if listed && !quoted && !item {
		return end
	}
	if !quoted {
		q = i - 1 // of no quote
	}
	if value := s[q+1:]; value == "" || value[0] == '-' || strings.HasPrefix(value, Mask) ||
		!t.m.Name(s[from:end]) {
		return end
	}
	if quoted {
		to := quoteEnd(s, q, q-i)
		if to < len(s) {
			to -= q - i
		}
		if measure(s[from:end], s[q+1:to]) {
			return end
		}
		return t.hide(q+1, to, Mask)
	}
	if item {
		_, backslashes := lineBreak(s, end)
		return t.hide(i, lineEnd(s, i, backslashes), Mask)
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

// flagged reports whether an item of a list is the secret after a flag, as in ["--password", "x"].
func (m Masker) flagged(flag, item any) bool {
	name, _ := flag.(string)
	var value string
	switch item := item.(type) {
	case string:
		value = item
	case json.Number, float64, int, int64:
		value = fmt.Sprint(item)
	}
	return strings.HasPrefix(name, "-") && runEnd(name, 0, &dotted) == len(name) && m.Name(name) &&
		value != "" && value[0] != '-' && !measure(name, value)
}
