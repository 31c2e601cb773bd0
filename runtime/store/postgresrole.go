package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// postgresNeeds is what a role needs to serve. Identity columns ask for no right on their
// sequences, and a cascade or a foreign key for none but the owner's (PostgreSQL documentation,
// "GRANT").
var postgresNeeds = []struct {
	rights []string
	tables []string
}{
	{[]string{"SELECT", "INSERT", "UPDATE", "DELETE"}, []string{"organizations", "teams", "memberships", "tool_catalogs", "tool_catalog_entries", "tool_switches", "grants", "grant_requests"}},
	{[]string{"SELECT", "INSERT"}, []string{"audit_events"}},
	{[]string{"SELECT", "UPDATE"}, []string{"store_revision"}},
	{[]string{"SELECT"}, []string{versionTable}},
}

// postgresGrants are the statements that let a role serve, in one line.
func postgresGrants(schema, role string) string {
	name := func(part string) string { return pgx.Identifier{part}.Sanitize() }
	grants := []string{fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s;", name(schema), name(role))}
	for _, need := range postgresNeeds {
		tables := make([]string, len(need.tables))
		for i, table := range need.tables {
			tables[i] = name(schema) + "." + table
		}
		grants = append(grants, fmt.Sprintf("GRANT %s ON %s TO %s;", strings.Join(need.rights, ", "), strings.Join(tables, ", "), name(role)))
	}
	return strings.Join(grants, " ")
}

// postgresServes says what a role lacks for serving. It asks for each right by itself: asked for
// several at once, PostgreSQL says whether there is one of them.
func postgresServes(ctx context.Context, db *sql.DB) error {
	var role, schema string
	if err := db.QueryRowContext(ctx, `SELECT current_user, coalesce(current_schema(), '')`).Scan(&role, &schema); err != nil {
		return err
	}
	var tables, rights []string
	for _, need := range postgresNeeds {
		for _, table := range need.tables {
			for _, right := range need.rights {
				tables, rights = append(tables, table), append(rights, right)
			}
		}
	}
	lacking, err := all(ctx, db, say(`SELECT need || ' on ' || name FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS needs (name, need, i) WHERE NOT has_table_privilege(name, need) ORDER BY i`, tables, rights), readName)
	if err != nil {
		return err
	}
	if len(lacking) == 0 {
		return nil
	}
	more := ""
	if n := len(lacking) - 3; n > 0 {
		lacking, more = lacking[:3], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("the role %q has no %s%s: as the owner of the tables, run %s", role,
		strings.Join(lacking, ", "), more, postgresGrants(schema, role))
}

// postgresNoSchema says why there is no schema to work in, by search_path and what that means for
// the role.
func postgresNoSchema(ctx context.Context, c driver.Conn) error {
	path, err := text(ctx, c, `SELECT current_setting('search_path')`)
	if err != nil {
		return err
	}
	role, err := text(ctx, c, `SELECT quote_ident(current_user)`)
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

// unreached is why no connection could be made, in one line.
type unreached struct {
	text string
	error
}

func (e unreached) Error() string { return e.text }

func (e unreached) Unwrap() error { return e.error }

// postgresUnreached describes why no connection was made, and the cure. The driver tries each
// address of each host, with TLS and then without, unless sslmode forbids one of these. The text
// has each error once. Refusals of TLS count only if there is no other error, and a response of
// the server decides the cure. Errors of another kind are returned unchanged.
func postgresUnreached(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return err
	}
	const noTLS = "server refused TLS connection"
	var met []string
	for line := range strings.Lines(failed.Unwrap().Error()) {
		line = strings.TrimSpace(line)
		if !strings.HasSuffix(line, noTLS) && !strings.Contains(strings.Join(met, "\n"), line) {
			met = append(met, line)
		}
	}
	cure := "check that the server is running and reachable; host and port are from the URL, or " +
		"from PGHOST and PGPORT"
	var serverError *pgconn.PgError
	switch found := errors.As(err, &serverError); {
	case len(met) == 0:
		met, cure = []string{noTLS}, "set sslmode=disable in the URL if you trust the network, or "+
			"enable TLS on the server"
	// invalid_password, invalid_authorization_specification
	case found && (serverError.Code == "28P01" || serverError.Code == "28000"):
		cure = "put the role's password into PGPASSWORD or ~/.pgpass, and check the role, " +
			"pg_hba.conf and sslmode in the URL"
	case found && serverError.Code == "3D000": // invalid_catalog_name
		cure = "create it with CREATE DATABASE"
	case found:
		cure = "the server returned this error"
	}
	text := fmt.Sprintf("cannot connect to PostgreSQL at %s:%d as %q, database %q: %s; %s", failed.Config.Host, failed.Config.Port, failed.Config.User, failed.Config.Database, strings.Join(met, "; "), cure)
	return unreached{text, err}
}
