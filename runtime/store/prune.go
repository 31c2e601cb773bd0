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

// youngest is how old an event is, at least, that may be deleted: by then all that was being written before it stands.
const youngest = time.Hour

// pruned is how many events are deleted in one transaction.
const pruned = 5_000

// PruneEvents deletes the audit events before a moment, which is an hour ago at the latest, and says how many. It deletes
// from the oldest record on, up to the first one that is not older: no gap comes about.
//
// What goes is recorded before anything is deleted, by an event that names the last record of each chain that goes, so
// that a chain verifies from there on; it is a change like others, sealed by [Store.SealBy]. The database lets nothing be
// deleted that is younger than such a cut. It does not stop its owner, who can make a cut, or drop the
// triggers: that is what the chain is for, in which a cut that no sealed event names is a gap.
//
// On PostgreSQL a role that only serves cannot: pruning needs DELETE on audit_events and SELECT and INSERT on audit_cuts
// besides, and is best left to a role of its own.
//
// Where it ends early, the next call deletes the rest.
func (s *Store) PruneEvents(ctx context.Context, before time.Time, by audit.Event) (int64, error) {
	const doing = "prune audit events"
	if time.Since(before) < youngest {
		return 0, invalid(doing, fmt.Errorf("%s is less than an hour ago: keep what is younger: %w", before.UTC().Format(time.RFC3339), ErrInvalid))
	}
	var upto, cut int64
	err := say(`SELECT coalesce((SELECT min(id) - 1 FROM audit_events WHERE at >= ?), (SELECT max(id) FROM audit_events), 0), coalesce((SELECT max(upto) FROM audit_cuts), 0)`,
		s.engine.moment(before.UTC())).row(ctx, s.reads).Scan(&upto, &cut)
	if err != nil {
		return 0, s.engine.explain(ctx, doing, err)
	}
	if upto > cut {
		if by.Cut, err = s.lastOf(ctx, upto); err != nil {
			return 0, s.engine.explain(ctx, doing, err)
		}
		err := s.change(ctx, by, doing, func(t *tx) (done, error) {
			_, err := say(`INSERT INTO audit_cuts (upto, at) VALUES (?, ?)`, upto, t.engine.moment(t.now)).exec(ctx, t)
			return done{ChangedAudit, fmt.Sprintf("audit events up to %d", upto)}, err
		})
		if err != nil {
			return 0, err
		}
		cut = upto
	}
	var deleted int64
	for {
		n, err := say(`DELETE FROM audit_events WHERE id IN (SELECT id FROM audit_events WHERE id <= ? ORDER BY id LIMIT ?)`, cut, pruned).exec(ctx, s.writes)
		deleted += n
		if err != nil {
			return deleted, s.engine.explain(ctx, doing, err)
		}
		if n < pruned {
			return deleted, nil
		}
	}
}

// lastOf is the last record of each chain up to an id, and what an earlier cut said of chains that have none.
func (s *Store) lastOf(ctx context.Context, upto int64) ([]audit.Link, error) {
	last := map[string]audit.Link{}
	note := func(l audit.Link) {
		if l.Seq > last[l.ID].Seq {
			last[l.ID] = audit.Link{ID: l.ID, Seq: l.Seq, MAC: l.MAC}
		}
	}
	err := s.texts(ctx, say(`SELECT event FROM audit_events WHERE id <= ? ORDER BY id`, upto), func(text string) (bool, error) {
		link, cut, err := placeOf(text)
		if err != nil {
			return false, err
		}
		if link != nil {
			note(*link)
		}
		for _, l := range cut {
			note(l)
		}
		return true, nil
	})
	return slices.SortedFunc(maps.Values(last), func(a, b audit.Link) int { return cmp.Compare(a.ID, b.ID) }), err
}
