package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// proof is what is known of the records that are about to be deleted: those who may write to the
// database without the key put in what they like, and none of that may come to stand in a record
// that is sealed.
type proof struct {
	*Store
	voucher  audit.Voucher // nil where nothing is sealed, and all is as it says
	last     newest        // of each chain, what is proven
	verified map[link]answer
}

// answer is that of cutAt.
type answer struct {
	mac audit.MAC
	ok  bool
}

// longest is how long the name of a chain is at most, and somewhat longer.
const longest = 128

// link is a record of a chain.
type link struct {
	id  string
	seq int64
}

func (s *Store) proof() (*proof, error) {
	p := &proof{Store: s, last: newest{}, verified: map[link]answer{}}
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

// placeOf is what a record says of its place and of what was cut, or an error where it is not
// proven. Of a record that is in no chain it is nothing, where others are sealed. Records are asked
// for in their order.
func (p *proof) placeOf(ctx context.Context, id int64, text string) (*audit.Link, []audit.Link, error) {
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
			"has number %d in chain %.100q, but the one before it has number %d", at.Seq, at.ID, before.Seq))
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

// cutAt is the MAC of a record that a cut took away last, as a record says that is proven.
func (p *proof) cutAt(ctx context.Context, of link) (mac audit.MAC, ok bool, err error) {
	if a, found := p.verified[of]; found || len(of.id) > longest {
		return a.mac, a.ok, nil
	}
	p.verified[of] = answer{} // to what is asked for the sake of this one
	defer func() { p.verified[of] = answer{mac, ok} }()
	type kept struct {
		id   int64
		text string
	}
	like := fmt.Sprintf(`%%"cut":[%%{"id":"%s","seq":%d,"mac":"%%`, keepable(of.id), of.seq)
	found, err := all(ctx, p.reads, say(`SELECT id, event FROM audit_events WHERE type = ? AND event LIKE ? ORDER BY id DESC`, string(audit.Changed), like), func(row scanner) (k kept, err error) {
		return k, row.Scan(&k.id, &k.text)
	})
	if err != nil {
		return mac, false, err
	}
	for _, k := range found {
		at, cuts, err := placeOf(k.text)
		if err != nil || at == nil {
			continue // somebody put it there
		}
		i := slices.IndexFunc(cuts, func(l audit.Link) bool { return l.ID == of.id && l.Seq == of.seq })
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

// proven reports whether a record of a cut follows the one before it in its chain, wherever that
// is.
func (p *proof) proven(ctx context.Context, id int64, text string, at *audit.Link, cuts []audit.Link) (ok bool, err error) {
	follows := func(before audit.MAC) bool { return p.voucher.Vouches(before, []byte(text)) }
	if at.Seq == 1 {
		return follows(audit.MAC{}), nil
	}
	err = p.texts(ctx, say(`SELECT event FROM audit_events WHERE id < ? ORDER BY id DESC LIMIT ?`, id, recent), func(text string) (bool, error) {
		before, _, err := placeOf(text)
		ok = err == nil && before != nil && before.ID == at.ID && before.Seq == at.Seq-1 && follows(before.MAC)
		return !ok, nil
	})
	if ok || err != nil {
		return ok, err
	}
	for _, l := range cuts { // it took the one before it
		if l.ID == at.ID && l.Seq == at.Seq-1 {
			return follows(l.MAC), nil
		}
	}
	before, ok, err := p.cutAt(ctx, link{at.ID, at.Seq - 1})
	return ok && follows(before), err
}
