package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Audit returns a sink that keeps events in the store. Record returns once the event is on the disk,
// as far as the engine is configured to say so. Events are never changed or deleted: the database
// itself refuses that. When ctx ends first, the event may be kept nonetheless.
func (s *Store) Audit() audit.Sink {
	return audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		err := s.keep(ctx, e)
		if err != nil {
			return s.engine.explain(ctx, "record an audit event", err)
		}
		return nil
	})
}

func (s *Store) keep(ctx context.Context, e audit.Event) error {
	q, err := recording(s.engine, e)
	if err != nil {
		return err
	}
	if s.together == nil {
		_, err := q.exec(ctx, s.writes)
		return err
	}
	w := waiting{ctx, q, make(chan error, 1)}
	select {
	case s.together <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.closing.Done():
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batch is how many events go to the disk at once, at most.
const batch = 256

// waiting is an event that waits for its turn.
type waiting struct {
	ctx  context.Context
	q    *statement
	done chan error // of size one: nobody may be left to take it
}

// left reports whether the caller has left, who is not told that its event is kept then.
func (w waiting) left() bool {
	err := w.ctx.Err()
	if err != nil {
		w.done <- err
	}
	return err != nil
}

// keepTogether writes the events that come while others are being written in one transaction, since it is the
// disk that takes the time. PostgreSQL does so by itself. It ends with the store.
func (s *Store) keepTogether() {
	for {
		select {
		case w := <-s.together:
			some := slices.DeleteFunc(s.come([]waiting{w}), waiting.left)
			err := s.keepAll(some)
			for _, w := range some {
				w.done <- err
			}
		case <-s.closing.Done():
			return
		}
	}
}

// come adds those who wait by now.
func (s *Store) come(some []waiting) []waiting {
	for len(some) < batch {
		select {
		case w := <-s.together:
			some = append(some, w)
		default:
			return some
		}
	}
	return some
}

func (s *Store) keepAll(some []waiting) error {
	// No caller's context ends it: it is the others' as well. What it waits for is bounded.
	ctx, cancel := context.WithTimeout(context.Background(), 2*busy)
	defer cancel()
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing once it is committed
	for _, w := range some {
		if _, err := w.q.exec(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// recording is the statement that keeps an event.
func recording(engine *engine, e audit.Event) (*statement, error) {
	event, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	return say(`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		engine.moment(e.Time.UTC()), keepable(string(e.Type)), keepable(string(e.Status)), keepable(e.RequestID), keepable(e.Issuer), keepable(e.Principal), string(event)), nil
}

// Recorded is an event that the store keeps.
type Recorded struct {
	ID int64 // later records have higher ones, but for ones that were written at the same time
	audit.Event
}

// Events returns a page of the audit trail, in the order of the records' ids, and whether there are more.
func (s *Store) Events(ctx context.Context, page Page[int64]) ([]Recorded, bool, error) {
	return list(ctx, s, "audit events", say(`SELECT id, event FROM audit_events WHERE id > ? ORDER BY id`, page.After), page, readEvent)
}

func readEvent(row scanner) (r Recorded, err error) {
	var event string
	if err := row.Scan(&r.ID, &event); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(event), &r.Event)
}
