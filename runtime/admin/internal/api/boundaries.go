package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// BoundaryOf is the party of a boundary: a client, a client with one caller, or an actor.
type BoundaryOf struct {
	Issuer  string `json:"issuer" maxLength:"512" doc:"The issuer of the client or actor, as in its tokens; empty for principals without an issuer"`
	Client  string `json:"client,omitempty" maxLength:"512" doc:"The OAuth client, or * for all clients of the issuer without a boundary of their own"`
	Subject string `json:"subject,omitempty" maxLength:"512" doc:"Limits the boundary to one caller of the client"`
	Actor   string `json:"actor,omitempty" maxLength:"512" doc:"The subject of the actor of delegated tokens, in place of client"`
}

// BoundaryLimits are the most that a party may do.
type BoundaryLimits struct {
	Roles    Names  `json:"roles,omitempty" doc:"Of a caller's roles, those count that one of these is or includes. \"*\" is every role; missing, null and [] are none"`
	Items    Names  `json:"items,omitempty" doc:"The allowed items: tool:NAME, tool:NAME ARGUMENT=VALUE, prompt:NAME, resource:URI, skill:URI, catalog:NAME. \"*\" is every item; missing, null and [] are none"`
	ReadOnly bool   `json:"readonly,omitempty" doc:"Only tools that are marked readonly"`
	Until    string `json:"until,omitempty" doc:"The boundary allows nothing from this time on (RFC 3339); empty for no end"`
	Blocked  bool   `json:"blocked,omitempty" doc:"The party is blocked: its requests are refused"`
}

