package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestEveryErrorIsAProblem(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	const orgs = "/api/v1/admin/orgs"
	long := `{"name":"` + strings.Repeat("a", 70_000) + `"}`
	for _, c := range []struct {
		who, method, path, body string
		headers                 []string
		status                  int
		detail                  string
	}{
		{"stranger", "GET", "/api/v1/nothing", "", nil, 404, ""},
		{"root", "GET", "/api/v1/admin/nothing", "", nil, 404, ""}, {"root", "GET", "/api/v1/", "",
			nil, 404, ""},
		{"root", "GET", "/api/v1/admin/orgs/", "", nil, 404, ""}, {"", "GET", "/api/v1/nothing", "",
			nil, 401, ""}, {"", "PURGE", orgs, "", nil, 401, ""},
		{"root", "PUT", orgs, "{}", nil, 405, "GET, HEAD, POST"}, {"root", "PURGE", orgs, "", nil,
			405, "GET, HEAD, POST"}, {"root", "OPTIONS", orgs, "", nil, 405, "GET, HEAD, POST"},
		{"stranger", "DELETE", "/api/v1/mcp/tools", "", nil, 405, "GET, HEAD"},
		{"root", "POST", orgs, "", nil, 415, ""}, {"root", "POST", orgs, "x",
			[]string{"Content-Type", "text/plain"}, 415, ""}, {"root", "POST", orgs, `{"name":"x"}`,
			[]string{"Content-Type", "application/merge-patch+json"}, 415, ""},
		{"root", "POST", orgs, `{"name":"x"}`, []string{"Content-Type",
			"application/json; charset=utf-16"}, 415, ""}, {"root", "POST", orgs, `{"name":"x"}`,
			[]string{"Content-Type", "application/json", "Content-Type", "application/json"}, 415,
			""},
		{"root", "POST", orgs, `{"name":"x"}`, []string{"Content-Type", "application/cbor"}, 415,
			""},
		{"root", "POST", orgs, "", []string{"Content-Type", "application/json"}, 400, "end"},
		{"root", "POST", orgs, long, nil, 413, "65536"},
		{"root", "POST", orgs, `{"name":"x"`, nil, 400, ""},
		{"root", "POST", orgs, `{"name":"x"}{}`, nil, 400, ""},
		{"root", "POST", orgs, `{"name":"x","name":"y"}`, nil, 400, "twice"},
		{"root", "POST", orgs, `{"name":"x","n\u0061me":"y"}`, nil, 400, "twice"},
		{"root", "POST", orgs, "{\"name\":\"\xff\"}", nil, 400, ""},
		{"root", "POST", orgs, `{"name":"\ud800"}`, nil, 400, ""},
		{"root", "POST", orgs, strings.Repeat(`{"a":`, 9) + "1" + strings.Repeat("}", 9), nil, 400,
			""},
		{"root", "POST", orgs, "\xef\xbb\xbf{}", nil, 400, ""}, {"root", "POST", orgs, `{}`, nil,
			422, "name"}, {"root", "POST", orgs, `[]`, nil, 422, ""}, {"root", "POST", orgs, `null`,
			nil, 422, ""}, {"root", "POST", orgs, `"x"`, nil, 422, ""},
		{"root", "POST", orgs, `{"Name":"x"}`, nil, 422, "Name"},
		{"root", "POST", orgs, `{"name":"x","Name":"y"}`, nil, 422, "Name"},
		{"root", "POST", "/api/v1/admin/mcp/tool_catalogs", `{"name":"x","iſ_active":false}`, nil,
			422, ""}, {"root", "POST", orgs, `{"name":"x","":1}`, nil, 422, ""},
		{"root", "POST", orgs, `{"name":"x","version":3}`, nil, 422, "version"},
		{"root", "POST", orgs, `{"name":7}`, nil, 422, ""}, {"root", "POST", orgs, `{"name":""}`,
			nil, 422, ""},
		{"root", "POST", orgs, `{"name":"` + strings.Repeat("ä", 200) + `"}`, nil, 422,
			"400 bytes"},
		{"root", "PATCH", "/api/v1/admin/mcp/tool_catalogs/1", `{}`, []string{"If-Match", "*"}, 422,
			"the body changes nothing: send name, description or is_active"},
		{"root", "PATCH", "/api/v1/admin/mcp/tool_catalogs/1",
			`{"name":null}`, []string{"If-Match", "*"}, 422,
			"the body changes nothing: send name, description or is_active"},
		{"root", "PUT", "/api/v1/admin/mcp/tools/x", `{}`, nil, 422, "enabled"},
		{"root", "PUT", "/api/v1/admin/mcp/tools/x%20y", `{"enabled":true}`, nil, 422, ""},
		{"root", "GET", "/api/v1/admin/mcp/tools/" + strings.Repeat("x", 129), "", nil, 422, ""},
		{"stranger", "GET", "/api/v1/mcp/tools?catlog=kit", "", nil, 422, "catlog"},
		{"stranger", "GET", "/api/v1/mcp/tools?catalog=a&catalog=b", "", nil, 400, ""},
		{"root", "GET", orgs + "?catalog=", "", nil, 422, "catalog"},
	} {
		got := w.send(c.who, c.method, c.path, c.body, c.headers...)
		if got.status != c.status || !strings.Contains(got.body, c.detail) || c.status == 405 &&
			got.header.Get("Allow") != c.detail {
			t.Errorf("%s %s %.80s: %s", c.method, c.path, c.body, got)
		}
		if strings.Contains(got.body, "value") && strings.Contains(got.body, "aaaa") {
			t.Errorf("%s %s: what was sent comes back", c.method, c.path)
		}
	}
	if orgs, _, err := w.Orgs(t.Context(), store.Page[int64]{}); err != nil || len(orgs) != 2 {
		t.Error(orgs, err)
	}
}

