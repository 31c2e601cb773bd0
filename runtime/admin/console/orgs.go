package console

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathOrgs = runtime.PathConsole + "/orgs"

type orgRow struct{ store.Org }

// Path is the page of the organisation.
func (o orgRow) Path() string { return orgPath(o.ID) }

type orgList struct {
	Orgs []orgRow
	Next string
	Name string // as in the form that makes one
}

func (v *visit) orgsPage() (p page, err error) {
	found, more, err := v.store.Orgs(v.ctx, store.Page[int64]{After: v.after("after"), Limit: pageSize})
	if err != nil {
		return p, err
	}
	var list orgList
	for _, o := range found {
		list.Orgs = append(list.Orgs, orgRow{o})
	}
	if more {
		list.Next = withQuery(pathOrgs, url.Values{"after": {fmt.Sprint(found[len(found)-1].ID)}})
	}
	list.Name = v.field("name")
	return page{Title: "Organisations", Here: "orgs", Data: list}, nil
}

func (v *visit) listOrgs() error {
	p, err := v.orgsPage()
	if err != nil {
		return err
	}
	return v.show("orgs", p)
}

func (v *visit) createOrg() error {
	made, err := v.store.CreateOrg(v.ctx, v.field("name"), v.by())
	if err == nil {
		return v.back(orgPath(made.ID), "org-created")
	}
	if !retyped(err) {
		return err
	}
	p, pageErr := v.orgsPage()
	if pageErr != nil {
		return pageErr
	}
	return v.refused(err, "orgs", p, ruleName, "An organisation with this name already exists.")
}

// orgPageData is an organisation, its teams and its members.
type orgPageData struct {
	orgRow
	Name      string // as in the form that renames it
	Place     place
	Teams     []teamRow
	NextTeams string
	Team      string // as in the form that makes one
	memberList
}

// org reads the organisation of the address.
func (v *visit) org() (store.Org, error) {
	id, err := v.id()
	if err != nil {
		return store.Org{}, err
	}
	return v.store.Org(v.ctx, id)
}

func (v *visit) orgPage(o store.Org) (d orgPageData, err error) {
	d = orgPageData{orgRow: orgRow{o}, Name: o.Name, Place: place{store.InOrg(o.ID), o.Name}}
	teams, more, err := v.store.Teams(v.ctx, store.InOrg(o.ID), store.Page[int64]{After: v.after("teams"), Limit: pageSize})
	if err != nil {
		return d, err
	}
	for _, t := range teams {
		d.Teams = append(d.Teams, teamRow{t})
	}
	if more {
		d.NextTeams = withQuery(d.Path(), url.Values{"teams": {fmt.Sprint(teams[len(teams)-1].ID)}})
	}
	d.memberList, err = v.membersOf(store.InOrg(o.ID), d.Path())
	return d, err
}

func (v *visit) showOrg() error {
	o, err := v.org()
	if err != nil {
		return err
	}
	d, err := v.orgPage(o)
	if err != nil {
		return err
	}
	return v.show("org", page{Title: o.Name, Here: "orgs", Data: d})
}

func (v *visit) renameOrg() error {
	return v.ofOrg(func(o store.Org) (to, done string, err error) {
		_, err = v.store.RenameOrg(v.ctx, o.ID, v.version(), v.field("name"), v.by())
		return orgPath(o.ID), "org-saved", err
	}, func(d *orgPageData, p *page, err error) (rule, taken string) {
		d.Name = v.field("name")
		p.Conflict = renamed(err, "organisation", d.Org.Name, d.Name)
		return v.ruleOr(ruleName), "An organisation with this name already exists."
	})
}

// renamed is the conflict of a new name with one that somebody else has given meanwhile, or nil for
// another error.
func renamed(err error, noun, stored, typed string) *conflict {
	if !errors.Is(err, store.ErrConflict) {
		return nil
	}
	return &conflict{noun, []difference{{"Name", stored, typed}}}
}

func (v *visit) createTeam() error {
	return v.ofOrg(func(o store.Org) (to, done string, err error) {
		made, err := v.store.CreateTeam(v.ctx, o.ID, v.field("name"), v.by())
		return teamPath(made.ID), "team-created", err
	}, func(d *orgPageData, _ *page, _ error) (rule, taken string) {
		d.Team = v.field("name")
		return ruleName, "A team with this name already exists in this organisation."
	})
}

func (v *visit) addOrgMember() error {
	return v.ofOrg(func(o store.Org) (to, done string, err error) {
		return orgPath(o.ID), "member-added", v.addMember(store.InOrg(o.ID))
	}, func(d *orgPageData, _ *page, _ error) (rule, taken string) {
		d.typed(v)
		return ruleMember, alreadyMember
	})
}

// ofOrg does what a form of an organisation's page says, and shows the page again where that is
// refused, with what again puts into it.
func (v *visit) ofOrg(do func(store.Org) (to, done string, err error), again func(d *orgPageData, p *page, err error) (rule, taken string)) error {
	o, err := v.org()
	if err != nil {
		return err
	}
	to, code, err := do(o)
	if err == nil {
		return v.back(to, code)
	}
	if !retyped(err) {
		return err
	}
	if o, pageErr := v.org(); pageErr != nil {
		return pageErr
	} else if d, pageErr := v.orgPage(o); pageErr != nil {
		return pageErr
	} else {
		p := page{Title: o.Name, Here: "orgs"}
		rule, taken := again(&d, &p, err)
		p.Data = d
		return v.refused(err, "org", p, rule, taken)
	}
}

func deletionOfOrg(o store.Org) page {
	return page{Title: "Delete " + o.Name, Here: "orgs", Data: deletion{"organisation", o.Name, "its teams, members and catalogs", o.Version, orgPath(o.ID) + "/delete", orgPath(o.ID)}}
}

func (v *visit) askDeleteOrg() error {
	o, err := v.org()
	if err != nil {
		return err
	}
	return v.show("delete", deletionOfOrg(o))
}

func (v *visit) deleteOrg() error {
	o, err := v.org()
	if err != nil {
		return err
	}
	if err = v.store.DeleteOrg(v.ctx, o.ID, v.version(), v.by()); err == nil {
		return v.back(pathOrgs, "org-deleted")
	}
	return v.stillThere(err, deletionOfOrg(o))
}
