package console_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// spaces are the workspaces of some clients.
type spaces struct {
	kept map[isolate.Client]bool
	err  error
}

func (*spaces) Folder() string { return "/workspaces" }

func (s *spaces) ClearWorkspace(_ context.Context, client isolate.Client) (bool, error) {
	found := s.kept[client]
	delete(s.kept, client)
	return found, s.err
}

func TestAnAdminClearsAWorkspace(t *testing.T) {
	w := onSQLite(t)
	desk, other := isolate.Client{Issuer: issuer, ID: "desk"}, isolate.Client{ID: "desk"}
	w.machine.spaces.kept[desk], w.machine.spaces.kept[other] = true, true
	var events []audit.Event
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		events = append(events, e)
		return nil
	})
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored),
		console.Options{Logger: slog.New(slog.DiscardHandler), Audit: sink})

	page(t, w.get("token-admin", "/console"), http.StatusOK, `href="/console/workspaces"`)
	page(t, w.get("token-admin", "/console/workspaces"), http.StatusOK, `name="issuer" value="`+
		issuer+`"`, "Clear the workspace</button>")
	page(t, w.post("token-admin", "/console/workspaces", form("issuer", issuer)),
		http.StatusUnprocessableEntity, `aria-describedby="client-wrong"`)
	cleared := form("issuer", issuer, "client", "desk")
	page(t, w.post("token-owner", "/console/workspaces", cleared), http.StatusForbidden)
	if !w.machine.spaces.kept[desk] {
		t.Fatal("who is no admin has cleared it")
	}
	events = nil
	page(t, w.get("token-admin", led(t, w.post("token-admin", "/console/workspaces", cleared),
		"/console/workspaces?done=workspace-cleared")), http.StatusOK, "The workspace is cleared")
	if w.machine.spaces.kept[desk] || !w.machine.spaces.kept[other] {
		t.Errorf("%v are left", w.machine.spaces.kept)
	}
	if len(events) != 1 || events[0].Type != audit.Changed ||
		events[0].Action != "clear workspace" || events[0].Principal != "ada" ||
		len(events[0].Arguments) != 2 {
		t.Errorf("%+v", events)
	}
	page(t, w.post("token-admin", "/console/workspaces", cleared), http.StatusNotFound,
		"no workspace at this replica")
	w.machine.spaces.err = errors.New("the disk is gone")
	if body := page(t, w.post("token-admin", "/console/workspaces", cleared),
		http.StatusInternalServerError); strings.Contains(body, "disk") {
		t.Error(body)
	}

	w.machine.spaces = nil
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored),
		console.Options{Logger: slog.New(slog.DiscardHandler)})
	page(t, w.get("token-admin", "/console/workspaces"), http.StatusNotFound)
	if body := page(t, w.get("token-admin", "/console"), http.StatusOK); strings.Contains(body,
		"workspaces") {
		t.Error("the console has workspaces that it should not have")
	}
}
