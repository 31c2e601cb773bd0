package invoke

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// BindValues prepares a tool for the rules of its values in a table. The rules have to be about all
// values of an enum of the input schema, so that no value is without one.
func (t *Tool) BindValues(table access.Table) error {
	rules := map[string][]string{}
	for _, rule := range table.Values {
		if rule.Tool == t.Name {
			rules[rule.Argument] = append(rules[rule.Argument], rule.Value)
		}
	}
	if len(rules) == 0 {
		return nil
	}
	var input struct {
		Properties map[string]struct {
			Enum    []any `json:"enum"`
			Default any   `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal([]byte(t.Input), &input); err != nil {
		const problem = "tool %q: its input schema is not JSON (%w): run go generate"
		return fmt.Errorf(problem, t.Name, err)
	}
	t.defaults = map[string]string{}
	for name, values := range rules {
		var enum []string
		for _, value := range input.Properties[name].Enum {
			if text, ok := value.(string); ok {
				enum = append(enum, text)
			}
		}
		slices.Sort(enum)
		slices.Sort(values)
		text, hasDefault := input.Properties[name].Default.(string)
		switch {
		case !slices.Equal(enum, values):
			return fmt.Errorf("tool %q: the rules of its argument %q are about the values %q, "+
				"and its schema has %q: run go generate", t.Name, name, values, enum)
		case hasDefault:
			t.defaults[name] = text
		case !slices.Contains(input.Required, name):
			return fmt.Errorf("tool %q: the values of its argument %q have rules, and it is "+
				"optional and has no default: run go generate", t.Name, name)
		}
	}
	return nil
}

// choices returns what a call may send to a tool with rules by value.
func (t *Tool) choices(of []access.Choice) *decode.Choices {
	choices := &decode.Choices{}
	for _, c := range of {
		choice := decode.Choice{Property: c.Argument, Values: c.Values}
		if value, has := t.defaults[c.Argument]; has && !slices.Contains(c.Values, value) {
			choice.Refused = &value
		}
		choices.Of = append(choices.Of, choice)
	}
	return choices
}

// refuseValue turns the report of arguments that do not fit into a denial, if a value is the
// reason. The caller gets the error of a value that does not exist, after the same time: the same
// is done for such a value, up to the report.
func (c *call) refuseValue(r *Report) {
	at := slices.IndexFunc(c.choices.Refused, func(r decode.Refused) bool { return r.Known })
	refused := c.choices.Refused[max(at, 0)]
	rule := access.Rule{Tool: c.name, Argument: refused.Property, Value: refused.Value}
	d := c.Policy.Table.Of(access.Values).Decide(c.caller, rule.Name())
	missing := fmt.Sprintf("%s=%s %s", refused.Property, refused.Value, d.Missing())
	if refused.Known {
		r.Failure, r.Axis, r.Missing = audit.Denied, string(access.AxisValues), missing
	}
}
