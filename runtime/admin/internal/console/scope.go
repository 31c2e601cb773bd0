package console

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// place is a scope with the name that people know it by.
type place struct {
	Scope store.Scope
	Name  string
}

// Word is the scope in addresses and forms: "global", "org-3", "team-7".
func (p place) Word() string {
	switch {
	case p.Scope.Org() != 0:
		return "org-" + strconv.FormatInt(p.Scope.Org(), 10)
	case p.Scope.Team() != 0:
		return "team-" + strconv.FormatInt(p.Scope.Team(), 10)
	}
	return "global"
}

// Path is the page of the organisation or the team, or "".
func (p place) Path() string {
	switch {
	case p.Scope.Org() != 0:
		return orgPath(p.Scope.Org())
	case p.Scope.Team() != 0:
		return teamPath(p.Scope.Team())
	}
	return ""
}

func orgPath(id int64) string  { return fmt.Sprintf("%s/orgs/%d", runtime.PathConsole, id) }
func teamPath(id int64) string { return fmt.Sprintf("%s/teams/%d", runtime.PathConsole, id) }

// scopeNamed reads a word. A malformed one, and a scope that the caller does not manage, is not
// found.
func (v *visit) scopeNamed(word string) (store.Scope, error) {
	scope := store.Global
	if word != "global" {
		kind, digits, _ := strings.Cut(word, "-")
		id, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || id < 1 {
			return v.strange(store.Scope{})
		}
		switch kind {
		case "org":
			scope = store.InOrg(id)
		case "team":
			scope = store.InTeam(id)
		default:
			return v.strange(store.Scope{})
		}
	}
	if !v.manages(scope) {
		return v.strange(scope)
	}
	return scope, nil
}

// strange records a scope that is none of the caller's, and returns ErrNotFound.
func (v *visit) strange(scope store.Scope) (store.Scope, error) {
	v.foreign = scope.String()
	return store.Scope{}, store.ErrNotFound
}

// manages reports whether the caller may see and change the items of a scope.
func (v *visit) manages(scope store.Scope) bool {
	return v.admin || slices.Contains(v.managed, scope)
}

// named names a scope, and reads each name once. A deleted scope is named by its number.
func (v *visit) named(scope store.Scope) (place, error) {
	p, ok := v.names[scope]
	if ok {
		return p, nil
	}
	p, err := v.readName(scope)
	if err == nil {
		v.names[scope] = p
	}
	return p, err
}

func (v *visit) readName(scope store.Scope) (place, error) {
	switch {
	case scope.Org() != 0:
		org, err := v.store.Org(v.ctx, scope.Org())
		return gone(place{scope, "Organisation " + org.Name}, err)
	case scope.Team() != 0:
		team, err := v.store.Team(v.ctx, store.Anywhere, scope.Team())
		if err != nil || !v.admin {
			return gone(place{scope, "Team " + team.Name}, err)
		}
		// Admins see all organisations; the lead of a team may not be in its organisation.
		org, err := v.store.Org(v.ctx, team.Org)
		return gone(place{scope, "Team " + org.Name + " / " + team.Name}, err)
	}
	return place{store.Global, "Global"}, nil
}

func gone(p place, err error) (place, error) {
	if errors.Is(err, store.ErrNotFound) {
		return place{p.Scope, p.Scope.String()}, nil
	}
	return p, err
}
