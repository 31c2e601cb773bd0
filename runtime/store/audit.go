package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Audit returns a sink that keeps events in the store. Record returns once the event is on the disk,
// as far as the engine is configured to say so. Events are never changed or deleted: the database
// itself refuses that.
func (s *Store) Audit() audit.Sink {
	return audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		if err := record(ctx, s.writes, s.engine, e); err != nil {
			return s.engine.explain(ctx, "record an audit event", err)
		}
		return nil
	})
}

func record(ctx context.Context, db asker, engine *engine, e audit.Event) error {
	event, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode the event: %w", err)
	}
	_, err = say(`INSERT INTO audit_events (at, type, status, request_id, issuer, principal, event) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		engine.moment(e.Time.UTC()), keepable(string(e.Type)), keepable(string(e.Status)), keepable(e.RequestID), keepable(e.Issuer), keepable(e.Principal), string(event)).exec(ctx, db)
	return err
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
