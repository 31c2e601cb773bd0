package main

import (
	"io"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// TestConstraintThatAHandlerCannotApplyIsRefused has two kinds of handlers over HTTP. napalm_facts
// is not marked constrained: who may read facts of some devices only gets the answer of an unknown
// tool. list_devices is: it refuses a constraint about a field that it does not know.
func TestConstraintThatAHandlerCannotApplyIsRefused(t *testing.T) {
	db := testdb.SQLite(t)
	if _, err := db.Exec(netbox); err != nil {
		t.Fatal(err)
	}
	type seen struct{ Oslo, Berlin, Refused bool }
	want := map[string]seen{
		"olga": {Oslo: true}, "tina": {Refused: true}, "alma": {Oslo: true, Berlin: true}}
	users := map[string]access.Principal{}
	for user := range want { // her token is her name
		users[identity.HashToken(user)] = access.Principal{
			Subject: user, User: user, Roles: []string{"Member"}}
	}
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		s, err := parse([]string{"-stdio", "-as", "olga", "-netbox", "sqlite:" + db.File,
			"-db", filepath.Join(t.TempDir(), "inventory.db"), "-denial", denial.String()},
			io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		a, err := open(t.Context(), s, identity.Static(users),
			slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(a.server.Handler())
		t.Cleanup(func() {
			web.Close()
			if err := a.close(); err != nil {
				t.Error(err)
			}
		})
		if err := a.inventory.Demonstrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := &world{app: a, t: t, url: web.URL + runtime.PathMCP}
		for _, era := range eras {
			for user := range want {
				c := w.raw(user, era)
				call := func(tool, arguments string) string {
					text := c.ask("tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
					return strings.ReplaceAll(text, tool, "NAME")
				}
				const edge = `{"device":"edge-2"}`
				listed := strings.Contains(c.ask("tools/list", "", ""), `"napalm_facts"`)
				facts, unknown := call("napalm_facts", edge), call("napalm_fakes", edge)
				if listed != (user == "alma") {
					t.Errorf("%s, %s: napalm_facts is listed: %v", user, era, listed)
				}
				const needs = `403 Forbidden: tool \"NAME\" needs permission dcim.napalm_read_device`
				reason := map[string]string{"olga": needs + ` without constraints"`, "tina": needs +
					`"`}
				switch {
				case user == "alma":
					if facts == unknown || strings.Contains(facts, `"isError"`) {
						t.Errorf("alma, %s: %s", era, facts)
					}
				case denial == access.Conceal:
					if facts != unknown {
						t.Errorf("%s, %s: %s\nan unknown tool:\n%s", user, era, facts, unknown)
					}
				case !strings.Contains(facts, reason[user]):
					t.Errorf("%s, %s: %s", user, era, facts)
				}
				devices := call("list_devices", `{}`)
				got := seen{Oslo: strings.Contains(devices, "edge-2"),
					Berlin: strings.Contains(devices, "edge-1"),
					Refused: strings.Contains(devices, "cannot apply the constraint") &&
						strings.Contains(devices, `"isError":true`)}
				if got != want[user] {
					t.Errorf("%s, %s: %+v: %s", user, era, got, devices)
				}
				if strings.Contains(facts+devices, "tenant") || strings.Contains(devices, "acme") {
					t.Errorf("%s, %s: the answer has the constraint: %s", user, era, devices)
				}
			}
		}
	}
}
