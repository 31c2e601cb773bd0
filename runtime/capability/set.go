package capability

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Constraint is one condition on the objects that a permission covers, in the host's own
// terms: for NetBox the JSON of a queryset filter. Where a permission has several, an object
// that meets any one of them is covered.
type Constraint = json.RawMessage

// Any stands for every object, or every action, in [Set.Exempt].
const Any = "*"

// Set is what a host lets one identity do: permissions in the host's spelling, each with its
// constraints, and what needs no permission at all. The zero Set is empty and denies everything.
//
// An adapter fills a Set and does not touch it after it has returned it; reading is safe from
// many goroutines at once. Names match exactly, case included.
type Set struct {
	held       map[string]held
	exempt     map[exemption]struct{}
	unreadable map[string]error
}

type held struct {
	free        bool // held without any constraint
	constraints []Constraint
}

type exemption struct{ object, action string }

// Add adds a permission, for all objects where there are no constraints. A permission that is
// added more than once covers what any of its additions covers, so that one without
// constraints frees it of them. A constraint that is no JSON makes the permission unreadable.
func (s *Set) Add(permission string, constraints ...Constraint) {
	if _, unreadable := s.unreadable[permission]; unreadable || permission == "" {
		return
	}
	for _, c := range constraints {
		if !json.Valid(c) {
			s.Unreadable(permission, fmt.Errorf("its constraint %q is not JSON", c))
			return
		}
	}
	if s.held == nil {
		s.held = map[string]held{}
	}
	h := s.held[permission]
	if len(constraints) == 0 {
		h.free = true
	}
	h.constraints = append(h.constraints, constraints...)
	s.held[permission] = h
}

// Unreadable marks a permission whose constraints in the host are malformed. The set does not hold
// it, whatever is added before or after. The server logs err.
func (s *Set) Unreadable(permission string, err error) {
	if s.unreadable == nil {
		s.unreadable = map[string]error{}
	}
	s.unreadable[permission] = err
	delete(s.held, permission)
}

// AllUnreadable returns the unreadable permissions with the errors, in no order.
func (s Set) AllUnreadable() iter.Seq2[string, error] { return maps.All(s.unreadable) }

// Exempt lets an action be done on a type of objects, "dcim.device", without a permission.
// [Any] stands for all types or all actions; Exempt(Any, Any) makes a superuser.
func (s *Set) Exempt(object, action string) {
	if object == "" || action == "" {
		return
	}
	if s.exempt == nil {
		s.exempt = map[exemption]struct{}{}
	}
	s.exempt[exemption{object, action}] = struct{}{}
}

// Has reports whether the set holds a permission, with constraints or without.
func (s Set) Has(permission string) bool {
	_, ok := s.held[permission]
	return ok
}

// Constraints returns the constraints of a permission, and false where it is not held. None
// means that it covers all objects. The slice is shared: it is read only.
func (s Set) Constraints(permission string) ([]Constraint, bool) {
	h, ok := s.held[permission]
	if !ok || h.free {
		return nil, ok
	}
	return h.constraints, true
}

// Unrestricted reports whether an action on a type of objects needs no permission: the caller is
// a superuser, or the host exempts that action on that type. An exemption is for one type and one
// action: an exemption from viewing opens no writing. A permission without an object,
// "billing.export", has the object "billing". A bare action, "export", has the object "", which
// only a superuser's exemption covers.
func (s Set) Unrestricted(object, action string) bool {
	covers := []exemption{{object, action}, {object, Any}, {Any, action}, {Any, Any}}
	if object == "" {
		covers = covers[3:]
	}
	return action != "" && slices.ContainsFunc(covers, func(e exemption) bool {
		_, ok := s.exempt[e]
		return ok
	})
}

// Permissions returns the permissions of the set, sorted. The slice is the caller's own.
func (s Set) Permissions() []string { return slices.Sorted(maps.Keys(s.held)) }
