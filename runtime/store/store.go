// Package store keeps what administrators decide while a server runs: organisations, teams and
// their members, tool catalogs and their entries, which tools are off, what is granted to clients,
// and the audit trail.
//
// It keeps it in SQLite, a file beside the server, or in PostgreSQL, which several replicas can
// share. A URL says which; see [Open]. Every change is one transaction together with its audit
// event: both are there or neither is. What is changed is announced to all who follow
// [Store.Changes], in this process and, on PostgreSQL, in the others.
//
// Nothing here decides who may do what. Callers ask by [Scope], so that an id of another tenant
// is as unknown as one that never was.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Store is an open database. All of its methods may be called from many goroutines at once.
type Store struct {
	engine *engine
	// writes and reads are the same pool on PostgreSQL. SQLite has one writer at a time, and
	// readers that do not wait for it.
	writes, reads *sql.DB
	asks          asker // reads, or statements that are prepared on it
	// turn has a place for each change from its start until it is announced. On SQLite there is
	// one: changes are announced in the order in which they were made.
	turn chan struct{}
	feed feed
	// together keeps events in one go.
	together *groupcommit.Group[row]
	sealer   audit.Sealer // nil where events are in no chain
	unsure   atomic.Bool  // the last change or event failed, and none was made since
	// quiet and pause are the constants of these names, or a test's.
	quiet, pause time.Duration
	limits       limits

	closing context.Context // ends with Close
	close   context.CancelFunc
}

// Open opens the database that a URL names, makes it if it is an SQLite file that does not exist,
// and migrates it to the newest version. Several processes may do so at once: one migrates, and the
// others wait for it, or until ctx ends.
//
//	sqlite:PATH                         a file, relative to the working directory or absolute; whatever rights it has,
//	                                    only its owner has any once it is opened
//	postgres://USER@HOST:PORT/DATABASE  PostgreSQL, with the options of libpq's URLs
//
// A PostgreSQL database that has other tables as well needs a schema for the store's, which a URL
// names with ?search_path=NAME. The role has to own that schema, or be given what it needs on the
// tables that another role has migrated to the newest version: the error says what it lacks and the
// GRANT for it. A URL with a password never stands in an error.
//
// A database that a newer program has migrated is refused with [ErrNewer].
func Open(ctx context.Context, url string) (*Store, error) {
	e, err := parse(url)
	if err != nil {
		return nil, err
	}
	if err := e.migrate(ctx, func(ctx context.Context, m *migrator) error {
		return m.to(ctx, m.newest())
	}); err != nil {
		return nil, err
	}
	s := &Store{engine: e, feed: feed{boxes: map[*mailbox]bool{}}, quiet: quiet, pause: pause,
		limits: usual}
	s.writes, s.reads, err = e.open(ctx)
	if err != nil {
		return nil, err
	}
	s.together = newTogether(s)
	s.asks = s.reads
	if e.oneWriter {
		s.asks = &prepared{DB: s.reads, kept: map[string]*sql.Stmt{}}
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.turn = make(chan struct{}, e.changes)
	if err := s.answers(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if e.serves != nil {
		if err := e.serves(ctx, s.writes); err != nil {
			return nil, errors.Join(e.explain(ctx, "the privileges of the role", err), s.Close())
		}
	}
	return s, nil
}

// Ping returns an error if the database does not answer, or cannot take changes: an SQLite file
// that was deleted or moved, a PostgreSQL session that may only read, or a database whose last
// change or event failed and that still refuses one row, as on a full disk. Then Ping writes that
// row and, for SQLite, a megabyte beside the file, which it deletes. It is a check of readiness.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	err := s.engine.there()
	if err == nil && s.engine.writable != nil {
		err = s.engine.writable(ctx, s.writes)
	}
	if err == nil && s.unsure.Load() {
		err = s.probe(ctx)
	}
	if err != nil {
		return s.engine.explain(ctx, "the database is read-only", err)
	}
	return nil
}

func (s *Store) answers(ctx context.Context) error {
	// Unlike PingContext, a query makes another connection if one has broken.
	var one int
	if err := s.reads.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return s.engine.explain(ctx, "the database does not respond", err)
	}
	return nil
}

// probe writes a row that every change writes, without a change.
func (s *Store) probe(ctx context.Context) error {
	if s.engine.space != nil {
		if err := s.engine.space(); err != nil {
			return err
		}
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing once it is committed
	update := say(`UPDATE store_revision SET epoch = ? WHERE id = 1`, newEpoch())
	if _, err := update.exec(ctx, tx); err != nil {
		return err
	}
	if err := s.engine.commit(tx); err != nil {
		return err
	}
	s.unsure.Store(false)
	return nil
}

// Revision is what a database was when it was looked at. Two that are equal are of the same
// database: one that was restored from a backup comes to the same number by other changes, and to
// another epoch.
type Revision struct {
	Number int64 // how many changes have come to stand
	Epoch  int64 // of the last of them, by chance
}

// Revision returns what the database is now: what is read after it is at least as new, and what was
// read after it is as it was for as long as it stays the same. Audit events do not count. It is one
// row by its key, cheap enough to be asked for before each use of something that is kept. It is an
// error if the file of an SQLite database was deleted or moved: other processes may use another one
// by now.
func (s *Store) Revision(ctx context.Context) (now Revision, err error) {
	err = s.asks.QueryRowContext(ctx, epochQuery).Scan(&now.Number, &now.Epoch)
	if err == nil {
		err = s.engine.there()
	}
	if err != nil {
		return Revision{}, s.engine.explain(ctx, "read the revision", err)
	}
	return now, nil
}

// Close ends all that follow [Store.Changes] and closes the database.
func (s *Store) Close() error {
	s.close()
	// What is being kept is, and nothing after it.
	err := s.together.Alone(context.Background(), func() error { return nil })
	err = errors.Join(err, s.writes.Close())
	if s.reads != s.writes {
		err = errors.Join(err, s.reads.Close())
	}
	if err != nil {
		return fmt.Errorf("store: close: %w", err)
	}
	return nil
}

// Migrate brings the database that a URL names to a version: forward, or back to one before, with
// the loss of what that version has no place for. Version 0 is empty. All of it happens or nothing.
// It is safe beside other processes that migrate, and not beside ones that serve.
func Migrate(ctx context.Context, url string, version int64) error {
	e, err := parse(url)
	if err != nil {
		return err
	}
	return e.migrate(ctx, func(ctx context.Context, m *migrator) error {
		return m.to(ctx, version)
	})
}

// now is the time of a change, as both engines keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
