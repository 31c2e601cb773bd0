package invoke

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const maxGrantSets = 4096 // clients whose compiled grants are kept

// Grants are the permissions of clients on resources. Each call asks the source, so that a revoked
// grant does not allow the next call. Only the compiled form is kept, by client and revision.
type Grants struct {
	source   grant.Source  // nil for none
	defaults []grant.Grant // of all clients
	common   *grant.Set    // of the defaults alone

	mu   sync.RWMutex
	sets map[isolate.Client]compiledGrants
}

type compiledGrants struct {
	revision uint64
	set      *grant.Set
}

// NewGrants returns nil if nothing is granted to anybody.
func NewGrants(source grant.Source, defaults []grant.Permission,
	roots *grant.Roots) (*Grants, error) {
	if source == nil && len(defaults) == 0 {
		return nil, nil
	}
	var err error
	g := &Grants{source: source, sets: map[isolate.Client]compiledGrants{}}
	g.defaults = grant.Default(defaults...)
	if g.common, err = grant.NewSet(g.defaults...); err != nil {
		return nil, fmt.Errorf("Options.Grants.Defaults: %w", err)
	}
	names := roots.Names()
	for _, p := range defaults {
		if name := p.MissingRoot(names); name != "" {
			return nil, fmt.Errorf("Options.Grants.Defaults: %s: unknown root %q; the roots are %s",
				p, name, strings.Join(names, ", "))
		}
	}
	return g, nil
}

// Defaults returns the grants of all clients. g may be nil.
func (g *Grants) Defaults() []grant.Grant {
	if g == nil {
		return nil
	}
	return g.common.Grants()
}

// Of returns the grants of a client. ctx bounds how long the source may take.
func (g *Grants) Of(ctx context.Context, client isolate.Client) (*grant.Set, error) {
	if g.source == nil || client == (isolate.Client{}) {
		return g.common, nil
	}
	held, revision, err := g.source.Grants(ctx, client.Issuer, client.ID)
	if err != nil {
		return nil, err
	}
	g.mu.RLock()
	kept, ok := g.sets[client]
	g.mu.RUnlock()
	if ok && kept.revision == revision {
		return kept.set, nil
	}
	set, err := grant.NewSet(slices.Concat(g.defaults, held)...)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.sets {
		if ok || len(g.sets) < maxGrantSets {
			break
		}
		delete(g.sets, other)
	}
	g.sets[client] = compiledGrants{revision, set}
	return set, nil
}

var errNoGrants = errors.New(grant.Code + ": your grants could not be read: try again later")

// Allow decides on the resources that the arguments name, and opens the files among them.
func (c *call) Allow(ctx context.Context, named []toolset.Named) (context.Context, error) {
	if c.Grants == nil {
		return ctx, toolset.ErrOutsideServer
	}
	if err := c.tool.checkNamed(named); err != nil {
		return ctx, err
	}
	set, err := c.Grants.Of(ctx, request.ClientOf(c.caller))
	if err != nil {
		c.log(ctx, slog.LevelError,
			"the grants of a client could not be read; the call is refused", "error", err)
		return ctx, errNoGrants
	}
	decider := &grant.Decider{Set: set, Roots: c.Roots, Isolated: c.tool.Isolate != ""}
	decided := make(grant.Decided, 0, len(named))
	uses := make([]audit.Use, 0, len(c.tool.Allow))
	// What may create a file comes last, so that a refused call leaves none.
	creates := func(n toolset.Named) int { return min(0, slices.Index(n.Kinds, grant.FileWrite)) }
	slices.SortStableFunc(named, func(a, b toolset.Named) int { return creates(a) - creates(b) })
	for _, n := range named {
		within := *decider
		within.Within = c.tool.within[n.Argument]
		bound, err := decide(ctx, &within, n)
		if err != nil {
			errors.As(err, &c.refused)
			return ctx, errors.Join(err, decided.Close())
		}
		bound.Argument = n.Argument
		decided = append(decided, bound)
		for i, kind := range bound.Kinds {
			uses = append(uses, audit.Use{Argument: n.Argument, Kind: kind, Grant: bound.Grants[i].ID})
		}
	}
	c.decided = decided
	c.grants.Store(&uses)
	return grant.With(ctx, decided), nil
}

