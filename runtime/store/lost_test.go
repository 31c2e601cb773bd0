package store_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refuses reports whether a store acknowledges nothing and is not ready.
func refuses(t *testing.T, s *store.Store) {
	t.Helper()
	_, created := s.CreateOrg(t.Context(), "lost", ada)
	_, revision := s.Revision(t.Context())
	for name, err := range map[string]error{
		"CreateOrg": created, "Revision": revision, "Ping": s.Ping(t.Context()),
		"Record":      s.Audit().Record(t.Context(), ada),
		"RecordBatch": s.Audit().(audit.BatchSink).RecordBatch(t.Context(), []audit.Event{ada}),
		"Ready":       s.Audit().(audit.ReadySink).Ready(t.Context()),
	} {
		if !errors.Is(err, store.ErrUnwritable) ||
			!strings.Contains(err.Error(), "the open file was deleted or moved: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all := must(orgsOf(s, t)); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// TestSQLiteFileThatIsNotAtItsPathAcknowledgesNothingUntilItIsBack covers the database and its log.
func TestSQLiteFileThatIsNotAtItsPathAcknowledgesNothingUntilItIsBack(t *testing.T) {
	away := func(file string) error { return os.Rename(file, file+".1") }
	back := func(file string) error { return os.Rename(file+".1", file) }
	replace := func(file string) error {
		return errors.Join(away(file), os.WriteFile(file, must(os.ReadFile(file+".1")), 0o600))
	}
	for _, suffix := range []string{"", "-wal"} {
		for name, test := range map[string]struct{ lose, back func(file string) error }{
			"deleted":  {os.Remove, nil},
			"renamed":  {away, back},
			"replaced": {replace, back},
		} {
			t.Run(name+suffix, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "store.db")
				s := must(store.Open(t.Context(), "sqlite:"+path))
				defer s.Close()
				must(s.CreateOrg(t.Context(), "first", ada))
				do(t, s.Ping(t.Context()))
				do(t, test.lose(path+suffix))
				refuses(t, s)
				refuses(t, s)
				if test.back == nil {
					return
				}
				do(t, test.back(path+suffix))
				do(t, s.Ping(t.Context()))
				must(s.CreateOrg(t.Context(), "second", ada))
				do(t, s.Audit().Record(t.Context(), ada))
				do(t, s.Close())
				again := open(t, "sqlite:"+path)
				orgs, events := must(orgsOf(again, t)), trail(t, again)
				if len(orgs) != 2 || len(events) != 3 {
					t.Errorf("%+v, %d events", orgs, len(events))
				}
			})
		}
	}
	t.Run("link", func(t *testing.T) { // to another database
		dir := t.TempDir()
		link, path := filepath.Join(dir, "link.db"), filepath.Join(dir, "a.db")
		do(t, os.Symlink(path, link))
		open(t, "sqlite:"+filepath.Join(dir, "b.db"))
		s := open(t, "sqlite:"+link)
		must(s.CreateOrg(t.Context(), "first", ada))
		do(t, os.Remove(link))
		do(t, os.Symlink(filepath.Join(dir, "b.db"), link))
		refuses(t, s)
		do(t, os.Remove(link))
		do(t, os.Symlink(path, link))
		must(s.CreateOrg(t.Context(), "second", ada))
	})
}

// sealing calls a function within each change, before it is committed.
type sealing func()

func (s sealing) Seal(_ context.Context,
	do func(func(audit.Event) (audit.Event, error)) error) error {
	return do(func(e audit.Event) (audit.Event, error) { s(); return e, nil })
}

// TestSQLiteFileThatIsDeletedDuringAChangeIsNotAcknowledged deletes the file within the
// transaction.
func TestSQLiteFileThatIsDeletedDuringAChangeIsNotAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, "sqlite:"+path)
	s.SealBy(sealing(func() { do(t, os.Remove(path)) }))
	if _, err := s.CreateOrg(t.Context(), "acme", ada); !errors.Is(err, store.ErrUnwritable) {
		t.Error(err)
	}
}

// TestOtherProcessesThatCloseTheDatabaseLeaveTheLogOfThisOne has other processes close what each
// may take for its last connection, while this one has a keeper alone. The last one to close a
// database deletes its log.
func TestOtherProcessesThatCloseTheDatabaseLeaveTheLogOfThisOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	url := "sqlite:" + path
	s := must(store.Open(t.Context(), url))
	defer s.Close()
	for i := range 3 {
		must(s.CreateOrg(t.Context(), fmt.Sprint("org ", i), ada))
		for _, pool := range []interface{ SetMaxIdleConns(int) }{s.Writes(), s.Reads()} {
			pool.SetMaxIdleConns(0) // as after calls whose contexts ended
			pool.SetMaxIdleConns(1)
		}
		c := newChild(t, "open", url)
		c.start()
		do(t, c.Wait())
	}
	var busy, pages, moved int
	do(t, s.Writes().QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved))
	must(s.CreateOrg(t.Context(), "last", ada))
	do(t, s.Ping(t.Context()))
	do(t, s.Close()) // here the log goes
	if _, err := os.Stat(path + "-wal"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log is left: %v", err)
	}
	if all := must(orgsOf(open(t, url), t)); len(all) != 3+3+1 {
		t.Errorf("%+v", all)
	}
}

// TestStoreThatMayOnlyReadIsNotReadyUntilItMayWrite fails one change, after which the store itself
// finds out whether the next one would fail.
func TestStoreThatMayOnlyReadIsNotReadyUntilItMayWrite(t *testing.T) {
	s := open(t, "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	must(s.Writes().Exec("PRAGMA query_only = 1"))
	if _, err := s.CreateOrg(t.Context(), "acme", ada); !errors.Is(err, store.ErrUnwritable) {
		t.Error(err)
	}
	for range 2 {
		if err := s.Ping(t.Context()); !errors.Is(err, store.ErrUnwritable) {
			t.Errorf("ready: %v", err)
		}
	}
	must(s.Writes().Exec("PRAGMA query_only = 0"))
	do(t, s.Ping(t.Context()))
	must(s.CreateOrg(t.Context(), "acme", ada))
}

// TestPostgreSQLThatMayOnlyReadIsNotReadyUntilItMayWrite needs no change that fails: a session
// tells.
func TestPostgreSQLThatMayOnlyReadIsNotReadyUntilItMayWrite(t *testing.T) {
	url := engines["postgresql"](t)
	s, db := open(t, url), raw(t, url)
	name := column(t, db, "SELECT current_database()")[0]
	s.Writes().SetMaxIdleConns(0) // each statement has a new session
	set := func(to string) {
		t.Helper()
		must(db.Exec("ALTER DATABASE " + name + " SET default_transaction_read_only = " + to))
	}
	do(t, s.Ping(t.Context()))
	set("on")
	for _, err := range []error{
		s.Ping(t.Context()), s.Audit().(audit.ReadySink).Ready(t.Context()),
	} {
		if !errors.Is(err, store.ErrUnwritable) || !strings.Contains(err.Error(),
			"target_session_attrs") {
			t.Errorf("ready: %v", err)
		}
	}
	if _, err := s.CreateOrg(t.Context(), "acme", ada); !errors.Is(err, store.ErrUnwritable) {
		t.Error(err)
	}
	must(db.Exec("SET default_transaction_read_only = off"))
	set("off")
	do(t, s.Ping(t.Context()))
	must(s.CreateOrg(t.Context(), "acme", ada))
}
