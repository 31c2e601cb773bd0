package access

import (
	"cmp"
	"fmt"
	"io"
	"strings"
)

// Report is what several identities see of a server, and why not the rest. It is for operators.
type Report struct {
	PermissionAware bool // the server enforces the permissions of its host
	Identities      []Diagnosis
}

// Diagnosis is what one identity sees, and why not the rest.
type Diagnosis struct {
	From        string // the origin of the identity, as in "Options.Host.ServiceUsers"
	Principal   Principal
	User        string // of the host; empty without one
	Superuser   bool   // the host lets the user do everything
	HostUnknown bool   // the server enforces the host's permissions, and they are not known
	// Problem is why there is no user, or why it is not known, and other certain mistakes: a role
	// that the hierarchy does not have, an identity whose every request is refused.
	Problem string
	Refused bool          // all of its requests are refused
	Seen    []Explanation // what its lists contain
	Unseen  []Explanation // the rest
}

// WriteTo writes the text of [Report.String]. Its error is that of w.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, r.String())
	return int64(n), err
}

// String returns the report for people, one paragraph for each identity.
func (r Report) String() string {
	if len(r.Identities) == 0 {
		return "The identity source has no fixed principals: pass the principals to show.\n"
	}
	var paragraphs []string
	for _, d := range r.Identities {
		paragraphs = append(paragraphs, d.paragraph(r.PermissionAware))
	}
	return strings.Join(paragraphs, "\n")
}

// paragraph returns one diagnosis for people. It ends with a newline.
func (d Diagnosis) paragraph(aware bool) string {
	p := d.Principal
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)", cmp.Or(p.Subject, "an anonymous caller"), d.From)
	for _, field := range []struct{ name, value string }{
		{"issuer", p.Issuer}, {"client", p.Client}, {"roles", strings.Join(p.Roles, " ")},
		{"scopes", strings.Join(p.Scopes, " ")},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, ", %s %s", field.name, field.value)
		}
	}
	if aware && !p.Anonymous() && !d.HostUnknown {
		fmt.Fprintf(&b, ", user %s of the host", cmp.Or(d.User, p.User))
	}
	if d.Superuser {
		b.WriteString(", a superuser")
	}
	b.WriteByte('\n')
	if d.Problem != "" {
		fmt.Fprintf(&b, "  problem: %s\n", d.Problem)
	}
	for _, e := range d.Seen {
		fmt.Fprintf(&b, "  sees %s %s", e.Kind, e.Name)
		if !e.Allowed {
			fmt.Fprintf(&b, "; its use %s", e.Missing)
		}
		b.WriteByte('\n')
	}
	switch {
	case d.Refused:
		b.WriteString("  sees nothing: its requests are refused\n")
	case d.HostUnknown:
		b.WriteString("  not  everything that is not public\n")
	default:
		for _, e := range d.Unseen {
			fmt.Fprintf(&b, "  not  %s %s: %s\n", e.Kind, e.Name, e.Failing())
		}
	}
	return b.String()
}
