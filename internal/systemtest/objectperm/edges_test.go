package objectperm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// team is a small host: ada may read facts of devices of one site, as a member of a group; eve is a
// superuser who left.
var team = world{
	Users: []user{{Name: "ada", Active: true, Groups: []int{0}}, {Name: "eve", Superuser: true},
		{Name: "root", Active: true, Superuser: true}},
	Groups: 1,
	Permissions: []grant{
		{Enabled: true, Actions: []string{"napalm_read"}, Models: []int{0}, Groups: []int{0},
			Constraints: `{"site":"ams"}`},
		{Enabled: false, Actions: []string{"delete"}, Models: []int{0}, Users: []int{0}},
	},
}

// everywhere runs a test on the current release of each host.
func everywhere(t *testing.T, test func(*testing.T, layout, dialect.Dialect, *testdb.Database)) {
	t.Helper()
	onLayouts(t, layouts[:2], test)
}

func onLayouts(
	t *testing.T, layouts []layout,
	test func(*testing.T, layout, dialect.Dialect, *testdb.Database),
) {
	t.Helper()
	for _, l := range layouts {
		for _, engine := range engines {
			t.Run(l.name+" on "+engine.dialect.String(), func(t *testing.T) {
				db := l.open(t, engine.dialect, engine.open)
				l.write(t, db, engine.dialect, team)
				test(t, l, engine.dialect, db)
			})
		}
	}
}

func newSource(t *testing.T, db *testdb.Database, d dialect.Dialect, l layout,
	options objectperm.Options) *objectperm.Source {
	t.Helper()
	s, err := objectperm.New(db.DB, d, l.tables, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCustomActionIsHeldWithItsConstraint(t *testing.T) {
	everywhere(t, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		s := newSource(t, db, d, l,
			objectperm.Options{DefaultPermissions: map[string][]capability.Constraint{}})
		set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"})
		if err != nil || !slices.Equal(set.Permissions(), []string{"dcim.napalm_read_device"}) {
			t.Fatalf("%v, %v", set.Permissions(), err)
		}
		if constraints, held := set.Constraints("dcim.napalm_read_device"); !held ||
			len(constraints) != 1 ||
			canonical(t, read(t, string(constraints[0]))) != `{"site":"ams"}` {
			t.Errorf("%s, %v", constraints, held)
		}
	})
}

// TestViewingAllIsExemptButForWhatTheHostKeeps has what each release keeps, and holds that an
// exemption opens no other action.
func TestViewingAllIsExemptButForWhatTheHostKeeps(t *testing.T) {
	onLayouts(t, layouts, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		kept := func(model string) bool { return slices.Contains(l.kept, model) }
		for exempt, open := range map[string]func(model string) bool{
			"*":             func(model string) bool { return !kept(model) },
			"* dcim.device": func(model string) bool { return !kept(model) },
			"* users.token": func(model string) bool {
				return !kept(model) || model == "users.token"
			},
			"users.user":        func(model string) bool { return model == "users.user" },
			"auth.user":         func(model string) bool { return model == "auth.user" },
			"no_plugin.nothing": func(string) bool { return false },
		} {
			s := newSource(t, db, d, l, objectperm.Options{ExemptView: strings.Fields(exempt)})
			set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"})
			if err != nil {
				t.Fatal(err)
			}
			for _, model := range l.models {
				if got := set.Unrestricted(model, "view"); got != open(model) {
					t.Errorf("%s exempts viewing %s: %v", exempt, model, got)
				}
				if set.Unrestricted(model, "change") {
					t.Errorf("%s exempts changing %s", exempt, model)
				}
			}
		}
	})
}