func TestBodyIsTakenInEverySpellingOfItsMediaType(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for i, media := range []string{"application/json", "application/json ; charset=UTF-8",
		"Application/JSON", "application/merge-patch+json"} {
		got := w.send("root", "PATCH", fmt.Sprintf("/api/v1/admin/orgs/%d", w.acme.ID),
			fmt.Sprintf(`{"name":"acme %d"}`, i), "Content-Type", media, "If-Match", "*", "Accept",
			"application/cbor, json")
		if got.status != 200 || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s", media, got)
		}
	}
	if got := w.send("root", "HEAD", "/api/v1/admin/orgs", ""); got.status != 200 {
		t.Error(got)
	}
	if got := w.send("root", "GET", "/api/v1/admin/orgs", "what nobody reads", "Content-Type",
		"text/plain"); got.status != 200 {
		t.Error(got)
	}
}

// cookies is a server whose identity source would read a cookie.
type cookies struct{ runtime.Administered }

func (c cookies) Identify(r *http.Request) (context.Context, error) {
	if cookie, err := r.Cookie("token"); err == nil {
		r.Header.Set("Authorization", "Bearer "+cookie.Value)
	}
	return c.Administered.Identify(r)
}

func TestCookiesSayNothing(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered {
			return cookies{s}
		})
	for _, who := range []string{"", "forged"} {
		if got := w.send(who, "GET", "/api/v1/admin/orgs", "", "Cookie",
			"token=root"); got.status != 401 {
			t.Error(got)
		}
	}
	if got := w.send("member", "GET", "/api/v1/admin/orgs", "", "Cookie",
		"token=root"); got.status != 403 {
		t.Error(got)
	}
}

