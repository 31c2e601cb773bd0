package decoderoracle

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// formatted are texts of each format, the last ones of them wrong.
var formatted = map[string][]string{
	"date":                  {"2026-01-31", "2024-02-29", "2025-02-29", "2026-1-3"},
	"time":                  {"15:04:05Z", "15:04:05.25+01:00", "00:00:00z", "23:59:60Z", "15:04:05"},
	"date-time":             {"2026-01-31T15:04:05Z", "2026-01-31t15:04:05.123456789-23:59", "1999-12-31T00:00:00z", "2026-01-31T3:04:05Z", "2016-12-31T23:59:60Z", "2026-01-31T15:04:05,5Z"},
	"duration":              {"P1D", "PT12H", "P3W", "P1Y2M3DT4H5M6S", "P", "PT", "1h"},
	"email":                 {"name@example.com", `"a b"@example.com`, "a@[192.0.2.1]", "name", "a@@b@"},
	"hostname":              {"example.com", "a", "xn--a.b.", "-a.b", "a_b"},
	"ipv4":                  {"192.0.2.1", "0.0.0.0", "1.2.3.+4", "01.2.3.4"},
	"ipv6":                  {"::1", "2001:db8::1", "fe80::1%eth0", "192.0.2.1"},
	"uri":                   {"https://example.com/a?b#c", "urn:isbn:1", "http://[::1]:80/", "/path", "http://[::1"},
	"uri-reference":         {"/path", "a?b", "#c", "", `a\b`, "http://[::1"},
	"iri":                   {"https://exämple.com/größe", "urn:isbn:1", "/größe", "http://[::1", ""},
	"iri-reference":         {"/größe", "?ä", `ä\b`, "http://[::1", ""},
	"json-pointer":          {"/a~1b", "", "/~0/é", "a", "/~2", "/~"},
	"period":                {"2026-01-31T15:04:05Z/P1D", "2026-01-31T15:04:05Z/2026-02-01t00:00:00z", "PT1H/2026-01-31T15:04:05Z", "P1D/P1D", "/", "2026-01-31/P1D"},
	"regex":                 {"^a+$", "(a|b)*?", "[a-c]{2}", "(", "(?=a)", `\1`},
	"relative-json-pointer": {"0", "1/a~0", "10#", "01/a", "/a", "1a"},
	"semver":                {"1.20.300", "1.0.0-alpha.1+001", "1.0.0-0a.-", "1.0", "01.0.0", "1.0.0-01"},
	"uri-template":          {"/sites/{id}", "{+a,b*}{?q:3}", "größe%20", "{a", "{a b}", "{}"},
	"uuid":                  {"123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-42661417400F", "123e4567e89b12d3a456426614174000"},
}

func (d *drawer) text(s map[string]any) {
	if format, ok := s["format"].(string); ok && formatted[format] != nil {
		list := formatted[format]
		good := len(list) - 3
		if good < 2 || d.chance(12) {
			good = len(list)
		}
		if d.wrong == 0 && !d.chance(20) {
			good = min(good, 2)
		}
		d.quote(list[d.rand.IntN(good)])
		return
	}
	if s["contentEncoding"] == "base64" {
		text := d.pick("", "YQ==", "YWI=", "YWJj", "/+8=")
		if d.chance(15) {
			text = d.pick("YR==", "YQ", "YQ==\n", "Y\r\nWI=", "_-8=", "a b")
		}
		d.quote(text)
		return
	}
	if pattern, ok := s["pattern"].(string); ok && strings.Contains(pattern, "A-Z") && !d.chance(10) {
		d.quote(d.pick("AB", "ABC"))
		return
	}
	if pattern, ok := s["pattern"].(string); ok && strings.Contains(pattern, "[1-9]") && !d.chance(20) {
		d.quote(d.pick("0", "7", "20", "100", "42", "9", "1", "13", "-3", "-128", "128", "255", "256", "65536", "-0", "007", "1.5", "-1e2", "0.25E+1", "+1",
			"1e400", "9223372036854775807", "9223372036854775808", "18446744073709551616", "0.1", "0.30000000000000000001", " 1", "null"))
		return
	}
	least, most := 0, 5
	if n, ok := s["minLength"].(float64); ok {
		least = int(n)
	}
	if n, ok := s["maxLength"].(float64); ok {
		most = int(n)
	}
	if d.chance(10) {
		most += 2
	}
	if d.chance(10) {
		least = 0
	}
	n := least + d.rand.IntN(max(most-least, 0)+1)
	var b strings.Builder
	for range n {
		letter := d.pick("a", "b", "é", "c")
		if d.chance(40) {
			letter = d.pick("😀", "\"", "\\", "\u2028", "\n", " ", "A", "-", "/")
		}
		b.WriteString(letter)
	}
	if _, plain := s["pattern"]; !plain && s["maxLength"] == nil && d.chance(2) {
		// What types with a text form of their own may take.
		d.quote(d.pick("X-1", "192.0.2.1", "::1", "a-b"))
		return
	}
	d.quote(b.String())
}

