package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func open(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestServerMountsTheAPIWithTheMembershipsThatAreConfigured(t *testing.T) {
	s := open(t)
	org, err := s.CreateOrg(t.Context(), "acme", audit.Event{})
	if err != nil {
		t.Fatal(err)
	}
	if org.ID != 1 {
		t.Fatal(org)
	}
	claims := access.Principal{Subject: "claims",
		Orgs: []access.Membership{{Name: "acme", Standing: access.Owner}}}
	if _, err := s.AddMember(t.Context(), store.InOrg(org.ID), "", "member", access.Owner,
		audit.Event{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		memberships stored.Memberships
		want        map[string]int
	}{
		{stored.Stored, map[string]int{"claims": 404, "member": 200}},
		{stored.Claimed(""), map[string]int{"claims": 200, "member": 404}},
	} {
		var refused atomic.Int64
		source := stored.New(s, tt.memberships)
		a, err := admin.New(source,
			admin.Options{Audit: audit.SinkFunc(func(context.Context, audit.Event) error {
				refused.Add(1)
				return nil
			})})
		if err != nil {
			t.Fatal(err)
		}
		server, err := runtime.New(runtime.Options{
			Identity: identity.Static(map[string]access.Principal{
				identity.HashToken("claims"): claims,
				identity.HashToken("member"): {Subject: "member"}}),
			Catalogs: runtime.CatalogOptions{Source: source},
			Admin:    a.Handler,
		}, toolset.NewToolset(toolset.Generated{Package: "example.com/none",
			Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
		if err != nil {
			t.Fatal(err)
		}
		handler := server.Handler()
		for who, status := range tt.want {
			r := httptest.NewRequest("GET", runtime.PathAPI+"orgs/1/mcp/tool_catalogs", nil)
			r.Header.Set("Authorization", "Bearer "+who)
			rec := httptest.NewRecorder()
			if handler.ServeHTTP(rec, r); rec.Code != status {
				t.Errorf("%s: %d %s", who, rec.Code, rec.Body)
			}
		}
		if refused.Load() != 1 {
			t.Errorf("%d refusals were recorded", refused.Load())
		}
	}
}

func TestWhatCannotWorkTogetherIsRefused(t *testing.T) {
	if _, err := admin.New(nil, admin.Options{}); err == nil || !strings.Contains(err.Error(),
		"stored.New") {
		t.Error(err)
	}
	s := open(t)
	a, err := admin.New(stored.New(s, stored.Claimed("https://id.example")), admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	set := toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}})
	for _, other := range []catalog.Source{nil, stored.New(s, stored.Claimed("https://id.example")),
		stored.New(s, stored.Stored)} {
		if _, err := runtime.New(runtime.Options{Catalogs: runtime.CatalogOptions{Source: other},
			Admin: a.Handler},
			set); err == nil || !strings.Contains(err.Error(),
			"Options.Admin: the server's catalogs have another source: set "+
				"Options.Catalogs.Source to the one passed to admin.New") {
			t.Errorf("%v: %v", other, err)
		}
	}
}

// byValue is a registry that cannot be compared.
type byValue struct {
	*grant.Memory
	_ []int
}

func TestServerThatDecidesByOtherGrantsIsRefused(t *testing.T) {
	s, kept := open(t), grant.NewMemory()
	source := stored.New(s, stored.Stored)
	set := toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}})
	for _, tt := range []struct {
		served  grant.Source
		kept    grant.Registry
		message string
	}{
		{kept, kept, ""}, {kept, nil, ""}, {nil, nil, ""},
		{grant.NewMemory(), kept, "the server's grants have another source: set " +
			"Options.Grants.Source to the value of admin.Options.Grants"},
		{nil, kept, "the server's grants have another source: set Options.Grants.Source to the value " +
			"of admin.Options.Grants"},
		{byValue{Memory: kept}, byValue{Memory: kept}, "pass a pointer"},
		{byValue{Memory: kept}, kept, "the server's grants have another source: set " +
			"Options.Grants.Source to the value of admin.Options.Grants"},
	} {
		a, err := admin.New(source, admin.Options{Grants: tt.kept})
		if err != nil {
			t.Fatal(err)
		}
		server, err := runtime.New(runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Grants: runtime.GrantOptions{Source: tt.served},
			Admin:  a.Handler}, set)
		if server != nil { // it reads the store until then
			t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
		}
		if tt.message == "" && err != nil || tt.message != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.message)) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestRefusalsAreKeptWhereNoSinkIsNamed(t *testing.T) {
	s := open(t)
	source := stored.New(s, stored.Stored)
	a, err := admin.New(source, admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("bob"): {Subject: "bob"}}),
		Catalogs: runtime.CatalogOptions{Source: source}, Admin: a.Handler,
	}, toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", runtime.PathAPI+"admin/orgs", nil)
	r.Header.Set("Authorization", "Bearer bob")
	rec := httptest.NewRecorder()
	server.Handler().ServeHTTP(rec, r)
	r = httptest.NewRequest("GET", runtime.PathConsole+"/tools", nil)
	r.Header.Set("Cookie", "__Secure-mcpgen-console=bob")
	again := httptest.NewRecorder()
	server.Handler().ServeHTTP(again, r)
	events, _, err := s.Events(t.Context(), store.Page[int64]{})
	if err != nil || rec.Code != 403 || again.Code != 403 || len(events) != 2 {
		t.Fatalf("%d, %d, %+v, %v", rec.Code, again.Code, events, err)
	}
	for _, e := range events {
		if e.Event.Principal != "bob" || e.Event.Failure != audit.Denied ||
			e.Event.RequestID == "" {
			t.Errorf("%+v", e)
		}
	}
}

