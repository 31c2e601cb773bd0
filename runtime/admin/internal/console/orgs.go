package console

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathOrgs = runtime.PathConsole + "/orgs"

type orgList struct {
	Orgs []store.Org
	Next string
	Name string // as in the form that makes one
}

func (v *visit) orgsPage() (p page, err error) {
	found, more, err := v.store.Orgs(v.ctx,
		store.Page[int64]{After: v.after("after"), Limit: pageSize})
	if err != nil {
		return p, err
	}
	list := orgList{Orgs: found, Name: v.field("name")}
	if more {
		list.Next = withQuery(pathOrgs, url.Values{"after": {fmt.Sprint(found[len(found)-1].ID)}})
	}
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
	return v.again(err, "orgs", v.orgsPage, ruleName,
		"An organisation with this name already exists.")
}

// orgPageData is an organisation, its teams and its members.
type orgPageData struct {
	store.Org
	Name      string // as in the form that renames it
	Place     place
	Teams     []store.Team
	NextTeams string
	Team      string // as in the form that makes one
	memberList
}

// org reads the organisation of the address.
func (v *visit) org() (store.Org, error) {
	return v.store.Org(v.ctx, v.id())
}

func (v *visit) orgPage(o store.Org) (p page, d orgPageData, err error) {
	p = page{Title: o.Name, Here: "orgs"}
	d = orgPageData{Org: o, Name: o.Name, Place: place{store.InOrg(o.ID), o.Name}}
	teams, more, err := v.store.Teams(v.ctx, store.InOrg(o.ID),
		store.Page[int64]{After: v.after("teams"), Limit: pageSize})
	if err != nil {
		return p, d, err
	}
	d.Teams = teams
	if more {
		d.NextTeams = withQuery(orgPath(o.ID),
			url.Values{"teams": {fmt.Sprint(teams[len(teams)-1].ID)}})
	}
	d.memberList, err = v.membersOf(store.InOrg(o.ID), orgPath(o.ID))
	return p, d, err
}

var orgForms = forms[store.Org, orgPageData]{"org", (*visit).org, (*visit).orgPage}

func (v *visit) renameOrg() error {
	return orgForms.change(v, func(o store.Org) (to, done string, err error) {
		_, err = v.store.RenameOrg(v.ctx, o.ID, v.version(), v.field("name"), v.by())
		return orgPath(o.ID), "org-saved", err
	}, func(d *orgPageData, p *page, err error) (rule, taken string) {
		d.Name = v.field("name")
		p.Conflict = renamed(err, "organisation", d.Org.Name, d.Name)
		return v.ruleOr(ruleName), "An organisation with this name already exists."
	})
}

// renamed is the conflict of a new name with a concurrent one, or nil for another error.
func renamed(err error, noun, stored, typed string) *conflict {
	if !errors.Is(err, store.ErrConflict) {
		return nil
	}
	return &conflict{noun, []difference{{"Name", stored, typed}}}
}

func (v *visit) createTeam() error {
	return orgForms.change(v, func(o store.Org) (to, done string, err error) {
		made, err := v.store.CreateTeam(v.ctx, o.ID, v.field("name"), v.by())
		return teamPath(made.ID), "team-created", err
	}, func(d *orgPageData, _ *page, _ error) (rule, taken string) {
		d.Team = v.field("name")
		return ruleName, "A team with this name already exists in this organisation."
	})
}

func (v *visit) orgDeletion() (removal, error) {
	o, err := v.org()
	return removal{page{Title: "Delete " + o.Name, Here: "orgs", Data: deletion{"organisation",
		o.Name, "its teams, members and catalogs", o.Version, orgPath(o.ID) + "/delete",
		orgPath(o.ID)}}, func(version int64) error {
		return v.store.DeleteOrg(v.ctx, o.ID, version, v.by())
	}, pathOrgs, "org-deleted"}, err
}

// teamPageData is a team and its members.
type teamPageData struct {
	store.Team
	Name  string // as in the form that renames it
	Place place
	Of    place // the organisation
	memberList
}

// team reads the team of the address.
func (v *visit) team() (store.Team, error) {
	return v.store.Team(v.ctx, store.Anywhere, v.id())
}

func (v *visit) teamPage(t store.Team) (p page, d teamPageData, err error) {
	p = page{Title: t.Name, Here: "orgs"}
	d = teamPageData{Team: t, Name: t.Name, Place: place{store.InTeam(t.ID), t.Name}}
	if d.Of, err = v.named(store.InOrg(t.Org)); err != nil {
		return p, d, err
	}
	d.memberList, err = v.membersOf(store.InTeam(t.ID), teamPath(t.ID))
	return p, d, err
}

var teamForms = forms[store.Team, teamPageData]{"team", (*visit).team, (*visit).teamPage}

