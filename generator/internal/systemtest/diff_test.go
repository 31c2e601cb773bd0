package systemtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// drawnRule is a rule in both forms: for the manifest and for the table.
type drawnRule struct {
	minRole               []string
	public, authenticated bool
	scopes                []string
	orScopes              [][]string
}

func (r drawnRule) manifest() map[string]any {
	return map[string]any{"public": r.public, "authenticated": r.authenticated,
		"minRole": r.minRole, "scopes": r.scopes, "orScopes": r.orScopes}
}

func (r drawnRule) table(tool string) access.Rule {
	return access.Rule{Tool: tool, Public: r.public, Authenticated: r.authenticated,
		MinRole: r.minRole, Scopes: r.scopes, OrScopes: r.orScopes}
}

func (r drawnRule) alternatives() [][]string { return r.table("").Alternatives() }

func (r *drawnRule) setScopes(alternatives [][]string) {
	if r.scopes, r.orScopes = nil, nil; len(alternatives) > 0 {
		r.scopes, r.orScopes = alternatives[0], alternatives[1:]
	}
}

var (
	drawnRoles  = []string{"A", "B", "C", "D"}
	drawnScopes = []string{"s", "t", "u"}
	drawnTools  = []string{"x", "y", "z"}
)

// drawOrder draws a partial order of some roles: lines that are parts of one sequence of them. Each
// role is in a line.
func drawOrder(t *rapid.T, roles []string) [][]string {
	sequence := rapid.Permutation(roles).Draw(t, "sequence")
	lines := [][]string{nil}
	for range rapid.IntRange(0, 3).Draw(t, "further lines") {
		lines = append(lines, nil)
	}
	for _, role := range sequence {
		alone := true
		for i := range lines {
			if rapid.Bool().Draw(t, role) {
				lines[i], alone = append(lines[i], role), false
			}
		}
		if alone {
			lines = append(lines, []string{role})
		}
	}
	lines = slices.DeleteFunc(lines, func(line []string) bool { return len(line) == 0 })
	if _, problems := roleorder.New(lines); len(problems) > 0 { // beyond an end of the main chain
		return [][]string{sequence}
	}
	return lines
}

// setsOf returns the sets of roles that a caller may have, with the empty one.
func setsOf(roles []string) [][]string {
	sets := [][]string{nil}
	for _, role := range roles {
		for _, set := range sets {
			sets = append(sets, append(slices.Clone(set), role))
		}
	}
	return sets
}

// covers reports whether the caller of a change has no more rights than one with roles.
func covers(chains [][]string, roles []string, caller string) bool {
	order, _ := roleorder.New(chains)
	return order.Held(strings.Split(caller, " + "))&^order.Held(roles) == 0
}

func drawRule(t *rapid.T, roles []string) (r drawnRule) {
	if rapid.IntRange(0, 4).Draw(t, "public") == 0 {
		return drawnRule{public: true}
	}
	r.authenticated = rapid.Bool().Draw(t, "authenticated")
	for range rapid.IntRange(0, 2).Draw(t, "roles") {
		role := rapid.SampledFrom(append([]string{"lowest", "highest"}, roles...)).Draw(t, "minrole")
		if !slices.Contains(r.minRole, role) {
			r.minRole = append(r.minRole, role)
		}
	}
	order, _ := scopeorder.New(rapid.SampledFrom([][][]string{nil, {{"s", "t"}},
		{{"s", "t"}, {"t", "u"}}}).Draw(t, "lines"))
	some := rapid.SampledFrom(setsOf(drawnScopes))
	alternatives, _ := order.Alternatives(some.Draw(t, "scopes"), some.Draw(t, "anyscope"))
	r.setScopes(alternatives)
	if !r.authenticated && r.minRole == nil && r.scopes == nil {
		r.authenticated = true // a rule that admits nobody is an error of the generator
	}
	return r
}

// stricter is the rule of a value of a tool: it needs all that the rule of the tool needs, and its
// own roles are needed beside those of the tool.
func stricter(t *rapid.T, r drawnRule, roles []string) drawnRule {
	v := drawRule(t, roles)
	if r.public {
		return v
	}
	if v.public = false; v.minRole == nil {
		v.minRole = r.minRole
	}
	v.setScopes(scopeorder.Both(r.alternatives(), v.alternatives()))
	v.authenticated = v.authenticated || r.authenticated ||
		v.minRole == nil && v.scopes == nil
	return v
}

