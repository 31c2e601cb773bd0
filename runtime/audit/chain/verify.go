package chain

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// VerifyOptions configure [Verify]. Key is required.
type VerifyOptions struct {
	// Key is the key of the chains: see [Options]. Required.
	Key []byte
	// Checkpoints come from another place. All records up to each of them must be in the trail.
	// Empty does not notice that the end of a trail was cut off.
	Checkpoints []Checkpoint
	// Since are checkpoints up to which records may be missing, because old files are deleted.
	// Records before them are verified nonetheless, and must lead up to a checkpoint. The first
	// record that is left is then [Unproven] in what it states about earlier ones. Empty requires
	// each chain from its first record.
	Since []Checkpoint
	// Unchained accepts records that belong to no chain, as in a trail from before it had one.
	Unchained bool
}

// Report is the result of [Verify].
type Report struct {
	Records  int64 // in a chain and proven
	Chains   int
	Findings []Finding
	More     int64 // findings that are not among these, since there are too many
	// NoOutcome counts the calls with an intent and without an outcome. Findings has the first of
	// them, as far as there is room.
	NoOutcome int64
}

// Sound reports whether the trail has no sign of tampering.
func (r Report) Sound() bool {
	return r.More == 0 && !slices.ContainsFunc(r.Findings, Finding.Tampering)
}

const (
	maxFindings = 1000
	// maxRuns and maxChains bound memory: a chain has a run for each file at most, unless it is in
	// no order at all.
	maxRuns, maxChains = 1 << 13, 1 << 18
	// maxOpen bounds the calls of which one of two records is remembered: those that were running
	// when a file ended.
	maxOpen = 1 << 18
	// maxHeld is how many altered records are remembered of a chain of which none is proven yet.
	maxHeld = 16
)

// Verify reads a trail once and returns its findings. Records may belong to several chains, and
// the sources of a chain may come in any order. Memory grows with the number of chains and
// sources, not of records. The error reports a failed read or a key that is too short, and comes
// with the findings so far.
func Verify(records iter.Seq2[Record, error], options VerifyOptions) (Report, error) {
	if len(options.Key) < MinKey {
		return Report{}, fmt.Errorf("chain.Verify: the key has %d bytes, but a key has at least %d",
			len(options.Key), MinKey)
	}
	v := &verifier{
		key: options.Key, macs: newMACs(options.Key), unchained: options.Unchained,
		chains: map[string]*history{},
		open:   map[string]*open{}, vouched: map[spot]audit.MAC{}, known: map[spot]audit.MAC{},
		since: map[string]int64{}, cuts: map[string]int64{}, wanted: map[string]want{},
	}
	for _, p := range options.Since {
		if v.genuine(p) {
			v.since[p.Chain] = max(v.since[p.Chain], p.Seq)
		}
	}
	for _, p := range options.Checkpoints {
		if v.genuine(p) {
			v.want(p.Chain, p.Seq, "the checkpoint of "+p.Time.UTC().Format(time.RFC3339))
		}
	}
	for r, err := range records {
		if err != nil {
			return v.Report, err
		}
		if v.runs > maxRuns || len(v.chains) > maxChains {
			v.find(r.at(nil).as(disordered,
				"the records have lost their order; verify did not read the rest"))
			break
		}
		v.record(r)
	}
	v.conclude()
	if v.Records == 0 && v.Sound() && !slices.ContainsFunc(v.Findings, func(f Finding) bool {
		return f.Kind == unproven
	}) {
		v.find(Finding{}.as(empty, "the key verifies no record"))
	}
	return v.Report, nil
}

type verifier struct {
	Report
	key       []byte
	macs      *macs
	unchained bool
	chains    map[string]*history
	runs      int              // most of a chain
	loose     string           // the source of the record before, if it was in no chain
	open      map[string]*open // calls whose two records did not both come yet, by request

	vouched map[spot]audit.MAC // of records that checkpoints from elsewhere are of
	known   map[spot]audit.MAC // of records that proven cuts took away last
	since   map[string]int64   // up to where a chain may be gone by the caller's options
	cuts    map[string]int64   // up to where a chain is gone, or about to go, by proven cuts
	wanted  map[string]want    // up to where a chain has to be there
}

// open is a call with one of its two records missing so far.
type open struct {
	n     int // intents less outcomes
	found Finding
}

type spot struct {
	chain string
	seq   int64
}

