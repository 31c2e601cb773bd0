package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
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

// one returns an error unless the scope is of one of the kinds.
func (s Scope) one(noun string, kinds ...scopeKind) error {
	if slices.Contains(kinds, s.kind) {
		return nil
	}
	return wrong("%s: %s is not a valid location", noun, s)
}

// within adds a condition for the rows of the scope, in a table that has both ids.
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

// columns returns the ids of a row in the scope.
func (s Scope) columns() (org, team sql.Null[int64]) {
	org.V, org.Valid = s.id, s.kind == inOrg
	team.V, team.Valid = s.id, s.kind == inTeam
	return org, team
}

// scopeOf returns the scope of a row's ids.
func scopeOf(org, team sql.Null[int64]) Scope {
	switch {
	case team.Valid:
		return InTeam(team.V)
	case org.Valid:
		return InOrg(org.V)
	}
	return Global
}

// Org is an organisation, a tenant, with its own teams, members and catalogs.
type Org struct {
	ID               int64
	Name             string // unique
	Version          int64  // 1, and one more with each update
	Created, Updated time.Time
}

var orgs = table[Org]{storechange.Org, "organization", "organizations",
	`id, name, version, created_at, updated_at`,
	func(row scanner) (o Org, err error) {
		return o, row.Scan(&o.ID, &o.Name, &o.Version, moment{&o.Created}, moment{&o.Updated})
	}, func(_ Scope, q *statement) *statement { return q }}

// object names it for the audit, with the name that it had before, if there was another.
func (o Org) object(before string) string {
	return fmt.Sprintf("organization %d %s", o.ID, became(before, o.Name))
}

// CreateOrg creates an organisation. by names the caller, as for every change: its Issuer,
// Principal, Client, Role, RequestID and Arguments are recorded with the change. The store fills
// in the other fields.
func (s *Store) CreateOrg(ctx context.Context, name string, by audit.Event) (Org, error) {
	if err := checkName("organization", name); err != nil {
		return Org{}, invalid("create organization", err)
	}
	return orgs.create(ctx, s, Anywhere, 0, by, func(at any) *statement {
		return stmt(`INSERT INTO organizations (name, created_at, updated_at) VALUES (?, ?, ?)`,
			name, at, at)
	}, func(o Org) string { return o.object(o.Name) })
}

// Org returns an organisation.
func (s *Store) Org(ctx context.Context, id int64) (Org, error) {
	return orgs.get(ctx, s, Anywhere, id)
}

// Orgs returns a page of the organisations, in the order of their ids, and whether there are more.
func (s *Store) Orgs(ctx context.Context, page Page[int64]) ([]Org, bool, error) {
	return orgs.list(ctx, s, Anywhere, page)
}

// RenameOrg renames an organisation. It fails with [ErrConflict] if it has another version.
func (s *Store) RenameOrg(ctx context.Context, id, version int64, name string, by audit.Event) (
	Org, error) {
	if err := first(checkVersion(version, 1), checkName("organization", name)); err != nil {
		return Org{}, invalid("update organization", err)
	}
	return orgs.modify(ctx, s, Anywhere, id, version, by,
		func(q *statement) { q.and(`, name = ?`, name) },
		func(o, before Org) string { return o.object(before.Name) })
}

// DeleteOrg deletes an organisation with its teams, members and catalogs. It fails with
// [ErrConflict] if it has another version, unless version is 0.
func (s *Store) DeleteOrg(ctx context.Context, id, version int64, by audit.Event) error {
	in := func(table string) *statement {
		return stmt(`SELECT (SELECT count(*) FROM `+table+` WHERE org_id = ?) + `+
			`(SELECT count(*) FROM `+table+` WHERE team_id IN `+
			`(SELECT id FROM teams WHERE org_id = ?))`, id, id)
	}
	return orgs.remove(ctx, s, Anywhere, id, version, by,
		func(o Org) string { return o.object(o.Name) }, []countable{
			{"team", stmt(`SELECT count(*) FROM teams WHERE org_id = ?`, id)},
			{"member", in("memberships")}, {"catalog", in("tool_catalogs")}},
		func() *statement { return stmt(`SELECT id FROM teams WHERE org_id = ? ORDER BY id`, id) })
}

// Team is a team of an organisation, with its own members and catalogs.
type Team struct {
	ID               int64
	Org              int64
	Name             string // unique in its organisation
	Version          int64  // 1, and one more with each update
	Created, Updated time.Time
}

