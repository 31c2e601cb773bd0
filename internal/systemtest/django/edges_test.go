package django_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// tables are those that a source reads, as Django lays them out, with two users of one mail
// address.
const tables = `
CREATE TABLE django_content_type (id integer PRIMARY KEY, app_label varchar(100), model varchar(100));
CREATE TABLE auth_permission (id integer PRIMARY KEY, content_type_id integer, codename varchar(100));
CREATE TABLE auth_group (id integer PRIMARY KEY, name varchar(150));
CREATE TABLE auth_group_permissions (group_id integer, permission_id integer);
CREATE TABLE auth_user (id integer PRIMARY KEY, username varchar(150) UNIQUE, email varchar(254), is_active bool, is_superuser bool);
CREATE TABLE auth_user_groups (user_id integer, group_id integer);
CREATE TABLE auth_user_user_permissions (user_id integer, permission_id integer);
INSERT INTO django_content_type VALUES (1, 'dcim', 'device');
INSERT INTO auth_permission VALUES (1, 1, 'view_device'), (2, 1, 'change_device');
INSERT INTO auth_user VALUES (1, 'ada', 'team@example.com', true, false), (2, 'bob', 'team@example.com', true, false), (3, 'eve', '', false, true);
INSERT INTO auth_user_user_permissions VALUES (1, 1), (1, 2), (2, 2);
`

func newTables(t *testing.T, open func(testing.TB) *testdb.Database) *testdb.Database {
	t.Helper()
	db := open(t)
	if _, err := db.Exec(tables); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestPrincipalsThatNameNoActiveUserHaveNone(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			s := newSource(t, newTables(t, engine.open), engine.dialect, django.Options{})
			for name, p := range map[string]access.Principal{
				"nobody": {},
				"a subject alone": {
					Issuer: "i", Subject: "ada", Client: "ada", Roles: []string{"ada"},
					Groups: []string{"ada"}},
				"an unknown user":          {User: "adam"},
				"another case":             {User: "Ada"},
				"white space":              {User: "ada "},
				"an inactive superuser":    {User: "eve"},
				"NUL":                      {User: "ada\x00"},
				"broken UTF-8":             {User: "ada\xff"},
				"a pattern":                {User: "%"},
				"a statement":              {User: "ada' OR 'a'='a"},
				"a key instead of a name":  {User: "1"},
				"a name longer than a row": {User: strings.Repeat("ada", 1000)},
			} {
				set, err := s.Capabilities(t.Context(), p)
				if !errors.Is(err, capability.ErrNoUser) || len(set.Permissions()) != 0 {
					t.Errorf("%s: %v, %v", name, set, err)
				}
				if u, err := s.Resolve(t.Context(), p); !errors.Is(err, capability.ErrNoUser) ||
					u != (capability.User{}) {
					t.Errorf("%s: %+v, %v", name, u, err)
				}
			}
		})
	}
}

