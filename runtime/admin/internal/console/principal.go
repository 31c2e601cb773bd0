package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/matrix"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

func (v *visit) showMatrix() error {
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return err
	}
	m := matrix.Of(v.server.Table(), off, v.server.Allows)
	if len(m.Parts[0].Rows) > 0 {
		tool := m.Parts[0].Rows[0].Name
		host := v.server.ExplainOf(v.ctx, access.Principal{}, access.Tools, tool).Host
		if host != "" {
			m.Notes = append(m.Notes, matrix.Anonymous+": "+host)
		}
	}
	return v.show("matrix", page{Title: "Role matrix", Here: "matrix", Data: m})
}

// view is the view of a chosen principal.
type view struct {
	Issuer, Subject, Client, Scopes, Groups, User string
	Catalog                                       string // a name or an id
	Hierarchy, Roles                              []string
	Shown                                         bool // a principal is chosen
	Name                                          string
	Allowed, Of                                   int // tools
	Host                                          []string
	RequestedCatalog                              *requestedCatalog // nil without one
	Parts                                         []viewPart
}

type viewPart struct {
	Kind string
	Rows []viewRow
}

type viewRow struct {
	access.Explanation
	Off bool
}

// May reports whether a call would be allowed.
func (r viewRow) May() bool { return r.Allowed && !r.Off }

// Shows reports whether lists show it.
func (r viewRow) Shows() bool { return r.Listed && !r.Off }

// Has reports whether a role is chosen.
func (v view) Has(role string) bool { return slices.Contains(v.Roles, role) }

// showPrincipal shows what a principal may use and why, by the server's decision. Nothing of it is
// stored.
func (v *visit) showPrincipal() error {
	q := v.r.URL.Query()
	table := v.server.Table()
	d := view{
		Issuer: q.Get("issuer"), Subject: q.Get("subject"), Client: q.Get("client"),
		Roles: q["role"], Scopes: q.Get("scopes"), Groups: q.Get("groups"), User: q.Get("user"),
		Catalog:   q.Get("catalog"),
		Hierarchy: table.Hierarchy(), Shown: q.Has("show"),
	}
	if !d.Shown {
		return v.show("principal", page{Title: "What a caller sees", Here: "principal", Data: d})
	}
	p := access.Principal{Issuer: d.Issuer, Subject: d.Subject, Client: d.Client, Roles: d.Roles,
		User: d.User, Scopes: strings.Fields(d.Scopes), Groups: strings.Fields(d.Groups)}
	d.Name = d.Subject
	if p.Anonymous() {
		d.Name = "an anonymous caller"
	}
	off, err := v.store.ToolsOff(v.ctx)
	if err != nil {
		return err
	}
	if d.RequestedCatalog, err = v.requestedCatalog(p, d.Catalog); err != nil {
		return err
	}
	for _, k := range matrix.Kinds() {
		part := viewPart{Kind: k.String()}
		for _, name := range table.Of(k).Tools() {
			row := viewRow{v.server.ExplainOf(v.ctx, p, k, name),
				k == access.Tools && slices.Contains(off, name)}
			if row.Host != "" && !slices.Contains(d.Host, row.Host) {
				d.Host = append(d.Host, row.Host)
			}
			if k == access.Tools {
				d.RequestedCatalog.add(row)
				d.Of++
				if row.May() {
					d.Allowed++
				}
			}
			part.Rows = append(part.Rows, row)
		}
		if len(part.Rows) > 0 {
			d.Parts = append(d.Parts, part)
		}
	}
	return v.show("principal", page{Title: "What a caller sees", Here: "principal", Data: d})
}

// requestedCatalog is a catalog that a principal requests, and the tools that are listed then.
type requestedCatalog struct {
	catalog.Found
	Unknown bool // to the principal
	Listed  []string
}

// Left is the number of names in the catalog that are not listed.
func (c *requestedCatalog) Left() int { return len(c.Tools) - len(c.Listed) }

// add adds a listed tool of the catalog.
func (c *requestedCatalog) add(row viewRow) {
	if c != nil && row.Shows() && slices.Contains(c.Tools, row.Name) {
		c.Listed = append(c.Listed, row.Name)
	}
}

// requestedCatalog finds a catalog by its name, or else by its id, as the server does for a
// principal. It returns nil for an empty text.
func (v *visit) requestedCatalog(p access.Principal, text string) (*requestedCatalog, error) {
	if text == "" {
		return nil, nil
	}
	for _, query := range []catalog.Ref{{Name: text}, {ID: text}} {
		found, err := v.findCatalog(p, query)
		switch {
		case err == nil:
			return &requestedCatalog{Found: found}, nil
		case !errors.Is(err, catalog.ErrUnknown):
			return nil, err
		}
	}
	return &requestedCatalog{Unknown: true}, nil
}

// findCatalog finds a catalog as the server does. A catalog declared in code comes before a global
// one of the same name, and after that of an organisation or a team.
func (v *visit) findCatalog(p access.Principal, query catalog.Ref) (catalog.Found, error) {
	found, err := catalog.Found{}, catalog.ErrUnknown
	if source := v.server.Catalogs(); source != nil {
		found, err = source.Catalog(v.ctx, p, query)
	}
	if err != nil && !errors.Is(err, catalog.ErrUnknown) ||
		err == nil && (query.ID != "" || !found.Global) {
		return found, err
	}
	for _, declared := range v.server.DeclaredCatalogs() {
		if query.ID != "" && declared.ID == query.ID ||
			query.ID == "" && declared.Name == query.Name {
			return declared, nil
		}
	}
	return found, err
}
