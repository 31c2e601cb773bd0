package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Page selects a part of a list, after the last key of the part before it. Items that are added
// or deleted meanwhile move no other item from one page to another.
type Page[K cmp.Ordered] struct {
	After K   // the key of the last one of the page before; zero for the first page
	Limit int // at most; 0 is 100, and more than 1,000 are 1,000
}

func (p Page[K]) limit() int {
	if p.Limit <= 0 {
		return 100
	}
	return min(p.Limit, 1000)
}

// list reads a page by a statement that is already in the order of the page's key, and whether
// there is more after it.
func list[K cmp.Ordered, T any](ctx context.Context, s *Store, noun string, q *statement, page Page[K], read func(scanner) (T, error)) ([]T, bool, error) {
	limit := page.limit()
	found, err := all(ctx, s.asks, q.and(`LIMIT ?`, limit+1), read)
	if err != nil {
		return nil, false, s.engine.explain(ctx, "list "+noun, err)
	}
	if len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}

// get reads one thing.
func get[T any](ctx context.Context, s *Store, noun string, id int64, q *statement, read func(scanner) (T, error)) (T, error) {
	found, err := read(q.row(ctx, s.asks))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return found, fmt.Errorf("store: %w", notFound(noun, id))
	case err != nil:
		return found, s.engine.explain(ctx, "read "+noun, err)
	}
	return found, nil
}

func notFound(noun string, id int64) error { return fmt.Errorf("%s %d: %w", noun, id, ErrNotFound) }

// refused says what an insert or an update met.
func (t *tx) refused(noun string, err error) error {
	switch t.engine.fault(err) {
	case taken:
		return fmt.Errorf("the %s %w", noun, ErrExists)
	case orphan:
		return fmt.Errorf("what the %s is to be in: %w", noun, ErrNotFound)
	}
	return err
}

// versioned narrows an update to the version that was read.
func versioned(q *statement, version int64) *statement {
	if version == 0 {
		return q
	}
	return q.and(`AND version = ?`, version)
}

// unmet says why an update or a delete met no row: there is none, or it has another version. The
// query finds the row whatever its version.
func (t *tx) unmet(err error, noun string, id int64, query *statement) error {
	if !errors.Is(err, sql.ErrNoRows) {
		return t.refused(noun, err)
	}
	var version int64
	err = query.row(t.ctx, t).Scan(&version)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return notFound(noun, id)
	case err != nil:
		return err
	}
	return fmt.Errorf("%s %d is at version %d and was %w", noun, id, version, ErrConflict)
}
