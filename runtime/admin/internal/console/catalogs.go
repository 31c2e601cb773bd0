package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathCatalogs = runtime.PathConsole + "/catalogs"

func catalogPath(id int64) string { return fmt.Sprintf("%s/%d", pathCatalogs, id) }

// catalogRow is a catalog in a list.
type catalogRow struct {
	store.Catalog
	Place place
}

// catalogGroup is a list of catalogs, which continues at Next.
type catalogGroup struct {
	Place    *place // nil for all there are
	Catalogs []catalogRow
	Next     string
}

type catalogList struct {
	Groups   []catalogGroup
	Declared []catalog.Found // by code
}

// NewPath is where a catalog is made like those of the group.
func (g catalogGroup) NewPath() string {
	if g.Place == nil {
		return pathCatalogs + "/new"
	}
	return withQuery(pathCatalogs+"/new", url.Values{"scope": {g.Place.Word()}})
}

func (v *visit) listCatalogs() error {
	var list catalogList
	scopes := v.managed
	if word := v.r.URL.Query().Get("scope"); word != "" {
		in, err := v.scopeNamed(word)
		if err != nil {
			return err
		}
		scopes = []store.Scope{in}
	} else if v.admin {
		scopes = []store.Scope{store.Anywhere}
		list.Declared = v.server.DeclaredCatalogs()
	}
	for _, in := range scopes {
		g, err := v.catalogsOf(in)
		if err != nil {
			return err
		}
		list.Groups = append(list.Groups, g)
	}
	return v.show("catalogs", page{Title: "Catalogs", Here: "catalogs", Data: list})
}

func (v *visit) catalogsOf(in store.Scope) (g catalogGroup, err error) {
	q := url.Values{}
	if in != store.Anywhere {
		p, err := v.named(in)
		if err != nil {
			return g, err
		}
		g.Place = &p
		q.Set("scope", p.Word())
	}
	found, more, err := v.store.Catalogs(v.ctx, in,
		store.Page[int64]{After: v.after("after"), Limit: pageSize})
	for _, c := range found {
		p, err := v.named(c.Scope)
		if err != nil {
			return g, err
		}
		g.Catalogs = append(g.Catalogs, catalogRow{c, p})
	}
	if more {
		q.Set("after", fmt.Sprint(found[len(found)-1].ID))
		g.Next = withQuery(pathCatalogs, q)
	}
	return g, err
}

// newCatalogForm is the form of a new catalog.
type newCatalogForm struct {
	Scope, Name, Description string
	Active                   bool
	Places                   []place
	More                     bool // there are more places than those
}

func (v *visit) newCatalog() error {
	p, err := v.newCatalogPage(newCatalogForm{Scope: v.r.URL.Query().Get("scope"), Active: true})
	if err != nil {
		return err
	}
	return v.show("catalog-new", p)
}

// mostPlaces is how many organisations, and teams, the form lists; the pages of the others link to
// it too.
const mostPlaces = 200

func (v *visit) newCatalogPage(form newCatalogForm) (page, error) {
	scopes := v.managed
	if v.admin {
		scopes = []store.Scope{store.Global}
		orgs, moreOrgs, err := v.store.Orgs(v.ctx, store.Page[int64]{Limit: mostPlaces})
		if err != nil {
			return page{}, err
		}
		teams, moreTeams, err := v.store.Teams(v.ctx, store.Anywhere,
			store.Page[int64]{Limit: mostPlaces})
		if err != nil {
			return page{}, err
		}
		for _, o := range orgs {
			scopes = append(scopes, store.InOrg(o.ID))
		}
		for _, t := range teams {
			scopes = append(scopes, store.InTeam(t.ID))
		}
		form.More = moreOrgs || moreTeams
	}
	if form.Scope != "" {
		chosen, err := v.scopeNamed(form.Scope)
		if err != nil {
			return page{}, err
		}
		if !slices.Contains(scopes, chosen) {
			scopes = append(scopes, chosen)
		}
	}
	for _, in := range scopes {
		p, err := v.named(in)
		if err != nil {
			return page{}, err
		}
		form.Places = append(form.Places, p)
	}
	return page{Title: "New catalog", Here: "catalogs", Data: form}, nil
}

func (v *visit) createCatalog() error {
	in, err := v.scopeNamed(v.field("scope"))
	if err != nil {
		return err
	}
	form := newCatalogForm{Scope: v.field("scope"), Name: v.field("name"),
		Description: v.field("description"), Active: v.field("active") == "on"}
	if err = front.Shadowed(v.server.DeclaredCatalogs(), in, form.Name); err == nil {
		var made store.Catalog
		made, err = v.store.CreateCatalog(v.ctx, in, form.Name, form.Description, form.Active, v.by())
		if err == nil {
			return v.back(catalogPath(made.ID), "catalog-created")
		}
	}
	return v.again(err, "catalog-new", func() (page, error) { return v.newCatalogPage(form) },
		ruleCatalog, "A catalog with this name already exists there. Choose another name, or open "+
			"that catalog.")
}

// catalogPage is a catalog with its entries and its forms.
type catalogPage struct {
	catalogRow
	Name, Description string // as in the form
	Active            bool
	Entries           []entryRow
	Next              string
	Tool, Module      string // as in the form that adds one
	Suggested         []string
}

