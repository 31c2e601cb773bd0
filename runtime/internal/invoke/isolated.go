package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/guardedtype"
	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// StartSandbox starts a server's sandbox for its tools. s may be nil.
func StartSandbox(s isolate.Sandbox, start isolate.Start, roots *grant.Roots,
	tools map[string]*Tool) error {
	if s == nil {
		return nil
	}
	if keeps, ok := s.(interface{ Folder() string }); ok && keeps.Folder() != "" {
		name, found, err := roots.Holding(keeps.Folder())
		if err != nil {
			return fmt.Errorf("Options.Sandbox: the workspace folder: %w", err)
		}
		if found {
			return fmt.Errorf("Options.Sandbox: its workspaces, %s, are in the root %q of "+
				"Options.Grants.Roots, so grants on this root would cover workspaces of other clients: use a "+
				"folder outside the roots", keeps.Folder(), name)
		}
	}
	for _, t := range tools {
		if t.Isolate != "" {
			start.Isolated = append(start.Isolated, t.Isolate)
			start.Network = start.Network || t.allows(pattern.Hosts)
			start.Programs = start.Programs || t.allows(pattern.Commands)
		}
	}
	slices.Sort(start.Isolated)
	if err := s.Start(start); err != nil {
		return fmt.Errorf("Options.Sandbox: %w", err)
	}
	return nil
}

// childCall describes a call to the process that runs its handler.
type childCall struct {
	Principal   access.Principal        `json:"principal"`
	RequestID   string                  `json:"requestId"`
	Constraints []capability.Constraint `json:"constraints,omitempty"`
	Bound       []childBound            `json:"bound,omitempty"`
	// Grants are those on hosts: each connection is decided on when it is made.
	Grants []grant.Grant `json:"grants,omitempty"`
	// Guarded has the rules of fields, for the types of what the handler returns.
	Guarded guardedtype.Child `json:"guarded,omitzero"`
	notify.Wants
}

// childBound is the part of a [grant.Bound] that JSON can hold.
type childBound struct {
	grant.Bound      // its file is inherited
	Dialer      bool // instead of the one of Bound
	// Within are the bounds of the dialer's hosts.
	Within []grant.Grant `json:"within,omitempty"`
}

// Isolated runs the call in its own process. A handler that only returns an error has no result.
func (c *call) Isolated(ctx context.Context) (json.RawMessage, error) {
	if c.Sandbox == nil {
		return nil, toolset.ErrOutsideServer
	}
	if len(c.tool.Allow) > 0 && c.decided == nil {
		return nil, errors.New("the permissions of the call were not checked: run go generate")
	}
	output := notify.NewChildOutput(c.ctx, &c.advice)
	child := childCall{
		Principal: *c.handling.Caller, RequestID: c.info.ID, Constraints: capability.Constraints(ctx),
		Guarded: guardedtype.Child{Rules: c.Policy.Fields(), Described: c.tool.Fields},
		Wants:   output.Wants(ctx)}
	child.Principal.Permits, child.Principal.Bounds = nil, nil
	files := child.add(c.decided)
	caller, err := json.Marshal(child)
	if err != nil {
		return nil, fmt.Errorf("the description of a call for its process: %w", err)
	}
	deadline, _ := c.ctx.Deadline()
	out, err := c.Sandbox.Isolate(ctx, isolate.Call{
		Name: c.tool.Isolate, Arguments: c.arguments, Caller: caller, Files: files,
		Network: c.tool.allows(pattern.Hosts), Programs: c.tool.allows(pattern.Commands),
		Timeout: time.Until(deadline), Limits: c.tool.Limits,
		Emitted: func(event json.RawMessage) { output.Take(ctx, event) }})
	output.Close(ctx)
	var handler interface{ HandlerError() string }
	var limit toolset.LimitError
	switch {
	case err == nil:
		return out, nil
	case errors.As(err, &limit):
		c.killed.Store(true)
		return nil, limit
	case errors.As(err, &handler):
		denied, text := isolate.ParseRefused(handler.HandlerError())
		// The process is not trusted: only a tool that may connect can be refused a connection there.
		if denied != nil && pattern.FamilyOf(denied.Kind) == pattern.Hosts &&
			c.tool.allows(pattern.Hosts) && len(text) < 8<<10 {
			return nil, denied
		}
		if strings.Contains(text, errCannotAsk.Error()) {
			return nil, errCannotAsk
		}
		return nil, cmp.Or(guardedtype.Parse(text), errors.New(text))
	case ctx.Err() != nil:
		c.killed.Store(errors.Is(ctx.Err(), context.DeadlineExceeded))
		return nil, ctx.Err()
	}
	return nil, c.crash(ctx, "an isolated call returned no result", err)
}

// add adds what JSON can hold of the decisions, and returns the files, by argument.
func (child *childCall) add(decided grant.Decided) map[string]*os.File {
	files := map[string]*os.File{}
	for _, b := range decided {
		if b.Dialer != nil && child.Grants == nil {
			child.Grants = slices.DeleteFunc(b.Dialer.Decider.Set.Grants(), func(g grant.Grant) bool {
				return pattern.FamilyOf(g.Type) != pattern.Hosts
			})
		}
		if o := b.Opened; o != nil {
			files[b.Argument] = o.File
			b.Opened = &grant.Opened{Path: o.Path, Dir: o.Dir, Created: o.Created}
		}
		if pattern.FamilyOf(b.Kinds[0]) != pattern.Customs {
			b.Grants = nil
		}
		bound := childBound{Bound: b, Dialer: b.Dialer != nil}
		if bound.Dialer {
			bound.Within = b.Dialer.Decider.Within.Grants()
		}
		child.Bound = append(child.Bound, bound)
	}
	return files
}

// ChildContext returns the context of an isolated handler, in its own process: with the caller,
// and with what the server's process has decided and opened for the call.
func ChildContext(ctx context.Context, caller json.RawMessage,
	files map[string]*os.File) (context.Context, error) {
	var child childCall
	if err := json.Unmarshal(caller, &child); err != nil {
		return ctx, fmt.Errorf("the description of a call for its process: %w", err)
	}
	hosts, err := grant.NewSet(child.Grants...)
	if err != nil {
		return ctx, err
	}
	decided := make(grant.Decided, 0, len(child.Bound))
	for _, from := range child.Bound {
		b := from.Bound
		b.Apart = true
		if b.Opened != nil {
			if b.Opened.File = files[b.Argument]; b.Opened.File == nil {
				return ctx, fmt.Errorf("the file of %q was not inherited", b.Argument)
			}
		}
		if from.Dialer {
			within, err := grant.NewSet(from.Within...)
			if err != nil {
				return ctx, err
			}
			b.Dialer = &grant.Dialer{
				Decider: &grant.Decider{Set: hosts, Within: within, Isolated: true}}
		}
		decided = append(decided, b)
	}
	if len(child.Constraints) > 0 {
		ctx = capability.WithConstraints(ctx, child.Constraints)
	}
	notify.Inherit(ctx, child.Wants)
	guardedtype.Inherit(child.Guarded)
	ctx = request.With(ctx, &request.Info{
		ID: child.RequestID, Principal: child.Principal, Started: time.Now()})
	return grant.With(ctx, decided), nil
}
