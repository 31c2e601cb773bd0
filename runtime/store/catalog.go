package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// Catalog is a named group of tools.
type Catalog struct {
	ID               int64
	Scope            Scope  // [Global], an organisation or a team. It never changes
	Name             string // unique in its scope
	Description      string
	Active           bool  // clients see active ones only
	Version          int64 // 1, and one more with each update. Entries do not change it
	Created, Updated time.Time
}

// CatalogPatch contains the new values of an update. A nil field stays as it is.
type CatalogPatch struct {
	Name, Description *string
	Active            *bool
}

var catalogs = table[Catalog]{storechange.Catalog, "catalog", "tool_catalogs",
	`id, name, description, org_id, team_id, is_active, version, created_at, updated_at`,
	func(row scanner) (c Catalog, err error) {
		var org, team sql.Null[int64]
		err = row.Scan(&c.ID, &c.Name, &c.Description, &org, &team, &c.Active, &c.Version,
			moment{&c.Created}, moment{&c.Updated})
		c.Scope = scopeOf(org, team)
		return c, err
	}, Scope.within}

// object describes the catalog for the audit, with its old name if that differs.
func (c Catalog) object(before string) string {
	place := " of " + c.Scope.String()
	if c.Scope == Global {
		place = ", global"
	}
	return fmt.Sprintf("catalog %d %s%s", c.ID, became(before, c.Name), place)
}

