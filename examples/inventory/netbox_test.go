package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// netbox is the tables of a host with NetBox's permissions, and one permission for each of three
// users: to do anything with devices, of Oslo alone, of a tenant, which devices here do not have,
// and of all.
const netbox = `
CREATE TABLE django_content_type (id INTEGER PRIMARY KEY, app_label TEXT, model TEXT);
CREATE TABLE users_user (id INTEGER PRIMARY KEY, username TEXT, is_active bool, is_superuser bool);
CREATE TABLE users_user_groups (id INTEGER PRIMARY KEY, user_id integer, group_id integer);
CREATE TABLE users_objectpermission (id INTEGER PRIMARY KEY, enabled bool, actions TEXT, constraints TEXT);
CREATE TABLE users_user_object_permissions (id INTEGER PRIMARY KEY, user_id integer, objectpermission_id integer);
CREATE TABLE users_group_object_permissions (id INTEGER PRIMARY KEY, group_id integer, objectpermission_id integer);
CREATE TABLE users_objectpermission_object_types (id INTEGER PRIMARY KEY, objectpermission_id integer, contenttype_id integer);
INSERT INTO django_content_type VALUES (1, 'dcim', 'device');
INSERT INTO users_user VALUES (1, 'olga', TRUE, FALSE), (2, 'tina', TRUE, FALSE), (3, 'alma', TRUE, FALSE);
INSERT INTO users_objectpermission VALUES
	(1, TRUE, '["view", "change", "rename", "napalm_read"]', '[{"site": "oslo"}, {"site": "oslo", "name__in": ["x"]}]'),
	(2, TRUE, '["view", "change", "rename"]', '{"tenant": "acme"}'), (3, TRUE, '["view", "napalm_read"]', NULL);
INSERT INTO users_user_object_permissions VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
INSERT INTO users_objectpermission_object_types VALUES (1, 1, 1), (2, 2, 1), (3, 3, 1);`

func TestObjectsThatTheHostKeepsFromSomebodyAreNotThere(t *testing.T) {
	db := testdb.SQLite(t)
	if _, err := db.Exec(netbox); err != nil {
		t.Fatal(err)
	}
	s := settings{
		file:   filepath.Join(t.TempDir(), "inventory.db"),
		netbox: "sqlite:" + db.File, release: "4.4", role: "Member",
	}
	a, err := open(t.Context(), s, nil, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	if err := a.inventory.Demonstrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if users, err := a.everybody(t.Context()); err != nil || len(users) != 3 {
		t.Errorf("%v, %v", users, err)
	}
	olga, tina, alma := a.pipe(t, "olga"), a.pipe(t, "tina"), a.pipe(t, "alma")

	// Facts are not marked constrained: who may read those of some devices only is refused
	// altogether.
	if got, want := olga.tools(), []string{"get_device", "list_devices", "rename_device",
		"update_device"}; !slices.Equal(got, want) {
		t.Errorf("olga lists %q, want %q", got, want)
	}
	if got, want := alma.tools(), []string{"get_device", "list_devices",
		"napalm_facts"}; !slices.Equal(got, want) {
		t.Errorf("alma lists %q, want %q", got, want)
	}
	if err := olga.use("tool", "napalm_facts", map[string]any{"device": "edge-2"}); err == nil ||
		!strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("olga reads facts: %v", err)
	}

	// Of another site is as not there.
	if got, want := olga.devices(t), []string{"edge-2", "leaf-2"}; !slices.Equal(got, want) {
		t.Errorf("olga sees %q, want %q", got, want)
	}
	if got, want := alma.devices(t), []string{"edge-1", "edge-2", "leaf-1",
		"leaf-2"}; !slices.Equal(got, want) {
		t.Errorf("alma sees %q, want %q", got, want)
	}
	for _, test := range []struct {
		tool   string
		args   map[string]any
		answer string
	}{
		{"get_device", map[string]any{"name": "edge-2"}, ""},
		{"get_device", map[string]any{"name": "edge-1"}, dcim.ErrNotFound.Error()},
		{"get_device", map[string]any{"name": "none"}, dcim.ErrNotFound.Error()},
		{"rename_device", map[string]any{"name": "leaf-2", "new_name": "leaf-9"}, ""},
		{"rename_device", map[string]any{"name": "leaf-1", "new_name": "leaf-8"},
			dcim.ErrNotFound.Error()},
		{"update_device", map[string]any{"name": "edge-2", "status": "offline"}, ""},
		{"update_device", map[string]any{"name": "edge-1", "status": "offline"},
			dcim.ErrNotFound.Error()},
		// What is hers may not become what is not.
		{"update_device", map[string]any{"name": "edge-2", "site": "berlin"},
			dcim.ErrNotFound.Error()},
	} {
		res, err := olga.CallTool(t.Context(), &mcp.CallToolParams{Name: test.tool,
			Arguments: test.args})
		if err != nil || res.IsError != (test.answer != "") ||
			!strings.Contains(mcptest.Text(res), test.answer) {
			t.Errorf("olga: %s %v: %s, %v, want %q", test.tool, test.args, mcptest.Text(res), err,
				test.answer)
		}
	}
	if got, want := alma.devices(t), []string{"edge-1", "edge-2", "leaf-1",
		"leaf-9"}; !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	if err := olga.use("resource", "", "inventory://devices/edge-2"); err != nil {
		t.Errorf("olga reads of a device of Oslo: %v", err)
	}
	if err := olga.use("resource", "", "inventory://devices/edge-1"); err == nil {
		t.Error("olga reads of a device of Berlin")
	}

	// A condition that cannot be applied is not left out.
	for _, name := range []string{"list_devices", "get_device", "update_device", "rename_device"} {
		res, err := tina.CallTool(t.Context(), &mcp.CallToolParams{Name: name,
			Arguments: tools[name].ask})
		if err != nil || !res.IsError || strings.Contains(mcptest.Text(res), "edge") ||
			strings.Contains(mcptest.Text(res), "tenant") {
			t.Errorf("tina: %s: %s, %v", name, mcptest.Text(res), err)
		}
	}
}

