package objectperm_test

import (
	"encoding/json"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/capability"
)

// answer is what a host says of one user and permission.
type answer struct {
	allowed bool
	// filters are the conditions of which an object must meet any; none are all objects.
	filters []string
}

// ask decides as the hosts' own Python does, over the rows of a world and without any SQL: has_perm
// for whether, and the filter that restrict puts on a queryset for which objects.
func (w world) ask(t reporter, l layout, u int, action, app, model string) answer {
	t.Helper()
	who := w.Users[u]
	if who.Superuser {
		return answer{allowed: true}
	}
	if action == "view" {
		named := slices.Contains(w.ExemptView, app+"."+model)
		kept := slices.Contains(l.kept, app+"."+model)
		known := slices.Contains(l.models, app+"."+model) // a host has no code for another model
		if named || slices.Contains(w.ExemptView, "*") && known && !kept {
			return answer{allowed: true}
		}
	}
	var found bool
	var list []any
	if w.Defaults == nil && slices.Contains(l.defaults, app+"."+model) &&
		slices.Contains([]string{"view", "add", "change", "delete"}, action) {
		found = true
		list = append(list, map[string]any{"user": "$user"})
	}
	if constraints, ok := w.Defaults[app+"."+action+"_"+model]; ok {
		found = true
		for _, c := range constraints {
			list = append(list, read(t, string(c)))
		}
	}
	for _, g := range w.Permissions {
		given := slices.Contains(g.Users, u) || slices.ContainsFunc(who.Groups,
			func(group int) bool { return slices.Contains(g.Groups, group) })
		on := slices.ContainsFunc(g.Models,
			func(m int) bool { return l.models[m] == app+"."+model })
		if !g.Enabled || !given || !on {
			continue
		}
		for _, a := range g.Actions {
			if a != action {
				continue
			}
			found = true
			switch constraints := read(t, g.Constraints).(type) {
			case []any:
				list = append(list, constraints...)
			default:
				list = append(list, constraints)
			}
		}
	}
	if !found {
		return answer{}
	}
	result := answer{allowed: true}
	for _, c := range list {
		if members, ok := c.(map[string]any); c == nil || ok && len(members) == 0 {
			return answer{allowed: true}
		}
		result.filters = append(result.filters, canonical(t, c))
	}
	return result
}

// of is the same answer by the adapter's set.
func of(t reporter, set capability.Set, action, app, model string) answer {
	t.Helper()
	if set.Unrestricted(app+"."+model, action) {
		// The set must not hold constraints where its caller need not look.
		if constraints, _ := set.Constraints(app + "." + action + "_" + model); len(constraints) != 0 {
			t.Errorf("%s.%s needs no permission for %s, and has constraints %s", app, model, action,
				constraints)
		}
		return answer{allowed: true}
	}
	constraints, held := set.Constraints(app + "." + action + "_" + model)
	a := answer{allowed: held}
	for _, c := range constraints {
		a.filters = append(a.filters, canonical(t, read(t, string(c))))
	}
	return a
}

// equal compares answers without the order of filters.
func (a answer) equal(b answer) bool {
	slices.Sort(a.filters)
	slices.Sort(b.filters)
	return a.allowed == b.allowed && slices.Equal(a.filters, b.filters)
}

func read(t reporter, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

func canonical(t reporter, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
