package objectperm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Layout names the tables in which a host keeps users, groups and object permissions, and the
// settings that a release of the host has unless a deployment changes them. The functions of this
// package return the layout of each release. A changed copy of one is still checked as the layout
// of its release: [Source.Check] refuses it for the tables of another. A layout that a program
// writes field by field has no release, and is compared with its own tables alone.
type Layout struct {
	Users            string // id, username, is_active, is_superuser
	UserGroups       string // user_id, group_id
	Permissions      string // id, enabled, actions, constraints
	UserPermissions  string // user_id, objectpermission_id
	GroupPermissions string // group_id, objectpermission_id
	PermissionTypes  string // objectpermission_id, and TypeColumn
	// TypeColumn is the column of PermissionTypes that refers to django_content_type.
	TypeColumn string

	// NeverExempt are the models that "*" in Options.ExemptView leaves out, "users.user": the
	// host's EXEMPT_EXCLUDE_MODELS.
	NeverExempt []string
	// DefaultPermissions are the host's DEFAULT_PERMISSIONS: what every active user holds. A name
	// with no constraint at all covers all objects, unless another permission narrows it.
	DefaultPermissions map[string][]capability.Constraint

	release string // the name of a release; empty for a layout that no function returned
}

// tables returns what the statements read, for the catalog to be compared with.
func (l Layout) tables() []hostcheck.Table {
	table := func(field, name string, columns ...string) hostcheck.Table {
		return hostcheck.Table{
			Name: name, Cure: "set Layout." + field, Columns: hostcheck.Columns(columns...),
		}
	}
	return []hostcheck.Table{
		table("Users", l.Users, "id", "username", "is_active", "is_superuser"),
		table("UserGroups", l.UserGroups, "user_id", "group_id"),
		table("Permissions", l.Permissions, "id", "enabled", "actions", "constraints"),
		table("UserPermissions", l.UserPermissions, "user_id", "objectpermission_id"),
		table("GroupPermissions", l.GroupPermissions, "group_id", "objectpermission_id"),
		{
			Name: l.PermissionTypes, Cure: "set Layout.PermissionTypes",
			Columns: []hostcheck.Column{
				{Name: "objectpermission_id"},
				{Name: l.TypeColumn, Cure: "set Layout.TypeColumn"},
			},
		},
		types,
	}
}

// types is the table of the host's models. Django names it, in every release.
var types = hostcheck.Table{
	Name: "django_content_type", Columns: hostcheck.Columns("id", "app_label", "model"),
}

// statements are the queries of a source: for the user alone, and for its permissions.
type statements struct{ user, capabilities string }

// statements writes the queries for one engine. all includes the host's models. A capability query
// is one statement, so that it reads one state of the database.
func (l Layout) statements(d dialect.Dialect, all bool) (statements, error) {
	if !d.Known() {
		return statements{}, errors.New(
			"objectperm: no engine: set dialect.SQLite or dialect.PostgreSQL")
	}
	for _, named := range [...]struct{ field, name string }{
		{"Users", l.Users}, {"UserGroups", l.UserGroups}, {"Permissions", l.Permissions},
		{"UserPermissions", l.UserPermissions}, {"GroupPermissions", l.GroupPermissions},
		{"PermissionTypes", l.PermissionTypes}, {"TypeColumn", l.TypeColumn},
	} {
		if named.name == "" {
			return statements{}, fmt.Errorf("objectperm: Layout.%s is empty: start from "+
				"objectperm.NetBox() or objectperm.Nautobot()", named.field)
		}
	}
	// NetBox keeps actions as an array, Nautobot as JSON; to_jsonb makes JSON of both.
	actions := "CAST(p.actions AS text)"
	if d == dialect.PostgreSQL {
		actions = "CAST(to_jsonb(p.actions) AS text)"
	}
	names := strings.NewReplacer(
		"USER_GROUPS", hostcheck.Quote(l.UserGroups),
		"USER_PERMISSIONS", hostcheck.Quote(l.UserPermissions),
		"GROUP_PERMISSIONS", hostcheck.Quote(l.GroupPermissions),
		"PERMISSION_TYPES", hostcheck.Quote(l.PermissionTypes),
		"PERMISSIONS", hostcheck.Quote(l.Permissions),
		"USERS", hostcheck.Quote(l.Users),
		"TYPE", hostcheck.Quote(l.TypeColumn),
		"ACTIONS", actions,
		"PARAMETER", d.First(),
	)
	capabilities := "WITH u (id, name, super) AS (" + user + ")" + held
	if all {
		capabilities += models
	}
	return statements{
		user: names.Replace(user), capabilities: names.Replace(capabilities + order),
	}, nil
}

// user selects the active user of a name.
const user = `SELECT x.id, x.username, x.is_superuser FROM USERS x
WHERE x.username = PARAMETER AND x.is_active`

// held selects the user with each type of each enabled permission that it holds, once however it
// came by it, and once with none where it holds none: no row is no user.
const held = `, held (id) AS (
	SELECT m.objectpermission_id FROM u JOIN USER_PERMISSIONS m ON m.user_id = u.id
	UNION
	SELECT g.objectpermission_id FROM u JOIN USER_GROUPS m ON m.user_id = u.id JOIN GROUP_PERMISSIONS g ON g.group_id = m.group_id
)
SELECT u.id, u.name, u.super, 0, t.app_label, t.model, ACTIONS, CAST(p.constraints AS text)
FROM u LEFT JOIN (
	held h JOIN PERMISSIONS p ON p.id = h.id AND p.enabled
	JOIN PERMISSION_TYPES m ON m.objectpermission_id = p.id
	JOIN django_content_type t ON t.id = m.TYPE
) ON TRUE`

// models selects, besides, each model of the host, for an exemption of all of them: a Set has no
// way to exempt all but some.
const models = `
UNION ALL
SELECT u.id, u.name, u.super, 1, t.app_label, t.model, NULL, NULL FROM u CROSS JOIN django_content_type t`

// order makes the constraints of a permission come in the same order each time.
const order = `
ORDER BY 4, 5, 6, 7, 8`

// permission is the parts of a name like "dcim.napalm_read_device".
type permission struct{ app, action, model string }

// object is the model with its app, "dcim.device".
func (p permission) object() string { return p.app + "." + p.model }

// parse takes a name apart as the hosts do: the model is what follows the last underscore.
func parse(name string) (permission, bool) {
	app, codename, _ := strings.Cut(name, ".")
	i := strings.LastIndexByte(codename, '_')
	space := func(r rune) bool { return r <= ' ' }
	if app == "" || i <= 0 || i == len(codename)-1 ||
		strings.ContainsFunc(name, space) || strings.Contains(codename, ".") {
		return permission{}, false
	}
	p := permission{app, codename[:i], codename[i+1:]}
	return p, p.model == strings.ToLower(p.model)
}
