package static

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// accounts are the content of a file. They are not changed.
type accounts struct {
	active  map[string]account // by name
	actions []string           // sorted
	listed  bool               // the file has a list of actions
}

type account struct {
	user capability.User
	set  capability.Set
}

// grants are what one entry of a file gives.
type grants struct {
	free []string
	rest []func(*capability.Set) // each adds a constrained permission or an exemption
}

func (g grants) give(s *capability.Set) {
	for _, p := range g.free {
		s.Add(p)
	}
	for _, add := range g.rest {
		add(s)
	}
}

var (
	permissionName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)
	objectName     = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?|\*)$`)
	actionName     = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|\*)$`)
)

func isPermission(name string) bool { return permissionName.MatchString(name) }

const (
	permissionForm = `write app.action_object, app.action without an object, or action without ` +
		`an app, in letters, digits and underscores, for example "dcim.view_device"`
	objectForm = `write app.object, for example "dcim.device", only the app for actions without ` +
		`an object, or "*" for all`
	actionForm = `write an action, for example "view", or "*" for all`
)

// accountReader reads the values of a file by what they mean.
type accountReader struct {
	bad    *problems
	all    *accounts
	groups map[string]grants
}

// readAccounts reads a file's document. What it returns counts where no problem was added.
func readAccounts(doc value, bad *problems) *accounts {
	r := &accountReader{bad: bad, all: &accounts{active: map[string]account{}},
		groups: map[string]grants{}}
	var everybody grants
	r.fields(doc, "", []field{
		{"actions", func(v value, at string) {
			r.all.actions, r.all.listed = r.texts(v, at, r.permission), true
			slices.Sort(r.all.actions)
		}},
		{"exempt", func(v value, at string) { everybody.rest = r.exemptions(v, at) }},
		{"groups", func(v value, at string) {
			r.each(v, at, func(m member, at string) {
				var g grants
				r.fields(m.value, at, r.grants(&g))
				r.groups[m.name] = g
			})
		}},
		{"users", func(v value, at string) {
			r.each(v, at, func(m member, at string) { r.user(m, at, everybody) })
		}},
	})
	if doc.kind == isMapping && !slices.ContainsFunc(
		doc.members, func(m member) bool { return m.name == "users" }) {
		bad.add(doc.line, "/users", "is missing: write the users, or {} for none")
	}
	return r.all
}

// user reads one user.
func (r *accountReader) user(m member, at string, everybody grants) {
	u := capability.User{ID: m.name, Name: m.name}
	active := true
	all := []grants{everybody, {}}
	r.fields(m.value, at, append(r.grants(&all[1]),
		field{"groups", func(v value, at string) {
			for _, name := range r.texts(v, at, r.group) {
				all = append(all, r.groups[name])
			}
		}},
		field{"active", func(v value, at string) { r.truth(v, at, &active) }},
		field{"superuser", func(v value, at string) { r.truth(v, at, &u.Superuser) }},
	))
	if !active {
		return
	}
	var set capability.Set
	for _, g := range all {
		g.give(&set)
	}
	if u.Superuser {
		set.Exempt(capability.Any, capability.Any)
	}
	r.all.active[m.name] = account{u, set}
}

// grants are the fields that users and groups share.
func (r *accountReader) grants(g *grants) []field {
	return []field{
		{"permissions", func(v value, at string) { g.free = r.texts(v, at, r.known) }},
		{"constrained", func(v value, at string) {
			r.each(v, at, func(m member, at string) {
				if wrong := r.known(m.name); wrong != "" {
					r.bad.add(m.line, at, "%s", wrong)
				} else if slices.Contains(g.free, m.name) {
					r.bad.add(
						m.line, at,
						"is also in permissions, for all objects: remove one of the two")
				}
				constraints := r.constraints(m.value, at)
				g.rest = append(g.rest, func(s *capability.Set) { s.Add(m.name, constraints...) })
			})
		}},
		{"exempt", func(v value, at string) { g.rest = append(g.rest, r.exemptions(v, at)...) }},
	}
}

// constraints reads the constraints of one permission. None, or an empty one, would be all objects,
// and is probably a mistake.
func (r *accountReader) constraints(v value, at string) (list []capability.Constraint) {
	if !r.is(v, at, isList) {
		return nil
	}
	if len(v.items) == 0 {
		r.bad.add(
			v.line, at,
			"has no constraint: write one, or move the permission to permissions if it covers "+
				"all objects")
	}
	for i, item := range v.items {
		at := decode.Pointer(at, strconv.Itoa(i))
		switch {
		case !r.is(item, at, isMapping):
		case len(item.members) == 0:
			r.bad.add(
				item.line, at,
				"has no condition: write which objects it covers, or move the permission to permissions if "+
					"it covers all")
		default:
			list = append(list, item.appendJSON(nil))
		}
	}
	return list
}

