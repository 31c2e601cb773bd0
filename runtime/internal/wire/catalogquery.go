package wire

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// MetaRequestID is in the _meta of a log message: the JSON-RPC id of the request that it belongs
// to.
const MetaRequestID = "io.github.mcpgen/requestId"

// A client names the tool catalog to list in one of these places. The first one counts: catalog and
// catalog_id in the params, _meta, the header, the query of the endpoint. In one place an id counts
// before a name. An empty value requests all tools.
const (
	MetaCatalog     = "io.github.mcpgen/catalog"
	MetaCatalogID   = "io.github.mcpgen/catalog-id"
	MetaCatalogNote = "io.github.mcpgen/catalog-note" // in the result
	// HeaderCatalog contains a name, percent-encoded if a header cannot have its characters.
	HeaderCatalog = "Mcpgen-Catalog"
	// QueryCatalog and QueryCatalogID are for clients that can set nothing but a URL.
	QueryCatalog   = "catalog"
	QueryCatalogID = "catalog_id"
)

const (
	maxCatalogName    = 256 // bytes of a name or an id; a session remembers them
	maxCutCatalogName = 64  // bytes of longer ones for the log and the audit
)

// catalogMethods are the methods whose result depends on a catalog.
var catalogMethods = map[string]bool{"tools/list": true, "subscriptions/listen": true}

// NewCatalogQuery returns the query for a catalog.
func NewCatalogQuery(ask catalog.Ask, mask redact.Masker) request.CatalogQuery {
	return bounded(request.CatalogQuery{Ask: ask, Set: !ask.IsZero()}, mask)
}

// CatalogInHTTP returns the query in the headers or the URL of an HTTP request.
func CatalogInHTTP(r *http.Request, mask redact.Masker) request.CatalogQuery {
	var q request.CatalogQuery
	if values := r.Header.Values(HeaderCatalog); len(values) > 0 {
		q.Name, q.Set = values[0], true
		if name, err := url.PathUnescape(q.Name); err == nil {
			q.Name = name
		}
	} else if r.URL.RawQuery != "" {
		query := r.URL.Query()
		q.ID, q.Name = query.Get(QueryCatalogID), query.Get(QueryCatalog)
		q.Set = query.Has(QueryCatalogID) || query.Has(QueryCatalog)
	}
	return bounded(q, mask)
}

// bounded copies a query and cuts long texts. It masks first: half a secret is not recognized.
func bounded(q request.CatalogQuery, mask redact.Masker) request.CatalogQuery {
	q.TooLong = len(q.ID) > maxCatalogName || len(q.Name) > maxCatalogName
	for _, text := range []*string{&q.ID, &q.Name} {
		if q.TooLong {
			*text = redact.Shorten(mask.Text(*text), maxCutCatalogName)
		}
		*text = strings.Clone(*text)
	}
	return q
}

// catalogInParams reads the query in the params of a message. go-sdk ignores these members.
func catalogInParams(params decode.Value,
	mask redact.Masker) (request.CatalogQuery, []decode.Problem) {
	q, problems := catalogIn(params, "", "catalog", "catalog_id")
	meta, further := catalogIn(params.Member("_meta"), "/_meta", MetaCatalog, MetaCatalogID)
	if !q.Set {
		q = meta
	}
	return bounded(q, mask), append(problems, further...)
}

// catalogIn reads the query in the members of an object that have these names.
func catalogIn(object decode.Value, pointer, name,
	id string) (q request.CatalogQuery, problems []decode.Problem) {
	for member, value := range object.Members() {
		field, why, is := &q.Name, "", value.Type()
		switch {
		case string(member) == id:
			field = &q.ID
			if !isID(value) {
				why = "is neither a string nor an integer"
			}
		case string(member) != name:
			continue
		case is != "string" && is != "null":
			why = decode.SaysType(is, "string")
		}
		switch {
		case why != "":
			at := decode.Pointer(pointer, string(member))
			problems = append(problems, decode.Problem{Pointer: at, Message: why})
		case is == "string":
			*field, q.Set = string(value.Text()), true
		case is != "null": // null is like no member
			*field, q.Set = string(value), true
		}
	}
	return q, problems
}
