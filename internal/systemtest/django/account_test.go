package django_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
)

// TestAccountNeedsTheRightsThatDocumentsNameAndNoOther reads a real Django as an account with the
// rights that documents tell people to give: all of them are enough, without any one something
// fails, and what is not named stays out of reach.
func TestAccountNeedsTheRightsThatDocumentsNameAndNoOther(t *testing.T) {
	for document, after := range map[string]string{
		"../../../runtime/capability/django/django.go": "this is all that it needs",
		"../../../docs/howto/mirroring-permissions.md": "-- runtime/capability/django\n"} {
		t.Run(document, func(t *testing.T) {
			db := testdb.PostgreSQL(t)
			h := newHost(t, db, "auth.User", 1, 50)
			account, reader := db.Account(t)
			order := func(statement string) {
				t.Helper()
				if _, err := db.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			s, err := django.New(reader, dialect.PostgreSQL, django.Options{})
			if err != nil {
				t.Fatal(err)
			}
			read := func() error {
				var errs []error
				_, err := s.Actions(t.Context())
				errs = append(errs, err)
				for _, u := range h.Users {
					p := access.Principal{User: u.Name}
					_, resolveErr := s.Resolve(t.Context(), p)
					set, err := s.Capabilities(t.Context(), p)
					if !u.Active && errors.Is(err, capability.ErrNoUser) &&
						errors.Is(resolveErr, capability.ErrNoUser) {
						continue
					}
					if err == nil && !slices.Equal(set.Permissions(), u.Permissions) {
						t.Errorf("%s: %q, Django says %q", u.Name, set.Permissions(), u.Permissions)
					}
					errs = append(errs, resolveErr, err)
				}
				return errors.Join(errs...)
			}
			if err := read(); err == nil {
				t.Error("no right is needed")
			}
			rights := testdb.Documented(t, document, after)
			for _, right := range rights {
				order(right.Grant(account))
			}
			if err := read(); err != nil {
				t.Errorf("with all of %v: %v", rights, err)
			}
			for _, right := range rights {
				order(right.Revoke(account))
				if err := read(); err == nil ||
					!strings.Contains(err.Error(), "permission denied for table "+right.Table) {
					t.Errorf("without %v: %v", right, err)
				}
				order(right.Grant(account))
			}
			for _, beyond := range []string{
				"SELECT password FROM auth_user", "SELECT email FROM auth_user",
				"DELETE FROM auth_user_groups",
			} {
				if _, err := reader.Exec(beyond); err == nil ||
					!strings.Contains(err.Error(), "permission denied") {
					t.Errorf("%s: %v", beyond, err)
				}
			}
		})
	}
}
