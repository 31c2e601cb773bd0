package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
)

func TestLostPermissionIsGoneWithTheNextRequestAfterInvalidation(t *testing.T) {
	w := agentWorld(t, func(*settings) {})
	for _, era := range eras {
		c := w.connect(w.token("dns-agent"), era)
		before := c.tools()
		w.host.send("take", "svc-dns", "dcim.rename_device")
		// The answer of before counts for an hour.
		if got := c.tools(); !slices.Equal(got, before) {
			t.Errorf("%s: %q, were %q", era, got, before)
		}
		w.server.InvalidateCapabilities(runtime.OfUser("svc-dns"))
		if err := c.use("tool", "rename_device", tools["rename_device"].ask); err == nil ||
			!strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: the call after it: %v", era, err)
		}
		if got, want := c.tools(), []string{"get_dns_record", "list_dns_records"}; !slices.Equal(
			got, want) {
			t.Errorf("%s: %q, want %q", era, got, want)
		}
		w.host.send("give", "svc-dns", "dcim.rename_device")
		w.server.InvalidateCapabilities(nil)
		if got := c.tools(); !slices.Equal(got, before) {
			t.Errorf("%s: given back: %q, want %q", era, got, before)
		}
	}
}

// Without -cache each message reads the host.
func TestLostPermissionIsGoneWithTheNextRequest(t *testing.T) {
	w := agentWorld(t, func(s *settings) { s.cache = 0 })
	for _, era := range eras {
		c := w.connect(w.token("dns-agent"), era)
		if got := c.tools(); !slices.Contains(got, "rename_device") {
			t.Fatalf("%s: %q", era, got)
		}
		w.host.send("take", "svc-dns", "dcim.rename_device")
		err := c.use("tool", "rename_device", tools["rename_device"].ask)
		if err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: %v", era, err)
		}
		w.host.send("give", "svc-dns", "dcim.rename_device")
	}
}

func TestLostPermissionIsGoneWithinTheCachePeriod(t *testing.T) {
	w := agentWorld(t, func(s *settings) { s.cache = 300 * time.Millisecond })
	c := w.connect(w.token("dns-agent"), "2026-07-28")
	before := c.tools()
	w.host.send("take", "svc-dns", "dcim.rename_device")
	for slices.Contains(c.tools(), "rename_device") { // until the period is over
	}
	if err := c.use("tool", "rename_device", tools["rename_device"].ask); err == nil {
		t.Error("it is not listed and can be called")
	}
	if !slices.Contains(before, "rename_device") {
		t.Errorf("it was not there before: %q", before)
	}
}

func TestUserWhoIsNotActiveAnyMoreIsNobody(t *testing.T) {
	w := agentWorld(t, func(*settings) {})
	token := w.token("dns-agent")
	c := w.raw(token, "2025-11-25")
	if c.ask("tools/list", "", ""); c.status != 200 {
		t.Fatal(c.status)
	}
	w.host.send("activate", "svc-dns", false)
	w.server.InvalidateCapabilities(nil)
	if got := c.ask("tools/list", "", ""); c.status != 403 {
		t.Error(got)
	}
	w.isNobody(token)
	w.host.send("activate", "svc-dns", true)
	w.server.InvalidateCapabilities(nil)
	if got := c.ask("tools/list", "", ""); c.status != 200 ||
		!strings.Contains(got, "rename_device") {
		t.Error(got)
	}
}

// peopleWorld has users who name themselves in their tokens.
func peopleWorld(t testing.TB, change func(*settings)) *world {
	t.Helper()
	db := testdb.SQLite(t)
	h := newHost(t, db)
	h.send("user", "svc-dns", task)
	h.send("user", "mara", []string{"dcim.view_device", "dcim.delete_device"})
	h.send("user", "vera", []string{"dcim.view_device"})
	return newWorld(t, db, h, map[string]claims{
		"dns-agent": of("svc-dns", ""), "mara": of("mara", "Manager"), "vera": of("vera", "Viewer"),
	}, change)
}

