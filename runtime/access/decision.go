package access

import (
	"math"
	"slices"
)

// Axis is the part of a rule that decided.
type Axis string

// The axes.
const (
	AxisUnknown        Axis = "unknown"        // there is no such tool, prompt or resource
	AxisRule           Axis = "rule"           // the rule is empty and admits nobody
	AxisPublic         Axis = "public"         // the rule is public
	AxisAuthentication Axis = "authentication" // whether the caller is authenticated
	AxisRole           Axis = "role"           // the caller's role
	AxisScopes         Axis = "scopes"         // the caller's scopes
	// AxisPermission is the host's permission of the caller, on an aware table only.
	AxisPermission Axis = "permission"
	// AxisConstraint: the host permits it on some objects only, and the handler honours no
	// constraints.
	AxisConstraint Axis = "constraints"
	// AxisValues: the caller may not send a value of an argument, or none of its values.
	AxisValues Axis = "values"
	// AxisFields: the caller sent a field that it may not see, or a result has a field with a rule
	// where its schema has none.
	AxisFields Axis = "fields"
	// AxisBoundary is the permission boundary of the caller's client. An item outside of the boundary
	// is unknown to the caller, in every denial mode.
	AxisBoundary Axis = "boundary"
)

// Decision is whether one caller may use one tool, and why. The zero Decision denies.
type Decision struct {
	// Allowed reports that the caller may use the tool.
	Allowed bool
	// Axis is the part of the rule that decided: the first part that did not hold or, if all held,
	// the most demanding one.
	Axis Axis
	// Denial is the mode of the tool's rule. DenialDefault is the mode of the server.
	Denial Denial

	// Missing makes words of the following, so that deciding makes none.
	rule       *Rule
	roles      []string // one of these roles, or of those above
	base       []string // the same for the tool of a value
	held       []string // the caller's scopes, where scoped
	login      bool     // an authenticated caller
	scoped     bool     // some scopes of each alternative of the rule
	stranger   bool     // a user of the host
	permission bool     // the rule's permission
	bounded    bool     // the same without constraints
	argument   string   // a value of this argument
}

// Missing returns what the caller lacks, in a form that the caller may see: "needs role Manager",
// "needs role Manager and scope write". It is empty for an allowed call and for a tool that does
// not exist.
func (d Decision) Missing() string {
	if d.Allowed || d.Axis == AxisUnknown {
		return ""
	}
	var buffer [256]byte
	return string(d.appendMissing(buffer[:0])) // one allocation, however much is missing
}

func (d Decision) appendMissing(b []byte) []byte {
	switch {
	case d.Axis == AxisValues:
		return append(append(b, "needs more for each value of its argument "...), d.argument...)
	case d.Axis == AxisBoundary && d.roles == nil && d.base == nil:
		return append(need(b), "a boundary of its client that allows it"...)
	case d.Axis == AxisBoundary:
		return append(appendRoles(appendRoles(b, d.roles), d.base), " in the boundary of its client"...)
	}
	if d.login {
		b = append(need(b), "an authenticated caller"...)
	}
	b = appendRoles(appendRoles(b, d.roles), d.base)
	b = d.appendScopes(b)
	switch {
	case d.permission:
		b = d.rule.Permission.append(append(need(b), "permission "...))
		if d.bounded {
			b = append(b, " without constraints"...)
		}
	case d.stranger:
		b = append(need(b), "a user of the host"...)
	}
	if len(b) == 0 {
		return append(b, "admits no caller"...)
	}
	return b
}

// appendRoles appends the roles of which the caller needs one.
func appendRoles(b []byte, roles []string) []byte {
	for i, role := range roles {
		if i == 0 {
			b = append(need(b), "role "...)
		} else {
			b = append(b, " or "...)
		}
		b = append(b, role...)
	}
	return b
}

// need begins the next of the things that a caller lacks.
func need(b []byte) []byte {
	if len(b) == 0 {
		return append(b, "needs "...)
	}
	return append(b, " and "...)
}

// appendScopes appends the scopes of the nearest alternative that the caller lacks.
func (d Decision) appendScopes(b []byte) []byte {
	if !d.scoped {
		return b
	}
	nearest, n := d.nearest()
	if nearest == nil {
		return b
	}
	b = append(need(b), "scope"...)
	separator := " "
	if n > 1 {
		separator = "s "
	}
	for _, scope := range nearest {
		if d.lacks(scope) {
			b = append(append(b, separator...), scope...)
			separator = ", "
		}
	}
	return b
}

// LacksScopesOnly reports whether the call is refused for missing scopes and for nothing else, so
// that a token with more of them would do.
func (d Decision) LacksScopesOnly() bool {
	return !d.Allowed && d.Axis == AxisScopes && !d.stranger && !d.permission
}

