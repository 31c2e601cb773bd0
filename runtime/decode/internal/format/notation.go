package format

import "strings"

// isJSONPointer is a JSON Pointer of RFC 6901 section 3.
func isJSONPointer(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != '/' {
		return false
	}
	for rest := s; ; {
		i := strings.IndexByte(rest, '~')
		if i < 0 {
			return true
		}
		if i+1 == len(rest) || rest[i+1] != '0' && rest[i+1] != '1' {
			return false
		}
		rest = rest[i+2:]
	}
}

// isRelativeJSONPointer is a relative JSON Pointer of draft-bhutton-relative-json-pointer-00,
// which JSON Schema 2020-12 names, without the shift within an array.
func isRelativeJSONPointer(s string) bool {
	rest := strings.TrimLeft(s, "0123456789")
	return isNumeral(s[:len(s)-len(rest)]) && (rest == "#" || isJSONPointer(rest))
}

// isNumeral reports digits without leading zeros.
func isNumeral(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == "" && (s[0] != '0' || len(s) == 1)
}

// isSemver is a version of Semantic Versioning 2.0.0.
func isSemver(s string) bool {
	s, build, built := strings.Cut(s, "+")
	core, pre, preview := strings.Cut(s, "-")
	if built && !areIdentifiers(build, false) || preview && !areIdentifiers(pre, true) {
		return false
	}
	n := 0
	for number := range strings.SplitSeq(core, ".") {
		if n++; !isNumeral(number) {
			return false
		}
	}
	return n == 3
}

// areIdentifiers reports names of letters, digits and hyphens between dots. In a pre-release those
// of digits alone are numbers.
func areIdentifiers(s string, numbers bool) bool {
	for name := range strings.SplitSeq(s, ".") {
		for i := range len(name) {
			if !isAlphanumeric(name[i]) && name[i] != '-' {
				return false
			}
		}
		if name == "" || numbers && strings.Trim(name, "0123456789") == "" && !isNumeral(name) {
			return false
		}
	}
	return true
}

// isPeriod is a period of RFC 3339 appendix A: two moments, or one and a duration.
func isPeriod(s string) bool {
	start, end, ok := strings.Cut(s, "/")
	switch {
	case !ok:
		return false
	case strings.HasPrefix(start, "P"):
		return isDuration(start) && IsDateTime(end)
	}
	return IsDateTime(start) && (isDuration(end) || IsDateTime(end))
}

// isURITemplate is a template of RFC 6570 section 2, of any level.
func isURITemplate(s string) bool {
	for s != "" {
		switch c := s[0]; {
		case c == '{':
			expression, rest, closed := strings.Cut(s[1:], "}")
			if !closed || !isExpression(expression) {
				return false
			}
			s = rest
		case c == '%':
			if len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) {
				return false
			}
			s = s[3:]
		case c <= ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`|}", c) >= 0:
			return false
		default:
			s = s[1:]
		}
	}
	return true
}

// isExpression reports the content of a template's braces: an operator, also one that RFC 6570
// reserves, and names with modifiers.
func isExpression(s string) bool {
	if s != "" && strings.IndexByte("+#./;?&=,!@|", s[0]) >= 0 {
		s = s[1:]
	}
	for variable := range strings.SplitSeq(s, ",") {
		name, length, prefixed := strings.Cut(variable, ":")
		if prefixed && (!isNumeral(length) || length == "0" || len(length) > 4) {
			return false
		}
		if !prefixed {
			name = strings.TrimSuffix(name, "*")
		}
		for part := range strings.SplitSeq(name, ".") {
			if !isVariable(part) {
				return false
			}
		}
	}
	return true
}

func isVariable(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			i += 2
		case !isAlphanumeric(c) && c != '_':
			return false
		}
	}
	return s != ""
}
