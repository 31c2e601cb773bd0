package console

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/clients"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathBoundaries = runtime.PathConsole + "/boundaries"

func boundPath(id int64) string { return fmt.Sprintf("%s/%d", pathBoundaries, id) }

const ruleBound = "Write a client or an actor, and a subject only with one client. A boundary has " +
	"at most 64 roles and 1,000 items, each once and with at most 1,024 bytes of visible characters."

// boundForm is a boundary that is being typed. Roles and items have one line each.
type boundForm struct {
	boundary.Party
	Roles, Items, Until string
	ReadOnly            bool
	Hierarchy           []string // the roles of the server
	Wrong               faults
}

// fill writes the limits of a boundary into the form.
func (f *boundForm) fill(b boundary.Boundary) {
	f.Roles, f.Items = strings.Join(b.Roles, "\n"), strings.Join(b.Items, "\n")
	f.Until, f.ReadOnly = endText(b.Until), b.ReadOnly
}

// endText is the end of a boundary in a form, or empty for none.
func endText(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return end.UTC().Format("2006-01-02 15:04:05")
}

// limits reads the limits of a boundary from a form.
func (v *visit) limits(f *boundForm) (b boundary.Boundary) {
	f.Roles, f.Items, f.Until = v.field("roles"), v.field("items"), v.field("until")
	f.ReadOnly, f.Wrong = v.field("readonly") != "", faults{}
	f.Hierarchy = v.server.Table().Hierarchy()
	return boundary.Boundary{Roles: linesOf(f.Roles), Items: linesOf(f.Items), ReadOnly: f.ReadOnly,
		Until: f.Wrong.moment("until", f.Until)}
}

// linesOf returns the lines of a text that are not empty.
func linesOf(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// cured is an error with its cure, as one or more sentences.
func cured(text string) string {
	text = sentence(text)
	return strings.TrimSuffix(strings.Replace(text, "?.", "?", 1), "\n")
}

// names notes the faults of a boundary at their fields.
func (f faults) names(found []clients.Fault) {
	for _, one := range found {
		if earlier := f[one.Field]; earlier != nil {
			earlier.Text += " " + cured(one.Text)
		} else {
			f.add(one.Field, cured(one.Text))
		}
	}
}

func (f boundForm) page(problem string) page {
	return page{Title: "New boundary", Here: "clients", Problem: problem, Data: f}
}

func (v *visit) newBound() error {
	f := boundForm{Party: partyOf(v.r.URL.Query()), Hierarchy: v.server.Table().Hierarchy()}
	if f.Client == "" && f.Issuer == "" {
		f.Issuer = v.caller.Issuer // the likely one
	}
	return v.show("boundary-new", f.page(""))
}

func (v *visit) createBound() error {
	f := boundForm{Party: partyOf(v.r.PostForm)}
	b := v.limits(&f)
	if f.Client != boundaryitem.All {
		f.Wrong.name("client", f.Client, f.Actor == "")
	}
	f.Wrong.name("issuer", f.Issuer, false)
	f.Wrong.names(append(v.clients.CheckParty(f.Party), v.clients.Check(f.Party, b)...))
	if len(f.Wrong) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "boundary-new", f.page(problemBelow))
	}
	made, err := v.store.CreateBound(v.ctx, f.Party, b, v.by())
	if err == nil {
		return v.back(boundPath(made.ID), "boundary-created")
	}
	return v.again(err, "boundary-new", func() (page, error) { return f.page(""), nil }, ruleBound,
		"It already has a boundary. Open that boundary on the page Clients.")
}

// boundPage is a boundary with its form.
type boundPage struct {
	boundRow
	boundForm
	Reach clients.Reach
}

// bound reads the boundary of the address.
func (v *visit) bound() (store.Bound, error) { return v.store.Bound(v.ctx, v.id()) }

func (v *visit) boundPage(b store.Bound) (p page, d boundPage, err error) {
	d = boundPage{boundRow{Bound: b}, boundForm{Party: b.Party, Wrong: faults{},
		Hierarchy: v.server.Table().Hierarchy()}, v.clients.Reach(v.ctx, &b.Boundary)}
	d.boundForm.fill(b.Boundary)
	d.Wrong.names(v.clients.Check(b.Party, b.Boundary)) // which the server does not have any more
	return page{Title: "Boundary", Here: "clients"}, d, nil
}

var boundForms = forms[store.Bound, boundPage]{"boundary", (*visit).bound, (*visit).boundPage}

// errFaulty is the error of a form with faults at its fields.
var errFaulty = fmt.Errorf("the form has faults: %w", store.ErrInvalid)

func (v *visit) saveBound() error {
	var f boundForm
	return boundForms.change(v, func(now store.Bound) (to, done string, err error) {
		b := v.limits(&f)
		f.Party, b.Blocked = now.Party, now.Boundary.Blocked
		if f.Wrong.names(v.clients.Check(now.Party, b)); len(f.Wrong) > 0 {
			return "", "", errFaulty
		}
		_, err = v.store.UpdateBound(v.ctx, now.ID, v.version(), b, v.by())
		return boundPath(now.ID), "boundary-saved", err
	}, func(d *boundPage, p *page, err error) (rule, taken string) {
		stored := d.boundForm
		if d.boundForm = f; errors.Is(err, store.ErrConflict) {
			p.Conflict = &conflict{"boundary", []difference{{"Roles", stored.Roles, f.Roles},
				{"Items", stored.Items, f.Items}, {"Until", stored.Until, f.Until},
				{"Readonly", onlyReads(stored.ReadOnly), onlyReads(f.ReadOnly)}}}
		}
		if errors.Is(err, errFaulty) {
			return problemBelow, ""
		}
		return v.ruleOr(ruleBound), ""
	})
}

// onlyReads is a word for whether a boundary allows only readonly tools.
func onlyReads(is bool) string {
	if is {
		return "readonly tools only"
	}
	return "all tools of the items"
}

func (v *visit) boundDeletion() (removal, error) {
	b, err := v.bound()
	return removal{page{Title: "Delete boundary", Here: "clients", Data: deletion{"boundary of",
		boundRow{Bound: b}.Who(), "a block of it", b.Version, boundPath(b.ID) + "/delete",
		boundPath(b.ID)}}, func(version int64) error {
		return v.store.DeleteBound(v.ctx, b.ID, version, v.by())
	}, pathClients, "boundary-deleted"}, err
}