// ScopesThatWouldDo returns the sorted scopes that a challenge names, if the call is refused for
// scopes alone: those of the alternative of the rule of which the caller lacks the fewest, the
// first one on a tie. With held, it adds the scopes that the caller has: a client that requests a
// new token loses the scopes that it does not request. It is nil for any other decision.
func (d Decision) ScopesThatWouldDo(held bool) []string {
	if !d.LacksScopesOnly() {
		return nil
	}
	all, _ := d.nearest()
	all = slices.Clone(all)
	if held {
		all = append(all, d.held...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearest returns the alternative of which a caller, who has none, lacks the fewest scopes, and
// their number.
func (d *Decision) nearest() (scopes []string, fewest int) {
	fewest = math.MaxInt
	for i := range 1 + len(d.rule.OrScopes) {
		alternative, n := d.rule.alternative(i), 0
		for _, scope := range alternative {
			if d.lacks(scope) {
				n++
			}
		}
		if len(alternative) > 0 && n < fewest {
			scopes, fewest = alternative, n
		}
	}
	return scopes, fewest
}

// suffices reports whether the caller has, with more scopes, all of an alternative.
func (d *Decision) suffices(more []string) bool {
	for i := range 1 + len(d.rule.OrScopes) {
		alternative, all := d.rule.alternative(i), true
		for _, scope := range alternative {
			all = all && (!d.lacks(scope) || slices.Contains(more, scope))
		}
		if all && len(alternative) > 0 {
			return true
		}
	}
	return false
}

// lacks reports whether the caller lacks a scope of the rule.
func (d *Decision) lacks(scope string) bool {
	return d.scoped && (d.login || !holds(d.held, scope))
}

// holds reports whether a caller has a scope. No caller has the empty scope.
func holds(held []string, scope string) bool { return scope != "" && slices.Contains(held, scope) }

// Decide decides whether a principal may use a tool. It is the one decision function: lists, calls
// and documents use it.
//
//   - Names of tools and roles match exactly, case included.
//   - A role that is not in the hierarchy counts as no role. Several roles come to all that any of
//     them may.
//   - An empty rule denies every caller, and a public rule admits every caller.
//   - On an aware table ([Table.Aware]), the principal's Permits must have the permission of the
//     rule as well.
//   - A tool is denied if the caller may send no value of an argument whose values have rules.
//   - What is outside the principal's Bounds is denied, public items too.
func (t Table) Decide(p Principal, tool string) (d Decision) {
	e, known := t.lookup(tool)
	if !known {
		d.Axis = AxisUnknown
		return d
	}
	t.decide(e, &p, t.mask(&p), &d)
	return d
}

// decide decides by a rule, into a zero Decision: copying one costs as much as deciding.
func (t *Table) decide(e entry, p *Principal, held uint64, d *Decision) {
	t.decideRule(e, p, held, d)
	if d.Allowed || d.LacksScopesOnly() {
		t.decideValues(e, p, held, d)
	}
}

// decideRule is decide without the values of a tool. It does not call decide, so that the compiler
// keeps the decisions about values on the stack: their memory would take time.
func (t *Table) decideRule(e entry, p *Principal, held uint64, d *Decision) {
	switch {
	case p.Bounds != nil && !t.inside(p, e.at):
		d.outside(e, nil, nil)
		return
	case e.is&enforced == 0:
		d.Denial, d.Axis = Denial(e.denial), AxisRule
		return
	}
	t.decideSelf(e, p, held, d)
	if p.Bounds != nil {
		t.decideBounds(e, p, d)
	}
	if t.aware && e.is&public == 0 && d.Axis != AxisBoundary {
		t.decidePermission(e, p, d)
	}
}

// decideSelf decides by all but the host's permissions, into a zero Decision.
func (t *Table) decideSelf(e entry, p *Principal, held uint64, d *Decision) {
	d.Denial, d.rule = Denial(e.denial), &t.Rules[e.at]
	if e.is&public != 0 {
		d.Allowed, d.Axis = true, AxisPublic
		return
	}
	known := !p.anonymous()
	allowed, axis := known, AxisAuthentication
	d.login = !known
	if e.is&ranked != 0 || e.of >= 0 {
		if e.is&ranked != 0 && e.need&held == 0 {
			d.roles = t.resolve(d.rule.MinRole)
		}
		if e.of >= 0 && e.base&held == 0 {
			d.base = t.resolve(t.tools[e.of].MinRole)
		}
		if allowed {
			allowed, axis = d.roles == nil && d.base == nil, AxisRole
		}
	}
	if e.is&scoped != 0 {
		if !known || !d.rule.heldBy(p) {
			d.scoped, d.held = true, p.Scopes
		}
		if allowed {
			allowed, axis = !d.scoped, AxisScopes
		}
	}
	d.Allowed, d.Axis = allowed, axis
}

// alternative returns one of the alternatives: Scopes, and then each of OrScopes.
func (r *Rule) alternative(i int) []string {
	if i == 0 {
		return r.Scopes
	}
	return r.OrScopes[i-1]
}

// heldBy reports whether a caller has all scopes of an alternative of a rule. Nobody has an empty
// alternative.
func (r *Rule) heldBy(p *Principal) bool {
	for i := range 1 + len(r.OrScopes) {
		alternative := r.alternative(i)
		all := len(alternative) > 0
		for _, scope := range alternative {
			if !holds(p.Scopes, scope) {
				all = false
				break
			}
		}
		if all {
			return true
		}
	}
	return false
}

// decidePermission adds the host's permissions to a decision, on an aware table.
func (t *Table) decidePermission(e entry, p *Principal, d *Decision) {
	var permits *permitSet
	if !p.anonymous() {
		permits = p.Permits.of(t)
	}
	i := int(e.at)
	switch needs := e.is&needsPermission != 0; {
	case permits == nil && !needs:
		d.fail(AxisPermission)
		d.stranger = !p.anonymous() // an anonymous caller lacks more
	case permits == nil || !permits.use(i):
		axis := AxisPermission
		if permits != nil && permits.permit(i) == PermitConstrained {
			axis, d.bounded = AxisConstraint, true
		}
		d.fail(axis)
		d.permission = true
	case d.Allowed && needs:
		d.Axis = AxisPermission
	}
}

// fail notes the first part of a rule that does not hold.
func (d *Decision) fail(axis Axis) {
	if d.Allowed {
		d.Allowed, d.Axis = false, axis
	}
}
