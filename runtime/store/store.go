// Package store keeps the state that administrators change while a server runs: organisations,
// teams and their members, tool catalogs and their entries, switched off tools, grants, and the
// audit trail.
//
// The database is SQLite, a file beside the server, or PostgreSQL, which several replicas can
// share: see [Open]. Each change and its audit event are one transaction. [Store.Changes] reports
// changes to all followers in this process and, on PostgreSQL, in others.
//
// The store makes no access decisions. Callers query by [Scope], so that an id of another tenant
// and an id that never existed give the same result.
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

// Store is an open database. Its methods are safe for concurrent use.
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

// Open opens the database of a URL and migrates it to the newest version. A missing SQLite file
// is created. Several processes may open a database at once: one migrates, and the others wait
// until ctx ends.
//
//	sqlite:PATH                         a file, relative to the working directory or absolute;
//	                                    afterwards only its owner has permissions on it
//	postgres://USER@HOST:PORT/DATABASE  PostgreSQL, with the options of libpq's URLs
//
// In a PostgreSQL database with other tables, the store needs its own schema: add
// ?search_path=NAME to the URL. The role must own that schema, or have privileges on the tables
// after another role has migrated them. The error lists the missing privileges and their GRANT
// statement. Errors never contain a URL with a password.
//
// Open returns [ErrNewer] for a database that a newer program has migrated.
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

// Ping returns an error if the database does not respond or accepts no changes. Examples are a
// deleted or moved SQLite file and a read-only PostgreSQL session. If the last change or event
// has failed, as on a full disk, Ping writes one row and, for SQLite, a megabyte beside the file,
// which it deletes. It is a check of readiness.
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

// Revision identifies the state of a database. Two equal values are of the same state: after a
// restore from a backup, the epoch differs even if the number is the same.
type Revision struct {
	Number int64 // of committed changes
	Epoch  int64 // a random number, new with each change
}

// Revision returns the current revision. While it stays the same, earlier reads are still valid,
// and reads after it are at least as new. Audit events do not change it. It reads one row by its
// key, so you can call it before each use of a cached value. It returns an error if the SQLite
// file was deleted or moved, because other processes may use another file by now.
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

// Close ends all [Store.Changes] and closes the database.
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

// Migrate migrates the database of a URL forward or back to a version, completely or not at all.
// A step back loses the data that the version has no place for. Version 0 is empty. Other
// processes may migrate at the same time, but none may serve.
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
