package django_test

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
	"github.com/mcpgen/mcpgen/runtime/capability/django"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// members are users of a model with its own key and name, whose keys are text. One user has the
// key "id", which is the name of the column that a forgotten UserKey reads.
const members = `
CREATE TABLE django_content_type (id integer PRIMARY KEY,
	app_label varchar(100), model varchar(100));
CREATE TABLE auth_permission (id integer PRIMARY KEY,
	content_type_id integer, codename varchar(100));
CREATE TABLE auth_group (id integer PRIMARY KEY, name varchar(150));
CREATE TABLE auth_group_permissions (group_id integer, permission_id integer);
CREATE TABLE accounts_member (number varchar(20) PRIMARY KEY, mail varchar(150) UNIQUE,
	is_active bool, is_superuser bool);
CREATE TABLE accounts_member_groups (member_id varchar(20), group_id integer);
CREATE TABLE accounts_member_user_permissions (member_id varchar(20), permission_id integer);
INSERT INTO django_content_type VALUES (1, 'dcim', 'device');
INSERT INTO auth_permission VALUES (1, 1, 'view_device'), (2, 1, 'change_device');
INSERT INTO auth_group VALUES (1, 'readers');
INSERT INTO auth_group_permissions VALUES (1, 1);
INSERT INTO accounts_member VALUES ('a', 'ada', true, false), ('id', 'bob', true, false);
INSERT INTO accounts_member_groups VALUES ('a', 1);
INSERT INTO accounts_member_user_permissions VALUES ('id', 2);
`

var memberOptions = django.Options{
	UserModel: "accounts.Member", UserKey: "number", Username: "mail",
}

func everyEngine(t *testing.T, test func(t *testing.T, d dialect.Dialect, db *testdb.Database)) {
	t.Helper()
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			test(t, engine.dialect, engine.open(t))
		})
	}
}

func execute(t *testing.T, db *testdb.Database, statements string) {
	t.Helper()
	if _, err := db.Exec(statements); err != nil {
		t.Fatalf("%v\n%s", err, statements)
	}
}

// TestUnknownColumnIsAnErrorAndGivesNoPermissions reads tables without the configured columns.
// SQLite takes an unknown name in double quotes for a string, unless a table qualifies it.
func TestUnknownColumnIsAnErrorAndGivesNoPermissions(t *testing.T) {
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		execute(t, db, members)
		for missing, options := range map[string]django.Options{
			"id":       {UserModel: "accounts.Member", Username: "mail"},
			"username": {UserModel: "accounts.Member", UserKey: "number"},
			"login":    {UserModel: "accounts.Member", Username: "login"},
		} {
			s := newSource(t, db, d, options)
			// With a forgotten Username, "username" was the name of every user.
			for _, name := range []string{"ada", "bob", "username", "login"} {
				p := access.Principal{User: name}
				set, err := s.Capabilities(t.Context(), p)
				if err == nil || errors.Is(err, capability.ErrNoUser) ||
					len(set.Permissions()) != 0 {
					t.Errorf("without %s: %s holds %q, %v", missing, name, set.Permissions(), err)
				}
				if u, err := s.Resolve(t.Context(), p); err == nil ||
					errors.Is(err, capability.ErrNoUser) {
					t.Errorf("without %s: %s is %+v, %v", missing, name, u, err)
				}
			}
		}
	})
}

