package principal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
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

// Rights complete a principal: its permissions in the host, and the boundary of its client.
type Rights struct {
	Host       *Host       // nil without permission-aware discovery
	Boundaries *Boundaries // nil without boundaries
}

// Empty reports whether principals are complete as they are.
func (r Rights) Empty() bool { return r == Rights{} }

// Attach sets the boundary of a message's caller, unless it is set, and then what [Host.Attach]
// sets. It returns the error of that.
func (r Rights) Attach(ctx context.Context, info *request.Info) error {
	if r.Boundaries != nil && info.Principal.Bounds == nil {
		info.Principal.Bounds, _ = r.Boundaries.Of(ctx, info.Principal)
	}
	return r.Host.Attach(ctx, info)
}

// Refresh returns the caller for one run of a handler, with the present boundary and the
// permissions of [Host.Refresh].
func (r Rights) Refresh(ctx context.Context,
	info *request.Info) (access.Principal, *request.Permissions) {
	p, held := info.Principal, info.Permissions
	bounds := p.Bounds
	if r.Boundaries != nil {
		bounds, _ = r.Boundaries.Of(ctx, p)
	}
	if r.Host != nil {
		p, held = r.Host.Refresh(ctx, info)
	}
	p.Bounds = bounds
	return p, held
}

// Boundaries find the boundaries of clients and actors.
type Boundaries struct {
	BoundariesConfig
	exempt    *access.Bounds // of a program's own caller without a client
	unbounded *access.Bounds // of clients without a boundary, if they need none
	public    *access.Bounds // of clients without a boundary
	none      *access.Bounds
	calling   chan struct{} // holds an item for each call of the source
	compiled  *loader.Loader[limits, *access.Bounds]
}

// BoundariesConfig is what [Boundaries] need.
type BoundariesConfig struct {
	Source   boundary.Source
	Optional bool // a client without a boundary is not bounded
	Table    access.Table
	ReadOnly access.Set          // the tools that are marked readonly
	Catalogs map[string][]string // the tools of the catalogs that code declares
	Aliases  map[string]string   // of tools, for errors
	Issuers  []string            // those of the identity source; nil if they are not known
	Identity identity.Source     // nil if there is none
	Pool     *worker.Pool
	Log      *slog.Logger
	Masker   redact.Masker
}

// limits are the boundaries that count for a caller together.
type limits []boundary.Boundary

// NewBoundaries returns the boundaries of a source. If the source lists them, the error reports the
// names that the server does not have.
func NewBoundaries(c BoundariesConfig) (*Boundaries, error) {
	b := &Boundaries{BoundariesConfig: c, calling: make(chan struct{}, maxBoundaries)}
	all := c.Table.Hierarchy()
	every := func(access.Kind, access.Rule) bool { return true }
	b.exempt, b.unbounded = c.Table.Bounds(all, every), c.Table.Bounds(all, every)
	b.public = c.Table.Bounds(nil, func(_ access.Kind, rule access.Rule) bool { return rule.Public })
	b.none = c.Table.Bounds(nil, func(access.Kind, access.Rule) bool { return false })
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

// Of returns the present boundary of a caller, and when that may change without a report of the
// source: zero for never. The boundary of an anonymous caller does not change.
func (b *Boundaries) Of(ctx context.Context, p access.Principal) (*access.Bounds, time.Time) {
	if p.Anonymous() || p.Bounds == b.exempt {
		return p.Bounds, time.Time{}
	}
	var all limits
	client := boundary.Party{Issuer: p.Issuer, Client: p.Client, Subject: p.Subject}
	actor := boundary.Party{Issuer: p.Actor.Issuer, Actor: p.Actor.Subject}
	parties := []boundary.Party{client, actor}
	if actor.Actor == "" {
		parties = parties[:1]
	}
	for i, party := range parties {
		found, ok, err := b.find(ctx, party)
		switch {
		case err != nil:
			level := slog.LevelError
			if ctx.Err() != nil { // the message has ended: a client can have this at will
				level = slog.LevelDebug
			}
			b.Log.Log(ctx, level, "the boundary of a client could not be read; the caller may use nothing",
				"issuer", party.Issuer, "client", party.Client, "actor", party.Actor, "error", err)
			return b.none, time.Now().Add(boundaryRetry)
		case ok:
			all = append(all, found)
		case i == 0 && !b.Optional:
			return b.public, time.Time{}
		}
	}
	if len(all) == 0 {
		return b.unbounded, time.Time{}
	}
	now, next := time.Now(), time.Time{}
	for _, one := range all {
		switch {
		case one.Ended(now):
			return b.none, time.Time{}
		case !one.Until.IsZero() && (next.IsZero() || one.Until.Before(next)):
			next = one.Until
		}
	}
	e, err := b.compiled.Get(context.WithoutCancel(ctx), all)
	if err != nil { // the load has panicked
		b.Log.ErrorContext(ctx, "the boundary of a client could not be compiled", "error", err)
		return b.none, next
	}
	return e.Value, next
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
	sum := sha256.New()
	var number [8]byte
	text := func(s string) {
		binary.LittleEndian.PutUint64(number[:], uint64(len(s)))
		sum.Write(number[:])
		sum.Write([]byte(s))
	}
	for _, one := range l {
		text(fmt.Sprint(len(one.Roles), len(one.Items), one.ReadOnly))
		for _, s := range slices.Concat(one.Roles, one.Items) {
			text(s)
		}
	}
	return string(sum.Sum(nil))
}

// compile compiles boundaries that must all allow an item.
func (b *Boundaries) compile(all limits) *access.Bounds {
	roles := b.Table.Hierarchy()
	var allow []func(access.Kind, access.Rule) bool
	for _, one := range all {
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

// allowed returns a func that reports whether one boundary has the item of a rule.
func (b *Boundaries) allowed(one boundary.Boundary) func(access.Kind, access.Rule) bool {
	items, bad := boundaryitem.NewSet(one.Items, b.Catalogs)
	for _, err := range bad {
		b.Log.Warn("an item of a boundary allows nothing", "error", err)
	}
	return func(k access.Kind, rule access.Rule) bool {
		switch {
		case rule.Tool != "" && one.ReadOnly && !b.ReadOnly.Contains(rule.Tool):
			return false
		case k == access.Values:
			return items.HasValue(rule.Tool, rule.Argument, rule.Value)
		case k == access.Tools:
			return items.Has(boundaryitem.Tool, rule.Tool)
		case k == access.Prompts:
			return items.Has(boundaryitem.Prompt, rule.Prompt)
		}
		return items.Has(boundaryitem.Resource, rule.Resource)
	}
}
