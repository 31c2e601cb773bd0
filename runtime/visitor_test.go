package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// bothWays knows the users of the directory by their tokens, and admits nobody else.
func bothWays() identity.Source {
	known := users()
	return identityFunc(func(r *http.Request) (identity.Identity, error) {
		if r.Header.Get("Authorization") == "Bearer" {
			r.Header.Del("Authorization") // what a client without a token sends in these tests
		}
		return known.Identify(r)
	})
}

type identityFunc func(*http.Request) (identity.Identity, error)

func (f identityFunc) Identify(r *http.Request) (identity.Identity, error) { return f(r) }

// desktop is an admin handler that tells who was let in and what they are listed.
func desktop(s runtime.Administered) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := s.Identify(r)
		var refused *runtime.Refusal
		switch {
		case errors.As(err, &refused):
			w.Header().Set("WWW-Authenticate", refused.Challenge)
			http.Error(w, refused.Error(), refused.Status)
			return
		case r.URL.Path == "/console/panic":
			panic("hunter2")
		}
		caller, ok := runtime.Caller(ctx)
		if !ok || runtime.RequestID(ctx) == "" || runtime.RequestID(r.Context()) != "" {
			http.Error(w, "no caller", 500)
			return
		}
		query := r.URL.Query()
		list, err := s.ListTools(ctx, catalog.Ref{ID: query.Get("catalog_id"),
			Name: query.Get("catalog")})
		if err != nil {
			http.Error(w, err.Error(), 404)
			return
		}
		fmt.Fprintf(w, "%s:", caller.Subject)
		for _, tool := range list.Tools {
			mark := ""
			if tool.Missing != "" {
				mark = "(" + tool.Missing + ")"
			}
			if tool.Off {
				mark += "(off)"
			}
			if tool.Catalogs != nil {
				mark += fmt.Sprint(tool.Catalogs)
			}
			fmt.Fprintf(w, " %s%s", tool.Tool.Name, mark)
		}
		_ = json.NewEncoder(w).Encode(list.Note)
	}), nil
}

func get(t testing.TB, url string, header ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(body)
}

