package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	// Verdicts are what each part of the rule says, those after the first that fails included.
	Verdicts []access.Verdict
	// Host says why the host's permissions are not known, where they are asked for and are not.
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
	p, why := s.asHost(ctx, p)
	e := s.explained(p, k, name)
	e.Host = why
	return e
}

func (s *Server) explained(p access.Principal, k access.Kind, name string) Explanation {
	table := s.table.Of(k)
	return Explanation{Kind: k, Name: name, Allowed: table.Decide(p, name).Allowed, Verdicts: table.Explain(p, name)}
}

// asHost is a principal with what the host lets it do, and why that is not known.
func (s *Server) asHost(ctx context.Context, p access.Principal) (_ access.Principal, why string) {
	p.Permits = nil
	if s.host == nil || p.Anonymous() {
		return p, ""
	}
	p = s.host.named(p, identity.OfClientItself(p))
	e, err := s.host.cache.get(ctx, p)
	switch {
	case err == nil:
		p.Permits = e.grant.permits
		return p, ""
	case errors.Is(err, capability.ErrNoUser) && p.User == "":
		return p, "it names no user of the host: " + err.Error()
	case errors.Is(err, capability.ErrNoUser):
		return p, fmt.Sprintf("the host has no active user %q: %s", p.User, err)
	}
	return p, "the host could not be asked: " + err.Error()
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
	s.log.LogAttrs(ctx, slog.LevelDebug, "decided", slog.String("kind", k.String()), slog.String("name", shortened(name, 256)),
		slog.Bool("allowed", e.Allowed), slog.Any("verdicts", verdicts), slog.Bool("host_unanswered", rec.unanswered),
		slog.String("principal", rec.principal.Subject), slog.String("user", rec.principal.User), slog.String("request_id", rec.requestID))
}

// Report is what [Server.Doctor] found.
type Report struct {
	PermissionAware bool
	Identities      []Diagnosis
}

// Diagnosis is what one identity would see, and why not the rest.
type Diagnosis struct {
	From      string // where the identity is known from, as in "Options.ServiceUsers"
	Principal access.Principal
	User      capability.User // of the host; zero where there is none
	Problem   string          // why there is none, or why it is not known
	Seen      []Explanation   // what it may use
	Unseen    []Explanation   // what it may not
}

// Doctor says for each identity that is known beforehand what it would see and why not the rest:
// the principals of Options.Identity where that is a fixed set, those of Options.ServiceUsers
// without further roles or scopes, and those that it is given. It is for whoever runs the server.
func (s *Server) Doctor(ctx context.Context, principals ...access.Principal) Report {
	r := Report{PermissionAware: s.host != nil}
	if known, ok := s.opts.Identity.(identity.Known); ok {
		for _, p := range known.Principals() {
			r.Identities = append(r.Identities, s.diagnose(ctx, "Options.Identity", p))
		}
	}
	for _, u := range s.opts.ServiceUsers {
		p := access.Principal{Issuer: u.Issuer, Subject: u.Client, Client: u.Client, User: u.User}
		r.Identities = append(r.Identities, s.diagnose(ctx, "Options.ServiceUsers", p))
	}
	for _, p := range principals {
		r.Identities = append(r.Identities, s.diagnose(ctx, "asked for", p))
	}
	return r
}

func (s *Server) diagnose(ctx context.Context, from string, p access.Principal) Diagnosis {
	p, why := s.asHost(ctx, p)
	d := Diagnosis{From: from, Principal: p, Problem: why}
	if s.host != nil && !p.Anonymous() && why == "" {
		ctx, cancel := context.WithTimeout(ctx, s.opts.CapabilityTimeout)
		user, err := supervised(ctx, func() (capability.User, error) { return s.host.source.Resolve(ctx, p) })
		cancel()
		if d.User = user; err != nil {
			d.Problem = "the host could not say which user it is: " + err.Error()
		}
	}
	for _, k := range kinds {
		for _, rule := range s.table.Of(k).Rules {
			if e := s.explained(p, k, rule.Name()); e.Allowed {
				d.Seen = append(d.Seen, e)
			} else {
				d.Unseen = append(d.Unseen, e)
			}
		}
	}
	return d
}

// String is the report as WriteTo writes it.
func (r Report) String() string {
	var b strings.Builder
	_, _ = r.WriteTo(&b) // into a strings.Builder, which does not fail
	return b.String()
}

// WriteTo writes the report for people, one paragraph for each identity.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder
	if len(r.Identities) == 0 {
		b.WriteString("No identity is known beforehand: pass principals to look at.\n")
	}
	for i, d := range r.Identities {
		if i > 0 {
			b.WriteByte('\n')
		}
		p := d.Principal
		fmt.Fprintf(&b, "%s (%s)", cmp.Or(p.Subject, "an anonymous caller"), d.From)
		if p.Role != "" {
			fmt.Fprintf(&b, ", role %s", p.Role)
		}
		switch {
		case d.Problem != "":
			fmt.Fprintf(&b, "\n  problem: %s\n", d.Problem)
		case r.PermissionAware && !p.Anonymous():
			fmt.Fprintf(&b, ", user %s of the host", cmp.Or(d.User.Name, p.User))
			if d.User.Superuser {
				b.WriteString(", a superuser")
			}
			b.WriteByte('\n')
		default:
			b.WriteByte('\n')
		}
		for _, e := range d.Seen {
			fmt.Fprintf(&b, "  sees %s %s\n", e.Kind, e.Name)
		}
		for _, e := range d.Unseen {
			fmt.Fprintf(&b, "  not  %s %s: %s\n", e.Kind, e.Name, failing(e.Verdicts))
		}
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// failing is what does not hold, in one line.
func failing(verdicts []access.Verdict) string {
	var words []string
	for _, v := range verdicts {
		if !v.Holds {
			words = append(words, v.String())
		}
	}
	return strings.Join(words, "; ")
}
