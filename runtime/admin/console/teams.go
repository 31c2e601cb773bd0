package console

import (
	"github.com/mcpgen/mcpgen/runtime/store"
)

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

func (v *visit) teamPage(t store.Team) (d teamPageData, err error) {
	d = teamPageData{teamRow: teamRow{t}, Name: t.Name, Place: place{store.InTeam(t.ID), t.Name}}
	if d.Of, err = v.named(store.InOrg(t.Org)); err != nil {
		return d, err
	}
	d.memberList, err = v.membersOf(store.InTeam(t.ID), d.Path())
	return d, err
}

func (v *visit) showTeam() error {
	t, err := v.team()
	if err != nil {
		return err
	}
	d, err := v.teamPage(t)
	if err != nil {
		return err
	}
	return v.show("team", page{Title: t.Name, Here: "orgs", Data: d})
}

func (v *visit) renameTeam() error {
	return v.ofTeam(func(t store.Team) (done string, err error) {
		_, err = v.store.RenameTeam(v.ctx, store.InOrg(t.Org), t.ID, v.version(), v.field("name"), v.by())
		return "team-saved", err
	}, func(d *teamPageData, p *page, err error) (rule, taken string) {
		d.Name = v.field("name")
		p.Conflict = renamed(err, "team", d.Team.Name, d.Name)
		return v.ruleOr(ruleName), "A team with this name already exists in this organisation."
	})
}

func (v *visit) addTeamMember() error {
	return v.ofTeam(func(t store.Team) (done string, err error) {
		return "member-added", v.addMember(store.InTeam(t.ID))
	}, func(d *teamPageData, _ *page, _ error) (rule, taken string) {
		d.typed(v)
		return ruleMember, alreadyMember
	})
}

// ofTeam does what a form of a team's page says, and shows the page again where that is refused,
// with what again puts into it.
func (v *visit) ofTeam(do func(store.Team) (done string, err error), again func(d *teamPageData, p *page, err error) (rule, taken string)) error {
	t, err := v.team()
	if err != nil {
		return err
	}
	code, err := do(t)
	if err == nil {
		return v.back(teamPath(t.ID), code)
	}
	if !retyped(err) {
		return err
	}
	if t, pageErr := v.team(); pageErr != nil {
		return pageErr
	} else if d, pageErr := v.teamPage(t); pageErr != nil {
		return pageErr
	} else {
		p := page{Title: t.Name, Here: "orgs"}
		rule, taken := again(&d, &p, err)
		p.Data = d
		return v.refused(err, "team", p, rule, taken)
	}
}

func deletionOfTeam(t store.Team) page {
	return page{Title: "Delete " + t.Name, Here: "orgs", Data: deletion{"team", t.Name, "its members and catalogs", t.Version, teamPath(t.ID) + "/delete", teamPath(t.ID)}}
}

func (v *visit) askDeleteTeam() error {
	t, err := v.team()
	if err != nil {
		return err
	}
	return v.show("delete", deletionOfTeam(t))
}

func (v *visit) deleteTeam() error {
	t, err := v.team()
	if err != nil {
		return err
	}
	if err = v.store.DeleteTeam(v.ctx, store.InOrg(t.Org), t.ID, v.version(), v.by()); err == nil {
		return v.back(orgPath(t.Org), "team-deleted")
	}
	return v.stillThere(err, deletionOfTeam(t))
}
