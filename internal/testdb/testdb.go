// Package testdb gives tests databases of their own: SQLite in a file of the test's, and
// PostgreSQL in a private cluster that ends with the test binary. It also finds other programs that
// tests need, and says when one is missing.
//
// It is for tests alone. It links no drivers, so that the root module requires none: the test
// binary links "pgx" and "sqlite" by runtime/store or by internal/systemtest/drivers.
package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Database is an empty database that is the test's alone. It is closed and removed when the test
// ends.
type Database struct {
	*sql.DB
	Driver string // the name of its driver for sql.Open: "sqlite" or "pgx"
	DSN    string // for sql.Open, for further connections of the test's own

	// File is the file of an SQLite database, empty for PostgreSQL.
	File string
	// Host, Port, User and Name are where a PostgreSQL database is found, empty for SQLite. Host is
	// the directory of a socket; no password is required.
	Host, Port, User, Name string
}

// SQLite returns a database in a file below the test's own directory.
func SQLite(t testing.TB) *Database {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.db")
	source := url.URL{Scheme: "file", Opaque: url.PathEscape(file),
		RawQuery: "_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"}
	return open(t, &Database{Driver: "sqlite", DSN: source.String(), File: file})
}

// PostgreSQL returns a database of a cluster that the tests of one binary share. Making the cluster
// takes about two seconds, a database on it some milliseconds. The quick run skips the test, see
// [Full]. Where PostgreSQL is not installed the test ends as by [Unavailable].
func PostgreSQL(t testing.TB) *Database {
	t.Helper()
	Full(t, "PostgreSQL")
	return postgreSQL(t, "template1")
}

// postgreSQL returns a copy of a database.
func postgreSQL(t testing.TB, template string) *Database {
	t.Helper()
	c, err := shared()
	if err != nil {
		Unavailable(t, "no PostgreSQL: %v", err)
	}
	name, err := c.create(t.Context(), template)
	if err != nil {
		t.Fatal(err)
	}
	// Registered first and so run last: the database is dropped after the test's connections are
	// closed.
	t.Cleanup(func() {
		if err := c.drop(name); err != nil {
			t.Error(err)
		}
	})
	return open(t, &Database{Driver: "pgx", DSN: c.dsn(name), Host: c.dir, Port: port, User: user,
		Name: name})
}

func open(t testing.TB, d *Database) *Database {
	t.Helper()
	var err error
	if d.DB, err = sql.Open(d.Driver, d.DSN); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := d.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// Stores makes an empty database for runtime/store, by the name of its engine, and returns the
// store's URL of it.
var Stores = map[string]func(testing.TB) string{
	"sqlite": func(t testing.TB) string {
		return "sqlite:" +
			filepath.Join(t.TempDir(), "store.db")
	},
	"postgresql": func(t testing.TB) string {
		t.Helper()
		return PostgreSQL(t).URL()
	},
}

// Migrated makes databases as Stores does, which have the tables of a store already: copies of one
// database for each engine, which open has made. A copy takes a tenth of the time of the
// migrations.
func Migrated[S io.Closer](open func(ctx context.Context, url string) (S, error)) map[string]func(
	testing.TB) string {
	migrate := func(url string) error {
		s, err := open(context.Background(), url)
		if err != nil {
			return err
		}
		return s.Close()
	}
	file := sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "testdb")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		name := filepath.Join(dir, "store.db")
		if err := migrate("sqlite:" + name); err != nil {
			return nil, err
		}
		return os.ReadFile(name)
	})
	template := sync.OnceValues(func() (string, error) {
		c, err := shared()
		if err != nil {
			return "", err
		}
		name, err := c.create(context.Background(), "template1")
		if err != nil {
			return "", err
		}
		return name, migrate((&Database{Host: c.dir, Port: port, User: user, Name: name}).URL())
	})
	return map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string {
			t.Helper()
			content, err := file()
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(t.TempDir(), "store.db")
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return "sqlite:" + name
		},
		"postgresql": func(t testing.TB) string {
			t.Helper()
			Full(t, "PostgreSQL")
			if _, err := shared(); err != nil {
				Unavailable(t, "no PostgreSQL: %v", err)
			}
			name, err := template()
			if err != nil {
				t.Fatal(err)
			}
			return postgreSQL(t, name).URL()
		},
	}
}

// URL is the URL of a PostgreSQL database, as its owner.
func (d *Database) URL() string { return d.URLOf(d.User, d.Name) }

// URLOf is the URL of a database of the same cluster, as another role.
func (d *Database) URLOf(role, name string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=%s&sslmode=disable", role, name,
		url.QueryEscape(d.Host), d.Port)
}

// Full skips a test that needs more than Go in the quick run, which is go test -short, even if this
// machine has it.
func Full(t testing.TB, needs string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("a test with %s does not run with -short", needs)
	}
}

// Unavailable ends a test that needs what this machine does not have: it is skipped, and fails
// if CI=true, so that a test that never ran does not count as passed. The message names the cure.
func Unavailable(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
