package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Allow decides on what the arguments of a call name, opens the files among it, and returns the context
// that the handler takes them from. It is called by generated code, once a call, after decoding and before the
// handler. Nothing is open after an error; what is open else is closed when the handler has returned.
func (r *toolRun) Allow(ctx context.Context, named []Named) (context.Context, error) {
	if r.server.grants == nil {
		return ctx, toolset.ErrOutsideServer
	}
	if err := r.tool.names(named); err != nil {
		return ctx, err
	}
	set, err := r.server.grants.of(ctx, &r.call.caller)
	if err != nil {
		return ctx, &unreadGrants{err}
	}
	decider := &grant.Decider{Set: set, Roots: r.server.opts.Roots, Isolated: r.tool.Isolate != ""}
	decided := make(grant.Decided, 0, len(named))
	uses := make([]audit.Use, 0, len(r.tool.Allow))
	slices.SortStableFunc(named, func(a, b Named) int { return cmp.Compare(creates(a), creates(b)) })
	for _, n := range named {
		bound, err := decide(ctx, decider, n)
		if err != nil {
			errors.As(err, &r.refused)
			return ctx, errors.Join(err, decided.Close())
		}
		bound.Argument = n.Argument
		decided = append(decided, bound)
		for i, kind := range bound.Kinds {
			uses = append(uses, audit.Use{Argument: n.Argument, Kind: kind, Grant: bound.Grants[i].ID})
		}
	}
	r.decided = decided
	r.uses.Store(&uses)
	return grant.With(ctx, decided), nil
}

// creates is 1 for what may make a file, which is decided on last: a call that is refused should leave nothing.
func creates(n Named) int {
	if slices.Contains(n.Kinds, grant.FileWrite) {
		return 1
	}
	return 0
}

// names holds what generated code asks for against what the tool was declared with: none may be left out.
func (t *tool) names(named []Named) error {
	asked := 0
	for _, n := range named {
		for _, kind := range n.Kinds {
			if !slices.Contains(t.Allow, Allow{Kind: kind, Argument: n.Argument}) {
				return fmt.Errorf("%s of %q is not among the permissions of the tool: run go generate", kind, n.Argument)
			}
			asked++
		}
	}
	if asked != len(t.Allow) {
		return fmt.Errorf("%d of the tool's %d permissions are asked for: run go generate", asked, len(t.Allow))
	}
	return nil
}

// decide answers for one argument.
func decide(ctx context.Context, d *grant.Decider, n Named) (grant.Bound, error) {
	if len(n.Kinds) == 0 {
		return grant.Bound{}, fmt.Errorf("%q is bound to no permission: run go generate", n.Argument)
	}
	family := grant.FamilyOf(n.Kinds[0])
	if family == grant.Commands {
		return d.Argv(n.Values)
	}
	if len(n.Values) != 1 {
		return grant.Bound{}, fmt.Errorf("%q names %d resources, and is bound to %s, which is for one: run go generate", n.Argument, len(n.Values), n.Kinds[0])
	}
	switch family {
	case grant.Paths:
		return d.Path(ctx, grant.Path(n.Values[0]), n.Kinds...)
	case grant.Hosts:
		return d.Host(grant.Host(n.Values[0]))
	}
	return d.Custom(n.Kinds[0], n.Values[0])
}

// unreadGrants says that it is not known what a client may use, which denies. The reason is for the log.
type unreadGrants struct{ err error }

func (e *unreadGrants) Error() string {
	return grant.Code + ": what you may use could not be read: try again later"
}
func (e *unreadGrants) Unwrap() error { return e.err }

// checkGuarded refuses tools that the server cannot serve as they were declared: without its permissions, its limits or
// its process a tool would be open to what it was closed to.
func (o Options) checkGuarded(t *tool) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("tool %q: "+format, append([]any{t.Name}, args...)...))
	}
	l := t.Limits
	if t.Answer != nil && (len(t.Allow) > 0 || t.Isolate != "") {
		bad("it has //mcp:allow or isolate=process, and its code asks for neither: run go generate")
	}
	if len(t.Allow) > 0 && o.Grants == nil && len(o.GrantDefaults) == 0 {
		bad("it has //mcp:allow %s={%s}, and nothing says what clients may use: set Options.Grants, as to stored.New of package grant/stored, or Options.GrantDefaults alone", t.Allow[0].Kind, t.Allow[0].Argument)
	}
	for _, a := range t.Allow {
		if grant.FamilyOf(a.Kind) == grant.Paths && o.Roots == nil {
			bad("it has //mcp:allow %s={%s}, and there is no folder to open files in: set Options.Roots, by grant.OpenRoots", a.Kind, a.Argument)
			break
		}
	}
	const cure = "set Options.Sandbox, by sandbox.New"
	if t.Isolate != "" && o.Sandbox == nil {
		bad("isolate=process of its //mcp:limit needs a sandbox: %s", cure)
	}
	if (l.Concurrency > 0 || l.Rate.Calls > 0) && o.Sandbox == nil {
		bad("concurrency= and rate= of its //mcp:limit need a sandbox, which counts the calls: %s", cure)
	}
	if l.Memory > 0 && t.Isolate == "" {
		bad("memory= of its //mcp:limit bounds calls with isolate=process only: add that, and run go generate")
	}
	return errors.Join(errs...)
}
