package static

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcpgen/mcpgen/internal/configfile"
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
	bad    *configfile.Problems
	all    *accounts
	groups map[string]grants
}

// readAccounts reads a file's document. What it returns counts where no problem was added.
func readAccounts(doc configfile.Value, bad *configfile.Problems) *accounts {
	r := &accountReader{bad: bad, all: &accounts{active: map[string]account{}},
		groups: map[string]grants{}}
	var everybody grants
	r.bad.Fields(doc, "", []configfile.Field{
		{Name: "actions", Read: func(v configfile.Value, at string) {
			r.all.actions, r.all.listed = r.bad.Texts(v, at, r.permission), true
			slices.Sort(r.all.actions)
		}},
		{Name: "exempt", Read: func(v configfile.Value, at string) {
			everybody.rest = r.exemptions(
				v, at)
		}},
		{Name: "groups", Read: func(v configfile.Value, at string) {
			r.each(v, at, func(m configfile.Member, at string) {
				var g grants
				r.bad.Fields(m.Value, at, r.grants(&g))
				r.groups[m.Name] = g
			})
		}},
		{Name: "users", Read: func(v configfile.Value, at string) {
			r.each(v, at, func(m configfile.Member, at string) { r.user(m, at, everybody) })
		}},
	})
	if doc.Kind == configfile.Mapping && !slices.ContainsFunc(
		doc.Members, func(m configfile.Member) bool { return m.Name == "users" }) {
		bad.Add(doc.Line, "/users", "is missing: write the users, or {} for none")
	}
	return r.all
}

// user reads one user.
func (r *accountReader) user(m configfile.Member, at string, everybody grants) {
	u := capability.User{ID: m.Name, Name: m.Name}
	active := true
	all := []grants{everybody, {}}
	r.bad.Fields(m.Value, at, append(r.grants(&all[1]),
		configfile.Field{Name: "groups", Read: func(v configfile.Value, at string) {
			for _, name := range r.bad.Texts(v, at, r.group) {
				all = append(all, r.groups[name])
			}
		}},
		configfile.Field{Name: "active", Read: func(v configfile.Value, at string) {
			r.bad.Truth(v,
				at, &active)
		}},
		configfile.Field{Name: "superuser", Read: func(v configfile.Value, at string) {
			r.bad.Truth(v, at, &u.Superuser)
		}},
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
	r.all.active[m.Name] = account{u, set}
}

// grants are the fields that users and groups share.
func (r *accountReader) grants(g *grants) []configfile.Field {
	return []configfile.Field{
		{Name: "permissions", Read: func(v configfile.Value, at string) {
			g.free = r.bad.Texts(v,
				at, r.known)
		}},
		{Name: "constrained", Read: func(v configfile.Value, at string) {
			r.each(v, at, func(m configfile.Member, at string) {
				if wrong := r.known(m.Name); wrong != "" {
					r.bad.Add(m.Line, at, "%s", wrong)
				} else if slices.Contains(g.free, m.Name) {
					r.bad.Add(
						m.Line, at,
						"is also in permissions, for all objects: remove one of the two")
				}
				constraints := r.constraints(m.Value, at)
				g.rest = append(g.rest, func(s *capability.Set) { s.Add(m.Name, constraints...) })
			})
		}},
		{Name: "exempt", Read: func(v configfile.Value, at string) {
			g.rest = append(g.rest,
				r.exemptions(v, at)...)
		}},
	}
}

// constraints reads the constraints of one permission. None, or an empty one, would be all objects,
// and is probably a mistake.
func (r *accountReader) constraints(v configfile.Value, at string) (list []capability.Constraint) {
	if !r.bad.Is(v, at, configfile.List) {
		return nil
	}
	if len(v.Items) == 0 {
		r.bad.Add(
			v.Line, at,
			"has no constraint: write one, or move the permission to permissions if it covers "+
				"all objects")
	}
	for i, item := range v.Items {
		at := decode.Pointer(at, strconv.Itoa(i))
		switch {
		case !r.bad.Is(item, at, configfile.Mapping):
		case len(item.Members) == 0:
			r.bad.Add(
				item.Line, at,
				"has no condition: write which objects it covers, or move the permission to permissions if "+
					"it covers all")
		default:
			list = append(list, item.AppendJSON(nil))
		}
	}
	return list
}

// exemptions reads actions by types of objects.
func (r *accountReader) exemptions(v configfile.Value, at string) (list []func(*capability.Set)) {
	r.each(v, at, func(m configfile.Member, at string) {
		if !objectName.MatchString(m.Name) {
			r.bad.Add(m.Line, at, "is not an object type: %s", objectForm)
			return
		}
		for _, action := range r.bad.Texts(m.Value, at,
			func(action string) string { return r.exemptible(m.Name, action) }) {
			list = append(list, func(s *capability.Set) { s.Exempt(m.Name, action) })
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

// each reads the members of a mapping whose names are the file's own.
func (r *accountReader) each(v configfile.Value, at string, read func(m configfile.Member,
	at string)) {
	if !r.bad.Is(v, at, configfile.Mapping) {
		return
	}
	for _, m := range v.Members {
		at := decode.Pointer(at, m.Name)
		if wrong := r.name(m.Name); wrong != "" {
			r.bad.Add(m.Line, at, "%s", wrong)
			continue
		}
		read(m, at)
	}
}
