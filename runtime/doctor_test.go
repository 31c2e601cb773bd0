package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// What the doctor says that somebody sees is what lists show it, challenged tools and ListAll
// included.
func TestDoctorSeesWhatListsShow(t *testing.T) {
	t.Parallel()
	tokens := map[string]access.Principal{
		"few": {Issuer: "i", Subject: "few", Roles: []string{"Member"}, Scopes: []string{"stock:read"}},
		"low": {Subject: "low", Roles: []string{"Viewer"}, Scopes: []string{"stock:read"}},
		"full": {Subject: "full", Roles: []string{"Admin"}, Client: "c", Scopes: []string{"stock:read",
			"stock:write"}},
		"more": {Subject: "few", Roles: []string{"Admin"}},
	}
	hashed := map[string]access.Principal{}
	for token, p := range tokens {
		hashed[identity.HashToken(token)] = p
	}
	for _, all := range []bool{false, true} {
		s := newServer(t, runtime.Options{Identity: identity.Static(hashed),
			Lists: runtime.ListOptions{ListAll: all}},
			scoped())
		report := s.Doctor(context.Background())
		url := serve(t, s)
		for token, p := range tokens {
			var seen []string
			for _, d := range report.Identities {
				if fmt.Sprint(d.Principal) != fmt.Sprint(p) {
					continue
				}
				for _, e := range d.Seen {
					if e.Kind == access.Tools {
						seen = append(seen, e.Name)
					}
				}
			}
			if listed := strings.Join(mcptest.Tools(t, connectHTTP(t, url, token, "")),
				" "); listed != strings.Join(seen, " ") {
				t.Errorf("%s, ListAll %v: lists show %s, the doctor %s", token, all, listed, seen)
			}
		}
		if !all {
			// A challenge shows what nothing but scopes is missing for. Names come in their order.
			want := `few (Options.Identity), roles Admin
  sees tool look
  sees tool move; its use needs scopes stock:write, stock:read
  sees prompt ask; its use needs scopes stock:write, stock:read
  sees resource lib://books/{id}; its use needs scopes stock:write, stock:read
  sees resource lib://hall
  not  tool hush: scopes fails: needs stock:write, stock:read, has nothing

few (Options.Identity), issuer i, roles Member, scopes stock:read
  sees tool look
  sees tool move; its use needs scope stock:write
`
			if got := report.String(); !strings.HasPrefix(got, want) ||
				!strings.Contains(got,
					"\n\nfull (Options.Identity), client c, roles Admin, scopes stock:read "+
						"stock:write\n  sees tool hush\n") {
				t.Errorf("%s", got)
			}
		}
	}
}

// A caller whose every request is refused sees nothing, and the report says why; so does a role
// that counts as none.
func TestDoctorReportsWhoIsRefused(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	ctx := context.Background()
	asked := []access.Principal{{Subject: "eve", User: "eve"}, {}, {Subject: "ada", User: "ada",
		Roles: []string{"Boss"}}}
	for _, test := range []struct {
		anonymous bool
		want      []string
	}{
		{false, []string{
			"eve (asked for)\n  problem: the host has no active user \"eve\"; the server refuses it " +
				"(403 over HTTP), because Options.Anonymous is not set\n  sees nothing: its requests are " +
				"refused\n",
			"an anonymous caller (asked for)\n  problem: the server refuses a caller without an " +
				"identity (401 over HTTP), because Options.Anonymous is not set\n  sees nothing: its " +
				"requests are refused\n",
		}},
		{true, []string{
			"eve (asked for)\n  problem: the host has no active user \"eve\"; it is treated as an anonymous caller\n  sees tool status\n  not  everything that is not public\n",
			"an anonymous caller (asked for)\n  sees tool status\n  not  tool device_change: ",
		}},
	} {
		s := aware(t, h, runtime.Options{Anonymous: test.anonymous})
		report := s.Doctor(ctx, asked...)
		for _, want := range append(test.want,
			"ada (asked for), roles Boss, user ada of the host\n  problem: a role of the "+
				"principal is \"Boss\", which is not a role of Viewer < Member < Manager < "+
				"Admin: use one of them\n  sees tool status\n") {
			if !strings.Contains(report.String(), want) {
				t.Errorf("no %s in\n%s", want, report)
			}
		}
		url := serve(t, s)
		for token, i := range map[string]int{"eve_": 0, "": 1} {
			answer := (&raw{url: url, token: token, era: "2026-07-28"}).ask(t, "tools/list", "",
				nil)
			if refused := answer.status != http.StatusOK; refused != report.Identities[i].Refused {
				t.Errorf("%q: %s, and the doctor says refused: %v", token, answer,
					report.Identities[i].Refused)
			}
			if e := s.Explain(ctx, asked[i], "status"); e.Allowed != test.anonymous ||
				e.Listed != test.anonymous {
				t.Errorf("%q: %s", token, e)
			}
		}
	}
	// A host that cannot be asked refuses nobody, and lets do nothing but what is public.
	s := aware(t, h, runtime.Options{})
	h.failing(func(context.Context) error { return errors.New("down") })
	if got, want := s.Doctor(ctx, asked[0]).String(),
		"eve (asked for)\n  problem: the host is not available: down\n  sees tool status\n  not  "+
			"everything that is not public\n"; got != want {
		t.Errorf("%s", got)
	}
}

// A client that ServiceUsers has, with a token that is not its own, is distinguished from one that
// it does not have.
func TestExplanationSaysWhyAServiceUserDoesNotCount(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("svc", "dcim.view_device")
	for anonymous, becomes := range map[bool]string{false: "the server refuses it (403 over HTTP), " +
		"because Options.Anonymous is not set", true: "it is treated as an anonymous caller"} {
		s := aware(t, h, runtime.Options{Anonymous: anonymous, Host: runtime.HostOptions{
			ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "svc"}}}})
		for client, why := range map[string]string{"cd": "it has no user of the host; " + becomes,
			"ci": `Options.Host.ServiceUsers has client "ci", but this is not the client's own token. `} {
			if e := s.Explain(t.Context(), access.Principal{Subject: "bob", Client: client},
				"device_get"); e.Allowed || !strings.HasPrefix(e.Host, why) {
				t.Errorf("%s", e)
			}
		}
	}
}
