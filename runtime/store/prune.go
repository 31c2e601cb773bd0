package store

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// youngest is how old an event is, at least, that may be deleted: by then all that was being
// written before it stands.
const youngest = time.Hour

// pruned is how many events a cut takes at most. They are deleted in one transaction, so that
// a reader of the trail sees all of them or none, and one record for as many is little.
const pruned = 5_000

// PruneEvents deletes the audit events before a time, which must be at least an hour ago, and
// returns their number. It deletes from the oldest record to the first one that is not older, so
// that the trail gets no gaps.
//
// Before it deletes, it records an event with the last record of each chain that it cuts, so that
// the rest of a chain verifies from there. The event is a change like others, sealed by
// [Store.SealBy]. There is one such event for each five thousand records, which are deleted
// together. If the call ends early, a later call continues.
//
// A sealed event vouches for the records that it names. So with a sealer, which must be an
// [audit.Voucher], PruneEvents deletes a record of a chain only if it verifies, from the
// beginning of the chain or from an earlier cut. It refuses other records of chains with
// [ErrInvalid]. It also deletes records without a chain, and copies none of their content. A
// store without a sealer deletes all old records. Its cuts are not sealed, so verification
// reports a gap.
//
// The database refuses to delete records that are newer than the cut. Its owner can make a cut or
// drop the triggers. The chain shows this: a cut without a sealed event is a gap.
//
// On PostgreSQL, a role that only serves cannot prune. Pruning needs DELETE on audit_events, and
// SELECT and INSERT on audit_cuts: use a separate role. If two processes prune at once, one may
// get [ErrConflict].
func (s *Store) PruneEvents(ctx context.Context, before time.Time, by audit.Event) (deleted int64, err error) {
	const doing = "prune audit events"
	if time.Since(before) < youngest {
		return 0, invalid(doing, fmt.Errorf("%s is less than an hour ago: keep younger events: %w",
			before.UTC().Format(time.RFC3339), ErrInvalid))
	}
	var upto, cut int64
	err = say(`SELECT coalesce((SELECT min(id) - 1 FROM audit_events WHERE at >= ?), (SELECT max(id) FROM audit_events), 0), coalesce((SELECT max(upto) FROM audit_cuts), 0)`,
		s.engine.moment(before.UTC())).row(ctx, s.reads).Scan(&upto, &cut)
	if err != nil {
		return 0, s.engine.explain(ctx, doing, err)
	}
	proof, err := s.proof()
	if err != nil {
		return 0, fmt.Errorf("store: %s: %w", doing, err)
	}
	for {
		n, err := s.deleteUpto(ctx, cut) // the first time, what an earlier call did not come to
		if deleted += n; err != nil {
			return deleted, s.engine.explain(ctx, doing, err)
		}
		next, last, err := s.step(ctx, proof, cut, upto)
		switch {
		case known(err):
			return deleted, fmt.Errorf("store: %s: %w", doing, err)
		case err != nil:
			return deleted, s.engine.explain(ctx, doing, err)
		case next == cut:
			return deleted, nil
		}
		by.Cut = last
		err = s.change(ctx, by, doing, func(t *tx) (done, error) {
			if err := t.alone(); err != nil { // or two find the same cut
				return done{}, err
			}
			var newest int64
			if err := say(`SELECT coalesce(max(upto), 0) FROM audit_cuts`).row(ctx, t).Scan(&newest); err != nil {
				return done{}, err
			}
			if newest != cut { // what was read may be gone in part
				return done{}, ErrConflict
			}
			_, err := say(`INSERT INTO audit_cuts (upto, at) VALUES (?, ?)`, next, t.engine.moment(t.now)).exec(ctx, t)
			return done{ChangedAudit, fmt.Sprintf("audit events up to %d", next)}, err
		})
		if err != nil {
			return deleted, err
		}
		cut = next
	}
}

// deleteUpto deletes what a cut took, of which there may be more than one transaction's where an
// earlier version made it.
func (s *Store) deleteUpto(ctx context.Context, cut int64) (deleted int64, err error) {
	for {
		n, err := say(`DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE id <= ? ORDER BY id LIMIT ?)`, cut, pruned).exec(ctx, s.writes)
		deleted += n
		if err != nil || n < pruned {
			return deleted, err
		}
	}
}

// step reads the oldest records after a cut, as many as go at once, and is the id of the newest of
// them, with the last record of each of their chains and what they say of chains that were cut
// before. Without one it is the cut itself.
func (s *Store) step(ctx context.Context, p *proof, cut, upto int64) (next int64, links []audit.Link, err error) {
	type kept struct {
		id   int64
		text string
	}
	rows, err := all(ctx, s.reads, say(`SELECT id, event FROM audit_events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, cut, upto, pruned), func(row scanner) (k kept, err error) {
		return k, row.Scan(&k.id, &k.text)
	})
	if err != nil {
		return 0, nil, err
	}
	next = cut
	last := newest{}
	for _, r := range rows {
		link, cuts, err := p.placeOf(ctx, r.id, r.text)
		if err != nil {
			return 0, nil, err
		}
		if link != nil {
			last.note(*link)
		}
		for _, l := range cuts {
			last.note(l)
		}
		next = r.id
	}
	return next, slices.SortedFunc(maps.Values(last), func(a, b audit.Link) int { return cmp.Compare(a.ID, b.ID) }), nil
}

// newest is the last record of each chain, by the chain's id.
type newest map[string]audit.Link

func (n newest) note(l audit.Link) {
	if l.Seq > n[l.ID].Seq {
		n[l.ID] = audit.Link{ID: l.ID, Seq: l.Seq, MAC: l.MAC}
	}
}
