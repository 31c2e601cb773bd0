package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// startSandbox readies the sandbox for the tools of a server.
func (s *Server) startSandbox() error {
	if s.opts.Sandbox == nil {
		return nil
	}
	if keeps, ok := s.opts.Sandbox.(interface{ Folder() string }); ok && keeps.Folder() != "" {
		name, found, err := s.opts.Roots.Holding(keeps.Folder())
		if err != nil {
			return fmt.Errorf("Options.Sandbox: the folder of its workspaces: %w", err)
		}
		if found {
			return fmt.Errorf("Options.Sandbox: its workspaces, %s, are in the root %q of Options.Roots, so that grants on that would hold other clients' workspaces: give them a folder beside the roots", keeps.Folder(), name)
		}
	}
	start := SandboxStart{BestEffort: s.opts.SandboxBestEffort, Logger: s.log}
	for _, t := range s.tools {
		if t.Isolate == "" {
			continue
		}
		start.Isolated = append(start.Isolated, t.Isolate)
		start.Network = start.Network || t.connects()
		start.Programs = start.Programs || t.starts()
	}
	slices.Sort(start.Isolated)
	if err := s.opts.Sandbox.Start(start); err != nil {
		return fmt.Errorf("Options.Sandbox: %w", err)
	}
	return nil
}

// connects reports whether calls of the tool may connect to hosts.
func (t *tool) connects() bool { return t.allows(grant.Hosts) }

// starts reports whether calls of the tool may start programs.
func (t *tool) starts() bool { return t.allows(grant.Commands) }

func (t *tool) allows(f grant.Family) bool {
	return slices.ContainsFunc(t.Allow, func(a Allow) bool { return grant.FamilyOf(a.Kind) == f })
}

// inherited is what the process of a call is told of it.
type inherited struct {
	Principal   access.Principal          `json:"principal"`
	RequestID   string                    `json:"requestId"`
	Constraints []capability.Constraint   `json:"constraints,omitempty"`
	Bound       map[string]inheritedBound `json:"bound,omitempty"`
	// Grants are those on hosts, since each connection is decided on when it is made.
	Grants []grant.Grant `json:"grants,omitempty"`
	// Log is from which level on anybody wants log records, and Progress says whether the client wants to know how far the call has come.
	Log      *slog.Level `json:"log,omitempty"`
	Progress bool        `json:"progress,omitempty"`
}

// inheritedBound is a grant.Bound without what cannot be written: its file is handed over beside it.
type inheritedBound struct {
	Kinds   []string `json:"kinds"`
	Named   string   `json:"named"`
	Argv    []string `json:"argv,omitempty"`
	Path    string   `json:"path,omitempty"`
	Dir     bool     `json:"dir,omitempty"`
	Created bool     `json:"created,omitempty"`
	Host    bool     `json:"host,omitempty"`
	// Grant is what allowed it, of a kind of one's own.
	Grant *grant.Grant `json:"grant,omitempty"`
}