func TestEveryUserHoldsTheDefaultsOfTheRelease(t *testing.T) {
	onLayouts(t, layouts, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		s := newSource(t, db, d, l, objectperm.Options{})
		set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"dcim.napalm_read_device"}
		for _, model := range l.defaults {
			app, name, _ := strings.Cut(model, ".")
			for _, action := range []string{"view", "add", "change", "delete"} {
				permission := app + "." + action + "_" + name
				want = append(want, permission)
				constraints, _ := set.Constraints(permission)
				if len(constraints) != 1 || string(constraints[0]) != `{"user":"$user"}` {
					t.Errorf("%s: %s", permission, constraints)
				}
			}
		}
		slices.Sort(want)
		if got := set.Permissions(); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestPrincipalsThatNameNoActiveUserHaveNone(t *testing.T) {
	everywhere(t, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		s := newSource(t, db, d, l, objectperm.Options{ExemptView: []string{"*"}})
		for name, p := range map[string]access.Principal{
			"nobody":                {},
			"a subject alone":       {Issuer: "i", Subject: "ada", Client: "ada"},
			"an unknown user":       {User: "adam"},
			"another case":          {User: "Ada"},
			"an inactive superuser": {User: "eve"},
			"NUL":                   {User: "ada\x00"},
			"broken UTF-8":          {User: "ada\xff"},
		} {
			set, err := s.Capabilities(t.Context(), p)
			if !errors.Is(err, capability.ErrNoUser) || len(set.Permissions()) != 0 ||
				set.Unrestricted("dcim.device", "view") {
				t.Errorf("%s: %v, %v", name, set, err)
			}
			if _, err := s.Resolve(t.Context(), p); !errors.Is(err, capability.ErrNoUser) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestCapabilitiesAreReadByOneQuery(t *testing.T) {
	everywhere(t, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		probe := db.Probe(t)
		s, err := objectperm.New(probe.DB, d, l.tables,
			objectperm.Options{ExemptView: []string{"*"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Capabilities(t.Context(), access.Principal{User: "ada"}); err != nil ||
			probe.Queries() != 1 {
			t.Errorf("%v, %d queries", err, probe.Queries())
		}
	})
}

// TestBrokenBackendIsAnErrorAndNotAnAnswer cuts the answer short after each of its rows, ends the
// context, and puts what is no permission into the tables.
func TestBrokenBackendIsAnErrorAndNotAnAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		probe := db.Probe(t)
		s, err := objectperm.New(probe.DB, d, l.tables,
			objectperm.Options{ExemptView: []string{"*"}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(ctx context.Context, what, message string) {
			t.Helper()
			set, err := s.Capabilities(ctx, access.Principal{User: "ada"})
			if err == nil || errors.Is(err, capability.ErrNoUser) || !strings.Contains(err.Error(),
				message) || len(set.Permissions()) != 0 || set.Unrestricted("dcim.device", "view") {
				t.Errorf("%s: %v, %v", what, set, err)
			}
		}
		for n := range 1 + modelCount { // one permission, and every model
			probe.CutAfter(n)
			check(t.Context(), "cut off", testdb.ErrLost.Error())
		}
		probe.CutAfter(-1)
		ended, end := context.WithCancel(t.Context())
		end()
		check(ended, "no time left", "context canceled")

		for value, message := range map[string]string{
			`'null'`:         "which is not a list of names: fix it in the host",
			`'{"view": 1}'`:  "which is not a list of names: fix it in the host",
			`'["view", 1]'`:  "which is not a list of names: fix it in the host",
			`'not any JSON'`: "which is not a list of names: fix it in the host",
		} {
			if d == dialect.PostgreSQL && (!l.uuids || value == `'not any JSON'`) {
				continue // the column takes no such thing
			}
			if _, err := db.Exec("UPDATE users_objectpermission SET actions = " +
				value); err != nil {
				t.Fatal(err)
			}
			check(t.Context(), value, message)
		}
		if _, err := db.Exec("DROP TABLE users_objectpermission"); err != nil {
			t.Fatal(err)
		}
		check(t.Context(), "no table", "users_objectpermission")
	})
}

func TestSourceThatCannotWorkIsNotMade(t *testing.T) {
	const noEngine = "objectperm: no engine: set dialect.SQLite or dialect.PostgreSQL"
	db := testdb.SQLite(t).DB
	for want, make := range map[string]func() (*objectperm.Source, error){
		"objectperm: no database: open the host's database with sql.Open": func() (*objectperm.Source,
			error) {
			return objectperm.New(nil, dialect.SQLite, objectperm.NetBox(), objectperm.Options{})
		},
		noEngine: func() (*objectperm.Source, error) {
			return objectperm.New(db, 0, objectperm.NetBox(), objectperm.Options{})
		},
		"objectperm: Layout.Users is empty: start from objectperm.NetBox() or " +
			"objectperm.Nautobot()": func() (*objectperm.Source, error) {
			return objectperm.New(db, dialect.SQLite, objectperm.Layout{}, objectperm.Options{})
		},
		`objectperm: Options.ExemptView: "site" is not a model: write it as in ` +
			`EXEMPT_VIEW_PERMISSIONS, for example "dcim.site", or ` +
			`"*" for all`: func() (*objectperm.Source, error) {
			return objectperm.New(db, dialect.SQLite, objectperm.NetBox(),
				objectperm.Options{ExemptView: []string{"site"}})
		},
		`objectperm: DefaultPermissions: "token" is not a permission: write it as in ` +
			`DEFAULT_PERMISSIONS, for example "users.view_token"`: func() (*objectperm.Source, error) {
			return objectperm.New(db, dialect.SQLite, objectperm.NetBox(),
				objectperm.Options{DefaultPermissions: map[string][]capability.Constraint{
					"token": nil}})
		},
		`objectperm: DefaultPermissions: users.view_token: the constraint "7" is not ` +
			`a JSON object`: func() (*objectperm.Source, error) {
			return objectperm.New(db, dialect.SQLite, objectperm.NetBox(),
				objectperm.Options{DefaultPermissions: map[string][]capability.Constraint{
					"users.view_token": {capability.Constraint("7")}}})
		},
		`objectperm: DefaultPermissions: users.view_token: the constraint "{" is not ` +
			`a JSON object`: func() (*objectperm.Source, error) {
			return objectperm.New(db, dialect.SQLite, objectperm.NetBox(),
				objectperm.Options{DefaultPermissions: map[string][]capability.Constraint{
					"users.view_token": {capability.Constraint("{")}}})
		},
	} {
		if s, err := make(); s != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %s", s, err, want)
		}
	}
	for _, model := range []string{"", ".", "dcim", "dcim.", ".site", "dcim.Site", "dcim.site.x",
		"dcim.si te", "dcim.*"} {
		if _, err := objectperm.New(db, dialect.SQLite, objectperm.NetBox(),
			objectperm.Options{ExemptView: []string{model}}); err == nil {
			t.Errorf("%q is taken for a model", model)
		}
	}
}

func TestActionsAreSpelledAsTheyStand(t *testing.T) {
	s := newSource(t, testdb.SQLite(t), dialect.SQLite, layouts[0], objectperm.Options{})
	for _, permission := range []string{"dcim.view_device", "dcim.napalm_read_device",
		"my_plugin.sync_dnsrecord"} {
		if got, err := s.MapAction(permission); got != permission || err != nil {
			t.Errorf("%s: %q, %v", permission, got, err)
		}
	}
	for _, permission := range []string{"dcim.view_dns_record", "dcim.change_dns_record",
		"dcim.add_x_y", "dcim.delete_x_y"} {
		if got, err := s.MapAction(permission); got != "" || err == nil ||
			!strings.Contains(err.Error(),
				"because the model follows the last underscore: use a model without underscores") {
			t.Errorf("%q: %q, %v", permission, got, err)
		}
	}
	for _, permission := range []string{"", "view_device", ".view_device", "dcim.", "dcim.view",
		"dcim.view_", "dcim._device", "dcim.view_IPAddress", "dcim.view_ip address",
		"a.b.view_device", "billing.export"} {
		got, err := s.MapAction(permission)
		if got != "" || err == nil || !strings.Contains(err.Error(),
			"Write app= in //mcp:server, and action= and object= on the tool") {
			t.Errorf("%q: %q, %v", permission, got, err)
		}
	}
}

// A host reads the model after the last underscore, whatever the author of the permission meant.
func TestPermissionsThatTheHostReadsOtherwiseAreRefused(t *testing.T) {
	db := layouts[0].open(t, dialect.SQLite, testdb.SQLite)
	layouts[0].write(t, db, dialect.SQLite, team)
	s := newSource(t, db, dialect.SQLite, layouts[0], objectperm.Options{})
	for _, p := range []access.Permission{
		{App: "dcim", Action: "view", Object: "device"}, {App: "dcim", Action: "napalm_read",
			Object: "device"}, {App: "dcim", Action: "change_status", Object: "device"},
	} {
		if got, err := s.MapPermission(p); got != p.String() || err != nil {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
	const form = "is not a permission of this host. The form is app.action_model, with the model in " +
		"lower case and without underscores, for example \"dcim.napalm_read_device\". Write app= in " +
		"//mcp:server, and action= and object= on the tool"
	for p, message := range map[access.Permission]string{
		{App: "dcim", Action: "view",
			Object: "dns_record"}: `parses "dcim.view_dns_record" as the action "view_dns" on the model ` +
			`"dcim.record", but you wrote "view" on "dcim.dns_record"`,
		{App: "dcim", Action: "sync", Object: "dns_record"}: `as the action "sync_dns" on`,
		{App: "dcim", Action: "napalm_read"}:                `but you wrote "napalm_read" on "dcim"`,
		{App: "dcim", Action: "export"}:                     form,
		{Action: "napalm_read"}:                             "Write app= in //mcp:server",
		{Action: "dcim.view_site"}:                          `but you wrote "dcim.view_site" on ""`,
		{App: "dcim", Action: "view", Object: "Device"}:     form,
	} {
		if got, err := s.MapPermission(p); got != "" || err == nil || !strings.Contains(err.Error(),
			message) {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
	// At start, and not by a tool that nobody sees or that another permission opens.
	err := serve(s, access.Permission{App: "dcim", Action: "sync", Object: "dns_record"})
	if err == nil || !strings.Contains(err.Error(), "a model has no underscores") {
		t.Errorf("a server that would ask for another permission starts: %v", err)
	}
	err = serve(s, access.Permission{Action: "napalm_read"})
	if err == nil || !strings.Contains(err.Error(), `permission napalm_read, which tool "records" `+
		`asks for: objectperm: "napalm_read" is not a permission of this host. The form `+
		`is app.action_model, with the model in lower case and without underscores, for example `+
		`"dcim.napalm_read_device". Write app= in //mcp:server, and action= and object= on the tool`) {
		t.Errorf("a server with a bare action: %v", err)
	}
	err = serve(s, access.Permission{App: "dcim", Action: "sync_dns", Object: "record"})
	if err != nil {
		t.Errorf("a server that asks for what it says does not start: %v", err)
	}
}

// serve makes a server with one tool, for users with a permission of the host.
func serve(s *objectperm.Source, p access.Permission) error {
	_, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("t"): {Subject: "ada", User: "ada"},
		}), Host: runtime.HostOptions{Source: s},
	}, toolset.NewToolset(toolset.Generated{
		Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
		Table: access.Table{Rules: []access.Rule{
			{Tool: "records", Authenticated: true, Permission: p},
		}},
		Tools: []toolset.Tool{{
			Name: "records", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured(map[string]any{}, nil)
			},
		}},
	}))
	return err
}
