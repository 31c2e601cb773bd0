package grant

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// What a refusal lacks allows the very same ask, and stays as it is when it is written and read.
func TestLackingPermissionAllowsWhatWasRefusedAndNothingElse(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune(`ab/*?[]{}\. é;"'`)), 1, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		ask := Ask{Kind: rapid.SampledFrom([]string{FileRead, SystemCommand, NetConnect,
			"queue.push"}).Draw(t, "kind")}
		var other Ask
		switch FamilyOf(ask.Kind) {
		case Commands:
			ask.Argv = append([]string{"git"}, rapid.SliceOfN(text, 0, 3).Draw(t, "argv")...)
			other = Ask{Kind: ask.Kind, Argv: append([]string{"git"},
				rapid.SliceOfN(text, 0, 3).Draw(t, "other")...)}
			if pattern.CommandText(ask.Argv) == pattern.CommandText(other.Argv) {
				return
			}
		case Hosts:
			ask.Resource = rapid.SampledFrom([]string{"a.example", "a.example:443",
				"https://a.example/b", "[2001:db8::1]:80", "10.0.0.1"}).Draw(t, "host")
			other = Ask{Kind: ask.Kind, Resource: "b." + "example:443"}
		default:
			ask.Resource = text.Draw(t, "resource")
			other = Ask{Kind: ask.Kind, Resource: text.Draw(t, "other")}
			if ask.Resource == other.Resource {
				return
			}
		}
		ask.Isolated, other.Isolated = true, true
		var denied *Denied
		if err := (*Set)(nil).Decide(time.Now(), ask).Err(); !errors.As(err, &denied) {
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
			if FamilyOf(ask.Kind) == Paths {
				return
			}
			t.Fatal(err)
		}
		set, err := NewSet(Grant{ID: "1", Permission: p})
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Decide(time.Now(), ask); !got.Allowed && !(FamilyOf(ask.Kind) == Paths &&
			p.Resource != pattern.Literal(ask.Resource)) {
			t.Fatalf("%+v: %v does not allow it", ask, p)
		}
		if got := set.Decide(time.Now(), other); got.Allowed {
			t.Fatalf("%+v: %v allows it", other, p)
		}
	})
}

// TestAddressThatIsNotToldIsNotAskedFor: what could be asked for is the name, which is granted
// already.
func TestAddressThatIsNotToldIsNotAskedFor(t *testing.T) {
	if p, err := (&Denied{Kind: NetConnect, Resource: "db.test:80",
		Cause: NotPublic}).Lacking(); err == nil {
		t.Error(p)
	}
}
