package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// What a source says that the host lets a caller do counts for nothing, least of all where the host
// is silent.
func TestPermitsOfASourceAreNone(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	var all *access.Permits
	s := aware(t, h, runtime.Options{Identity: identity.Bearer(func(context.Context,
		string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", User: "ada",
			Role: "Admin", Permits: all}}, nil
	}, identity.NamesUsers())})
	all = s.Table().Permits(func(access.Kind, access.Rule) access.Permit {
		return access.PermitAll
	})
	url := serve(t, s)
	p := access.Principal{Subject: "ada", User: "ada", Role: "Admin", Permits: all}
	for _, want := range []string{"device_find device_get status whoami", "status"} {
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, "x", "2026-07-28")),
			" "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := newRaw(t, url, "x", "2026-07-28").call(t, "device_wipe", `,"arguments":{}`,
			nil); strings.Contains(got.body, "constraints") {
			t.Errorf("%s", got)
		}
		if e := s.Explain(context.Background(), p, "export"); e.Allowed {
			t.Errorf("%s", e)
		}
		h.failing(func(context.Context) error { return errors.New("down") })
		s.InvalidateCapabilities(nil)
	}
}
