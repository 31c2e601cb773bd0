package access

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Choice is an argument of a tool whose values have rules of their own.
type Choice struct {
	Argument string
	Values   []string // that a caller may send, in the order of the table; it may be empty
}

// Choices returns the arguments of a tool whose values have rules of their own, with the values
// that a principal may send. They are nil for a tool without such arguments.
//
// If the principal may not use the tool, the values are those that need nothing beyond the rule of
// the tool: those that the principal could send with what it lacks for the tool alone.
func (t Table) Choices(p Principal, tool string) []Choice {
	e, _ := t.lookup(tool)
	var choices []Choice
	for j, offered := range t.values(e, &p, t.mask(&p)) {
		v, n := &t.Values[j], len(choices)
		if n == 0 || choices[n-1].Argument != v.Argument {
			choices, n = append(choices, Choice{Argument: v.Argument}), n+1
		}
		if offered {
			choices[n-1].Values = append(choices[n-1].Values, v.Value)
		}
	}
	return choices
}

// Together returns the smallest sets of several roles that open a tool, or a value, to a caller
// with all scopes of its rules, if none of their roles does so alone. A tool may need several roles
// for its arguments together. The permissions of a host are not read.
func (t Table) Together(tool string) [][]string {
	e, known := t.lookup(tool)
	if !known {
		return nil
	}
	rules := []Rule{t.Rules[e.at]}
	if e.of >= 0 {
		rules = append(rules, t.tools[e.of])
	}
	for _, v := range t.Values[e.from:e.to] {
		if v.Tool == tool {
			rules = append(rules, v)
		}
	}
	able := Principal{Subject: "somebody"}
	var names []string
	for _, rule := range rules {
		names = append(names, t.resolve(rule.MinRole)...)
		able.Scopes = append(able.Scopes, slices.Concat(rule.Alternatives()...)...)
	}
	t.aware = false
	return t.order().Together(names, func(roles []string) bool {
		able.Roles = roles
		return t.Decide(able, tool).Allowed
	})
}

// Offered returns the values in the schemas of a set of tools that a principal is shown: those of
// [Table.Choices]. It is a set of Of(Values), and the zero Set if no tool has such values.
func (t Table) Offered(p Principal, tools Set) Set {
	if len(t.Values) == 0 {
		return Set{}
	}
	part := t.Of(Values)
	of, set, held := t.indexed(), newSet(part.indexed()), t.mask(&p)
	for _, name := range tools.All {
		for j, offered := range t.values(of.byName[name], &p, held) {
			if offered && set.of.find(set.of.names[j]) == j {
				set.add(j)
			}
		}
	}
	return set
}

// values yields the positions of the rules of the values of a tool's arguments, and whether the
// schema of the tool offers each to a caller.
func (t *Table) values(e entry, p *Principal, held uint64) iter.Seq2[int, bool] {
	return func(yield func(int, bool) bool) {
		if e.from == e.to {
			return
		}
		var tool Decision
		t.decideRule(e, p, held, &tool)
		part := t.part(t.Values, Values)
		for i := int(e.from); i < int(e.to); i++ {
			if t.Values[i].Tool != t.Rules[e.at].Tool {
				continue
			}
			var d Decision
			if t.index != nil {
				part.decideRule(t.index.values[i], p, held, &d)
			} else {
				part.decideRule(part.entry(i), p, held, &d)
			}
			if !yield(i, t.within(&d, &tool)) {
				return
			}
		}
	}
}

// within reports whether the decision about a value lacks nothing that the one about its tool does
// not lack. If the tool is allowed, that is whether the value is.
func (t *Table) within(d, tool *Decision) bool {
	switch {
	case tool.Allowed || d.Allowed:
		return d.Allowed
	case d.rule == nil, d.login && !tool.login,
		d.roles != nil && (tool.roles == nil || !t.order().Implies(tool.roles, d.roles)),
		d.stranger && !tool.stranger, d.permission && !tool.permission, d.bounded && !tool.bounded:
		return false
	}
	var more []string
	switch {
	case !d.scoped:
		return true
	case tool.scoped:
		more, _ = tool.nearest()
	}
	return d.suffices(more)
}

// decideValues denies a tool that is allowed, or lacks scopes alone, if one of its arguments has
// values with rules and the caller may send none of them.
func (t *Table) decideValues(e entry, p *Principal, held uint64, d *Decision) {
	argument, none := t.unsendable(e, p, held)
	if !none {
		return
	}
	d.Allowed, d.Axis, d.argument = false, AxisValues, argument
	if p.Bounds != nil {
		own := *p
		own.Bounds = nil
		if d.argument, none = t.unsendable(e, &own, t.ownMask(p)); !none {
			d.outside(e, nil, nil)
		}
	}
}

// unsendable returns an argument of a tool of whose values, which have rules, the caller may send
// none. It reports false if there is no such argument.
func (t *Table) unsendable(e entry, p *Principal, held uint64) (argument string, none bool) {
	for j, offered := range t.values(e, p, held) {
		v := &t.Values[j]
		if v.Argument != argument {
			if none {
				break
			}
			argument, none = v.Argument, true
		}
		none = none && !offered
	}
	return argument, none
}

// explainValues judges the arguments of a tool whose values have rules.
func (t *Table) explainValues(p *Principal, tool string) (all []Verdict) {
	if t.kind != Tools {
		return nil
	}
	for _, c := range t.Choices(*p, tool) {
		all = append(all, Verdict{Axis: AxisValues, Holds: len(c.Values) > 0,
			Needs: "a value of " + c.Argument + " that the caller may send",
			Has:   written(strings.Join(c.Values, ", "))})
	}
	return all
}

// checkValues reports the rules of values that widen the rule of their tool, and those of no tool.
func (t *Table) checkValues() (errs []error) {
	tools := t.indexed()
	for i := range t.Values {
		v := &t.Values[i]
		at := tools.find(v.Tool)
		switch {
		case at < 0:
			errs = append(errs,
				fmt.Errorf("%s %q does not belong to a tool: run go generate", Values, v.Name()))
		case !v.narrows(&t.Rules[at]):
			errs = append(errs, fmt.Errorf("%s %q is less strict than the rule of its tool: run go generate",
				Values, v.Name()))
		}
	}
	return errs
}

// narrows reports whether a rule needs all that the rule of a tool needs, but for its roles: they
// are needed in addition.
func (r *Rule) narrows(tool *Rule) bool {
	if !scopeorder.Implies(r.Alternatives(), tool.Alternatives()) {
		return false
	}
	known := r.restricted() || r.Permission.Required()
	return tool.Public || !r.Public && (known || !tool.restricted()) &&
		r.Permission == tool.Permission && r.Constrained == tool.Constrained
}

// Hidden returns those of the fields that a principal may not see, in their order. A field without
// a rule is one of them. Hidden returns nil if the principal may see all. It does not decide about
// tools: the rule of a field holds in addition to the rule of its tool.
func (t Table) Hidden(p Principal, fields []string) (hidden []string) {
	if len(fields) == 0 {
		return nil
	}
	part := t.part(t.Fields, Fields)
	held := part.mask(&p)
	for _, field := range fields {
		var d Decision
		e, known := part.lookup(field)
		if known {
			part.decideRule(e, &p, held, &d)
		}
		if !d.Allowed {
			hidden = append(hidden, field)
		}
	}
	return hidden
}
