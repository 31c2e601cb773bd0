package objectperm_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

// TestMalformedConstraintDeniesItsPermission has constraints that the hosts refuse to write and
// fail on. They deny the permission even if another grant of it has no constraints, and no other.
func TestMalformedConstraintDeniesItsPermission(t *testing.T) {
	everywhere(t, func(t *testing.T, l layout, d dialect.Dialect, db *testdb.Database) {
		s := newSource(t, db, d, l, objectperm.Options{ExemptView: []string{"ipam.prefix"}})
		malformed := []string{
			`"x"`, `7`, `0`, `false`, `""`, `[[]]`, `[0]`, `[{"a": 1}, 7]`, `[{"a": 1}, ""]`}
		if d == dialect.SQLite { // its column takes any text
			malformed = append(malformed, `[{"a": 1}, `, `{"a"`, ` `)
		}
		users := []user{{Name: "ada", Active: true}, {Name: "root", Active: true, Superuser: true}}
		given := func(constraints string, actions ...string) grant {
			return grant{Enabled: true, Actions: actions, Models: []int{0, 2}, Users: []int{0, 1},
				Constraints: constraints}
		}
		for _, value := range malformed {
			for _, other := range []string{"", `{}`, `{"site": "ams"}`} {
				for _, grants := range [][]grant{
					{given(value, "view"), given(other, "view", "change")},
					{given(other, "view", "change"), given(value, "view")},
				} {
					l.write(t, db, d, world{Permissions: grants, Users: users})
					set, err := s.Capabilities(t.Context(), access.Principal{User: "ada"})
					if err != nil || set.Has("dcim.view_device") || !set.Has("dcim.change_device") {
						t.Errorf("%s beside %q: %v, %v", value, other, set.Permissions(), err)
					}
					all := maps.Collect(set.AllUnreadable())
					const reason = "is not a JSON object: fix it in the host"
					if err := all["dcim.view_device"]; len(all) != 1 || err == nil ||
						!strings.HasSuffix(err.Error(), reason) {
						t.Errorf("%s beside %q: %v", value, other, all)
					}
					// Hosts read no constraints for an exempt model and for a superuser.
					if !set.Has("ipam.view_prefix") || !set.Unrestricted("ipam.prefix", "view") {
						t.Errorf("%s: the exemption does not count", value)
					}
					set, err = s.Capabilities(t.Context(), access.Principal{User: "root"})
					has := slices.Contains(set.Permissions(), "dcim.view_device")
					if err != nil || !has || len(maps.Collect(set.AllUnreadable())) > 0 {
						t.Errorf("%s: a superuser: %v, %v", value, set.Permissions(), err)
					}
				}
			}
		}
	})
}