// drawSide draws one side of a comparison: its manifest and its table.
func drawSide(t *rapid.T) (*policydiff.Manifest, access.Table) {
	roles := rapid.Permutation(drawnRoles).Draw(t, "roles")
	roles = roles[:rapid.IntRange(1, len(roles)).Draw(t, "number of roles")]
	part := access.Table{Roles: drawOrder(t, roles)}
	var tools []map[string]any
	for _, name := range drawnTools {
		rule := drawRule(t, roles)
		part.Rules = append(part.Rules, rule.table(name))
		var values []map[string]any
		enum := []string{"on", "off"}
		some := rapid.Bool().Draw(t, "values")
		for _, value := range enum {
			v := rule
			if some && rapid.Bool().Draw(t, "rule of "+value) {
				v = stricter(t, rule, roles)
				values = append(values, map[string]any{"argument": "a/b", "value": value,
					"access": v.manifest()})
			}
			if some {
				r := v.table(name)
				r.Argument, r.Value = "a/b", value
				part.Values = append(part.Values, r)
			}
		}
		if len(values) == 0 { // without a rule of a value, the table has no values
			part.Values = slices.DeleteFunc(part.Values, func(v access.Rule) bool { return v.Tool == name })
		}
		tools = append(tools, map[string]any{"name": name, "handler": strings.ToUpper(name),
			"access": rule.manifest(), "values": values,
			"input": map[string]any{"/a~1b": map[string]any{"type": "string", "enum": enum}}})
	}
	text, err := json.Marshal(map[string]any{"manifest": 3, "package": "p", "roles": part.Roles,
		"tools": tools})
	if err != nil {
		t.Fatal(err)
	}
	m, err := policydiff.Read("p", text)
	if err != nil {
		t.Fatal(err)
	}
	table, err := access.Compose(access.Part{Package: "p", Table: part})
	if err != nil {
		t.Fatal(err)
	}
	return m, table
}

// admits evaluates the words of a change, as in "needs scope s and scope t, or scope u".
func admits(words string, scopes []string) bool {
	needs, ok := strings.CutPrefix(words, "needs ")
	if !ok {
		return words == "allowed"
	}
	return slices.ContainsFunc(strings.Split(needs, ", or "), func(term string) bool {
		for part := range strings.SplitSeq(term, " and ") {
			if !slices.Contains(scopes, strings.TrimPrefix(part, "scope ")) {
				return false
			}
		}
		return true
	})
}

// subjects are the tools and the values of their arguments.
var subjects = []string{"x", "y", "z", "x a/b=on", "x a/b=off", "y a/b=on", "y a/b=off",
	"z a/b=on", "z a/b=off"}

// decision decides about a tool or a value. A value without a rule needs what its tool needs.
func decision(table access.Table, p access.Principal, subject string) bool {
	tool, _, value := strings.Cut(subject, " ")
	if value && len(table.Choices(p, tool)) > 0 {
		return table.Of(access.Values).Decide(p, subject).Allowed
	}
	return table.Decide(p, tool).Allowed
}

