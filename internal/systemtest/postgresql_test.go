package systemtest

import (
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestHowtoSetsUpPostgreSQL runs the scripts of docs/howto/postgresql.md with psql, as the roles
// that the page names, and opens the store as each of these.
func TestHowtoSetsUpPostgreSQL(t *testing.T) {
	db := testdb.PostgreSQL(t)
	run := func(role, script string) {
		t.Helper()
		cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", db.Host, "-p", db.Port,
			"-U", role, "-d", db.Name)
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s\n%s", role, err, out, script)
		}
	}
	open := func(role string) *store.Store {
		t.Helper()
		address := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + db.Name, RawQuery: url.
			Values{"host": {db.Host}, "port": {db.Port}, "search_path": {"mcpgen"}}.Encode()}
		s, err := store.Open(t.Context(), address.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	var scripts []string
	for _, b := range blocks(t) {
		if b.page == "postgresql" && b.language == "sql" {
			scripts = append(scripts, b.text)
		}
	}
	if len(scripts) != 3 {
		t.Fatalf("the page has %d scripts, not one for the roles, the rights and pruning", len(scripts))
	}

	// Other tables of the database, with a name that the store has as well.
	run(db.User, "CREATE TABLE public.organizations (id int); GRANT ALL ON SCHEMA public TO PUBLIC;")
	run(db.User, scripts[0])
	open("mcp_owner")
	run("mcp_owner", scripts[1])
	serving := open("mcp")
	event := audit.Event{Time: time.Now().Add(-2 * time.Hour), Type: audit.ToolCalled,
		Status: audit.Success}
	if err := serving.Audit().Record(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	if _, err := serving.CreateOrg(t.Context(), "acme", audit.Event{}); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	if _, err := serving.PruneEvents(t.Context(), before, audit.Event{}); err == nil {
		t.Error("the serving role pruned the trail")
	}

	run(db.User, "CREATE ROLE mcp_prune LOGIN")
	run("mcp_owner", strings.ReplaceAll(scripts[1], " mcp;", " mcp_prune;")+scripts[2])
	n, err := open("mcp_prune").PruneEvents(t.Context(), before, audit.Event{})
	if n != 1 || err != nil {
		t.Errorf("%d pruned, %v", n, err)
	}
}