// entryRow is a tool of a catalog. Only admins see whether the tool exists.
type entryRow struct {
	store.Entry
	Unserved bool
	Off      bool
}

// catalog reads the catalog of the address, if it is the caller's. It makes the same queries
// whether it is or not.
func (v *visit) catalog() (c store.Catalog, err error) {
	id := v.id()
	c, err = v.store.Catalog(v.ctx, store.Anywhere, id)
	if err == nil && !v.manages(c.Scope) {
		c, err = store.Catalog{}, store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		v.foreign = fmt.Sprintf("catalog %d", id)
	}
	return c, err
}

func (v *visit) catalogPage(c store.Catalog) (p page, d catalogPage, err error) {
	p = page{Title: c.Name, Here: "catalogs"}
	d = catalogPage{catalogRow: catalogRow{Catalog: c}, Name: c.Name, Description: c.Description,
		Active: c.Active}
	if d.Place, err = v.named(c.Scope); err != nil {
		return p, d, err
	}
	entries, more, err := v.store.Entries(v.ctx, c.Scope, c.ID,
		store.Page[string]{After: v.r.URL.Query().Get("after"), Limit: pageSize})
	if err != nil {
		return p, d, err
	}
	if more {
		d.Next = withQuery(catalogPath(c.ID), url.Values{"after": {entries[len(entries)-1].Tool}})
	}
	listing, err := v.server.ListTools(v.ctx, catalog.Ref{})
	if err != nil {
		return p, d, err
	}
	off := map[string]bool{}
	for _, t := range listing.Tools {
		off[t.Tool.Name] = t.Off
		d.Suggested = append(d.Suggested, t.Tool.Name)
	}
	for _, e := range entries {
		row := entryRow{Entry: e}
		if v.admin {
			_, served := v.server.Table().Of(access.Tools).Tool(e.Tool)
			row.Unserved, row.Off = !served, off[e.Tool]
		}
		d.Entries = append(d.Entries, row)
	}
	return p, d, nil
}

var catalogForms = forms[store.Catalog, catalogPage]{
	"catalog", (*visit).catalog, (*visit).catalogPage}

func (v *visit) saveCatalog() error {
	name, description, active := v.field("name"), v.field("description"), v.field("active") == "on"
	return catalogForms.change(v, func(c store.Catalog) (to, done string, err error) {
		if name != c.Name {
			err = front.Shadowed(v.server.DeclaredCatalogs(), c.Scope, name)
		}
		if err == nil {
			_, err = v.store.UpdateCatalog(v.ctx, c.Scope, c.ID, v.version(), store.CatalogPatch{
				Name: &name, Description: &description, Active: &active}, v.by())
		}
		return catalogPath(c.ID), "catalog-saved", err
	}, func(d *catalogPage, p *page, err error) (rule, taken string) {
		if c := d.Catalog; errors.Is(err, store.ErrConflict) {
			p.Conflict = &conflict{"catalog", []difference{{"Name", c.Name, name},
				{"Description", c.Description, description},
				{"State", onOff(c.Active), onOff(active)}}}
		}
		d.Name, d.Description, d.Active = name, description, active
		return v.ruleOr(ruleCatalog), "A catalog with this name already exists there. Choose " +
			"another name."
	})
}

// addEntry puts a tool into a catalog. Any valid name gets the same response, which does not reveal
// whether the tool exists.
func (v *visit) addEntry() error {
	tool, module := v.field("tool"), v.field("module")
	return catalogForms.change(v, func(c store.Catalog) (to, done string, err error) {
		_, err = v.store.AddEntry(v.ctx, c.Scope, c.ID, tool, module, v.by())
		return catalogPath(c.ID), "entry-added", err
	}, func(d *catalogPage, _ *page, _ error) (rule, taken string) {
		d.Tool, d.Module = tool, module
		return ruleTool, "This tool is already in the catalog."
	})
}

func (v *visit) removeEntry() error {
	return catalogForms.change(v, func(c store.Catalog) (to, done string, err error) {
		err = v.store.RemoveEntry(v.ctx, c.Scope, c.ID, v.field("tool"), v.by())
		return catalogPath(c.ID), "entry-removed", err
	}, func(*catalogPage, *page, error) (rule, taken string) { return ruleTool, "" })
}

func (v *visit) catalogDeletion() (removal, error) {
	c, err := v.catalog()
	return removal{page{Title: "Delete " + c.Name, Here: "catalogs", Data: deletion{"catalog", c.Name,
		"its entries", c.Version, catalogPath(c.ID) + "/delete", catalogPath(c.ID)}},
		func(version int64) error {
			return v.store.DeleteCatalog(v.ctx, c.Scope, c.ID, version, v.by())
		}, pathCatalogs, "catalog-deleted"}, err
}

// showDeclared shows a catalog that code declares, which cannot be changed here.
func (v *visit) showDeclared() error {
	name := v.r.URL.Query().Get("name")
	for _, found := range v.server.DeclaredCatalogs() {
		if found.Name == name {
			return v.show("declared", page{Title: found.Name, Here: "catalogs", Data: found})
		}
	}
	return store.ErrNotFound
}
