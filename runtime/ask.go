package runtime

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Where a client says which tool catalog it wants listed, and where it reads what is to be known of it. The first
// that is there counts, in this order: params of tools/list, with catalog and catalog_id; _meta; the
// header; the query of the endpoint. Where one of them has a name and an id, the id counts. One that is there and empty asks
// for all tools, whatever stands behind it.
const (
	MetaCatalog     = "io.github.mcpgen/catalog"
	MetaCatalogID   = "io.github.mcpgen/catalog-id"
	MetaCatalogNote = "io.github.mcpgen/catalog-note" // in the result
	// HeaderCatalog holds a name, percent-encoded where it has other characters than a header can
	// have; what does not decode is taken as it stands.
	HeaderCatalog = "Mcpgen-Catalog"
	// QueryCatalog and QueryCatalogID are all that many clients can set.
	QueryCatalog   = "catalog"
	QueryCatalogID = "catalog_id"
)

// asked is which catalog a message asks for. said is true where it says so, be it that it wants none.
type asked struct {
	catalog.Ask
	said bool
	long bool // it was longer than anything is called, and is cut
}

// maxAsk is how many bytes a name or an id of a catalog may have. Longer ones are those of none, and are not kept: what a
// session asked for last stays with it.
const maxAsk = 256

// kept is what is kept of it, in memory of its own.
func (a asked) kept(mask redact.Masker) asked {
	a.long = len(a.ID) > maxAsk || len(a.Name) > maxAsk
	if a.long {
		// For the log and the audit alone, and masked before they are cut: half a secret does not look like one.
		a.ID = shortened(mask.Text(a.ID), recordedAskBytes)
		a.Name = shortened(mask.Text(a.Name), recordedAskBytes)
	}
	a.ID, a.Name = strings.Clone(a.ID), strings.Clone(a.Name)
	return a
}

// filters are the methods whose answer depends on a catalog.
var filters = map[string]bool{"tools/list": true, "subscriptions/listen": true}

// askedIn reads a catalog from the params of a message, whose shape was looked at already. go-sdk drops
// what it does not know of them unread, so there is no second reading.
func askedIn(params []byte, mask redact.Masker) (asked, []decode.Problem) {
	if params[0] != '{' {
		return asked{}, nil
	}
	var own, meta asked
	var found []decode.Problem
	take := func(a *asked, pointer, name string, value []byte, isID bool) {
		switch {
		case value[0] == 'n': // null: not said
		case value[0] == '"' && isID:
			a.ID, a.said = string(unquoted(value)), true
		case value[0] == '"':
			a.Name, a.said = string(unquoted(value)), true
		case isID && checkID(value) == nil:
			a.ID, a.said = string(value), true
		case isID:
			found = append(found, decode.Problem{Pointer: decode.Pointer(pointer, name), Message: "is neither a string nor an integer"})
		default:
			found = append(found, decode.Problem{Pointer: decode.Pointer(pointer, name), Message: decode.SaysType(typeOf(value[0]), "string")})
		}
	}
	eachMember(params, func(name, value []byte) bool {
		switch string(name) {
		case "catalog":
			take(&own, "", "catalog", value, false)
		case "catalog_id":
			take(&own, "", "catalog_id", value, true)
		case "_meta":
			if value[0] != '{' {
				break
			}
			eachMember(value, func(name, value []byte) bool {
				switch string(name) {
				case MetaCatalog:
					take(&meta, "/_meta", MetaCatalog, value, false)
				case MetaCatalogID:
					take(&meta, "/_meta", MetaCatalogID, value, true)
				}
				return true
			})
		}
		return true
	})
	if own.said {
		return own.kept(mask), found
	}
	return meta.kept(mask), found
}

// asks reads the catalog that a message asks for, if its method has to do with one.
func (m *envelope) asks(method string, mask redact.Masker) (asked, *messageError) {
	if !filters[method] || len(m.params) == 0 {
		return asked{}, nil
	}
	a, problems := askedIn(m.params, mask)
	if len(problems) > 0 {
		return asked{}, &messageError{code: jsonrpc.CodeInvalidParams, text: "invalid params: ", what: decode.NewError(problems)}
	}
	return a, nil
}

// orElse is what the HTTP request says around a message that says nothing.
func (a asked) orElse(r *http.Request, mask redact.Masker) asked {
	if a.said {
		return a
	}
	if values := r.Header.Values(HeaderCatalog); len(values) > 0 {
		name, err := url.PathUnescape(values[0])
		if err != nil {
			name = values[0]
		}
		return asked{Ask: catalog.Ask{Name: name}, said: true}.kept(mask)
	}
	if r.URL.RawQuery == "" {
		return asked{}
	}
	query := r.URL.Query()
	return asked{
		Ask:  catalog.Ask{ID: query.Get(QueryCatalogID), Name: query.Get(QueryCatalog)},
		said: query.Has(QueryCatalogID) || query.Has(QueryCatalog),
	}.kept(mask)
}
