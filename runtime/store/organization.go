package store

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Org is an organisation, a tenant: it has teams, members and catalogs of its own.
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

// CreateOrg makes an organisation. by says who asked, as for every change: its Issuer, Principal,
// Client, Role, RequestID and Arguments are recorded with the change, and the rest is filled in.
func (s *Store) CreateOrg(ctx context.Context, name string, by audit.Event) (o Org, err error) {
	if err := checkName("organization", name); err != nil {
		return Org{}, invalid("create organization", err)
	}
	err = s.change(ctx, by, "create organization", func(t *tx) (_ Change, err error) {
		at := t.engine.moment(t.now)
		o, err = readOrg(say(`INSERT INTO organizations (name, created_at, updated_at) VALUES (?, ?, ?) RETURNING `+orgColumns, name, at, at).row(ctx, t))
		if err != nil {
			return Change{}, t.refused("organization", err)
		}
		return Change{Kind: ChangedOrg, Org: o.ID}, nil
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

// RenameOrg renames an organisation that is still at the version that was read.
func (s *Store) RenameOrg(ctx context.Context, id, version int64, name string, by audit.Event) (o Org, err error) {
	if err := first(checkVersion(version, 1), checkName("organization", name)); err != nil {
		return Org{}, invalid("update organization", err)
	}
	err = s.change(ctx, by, "update organization", func(t *tx) (_ Change, err error) {
		q := say(`UPDATE organizations SET name = ?, version = version + 1, updated_at = ? WHERE id = ?`, name, t.engine.moment(t.now), id)
		o, err = readOrg(versioned(q, version).and(`RETURNING `+orgColumns).row(ctx, t))
		if err != nil {
			return Change{}, t.unmet(err, "organization", id, say(`SELECT version FROM organizations WHERE id = ?`, id))
		}
		return Change{Kind: ChangedOrg, Org: id}, nil
	})
	return only(o, err)
}

// DeleteOrg deletes an organisation with its teams, members and catalogs, if it is still at the
// version that was read, or at any where version is 0.
func (s *Store) DeleteOrg(ctx context.Context, id, version int64, by audit.Event) error {
	if err := checkVersion(version, 0); err != nil {
		return invalid("delete organization", err)
	}
	return s.change(ctx, by, "delete organization", func(t *tx) (Change, error) {
		q := versioned(say(`DELETE FROM organizations WHERE id = ?`, id), version).and(`RETURNING id`)
		if err := q.row(ctx, t).Scan(new(int64)); err != nil {
			return Change{}, t.unmet(err, "organization", id, say(`SELECT version FROM organizations WHERE id = ?`, id))
		}
		return Change{Kind: ChangedOrg, Org: id}, nil
	})
}
