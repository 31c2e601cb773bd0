// Package input reads the bodies and the queries of requests to the admin API. Each has one
// spelling: input that two readers could understand differently is a problem.
package input

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
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

// Body reads the body of a request that has one, and puts it back for huma.
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch:
	default:
		r.Body = http.NoBody
		return nil, nil
	}
	media := mediaOf(r)
	if media == "" {
		return nil, problem.New(http.StatusUnsupportedMediaType,
			"Content-Type must be application/json, or %s for a PATCH", mergePatch)
	}
	r.Header.Set("Content-Type", "application/json")
	body, err := front.Body(w, r, maxBody)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, problem.New(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes",
			tooLarge.Limit)
	case err != nil:
		return nil, problem.New(http.StatusBadRequest, "the body could not be read")
	}
	if err := decode.Scan(body, decode.Limits{Bytes: maxBody, Depth: maxDepth}); err != nil {
		return nil, problem.New(http.StatusBadRequest, "the body: %s", err)
	}
	if err := checkMembers(body, media == mergePatch); err != nil {
		return nil, err
	}
	return body, nil
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
			err = problem.New(http.StatusUnprocessableEntity,
				"%.64q is not a member: member names are lower case", name)
		case strings.HasSuffix(string(name), "_id") && ids.IsNumber(value) && ids.Of(string(value)) == 0:
			err = problem.At(http.StatusUnprocessableEntity, "body."+string(name), problem.NotAnID)
		case merge && string(value) == "null":
			err = problem.At(http.StatusUnprocessableEntity, "body."+string(name),
				"a merge patch cannot remove this member: omit it, or send a new value")
		case string(name) == "params":
			err = problem.At(http.StatusUnprocessableEntity, "body.params",
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

// DescribeBody completes huma's description of the body of an operation.
func DescribeBody(schemas huma.Registry, op *huma.Operation) {
	content := op.RequestBody.Content
	body := content["application/json"].Schema
	nullable(schemas, body)
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

// CheckQuery refuses a query with two readings, and an empty filter, which would be taken for one
// that was not sent. An empty catalog requests all tools, as over MCP.
func CheckQuery(r *http.Request) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return problem.New(http.StatusBadRequest, "the query is malformed")
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" && name != "catalog" && name != "catalog_id" {
			return problem.New(http.StatusBadRequest,
				"the query has a parameter twice or without a value: send each once with a value, or omit it")
		}
	}
	return nil
}

// Arguments are the members of a body by name, size and digest, for the audit.
func Arguments(body []byte) []audit.Argument {
	var all []audit.Argument
	// none where it is no object
	_ = decode.Members(body, decode.Limits{}, func(name, value []byte) {
		all = append(all, audit.Argument{Name: string(name[:min(len(name), 64)]), Bytes: len(value),
			Digest: audit.DigestOf(value)})
	})
	return all
}
