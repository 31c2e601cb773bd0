package runtime

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Trace states and baggage are exported with spans, so that none with a secret may get there, be it known by its name or by its form.
func TestListsWithASecretAreNotExported(t *testing.T) {
	s := &Server{}
	s.opts.Masker = redact.Masker{Names: []string{"pin"}, Values: []*regexp.Regexp{regexp.MustCompile(`SECRET\d+`)}}
	const key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, secret := range []string{
		"token=x1", "token@acme=x1", "api_key*x=x1", "vendor=1,token@acme=x1", "vendor=1 , api_key=x1", "rojo=" + key, "a=1,of-" + key + "=1", "user_pin=1234", "a=SECRET12",
	} {
		if got := s.exported(TraceContext{Traceparent: "t", Tracestate: secret, Baggage: secret}); got != (TraceContext{Traceparent: "t"}) {
			t.Errorf("%s: %+v", secret, got)
		}
	}
	for _, baggage := range []string{"user=1;token=x1", "user=1; token=x1,a=2", "a=Bearer%20" + key, "to%6ben=x1", "a=1;b=https%3A%2F%2Fada:x1@h", "a=%53ECRET12"} {
		if got := s.exported(TraceContext{Tracestate: "a=1", Baggage: baggage}); got != (TraceContext{Tracestate: "a=1"}) {
			t.Errorf("%s: %+v", baggage, got)
		}
	}
	for _, harmless := range []string{"", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "a@b=1", "userId=alice,server=db%20one;ttl=30;kept", "token=", "odd=100%"} {
		if c := (TraceContext{Traceparent: "t", Tracestate: harmless, Baggage: harmless}); s.exported(c) != c {
			t.Errorf("%s: %+v", harmless, s.exported(c))
		}
	}
}

// What is asked for and too long to be kept is masked by the server's masker before it is cut.
func TestLongNamesOfCatalogsAreMaskedBeforeTheyAreCut(t *testing.T) {
	mask := redact.Masker{Values: []*regexp.Regexp{regexp.MustCompile(`ACME-[a-z]{30}`)}}
	own, known := "ACME-"+strings.Repeat("q", 30), "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, secret := range []string{own, known} {
		for _, at := range []int{64, 256, 4 << 10} {
			said := strings.Repeat("-", at-len(secret)+10) + secret + strings.Repeat("-", 5<<10)
			byHeader := &http.Request{Header: http.Header{}}
			byHeader.Header.Set(HeaderCatalog, said)
			byID, _ := askedIn([]byte(`{"catalog_id":"`+said+`"}`), mask)
			for place, a := range map[string]asked{"header": asked{}.orElse(byHeader, mask), "id": byID} {
				if got := a.Name + a.ID; !a.long || strings.Contains(got, secret[:10]) || len(got) > recordedAskBytes {
					t.Errorf("%s by %s, %d: %q", secret, place, at, got)
				}
			}
		}
	}
}