var teams = table[Team]{storechange.Team, "team", "teams",
	`id, org_id, name, version, created_at, updated_at`,
	func(row scanner) (t Team, err error) {
		return t, row.Scan(&t.ID, &t.Org, &t.Name, &t.Version, moment{&t.Created},
			moment{&t.Updated})
	}, func(in Scope, q *statement) *statement {
		if in.kind == inOrg {
			return q.and(`AND org_id = ?`, in.id)
		}
		return q
	}}

// object names it for the audit, with the name that it had before, if there was another.
func (t Team) object(before string) string {
	return fmt.Sprintf("team %d %s of organization %d", t.ID, became(before, t.Name), t.Org)
}

// CreateTeam creates a team in an organisation.
func (s *Store) CreateTeam(ctx context.Context, org int64, name string, by audit.Event) (
	Team, error) {
	if err := checkName("team", name); err != nil {
		return Team{}, invalid("create team", err)
	}
	return teams.create(ctx, s, InOrg(org), s.limits.teams, by, func(at any) *statement {
		return stmt(`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (?, ?, ?, ?)`,
			org, name, at, at)
	}, func(t Team) string { return t.object(t.Name) })
}

// Team returns a team, of an organisation or [Anywhere].
func (s *Store) Team(ctx context.Context, in Scope, id int64) (Team, error) {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return Team{}, invalid("read team", err)
	}
	return teams.get(ctx, s, in, id)
}

// Teams returns a page of the teams of an organisation or [Anywhere], in the order of their ids,
// and whether there are more.
func (s *Store) Teams(ctx context.Context, in Scope, page Page[int64]) ([]Team, bool, error) {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return nil, false, invalid("list teams", err)
	}
	return teams.list(ctx, s, in, page)
}

// RenameTeam renames a team. It fails with [ErrConflict] if the team has another version.
func (s *Store) RenameTeam(ctx context.Context, in Scope, id, version int64, name string,
	by audit.Event) (Team, error) {
	if err := first(in.one("team", anywhere, inOrg), checkVersion(version, 1),
		checkName("team", name)); err != nil {
		return Team{}, invalid("update team", err)
	}
	return teams.modify(ctx, s, in, id, version, by,
		func(q *statement) { q.and(`, name = ?`, name) },
		func(t, before Team) string { return t.object(before.Name) })
}

// DeleteTeam deletes a team with its members and catalogs. It fails with [ErrConflict] if the
// team has another version, unless version is 0.
func (s *Store) DeleteTeam(ctx context.Context, in Scope, id, version int64,
	by audit.Event) error {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return invalid("delete team", err)
	}
	return teams.remove(ctx, s, in, id, version, by,
		func(t Team) string { return t.object(t.Name) }, []countable{
			{"member", stmt(`SELECT count(*) FROM memberships WHERE team_id = ?`, id)},
			{"catalog", stmt(`SELECT count(*) FROM tool_catalogs WHERE team_id = ?`, id)}})
}

// ScopesNamed returns the organisations of some names, and the teams of some names within these
// organisations. A team is named by its organisation and its own name. Names without an
// organisation or a team are not in the maps.
func (s *Store) ScopesNamed(ctx context.Context, orgs []string, teams [][2]string) (
	map[string]Scope, map[[2]string]Scope, error) {
	if len(orgs) == 0 {
		return nil, nil, nil // teams are in organisations
	}
	type named struct {
		id, org int64
		name    string
	}
	q := anyOf(stmt(`SELECT id, name FROM organizations WHERE name`), keepables(orgs))
	found, err := every(ctx, s, s.prepared, "find organizations", q.and(`ORDER BY id`),
		func(row scanner) (o named, err error) { return o, row.Scan(&o.id, &o.name) })
	if err != nil {
		return nil, nil, err
	}
	ids, names, inOrgs := []int64{}, map[int64]string{}, map[string]Scope{}
	for _, o := range found {
		ids, names[o.id], inOrgs[o.name] = append(ids, o.id), o.name, InOrg(o.id)
	}
	if len(ids) == 0 || len(teams) == 0 {
		return inOrgs, nil, nil
	}
	own, wanted := make([]string, len(teams)), map[[2]string]bool{}
	for i, team := range teams {
		own[i], wanted[team] = team[1], true
	}
	q = anyOf(stmt(`SELECT id, org_id, name FROM teams WHERE org_id`), ids).and(`AND name`)
	found, err = every(ctx, s, s.prepared, "find teams", anyOf(q, keepables(own)).and(`ORDER BY id`),
		func(row scanner) (t named, err error) { return t, row.Scan(&t.id, &t.org, &t.name) })
	if err != nil {
		return nil, nil, err
	}
	inTeams := map[[2]string]Scope{}
	for _, t := range found {
		if name := ([2]string{names[t.org], t.name}); wanted[name] {
			inTeams[name] = InTeam(t.id)
		}
	}
	return inOrgs, inTeams, nil
}

