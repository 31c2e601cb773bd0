package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// blocking is a source whose boundaries allow all. Some callers of the client "agent" are blocked.
type blocking map[string]bool

func (b blocking) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	return boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"},
		Blocked: p.Client == "agent" && b[p.Subject]}, true, nil
}

func (blocking) ReadsMemoryOnly() {}

// The request of a blocked client is void: an administrator can deny it, and cannot approve it. The
// client itself gets the same refusal on each path.
func TestRequestsOfBlockedClientsAreVoid(t *testing.T) {
	kept, blocked := grant.NewMemory(), blocking{}
	source := stored.New(open(t), stored.Stored)
	a, err := admin.New(source, admin.Options{Grants: kept,
		Clients: []boundary.Party{{Issuer: "i", Client: "desk"}}})
	if err != nil {
		t.Fatal(err)
	}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("desk"): {Issuer: "i", Subject: "ada", Client: "desk",
				Roles: []string{"Admin"}},
			identity.HashToken("agent"): {Issuer: "i", Subject: "mel", Client: "agent"}}),
		Access:   runtime.AccessOptions{Boundaries: blocked},
		Catalogs: runtime.CatalogOptions{Source: source},
		Grants:   runtime.GrantOptions{Source: kept}, Admin: a.Handler,
	}, toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	handler := server.Handler()
	send := func(token, method, path string) *httptest.ResponseRecorder {
		to, r := httptest.NewRecorder(), httptest.NewRequest(method, path, nil)
		if method == "POST" {
			r = httptest.NewRequest(method, path, strings.NewReader(`{"note":"so"}`))
			r.Header.Set("Content-Type", "application/json")
		}
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(to, r)
		return to
	}
	ask := func() string {
		r, err := kept.Ask(t.Context(), grant.Request{Issuer: "i", Client: "agent", Principal: "mel",
			Permission: grant.Permission{Type: "queue.push", Resource: "mail"}, Reason: "work"})
		if err != nil {
			t.Fatal(err)
		}
		return runtime.PathAPI + "admin/mcp/grants/requests/" + r.ID
	}
	of := ask()
	blocked["mel"] = true
	if res := send("desk", "POST", of+"/approve"); res.Code != http.StatusUnprocessableEntity ||
		!strings.Contains(res.Body.String(), "the client of the request is blocked: deny the request") {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := send("desk", "POST", of+"/deny"); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	for _, path := range []string{"whoami", "mcp/tools", "mcp/tool_catalogs", "none"} {
		res := send("agent", "GET", runtime.PathAPI+path)
		if res.Code != http.StatusForbidden || res.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s: %d %s", path, res.Code, res.Body)
		}
	}
	of = ask()
	delete(blocked, "mel")
	if res := send("desk", "POST", of+"/approve"); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
	if res := send("agent", "GET", runtime.PathAPI+"whoami"); res.Code != http.StatusOK {
		t.Errorf("%d %s", res.Code, res.Body)
	}
}
