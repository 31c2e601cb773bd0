package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Catalog is a named group of tools.
type Catalog struct {
	ID               int64
	Scope            Scope  // [Global], an organisation or a team. It never changes
	Name             string // unique in its scope
	Description      string
	Active           bool  // clients know active ones only
	Version          int64 // 1, and one more with each update. Entries do not change it
	Created, Updated time.Time
}

// CatalogPatch contains the new values of an update. A nil field stays as it is.
type CatalogPatch struct {
	Name, Description *string
	Active            *bool
}

const catalogColumns = `id, name, description, org_id, team_id, is_active, version, created_at, updated_at`

func readCatalog(row scanner) (c Catalog, err error) {
	var org, team sql.Null[int64]
	err = row.Scan(&c.ID, &c.Name, &c.Description, &org, &team, &c.Active, &c.Version, moment{&c.Created}, moment{&c.Updated})
	c.Scope = scopeOf(org, team)
	return c, err
}

// object names it for the audit, with the name that it had before, if there was another.
func (c Catalog) object(before string) string {
	place := " of " + c.Scope.String()
	if c.Scope == Global {
		place = ", global"
	}
	return fmt.Sprintf("catalog %d %s%s", c.ID, became(before, c.Name), place)
}

// differences says for the audit what else an update has changed.
func (c Catalog) differences(before Catalog) (text string) {
	switch {
	case c.Active && !before.Active:
		text = ", made active"
	case !c.Active && before.Active:
		text = ", made not active"
	}
	if c.Description != before.Description {
		text += ", with a new description"
	}
	return text
}

// CreateCatalog creates a catalog without entries: [Global], in an organisation or in a team.
func (s *Store) CreateCatalog(ctx context.Context, in Scope, name, description string, active bool, by audit.Event) (c Catalog, err error) {
	if err := first(in.one("catalog", global, inOrg, inTeam), checkName("catalog", name), checkText("description", description, MaxDescription)); err != nil {
		return Catalog{}, invalid("create catalog", err)
	}
	err = s.change(ctx, by, "create catalog", func(t *tx) (_ done, err error) {
		if err := t.owner(in); err != nil {
			return done{}, err
		}
		org, team := in.columns()
		at := t.engine.moment(t.now)
		c, err = readCatalog(say(`INSERT INTO tool_catalogs (name, description, org_id, team_id, is_active, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING `+catalogColumns,
			name, description, org, team, active, at, at).row(ctx, t))
		if err != nil {
			return done{}, t.refused("catalog", err)
		}
		if err := t.bounded(in.String(), "catalogs", t.limits.catalogsOf(in), in.within(say(`SELECT id FROM tool_catalogs WHERE TRUE`))); err != nil {
			return done{}, err
		}
		return done{ChangedCatalog, c.object(c.Name)}, nil
	})
	return only(c, err)
}

// Catalog returns a catalog of a scope, active or not.
func (s *Store) Catalog(ctx context.Context, in Scope, id int64) (Catalog, error) {
	return get(ctx, s, "catalog", id, in.within(say(`SELECT `+catalogColumns+` FROM tool_catalogs WHERE id = ?`, id)), readCatalog)
}

// Catalogs returns a page of the catalogs of a scope, active or not, in the order of their ids,
// and whether there are more.
func (s *Store) Catalogs(ctx context.Context, in Scope, page Page[int64]) ([]Catalog, bool, error) {
	q := in.within(say(`SELECT `+catalogColumns+` FROM tool_catalogs WHERE id > ?`, page.After)).and(`ORDER BY id`)
	return list(ctx, s, "catalogs", q, page, readCatalog)
}

