package access

import (
	"slices"
	"strings"
)

// Axis is the part of a rule that settled a decision.
type Axis string

const (
	AxisUnknown        Axis = "unknown"        // there is no such tool
	AxisRule           Axis = "rule"           // the rule is empty and admits nobody
	AxisPublic         Axis = "public"         // the tool is everybody's
	AxisAuthentication Axis = "authentication" // whether the caller is known
	AxisRole           Axis = "role"           // the caller's role
	AxisScopes         Axis = "scopes"         // the caller's scopes
	AxisPermission     Axis = "permission"     // what the host lets the caller do; on an aware table only
	AxisConstraint     Axis = "constraints"    // the host lets the caller do it to some objects only, and the handler knows no constraints
)

// Decision is the answer to one question: may this caller use this tool?
// The zero Decision denies.
type Decision struct {
	Allowed bool
	// Axis is what settled it: the first part of the rule that did not hold or, where all
	// held, the most demanding one.
	Axis Axis
	// Denial is how the tool's rule wants a refusal to look; DenialDefault leaves it to the server.
	Denial Denial

	// What is missing. Words are made of it by Missing, so that deciding costs none.
	rule       *Rule
	login      bool     // an authenticated caller
	role       string   // this role
	scoped     bool     // some of the rule's scopes
	held       []string // the caller's scopes, where scoped
	stranger   bool     // a user of the host
	permission bool     // the rule's permission
	bounded    bool     // the same without constraints
}

// Missing says what the caller lacks, in words fit for the caller: "needs role Manager",
// "needs role Manager and scope write". It is empty for an allowed call and for a tool that
// does not exist.
func (d Decision) Missing() string {
	if d.Allowed || d.Axis == AxisUnknown {
		return ""
	}
	var needs []string
	if d.login {
		needs = append(needs, "an authenticated caller")
	}
	if d.role != "" {
		needs = append(needs, "role "+d.role)
	}
	switch scopes := d.scopes(); len(scopes) {
	case 0:
	case 1:
		needs = append(needs, "scope "+scopes[0])
	default:
		needs = append(needs, "scopes "+strings.Join(scopes, ", "))
	}
	switch {
	case d.bounded:
		needs = append(needs, "permission "+d.rule.Permission.String()+" without constraints")
	case d.permission:
		needs = append(needs, "permission "+d.rule.Permission.String())
	case d.stranger:
		needs = append(needs, "a user of the host")
	}
	if len(needs) == 0 {
		return "is open to nobody"
	}
	return "needs " + strings.Join(needs, " and ")
}

// LacksScopesOnly reports whether the call is refused for missing scopes and for nothing else, so
// that a token with more of them would do.
func (d Decision) LacksScopesOnly() bool {
	return !d.Allowed && d.Axis == AxisScopes && !d.stranger && !d.permission
}

// ScopesThatWouldDo returns the scopes of a token that would be let in where a call is refused
// for scopes alone, sorted: those of the rule and those that the caller has already, since a
// client that asks for a new token would lose what it does not ask for. Nil for any other decision.
func (d Decision) ScopesThatWouldDo() []string {
	if !d.LacksScopesOnly() {
		return nil
	}
	all := slices.Concat(d.rule.Scopes, d.held)
	slices.Sort(all)
	return slices.Compact(all)
}

// scopes are those that the rule asks for and the caller lacks.
func (d Decision) scopes() (missing []string) {
	if !d.scoped {
		return nil
	}
	for _, scope := range d.rule.Scopes {
		if d.login || !holds(d.held, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}

// holds reports whether a scope is among those that a caller has. A scope without a name is
// nobody's.
func holds(held []string, scope string) bool { return scope != "" && slices.Contains(held, scope) }

// Decide says whether a principal may use a tool. It is the one decision function: lists,
// calls and documents all read it.
//
// Names of tools and roles match exactly. A role that the hierarchy does not have, an empty
// scope list and an empty rule all deny. A public tool is everybody's. On an aware table the
// permission of the rule must be among the principal's Permits as well.
func (t Table) Decide(p Principal, tool string) Decision {
	i := t.find(tool)
	if i < 0 {
		return Decision{Axis: AxisUnknown}
	}
	return t.decide(i, &p, t.Rank(p.Role))
}

// decide decides by the rule at a position.
func (t *Table) decide(i int, p *Principal, rank Role) Decision {
	rule := &t.Rules[i]
	if !t.enforced(rule) {
		return Decision{Denial: rule.Denial, Axis: AxisRule}
	}
	d := t.decideSelf(rule, p, rank)
	if !t.aware || rule.Public {
		return d
	}
	var held *permitSet
	if !p.Anonymous() {
		held = p.Permits.of(t)
	}
	switch {
	case held == nil && !rule.Permission.Asked():
		d.fail(AxisPermission)
		d.stranger = !p.Anonymous() // who is anonymous lacks more than that
	case held == nil || !held.use(i):
		axis := AxisPermission
		if held != nil && held.permit(i) == PermitConstrained {
			axis, d.bounded = AxisConstraint, true
		}
		d.fail(axis)
		d.permission = true
	case d.Allowed && rule.Permission.Asked():
		d.Axis = AxisPermission
	}
	return d
}

// fail notes the first part of a rule that does not hold.
func (d *Decision) fail(axis Axis) {
	if d.Allowed {
		d.Allowed, d.Axis = false, axis
	}
}

// decideSelf decides by what the table can check without the host.
func (t *Table) decideSelf(rule *Rule, p *Principal, rank Role) Decision {
	d := Decision{Denial: rule.Denial, Allowed: true, Axis: AxisPublic, rule: rule}
	if rule.Public {
		return d
	}
	d.Axis = AxisAuthentication
	if p.Anonymous() {
		d.login = true
		d.fail(AxisAuthentication)
	}
	if rule.MinRole != 0 {
		if need := t.resolve(rule.MinRole); p.Anonymous() || rank < need {
			d.role = t.roleName(need)
			d.fail(AxisRole)
		} else if d.Allowed {
			d.Axis = AxisRole
		}
	}
	if len(rule.Scopes) > 0 {
		for _, scope := range rule.Scopes {
			if p.Anonymous() || !holds(p.Scopes, scope) {
				d.scoped, d.held = true, p.Scopes
				d.fail(AxisScopes)
				break
			}
		}
		if d.Allowed {
			d.Axis = AxisScopes
		}
	}
	return d
}