// TestCheckNamesWhatTheHostLacks changes tables and options one at a time.
func TestCheckNamesWhatTheHostLacks(t *testing.T) {
	none := func(o django.Options) django.Options { return o }
	for _, test := range []struct {
		name    string
		change  string
		options func(django.Options) django.Options
		want    string
	}{
		{"nothing", "", none, ""},
		{
			"a forgotten UserKey", "",
			func(o django.Options) django.Options { o.UserKey = ""; return o },
			`table "accounts_member" has no column "id" (set Options.UserKey to its primary key`,
		},
		{
			"a forgotten Username", "",
			func(o django.Options) django.Options { o.Username = ""; return o },
			`table "accounts_member" has no column "username" (set Options.Username to`,
		},
		{
			"a UserKey that is no key", "",
			func(o django.Options) django.Options { o.UserKey = "mail"; return o },
			`is not the primary key of table "accounts_member" (set Options.UserKey to "number"`,
		},
		{
			"a forgotten UserModel", "",
			func(o django.Options) django.Options { o.UserModel = ""; return o },
			`no table "auth_user" (set Options.UserModel, or Options.UserTable`,
		},
		{
			"another UserModel", "ALTER TABLE accounts_member RENAME TO accounts_person",
			func(o django.Options) django.Options {
				o.UserModel, o.UserTable = "accounts.Person", "accounts_person"
				return o
			},
			`no table "accounts_person_groups" (the user model needs PermissionsMixin`,
		},
		{
			"another column of a relation",
			"ALTER TABLE accounts_member_groups RENAME COLUMN member_id TO user_id", none,
			`table "accounts_member_groups" has no column "member_id"`,
		},
		{
			"no table of groups", "DROP TABLE auth_group", none, `no table "auth_group"`,
		},
		{
			"no is_active", "ALTER TABLE accounts_member DROP COLUMN is_active", none,
			`table "accounts_member" has no column "is_active" (set Options.AllActive`,
		},
		{
			"no is_active, and the option for it",
			"ALTER TABLE accounts_member DROP COLUMN is_active",
			func(o django.Options) django.Options { o.AllActive = true; return o }, "",
		},
		{
			"AllActive beside is_active", "",
			func(o django.Options) django.Options { o.AllActive = true; return o },
			`table "accounts_member" has a column "is_active": remove Options.AllActive`,
		},
		{
			"the table of another model",
			"ALTER TABLE accounts_member RENAME COLUMN number TO person_ptr_id",
			func(o django.Options) django.Options { o.UserKey = "person_ptr_id"; return o },
			`"person_ptr_id" of table "accounts_member" refers to the table of another model`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
				execute(t, db, members+test.change)
				s := newSource(t, db, d, test.options(memberOptions))
				err := s.Check(t.Context())
				var misconfigured *capability.ConfigurationError
				text := ""
				if err != nil { // PostgreSQL adds where the table is missing
					const where = " in the schemas that the account may use"
					text = strings.ReplaceAll(err.Error(), where, "")
				}
				if masked := redact.Text(text); masked != text {
					t.Errorf("a log hides a part of it: %s", masked)
				}
				if test.want == "" {
					if err != nil {
						t.Errorf("%v", err)
					}
				} else if !errors.As(err, &misconfigured) ||
					!strings.Contains(text, test.want) {
					t.Errorf("%v\nwant %s", err, test.want)
				}
			})
		})
	}
}

// TestServerWithAForgottenUserKeyDoesNotStart makes servers of the tables of members.
func TestServerWithAForgottenUserKeyDoesNotStart(t *testing.T) {
	tools := toolset.NewToolset(toolset.Generated{
		Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
		Table: access.Table{Rules: []access.Rule{{Tool: "devices", Authenticated: true,
			Permission: access.Permission{App: "dcim", Action: "view", Object: "device"}}}},
		Tools: []toolset.Tool{{
			Name: "devices", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Structured(map[string]any{}, nil)
			},
		}},
	})
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		execute(t, db, members)
		start := func(options django.Options) error {
			server, err := runtime.New(runtime.Options{
				Identity: identity.Static(map[string]access.Principal{
					identity.HashToken("t"): {Subject: "ada", User: "ada"},
				}), Host: runtime.HostOptions{Source: newSource(t, db, d, options)},
			}, tools)
			if err == nil {
				t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
			}
			return err
		}
		if err := start(memberOptions); err != nil {
			t.Error(err)
		}
		for _, options := range []django.Options{
			{UserModel: "accounts.Member", Username: "mail"},
			{UserModel: "accounts.Member", UserKey: "number"},
			{UserModel: "accounts.Member"},
		} {
			err := start(options)
			const want = `table "accounts_member" has no column`
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v", options, err)
			}
		}
	})
}

// TestCheckOfAnUnreachableHostIsNoConfigurationError loses the connection after each row. A server
// starts then, because the host may come back.
func TestCheckOfAnUnreachableHostIsNoConfigurationError(t *testing.T) {
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		execute(t, db, members)
		probe := db.Probe(t)
		s, err := django.New(probe.DB, d, memberOptions)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		var misconfigured *capability.ConfigurationError
		failures := probe.CutAtEachRow(t, func() error { return s.Check(t.Context()) })
		for n, err := range failures {
			if !errors.Is(err, testdb.ErrLost) || errors.As(err, &misconfigured) {
				t.Errorf("cut off after %d rows: %v", n, err)
			}
		}
		if n := len(failures); n < 15 { // the columns alone are more
			t.Errorf("the check reads %d rows", n)
		}
	})
}