// differences describes for the audit the other changes of an update.
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
func (s *Store) CreateCatalog(ctx context.Context, in Scope, name, description string, active bool,
	by audit.Event) (Catalog, error) {
	if err := first(in.one("catalog", global, inOrg, inTeam), checkName("catalog", name),
		checkText("description", description, maxDescription)); err != nil {
		return Catalog{}, invalid("create catalog", err)
	}
	org, team := in.columns()
	return catalogs.create(ctx, s, in, s.limits.catalogsOf(in), by, func(at any) *statement {
		return stmt(`INSERT INTO tool_catalogs (name, description, org_id, team_id, is_active, `+
			`created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			name, description, org, team, active, at, at)
	}, func(c Catalog) string { return c.object(c.Name) })
}

// Catalog returns a catalog of a scope, active or not.
func (s *Store) Catalog(ctx context.Context, in Scope, id int64) (Catalog, error) {
	return catalogs.get(ctx, s, in, id)
}

// Catalogs returns a page of the catalogs of a scope, active or not, in the order of their ids,
// and whether there are more.
func (s *Store) Catalogs(ctx context.Context, in Scope, page Page[int64]) (
	[]Catalog, bool, error) {
	return catalogs.list(ctx, s, in, page)
}

// UpdateCatalog changes a catalog that is still at the version that was read.
func (s *Store) UpdateCatalog(ctx context.Context, in Scope, id, version int64, patch CatalogPatch,
	by audit.Event) (Catalog, error) {
	problem := checkVersion(version, 1)
	if patch.Name != nil {
		problem = first(problem, checkName("catalog", *patch.Name))
	}
	if patch.Description != nil {
		problem = first(problem, checkText("description", *patch.Description, maxDescription))
	}
	if problem != nil {
		return Catalog{}, invalid("update catalog", problem)
	}
	return catalogs.modify(ctx, s, in, id, version, by, func(q *statement) {
		if patch.Name != nil {
			q.and(`, name = ?`, *patch.Name)
		}
		if patch.Description != nil {
			q.and(`, description = ?`, *patch.Description)
		}
		if patch.Active != nil {
			q.and(`, is_active = ?`, *patch.Active)
		}
	}, func(c, before Catalog) string { return c.object(before.Name) + c.differences(before) })
}

// DeleteCatalog deletes a catalog with its entries. It fails with [ErrConflict] if the catalog
// has another version, unless version is 0.
func (s *Store) DeleteCatalog(ctx context.Context, in Scope, id, version int64,
	by audit.Event) error {
	return catalogs.remove(ctx, s, in, id, version, by,
		func(c Catalog) string { return c.object(c.Name) }, []countable{{"entry",
			stmt(`SELECT count(*) FROM tool_catalog_entries WHERE catalog_id = ?`, id)}})
}

// ActiveCatalogs returns the active catalogs of a name in any of some scopes. The order has no
// meaning: the caller decides which scope comes first. [Anywhere] is not allowed here.
func (s *Store) ActiveCatalogs(ctx context.Context, name string, among ...Scope) (
	[]Catalog, error) {
	if checkName("catalog", name) != nil {
		return nil, nil // no catalog has such a name
	}
	// One query with a part for each kind of scope, because each kind has an index.
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
		q.and(union+`SELECT `+catalogs.columns+` FROM tool_catalogs WHERE name = ? AND is_active = ?`,
			name, true)
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
	return every(ctx, s, s.prepared, "resolve catalog", q, catalogs.read)
}

// GlobalTools returns the tools of all active catalogs of [Global], by the ids of the catalogs.
func (s *Store) GlobalTools(ctx context.Context) (map[int64][]string, error) {
	tools := map[int64][]string{}
	_, err := every(ctx, s, s.prepared, "read the global catalogs", stmt(
		`SELECT c.id, COALESCE(e.tool_name, '') FROM tool_catalogs c LEFT JOIN tool_catalog_entries e `+
			`ON e.catalog_id = c.id WHERE c.org_id IS NULL AND c.team_id IS NULL AND c.is_active = ? `+
			`ORDER BY c.id, e.tool_name`, true),
		func(row scanner) (none struct{}, err error) {
			var id int64
			var tool string
			if err = row.Scan(&id, &tool); err != nil {
				return none, err
			}
			if tools[id] = append(tools[id], tool); tool == "" { // it has no entries
				tools[id] = tools[id][:0]
			}
			return none, nil
		})
	return only(tools, err)
}

// Entry is a tool's name in a catalog. The store does not check that the tool exists.
type Entry struct {
	ID      int64
	Catalog int64
	Tool    string // unique in its catalog
	Module  string // where the tool comes from, for people to read; may be empty
	Created time.Time
}

const entryColumns = `id, catalog_id, tool_name, module_id, created_at`

func readEntry(row scanner) (e Entry, err error) {
	return e, row.Scan(&e.ID, &e.Catalog, &e.Tool, &e.Module, moment{&e.Created})
}

// catalogFor reads a catalog of a scope within a transaction that changes its entries.
func (t *tx) catalogFor(in Scope, id int64) (Catalog, error) {
	c, err := catalogs.read(catalogs.found(catalogs.columns, in, id).row(t.ctx, t))
	if errors.Is(err, sql.ErrNoRows) {
		err = catalogs.missing(id)
	}
	return c, err
}

// AddEntry adds a tool to a catalog of a scope.
func (s *Store) AddEntry(ctx context.Context, in Scope, catalog int64, tool, module string,
	by audit.Event) (e Entry, err error) {
	if err := first(checkTool(tool), checkText("module", module, maxModule)); err != nil {
		return Entry{}, invalid("create entry", err)
	}
	err = s.change(ctx, by, "create entry", func(t *tx) (done, error) {
		if err := t.hold(catalogs.found(`id`, in, catalog)); err != nil {
			return done{}, err
		}
		c, err := t.catalogFor(in, catalog)
		if err != nil {
			return done{}, err
		}
		e, err = readEntry(stmt(`INSERT INTO tool_catalog_entries (catalog_id, tool_name, `+
			`module_id, created_at) VALUES (?, ?, ?, ?) RETURNING `+entryColumns,
			catalog, tool, module, t.engine.moment(t.now)).row(ctx, t))
		if err != nil {
			return done{}, t.refused("entry", err)
		}
		return c.entryDone(tool), t.bounded(fmt.Sprintf("catalog %d", catalog), "entries",
			t.limits.entries, stmt(`SELECT id FROM tool_catalog_entries WHERE catalog_id = ?`, catalog))
	})
	return only(e, err)
}

func (c Catalog) entryDone(tool string) done {
	return done{storechange.Entry, fmt.Sprintf("entry %s of catalog %d", tool, c.ID)}
}

// RemoveEntry removes a tool from a catalog of a scope.
func (s *Store) RemoveEntry(ctx context.Context, in Scope, catalog int64, tool string,
	by audit.Event) error {
	if err := checkTool(tool); err != nil {
		return invalid("delete entry", err)
	}
	return s.change(ctx, by, "delete entry", func(t *tx) (done, error) {
		c, err := t.catalogFor(in, catalog)
		if err != nil {
			return done{}, err
		}
		met, err := stmt(`DELETE FROM tool_catalog_entries WHERE catalog_id = ? AND tool_name = ?`,
			catalog, tool).exec(ctx, t)
		if err == nil && met == 0 {
			err = fmt.Errorf("entry %s of catalog %d: %w", tool, catalog, ErrNotFound)
		}
		return c.entryDone(tool), err
	})
}

// Entries returns a page of the entries of a catalog, in the order of the tools' names, and whether
// there are more.
func (s *Store) Entries(ctx context.Context, in Scope, catalog int64, page Page[string]) (
	[]Entry, bool, error) {
	if _, err := s.Catalog(ctx, in, catalog); err != nil {
		return nil, false, err
	}
	q := stmt(`SELECT `+entryColumns+` FROM tool_catalog_entries WHERE tool_name > ? `+
		`AND catalog_id IN (SELECT id FROM tool_catalogs WHERE id = ?`, keepable(page.After), catalog)
	return list(ctx, s, "entries", in.within(q).and(`) ORDER BY tool_name`), page, readEntry)
}

// Tools returns the names of all tools in a catalog, in order, and no names for a missing
// catalog.
func (s *Store) Tools(ctx context.Context, catalog int64) ([]string, error) {
	// One row, because reading a thousand rows takes several times as long. No name has a comma.
	// The engines sort by bytes as Go does, except in an aggregate.
	var names sql.Null[string]
	q := stmt(`SELECT string_agg(tool_name, ',') FROM tool_catalog_entries WHERE catalog_id = ?`,
		catalog)
	switch err := q.row(ctx, s.prepared).Scan(&names); {
	case err != nil:
		return nil, s.engine.explain(ctx, "list tools of a catalog", err)
	case !names.Valid:
		return nil, nil
	}
	tools := strings.Split(names.V, ",")
	slices.Sort(tools)
	return tools, nil
}

// EntryCounts returns the number of entries of each catalog, by id, with one query for a page of
// catalogs. A catalog without entries and a missing one are not in the map.
func (s *Store) EntryCounts(ctx context.Context, catalogs []int64) (map[int64]int, error) {
	counts := map[int64]int{}
	// engines limit the parameters of a statement
	for some := range slices.Chunk(catalogs, 1000) {
		type count struct {
			catalog int64
			entries int
		}
		q := stmt(`SELECT catalog_id, count(*) FROM tool_catalog_entries WHERE catalog_id`)
		q = anyOf(q, some).and(`GROUP BY catalog_id`)
		found, err := every(ctx, s, s.prepared, "count entries", q,
			func(row scanner) (c count, err error) { return c, row.Scan(&c.catalog, &c.entries) })
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			counts[c.catalog] = c.entries
		}
	}
	return counts, nil
}

// Switch contains whether a tool is switched off. A tool without a switch is on.
type Switch struct {
	Tool    string
	Off     bool
	Updated time.Time // of the last call of SwitchTool
}

// SwitchTool switches a tool off, or on again. The store does not check that the tool exists. A
// repeated call is recorded too.
func (s *Store) SwitchTool(ctx context.Context, name string, off bool, by audit.Event) error {
	if err := checkTool(name); err != nil {
		return invalid("switch tool", err)
	}
	action := "switch tool on"
	if off {
		action = "switch tool off"
	}
	return s.change(ctx, by, action, func(t *tx) (done, error) {
		_, err := stmt(`INSERT INTO tool_switches (name, is_off, updated_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET is_off = excluded.is_off, updated_at = excluded.updated_at`,
			name, off, t.engine.moment(t.now)).exec(ctx, t)
		return done{storechange.Tool, "tool " + name}, err
	})
}

// ToolsOff returns the names of the tools that are switched off, in order.
func (s *Store) ToolsOff(ctx context.Context) ([]string, error) {
	return every(ctx, s, s.prepared, "list tools that are off",
		stmt(`SELECT name FROM tool_switches WHERE is_off = ? ORDER BY name`, true), readName)
}

// Switches returns a page of the switches, of tools that are off or on again, in the order of the
// tools' names, and whether there are more.
func (s *Store) Switches(ctx context.Context, page Page[string]) ([]Switch, bool, error) {
	q := stmt(`SELECT name, is_off, updated_at FROM tool_switches WHERE name > ? ORDER BY name`,
		keepable(page.After))
	return list(ctx, s, "tool switches", q, page, func(row scanner) (w Switch, err error) {
		return w, row.Scan(&w.Tool, &w.Off, moment{&w.Updated})
	})
}
