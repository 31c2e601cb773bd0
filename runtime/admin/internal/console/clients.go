package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathClients = runtime.PathConsole + "/clients"

// of returns the party in an address.
func of(p boundary.Party) url.Values {
	return filled("issuer", p.Issuer, "client", p.Client, "subject", p.Subject, "actor", p.Actor)
}

// partyOf reads a party from an address or a form.
func partyOf(q url.Values) boundary.Party {
	return boundary.Party{Issuer: q.Get("issuer"), Client: q.Get("client"),
		Subject: q.Get("subject"), Actor: q.Get("actor")}
}

// boundRow is a boundary in a list.
type boundRow struct {
	store.Bound // its ID is 0 if it is not in the store
	// Together reports that the client reaches all three facts.
	Together bool
}

// row returns a boundary as a row of a list.
func (v *visit) row(b store.Bound) boundRow {
	return boundRow{b, v.clients.Reach(v.ctx, &b.Boundary).AllThree()}
}

// Who is the party in words. A name with a space has quotes, so that it is no such words.
func (b boundRow) Who() string {
	name := func(of string) string {
		if strings.Contains(of, " ") {
			return strconv.Quote(of)
		}
		return of
	}
	switch p := b.Party; {
	case p.Actor != "":
		return "actor " + name(p.Actor)
	case p.Client == boundaryitem.All:
		return "all other clients"
	case p.Subject != "":
		return name(p.Client) + " for " + name(p.Subject)
	default:
		return name(p.Client)
	}
}

// Path is the page of the boundary.
func (b boundRow) Path() string { return boundPath(b.ID) }

// Block is the page that confirms that the party is blocked, or no longer.
func (b boundRow) Block() string { return withQuery(pathClients+"/block", of(b.Party)) }

// Ended reports whether the boundary has ended.
func (b boundRow) Ended() bool { return b.Boundary.Ended(time.Now()) }

// clientRow is a client that the server has seen.
type clientRow struct {
	store.SeenClient
	Bound       *boundRow // that counts for the client; nil without one
	Together    bool      // as of a boundRow
	Administers bool
}

func (c clientRow) party() boundary.Party {
	return boundary.Party{Issuer: c.Issuer, Client: c.Client}
}

// Use is the page with what the client has used.
func (c clientRow) Use() string { return withQuery(pathClients+"/suggestion", of(c.party())) }

// Block is the page that confirms that the client is blocked, or no longer.
func (c clientRow) Block() string { return withQuery(pathClients+"/block", of(c.party())) }

// Own reports whether the boundary is for this client alone.
func (c clientRow) Own() bool { return c.Bound != nil && c.Bound.Party == c.party() }

// clientList is the page of all clients.
type clientList struct {
	Kept       bool // the boundaries are in the store
	Clients    []clientRow
	Next       string
	Bounds     []boundRow
	NextBounds string
	Elsewhere  string // the place of other boundaries; empty for none
	Issuer     string // the likely one
}

// mostStatic is how many boundaries of a file the page lists.
const mostStatic = 1000

func (v *visit) listClients() error {
	l := clientList{Kept: v.clients.Kept(), Issuer: v.caller.Issuer}
	if err := v.fill(&l); err != nil {
		return err
	}
	return v.show("clients", page{Title: "Clients", Here: "clients", Data: l})
}

func (v *visit) fill(l *clientList) error {
	if !l.Kept {
		all, known := v.clients.All()
		switch {
		case v.server.Boundaries() == nil:
			return nil
		case !known:
			l.Elsewhere = "a source that does not list them"
			return nil
		}
		l.Elsewhere = "a source that cannot be changed here, such as a file"
		for p, b := range all {
			if len(l.Bounds) == mostStatic {
				l.Elsewhere += fmt.Sprintf(". These are the first %d", mostStatic)
				break
			}
			l.Bounds = append(l.Bounds, v.row(store.Bound{Party: p, Boundary: b}))
		}
		return nil
	}
	seen, more, err := v.store.SeenClients(v.ctx,
		store.Page[int64]{After: v.after("after"), Limit: pageSize})
	if err != nil {
		return err
	}
	by, err := v.clients.Bounds(v.ctx)
	if err != nil {
		return err
	}
	unbounded := v.clients.Reach(v.ctx, nil).AllThree()
	for _, c := range seen {
		row := clientRow{SeenClient: c, Together: unbounded}
		row.Administers = v.clients.Administers(row.party())
		if b, ok := by.Of(c.Issuer, c.Client); ok {
			bound := v.row(b)
			row.Bound, row.Together = &bound, bound.Together
		}
		l.Clients = append(l.Clients, row)
	}
	if more {
		l.Next = withQuery(pathClients, url.Values{"after": {fmt.Sprint(seen[len(seen)-1].ID)}})
	}
	bounds, more, err := v.store.Bounds(v.ctx,
		store.Page[int64]{After: v.after("boundaries"), Limit: pageSize})
	for _, b := range bounds {
		l.Bounds = append(l.Bounds, v.row(b))
	}
	if more {
		l.NextBounds = withQuery(pathClients,
			url.Values{"boundaries": {fmt.Sprint(bounds[len(bounds)-1].ID)}})
	}
	return err
}

