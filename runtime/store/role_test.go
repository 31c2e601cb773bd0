package store_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// grants are the statements that an error ends with.
func grants(t *testing.T, err error) string {
	t.Helper()
	_, statements, found := strings.Cut(err.Error(), "GRANT USAGE")
	if !found || strings.Contains(err.Error(), "\n") {
		t.Fatalf("%v", err)
	}
	return "GRANT USAGE" + statements
}

// TestRoleThatLacksARightIsReportedAtTheStartAndTheCureIsRight follows the error to the letter.
func TestRoleThatLacksARightIsReportedAtTheStartAndTheCureIsRight(t *testing.T) {
	db := testdb.PostgreSQL(t)
	role, _ := db.Account(t)
	must(db.Exec("CREATE SCHEMA s1"))
	owner, reader := postgresURL(db, db.User)+"&search_path=s1", postgresURL(db, role)+"&search_path=s1"
	if err := store.Migrate(t.Context(), owner, newest); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), reader)
	if err == nil || !strings.Contains(err.Error(), "search_path (s1)") || !strings.Contains(err.Error(), "or GRANT USAGE ON SCHEMA s1 TO "+role) {
		t.Fatalf("%v, %v", s, err)
	}
	must(db.Exec("GRANT USAGE ON SCHEMA s1 TO " + role + "; GRANT SELECT ON ALL TABLES IN SCHEMA s1 TO " + role))
	s, err = store.Open(t.Context(), reader)
	if err == nil || !strings.Contains(err.Error(),
		fmt.Sprintf("the role %q has no INSERT on organizations, UPDATE on organizations, DELETE on "+
			"organizations and 35 more: as the owner of the tables, run", role)) {
		t.Fatalf("%v, %v", s, err)
	}
	cure := grants(t, err)
	must(db.Exec(cure))
	s = open(t, reader)
	org := must(s.CreateOrg(t.Context(), "acme", ada))
	if err := s.DeleteOrg(t.Context(), org.ID, 0, ada); err != nil {
		t.Fatal(err)
	}
	// One that is taken away while it serves.
	must(db.Exec("REVOKE INSERT ON s1.audit_events FROM " + role))
	_, err = s.CreateOrg(t.Context(), "acme", ada)
	if err == nil || !strings.Contains(err.Error(), "permission denied for table audit_events") || grants(t, err) != cure {
		t.Fatal(err)
	}
	if other, err := store.Open(t.Context(), reader); err == nil ||
		!strings.Contains(err.Error(), "has no INSERT on audit_events: as the owner") {
		t.Fatalf("%v, %v", other, err)
	}
	must(db.Exec(cure))
	must(s.CreateOrg(t.Context(), "acme", ada))
	// Without an index, which it may not make, it only searches slowly.
	must(db.Exec("DROP INDEX s1.audit_events_by_tool"))
	must2(open(t, reader).SearchEvents(t.Context(), store.EventFilter{Tool: "x"}, store.EventPage{}))
}

