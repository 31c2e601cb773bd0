package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// attempts is how often a change is tried that an engine refuses for the sake of another one.
const attempts = 5

const (
	revisionQuery = `SELECT revision FROM store_revision WHERE id = 1`
	epochQuery    = `SELECT revision, epoch FROM store_revision WHERE id = 1`
)

// change does something in one transaction, records it with it, and announces it once it stands.
// The event says who asked: Issuer, Principal, Client, Role, RequestID and, by name and digest,
// Arguments. What was done to what is filled in here.
//
// When ctx ends while the transaction is being committed, or the connection does, the change may
// stand nonetheless: the error says neither.
func (s *Store) change(ctx context.Context, by audit.Event, action string,
	do func(tx *tx) (done, error)) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return s.engine.explain(ctx, action, ctx.Err())
	}
	for attempt := 1; ; attempt++ {
		c, err := s.attempt(ctx, by, action, do)
		switch {
		case err == nil:
			s.unsure.Store(false)
			if s.engine.announce == nil {
				s.feed.publish(c)
			}
			return nil
		case known(err):
			return fmt.Errorf("store: %s: %w", action, err)
		case s.engine.fault(err) != again || attempt == attempts:
			s.unsure.Store(true)
			return s.engine.explain(ctx, action, err)
		}
	}
}

// tx is a transaction with its context and its time.
type tx struct {
	*sql.Tx
	ctx    context.Context
	engine *engine
	now    time.Time
	limits limits
}

func (s *Store) attempt(ctx context.Context, by audit.Event, action string,
	do func(tx *tx) (done, error)) (c Change, err error) {
	once := func(finish func(w written) error) error {
		begun, err := s.begin(ctx)
		if err != nil {
			return err
		}
		defer begun.Rollback() // nothing once it is committed
		w, err := s.prepare(ctx, begun, by, action, do)
		if err != nil {
			return err
		}
		c = w.change
		return finish(w)
	}
	type seal = func(audit.Event) (audit.Event, error)
	switch {
	case s.sealer == nil:
		err = once(func(w written) error { return w.stand(ctx, w.event) })
	case s.engine.oneWriter:
		// What is being written to the chain waits for the one connection that writes: its
		// holder must not wait for the chain.
		err = s.sealer.Seal(ctx, func(seal seal) error {
			return once(func(w written) error { return w.seal(ctx, seal) })
		})
	default:
		// The chain comes last: what waits for others' transactions holds up no event, and the
		// holder of the chain waits for none. There is a connection for what is being written to the
		// chain, since changes have only so many.
		err = once(func(w written) error {
			return s.sealer.Seal(ctx, func(seal seal) error { return w.seal(ctx, seal) })
		})
	}
	return c, err
}

// begin begins a transaction whose changes outlast the process.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	err = s.engine.there()
	if err == nil && s.engine.hurry != nil {
		err = s.engine.hurry(ctx, tx)
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// written is a change that is made, but for its event, and not committed yet.
type written struct {
	*tx
	change Change
	event  audit.Event
}

// prepare does all of a change that may wait for others' transactions.
func (s *Store) prepare(ctx context.Context, begun *sql.Tx, by audit.Event, action string,
	do func(tx *tx) (done, error)) (written, error) {
	t := &tx{begun, ctx, s.engine, now(), s.limits}
	did, err := do(t)
	if err != nil {
		return written{}, err
	}
	c := Change{Kind: did.kind}
	by.Type, by.Status, by.Action, by.Object = audit.Changed, audit.Success, action, did.object
	if by.Time.IsZero() {
		by.Time = t.now
	}
	// Last, since its row is locked until the transaction ends: revisions are in the order of
	// commits, and its holder waits only for the chain, whose holder waits for no lock.
	if err := t.QueryRowContext(ctx,
		`UPDATE store_revision SET revision = revision + 1, epoch = $1 WHERE id = 1 RETURNING revision`, newEpoch()).Scan(&c.Revision); err != nil {
		return written{}, err
	}
	if s.engine.announce != nil {
		payload, err := json.Marshal(c)
		if err != nil {
			return written{}, err
		}
		if err := s.engine.announce(ctx, begun, string(payload)); err != nil {
			return written{}, err
		}
	}
	return written{t, c, by}, nil
}

// newEpoch is a number that distinguishes two changes of the same revision.
func newEpoch() int64 {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return int64(binary.BigEndian.Uint64(random[:]))
}

// seal has the change's event sealed, and the change stand with it.
func (w written) seal(ctx context.Context, seal func(audit.Event) (audit.Event, error)) error {
	event, err := seal(w.event)
	if err != nil {
		return err
	}
	return w.stand(ctx, event)
}

// stand keeps the change's event and commits both.
func (w written) stand(ctx context.Context, event audit.Event) error {
	row, err := rowOf(event)
	if err != nil {
		return err
	}
	if _, err := w.ExecContext(ctx, insertRow, row.values(w.engine)...); err != nil {
		return err
	}
	return w.engine.commit(w.Tx)
}

// statement is a statement with its arguments. Parameters are written as question marks.
type statement struct {
	text strings.Builder
	args []any
}

func say(text string, args ...any) *statement { return new(statement).and(text, args...) }

// and adds to it.
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

// anyOf adds a list of values, of which there is one at least.
func anyOf[T any](s *statement, values []T) *statement {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return s.and(`IN (?`+strings.Repeat(`, ?`, len(args)-1)+`)`, args...)
}

// asker is a pool or a transaction.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// row runs a statement that gives one row.
func (s *statement) row(ctx context.Context, db asker) *sql.Row {
	return db.QueryRowContext(ctx, s.text.String(), s.args...)
}

// exec runs a statement and says how many rows it met.
func (s *statement) exec(ctx context.Context, db asker) (int64, error) {
	result, err := db.ExecContext(ctx, s.text.String(), s.args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

// all runs a statement and reads every row it gives.
func all[T any](ctx context.Context, db asker, s *statement,
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

// moment scans a time as either engine keeps it.
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
