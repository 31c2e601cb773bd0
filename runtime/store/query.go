package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
	"github.com/mcpgen/mcpgen/runtime/store/internal/fault"
)

// statement is an SQL statement with its arguments. Parameters are written as question marks.
type statement struct {
	text strings.Builder
	args []any
}

func stmt(text string, args ...any) *statement { return new(statement).and(text, args...) }

// and appends text and arguments.
func (s *statement) and(text string, args ...any) *statement {
	for _, arg := range args {
		before, after, _ := strings.Cut(text, "?")
		s.args = append(s.args, arg)
		fmt.Fprintf(&s.text, "%s$%d", before, len(s.args))
		text = after
	}
	s.text.WriteString(text)
	s.text.WriteByte(' ')
	return s
}

// anyOf appends an IN list. values must not be empty.
func anyOf[T any](s *statement, values []T) *statement {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return s.and(`IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// row runs a statement that returns one row.
func (s *statement) row(ctx context.Context, db querier) *sql.Row {
	return db.QueryRowContext(ctx, s.text.String(), s.args...)
}

// exec runs a statement and returns the number of affected rows.
func (s *statement) exec(ctx context.Context, db querier) (int64, error) {
	result, err := db.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// all runs a statement and reads every row.
func all[T any](ctx context.Context, db querier, s *statement,
	read func(scanner) (T, error)) (found []T, err error) {
	rows, err := db.QueryContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := read(rows)
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}

// every is all with the error explained for a caller of the store.
func every[T any](ctx context.Context, s *Store, db querier, doing string, q *statement,
	read func(scanner) (T, error)) ([]T, error) {
	found, err := all(ctx, db, q, read)
	if err != nil {
		return nil, s.engine.explain(ctx, doing, err)
	}
	return found, nil
}

// moment scans a time in the format of either engine.
type moment struct{ *time.Time }

func (m moment) Scan(value any) error {
	switch v := value.(type) {
	case int64:
		*m.Time = time.UnixMicro(v).UTC()
	case time.Time:
		*m.Time = v.UTC()
	default:
		return fmt.Errorf("%T is not a time", value)
	}
	return nil
}

func readID(row scanner) (id int64, err error) { return id, row.Scan(&id) }

func readName(row scanner) (name string, err error) { return name, row.Scan(&name) }

// sometime scans a time or NULL.
type sometime struct{ *time.Time }

func (s sometime) Scan(value any) error {
	if value == nil {
		*s.Time = time.Time{}
		return nil
	}
	return moment(s).Scan(value)
}

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

// list reads a page of a statement that is ordered by the page's key, and reports whether more rows
// follow.
func list[K cmp.Ordered, T any](ctx context.Context, s *Store, noun string,
	q *statement, page Page[K], read func(scanner) (T, error)) ([]T, bool, error) {
	limit := page.limit()
	found, err := every(ctx, s, s.prepared, "list "+noun, q.and(`LIMIT ?`, limit+1), read)
	if len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, err
}

// statements is the maximum number of prepared statements. Each length of an IN list is a statement
// of its own.
const statements = 64

// prepared is a pool that prepares each statement once per connection. PostgreSQL's driver does so
// by itself.
type prepared struct {
	*sql.DB
	mu   sync.Mutex
	kept map[string]*sql.Stmt // closed with the pool
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}

// statement returns a prepared statement. It returns nil if there is no room or the statement
// cannot be prepared: the pool then returns the error.
func (p *prepared) statement(ctx context.Context, query string) *sql.Stmt {
	p.mu.Lock()
	s, room := p.kept[query], len(p.kept) < statements
	p.mu.Unlock()
	if s != nil || !room {
		return s
	}
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.kept[query]; other != nil {
		s.Close() // prepared by two callers at once
		return other
	}
	p.kept[query] = s
	return s
}

// table is a table of objects that have an id and a version.
type table[T any] struct {
	kind                storechange.Kind
	noun, name, columns string
	read                func(scanner) (T, error)
	// within narrows a statement to the objects of a scope.
	within func(Scope, *statement) *statement
}

// found returns a SELECT of one object in a scope.
func (b table[T]) found(columns string, in Scope, id int64) *statement {
	return b.within(in, stmt(`SELECT `+columns+` FROM `+b.name+` WHERE id = ?`, id))
}

// get reads one object.
func (b table[T]) get(ctx context.Context, s *Store, in Scope, id int64) (T, error) {
	one, err := b.read(b.found(b.columns, in, id).row(ctx, s.prepared))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return one, fmt.Errorf("store: %w", b.missing(id))
	case err != nil:
		return one, s.engine.explain(ctx, "read "+b.noun, err)
	}
	return one, nil
}

// list reads a page of a scope, ordered by id.
func (b table[T]) list(ctx context.Context, s *Store, in Scope, page Page[int64]) (
	[]T, bool, error) {
	q := stmt(`SELECT `+b.columns+` FROM `+b.name+` WHERE id > ?`, page.After)
	return list(ctx, s, nouns(b.noun), b.within(in, q).and(`ORDER BY id`), page, b.read)
}

// current reads an object before its update, and nothing if the version differs: the update then
// returns the error. A concurrent change also changes the version.
func (b table[T]) current(t *tx, in Scope, id, version int64) (T, error) {
	one, err := b.read(versioned(b.found(b.columns, in, id), version).row(t.ctx, t))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return one, err
}

// create runs the INSERT of an object and returns the object. Its place then has at most most of
// them; 0 is no limit.
func (b table[T]) create(ctx context.Context, s *Store, in Scope, most int, by audit.Event,
	insert func(at any) *statement, object func(T) string) (one T, err error) {
	err = s.change(ctx, by, "create "+b.noun, func(t *tx) (_ done, err error) {
		if err := t.owner(in); err != nil {
			return done{}, err
		}
		q := insert(t.engine.moment(t.now)).and(`RETURNING ` + b.columns)
		if one, err = b.read(q.row(t.ctx, t)); err == nil && most > 0 {
			err = t.bounded(in.String(), nouns(b.noun), most,
				b.within(in, stmt(`SELECT id FROM `+b.name+` WHERE TRUE`)))
		}
		return done{b.kind, object(one)}, t.refused(b.noun, err)
	})
	return only(one, err)
}

// modify changes an object that still has the version, and returns it. set adds to the UPDATE.
func (b table[T]) modify(ctx context.Context, s *Store, in Scope, id, version int64, by audit.Event,
	set func(*statement), object func(now, before T) string) (one T, err error) {
	err = s.change(ctx, by, "update "+b.noun, func(t *tx) (done, error) {
		before, err := b.current(t, in, id, version)
		if err != nil {
			return done{}, err
		}
		q := stmt(`UPDATE `+b.name+` SET version = version + 1, updated_at = ?`,
			t.engine.moment(t.now))
		set(q)
		one, err = b.update(t, q, in, id, version)
		return done{b.kind, object(one, before)}, err
	})
	return only(one, err)
}

// remove deletes an object, if it has the version, unless that is 0. It counts for the audit the
// items that are deleted with the object, which is locked before, with the rows of more.
func (b table[T]) remove(ctx context.Context, s *Store, in Scope, id, version int64, by audit.Event,
	object func(T) string, items []countable, more ...func() *statement) error {
	if err := checkVersion(version, 0); err != nil {
		return invalid("delete "+b.noun, err)
	}
	return s.change(ctx, by, "delete "+b.noun, func(t *tx) (done, error) {
		rows := []*statement{b.found(`id`, in, id)}
		for _, row := range more {
			rows = append(rows, row())
		}
		if err := t.hold(rows...); err != nil {
			return done{}, err
		}
		with, err := t.count(items)
		if err != nil {
			return done{}, err
		}
		one, err := b.update(t, stmt(`DELETE FROM `+b.name), in, id, version)
		return done{b.kind, object(one) + with}, err
	})
}

// update runs an UPDATE without its condition and returns the changed object, if it still has the
// version.
func (b table[T]) update(t *tx, q *statement, in Scope, id, version int64) (T, error) {
	q = versioned(b.within(in, q.and(`WHERE id = ?`, id)), version)
	one, err := b.read(q.and(`RETURNING `+b.columns).row(t.ctx, t))
	if !errors.Is(err, sql.ErrNoRows) {
		return one, t.refused(b.noun, err)
	}
	var now int64
	err = b.found(`version`, in, id).row(t.ctx, t).Scan(&now)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return one, b.missing(id)
	case err != nil:
		return one, err
	}
	return one, fmt.Errorf("%s %d is at version %d and was %w", b.noun, id, now, ErrConflict)
}

func (b table[T]) missing(id int64) error {
	return fmt.Errorf("%s %d: %w", b.noun, id, ErrNotFound)
}

// versioned adds a condition for the version. Version 0 matches any.
func versioned(q *statement, version int64) *statement {
	if version == 0 {
		return q
	}
	return q.and(`AND version = ?`, version)
}

// refused translates the error of an insert or an update.
func (t *tx) refused(noun string, err error) error {
	switch t.engine.fault(err) {
	case fault.Taken:
		return fmt.Errorf("the %s %w", noun, ErrExists)
	case fault.Orphan:
		return fmt.Errorf("what the %s is to be in: %w", noun, ErrNotFound)
	}
	return err
}

// countable is a noun with the statement that counts its items.
type countable struct {
	noun  string
	count *statement
}

// count describes for the audit what is deleted with an object, as in ", with 2 teams and 1
// member".
func (t *tx) count(things []countable) (string, error) {
	var counts []string
	for _, thing := range things {
		var n int64
		if err := thing.count.row(t.ctx, t).Scan(&n); err != nil {
			return "", err
		}
		counts = append(counts, plural(n, thing.noun))
	}
	last := len(counts) - 1
	switch last {
	case -1:
		return "", nil
	case 0:
		return ", with " + counts[0], nil
	}
	return ", with " + strings.Join(counts[:last], ", ") + " and " + counts[last], nil
}

func plural(n int64, noun string) string {
	if n != 1 {
		noun = nouns(noun)
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// nouns returns the plural of a noun.
func nouns(noun string) string {
	if stem, y := strings.CutSuffix(noun, "y"); y {
		return stem + "ies"
	}
	return noun + "s"
}