// TestRoleThatServesAloneCannotTouchTheTrail has the rights that an error names, and those that the
// document gives: they are the same.
func TestRoleThatServesAloneCannotTouchTheTrail(t *testing.T) {
	db := testdb.PostgreSQL(t)
	if err := store.Migrate(t.Context(), postgresURL(db, db.User), newest); err != nil {
		t.Fatal(err)
	}
	role, serving := db.Account(t)
	_, err := store.Open(t.Context(), postgresURL(db, role))
	if err == nil {
		t.Fatal("opened")
	}
	_, documented, _ := strings.Cut(string(must(os.ReadFile("../../docs/howto/postgresql.md"))),
		"GRANT USAGE ON SCHEMA mcpgen TO mcp;\n")
	documented, _, found := strings.Cut("GRANT USAGE ON SCHEMA public TO mcp;\n"+documented, "```")
	plain := strings.NewReplacer(`"public".`, "", `"`, "", role, "mcp").Replace(grants(t, err))
	if documented = strings.Join(strings.Fields(documented), " "); !found || documented != plain {
		t.Errorf("documented: %s\nand not: %s", documented, plain)
	}
	must(db.Exec(strings.ReplaceAll(documented, " mcp;", " "+role+";")))
	s := open(t, postgresURL(db, role))
	must(s.CreateOrg(t.Context(), "acme", ada))
	asked := must(s.RequestGrant(t.Context(), grant.Request{Permission: readA, Client: "x"}, 1, ada))
	if _, _, err := s.ApproveRequest(t.Context(), asked.ID, grant.Verdict{}, ada); err != nil {
		t.Error(err)
	}
	must(s.RevokeGrants(t.Context(), grant.Revocation{Client: "x", Type: "file.read"}, ada))
	for statement, want := range map[string]string{
		"UPDATE audit_events SET event = '{}'": "permission denied", "DELETE FROM audit_events": "permission denied", "TRUNCATE audit_events": "permission denied",
		"ALTER TABLE audit_events DISABLE TRIGGER USER": "must be owner", "DROP TABLE audit_events": "must be owner", "DROP TRIGGER audit_events_stay ON audit_events": "must be owner",
		// whatever it says
		"CREATE OR REPLACE FUNCTION audit_events_stay() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$": "",
	} {
		if _, err := serving.Exec(statement); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if got := trail(t, s); len(got) != 4 {
		t.Errorf("%+v", got)
	}
}

// TestRoleThatPrunesNeedsTheRightsThatThePageAdds has the statements of docs/howto/postgresql.md.
func TestRoleThatPrunesNeedsTheRightsThatThePageAdds(t *testing.T) {
	db := testdb.PostgreSQL(t)
	owner := open(t, postgresURL(db, db.User))
	old := audit.Event{Time: time.Now().Add(-3 * time.Hour), Type: audit.ToolCalled,
		Status: audit.Success}
	if err := owner.Audit().Record(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	role, _ := db.Account(t)
	page := string(must(os.ReadFile("../../docs/howto/postgresql.md")))
	give := func(first string) {
		_, rest, found := strings.Cut(page, first)
		rights, _, closed := strings.Cut(rest, "```")
		if !found || !closed {
			t.Fatalf("the page has no %q", first)
		}
		statements := strings.Replace(first+rights, "SCHEMA mcpgen", "SCHEMA public", 1)
		must(db.Exec(regexp.MustCompile(` TO \w+;`).ReplaceAllString(statements, " TO "+role+";")))
	}
	give("GRANT USAGE ON SCHEMA mcpgen TO mcp;\n")
	s, before := open(t, postgresURL(db, role)), time.Now().Add(-2*time.Hour)
	_, err := s.PruneEvents(t.Context(), before, ada)
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a role that serves pruned: %v", err)
	}
	give("GRANT DELETE ON audit_events TO mcp_prune;\n")
	if n, err := s.PruneEvents(t.Context(), before, ada); n != 1 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
}

// TestEveryTableIsGranted has the tables of the newest version, but for the one that lets events be
// deleted: a role that serves cannot.
func TestEveryTableIsGranted(t *testing.T) {
	db := testdb.PostgreSQL(t)
	open(t, postgresURL(db, db.User))
	role, _ := db.Account(t)
	_, err := store.Open(t.Context(), postgresURL(db, role))
	if err == nil {
		t.Fatal("opened")
	}
	cure := grants(t, err)
	words := strings.FieldsFunc(cure, func(r rune) bool { return r == ' ' || r == ',' })
	tables := column(t, db.DB, `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`)
	for _, table := range tables {
		if granted := slices.Contains(words, `"public".`+table); granted == (table == "audit_cuts") {
			t.Errorf("%s: %v by %s", table, granted, cure)
		}
	}
	if len(tables) < 9 {
		t.Error(tables)
	}
}

// refusing is a server that speaks PostgreSQL without TLS and lets nobody in.
func refusing(t *testing.T, code, message string) (host string) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			server := pgproto3.NewBackend(conn, conn)
			first, err := server.ReceiveStartupMessage()
			if _, tls := first.(*pgproto3.SSLRequest); tls && err == nil {
				conn.Write([]byte("N"))
				_, err = server.ReceiveStartupMessage() // nothing comes where the client wants TLS
			}
			if err == nil {
				server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: message})
				server.Flush()
			}
			conn.Close()
		}
	}()
	return l.Addr().String()
}

