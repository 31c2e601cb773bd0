package main

import (
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testserver"
)

// engines make a database for the store, and return its URL.
var engines = testdb.Stores

func postgres(t testing.TB) string { return testdb.PostgreSQL(t).URL() }

// process is the example as a process of its own.
type process struct{ *testserver.Process }

// start runs the example with its flags, and the directory in a file of the test's.
func start(t testing.TB, args ...string) process {
	t.Helper()
	return process{testserver.Start(t, "TEAM_SERVE",
		append([]string{"-db", filepath.Join(t.TempDir(), "team.db")}, args...)...)}
}

// ask sends a request to the API as one of the users. The error is of the connection.
func ask(base, caller, method, path string, body any, header ...string) (status int,
	answer map[string]any, err error) {
	return testserver.Send(base, "demo-"+caller, method, path, body, header...)
}

// must is ask where an answer of that status is the only one that will do.
func (p process) must(t testing.TB, want int, caller, method, path string, body any,
	header ...string) map[string]any {
	t.Helper()
	return p.Must(t, want, "demo-"+caller, method, path, body, header...)
}

// fill makes a global catalog through the API and returns its id.
func (p process) fill(t testing.TB, name string, tools ...string) string {
	t.Helper()
	id := p.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs",
		map[string]any{"name": name})["id"].(string)
	for _, tool := range tools {
		p.must(t, 201, "ada", "POST", "/admin/mcp/tool_catalogs/"+id+"/entries",
			map[string]any{"tool_name": tool})
	}
	return id
}
