package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Recorded is an event in the store, with its id.
type Recorded struct {
	ID int64 // later records have higher ones, but for ones that were written at the same time
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
	From, Until             time.Time // the first moment, and the first one that is too late
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
		return f.query(e, say(`SELECT id, event`), types[0], outcomes[0], condition, args).
			and(`ORDER BY id ` + order)
	}
	q := say(`SELECT id, event FROM audit_events WHERE id IN (SELECT 0`)
	for _, typ := range types {
		for _, outcome := range outcomes {
			q = f.query(e, q.and(`UNION ALL SELECT id FROM (SELECT id`), typ, outcome, condition,
				args).and(`ORDER BY id `+order+` LIMIT ?) AS one`, limit)
		}
	}
	return q.and(`) ORDER BY id ` + order)
}

// query adds the table, the condition and the filter, with one type and one outcome, to a query.
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
		say(`SELECT id, event FROM audit_events WHERE id > ? ORDER BY id`, page.After), page,
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

// texts calls yield with the records that a statement gives, one after the other.
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

// recent is how many records LastEvent looks at.
const recent = 10_000

// LastEvent returns the text of the newest chained record of a replica, with which its next chain
// begins. It returns nil if none of the newest ten thousand records is one.
func (s *Store) LastEvent(ctx context.Context, replica string) (last []byte, err error) {
	err = s.texts(ctx, say(`SELECT event FROM audit_events ORDER BY id DESC LIMIT ?`, recent),
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

// placeOf reads a record's place in its chain, and what it says was cut.
func placeOf(text string) (*audit.Link, []audit.Link, error) {
	var r struct {
		Chain *audit.Link  `json:"chain"`
		Cut   []audit.Link `json:"cut"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, nil, fmt.Errorf("a record is not JSON: %w", err)
	}
	return r.Chain, r.Cut, nil
}