// number draws a number within the limits, in one of its writings, or one beside them.
func (d *drawer) number(s map[string]any, whole bool) {
	if d.chance(25) {
		d.add(d.pick("-0", "0.0", "1e2", "1E+2", "10e-1", "1.5", "1e400", "-1e400", "1e-400", "9223372036854775807", "9223372036854775808",
			"-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "9007199254740993", "1e19",
			"123456789012345678901234567890", "3.0000000000000000001", "0.1", "0.30000000000000000001", "2147483648"))
		return
	}
	if text, ok := d.short(s, whole); ok {
		d.add(d.spelled(text))
		return
	}
	low, high := big.NewRat(-10, 1), big.NewRat(300, 1)
	for _, key := range []string{"minimum", "exclusiveMinimum"} {
		if n, ok := s[key].(float64); ok && n > -1e6 {
			low.SetFloat64(n)
		}
	}
	for _, key := range []string{"maximum", "exclusiveMaximum"} {
		if n, ok := s[key].(float64); ok && n < 1e6 {
			high.SetFloat64(n)
		}
	}
	if low.Cmp(high) >= 0 {
		high.Add(low, big.NewRat(10, 1))
	}
	step := big.NewRat(1, 4)
	if whole {
		step = big.NewRat(1, 1)
	}
	if n, ok := s["multipleOf"].(float64); ok && !d.chance(10) {
		step.SetString(strconv.FormatFloat(n, 'g', -1, 64))
	}
	span := new(big.Rat).Quo(new(big.Rat).Sub(high, low), step)
	n, _ := span.Float64()
	k := int64(d.rand.IntN(max(int(n), 1) + 1))
	start := new(big.Rat).Quo(low, step)
	first := new(big.Int).Quo(start.Num(), start.Denom()).Int64()
	value := new(big.Rat).Mul(big.NewRat(first+k, 1), step)
	text := value.FloatString(2)
	if value.IsInt() {
		text = value.Num().String()
	}
	d.add(d.spelled(text))
}

// unit is what short counts in: each limit and step that it takes is a multiple of 1/unit.
const unit = 10_000

// short is number for limits that need no exact arithmetic, which are nearly all.
func (d *drawer) short(s map[string]any, whole bool) (text string, ok bool) {
	low, high, step := int64(-10*unit), int64(300*unit), int64(unit/4)
	if whole {
		step = unit
	}
	for _, key := range []string{"minimum", "exclusiveMinimum"} {
		if n, ok := s[key].(float64); ok && n > -1e6 {
			if n > 1e12 {
				return "", false
			}
			low = int64(math.Round(n * unit))
		}
	}
	for _, key := range []string{"maximum", "exclusiveMaximum"} {
		if n, ok := s[key].(float64); ok && n < 1e6 {
			high = int64(math.Round(n * unit))
		}
	}
	if low >= high {
		high = low + 10*unit
	}
	if n, ok := s["multipleOf"].(float64); ok && !d.chance(10) {
		step = int64(math.Round(n * unit))
	}
	n := (low/step + int64(d.rand.IntN(int(max((high-low)/step, 1))+1))) * step
	if n%unit == 0 {
		return strconv.FormatInt(n/unit, 10), true
	}
	return strconv.FormatFloat(float64(n)/unit, 'f', 2, 64), true
}

// spelled writes a number in another way of equal value.
func (d *drawer) spelled(text string) string {
	if !d.chance(6) {
		return text
	}
	if strings.Contains(text, ".") {
		return d.pick(text+"0", text+"e0", text+"00E-0")
	}
	return d.pick(text+".0", text+"e0", text+"0e-1", text+".00E+0")
}

// anything draws a value of any kind.
func (d *drawer) anything(depth int) {
	switch d.rand.IntN(9) {
	case 0:
		d.add("null")
	case 1:
		d.add(d.pick("true", "false"))
	case 2, 3:
		d.number(nil, d.chance(2))
	case 4, 5:
		d.text(nil)
	case 6:
		if depth < 5 {
			d.array(map[string]any{"items": map[string]any{}}, depth+2)
			return
		}
		d.add("[]")
	default:
		if depth < 5 {
			d.object(map[string]any{}, depth+2)
			return
		}
		d.add("{}")
	}
}
