package validator

import (
	"encoding/json"
	"testing"
	"time"
)

func TestFormatsAreAsserted(t *testing.T) {
	for format, c := range map[string]struct{ good, bad []string }{
		"date-time": {
			[]string{"2026-01-31T15:04:05Z", "2026-01-31t15:04:05z", "2024-02-29T00:00:00.123456789+23:59", "0000-01-01T00:00:00-00:00"},
			[]string{"", "2026-01-31", "2026-01-31T15:04:05", "2026-01-31 15:04:05Z", "2026-02-30T00:00:00Z", "2026-01-31T3:04:05Z",
				"2026-01-31T15:04:05,5Z", "2026-01-31T15:04:05.Z", "2026-01-31T24:00:00Z", "2026-01-31T15:04:05+1:00", "2026-01-31T15:04:05+24:00",
				"2026-01-31T15:04:05+00:60", "2026-01-31T15:60:05Z", "2026-01-31T15:04+00:00", "20260131T150405Z", "2026-01-31T+1:+2:+3Z",
				"2016-12-31T23:59:60Z", "2026-01-31T15:04:05Zx", "2026-01-31T15:04:05?", "２026-01-31T15:04:05Z"},
		},
		"time":                  {[]string{"15:04:05Z", "15:04:05.5+01:00", "00:00:00z"}, []string{"", "15:04:05", "15:04Z", "+1:00:00Z", "15-04-05Z", "23:59:60Z", "15:04:05+01-00"}},
		"date":                  {[]string{"2026-01-31", "2024-02-29"}, []string{"2026-1-31", "2025-02-29", "2026-01-31T00:00:00Z", ""}},
		"duration":              {[]string{"P1D", "PT12H", "P1Y2M3DT4H5M6S", "P3W"}, []string{"1h", "P", "PT", "P1H", ""}},
		"email":                 {[]string{"name@example.com", "a.b+c@example.com"}, []string{"name", "a@", "a@@b@", "name@-example.com"}},
		"hostname":              {[]string{"example.com", "a"}, []string{"-a.example", "a_b", "", "a..b"}},
		"ipv4":                  {[]string{"192.0.2.1", "0.0.0.0"}, []string{"192.0.2", "192.0.2.256", "01.2.3.4", "1.2.3.+4", "::1", ""}},
		"ipv6":                  {[]string{"::1", "2001:db8::1", "::ffff:192.0.2.1"}, []string{"192.0.2.1", "fe80::1%eth0", ":::", ""}},
		"uri":                   {[]string{"https://example.com/a?b#c", "urn:isbn:1"}, []string{"/path", "example.com", "http://[::1", ""}},
		"uuid":                  {[]string{"123e4567-e89b-12d3-a456-426614174000"}, []string{"123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g", ""}},
		"json-pointer":          {[]string{"", "/", "/a~1b", "/~0~1/é"}, []string{"a", "/~2", "/~", "/a~"}},
		"relative-json-pointer": {[]string{"0", "1/a", "10#", "0/~0"}, []string{"", "/a", "01/a", "-1/a", "1a", "1##"}},
		"iri":                   {[]string{"https://exämple.com/größe", "urn:isbn:1"}, []string{"/größe", "http://[::1", ""}},
		"iri-reference":         {[]string{"/größe", "", "?ä"}, []string{`ä\b`, "http://[::1"}},
		"period": {
			[]string{"2026-01-31T15:04:05Z/2026-02-01T00:00:00Z", "2026-01-31T15:04:05Z/P1D", "PT1H/2026-01-31T15:04:05Z"},
			[]string{"", "/", "P1D/P1D", "2026-01-31T15:04:05Z", "2026-01-31/2026-02-01", "2026-01-31T15:04:05Z/P", "2026-01-31T15:04:05Z/P1D/P1D"},
		},
		"semver": {
			[]string{"0.0.0", "1.20.300", "1.0.0-alpha.1", "1.0.0-0a.-", "1.0.0+001", "1.0.0-a+b.c"},
			[]string{"", "1", "1.0", "1.0.0.0", "01.0.0", "1.0.0-", "1.0.0-01", "1.0.0-a..b", "1.0.0+", "1.0.0+a_b", "v1.0.0", "1.0.-1"},
		},
		"uri-template": {
			[]string{"", "/sites/{id}", "{+a,b*}{?q:3}", "{#a.b}", "{%41}", "a%20b", "größe"},
			[]string{"{", "}", "{}", "{a", "{a{b}}", "a b", "a%2", "{a b}", "{a:0}", "{a:10000}", "{a:b}", "{a..b}", "<a>", "{,}"},
		},
		"regex":      {[]string{"^a+$", ""}, []string{"(", "(?=a)", `\1`}},
		"unheard-of": {[]string{"anything"}, nil},
	} {
		decoder := decoderOf[any](withProperty("v", `{"format":"`+format+`"}`))
		accepted := func(v any) bool {
			doc, err := json.Marshal(map[string]any{"v": v})
			if err != nil {
				t.Fatal(err)
			}
			_, err = decoder(doc)
			return err == nil
		}
		for _, v := range c.good {
			if !accepted(v) {
				t.Errorf("%s refuses %q", format, v)
			}
		}
		for _, v := range c.bad {
			if accepted(v) {
				t.Errorf("%s accepts %q", format, v)
			}
		}
		if !accepted(5) {
			t.Errorf("%s is not about numbers", format)
		}
	}
}

func TestEveryDateTimeFillsATime(t *testing.T) {
	for _, s := range []string{
		"2026-01-31T15:04:05Z", "2026-01-31t15:04:05z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59",
		"2024-02-29T00:00:00+23:59", "2026-01-31T15:04:05.123456789012345Z",
	} {
		got, err := decoderOf[map[string]time.Time](`{"additionalProperties":{"format":"date-time"}}`)(json.RawMessage(`{"at":"` + s + `"}`))
		if err != nil || got["at"].IsZero() {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
}
