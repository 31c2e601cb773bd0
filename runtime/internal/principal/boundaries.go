package principal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	boundaryTimeout = 5 * time.Second // of one call of the source
	boundaryRetry   = 5 * time.Second // between two calls for a client that waits for notifications
	maxBoundaries   = 256             // calls at a time, and so the goroutines that a source can hold
	maxBoundsBytes  = 16 << 20        // of compiled boundaries
)

// ErrBlocked reports that the client or the actor of a caller is blocked. It is the cause of the
// end of what the caller still ran.
var ErrBlocked = errors.New("the client was blocked; the call may have had an effect")

// Rights complete a principal: its permissions in the host, and the boundary of its client.
type Rights struct {
	Host       *Host       // nil without permission-aware discovery
	Boundaries *Boundaries // nil without boundaries
}

// Empty reports whether principals are complete as they are.
func (r Rights) Empty() bool { return r == Rights{} }

// Attach sets the boundary of a message's caller, unless it is set, and then what [Host.Attach]
// sets. It returns the error of that, or [ErrBlocked].
func (r Rights) Attach(ctx context.Context, info *request.Info) error {
	if r.Boundaries != nil && info.Principal.Bounds == nil {
		info.Principal.Bounds, _ = r.Boundaries.Of(ctx, info.Principal)
	}
	if r.Boundaries.Blocked(info.Principal) {
		return ErrBlocked
	}
	return r.Host.Attach(ctx, info)
}

