package console_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	bounds "github.com/mcpgen/mcpgen/runtime/boundary/stored"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var (
	cell = regexp.MustCompile(`(?s)<t[dh][ >].*?</t[dh]>|<t[dh]>.*?</t[dh]>`)
	tag  = regexp.MustCompile(`(?s)<[^>]*>`)
)

// rows returns the text of the cells of a page's tables, by rows.
func rows(body string) (all [][]string) {
	for _, row := range strings.Split(body, "<tr")[1:] {
		var cells []string
		for _, c := range cell.FindAllString(row, -1) {
			cells = append(cells, html.UnescapeString(
				strings.Join(strings.Fields(tag.ReplaceAllString(c, " ")), " ")))
		}
		all = append(all, cells)
	}
	return all
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// browser says where a form comes from.
type browser struct{ http.RoundTripper }

func (b browser) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		r = r.Clone(r.Context())
		r.Header.Set("Origin", "http://"+r.URL.Host)
	}
	return b.RoundTripper.RoundTrip(r)
}

// The console on a real server over real HTTP, with a client that keeps cookies as browsers do.
func TestConsoleOfAServer(t *testing.T) {
	ctx := t.Context()
	started := time.Now().Truncate(time.Millisecond) // the store keeps no nanoseconds
	dir := must(directory.Open(ctx, "Orange", filepath.Join(t.TempDir(), "team.db")))
	defer dir.Close()
	s := must(store.Open(ctx, testdb.Stores["sqlite"](t)))
	defer s.Close()
	const token = "token-of-ada-0123456789"
	log := new(bytes.Buffer)
	source := stored.New(s, stored.Stored)
	server := must(runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken(token): {Issuer: "team", Subject: "ada", Roles: []string{"Admin"}}}),
		Catalogs: runtime.CatalogOptions{Source: source},
		Admin: must(admin.New(source, admin.Options{
			Audit:  audit.SinkFunc(func(context.Context, audit.Event) error { return nil }),
			Logger: slog.New(slog.NewTextHandler(log, nil)),
		})).Handler,
	}, directory.Toolset(dir)))
	defer func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	client := web.Client()
	client.Jar = must(cookiejar.New(nil))
	client.Transport = browser{client.Transport}
	read := func(res *http.Response) (body string) {
		t.Helper()
		defer res.Body.Close()
		var b bytes.Buffer
		must(b.ReadFrom(res.Body))
		if res.StatusCode != http.StatusOK {
			t.Errorf("%d: %s", res.StatusCode, &b)
		}
		return strings.ReplaceAll(b.String(), "<wbr>", "")
	}
	contains := func(body string, want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%q is not on the page: %s", text, body)
			}
		}
	}
	contains(read(must(client.Get(web.URL+"/console/matrix"))), "Sign in", "Team directory",
		`value="/console/matrix"`)
	contains(read(must(client.PostForm(web.URL+"/console/sign-in", url.Values{"token": {"wrong"}}))),
		"The server rejects this token: it has expired, is for another server, or is incomplete.")
	contains(read(must(client.PostForm(web.URL+"/console/sign-in",
		url.Values{"token": {token}, "next": {"/console/matrix"}}))),
		"Signed in as <b>ada</b>", "promote_to_manager", "401 over HTTP")
	for _, at := range []string{"/console", "/console/"} {
		contains(read(must(client.Get(web.URL+at))), "<h1>Overview</h1>")
	}
	// The document that mcpgen draws of the same code says the same.
	document := strings.NewReplacer("`", "", "✓", "yes", " ", "").Replace(
		string(must(os.ReadFile("../../../examples/team/directory/MCP.md"))))
	drawn := 0
	for _, cells := range rows(read(must(client.Get(web.URL + "/console/matrix")))) {
		if len(cells) == 1 {
			continue // of a kind
		}
		line := "|"
		for _, cell := range cells[:len(cells)-1] {
			if strings.HasPrefix(cell, "-") {
				cell = ""
			}
			// The document names fields by their package.
			line += strings.TrimPrefix(strings.ReplaceAll(cell, " ", ""),
				"github.com/mcpgen/mcpgen/examples/team/") + "|"
		}
		if drawn++; drawn > 1 && !strings.Contains(document, line) {
			t.Errorf("MCP.md does not say %s", line)
		}
	}
	if drawn != 15 {
		t.Errorf("%d rows", drawn)
	}

	contains(read(must(client.PostForm(web.URL+"/console/catalogs",
		url.Values{"scope": {"global"}, "name": {"kit"}, "active": {"on"}}))),
		"The catalog is created. Add tools to it.", `<option value="update">`)
	contains(read(must(client.Get(web.URL+"/console/catalogs"))), "kit", "onboarding")
	contains(read(must(client.Get(web.URL+"/console/declared?name=onboarding"))), "code:onboarding",
		"get_by_id")
	contains(read(must(client.PostForm(web.URL+"/console/tools",
		url.Values{"tool": {"update"}, "off": {"yes"}}))), "The tool is switched off")
	contains(read(must(client.Get(web.URL+"/console/principal?show=1&subject=mel&role=Manager"))),
		"switched off", "needs role Admin")

	// Who asked is in the audit, with the request's id and what the form said by digest.
	events, _, err := s.Events(ctx, store.Page[int64]{})
	if err != nil || len(events) != 2 {
		t.Fatalf("%v, %v", events, err)
	}
	e := events[0]
	if e.Issuer != "team" || e.Principal != "ada" || e.Client != "ada" || !slices.Equal(e.Roles,
		[]string{"Admin"}) ||
		e.RequestID == "" || e.Action != "create catalog" || len(e.Arguments) != 3 ||
		e.Arguments[1].Name != "name" || e.Arguments[1].Bytes != 5 || e.Time.Before(started) {
		t.Errorf("%+v", e)
	}
	if strings.Contains(log.String(), token) {
		t.Errorf("the token is in the log: %s", log)
	}
}

