package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathGrants = runtime.PathConsole + "/grants"

// grantsOf is the path of a client's grants.
func grantsOf(issuer, client string) string {
	return withQuery(pathGrants, filled("issuer", issuer, "client", client))
}

// grantRow is a grant, with its state at a time.
type grantRow struct {
	grant.Grant
	Over bool // it has expired
}

func newGrantRow(g grant.Grant) grantRow { return grantRow{g, g.Expired(time.Now())} }

// OfClient is the path of the client's grants.
func (g grantRow) OfClient() string { return grantsOf(g.Issuer, g.Client) }

// Revoke is the page that confirms its revocation.
func (g grantRow) Revoke() string {
	return withQuery(pathGrants+"/revoke", filled(
		"issuer", g.Issuer, "client", g.Client, "type", g.Type, "resource", g.Resource))
}

type grantList struct {
	Issuer, Client, Type string
	Grants               []grantRow
	Next                 string
}

// New is the form of a new grant for the client of the list.
func (l grantList) New() string {
	return withQuery(pathGrants+"/new", filled(
		"issuer", l.Issuer, "client", l.Client, "type", l.Type))
}

func (v *visit) listGrants() error {
	q, after := v.r.URL.Query(), v.afterID()
	l := grantList{Issuer: q.Get("issuer"), Client: q.Get("client"), Type: q.Get("type")}
	found, err := v.grants.List(v.ctx, grant.Filter{
		Issuer: l.Issuer, Client: l.Client, Type: l.Type, After: after, Limit: pageSize + 1})
	if err != nil {
		return err
	}
	// The grants of all clients come first, in the list of any client.
	for _, g := range v.server.GrantDefaults() {
		if after == "" && (l.Type == "" || l.Type == g.Type) {
			l.Grants = append(l.Grants, newGrantRow(g))
		}
	}
	for i, g := range found {
		if i == pageSize {
			l.Next = withQuery(pathGrants, filled(
				"issuer", l.Issuer, "client", l.Client, "type", l.Type, "after", found[i-1].ID))
			break
		}
		l.Grants = append(l.Grants, newGrantRow(g))
	}
	return v.show("grants", page{Title: "Grants", Here: "grants", Data: l})
}

// afterID is where a list of grants or requests continues, by its address.
func (v *visit) afterID() string {
	after := v.r.URL.Query().Get("after")
	if _, ok := grant.Number(after); !ok {
		return ""
	}
	return after
}

// change changes grants, and records the change.
func (v *visit) change(do func(context.Context) (action, object string, err error)) error {
	return front.Change(v.ctx, v.grants, v.audit, v.log, v.by(), do)
}

// unkept shows a form again that the registry of grants refuses. Other errors are returned.
func (v *visit) unkept(err error, name string, again func(problem string) page) error {
	switch {
	case errors.Is(err, grant.ErrInvalid):
		return v.showAs(http.StatusUnprocessableEntity, name, again(errorText(err)))
	case errors.Is(err, grant.ErrFull):
		return v.showAs(http.StatusConflict, name, again(errorText(err)))
	}
	return err
}

// errorText is the text of an error of package grant, for people.
func errorText(err error) string {
	return sentence(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "grant: "), "\n", "; "))
}

// grantForm is a grant that is being typed.
type grantForm struct {
	Issuer, Client, Type, Resource, Reason string
	Unrestricted                           bool
	lasting
	Wrong faults
}

// grantTypes are the kinds that the runtime itself knows. Others can be typed.
var grantTypes = []string{grant.FileRead, grant.FileWrite, grant.SystemCommand, grant.NetConnect}

func (v *visit) newGrant() error {
	q := v.r.URL.Query()
	d := grantForm{Issuer: q.Get("issuer"), Client: q.Get("client"), Type: q.Get("type"),
		lasting: lasting{Lasts: usual}}
	if d.Client == "" {
		d.Issuer = v.caller.Issuer // the likely one
	}
	return v.show("grant-new", d.page(""))
}