// TestDiffReportsExactlyWhatDecisionsDiffer holds diff against the decision function of the
// runtime: for each set of roles, set of scopes and tool, and for each value with a rule. A caller
// with several roles may be reported by a part of its roles, or by roles below them.
func TestDiffReportsExactlyWhatDecisionsDiffer(t *testing.T) {
	scopeSets := setsOf(drawnScopes)
	rapid.Check(t, func(t *rapid.T) {
		base, old := drawSide(t)
		head, current := drawSide(t)
		changes := policydiff.Compare([]*policydiff.Manifest{base}, []*policydiff.Manifest{head})
		differ := func(p access.Principal, name string) policydiff.Kind {
			switch before, now := decision(old, p, name), decision(current, p, name); {
			case now && !before:
				return policydiff.Widened
			case before && !now:
				return policydiff.Narrowed
			}
			return ""
		}
		type fact struct {
			kind                    policydiff.Kind
			caller, scopes, subject string
		}
		reported, byRole := map[fact]bool{}, map[fact]bool{}
		for _, c := range changes {
			for _, caller := range c.Callers {
				for _, item := range c.Items {
					byRole[fact{c.Kind, caller, "", item}] = true
				}
				for _, scopes := range scopeSets {
					before, after := admits(c.Before, scopes), admits(c.After, scopes)
					if c.Subject != "role" && before != after &&
						after == (c.Kind == policydiff.Widened) {
						reported[fact{c.Kind, caller, fmt.Sprint(scopes), c.Name}] = true
					}
				}
			}
		}
		known := func(role string) (both, one bool) {
			a, b := slices.Contains(old.Hierarchy(), role), slices.Contains(current.Hierarchy(), role)
			return a && b, a != b
		}
		wanted, wantedByRole := map[fact]bool{}, map[fact]bool{}
		for _, roles := range append(setsOf(drawnRoles), []string{"anonymous"}) {
			for _, scopes := range scopeSets {
				p := access.Principal{Subject: "ada", Scopes: scopes, Roles: roles}
				caller := strings.Join(roles, " + ")
				switch caller {
				case "":
					caller = "no role"
				case "anonymous":
					p = access.Principal{}
				}
				for _, name := range subjects {
					kind := differ(p, name)
					if kind == "" {
						continue
					}
					f := fact{kind, caller, fmt.Sprint(scopes), name}
					both, one := known(caller)
					switch {
					case one:
						f.scopes = ""
						wantedByRole[f] = true
					case both, p.Subject == "", len(roles) == 0:
						wanted[f] = true
					case len(roles) > 1:
						order := map[policydiff.Kind][][]string{policydiff.Widened: current.Roles,
							policydiff.Narrowed: old.Roles}[kind]
						tool, _, _ := strings.Cut(name, " ")
						if !slices.ContainsFunc(changes, func(c policydiff.Change) bool {
							return c.Kind == kind && slices.ContainsFunc(c.Callers, func(other string) bool {
								return reported[fact{kind, other, f.scopes, c.Name}] &&
									(c.Name == name || c.Name == tool) && covers(order, roles, other) ||
									slices.ContainsFunc(c.Items, func(item string) bool {
										item, set, several := strings.Cut(item, " as ")
										return (item == name || item == tool) && slices.Contains(roles, other) &&
											(!several || covers(order, roles, set))
									})
							})
						}) {
							t.Errorf("not reported: %+v in %v", f, changes)
						}
					}
				}
			}
		}
		compare := func(got, want map[fact]bool) {
			for f := range want {
				tool := f // a value that follows its tool is not reported
				tool.subject, _, _ = strings.Cut(f.subject, " ")
				if !got[f] && !got[tool] {
					t.Errorf("not reported: %+v", f)
				}
			}
			for f := range got {
				item, set, several := strings.Cut(f.subject, " as ")
				if roles := strings.Split(f.caller+set, " + "); several || len(roles) > 1 {
					if several {
						roles = strings.Split(set, " + ")
					}
					if !slices.ContainsFunc(scopeSets, func(scopes []string) bool {
						p := access.Principal{Subject: "ada", Scopes: scopes, Roles: roles}
						return (several || fmt.Sprint(scopes) == f.scopes) && differ(p, item) == f.kind
					}) {
						t.Errorf("reported, and decisions are equal: %+v", f)
					}
				} else if !want[f] {
					t.Errorf("reported, and decisions are equal: %+v", f)
				}
			}
		}
		compare(reported, wanted)
		compare(byRole, wantedByRole)
	})
}

// side is a random set of tools and prompts, with its table.
type side struct {
	manifest *policydiff.Manifest
	table    access.Table
	items    []drawnItem
}

type drawnItem struct {
	kind, name, handler string
	values              []string // of its argument
}

