package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// youngest is the minimum age of a deleted event: by then every earlier write has ended.
const youngest = time.Hour

// pruned is the maximum number of events of a cut. One transaction deletes them, so that a reader
// sees all or none, and one record describes them.
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
func (s *Store) PruneEvents(ctx context.Context, before time.Time, by audit.Event) (
	deleted int64, err error) {
	const doing = "prune audit events"
	if time.Since(before) < youngest {
		return 0, invalid(doing, fmt.Errorf("%s is less than an hour ago: keep younger events: %w",
			before.UTC().Format(time.RFC3339), ErrInvalid))
	}
	// Events that are recorded meanwhile are not deleted.
	var upto, cut int64
	err = stmt(`SELECT coalesce((SELECT max(id) FROM audit_events), 0), `+
		`coalesce((SELECT max(upto) FROM audit_cuts), 0)`).row(ctx, s.reads).Scan(&upto, &cut)
	if err != nil {
		return 0, s.engine.explain(ctx, doing, err)
	}
	proof, err := s.proof()
	if err != nil {
		return 0, fmt.Errorf("store: %s: %w", doing, err)
	}
	for {
		n, err := s.deleteUpto(ctx, cut) // first the rest of an earlier call
		if deleted += n; err != nil {
			return deleted, s.engine.explain(ctx, doing, err)
		}
		next, last, err := s.step(ctx, proof, cut, upto, before)
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
			if err := t.alone(); err != nil { // otherwise two calls find the same cut
				return done{}, err
			}
			var newest int64
			err := stmt(`SELECT coalesce(max(upto), 0) FROM audit_cuts`).row(ctx, t).Scan(&newest)
			if err != nil {
				return done{}, err
			}
			if newest != cut { // records may be deleted since
				return done{}, ErrConflict
			}
			_, err = stmt(`INSERT INTO audit_cuts (upto, at) VALUES (?, ?)`, next,
				t.engine.moment(t.now)).exec(ctx, t)
			return done{storechange.Audit, fmt.Sprintf("audit events up to %d", next)}, err
		})
		if err != nil {
			return deleted, err
		}
		cut = next
	}
}

// deleteUpto deletes the records of a cut. A cut of an earlier version may need several
// transactions.
func (s *Store) deleteUpto(ctx context.Context, cut int64) (deleted int64, err error) {
	for {
		n, err := stmt(`DELETE FROM audit_events WHERE id <= (SELECT coalesce(max(id), 0) FROM `+
			`(SELECT id FROM audit_events WHERE id <= ? ORDER BY id LIMIT ?) AS oldest)`, cut,
			pruned).exec(ctx, s.writes)
		deleted += n
		if err != nil || n < pruned {
			return deleted, err
		}
	}
}

