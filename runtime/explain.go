package runtime

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Explain returns why a principal may use a tool, or why not. With Options.Host.Source it reads
// the host's permissions as a request of that principal does. An alias stands for its tool. A
// principal whose Subject is its Client counts as the client itself; see identity.OfClientItself.
func (s *Server) Explain(ctx context.Context, p access.Principal, tool string) access.Explanation {
	return s.ExplainOf(ctx, p, access.Tools, tool)
}

// ExplainOf is [Server.Explain] for any kind. The name of a resource is its URI or template, and
// that of a value or a field the [access.Rule.Name] of its rule. A field is allowed if the rule of
// the field holds; a call needs the rule of its tool as well.
func (s *Server) ExplainOf(ctx context.Context, p access.Principal, k access.Kind,
	name string) access.Explanation {
	if tool, ok := s.aliases[name]; ok && k == access.Tools {
		name = tool
	}
	view := s.view(ctx, p)
	e := s.explain(view, k, name)
	e.Host = view.Why
	return e
}

// view returns a principal as its messages over HTTP would be seen.
func (s *Server) view(ctx context.Context, p access.Principal) principal.View {
	p.Bounds = nil
	if s.boundaries != nil {
		p.Bounds, _ = s.boundaries.Of(ctx, p)
	}
	if s.boundaries.Blocked(p) {
		return principal.View{Principal: p, Why: "its client is blocked (403 over HTTP)", Refused: true}
	}
	return s.host.View(ctx, p, s.opts.Anonymous)
}

func (s *Server) explain(view principal.View, k access.Kind, name string) access.Explanation {
	table, off := s.table.Of(k), s.policy.IsOff(k, name)
	d := table.Decide(view.Principal, name)
	allowed := d.Allowed && !view.Refused &&
		(k != access.Resources || s.policy.Decide(view.Principal, false, k, name).Allowed)
	if rule, ok := table.Tool(name); ok && k == access.Values {
		tool := s.explain(view, access.Tools, rule.Tool)
		off, allowed = tool.Off, allowed && tool.Allowed
	}
	e := access.Explanation{
		Kind: k, Name: name, Off: off, Allowed: allowed && !off,
		Listed:  s.policy.Listed(view.Principal, k).Contains(name) && !view.Refused,
		Missing: d.Missing(), Verdicts: table.Explain(view.Principal, name)}
	if k == access.Fields {
		for _, tool := range slices.Sorted(maps.Keys(s.tools)) {
			for _, place := range s.tools[tool].Places(name) {
				e.Places = append(e.Places, tool+" "+place)
			}
		}
	}
	return e
}

// Doctor reports for each known identity what it sees, and why not the rest. It is for operators.
// The identities are those of Options.Identity, if that is an identity.PrincipalLister, then those
// of Options.Host.ServiceUsers, without further roles or scopes, and then principals.
func (s *Server) Doctor(ctx context.Context, principals ...access.Principal) access.Report {
	r := access.Report{PermissionAware: s.host != nil}
	diagnose := func(from string, principals ...access.Principal) {
		for _, p := range principals {
			r.Identities = append(r.Identities, s.diagnose(ctx, from, p))
		}
	}
	if known, ok := s.opts.Identity.(identity.PrincipalLister); ok {
		diagnose("Options.Identity", slices.SortedStableFunc(
			slices.Values(known.Principals()), access.Principal.Compare)...)
	}
	for _, u := range s.opts.Host.ServiceUsers {
		diagnose("Options.Host.ServiceUsers", access.Principal{
			Issuer: u.Issuer, Subject: u.Client, Client: u.Client, User: u.User})
	}
	diagnose("asked for", principals...)
	return r
}

func (s *Server) diagnose(ctx context.Context, from string, p access.Principal) access.Diagnosis {
	view := s.view(ctx, p)
	p = view.Principal
	d := access.Diagnosis{
		From: from, Principal: p, Refused: view.Refused, HostUnknown: s.host != nil &&
			view.Why != ""}
	var problems []string
	if err := principal.CheckRoles(s.table, p); err != nil {
		problems = append(problems, err.Error())
	}
	if view.Why != "" {
		problems = append(problems, view.Why)
	} else if s.host != nil && !p.Anonymous() {
		ctx, cancel := context.WithTimeout(ctx, s.opts.Host.Timeout)
		user, err := s.host.User(ctx, p)
		cancel()
		if d.User, d.Superuser = user.Name, user.Superuser; err != nil {
			problems = append(problems, "the host did not identify the user: "+err.Error())
		}
	}
	d.Problem = strings.Join(problems, "; ")
	for _, k := range append(request.Kinds[:], access.Values, access.Fields) {
		for _, rule := range s.table.Of(k).Rules {
			if e := s.explain(view, k, rule.Name()); e.Listed {
				d.Seen = append(d.Seen, e)
			} else {
				d.Unseen = append(d.Unseen, e)
			}
		}
	}
	return d
}
