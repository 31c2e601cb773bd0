package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// engines give each test an empty database on each engine, by its URL.
var engines = testdb.Stores

// postgresURL is a database by a role.
func postgresURL(db *testdb.Database, role string) string { return db.URLOf(role, db.Name) }

// both runs a test on both engines, each with an empty database.
func both(t *testing.T, test func(t *testing.T, url string)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) { test(t, engine(t)) })
	}
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url)
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

// hasty lets a store's SQLite not wait for the disk, which only a crash of the machine could show.
func hasty(t testing.TB, s *store.Store, url string) *store.Store {
	t.Helper()
	if isSQLite(url) {
		if _, err := s.Writes().Exec("PRAGMA synchronous = OFF"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var migrated = testdb.Migrated(store.Open)

// opened runs a test on both engines, each with an open store without data.
func opened(t *testing.T, test func(t *testing.T, s *store.Store)) {
	for name, engine := range migrated {
		t.Run(name, func(t *testing.T) { test(t, open(t, engine(t))) })
	}
}

// must is a value that was to be had without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var ada = audit.Event{Issuer: "https://id.example", Principal: "ada", RequestID: "r1"}

func TestDatabaseIsChosenByURL(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, url := range []string{
		"sqlite:" + filepath.Join(dir, "a.db"), "sqlite://" + filepath.Join(dir, "b.db"), "sqlite:c.db",
		"sqlite:" + filepath.Join(dir, "odd name %41 & 'x'.db"), "sqlite:größe.db",
	} {
		open(t, url)
	}
	var names []string
	for _, e := range must(os.ReadDir(dir)) {
		if !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
			names = append(names, e.Name())
		}
		if info := must(e.Info()); info.Mode().Perm() != 0o600 {
			t.Errorf("%s can be read by others: %s", e.Name(), info.Mode())
		}
	}
	if got := strings.Join(names, "|"); got != "a.db|b.db|c.db|größe.db|odd name %41 & 'x'.db" {
		t.Error(got)
	}
}

func TestURLThatCannotWorkIsRefusedWithACureAndWithoutItsPassword(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	mute := must(net.Listen("tcp", "127.0.0.1:0")) // hangs up
	defer mute.Close()
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for source, cure := range map[string]string{
		"":                                       "write sqlite:PATH",
		"mysql://u:hunter2@h/d":                  "write sqlite:PATH",
		"file.db":                                "write sqlite:PATH",
		"SQLITE:x.db":                            "write sqlite:PATH",
		"sqlite:":                                "write sqlite:PATH",
		"sqlite::memory:":                        "store: sqlite: must be followed by the path of a file, without options: write sqlite:PATH",
		"sqlite:x.db?mode=ro":                    "store: sqlite: must be followed by the path of a file, without options: write sqlite:PATH",
		"sqlite:a\x00b":                          "store: sqlite: must be followed by the path of a file, without options: write sqlite:PATH",
		"sqlite://host/x.db":                     "sqlite:///absolute/path",
		"sqlite://u:hunter2@h/d":                 "sqlite:///absolute/path",
		"sqlite:postgres://u:hunter2@h/d":        "write sqlite:PATH",
		"sqlite:u:hunter2@h?sslmode=disable":     "write sqlite:PATH",
		"postgres:u:hunter2@h/d":                 "percent-encoded",
		"sqlite:" + missing + "/x.db":            "its directory must exist",
		"postgres://u:hunter2%zz@h/d":            "percent-encoded",
		"postgres://u:hunter2@h:x/d":             "percent-encoded",
		"postgres://u:hunter2@h/d?sslmode=maybe": "percent-encoded",
		"postgres://u:hunter2@/d?sslmode=disable&host=" + url.QueryEscape(missing): "connect",
		"postgresql://u:hunter2@" + mute.Addr().String() + "/d?sslmode=disable":    "connect",
	} {
		s, err := store.Open(t.Context(), source)
		if err == nil {
			t.Errorf("%s: %v", source, s.Close())
			continue
		}
		if !strings.Contains(err.Error(), cure) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestThingsAreCreatedReadUpdatedAndDeleted(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		org := must(s.CreateOrg(ctx, "Acme, Inc.", ada))
		if org.ID == 0 || org.Name != "Acme, Inc." || org.Version != 1 || org.Created.IsZero() || !org.Created.Equal(org.Updated) {
			t.Errorf("%+v", org)
		}
		if got := must(s.Org(ctx, org.ID)); got != org {
			t.Errorf("%+v, want %+v", got, org)
		}
		renamed := must(s.RenameOrg(ctx, org.ID, 1, "Acme", ada))
		if renamed.Name != "Acme" || renamed.Version != 2 || renamed.Updated.Before(org.Updated) || !renamed.Created.Equal(org.Created) {
			t.Errorf("%+v", renamed)
		}

		team := must(s.CreateTeam(ctx, org.ID, "research", ada))
		if got := must(s.Team(ctx, store.InOrg(org.ID), team.ID)); got != team || team.Org != org.ID {
			t.Errorf("%+v, want %+v", got, team)
		}
		if got := must(s.RenameTeam(ctx, store.Anywhere, team.ID, 1, "lab", ada)); got.Name != "lab" || got.Version != 2 {
			t.Errorf("%+v", got)
		}

		member := must(s.AddMember(ctx, store.InTeam(team.ID), "https://id.example", "bob", access.Lead, ada))
		if got := must(s.Member(ctx, store.InTeam(team.ID), member.ID)); got != member || got.Standing != access.Lead {
			t.Errorf("%+v, want %+v", got, member)
		}
		if got := must(s.UpdateMember(ctx, store.InTeam(team.ID), member.ID, 1, access.Owner, ada)); got.Standing != access.Owner || got.Version != 2 {
			t.Errorf("%+v", got)
		}
		of := must(s.AddMember(ctx, store.InOrg(org.ID), "https://id.example", "bob", access.Member, ada))
		if got := must(s.Memberships(ctx, "https://id.example", "bob")); len(got) != 2 || got[0].Scope != store.InTeam(team.ID) || got[1] != of {
			t.Errorf("%+v", got)
		}

		for _, in := range []store.Scope{store.Global, store.InOrg(org.ID), store.InTeam(team.ID)} {
			c := must(s.CreateCatalog(ctx, in, "kit", "for\nreading", true, ada))
			if got := must(s.Catalog(ctx, in, c.ID)); got != c || got.Scope != in || got.Description != "for\nreading" || !got.Active {
				t.Errorf("%+v, want %+v", got, c)
			}
			name, off := "kit 2", false
			got := must(s.UpdateCatalog(ctx, in, c.ID, 1, store.CatalogPatch{Name: &name, Active: &off}, ada))
			if got.Name != name || got.Active || got.Description != c.Description || got.Version != 2 {
				t.Errorf("%+v", got)
			}
			text := ""
			if got := must(s.UpdateCatalog(ctx, store.Anywhere, c.ID, 2, store.CatalogPatch{Description: &text}, ada)); got.Name != name || got.Description != "" {
				t.Errorf("%+v", got)
			}
			for _, tool := range []string{"b.two", "a_one", "Z-3"} {
				must(s.AddEntry(ctx, in, c.ID, tool, "module 7", ada))
			}
			entries, more, err := s.Entries(ctx, in, c.ID, store.Page[string]{})
			if err != nil || more || len(entries) != 3 || entries[0].Tool != "Z-3" || entries[1].Tool != "a_one" || entries[2].Tool != "b.two" || entries[0].Module != "module 7" {
				t.Errorf("%+v, %v, %v", entries, more, err)
			}
			if err := s.RemoveEntry(ctx, in, c.ID, "a_one", ada); err != nil {
				t.Error(err)
			}
			if got := must(s.Tools(ctx, c.ID)); strings.Join(got, " ") != "Z-3 b.two" {
				t.Error(got)
			}
			if err := s.DeleteCatalog(ctx, in, c.ID, 3, ada); err != nil {
				t.Error(err)
			}
			if _, err := s.Catalog(ctx, in, c.ID); !errors.Is(err, store.ErrNotFound) {
				t.Error(err)
			}
		}

		if err := s.RemoveMember(ctx, store.InOrg(org.ID), of.ID, 0, ada); err != nil {
			t.Error(err)
		}
		if err := s.DeleteTeam(ctx, store.InOrg(org.ID), team.ID, 2, ada); err != nil {
			t.Error(err)
		}
		if err := s.DeleteOrg(ctx, org.ID, 2, ada); err != nil {
			t.Error(err)
		}
		if got := must(s.Memberships(ctx, "https://id.example", "bob")); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}

func TestToolsAreSwitchedOffAndOn(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx, began := context.Background(), time.Now().Truncate(time.Millisecond)
		for _, step := range []struct {
			tool string
			off  bool
			want string
		}{{"b", true, "b"}, {"a", true, "a b"}, {"a", true, "a b"}, {"c", false, "a b"}, {"b", false, "a"}, {"B", true, "B a"}} {
			if err := s.SwitchTool(ctx, step.tool, step.off, ada); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(must(s.ToolsOff(ctx)), " "); got != step.want {
				t.Errorf("after %+v: %s", step, got)
			}
		}
		all, more, err := s.Switches(ctx, store.Page[string]{Limit: 3})
		if err != nil || !more || len(all) != 3 || all[0].Tool != "B" || !all[0].Off ||
			all[1].Tool != "a" || all[2].Tool != "b" || all[2].Off ||
			all[2].Updated.Before(began) {
			t.Errorf("%+v, %v, %v", all, more, err)
		}
		rest, more, err := s.Switches(ctx, store.Page[string]{After: "b", Limit: 3})
		if err != nil || more || len(rest) != 1 || rest[0].Tool != "c" || rest[0].Off {
			t.Errorf("%+v, %v, %v", rest, more, err)
		}
	})
}

func TestEntriesAreCountedForAPageOfCatalogs(t *testing.T) {
	opened(t, func(t *testing.T, s *store.Store) {
		ctx, ids, want := t.Context(), []int64{1_000_000}, map[int64]int{}
		for i := range 4 {
			c := must(s.CreateCatalog(ctx, store.Global, fmt.Sprint("kit ", i), "", i%2 == 0, ada))
			for k := range i {
				must(s.AddEntry(ctx, store.Global, c.ID, fmt.Sprint("tool", k), "", ada))
				want[c.ID]++
			}
			ids = append(ids, c.ID)
		}
		for range 3000 { // more than a page has, and some twice
			ids = append(ids, ids[len(ids)%5])
		}
		if got := must(s.EntryCounts(ctx, ids)); !maps.Equal(got, want) || len(got) != 3 {
			t.Errorf("%v, want %v", got, want)
		}
		for _, of := range [][]int64{nil, {ids[1]}, {-1}} {
			if got := must(s.EntryCounts(ctx, of)); len(got) != 0 {
				t.Errorf("%v: %v", of, got)
			}
		}
	})
}

func TestRevisionCountsChangesAndNothingElse(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, s, other := t.Context(), open(t, url), open(t, url)
		must(s.CreateOrg(ctx, "acme", ada))
		before := must(s.Revision(ctx))
		if err := s.Audit().Record(ctx, ada); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateOrg(ctx, "acme", ada); !errors.Is(err, store.ErrExists) {
			t.Fatal(err)
		}
		if got := must(other.Revision(ctx)); got != before {
			t.Errorf("%d and then %d", before, got)
		}
		must(s.CreateOrg(ctx, "another", ada))
		if got := must(other.Revision(ctx)); got.Number != before.Number+1 || got.Epoch == before.Epoch {
			t.Errorf("%d and then %d", before, got)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := s.Revision(ended); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