// A role is in the token: who loses it has it until the token ends, and the next one is without it,
// on the same session too.
func TestLostRoleIsGoneWithTheNextToken(t *testing.T) {
	w := peopleWorld(t, func(*settings) {})
	for _, era := range eras {
		w.provider.change(map[string]any{"claims": map[string]claims{
			"mara": of("mara", "Manager")}})
		c := w.connect(w.token("mara"), era)
		high := []string{"check_references", "delete_device", "get_device", "list_devices"}
		if got := c.tools(); !slices.Equal(got, high) {
			t.Errorf("%s: %q, want %q", era, got, high)
		}
		w.provider.change(map[string]any{"claims": map[string]claims{"mara": of("mara", "Viewer")}})
		c.token.Store(w.token("mara"))
		for _, name := range []string{"check_references", "delete_device"} {
			if err := c.use("tool", name, tools[name].ask); err == nil ||
				!strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("%s: %s without the role: %v", era, name, err)
			}
		}
		if got, want := c.tools(), []string{"get_device", "list_devices"}; !slices.Equal(
			got, want) {
			t.Errorf("%s: without the role %q, want %q", era, got, want)
		}
	}
}

func TestTokenThatHasEndedIsRefusedAndAFreshOneIsNot(t *testing.T) {
	w := peopleWorld(t, func(s *settings) { s.leeway = time.Millisecond })
	for _, era := range eras[1:] {
		w.provider.change(map[string]any{"ttl": 600})
		c := w.raw(w.token("vera"), era)
		w.provider.change(map[string]any{"ttl": 1})
		c.token = w.token("vera")
		ended := c.ask("tools/list", "", "")
		for c.status == 200 { // until the token ends
			ended = c.ask("tools/list", "", "")
		}
		if c.status != 401 || !strings.Contains(ended, "Www-Authenticate") ||
			strings.Contains(ended, "list_devices") {
			t.Errorf("%s: %s", era, ended)
		}
		if got := c.ask("tools/call", "list_devices",
			`"name":"list_devices","arguments":{}`); c.status != 401 {
			t.Errorf("%s: a call: %s", era, got)
		}
		w.provider.change(map[string]any{"ttl": 600})
		c.token = w.token("vera")
		if got := c.ask("tools/list", "", ""); c.status != 200 ||
			!strings.Contains(got, "list_devices") {
			t.Errorf("%s: a fresh token on the same session: %s", era, got)
		}
	}
}

func TestChangesAreSentToTheSessionsConcerned(t *testing.T) {
	w := peopleWorld(t, func(*settings) {})
	for _, era := range eras[1:] {
		sessions := map[string]*client{}
		for _, name := range []string{"agent 1", "agent 2", "mara", "vera"} {
			client := name
			if strings.HasPrefix(name, "agent") {
				client = "dns-agent"
			}
			c := w.connect(w.token(client), era)
			c.tools()
			sessions[name] = c
		}
		for _, test := range []struct {
			order, user, permission string
			want                    map[string][]string
		}{
			{"take", "svc-dns", "dcim.rename_device",
				map[string][]string{"agent 1": {"tools"}, "agent 2": {"tools"}}},
			{"take", "svc-dns", "dcim.view_dnsrecord",
				map[string][]string{"agent 1": {"prompts", "resources", "tools"},
					"agent 2": {"prompts", "resources", "tools"}}},
			{"give", "vera", "dcim.delete_device", nil}, // her role hides it all the same
			{"give", "vera", "dcim.add_device", map[string][]string{"vera": {"tools"}}},
			{"take", "mara", "dcim.delete_device",
				map[string][]string{"mara": {"prompts", "tools"}}},
		} {
			w.host.send(test.order, test.user, test.permission)
			w.server.InvalidateCapabilities(nil)
			for _, name := range slices.Sorted(maps.Keys(test.want)) {
				var got []string
				for range test.want[name] {
					got = append(got, sessions[name].next())
				}
				if slices.Sort(got); !slices.Equal(got, test.want[name]) {
					t.Errorf("%s, %s %s of %s: %s gets %q, want %q", era, test.order,
						test.permission, test.user, name, got, test.want[name])
				}
			}
			for _, c := range sessions {
				c.tools()
			}
		}
		// A wrong notification would have arrived before the last expected one.
		for name, c := range sessions {
			if len(c.changes) > 0 {
				t.Errorf("%s: %s also gets %q", era, name, <-c.changes)
			}
			_ = c.Close()
		}
		w.host.send("give", "svc-dns", "dcim.rename_device")
		w.host.send("give", "svc-dns", "dcim.view_dnsrecord")
		w.host.send("take", "vera", "dcim.delete_device")
		w.host.send("take", "vera", "dcim.add_device")
		w.host.send("give", "mara", "dcim.delete_device")
		w.server.InvalidateCapabilities(nil)
	}
}
