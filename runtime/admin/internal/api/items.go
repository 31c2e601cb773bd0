package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/ifmatch"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// ID selects an item by its id, which is opaque.
type ID struct {
	ID string `path:"id"`
}

// Condition documents If-Match. The API reads it from all headers of the request.
type Condition struct {
	IfMatch string `header:"If-Match" doc:"The ETag of the last read, or * for any version"`
}

// One is a change of an item with a version, without a body.
type One struct {
	ID
	Condition
}

// Reference is the id of an organisation or a team in a body or a query. In JSON it is a string or
// a whole number. Responses have strings, because JavaScript rounds numbers above 2^53.
type Reference string

// UnmarshalJSON keeps the text of a number.
func (id *Reference) UnmarshalJSON(value []byte) error { return unquote((*string)(id), value) }

// unquote reads a string, or keeps the text of a number. null is absence.
func unquote(text *string, value []byte) error {
	if !ids.IsNumber(value) {
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
	if *id == "" || ids.Of(string(*id)) != 0 { // empty is absent: the schema refuses an empty id
		return nil
	}
	return []error{&huma.ErrorDetail{Location: at.String(), Message: problem.NotAnID}}
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

type nothing struct{}

// one is a response with one item. It has an ETag if the item has versions.
type one[T any] struct {
	ETag string `header:"ETag" doc:"Its version; send it as If-Match with a change"`
	Body T
}

// made is a response with an item that a POST to a list has made.
type made[T any] struct {
	ETag     string `header:"ETag" doc:"Its version; send it as If-Match with a change"`
	Location string `header:"Location" doc:"The new scope"`
	Body     T
}

func found[T any](body T, version int64) *one[T] { return &one[T]{ifmatch.ETag(version), body} }

func created[T any](r *request, id string, body T, version int64) *made[T] {
	return &made[T]{ifmatch.ETag(version), r.URL.EscapedPath() + "/" + id, body}
}

// taken is a conflict in place of the store's error for an existing thing.
func taken(err error, location, format string, args ...any) error {
	if errors.Is(err, store.ErrExists) {
		return problem.At(http.StatusConflict, location, format, args...)
	}
	return err
}