type want struct {
	seq int64
	by  string
}

// history is the state of a chain.
type history struct {
	id      string
	runs    []*run
	current *run   // the one of the record before
	limit   int64  // where the run after that one begins, 0 without one
	source  string // of the record before
	proven  int64
	altered int64
	held    []Finding
}

// run is a row of records without a gap.
type run struct {
	first, last int64
	mac         audit.MAC // of the last one
	pending     bool      // the first one is not proven yet
	sure        bool      // the first one is proven
	joined      bool      // it is, by the run before it
	anchored    bool      // a checkpoint is of a record of it, or of one that the chain leads to
	digest      [sha256.Size]byte
	firstMAC    audit.MAC
	previous    *audit.Link
	cut         []audit.Link
	start, end  Finding // the places of the first and the last record
	jump        bool    // it began with a gap after another record of the same source
}

// at is the place of a record for findings.
func (r Record) at(link *audit.Link) Finding {
	f := Finding{Source: r.Source, Line: r.Line}
	if link != nil {
		f.Chain, f.Seq = link.ID, link.Seq
	}
	return f
}

// as is a finding at this place.
func (f Finding) as(kind, what string) Finding {
	f.Kind, f.What, f.Cure = kind, what, cures[kind]
	return f
}

func (v *verifier) find(f Finding) {
	if len(v.Findings) == maxFindings {
		v.More++
		return
	}
	v.Findings = append(v.Findings, f)
}

// genuine notes a checkpoint from elsewhere, if it is by this key.
func (v *verifier) genuine(p Checkpoint) bool {
	if p.Sealed(v.key) {
		v.vouched[spot{p.Chain, p.Seq}] = p.MAC
		return true
	}
	v.find(Finding{Chain: p.Chain, Seq: p.Seq}.as(foreign,
		"this checkpoint was made with another key, or was altered"))
	return false
}

// gone records a proven cut of a chain, unless a checkpoint contradicts it about the same record.
func (v *verifier) gone(l audit.Link) {
	at := spot{l.ID, l.Seq}
	if mac, ok := v.vouched[at]; ok && mac != l.MAC {
		return
	}
	v.known[at] = l.MAC
	v.cuts[l.ID] = max(v.cuts[l.ID], l.Seq)
}

// covered is up to where a chain may be gone, from its beginning on.
func (v *verifier) covered(chain string) int64 { return max(v.since[chain], v.cuts[chain]) }

func (v *verifier) want(chain string, seq int64, by string) {
	if seq > v.wanted[chain].seq {
		v.wanted[chain] = want{seq, by}
	}
}

func (v *verifier) record(r Record) {
	read, err := read(r.Text)
	link := read.Chain
	switch {
	case err != nil && r.Unfinished:
		v.find(r.at(nil).as(torn, "the last line is incomplete"))
		return
	case err != nil:
		v.find(r.at(nil).as(altered, err.Error()))
		return
	case link == nil:
		if !v.unchained && v.loose != r.Source {
			v.find(r.at(nil).as(unchained, "from here on, records have no chain"))
		}
		v.loose = r.Source
		return
	}
	v.loose = ""
	h := v.chains[link.ID]
	if h == nil {
		h = &history{id: link.ID}
		v.chains[link.ID] = h
	}
	v.place(h, r, link, read.Cut)
	v.pair(r, read)
}

// pair notes an intent, or the outcome of one. They come in any order, as sources do.
func (v *verifier) pair(r Record, is record) {
	change := 0
	switch {
	case is.Status == audit.Intent:
		change = 1
	case is.Intended:
		change = -1
	default:
		return
	}
	o := v.open[is.RequestID]
	if o == nil && len(v.open) == maxOpen {
		return
	} else if o == nil {
		o = &open{}
		v.open[is.RequestID] = o
	}
	if change > 0 {
		const format = "request %.40q called %.128q, but the trail has no outcome"
		o.found = r.at(is.Chain).as(noOutcome, fmt.Sprintf(format, is.RequestID, is.Tool))
	}
	if o.n += change; o.n == 0 {
		delete(v.open, is.RequestID)
	}
}

// unfinished reports the calls without an outcome, in the order of their intents. They come after
// all other findings, whose room they do not take.
func (v *verifier) unfinished() {
	var all []Finding
	for _, o := range v.open {
		if o.n > 0 {
			all = append(all, o.found)
		}
	}
	v.NoOutcome = int64(len(all))
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Line, b.Line))
	})
	v.Findings = append(v.Findings, all[:min(len(all), maxFindings-len(v.Findings))]...)
}

