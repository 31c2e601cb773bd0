package runtime_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestIdentityWithoutAHostUserIsNeverServedByRole(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "exempt * *")
	var log lockedBuffer
	url := serve(t, aware(t, h, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))
	for _, token := range []string{"eve_Admin", "_Admin"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			c := &raw{url: url, token: token}
			if got := c.send(t, method, c.request("tools/list", ""),
				nil); got.status != http.StatusForbidden || got.body != "forbidden\n" {
				t.Errorf("%s %s: %s", method, token, got)
			}
		}
	}
	if !strings.Contains(log.String(), "an identity has no user of the host") ||
		!strings.Contains(log.String(), "principal=sub-eve") {
		t.Errorf("%s", log.String())
	}
	// On stdio the server refuses to start; a user that goes away later is refused.
	s := aware(t, h, runtime.Options{Logger: quiet()})
	if err := s.RunIO(context.Background(), strings.NewReader(""), io.Discard,
		access.Principal{Subject: "eve", User: "eve", Role: "Admin"}); err == nil ||
		err.Error() != `Options.Host.Source does not support the principal "eve": the host has `+
			`no active user "eve": correct the name, or create the user in the host` {
		t.Errorf("%v", err)
	}
	session := connectIO(t, s, access.Principal{Subject: "ada", User: "ada", Role: "Admin"}, "")
	if got := len(mcptest.Tools(t, session)); got != 7 {
		t.Errorf("%d tools", got)
	}
	h.remove("ada")
	s.InvalidateCapabilities(nil)
	if _, err := session.ListTools(context.Background(), nil); err == nil ||
		!strings.Contains(err.Error(), "403 Forbidden") {
		t.Errorf("%v", err)
	}
}

func TestServiceUsersAreUsersOfTheirClients(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("svc", "dcim.view_device")
	h.set("svc-test", "billing.export")
	h.set("ada", "exempt * *")
	url := serve(t, aware(t, h, runtime.Options{
		Host: runtime.HostOptions{ServiceUsers: []runtime.ServiceUser{
			{Client: "ci", User: "svc"}, {Client: "ci", Issuer: "test", User: "svc-test"},
			{Client: "cron", User: "svc"}, {Client: "night", Issuer: "other", User: "svc"},
		}}}))
	for token, want := range map[string]string{
		"x_Viewer_ci":   "export status whoami",
		"x_Viewer_cron": "device_find device_get status whoami",
	} {
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, token, "")), " "); got != want {
			t.Errorf("%s: %s", token, got)
		}
	}
	// another issuer's, another case, a subject that is called as nothing
	for _, token := range []string{"x_Viewer_night", "x_Viewer_CI", "_Viewer"} {
		c := &raw{url: url, token: token, era: "2026-07-28"}
		if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusForbidden {
			t.Errorf("%s: %s", token, got)
		}
	}
}

// A token that names no user, or one that does not count, may be anybody's who signs in by the
// client.
func TestPeopleWhoComeByAClientAreNotItsServiceUser(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("svc", "dcim.view_device")
	h.set("svc-own", "billing.export")
	s := aware(t, h, runtime.Options{Host: runtime.HostOptions{ServiceUsers: []runtime.ServiceUser{
		{Client: "ci", User: "svc"}, {Client: "kiosk", User: "svc", Delegated: true},
		{Client: "both", User: "svc", Delegated: true}, {Client: "both", Issuer: "test",
			User: "svc-own"},
	}}})
	url := serve(t, s)
	for token, want := range map[string]string{
		"x_Viewer_ci":           "device_find device_get status whoami",
		"x_Viewer_ci_person":    "",
		"x_Viewer_kiosk":        "device_find device_get status whoami",
		"x_Viewer_kiosk_person": "device_find device_get status whoami",
		"x_Viewer_both":         "export status whoami",
		// the entry that names the issuer stands first, and is for the client alone
		"x_Viewer_both_person": "",
	} {
		if want == "" {
			c := &raw{url: url, token: token, era: "2026-07-28"}
			if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusForbidden {
				t.Errorf("%s: %s", token, got)
			}
			continue
		}
		if got := strings.Join(mcptest.Tools(t, connectHTTP(t, url, token, "")), " "); got != want {
			t.Errorf("%s: %s", token, got)
		}
	}
	// Where the program wrote the principal down, one whose subject is its client is the client.
	for p, want := range map[*access.Principal]bool{{Subject: "ci", Client: "ci"}: true,
		{Subject: "ada", Client: "ci"}: false} {
		e := s.Explain(context.Background(), *p, "whoami")
		err := s.RunIO(context.Background(), strings.NewReader(""), io.Discard, *p)
		if e.Allowed != want || (err == nil) != want {
			t.Errorf("%s: %v, %s", p.Subject, err, e)
		}
	}
}

// An identity without a user is an anonymous caller to the handler, to the audit and to everything
// else.
func TestIdentityWithoutAHostUserIsAnonymousWhereverItIsSeen(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	sink := &keeper{}
	var callers []access.Principal
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		p, _ := runtime.Caller(ctx)
		mu.Lock()
		defer mu.Unlock()
		callers = append(callers, p)
		return toolset.Structured(map[string]any{}, nil)
	}
	s := newServer(t, runtime.Options{Host: runtime.HostOptions{Source: newHost(nil)},
		Identity: hosted(), Anonymous: true,
		Audit: runtime.AuditOptions{Sink: sink},
	}, toolsetOf([]toolset.Tool{{Name: "look", Input: anyInput, Call: call}},
		access.Rule{Tool: "look", Public: true}))
	url := serve(t, s)
	for _, era := range eras {
		newRaw(t, url, "eve_Admin", era).call(t, "look", `,"arguments":{}`, nil)
	}
	events := sink.taken()
	if len(callers) != len(eras) || len(events) != len(eras) {
		t.Fatalf("%d callers, %d events", len(callers), len(events))
	}
	for i := range eras {
		if e := events[i]; !callers[i].IsZero() || e.Principal != "" || e.Issuer != "" ||
			e.Client != "" || e.Role != "" {
			t.Errorf("%s: %+v, %+v", eras[i], callers[i], e)
		}
	}
}

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
