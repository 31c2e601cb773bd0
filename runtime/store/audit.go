package store

import (
	"cmp"
	"context"
	"database/sql"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store/internal/fault"
	"github.com/mcpgen/mcpgen/runtime/store/internal/sqlite"
)

// Audit returns a sink that keeps events in the store. It is an [audit.BatchSink]. Record returns
// when the event is committed, as durably as the engine is configured. Events that arrive during
// a write share the next transaction. The database refuses to change events, and deletes them for
// [Store.PruneEvents] only. The sink is ready while [Store.Ping] returns nil. If ctx ends first,
// the event may still be kept.
func (s *Store) Audit() audit.Sink { return sink{s} }

// SealBy adds the events of changes to the chain in front of the sink, so that they verify like
// all other events. Call it before the first change.
func (s *Store) SealBy(sealer audit.Sealer) { s.sealer = sealer }

type sink struct{ *Store }

func (s sink) Record(ctx context.Context, e audit.Event) error {
	text, err := e.Encode(0)
	if err == nil {
		err = s.together.Do(ctx, audit.Encoded{Event: &e, Text: text})
	}
	if err != nil {
		return s.engine.explain(ctx, "record an audit event", err)
	}
	return nil
}

// OnlyWaits implements [audit.WaitingSink].
func (sink) OnlyWaits() {}

// Ready implements [audit.ReadySink].
func (s sink) Ready(ctx context.Context) error { return s.Ping(ctx) }

func (s sink) RecordBatch(ctx context.Context, events []audit.Event) error {
	rows, err := encoded(events)
	if err != nil {
		return s.engine.explain(ctx, "record audit events", err)
	}
	return s.RecordEncoded(ctx, rows)
}

// RecordEncoded implements [audit.EncodedSink].
func (s sink) RecordEncoded(ctx context.Context, rows []audit.Encoded) error {
	if err := s.together.Alone(ctx, func() error { return s.keep(ctx, rows) }); err != nil {
		return s.engine.explain(ctx, "record audit events", err)
	}
	return nil
}

func encoded(events []audit.Event) ([]audit.Encoded, error) {
	rows := make([]audit.Encoded, len(events))
	for i := range events {
		text, err := events[i].Encode(0)
		if err != nil {
			return nil, err
		}
		rows[i] = audit.Encoded{Event: &events[i], Text: text}
	}
	return rows, nil
}

// batch is the maximum number of events in one transaction.
const batch = 256

// columns are the search keys of an event and its text, in the order of rowColumns after the time.
const columns = 8

// keysOf returns the search keys of an event. The status is the event's Failure, or its Status
// without one: see [audit.Status.Words].
func keysOf(e *audit.Event) [columns - 1]string {
	keys := [...]string{string(e.Type), cmp.Or(string(e.Failure), string(e.Status)), e.RequestID,
		e.Issuer, e.Principal, e.Client, e.Tool}
	for i, key := range keys {
		keys[i] = findable(key)
	}
	return keys
}

// searched is the maximum number of characters of a search key: an index of PostgreSQL holds about
// 2,700 bytes, and a caller's name may be longer. Migration 5 has the same number.
const searched = 256

// findable returns the search key of a text.
func findable(text string) string {
	text = keepable(text)
	n := 0
	for i := range text {
		if n == searched {
			return text[:i]
		}
		n++
	}
	return text
}

const (
	rowColumns = `at, type, status, request_id, issuer, principal, client, tool, event`
	insertInto = `INSERT INTO audit_events (` + rowColumns + `) `
	insertRow  = insertInto + `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)

// appendRow appends the parameters of insertRow.
func appendRow(args []any, e *engine, r audit.Encoded) []any {
	args = append(args, e.moment(r.Event.Time.UTC()))
	for _, key := range keysOf(r.Event) {
		args = append(args, key)
	}
	return append(args, string(r.Text))
}

// keepEach writes events, together if the database accepts them all. An event that it refuses is no
// error of the others.
func (s *Store) keepEach(ctx context.Context, rows []audit.Encoded) error {
	err := s.keep(ctx, rows)
	if len(rows) == 1 || s.engine.fault(err) != fault.Unfit {
		return err
	}
	var errs groupcommit.Errors
	for _, half := range [][]audit.Encoded{rows[:len(rows)/2], rows[len(rows)/2:]} {
		err := s.keepEach(ctx, half)
		if each, ok := err.(groupcommit.Errors); ok {
			errs = append(errs, each...)
			continue
		}
		errs = append(errs, slices.Repeat([]error{err}, len(half))...)
	}
	return errs
}

// keep writes events in one transaction, all or none, because each commit costs a disk write.
func (s *Store) keep(ctx context.Context, rows []audit.Encoded) error {
	select {
	case <-s.closing.Done():
		return ErrClosed
	default:
	}
	if _, ends := ctx.Deadline(); !ends {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 2*sqlite.Busy)
		defer cancel()
	}
	err := s.engine.present()
	if err == nil {
		err = s.engine.insert(ctx, s.writes, rows)
	}
	s.unsure.Store(err != nil)
	return err
}

// sqliteInsert returns a function that writes events with statements for several events each. They
// stay prepared. Their number of events is a power of two, so that there are few of them.
func sqliteInsert(e *engine) func(ctx context.Context, db *sql.DB, rows []audit.Encoded) error {
	kept := map[int]*sql.Stmt{}
	size := func(rows int) int { return 1 << (bits.Len(uint(min(rows, batch))) - 1) }
	return func(ctx context.Context, db *sql.DB, rows []audit.Encoded) error {
		// A transaction has the only connection, so it prepares nothing.
		for left := len(rows); left > 0; left -= size(left) {
			if n := size(left); kept[n] == nil {
				insert, err := db.PrepareContext(ctx, insertInto+`VALUES (`+
					strings.Repeat(`?, ?, ?, ?, ?, ?, ?, ?, ?), (`, n-1)+
					`?, ?, ?, ?, ?, ?, ?, ?, ?)`)
				if err != nil {
					return err
				}
				kept[n] = insert
			}
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // nothing once it is committed
		var args []any
		for len(rows) > 0 {
			n := size(len(rows))
			args = args[:0]
			for _, r := range rows[:n] {
				args = appendRow(args, e, r)
			}
			if _, err := tx.StmtContext(ctx, kept[n]).ExecContext(ctx, args...); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return e.commit(tx)
	}
}

// postgresInsert writes events with one statement of constant text. Ids are in the events' order.
func postgresInsert(ctx context.Context, db *sql.DB, rows []audit.Encoded) error {
	const insert = insertInto + `SELECT ` + rowColumns + `
		FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[],
			$7::text[], $8::text[], $9::text[])
			WITH ORDINALITY AS r (` + rowColumns + `, place) ORDER BY place`
	times := make([]time.Time, len(rows))
	var texts [columns][]string
	for i, r := range rows {
		times[i] = r.Event.Time
		keys := keysOf(r.Event)
		for c, text := range append(keys[:], string(r.Text)) {
			texts[c] = append(texts[c], text)
		}
	}
	args := []any{times}
	for _, column := range texts {
		args = append(args, column)
	}
	_, err := db.ExecContext(ctx, insert, args...)
	return err
}
