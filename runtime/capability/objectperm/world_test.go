package objectperm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

// world is what a host keeps: its rows, and the settings that bear on them.
type world struct {
	Users       []user
	Groups      int
	Permissions []grant
	ExemptView  []string
	Defaults    map[string][]capability.Constraint
}

type user struct {
	Name              string
	Active, Superuser bool
	Groups            []int
}

// grant is an object permission, with whom it was given to.
type grant struct {
	Enabled       bool
	Actions       []string
	Constraints   string // as it stands in the column; empty is a null one
	Models        []int
	Users, Groups []int
}

// models are the content types of every world, numbered from 0; tables number rows from 1.
var models = []string{
	"dcim.device", "dcim.interface", "ipam.prefix", "extras.configrevision", "auth.group",
	"users.user", "users.group", "users.objectpermission", "users.token", "my_plugin.dnsrecord",
}

var actions = []string{"view", "add", "change", "delete", "napalm_read", "sync", "View", "*"}

// some draws places in a list of a length, most often few.
func some(length int) *rapid.Generator[[]int] {
	if length == 0 {
		return rapid.Just([]int(nil))
	}
	return rapid.SliceOfNDistinct(rapid.IntRange(0, length-1), 0, min(length, 3), rapid.ID[int])
}

var worlds = rapid.Custom(func(t *rapid.T) world {
	w := world{Groups: rapid.IntRange(0, 4).Draw(t, "groups")}
	for i := range rapid.IntRange(1, 6).Draw(t, "users") {
		w.Users = append(w.Users, user{
			Name:      fmt.Sprintf(rapid.SampledFrom([]string{"u%d", "U%d", "größe %d", "o'%d", "%d@example.com"}).Draw(t, "name"), i),
			Active:    rapid.IntRange(0, 9).Draw(t, "active") > 0,
			Superuser: rapid.IntRange(0, 9).Draw(t, "superuser") == 9,
			Groups:    some(w.Groups).Draw(t, "member of"),
		})
	}
	constraint := rapid.SampledFrom([]string{
		`{"site": "ams"}`, `{"user": "$user"}`, `{"name__in": ["a", "b'c"], "role": null}`, `{"id": 9007199254740993}`, `{}`, `null`,
	})
	for range rapid.IntRange(0, 8).Draw(t, "permissions") {
		g := grant{
			Enabled: rapid.IntRange(0, 4).Draw(t, "enabled") > 0,
			Actions: rapid.SliceOfN(rapid.SampledFrom(actions), 0, 4).Draw(t, "actions"),
			Models:  some(len(models)).Draw(t, "models"),
			Users:   some(len(w.Users)).Draw(t, "users"),
			Groups:  some(w.Groups).Draw(t, "groups"),
		}
		switch rapid.SampledFrom([]string{"none", "one", "list"}).Draw(t, "constraints") {
		case "one":
			g.Constraints = constraint.Draw(t, "constraint")
		case "list":
			g.Constraints = "[" + strings.Join(rapid.SliceOfN(constraint, 0, 3).Draw(t, "list"), ", ") + "]"
		}
		w.Permissions = append(w.Permissions, g)
	}
	w.ExemptView = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"*", "dcim.device", "users.user", "gone.model"}), rapid.ID[string]).Draw(t, "exempt")
	if rapid.Bool().Draw(t, "own defaults") {
		w.Defaults = map[string][]capability.Constraint{}
		for range rapid.IntRange(0, 2).Draw(t, "defaults") {
			name := rapid.SampledFrom([]string{"dcim.view_device", "users.view_token", "dcim.napalm_read_device"}).Draw(t, "default")
			w.Defaults[name] = nil
			for _, c := range rapid.SliceOfN(constraint, 0, 2).Draw(t, "default constraints") {
				w.Defaults[name] = append(w.Defaults[name], capability.Constraint(c))
			}
		}
	}
	return w
})

// layout is a host whose tables a world is written into.
type layout struct {
	name   string
	tables objectperm.Layout
	uuids  bool // keys of users and permissions
}

var layouts = []layout{{"NetBox", objectperm.NetBox(), false}, {"Nautobot", objectperm.Nautobot(), true}}

// engines are the databases that a host is tried on.
var engines = []struct {
	dialect dialect.Dialect
	open    func(testing.TB) *testdb.Database
}{
	{dialect.SQLite, testdb.SQLite},
	{dialect.PostgreSQL, testdb.PostgreSQL},
}

// key is the key of a row as the host writes it.
func (l layout) key(row int) string {
	if l.uuids {
		return fmt.Sprintf("'%08x-0000-4000-8000-000000000000'", row+1)
	}
	return fmt.Sprint(row + 1)
}

