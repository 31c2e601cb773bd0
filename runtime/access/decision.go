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

	login  bool     // an authenticated caller is missing
	role   string   // the role that is missing
	scopes []string // the scopes that are missing
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
	switch len(d.scopes) {
	case 0:
	case 1:
		needs = append(needs, "scope "+d.scopes[0])
	default:
		needs = append(needs, "scopes "+strings.Join(d.scopes, ", "))
	}
	if len(needs) == 0 {
		return "is open to nobody"
	}
	return "needs " + strings.Join(needs, " and ")
}

// Decide says whether a principal may use a tool. It is the one decision function: lists,
// calls and documents all read it.
//
// Names of tools and roles match exactly. A role that the hierarchy does not have, an empty
// scope list and an empty rule all deny. A public tool is everybody's.
func (t Table) Decide(p Principal, tool string) Decision {
	i := t.find(tool)
	if i < 0 {
		return Decision{Axis: AxisUnknown}
	}
	return t.decide(&t.Rules[i], &p, t.Rank(p.Role))
}

func (t *Table) decide(rule *Rule, p *Principal, rank Role) Decision {
	d := Decision{Denial: rule.Denial}
	switch {
	case rule.Public:
		d.Allowed, d.Axis = true, AxisPublic
		return d
	case !rule.enforced():
		d.Axis = AxisRule
		return d
	}
	d.Axis = AxisAuthentication
	fail := func(axis Axis) {
		if d.Allowed {
			d.Allowed, d.Axis = false, axis
		}
	}
	d.Allowed = true
	if p.Anonymous() {
		d.login = true
		fail(AxisAuthentication)
	}
	if rule.MinRole != 0 {
		if need := t.resolve(rule.MinRole); p.Anonymous() || rank < need {
			d.role = t.roleName(need)
			fail(AxisRole)
		} else if d.Allowed {
			d.Axis = AxisRole
		}
	}
	if len(rule.Scopes) > 0 {
		for _, scope := range rule.Scopes {
			if p.Anonymous() || scope == "" || !slices.Contains(p.Scopes, scope) {
				d.scopes = append(d.scopes, scope)
				fail(AxisScopes)
			}
		}
		if d.Allowed {
			d.Axis = AxisScopes
		}
	}
	return d
}
