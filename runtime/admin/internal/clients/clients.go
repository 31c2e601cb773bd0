// Package clients has the clients of a server for its administrators: their boundaries, and what
// they have used by the audit trail.
package clients

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Server has rules and boundaries. A [runtime.Administered] is one.
type Server interface {
	Table() access.Table
	Boundaries() boundary.Source
	CheckBoundary(party boundary.Party, b boundary.Boundary) []error
	Reach(ctx context.Context, b *boundary.Boundary) (private, untrusted, egress []string)
}

// Clients are the clients of a server. It is safe for concurrent use.
type Clients struct {
	server Server
	store  *store.Store
	admins []boundary.Party
}

// New returns the clients of a server over a store. admins are the clients that administer the
// server.
func New(server Server, s *store.Store, admins []boundary.Party) *Clients {
	return &Clients{server, s, admins}
}

// Kept reports whether the boundaries of the server are those in the store.
func (c *Clients) Kept() bool {
	kept, ok := c.server.Boundaries().(interface{ Store() *store.Store })
	return ok && kept.Store() == c.store
}

// Fault is a part of a boundary that is not valid.
type Fault struct {
	Field string // as in a file of boundary/static
	At    int    // in the list of the field; -1 for the field as a whole
	Text  string
}

// CheckParty returns the faults of the party of a new boundary.
func (c *Clients) CheckParty(party boundary.Party) []Fault {
	return faultsAt("issuer", -1, c.server.CheckBoundary(party, boundary.Boundary{}))
}

// Check returns the faults of a boundary: names that the server does not have, and a boundary of a
// client that administers the server. The store checks the rest. The boundary of all clients of an
// issuer neither limits nor blocks the administration by such a client; see
// [runtime.Administered].
func (c *Clients) Check(party boundary.Party, b boundary.Boundary) []Fault {
	faults := c.checkAdmins(party)
	for _, field := range []struct {
		name string
		list []string
		one  func(name string) boundary.Boundary
	}{
		{"roles", b.Roles, func(role string) boundary.Boundary {
			return boundary.Boundary{Roles: []string{role}}
		}},
		{"items", b.Items, func(item string) boundary.Boundary {
			return boundary.Boundary{Items: []string{item}}
		}},
	} {
		if boundaryitem.IsAll(field.list) {
			continue
		}
		for i, name := range field.list {
			errs := []error{errAll}
			if name != boundaryitem.All { // the issuer of an actor is not checked
				errs = c.server.CheckBoundary(boundary.Party{Actor: "somebody"}, field.one(name))
			}
			faults = append(faults, faultsAt(field.name, i, errs)...)
		}
	}
	return faults
}

var errAll = errors.New(`"*" stands for all, and must be the only one: remove it, or the others`)

// Administers reports whether the client of a party administers the server. Such a client can have
// no boundary.
func (c *Clients) Administers(party boundary.Party) bool {
	return slices.Contains(c.admins, boundary.Party{Issuer: party.Issuer, Client: party.Client})
}

func (c *Clients) checkAdmins(party boundary.Party) []Fault {
	if !c.Administers(party) {
		return nil
	}
	return faultsAt("client", -1, []error{fmt.Errorf("%q administers the server "+
		"(admin.Options.Clients), and can have no boundary: remove it there first", party.Client)})
}

func faultsAt(field string, at int, errs []error) (faults []Fault) {
	for _, err := range errs {
		faults = append(faults, Fault{field, at, err.Error()})
	}
	return faults
}

// Reach is what an agent reaches while somebody else controls it, by the facts of the items.
type Reach struct{ Private, Untrusted, Egress []string }

// Reach returns what an agent with a boundary reaches; see [runtime.Administered].
func (c *Clients) Reach(ctx context.Context, b *boundary.Boundary) (r Reach) {
	r.Private, r.Untrusted, r.Egress = c.server.Reach(ctx, b)
	return r
}

// AllThree reports whether the agent reaches items with each of the three facts.
func (r Reach) AllThree() bool {
	return len(r.Private) > 0 && len(r.Untrusted) > 0 && len(r.Egress) > 0
}

// Bounds are the boundaries in the store, at one moment.
type Bounds map[boundary.Party]store.Bound

// Bounds reads the boundaries in the store.
func (c *Clients) Bounds(ctx context.Context) (Bounds, error) {
	all, err := c.store.AllBounds(ctx)
	by := make(Bounds, len(all))
	for _, b := range all {
		by[b.Party] = b
	}
	return by, err
}

// All returns the boundaries of a source that lists them, and false for another source. A server
// without boundaries lists none.
func (c *Clients) All() (iter.Seq2[boundary.Party, boundary.Boundary], bool) {
	source := c.server.Boundaries()
	lister, ok := source.(interface {
		All() iter.Seq2[boundary.Party, boundary.Boundary]
	})
	if !ok {
		return func(func(boundary.Party, boundary.Boundary) bool) {}, source == nil
	}
	return lister.All(), true
}

// Of returns the boundary that counts for a client, unless one for its caller does.
func (b Bounds) Of(issuer, client string) (store.Bound, bool) {
	found, ok := b[boundary.Party{Issuer: issuer, Client: client}]
	if !ok {
		found, ok = b[boundary.Party{Issuer: issuer, Client: boundaryitem.All}]
	}
	return found, ok
}