// Boundary is the permission boundary of a client or an actor.
type Boundary struct {
	ID string `json:"id"`
	BoundaryOf
	BoundaryLimits
	Version int64     `json:"version" doc:"The value of its ETag"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// NewBoundary contains the fields of a new boundary, as an entry of a file of boundary/static.
type NewBoundary struct {
	BoundaryOf
	BoundaryLimits
}

// BoundaryPatch is a change of a boundary. Absent members stay. [] allows nothing, and an empty
// until removes the end.
type BoundaryPatch struct {
	Roles    *Names  `json:"roles,omitempty" doc:"The new roles; [] is none"`
	Items    *Names  `json:"items,omitempty" doc:"The new items; [] is none"`
	ReadOnly *bool   `json:"readonly,omitempty"`
	Until    *string `json:"until,omitempty" doc:"The new end; empty for no end"`
	Blocked  *bool   `json:"blocked,omitempty" doc:"true blocks the party on all replicas"`
}

// Names are roles or items. In JSON they are a list, or "*" for all.
type Names []string

// UnmarshalJSON reads a list or "*". null is absence.
func (n *Names) UnmarshalJSON(value []byte) error {
	if string(value) == `"`+boundaryitem.All+`"` {
		*n = Names{boundaryitem.All}
		return nil
	}
	return json.Unmarshal(value, (*[]string)(n))
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Names) MarshalJSON() ([]byte, error) {
	if boundaryitem.IsAll(n) {
		return json.Marshal(boundaryitem.All)
	}
	return json.Marshal([]string(n))
}

// Schema implements [huma.SchemaProvider].
func (Names) Schema(huma.Registry) *huma.Schema {
	most := 1000 // which the store checks
	return &huma.Schema{AnyOf: []*huma.Schema{
		{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}, MaxItems: &most},
		{Type: huma.TypeString, Enum: []any{boundaryitem.All}},
	}}
}

func limitsOf(b boundary.Boundary) BoundaryLimits {
	shown := BoundaryLimits{Roles: b.Roles, Items: b.Items, ReadOnly: b.ReadOnly,
		Blocked: b.Blocked}
	if !b.Until.IsZero() {
		shown.Until = b.Until.UTC().Format(time.RFC3339)
	}
	return shown
}

func boundaryOf(b store.Bound) Boundary {
	return Boundary{ID: ids.Text(b.ID), BoundaryOf: BoundaryOf(b.Party),
		BoundaryLimits: limitsOf(b.Boundary), Version: b.Version, Created: b.Created,
		Updated: b.Updated}
}

// endOf reads a time until which a boundary holds. Empty is none.
func endOf(text string) (end time.Time, err error) {
	if text == "" {
		return end, nil
	}
	if end, err = time.Parse(time.RFC3339, text); err != nil || end.IsZero() {
		return end, problem.At(http.StatusUnprocessableEntity, "body.until",
			"it is not a time of RFC 3339: write one as in 2027-06-30T00:00:00Z")
	}
	return end, nil
}

// unfit returns the faults of a boundary as a problem.
func unfit(faults []clients.Fault) error {
	if len(faults) == 0 {
		return nil
	}
	p := problem.New(http.StatusUnprocessableEntity, "validation failed")
	for _, f := range faults {
		at := "body." + f.Field
		if f.At >= 0 {
			at += fmt.Sprintf("[%d]", f.At)
		}
		p.Errors = append(p.Errors, &huma.ErrorDetail{Location: at, Message: f.Text})
	}
	return p
}

// boundaries registers the operations on the boundaries in the store.
func (a *API) boundaries() {
	i := items[store.Bound, Boundary]{a: a, in: everywhere, path: "/boundaries", name: "boundary",
		show: boundaryOf, key: func(b store.Bound) (id, version int64) { return b.ID, b.Version },
		read: func(ctx context.Context, _ store.Scope, id int64) (store.Bound, error) {
			return a.store.Bound(ctx, id)
		},
		remove: func(ctx context.Context, _ store.Scope, id, version int64, by audit.Event) error {
			return a.store.DeleteBound(ctx, id, version, by)
		}, before: beforeBoundary}
	op := i.operation(http.MethodGet, "list", "", "List the permission boundaries of clients")
	op.OperationID = "list-boundaries"
	register(a, op, i.in.gate, func(ctx context.Context, r *request, p *Paging) (
		*pageOutput[Boundary], error) {
		page, err := p.ids()
		if err != nil {
			return nil, err
		}
		all, more, err := a.store.Bounds(ctx, page)
		return paged(r, all, more, boundaryOf,
			func(b store.Bound) string { return cursorOf(byID, ids.Text(b.ID)) }), err
	})
	create(i, "Create the boundary of a client or an actor", func(ctx context.Context, r *request,
		n *NewBoundary) (made store.Bound, err error) {
		of := boundary.Party(n.BoundaryOf)
		b := boundary.Boundary{Roles: n.Roles, Items: n.Items, ReadOnly: n.ReadOnly,
			Blocked: n.Blocked}
		if b.Until, err = endOf(n.Until); err != nil {
			return made, err
		}
		if err := unfit(append(a.clients.CheckParty(of), a.clients.Check(of, b)...)); err != nil {
			return made, err
		}
		made, err = a.store.CreateBound(ctx, of, b, r.by())
		return made, taken(err, "body.client", "the party already has a boundary: GET %s/boundaries"+
			" lists them, PATCH changes it", everywhere.path)
	})
	i.get("Read a boundary")
	update(i, "Change a boundary, or block its party. Absent members, and null, change "+
		"nothing", func(ctx context.Context, r *request, id, version int64, p *BoundaryPatch) (
		store.Bound, error) {
		now, err := a.store.Bound(ctx, id)
		if err != nil {
			return now, err
		}
		b, changed := now.Boundary, boundary.Boundary{}
		if p.Roles != nil {
			b.Roles, changed.Roles = *p.Roles, *p.Roles
		}
		if p.Items != nil {
			b.Items, changed.Items = *p.Items, *p.Items
		}
		if p.ReadOnly != nil {
			b.ReadOnly = *p.ReadOnly
		}
		if p.Until != nil {
			if b.Until, err = endOf(*p.Until); err != nil {
				return now, err
			}
		}
		if p.Blocked != nil {
			b.Blocked, changed.Blocked = *p.Blocked, *p.Blocked
		}
		// Only the changed parts: a client can be blocked although an item does not exist any more.
		if err := unfit(a.clients.Check(now.Party, changed)); err != nil {
			return now, err
		}
		return a.store.UpdateBound(ctx, id, version, b, r.by())
	})
	i.delete("Delete a boundary: its party has the boundary of * then, or none")
}

// beforeBoundary refuses a change that changes nothing.
func beforeBoundary(_ context.Context, _ *request, _ string, body any) error {
	if patch, _ := body.(*BoundaryPatch); patch != nil && *patch == (BoundaryPatch{}) {
		return problem.New(http.StatusUnprocessableEntity,
			"the body changes nothing: send roles, items, readonly, until or blocked")
	}
	return nil
}

// SeenClient is a client that the server has seen.
type SeenClient struct {
	Issuer     string    `json:"issuer" doc:"The issuer of the client's tokens"`
	Client     string    `json:"client"`
	First      time.Time `json:"first_used_at"`
	Last       time.Time `json:"last_used_at"`
	BoundaryID string    `json:"boundary_id,omitempty" doc:"The boundary that counts for the client, its own or that of *; absent without one"`
	Blocked    bool      `json:"blocked" doc:"The boundary blocks the client"`
}

// clientsOfAll registers the list of the clients that the server has seen.
func (a *API) clientsOfAll() {
	op := everywhere.operation(http.MethodGet, "list-clients", "/clients",
		"List the clients that the server has seen, newest first")
	op.Description = "The server keeps 10,000 clients, and drops those without a request for the " +
		"longest time. Nobody has verified their names."
	register(a, op, adminsOnly, func(ctx context.Context, r *request, p *Paging) (
		*pageOutput[SeenClient], error) {
		page, err := p.ids()
		if err != nil {
			return nil, err
		}
		all, more, err := a.store.SeenClients(ctx, page)
		if err != nil {
			return nil, err
		}
		bounds, err := a.clients.Bounds(ctx)
		if err != nil {
			return nil, err
		}
		return paged(r, all, more, func(c store.SeenClient) SeenClient {
			shown := SeenClient{Issuer: c.Issuer, Client: c.Client, First: c.First, Last: c.Last}
			if b, ok := bounds.Of(c.Issuer, c.Client); ok {
				shown.BoundaryID, shown.Blocked = ids.Text(b.ID), b.Boundary.Blocked
			}
			return shown
		}, func(c store.SeenClient) string { return cursorOf(byID, ids.Text(c.ID)) }), nil
	})
}

// Suggestion is a boundary that allows what a client has used.
type Suggestion struct {
	Since     time.Time   `json:"since" doc:"The start of the read part of the audit trail"`
	Complete  bool        `json:"complete" doc:"All events of the days were read. Otherwise the client has earlier ones"`
	UsedTools int         `json:"used_tools" doc:"The number of tools that the client has used"`
	Tools     int         `json:"tools" doc:"The number of tools of the server"`
	Used      []UsedItem  `json:"used" nullable:"false" doc:"The items that the client has used"`
	Refused   []UsedItem  `json:"refused" nullable:"false" doc:"The items that the client's boundary has refused"`
	Entry     NewBoundary `json:"entry" doc:"An entry to review, for a file or POST /api/v1/admin/boundaries"`
}

// UsedItem is an item with the number of requests for it.
type UsedItem struct {
	Item  string    `json:"item" doc:"As in items of a boundary"`
	Count int       `json:"count"`
	Last  time.Time `json:"last_used_at"`
}

func usedOf(all []clients.Count) []UsedItem {
	shown := make([]UsedItem, len(all))
	for i, one := range all {
		shown[i] = UsedItem(one)
	}
	return shown
}

// suggestions registers the suggestion of a boundary from the audit trail in the store.
func (a *API) suggestions() {
	type selected struct {
		Issuer string `query:"issuer" maxLength:"512" doc:"The issuer of the client's tokens. Omit it for clients without one"`
		Client string `query:"client" required:"true" minLength:"1" maxLength:"512"`
		Days   int    `query:"days" minimum:"1" maximum:"366" default:"30" doc:"The number of days to read"`
	}
	op := everywhere.operation(http.MethodGet, "suggest-boundary", "/clients/suggestion",
		"Suggest a boundary that allows what a client has used, from the audit trail")
	op.Description = "The trail must be in the store. At most 20,000 events are read, the newest " +
		"first. The entry has the lowest roles that the rules of the used items need. The trail " +
		"has no values of arguments: review tools with rules for values. It also records each read."
	register(a, op, auditors, func(ctx context.Context, r *request, i *selected) (
		*one[Suggestion], error) {
		err := cmp.Or(plain("query.issuer", i.Issuer), plain("query.client", i.Client))
		if err == nil {
			err = a.reads(r, op.OperationID)
		}
		if err != nil {
			return nil, err
		}
		use, err := a.clients.Use(ctx, i.Issuer, i.Client, time.Now().AddDate(0, 0, -i.Days))
		if err != nil {
			return nil, err
		}
		of := boundary.Party{Issuer: i.Issuer, Client: i.Client}
		return found(Suggestion{
			Since: use.Since.UTC(), Complete: use.Complete, UsedTools: use.Tools, Tools: use.Of,
			Used: usedOf(use.Used), Refused: usedOf(use.Refused),
			Entry: NewBoundary{BoundaryOf(of), limitsOf(use.Boundary)},
		}, 0), nil
	})
}
