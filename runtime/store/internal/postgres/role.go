package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
)

// needs are the privileges to serve. Identity columns need none on their sequences. Cascades and
// foreign keys use the owner's (PostgreSQL documentation, "GRANT").
var needs = []struct {
	rights []string
	tables []string
}{
	{[]string{"SELECT", "INSERT", "UPDATE", "DELETE"}, []string{"organizations", "teams",
		"memberships", "tool_catalogs", "tool_catalog_entries", "tool_switches", "grants",
		"grant_requests", "tasks", "boundaries", "seen_clients"}},
	{[]string{"SELECT", "INSERT", "UPDATE"}, []string{"resource_updates"}},
	{[]string{"SELECT", "INSERT"}, []string{"audit_events"}},
	{[]string{"SELECT", "UPDATE"}, []string{"store_revision", "resource_update_count"}},
	{[]string{"SELECT"}, []string{migrate.Table}},
}

// grants returns, in one line, the statements that let a role serve.
func grants(schema, role string) string {
	name := func(part string) string { return pgx.Identifier{part}.Sanitize() }
	all := []string{fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;", name(schema), name(role))}
	for _, need := range needs {
		tables := make([]string, len(need.tables))
		for i, table := range need.tables {
			tables[i] = name(schema) + "." + table
		}
		all = append(all, fmt.Sprintf("GRANT %s ON %s TO %s;", strings.Join(need.rights, ", "),
			strings.Join(tables, ", "), name(role)))
	}
	return strings.Join(all, " ")
}

// Serves returns an error if a role lacks a privilege to serve. It checks each privilege
// separately: for a list, PostgreSQL reports whether the role has any of them.
func Serves(ctx context.Context, db *sql.DB) error {
	var role, schema string
	if err := db.QueryRowContext(ctx,
		`SELECT current_user, coalesce(current_schema(), '')`).Scan(&role, &schema); err != nil {
		return err
	}
	var tables, rights []string
	for _, need := range needs {
		for _, table := range need.tables {
			for _, right := range need.rights {
				tables, rights = append(tables, table), append(rights, right)
			}
		}
	}
	var missing string
	if err := db.QueryRowContext(ctx, `
		SELECT coalesce(string_agg(need || ' on ' || name, ', ' ORDER BY i), '')
		FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS needs (name, need, i)
		WHERE NOT has_table_privilege(name, need)`, tables, rights).Scan(&missing); err != nil {
		return err
	}
	if missing == "" {
		return nil
	}
	lacking, more := strings.Split(missing, ", "), ""
	if n := len(lacking) - 3; n > 0 {
		lacking, more = lacking[:3], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("the role %q has no %s%s: as the owner of the tables, run %s", role,
		strings.Join(lacking, ", "), more, grants(schema, role))
}

// noSchema returns an error with search_path and the statements that create a schema for the role.
func noSchema(ctx context.Context, c driver.Conn) error {
	path, err := migrate.Text(ctx, c, `SELECT current_setting('search_path')`)
	if err != nil {
		return err
	}
	role, err := migrate.Text(ctx, c, `SELECT quote_ident(current_user)`)
	if err != nil {
		return err
	}
	schema := path
	if strings.ContainsAny(path, `,"`) {
		schema = "NAME"
	}
	return fmt.Errorf("search_path (%[1]s) has no existing schema that the role may use: create "+
		"it with CREATE SCHEMA %[2]s AUTHORIZATION %[3]s, or GRANT USAGE ON SCHEMA %[2]s TO %[3]s", path,
		schema, role)
}
