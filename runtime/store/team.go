package store

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Team is a team of an organisation, with its own members and catalogs.
type Team struct {
	ID               int64
	Org              int64
	Name             string // unique in its organisation
	Version          int64  // 1, and one more with each update
	Created, Updated time.Time
}

const teamColumns = `id, org_id, name, version, created_at, updated_at`

func readTeam(row scanner) (t Team, err error) {
	return t, row.Scan(&t.ID, &t.Org, &t.Name, &t.Version, moment{&t.Created}, moment{&t.Updated})
}

// object names it for the audit.
func (t Team) object() string {
	return fmt.Sprintf("team %d %s of organization %d", t.ID, quoted(t.Name), t.Org)
}

func (t Team) done(object string) done {
	return done{ChangedTeam, object}
}

// teamIn narrows a statement to the teams of a scope.
func teamIn(in Scope, q *statement) *statement {
	if in.kind == inOrg {
		return q.and(`AND org_id = ?`, in.id)
	}
	return q
}

// CreateTeam creates a team in an organisation.
func (s *Store) CreateTeam(ctx context.Context, org int64, name string, by audit.Event) (made Team, err error) {
	if err := checkName("team", name); err != nil {
		return Team{}, invalid("create team", err)
	}
	err = s.change(ctx, by, "create team", func(t *tx) (_ done, err error) {
		if err := t.owner(InOrg(org)); err != nil {
			return done{}, err
		}
		at := t.engine.moment(t.now)
		made, err = readTeam(say(`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING `+teamColumns, org, name, at, at).row(ctx, t))
		if err != nil {
			return done{}, t.refused("team", err)
		}
		if err := t.bounded(InOrg(org).String(), "teams", t.limits.teams, say(`SELECT id FROM teams WHERE org_id = ?`, org)); err != nil {
			return done{}, err
		}
		return made.done(made.object()), nil
	})
	return only(made, err)
}

// Team returns a team, of an organisation or [Anywhere].
func (s *Store) Team(ctx context.Context, in Scope, id int64) (Team, error) {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return Team{}, invalid("read team", err)
	}
	return get(ctx, s, "team", id, teamIn(in, say(`SELECT `+teamColumns+` FROM teams WHERE id = ?`, id)), readTeam)
}

// Teams returns a page of the teams of an organisation or [Anywhere], in the order of their ids,
// and whether there are more.
func (s *Store) Teams(ctx context.Context, in Scope, page Page[int64]) ([]Team, bool, error) {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return nil, false, invalid("list teams", err)
	}
	q := teamIn(in, say(`SELECT `+teamColumns+` FROM teams WHERE id > ?`, page.After)).and(`ORDER BY id`)
	return list(ctx, s, "teams", q, page, readTeam)
}

// RenameTeam renames a team. It fails with [ErrConflict] if the team has another version.
func (s *Store) RenameTeam(ctx context.Context, in Scope, id, version int64, name string, by audit.Event) (made Team, err error) {
	if err := first(in.one("team", anywhere, inOrg), checkVersion(version, 1), checkName("team", name)); err != nil {
		return Team{}, invalid("update team", err)
	}
	err = s.change(ctx, by, "update team", func(t *tx) (_ done, err error) {
		before, err := was(t, teamIn(in, say(`SELECT `+teamColumns+` FROM teams WHERE id = ?`, id)), version, readTeam)
		if err != nil {
			return done{}, err
		}
		q := say(`UPDATE teams SET name = ?, version = version + 1, updated_at = ? WHERE id = ?`, name, t.engine.moment(t.now), id)
		made, err = readTeam(versioned(teamIn(in, q), version).and(`RETURNING `+teamColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "team", id, teamIn(in, say(`SELECT version FROM teams WHERE id = ?`, id)))
		}
		return made.done(fmt.Sprintf("team %d %s of organization %d", id, became(before.Name, made.Name), made.Org)), nil
	})
	return only(made, err)
}

// DeleteTeam deletes a team with its members and catalogs. It fails with [ErrConflict] if the
// team has another version, unless version is 0.
func (s *Store) DeleteTeam(ctx context.Context, in Scope, id, version int64, by audit.Event) error {
	if err := first(in.one("team", anywhere, inOrg), checkVersion(version, 0)); err != nil {
		return invalid("delete team", err)
	}
	return s.change(ctx, by, "delete team", func(t *tx) (done, error) {
		if err := t.hold(teamIn(in, say(`SELECT id FROM teams WHERE id = ?`, id))); err != nil {
			return done{}, err
		}
		with, err := t.count(
			countable{"member", say(`SELECT count(*) FROM memberships WHERE team_id = ?`, id)},
			countable{"catalog", say(`SELECT count(*) FROM tool_catalogs WHERE team_id = ?`, id)})
		if err != nil {
			return done{}, err
		}
		gone, err := readTeam(versioned(teamIn(in, say(`DELETE FROM teams WHERE id = ?`, id)), version).and(`RETURNING `+teamColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "team", id, teamIn(in, say(`SELECT version FROM teams WHERE id = ?`, id)))
		}
		return gone.done(gone.object() + with), nil
	})
}