// administered is a server with the API and the console, and one admin, root.
func administered(t *testing.T) *runtime.Server {
	t.Helper()
	s := open(t)
	source := stored.New(s, stored.Stored)
	a, err := admin.New(source, admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("root"): {Subject: "root", Roles: []string{"Admin"}}}),
		Catalogs: runtime.CatalogOptions{Source: source},
		Admin:    a.Handler,
	}, toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// TestExportsOfTheAPIAndTheConsoleShareTheirPlaces has readers of the API that wait, so that the
// console has none left.
func TestExportsOfTheAPIAndTheConsoleShareTheirPlaces(t *testing.T) {
	server := administered(t)
	handler := server.Handler()
	export := func(w http.ResponseWriter, path string) {
		r := httptest.NewRequest("GET", path, nil)
		if path == console {
			r.Header.Set("Cookie", "__Secure-mcpgen-console=root")
		} else {
			r.Header.Set("Authorization", "Bearer root")
		}
		handler.ServeHTTP(w, r)
	}
	end, begun := make(chan struct{}), make(chan struct{}, front.MaxExports)
	var waiting sync.WaitGroup
	for range front.MaxExports {
		waiting.Go(func() {
			export(&pausing{httptest.NewRecorder(), begun, end}, api.PathAuditExport)
		})
	}
	for range front.MaxExports {
		<-begun
	}
	for _, path := range []string{api.PathAuditExport, console} {
		rec := httptest.NewRecorder()
		if export(rec, path); rec.Code != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
	close(end)
	waiting.Wait()
	for _, path := range []string{api.PathAuditExport, console} {
		rec := httptest.NewRecorder()
		if export(rec, path); rec.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

const console = runtime.PathConsole + "/audit/export"

// pausing is an answer that is not taken until end is closed.
type pausing struct {
	*httptest.ResponseRecorder
	begun chan<- struct{}
	end   <-chan struct{}
}

func (p *pausing) Write(b []byte) (int, error) {
	select {
	case <-p.end:
	default:
		p.begun <- struct{}{}
		<-p.end
	}
	return p.ResponseRecorder.Write(b)
}

// TestFailuresOfAllDoorsAreCountedTogether has an address fail at the API, and then try every door.
func TestFailuresOfAllDoorsAreCountedTogether(t *testing.T) {
	s := open(t)
	source := stored.New(s, stored.Stored)
	a, err := admin.New(source, admin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server, err := runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("root"): {Subject: "root", Roles: []string{"Admin"}}}),
		Catalogs: runtime.CatalogOptions{Source: source},
		Admin:    a.Handler,
		HTTP:     runtime.HTTPOptions{Hosts: []string{"127.0.0.1"}},
	}, toolset.NewToolset(toolset.Generated{Package: "example.com/none",
		Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	web := httptest.NewServer(server.Handler())
	t.Cleanup(web.Close)
	client := web.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	send := func(door, token string) *http.Response {
		t.Helper()
		method, path, _ := strings.Cut(door, " ")
		body := ""
		if strings.HasSuffix(path, "/sign-in") {
			body = url.Values{"token": {token}}.Encode()
		}
		r, err := http.NewRequest(method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case body != "":
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", web.URL)
		case strings.HasPrefix(path, runtime.PathConsole):
			r.Header.Set("Cookie", "__Secure-mcpgen-console="+token)
		default:
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	const api = "GET " + runtime.PathAPI + "admin/orgs"
	for sent := 0; send(api, "wrong").StatusCode != http.StatusTooManyRequests; sent++ {
		if sent == 10_000 {
			t.Fatal("no 429")
		}
	}
	for door, valid := range map[string]int{
		api: 200, "GET " + runtime.PathConsole + "/tools": 200, "POST " + runtime.PathConsole +
			"/sign-in": 303, "GET " + runtime.PathMCP: 400, "DELETE " + runtime.PathMCP: 400,
		"POST " + runtime.PathMCP: 415,
	} {
		res := send(door, "wrong")
		if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") < "1" {
			t.Errorf("%s: %d %v", door, res.StatusCode, res.Header)
		}
		if res := send(door, "root"); res.StatusCode != valid ||
			res.Header.Get("Retry-After") != "" || valid == 303 &&
			res.Header.Get("Location") != runtime.PathConsole {
			t.Errorf("%s with a valid token: %d %v", door, res.StatusCode, res.Header)
		}
	}
}

// A path in another form is not found. A redirect would lack a prefix that a proxy has removed.
func TestNoPathOfTheAdministrationIsRedirected(t *testing.T) {
	server := administered(t)
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	handler := server.Handler()
	for _, path := range []string{"/api/v1", "/api/v1//whoami", "/api/v1/./whoami",
		"/api/v1/../mcp", "/api/v1/../../mcp", "/api/v1/whoami/", "/console//tools",
		"/console/./tools", "/console/../mcp", "/console/tools/", "/console/%2e%2e/mcp"} {
		for _, method := range []string{"GET", "POST", "HEAD", "CONNECT"} {
			for _, token := range []string{"", "root"} {
				r := httptest.NewRequest(method, path, nil)
				if token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
					r.Header.Set("Cookie", "__Secure-mcpgen-console="+token)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				if w.Code == http.StatusMovedPermanently || w.Code == http.StatusTemporaryRedirect {
					t.Errorf("%s %s of %q: %d %s", method, path, token, w.Code, w.Header().Get("Location"))
				}
			}
		}
	}
}