func TestHandlerBesideMCPKnowsItsCallers(t *testing.T) {
	s := newServer(t, runtime.Options{Admin: desktop, Anonymous: true}, directory(&desk{}))
	base := strings.TrimSuffix(serve(t, s), runtime.PathMCP)
	for _, path := range []string{"/api/v1/", "/api/v1/mcp/tools", "/console", "/console/",
		"/console/x"} {
		if status, _, body := get(t, base+path, "Authorization", "Bearer "+
			tokens["Member"]); status != 200 || !strings.HasPrefix(body, "user-Member: create") {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if status, header, _ := get(t, base+path); status != 401 ||
			header.Get("WWW-Authenticate") != `Bearer realm="team"` {
			t.Errorf("%s, nobody: %d", path, status)
		}
		if status, header, _ := get(t, base+path, "Authorization",
			"Bearer nonsense"); status != 401 || !strings.Contains(header.Get("WWW-Authenticate"),
			"invalid_token") {
			t.Errorf("%s, a wrong token: %d", path, status)
		}
		if status, _, _ := get(t, base+path, "Authorization", "Bearer "+tokens["Member"], "Host",
			"evil.example"); status != 403 {
			t.Errorf("%s, another host: %d", path, status)
		}
		if status, _, _ := get(t, base+path, "Authorization", "Bearer "+tokens["Member"], "Origin",
			"https://evil.example"); status != 403 {
			t.Errorf("%s, another origin: %d", path, status)
		}
	}
	if status, _, body := get(t, base+"/console/panic", "Authorization", "Bearer "+
		tokens["Member"]); status != 500 || strings.Contains(body, "hunter2") {
		t.Errorf("%d %s", status, body)
	}
	for _, path := range []string{"/api", "/api/v2/", "/consoles"} {
		if status, _, _ := get(t, base+path, "Authorization", "Bearer "+
			tokens["Member"]); status != 404 {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestNobodyIsLetInBesideMCPWhereIdentityFails(t *testing.T) {
	for name, verify := range map[string]identity.Verifier{
		"an error": func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{}, errors.New("hunter2")
		},
		"panics": func(context.Context, string) (identity.Identity, error) { panic("hunter2") },
		"nobody": func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{}, nil
		},
		"expired": func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: principalOf("Admin"),
				Expires: time.Now().Add(-time.Second)}, nil
		},
	} {
		s := newServer(t, runtime.Options{Admin: desktop, Anonymous: true,
			Identity: identity.Bearer(verify)}, directory(&desk{}))
		want := 503
		if name == "expired" {
			want = 401
		}
		if status, _, body := get(t, strings.TrimSuffix(serve(t, s), "/mcp")+"/api/v1/x",
			"Authorization", "Bearer x"); status != want || strings.Contains(body, "hunter2") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	s, err := runtime.New(runtime.Options{Admin: desktop, Logger: quiet()}, directory(&desk{}))
	if err != nil {
		t.Fatal(err)
	}
	if status, _, _ := get(t, strings.TrimSuffix(serve(t, s), "/mcp")+"/api/v1/x", "Authorization",
		"Bearer x"); status != 503 {
		t.Errorf("without an identity source: %d", status)
	}
}

func TestStrangersToTheHostAreNotLetInBesideMCP(t *testing.T) {
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	for _, anonymous := range []bool{false, true} {
		s := aware(t, h, runtime.Options{Admin: desktop, Anonymous: anonymous})
		base := strings.TrimSuffix(serve(t, s), "/mcp")
		if status, _, _ := get(t, base+"/api/v1/x", "Authorization",
			"Bearer eve_Admin"); status != 403 {
			t.Errorf("%v: %d", anonymous, status)
		}
		if status, _, body := get(t, base+"/api/v1/x", "Authorization",
			"Bearer ada_Viewer"); status != 200 || !strings.Contains(body, "device_get") ||
			strings.Contains(body, "device_change") {
			t.Errorf("%v: %d %s", anonymous, status, body)
		}
	}
}

func TestListingReportsWhatCanBeExecuted(t *testing.T) {
	source := kits()
	source.off = []string{"get_by_id"}
	for _, test := range []struct {
		options     runtime.Options
		user, query string
		want        string
	}{
		{runtime.Options{}, "Viewer", "", `user-Viewer: get_all get_public_info""`},
		{runtime.Options{}, "Viewer", "catalog=reading", `user-Viewer: get_all""`},
		{runtime.Options{}, "Viewer", "catalog_id=2", `user-Viewer:""`},
		{runtime.Options{}, "Viewer", "catalog=nonsense",
			`user-Viewer: get_all get_public_info"the catalog does not exist: this list is not filtered"`},
		{runtime.Options{
			Catalogs: runtime.CatalogOptions{Strict: true}}, "Viewer", "catalog=nonsense",
			"the catalog does not exist"},
		{runtime.Options{}, "Admin", "",
			`user-Admin: create get_all get_by_id(off) get_public_info promote_to_manager update""`},
		{runtime.Options{Access: runtime.AccessOptions{AdminRole: "Manager"}}, "Manager", "",
			`user-Manager: create get_all get_by_id(off) get_public_info promote_to_manager(needs role Admin) update""`},
		{runtime.Options{}, "Manager", "", `user-Manager: create get_all get_public_info update""`},
		{runtime.Options{
			Access: runtime.AccessOptions{Denial: access.Forbid}}, "Member", "catalog=writing",
			`user-Member: create update(needs role Manager)""`},
		{runtime.Options{Lists: runtime.ListOptions{ListAll: true}}, "Member", "catalog=writing",
			`user-Member: create update(needs role Manager)""`},
		{runtime.Options{
			Access: runtime.AccessOptions{Denial: access.Challenge}}, "Member", "catalog=writing",
			`user-Member: create""`},
	} {
		test.options.Catalogs.Source, test.options.Admin = source, desktop
		s := newServer(t, test.options, directory(&desk{}))
		_, _, body := get(t, strings.TrimSuffix(serve(t, s), "/mcp")+"/api/v1/mcp/tools?"+
			test.query, "Authorization", "Bearer "+tokens[test.user])
		if strings.TrimSpace(body) != test.want {
			t.Errorf("%s, %s: %s", test.user, test.query, body)
		}
	}
}

// What is listed beside MCP with CanExecute is what a call lets through, and what MCP lists.
func TestListingBesideMCPAndListAgree(t *testing.T) {
	for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		source := &shelf{off: []string{"get_all"}}
		s := newServer(t, runtime.Options{Access: runtime.AccessOptions{Denial: denial},
			Catalogs: runtime.CatalogOptions{Source: source}}, directory(&desk{}),
			headerTool())
		for _, user := range callers[1:] {
			req, _ := http.NewRequest("GET", "/", nil)
			req.Header.Set("Authorization", "Bearer "+tokens[user])
			ctx, err := s.Identify(req)
			if err != nil {
				t.Fatal(err)
			}
			list, err := runtime.Administer(s).ListTools(ctx, catalog.Ref{})
			if err != nil {
				t.Fatal(err)
			}
			var may []string
			for _, tool := range list.Tools {
				if tool.CanExecute {
					may = append(may, tool.Tool.Name)
				}
			}
			if want := s.Visible(principalOf(user)); !slices.Equal(may, want) {
				t.Errorf("%v, %s: %v, but %v", denial, user, may, want)
			}
		}
	}
	if list, err := runtime.Administer(newServer(t, runtime.Options{},
		directory(&desk{}))).ListTools(t.Context(), catalog.Ref{}); err != nil || list.Tools != nil {
		t.Errorf("outside of a request: %+v, %v", list, err)
	}
}

// A role alone lets nobody in where the host has a say and does not say it: it may not know the
// caller any more.
func TestNobodyIsLetInBesideMCPWhileTheHostDoesNotAnswer(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"an error": func(context.Context) error { return errors.New("hunter2") },
		"hangs":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(nil)
			h.set("ada", "dcim.view_device")
			s := aware(t, h, runtime.Options{Admin: desktop})
			h.failing(fail)
			for _, token := range []string{"ada_Admin", "gone_Admin"} {
				w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/api/v1/x", nil)
				r.Host = "localhost"
				r.Header.Set("Authorization", "Bearer "+token)
				s.Handler().ServeHTTP(w, r)
				if w.Code != 503 || strings.Contains(w.Body.String(), "hunter2") {
					t.Errorf("%s, %s: %d %s", name, token, w.Code, w.Body)
				}
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatALetInCallerDoesEndsWithTheCredential(t *testing.T) {
	ends := time.Now().Add(time.Hour).Truncate(time.Second)
	s := newServer(t, runtime.Options{Identity: identity.Bearer(func(context.Context,
		string) (identity.Identity, error) {
		return identity.Identity{Principal: principalOf("Admin"), Expires: ends}, nil
	})}, directory(&desk{}))
	base, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(base, "GET", "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	ctx, err := s.Identify(r)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := ctx.Deadline(); !ok || !at.Equal(ends) || ctx.Err() != nil {
		t.Errorf("%v, %v, %v", at, ok, ctx.Err())
	}
	if cancel(); ctx.Err() == nil {
		t.Error("the request has ended, and its context has not")
	}
}
