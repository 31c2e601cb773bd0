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

func byQuery(query string) *http.Request {
	return &http.Request{URL: &url.URL{RawQuery: query}}
}

// inHTTP returns the query of a request whose message names no catalog.
func inHTTP(r *http.Request, mask redact.Masker) request.CatalogQuery {
	return CatalogInHTTP(r, request.CatalogQuery{}, mask)
}

// ids returns the query for catalogs by their ids.
func ids(ids ...string) request.CatalogQuery {
	refs := make([]catalog.Ref, len(ids))
	for i, id := range ids {
		refs[i].ID = id
	}
	return NewCatalogQuery(redact.Masker{}, refs...)
}

// text joins what a query requests.
func text(q request.CatalogQuery) (all string) {
	for _, ref := range q.Refs {
		all += ref.ID + ref.Name
	}
	return all
}

// named returns the query for catalogs by their names.
func named(names ...string) request.CatalogQuery {
	return NamedCatalogs(redact.Masker{}, names...)
}

// TestTooManyCatalogsAreNoneThatExists bounds the queries of one message.
func TestTooManyCatalogsAreNoneThatExists(t *testing.T) {
	names := make([]string, maxCatalogs+1)
	for i := range names {
		names[i] = strings.Repeat("n", i+1)
	}
	if q := named(names[:maxCatalogs]...); q.TooLong || len(q.Refs) != maxCatalogs {
		t.Errorf("%+v", q)
	}
	in := byQuery("catalog=" + strings.Join(names, ","))
	params, _ := catalogInParams(
		decode.Value(`{"catalog":["`+strings.Join(names, `","`)+`"]}`), redact.Masker{})
	for place, q := range map[string]request.CatalogQuery{
		"names": named(names...), "params": params, "query": inHTTP(in, redact.Masker{})} {
		if !q.TooLong || len(q.Refs) != maxCatalogs {
			t.Errorf("%s: %+v", place, q)
		}
	}
}

// A message that names catalogs is completed by the wish of its URL, and by nothing else.
func TestURLCompletesTheQueryOfAMessage(t *testing.T) {
	r := byHeader("h")
	r.URL.RawQuery = "catalog=q&readonly=true"
	got := CatalogInHTTP(r, named("p"), redact.Masker{})
	want := named("p")
	if want.ReadOnly = true; !got.Equal(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A session remembers the last query for as long as it lives, so names have a bound.
func TestLongNamesOfCatalogsAreNotKept(t *testing.T) {
	none := redact.Masker{}
	fits, long := strings.Repeat("n", maxCatalogName), strings.Repeat("n", 1<<20)
	for name, sent := range map[string]string{"fits": fits, "long": long} {
		queries := map[string]request.CatalogQuery{
			"header": inHTTP(byHeader(sent), none),
			"query":  inHTTP(byQuery("catalog="+sent), none),
			"id":     inHTTP(byQuery("catalog_id="+sent), none),
			"ask":    NewCatalogQuery(none, catalog.Ref{Name: sent}),
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
			got := text(q)
			if q.TooLong != (name == "long") || !q.Set || len(got) > maxCatalogName ||
				!q.TooLong && got != sent {
				t.Errorf("%s by %s: %v, %d bytes", name, place, q.TooLong, len(got))
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
			for place, q := range map[string]request.CatalogQuery{
				"header": inHTTP(byHeader(sent), mask), "id": byID} {
				if got := text(q); !q.TooLong || strings.Contains(got, secret[:10]) ||
					len(got) > maxCutCatalogName {
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
		`{"catalog":"n\u0061me"}`:              {Refs: []catalog.Ref{{Name: "name"}}, Set: true},
		`{"catalog_id":17,"catalog":"n"}`:      {Refs: []catalog.Ref{{ID: "17"}}, Set: true},
		`{"catalog":"n",` + meta + `}`:         {Refs: []catalog.Ref{{Name: "n"}}, Set: true},
		`{"catalog":null, ` + meta + ` }`:      {Refs: []catalog.Ref{{ID: "mi"}}, Set: true},
		`{"_meta":7}`:                          {},
		`{"x":{"catalog":"n"}}`:                {},
		`{"_meta":{"catalog":"n"}}`:            {},
		`{"io.github.mcpgen/catalog":"outer"}`: {},

		`{"catalog":["a","b","a",""]}`:            named("a", "b"),
		`{"catalog":"a,b"}`:                       named("a,b"), // names in JSON need no commas
		`{"_meta":{"` + MetaCatalog + `":["a"]}}`: named("a"),
		`{"catalog":["n"],"catalog_id":["x",7]}`:  ids("x", "7"),
		`{"catalog":["n"],"catalog_id":""}`:       named("n"),
		`{"catalog":[""],` + meta + `}`:           {Set: true},
	} {
		got, problems := catalogInParams(decode.Value(params), redact.Masker{})
		if !got.Equal(want) || problems != nil {
			t.Errorf("%s: %+v %v, want %+v", params, got, problems, want)
		}
	}
	for params, want := range map[string]string{
		`{"catalog":7}`:      "/catalog: is a number, expected a string",
		`{"catalog_id":1.5}`: "/catalog_id: is neither a string nor an integer",
		`{"catalog_id":[]}`:  "/catalog_id: is an empty array",
		`{"catalog":["a",7,["b"]],"catalog_id":[null]}`: "/catalog/1: is a number, " +
			"expected a string; /catalog/2: is an array, expected a string; " +
			"/catalog_id/0: is neither a string nor an integer",
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
		{"", "catalog=,&catalog=+", request.CatalogQuery{Set: true}},
		{"", "catalog=a,b%2C+c&catalog=&catalog=a&catalog=d", named("a", "b", "c", "d")},
		{"", "catalog_id=&catalog=a", named("a")},
		{"", "catalog_id=1,2&catalog=a&catalog_id=3", ids("1", "2", "3")},
		{"a, b%2Cc,,a", "catalog=q", named("a", "b,c")},
		{"a", "readonly=true",
			request.CatalogQuery{Refs: named("a").Refs, Set: true, ReadOnly: true}},
		{"", "readonly", request.CatalogQuery{ReadOnly: true}},
		{"", "readonly=True", request.CatalogQuery{ReadOnly: true}},
		{"", "readonly=false&readonly=1", request.CatalogQuery{ReadOnly: true}},
		{"", "readonly=false", request.CatalogQuery{}},
		{"", "ReadOnly=true", request.CatalogQuery{}},
		{"", "catalog=a+b&catalog_id=7", ids("7")},
		{"r%C3%A9+s", "catalog=q", named("ré+s")},
		{"100%", "", named("100%")},
	} {
		r := &http.Request{Header: http.Header{}, URL: &url.URL{RawQuery: test.query}}
		if test.header != "" {
			r.Header.Set(HeaderCatalog, test.header)
		}
		if got := inHTTP(r, redact.Masker{}); !got.Equal(test.want) {
			t.Errorf("%q, %q: %+v, want %+v", test.header, test.query, got, test.want)
		}
	}
	if !NewCatalogQuery(redact.Masker{}, catalog.Ref{}).Equal(request.CatalogQuery{}) {
		t.Error("no catalog is a query")
	}
}
