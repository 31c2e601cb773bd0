package runtime

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

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
	// Problem is why there is none, or why it is not known, and what else cannot have been meant: a role
	// that the hierarchy does not have, an identity that is refused whatever it asks for.
	Problem string
	Refused bool          // every request of it is refused
	Seen    []Explanation // what lists show it: what it may use, and what is challenged for scopes alone
	Unseen  []Explanation // the rest

	hostless bool // what the host lets it do is not known
}

// Doctor says for each identity that is known beforehand what it would see and why not the rest:
// the principals of Options.Identity where that is a fixed set, those of Options.ServiceUsers
// without further roles or scopes, and those that it is given. It is for whoever runs the server.
func (s *Server) Doctor(ctx context.Context, principals ...access.Principal) Report {
	r := Report{PermissionAware: s.host != nil}
	if known, ok := s.opts.Identity.(identity.Known); ok {
		for _, p := range slices.SortedStableFunc(slices.Values(known.Principals()), byName) {
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

// byName orders principals as people look for them.
func byName(a, b access.Principal) int {
	return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Issuer, b.Issuer), strings.Compare(a.Client, b.Client),
		strings.Compare(a.User, b.User), strings.Compare(a.Role, b.Role), slices.Compare(a.Scopes, b.Scopes))
}

func (s *Server) diagnose(ctx context.Context, from string, p access.Principal) Diagnosis {
	c := s.asHost(ctx, p)
	p = c.principal
	d := Diagnosis{From: from, Principal: p, Refused: c.refused, hostless: s.host != nil && c.why != ""}
	var problems []string
	if err := s.checkRole(p); err != nil {
		problems = append(problems, err.Error())
	}
	if c.why != "" {
		problems = append(problems, c.why)
	}
	if s.host != nil && !p.Anonymous() && c.why == "" {
		ctx, cancel := context.WithTimeout(ctx, s.opts.CapabilityTimeout)
		user, err := supervised(ctx, s.opts.Masker, func() (capability.User, error) { return s.host.source.Resolve(ctx, p) })
		cancel()
		if d.User = user; err != nil {
			problems = append(problems, "the host could not say which user it is: "+err.Error())
		}
	}
	d.Problem = strings.Join(problems, "; ")
	for _, k := range kinds {
		for _, rule := range s.table.Of(k).Rules {
			e := s.explained(p, k, rule.Name())
			if c.refused {
				e.Allowed, e.Listed = false, false
			}
			if e.Listed {
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
		d.write(&b, r.PermissionAware)
	}
	n, err := io.WriteString(w, b.String())
	return int64(n), err
}

// write writes what is known of one identity.
func (d Diagnosis) write(b *strings.Builder, aware bool) {
	p := d.Principal
	fmt.Fprintf(b, "%s (%s)", cmp.Or(p.Subject, "an anonymous caller"), d.From)
	for _, field := range []struct{ name, value string }{
		{"issuer", p.Issuer}, {"client", p.Client}, {"role", p.Role}, {"scopes", strings.Join(p.Scopes, " ")},
	} {
		if field.value != "" {
			fmt.Fprintf(b, ", %s %s", field.name, field.value)
		}
	}
	if aware && !p.Anonymous() && !d.hostless {
		fmt.Fprintf(b, ", user %s of the host", cmp.Or(d.User.Name, p.User))
	}
	if d.User.Superuser {
		b.WriteString(", a superuser")
	}
	b.WriteByte('\n')
	if d.Problem != "" {
		fmt.Fprintf(b, "  problem: %s\n", d.Problem)
	}
	for _, e := range d.Seen {
		fmt.Fprintf(b, "  sees %s %s", e.Kind, e.Name)
		if !e.Allowed {
			fmt.Fprintf(b, "; its use %s", e.Missing)
		}
		b.WriteByte('\n')
	}
	switch {
	case d.Refused:
		b.WriteString("  sees nothing: its requests are refused\n")
	case d.hostless:
		b.WriteString("  not  everything that is not public\n")
	default:
		for _, e := range d.Unseen {
			fmt.Fprintf(b, "  not  %s %s: %s\n", e.Kind, e.Name, failing(e.Verdicts))
		}
	}
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