// schema is the tables of a host on an engine: NetBox has big integers and an array, Nautobot UUIDs and JSON, and
// SQLite, on which neither runs, JSON as text.
func (l layout) schema(d dialect.Dialect) string {
	key, list, document := "bigint", "varchar(30)[]", "jsonb"
	if l.uuids {
		key, list = "uuid", "jsonb"
	}
	if d == dialect.SQLite {
		list, document = "text", "text"
	}
	of := strings.NewReplacer("<key>", key, "<list>", list, "<document>", document,
		"<users>", l.tables.Users, "<members>", l.tables.UserGroups, "<given>", l.tables.UserPermissions, "<group given>", l.tables.GroupPermissions,
		"<permissions>", l.tables.Permissions, "<types>", l.tables.PermissionTypes, "<type>", l.tables.TypeColumn)
	return of.Replace(`
CREATE TABLE django_content_type (id integer PRIMARY KEY, app_label varchar(100) NOT NULL, model varchar(100) NOT NULL);
CREATE TABLE <users> (id <key> PRIMARY KEY, username varchar(150) NOT NULL UNIQUE, is_active boolean NOT NULL, is_superuser boolean NOT NULL);
CREATE TABLE <members> (user_id <key> NOT NULL, group_id integer NOT NULL);
CREATE TABLE <permissions> (id <key> PRIMARY KEY, name varchar(100) NOT NULL, enabled boolean NOT NULL, actions <list> NOT NULL, constraints <document>);
CREATE TABLE <given> (objectpermission_id <key> NOT NULL, user_id <key> NOT NULL);
CREATE TABLE <group given> (objectpermission_id <key> NOT NULL, group_id integer NOT NULL);
CREATE TABLE <types> (objectpermission_id <key> NOT NULL, <type> integer NOT NULL);
INSERT INTO django_content_type VALUES `) + contentTypes()
}

func contentTypes() string {
	var rows []string
	for i, model := range models {
		app, name, _ := strings.Cut(model, ".")
		rows = append(rows, fmt.Sprintf("(%d, %s, %s)", i+1, text(app), text(name)))
	}
	return strings.Join(rows, ", ")
}

func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// write replaces what the tables hold by a world, by two statements a table: under the race detector SQLite takes
// most of a test's time.
func (l layout) write(t reporter, db *testdb.Database, d dialect.Dialect, w world) {
	rows := map[string][]string{}
	add := func(table, format string, args ...any) {
		rows[table] = append(rows[table], fmt.Sprintf("("+format+")", args...))
	}
	for i, u := range w.Users {
		add(l.tables.Users, "%s, %s, %v, %v", l.key(i), text(u.Name), u.Active, u.Superuser)
		for _, g := range u.Groups {
			add(l.tables.UserGroups, "%s, %d", l.key(i), g+1)
		}
	}
	for i, g := range w.Permissions {
		constraints := "NULL"
		if g.Constraints != "" {
			constraints = text(g.Constraints)
		}
		add(l.tables.Permissions, "%s, 'p', %v, %s, %s", l.key(i), g.Enabled, l.actions(d, g.Actions), constraints)
		for _, m := range g.Models {
			add(l.tables.PermissionTypes, "%s, %d", l.key(i), m+1)
		}
		for _, u := range g.Users {
			add(l.tables.UserPermissions, "%s, %s", l.key(i), l.key(u))
		}
		for _, m := range g.Groups {
			add(l.tables.GroupPermissions, "%s, %d", l.key(i), m+1)
		}
	}
	var b strings.Builder
	for _, table := range []string{l.tables.Users, l.tables.UserGroups, l.tables.Permissions, l.tables.UserPermissions, l.tables.GroupPermissions, l.tables.PermissionTypes} {
		fmt.Fprintf(&b, "DELETE FROM %s;\n", table)
		if len(rows[table]) > 0 {
			fmt.Fprintf(&b, "INSERT INTO %s VALUES %s;\n", table, strings.Join(rows[table], ", "))
		}
	}
	if _, err := db.Exec("BEGIN;\n" + b.String() + "COMMIT;"); err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
}

func (l layout) actions(d dialect.Dialect, list []string) string {
	if d == dialect.PostgreSQL && !l.uuids {
		quoted := slices.Clone(list)
		for i, action := range quoted {
			quoted[i] = text(action)
		}
		return "ARRAY[" + strings.Join(quoted, ", ") + "]::varchar(30)[]"
	}
	out, _ := json.Marshal(append([]string{}, list...))
	return text(string(out))
}