// checkNamed checks that generated code names exactly the permissions that the tool declares.
func (t *Tool) checkNamed(named []toolset.Named) error {
	count := 0
	for _, n := range named {
		for _, kind := range n.Kinds {
			if !slices.ContainsFunc(t.Allow, func(a toolset.Allow) bool {
				return a.Kind == kind && a.Argument == n.Argument
			}) {
				return fmt.Errorf("%s of %q is not among the permissions of the tool: run go generate",
					kind, n.Argument)
			}
			count++
		}
	}
	if count != len(t.Allow) {
		return fmt.Errorf("the call names %d of the tool's %d permissions: run go generate",
			count, len(t.Allow))
	}
	return nil
}

// bounds returns the patterns of //mcp:allow, by argument.
func bounds(allow []toolset.Allow) (map[string]*grant.Set, error) {
	byArgument := map[string][]grant.Grant{}
	for _, a := range allow {
		if a.Within != "" {
			byArgument[a.Argument] = append(byArgument[a.Argument], grant.Grant{
				ID:         "the bound of " + a.Argument,
				Permission: grant.Permission{Type: a.Kind, Resource: a.Within, Unrestricted: true}})
		}
	}
	within := map[string]*grant.Set{}
	for argument, grants := range byArgument {
		var err error
		if within[argument], err = grant.NewSet(grants...); err != nil {
			return nil, err
		}
	}
	return within, nil
}

func decide(ctx context.Context, d *grant.Decider, n toolset.Named) (grant.Bound, error) {
	if len(n.Kinds) == 0 {
		return grant.Bound{}, fmt.Errorf("%q has no permission: run go generate", n.Argument)
	}
	switch family := pattern.FamilyOf(n.Kinds[0]); {
	case family == pattern.Commands:
		return d.Argv(n.Values)
	case len(n.Values) != 1:
		return grant.Bound{}, fmt.Errorf(
			"%q names %d resources, and is bound to %s, which is for one: run go generate",
			n.Argument, len(n.Values), n.Kinds[0])
	case family == pattern.Paths:
		return d.Path(ctx, grant.Path(n.Values[0]), n.Kinds...)
	case family == pattern.Hosts:
		return d.Host(grant.Host(n.Values[0]))
	}
	return d.Custom(n.Kinds[0], n.Values[0])
}

// Dependencies are what a server has for the tools that need it.
type Dependencies struct{ Grants, Roots, Sandbox bool }

// CheckGuarded refuses a tool that the server cannot serve as declared: without its permissions,
// limits or process, the tool would do more than it may.
func CheckGuarded(t *Tool, has Dependencies) error {
	var errs []error
	refuse := func(wrong bool, problem string) {
		if wrong {
			errs = append(errs, fmt.Errorf("tool %q: %s", t.Name, problem))
		}
	}
	refuse(t.Handle != nil && (len(t.Allow) > 0 || t.Isolate != ""),
		"it has //mcp:allow or isolate=process, but its generated code uses neither: run go generate")
	for _, a := range t.Allow {
		allow := fmt.Sprintf("it has //mcp:allow %s={%s}, but ", a.Kind, a.Argument)
		isPath := pattern.FamilyOf(a.Kind) == pattern.Paths
		refuse(!has.Grants, allow+"no grants are configured: set Options.Grants.Source, for example to "+
			"stored.New of package grant/stored, or only Options.Grants.Defaults")
		refuse(isPath && !has.Roots, allow+
			"no folder is configured: set Options.Grants.Roots with grant.OpenRoots")
		has.Grants, has.Roots = true, has.Roots || isPath // it is reported once
	}
	refuse(t.Isolate != "" && !has.Sandbox, "isolate=process of its //mcp:limit needs a sandbox: "+
		"set Options.Sandbox with sandbox.New")
	rate := t.Limits.Rate
	refuse(t.Limits.Concurrency < 0 || rate.Calls < 0 || (rate.Calls > 0) != (rate.Per > 0),
		"its limit on calls at a time or on their rate is not positive: run go generate")
	refuse(t.Limits.Memory > 0 && t.Isolate == "", "memory= of its //mcp:limit bounds calls "+
		"with isolate=process only: add that, and run go generate")
	return errors.Join(errs...)
}
