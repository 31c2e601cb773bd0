package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/ifmatch"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/audit"
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

// items are items of a kind, which have versions. S is an item in the store.
type items[S, T any] struct {
	a      *API
	in     home
	path   string
	name   string // in the names of operations
	show   func(S) T
	key    func(S) (id, version int64)
	read   func(ctx context.Context, in store.Scope, id int64) (S, error)
	remove func(ctx context.Context, in store.Scope, id, version int64, by audit.Event) error
	// before may refuse a change; nil refuses none
	before func(ctx context.Context, r *request, id string, body any) error
}

func (i items[S, T]) operation(method, verb, path, summary string, errors ...int) huma.Operation {
	return i.in.operation(method, verb+"-"+i.name, i.path+path, summary, errors...)
}

func (i items[S, T]) found(s S, err error) (*one[T], error) {
	_, version := i.key(s)
	return found(i.show(s), version), err
}

// list registers the list of the items in the order of their ids.
func list[S, T, I any, P interface {
	*I
	ids() (store.Page[int64], error)
}](i items[S, T], summary string, read func(ctx context.Context, r *request,
	page store.Page[int64], in *I) ([]S, bool, error)) {
	op := i.operation(http.MethodGet, "list", "", summary)
	op.OperationID += "s"
	register(i.a, op, i.in.gate, func(ctx context.Context, r *request, in *I) (*pageOutput[T], error) {
		page, err := P(in).ids()
		if err != nil {
			return nil, err
		}
		all, more, err := read(ctx, r, page, in)
		return paged(r, all, more, i.show, func(s S) string {
			id, _ := i.key(s)
			return cursorOf(byID, ids.Text(id))
		}), err
	})
}

// create registers the creation of an item.
func create[S, T, B any](i items[S, T], summary string,
	do func(ctx context.Context, r *request, body *B) (S, error)) {
	register(i.a, i.operation(http.MethodPost, "create", "", summary, http.StatusConflict), i.in.gate,
		func(ctx context.Context, r *request, in *struct{ Body B }) (*made[T], error) {
			s, err := do(ctx, r, &in.Body)
			id, version := i.key(s)
			return created(r, ids.Text(id), i.show(s), version), err
		})
}

// get registers the read of an item.
func (i items[S, T]) get(summary string) {
	register(i.a, i.operation(http.MethodGet, "get", "/{id}", summary, http.StatusNotFound), i.in.gate,
		func(ctx context.Context, r *request, in *ID) (*one[T], error) {
			return i.found(i.read(ctx, r.scope, ids.Of(in.ID)))
		})
}

// update registers the change of an item, on the condition of If-Match.
func update[S, T, B any](i items[S, T], summary string,
	do func(ctx context.Context, r *request, id, version int64, body *B) (S, error)) {
	type input struct {
		One
		Body B
	}
	op := i.operation(http.MethodPatch, "update", "/{id}", summary, http.StatusNotFound,
		http.StatusConflict, http.StatusPreconditionFailed, http.StatusPreconditionRequired)
	register(i.a, op, i.in.gate, func(ctx context.Context, r *request, in *input) (*one[T], error) {
		var s S
		err := i.change(ctx, r, in.ID.ID, &in.Body, func(id, version int64) (err error) {
			s, err = do(ctx, r, id, version, &in.Body)
			return err
		})
		return i.found(s, err)
	})
}

// delete registers the deletion of an item.
func (i items[S, T]) delete(summary string) {
	op := i.operation(http.MethodDelete, "delete", "/{id}", summary, http.StatusNotFound,
		http.StatusConflict, http.StatusPreconditionFailed)
	register(i.a, op, i.in.gate, func(ctx context.Context, r *request, in *One) (*nothing, error) {
		return nil, i.change(ctx, r, in.ID.ID, nil, func(id, version int64) error {
			return i.remove(ctx, r.scope, id, version, r.by())
		})
	})
}

// change makes a change at the versions of If-Match, which a change with a body must have.
func (i items[S, T]) change(ctx context.Context, r *request, text string, body any,
	do func(id, version int64) error) error {
	if i.before != nil {
		if err := i.before(ctx, r, text, body); err != nil {
			return err
		}
	}
	id := ids.Of(text)
	return ifmatch.Change(r.Request, body != nil, func() (int64, error) {
		s, err := i.read(ctx, r.scope, id)
		_, version := i.key(s)
		return version, err
	}, func(version int64) error { return do(id, version) })
}
