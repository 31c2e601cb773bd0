package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Recorded is an event in the store, with its id.
type Recorded struct {
	ID int64 // increases, except between records that were written at the same time
	audit.Event
}

// EventFilter selects events. An empty or zero field selects all. Only the first 256 characters
// of a text are compared, in the filter and in events. Type, Status and Failure also find the
// records with the names of earlier versions. An unknown Status or Failure selects no event.
type EventFilter struct {
	Principal, Client, Tool string
	Type                    audit.Type
	Status                  audit.Status
	Failure                 audit.Failure
	RequestID               string
	From, Until             time.Time // From is included, Until is not
}

// choose returns a statement for events that meet a condition and the filter, in the order of their
// ids. The caller adds the limit. Each word of a type or an outcome has a query of its own, so that
// an index has its rows in order.
func (f EventFilter) choose(e *engine, condition, order string, limit int, args ...any) *statement {
	types, outcomes := []string{""}, []string{""}
	if f.Type != "" {
		types = f.Type.Words()
	}
	if f.Status != "" || f.Failure != "" {
		outcomes = audit.OutcomeWords(f.Status, f.Failure)
	}
	if len(types) == 1 && len(outcomes) == 1 {
		return f.query(e, stmt(`SELECT id, event`), types[0], outcomes[0], condition, args).
			and(`ORDER BY id ` + order)
	}
	q := stmt(`SELECT id, event FROM audit_events WHERE id IN (SELECT 0`)
	for _, typ := range types {
		for _, outcome := range outcomes {
			q = f.query(e, q.and(`UNION ALL SELECT id FROM (SELECT id`), typ, outcome, condition,
				args).and(`ORDER BY id `+order+` LIMIT ?) AS one`, limit)
		}
	}
	return q.and(`) ORDER BY id ` + order)
}

// query appends the table, the condition and the filter, with one type and one outcome.
func (f EventFilter) query(e *engine, q *statement, typ, outcome, condition string,
	args []any) *statement {
	q = q.and(`FROM audit_events WHERE `+condition, args...)
	for _, column := range []struct{ name, value string }{
		{"principal", f.Principal}, {"client", f.Client}, {"tool", f.Tool},
		{"type", typ}, {"status", outcome}, {"request_id", f.RequestID},
	} {
		if column.value != "" {
			q = q.and(`AND `+column.name+` = ?`, findable(column.value))
		}
	}
	if !f.From.IsZero() {
		q = q.and(`AND at >= ?`, e.moment(f.From.UTC()))
	}
	if !f.Until.IsZero() {
		q = q.and(`AND at < ?`, e.moment(f.Until.UTC()))
	}
	return q
}

// Events returns a page of the audit trail, in the order of the records' ids, and whether there are
// more.
func (s *Store) Events(ctx context.Context, page Page[int64]) ([]Recorded, bool, error) {
	return list(ctx, s, "audit events",
		stmt(`SELECT id, event FROM audit_events WHERE id > ? ORDER BY id`, page.After), page,
		readEvent)
}

// SearchEvents returns a page of the events of a filter, newest first, and whether there are
// more. Page.After is the id of the last event of the page before.
//
// An intent is left out if the store has its outcome, unless the filter names the request. So
// each call appears once: with its outcome, or with an intent that has none.
func (s *Store) SearchEvents(ctx context.Context, f EventFilter,
	page Page[int64]) ([]Recorded, bool, error) {
	condition, args := `id > 0`, []any(nil)
	if page.After != 0 {
		condition, args = `id < ?`, []any{page.After}
	}
	if f.RequestID == "" {
		condition += ` AND (status <> ? OR NOT EXISTS (SELECT 1 FROM audit_events o
			WHERE o.request_id = audit_events.request_id AND o.type = audit_events.type
				AND o.status <> ?))`
		args = append(args, string(audit.Intent), string(audit.Intent))
	}
	return list(ctx, s, "audit events",
		f.choose(s.engine, condition, "DESC", page.limit()+1, args...), page, readEvent)
}

func readEvent(row scanner) (r Recorded, err error) {
	var event string
	if err := row.Scan(&r.ID, &event); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(event), &r.Event)
}