// Enter notes that something runs for the caller of a message, until leave. If the caller's client
// is blocked meanwhile, the message stands as [request.Blocked], and the context ends with
// [ErrBlocked].
func (r Rights) Enter(ctx context.Context,
	info *request.Info) (_ context.Context, leave func()) {
	b, p := r.Boundaries, info.Bounded()
	if b == nil || b.fixed || p.Anonymous() || p.Bounds == b.exempt {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	left := b.enter(ctx, p, func() {
		info.Stand(request.Blocked)
		cancel(ErrBlocked)
	})
	return ctx, func() {
		left()
		cancel(nil)
	}
}

// Refresh returns the caller for one run of a handler, with the present boundary and the
// permissions of [Host.Refresh].
func (r Rights) Refresh(ctx context.Context,
	info *request.Info) (access.Principal, *request.Permissions) {
	p := info.Principal
	if r.Boundaries != nil {
		p.Bounds, _ = r.Boundaries.Of(ctx, info.Bounded())
	}
	if r.Host == nil {
		return p, info.Permissions
	}
	return r.Host.Refresh(ctx, info, p)
}

// Boundaries find the boundaries of clients and actors.
type Boundaries struct {
	BoundariesConfig
	exempt    *access.Bounds // of a program's own caller without a client
	unbounded *access.Bounds // of clients without a boundary, if they need none
	public    *access.Bounds // of clients without a boundary
	none      *access.Bounds
	blocked   *access.Bounds // of blocked clients, who may use nothing
	fixed     bool           // no boundary of the source changes
	calling   chan struct{}  // holds an item for each call of the source
	compiled  *loader.Loader[limits, *access.Bounds]

	mu      sync.Mutex
	running map[parties]map[*running]struct{} // by caller; without empty ones
	recent  map[parties]recent                // at most maxRecent
}

// parties are those of a caller whose boundaries count: its client, and its actor if there is one.
type parties struct{ client, actor boundary.Party }

func partiesOf(p access.Principal) parties {
	of := parties{client: boundary.Party{Issuer: p.Issuer, Client: p.Client, Subject: p.Subject}}
	if p.Actor.Subject != "" {
		of.actor = boundary.Party{Issuer: p.Actor.Issuer, Actor: p.Actor.Subject}
	}
	return of
}

// running is a message, a stream or a run of a task that ends if its caller's client is blocked.
type running struct{ end func() }

// BoundariesConfig is what [Boundaries] need.
type BoundariesConfig struct {
	Source   boundary.Source
	Optional bool // a client without a boundary is not bounded
	Table    access.Table
	ReadOnly access.Set          // the tools that are marked readonly
	Catalogs map[string][]string // the tools of the catalogs that code declares
	Aliases  map[string]string   // of tools, for errors
	Shadowed map[string][]string // adopted resources, and those that answer for them
	Issuers  []string            // those of the identity source; nil if they are not known
	Identity identity.Source     // nil if there is none
	Pool     *worker.Pool
	Log      *slog.Logger
	Masker   redact.Masker
}

// limits are what counts for a caller together.
type limits struct {
	boundaries []boundary.Boundary
	public     bool // the client has no boundary, and so public items alone
}

// NewBoundaries returns the boundaries of a source. If the source lists them, the error reports the
// names that the server does not have.
func NewBoundaries(c BoundariesConfig) (*Boundaries, error) {
	b := &Boundaries{BoundariesConfig: c, calling: make(chan struct{}, maxBoundaries),
		running: map[parties]map[*running]struct{}{}, recent: map[parties]recent{}}
	all := c.Table.Hierarchy()
	every := func(access.Kind, access.Rule) bool { return true }
	b.exempt, b.unbounded = c.Table.Bounds(all, every), c.Table.Bounds(all, every)
	b.public = c.Table.Bounds(nil, func(_ access.Kind, rule access.Rule) bool { return rule.Public })
	nothing := func(access.Kind, access.Rule) bool { return false }
	b.none, b.blocked = c.Table.Bounds(nil, nothing), c.Table.Bounds(nil, nothing)
	_, changes := c.Source.(changing)
	_, lists := c.Source.(lister)
	b.fixed = lists && !changes
	b.compiled = loader.New(loader.Config[limits, *access.Bounds]{
		Key: limits.key, Size: maxBoundsBytes,
		Load: func(_ context.Context, l limits) (*access.Bounds, error) { return b.compile(l), nil },
		Keep: func(limits, *access.Bounds, error) time.Duration { return loader.Forever },
		Cost: func(limits, *access.Bounds) int { return 512 + b.size() },
	})
	if err := b.check(); err != nil {
		return nil, err
	}
	b.watchRegistration()
	return b, nil
}

// size is about how much memory a compiled boundary has, in bytes.
func (b *Boundaries) size() int {
	t := &b.Table
	return (len(t.Rules) + len(t.Prompts) + len(t.Resources) + len(t.Values)) / 8
}

// Program returns the caller of a program itself, whom no client represents unless the program
// names one. b may be nil.
func (b *Boundaries) Program(p access.Principal) access.Principal {
	if p.Bounds = nil; b != nil && p.Client == "" && p.Actor == (access.Actor{}) {
		p.Bounds = b.exempt
	}
	return p
}

// Blocked reports whether the boundary of a caller is that of a blocked client. b may be nil.
func (b *Boundaries) Blocked(p access.Principal) bool { return b != nil && p.Bounds == b.blocked }

// Blocks reports whether a client, or a caller of it, is blocked, or its boundary cannot be read. b
// may be nil.
func (b *Boundaries) Blocks(ctx context.Context, client boundary.Party) bool {
	if b == nil {
		return false
	}
	_, blocked, err := b.limits(ctx, parties{client: client})
	return blocked || err != nil
}

// Stops reports whether the client or the actor of a caller is blocked. Then what the caller runs
// has ended when Stops returns. b may be nil.
func (b *Boundaries) Stops(ctx context.Context, p access.Principal) (bool, error) {
	if b == nil || p.Anonymous() {
		return false, nil
	}
	_, blocked, err := b.limits(ctx, partiesOf(p))
	return blocked, err
}

// Of returns the present boundary of a caller, and when that may change without a report of the
// source: zero for never. The boundary of an anonymous caller does not change. If the caller's
// client is blocked, what the caller runs has ended when Of returns.
func (b *Boundaries) Of(ctx context.Context, p access.Principal) (*access.Bounds, time.Time) {
	if p.Anonymous() || p.Bounds == b.exempt {
		return p.Bounds, time.Time{}
	}
	l, blocked, err := b.limits(ctx, partiesOf(p))
	switch {
	case err != nil:
		return b.none, time.Now().Add(boundaryRetry)
	case blocked:
		return b.blocked, time.Time{}
	}
	now, next := time.Now(), time.Time{}
	for _, one := range l.boundaries {
		switch {
		case one.Ended(now):
			return b.none, time.Time{}
		case !one.Until.IsZero() && (next.IsZero() || one.Until.Before(next)):
			next = one.Until
		}
	}
	return b.recently(context.WithoutCancel(ctx), partiesOf(p), l), next
}

// maxRecent bounds the number of callers whose last boundaries are kept.
const maxRecent = 256

// recent are the limits of the last message of a caller, compiled.
type recent struct {
	limits
	bounds *access.Bounds
}

// recently is bounds, without the key of limits that are those of the caller's last message.
func (b *Boundaries) recently(ctx context.Context, of parties, l limits) *access.Bounds {
	b.mu.Lock()
	last := b.recent[of]
	b.mu.Unlock()
	if last.bounds != nil && last.equal(l) {
		return last.bounds
	}
	bounds := b.bounds(ctx, l)
	if bounds == b.none || len(l.boundaries) == 0 {
		return bounds
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.recent) == maxRecent {
		clear(b.recent)
	}
	b.recent[of] = recent{l.clone(), bounds}
	return bounds
}

// bounds returns what counts for a caller, compiled. Neither ends nor blocks count.
func (b *Boundaries) bounds(ctx context.Context, l limits) *access.Bounds {
	switch {
	case len(l.boundaries) == 0 && l.public:
		return b.public
	case len(l.boundaries) == 0:
		return b.unbounded
	}
	e, err := b.compiled.Get(ctx, l)
	if err != nil { // the load has panicked
		b.Log.ErrorContext(ctx, "the boundary of a client could not be compiled", "error", err)
		return b.none
	}
	return e.Value
}

// Bounds returns a boundary for decisions, as if it had no end and no block. Nil is the boundary of
// a client without one. b may be nil.
func (b *Boundaries) Bounds(ctx context.Context, one *boundary.Boundary) *access.Bounds {
	switch {
	case b == nil:
		return nil
	case one == nil:
		return b.bounds(ctx, limits{public: !b.Optional})
	}
	return b.bounds(ctx, limits{boundaries: []boundary.Boundary{*one}})
}

// limits returns what counts for a caller at present. If a party is blocked, it ends what the
// caller runs. It logs its errors.
func (b *Boundaries) limits(ctx context.Context, of parties) (l limits, blocked bool, err error) {
	for i, party := range [...]boundary.Party{of.client, of.actor} {
		if i > 0 && party.Actor == "" {
			break
		}
		found, ok, err := b.find(ctx, party)
		switch {
		case err != nil:
			level := slog.LevelError
			if ctx.Err() != nil { // the message has ended: a client can have this at will
				level = slog.LevelDebug
			}
			b.Log.Log(ctx, level, "the boundary of a client could not be read; the caller may use nothing",
				"issuer", party.Issuer, "client", party.Client, "actor", party.Actor, "error", err)
			return limits{}, false, err
		case ok && found.Blocked:
			b.end(of)
			return limits{}, true, nil
		case ok:
			l.boundaries = append(l.boundaries, found)
		case i == 0:
			l.public = !b.Optional
		}
	}
	return l, false, nil
}

// enter notes something that runs for a caller, until leave. end must not block.
func (b *Boundaries) enter(ctx context.Context, p access.Principal, end func()) (leave func()) {
	of, r := partiesOf(p), &running{end}
	b.mu.Lock()
	first := b.running[of] == nil
	if first {
		b.running[of] = map[*running]struct{}{}
	}
	b.running[of][r] = struct{}{}
	b.mu.Unlock()
	if first { // a change since the message found its boundary has not ended it
		_, _, _ = b.limits(ctx, of)
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if delete(b.running[of], r); len(b.running[of]) == 0 {
			delete(b.running, of)
		}
	}
}

// end ends what a caller runs.
func (b *Boundaries) end(of parties) {
	b.mu.Lock()
	all := b.running[of]
	delete(b.running, of)
	b.mu.Unlock()
	for r := range all {
		r.end()
	}
}

// changing is a source whose boundaries change.
type changing interface {
	Changes(context.Context) <-chan boundary.Party
}

// Follow ends what blocked clients run when the source reports a change, until ctx ends. It calls
// changed with a func that reports whether a change concerns a caller.
func (b *Boundaries) Follow(ctx context.Context, changed func(func(access.Principal) bool)) {
	source, ok := b.Source.(changing)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		changes, err := Supervise(ctx, b.Pool, b.Masker, func() (<-chan boundary.Party, error) {
			return source.Changes(ctx), nil
		})
		for open := changes != nil; open; {
			var party boundary.Party
			select {
			case <-ctx.Done():
				return
			case party, open = <-changes:
			}
			if open {
				b.recheck(ctx, party)
				changed(func(p access.Principal) bool { return partiesOf(p).have(party) })
			}
		}
		b.Log.Error("the source of boundaries stopped reporting changes; the server subscribes again",
			"error", err)
		pause(ctx, time.Second)
	}
}

