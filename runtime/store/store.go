// Package store keeps the state that administrators change while a server runs: organisations,
// teams and their members, tool catalogs and their entries, switched off tools, grants, boundaries
// of clients, and the audit trail.
//
// The database is SQLite, a file beside the server, or PostgreSQL, which several replicas can
// share: see [Open]. Each change and its audit event are one transaction. [Store.Changes] reports
// changes to all followers in this process and, on PostgreSQL, in others.
//
// Each change has a parameter by: who changes. Its Issuer, Principal, Client, Role and RequestID
// become those of the event. A program at its start may pass audit.Event{Principal: "setup"}.
//
// The store makes no access decisions. Callers query by [Scope], so that an id of another tenant
// and an id that never existed give the same result.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store/internal/migrate"
)

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	engine *engine
	// writes and reads are the same pool on PostgreSQL. SQLite has one writer at a time, and
	// readers that do not wait for it.
	writes, reads *sql.DB
	prepared      querier // reads, or prepared statements on it
	// turn is a semaphore that a change holds until it is announced. On SQLite it has one place, so
	// that changes are announced in their order.
	turn chan struct{}
	feed followers[*mailbox]
	// updates are woken when this process publishes an update of a resource.
	updates followers[chan struct{}]
	// together writes concurrent events in one transaction.
	together *groupcommit.Group[audit.Encoded]
	sealer   audit.Sealer // nil without a chain of events
	unsure   atomic.Bool  // the last change or event failed, and none was made since
	// quiet and pause are the constants of these names. Tests change them.
	quiet, pause time.Duration
	limits       limits
	searching    int // like quiet
	sorting      int // like quiet

	closing context.Context // ends with Close
	close   context.CancelFunc

	starting  sync.Mutex     // held while a follower starts
	following sync.WaitGroup // followers that read the database
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
	err = e.migrate(ctx, func(newest int64) (int64, error) { return newest, nil })
	if err != nil {
		return nil, err
	}
	s := &Store{engine: e, quiet: quiet, pause: pause, limits: usual,
		searching: searching, sorting: sorting}
	s.writes, s.reads, err = e.open(ctx)
	if err != nil {
		return nil, err
	}
	s.together = groupcommit.New(batch, s.keepEach)
	s.prepared = s.reads
	if e.oneWriter {
		s.prepared = &prepared{DB: s.reads, kept: map[string]*sql.Stmt{}}
	}
	s.closing, s.close = context.WithCancel(context.Background())
	s.turn = make(chan struct{}, e.changes)
	if err := s.responds(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := e.serves(ctx, s.writes); err != nil {
		return nil, errors.Join(e.explain(ctx, "the privileges of the role", err), s.Close())
	}
	return s, nil
}

// Ping returns an error if the database does not respond or accepts no changes. Examples are a
// deleted or moved SQLite file and a read-only PostgreSQL session. If the last change or event
// has failed, as on a full disk, Ping writes one row and, for SQLite, a megabyte beside the file,
// which it deletes. It is a check of readiness.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.responds(ctx); err != nil {
		return err
	}
	err := s.engine.present()
	if err == nil {
		err = s.engine.writable(ctx, s.writes)
	}
	if err == nil && s.unsure.Load() {
		err = s.probe(ctx)
	}
	if err != nil {
		return s.engine.explain(ctx, "the database accepts no changes", err)
	}
	return nil
}

func (s *Store) responds(ctx context.Context) error {
	// Unlike PingContext, a query makes another connection if one has broken.
	var one int
	if err := s.reads.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil {
		return s.engine.explain(ctx, "the database does not respond", err)
	}
	return nil
}

// probe updates a row that every change updates, and makes no change.
func (s *Store) probe(ctx context.Context) error {
	if err := s.engine.space(); err != nil {
		return err
	}
	tx, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing once it is committed
	update := stmt(`UPDATE store_revision SET epoch = ? WHERE id = 1`, newEpoch())
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
	err = s.prepared.QueryRowContext(ctx, epochQuery).Scan(&now.Number, &now.Epoch)
	if err == nil {
		err = s.engine.present()
	}
	if err != nil {
		return Revision{}, s.engine.explain(ctx, "read the revision", err)
	}
	return now, nil
}

// Close ends all [Store.Changes] and [Store.FollowUpdates], and closes the database.
func (s *Store) Close() error {
	s.starting.Lock()
	s.close() // no follower starts from now on
	s.starting.Unlock()
	s.following.Wait()
	// Events that are being written are committed. No event follows them.
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

// follow runs a follower, which ends with s.closing, in a goroutine that Close waits for.
func (s *Store) follow(do func()) {
	s.starting.Lock()
	defer s.starting.Unlock()
	if s.closing.Err() != nil {
		go do() // every read of it fails
		return
	}
	s.following.Go(do)
}

// Migrate migrates the database of a URL forward or back to a version, completely or not at all.
// A step back loses the data that the version has no place for. Version 0 is empty. Other
// processes may migrate at the same time, but none may serve.
func Migrate(ctx context.Context, url string, version int64) error {
	e, err := parse(url)
	if err != nil {
		return err
	}
	return e.migrate(ctx, to(version))
}

// to returns a function that accepts an existing version.
func to(version int64) func(newest int64) (int64, error) {
	return func(newest int64) (int64, error) {
		if version < 0 || version > newest {
			return 0, wrong("unknown version %d: use 0 to %d", version, newest)
		}
		return version, nil
	}
}

// now is the time of a change, at the precision of both engines.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

var (
	// ErrNotFound reports an item that the scope does not contain. An item of another scope gives
	// the same error, with the same text.
	ErrNotFound = errors.New("not found")
	// ErrExists reports a name that its scope already has, or an entry or a member that exists.
	ErrExists = errors.New("exists already")
	// ErrConflict reports an item that has changed since the caller's version. Read it again.
	ErrConflict = errors.New("changed since it was read: read it again")
	// ErrLimit reports that a place has its maximum number of items, such as 10,000 entries of a
	// catalog. The error has the limit.
	ErrLimit = errors.New("is the most")
	// ErrInvalid reports a name, a standing, a scope, a version, a boundary or a URL that is not
	// valid. Errors of this kind have a text of their own: use [errors.Is].
	ErrInvalid = errors.New("not valid")
	// ErrUnwritable reports a database that accepts no changes: its disk is full, it is read-only,
	// or its file was deleted or moved. [Store.Ping] returns such an error as long as that lasts.
	ErrUnwritable = errors.New("the database accepts no changes")
	// ErrNewer reports a database that a newer program has migrated.
	ErrNewer = migrate.ErrNewer
	// ErrClosed reports a use of the store after [Store.Close].
	ErrClosed = errors.New("the store is closed")
)
