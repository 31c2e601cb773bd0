// Package format has the formats of JSON Schema (2020-12 validation, section 7.3) that decoders
// assert.
package format

import (
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/decode/internal/regex"
)

type format struct {
	is      func(string) bool
	example string
}

var formats = map[string]format{
	"date-time":     {IsDateTime, "2026-01-31T15:04:05Z"},
	"date":          {isDate, "2026-01-31"},
	"time":          {isTime, "15:04:05Z"},
	"duration":      {isDuration, "P1DT12H"},
	"email":         {isEmail, "name@example.com"},
	"hostname":      {isHostname, "www.example.com"},
	"ipv4":          {isIPv4, "192.0.2.1"},
	"ipv6":          {isIPv6, "2001:db8::1"},
	"uri":           {isURI, "https://example.com/path"},
	"uri-reference": {isURIReference, ""},
	"uuid":          {isUUID, "123e4567-e89b-12d3-a456-426614174000"},

	// net/url accepts the further characters of RFC 3987, in both pairs.
	"iri":           {isURI, "https://example.com/größe"},
	"iri-reference": {isURIReference, ""},

	"json-pointer":          {isJSONPointer, "/site/name"},
	"period":                {isPeriod, "2026-01-31T15:04:05Z/P1D"},
	"regex":                 {regex.Valid, ""},
	"relative-json-pointer": {isRelativeJSONPointer, "1/name"},
	"semver":                {isSemver, "1.4.0"},
	"uri-template":          {isURITemplate, "/sites/{id}"},
}

// Names returns the names of the formats, sorted.
func Names() []string { return slices.Sorted(maps.Keys(formats)) }

// Is reports whether a text has a format of [Names].
func Is(name, text string) bool {
	f, known := formats[name]
	return known && f.is(text)
}

// Example returns a text that has the format, or "" without an example for it.
func Example(name string) string { return formats[name].example }

// IsDateTime is date-time of RFC 3339 section 5.6, without leap seconds: Go has none.
func IsDateTime(s string) bool {
	return len(s) > 11 && s[10]|0x20 == 't' && isDate(s[:10]) && isTime(s[11:])
}

// isDate is full-date of RFC 3339 section 5.6.
func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isTime is full-time of RFC 3339 section 5.6, without leap seconds.
func isTime(s string) bool {
	if len(s) < 9 || !isClock(s[:8], 23, 59, 59) {
		return false
	}
	s = s[8:]
	if s[0] == '.' {
		n := 1
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		if n == 1 {
			return false
		}
		s = s[n:]
	}
	if len(s) == 1 {
		return s[0]|0x20 == 'z'
	}
	return len(s) == 6 && (s[0] == '+' || s[0] == '-') && isClock(s[1:], 23, 59)
}

// isClock reports whether s is numbers of two digits between colons, none above its maximum.
func isClock(s string, maxima ...int) bool {
	if len(s) != 3*len(maxima)-1 {
		return false
	}
	for i, maximum := range maxima {
		tens, ones := s[3*i], s[3*i+1]
		if !isDigit(tens) || !isDigit(ones) || int(tens-'0')*10+int(ones-'0') > maximum {
			return false
		}
		if i > 0 && s[3*i-1] != ':' {
			return false
		}
	}
	return true
}

// isDuration is duration of RFC 3339 appendix A, units in their order but some left out.
func isDuration(s string) bool {
	s, ok := strings.CutPrefix(s, "P")
	if weeks, found := strings.CutSuffix(s, "W"); found {
		return ok && weeks != "" && strings.Trim(weeks, "0123456789") == ""
	}
	date, clock, timed := strings.Cut(s, "T")
	return ok && s != "" && (!timed || clock != "") && inUnits(date, "YMD") && inUnits(clock, "HMS")
}

// inUnits reports whether s is numbers, each with one of the units, in the order of units.
func inUnits(s, units string) bool {
	for s != "" {
		digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
		if digits == 0 || digits == len(s) {
			return false
		}
		at := strings.IndexByte(units, s[digits])
		if at < 0 {
			return false
		}
		s, units = s[digits+1:], units[at+1:]
	}
	return true
}

// isIPv4 is dotted-quad of RFC 2673 section 3.2.
func isIPv4(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}

// isIPv6 is an address of RFC 4291 section 2.2, without a zone.
func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}

// isHostname is a name of RFC 1123 section 2.1, with or without the dot of the root.
func isHostname(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isAlphanumeric(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// isEmail is a mailbox of RFC 5321 section 4.1.2, with the lengths of section 4.5.3. A quoted
// local part holds neither quotes nor backslashes.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 || at > 64 || len(s) > 254 {
		return false
	}
	return isLocalPart(s[:at]) && isMailDomain(s[at+1:])
}

func isLocalPart(s string) bool {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		return !strings.ContainsAny(s[1:len(s)-1], `"\`)
	}
	if strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".") || strings.Contains(s, "..") {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && strings.IndexByte(".!#$%&'*+-/=?^_`{|}~", c) < 0 {
			return false
		}
	}
	return true
}

func isMailDomain(s string) bool {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return isHostname(s)
	}
	literal := s[1 : len(s)-1]
	if v6, ok := strings.CutPrefix(literal, "IPv6:"); ok {
		return isIPv6(v6)
	}
	return isIPv4(literal)
}

// isURIReference is a URI-reference of RFC 3986 section 4.1, as net/url reads it.
func isURIReference(s string) bool {
	_, ok := parseURI(s)
	return ok && !strings.Contains(s, `\`)
}

// isURI is a URI of RFC 3986 section 3, as net/url reads it.
func isURI(s string) bool {
	u, ok := parseURI(s)
	return ok && u.IsAbs()
}

// parseURI reads a URI, and checks the address between brackets, which net/url does not.
func parseURI(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, false
	}
	if host := u.Hostname(); strings.Contains(host, ":") {
		return u, strings.Contains(u.Host, "[") && strings.Contains(u.Host, "]") && isIPv6(host)
	}
	return u, true
}

// isUUID is a UUID of RFC 9562 section 4.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !isHex(s[i]) {
			return false
		}
	}
	return true
}
