package api

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

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

// read reads the body of a request that has one, and puts it back for huma. There is one spelling of a
// body: what two readers could take for two things is refused.
func (r *request) read(w http.ResponseWriter) error {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		r.Body = http.NoBody
		return nil
	}
	if !isJSON(r.Request) {
		return problem(http.StatusUnsupportedMediaType, "Content-Type must be application/json, or %s for a PATCH", mergePatch)
	}
	r.Header.Set("Content-Type", "application/json")
	body, err := front.Body(w, r.Request, maxBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return problem(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", tooLarge.Limit)
	case err != nil:
		return problem(http.StatusBadRequest, "the body could not be read")
	}
	if err := decode.Scan(body, decode.Limits{Bytes: maxBody, Depth: maxDepth}); err != nil {
		return problem(http.StatusBadRequest, "the body: %s", err)
	}
	if err := checkMembers(body); err != nil {
		return err
	}
	r.body = body
	return nil
}

// checkMembers refuses what huma would take, and should not. What is no object is left to its schema.
//
//   - null, where a member may be left out: a catalog for organisation null would be made for all.
//   - another spelling of a name: "Name" would count as "name", and beside it.
func checkMembers(body []byte) (err error) {
	_ = decode.Members(body, decode.Limits{}, func(name, value []byte) {
		switch {
		case strings.Trim(string(name), "abcdefghijklmnopqrstuvwxyz_") != "":
			err = problem(http.StatusUnprocessableEntity, "%.64q is no member: their names are lower case", name)
		case string(name) == "params":
			err = problem(http.StatusUnprocessableEntity, `"params" is no member: it is called "parameters"`)
		case string(value) == "null":
			err = problem(http.StatusUnprocessableEntity, "%q is null: give it a value, or leave it out", name)
		case string(name) == "permission" && err == nil: // its members are of the API as well
			err = checkMembers(value)
		}
	})
	return err
}

// isJSON reports whether a Content-Type, sent once, is JSON in UTF-8.
func isJSON(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return false
	}
	media, params, err := mime.ParseMediaType(types[0])
	charset, ok := params["charset"]
	if err != nil || ok && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return media == "application/json" || media == mergePatch && r.Method == http.MethodPatch
}

// checkQuery refuses what could be read in two ways, and a filter that says nothing, which would be taken for
// one that was not sent. A catalog that is there and empty asks for all tools, as it does over MCP.
func (r *request) checkQuery() error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem(http.StatusBadRequest, "the query cannot be read")
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" && name != "catalog" && name != "catalog_id" {
			return problem(http.StatusBadRequest, "the query has a parameter twice, or one without a value: send each once, or leave it out")
		}
	}
	return nil
}

// arguments are the members of a body by name, size and digest, for the audit.
func arguments(body []byte) []audit.Argument {
	var all []audit.Argument
	_ = decode.Members(body, decode.Limits{}, func(name, value []byte) { // none where it is no object
		all = append(all, audit.Argument{Name: string(name[:min(len(name), 64)]), Bytes: len(value), Digest: audit.DigestOf(value)})
	})
	return all
}
