package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// MetaRequestID is in the _meta of a log message: the JSON-RPC id of the request that it belongs
// to.
const MetaRequestID = "io.github.mcpgen/requestId"

// A client names the tool catalogs to list in one of these places. The first one counts: catalog
// and catalog_id in the params, _meta, the header, the query of the endpoint. In one place ids
// count before names. An empty value requests all tools. Several catalogs are an array in the
// params and in _meta, and separated by commas in the header and the query.
const (
	MetaCatalog     = "io.github.mcpgen/catalog"
	MetaCatalogID   = "io.github.mcpgen/catalog-id"
	MetaCatalogNote = "io.github.mcpgen/catalog-note" // in the result
	// HeaderCatalog contains names, percent-encoded if a header cannot have their characters.
	HeaderCatalog = "Mcpgen-Catalog"
	// QueryCatalog and QueryCatalogID are for clients that can set nothing but a URL.
	QueryCatalog   = "catalog"
	QueryCatalogID = "catalog_id"
	// QueryReadOnly requests the tools marked readonly alone, unless its value is "false".
	QueryReadOnly = "readonly"
)

const (
	maxCatalogs       = 16  // of one query
	maxCatalogName    = 256 // bytes of a name or an id; a session remembers them
	maxCutCatalogName = 64  // bytes of longer ones for the log and the audit
)

// catalogMethods are the methods whose result depends on a catalog.
var catalogMethods = map[string]bool{"tools/list": true, "subscriptions/listen": true}

// NewCatalogQuery returns the query for the tools of any of some catalogs.
func NewCatalogQuery(mask redact.Masker, refs ...catalog.Ref) request.CatalogQuery {
	var l refList
	for _, ref := range refs {
		l.add(ref)
	}
	return bounded(request.CatalogQuery{Refs: l, Set: len(l) > 0}, mask)
}

// NamedCatalogs returns the query for the tools of any of the named catalogs.
func NamedCatalogs(mask redact.Masker, names ...string) request.CatalogQuery {
	refs := make([]catalog.Ref, len(names))
	for i, name := range names {
		refs[i].Name = name
	}
	return NewCatalogQuery(mask, refs...)
}

// refList is a list of catalogs. It keeps none twice, and few more than a query may have.
type refList []catalog.Ref

func (l *refList) add(ref catalog.Ref) {
	if ref.ID != "" {
		ref.Name = "" // the id counts
	}
	if !ref.IsZero() && len(*l) <= maxCatalogs && !slices.Contains(*l, ref) {
		*l = append(*l, ref)
	}
}

// addList adds the catalogs in a text, which commas separate.
func (l *refList) addList(text string, ref func(string) catalog.Ref) {
	for part := range strings.SplitSeq(text, ",") {
		l.add(ref(strings.TrimSpace(part)))
	}
}

func byName(name string) catalog.Ref { return catalog.Ref{Name: name} }
func byID(id string) catalog.Ref     { return catalog.Ref{ID: id} }

// CatalogInHTTP completes the query in a message by the headers and the URL of its HTTP request.
func CatalogInHTTP(r *http.Request, q request.CatalogQuery,
	mask redact.Masker) request.CatalogQuery {
	var query url.Values
	if raw := r.URL.RawQuery; raw != "" {
		var err error
		query, err = url.ParseQuery(raw) // without malformed parameters, which may be this one
		q.ReadOnly = q.ReadOnly || err != nil && strings.Contains(raw, QueryReadOnly)
	}
	for _, value := range query[QueryReadOnly] {
		q.ReadOnly = q.ReadOnly || value != "false" // a misspelt "true" does not list more
	}
	if q.Set {
		return q
	}
	var refs refList
	if values := r.Header[HeaderCatalog]; len(values) > 0 {
		refs.addList(values[0], func(name string) catalog.Ref {
			if plain, err := url.PathUnescape(name); err == nil {
				name = plain
			}
			return byName(name)
		})
		q.Set = true
	} else {
		for _, text := range query[QueryCatalogID] {
			refs.addList(text, byID)
		}
		if len(refs) == 0 {
			for _, text := range query[QueryCatalog] {
				refs.addList(text, byName)
			}
		}
		q.Set = query.Has(QueryCatalogID) || query.Has(QueryCatalog)
	}
	q.Refs = refs
	return bounded(q, mask)
}

// bounded copies a query and cuts long texts. It masks first: half a secret is not recognized.
func bounded(q request.CatalogQuery, mask redact.Masker) request.CatalogQuery {
	if len(q.Refs) > maxCatalogs {
		q.Refs, q.TooLong = q.Refs[:maxCatalogs], true
	}
	for _, ref := range q.Refs {
		q.TooLong = q.TooLong || len(ref.ID) > maxCatalogName || len(ref.Name) > maxCatalogName
	}
	for i := range q.Refs {
		for _, text := range []*string{&q.Refs[i].ID, &q.Refs[i].Name} {
			if q.TooLong {
				*text = redact.Shorten(mask.Text(*text), maxCutCatalogName)
			}
			*text = strings.Clone(*text)
		}
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
	var names, ids refList
	for member, value := range object.Members() {
		isName := string(member) == name
		if !isName && string(member) != id || value.Type() == "null" { // null is like no member
			continue
		}
		add := func(at string, value decode.Value) {
			switch is := value.Type(); {
			case isName && is != "string":
				problems = append(problems,
					decode.Problem{Pointer: at, Message: decode.TypeMessage(is, "string")})
			case isName:
				names.add(byName(string(value.Text())))
			case is != "string" && !isInteger(value):
				problems = append(problems,
					decode.Problem{Pointer: at, Message: "is neither a string nor an integer"})
			case is == "string":
				ids.add(byID(string(value.Text())))
			default:
				ids.add(byID(string(value)))
			}
		}
		q.Set = true
		at := decode.Pointer(pointer, string(member))
		if value.Type() != "array" {
			add(at, value)
			continue
		}
		empty := true
		for i, item := range value.Items() {
			empty = false
			add(at+"/"+strconv.Itoa(i), item)
		}
		if empty {
			problems = append(problems, decode.Problem{Pointer: at, Message: "is an empty array"})
		}
	}
	if q.Refs = ids; len(ids) == 0 {
		q.Refs = names
	}
	return q, problems
}

// isInteger reports whether a value is a plain integer that every reader of JSON keeps.
func isInteger(v decode.Value) bool {
	const safe = 1<<53 - 1
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && -safe <= n && n <= safe
}
