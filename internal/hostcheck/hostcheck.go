// Package hostcheck finds what an adapter needs of its host's database and does not find there:
// tables, columns and grants. It reads the catalog of the database, because SQLite takes an
// unknown column in double quotes for a string.
package hostcheck

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Table is a table or a view that an adapter reads. Cure is what a user does if it is missing;
// it may be empty.
type Table struct {
	Name, Cure string
	Columns    []Column
}

// Column is a column of a [Table]. Cure is as in Table.
type Column struct{ Name, Cure string }

// Columns are columns without a cure.
func Columns(names ...string) []Column {
	var columns []Column
	for _, name := range names {
		columns = append(columns, Column{Name: name})
	}
	return columns
}

// Catalog is the columns of some tables of a host. A missing table has no columns.
type Catalog struct {
	dialect dialect.Dialect
	tables  map[string][]attribute
}

// attribute is a column as the host has it.
type attribute struct {
	name          string
	readable, key bool
}

// statements list the columns of tables, whose names are a list in JSON: the table, the column,
// whether the account may read it, and whether it belongs to the primary key. PostgreSQL finds the
// table as it finds it for a query.
var statements = map[dialect.Dialect]string{
	dialect.SQLite: `SELECT t.value, c.name, TRUE, c.pk > 0
FROM json_each(?) t JOIN pragma_table_xinfo(t.value) c WHERE c.hidden <> 1`,
	dialect.PostgreSQL: `SELECT t.name, a.attname,
	has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
	EXISTS (SELECT 1 FROM pg_catalog.pg_index i
		WHERE i.indrelid = a.attrelid AND i.indisprimary AND a.attnum = ANY (i.indkey))
FROM json_array_elements_text(CAST(CAST($1 AS text) AS json)) t (name)
JOIN pg_catalog.pg_attribute a ON a.attrelid = to_regclass(quote_ident(t.name))
WHERE a.attnum > 0 AND NOT a.attisdropped`,
}

// Read reads the catalog for some tables, by one query.
func Read(
	ctx context.Context, db *sql.DB, d dialect.Dialect, tables ...Table,
) (Catalog, error) {
	c := Catalog{d, map[string][]attribute{}}
	if err := c.read(ctx, db, tables); err != nil {
		return Catalog{}, fmt.Errorf("the catalog of the database: %w", err)
	}
	return c, nil
}

func (c Catalog) read(ctx context.Context, db *sql.DB, tables []Table) error {
	names := map[string]bool{}
	for _, table := range tables {
		names[table.Name] = true
	}
	list, err := json.Marshal(slices.Sorted(maps.Keys(names)))
	if err != nil {
		return err
	}
	rows, err := db.QueryContext(ctx, statements[c.dialect], string(list))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var table string
		var a attribute
		if err := rows.Scan(&table, &a.name, &a.readable, &a.key); err != nil {
			return err
		}
		c.tables[table] = append(c.tables[table], a)
	}
	return rows.Err()
}

// find returns a column of a table. SQLite ignores the case of names, also of quoted ones.
func (c Catalog) find(table, column string) (attribute, bool) {
	i := slices.IndexFunc(c.tables[table], func(a attribute) bool {
		return a.name == column || c.dialect == dialect.SQLite && strings.EqualFold(a.name, column)
	})
	if i < 0 {
		return attribute{}, false
	}
	return c.tables[table][i], true
}

// Has reports whether a table has a column.
func (c Catalog) Has(table, column string) bool {
	_, ok := c.find(table, column)
	return ok
}

// Key returns the columns of the primary key of a table. A view has none.
func (c Catalog) Key(table string) []string {
	var key []string
	for _, a := range c.tables[table] {
		if a.key {
			key = append(key, a.name)
		}
	}
	return key
}

// IsKey reports whether a column belongs to the primary key of its table.
func (c Catalog) IsKey(table, column string) bool {
	a, _ := c.find(table, column)
	return a.key
}

// Missing names the tables and columns that the host lacks, with their cures.
func (c Catalog) Missing(tables ...Table) []string {
	var missing []string
	add := func(what, cure string) {
		if cure != "" {
			what += " (" + cure + ")" // behind a colon, redact would hide it as the value of auth_user
		}
		missing = append(missing, what)
	}
	for _, table := range tables {
		if len(c.tables[table.Name]) == 0 {
			where := ""
			if c.dialect == dialect.PostgreSQL {
				where = " in the schemas that the account may use"
			}
			add(fmt.Sprintf("no table %q%s", table.Name, where), table.Cure)
			continue
		}
		for _, column := range table.Columns {
			if !c.Has(table.Name, column.Name) {
				add(fmt.Sprintf("table %q has no column %q", table.Name, column.Name), column.Cure)
			}
		}
	}
	return missing
}

// Denied names the columns that the account may not read, with the grants that allow it.
func (c Catalog) Denied(tables ...Table) []string {
	var denied []string
	for _, table := range tables {
		var columns []string
		for _, column := range table.Columns {
			if a, ok := c.find(table.Name, column.Name); ok && !a.readable {
				columns = append(columns, Quote(a.name))
			}
		}
		if len(columns) > 0 {
			denied = append(denied, fmt.Sprintf(
				"the account may not read table %q: run GRANT SELECT (%s) ON %s TO the account",
				table.Name, strings.Join(columns, ", "), Quote(table.Name)))
		}
	}
	return denied
}

// Error returns a [capability.ConfigurationError] that lists problems, and nil for none. adapter is
// the package in whose name it is.
func Error(adapter string, problems ...string) error {
	if len(problems) == 0 {
		return nil
	}
	return capability.Misconfigured(fmt.Errorf("%s: the database of the host: %s",
		adapter, strings.Join(problems, "; ")))
}

// Run runs a statement for a user that does not exist, and discards its rows. Its error is a
// [capability.ConfigurationError] if the host refuses the statement itself, such as for the type
// of a column.
func Run(ctx context.Context, db *sql.DB, adapter, statement string) error {
	err := run(ctx, db, statement)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: the query for a user: %w", adapter, err)
	// SQLSTATE class 42 is "Syntax Error or Access Rule Violation" (PostgreSQL, appendix A).
	var state interface{ SQLState() string }
	if errors.As(err, &state) && strings.HasPrefix(state.SQLState(), "42") {
		return capability.Misconfigured(err)
	}
	return err
}

func run(ctx context.Context, db *sql.DB, statement string) error {
	rows, err := db.QueryContext(ctx, statement, "mcpgen-start-check")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

// Texts returns the only column of the rows of a statement.
func Texts(ctx context.Context, db *sql.DB, statement string) (all []string, err error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// CheckDriver returns an error for a driver of MySQL or MariaDB, which no adapter supports.
func CheckDriver(db *sql.DB) error {
	if name := fmt.Sprintf("%T", db.Driver()); strings.Contains(strings.ToLower(name), "mysql") {
		return fmt.Errorf("the driver %s is for MySQL, which is not supported: "+
			"use a host on PostgreSQL or SQLite", name)
	}
	return nil
}

// Quote spells the name of a table or a column, whatever is in it.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
