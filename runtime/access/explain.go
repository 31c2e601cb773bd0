package access

import (
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Verdict is the decision of one part of a rule about a caller.
type Verdict struct {
	Axis  Axis
	Holds bool
	Needs string // what the rule requires, as in "Manager"
	Has   string // what the caller has, as in "Viewer"
}

// String is the verdict in one line, for logs and people.
func (v Verdict) String() string {
	word := "holds"
	if !v.Holds {
		word = "fails"
	}
	return fmt.Sprintf("%s %s: needs %s, has %s", v.Axis, word, v.Needs, v.Has)
}

const nothing = "nothing"

// Explain returns the verdict of each part of a tool's rule on a principal, those after the first
// that fails included; if all hold, Decide allows. It is for logs and admins, and never for the
// caller: it reveals what exists.
//
// A permission that the table records and does not enforce holds, and its verdict reports that.
func (t Table) Explain(p Principal, tool string) []Verdict {
	own := p
	own.Bounds = nil
	all := t.explain(own, tool)
	if p.Bounds == nil || all[0].Axis == AxisUnknown {
		return all
	}
	v := Verdict{Axis: AxisBoundary, Holds: true, Has: "it",
		Needs: "a boundary of its client that allows it"}
	if t.Decide(p, tool).Axis == AxisBoundary {
		v.Holds, v.Has = false, "one that does not"
	}
	return append(all, v)
}

// explain is Explain for a principal without Bounds.
func (t *Table) explain(p Principal, tool string) []Verdict {
	e, known := t.lookup(tool)
	if !known {
		needs := "a " + t.kind.String() + " that exists"
		return []Verdict{{Axis: AxisUnknown, Needs: needs, Has: nothing}}
	}
	rule := &t.Rules[e.at]
	switch {
	case rule.Public:
		all := []Verdict{{Axis: AxisPublic, Holds: true, Needs: nothing, Has: caller(p)}}
		return append(all, t.explainValues(&p, tool)...)
	case !t.enforced(rule):
		return []Verdict{{Axis: AxisRule, Needs: "a rule that admits a caller", Has: "an empty one"}}
	}
	var d Decision
	t.decide(e, &p, t.mask(&p), &d)
	all := []Verdict{{
		Axis: AxisAuthentication, Holds: !d.login, Needs: "an authenticated caller", Has: caller(p),
	}}
	has := written(strings.Join(p.Roles, ", "))
	if len(rule.MinRole) > 0 {
		all = append(all, Verdict{Axis: AxisRole, Holds: d.roles == nil,
			Needs: strings.Join(t.resolve(rule.MinRole), " or "), Has: has})
	}
	if e.of >= 0 {
		all = append(all, Verdict{Axis: AxisRole, Holds: d.base == nil,
			Needs: strings.Join(t.resolve(t.tools[e.of].MinRole), " or "), Has: has})
	}
	if rule.scoped() {
		needs := strings.Join(rule.Scopes, ", ")
		if len(rule.OrScopes) > 0 {
			needs = scopeorder.Either(rule.Alternatives(), func(scopes []string) string {
				return strings.Join(scopes, " and ")
			})
		}
		all = append(all, Verdict{Axis: AxisScopes, Holds: !d.scoped, Needs: needs,
			Has: written(strings.Join(p.Scopes, ", "))})
	}
	switch {
	case rule.Permission == Permission{} && !t.aware:
	case !t.aware:
		all = append(all, Verdict{Axis: AxisPermission, Holds: true, Needs: rule.Permission.String(),
			Has: "not checked: the table does not enforce permissions"})
	default:
		all = append(all, t.explainPermission(&p, int(e.at))...)
	}
	return append(all, t.explainValues(&p, tool)...)
}

// explainPermission explains the host's permissions of a principal.
func (t *Table) explainPermission(p *Principal, i int) []Verdict {
	rule := &t.Rules[i]
	held := p.Permits.of(t)
	v := Verdict{Axis: AxisPermission, Needs: rule.Permission.String()}
	if !rule.Permission.Required() {
		v.Needs = "a user of the host"
	}
	switch {
	case held == nil || p.Anonymous():
		v.Has = "no permissions known from the host"
		return []Verdict{v}
	case !rule.Permission.Required():
		v.Holds, v.Has = true, "one"
		return []Verdict{v}
	}
	switch held.permit(i) {
	case PermitNone:
		v.Has = "none"
		return []Verdict{v}
	case PermitAll:
		v.Holds, v.Has = true, "it for all objects"
		return []Verdict{v}
	}
	v.Holds, v.Has = true, "it for some objects"
	c := Verdict{
		Axis: AxisConstraint, Holds: rule.Constrained, Has: v.Has,
		Needs: "it for all objects, as the handler is not marked constrained",
	}
	if rule.Constrained {
		c.Needs = "it for some objects or all, as the handler is marked constrained"
	}
	return []Verdict{v, c}
}

func caller(p Principal) string {
	if p.Anonymous() {
		return "an anonymous caller"
	}
	return p.Subject
}

func written(s string) string {
	if s == "" {
		return nothing
	}
	return s
}
