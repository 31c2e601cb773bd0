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
)

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

// entriesOf narrows a statement to the entries of a catalog, if that is in the scope.
func entriesOf(q *statement, in Scope, catalog int64) *statement {
	return in.within(q.and(`AND catalog_id IN (SELECT id FROM tool_catalogs WHERE id = ?`, catalog)).and(`)`)
}

// catalogFor reads a catalog of a scope within a transaction that changes its entries.
func (t *tx) catalogFor(in Scope, id int64) (Catalog, error) {
	c, err := readCatalog(in.within(say(`SELECT `+catalogColumns+` FROM tool_catalogs WHERE id = ?`, id)).row(t.ctx, t))
	if errors.Is(err, sql.ErrNoRows) {
		err = notFound("catalog", id)
	}
	return c, err
}

// AddEntry adds a tool to a catalog of a scope.
func (s *Store) AddEntry(ctx context.Context, in Scope, catalog int64, tool, module string, by audit.Event) (e Entry, err error) {
	if err := first(checkTool(tool), checkText("module", module, MaxModule)); err != nil {
		return Entry{}, invalid("create entry", err)
	}
	err = s.change(ctx, by, "create entry", func(t *tx) (done, error) {
		if err := t.hold(in.within(say(`SELECT id FROM tool_catalogs WHERE id = ?`, catalog))); err != nil {
			return done{}, err
		}
		c, err := t.catalogFor(in, catalog)
		if err != nil {
			return done{}, err
		}
		e, err = readEntry(say(`INSERT INTO tool_catalog_entries (catalog_id, tool_name, module_id, created_at) VALUES (?, ?, ?, ?) RETURNING `+entryColumns,
			catalog, tool, module, t.engine.moment(t.now)).row(ctx, t))
		if err != nil {
			return done{}, t.refused("entry", err)
		}
		if err := t.bounded(fmt.Sprintf("catalog %d", catalog), "entries", t.limits.entries, say(`SELECT id FROM tool_catalog_entries WHERE catalog_id = ?`, catalog)); err != nil {
			return done{}, err
		}
		return c.entryDone(tool), nil
	})
	return only(e, err)
}

func (c Catalog) entryDone(tool string) done {
	return done{ChangedEntry, fmt.Sprintf("entry %s of catalog %d", tool, c.ID)}
}

// RemoveEntry removes a tool from a catalog of a scope.
func (s *Store) RemoveEntry(ctx context.Context, in Scope, catalog int64, tool string, by audit.Event) error {
	if err := checkTool(tool); err != nil {
		return invalid("delete entry", err)
	}
	return s.change(ctx, by, "delete entry", func(t *tx) (done, error) {
		c, err := t.catalogFor(in, catalog)
		if err != nil {
			return done{}, err
		}
		met, err := say(`DELETE FROM tool_catalog_entries WHERE catalog_id = ? AND tool_name = ?`, catalog, tool).exec(ctx, t)
		if err == nil && met == 0 {
			err = fmt.Errorf("entry %s of catalog %d: %w", tool, catalog, ErrNotFound)
		}
		return c.entryDone(tool), err
	})
}

// Entries returns a page of the entries of a catalog, in the order of the tools' names, and whether
// there are more.
func (s *Store) Entries(ctx context.Context, in Scope, catalog int64, page Page[string]) ([]Entry, bool, error) {
	if _, err := s.Catalog(ctx, in, catalog); err != nil {
		return nil, false, err
	}
	q := entriesOf(say(`SELECT `+entryColumns+` FROM tool_catalog_entries WHERE tool_name > ?`, keepable(page.After)), in, catalog).and(`ORDER BY tool_name`)
	return list(ctx, s, "entries", q, page, readEntry)
}

// Tools returns the names of all tools in a catalog, in order, and no names for a missing
// catalog.
func (s *Store) Tools(ctx context.Context, catalog int64) ([]string, error) {
	// One row, since reading a thousand takes some times as long. No name has a comma in it, and the
	// engines sort by bytes as Go does, but for what an aggregate takes.
	var names sql.Null[string]
	q := say(`SELECT string_agg(tool_name, ',') FROM tool_catalog_entries WHERE catalog_id = ?`, catalog)
	switch err := q.row(ctx, s.asks).Scan(&names); {
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
	// engines bound how many parameters a statement has
	for some := range slices.Chunk(catalogs, 1000) {
		type count struct {
			catalog int64
			entries int
		}
		found, err := all(ctx, s.asks, anyOf(say(`SELECT catalog_id, count(*) FROM tool_catalog_entries WHERE catalog_id`), some).and(`GROUP BY catalog_id`), func(row scanner) (c count, err error) {
			return c, row.Scan(&c.catalog, &c.entries)
		})
		if err != nil {
			return nil, s.engine.explain(ctx, "count entries", err)
		}
		for _, c := range found {
			counts[c.catalog] = c.entries
		}
	}
	return counts, nil
}

func readName(row scanner) (name string, err error) { return name, row.Scan(&name) }
