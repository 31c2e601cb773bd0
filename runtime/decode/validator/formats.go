package validator

import (
	"errors"
	"net/netip"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// stricterFormats replace formats of the validator, which reads the numbers in them with
// strconv.Atoi and so takes +1:00:00Z for a time and 1.2.3.+4 for an address.
var stricterFormats = []jsonschema.Format{
	{Name: "date-time", Validate: stringFormat(isDateTime)},
	{Name: "time", Validate: stringFormat(isTime)},
	{Name: "ipv4", Validate: stringFormat(isIPv4)},
}

// formatExamples tell a reader what a format looks like.
var formatExamples = map[string]string{
	"date-time": "2026-01-31T15:04:05Z",
	"date":      "2026-01-31",
	"time":      "15:04:05Z",
	"duration":  "P1DT12H",
	"email":     "name@example.com",
	"hostname":  "www.example.com",
	"ipv4":      "192.0.2.1",
	"ipv6":      "2001:db8::1",
	"uri":       "https://example.com/path",
	"uuid":      "123e4567-e89b-12d3-a456-426614174000",
}

var errFormat = errors.New("not of the format")

// stringFormat applies a format to strings; other values have no format.
func stringFormat(is func(string) bool) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); ok && !is(s) {
			return errFormat
		}
		return nil
	}
}

// isDateTime is date-time of RFC 3339 section 5.6, without leap seconds: Go has none.
func isDateTime(s string) bool {
	if len(s) < 11 || s[10]|0x20 != 't' || !isTime(s[11:]) {
		return false
	}
	_, err := time.Parse(time.DateOnly, s[:10])
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
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
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
		if tens < '0' || tens > '9' || ones < '0' || ones > '9' || int(tens-'0')*10+int(ones-'0') > maximum {
			return false
		}
		if i > 0 && s[3*i-1] != ':' {
			return false
		}
	}
	return true
}

// isIPv4 is dotted-quad of RFC 2673 section 3.2.
func isIPv4(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is4()
}
