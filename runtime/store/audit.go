package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
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
	row, err := rowOf(e)
	if err == nil {
		err = s.together.Do(ctx, row)
	}
	if err != nil {
		return s.engine.explain(ctx, "record an audit event", err)
	}
	return nil
}

// Ready implements [audit.ReadySink].
func (s sink) Ready(ctx context.Context) error { return s.Ping(ctx) }

func (s sink) RecordBatch(ctx context.Context, events []audit.Event) error {
	rows := make([]row, len(events))
	for i, e := range events {
		var err error
		if rows[i], err = rowOf(e); err != nil {
			return s.engine.explain(ctx, "record audit events", err)
		}
	}
	if err := s.together.Alone(ctx, func() error { return s.keep(ctx, rows) }); err != nil {
		return s.engine.explain(ctx, "record audit events", err)
	}
	return nil
}

// batch is the maximum number of events in one transaction.
const batch = 256

func newTogether(s *Store) *groupcommit.Group[row] {
	return groupcommit.New(batch, s.keepEach)
}

// row is an event in the database: the record's text and its search keys. status is the event's
// Failure, or its Status without one: see [audit.OutcomeWords].
type row struct {
	at                                                          time.Time
	typ, status, request, issuer, principal, client, tool, text string
}

func rowOf(e audit.Event) (row, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return row{}, fmt.Errorf("encode the event: %w", err)
	}
	return row{
		e.Time.UTC(), findable(string(e.Type)),
		findable(cmp.Or(string(e.Failure), string(e.Status))), findable(e.RequestID),
		findable(e.Issuer), findable(e.Principal),
		findable(e.Client), findable(e.Tool), string(text),
	}, nil
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
	insertRow  = `INSERT INTO audit_events (` + rowColumns +
		`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)

func (r row) values(e *engine) []any {
	return []any{e.moment(r.at), r.typ, r.status, r.request, r.issuer, r.principal, r.client,
		r.tool, r.text}
}

// keepEach writes events, together if the database accepts them all. An event that it refuses is no
// error of the others.
func (s *Store) keepEach(ctx context.Context, rows []row) error {
	err := s.keep(ctx, rows)
	if len(rows) == 1 || s.engine.fault(err) != fault.Unfit {
		return err
	}
	var errs groupcommit.Errors
	for _, half := range [][]row{rows[:len(rows)/2], rows[len(rows)/2:]} {
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
func (s *Store) keep(ctx context.Context, rows []row) error {
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

// sqliteInsert writes events with one prepared statement.
func sqliteInsert(e *engine) func(ctx context.Context, db *sql.DB, rows []row) error {
	return func(ctx context.Context, db *sql.DB, rows []row) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // nothing once it is committed
		insert, err := tx.PrepareContext(ctx, insertRow)
		if err != nil {
			return err
		}
		defer insert.Close()
		for _, r := range rows {
			if _, err := insert.ExecContext(ctx, r.values(e)...); err != nil {
				return err
			}
		}
		return e.commit(tx)
	}
}

// postgresInsert writes events with one statement of constant text. Ids are in the events' order.
func postgresInsert(ctx context.Context, db *sql.DB, rows []row) error {
	columns := make([][]string, 8)
	times := make([]time.Time, len(rows))
	for i, r := range rows {
		times[i] = r.at
		for k, text := range []string{r.typ, r.status, r.request, r.issuer, r.principal, r.client,
			r.tool, r.text} {
			columns[k] = append(columns[k], text)
		}
	}
	args := []any{times}
	for _, c := range columns {
		args = append(args, c)
	}
	_, err := db.ExecContext(ctx, `INSERT INTO audit_events (`+rowColumns+`)
		SELECT `+rowColumns+` FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[],
			$5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
			WITH ORDINALITY AS r (`+rowColumns+`, place) ORDER BY place`, args...)
	return err
}
