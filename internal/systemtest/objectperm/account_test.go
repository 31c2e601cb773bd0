package objectperm_test

import (
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

// TestAccountNeedsTheRightsThatDocumentsNameAndNoOther reads as an account with the rights that
// documents tell people to give: all of them are enough, without any one everything fails, and what
// is not named stays out of reach.
func TestAccountNeedsTheRightsThatDocumentsNameAndNoOther(t *testing.T) {
	const page = "../../../docs/howto/mirroring-permissions.md"
	const source = "../../../runtime/capability/objectperm/objectperm.go"
	for _, test := range []struct {
		layout          layout
		document, after string
	}{
		{layouts[0], source, "later this is all"},
		{layouts[1], source, "And for Nautobot, and"},
		{layouts[4], source, "And for Nautobot, and"},
		{layouts[0], page, "-- runtime/capability/objectperm, NetBox 4.0 and later\n"},
	} {
		t.Run(test.layout.name+" by "+test.document, func(t *testing.T) {
			db := test.layout.open(t, dialect.PostgreSQL, testdb.PostgreSQL)
			test.layout.write(t, db, dialect.PostgreSQL, team)
			account, reader := db.Account(t)
			order := func(statement string) {
				t.Helper()
				if _, err := db.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			s, err := objectperm.New(reader, dialect.PostgreSQL, test.layout.tables,
				objectperm.Options{ExemptView: []string{capability.Any}})
			if err != nil {
				t.Fatal(err)
			}
			ada := access.Principal{User: "ada"}
			if _, err := s.Capabilities(t.Context(), ada); err == nil {
				t.Error("no right is needed")
			}
			rights := testdb.Documented(t, test.document, test.after)
			for _, right := range rights {
				order(right.Grant(account))
			}
			set, err := s.Capabilities(t.Context(), ada)
			if _, resolveErr := s.Resolve(t.Context(), ada); err != nil || resolveErr != nil ||
				!set.Has("dcim.napalm_read_device") || !set.Unrestricted("dcim.device", "view") {
				t.Errorf("with all of %v: %v, %v, %v", rights, set.Permissions(), err, resolveErr)
			}
			if err := s.Check(t.Context()); err != nil {
				t.Errorf("with all of %v: %v", rights, err)
			}
			for _, right := range rights {
				order(right.Revoke(account))
				text := refused(t, s.Check(t.Context()))
				if !strings.Contains(text, right.Column) ||
					!strings.Contains(text, `ON "`+right.Table+`" TO the account`) {
					t.Errorf("without %v: %s", right, text)
				}
				if strings.Contains(text, "the tables are those of") {
					t.Errorf("without %v: %s", right, text)
				}
				if _, err := s.Capabilities(t.Context(), ada); err == nil ||
					!strings.Contains(err.Error(), "permission denied for table "+right.Table) {
					t.Errorf("without %v: %v", right, err)
				}
				order(right.Grant(account))
			}
			for _, beyond := range []string{"SELECT password FROM " + test.layout.tables.Users,
				"DELETE FROM " + test.layout.tables.UserGroups} {
				if _, err := reader.Exec(beyond); err == nil ||
					!strings.Contains(err.Error(), "permission denied") {
					t.Errorf("%s: %v", beyond, err)
				}
			}
		})
	}
}