// administered returns a server of the example team with boundaries in a store. Its administrator
// has a token of the console and one of an agent.
func administered(t *testing.T, optional bool) (*runtime.Server, *store.Store, *bounds.Source) {
	t.Helper()
	ctx := t.Context()
	dir := must(directory.Open(ctx, "Orange", filepath.Join(t.TempDir(), "team.db")))
	t.Cleanup(func() { dir.Close() })
	s := must(store.Open(ctx, testdb.Stores["sqlite"](t)))
	t.Cleanup(func() { s.Close() })
	source, boundaries := stored.New(s, stored.Stored), bounds.New(s)
	by := func(client string) access.Principal {
		return access.Principal{Issuer: "team", Subject: "ada", Client: client, Roles: []string{"Admin"}}
	}
	server := must(runtime.New(runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("token-of-the-console"): by("console"),
			identity.HashToken("token-of-the-agent"):   by("agent")}),
		Access:   runtime.AccessOptions{Boundaries: boundaries, BoundariesOptional: optional},
		Catalogs: runtime.CatalogOptions{Source: source},
		Admin: must(admin.New(source, admin.Options{
			Clients: []boundary.Party{{Issuer: "team", Client: "console"}}})).Handler,
	}, directory.Toolset(dir)))
	return server, s, boundaries
}

// An administrator blocks an agent by one PATCH, and finds its boundary in the console. The agent's
// next request is refused, and the administrator's own are not, though the agent has its roles.
func TestPatchBlocksAClient(t *testing.T) {
	ctx := t.Context()
	server, _, boundaries := administered(t, true)
	defer func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	send := func(token, method, path, body, match string) (int, string, http.Header) {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		if match != "" {
			r.Header.Set("If-Match", match)
		}
		rec := httptest.NewRecorder()
		server.Handler().ServeHTTP(rec, r)
		return rec.Code, rec.Body.String(), rec.Header()
	}
	const console, agent, path = "token-of-the-console", "token-of-the-agent",
		"/api/v1/admin/boundaries"
	if code, body, _ := send(agent, "GET", path, "", ""); code != 403 {
		t.Errorf("an agent with the roles of an administrator: %d %s", code, body)
	}
	code, body, header := send(console, "POST", path,
		`{"issuer":"team","client":"agent","roles":"*","items":["tool:get_all"]}`, "")
	if code != 201 {
		t.Fatal(code, body)
	}
	if code, body, _ := send(agent, "GET", "/api/v1/whoami", "", ""); code != 200 {
		t.Errorf("%d %s", code, body)
	}
	changes := boundaries.Changes(ctx)
	<-changes // of the start
	if code, body, _ := send(console, "PATCH", header.Get("Location"), `{"blocked":true}`,
		header.Get("ETag")); code != 200 {
		t.Fatal(code, body)
	}
	for blocked := false; !blocked; {
		<-changes
		b, _, err := boundaries.Boundary(ctx, boundary.Party{Issuer: "team", Client: "agent"})
		if blocked = b.Blocked; err != nil {
			t.Fatal(err)
		}
	}
	if code, body, _ := send(agent, "GET", "/api/v1/whoami", "", ""); code != 403 {
		t.Errorf("a blocked agent: %d %s", code, body)
	}
	if code, body, _ := send(console, "GET", path, "", ""); code != 200 || !strings.Contains(body,
		`"blocked":true`) {
		t.Errorf("%d %s", code, body)
	}
}