func TestPathsAreNotRedirected(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for path, want := range map[string]int{"/api/v1/admin//orgs": 404,
		"/api/v1/mcp/../admin/orgs": 404, "/api/v1/admin/../admin/orgs": 404,
		"/api/v1/%2e%2e/v1/mcp/tools": 404, "/api/v1/mcp/tools": 200} {
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Authorization", "Bearer root")
		rec := httptest.NewRecorder()
		if w.direct.ServeHTTP(rec, r); rec.Code != want {
			t.Errorf("%s: %d %v", path, rec.Code, rec.Header())
		}
	}
}

// ailing is a server that does not do what it should.
type ailing struct {
	runtime.Administered
	identify func(context.Context, error) (context.Context, error)
	list     func() (runtime.Listing, error)
}

func (a ailing) Identify(r *http.Request) (context.Context, error) {
	ctx, err := a.Administered.Identify(r)
	if a.identify != nil {
		return a.identify(ctx, err)
	}
	return ctx, err
}

func (a ailing) ListTools(context.Context, catalog.Ref) (runtime.Listing, error) { return a.list() }

func TestWhatGoesWrongInsideIsRefusedAndLoggedAlone(t *testing.T) {
	const tools = "/api/v1/mcp/tools"
	secret := errors.New("the password is hunter2")
	for name, c := range map[string]struct {
		ailing ailing
		path   string
		status int
		log    string
	}{
		"a panic": {ailing{list: func() (runtime.Listing, error) {
			panic(secret)
		}}, tools, 500, "hunter2"},
		"an error": {ailing{list: func() (runtime.Listing, error) {
			return runtime.Listing{}, secret
		}}, tools, 500, "hunter2"},
		"no time": {ailing{list: func() (runtime.Listing, error) {
			return runtime.Listing{}, context.DeadlineExceeded
		}}, tools, 503, "no response in time"},
		"no identity": {ailing{identify: func(context.Context, error) (context.Context, error) {
			return nil, secret
		}}, tools, 503, "hunter2"},
		"nobody": {ailing{identify: func(context.Context, error) (context.Context, error) {
			return context.Background(), nil
		}}, tools, 503, "no caller"},
		"an unknown catalog": {ailing{list: func() (runtime.Listing, error) {
			return runtime.Listing{}, fmt.Errorf("x: %w", catalog.ErrUnknown)
		}}, tools, 404, ""},
		"a token that does not hold": {ailing{identify: func(context.Context,
			error) (context.Context, error) {
			return nil, &runtime.Refusal{Status: 401, Challenge: `Bearer error="invalid_token"`,
				Reason: "the token does not hold: it has expired"}
		}}, tools, 401, ""},
		"forbidden": {ailing{identify: func(context.Context, error) (context.Context, error) {
			return nil, &runtime.Refusal{Status: 403, Reason: "forbidden"}
		}}, tools, 403, ""},
		"a caller who has left": {ailing{identify: func(ctx context.Context,
			err error) (context.Context, error) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, err
		}}, "/api/v1/admin/orgs", 503, "no response in time"},
	} {
		w := newWorld(t, engines["sqlite"](t), runtime.Options{},
			func(s runtime.Administered) runtime.Administered {
				c.ailing.Administered = s
				return c.ailing
			})
		w.nameless = strings.Contains(name, "nobody") || name == "no identity" ||
			name == "forbidden"
		got := w.send("root", "GET", c.path, "")
		if got.id != "" && c.log != "" && !strings.Contains(w.log.String(), "request_id="+got.id) {
			t.Errorf("%s: the log does not name request %s: %s", name, got.id, w.log)
		}
		if got.status != c.status || got.status == 401 &&
			got.field("detail") != "the token does not hold: it has expired" ||
			strings.Contains(got.body, "hunter2") || !strings.Contains(w.log.String(), c.log) ||
			(c.log == "") != (w.log.Len() == 0) {
			t.Errorf("%s: %s\n%s", name, got, w.log)
		}
	}
}

