package wire

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

func byHeader(value string) *http.Request {
	return &http.Request{Header: http.Header{HeaderCatalog: {value}}, URL: &url.URL{}}
}

// A session remembers the last query for as long as it lives, so names have a bound.
func TestLongNamesOfCatalogsAreNotKept(t *testing.T) {
	none := redact.Masker{}
	fits, long := strings.Repeat("n", maxCatalogName), strings.Repeat("n", 1<<20)
	for name, sent := range map[string]string{"fits": fits, "long": long} {
		queries := map[string]request.CatalogQuery{
			"header": CatalogInHTTP(byHeader(sent), none),
			"query":  CatalogInHTTP(&http.Request{URL: &url.URL{RawQuery: "catalog=" + sent}}, none),
			"id":     CatalogInHTTP(&http.Request{URL: &url.URL{RawQuery: "catalog_id=" + sent}}, none),
			"ask":    NewCatalogQuery(catalog.Ask{Name: sent}, none),
		}
		for place, params := range map[string]string{
			"params": `{"catalog":"` + sent + `"}`, "params id": `{"catalog_id":"` + sent + `"}`,
			"meta": `{"_meta":{"` + MetaCatalog + `":"` + sent + `"}}`,
		} {
			q, problems := catalogInParams(decode.Value(params), none)
			if problems != nil {
				t.Error(problems)
			}
			queries[place] = q
		}
		for place, q := range queries {
			if q.TooLong != (name == "long") || !q.Set || len(q.ID)+len(q.Name) > maxCatalogName || !q.TooLong && q.ID+q.Name != sent {
				t.Errorf("%s by %s: %v, %d bytes", name, place, q.TooLong, len(q.ID)+len(q.Name))
			}
		}
	}
}

func TestLongNamesOfCatalogsAreMaskedBeforeTheyAreCut(t *testing.T) {
	mask := redact.Masker{Values: []*regexp.Regexp{regexp.MustCompile(`ACME-[a-z]{30}`)}}
	own, known := "ACME-"+strings.Repeat("q", 30), "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for _, secret := range []string{own, known} {
		for _, at := range []int{64, 256, 4 << 10} {
			sent := strings.Repeat("-", at-len(secret)+10) + secret + strings.Repeat("-", 5<<10)
			byID, _ := catalogInParams(decode.Value(`{"catalog_id":"`+sent+`"}`), mask)
			for place, q := range map[string]request.CatalogQuery{"header": CatalogInHTTP(byHeader(sent), mask), "id": byID} {
				if got := q.Name + q.ID; !q.TooLong || strings.Contains(got, secret[:10]) || len(got) > maxCutCatalogName {
					t.Errorf("%s by %s, %d: %q", secret, place, at, got)
				}
			}
		}
	}
}

func TestCatalogsAreReadFromTheFirstPlaceThatNamesOne(t *testing.T) {
	const meta = `"_meta":{"io.github.mcpgen/catalog":"m","io.github.mcpgen/catalog-id":"mi"}`
	for params, want := range map[string]request.CatalogQuery{
		`{}`:                                   {},
		`[]`:                                   {},
		`null`:                                 {},
		`{"catalog":null,"catalog_id":null}`:   {},
		`{"catalog":""}`:                       {Set: true},
		`{"catalog":"n\u0061me"}`:              {Ask: catalog.Ask{Name: "name"}, Set: true},
		`{"catalog_id":17,"catalog":"n"}`:      {Ask: catalog.Ask{ID: "17", Name: "n"}, Set: true},
		`{"catalog":"n",` + meta + `}`:         {Ask: catalog.Ask{Name: "n"}, Set: true},
		`{"catalog":null, ` + meta + ` }`:      {Ask: catalog.Ask{ID: "mi", Name: "m"}, Set: true},
		`{"_meta":7}`:                          {},
		`{"x":{"catalog":"n"}}`:                {},
		`{"_meta":{"catalog":"n"}}`:            {},
		`{"io.github.mcpgen/catalog":"outer"}`: {},
	} {
		got, problems := catalogInParams(decode.Value(params), redact.Masker{})
		if got != want || problems != nil {
			t.Errorf("%s: %+v %v, want %+v", params, got, problems, want)
		}
	}
	for params, want := range map[string]string{
		`{"catalog":7}`:      "/catalog: is a number, expected a string",
		`{"catalog_id":1.5}`: "/catalog_id: is neither a string nor an integer",
		`{"catalog_id":[]}`:  "/catalog_id: is neither a string nor an integer",
		`{"catalog_id":1e3}`: "/catalog_id: is neither a string nor an integer",
		`{"_meta":{"io.github.mcpgen/catalog":true},"catalog":"n"}`: "/_meta/io.github.mcpgen~1catalog: is a boolean, expected a string",
		`{"_meta":{"io.github.mcpgen/catalog-id":{}},"catalog":{}}`: "/_meta/io.github.mcpgen~1catalog-id: is neither a string nor an integer; /catalog: is an object, expected a string",
	} {
		_, problems := catalogInParams(decode.Value(params), redact.Masker{})
		if got := decode.NewError(problems); got == nil || got.Error() != want {
			t.Errorf("%s: %v, want %s", params, got, want)
		}
	}
}

func TestCatalogsInHTTP(t *testing.T) {
	for _, test := range []struct {
		header, query string
		want          request.CatalogQuery
	}{
		{"", "", request.CatalogQuery{}},
		{"", "other=1", request.CatalogQuery{}},
		{"", "catalog=", request.CatalogQuery{Set: true}},
		{"", "catalog=a+b&catalog_id=7", request.CatalogQuery{Ask: catalog.Ask{ID: "7", Name: "a b"}, Set: true}},
		{"r%C3%A9+s", "catalog=q", request.CatalogQuery{Ask: catalog.Ask{Name: "ré+s"}, Set: true}},
		{"100%", "", request.CatalogQuery{Ask: catalog.Ask{Name: "100%"}, Set: true}},
	} {
		r := &http.Request{Header: http.Header{}, URL: &url.URL{RawQuery: test.query}}
		if test.header != "" {
			r.Header.Set(HeaderCatalog, test.header)
		}
		if got := CatalogInHTTP(r, redact.Masker{}); got != test.want {
			t.Errorf("%q, %q: %+v, want %+v", test.header, test.query, got, test.want)
		}
	}
	if (NewCatalogQuery(catalog.Ask{}, redact.Masker{}) != request.CatalogQuery{}) {
		t.Error("no catalog is a query")
	}
}
