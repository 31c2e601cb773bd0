package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Explanation says why a principal may use a tool, a prompt or a resource, or why not. It is for
// logs and admins, and never for the caller: it tells what exists.
type Explanation struct {
	Kind    access.Kind
	Name    string
	Allowed bool
	// Off says that the tool is switched off: it is unknown to everybody, whatever its rule.
	Off bool
	// Listed says that lists show it: what is allowed, what is challenged for scopes alone, and with
	// Options.ListAll everything.
	Listed bool
	// Missing is what the caller lacks, in the words that it would be told where it is told any (see
	// access.Decision.Missing).
	Missing string
	// Verdicts are what each part of the rule says, those after the first that fails included.
	Verdicts []access.Verdict
	// Host says why the host's permissions are not known, where they are asked for and are not, and
	// why the caller is not admitted at all, where it is not.
	Host string
}

// String is the explanation, one line for each verdict.
func (e Explanation) String() string {
	word := "denied"
	if e.Allowed {
		word = "allowed"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q: %s\n", e.Kind, e.Name, word)
	if e.Off {
		b.WriteString("  the tool is switched off\n")
	}
	for _, v := range e.Verdicts {
		fmt.Fprintf(&b, "  %s\n", v)
	}
	if e.Host != "" {
		fmt.Fprintf(&b, "  %s\n", e.Host)
	}
	return b.String()
}

// Explain says why a principal may use a tool, or why not. With Options.PermissionAware it
// asks the host as a request of that principal would; one whose Subject is its Client is taken for the client
// itself (see [identity.OfClientItself]).
func (s *Server) Explain(ctx context.Context, p access.Principal, tool string) Explanation {
	return s.ExplainOf(ctx, p, access.Tools, tool)
}

// ExplainOf is Explain for any kind: prompts are named, resources are written as their URI or template.
func (s *Server) ExplainOf(ctx context.Context, p access.Principal, k access.Kind, name string) Explanation {
	c := s.asHost(ctx, p)
	e := s.explained(c.principal, k, name)
	e.Host = c.why
	if c.refused {
		e.Allowed, e.Listed = false, false
	}
	return e
}

func (s *Server) explained(p access.Principal, k access.Kind, name string) Explanation {
	table := s.table.Of(k)
	off := s.catalogs.isOff(k, name)
	shown := !off && (s.opts.ListAll || table.Listed(p, s.opts.Denial).Contains(name))
	d := table.Decide(p, name)
	return Explanation{Kind: k, Name: name, Off: off, Allowed: d.Allowed && !off, Listed: shown, Missing: d.Missing(), Verdicts: table.Explain(p, name)}
}

// viewed is a principal with what the host lets it do.
type viewed struct {
	principal access.Principal
	why       string // why that is not known, or why the principal is not admitted
	refused   bool   // it is not admitted, to what is public neither
}

// asHost looks at a principal as a request of it would be looked at.
func (s *Server) asHost(ctx context.Context, p access.Principal) viewed {
	p.Permits = nil
	switch {
	case p.Anonymous() && !s.opts.Anonymous:
		return viewed{p, "a caller without an identity is refused (401 over HTTP), since Options.Anonymous admits none", true}
	case s.host == nil || p.Anonymous():
		return viewed{principal: p}
	}
	itself := identity.OfClientItself(p)
	p = s.host.named(p, itself)
	e, err := s.host.cache.get(ctx, p)
	switch {
	case err == nil:
		p.Permits = e.said.permits
		return viewed{principal: p}
	case errors.Is(err, capability.ErrNoUser):
		return viewed{p, s.host.noUser(p, itself, err) + "; " + s.stranger(), !s.opts.Anonymous}
	}
	return viewed{principal: p, why: "the host could not be asked: " + err.Error()}
}

// trace writes a decision with all of its verdicts to the log, at debug level.
func (s *Server) trace(ctx context.Context, rec *record, k access.Kind, name string) {
	if !s.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	e := s.explained(rec.principal, k, name)
	verdicts := make([]string, len(e.Verdicts))
	for i, v := range e.Verdicts {
		verdicts[i] = v.String()
	}
	s.log.LogAttrs(ctx, slog.LevelDebug, "decided", slog.String("kind", k.String()), slog.String("name", s.recordedText(name, 256)),
		slog.Bool("allowed", e.Allowed), slog.String("verdicts", strings.Join(verdicts, "; ")), slog.Bool("host_unanswered", rec.unanswered),
		slog.String("principal", rec.principal.Subject), slog.String("user", rec.principal.User), rec.ids())
}
