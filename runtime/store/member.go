package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

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

const memberColumns = `id, org_id, team_id, issuer, subject, standing, version, created_at, updated_at`

func readMember(row scanner) (m Membership, err error) {
	var org, team sql.Null[int64]
	err = row.Scan(&m.ID, &org, &team, &m.Issuer, &m.Subject, &m.Standing, &m.Version, moment{&m.Created}, moment{&m.Updated})
	m.Scope = scopeOf(org, team)
	return m, err
}

// object names it for the audit, with the standing that it had before, if there was another.
func (m Membership) object(before ...access.Standing) string {
	standing := string(m.Standing)
	if len(before) > 0 && before[0] != m.Standing {
		standing = string(before[0]) + " → " + standing
	}
	return fmt.Sprintf("member %d of %s: %s of issuer %s as %s", m.ID, m.Scope, quoted(m.Subject), quoted(m.Issuer), standing)
}

func (m Membership) done(object string) done {
	return done{ChangedMember, object}
}

// AddMember adds a user to an organisation or a team.
func (s *Store) AddMember(ctx context.Context, in Scope, issuer, subject string, standing access.Standing, by audit.Event) (m Membership, err error) {
	if err := first(in.one("member", inOrg, inTeam), checkIdentity(issuer, subject), checkStanding(standing)); err != nil {
		return Membership{}, invalid("create member", err)
	}
	err = s.change(ctx, by, "create member", func(t *tx) (_ done, err error) {
		if err := t.owner(in); err != nil {
			return done{}, err
		}
		org, team := in.columns()
		at := t.engine.moment(t.now)
		m, err = readMember(say(`INSERT INTO memberships (org_id, team_id, issuer, subject, standing, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING `+memberColumns,
			org, team, issuer, subject, string(standing), at, at).row(ctx, t))
		if err != nil {
			return done{}, t.refused("member", err)
		}
		if err := t.bounded(in.String(), "members", t.limits.members, in.within(say(`SELECT id FROM memberships WHERE TRUE`))); err != nil {
			return done{}, err
		}
		return m.done(m.object()), nil
	})
	return only(m, err)
}

// Member returns a membership of an organisation, of a team or [Anywhere].
func (s *Store) Member(ctx context.Context, in Scope, id int64) (Membership, error) {
	if err := in.one("member", anywhere, inOrg, inTeam); err != nil {
		return Membership{}, invalid("read member", err)
	}
	return get(ctx, s, "member", id, in.within(say(`SELECT `+memberColumns+` FROM memberships WHERE id = ?`, id)), readMember)
}

// Members returns a page of the memberships of an organisation, of a team or [Anywhere], in the
// order of their ids, and whether there are more.
func (s *Store) Members(ctx context.Context, in Scope, page Page[int64]) ([]Membership, bool, error) {
	if err := in.one("member", anywhere, inOrg, inTeam); err != nil {
		return nil, false, invalid("list members", err)
	}
	q := in.within(say(`SELECT `+memberColumns+` FROM memberships WHERE id > ?`, page.After)).and(`ORDER BY id`)
	return list(ctx, s, "members", q, page, readMember)
}

// UpdateMember changes the standing of a member. It fails with [ErrConflict] if the membership
// has another version.
func (s *Store) UpdateMember(ctx context.Context, in Scope, id, version int64, standing access.Standing, by audit.Event) (m Membership, err error) {
	if err := first(in.one("member", anywhere, inOrg, inTeam), checkVersion(version, 1), checkStanding(standing)); err != nil {
		return Membership{}, invalid("update member", err)
	}
	err = s.change(ctx, by, "update member", func(t *tx) (_ done, err error) {
		before, err := was(t, in.within(say(`SELECT `+memberColumns+` FROM memberships WHERE id = ?`, id)), version, readMember)
		if err != nil {
			return done{}, err
		}
		q := say(`UPDATE memberships SET standing = ?, version = version + 1, updated_at = ? WHERE id = ?`, string(standing), t.engine.moment(t.now), id)
		m, err = readMember(versioned(in.within(q), version).and(`RETURNING `+memberColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "member", id, in.within(say(`SELECT version FROM memberships WHERE id = ?`, id)))
		}
		return m.done(m.object(before.Standing)), nil
	})
	return only(m, err)
}

// RemoveMember deletes a membership. It fails with [ErrConflict] if the membership has another
// version, unless version is 0.
func (s *Store) RemoveMember(ctx context.Context, in Scope, id, version int64, by audit.Event) error {
	if err := first(in.one("member", anywhere, inOrg, inTeam), checkVersion(version, 0)); err != nil {
		return invalid("delete member", err)
	}
	return s.change(ctx, by, "delete member", func(t *tx) (done, error) {
		m, err := readMember(versioned(in.within(say(`DELETE FROM memberships WHERE id = ?`, id)), version).and(`RETURNING `+memberColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "member", id, in.within(say(`SELECT version FROM memberships WHERE id = ?`, id)))
		}
		return m.done(m.object()), nil
	})
}

// Memberships returns all memberships of a user, in the order of their ids.
func (s *Store) Memberships(ctx context.Context, issuer, subject string) ([]Membership, error) {
	found, err := all(ctx, s.asks, say(`SELECT `+memberColumns+` FROM memberships WHERE issuer = ? AND subject = ? ORDER BY id`, keepable(issuer), keepable(subject)), readMember)
	if err != nil {
		return nil, s.engine.explain(ctx, "list memberships", err)
	}
	return found, nil
}
