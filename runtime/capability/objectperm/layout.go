package objectperm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Layout names the tables in which a host keeps users, groups and object permissions, and what its own
// settings say of them unless a deployment changes it. [NetBox] and [Nautobot] return those of the two
// hosts, for a caller to change where its release differs.
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
}

// NetBox returns the tables of NetBox 4.4 and later, whose migration users.0010_concrete_objecttype points object
// types to contenttypes.ContentType, and so names TypeColumn. Earlier ones differ: 4.0 to 4.3 have "objecttype_id" for
// TypeColumn; before that, UserPermissions is "users_objectpermission_users", GroupPermissions
// "users_objectpermission_groups", and users are in "auth_user" and "auth_user_groups". A table or column that
// a release does not have is an error of every query, which names it, and denies; what a database has, "\d
// users_objectpermission_object_types" says in psql.
func NetBox() Layout {
	defaults := map[string][]capability.Constraint{}
	for _, model := range []string{"extras.%s_bookmark", "extras.%s_notification", "extras.%s_subscription", "users.%s_token"} {
		for _, action := range []string{"view", "add", "change", "delete"} {
			defaults[fmt.Sprintf(model, action)] = []capability.Constraint{capability.Constraint(`{"user":"$user"}`)}
		}
	}
	return Layout{
		Users:              "users_user",
		UserGroups:         "users_user_groups",
		Permissions:        "users_objectpermission",
		UserPermissions:    "users_user_object_permissions",
		GroupPermissions:   "users_group_object_permissions",
		PermissionTypes:    "users_objectpermission_object_types",
		TypeColumn:         "contenttype_id",
		NeverExempt:        []string{"extras.configrevision", "users.group", "users.objectpermission", "users.token", "users.user"},
		DefaultPermissions: defaults,
	}
}

// Nautobot returns the tables of Nautobot 1.0 and later, whose keys are UUIDs and whose groups are
// Django's. It has no default permissions.
func Nautobot() Layout {
	return Layout{
		Users:            "auth_user",
		UserGroups:       "auth_user_groups",
		Permissions:      "users_objectpermission",
		UserPermissions:  "users_objectpermission_users",
		GroupPermissions: "users_objectpermission_groups",
		PermissionTypes:  "users_objectpermission_object_types",
		TypeColumn:       "contenttype_id",
		NeverExempt:      []string{"auth.group", "users.user", "users.objectpermission"},
	}
}

// statements are what a source asks of its host: for the user alone, and for all that it may do.
type statements struct{ user, capabilities string }

// statements spells the queries for one engine. all asks for the host's models as well. A capability query is
// one statement, so that what it sees is of one moment.
func (l Layout) statements(d dialect.Dialect, all bool) (statements, error) {
	if !d.Known() {
		return statements{}, errors.New("objectperm: no engine: say dialect.SQLite or dialect.PostgreSQL")
	}
	for _, named := range [...]struct{ field, name string }{
		{"Users", l.Users}, {"UserGroups", l.UserGroups}, {"Permissions", l.Permissions}, {"UserPermissions", l.UserPermissions},
		{"GroupPermissions", l.GroupPermissions}, {"PermissionTypes", l.PermissionTypes}, {"TypeColumn", l.TypeColumn},
	} {
		if named.name == "" {
			return statements{}, fmt.Errorf("objectperm: Layout.%s names nothing: start from objectperm.NetBox() or objectperm.Nautobot()", named.field)
		}
	}
	// NetBox keeps actions as an array, Nautobot as JSON; to_jsonb makes JSON of both.
	actions := "CAST(p.actions AS text)"
	if d == dialect.PostgreSQL {
		actions = "CAST(to_jsonb(p.actions) AS text)"
	}
	names := strings.NewReplacer(
		"USER_GROUPS", dialect.Quote(l.UserGroups),
		"USER_PERMISSIONS", dialect.Quote(l.UserPermissions),
		"GROUP_PERMISSIONS", dialect.Quote(l.GroupPermissions),
		"PERMISSION_TYPES", dialect.Quote(l.PermissionTypes),
		"PERMISSIONS", dialect.Quote(l.Permissions),
		"USERS", dialect.Quote(l.Users),
		"TYPE", dialect.Quote(l.TypeColumn),
		"ACTIONS", actions,
		"PARAMETER", d.First(),
	)
	capabilities := "WITH u (id, name, super) AS (" + user + ")" + held
	if all {
		capabilities += models
	}
	return statements{user: names.Replace(user), capabilities: names.Replace(capabilities + order)}, nil
}

// user selects the active user of a name.
const user = `SELECT id, username, is_superuser FROM USERS WHERE username = PARAMETER AND is_active`

// held selects the user with each type of each enabled permission that it holds, once however it came by
// it, and once with none where it holds none: no row is no user.
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

// models selects, besides, each model of the host, for an exemption of all of them: a Set has no way to
// exempt all but some.
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
	if app == "" || i <= 0 || i == len(codename)-1 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' }) || strings.Contains(codename, ".") {
		return permission{}, false
	}
	p := permission{app, codename[:i], codename[i+1:]}
	return p, p.model == strings.ToLower(p.model)
}