// Isolated runs the call in a process of its own, with what [Call.Allow] has opened, and returns the result as
// JSON, nil where the handler returns an error alone. It is called by generated code.
func (r *toolRun) Isolated(ctx context.Context) (json.RawMessage, error) {
	if r.server.opts.Sandbox == nil {
		return nil, toolset.ErrOutsideServer
	}
	if len(r.tool.Allow) > 0 && r.decided == nil {
		return nil, errors.New("the call was not decided on: run go generate")
	}
	what := inherited{Principal: r.call.caller, RequestID: r.record.requestID, Constraints: capability.Constraints(ctx), Bound: map[string]inheritedBound{}}
	what.Principal.Permits = nil
	said := &heard{run: r}
	said.wants(ctx, &what)
	files := map[string]*os.File{}
	for _, b := range r.decided {
		in := inheritedBound{Kinds: b.Kinds, Named: b.Named, Argv: b.Argv, Host: b.Dialer != nil}
		if grant.FamilyOf(b.Kinds[0]) == grant.Custom {
			in.Grant = b.Grants[0]
		}
		if o := b.Opened; o != nil {
			in.Path, in.Dir, in.Created = o.Path, o.Dir, o.Created
			files[b.Argument] = o.File
		}
		if b.Dialer != nil && what.Grants == nil {
			for _, g := range b.Dialer.Decider.Set.Grants() {
				if grant.FamilyOf(g.Type) == grant.Hosts {
					what.Grants = append(what.Grants, g)
				}
			}
		}
		what.Bound[b.Argument] = in
	}
	caller, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("what the process of a call is told: %w", err)
	}
	out, err := r.server.opts.Sandbox.Isolate(ctx, IsolatedCall{
		Name: r.tool.Isolate, Arguments: r.arguments, Caller: caller, Files: files,
		Network: r.tool.connects(), Programs: r.tool.starts(),
		Timeout: time.Until(r.call.deadline), Limits: r.tool.Limits,
		Emitted: func(emission json.RawMessage) { said.take(ctx, emission) },
	})
	said.end(ctx)
	if err == nil {
		return out, nil
	}
	var own interface{ HandlerError() string }
	var limit LimitError
	switch {
	case errors.As(err, &limit):
		r.killed.Store(true)
		return nil, limit
	case errors.As(err, &own):
		return nil, r.tool.helperError(own.HandlerError())
	case ctx.Err() != nil:
		r.killed.Store(errors.Is(ctx.Err(), context.DeadlineExceeded))
		return nil, ctx.Err()
	}
	return nil, &isolationError{err}
}

// helperError makes an error of the words that came from the process of a call. What can be refused there are
// connections, to tools that may make some; else, and where they are longer than a refusal, they are words like others.
func (t *tool) helperError(words string) error {
	denied, text := toolset.ParseRefused(words)
	if denied != nil && t.connects() && grant.FamilyOf(denied.Kind) == grant.Hosts && len(text) < 8<<10 {
		return denied
	}
	return errors.New(text)
}

// isolationError says that a call's process did not come to an answer. The reason is for the log.
type isolationError struct{ err error }

func (e *isolationError) Error() string { return "internal error" }
func (e *isolationError) Unwrap() error { return e.err }

// Inherit returns the context of a handler in a process of its own: with the caller and what was decided and opened for
// its call in the process of the server. Package sandbox calls it before the handler.
func Inherit(ctx context.Context, caller json.RawMessage, files map[string]*os.File) (context.Context, error) {
	var from inherited
	if err := json.Unmarshal(caller, &from); err != nil {
		return ctx, fmt.Errorf("what the process of a call is told: %w", err)
	}
	set, err := grant.NewSet(from.Grants...)
	if err != nil {
		return ctx, err
	}
	decided := make(grant.Decided, 0, len(from.Bound))
	for name, in := range from.Bound {
		b := grant.Bound{Argument: name, Kinds: in.Kinds, Named: in.Named, Argv: in.Argv, Apart: true}
		if in.Path != "" {
			if files[name] == nil {
				return ctx, fmt.Errorf("the file that %q names was not handed over", name)
			}
			b.Opened = &grant.Opened{File: files[name], Path: in.Path, Dir: in.Dir, Created: in.Created}
		}
		if in.Grant != nil {
			b.Grants = []*grant.Grant{in.Grant}
		}
		if in.Host {
			b.Dialer = &grant.Dialer{Decider: &grant.Decider{Set: set, Isolated: true}}
		}
		decided = append(decided, b)
	}
	if len(from.Constraints) > 0 {
		ctx = capability.WithConstraints(ctx, from.Constraints)
	}
	if e := emitterOf(ctx); e != nil {
		e.inherit(from)
	}
	ctx = context.WithValue(ctx, recordKey{}, &record{principal: from.Principal, caller: from.Principal, requestID: from.RequestID, started: time.Now()})
	return grant.With(ctx, decided), nil
}