// drawNamed draws a side in which names and handlers are few, so that two sides often have them in
// common, under other names, or as other kinds.
func drawNamed(t *rapid.T) (s side) {
	roles := []string{"A", "B", "C"}
	s.table.Roles = drawOrder(t, roles)
	lists := map[string][]map[string]any{}
	handlers := rapid.Permutation([]string{"P", "Q", "R", "S"}).Draw(t, "handlers")
	names := rapid.Permutation([]string{"x", "y", "z"}).Draw(t, "names")
	for i := range rapid.IntRange(0, 3).Draw(t, "items") {
		item := drawnItem{rapid.SampledFrom([]string{"tool", "tool", "prompt"}).Draw(t, "kind"),
			names[i], handlers[i], nil}
		rule := drawRule(t, roles)
		entry := map[string]any{"name": item.name, "handler": item.handler,
			"access": rule.manifest()}
		if item.kind == "prompt" {
			r := rule.table("")
			r.Prompt = item.name
			s.table.Prompts = append(s.table.Prompts, r)
		} else {
			s.table.Rules = append(s.table.Rules, rule.table(item.name))
			item.values = rapid.Permutation([]string{"on", "off", "up"}).Draw(t, "values")[:2]
			var values []map[string]any
			some := rapid.Bool().Draw(t, "rules of values")
			for _, value := range item.values {
				v := rule
				if some && rapid.Bool().Draw(t, "rule of "+value) {
					v = stricter(t, rule, roles)
					values = append(values, map[string]any{"argument": "a", "value": value,
						"access": v.manifest()})
				}
				r := v.table(item.name)
				r.Argument, r.Value = "a", value
				s.table.Values = append(s.table.Values, r)
			}
			entry["values"] = values
			entry["input"] = map[string]any{"/a": map[string]any{"type": "string",
				"enum": item.values}}
		}
		lists[item.kind] = append(lists[item.kind], entry)
		s.items = append(s.items, item)
	}
	text, err := json.Marshal(map[string]any{"manifest": 3, "package": "p",
		"roles": s.table.Roles, "tools": lists["tool"], "prompts": lists["prompt"]})
	if err != nil {
		t.Fatal(err)
	}
	if s.manifest, err = policydiff.Read("p", text); err != nil {
		t.Fatal(err)
	}
	s.table, err = access.Compose(access.Part{Package: "p", Table: s.table})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// may reports whether a caller may use an item, or send a value of its argument.
func (s side) may(p access.Principal, i drawnItem, value string) bool {
	table := s.table
	switch {
	case i.kind == "prompt":
		table = table.Of(access.Prompts)
	case value != "":
		return decision(table, p, i.name+" a="+value)
	}
	return table.Decide(p, i.name).Allowed
}

func (s side) find(same func(i drawnItem) bool) (drawnItem, bool) {
	at := slices.IndexFunc(s.items, same)
	if at < 0 {
		return drawnItem{}, false
	}
	return s.items[at], true
}

// TestDiffMissesNoWideningUnderANewName draws pairs of tables. If a caller may use an item or a
// value and could not before, under the same name, with the same handler, or beside a name and
// handler that are gone, diff reports that the caller gains it.
func TestDiffMissesNoWideningUnderANewName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, current := drawNamed(t), drawNamed(t)
		changes := policydiff.Compare([]*policydiff.Manifest{old.manifest},
			[]*policydiff.Manifest{current.manifest})
		for i, roles := range append([][]string{nil}, setsOf([]string{"A", "B", "C"})...) {
			for _, scopes := range setsOf(drawnScopes) {
				p := access.Principal{Subject: "ada", Roles: roles, Scopes: scopes}
				reports := func(caller string) bool { return caller == "no role" }
				switch {
				case i == 0:
					p = access.Principal{}
					reports = func(caller string) bool { return caller == "anonymous" }
				case len(roles) == 1:
					reports = func(caller string) bool { return caller == roles[0] }
				case len(roles) > 1:
					reports = func(caller string) bool {
						return covers(current.table.Roles, roles, caller)
					}
				}
				gains := func(name, reason string) {
					if !slices.ContainsFunc(changes, func(c policydiff.Change) bool {
						return c.Kind == policydiff.Widened && slices.ContainsFunc(c.Callers, reports) &&
							!admits(c.Before, scopes) && admits(c.After, scopes) &&
							slices.Contains(strings.Fields(c.Name), strings.Fields(name)[0])
					}) {
						t.Errorf("%v with %v gains %s, %s: not reported in %v", p, scopes, name,
							reason, changes)
					}
				}
				for _, item := range current.items {
					named, hasName := old.find(func(i drawnItem) bool {
						return i.kind == item.kind && i.name == item.name
					})
					handled, hasHandler := old.find(func(i drawnItem) bool {
						return i.handler == item.handler
					})
					if !current.may(p, item, "") {
						continue
					}
					if hasName && !old.may(p, named, "") {
						gains(item.name, "with the same name")
					}
					if hasHandler && !old.may(p, handled, "") {
						gains(item.name, "with the same handler")
					}
					if hasHandler && handled.kind == "prompt" && item.kind == "tool" {
						gains(item.name, "which was a prompt")
					}
					for _, gone := range old.items {
						_, kept := current.find(func(i drawnItem) bool {
							return i.handler == gone.handler || i.kind == gone.kind && i.name == gone.name
						})
						if !kept && !hasName && !hasHandler && !old.may(p, gone, "") {
							gains(item.name, "beside "+gone.name)
						}
					}
					for _, value := range item.values {
						if !hasName || !current.may(p, item, value) {
							continue
						}
						for _, before := range named.values {
							replaced := before == value || !slices.Contains(named.values, value) &&
								!slices.Contains(item.values, before)
							if replaced && ruled(named, item, old, current) &&
								!old.may(p, named, before) {
								gains(item.name+" a="+value, "beside a="+before)
							}
						}
					}
				}
			}
		}
	})
}