// texts calls yield with each record of a statement.
func (s *Store) texts(ctx context.Context, q *statement,
	yield func(string) (more bool, err error)) error {
	rows, err := s.reads.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if more, err := yield(text); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// recent is the number of records that LastEvent reads.
const recent = 10_000

// LastEvent returns the text of the newest chained record of a replica, with which its next chain
// begins. It returns nil if none of the newest ten thousand records is one.
func (s *Store) LastEvent(ctx context.Context, replica string) (last []byte, err error) {
	err = s.texts(ctx, stmt(`SELECT event FROM audit_events ORDER BY id DESC LIMIT ?`, recent),
		func(text string) (bool, error) {
			link, _, err := placeOf(text)
			if err == nil && link != nil && strings.HasPrefix(link.ID, replica+".") {
				last = []byte(text)
			}
			return last == nil, err
		})
	if err != nil {
		return nil, s.engine.explain(ctx, "read the last audit event", err)
	}
	return last, nil
}

const (
	// exportRows and exportBytes limit one read of an export. The last record may exceed the bytes.
	exportRows  = 1_000
	exportBytes = 1 << 20
	// exportWrite is the size of one write, and so of the reader's time limit.
	exportWrite = 64 << 10
	// settled is a number of newer records after which all writers of a record have ended. An
	// export lists the ids of the newer ones at its start.
	settled = 10_000
)

var errPruned = errors.New(
	"the oldest records are being deleted, so the export has a gap: export again afterwards")

// ExportEvents writes the events of a filter as lines of JSON, in the order of their ids, from
// one snapshot, and returns their number. All events of a trail verify as the output of a chain's
// sink. A part of them has gaps.
//
// ExportEvents reads a megabyte or a thousand events at a time, and holds no connection to the
// database during writes to w. If records that are still to be written are pruned meanwhile, it
// returns an error, and the output is not complete.
func (s *Store) ExportEvents(ctx context.Context, w io.Writer, f EventFilter) (int64, error) {
	n, err := s.exportEvents(ctx, w, f)
	if err != nil {
		return n, s.engine.explain(ctx, "export audit events", err)
	}
	return n, nil
}

func (s *Store) exportEvents(ctx context.Context, w io.Writer, f EventFilter) (n int64, err error) {
	// Read the oldest record first, to detect its deletion later.
	var oldest int64
	if err := stmt(`SELECT coalesce(min(id), 0) FROM audit_events`).row(ctx, s.reads).Scan(
		&oldest); err != nil || oldest == 0 {
		return 0, err
	}
	m, err := s.recordsNow(ctx)
	if err != nil {
		return 0, err
	}
	for p := (part{more: true}); p.more; {
		if p, err = s.exportPart(ctx, f, m, p.last); err != nil {
			return n, err
		}
		// Records are deleted from the oldest on: if this one exists, all newer ones do.
		if err := s.checkPresent(ctx, oldest); err != nil {
			return n, err
		}
		if p.last > 0 {
			oldest = p.last
		}
		n += p.rows
		for out := range slices.Chunk(p.text.Bytes(), exportWrite) {
			if _, err := w.Write(out); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// checkPresent returns an error if a record was deleted.
func (s *Store) checkPresent(ctx context.Context, id int64) error {
	var there int64
	err := stmt(`SELECT id FROM audit_events WHERE id = ?`, id).row(ctx, s.reads).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return errPruned
	}
	return err
}

// recordsAt are the records at one moment: all below from, and the noted ones. A transaction that
// was open then may commit an id between theirs, because PostgreSQL assigns ids at the insert.
type recordsAt struct {
	from, upto int64
	noted      map[int64]bool
}

func (m recordsAt) has(id int64) bool { return id < m.from || m.noted[id] }

func (s *Store) recordsNow(ctx context.Context) (recordsAt, error) {
	newest, err := all(ctx, s.reads, stmt(`SELECT id FROM audit_events ORDER BY id DESC LIMIT ?`,
		settled), readID)
	if err != nil || len(newest) == 0 {
		return recordsAt{}, err
	}
	m := recordsAt{newest[len(newest)-1], newest[0], make(map[int64]bool, len(newest))}
	for _, id := range newest {
		m.noted[id] = true
	}
	return m, nil
}

// part is a piece of an export.
type part struct {
	text bytes.Buffer
	rows int64
	last int64 // id of the last record
	more bool  // there may be more
}

// exportPart reads the records after an id.
func (s *Store) exportPart(ctx context.Context, f EventFilter, m recordsAt, after int64) (
	p part, err error) {
	q := f.choose(s.engine, `id > ? AND id <= ?`, "", exportRows, after, m.upto).
		and(`LIMIT ?`, exportRows)
	rows, err := s.reads.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return p, err
	}
	defer rows.Close()
	p.last = after
	for read := 0; rows.Next(); {
		var event string
		if err := rows.Scan(&p.last, &event); err != nil {
			return p, err
		}
		if m.has(p.last) {
			p.text.WriteString(event)
			p.text.WriteByte('\n')
			p.rows++
		}
		if read++; read == exportRows || p.text.Len() >= exportBytes {
			p.more = true
			return p, rows.Close()
		}
	}
	return p, rows.Err()
}
