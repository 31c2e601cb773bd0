package objectperm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

// batch is how many worlds one round of a property test tries: a thousand in the usual hundred
// rounds, of both hosts together.
const batch = 5

// TestCapabilitiesAreThoseOfTheHostInAnyWorld holds the source against the oracle for every user,
// action and model of random worlds.
func TestCapabilitiesAreThoseOfTheHostInAnyWorld(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			db := l.open(t, dialect.SQLite, testdb.SQLite)
			if _, err := db.Exec("PRAGMA synchronous = off"); err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(r *rapid.T) {
				for _, w := range rapid.SliceOfN(worlds, batch, batch).Draw(r, "worlds") {
					l.write(r, db, dialect.SQLite, w)
					l.agree(r, db, dialect.SQLite, w)
				}
			})
		})
	}
}

// TestCapabilitiesAreTheSameOnPostgreSQL does so for fixed worlds where NetBox and Nautobot live.
func TestCapabilitiesAreTheSameOnPostgreSQL(t *testing.T) {
	for _, l := range layouts {
		t.Run(l.name, func(t *testing.T) {
			db := l.open(t, dialect.PostgreSQL, testdb.PostgreSQL)
			users := 0
			for seed := 1; users < 250; seed++ {
				w := worlds.Example(seed)
				l.write(t, db, dialect.PostgreSQL, w)
				l.agree(t, db, dialect.PostgreSQL, w)
				users += len(w.Users)
			}
		})
	}
}

// open makes an empty host.
func (l layout) open(t testing.TB, d dialect.Dialect,
	open func(testing.TB) *testdb.Database) *testdb.Database {
	t.Helper()
	db := open(t)
	if _, err := db.Exec(l.schema(d)); err != nil {
		t.Fatal(err)
	}
	return db
}

// reporter is what rapid's T and testing's have in common here.
type reporter interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func (l layout) agree(t reporter, db *testdb.Database, d dialect.Dialect, w world) {
	s, err := objectperm.New(db.DB, d, l.tables, objectperm.Options{
		ExemptView: w.ExemptView, DefaultPermissions: w.Defaults})
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range w.Users {
		p := access.Principal{User: u.Name}
		set, err := s.Capabilities(t.Context(), p)
		found, resolveErr := s.Resolve(t.Context(), p)
		if !u.Active {
			if !errors.Is(err, capability.ErrNoUser) || !errors.Is(resolveErr, capability.ErrNoUser) ||
				len(set.Permissions()) != 0 {
				t.Fatalf("%s is inactive: %v, %v, %v", u.Name, set, err, resolveErr)
			}
			continue
		}
		if err != nil || resolveErr != nil {
			t.Fatalf("%s: %v, %v", u.Name, err, resolveErr)
		}
		if want := (capability.User{ID: strings.Trim(l.key(i), "'"), Name: u.Name,
			Superuser: u.Superuser}); found != want {
			t.Fatalf("%+v, want %+v", found, want)
		}
		names := map[string]bool{}
		for _, model := range slices.Concat(l.models, []string{"gone.model", "no.such"}) {
			app, name, _ := strings.Cut(model, ".")
			for _, action := range actions {
				names[fmt.Sprintf("%s.%s_%s", app, action, name)] = true
				got, want := of(t, set, action, app, name), w.ask(t, l, i, action, app, name)
				if !got.equal(want) {
					t.Fatalf("%s: %s of %s: %+v, the host says %+v", u.Name, action, model, got, want)
				}
			}
		}
		for _, held := range set.Permissions() {
			// All that the worlds, their settings and the layouts can name was asked for.
			if !names[held] {
				t.Fatalf("%s holds %s, which nobody gave", u.Name, held)
			}
		}
	}
}