// exemptions reads actions by types of objects.
func (r *accountReader) exemptions(v value, at string) (list []func(*capability.Set)) {
	r.each(v, at, func(m member, at string) {
		if !objectName.MatchString(m.name) {
			r.bad.add(m.line, at, "is not an object type: %s", objectForm)
			return
		}
		for _, action := range r.texts(m.value, at,
			func(action string) string { return r.exemptible(m.name, action) }) {
			list = append(list, func(s *capability.Set) { s.Exempt(m.name, action) })
		}
	})
	return list
}

// exemptible is what is wrong with an exemption, or "".
func (r *accountReader) exemptible(object, action string) string {
	switch {
	case !actionName.MatchString(action):
		return "is not an action: " + actionForm
	case object == capability.Any && action == capability.Any:
		return "allows everything: write superuser: true for each such user instead"
	case object == capability.Any || action == capability.Any:
		return ""
	}
	app, name, hasObject := strings.Cut(object, ".")
	permission := app + "." + action
	if hasObject {
		permission += "_" + name
	}
	return r.known(permission)
}

// permission is what is wrong with a permission's name, or "".
func (r *accountReader) permission(name string) string {
	if !isPermission(name) {
		return "is not a permission: " + permissionForm
	}
	return ""
}

// known is permission for one that has to be among the actions where there is a list of them.
func (r *accountReader) known(name string) string {
	if wrong := r.permission(name); wrong != "" || !r.all.listed {
		return wrong
	}
	if _, found := slices.BinarySearch(r.all.actions, name); found {
		return ""
	}
	return name + " is not in actions: correct the name, or add it there"
}

// name is what is wrong with the name of a user or a group, or "".
func (r *accountReader) name(name string) string {
	if name == "" || name != strings.TrimSpace(name) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return "is not a name: write one without control characters, and without white space at its ends"
	}
	return ""
}

// group is what is wrong with the name of a group that a user is to be a member of, or "".
func (r *accountReader) group(name string) string {
	if _, known := r.groups[name]; !known {
		return "has the group " + strconv.Quote(name) +
			", which is not in groups: correct the name, or add the group"
	}
	return ""
}

// field is a name that a mapping may have, and what reads its value.
type field struct {
	name string
	read func(v value, at string)
}

// fields reads the members of a mapping in the order of fields, and refuses all others.
func (r *accountReader) fields(v value, at string, fields []field) {
	if !r.is(v, at, isMapping) {
		return
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		for _, m := range v.members {
			if m.name == f.name {
				f.read(m.value, decode.Pointer(at, m.name))
			}
		}
	}
	for _, m := range v.members {
		if !slices.Contains(names, m.name) {
			r.bad.add(m.line, decode.Pointer(at, m.name), "is not a known key: use %s",
				strings.Join(names, ", "))
		}
	}
}

// each reads the members of a mapping whose names are the file's own.
func (r *accountReader) each(v value, at string, read func(m member, at string)) {
	if !r.is(v, at, isMapping) {
		return
	}
	for _, m := range v.members {
		at := decode.Pointer(at, m.name)
		if wrong := r.name(m.name); wrong != "" {
			r.bad.add(m.line, at, "%s", wrong)
			continue
		}
		read(m, at)
	}
}

// texts reads a list of texts, each once and none that something is wrong with.
func (r *accountReader) texts(v value, at string, wrong func(text string) string) (list []string) {
	if !r.is(v, at, isList) {
		return nil
	}
	seen := map[string]bool{}
	for i, item := range v.items {
		at := decode.Pointer(at, strconv.Itoa(i))
		if !r.is(item, at, isText) {
			continue
		}
		if fault := wrong(item.text); fault != "" {
			r.bad.add(item.line, at, "%s", fault)
		} else if seen[item.text] {
			r.bad.add(item.line, at, "is in its list twice: remove one")
		} else {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list
}

func (r *accountReader) truth(v value, at string, b *bool) {
	if r.is(v, at, isTruth) {
		*b = v.text == "true"
	}
}

// is reports whether a value is of a kind, and adds a problem where it is not.
func (r *accountReader) is(v value, at string, want kind) bool {
	if v.kind == want {
		return true
	}
	r.bad.add(v.line, at, "is %s: write %s", v.kind, want)
	return false
}
