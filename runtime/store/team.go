package store

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Team is a team of an organisation, with members and catalogs of its own.
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

// teamIn narrows a statement to the teams of a scope.
func teamIn(in Scope, q *statement) *statement {
	if in.kind == inOrg {
		return q.and(`AND org_id = ?`, in.id)
	}
	return q
}

// CreateTeam makes a team in an organisation.
func (s *Store) CreateTeam(ctx context.Context, org int64, name string, by audit.Event) (made Team, err error) {
	if err := checkName("team", name); err != nil {
		return Team{}, invalid("create team", err)
	}
	err = s.change(ctx, by, "create team", func(t *tx) (_ Change, err error) {
		at := t.engine.moment(t.now)
		made, err = readTeam(say(`INSERT INTO teams (org_id, name, created_at, updated_at) VALUES (?, ?, ?, ?) RETURNING `+teamColumns, org, name, at, at).row(ctx, t))
		if err != nil {
			return Change{}, t.refused("team", err)
		}
		return Change{Kind: ChangedTeam, Org: org, Team: made.ID}, nil
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

// Teams returns a page of the teams of an organisation or [Anywhere], in the order of their ids, and
// whether there are more.
func (s *Store) Teams(ctx context.Context, in Scope, page Page[int64]) ([]Team, bool, error) {
	if err := in.one("team", anywhere, inOrg); err != nil {
		return nil, false, invalid("list teams", err)
	}
	q := teamIn(in, say(`SELECT `+teamColumns+` FROM teams WHERE id > ?`, page.After)).and(`ORDER BY id`)
	return list(ctx, s, "teams", q, page, readTeam)
}

// RenameTeam renames a team that is still at the version that was read.
func (s *Store) RenameTeam(ctx context.Context, in Scope, id, version int64, name string, by audit.Event) (made Team, err error) {
	if err := first(in.one("team", anywhere, inOrg), checkVersion(version, 1), checkName("team", name)); err != nil {
		return Team{}, invalid("update team", err)
	}
	err = s.change(ctx, by, "update team", func(t *tx) (_ Change, err error) {
		q := say(`UPDATE teams SET name = ?, version = version + 1, updated_at = ? WHERE id = ?`, name, t.engine.moment(t.now), id)
		made, err = readTeam(versioned(teamIn(in, q), version).and(`RETURNING `+teamColumns).row(ctx, t))
		if err != nil {
			return Change{}, t.unmet(err, "team", id, teamIn(in, say(`SELECT version FROM teams WHERE id = ?`, id)))
		}
		return Change{Kind: ChangedTeam, Org: made.Org, Team: id}, nil
	})
	return only(made, err)
}

// DeleteTeam deletes a team with its members and catalogs, if it is still at the version that was
// read, or at any where version is 0.
func (s *Store) DeleteTeam(ctx context.Context, in Scope, id, version int64, by audit.Event) error {
	if err := first(in.one("team", anywhere, inOrg), checkVersion(version, 0)); err != nil {
		return invalid("delete team", err)
	}
	return s.change(ctx, by, "delete team", func(t *tx) (Change, error) {
		c := Change{Kind: ChangedTeam, Team: id}
		q := versioned(teamIn(in, say(`DELETE FROM teams WHERE id = ?`, id)), version).and(`RETURNING org_id`)
		if err := q.row(ctx, t).Scan(&c.Org); err != nil {
			return Change{}, t.unmet(err, "team", id, teamIn(in, say(`SELECT version FROM teams WHERE id = ?`, id)))
		}
		return c, nil
	})
}
