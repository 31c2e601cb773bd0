package redact

import "strings"

// escapedBeside is beside where what follows is escaped, as a URL is within a query string: token%3Dabc and
// postgres%3A%2F%2Fada%3Apassword%40db.
func (t *scanner) escapedBeside(from, end int) int {
	const equals, scheme, second, behind = "%3D", "%3A%2F%2F", "%3A", "%40"
	rest := t.s[end:]
	switch {
	case hasFold(rest, equals):
		if !t.m.Name(t.s[from:end]) {
			return end
		}
		i := end + len(equals)
		to := i
		for to < len(t.s) && bare[t.s[to]] && (t.s[to] != '%' || !separates(t.s[to:])) {
			to++
		}
		to = beforeName(t.s, i, beforeNext(t.s, i, to))
		if t.s[i:to] == Mask {
			return end
		}
		return t.hide(i, to, Mask)
	case hasFold(rest, scheme):
		i := end + len(scheme)
		to := i
		for to < len(t.s) && bare[t.s[to]] && t.s[to] != '/' && !hasFold(t.s[to:], "%2F") && !hasFold(t.s[to:], "%3F") && !hasFold(t.s[to:], "%23") {
			to++
		}
		authority := t.s[i:to]
		name := strings.LastIndex(authority, behind)
		if name < 0 {
			return end
		}
		for colon := 0; colon < name; colon++ {
			if authority[colon] == ':' || hasFold(authority[colon:], second) {
				user := colon
				if authority[colon] == '%' {
					colon += len(second) - 1
				}
				if authority[colon+1:name] == Mask {
					return end
				}
				if user >= opaqueUser {
					t.hide(i, i+user, Mask)
				}
				return t.hide(i+colon+1, i+name, Mask)
			}
		}
		if name >= opaqueUser && authority[:name] != Mask {
			return t.hide(i, i+name, Mask)
		}
	}
	return end
}

// separates reports whether an escape stands for what a bare value ends at.
func separates(s string) bool {
	for _, escape := range [...]string{"%26", "%22", "%27", "%20", "%3B", "%0A", "%0D"} { // & " ' space ; and the ends of lines
		if hasFold(s, escape) {
			return true
		}
	}
	return false
}
