package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// Grant is a permission that a client has.
type Grant struct {
	ID string `json:"id"`
	Permission
	// Issuer and Client identify the client, as in access.Principal. Both are empty for a default
	// grant, which all clients have.
	Issuer string `json:"issuer,omitempty"`
	Client string `json:"client,omitempty"`
	// By is the grantor and Reason the reason, for audit and console.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Created is the time of the grant. From Expires on it does not count. The zero Expires is
	// never.
	Created time.Time `json:"created,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// Expired reports whether the grant no longer counts at now.
func (g *Grant) Expired(now time.Time) bool { return !g.Expires.IsZero() && !now.Before(g.Expires) }

// Default returns permissions as grants for all clients, with the ids default:1, default:2 and so
// on.
func Default(permissions ...Permission) []Grant {
	grants := make([]Grant, len(permissions))
	for i, p := range permissions {
		grants[i] = Grant{ID: fmt.Sprintf("default:%d", i+1), Permission: p, By: "configuration"}
	}
	return grants
}

// Minimal returns the smallest useful defaults of a server with a public folder, for isolated
// calls: to read all files below that root, and to run echo, which shows that commands work. If
// tools without isolate=process use them, set Unrestricted.
func Minimal(publicRoot string) []Permission {
	return []Permission{
		{Type: FileRead, Resource: publicRoot + "/**"},
		{Type: SystemCommand, Resource: "echo **"},
	}
}

// Revoke removes the grants of a kind and a pattern, and no others, even if the pattern covers
// them. It compares patterns in canonical form. An empty pattern removes the whole kind.
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

// Set contains the compiled grants of one client. It is immutable and safe for concurrent use.
// The nil Set and the zero Set allow nothing.
type Set struct {
	grants []Grant
	kinds  map[string]*pattern.Index
}

// NewSet compiles grants. If some are not valid, the error names each by its id. An expired grant
// stays in the set, so that a denial can name the reason.
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

// Grants returns the grants of the set, expired ones included, in their order.
func (s *Set) Grants() []Grant {
	if s == nil {
		return nil
	}
	return slices.Clone(s.grants)
}

// Query names a resource to decide on.
type Query struct {
	// Kind is the required type of permission.
	Kind string
	// Resource is the canonical path of an opened file, "." for the top; a host, optionally with a
	// port, or a URL of http or https; or a resource of another kind. Commands leave it empty.
	Resource string
	// Argv is the command to decide on.
	Argv []string
	// Named is the resource as the client named it, for denials. Empty is Resource or Argv.
	Named string
	// Isolated is true for an isolated call, in which restricted grants count too.
	Isolated bool
}

// Cause is the reason of a denial.
type Cause string

// The causes.
const (
	NoGrant    Cause = "no_grant"   // no grant allows the resource
	HasExpired Cause = "expired"    // a grant does, and has expired
	Restricted Cause = "restricted" // a grant does, in isolated calls only
	Malformed  Cause = "malformed"  // no grant could allow the name
	Special    Cause = "special"    // it is a device, a FIFO or a socket, or a refused hard link
	// a name resolves to an address that no grant allows and that is not public
	NotPublic   Cause = "not_public"
	OutOfBounds Cause = "out_of_bounds" // a grant does, and the tool's //mcp:allow does not
)

// Decision is the result of a [Query].
type Decision struct {
	Allowed bool
	// Grant is the first grant that allows the resource. In a denial, it is the first grant that
	// would allow it without the Cause, if any. It must not be changed.
	Grant *Grant
	// Cause is the reason of a denial.
	Cause Cause

	query  Query
	reason string
}

// Err returns nil if the decision allows the resource, and a [*Denied] otherwise.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	named := d.query.Named
	if named == "" {
		named = d.query.Resource
	}
	if named == "" && len(d.query.Argv) > 0 {
		named = pattern.CommandText(d.query.Argv)
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
	return &Denied{Kind: d.query.Kind, Resource: named, Cause: d.Cause, Reason: reason}
}

// Code is the code of a denial in results, audit and API.
const Code = "permission_denied"

// Denied is the error of a denied resource. It contains only what the client sent, and the
// reason.
type Denied struct {
	Kind     string
	Resource string // as the client named it
	Cause    Cause
	Reason   string
}

// Error returns a text that the client may see.
func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %s %q: %s", Code, d.Kind, d.Resource, d.Reason)
}

// Lacking returns the smallest permission that allows the denied resource, for a client's
// request. It returns an error if no grant can allow the resource, or if the denied address is
// not disclosed: its host name is granted already.
func (d *Denied) Lacking() (Permission, error) {
	p := Permission{Type: d.Kind}
	if d.Cause == Malformed || d.Cause == Special {
		return p, errors.New("grant: a permission cannot have " + d.Resource)
	}
	if d.Cause == OutOfBounds {
		return p, errors.New("grant: a permission does not change the bounds of a tool")
	}
	if d.Cause == NotPublic {
		return p, errors.New("grant: what " + d.Resource +
			" resolves to is not disclosed, so a client cannot request it")
	}
	switch pattern.FamilyOf(d.Kind) {
	case pattern.Paths:
		p.Resource = pattern.Literal(path.Clean(d.Resource))
	case pattern.Commands:
		words := strings.Split(d.Resource, " ") // as pattern.CommandText joins them
		if strings.HasPrefix(d.Resource, "[") {
			if err := json.Unmarshal([]byte(d.Resource), &words); err != nil {
				return p, fmt.Errorf("grant: %s is not a command: %w", d.Resource, err)
			}
		}
		for i := range words {
			words[i] = pattern.Literal(words[i])
		}
		p.Resource = pattern.CommandText(words)
	case pattern.Hosts:
		e, problem := pattern.ParseEndpoint(d.Resource)
		if problem != "" {
			return p, errors.New("grant: " + d.Resource + ": " + problem)
		}
		p.Resource = e.Host()
		if e.Port != 0 {
			p.Resource = net.JoinHostPort(e.Host(), fmt.Sprint(e.Port))
		}
	default:
		p.Resource = pattern.Literal(d.Resource)
	}
	return p.Canonical(), p.Validate()
}

// Decide decides on a resource at now, and returns the grant that allows it. It reads memory only,
// and allocates nothing if a grant allows it.
func (s *Set) Decide(now time.Time, query Query) Decision {
	var few [32]int // the usual number of holding grants, so that a decision allocates nothing
	holding, reason := s.holding(few[:0], &query)
	if reason != "" {
		return Decision{Cause: Malformed, query: query, reason: reason}
	}
	refused := Decision{Cause: NoGrant, query: query}
	allows, unusable := none, none // the first grant that allows, and that would but for its cause
	for _, i := range holding {
		g := &s.grants[i]
		switch expired := g.Expired(now); {
		case !expired && (query.Isolated || bool(g.Unrestricted)):
			allows = min(allows, i)
		case i < unusable:
			unusable, refused.Grant, refused.Cause = i, g, Restricted
			if expired {
				refused.Cause = HasExpired
			}
		}
	}
	if allows != none {
		return Decision{Allowed: true, Grant: &s.grants[allows], query: query}
	}
	return refused
}

// matches reports whether a set of bounds has no pattern of the query's kind, or one that holds the
// resource. In bounds, nothing is restricted or expires.
func (s *Set) matches(query Query) bool {
	if s == nil || s.kinds[query.Kind] == nil {
		return true
	}
	holding, _ := s.holding(nil, &query)
	return len(holding) > 0
}

// patterns are the patterns of a kind, for people.
func (s *Set) patterns(kind string) string {
	var all []string
	for _, g := range s.grants {
		if g.Type == kind {
			all = append(all, g.Resource)
		}
	}
	return strings.Join(all, ", ")
}

const none = int(^uint(0) >> 1)

// holding appends the numbers of the grants that hold the resource of a query. If none could, it
// returns the reason.
func (s *Set) holding(to []int, query *Query) (numbers []int, reason string) {
	var x *pattern.Index
	if s != nil {
		x = s.kinds[query.Kind]
	}
	if x == nil {
		x = &pattern.Index{}
	}
	switch pattern.FamilyOf(query.Kind) {
	case pattern.Paths:
		path := query.Resource
		if path == "." {
			path = ""
		} else if path == "" || !pattern.CanonicalPath(path) {
			return nil, "it is not a path below a root"
		}
		return x.Paths(to, path), ""
	case pattern.Commands:
		if len(query.Argv) == 0 || !pattern.ProgramName(query.Argv[0]) {
			return nil, "write the program as a bare name or an absolute path"
		}
		for _, arg := range query.Argv {
			if strings.IndexByte(arg, 0) >= 0 {
				return nil, "an argument contains NUL"
			}
		}
		return x.Commands(to, query.Argv), ""
	case pattern.Hosts:
		e, problem := pattern.ParseEndpoint(query.Resource)
		if problem != "" {
			return nil, problem
		}
		return x.Hosts(to, e), ""
	}
	if query.Resource == "" {
		return nil, "it is empty"
	}
	return x.Custom(to, query.Resource), ""
}
