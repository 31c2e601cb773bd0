package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
)

// python is that of the system, for which Debian installs Django.
const python = "/usr/bin/python3"

// engines are the databases of a host.
var engines = map[string]func(testing.TB) *testdb.Database{
	"SQLite": testdb.SQLite, "PostgreSQL": testdb.PostgreSQL}

// host is a real Django; see testdata/host/host.py.
type host struct{ *process }

// userPermissions is the permissions of a user in Django.
type userPermissions struct {
	Name   string
	Active bool
	Has    []string
}

// newHost starts a Django on an empty database, with its tables. Without Django the test is
// skipped, and fails in CI.
func newHost(t testing.TB, db *testdb.Database) host {
	t.Helper()
	if db.File == "" {
		return startHost(t, map[string]string{"ENGINE": "django.db.backends.postgresql",
			"NAME": db.Name, "HOST": db.Host, "PORT": db.Port, "USER": db.User}, "migrate")
	}
	available(t)
	text, err := migrated()
	if err == nil {
		err = os.WriteFile(db.File, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hostOf(t, db.File)
}

// migrated returns a SQLite file with the tables. Django takes a second to make them.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "host.db")
	cmd := djangoHost(sqliteSettings(file), "migrate")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(file)
})

func sqliteSettings(file string) map[string]string {
	return map[string]string{"ENGINE": "django.db.backends.sqlite3", "NAME": file}
}

// hostOf starts a Django on a SQLite file that has the tables already.
func hostOf(t testing.TB, file string) host {
	t.Helper()
	return startHost(t, sqliteSettings(file), "as-it-is")
}

func startHost(t testing.TB, database map[string]string, layout string) host {
	t.Helper()
	available(t)
	return host{start(t, djangoHost(database, layout))}
}

// djangoHost is the command of testdata/host/host.py. It ends with its standard input.
func djangoHost(database map[string]string, layout string) *exec.Cmd {
	text, _ := json.Marshal(database) // a map of strings
	cmd := exec.Command(python, filepath.Join("testdata", "host", "host.py"), string(text), layout)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	return cmd
}

var imports = sync.OnceValues(func() ([]byte, error) {
	return exec.Command(python, "-c", "import django, psycopg2").CombinedOutput()
})

// available skips the test without Django.
func available(t testing.TB) {
	t.Helper()
	if out, err := imports(); err != nil {
		testdb.Unavailable(t, "no Django; `make setup` or `apt-get install python3-django "+
			"python3-psycopg2` installs it: %v\n%s", err, out)
	}
}

// send sends an order to Django.
func (h host) send(order ...any) {
	h.t.Helper()
	if got := h.ask(order); got != "null" {
		h.t.Fatalf("%v: %s", order, got)
	}
}

// permissions returns, for each user, which permissions of the server Django reports.
func (h host) permissions() []userPermissions {
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
	var all []userPermissions
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