// step reads the oldest records after a cut, up to the first one that is not older than before. It
// returns the id of the newest of them, or the cut
// without records. links has the last record of each of their chains, and the links of earlier
// cuts.
func (s *Store) step(ctx context.Context, p *proof, cut, upto int64, before time.Time) (
	next int64, links []audit.Link, err error) {
	rows, err := all(ctx, s.reads, stmt(`SELECT id, event, at < ? FROM audit_events WHERE id > ? `+
		`AND id <= ? ORDER BY id LIMIT ?`, s.engine.moment(before.UTC()), cut, upto, pruned),
		func(row scanner) (k kept, err error) { return k, row.Scan(&k.id, &k.text, &k.old) })
	if err != nil {
		return 0, nil, err
	}
	next = cut
	last := newest{}
	for _, r := range rows {
		if !r.old {
			break
		}
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
	return next, slices.SortedFunc(maps.Values(last), func(a, b audit.Link) int {
		return cmp.Compare(a.ID, b.ID)
	}), nil
}

// kept is a record with its id.
type kept struct {
	id   int64
	text string
	old  bool // set by step
}

func readKept(row scanner) (k kept, err error) { return k, row.Scan(&k.id, &k.text) }

// newest is the last record of each chain, by the chain's id.
type newest map[string]audit.Link

func (n newest) note(l audit.Link) {
	if l.Seq > n[l.ID].Seq {
		n[l.ID] = audit.Link{ID: l.ID, Seq: l.Seq, MAC: l.MAC}
	}
}

// proof verifies the records before their deletion. A writer to the database without the key can
// insert any record. No part of such a record may get into a sealed one.
type proof struct {
	*Store
	voucher  audit.Voucher // nil without a sealer: all records count
	last     newest        // verified records of each chain
	verified map[link]cutMAC
}

// cutMAC is a result of cutAt.
type cutMAC struct {
	mac audit.MAC
	ok  bool
}

// longest is more than the maximum length of a chain's name.
const longest = 128

// link is a record of a chain.
type link struct {
	id  string
	seq int64
}

func (s *Store) proof() (*proof, error) {
	p := &proof{Store: s, last: newest{}, verified: map[link]cutMAC{}}
	if s.sealer == nil {
		return p, nil
	}
	var ok bool
	if p.voucher, ok = s.sealer.(audit.Voucher); !ok {
		return nil, wrong("%T, which seals the events of this store, cannot verify its records, so "+
			"the store does not prune: implement audit.Voucher, as chain.Chain does", s.sealer)
	}
	return p, nil
}

// placeOf returns a record's place and its cuts, or an error if they do not verify. With a sealer,
// a record without a chain has neither. Call it in the order of the records.
func (p *proof) placeOf(ctx context.Context, id int64, text string) (
	*audit.Link, []audit.Link, error) {
	at, cuts, err := placeOf(text)
	switch {
	case p.voucher == nil:
		return at, cuts, err
	case err != nil:
		return nil, nil, refused(id, "is not a record")
	case at == nil:
		return nil, nil, nil
	}
	before, ok := p.last[at.ID], true
	switch {
	case before.Seq > 0 && before.Seq+1 != at.Seq:
		return nil, nil, refused(id, fmt.Sprintf(
			"has number %d in chain %.100q, but the one before it has number %d", at.Seq, at.ID,
			before.Seq))
	case before.Seq == 0 && at.Seq > 1:
		if before.MAC, ok, err = p.cutAt(ctx, link{at.ID, at.Seq - 1}); err != nil {
			return nil, nil, err
		}
	}
	if !ok {
		return nil, nil, refused(id, fmt.Sprintf(
			"has number %d in chain %.100q, but the one before it is missing without a record of its "+
				"deletion", at.Seq, at.ID))
	}
	if !p.voucher.Vouches(before.MAC, []byte(text)) {
		return nil, nil, refused(id, fmt.Sprintf(
			"was altered after chain %.100q wrote it, or has another key", at.ID))
	}
	p.last.note(*at)
	for _, l := range cuts {
		p.last.note(l)
	}
	return at, cuts, nil
}

func refused(id int64, what string) error {
	return wrong("the event with id %d %s; the store does not delete events that do not verify. "+
		"Export the trail and run mcpgen audit verify for details. If the cause is clear, a store "+
		"without SealBy deletes the event and leaves a visible gap", id, what)
}

// cutAt returns the MAC of the last record that a cut deleted, from a verified record of the cut.
func (p *proof) cutAt(ctx context.Context, of link) (mac audit.MAC, ok bool, err error) {
	if a, found := p.verified[of]; found || len(of.id) > longest {
		return a.mac, a.ok, nil
	}
	p.verified[of] = cutMAC{} // for recursive calls
	defer func() { p.verified[of] = cutMAC{mac, ok} }()
	like := fmt.Sprintf(`%%"cut":[%%{"id":"%s","seq":%d,"mac":"%%`, keepable(of.id), of.seq)
	found, err := all(ctx, p.reads, stmt(`SELECT id, event FROM audit_events WHERE type = ? `+
		`AND event LIKE ? ORDER BY id DESC`, string(audit.Changed), like), readKept)
	if err != nil {
		return mac, false, err
	}
	for _, k := range found {
		at, cuts, err := placeOf(k.text)
		if err != nil || at == nil {
			continue // inserted by another writer
		}
		i := slices.IndexFunc(cuts, func(l audit.Link) bool {
			return l.ID == of.id && l.Seq == of.seq
		})
		if i < 0 {
			continue
		}
		switch ok, err := p.proven(ctx, k.id, k.text, at, cuts); {
		case err != nil:
			return mac, false, err
		case ok:
			return cuts[i].MAC, true, nil
		}
	}
	return mac, false, nil
}

// proven reports whether a record of a cut follows the one before it in its chain, which may be
// deleted.
func (p *proof) proven(ctx context.Context, id int64, text string, at *audit.Link,
	cuts []audit.Link) (ok bool, err error) {
	follows := func(before audit.MAC) bool { return p.voucher.Vouches(before, []byte(text)) }
	if at.Seq == 1 {
		return follows(audit.MAC{}), nil
	}
	err = p.texts(ctx, stmt(`SELECT event FROM audit_events WHERE id < ? ORDER BY id DESC LIMIT ?`,
		id, recent), func(text string) (bool, error) {
		before, _, err := placeOf(text)
		ok = err == nil && before != nil && before.ID == at.ID && before.Seq == at.Seq-1 &&
			follows(before.MAC)
		return !ok, nil
	})
	if ok || err != nil {
		return ok, err
	}
	for _, l := range cuts { // the cut deleted the one before it
		if l.ID == at.ID && l.Seq == at.Seq-1 {
			return follows(l.MAC), nil
		}
	}
	before, ok, err := p.cutAt(ctx, link{at.ID, at.Seq - 1})
	return ok && follows(before), err
}

// placeOf parses a record's place in its chain and the links of its cut.
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
