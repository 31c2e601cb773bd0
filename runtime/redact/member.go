package redact

import (
	"fmt"
	"log/slog"
	"strings"
)

// This file finds a name and its value in two members of one object, as environments, headers and
// forms are often written: {"name":"DB_PASSWORD","value":"hunter2"}.

// labels are the members that hold a name, in any case.
var labels = [...]string{"name", "key", "header"}

func isLabel(member string) bool {
	for _, label := range labels {
		if strings.EqualFold(member, label) {
			return true
		}
	}
	return false
}

// isLabelled reports whether a member holds the value whose name another one holds.
func isLabelled(member string) bool {
	return strings.EqualFold(member, "value") || strings.EqualFold(member, "values")
}

// alone is PASS as a name of one word. Before a text it is a secret's name, and before a number a
// count of tests.
func alone(name string) bool { return strings.EqualFold(name, "PASS") }

// named reports whether a member of a map is secret by its name.
func (m Masker) named(name string, value any) bool {
	return m.Name(name) || alone(name) && first(value) != ""
}

// first returns a text or the first of several, and "" for other values.
func first(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []string:
		if len(v) > 0 {
			return v[0]
		}
	case slog.Value:
		if v.Kind() == slog.KindString {
			return v.String()
		}
	}
	return ""
}

// labelled reports whether the values of a map belong to a secret's name in it.
func labelled[V any](m Masker, of map[string]V) bool {
	for name, value := range of {
		if isLabel(name) && m.namesSecret(first(value)) {
			return true
		}
	}
	return false
}

func (m Masker) namesSecret(name string) bool { return name != "" && (alone(name) || m.Name(name)) }

// labelledBy is labelled for an attribute.
func (m Masker) labelledBy(a slog.Attr) bool {
	return isLabel(a.Key) && a.Value.Kind() == slog.KindString && m.namesSecret(a.Value.String())
}

// free is an unused name: two names that differ only in their secrets are equal once masked.
func free[V any](taken map[string]V, name string) string {
	free := name
	for n := 2; ; n++ {
		if _, is := taken[free]; !is {
			return free
		}
		free = fmt.Sprintf("%s (%d)", name, n)
	}
}

const (
	longestMember = 256  // how far before a value its label may be
	longestValue  = 4096 // of a value whose label comes after it
	spaces        = " \t\r\n"
)

// member reports whether the member of a JSON object whose name begins at from is directly after or
// before a member that contains a secret's name.
func (t *scanner) member(from int, sep separated) bool {
	return t.m.namesSecret(labelBefore(t.s[max(0, from-longestMember):from], sep.quote)) ||
		t.m.namesSecret(labelBehind(t.s[sep.value:], sep.quote))
}

// labelBefore is the name at the end of a text, before the quote that opens the next member; ""
// without one.
func labelBefore(s, quote string) string {
	s, opened := strings.CutSuffix(s, quote)
	s, listed := strings.CutSuffix(strings.TrimRight(s, spaces), ",")
	s, closed := strings.CutSuffix(strings.TrimRight(s, spaces), quote)
	begin := strings.LastIndex(s, quote)
	if !opened || !listed || !closed || begin < 0 {
		return ""
	}
	name := s[begin+len(quote):]
	s, colon := strings.CutSuffix(strings.TrimRight(s[:begin], spaces), ":")
	s, closed = strings.CutSuffix(strings.TrimRight(s, spaces), quote)
	if begin = strings.LastIndex(s, quote); !colon || !closed || begin < 0 ||
		!isLabel(s[begin+len(quote):]) {
		return ""
	}
	return name
}

// labelBehind is the name in the member after the value at the start of a text; "" without one.
func labelBehind(s, quote string) string {
	s = s[:min(len(s), longestValue)]
	if inner, is := strings.CutPrefix(s, quote); is {
		end := quoteEnd(s, len(quote)-1, len(quote)-1)
		if end >= len(s) {
			return ""
		}
		s = s[len(s)-len(inner)+end+1-len(quote):]
	} else {
		s = s[runEnd(s, 0, &inJSON):]
	}
	s, listed := strings.CutPrefix(strings.TrimLeft(s, spaces), ",")
	s, opened := strings.CutPrefix(strings.TrimLeft(s, spaces), quote)
	label, s, closed := strings.Cut(s[:min(len(s), longestMember)], quote)
	s, colon := strings.CutPrefix(strings.TrimLeft(s, spaces), ":")
	s, valued := strings.CutPrefix(strings.TrimLeft(s, spaces), quote)
	name, _, ended := strings.Cut(s, quote)
	if !listed || !opened || !closed || !colon || !valued || !ended || !isLabel(label) {
		return ""
	}
	return name
}

// element hides the text of an XML element whose name is s[from:end], sections of CDATA included:
// <password>…</password>. It returns where the search continues; end if nothing was hidden. Without
// the end of the element the name is a type parameter or a placeholder.
func (t *scanner) element(from, end int) int {
	i := end + bracket(t.s[end:], '>')
	if i == end {
		return end
	}
	begin := from
	if begin > 0 && t.s[begin-1] == ':' { // after a namespace prefix
		for begin--; begin > 0 && from-begin < longestName && letter[t.s[begin-1]]; {
			begin--
		}
	}
	if !opens(t.s[:begin]) && !opens(t.s[:from]) {
		return end
	}
	name := t.s[from:end]
	if !t.m.namesSecret(name) {
		return end
	}
	to, verbatim := i, false
	for to < len(t.s) {
		opened := bracket(t.s[to:], '<')
		if opened == 0 {
			to++
			continue
		}
		if !strings.HasPrefix(t.s[to+opened:], "![CDATA[") {
			break
		}
		verbatim = true
		for to += opened; to < len(t.s); to++ {
			if t.s[to-1] == ']' && t.s[to-2] == ']' && bracket(t.s[to:], '>') > 0 {
				break
			}
		}
	}
	if verbatim {
		return t.hide(i, to, Mask)
	}
	if to == len(t.s) || to == i || t.s[i:to] == Mask {
		return end
	}
	closing := t.s[to+bracket(t.s[to:], '<'):]
	closing, closes := strings.CutPrefix(strings.TrimLeft(closing, `\`), "/")
	if prefix, rest, spaced := strings.Cut(closing[:min(len(closing), longestName+len(name))],
		":"); spaced && wordEnd(prefix, 0) == len(prefix) {
		closing = rest
	}
	if !closes || !hasFold(closing, name) {
		return end
	}
	return t.hide(i, to, Mask)
}

// opens reports whether a text ends in an angle bracket.
func opens(s string) bool {
	return strings.HasSuffix(s, "<") || strings.HasSuffix(s, "&lt;") || len(s) >= 6 &&
		bracket(s[len(s)-6:], '<') == 6
}

// bracket is the length of an angle bracket at the start of a text, plain or escaped for JSON or
// HTML; 0 without one.
func bracket(s string, which byte) int {
	if s == "" {
		return 0
	}
	inJSON, inHTML := `\u003c`, "&lt;"
	if which == '>' {
		inJSON, inHTML = `\u003e`, "&gt;"
	}
	switch {
	case s[0] == which:
		return 1
	case s[0] == '\\' && hasFold(s, inJSON):
		return len(inJSON)
	case s[0] == '&' && strings.HasPrefix(s, inHTML):
		return len(inHTML)
	}
	return 0
}
