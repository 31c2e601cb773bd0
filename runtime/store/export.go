package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"slices"
)

const (
	// exportRows and exportBytes are how much of an export is read by one statement, and kept while
	// its reader takes it: a record goes over the bytes, and none begins beyond them.
	exportRows  = 1_000
	exportBytes = 1 << 20
	// exportWrite is how much of it is written at once, for which a reader has its time.
	exportWrite = 64 << 10
	// settled is how many records are newer, at least, than one whose writer has certainly come to
	// its end: of those that are not, it is noted which are there when an export begins.
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
	// The oldest first: what is deleted after it is known is missed.
	var stands int64
	if err := say(`SELECT coalesce(min(id), 0) FROM audit_events`).row(ctx, s.reads).Scan(
		&stands); err != nil || stands == 0 {
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
		// They are deleted from the oldest on: nothing that is newer than one which is there was.
		if err := s.still(ctx, stands); err != nil {
			return n, err
		}
		if p.last > 0 {
			stands = p.last
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

// still is an error where a record is no longer there.
func (s *Store) still(ctx context.Context, id int64) error {
	var there int64
	err := say(`SELECT id FROM audit_events WHERE id = ?`, id).row(ctx, s.reads).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return errPruned
	}
	return err
}

// recordsAt are the records that there were at a moment: all below from, and of the others those
// that are noted. A writer that was on its way then may come to stand with an id between theirs: on
// PostgreSQL ids are in the order in which records were begun.
type recordsAt struct {
	from, upto int64
	noted      map[int64]bool
}

func (m recordsAt) has(id int64) bool { return id < m.from || m.noted[id] }

func (s *Store) recordsNow(ctx context.Context) (recordsAt, error) {
	newest, err := all(ctx, s.reads, say(`SELECT id FROM audit_events ORDER BY id DESC LIMIT ?`,
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
	last int64 // the id of its last record
	more bool  // there may be
}

// exportPart reads what comes after a record.
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