func (v *visit) createGrant() error {
	d := grantForm{Issuer: v.field("issuer"), Client: v.field("client"), Type: v.field("type"),
		Resource: v.field("resource"), Reason: v.field("reason"),
		Unrestricted: v.field("unrestricted") != "", Wrong: faults{}}
	g := grant.Grant{Permission: grant.Permission{
		Type: d.Type, Resource: d.Resource, Unrestricted: grant.Unrestricted(d.Unrestricted)},
		Issuer: d.Issuer, Client: d.Client, By: v.caller.Subject, Reason: d.Reason}
	d.lasting, g.Expires = v.lasting(d.Wrong)
	d.Wrong.words("reason", d.Reason, false)
	d.Wrong.name("client", d.Client, true)
	d.Wrong.name("issuer", d.Issuer, false)
	d.Wrong.seen(d.Resource)
	// The type alone first: an error about both is for both fields.
	if err := (grant.Permission{Type: d.Type, Resource: "x"}).Validate(); err != nil {
		d.Wrong.pattern("type", err)
	} else if err := g.Validate(); err != nil {
		d.Wrong.pattern("type", err)
	}
	if len(d.Wrong) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "grant-new", d.page(problemBelow))
	}
	err := v.change(func(ctx context.Context) (string, string, error) {
		g, err := v.grants.Grant(ctx, g)
		return "grant permission", front.AboutGrant(g), err
	})
	if err != nil {
		return v.unkept(err, "grant-new", d.page)
	}
	return v.toGrants(d.Issuer, d.Client, "granted")
}

// page is the form, with a problem.
func (d grantForm) page(problem string) page {
	return page{Title: "New grant", Here: "grants", Problem: problem, Data: d}
}

// toGrants redirects to a client's grants after a form.
func (v *visit) toGrants(issuer, client, done string) error {
	q := filled("issuer", issuer, "client", client)
	q.Set("done", done)
	v.seeOther(withQuery(pathGrants, q))
	return nil
}

// revocation is the page that confirms a revocation.
type revocation struct {
	Issuer, Client, Type, Resource, Reason string
	Grants                                 []grantRow // which are
	Others                                 int        // of the type
	Wrong                                  faults
}

// Whole is the page that confirms it for the whole type.
func (r revocation) Whole() string {
	return withQuery(pathGrants+"/revoke", filled(
		"issuer", r.Issuer, "client", r.Client, "type", r.Type))
}

// Back is the path of the client's grants.
func (r revocation) Back() string { return grantsOf(r.Issuer, r.Client) }

// revocation finds the grants to revoke. Defaults cannot be revoked.
func (v *visit) revocation(q url.Values) (r revocation, err error) {
	r = revocation{Issuer: q.Get("issuer"), Client: q.Get("client"), Type: q.Get("type"),
		Resource: q.Get("resource"), Wrong: faults{}}
	if r.Client == "" || r.Type == "" {
		return r, store.ErrNotFound
	}
	all, _, err := v.grants.Grants(v.ctx, r.Issuer, r.Client)
	if err != nil {
		return r, err
	}
	_, whole := grant.Revoke(all, r.Type, "")
	_, some := grant.Revoke(all, r.Type, r.Resource)
	for _, g := range some {
		r.Grants = append(r.Grants, newGrantRow(g))
	}
	r.Others = len(whole) - len(some)
	return r, nil
}

func (v *visit) askRevoke() error {
	r, err := v.revocation(v.r.URL.Query())
	switch {
	case err != nil:
		return err
	case len(r.Grants) == 0:
		return store.ErrNotFound
	}
	return v.show("revoke", page{Title: "Revoke", Here: "grants", Data: r})
}

func (v *visit) revoke() error {
	r, err := v.revocation(v.r.PostForm)
	if err != nil {
		return err
	}
	r.Reason = v.field("reason")
	if r.Wrong.words("reason", r.Reason, false); len(r.Wrong) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "revoke",
			page{Title: "Revoke", Here: "grants", Problem: problemBelow, Data: r})
	}
	done := "revoked-before"
	if len(r.Grants) == 0 {
		return v.toGrants(r.Issuer, r.Client, done)
	}
	err = v.change(func(ctx context.Context) (action, object string, err error) {
		gone, err := v.grants.Revoke(ctx, grant.Revocation{
			Issuer: r.Issuer, Client: r.Client, Type: r.Type, Resource: r.Resource,
			By: v.caller.Subject, Reason: r.Reason})
		if err != nil || len(gone) == 0 {
			return "", "", err
		}
		if done = "revoked"; len(gone) == 1 {
			return "revoke permission", front.AboutGrant(gone[0]), nil
		}
		return "revoke permission", fmt.Sprintf(
			"%d grants of %s: %s", len(gone), front.AboutClient(r.Issuer, r.Client), r.Type), nil
	})
	if err != nil {
		return err
	}
	return v.toGrants(r.Issuer, r.Client, done)
}