// place puts a record where it belongs in its chain.
func (v *verifier) place(h *history, r Record, link *audit.Link, cut []audit.Link) {
	at, same := r.at(link), h.current != nil && h.source == r.Source
	into := h.current
	if into == nil || into.last+1 != link.Seq || link.Seq == h.limit {
		into = nil
		for _, one := range h.runs {
			if one.first <= link.Seq && link.Seq <= one.last {
				v.find(at.as(duplicated, "another record has this number"))
				return
			}
			if one.last+1 == link.Seq {
				into = one
			}
		}
	}
	digest := digestOf(r.Text)
	mac, vouched := v.vouched[spot{h.id, link.Seq}]
	anchored := vouched && mac == link.MAC
	if vouched && !anchored {
		v.find(at.as(altered, "a checkpoint has another record with this number"))
	}
	if into != nil {
		if same && into != h.current {
			v.find(at.as(reordered, fmt.Sprintf("it comes after record %d", h.current.last)))
			if h.current.first == link.Seq+1 {
				h.current.jump = false // it is this one that is out of place
			}
		}
		v.prove(h, into.mac, digest, link.MAC, at.as(altered, alteredPair), cut, nil)
		into.last, into.mac, into.end = link.Seq, link.MAC, at
		into.anchored = into.anchored || anchored
		h.follow(into, r.Source)
		return
	}
	jump := false
	if same {
		if jump = link.Seq > h.current.last; !jump {
			v.find(at.as(reordered, fmt.Sprintf("it comes after record %d", h.current.last)))
		}
	}
	begun := &run{
		first: link.Seq, last: link.Seq, mac: link.MAC, pending: link.Seq > 1, digest: digest,
		firstMAC: link.MAC, previous: link.Previous, cut: cut,
		anchored: anchored, start: at, end: at, jump: jump,
	}
	h.runs = append(h.runs, begun)
	v.runs = max(v.runs, len(h.runs))
	if !begun.pending {
		begun.sure = v.prove(h, audit.MAC{}, digest, link.MAC,
			at.as(altered, "the record was altered"), cut, link.Previous)
	}
	h.follow(begun, r.Source)
}

// follow makes a run the one that the next record is expected in.
func (h *history) follow(r *run, source string) {
	if h.current != r {
		h.limit = 0
		for _, other := range h.runs {
			if other.first > r.last && (h.limit == 0 || other.first < h.limit) {
				h.limit = other.first
			}
		}
	}
	h.current, h.source = r, source
}

// prove checks a record against the one before it, and accepts its content about others if it is
// proven.
func (v *verifier) prove(h *history, before audit.MAC, digest [sha256.Size]byte, mac audit.MAC,
	otherwise Finding, cut []audit.Link, previous *audit.Link) bool {
	want := v.macs.of(before, digest)
	if !hmac.Equal(want[:], mac[:]) {
		h.altered++
		switch {
		case h.proven > 0:
			v.find(otherwise)
		case len(h.held) < maxHeld:
			h.held = append(h.held, otherwise)
		}
		return false
	}
	h.proven++
	v.Records++
	if h.proven == 1 {
		v.release(h)
	}
	for _, l := range cut {
		v.gone(l)
	}
	if previous != nil && v.covered(h.id) < 1 {
		v.want(previous.ID, previous.Seq, "the first record of chain "+h.id)
	}
	return true
}

// release reports the findings that were held back until the key was proven.
func (v *verifier) release(h *history) {
	for _, f := range h.held {
		v.find(f)
	}
	v.More += max(h.altered-int64(len(h.held)), 0)
	h.held = nil
}

// conclude joins the runs of each chain and reports missing records.
func (v *verifier) conclude() {
	chains := slices.SortedFunc(maps.Values(v.chains), func(a, b *history) int {
		return cmp.Compare(a.id, b.id)
	})
	v.Chains = len(chains)
	v.byCuts(chains) // first: what was put in before a record is no proof against it
	for _, h := range chains {
		slices.SortFunc(h.runs, func(a, b *run) int { return cmp.Compare(a.first, b.first) })
		for i, r := range h.runs[1:] {
			if before := h.runs[i]; r.pending && before.last+1 == r.first {
				r.joined = v.settle(h, r, before.mac)
			}
		}
		for i := len(h.runs) - 1; i > 0; i-- {
			h.runs[i-1].anchored = h.runs[i-1].anchored || h.runs[i].joined && h.runs[i].anchored
		}
	}
	v.byCuts(chains)
	for _, h := range chains {
		v.gaps(h)
	}
	for _, id := range slices.Sorted(maps.Keys(v.wanted)) {
		v.tail(id)
	}
	v.unfinished()
}

