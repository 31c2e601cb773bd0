package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// drawnBoundary is an entry of a file of boundaries, without its party.
type drawnBoundary struct {
	roles, items []string
	readOnly     bool
}

func drawBoundary(t *rapid.T, roles, items []string) drawnBoundary {
	all := rapid.Just([]string{boundaryitem.All})
	some := func(of []string) *rapid.Generator[[]string] {
		return rapid.OneOf(all, rapid.SliceOfDistinct(rapid.SampledFrom(of), rapid.ID))
	}
	return drawnBoundary{some(roles).Draw(t, "roles"), some(items).Draw(t, "items"),
		rapid.IntRange(0, 3).Draw(t, "readonly") == 0}
}

// bounds compiles the boundary as the runtime does. No drawn tool is marked readonly.
func (b drawnBoundary) bounds(table access.Table) *access.Bounds {
	roles := b.roles
	if boundaryitem.IsAll(roles) {
		roles = table.Hierarchy()
	}
	items, _ := boundaryitem.NewSet(b.items, nil, isRuled(table))
	return table.Bounds(roles, func(k access.Kind, rule access.Rule) bool {
		return !b.readOnly && (k == access.Tools && items.Has(boundaryitem.Tool, rule.Tool) ||
			k == access.Values && items.HasValue(rule.Tool, rule.Argument, rule.Value))
	})
}

// isRuled reports whether values of an argument have rules.
func isRuled(table access.Table) func(tool, argument string) bool {
	return func(tool, argument string) bool {
		return slices.ContainsFunc(table.Values, func(v access.Rule) bool {
			return v.Tool == tool && v.Argument == argument
		})
	}
}

// TestDiffMissesNoChangeOfABoundary holds diff against decisions within two boundaries of a client:
// if a caller of the client gains something, a widening is reported, and if one loses something, a
// narrowing.
func TestDiffMissesNoChangeOfABoundary(t *testing.T) {
	file := filepath.Join(t.TempDir(), "boundaries.json")
	rapid.Check(t, func(t *rapid.T) {
		m, table := drawSide(t)
		set := []*policydiff.Manifest{m}
		var items []string
		for _, tool := range m.Tools {
			items = append(items, "tool:"+tool.Name)
			if len(tool.Values) > 0 {
				items = append(items, "tool:"+tool.Name+" a/b=on", "tool:"+tool.Name+" a/b=off")
			}
		}
		load := func(b drawnBoundary) policydiff.Boundaries {
			text, err := json.Marshal(map[string]any{"boundaries": []any{map[string]any{"issuer": "i",
				"client": "a", "roles": b.roles, "items": b.items, "readonly": b.readOnly}}})
			if err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			side, err := policydiff.LoadBoundaries(t.Context(), "", file, set)
			if err != nil {
				t.Fatal(err)
			}
			return side
		}
		roles := table.Hierarchy()
		old, current := drawBoundary(t, roles, items), drawBoundary(t, roles, items)
		reported := map[policydiff.Kind]bool{}
		changes := policydiff.WithBoundaries(nil, load(old), load(current))
		for _, c := range changes {
			reported[c.Kind] = true
		}
		was, is := old.bounds(table), current.bounds(table)
		for _, held := range append(setsOf(roles), nil) {
			for _, subject := range subjects {
				p := access.Principal{Subject: "ada", Roles: held, Scopes: drawnScopes, Bounds: was}
				before := decision(table, p, subject)
				p.Bounds = is
				switch after := decision(table, p, subject); {
				case after && !before && !reported[policydiff.Widened]:
					t.Errorf("%+v to %+v: %v may use %s, and no widening is in %v", old, current, held, subject,
						changes)
				case before && !after && !reported[policydiff.Narrowed]:
					t.Errorf("%+v to %+v: %v may no longer use %s, and no narrowing is in %v", old, current, held,
						subject, changes)
				}
			}
		}
		if same := policydiff.WithBoundaries(nil, load(old), load(old)); len(same) > 0 {
			t.Errorf("%+v differs from itself: %v", old, same)
		}
	})
}