func TestServerThatLetsNobodyInIsReportedInOneLineWithACureAndWithoutThePassword(t *testing.T) {
	down := must(net.Listen("tcp", "127.0.0.1:0"))
	nobody := down.Addr().String()
	down.Close()
	wrong := refusing(t, "28P01", `password authentication failed for user "ada"`)
	for _, tt := range []struct {
		host, options string
		want          []string
	}{
		{nobody, "", []string{"connection refused",
			"check that the server is running and reachable; host and port are from the URL, or from " +
				"PGHOST and PGPORT"}},
		{nobody, "?sslmode=disable",
			[]string{"connection refused", "check that the server is running and reachable; host and " +
				"port are from the URL, or from PGHOST and PGPORT"}},
		{wrong, "", []string{"password authentication failed", "PGPASSWORD or ~/.pgpass", "sslmode"}},
		{wrong, "?sslmode=require", []string{"server refused TLS connection", "sslmode=disable"}},
		{refusing(t, "3D000", `database "d" does not exist`), "", []string{"does not exist", "CREATE DATABASE"}},
		{refusing(t, "53300", "too many clients"), "",
			[]string{"too many clients", "the server returned this error"}},
	} {
		s, err := store.Open(t.Context(), "postgres://ada:hunter2@"+tt.host+"/d"+tt.options)
		if err == nil {
			t.Fatalf("%v", s)
		}
		text := err.Error()
		if strings.Contains(text, "hunter2") || strings.Contains(text, "\n") || !strings.HasPrefix(text, "store: cannot connect to PostgreSQL at "+tt.host+` as "ada", database "d": `) {
			t.Error(text)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
		if misleads := strings.Contains(text, "TLS"); misleads != (tt.options == "?sslmode=require") || strings.Count(text, tt.want[0]) != 1 {
			t.Error(text)
		}
	}
}

func TestErrorsSayTheirKindOrEndWithTheirCure(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "acme", ada))
		_, noName := s.CreateOrg(ctx, "", ada)
		_, twice := s.CreateOrg(ctx, "acme", ada)
		_, nowhere := s.CreateTeam(ctx, org.ID+7, "lab", ada)
		_, late := s.RenameOrg(ctx, org.ID, 3, "rival", ada)
		_, none := s.Org(ctx, org.ID+7)
		_, url := store.Open(ctx, "mysql:x")
		for _, tt := range []struct {
			got, kind error
			want      string
		}{
			{noName, store.ErrInvalid, "store: create organization: organization has no name"},
			{twice, store.ErrExists, "store: create organization: the organization exists already"},
			{nowhere, store.ErrNotFound, "store: create team: what the team is to be in: not found"},
			{late, store.ErrConflict, fmt.Sprintf(
				"store: update organization: organization %d is at version 1 and was changed since it was "+
					"read: read it again", org.ID)},
			{none, store.ErrNotFound, fmt.Sprintf("store: organization %d: not found", org.ID+7)},
			{url, store.ErrInvalid, "store: the URL starts with neither sqlite: nor postgres: — write sqlite:PATH for a file, or postgres://USER@HOST:PORT/DATABASE"},
		} {
			kinds := []error{store.ErrInvalid, store.ErrExists, store.ErrNotFound, store.ErrConflict}
			is := slices.DeleteFunc(kinds, func(kind error) bool { return !errors.Is(tt.got, kind) })
			if tt.got == nil || tt.got.Error() != tt.want || len(is) != 1 || is[0] != tt.kind {
				t.Errorf("%v, want %s", tt.got, tt.want)
			}
		}
	})
}
