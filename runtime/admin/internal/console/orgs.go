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

type orgRow struct{ store.Org }

// Path is the page of the organisation.
func (o orgRow) Path() string { return orgPath(o.ID) }

type orgList struct {
	Orgs []orgRow
	Next string
	Name string // as in the form that makes one
}

func (v *visit) orgsPage() (p page, err error) {
	found, more, err := v.store.Orgs(v.ctx,
		store.Page[int64]{After: v.after("after"), Limit: pageSize})
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

func (v *visit) orgPage(o store.Org) (p page, d orgPageData, err error) {
	p = page{Title: o.Name, Here: "orgs"}
	d = orgPageData{orgRow: orgRow{o}, Name: o.Name, Place: place{store.InOrg(o.ID), o.Name}}
	teams, more, err := v.store.Teams(v.ctx, store.InOrg(o.ID),
		store.Page[int64]{After: v.after("teams"), Limit: pageSize})
	if err != nil {
		return p, d, err
	}
	for _, t := range teams {
		d.Teams = append(d.Teams, teamRow{t})
	}
	if more {
		d.NextTeams = withQuery(d.Path(),
			url.Values{"teams": {fmt.Sprint(teams[len(teams)-1].ID)}})
	}
	d.memberList, err = v.membersOf(store.InOrg(o.ID), d.Path())
	return p, d, err
}

func (v *visit) orgForms() forms[store.Org, orgPageData] {
	return forms[store.Org, orgPageData]{v, "org", v.org, v.orgPage}
}

func (v *visit) showOrg() error { return v.orgForms().show() }

func (v *visit) renameOrg() error {
	return v.orgForms().change(func(o store.Org) (to, done string, err error) {
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
	return v.orgForms().change(func(o store.Org) (to, done string, err error) {
		made, err := v.store.CreateTeam(v.ctx, o.ID, v.field("name"), v.by())
		return teamPath(made.ID), "team-created", err
	}, func(d *orgPageData, _ *page, _ error) (rule, taken string) {
		d.Team = v.field("name")
		return ruleName, "A team with this name already exists in this organisation."
	})
}

func (v *visit) addOrgMember() error {
	return v.orgForms().change(func(o store.Org) (to, done string, err error) {
		return orgPath(o.ID), "member-added", v.addMember(store.InOrg(o.ID))
	}, func(d *orgPageData, _ *page, _ error) (rule, taken string) {
		d.typed(v)
		return ruleMember, alreadyMember
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

type teamRow struct{ store.Team }

// Path is the page of the team.
func (t teamRow) Path() string { return teamPath(t.ID) }

// teamPageData is a team and its members.
type teamPageData struct {
	teamRow
	Name  string // as in the form that renames it
	Place place
	Of    place // the organisation
	memberList
}

// team reads the team of the address.
func (v *visit) team() (store.Team, error) {
	id, err := v.id()
	if err != nil {
		return store.Team{}, err
	}
	return v.store.Team(v.ctx, store.Anywhere, id)
}

func (v *visit) teamPage(t store.Team) (p page, d teamPageData, err error) {
	p = page{Title: t.Name, Here: "orgs"}
	d = teamPageData{teamRow: teamRow{t}, Name: t.Name, Place: place{store.InTeam(t.ID), t.Name}}
	if d.Of, err = v.named(store.InOrg(t.Org)); err != nil {
		return p, d, err
	}
	d.memberList, err = v.membersOf(store.InTeam(t.ID), d.Path())
	return p, d, err
}

func (v *visit) teamForms() forms[store.Team, teamPageData] {
	return forms[store.Team, teamPageData]{v, "team", v.team, v.teamPage}
}

func (v *visit) showTeam() error { return v.teamForms().show() }

func (v *visit) renameTeam() error {
	return v.teamForms().change(func(t store.Team) (to, done string, err error) {
		_, err = v.store.RenameTeam(v.ctx, store.InOrg(t.Org), t.ID, v.version(),
			v.field("name"), v.by())
		return teamPath(t.ID), "team-saved", err
	}, func(d *teamPageData, p *page, err error) (rule, taken string) {
		d.Name = v.field("name")
		p.Conflict = renamed(err, "team", d.Team.Name, d.Name)
		return v.ruleOr(ruleName), "A team with this name already exists in this organisation."
	})
}

func (v *visit) addTeamMember() error {
	return v.teamForms().change(func(t store.Team) (to, done string, err error) {
		return teamPath(t.ID), "member-added", v.addMember(store.InTeam(t.ID))
	}, func(d *teamPageData, _ *page, _ error) (rule, taken string) {
		d.typed(v)
		return ruleMember, alreadyMember
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

type memberRow struct{ store.Membership }

// Path is the page of the membership.
func (m memberRow) Path() string { return memberPath(m.ID) }

func memberPath(id int64) string { return fmt.Sprintf("%s/members/%d", runtime.PathConsole, id) }

const alreadyMember = "This member already exists. Open it in the list to change its standing."

// standings are the possible standings, highest first.
var standings = []access.Standing{access.Owner, access.Admin, access.Lead, access.Member}

// memberList are the members of an organisation or a team, and the form of a new one.
type memberList struct {
	Members         []memberRow
	NextMembers     string
	Issuer, Subject string
	Standing        access.Standing
	YourIssuer      string
}

// Standings are what there is to choose from.
func (memberList) Standings() []access.Standing { return standings }

// typed restores the typed values of the form that adds a member.
func (l *memberList) typed(v *visit) {
	l.Issuer, l.Subject = v.field("issuer"), v.field("subject")
	l.Standing = access.Standing(v.field("standing"))
}

func (v *visit) membersOf(in store.Scope, path string) (l memberList, err error) {
	found, more, err := v.store.Members(v.ctx, in,
		store.Page[int64]{After: v.after("members"), Limit: pageSize})
	for _, m := range found {
		l.Members = append(l.Members, memberRow{m})
	}
	if more {
		l.NextMembers = withQuery(path, url.Values{"members": {fmt.Sprint(found[len(found)-1].ID)}})
	}
	// The issuer of the admin's own token is the likely one.
	l.Issuer, l.YourIssuer, l.Standing = v.caller.Issuer, v.caller.Issuer, access.Member
	return l, err
}

func (v *visit) addMember(in store.Scope) error {
	_, err := v.store.AddMember(v.ctx, in, v.field("issuer"), v.field("subject"),
		access.Standing(v.field("standing")), v.by())
	return err
}

// memberPageData is a membership, and the chosen standing.
type memberPageData struct {
	memberRow
	Place    place
	Standing access.Standing
}

// Standings are what there is to choose from.
func (memberPageData) Standings() []access.Standing { return standings }

// member reads the membership of the address.
func (v *visit) member() (store.Membership, error) {
	id, err := v.id()
	if err != nil {
		return store.Membership{}, err
	}
	return v.store.Member(v.ctx, store.Anywhere, id)
}

func (v *visit) memberPage(m store.Membership) (p page, d memberPageData, err error) {
	d = memberPageData{memberRow: memberRow{m}, Standing: m.Standing}
	d.Place, err = v.named(m.Scope)
	return page{Title: m.Subject, Here: "orgs"}, d, err
}

func (v *visit) memberForms() forms[store.Membership, memberPageData] {
	return forms[store.Membership, memberPageData]{v, "member", v.member, v.memberPage}
}

func (v *visit) showMember() error { return v.memberForms().show() }

func (v *visit) saveMember() error {
	standing := access.Standing(v.field("standing"))
	return v.memberForms().change(func(m store.Membership) (to, done string, err error) {
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
