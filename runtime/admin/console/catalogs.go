package console

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
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

// Path is the page of the catalog.
func (c catalogRow) Path() string { return catalogPath(c.ID) }

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
	known := names{}
	add := func(in store.Scope, all bool) error {
		g, err := v.catalogsOf(in, all, known)
		list.Groups = append(list.Groups, g)
		return err
	}
	word := v.r.URL.Query().Get("scope")
	switch {
	case word != "":
		in, err := v.scopeNamed(word)
		if err == nil {
			err = add(in, false)
		}
		if err != nil {
			return err
		}
	case v.admin:
		if err := add(store.Anywhere, true); err != nil {
			return err
		}
		list.Declared = v.server.DeclaredCatalogs()
	default:
		for _, in := range v.managed {
			if err := add(in, false); err != nil {
				return err
			}
		}
	}
	return v.show("catalogs", page{Title: "Catalogs", Here: "catalogs", Data: list})
}

func (v *visit) catalogsOf(in store.Scope, all bool, known names) (g catalogGroup, err error) {
	q := url.Values{}
	if !all {
		p, err := known.of(v, in)
		if err != nil {
			return g, err
		}
		g.Place = &p
		q.Set("scope", p.Word())
	}
	found, more, err := v.store.Catalogs(v.ctx, in, store.Page[int64]{After: v.after("after"), Limit: pageSize})
	for _, c := range found {
		p, err := known.of(v, c.Scope)
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

// newCatalogForm is a catalog to be.
type newCatalogForm struct {
	Scope, Name, Description string
	Active                   bool
	Places                   []place
	More                     bool // there are more places than those
}

func (v *visit) newCatalog() error {
	form := newCatalogForm{Scope: v.r.URL.Query().Get("scope"), Active: true}
	return v.showNewCatalog(form)
}

// mostPlaces is how many organisations, and teams, can be chosen from; the pages of the others lead
// here too.
const mostPlaces = 200

func (v *visit) showNewCatalog(form newCatalogForm) error {
	p, err := v.newCatalogPage(form)
	if err != nil {
		return err
	}
	return v.show("catalog-new", p)
}

func (v *visit) newCatalogPage(form newCatalogForm) (page, error) {
	scopes := v.managed
	if v.admin {
		scopes = []store.Scope{store.Global}
		orgs, moreOrgs, err := v.store.Orgs(v.ctx, store.Page[int64]{Limit: mostPlaces})
		if err != nil {
			return page{}, err
		}
		teams, moreTeams, err := v.store.Teams(v.ctx, store.Anywhere, store.Page[int64]{Limit: mostPlaces})
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
	known := names{}
	for _, in := range scopes {
		p, err := known.of(v, in)
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
	form := newCatalogForm{Scope: v.field("scope"), Name: v.field("name"), Description: v.field("description"), Active: v.field("active") == "on"}
	shadowed := front.Shadowed(v.server.DeclaredCatalogs(), in, form.Name)
	err = asTaken(shadowed)
	if err == nil {
		var made store.Catalog
		if made, err = v.store.CreateCatalog(v.ctx, in, form.Name, form.Description, form.Active, v.by()); err == nil {
			return v.back(catalogPath(made.ID), "catalog-created")
		}
	}
	if !retyped(err) {
		return err
	}
	p, pageErr := v.newCatalogPage(form)
	if pageErr != nil {
		return pageErr
	}
	return v.refused(err, "catalog-new", p, ruleCatalog, takenBy(shadowed,
		"A catalog with this name already exists there. Choose another name, or open that catalog."))
}

// catalogPage is a catalog with its entries, and what is being typed about it.
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

// catalog reads the catalog of the address, if it is the caller's. The same is asked of the store
// whether it is or not.
func (v *visit) catalog() (c store.Catalog, err error) {
	id, err := v.id()
	if err == nil {
		c, err = v.store.Catalog(v.ctx, store.Anywhere, id)
	}
	if err == nil && !v.manages(c.Scope) {
		c, err = store.Catalog{}, store.ErrNotFound
	}
	if errors.Is(err, store.ErrNotFound) {
		v.foreign = fmt.Sprintf("catalog %d", id)
	}
	return c, err
}

func (v *visit) showCatalog() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	p, err := v.catalogPage(c)
	if err != nil {
		return err
	}
	return v.show("catalog", page{Title: c.Name, Here: "catalogs", Data: p})
}

func (v *visit) catalogPage(c store.Catalog) (p catalogPage, err error) {
	p = catalogPage{catalogRow: catalogRow{Catalog: c}, Name: c.Name, Description: c.Description, Active: c.Active}
	if p.Place, err = v.named(c.Scope); err != nil {
		return p, err
	}
	entries, more, err := v.store.Entries(v.ctx, c.Scope, c.ID, store.Page[string]{After: v.r.URL.Query().Get("after"), Limit: pageSize})
	if err != nil {
		return p, err
	}
	if more {
		p.Next = withQuery(p.Path(), url.Values{"after": {entries[len(entries)-1].Tool}})
	}
	listing, err := v.server.ListTools(v.ctx, catalog.Ask{})
	if err != nil {
		return p, err
	}
	off := map[string]bool{}
	for _, t := range listing.Tools {
		off[t.Tool.Name] = t.Off
		p.Suggested = append(p.Suggested, t.Tool.Name)
	}
	for _, e := range entries {
		row := entryRow{Entry: e}
		if v.admin {
			_, served := v.server.Table().Of(access.Tools).Tool(e.Tool)
			row.Unserved, row.Off = !served, off[e.Tool]
		}
		p.Entries = append(p.Entries, row)
	}
	return p, nil
}

func (v *visit) saveCatalog() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	name, description, active := v.field("name"), v.field("description"), v.field("active") == "on"
	var shadowed error
	if name != c.Name {
		shadowed = front.Shadowed(v.server.DeclaredCatalogs(), c.Scope, name)
	}
	if err = asTaken(shadowed); err == nil {
		_, err = v.store.UpdateCatalog(v.ctx, c.Scope, c.ID, v.version(), store.CatalogPatch{Name: &name, Description: &description, Active: &active}, v.by())
		if err == nil {
			return v.back(catalogPath(c.ID), "catalog-saved")
		}
	}
	if !retyped(err) {
		return err
	}
	// What is stored by now, beside what was typed.
	if c, pageErr := v.catalog(); pageErr != nil {
		return pageErr
	} else if p, pageErr := v.catalogPage(c); pageErr != nil {
		return pageErr
	} else {
		p.Name, p.Description, p.Active = name, description, active
		shown := page{Title: c.Name, Here: "catalogs", Data: p}
		if errors.Is(err, store.ErrConflict) {
			shown.Conflict = &conflict{"catalog", []difference{
				{"Name", c.Name, name}, {"Description", c.Description, description}, {"State", onOff(c.Active), onOff(active)},
			}}
		}
		return v.refused(err, "catalog", shown, v.ruleOr(ruleCatalog), takenBy(shadowed,
			"A catalog with this name already exists there. Choose another name."))
	}
}

// asTaken makes a name that code has one that is taken.
func asTaken(shadowed error) error {
	if shadowed != nil {
		return store.ErrExists
	}
	return nil
}

// takenBy says who has a name: code, or otherwise.
func takenBy(shadowed error, otherwise string) string {
	if shadowed != nil {
		return sentence(shadowed.Error())
	}
	return otherwise
}

// ruleOr is the rule for a form, or for the version that it lacks.
func (v *visit) ruleOr(rule string) string {
	if v.version() < 1 {
		return ruleVersion
	}
	return rule
}

// deletion asks whether something is to be deleted.
type deletion struct {
	Noun, Name, With string
	Version          int64
	Action, Back     string
}

func (v *visit) deletionOf(c store.Catalog) page {
	return page{Title: "Delete " + c.Name, Here: "catalogs", Data: deletion{"catalog", c.Name, "its entries", c.Version, catalogPath(c.ID) + "/delete", catalogPath(c.ID)}}
}

func (v *visit) askDeleteCatalog() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	return v.show("delete", v.deletionOf(c))
}

func (v *visit) deleteCatalog() error {
	c, err := v.catalog()
	if err != nil {
		return err
	}
	if err = v.store.DeleteCatalog(v.ctx, c.Scope, c.ID, v.version(), v.by()); err == nil {
		return v.back(pathCatalogs, "catalog-deleted")
	}
	return v.stillThere(err, v.deletionOf(c))
}

// stillThere asks again whether to delete what has been changed since it was asked first.
func (v *visit) stillThere(err error, p page) error {
	if errors.Is(err, store.ErrConflict) {
		p.Problem = "It was changed since you opened this page. The page shows the current state. " +
			"Delete it anyway?"
	}
	return v.refused(err, "delete", p, ruleVersion, "")
}

// showDeclared shows a catalog that code declares, which nobody changes here.
func (v *visit) showDeclared() error {
	name := v.r.URL.Query().Get("name")
	for _, found := range v.server.DeclaredCatalogs() {
		if found.Name == name {
			return v.show("declared", page{Title: found.Name, Here: "catalogs", Data: found})
		}
	}
	return store.ErrNotFound
}

// State says whether clients know the catalog.
func (c catalogRow) State() string { return onOff(c.Catalog.Active) }
