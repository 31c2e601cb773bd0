package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// attempts is how often a change is tried if it conflicts with another transaction.
const attempts = 5

const (
	revisionQuery = `SELECT revision FROM store_revision WHERE id = 1`
	epochQuery    = `SELECT revision, epoch FROM store_revision WHERE id = 1`
)

// change runs do in one transaction, records its event there, and announces the change after the
// commit. The event names the caller: Issuer, Principal, Client, Role, RequestID and, by name and
// digest, Arguments. change fills in the action and the object.
//
// If ctx or the connection ends during the commit, the change may be committed although change
// returns an error.
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
				s.feed.each(func(box *mailbox) { box.put(c, c.Revision) })
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
	do func(tx *tx) (done, error)) (c storechange.Change, err error) {
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
		err = once(func(w written) error { return w.commit(ctx, w.event) })
	case s.engine.oneWriter:
		// Writers of the chain wait for the only connection that writes. So its holder must not
		// wait for the chain.
		err = s.sealer.Seal(ctx, func(seal seal) error {
			return once(func(w written) error { return w.seal(ctx, seal) })
		})
	default:
		// Take the chain last, so that waiting for locks blocks no event, and its holder waits for
		// none. A connection is free for the chain's writers because changes use a limited number.
		err = once(func(w written) error {
			return s.sealer.Seal(ctx, func(seal seal) error { return w.seal(ctx, seal) })
		})
	}
	return c, err
}

// begin begins a durable transaction.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	tx, err := s.writes.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	err = s.engine.present()
	if err == nil {
		err = s.engine.hurry(ctx, tx)
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// written is a change before its event and its commit.
type written struct {
	*tx
	change storechange.Change
	event  audit.Event
}

// prepare does the part of a change that may wait for locks.
func (s *Store) prepare(ctx context.Context, begun *sql.Tx, by audit.Event, action string,
	do func(tx *tx) (done, error)) (written, error) {
	t := &tx{begun, ctx, s.engine, now(), s.limits}
	did, err := do(t)
	if err != nil {
		return written{}, err
	}
	c := storechange.Change{Kind: did.kind}
	by.Type, by.Status, by.Action, by.Object = audit.Changed, audit.Success, action, did.object
	if by.Time.IsZero() {
		by.Time = t.now
	}
	// Last, because its row stays locked until the transaction ends. So revisions are in the order
	// of commits. The holder waits only for the chain, whose holder waits for no lock.
	if err := stmt(`UPDATE store_revision SET revision = revision + 1, epoch = ? WHERE id = 1 `+
		`RETURNING revision`, newEpoch()).row(ctx, t).Scan(&c.Revision); err != nil {
		return written{}, err
	}
	if s.engine.announce != nil {
		payload, err := json.Marshal(c)
		if err != nil {
			return written{}, err
		}
		if err := s.engine.announce(ctx, begun, channel, string(payload)); err != nil {
			return written{}, err
		}
	}
	return written{t, c, by}, nil
}

// newEpoch returns a random number that distinguishes two changes of the same revision.
func newEpoch() int64 {
	var random [8]byte
	rand.Read(random[:]) // never fails
	return int64(binary.BigEndian.Uint64(random[:]))
}

// seal seals the event and commits it with the change.
func (w written) seal(ctx context.Context, seal func(audit.Event) (audit.Event, error)) error {
	event, err := seal(w.event)
	if err != nil {
		return err
	}
	return w.commit(ctx, event)
}

// commit inserts the event and commits it with the change.
func (w written) commit(ctx context.Context, event audit.Event) error {
	text, err := event.Encode(0)
	if err != nil {
		return err
	}
	row := appendRow(nil, w.engine, audit.Encoded{Event: &event, Text: text})
	if _, err := w.ExecContext(ctx, insertRow, row...); err != nil {
		return err
	}
	return w.engine.commit(w.Tx)
}

// only returns the result of a change, or the zero value if the change failed.
func only[T any](made T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return made, nil
}

// known reports whether an error is one of this package's, with a text of its own.
func known(err error) bool {
	for _, own := range []error{
		ErrNotFound, ErrExists, ErrConflict, ErrLimit, ErrInvalid,
		grant.ErrUnknown, grant.ErrDecided, grant.ErrTooMany, grant.ErrInvalid, grant.ErrFull,
	} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// done is the result of a change: its kind for followers, and its object for the audit.
//
// The object contains the full names of organisations, teams, catalogs and tools, and issuers and
// subjects, because the record of a deletion is the last with them. They are no secrets.
// Descriptions are not in it. Each name is quoted, so that none reads like another object.
type done struct {
	kind   storechange.Kind
	object string
}

// hold locks rows until the transaction ends: no other transaction can add an item to an object
// after its items are counted. On SQLite no other transaction can write.
func (t *tx) hold(rows ...*statement) error {
	for _, q := range rows {
		if _, err := all(t.ctx, t, q.and(t.engine.forUpdate), readID); err != nil {
			return err
		}
	}
	return nil
}