func (v *visit) renameTeam() error {
	return teamForms.change(v, func(t store.Team) (to, done string, err error) {
		_, err = v.store.RenameTeam(v.ctx, store.InOrg(t.Org), t.ID, v.version(),
			v.field("name"), v.by())
		return teamPath(t.ID), "team-saved", err
	}, func(d *teamPageData, p *page, err error) (rule, taken string) {
		d.Name = v.field("name")
		p.Conflict = renamed(err, "team", d.Team.Name, d.Name)
		return v.ruleOr(ruleName), "A team with this name already exists in this organisation."
	})
}

func (v *visit) teamDeletion() (removal, error) {
	t, err := v.team()
	return removal{page{Title: "Delete " + t.Name, Here: "orgs", Data: deletion{"team", t.Name,
		"its members and catalogs", t.Version, teamPath(t.ID) + "/delete", teamPath(t.ID)}},
		func(version int64) error {
			return v.store.DeleteTeam(v.ctx, store.InOrg(t.Org), t.ID, version, v.by())
		}, orgPath(t.Org), "team-deleted"}, err
}

func memberPath(id int64) string { return fmt.Sprintf("%s/members/%d", runtime.PathConsole, id) }

// standings are the possible standings, highest first.
var standings = []access.Standing{access.Owner, access.Admin, access.Lead, access.Member}

// memberList are the members of an organisation or a team, and the form of a new one.
type memberList struct {
	Members         []store.Membership
	NextMembers     string
	Issuer, Subject string
	Standing        access.Standing
	YourIssuer      string
}

func (v *visit) membersOf(in store.Scope, path string) (l memberList, err error) {
	found, more, err := v.store.Members(v.ctx, in,
		store.Page[int64]{After: v.after("members"), Limit: pageSize})
	l.Members = found
	if more {
		l.NextMembers = withQuery(path, url.Values{"members": {fmt.Sprint(found[len(found)-1].ID)}})
	}
	// The issuer of the admin's own token is the likely one.
	l.Issuer, l.YourIssuer, l.Standing = v.caller.Issuer, v.caller.Issuer, access.Member
	return l, err
}

// addsMember returns the action of the form of a new member. in is the scope of the page.
func addsMember[T, D any](f forms[T, D], in func(T) store.Scope,
	list func(*D) *memberList) func(*visit) error {
	return func(v *visit) error {
		issuer, subject, standing := v.field("issuer"), v.field("subject"),
			access.Standing(v.field("standing"))
		return f.change(v, func(now T) (to, done string, err error) {
			_, err = v.store.AddMember(v.ctx, in(now), issuer, subject, standing, v.by())
			return place{Scope: in(now)}.Path(), "member-added", err
		}, func(d *D, _ *page, _ error) (rule, taken string) {
			l := list(d)
			l.Issuer, l.Subject, l.Standing = issuer, subject, standing
			return ruleMember, "This member already exists. Open it in the list to change its standing."
		})
	}
}

// memberPageData is a membership, and the chosen standing.
type memberPageData struct {
	store.Membership
	Place    place
	Standing access.Standing
}

// member reads the membership of the address.
func (v *visit) member() (store.Membership, error) {
	return v.store.Member(v.ctx, store.Anywhere, v.id())
}

func (v *visit) memberPage(m store.Membership) (p page, d memberPageData, err error) {
	d = memberPageData{Membership: m, Standing: m.Standing}
	d.Place, err = v.named(m.Scope)
	return page{Title: m.Subject, Here: "orgs"}, d, err
}

var memberForms = forms[store.Membership, memberPageData]{
	"member", (*visit).member, (*visit).memberPage}

func (v *visit) saveMember() error {
	standing := access.Standing(v.field("standing"))
	return memberForms.change(v, func(m store.Membership) (to, done string, err error) {
		_, err = v.store.UpdateMember(v.ctx, m.Scope, m.ID, v.version(), standing, v.by())
		return memberPath(m.ID), "member-saved", err
	}, func(d *memberPageData, p *page, err error) (rule, taken string) {
		if errors.Is(err, store.ErrConflict) {
			d.Standing = standing
			p.Conflict = &conflict{"member", []difference{
				{"Standing", string(d.Membership.Standing), string(standing)}}}
		}
		return v.ruleOr("Choose one of the standings."), ""
	})
}

func (v *visit) memberRemoval() (removal, error) {
	m, err := v.member()
	if err != nil {
		return removal{}, err
	}
	in, err := v.named(m.Scope)
	return removal{page{Title: "Remove " + m.Subject, Here: "orgs", Data: deletion{"member",
		m.Subject, "what it is in " + in.Name + " (" + string(m.Standing) + ")", m.Version,
		memberPath(m.ID) + "/delete", memberPath(m.ID)}}, func(version int64) error {
		return v.store.RemoveMember(v.ctx, m.Scope, m.ID, version, v.by())
	}, place{Scope: m.Scope}.Path(), "member-removed"}, err
}
