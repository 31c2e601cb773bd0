package stored_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var everything, tools, catalogs = catalog.Change{Tools: true, Catalogs: true},
	catalog.Change{Tools: true}, catalog.Change{Catalogs: true}

// next is the next change, which a test's own deadline bounds.
func next(t *testing.T, changes <-chan catalog.Change) catalog.Change {
	t.Helper()
	select {
	case c, ok := <-changes:
		if !ok {
			t.Fatal("the changes have ended")
		}
		return c
	case <-time.After(time.Minute):
		t.Fatal("no notification")
	}
	return catalog.Change{}
}

// follow follows changes from now on.
func follow(t *testing.T, ctx context.Context, s *store.Store) <-chan catalog.Change {
	t.Helper()
	changes := stored.New(s, stored.Stored).Changes(ctx)
	if c := next(t, changes); c != everything {
		t.Fatalf("%+v comes first", c)
	}
	return changes
}

func TestChangeReportsWhetherToolsOrCatalogsMayBeDifferent(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		replicas := []*store.Store{w.Store}
		if !strings.HasPrefix(w.url, "sqlite:") {
			replicas = append(replicas, open(t, w.url))
		}
		var following []<-chan catalog.Change
		for _, s := range replicas {
			following = append(following, follow(t, ctx, s))
		}
		in := w.scopes["lab"]
		kit := must(w.CreateCatalog(ctx, in, "kit", "", true, ada))
		must(w.AddEntry(ctx, in, kit.ID, "tool", "", ada))
		must(w.UpdateCatalog(ctx, in, kit.ID, 1, store.CatalogPatch{}, ada))
		for _, off := range []bool{true, false} {
			if err := w.SwitchTool(ctx, "tool", off, ada); err != nil {
				t.Fatal(err)
			}
		}
		must(w.CreateBound(ctx, boundary.Party{Client: "bot"}, boundary.Boundary{}, ada)) // no change
		must(w.AddMember(ctx, in, issuer, "bob", access.Member, ada))
		must(w.RenameTeam(ctx, store.Anywhere, w.lab.ID, 1, "lab 2", ada))
		must(w.RenameOrg(ctx, w.acme.ID, 1, "acme 2", ada))
		if err := w.SwitchTool(ctx, "tool", true, ada); err != nil {
			t.Fatal(err)
		}
		for _, s := range replicas {
			if off := must(stored.New(s, stored.Stored).ToolsOff(ctx)); len(off) != 1 ||
				off[0] != "tool" {
				t.Error(off)
			}
		}
		for _, changes := range following {
			for i, want := range []catalog.Change{catalogs, catalogs, catalogs, tools, tools,
				catalogs, catalogs, catalogs, tools} {
				if got := next(t, changes); got != want {
					t.Errorf("%d: %+v, want %+v", i, got, want)
				}
			}
		}
	})
}

func TestChangesEndWithTheirContext(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithCancel(t.Context())
		idle, deaf, stays := follow(t, ctx, w.Store), follow(t, ctx, w.Store),
			follow(t, t.Context(), w.Store)
		never := stored.New(w.Store, stored.Stored).Changes(ctx) // of which nothing is taken
		w.add("global", "kit", true)
		if c := next(t, idle); c != catalogs {
			t.Errorf("%+v", c)
		}
		cancel()
		for _, changes := range []<-chan catalog.Change{idle, deaf, never} {
			for range changes { // what was on its way
			}
		}
		if c := next(t, stays); c != catalogs {
			t.Errorf("%+v", c)
		}
	})
}

// TestFollowerThatIsSlowHoldsNobodyUpAndGetsEverything has a follower that takes nothing while
// tools are switched, and then a catalog is made: it learns of that by Everything, unless the word
// of the others was slower still.
func TestFollowerThatIsSlowHoldsNobodyUpAndGetsEverything(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		slow, quick := follow(t, t.Context(), w.Store), follow(t, t.Context(), w.Store)
		for round := range 20 {
			for i := range 300 {
				if err := w.SwitchTool(t.Context(), "tool", i%2 == 0, ada); err != nil {
					t.Fatal(err)
				}
				next(t, quick)
			}
			must(w.CreateCatalog(t.Context(), store.Global, fmt.Sprint("kit ", round), "", true,
				ada))
			if c := next(t, quick); c != catalogs {
				t.Errorf("%+v", c)
			}
			c := next(t, slow)
			for ; c == tools; c = next(t, slow) {
			}
			if c == everything {
				return
			}
		}
		t.Error("told each of thousands")
	})
}

func TestLossOfTheConnectionIsPassedOnAlone(t *testing.T) {
	db := testdb.PostgreSQL(t)
	address := func(name string) string { return db.URLOf(db.User, name) }
	s := open(t, address(db.Name))
	changes := follow(t, t.Context(), s)
	admin := must(sql.Open("pgx", address("postgres")))
	defer admin.Close()
	must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS false"))
	must(admin.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`,
		db.Name))
	if c := next(t, changes); c != (catalog.Change{Deaf: true}) {
		t.Errorf("%+v", c)
	}
	must(admin.Exec("ALTER DATABASE " + db.Name + " ALLOW_CONNECTIONS true"))
	if c := next(t, changes); c != everything {
		t.Errorf("%+v", c)
	}
}

// A program that cannot listen on its port closes the store before the server. That is no fault of
// the source.
func TestStoreThatIsClosedBeforeItsServerIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		source := stored.New(s, stored.Stored)
		server, err := runtime.New(runtime.Options{
			Catalogs: runtime.CatalogOptions{Source: source}, Anonymous: true,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}, toolset.NewToolset(toolset.Generated{
			Package: "example.com/none", Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		changes := follow(t, ctx, s)
		synctest.Wait()
		log.Reset()
		must(0, s.Close())
		time.Sleep(time.Minute)
		synctest.Wait()
		if log.Len() > 0 {
			t.Errorf("the log: %s", &log)
		}
		if _, err := source.ToolsOff(ctx); !errors.Is(err, catalog.ErrClosed) {
			t.Error(err)
		}
		select {
		case c, open := <-changes:
			t.Errorf("before the end of its context: %+v, %t", c, open)
		default:
		}
		cancel()
		for range changes {
		}
		must(0, server.Shutdown(t.Context()))
	})
}