func TestStoreThatFailsDenies(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	all := w.operations()
	paths := map[operation]string{}
	for _, op := range all {
		paths[op] = at(op.path, w.acme.ID, w.lab.ID, w.thing(op.path, w.acmePlace(op.path)))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, remembers := w.grants.(*grant.Memory)
	free := []string{"list-tools", "list-manifests", "get-openapi-json", "get-openapi-yaml"}
	for op, path := range paths {
		for _, match := range []string{"", "*", `"1", "2"`} {
			headers := []string{"If-Match", match}
			if match == "" {
				headers = nil
			}
			got := w.send("root", op.method, path,
				w.filled(strings.ReplaceAll(rows[op.id].body, "%d", "new")), headers...)
			want := []int{503, 428}
			if slices.Contains(free, op.id) || remembers &&
				strings.Contains(op.path, "/mcp/grants") {
				want = []int{200, 201, 409} // approved or denied before
			}
			if op.id == "clear-workspace" {
				want = []int{200, 404} // which are not in the store; cleared before
			}
			if !slices.Contains(want, got.status) || strings.Contains(got.body, "sql") {
				t.Errorf("%s: %s", op.id, got)
			}
		}
		if strings.HasPrefix(op.path, "/api/v1/orgs/") {
			if got := w.send("owner", op.method, path, ""); got.status != 503 {
				t.Errorf("%s: %s", op.id, got)
			}
		}
	}
}

func TestRefusalStandsWhereItCannotBeRecorded(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.refusals.err = errors.New("the disk is full")
	for _, path := range []string{"/api/v1/admin/orgs",
		fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID)} {
		if got := w.send("member", "GET", path, ""); got.status != 403 ||
			strings.Contains(got.body, "disk") {
			t.Error(got)
		}
	}
	if !strings.Contains(w.log.String(), "the disk is full") {
		t.Error(w.log)
	}
}

func TestAPIWorksWithoutOptions(t *testing.T) {
	var direct *api.API
	newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered {
			kept := must(store.Open(t.Context(), engines["sqlite"](t)))
			t.Cleanup(func() { must(0, kept.Close()) })
			direct = must(api.New(s, kept, authority.New(s, kept, stored.Stored), api.Options{}))
			return s
		})
	for who, want := range map[string]int{"root": 200, "member": 403} {
		r := httptest.NewRequest("GET", "/api/v1/admin/orgs", nil)
		r.Header.Set("Authorization", "Bearer "+who)
		rec := httptest.NewRecorder()
		if direct.ServeHTTP(rec, r); rec.Code != want {
			t.Errorf("%s: %d %s", who, rec.Code, rec.Body)
		}
	}
}

func TestBodyThatDoesNotComeIsRefused(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	r := httptest.NewRequest("POST", "/api/v1/admin/orgs", iotest.ErrReader(errors.New("gone")))
	r.Header.Set("Authorization", "Bearer root")
	r.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	if w.direct.ServeHTTP(rec, r); rec.Code != 400 || strings.Contains(rec.Body.String(), "gone") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestConnectionIsCutWhereAHandlerRequestsIt(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered {
			return ailing{Administered: s, list: func() (runtime.Listing, error) {
				panic(http.ErrAbortHandler)
			}}
		})
	defer func() {
		if p := recover(); p != http.ErrAbortHandler {
			t.Errorf("%v", p)
		}
	}()
	w.send("root", "GET", "/api/v1/mcp/tools", "")
}

// TestNobodyIsLetInWhereAnonymousCallersAre: the server of these tests admits anonymous callers to
// MCP.
func TestNobodyIsLetInWhereAnonymousCallersAre(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	got := w.send("", "GET", "/api/v1/mcp/tools", "")
	if got.status != 401 || strings.Contains(got.header.Get("WWW-Authenticate"), "error") {
		t.Error(got)
	}
	if got := w.send("forged", "GET", "/api/v1/mcp/tools", ""); got.status != 401 ||
		!strings.Contains(got.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Error(got)
	}
}
