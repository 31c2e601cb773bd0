package console

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

type memberRow struct{ store.Membership }

// Path is the page of the membership.
func (m memberRow) Path() string { return memberPath(m.ID) }

func memberPath(id int64) string { return fmt.Sprintf("%s/members/%d", runtime.PathConsole, id) }

const alreadyMember = "This member already exists. Open it in the list to change its standing."

// standings are what a member can be, highest first.
var standings = []access.Standing{access.Owner, access.Admin, access.Lead, access.Member}

// memberList are the members of an organisation or a team, and one that is being typed.
type memberList struct {
	Members         []memberRow
	NextMembers     string
	Issuer, Subject string
	Standing        access.Standing
	YourIssuer      string
}

// Standings are what there is to choose from.
func (memberList) Standings() []access.Standing { return standings }

// typed puts back what was typed into the form that adds a member.
func (l *memberList) typed(v *visit) {
	l.Issuer, l.Subject, l.Standing = v.field("issuer"), v.field("subject"), access.Standing(v.field("standing"))
}

func (v *visit) membersOf(in store.Scope, path string) (l memberList, err error) {
	found, more, err := v.store.Members(v.ctx, in, store.Page[int64]{After: v.after("members"), Limit: pageSize})
	for _, m := range found {
		l.Members = append(l.Members, memberRow{m})
	}
	if more {
		l.NextMembers = withQuery(path, url.Values{"members": {fmt.Sprint(found[len(found)-1].ID)}})
	}
	// A token of the issuer that the admin's own has is the likely one.
	l.Issuer, l.YourIssuer, l.Standing = v.caller.Issuer, v.caller.Issuer, access.Member
	return l, err
}

func (v *visit) addMember(in store.Scope) error {
	_, err := v.store.AddMember(v.ctx, in, v.field("issuer"), v.field("subject"), access.Standing(v.field("standing")), v.by())
	return err
}

// memberPageData is a membership, and the standing that is being chosen.
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

func (v *visit) memberPage(m store.Membership) (page, memberPageData, error) {
	d := memberPageData{memberRow: memberRow{m}, Standing: m.Standing}
	var err error
	d.Place, err = v.named(m.Scope)
	return page{Title: m.Subject, Here: "orgs", Data: d}, d, err
}

func (v *visit) showMember() error {
	m, err := v.member()
	if err != nil {
		return err
	}
	p, _, err := v.memberPage(m)
	if err != nil {
		return err
	}
	return v.show("member", p)
}

func (v *visit) saveMember() error {
	m, err := v.member()
	if err != nil {
		return err
	}
	standing := access.Standing(v.field("standing"))
	if _, err = v.store.UpdateMember(v.ctx, m.Scope, m.ID, v.version(), standing, v.by()); err == nil {
		return v.back(memberPath(m.ID), "member-saved")
	}
	if !retyped(err) {
		return err
	}
	if m, pageErr := v.member(); pageErr != nil {
		return pageErr
	} else if p, d, pageErr := v.memberPage(m); pageErr != nil {
		return pageErr
	} else {
		if errors.Is(err, store.ErrConflict) {
			d.Standing = standing
			p.Conflict = &conflict{"member", []difference{{"Standing", string(m.Standing), string(standing)}}}
		}
		p.Data = d
		return v.refused(err, "member", p, v.ruleOr("Choose one of the standings."), "")
	}
}

func (v *visit) removal(m store.Membership) (page, error) {
	in, err := v.named(m.Scope)
	return page{Title: "Remove " + m.Subject, Here: "orgs", Data: deletion{"member", m.Subject, "what it is in " + in.Name + " (" + string(m.Standing) + ")", m.Version, memberPath(m.ID) + "/delete", memberPath(m.ID)}}, err
}

func (v *visit) askRemoveMember() error {
	m, err := v.member()
	if err != nil {
		return err
	}
	p, err := v.removal(m)
	if err != nil {
		return err
	}
	return v.show("delete", p)
}

func (v *visit) removeMember() error {
	m, err := v.member()
	if err != nil {
		return err
	}
	if err = v.store.RemoveMember(v.ctx, m.Scope, m.ID, v.version(), v.by()); err == nil {
		in := place{Scope: m.Scope}
		return v.back(in.Path(), "member-removed")
	}
	if !retyped(err) {
		return err
	}
	p, pageErr := v.removal(m)
	if pageErr != nil {
		return pageErr
	}
	return v.stillThere(err, p)
}