// Membership is a user's standing in an organisation or a team. A member of a team is not thereby
// a member of its organisation.
type Membership struct {
	ID               int64
	Scope            Scope
	Issuer, Subject  string // as [access.Principal] has them
	Standing         access.Standing
	Version          int64 // 1, and one more with each update
	Created, Updated time.Time
}

var members = table[Membership]{storechange.Member, "member", "memberships",
	`id, org_id, team_id, issuer, subject, standing, version, created_at, updated_at`,
	func(row scanner) (m Membership, err error) {
		var org, team sql.Null[int64]
		err = row.Scan(&m.ID, &org, &team, &m.Issuer, &m.Subject, &m.Standing, &m.Version,
			moment{&m.Created}, moment{&m.Updated})
		m.Scope = scopeOf(org, team)
		return m, err
	}, Scope.within}

// object names it for the audit, with the standing that it had before, if there was another.
func (m Membership) object(before access.Standing) string {
	standing := string(m.Standing)
	if before != m.Standing {
		standing = string(before) + " → " + standing
	}
	return fmt.Sprintf("member %d of %s: %s of issuer %s as %s", m.ID, m.Scope, quoted(m.Subject),
		quoted(m.Issuer), standing)
}

// AddMember adds a user to an organisation or a team.
func (s *Store) AddMember(ctx context.Context, in Scope, issuer, subject string,
	standing access.Standing, by audit.Event) (Membership, error) {
	if err := first(in.one("member", inOrg, inTeam), checkIdentity(issuer, subject),
		checkStanding(standing)); err != nil {
		return Membership{}, invalid("create member", err)
	}
	org, team := in.columns()
	return members.create(ctx, s, in, s.limits.members, by, func(at any) *statement {
		return stmt(`INSERT INTO memberships (org_id, team_id, issuer, subject, standing, `+
			`created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			org, team, issuer, subject, string(standing), at, at)
	}, func(m Membership) string { return m.object(m.Standing) })
}

// Member returns a membership of an organisation, of a team or [Anywhere].
func (s *Store) Member(ctx context.Context, in Scope, id int64) (Membership, error) {
	if err := in.one("member", anywhere, inOrg, inTeam); err != nil {
		return Membership{}, invalid("read member", err)
	}
	return members.get(ctx, s, in, id)
}

// Members returns a page of the memberships of an organisation, of a team or [Anywhere], in the
// order of their ids, and whether there are more.
func (s *Store) Members(ctx context.Context, in Scope, page Page[int64]) (
	[]Membership, bool, error) {
	if err := in.one("member", anywhere, inOrg, inTeam); err != nil {
		return nil, false, invalid("list members", err)
	}
	return members.list(ctx, s, in, page)
}

// UpdateMember changes the standing of a member. It fails with [ErrConflict] if the membership
// has another version.
func (s *Store) UpdateMember(ctx context.Context, in Scope, id, version int64,
	standing access.Standing, by audit.Event) (Membership, error) {
	if err := first(in.one("member", anywhere, inOrg, inTeam), checkVersion(version, 1),
		checkStanding(standing)); err != nil {
		return Membership{}, invalid("update member", err)
	}
	return members.modify(ctx, s, in, id, version, by,
		func(q *statement) { q.and(`, standing = ?`, string(standing)) },
		func(m, before Membership) string { return m.object(before.Standing) })
}

// RemoveMember deletes a membership. It fails with [ErrConflict] if the membership has another
// version, unless version is 0.
func (s *Store) RemoveMember(ctx context.Context, in Scope, id, version int64,
	by audit.Event) error {
	if err := in.one("member", anywhere, inOrg, inTeam); err != nil {
		return invalid("delete member", err)
	}
	return members.remove(ctx, s, in, id, version, by,
		func(m Membership) string { return m.object(m.Standing) }, nil)
}

// Memberships returns all memberships of a user, in the order of their ids.
func (s *Store) Memberships(ctx context.Context, issuer, subject string) ([]Membership, error) {
	q := stmt(`SELECT `+members.columns+` FROM memberships WHERE issuer = ? AND subject = ? `+
		`ORDER BY id`, keepable(issuer), keepable(subject))
	return every(ctx, s, s.prepared, "list memberships", q, members.read)
}
