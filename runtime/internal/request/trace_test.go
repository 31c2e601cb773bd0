package request

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Exporters send trace states and baggage along with spans. A list with a secret must not get
// there, whether the masker knows the secret by its name or by its form.
func TestListsWithASecretAreNotExported(t *testing.T) {
	mask := redact.Masker{
		Names: []string{"pin"}, Values: []*regexp.Regexp{regexp.MustCompile(`SECRET\d+`)},
	}
	of := func(list string) observe.TraceContext {
		return observe.TraceContext{Traceparent: "t", Tracestate: list, Baggage: list}
	}
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, secret := range []string{
		"token=x1", "token@acme=x1", "api_key*x=x1", "vendor=1,token@acme=x1",
		"vendor=1 , api_key=x1", "rojo=" + key, "a=1,of-" + key + "=1", "user_pin=1234", "a=SECRET12",
	} {
		got := Exported(of(secret), mask)
		if got != (observe.TraceContext{Traceparent: "t"}) {
			t.Errorf("%s: %+v", secret, got)
		}
	}
	for _, baggage := range []string{
		"user=1;token=x1", "user=1; token=x1,a=2", "a=Bearer%20" + key, "to%6ben=x1",
		"a=1;b=https%3A%2F%2Fada:x1@h", "a=%53ECRET12",
	} {
		got := Exported(observe.TraceContext{Tracestate: "a=1", Baggage: baggage}, mask)
		if got != (observe.TraceContext{Tracestate: "a=1"}) {
			t.Errorf("%s: %+v", baggage, got)
		}
	}
	for _, harmless := range []string{
		"", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=1",
		"userId=alice,server=db%20one;ttl=30;kept", "token=", "odd=100%",
	} {
		if got := Exported(of(harmless), mask); got != of(harmless) {
			t.Errorf("%s: %+v", harmless, got)
		}
	}
}

func TestTraceIDIsThatOfAWellFormedTraceparent(t *testing.T) {
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for parent, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                         id,
		"cc-" + id + "-" + span + "-01-more":                    id,
		"cc-" + id + "-" + span + "-01-":                        id,
		"cc-" + id + "-" + span + "-01-\nmore":                  id,
		"cc-" + id + "-" + span + "-01more":                     "",
		"00-" + id + "-" + span + "-01-more":                    "",
		"00-" + id + "-" + span + "-01-":                        "",
		"00-" + id + "-" + span + "-01\n":                       "",
		"ff-" + id + "-" + span + "-01":                         "",
		"00-" + strings.ToUpper(id) + "-" + span:                "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":        "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":    "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":      "",
		"00-" + id + "\n" + span + "-01":                        "",
		"00-" + strings.Repeat("\x00", 32) + "-" + span + "-01": "",
		"": "",
	} {
		meta := TraceInMeta(map[string]any{"traceparent": parent})
		header := traceIn(http.Header{"Traceparent": {parent}})
		for place, c := range map[string]observe.TraceContext{"_meta": meta, "header": header} {
			if got := ParseTraceID(c.Traceparent); got != want {
				t.Errorf("%q in %s: %q, want %q", parent, place, got, want)
			}
		}
	}
}

func TestTraceContextsAreReadAndBounded(t *testing.T) {
	most, long := strings.Repeat("a", maxTraceContext), strings.Repeat("b", maxTraceContext+1)
	for name, test := range map[string]struct{ got, want observe.TraceContext }{
		"_meta": {
			TraceInMeta(map[string]any{"traceparent": "p", "tracestate": most, "baggage": long}),
			observe.TraceContext{Traceparent: "p", Tracestate: most},
		},
		"_meta of other types": {
			TraceInMeta(map[string]any{"traceparent": 7, "tracestate": []string{"a"}, "Baggage": "b"}),
			observe.TraceContext{},
		},
		"no _meta": {TraceInMeta(nil), observe.TraceContext{}},
		"headers": {
			traceIn(http.Header{
				"Traceparent": {"p", "q"}, "Tracestate": {"a=1", "b=2"}, "Baggage": {most, "b"},
			}),
			observe.TraceContext{Traceparent: "p", Tracestate: "a=1,b=2"},
		},
		"a long traceparent": {
			traceIn(http.Header{"Traceparent": {long}}), observe.TraceContext{},
		},
		"no headers": {traceIn(nil), observe.TraceContext{}},
	} {
		if test.got != test.want {
			t.Errorf("%s: %.80v, want %.80v", name, test.got, test.want)
		}
	}
}