// UpdateCatalog changes a catalog that is still at the version that was read.
func (s *Store) UpdateCatalog(ctx context.Context, in Scope, id, version int64, patch CatalogPatch, by audit.Event) (c Catalog, err error) {
	problem := checkVersion(version, 1)
	if patch.Name != nil {
		problem = first(problem, checkName("catalog", *patch.Name))
	}
	if patch.Description != nil {
		problem = first(problem, checkText("description", *patch.Description, MaxDescription))
	}
	if problem != nil {
		return Catalog{}, invalid("update catalog", problem)
	}
	err = s.change(ctx, by, "update catalog", func(t *tx) (_ done, err error) {
		before, err := was(t, in.within(say(`SELECT `+catalogColumns+` FROM tool_catalogs WHERE id = ?`, id)), version, readCatalog)
		if err != nil {
			return done{}, err
		}
		q := say(`UPDATE tool_catalogs SET version = version + 1, updated_at = ?`, t.engine.moment(t.now))
		if patch.Name != nil {
			q.and(`, name = ?`, *patch.Name)
		}
		if patch.Description != nil {
			q.and(`, description = ?`, *patch.Description)
		}
		if patch.Active != nil {
			q.and(`, is_active = ?`, *patch.Active)
		}
		c, err = readCatalog(versioned(in.within(q.and(`WHERE id = ?`, id)), version).and(`RETURNING `+catalogColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "catalog", id, in.within(say(`SELECT version FROM tool_catalogs WHERE id = ?`, id)))
		}
		return done{ChangedCatalog, c.object(before.Name) + c.differences(before)}, nil
	})
	return only(c, err)
}

// DeleteCatalog deletes a catalog with its entries. It fails with [ErrConflict] if the catalog
// has another version, unless version is 0.
func (s *Store) DeleteCatalog(ctx context.Context, in Scope, id, version int64, by audit.Event) error {
	if err := checkVersion(version, 0); err != nil {
		return invalid("delete catalog", err)
	}
	return s.change(ctx, by, "delete catalog", func(t *tx) (done, error) {
		if err := t.hold(in.within(say(`SELECT id FROM tool_catalogs WHERE id = ?`, id))); err != nil {
			return done{}, err
		}
		with, err := t.count(countable{"entry", say(`SELECT count(*) FROM tool_catalog_entries WHERE catalog_id = ?`, id)})
		if err != nil {
			return done{}, err
		}
		c, err := readCatalog(versioned(in.within(say(`DELETE FROM tool_catalogs WHERE id = ?`, id)), version).and(`RETURNING `+catalogColumns).row(ctx, t))
		if err != nil {
			return done{}, t.unmet(err, "catalog", id, in.within(say(`SELECT version FROM tool_catalogs WHERE id = ?`, id)))
		}
		return done{ChangedCatalog, c.object(c.Name) + with}, nil
	})
}

// ActiveCatalogs returns the active catalogs of a name in any of some scopes. The order has no
// meaning: the caller decides which scope comes first. [Anywhere] is not allowed here.
func (s *Store) ActiveCatalogs(ctx context.Context, name string, among ...Scope) ([]Catalog, error) {
	if checkName("catalog", name) != nil {
		return nil, nil // there is none of such a name
	}
	// One question of up to three parts, one for each kind of scope: for each of which there is an
	// index.
	parts := map[scopeKind][]int64{}
	for _, in := range among {
		if err := in.one("catalog", global, inOrg, inTeam); err != nil {
			return nil, invalid("resolve catalog", err)
		}
		parts[in.kind] = append(parts[in.kind], in.id)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	q, union := new(statement), ``
	for _, kind := range []scopeKind{global, inOrg, inTeam} {
		ids := parts[kind]
		if len(ids) == 0 {
			continue
		}
		q.and(union+`SELECT `+catalogColumns+` FROM tool_catalogs WHERE name = ? AND is_active = ?`, name, true)
		switch kind {
		case global:
			q.and(`AND org_id IS NULL AND team_id IS NULL`)
		case inOrg:
			anyOf(q.and(`AND org_id`), ids)
		case inTeam:
			anyOf(q.and(`AND team_id`), ids)
		}
		union = `UNION ALL `
	}
	found, err := all(ctx, s.asks, q, readCatalog)
	if err != nil {
		return nil, s.engine.explain(ctx, "resolve catalog", err)
	}
	return found, nil
}
