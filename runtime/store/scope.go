package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Scope is the place of an item: global, one organisation or one team. A query in one scope does
// not find an item of another. The zero Scope is not valid and contains nothing.
type Scope struct {
	kind scopeKind
	id   int64
}

type scopeKind int

const (
	nowhereAtAll scopeKind = iota
	anywhere
	global
	inOrg
	inTeam
)

var (
	// Anywhere contains all scopes, for administrators of the server. It cannot be the place of a
	// new item.
	Anywhere = Scope{kind: anywhere}
	// Global contains the items of no organisation and no team.
	Global = Scope{kind: global}
)

// InOrg returns the scope of an organisation. It contains the organisation's teams, but not the
// items of these teams.
func InOrg(id int64) Scope { return Scope{inOrg, id} }

// InTeam returns the scope of a team.
func InTeam(id int64) Scope { return Scope{inTeam, id} }

// Org returns the organisation's id, or 0.
func (s Scope) Org() int64 { return s.of(inOrg) }

// Team returns the team's id, or 0.
func (s Scope) Team() int64 { return s.of(inTeam) }

func (s Scope) of(kind scopeKind) int64 {
	if s.kind == kind {
		return s.id
	}
	return 0
}

// String returns the scope as in "team 7".
func (s Scope) String() string {
	switch s.kind {
	case anywhere:
		return "anywhere"
	case global:
		return "global"
	case inOrg:
		return fmt.Sprintf("organization %d", s.id)
	case inTeam:
		return fmt.Sprintf("team %d", s.id)
	}
	return "no scope"
}

// one refuses a scope of another kind than those that a thing can have.
func (s Scope) one(noun string, kinds ...scopeKind) error {
	if slices.Contains(kinds, s.kind) {
		return nil
	}
	return wrong("%s: %s is not a valid location", noun, s)
}

// within narrows a statement to the rows of the scope, in a table that has both ids.
func (s Scope) within(q *statement) *statement {
	switch s.kind {
	case anywhere:
		return q
	case global:
		return q.and(`AND org_id IS NULL AND team_id IS NULL`)
	case inOrg:
		return q.and(`AND org_id = ?`, s.id)
	case inTeam:
		return q.and(`AND team_id = ?`, s.id)
	}
	return q.and(`AND FALSE`)
}

// columns are the ids of a row in the scope.
func (s Scope) columns() (org, team sql.Null[int64]) {
	org.V, org.Valid = s.id, s.kind == inOrg
	team.V, team.Valid = s.id, s.kind == inTeam
	return org, team
}

// scopeOf reads the ids of a row.
func scopeOf(org, team sql.Null[int64]) Scope {
	switch {
	case team.Valid:
		return InTeam(team.V)
	case org.Valid:
		return InOrg(org.V)
	}
	return Global
}

// TeamName identifies a team by the name of its organisation and its own name.
type TeamName struct{ Org, Team string }

// ScopesNamed returns the organisations of some names, and the teams of some names within these
// organisations. Names without an organisation or a team are not in the maps.
func (s *Store) ScopesNamed(ctx context.Context, orgs []string, teams []TeamName) (map[string]Scope, map[TeamName]Scope, error) {
	if len(orgs) == 0 {
		return nil, nil, nil // teams are in organisations
	}
	type named struct {
		id, org int64
		name    string
	}
	found, err := all(ctx, s.asks, anyOf(say(`SELECT id, name FROM organizations WHERE name`), keepables(orgs)).and(`ORDER BY id`), func(row scanner) (o named, err error) {
		return o, row.Scan(&o.id, &o.name)
	})
	if err != nil {
		return nil, nil, s.engine.explain(ctx, "find organizations", err)
	}
	ids, names, inOrgs := []int64{}, map[int64]string{}, map[string]Scope{}
	for _, o := range found {
		ids, names[o.id], inOrgs[o.name] = append(ids, o.id), o.name, InOrg(o.id)
	}
	if len(ids) == 0 || len(teams) == 0 {
		return inOrgs, nil, nil
	}
	own, wanted := make([]string, len(teams)), map[TeamName]bool{}
	for i, team := range teams {
		own[i], wanted[team] = team.Team, true
	}
	found, err = all(ctx, s.asks, anyOf(anyOf(say(`SELECT id, org_id, name FROM teams WHERE org_id`), ids).and(`AND name`), keepables(own)).and(`ORDER BY id`), func(row scanner) (t named, err error) {
		return t, row.Scan(&t.id, &t.org, &t.name)
	})
	if err != nil {
		return nil, nil, s.engine.explain(ctx, "find teams", err)
	}
	inTeams := map[TeamName]Scope{}
	for _, t := range found {
		if name := (TeamName{names[t.org], t.name}); wanted[name] {
			inTeams[name] = InTeam(t.id)
		}
	}
	return inOrgs, inTeams, nil
}

func readID(row scanner) (id int64, err error) { return id, row.Scan(&id) }
