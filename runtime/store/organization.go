package store

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Org is an organisation, a tenant, with its own teams, members and catalogs.
type Org struct {
	ID               int64
	Name             string // unique
	Version          int64  // 1, and one more with each update
	Created, Updated time.Time
}

const orgColumns = `id, name, version, created_at, updated_at`

func readOrg(row scanner) (o Org, err error) {
	return o, row.Scan(&o.ID, &o.Name, &o.Version, moment{&o.Created}, moment{&o.Updated})
}

// object names it for the audit.
func (o Org) object() string { return fmt.Sprintf("organization %d %s", o.ID, quoted(o.Name)) }

func (o Org) done(object string) done { return done{ChangedOrg, object} }

// CreateOrg creates an organisation. by names the caller, as for every change: its Issuer,
// Principal, Client, Role, RequestID and Arguments are recorded with the change. The store fills
// in the other fields.
func (s *Store) CreateOrg(ctx context.Context, name string, by audit.Event) (o Org, err error) {
	if err := checkName("organization", name); err != nil {
		return Org{}, invalid("create organization", err)
	}
	err = s.change(ctx, by, "create organization", func(t *tx) (_ done, err error) {
		at := t.engine.moment(t.now)
		o, err = readOrg(say(`INSERT INTO organizations (name, created_at, updated_at) VALUES (?, ?, ?) RETURNING `+orgColumns, name, at, at).row(ctx, t))
		if err != nil {
			return done{}, t.refused("organization", err)
		}
		return o.done(o.object()), nil
	})
	return only(o, err)
}

// Org returns an organisation.
func (s *Store) Org(ctx context.Context, id int64) (Org, error) {
	return get(ctx, s, "organization", id, say(`SELECT `+orgColumns+` FROM organizations WHERE id = ?`, id), readOrg)
}

// Orgs returns a page of the organisations, in the order of their ids, and whether there are more.
func (s *Store) Orgs(ctx context.Context, page Page[int64]) ([]Org, bool, error) {
	return list(ctx, s, "organizations", say(`SELECT `+orgColumns+` FROM organizations WHERE id > ? ORDER BY id`, page.After), page, readOrg)
}

// RenameOrg renames an organisation. It fails with [ErrConflict] if it has another version.
func (s *Store) RenameOrg(ctx context.Context, id, version int64, name string, by audit.Event) (o Org, err error) {
	if err := first(checkVersion(version, 1), checkName("organization", name)); err != nil {
		return Org{}, invalid("update organization", err)
	}
	err = s.change(ctx, by, "update organization", func(t *tx) (_ done, err error) {
		before, err := was(t, say(`SELECT `+orgColumns+` FROM organizations WHERE id = ?`, id), version, readOrg)
		if err != nil {
			return done{}, err
		}
		q := say(`UPDATE organizations SET name = ?, version = version + 1, updated_at = ? WHERE id = ?`, name, t.engine.moment(t.now), id)
		o, err = readOrg(versioned(q, version).and(`RETURNING `+orgColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "organization", id, say(`SELECT version FROM organizations WHERE id = ?`, id))
		}
		return o.done(fmt.Sprintf("organization %d %s", id, became(before.Name, o.Name))), nil
	})
	return only(o, err)
}

// DeleteOrg deletes an organisation with its teams, members and catalogs. It fails with
// [ErrConflict] if it has another version, unless version is 0.
func (s *Store) DeleteOrg(ctx context.Context, id, version int64, by audit.Event) error {
	if err := checkVersion(version, 0); err != nil {
		return invalid("delete organization", err)
	}
	return s.change(ctx, by, "delete organization", func(t *tx) (done, error) {
		if err := t.hold(say(`SELECT id FROM organizations WHERE id = ?`, id), say(`SELECT id FROM teams WHERE org_id = ? ORDER BY id`, id)); err != nil {
			return done{}, err
		}
		with, err := t.count(
			countable{"team", say(`SELECT count(*) FROM teams WHERE org_id = ?`, id)},
			countable{"member", say(`SELECT (SELECT count(*) FROM memberships WHERE org_id = ?) + (SELECT count(*) FROM memberships WHERE team_id IN (SELECT id FROM teams WHERE org_id = ?))`, id, id)},
			countable{"catalog", say(`SELECT (SELECT count(*) FROM tool_catalogs WHERE org_id = ?) + (SELECT count(*) FROM tool_catalogs WHERE team_id IN (SELECT id FROM teams WHERE org_id = ?))`, id, id)})
		if err != nil {
			return done{}, err
		}
		o, err := readOrg(versioned(say(`DELETE FROM organizations WHERE id = ?`, id), version).and(`RETURNING `+orgColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "organization", id, say(`SELECT version FROM organizations WHERE id = ?`, id))
		}
		return o.done(o.object() + with), nil
	})
}
