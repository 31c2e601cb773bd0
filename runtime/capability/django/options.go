package django

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
)

// Options name the tables of a host whose users are a model of its own. The zero Options are
// those of django.contrib.auth.
type Options struct {
	// UserModel is AUTH_USER_MODEL of the host's settings, "accounts.Member". Table and columns are
	// derived from it as Django does. Empty is "auth.User".
	UserModel string
	// UserTable is the table of users where the model's Meta has a db_table; the tables of its groups and
	// permissions are named after it. Empty is the app and the model: "accounts_member".
	UserTable string
	// UserKey is the column of the primary key; empty is "id".
	UserKey string
	// Username is the column that [access.Principal.User] is looked up in, the model's USERNAME_FIELD;
	// empty is "username".
	Username string
}

// statements are the two that a source asks of a host, and the one that lists what it knows.
type statements struct{ user, capabilities, actions string }

// statements spells the queries for one engine. A capability query is one statement, so that what it
// sees is of one moment: a user who is taken from one group and put into another between two
// queries would have the permissions of both.
func (o Options) statements(d dialect.Dialect) (statements, error) {
	if !d.Known() {
		return statements{}, errors.New("django: no engine: say dialect.SQLite or dialect.PostgreSQL")
	}
	app, model, ok := strings.Cut(or(o.UserModel, "auth.User"), ".")
	if !ok || app == "" || model == "" || strings.Contains(model, ".") {
		return statements{}, fmt.Errorf("django: Options.UserModel %q is no model: write AUTH_USER_MODEL of the host's settings, as in \"accounts.Member\"", o.UserModel)
	}
	table := or(o.UserTable, strings.ToLower(app+"_"+model))
	names := strings.NewReplacer(
		"USER_GROUPS", dialect.Quote(table+"_groups"),
		"USER_PERMISSIONS", dialect.Quote(table+"_user_permissions"),
		"USER_ID", dialect.Quote(strings.ToLower(model)+"_id"),
		"USERNAME", dialect.Quote(or(o.Username, "username")),
		"USER_KEY", dialect.Quote(or(o.UserKey, "id")),
		"USERS", dialect.Quote(table),
		"PARAMETER", d.First(),
	)
	return statements{
		user:         names.Replace(user),
		capabilities: names.Replace("WITH u (id, name, super) AS (" + user + ")" + held),
		actions:      "SELECT t.app_label, p.codename FROM auth_permission p JOIN django_content_type t ON t.id = p.content_type_id",
	}, nil
}

// user selects the active user of a name.
const user = `SELECT USER_KEY, USERNAME, is_superuser FROM USERS WHERE USERNAME = PARAMETER AND is_active`

// held selects the user with each permission that it holds, and once with none where it holds none: no row is
// no user. A superuser holds all that there are, as with ModelBackend.
const held = `, held (id) AS (
	SELECT m.permission_id FROM u JOIN USER_PERMISSIONS m ON m.USER_ID = u.id
	UNION
	SELECT g.permission_id FROM u JOIN USER_GROUPS m ON m.USER_ID = u.id JOIN auth_group_permissions g ON g.group_id = m.group_id
	UNION
	SELECT p.id FROM u JOIN auth_permission p ON u.super
)
SELECT u.id, u.name, u.super, t.app_label, p.codename
FROM u LEFT JOIN (
	held h JOIN auth_permission p ON p.id = h.id JOIN django_content_type t ON t.id = p.content_type_id
) ON TRUE`

func or(name, standard string) string {
	if name == "" {
		return standard
	}
	return name
}
