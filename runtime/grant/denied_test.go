package grant

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// What a refusal lacks allows the very same query, and stays as it is when it is written and read.
func TestLackingPermissionAllowsWhatWasRefusedAndNothingElse(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab/*?[]{}\. é;"'`)), 1, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		query := Query{Kind: rapid.SampledFrom([]string{FileRead, SystemCommand, NetConnect,
			"queue.push"}).Draw(t, "kind")}
		var other Query
		switch pattern.FamilyOf(query.Kind) {
		case pattern.Commands:
			query.Argv = append([]string{"git"}, rapid.SliceOfN(text, 0, 3).Draw(t, "argv")...)
			other = Query{Kind: query.Kind, Argv: append([]string{"git"},
				rapid.SliceOfN(text, 0, 3).Draw(t, "other")...)}
			if pattern.CommandText(query.Argv) == pattern.CommandText(other.Argv) {
				return
			}
		case pattern.Hosts:
			query.Resource = rapid.SampledFrom([]string{"a.example", "a.example:443",
				"https://a.example/b", "[2001:db8::1]:80", "10.0.0.1"}).Draw(t, "host")
			other = Query{Kind: query.Kind, Resource: "b." + "example:443"}
		default:
			query.Resource = text.Draw(t, "resource")
			other = Query{Kind: query.Kind, Resource: text.Draw(t, "other")}
			if query.Resource == other.Resource {
				return
			}
		}
		query.Isolated, other.Isolated = true, true
		var denied *Denied
		if err := (*Set)(nil).Decide(time.Now(), query).Err(); !errors.As(err, &denied) {
			t.Fatal(err)
		}
		p, err := denied.Lacking()
		if denied.Cause == Malformed {
			if err == nil {
				t.Fatalf("%v lacks %v", denied, p)
			}
			return
		}
		if err != nil {
			// Paths that are cleaned on their way to a decision are no canonical ones here.
			if pattern.FamilyOf(query.Kind) == pattern.Paths {
				return
			}
			t.Fatal(err)
		}
		set, err := NewSet(Grant{ID: "1", Permission: p})
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Decide(time.Now(), query); !got.Allowed &&
			!(pattern.FamilyOf(query.Kind) == pattern.Paths &&
				p.Resource != pattern.Literal(query.Resource)) {
			t.Fatalf("%+v: %v does not allow it", query, p)
		}
		if got := set.Decide(time.Now(), other); got.Allowed {
			t.Fatalf("%+v: %v allows it", other, p)
		}
	})
}

// TestAddressThatIsNotRevealedIsNotRequested: what could be asked for is the name, which is granted
// already.
func TestAddressThatIsNotRevealedIsNotRequested(t *testing.T) {
	if p, err := (&Denied{Kind: SystemCommand, Resource: "[x"}).Lacking(); err == nil {
		t.Errorf("a text that is no command lacks %v", p)
	}
	if p, err := (&Denied{Kind: NetConnect, Resource: "db.test:80",
		Cause: NotPublic}).Lacking(); err == nil {
		t.Error(p)
	}
}
