package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// What the host does not let a caller do is to that caller what does not exist.
func TestWhatTheHostHidesIsByteForByteUnknown(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.change_device")
	h.set("bob", "dcim.view_device?")
	s := aware(t, h, runtime.Options{Anonymous: true})
	url := serve(t, s)
	compared := 0
	for _, era := range eras {
		for token, hidden := range map[string][]string{"ada_Admin": {"device_get", "device_find",
			"export"}, "bob_Admin": {"device_get"}, "eve_Admin": {"whoami", "device_get"},
			"": {"whoami"}} {
			c := newRaw(t, url, token, era)
			for _, tool := range hidden {
				for _, v := range variants {
					unknown := tool[:len(tool)-1] + "_"
					got := c.call(t, tool, v.rest, v.headers).String()
					want := strings.ReplaceAll(c.call(t, unknown, v.rest, v.headers).String(),
						unknown, tool)
					if compared++; got != want {
						t.Errorf("%s as %q, %s, %s:\n%s\nunknown:\n%s", tool, token, era, v.name,
							got, want)
					}
				}
			}
		}
		c := newRaw(t, url, "ada_Admin", era)
		for _, use := range []struct{ method, hidden, unknown, from, to string }{
			{"prompts/get", `"name":"triage"`, `"name":"triag_"`, "triag_", "triage"},
			{"resources/read", `"uri":"dcim://devices"`, `"uri":"dcim://device_"`, "dcim://device_",
				"dcim://devices"},
			{"resources/read", `"uri":"dcim://sites/7"`, `"uri":"dcim://site_/7"`, "dcim://site_/7",
				"dcim://sites/7"},
			{"completion/complete",
				`"ref":{"type":"ref/prompt","name":"triage"},"argument":{"name":"a","value":""}`,
				`"ref":{"type":"ref/prompt","name":"triag_"},"argument":{"name":"a","value":""}`,
				"triag_", "triage"},
		} {
			headers := func(name string) map[string]string {
				if use.method == "completion/complete" {
					return nil
				}
				return nameOf(era, name)
			}
			got := c.ask(t, use.method, use.hidden, headers(use.to)).String()
			want := strings.ReplaceAll(c.ask(t, use.method, use.unknown,
				headers(use.from)).String(), use.from, use.to)
			if compared++; got != want {
				t.Errorf("%s, %s:\n%s\nunknown:\n%s", use.hidden, era, got, want)
			}
		}
	}
	t.Logf("%d answers compared", compared)
}

// The same where refusals may be challenges: no response names scopes to a caller who lacks the
// permission as well, or whose permissions are not known.
func TestWhatTheHostHidesIsByteForByteUnknownUnderChallenge(t *testing.T) {
	t.Parallel()
	call := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{}, nil)
	}
	g := toolset.Generated{
		Package: "x", Server: toolset.ServerInfo{Name: "x", Version: "1"},
		Table: access.Table{Rules: []access.Rule{
			{Tool: "none", Scopes: []string{"w"}, Permission: access.NoPermission()},
			{Tool: "view", Scopes: []string{"w"}, Permission: permission("dcim.view_device"),
				Denial: access.Challenge},
			{Tool: "wipe", Scopes: []string{"w"}, Permission: permission("dcim.wipe_device")},
		}},
	}
	for _, rule := range g.Table.Rules {
		g.Tools = append(g.Tools, toolset.Tool{Name: rule.Tool, Input: anyInput, Call: call})
	}
	h := newHost(nil)
	h.set("ada", "dcim.view_device?")
	s := newServer(t, runtime.Options{Host: runtime.HostOptions{Source: h}, Identity: hosted(),
		Anonymous: true,
		Access:    runtime.AccessOptions{Denial: access.Challenge}}, toolset.NewToolset(g))
	url := serve(t, s)
	for _, well := range []bool{true, false} {
		for _, era := range eras {
			for _, token := range []string{"ada_Viewer", "eve_Viewer", ""} {
				c := newRaw(t, url, token, era)
				for _, tool := range []string{"wipe", "view", "none"} {
					unknown := tool[:len(tool)-1] + "_"
					got := c.call(t, tool, "", nil).String()
					want := strings.ReplaceAll(c.call(t, unknown, "", nil).String(), unknown, tool)
					// ada lacks nothing but the scope for none: that much she may be told.
					if told := well && token == "ada_Viewer" &&
						tool == "none"; (got != want) != told {
						t.Errorf("%s %q %s, well %v: %s", era, token, tool, well, got)
					}
				}
			}
		}
		h.failing(func(context.Context) error { return errors.New("down") })
		s.InvalidateCapabilities(nil)
	}
}

func TestWhatTheHostHidesIsByteForByteUnknownOnStdio(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.change_device")
	s := aware(t, h, runtime.Options{Anonymous: true})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- s.RunIO(context.Background(), in, out, access.Principal{Subject: "ada", User: "ada",
			Role: "Admin"})
	}()
	answers := bufio.NewScanner(fromServer)
	talk := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil || !answers.Scan() {
			t.Fatalf("%s: %v", line, err)
		}
		return answers.Text()
	}
	for _, era := range []string{"2026-07-28", "2025-11-25"} {
		if era != "2026-07-28" {
			talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` +
				era + `","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		}
		c := &raw{era: era}
		compare := func(method, params, name string) {
			t.Helper()
			unknown := name[:len(name)-1] + "_"
			got := talk(c.request(method, strings.ReplaceAll(params, "NAME", name)))
			want := strings.ReplaceAll(talk(c.request(method, strings.ReplaceAll(params, "NAME",
				unknown))), unknown, name)
			if got != want || !strings.Contains(got, `"error"`) {
				t.Errorf("%s %s:\n%s\nunknown:\n%s", era, method, got, want)
			}
		}
		for _, tool := range []string{"device_get", "device_find", "export"} {
			for _, v := range variants {
				compare("tools/call", `"name":"NAME"`+v.rest, tool)
			}
		}
		compare("prompts/get", `"name":"NAME"`, "triage")
		compare("resources/read", `"uri":"NAME"`, "dcim://devices")
		compare("completion/complete",
			`"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"a","value":""}`,
			"triage")
	}
	toServer.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestDecisionsAreTracedAtDebugLevelOnly(t *testing.T) {
	t.Parallel()
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	for level, want := range map[slog.Level]bool{slog.LevelDebug: true, slog.LevelInfo: false} {
		var log lockedBuffer
		s := aware(t, h, runtime.Options{Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: level}))})
		c := newRaw(t, serve(t, s), "ada_Viewer", "2026-07-28")
		if got := c.call(t, "export", "", nil); strings.Contains(got.body, "billing") {
			t.Errorf("the caller gets: %s", got)
		}
		if got := strings.Contains(log.String(),
			"permission fails: needs billing.export, has none"); got != want {
			t.Errorf("%v: traced %v:\n%s", level, got, log.String())
		}
	}
}
