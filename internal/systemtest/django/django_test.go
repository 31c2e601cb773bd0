package django_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
)

// TestCapabilitiesAreThoseOfEachUserInDjango holds the source against a real Django: for every
// user that it made the permissions must be those of user.get_all_permissions().
func TestCapabilitiesAreThoseOfEachUserInDjango(t *testing.T) {
	for _, test := range []struct {
		name, model string
		options     django.Options
		users       int
	}{
		{"auth.User", "auth.User", django.Options{}, 1000},
		{"a model with its own key and name", "accounts.Member",
			django.Options{UserModel: "accounts.Member", UserKey: "number", Username: "mail"}, 100},
		{"a model with its own table", "staff.Login",
			django.Options{UserModel: "staff.Login", UserTable: "Staff Login"}, 100},
		{
			"a model without is_active", "robots.Robot",
			django.Options{UserModel: "robots.Robot", AllActive: true}, 100,
		},
	} {
		for _, engine := range engines {
			t.Run(test.name+" in "+engine.dialect.String(), func(t *testing.T) {
				db := engine.open(t)
				h := newHost(t, db, test.model, 1, test.users)
				s := newSource(t, db, engine.dialect, test.options)
				if err := s.Check(t.Context()); err != nil {
					t.Error(err)
				}
				kinds := map[string]int{}
				if test.options.AllActive {
					kinds["inactive"] = 1 // no user can be
				}
				for _, u := range h.Users {
					p := access.Principal{Issuer: "i", Subject: "not " + u.Name, User: u.Name}
					set, err := s.Capabilities(t.Context(), p)
					got, resolveErr := s.Resolve(t.Context(), p)
					if !u.Active {
						kinds["inactive"]++
						if !errors.Is(err, capability.ErrNoUser) ||
							!errors.Is(resolveErr, capability.ErrNoUser) {
							t.Errorf("%s is inactive: %v, %v", u.Name, err, resolveErr)
						}
						if len(set.Permissions()) != 0 || set.Unrestricted("a.b", "view") {
							t.Errorf("%s is inactive and has %v", u.Name, set)
						}
						continue
					}
					if err != nil || resolveErr != nil {
						t.Fatalf("%s: %v, %v", u.Name, err, resolveErr)
					}
					if !slices.Equal(set.Permissions(), u.Permissions) {
						t.Errorf("%s: %q, Django says %q", u.Name, set.Permissions(), u.Permissions)
					}
					if set.Unrestricted("no.such", "thing") != u.Superuser {
						t.Errorf("%s is superuser: %v", u.Name, u.Superuser)
					}
					if want := (capability.User{
						ID: u.ID, Name: u.Name, Superuser: u.Superuser}); got != want {
						t.Errorf("%+v, want %+v", got, want)
					}
					kinds[kind(u.Superuser, len(u.Permissions))]++
				}
				for _, k := range []string{"inactive", "superuser", "some", "none"} {
					if kinds[k] == 0 {
						t.Errorf("no user is %s: %v", k, kinds)
					}
				}
				actions, err := s.Actions(t.Context())
				slices.Sort(actions)
				if actions = slices.Compact(actions); err != nil || !slices.Equal(actions, h.All) {
					t.Errorf("%q, %v; Django has %q", actions, err, h.All)
				}
			})
		}
	}
}

// TestBackendOfTheHostsOwnIsNotSeen holds docs/howto/mirroring-permissions.md to its table: a
// backend that grants in code grants nothing here, and one that refuses in code refuses nothing
// here.
func TestBackendOfTheHostsOwnIsNotSeen(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine.dialect.String(), func(t *testing.T) {
			db := engine.open(t)
			h := newHost(t, db, "auth.User", 1, 200)
			s := newSource(t, db, engine.dialect, django.Options{})
			granted, refused := 0, 0
			for i, u := range h.Users {
				code := h.Code.Users[i]
				if !u.Active || u.Superuser {
					continue
				}
				set, err := s.Capabilities(t.Context(), access.Principal{User: u.Name})
				if err != nil {
					t.Fatal(err)
				}
				if code.Granted {
					granted++
				}
				if code.Refused && code.ByTables {
					refused++
				}
				if set.Has("computed.in_code") || set.Has(h.Code.Refused) != code.ByTables {
					t.Errorf("%s: %v, Django says %+v", u.Name, set.Permissions(), code)
				}
			}
			if granted == 0 || refused == 0 {
				t.Errorf("%d users are granted something in code, %d refused", granted, refused)
			}
		})
	}
}

func kind(superuser bool, permissions int) string {
	switch {
	case superuser:
		return "superuser"
	case permissions == 0:
		return "none"
	}
	return "some"
}
