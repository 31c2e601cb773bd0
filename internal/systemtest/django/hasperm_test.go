package django_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/hasperm"
)

// A real Django serves the view of package hasperm, with a backend that grants and refuses
// permissions in code.
func TestPermissionsOfCodeAreReadByTheView(t *testing.T) {
	const token = "a token of a test, of at least 32 bytes" // as in host.py
	cmd := hostCommand(t, testdb.SQLite(t), "auth.User", "7", "40",
		"../../../runtime/capability/hasperm")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context of the test has ended it
	var h host
	var url string
	d := json.NewDecoder(out)
	if err := errors.Join(d.Decode(&h), d.Decode(&url)); err != nil {
		t.Fatal(err)
	}
	source, err := hasperm.New(hasperm.Options{URL: url, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	all, err := source.Actions(t.Context())
	if want := append(slices.Clone(h.All), "computed.in_code"); err != nil ||
		!slices.Equal(all, want) {
		t.Fatalf("%q, %v", all, err)
	}
	met := map[bool]int{}
	for i, u := range h.Users {
		p := access.Principal{User: u.Name}
		resolved, resolveErr := source.Resolve(t.Context(), p)
		set, err := source.Capabilities(t.Context(), p)
		if met[u.Active]++; !u.Active {
			if !errors.Is(err, capability.ErrNoUser) || !errors.Is(resolveErr, capability.ErrNoUser) {
				t.Errorf("%s is inactive: %v, %v", u.Name, resolveErr, err)
			}
			continue
		}
		if errors.Join(err, resolveErr) != nil || resolved.ID != u.ID || resolved.Name != u.Name {
			t.Errorf("%s: %+v, %v, %v", u.Name, resolved, resolveErr, err)
		}
		for _, permission := range all {
			want := u.Superuser || slices.Contains(u.Permissions, permission)
			switch permission {
			case h.Code.Refused:
				want = !h.Code.Users[i].Refused
			case "computed.in_code":
				want = h.Code.Users[i].Granted
			}
			if set.Has(permission) != want {
				t.Errorf("%s has %s: %t", u.Name, permission, !want)
			}
		}
	}
	if met[true] == 0 || met[false] == 0 {
		t.Errorf("active users: %v", met)
	}
	for _, name := range []string{"nobody", "", "../x", "a&user=b"} {
		_, err := source.Capabilities(t.Context(), access.Principal{User: name})
		if !errors.Is(err, capability.ErrNoUser) {
			t.Errorf("%q: %v", name, err)
		}
	}
	other, err := hasperm.New(hasperm.Options{URL: url, Token: token + "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Actions(t.Context()); err == nil {
		t.Error("another token reads permissions")
	}
	_, err = other.Resolve(t.Context(), access.Principal{User: h.Users[0].Name})
	if err == nil || errors.Is(err, capability.ErrNoUser) {
		t.Errorf("with another token: %v", err)
	}
}
