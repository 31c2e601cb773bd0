package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// Grant is a permission that a client has.
type Grant struct {
	ID string `json:"id"`
	Permission
	// Issuer and Client are whose it is, as access.Principal names them. Both are empty for a
	// default, which everybody has.
	Issuer string `json:"issuer,omitempty"`
	Client string `json:"client,omitempty"`
	// By is who granted it, and Reason why, for audit and console.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Created is when, and Expires from when on it does not count any more. The zero Expires is
	// never.
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// Expired reports whether the grant does not count any more at now.
func (g *Grant) Expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

// Default returns permissions as the grants that everybody has, with the ids default:1, default:2
// and so on.
func Default(permissions ...Permission) []Grant {
	grants := make([]Grant, len(permissions))
	for i, p := range permissions {
		grants[i] = Grant{ID: fmt.Sprintf("default:%d", i+1), Permission: p, By: "configuration"}
	}
	return grants
}

// Minimal returns the least that a server with a public folder grants everybody, in isolated calls:
// to read all files below the root of that name, and to run echo, which shows that commands work.
// If tools without isolate=process use them, set Unrestricted.
func Minimal(publicRoot string) []Permission {
	return []Permission{
		{Type: FileRead, Resource: publicRoot + "/**"},
		{Type: SystemCommand, Resource: "echo **"},
	}
}

// Revoke takes the grants of a kind and a pattern away, and leaves all others, those too that the
// pattern covers. The pattern is compared in its canonical form; an empty one is the whole kind.
func Revoke(grants []Grant, kind, resource string) (kept, revoked []Grant) {
	resource = Permission{Type: kind, Resource: resource}.Canonical().Resource
	for _, g := range grants {
		if g.Type == kind && (resource == "" || g.Canonical().Resource == resource) {
			revoked = append(revoked, g)
		} else {
			kept = append(kept, g)
		}
	}
	return kept, revoked
}

// Set is what one client may use, compiled. It does not change, and may be used by many goroutines
// at once. The nil Set and the zero Set allow nothing.
type Set struct {
	grants []Grant
	kinds  map[string]*pattern.Index
}

// NewSet compiles grants. Where one is not valid there is no set: the error names each, by its id.
// A grant that has expired stays in it, so that a refusal can say so.
func NewSet(grants ...Grant) (*Set, error) {
	s := &Set{grants: slices.Clone(grants), kinds: map[string]*pattern.Index{}}
	var errs []error
	for i := range s.grants {
		g := &s.grants[i]
		_, compiled, err := g.validate()
		if err != nil {
			errs = append(errs, fmt.Errorf("grant %s: %w", g.ID, err))
			continue
		}
		x := s.kinds[g.Type]
		if x == nil {
			x = &pattern.Index{}
			s.kinds[g.Type] = x
		}
		x.Add(i, compiled)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

// Grants returns the grants that the set was made of, expired ones too, in their order.
func (s *Set) Grants() []Grant {
	if s == nil {
		return nil
	}
	return slices.Clone(s.grants)
}

// Ask is a question whether a resource may be used.
type Ask struct {
	// Kind is the type of permission that it takes.
	Kind string
	// Resource is what is asked for: the canonical path of what was opened, "." for the top; a
	// host, with its port where there is one, or a URL of http or https; or a resource of another
	// kind. Commands leave it empty.
	Resource string
	// Argv is the command that is asked for.
	Argv []string
	// Named is the resource as the client named it, for refusals. Empty is Resource or Argv.
	Named string
	// Isolated is true for an isolated call, in which restricted grants count too.
	Isolated bool
}

// Cause says why something is refused.
type Cause string

// The causes.
const (
	NoGrant    Cause = "no_grant"   // no grant holds the resource
	HasExpired Cause = "expired"    // one does, and has expired
	Restricted Cause = "restricted" // one does, in isolated calls only
	Malformed  Cause = "malformed"  // no grant could hold what was named
	Special    Cause = "special"    // it is a device, a FIFO or a socket, or a refused hard link
	// a name resolves to an address that no grant holds and that is not public
	NotPublic Cause = "not_public"
)

// Decision is the answer to an [Ask].
type Decision struct {
	Allowed bool
	// Grant is the first grant that allows it, or, where it is refused, the first that would have
	// but for its Cause, if any. It must not be changed.
	Grant *Grant
	// Cause says why it is refused.
	Cause Cause

	ask    Ask
	reason string
}

// Err returns nil where the decision allows, and a [*Denied] else.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	named := d.ask.Named
	if named == "" {
		named = d.ask.Resource
	}
	if named == "" && len(d.ask.Argv) > 0 {
		named = pattern.CommandText(d.ask.Argv)
	}
	reason := d.reason
	switch {
	case reason != "":
	case d.Cause == HasExpired:
		reason = "the grant has expired at " + d.Grant.Expires.UTC().Format(time.RFC3339)
	case d.Cause == Restricted:
		reason = "the grant applies to isolated calls only"
	default:
		reason = "no grant allows it"
	}
	return &Denied{Kind: d.ask.Kind, Resource: named, Cause: d.Cause, Reason: reason}
}

// Decide says whether an ask is allowed at now, and by which grant. It reads nothing but memory,
// and where it allows it allocates nothing.
func (s *Set) Decide(now time.Time, ask Ask) Decision {
	var few [32]int // the usual number of holding grants, so that a decision allocates nothing
	holding, reason := s.holding(few[:0], &ask)
	if reason != "" {
		return Decision{Cause: Malformed, ask: ask, reason: reason}
	}
	refused := Decision{Cause: NoGrant, ask: ask}
	allows, unusable := none, none // the first grant that allows, and that would but for its cause
	for _, i := range holding {
		g := &s.grants[i]
		switch expired := g.Expired(now); {
		case !expired && (ask.Isolated || bool(g.Unrestricted)):
			allows = min(allows, i)
		case i < unusable:
			unusable, refused.Grant, refused.Cause = i, g, Restricted
			if expired {
				refused.Cause = HasExpired
			}
		}
	}
	if allows != none {
		return Decision{Allowed: true, Grant: &s.grants[allows], ask: ask}
	}
	return refused
}

const none = int(^uint(0) >> 1)

// holding appends the numbers of the grants that hold the resource of ask. If none could, it
// returns the reason.
func (s *Set) holding(to []int, ask *Ask) (numbers []int, reason string) {
	var x *pattern.Index
	if s != nil {
		x = s.kinds[ask.Kind]
	}
	if x == nil {
		x = &pattern.Index{}
	}
	switch FamilyOf(ask.Kind) {
	case Paths:
		path := ask.Resource
		if path == "." {
			path = ""
		} else if path == "" || !pattern.CanonicalPath(path) {
			return nil, "it is not a path below a root"
		}
		return x.Paths(to, path), ""
	case Commands:
		if len(ask.Argv) == 0 || !pattern.ProgramName(ask.Argv[0]) {
			return nil, "write the program as a bare name or an absolute path"
		}
		for _, arg := range ask.Argv {
			if strings.IndexByte(arg, 0) >= 0 {
				return nil, "an argument contains NUL"
			}
		}
		return x.Commands(to, ask.Argv), ""
	case Hosts:
		e, problem := pattern.ParseEndpoint(ask.Resource)
		if problem != "" {
			return nil, problem
		}
		return x.Hosts(to, e), ""
	}
	if ask.Resource == "" {
		return nil, "it is empty"
	}
	return x.Custom(to, ask.Resource), ""
}
