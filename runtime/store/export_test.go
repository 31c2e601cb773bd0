package store

import (
	"context"
	"database/sql"
	"io/fs"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Hasten makes followers look, and connect again, every so often.
func (s *Store) Hasten(every time.Duration) { s.quiet, s.pause = every, every }

// Limit makes every limit of how many are kept another one, and that of global catalogs one more.
func (s *Store) Limit(most int) {
	s.limits = limits{most, most, most + 1, most, most, most, most, most + 1, most}
}

// ReadAtMost makes a page of a search read so many entries, and an export sort so many ids.
func (s *Store) ReadAtMost(n int) { s.searching, s.sorting = n, n }

// KeepEach keeps events as those who record them at once have them kept.
func (s *Store) KeepEach(ctx context.Context, events ...audit.Event) error {
	rows, err := encoded(events)
	if err != nil {
		return err
	}
	return s.keepEach(ctx, rows)
}

// Writes is the pool that changes are made with.
func (s *Store) Writes() *sql.DB { return s.writes }

// Reads is the pool that reads.
func (s *Store) Reads() *sql.DB { return s.reads }

// ReadBy makes a store read by another pool, which stays the caller's to close.
func (s *Store) ReadBy(db *sql.DB) { s.reads, s.prepared = db, db }

// MigrateBy is Migrate by other migrations than the package's own.
func MigrateBy(ctx context.Context, url string, migrations fs.FS, version int64) error {
	e, err := parse(url)
	if err != nil {
		return err
	}
	e.migration.Files = migrations
	return e.migrate(ctx, to(version))
}

// Migrations are the package's own, of the engine that a URL names.
func Migrations(url string) (fs.FS, error) {
	e, err := parse(url)
	if err != nil {
		return nil, err
	}
	return e.migration.Files, nil
}

// Kept is how many statements are kept.
func (s *Store) Kept() int {
	p, ok := s.prepared.(*prepared)
	if !ok {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.kept)
}

// Names for tests from outside.
const (
	MaxDescription = maxDescription
	MaxIdentity    = maxIdentity
	MaxUpdates     = maxUpdates
)
