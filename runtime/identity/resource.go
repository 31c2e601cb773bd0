package identity

import (
	"net/url"
	"strings"
)

// maxResourceQuery bounds the parameters of a resource, which is in a header of responses.
const maxResourceQuery = 1 << 10 // bytes

// CatalogQuery returns the parameters of a URL's query that select catalogs: catalog and readonly.
// They keep their order and their text, with "?" in front, because clients compare the resource
// with the URL of their configuration. A malformed parameter is left out. The result is empty
// without any, and if they have more than 1024 bytes.
func CatalogQuery(query string) string {
	var kept []string
	for parameter := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(parameter, "=")
		if (name == "catalog" || name == "readonly") && wellFormedValue(value) {
			kept = append(kept, parameter)
		}
	}
	if text := "?" + strings.Join(kept, "&"); len(kept) > 0 && len(text) <= maxResourceQuery {
		return text
	}
	return ""
}

// wellFormedValue reports whether s can be a value in a query (RFC 3986, section 3.4). net/url
// takes no semicolon.
func wellFormedValue(s string) bool {
	_, err := url.QueryUnescape(s)
	return err == nil && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("-._~%!$'()*+,=:@/?", r)
	})
}

// Audience returns the URL of the resource if the audience of a token is this URL, alone or with
// parameters of [CatalogQuery] and no others. It returns any other audience unchanged. A [Verifier]
// compares the result with the audiences that it accepts. The catalogs of an audience restrict
// nothing: the URL of each request selects catalogs.
func (r Resource) Audience(audience string) string {
	query, ok := strings.CutPrefix(audience, r.URL+"?")
	if ok && query != "" && CatalogQuery(query) == "?"+query {
		return r.URL
	}
	return audience
}