// TestEachReleaseOfNetBoxIsServedByItsName has the names of tables, and the content types, by which
// each release differs. With the name of another release, the server does not start.
func TestEachReleaseOfNetBoxIsServedByItsName(t *testing.T) {
	extras := map[string][]string{
		"3.6": {"bookmark"}, "3.7": {"bookmark"}, "4.0": {"bookmark"},
		"4.1": {"bookmark", "notification"}, "4.2": {"bookmark", "notification"},
		"4.3": {"bookmark", "notification"}, "4.4": {"bookmark", "notification"},
		"nautobot": {"gitrepository"},
	}
	inventory := filepath.Join(t.TempDir(), "inventory.db")
	start := func(file, release string) (*app, error) {
		s := settings{file: inventory, netbox: "sqlite:" + file, release: release, role: "Member"}
		return open(t.Context(), s, nil, slog.New(slog.DiscardHandler))
	}
	for release, layout := range releases {
		t.Run(release, func(t *testing.T) {
			l := layout()
			db := testdb.SQLite(t)
			if _, err := db.Exec(strings.NewReplacer(
				"users_user_groups", l.UserGroups, "users_user ", l.Users+" ",
				"users_user_object_permissions", l.UserPermissions,
				"users_group_object_permissions", l.GroupPermissions,
				"contenttype_id", l.TypeColumn,
			).Replace(netbox)); err != nil {
				t.Fatal(err)
			}
			for _, model := range extras[release] {
				const add = `INSERT INTO django_content_type (app_label, model)
					VALUES ('extras', ?)`
				if _, err := db.Exec(add, model); err != nil {
					t.Fatal(err)
				}
			}
			a, err := start(db.File, release)
			if err != nil {
				t.Fatal(err)
			}
			defer a.close()
			want := []string{"get_device", "list_devices", "napalm_facts"}
			if got := a.pipe(t, "alma").tools(); !slices.Equal(got, want) {
				t.Errorf("alma lists %q, want %q", got, want)
			}
			if users, err := a.everybody(t.Context()); err != nil || len(users) != 3 {
				t.Errorf("%v, %v", users, err)
			}
			for other := range releases {
				a, err := start(db.File, other)
				if err == nil {
					a.close()
				}
				same := slices.Equal(extras[other], extras[release]) &&
					releases[other]().TypeColumn == l.TypeColumn
				if (err == nil) != same ||
					err != nil && !strings.Contains(err.Error(), ": use objectperm.") {
					t.Errorf("-netbox-release %s: %v", other, err)
				}
			}
		})
	}
}

// pipe is a session of a user without a token.
func (a *app) pipe(t testing.TB, user string) *client {
	t.Helper()
	return &client{ClientSession: mcptest.Pipe(t, a.server, a.settings.principal(user), ""), t: t}
}

// devices are the names that list_devices lists.
func (c *client) devices(t testing.TB) []string {
	t.Helper()
	res, err := c.CallTool(context.Background(), &mcp.CallToolParams{Name: "list_devices",
		Arguments: map[string]any{}})
	if err != nil || res.IsError {
		t.Fatalf("%s, %v", mcptest.Text(res), err)
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var list []dcim.Device
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	return names
}