func TestNameOfTwoUsersIsRefused(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			s := newSource(t, newTables(t, engine.open), engine.dialect,
				django.Options{Username: "email"})
			p := access.Principal{User: "team@example.com"}
			_, capabilitiesErr := s.Capabilities(t.Context(), p)
			_, resolveErr := s.Resolve(t.Context(), p)
			for _, err := range []error{capabilitiesErr, resolveErr} {
				if err == nil || !strings.Contains(
					err.Error(),
					"matches more than one active user: use a column with unique values") {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// TestEmptyKeyIsAUserOfItsOwn has two users of one name, of whom one has an empty text as key.
func TestEmptyKeyIsAUserOfItsOwn(t *testing.T) {
	for _, engine := range engines {
		for _, keys := range []string{"('', 1), ('k', 2)", "('k', 2), ('', 1)"} {
			db := newTables(t, engine.open)
			if _, err := db.Exec(`
CREATE TABLE app_member (id varchar(9) PRIMARY KEY, username varchar(9) DEFAULT 'bob',
	is_active bool DEFAULT true, is_superuser bool DEFAULT false);
CREATE TABLE app_member_groups (member_id varchar(9), group_id integer);
CREATE TABLE app_member_user_permissions (member_id varchar(9), permission_id integer);
INSERT INTO app_member_user_permissions VALUES ` + keys + `;
INSERT INTO app_member (id) SELECT member_id FROM app_member_user_permissions;
`); err != nil {
				t.Fatal(err)
			}
			s := newSource(t, db, engine.dialect, django.Options{UserModel: "app.Member"})
			set, err := s.Capabilities(t.Context(), access.Principal{User: "bob"})
			if err == nil || len(set.Permissions()) > 0 {
				t.Errorf("%s: keys %s: %v, %v", engine.dialect, keys, set.Permissions(), err)
			}
		}
	}
}

func TestCapabilitiesAreReadByOneQuery(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			probe := newTables(t, engine.open).Probe(t)
			s, err := django.New(probe.DB, engine.dialect, django.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"}); err != nil ||
				len(set.Permissions()) != 2 || probe.Queries() != 1 {
				t.Errorf("%v, %v, %d queries", set, err, probe.Queries())
			}
		})
	}
}

// TestBrokenBackendIsAnErrorAndNotAnAnswer cuts answers short at each row, takes the tables away,
// and ends the context: what was read until then is not given out, and the user is not taken for
// unknown.
func TestBrokenBackendIsAnErrorAndNotAnAnswer(t *testing.T) {
	ada := access.Principal{User: "ada"}
	check := func(t *testing.T, ctx context.Context, s *django.Source, what string) {
		t.Helper()
		set, err := s.Capabilities(ctx, ada)
		if err == nil || errors.Is(err, capability.ErrNoUser) || len(set.Permissions()) != 0 {
			t.Errorf("%s: %v, %v", what, set, err)
		}
		if u, err := s.Resolve(ctx, ada); err == nil || errors.Is(err, capability.ErrNoUser) ||
			u != (capability.User{}) {
			t.Errorf("%s: %+v, %v", what, u, err)
		}
		if actions, err := s.Actions(ctx); err == nil || actions != nil {
			t.Errorf("%s: %v, %v", what, actions, err)
		}
	}
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			db := newTables(t, engine.open)
			probe := db.Probe(t)
			s, err := django.New(probe.DB, engine.dialect, django.Options{})
			if err != nil {
				t.Fatal(err)
			}
			probe.CutAfter(0)
			check(t, t.Context(), s, "cut off at once")
			probe.CutAfter(1)
			if set, err := s.Capabilities(t.Context(), ada); !errors.Is(err, testdb.ErrLost) ||
				len(set.Permissions()) != 0 {
				t.Errorf("cut off after a row: %v, %v", set, err)
			}
			probe.CutAfter(1)
			if u, err := s.Resolve(t.Context(), ada); !errors.Is(err, testdb.ErrLost) ||
				u != (capability.User{}) {
				t.Errorf("cut off after a row: %v, %v", u, err)
			}
			probe.CutAfter(1)
			if actions, err := s.Actions(t.Context()); !errors.Is(err, testdb.ErrLost) ||
				actions != nil {
				t.Errorf("cut off after a row: %v, %v", actions, err)
			}
			probe.CutAfter(-1)

			ended, end := context.WithCancel(t.Context())
			end()
			check(t, ended, s, "no time left")
			empty := newSource(t, engine.open(t), engine.dialect, django.Options{})
			check(t, t.Context(), empty, "no tables")
			if _, err := db.Exec("UPDATE auth_permission SET codename = NULL"); err != nil {
				t.Fatal(err)
			}
			if actions, err := s.Actions(t.Context()); err == nil || actions != nil {
				t.Errorf("a permission without a name: %v, %v", actions, err)
			}
			if _,
				err := db.Exec(
				"DROP TABLE auth_user_groups; UPDATE auth_user SET is_superuser = NULL"); err != nil {
				t.Fatal(err)
			}
			if u, err := s.Resolve(t.Context(), ada); err == nil ||
				errors.Is(err, capability.ErrNoUser) || u != (capability.User{}) {
				t.Errorf("neither superuser nor not: %+v, %v", u, err)
			}
			if set, err := s.Capabilities(t.Context(), ada); err == nil ||
				errors.Is(err, capability.ErrNoUser) || len(set.Permissions()) != 0 {
				t.Errorf("a table is missing: %v, %v", set, err)
			}
		})
	}
}

func TestSourceThatCannotWorkIsNotMade(t *testing.T) {
	const noEngine = "django: no engine: set dialect.SQLite or dialect.PostgreSQL"
	db := testdb.SQLite(t).DB
	for want, make := range map[string]func() (*django.Source, error){
		"django: no database: open the host's database with sql.Open": func() (*django.Source, error) {
			return django.New(nil, dialect.SQLite, django.Options{})
		},
		noEngine: func() (*django.Source, error) {
			return django.New(db, 0, django.Options{})
		},
		`django: Options.UserModel "Member" is not a model: write AUTH_USER_MODEL of the host's ` +
			`settings, for example "accounts.Member"`: func() (*django.Source, error) {
			return django.New(db, dialect.SQLite, django.Options{UserModel: "Member"})
		},
	} {
		if s, err := make(); s != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v, want %s", s, err, want)
		}
	}
}

func TestActionsAreSpelledAsTheyStand(t *testing.T) {
	s := newSource(t, testdb.SQLite(t), dialect.SQLite, django.Options{})
	for _, permission := range []string{"dcim.view_device", "dcim.napalm_read_device",
		"billing.export", "dcim.sync.all"} {
		if got, err := s.MapAction(permission); got != permission || err != nil {
			t.Errorf("%s: %q, %v", permission, got, err)
		}
	}
	for _, permission := range []string{"", "view_device", ".view_device", "dcim.", ".",
		"dcim.view device", "dcim.view\tdevice"} {
		got, err := s.MapAction(permission)
		if got != "" || err == nil || !strings.Contains(
			err.Error(), "write app= in //mcp:server, and action= and object= on the tool") {
			t.Errorf("%q: %q, %v", permission, got, err)
		}
	}
}

// A codename of Django belongs to an app.
func TestServerWithABareActionDoesNotStart(t *testing.T) {
	_, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("t"): {Subject: "ada", User: "ada"},
		}),
		Host: runtime.HostOptions{
			Source: newSource(t, testdb.SQLite(t), dialect.SQLite, django.Options{})},
	}, toolset.NewToolset(toolset.Generated{
		Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
		Table: access.Table{Rules: []access.Rule{
			{Tool: "facts", Permission: access.Permission{Action: "napalm_read"}},
		}},
		Tools: []toolset.Tool{{Name: "facts", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}},
	}))
	const want = `does not support permission napalm_read, which tool "facts" asks for: django: ` +
		`"napalm_read" is not a Django permission: write app.codename, for example ` +
		`"dcim.view_device"; write app= in //mcp:server`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
