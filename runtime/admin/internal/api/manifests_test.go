package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
)

// adopting is a server that serves an adopted one as well.
type adopting struct{ runtime.Administered }

func (adopting) Adopted() bool { return true }

func TestManifestsAreListedToAdminsAlone(t *testing.T) {
	const path = "/api/v1/admin/mcp/manifests"
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	got := decoded[api.Manifests](w, w.send("root", "GET", path, ""))
	if want := []api.Manifest{{Package: "example.com/desk", Digest: "sha256:d35c"}}; got.Adopted ||
		!slices.Equal(got.Items, want) {
		t.Errorf("%+v", got)
	}
	for _, who := range slices.Concat(people, []string{"forged", ""}) {
		got := w.send(who, "GET", path, "")
		if admin := who == "root"; strings.Contains(got.body, "sha256") != admin {
			t.Errorf("%q: %s", who, got)
		}
	}
	w = newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered { return adopting{s} })
	if got := decoded[api.Manifests](w, w.send("root", "GET", path, "")); !got.Adopted {
		t.Errorf("%+v", got)
	}
}