// usePage is what a client has used, and a boundary for that.
type usePage struct {
	Days string
	clients.Use
	boundForm
	YAML  string
	Kept  bool
	Own   *boundRow      // the boundary of the client; nil without one
	Reach *clients.Reach // nil if the source does not list the boundary of the client

	Administers bool
}

// Events is the path of the client's events in the audit trail.
func (p usePage) Events() string { return withQuery(pathAudit, filled("client", p.Client)) }

// showSuggestion shows what a client has used, by the audit trail.
func (v *visit) showSuggestion() error {
	q := v.r.URL.Query()
	client := boundary.Party{Issuer: q.Get("issuer"), Client: q.Get("client")}
	d := usePage{Days: cmp.Or(q.Get("days"), "30"), Kept: v.clients.Kept(),
		boundForm: boundForm{Party: client, Wrong: faults{}}}
	p := page{Title: "What a client uses", Here: "clients"}
	d.Wrong.name("client", d.Client, true)
	d.Wrong.name("issuer", d.Issuer, false)
	days, err := strconv.Atoi(d.Days)
	if err != nil || days < 1 || days > clients.MaxDays {
		d.Wrong.add("days", fmt.Sprintf("Write a number of days from 1 to %d.", clients.MaxDays))
	}
	if len(d.Wrong) > 0 {
		p.Problem, p.Data = "See the messages at the fields below.", d
		return v.showAs(http.StatusUnprocessableEntity, "suggestion", p)
	}
	err = front.Reads(v.ctx, v.audit, v.by(), filled("issuer", d.Issuer, "client", d.Client, "days",
		d.Days), "read", wholeTrail)
	if err != nil {
		return err
	}
	d.Use, err = v.clients.Use(v.ctx, d.Issuer, d.Client, time.Now().AddDate(0, 0, -days))
	if err != nil {
		return err
	}
	var bound *boundary.Boundary
	known := true
	if d.Kept {
		all, err := v.clients.Bounds(v.ctx)
		if err != nil {
			return err
		}
		if b, ok := all[d.Party]; ok {
			d.Own = &boundRow{Bound: b}
		}
		if b, ok := all.Of(d.Issuer, d.Client); ok {
			bound = &b.Boundary
		}
	} else {
		all, lists := v.clients.All()
		if b, ok := d.Party.In(maps.Collect(all)); ok {
			bound = &b
		}
		known = lists
	}
	if known {
		reach := v.clients.Reach(v.ctx, bound)
		d.Reach = &reach
	}
	d.Administers = v.clients.Administers(d.Party)
	d.YAML = clients.Entry(d.Party, d.Use.Boundary)
	d.boundForm.fill(d.Use.Boundary)
	d.Hierarchy = v.server.Table().Hierarchy()
	p.Data = d
	return v.show("suggestion", p)
}

// blocking is the page that confirms the block of a party, or its end.
type blocking struct {
	boundRow // the one of the party itself; its ID and version are 0 without one
}

func (v *visit) blocking(q url.Values) (b blocking, err error) {
	p := partyOf(q)
	if p.Client == "" && p.Actor == "" {
		return b, store.ErrNotFound
	}
	all, err := v.clients.Bounds(v.ctx)
	b.Bound = all[p]
	b.Party = p
	return b, err
}

func (b blocking) page(problem string) page {
	return page{Title: "Block", Here: "clients", Problem: problem, Data: b}
}

func (v *visit) askBlock() error {
	b, err := v.blocking(v.r.URL.Query())
	if err != nil {
		return err
	}
	return v.show("block", b.page(""))
}

// block blocks a party, or ends its block. A party without a boundary gets one that allows nothing.
func (v *visit) block() error {
	b, err := v.blocking(v.r.PostForm)
	if err != nil {
		return err
	}
	blocked, done := v.field("blocked") == "yes", "unblocked"
	if blocked {
		done = "blocked"
	}
	changed := boundary.Boundary{Blocked: blocked}
	if found := v.clients.Check(b.Party, changed); len(found) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "block", b.page(cured(found[0].Text)))
	}
	switch {
	case v.field("version") != strconv.FormatInt(b.Version, 10):
		err = store.ErrConflict
	case b.ID == 0 && blocked:
		_, err = v.store.CreateBound(v.ctx, b.Party, changed, v.by())
	case b.ID == 0:
		err = store.ErrNotFound
	default:
		changed = b.Boundary
		changed.Blocked = blocked
		_, err = v.store.UpdateBound(v.ctx, b.ID, b.Version, changed, v.by())
	}
	if err == nil {
		return v.back(pathClients, done)
	}
	const changedSince = "It was changed since you opened this page. The page shows the current " +
		"state."
	return v.again(err, "block", func() (page, error) {
		b, err := v.blocking(v.r.PostForm)
		return b.page(changedSince), err
	}, ruleBound, changedSince)
}
