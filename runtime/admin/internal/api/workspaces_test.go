package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// spaces is a sandbox with the workspaces of some clients.
type spaces struct {
	folder string
	mu     sync.Mutex
	kept   map[isolate.Client]bool
	err    error // of clearing
}

func (s *spaces) keep(client isolate.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[isolate.Client]bool{}
	}
	s.kept[client] = true
}

func (*spaces) Start(isolate.Start) error { return nil }

func (*spaces) Enter(ctx context.Context, _ isolate.Client) (context.Context, func()) {
	return ctx, func() {}
}

func (*spaces) Isolate(context.Context, isolate.Call) (json.RawMessage, error) {
	return nil, errors.New("nothing is isolated here")
}

func (s *spaces) Folder() string { return s.folder }

func (s *spaces) ClearWorkspace(_ context.Context, client isolate.Client) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.kept[client]
	delete(s.kept, client)
	return found, s.err
}

func TestWorkspacesAreCleared(t *testing.T) {
	const clear = "/api/v1/admin/mcp/workspaces/clear"
	const body = `{"issuer":"https://id.example","client":"desk"}`
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	desk, other := isolate.Client{Issuer: issuer, ID: "desk"},
		isolate.Client{Issuer: "https://other.example", ID: "desk"}
	w.spaces.keep(desk)
	w.spaces.keep(other)
	if got := w.send("owner", "POST", clear, body); got.status != 403 || !w.spaces.kept[desk] {
		t.Error(got)
	}
	w.refusals.take()
	if got := w.send("root", "POST", clear, body); got.status != 200 ||
		got.field("client") != "desk" || w.spaces.kept[desk] || !w.spaces.kept[other] {
		t.Errorf("%s, %v", got, w.spaces.kept)
	}
	events := w.refusals.take()
	if len(events) != 1 || events[0].Action != "clear workspace" ||
		events[0].Object != `workspace of client "desk" of https://id.example` ||
		events[0].Principal != "root" {
		t.Errorf("%+v", events)
	}
	if got := w.send("root", "POST", clear, body); got.status != 404 ||
		!strings.Contains(got.field("detail"), "check the spelling") {
		t.Error(got)
	}
	if got := w.send("root", "POST", clear, `{"issuer":"","client":"a\u0000"}`); got.status != 422 {
		t.Error(got)
	}
	if events := w.refusals.take(); len(events) > 0 {
		t.Errorf("recorded: %+v", events)
	}
	// It has a new one, which is recorded, though parts of the old one are left.
	w.spaces.keep(desk)
	w.spaces.err = errors.New("the disk is gone")
	if got := w.send("root", "POST", clear, body); got.status != 500 ||
		strings.Contains(got.body, "disk") {
		t.Error(got)
	}
	if events := w.refusals.take(); len(events) != 1 {
		t.Errorf("%+v", events)
	}

	none := newWorld(t, engines["sqlite"](t), runtime.Options{Sandbox: &spaces{}})
	if got := none.send("root", "POST", clear, body); got.status != 404 ||
		strings.Contains(got.field("detail"), "check the spelling") {
		t.Error(got)
	}
	for _, op := range none.operations() {
		if op.id == "clear-workspace" {
			t.Error("it is described where there are no workspaces")
		}
	}
}
