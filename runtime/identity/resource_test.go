package identity_test

import (
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

func TestResourceHasTheCatalogsOfAURLAsTheyAreWritten(t *testing.T) {
	for query, want := range map[string]string{
		"":                                      "",
		"catalog=ops":                           "?catalog=ops",
		"readonly=true&catalog=a,b":             "?readonly=true&catalog=a,b",
		"catalog=a&catalog=b":                   "?catalog=a&catalog=b",
		"readonly":                              "?readonly",
		"catalog=":                              "?catalog=",
		"catalog=night%20shift":                 "?catalog=night%20shift",
		"catalog=night+shift":                   "?catalog=night+shift",
		"x=1&catalog=ops&token=t":               "?catalog=ops",
		"catalog_id=1":                          "",
		"CATALOG=a&catalog%20=a&c%61=b":         "",
		"catalog=a;x=1&readonly=true":           "?readonly=true",
		`catalog=a"&readonly=true`:              "?readonly=true",
		`catalog=a\b`:                           "",
		"catalog=<a>":                           "",
		"catalog=a#b":                           "",
		"catalog=\u00fc":                        "",
		"catalog=a\r\nb":                        "",
		"catalog=a b":                           "",
		"catalog=%":                             "",
		"catalog=%zz":                           "",
		"&&catalog=a&&":                         "?catalog=a",
		strings.Repeat("catalog=a&", 90):        "?" + strings.Repeat("catalog=a&", 89) + "catalog=a",
		"catalog=" + strings.Repeat("a", 1<<10): "",
		strings.Repeat("catalog=a&", 110):       "",
		"catalog=" + strings.Repeat("a", 1<<10-len("?catalog=")): "?catalog=" +
			strings.Repeat("a", 1<<10-len("?catalog=")),
	} {
		if got := identity.CatalogQuery(query); got != want {
			t.Errorf("%.80q: %.80q, want %.80q", query, got, want)
		}
	}
}

// parameters are queries of clients, and of those who have other things in mind.
func parameters() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"catalog", "readonly", "catalog_id", "x", "=",
			"=", "&", "&", "ops", "%20", "%", "?", "#", "\"", "\\", ";", "\r\n", "\u00fc", " ", "a,b",
			"//"}), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

// The resource has nothing of a request but its catalogs, and is a URL and a quoted string in each
// case. A token for it is for the server. An audience with more in it is not.
func TestResourceHasNothingElseOfARequest(t *testing.T) {
	r := identity.Resource{URL: "https://mcp.example/mcp"}
	rapid.Check(t, func(t *rapid.T) {
		query := parameters().Draw(t, "query")
		own := identity.CatalogQuery(query)
		u, err := url.Parse(r.URL + own)
		if err != nil || strings.ContainsAny(own, "\"\\<># \r\n") ||
			u.Scheme+"://"+u.Host+u.Path != r.URL {
			t.Fatalf("%q: %q, %v", query, own, err)
		}
		values, err := url.ParseQuery(u.RawQuery)
		if err != nil {
			t.Fatalf("%q: %q, %v", query, own, err)
		}
		all, _ := url.ParseQuery(query)
		for name, list := range values {
			if name != "catalog" && name != "readonly" || len(list) > len(all[name]) {
				t.Fatalf("%q: %q", query, own)
			}
		}
		if own != identity.CatalogQuery(strings.TrimPrefix(own, "?")) {
			t.Fatalf("%q: %q changes", query, own)
		}
		if got := r.Audience(r.URL + own); got != r.URL {
			t.Fatalf("%q: a token for %q is for %q", query, r.URL+own, got)
		}
		for _, audience := range []string{r.URL + "?" + query, r.URL + query, query, "x" + r.URL + own} {
			got := r.Audience(audience)
			if got == audience {
				continue
			}
			sent, ok := strings.CutPrefix(audience, r.URL+"?")
			only, err := url.ParseQuery(sent)
			delete(only, "catalog")
			delete(only, "readonly")
			if got != r.URL || !ok || err != nil || len(only) > 0 {
				t.Fatalf("%q is for %q", audience, got)
			}
		}
	})
}
