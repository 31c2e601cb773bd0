package api

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

const (
	// maxBody is far more than the longest description takes.
	maxBody = 64 << 10
	// maxDepth is more than any body needs.
	maxDepth = 8
)

const mergePatch = "application/merge-patch+json" // RFC 7396, section 4

// read reads the body of a request that has one, and puts it back for huma. There is one spelling
// of a body: what two readers could take for two things is refused.
func (r *request) read(w http.ResponseWriter) error {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		r.Body = http.NoBody
		return nil
	}
	media := mediaOf(r.Request)
	if media == "" {
		return problem(http.StatusUnsupportedMediaType,
			"Content-Type must be application/json, or %s for a PATCH", mergePatch)
	}
	r.Header.Set("Content-Type", "application/json")
	body, err := front.Body(w, r.Request, maxBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes",
			tooLarge.Limit)
	case err != nil:
		return problem(http.StatusBadRequest, "the body could not be read")
	}
	if err := decode.Scan(body, decode.Limits{Bytes: maxBody, Depth: maxDepth}); err != nil {
		return problem(http.StatusBadRequest, "the body: %s", err)
	}
	if err := checkMembers(body, media == mergePatch); err != nil {
		return err
	}
	r.body = body
	return nil
}

// checkMembers refuses members that huma accepts. The schema refuses a body that is not an object.
//
//   - A number as an id that is not written as an id: huma takes 1.0 and 1e3 for integers.
//   - A name with other letters than its own: huma would read "Name" as "name".
//   - null in a merge patch, where null removes a member (RFC 7396, section 2). No member can be
//     removed. Elsewhere null is absence; see nullable.
func checkMembers(body []byte, merge bool) (err error) {
	_ = decode.Members(body, decode.Limits{}, func(name, value []byte) {
		switch {
		case strings.Trim(string(name), "abcdefghijklmnopqrstuvwxyz_") != "":
			err = problem(http.StatusUnprocessableEntity,
				"%.64q is not a member: member names are lower case", name)
		case strings.HasSuffix(string(name), "_id") && isNumber(value) && idOf(string(value)) == 0:
			err = misfit(http.StatusUnprocessableEntity, "body."+string(name), notAnID)
		case merge && string(value) == "null":
			err = misfit(http.StatusUnprocessableEntity, "body."+string(name),
				"a merge patch cannot remove this member: omit it, or send a new value")
		case string(name) == "params":
			err = misfit(http.StatusUnprocessableEntity, "body.params",
				`the name of the member is "parameters"`)
		case string(name) == "permission" && err == nil: // its members are of the API as well
			err = checkMembers(value, merge)
		}
	})
	return err
}

// mediaOf returns the media type of a body that is JSON in UTF-8, and otherwise "".
func mediaOf(r *http.Request) string {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return ""
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, ok := params["charset"]
	if err != nil || ok && !strings.EqualFold(charset, "utf-8") ||
		media != "application/json" && (media != mergePatch || r.Method != http.MethodPatch) {
		return ""
	}
	return media
}

// describeBody completes what huma writes down of the body of an operation.
func (a *API) describeBody(op *huma.Operation) {
	content := op.RequestBody.Content
	body := content["application/json"].Schema
	nullable(a.huma.OpenAPI().Components.Schemas, body)
	if op.Method == http.MethodPatch {
		content[mergePatch] = &huma.MediaType{Schema: &huma.Schema{AllOf: []*huma.Schema{body, {
			AdditionalProperties: &huma.Schema{Not: &huma.Schema{Type: "null"}},
		}}}}
	}
}

// nullable lets the optional members of a body be null, which is the same as leaving them out:
// huma does not validate such a null, and encoding/json decodes it to the zero value.
func nullable(schemas huma.Registry, s *huma.Schema) {
	if s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	for name, member := range s.Properties {
		if member.Ref != "" {
			nullable(schemas, member)
			member = schemas.SchemaFromRef(member.Ref)
		}
		switch {
		case slices.Contains(s.Required, name):
		case member.AnyOf != nil:
			member.AnyOf[0].Nullable = true
		default:
			member.Nullable = true
		}
	}
}

func isNumber(value []byte) bool { return value[0] == '-' || value[0] >= '0' && value[0] <= '9' }

// Reference is the id of an organisation or a team in a body or a query. In JSON it is a string or
// a whole number. Responses have strings, because JavaScript rounds numbers above 2^53.
type Reference string

const notAnID = `expected an id, for example "7" or 7: no sign, fraction, exponent or leading zero`

// UnmarshalJSON keeps the text of a number.
func (id *Reference) UnmarshalJSON(value []byte) error { return unquote((*string)(id), value) }

// unquote reads a string, or keeps the text of a number. null is absence.
func unquote(text *string, value []byte) error {
	if !isNumber(value) {
		return json.Unmarshal(value, text)
	}
	*text = string(value)
	return nil
}

// Schema implements [huma.SchemaProvider].
func (Reference) Schema(huma.Registry) *huma.Schema {
	least, some := 1.0, 1
	return &huma.Schema{Pattern: "^[1-9][0-9]*$", AnyOf: []*huma.Schema{ // Resolve has the pattern
		{Type: huma.TypeString, MinLength: &some},
		{Type: huma.TypeInteger, Format: "int64", Minimum: &least},
	}}
}

// Resolve implements [huma.ResolverWithPath]. It refuses a text that is no id.
func (id *Reference) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if *id == "" || idOf(string(*id)) != 0 { // empty is absent: the schema refuses an empty id
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: notAnID}}
}

// ModuleID names the source of a tool. In JSON it is a string or a number, and responses have a
// string.
type ModuleID string

// Schema implements [huma.SchemaProvider].
func (ModuleID) Schema(huma.Registry) *huma.Schema {
	most := 256 // which the store checks
	return &huma.Schema{MaxLength: &most, AnyOf: []*huma.Schema{
		{Type: huma.TypeString}, {Type: huma.TypeInteger},
	}}
}

// UnmarshalJSON keeps the text of a number.
func (id *ModuleID) UnmarshalJSON(value []byte) error { return unquote((*string)(id), value) }

// checkQuery refuses what could be read in two ways, and a filter that says nothing, which would be
// taken for one that was not sent. A catalog that is there and empty asks for all tools, as it does
// over MCP.
func (r *request) checkQuery() error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "the query is malformed")
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" && name != "catalog" && name != "catalog_id" {
			return problem(http.StatusBadRequest,
				"the query has a parameter twice or without a value: send each once with a value, or omit it")
		}
	}
	return nil
}

// arguments are the members of a body by name, size and digest, for the audit.
func arguments(body []byte) []audit.Argument {
	var all []audit.Argument
	// none where it is no object
	_ = decode.Members(body, decode.Limits{}, func(name, value []byte) {
		all = append(all, audit.Argument{Name: string(name[:min(len(name), 64)]), Bytes: len(value),
			Digest: audit.DigestOf(value)})
	})
	return all
}
