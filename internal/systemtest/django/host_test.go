package django_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
)

// python is the system's own: Debian's Django is there, and not below one that stands earlier in
// PATH.
const python = "/usr/bin/python3"

// engines are the databases that a host is tried on.
var engines = []struct {
	dialect dialect.Dialect
	open    func(testing.TB) *testdb.Database
}{
	{dialect.SQLite, testdb.SQLite},
	{dialect.PostgreSQL, testdb.PostgreSQL},
}

// host is what a real Django made and says.
type host struct {
	Users []struct {
		ID, Name          string
		Active, Superuser bool
		Permissions       []string
	}
	All []string
	// Code is what has_perm returns with a backend of the host's own, in the order of Users.
	Code struct {
		Refused string // the permission that the backend refuses
		Users   []struct {
			Granted, Refused bool
			ByTables         bool `json:"by_tables"`
		}
	}
}

// newHost lets a real Django fill a database with users of a model, and returns its answers. Where
// Django is not installed the test is skipped; in CI it fails.
func newHost(t *testing.T, db *testdb.Database, model string, seed, users int) host {
	t.Helper()
	cmd := hostCommand(t, db, model, strconv.Itoa(seed), strconv.Itoa(users))
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("host.py: %v\n%s", err, &problem)
	}
	var h host
	if err := json.Unmarshal(out, &h); err != nil {
		t.Fatal(err)
	}
	if len(h.Users) != users {
		t.Fatalf("host.py made %d users", len(h.Users))
	}
	return h
}

func hostCommand(t *testing.T, db *testdb.Database, arguments ...string) *exec.Cmd {
	t.Helper()
	imports := "import django"
	database := map[string]string{"ENGINE": "django.db.backends.sqlite3", "NAME": db.File}
	if db.File == "" {
		imports += ", psycopg2"
		database = map[string]string{"ENGINE": "django.db.backends.postgresql", "NAME": db.Name,
			"HOST": db.Host, "PORT": db.Port, "USER": db.User}
	}
	if out, err := exec.Command(python, "-c", imports).CombinedOutput(); err != nil {
		testdb.Unavailable(t, "no Django; `make setup` or `apt-get install python3-django "+
			"python3-psycopg2` installs it: %v\n%s", err, out)
	}
	settings, err := json.Marshal(database)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python,
		append([]string{"testdata/host/host.py", string(settings)}, arguments...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8")
	return cmd
}

func newSource(t *testing.T, db *testdb.Database, d dialect.Dialect,
	options django.Options) *django.Source {
	t.Helper()
	s, err := django.New(db.DB, d, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
