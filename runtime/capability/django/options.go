package django

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/internal/hostcheck"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Options name the tables of a host whose users are a model of its own. The zero Options are
// those of django.contrib.auth. [Source.Check] compares them with the tables.
//
// A user model that inherits the table of another model (multi-table inheritance) is not
// supported: [Source.Check] refuses it. An abstract base class has no table and is no obstacle.
type Options struct {
	// UserModel is AUTH_USER_MODEL of the host's settings, "accounts.Member". Table and columns are
	// derived from it as Django does. Empty is "auth.User".
	UserModel string
	// UserTable is the table of users if the model's Meta has a db_table. The tables of its groups
	// and permissions are named after it. Empty is the app and the model: "accounts_member".
	UserTable string
	// UserKey is the column of the primary key. Empty is "id".
	UserKey string
	// Username is the column that [access.Principal.User] is looked up in: the column of the
	// model's USERNAME_FIELD. Empty is "username".
	Username string
	// AllActive is for a model that has no is_active field of its own and keeps that of
	// AbstractBaseUser, which is true for every user. It is refused if the table has the column.
	AllActive bool
}

// Columns that Django names.
const (
	active    = "is_active"
	superuser = "is_superuser"
)

// host is the tables and columns that a source reads.
type host struct {
	users, groups, permissions string // tables of the user model
	key, name                  string // columns of users
	member                     string // the column of groups and permissions that refers to a user
	allActive                  bool
}

func (o Options) host() (host, error) {
	app, model, ok := strings.Cut(cmp.Or(o.UserModel, "auth.User"), ".")
	if !ok || app == "" || model == "" || strings.Contains(model, ".") {
		return host{}, fmt.Errorf("django: Options.UserModel %q is not a model: write "+
			"AUTH_USER_MODEL of the host's settings, for example \"accounts.Member\"", o.UserModel)
	}
	table := cmp.Or(o.UserTable, strings.ToLower(app+"_"+model))
	return host{
		users: table, groups: table + "_groups", permissions: table + "_user_permissions",
		key: cmp.Or(o.UserKey, "id"), name: cmp.Or(o.Username, "username"),
		member: strings.ToLower(model) + "_id", allActive: o.AllActive,
	}, nil
}

// tables returns what the statements read, for the catalog to be compared with.
func (h host) tables() []hostcheck.Table {
	const relation = "the user model needs PermissionsMixin, with Django's table names"
	users := []hostcheck.Column{
		{Name: h.key, Cure: "set Options.UserKey to its primary key"},
		{Name: h.name, Cure: "set Options.Username to the column of USERNAME_FIELD"},
		{Name: superuser, Cure: "the user model needs PermissionsMixin"},
	}
	if !h.allActive {
		users = append(users, hostcheck.Column{Name: active, Cure: "set Options.AllActive " +
			"if the user model has no such field, so that Django counts every user as active"})
	}
	return []hostcheck.Table{
		{Name: h.users, Cure: "set Options.UserModel, or Options.UserTable", Columns: users},
		{Name: h.groups, Cure: relation, Columns: hostcheck.Columns(h.member, "group_id")},
		{
			Name: h.permissions, Cure: relation,
			Columns: hostcheck.Columns(h.member, "permission_id"),
		},
		{Name: "auth_group", Columns: hostcheck.Columns("id")},
		{Name: "auth_group_permissions", Columns: hostcheck.Columns("group_id", "permission_id")},
		{Name: "auth_permission", Columns: hostcheck.Columns("id", "content_type_id", "codename")},
		{Name: "django_content_type", Columns: hostcheck.Columns("id", "app_label")},
	}
}

// statements are the two queries of a source, and the one that lists the host's actions.
type statements struct{ user, capabilities, actions string }

// statements writes the queries for one engine. A capability query is one statement, so that it
// reads one moment: a user who moves from one group to another between two queries would have the
// permissions of both. A table qualifies every column: SQLite takes an unknown name in double
// quotes for a string unless it is qualified.
func (h host) statements(d dialect.Dialect) statements {
	isActive := "x." + active
	if h.allActive {
		isActive = "TRUE"
	}
	names := strings.NewReplacer(
		"USER_GROUPS", hostcheck.Quote(h.groups),
		"USER_PERMISSIONS", hostcheck.Quote(h.permissions),
		"USER_ID", hostcheck.Quote(h.member),
		"USERNAME", hostcheck.Quote(h.name),
		"USER_KEY", hostcheck.Quote(h.key),
		"USERS", hostcheck.Quote(h.users),
		"PARAMETER", d.First(),
		"ACTIVE", isActive,
	)
	return statements{
		user:         names.Replace(user),
		capabilities: names.Replace("WITH u (id, name, super) AS (" + user + ")" + held),
		actions: "SELECT t.app_label || '.' || p.codename FROM auth_permission p " +
			"JOIN django_content_type t ON t.id = p.content_type_id",
	}
}

// user selects the active user of a name.
const user = `SELECT x.USER_KEY, x.USERNAME, x.is_superuser FROM USERS x
WHERE x.USERNAME = PARAMETER AND ACTIVE`

// held selects the user with each permission that it holds, and once with none if it holds none: no
// row is no user. A superuser holds all permissions, as with ModelBackend. The table of groups is
// joined as Django joins it: a group without a row grants nothing.
const held = `, held (id) AS (
	SELECT m.permission_id FROM u JOIN USER_PERMISSIONS m ON m.USER_ID = u.id
	UNION
	SELECT p.permission_id FROM u JOIN USER_GROUPS m ON m.USER_ID = u.id
		JOIN auth_group g ON g.id = m.group_id JOIN auth_group_permissions p ON p.group_id = g.id
	UNION
	SELECT p.id FROM u JOIN auth_permission p ON u.super
)
SELECT u.id, u.name, u.super, t.app_label, p.codename
FROM u LEFT JOIN (
	held h JOIN auth_permission p ON p.id = h.id JOIN django_content_type t ON t.id = p.content_type_id
) ON TRUE`