// byCuts settles what comes first after a cut. It may be by a record that itself comes first after
// one.
func (v *verifier) byCuts(chains []*history) {
	for again := true; again; {
		again = false
		for _, h := range chains {
			for _, r := range h.runs {
				if r.pending && v.begins(h, r) {
					again = true
				}
			}
		}
	}
}

const alteredPair = "the record or the one before it was altered"

func (v *verifier) settle(h *history, r *run, before audit.MAC) bool {
	r.pending = false
	r.sure = v.prove(h, before, r.digest, r.firstMAC, r.start.as(altered, alteredPair), r.cut,
		r.previous)
	return r.sure
}

// begins settles a run whose record before is gone, where that one's MAC is known.
func (v *verifier) begins(h *history, r *run) bool {
	at := spot{h.id, r.first - 1}
	before, ok := v.vouched[at]
	if !ok {
		before, ok = v.known[at]
	}
	if !ok {
		// The record of a cut may be the first that is left of its own chain.
		i := slices.IndexFunc(r.cut, func(l audit.Link) bool {
			return l.ID == h.id && l.Seq == r.first-1
		})
		if i < 0 {
			return false
		}
		if want := v.macs.of(r.cut[i].MAC, r.digest); !hmac.Equal(want[:], r.firstMAC[:]) {
			return false
		}
		before = r.cut[i].MAC
	}
	v.settle(h, r, before)
	return true
}

// gaps reports the missing records within a chain, or before it.
func (v *verifier) gaps(h *history) {
	if h.proven == 0 && h.altered > 0 {
		v.find(h.runs[0].start.as(foreign, fmt.Sprintf("the key verifies none of the %d records of "+
			"this chain: they have another key, or all were altered", h.altered)))
	}
	next := int64(1)
	var held *run // the last one whose beginning is proven
	for _, r := range h.runs {
		from := max(next, v.covered(h.id)+1)
		if held != nil { // a cut takes the oldest records, and all of them at once
			from = max(next, v.since[h.id]+1)
		}
		switch f := r.start; {
		case r.first > from:
			f.Seq = from
			v.find(f.as(missing, before(from, r.first-1)))
		case r.jump && r.first == next:
			v.find(f.as(reordered, "the records before it are elsewhere"))
		case r.pending && (r.first > v.since[h.id] || !r.anchored):
			f = f.as(altered, "it is in a deleted part of the chain, and cannot be verified")
			f.Cure = cureForged
			v.find(f)
		case r.pending:
			v.find(f.as(unproven, "the record before it is missing, so this one cannot be verified"))
		}
		if r.sure {
			held = r
		}
		next = r.last + 1
	}
	if cut := v.cuts[h.id]; held != nil && held.last < cut && cut > v.since[h.id] {
		f := held.end
		f.Seq = held.last + 1
		v.find(f.as(cutOff, fmt.Sprintf("the deleted part ends with record %d, but the deletion was "+
			"recorded up to %d", held.last, cut)))
	}
}

func before(from, to int64) string {
	if from == to {
		return fmt.Sprintf("record %d before this one is missing", from)
	}
	return fmt.Sprintf("records %d to %d before this one are missing", from, to)
}

// tail reports that a chain ends too early, or is not there at all.
func (v *verifier) tail(id string) {
	want, h := v.wanted[id], v.chains[id]
	if want.seq <= v.covered(id) {
		return
	}
	if h == nil {
		v.find(Finding{Chain: id, Seq: 1}.as(missing, fmt.Sprintf(
			"all its records up to %d are missing, but %s proves them", want.seq, want.by)))
		return
	}
	if last := h.runs[len(h.runs)-1]; last.last < want.seq {
		f := last.end
		f.Seq = last.last + 1
		v.find(f.as(cutOff, fmt.Sprintf("it ends with record %d, but %s proves records up to %d",
			last.last, want.by, want.seq)))
	}
}
