package main

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// python is the system's own: Debian's Django is there, and not below one that stands earlier in PATH.
const python = "/usr/bin/python3"

// engines are the databases that a host is tried on.
var engines = map[string]func(testing.TB) *testdb.Database{"SQLite": testdb.SQLite, "PostgreSQL": testdb.PostgreSQL}

// host is a real Django; see testdata/host/host.py.
type host struct{ *process }

// answer is what Django says of one user.
type answer struct {
	Name   string
	Active bool
	Has    []string
}

// newHost starts a Django on an empty database, and migrates it. Without Django the test is skipped, and in
// CI it fails.
func newHost(t testing.TB, db *testdb.Database) host {
	t.Helper()
	settings := map[string]string{"ENGINE": "django.db.backends.sqlite3", "NAME": db.File}
	imports := "import django"
	if db.File == "" {
		settings = map[string]string{"ENGINE": "django.db.backends.postgresql", "NAME": db.Name, "HOST": db.Host, "PORT": db.Port, "USER": db.User}
		imports += ", psycopg2"
	}
	return startHost(t, imports, settings, "migrate")
}

// hostOf starts a Django on a SQLite file that has the tables already.
func hostOf(t testing.TB, file string) host {
	t.Helper()
	return startHost(t, "import django", map[string]string{"ENGINE": "django.db.backends.sqlite3", "NAME": file}, "as-it-is")
}

func startHost(t testing.TB, imports string, database map[string]string, layout string) host {
	t.Helper()
	if out, err := exec.Command(python, "-c", imports).CombinedOutput(); err != nil {
		testdb.Unavailable(t, "no Django; `make setup` or `apt-get install python3-django python3-psycopg2` installs it: %v\n%s", err, out)
	}
	text, err := json.Marshal(database)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, python, filepath.Join("testdata", "host", "host.py"), string(text), layout)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	return host{start(t, cmd)}
}

// tell has Django do something.
func (h host) tell(order ...any) {
	h.t.Helper()
	if got := h.ask(order); got != "null" {
		h.t.Fatalf("%v: %s", order, got)
	}
}

// answers are what Django says of each user and each permission of the server.
func (h host) answers() []answer {
	h.t.Helper()
	var permissions []string
	for _, parts := range []map[string]part{tools, prompts, resources} {
		for _, p := range parts {
			if p.permission != "" && !slices.Contains(permissions, p.permission) {
				permissions = append(permissions, p.permission)
			}
		}
	}
	slices.Sort(permissions)
	var all []answer
	if err := json.Unmarshal([]byte(h.ask([]any{"ask", permissions})), &all); err != nil {
		h.t.Fatal(err)
	}
	return all
}

// hostURL is how -django names a database.
func hostURL(db *testdb.Database) string {
	if db.File != "" {
		return "sqlite:" + db.File
	}
	q := url.Values{"host": {db.Host}, "port": {db.Port}, "user": {db.User}, "sslmode": {"disable"}}
	return "postgres:///" + db.Name + "?" + q.Encode()
}