// recheck finds the boundaries of the callers whom a change concerns, and for whom something runs.
// If the source fails, it tries again while ctx lasts.
func (b *Boundaries) recheck(ctx context.Context, party boundary.Party) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for of := range b.running {
		if !of.have(party) {
			continue
		}
		go func() {
			for b.runs(of) {
				if _, _, err := b.limits(ctx, of); err == nil || ctx.Err() != nil {
					return
				}
				pause(ctx, boundaryRetry)
			}
		}()
	}
}

func (b *Boundaries) runs(of parties) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running[of] != nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// have reports whether a party that may have changed is one of a caller's. The zero Party is all.
func (of parties) have(changed boundary.Party) bool {
	switch {
	case changed == boundary.Party{}:
		return true
	case changed.Actor != "":
		return changed == of.actor
	}
	return changed.Issuer == of.client.Issuer &&
		(changed.Client == boundaryitem.All || changed.Client == of.client.Client) &&
		(changed.Subject == "" || changed.Subject == of.client.Subject)
}

// find calls the source.
func (b *Boundaries) find(ctx context.Context, party boundary.Party) (found boundary.Boundary,
	ok bool, err error) {
	if _, immediate := b.Source.(identity.MemoryReader); immediate {
		return b.Source.Boundary(ctx, party)
	}
	ctx, cancel := context.WithTimeout(ctx, boundaryTimeout)
	defer cancel()
	select {
	case b.calling <- struct{}{}:
	case <-ctx.Done():
		return found, false, fmt.Errorf("too many calls wait for the source of boundaries: %w",
			worker.ErrNoResponse)
	}
	type answer struct {
		boundary.Boundary
		ok bool
	}
	a, err := Supervise(ctx, b.Pool, b.Masker, func() (a answer, err error) {
		defer func() { <-b.calling }()
		a.Boundary, a.ok, err = b.Source.Boundary(ctx, party)
		return a, err
	})
	return a.Boundary, a.ok, err
}