// TestCheckNamesMissingGrants takes back each right that the documentation names.
func TestCheckNamesMissingGrants(t *testing.T) {
	db := testdb.PostgreSQL(t)
	execute(t, db, tables)
	account, reader := db.Account(t)
	s, err := django.New(reader, dialect.PostgreSQL, django.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rights := testdb.Documented(t, "../../../runtime/capability/django/django.go",
		"this is all that it needs")
	for _, right := range rights {
		execute(t, db, right.Grant(account))
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("with all rights: %v", err)
	}
	for _, right := range rights {
		execute(t, db, right.Revoke(account))
		err := s.Check(t.Context())
		var misconfigured *capability.ConfigurationError
		if !errors.As(err, &misconfigured) ||
			!strings.Contains(err.Error(), "run GRANT SELECT (") ||
			!strings.Contains(err.Error(), `ON "`+right.Table+`" TO `) ||
			!strings.Contains(err.Error(), right.Column) {
			t.Errorf("without %v: %v", right, err)
		}
		execute(t, db, right.Grant(account))
	}
}

// TestCheckReportsAQueryThatTheHostRefuses has columns of all names, and one of another type.
func TestCheckReportsAQueryThatTheHostRefuses(t *testing.T) {
	db := testdb.PostgreSQL(t)
	execute(t, db, members+`
ALTER TABLE accounts_member_groups ALTER COLUMN member_id TYPE integer USING 1;`)
	err := newSource(t, db, dialect.PostgreSQL, memberOptions).Check(t.Context())
	var misconfigured *capability.ConfigurationError
	if !errors.As(err, &misconfigured) ||
		!strings.Contains(err.Error(), "operator does not exist") {
		t.Errorf("%v", err)
	}
}

// TestGroupWhoseRowIsGoneGrantsNothing deletes a group and leaves what referred to it, as SQLite
// allows without foreign keys. Django joins the table of groups.
func TestGroupWhoseRowIsGoneGrantsNothing(t *testing.T) {
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		execute(t, db, members)
		s := newSource(t, db, d, memberOptions)
		ada := access.Principal{User: "ada"}
		set, err := s.Capabilities(t.Context(), ada)
		if err != nil || !slices.Equal(set.Permissions(), []string{"dcim.view_device"}) {
			t.Errorf("with the group: %q, %v", set.Permissions(), err)
		}
		execute(t, db, "DELETE FROM auth_group")
		if set, err := s.Capabilities(t.Context(), ada); err != nil || len(set.Permissions()) != 0 {
			t.Errorf("without the group: %q, %v", set.Permissions(), err)
		}
	})
}

// TestEveryUserIsActiveInAModelWithoutIsActive reads users whose model has no such field.
func TestEveryUserIsActiveInAModelWithoutIsActive(t *testing.T) {
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		execute(t, db, members+"ALTER TABLE accounts_member DROP COLUMN is_active")
		options := memberOptions
		options.AllActive = true
		s := newSource(t, db, d, options)
		set, err := s.Capabilities(t.Context(), access.Principal{User: "bob"})
		if err != nil || !slices.Equal(set.Permissions(), []string{"dcim.change_device"}) {
			t.Errorf("%q, %v", set.Permissions(), err)
		}
		_, err = s.Capabilities(t.Context(), access.Principal{User: "eve"})
		if !errors.Is(err, capability.ErrNoUser) {
			t.Errorf("an unknown user: %v", err)
		}
	})
}

// TestUserModelWithTableInheritanceIsRefused reads the tables that a real Django makes of one.
func TestUserModelWithTableInheritanceIsRefused(t *testing.T) {
	everyEngine(t, func(t *testing.T, d dialect.Dialect, db *testdb.Database) {
		newHost(t, db, "staff.Manager", 1, 0)
		for _, key := range []string{"", "login_ptr_id"} {
			err := newSource(t, db, d, django.Options{
				UserModel: "staff.Manager", UserKey: key,
			}).Check(t.Context())
			var misconfigured *capability.ConfigurationError
			if !errors.As(err, &misconfigured) ||
				!strings.Contains(err.Error(), "with table inheritance is not supported") {
				t.Errorf("UserKey %q: %v", key, err)
			}
		}
	})
}
