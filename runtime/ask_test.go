package runtime

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// What a session asked for last stays with it for as long as it lives, so names have a bound.
func TestLongNamesOfCatalogsAreNotKept(t *testing.T) {
	fits, long := strings.Repeat("n", maxAsk), strings.Repeat("n", 1<<20)
	for name, said := range map[string]string{"fits": fits, "long": long} {
		byHeader := &http.Request{Header: http.Header{}, URL: &url.URL{}}
		byHeader.Header.Set(HeaderCatalog, said)
		asks := map[string]asked{
			"header": asked{}.orElse(byHeader, redact.Masker{}),
			"query":  asked{}.orElse(&http.Request{URL: &url.URL{RawQuery: "catalog=" + said}}, redact.Masker{}),
			"id":     asked{}.orElse(&http.Request{URL: &url.URL{RawQuery: "catalog_id=" + said}}, redact.Masker{}),
		}
		for place, params := range map[string]string{
			"params": `{"catalog":"` + said + `"}`, "params id": `{"catalog_id":"` + said + `"}`, "meta": `{"_meta":{"` + MetaCatalog + `":"` + said + `"}}`,
		} {
			a, problems := askedIn([]byte(params), redact.Masker{})
			if problems != nil {
				t.Error(problems)
			}
			asks[place] = a
		}
		for place, a := range asks {
			if a.long != (name == "long") || !a.said || len(a.ID)+len(a.Name) > maxAsk || !a.long && a.ID+a.Name != said {
				t.Errorf("%s by %s: %v, %d bytes", name, place, a.long, len(a.ID)+len(a.Name))
			}
		}
	}
}