// key is equal for equal boundaries, and their ends do not count.
func (l limits) key() string {
	text := strconv.AppendBool(nil, l.public)
	for _, one := range l.boundaries {
		text = strconv.AppendBool(text, one.ReadOnly)
		for _, list := range [...][]string{one.Roles, one.Items} {
			text = binary.LittleEndian.AppendUint64(text, uint64(len(list)))
			for _, s := range list {
				text = append(binary.LittleEndian.AppendUint64(text, uint64(len(s))), s...)
			}
		}
	}
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// equal reports whether two limits have the same key. It is faster than the keys of large limits,
// whose texts a source in memory does not copy.
func (l limits) equal(other limits) bool {
	return l.public == other.public && slices.EqualFunc(l.boundaries, other.boundaries,
		func(a, b boundary.Boundary) bool {
			return a.ReadOnly == b.ReadOnly && slices.Equal(a.Roles, b.Roles) &&
				slices.Equal(a.Items, b.Items)
		})
}

// clone returns limits that share no slice with l.
func (l limits) clone() limits {
	l.boundaries = slices.Clone(l.boundaries)
	for i := range l.boundaries {
		one := &l.boundaries[i]
		one.Roles, one.Items = slices.Clone(one.Roles), slices.Clone(one.Items)
	}
	return l
}

// compile compiles boundaries that must all allow an item.
func (b *Boundaries) compile(all limits) *access.Bounds {
	roles := b.Table.Hierarchy()
	var allow []func(access.Kind, access.Rule) bool
	if all.public {
		allow = append(allow, func(_ access.Kind, rule access.Rule) bool { return rule.Public })
	}
	for _, one := range all.boundaries {
		if !boundaryitem.IsAll(one.Roles) {
			holder := access.Principal{Subject: "somebody", Roles: one.Roles}
			roles = slices.DeleteFunc(roles, func(role string) bool {
				return !b.Table.Holds(holder, role)
			})
		}
		allow = append(allow, b.allowed(one))
	}
	return b.Table.Bounds(roles, func(k access.Kind, rule access.Rule) bool {
		for _, allows := range allow {
			if !allows(k, rule) {
				return false
			}
		}
		return true
	})
}

// isRuled reports whether values of an argument have rules.
func (b *Boundaries) isRuled(tool, argument string) bool {
	return slices.ContainsFunc(b.Table.Values, func(v access.Rule) bool {
		return v.Tool == tool && v.Argument == argument
	})
}

// allowed returns a func that reports whether one boundary has the item of a rule.
func (b *Boundaries) allowed(one boundary.Boundary) func(access.Kind, access.Rule) bool {
	items, bad := boundaryitem.NewSet(one.Items, b.Catalogs, b.isRuled)
	for _, err := range append(bad, b.alone(one)...) {
		b.Log.Warn("an item of a boundary allows nothing", "error", err)
	}
	return func(k access.Kind, rule access.Rule) bool {
		switch {
		case k == access.Fields: // no item concerns them
			return len(one.Items) > 0
		case rule.Tool != "" && one.ReadOnly && !b.ReadOnly.Contains(rule.Tool):
			return false
		case k == access.Values:
			return items.HasValue(rule.Tool, rule.Argument, rule.Value)
		case k == access.Tools:
			return items.Has(boundaryitem.Tool, rule.Tool)
		case k == access.Prompts:
			return items.Has(boundaryitem.Prompt, rule.Prompt)
		}
		return items.Has(boundaryitem.Resource, rule.Resource) &&
			len(b.outside(items, rule.Resource)) == 0
	}
}

// outside returns the resources that a set of items lacks, of those that answer URIs of a resource
// of an adopted server. Without them, these URIs would be unknown to the client, which shows that
// something else answers them.
func (b *Boundaries) outside(items boundaryitem.Set, resource string) []string {
	return slices.DeleteFunc(slices.Clone(b.Shadowed[resource]), func(other string) bool {
		return items.Has(boundaryitem.Resource, other)
	})
}