// An agent has the tools of a global catalog that its boundary names by the id. Administrators
// change the catalog in the console, and the agent gets its new tools. Leads of an organization
// change their catalogs, so a boundary cannot have one of these.
func TestBoundaryHasTheToolsOfACatalogOfTheConsole(t *testing.T) {
	ctx := t.Context()
	server, s, boundaries := administered(t, false)
	endpoint := mcptest.Serve(t, server)
	web := strings.TrimSuffix(endpoint, server.Path())
	browsing := &http.Client{Jar: must(cookiejar.New(nil)), Transport: browser{http.DefaultTransport}}
	text := func(res *http.Response, err error) string {
		defer must(res, err).Body.Close()
		var b strings.Builder
		must(io.Copy(&b, res.Body))
		return html.UnescapeString(strings.ReplaceAll(b.String(), "<wbr>", ""))
	}
	post := func(path, want string, form url.Values) {
		t.Helper()
		if page := text(browsing.PostForm(web+path, form)); !strings.Contains(page, want) {
			t.Errorf("%s: %q is not on the page: %s", path, want, page)
		}
	}
	api := func(method, path, body string) string {
		r := must(http.NewRequestWithContext(ctx, method, web+"/api/v1/"+path, strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		return text(mcptest.HTTPClient("token-of-the-console").Do(r))
	}
	post("/console/sign-in", "Signed in as <b>ada</b>", url.Values{"token": {"token-of-the-console"}})

	made := api("POST", "admin/mcp/tool_catalogs", `{"name":"kit","is_active":true}`)
	kit := regexp.MustCompile(`"id":"(\d+)"`).FindStringSubmatch(made)
	if kit == nil {
		t.Fatal(made)
	}
	org := must(s.CreateOrg(ctx, "acme", audit.Event{}))
	team := must(s.CreateTeam(ctx, org.ID, "lab", audit.Event{}))
	const entry = `{"issuer":"team","client":"agent","roles":"*","items":["catalog:%s"]}`
	const cure = "and no active global catalog of the store by its id: correct the name, or " +
		"remove it. " +
		"A boundary takes no other catalogs: people who may change one could widen the boundary"
	for _, in := range []store.Scope{store.InOrg(org.ID), store.InTeam(team.ID)} {
		own := must(s.CreateCatalog(ctx, in, "own", "", true, audit.Event{}))
		id := strconv.FormatInt(own.ID, 10)
		if got := api("POST", "admin/boundaries", fmt.Sprintf(entry, id)); !strings.Contains(got, cure) {
			t.Error(got)
		}
		post("/console/boundaries", cure, url.Values{"issuer": {"team"}, "client": {"agent"},
			"roles": {"*"}, "items": {"catalog:" + id}})
	}
	if got := api("POST", "admin/boundaries", fmt.Sprintf(entry, kit[1])); !strings.Contains(got,
		`"items":["catalog:`+kit[1]+`"]`) {
		t.Error(got)
	}

	changes := boundaries.Changes(ctx)
	listed := func(want ...string) {
		t.Helper()
		for {
			session := mcptest.Connect(t, endpoint, "token-of-the-agent", "")
			if got := mcptest.Tools(t, session); slices.Equal(got, want) {
				return
			}
			<-changes
		}
	}
	listed()
	post("/console/catalogs/"+kit[1]+"/entries", "get_all", url.Values{"tool": {"get_all"}})
	post("/console/catalogs/"+kit[1]+"/entries", "get_by_id", url.Values{"tool": {"get_by_id"}})
	listed("get_all", "get_by_id")
	post("/console/catalogs/"+kit[1]+"/entries/remove", "get_by_id", url.Values{"tool": {"get_all"}})
	listed("get_by_id")
}