// ruled reports whether the argument of a tool has rules in either table.
func ruled(a, b drawnItem, old, current side) bool {
	p := access.Principal{}
	return len(old.table.Choices(p, a.name)) > 0 || len(current.table.Choices(p, b.name)) > 0
}

// drawnResource is a resource with its template.
type drawnResource struct {
	uri, handler string
	template     uritemplate.Template
}

// drawResources draws a side of resources. Those that overlap have equal rules, as the generator
// has it.
func drawResources(t *rapid.T) (m *policydiff.Manifest, table access.Table, list []drawnResource) {
	roles := []string{"A", "B"}
	part := access.Table{Roles: [][]string{roles}}
	var entries []map[string]any
	var rules []drawnRule
	handlers := rapid.Permutation([]string{"P", "Q", "R"}).Draw(t, "handlers")
	for i := range rapid.IntRange(1, 3).Draw(t, "resources") {
		uri := "s:" + rapid.SampledFrom([]string{"x", "y", "{v}", "{+v}", "x{v}", "x/{v}", "{v}/y",
			"{v}/{w}", "{v}.y", "x/{v}/y"}).Draw(t, "uri")
		template, err := uritemplate.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		rule, twice := drawRule(t, roles), false
		for at, other := range list {
			twice = twice || other.uri == uri
			if uritemplate.Overlap(other.template, template) {
				rule = rules[at]
			}
		}
		for at, other := range list {
			twice = twice || uritemplate.Overlap(other.template, template) &&
				!reflect.DeepEqual(rules[at], rule)
		}
		if twice {
			continue
		}
		r := rule.table("")
		r.Resource = uri
		part.Resources, rules = append(part.Resources, r), append(rules, rule)
		list = append(list, drawnResource{uri, handlers[i], template})
		entries = append(entries, map[string]any{"uri": uri, "handler": handlers[i],
			"access": rule.manifest()})
	}
	text, err := json.Marshal(map[string]any{"manifest": 2, "package": "p", "roles": roles,
		"resources": entries})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = policydiff.Read("p", text); err != nil {
		t.Fatal(err)
	}
	if table, err = access.Compose(access.Part{Package: "p", Table: part}); err != nil {
		t.Fatal(err)
	}
	return m, table.Of(access.Resources), list
}

// TestDiffReportsURIsThatBecomeReadable draws pairs of resources, and a URI. If a caller may read
// the URI and could not before, diff reports a widening, unless the resource is new and the URI
// too, or the template has other URIs than before.
func TestDiffReportsURIsThatBecomeReadable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, old, before := drawResources(t)
		head, current, after := drawResources(t)
		changes := policydiff.Compare([]*policydiff.Manifest{base}, []*policydiff.Manifest{head})
		uri := "s:" + rapid.StringMatching(`[xy/.]{1,5}`).Draw(t, "uri")
		for _, caller := range []string{"anonymous", "no role", "A", "B"} {
			p := access.Principal{Subject: "ada", Roles: []string{caller}}
			if caller == "anonymous" {
				p = access.Principal{}
			}
			var matched, could bool
			for _, r := range before {
				if r.template.Matches(uri) {
					matched, could = true, could || old.Decide(p, r.uri).Allowed
				}
			}
			for _, r := range after {
				if could || !r.template.Matches(uri) || !current.Decide(p, r.uri).Allowed {
					continue
				}
				grown := slices.ContainsFunc(before, func(b drawnResource) bool {
					return b.handler == r.handler && uritemplate.Overlap(b.template, r.template) &&
						!slices.ContainsFunc(before, func(o drawnResource) bool { return o.uri == r.uri }) &&
						!slices.ContainsFunc(after, func(o drawnResource) bool { return o.uri == b.uri })
				})
				if (matched || grown) && !slices.ContainsFunc(changes, func(c policydiff.Change) bool {
					return c.Kind == policydiff.Widened && slices.Contains(c.Callers, caller) &&
						strings.Fields(c.Name)[0] == r.uri
				}) {
					t.Errorf("%s may read %s by %s now: not reported in %v", caller, uri, r.uri, changes)
				}
			}
		}
	})
}
