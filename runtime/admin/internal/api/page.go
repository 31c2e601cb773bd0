package api

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Paging selects a page of a list.
type Paging struct {
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"The largest number of items"`
	After string `query:"after" maxLength:"1024" doc:"The value of next in the previous page"`
}

// Page is a part of a list, after the page before it. Items that are added or deleted meanwhile
// move no other item from one page to another.
type Page[T any] struct {
	Items []T    `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Send it as after for the next page; absent on the last"`
}

type pageOutput[T any] struct {
	Link string `header:"Link" doc:"The next page, as rel=next; absent on the last"`
	Body Page[T]
}

// paged shows a page of a list. cursor returns where the next one begins, after its last item.
func paged[S, T any](r *request, found []S, more bool, show func(S) T,
	cursor func(S) string) *pageOutput[T] {
	out := &pageOutput[T]{Body: Page[T]{Items: make([]T, 0, len(found))}}
	for _, one := range found {
		out.Body.Items = append(out.Body.Items, show(one))
	}
	if more && len(found) > 0 {
		out.follow(r, cursor(found[len(found)-1]))
	}
	return out
}

// follow sets where the next page begins.
func (out *pageOutput[T]) follow(r *request, cursor string) {
	out.Body.Next, out.Link = cursor, r.next(cursor)
}

// next is the Link of the page after a cursor (RFC 8288).
func (r *request) next(cursor string) string {
	query := r.URL.Query()
	query.Set("after", cursor)
	return fmt.Sprintf(`<%s?%s>; rel="next"`, r.URL.EscapedPath(), query.Encode())
}

// The kinds of keys in cursors. A cursor contains only text of the page, and needs no MAC: a caller
// who alters it pages through the same list, which is their own.
const (
	byID       = 'i'
	byName     = 'n'
	byPlace    = 'e' // an event, by time and id
	byShelf    = 's' // a catalog that the caller may request
	byDeclared = 'd' // a catalog of code's, which come before those of the store
)

var errCursor = problem.At(http.StatusUnprocessableEntity, "query.after",
	"after is not the value of next from a page of this list")

func cursorOf(kind byte, key string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{kind}, key...))
}

// keyOf reads a cursor. None is the start.
func keyOf(after string, kinds ...byte) (kind byte, key string, err error) {
	if after == "" {
		return 0, "", nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(after)
	if err != nil || len(raw) < 2 || !slices.Contains(kinds, raw[0]) ||
		raw[0] == byID && ids.Of(string(raw[1:])) == 0 {
		return 0, "", errCursor
	}
	return raw[0], string(raw[1:]), nil
}

// ids is the page of a list in the order of ids.
func (p Paging) ids() (store.Page[int64], error) {
	_, key, err := keyOf(p.After, byID)
	return store.Page[int64]{After: ids.Of(key), Limit: p.Limit}, err
}

// events is the page of a search of the audit trail.
func (p Paging) events() (store.EventPage, error) {
	_, key, err := keyOf(p.After, byPlace)
	if err != nil {
		return store.EventPage{}, err
	}
	after, err := store.ParseEventPlace(key)
	if err != nil {
		err = errCursor
	}
	return store.EventPage{After: after, Limit: p.Limit}, err
}

// names is the page of a list in the order of names.
func (p Paging) names() (store.Page[string], error) {
	_, key, err := keyOf(p.After, byName)
	return store.Page[string]{After: key, Limit: p.Limit}, err
}

// cut is a page of a list in the order of names that is there as a whole.
func cut[T any](all []T, name func(T) string, page store.Page[string]) ([]T, bool) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	from := 0
	if page.After != "" {
		from, _ = slices.BinarySearchFunc(all, page.After, func(one T, after string) int {
			if name(one) <= after {
				return -1
			}
			return 1
		})
	}
	rest := all[from:]
	if len(rest) > page.Limit {
		return rest[:page.Limit], true
	}
	return rest, false
}
