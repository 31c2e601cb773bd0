package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	keeper "github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var engines = testdb.Migrated(store.Open)

// registry is where the grants of a world are kept.
var registry = func(w *world) grant.Registry { return keeper.New(w.Store, keeper.Options{}) }

// inMemory has grants kept apart from the store until the test ends.
func inMemory(t *testing.T) {
	before := registry
	t.Cleanup(func() { registry = before })
	registry = func(*world) grant.Registry { return grant.NewMemory() }
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const issuer = "https://id.example"

var setup = audit.Event{Principal: "setup"}

// people are those who have a token, which is their name: what they are in acme and its lab, or
// elsewhere.
var people = []string{"stranger", "member", "lead", "admin", "owner", "orglead", "lablead", "rival",
	"root"}

// agents are people who manage acme and its lab, or are admins of the server. Their clients, or the
// actors of their tokens, may not administer.
var agents = []string{"unbounded", "bounded", "readonly", "ended", "delegated", "root_agent"}

// administrators are the clients of people who manage, and one of a delegated token.
var administrators = func() (all []boundary.Party) {
	for _, name := range append([]string{"root", "delegated"}, people[2:]...) {
		all = append(all, boundary.Party{Issuer: issuer, Client: name + "'s client"})
	}
	return all
}()

// bounded are the boundaries in a store.
type bounded struct{ kept *store.Store }

func (b bounded) Store() *store.Store { return b.kept }

func (b bounded) Boundary(ctx context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	all, err := b.kept.AllBounds(ctx)
	by := map[boundary.Party]boundary.Boundary{}
	for _, one := range all {
		by[one.Party] = one.Boundary
	}
	found, ok := p.In(by)
	return found, ok, err
}

// events are those that the sink of the server was given.
type events struct {
	mu  sync.Mutex
	all []audit.Event
	err error
}

func (e *events) Record(_ context.Context, event audit.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
	return e.err
}

func (e *events) take() []audit.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.all
	e.all = nil
	return all
}

// world is a server with two tenants, acme and rival, with a team each of the same name.
type world struct {
	*store.Store
	testing.TB
	acme, rival   store.Org
	lab, rivalLab store.Team
	handler       http.Handler // of the server
	direct        *api.API     // what it has mounted
	refusals      *events
	log           *strings.Builder
	grants        grant.Registry
	spaces        *spaces
	asker         string // whose request a thing is
	n             int
	nameless      bool  // nobody gets as far as to be known
	seen          int64 // the last record
}

func worlds(t *testing.T, test func(t *testing.T, w *world)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) { test(t, newWorld(t, engine(t), runtime.Options{})) })
	}
}

// keepers are worlds with their grants in the store, and one that keeps them apart.
func keepers(t *testing.T, test func(t *testing.T, w *world)) {
	worlds(t, test)
	t.Run("memory", func(t *testing.T) {
		inMemory(t)
		test(t, newWorld(t, engines["sqlite"](t), runtime.Options{}))
	})
}

// newWorld makes one. wrap may stand between the API and the server.
func newWorld(t testing.TB, url string, o runtime.Options,
	wrap ...func(runtime.Administered) runtime.Administered) *world {
	ctx := t.Context()
	s, err := store.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &world{Store: s, TB: t, refusals: &events{}, spaces: &spaces{folder: t.TempDir()},
		log: &strings.Builder{}, asker: "root"}
	w.grants = registry(w)
	// Ids of organisations are none of teams.
	for range 3 {
		must(0, s.DeleteOrg(ctx, must(s.CreateOrg(ctx, "gone", setup)).ID, 0, setup))
	}
	w.acme, w.rival = must(s.CreateOrg(ctx, "acme", setup)), must(s.CreateOrg(ctx, "rival", setup))
	w.lab, w.rivalLab = must(s.CreateTeam(ctx, w.acme.ID, "lab", setup)),
		must(s.CreateTeam(ctx, w.rival.ID, "lab", setup))
	join := func(subject string, in store.Scope, standing access.Standing) {
		must(s.AddMember(ctx, in, issuer, subject, standing, setup))
	}
	for _, standing := range []access.Standing{access.Member, access.Lead, access.Admin,
		access.Owner} {
		join(string(standing), store.InOrg(w.acme.ID), standing)
		join(string(standing), store.InTeam(w.lab.ID), standing)
	}
	join("orglead", store.InOrg(w.acme.ID), access.Lead)
	join("lablead", store.InTeam(w.lab.ID), access.Lead)
	join("rival", store.InOrg(w.rival.ID), access.Owner)
	join("rival", store.InTeam(w.rivalLab.ID), access.Owner)

	// Nobody vouches for the first.
	tokens := map[string]access.Principal{identity.HashToken("homemade"): {Subject: "homemade"}}
	for _, name := range slices.Concat(people, agents) {
		p := access.Principal{Issuer: issuer, Subject: name, Client: name + "'s client",
			Roles: []string{"Viewer"}}
		if strings.HasPrefix(name, "root") {
			p.Roles = []string{"Admin"}
		}
		if name == "delegated" {
			p.Actor = access.Actor{Issuer: issuer, Subject: "robot"}
		}
		tokens[identity.HashToken(name)] = p
	}
	o.Identity, o.Anonymous = identity.Static(tokens), true
	o.Catalogs.Source = stored.New(s, stored.Stored)
	o.Access.Boundaries, o.Access.BoundariesOptional = bounded{s}, true
	if w.grants != nil {
		o.Grants.Source, o.Grants.Defaults = w.grants, grant.Minimal("public")
	}
	if o.Sandbox == nil {
		o.Sandbox = w.spaces
	}
	logger := slog.New(slog.NewTextHandler(&locked{out: w.log}, nil))
	o.Logger = slog.New(slog.DiscardHandler)
	o.Admin = func(server runtime.Administered) (http.Handler, error) {
		server = server.AdministeredBy(administrators)
		asked := runtime.Administered(server)
		for _, wrap := range wrap {
			asked = wrap(server)
		}
		var err error
		w.direct, err = api.New(asked, s, authority.New(server, s, stored.Stored),
			api.Options{Audit: w.refusals, Grants: w.grants, Clients: administrators, Logger: logger})
		return w.direct, err
	}
	server, err := runtime.New(o, testToolset())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	w.handler = server.Handler()
	return w
}

// joinAgents makes agents managers of acme and its lab.
func (w *world) joinAgents() {
	for _, name := range agents {
		must(w.AddMember(w.Context(), store.InOrg(w.acme.ID), issuer, name, access.Owner, setup))
		must(w.AddMember(w.Context(), store.InTeam(w.lab.ID), issuer, name, access.Lead, setup))
	}
}

type locked struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(b)
}

// testToolset has a tool for everybody, and one each for Viewers and Admins. Two catalogs are
// declared.
func testToolset() toolset.Toolset {
	call := func(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }
	const input = `{"type":"object","additionalProperties":false}`
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/desk", Manifest: "sha256:d35c", Server: toolset.ServerInfo{Name: "desk", Version: "1"},
		Receivers: []any{new(int)},
		Table: access.Table{Roles: access.DefaultRoles(), Rules: []access.Rule{
			{Tool: "admin_only", MinRole: []string{"Admin"}}, {Tool: "ask", Authenticated: true},
			{Tool: "forbidden", MinRole: []string{"Admin"}, Denial: access.Forbid}, {Tool: "read",
				MinRole: []string{"Viewer"}},
		}},
		Tools: []toolset.Tool{
			{Name: "admin_only", Input: input, Call: call, Catalogs: []string{"kit"}},
			{Name: "ask", Title: "Ask", Description: "ask asks.", Input: input,
				Output: `{"type":"object"}`, Call: call, Catalogs: []string{"basics", "kit"}},
			{Name: "forbidden", Input: input, Call: call}, {Name: "read", Input: input, Call: call,
				Catalogs: []string{"kit"}},
		},
	})
}

// reply is what came back. What the request was called is apart, since it is another each time.
type reply struct {
	status int
	header http.Header
	body   string
	id     string
	raw    string // the body with it
}

// calledIt finds the request's id in a problem.
var calledIt = regexp.MustCompile(`,?"request_id":"([a-z2-7]{26})"`)

func replyOf(rec *httptest.ResponseRecorder) reply {
	got := reply{status: rec.Code, header: rec.Header(), body: rec.Body.String(),
		raw: rec.Body.String()}
	if m := calledIt.FindStringSubmatch(got.body); m != nil && got.status >= 300 {
		got.id, got.body = m[1], strings.Replace(got.body, m[0], "", 1)
	}
	return got
}

func (a reply) String() string { return fmt.Sprintf("%d %v %s", a.status, a.header, a.body) }

// field is a member of the body.
func (a reply) field(name string) string {
	var body map[string]any
	_ = json.Unmarshal([]byte(a.body), &body)
	return fmt.Sprint(body[name])
}

// json is the body, or the first record of an export.
func (a reply) json() (body any) {
	_ = json.NewDecoder(strings.NewReader(a.body)).Decode(&body)
	return body
}

// headers are written one after the other: name, value.
func (w *world) send(who, method, path, body string, headers ...string) reply {
	w.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	// Another address for each request, so that failed authentications do not add up.
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1000", rand.N(256), rand.N(256), rand.N(256))
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+who)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	got := replyOf(rec)
	w.sound(got)
	return got
}

// sound checks what holds of every answer of the API.
func (w *world) sound(a reply) {
	w.Helper()
	problem := a.header.Get("Content-Type") == "application/problem+json"
	switch {
	case a.header.Get("Cache-Control") != "no-store",
		a.header.Get("X-Content-Type-Options") != "nosniff":
		w.Errorf("it may be kept or guessed at: %s", a)
	case (a.status >= 300) != problem:
		w.Errorf("an error that is no problem, or the reverse: %s", a)
	case problem && (a.field("status") != strconv.Itoa(a.status) ||
		a.field("title") != http.StatusText(a.status) || a.field("detail") == ""):
		w.Errorf("a problem that does not say what it is: %s", a)
	case problem && (a.id == "") != (a.status == 401 || w.nameless):
		w.Errorf(
			"a problem that does not say what the request is called, or of nobody's request: %s", a)
	case (a.status == 503) != (a.header.Get("Retry-After") != ""):
		w.Errorf("it does not say when to try again, or says so for nothing: %s", a)
	case len(numbers(a.json(), "")) > 0:
		w.Errorf("ids that are numbers: %v in %s", numbers(a.json(), ""), a)
	case a.status == 401 && !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer "):
		w.Errorf("no challenge: %s", a)
	}
}

// recorded returns the store's new records since its last call.
func (w *world) recorded() (all []store.Recorded) {
	w.Helper()
	for more := true; more; {
		var some []store.Recorded
		var err error
		some, more, err = w.Events(context.Background(), store.Page[int64]{Limit: 1000,
			After: w.seen})
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range some {
			w.seen = e.ID
		}
		all = append(all, some...)
	}
	return all
}

// place is where the things of a path are, and whose.
type place struct {
	org, team int64
	scope     store.Scope
}

func (w *world) acmePlace(path string) place {
	p := place{w.acme.ID, w.lab.ID, store.InOrg(w.acme.ID)}
	if strings.HasPrefix(path, "/api/v1/teams/") {
		p.scope = store.InTeam(w.lab.ID)
	}
	return p
}

func (w *world) rivalPlace(path string) place {
	p := place{w.rival.ID, w.rivalLab.ID, store.InOrg(w.rival.ID)}
	if strings.HasPrefix(path, "/api/v1/teams/") {
		p.scope = store.InTeam(w.rivalLab.ID)
	}
	return p
}

// thing makes a new one of what a path is about, and returns its id. A catalog has the entry
// old_tool.
func (w *world) thing(path string, in place) string {
	w.Helper()
	w.n++
	ctx, name := context.Background(), fmt.Sprintf("thing %d", w.n)
	switch {
	case strings.HasSuffix(path, "/workspaces/clear"):
		w.spaces.keep(isolate.Client{Issuer: issuer, ID: "desk"})
	case strings.HasSuffix(path, "/grants/revoke"):
		must(w.grants.Grant(ctx, grant.Grant{Permission: grant.Permission{Type: grant.FileRead,
			Resource: "public/old", Unrestricted: true}, Issuer: issuer, Client: "desk"}))
	case strings.HasSuffix(path, "/grants/{id}"):
		return must(w.grants.Grant(ctx, grant.Grant{Permission: grant.Permission{
			Type: grant.FileRead, Resource: "public/" + name}, Issuer: issuer, Client: "desk"})).ID
	case strings.Contains(path, "grants/requests/{id}"):
		client := name
		if !strings.Contains(path, "/admin/") {
			client = w.asker + "'s client"
		}
		return w.ask(client, "public/"+name).ID
	case strings.Contains(path, "tool_catalogs/{id}"):
		c := must(w.CreateCatalog(ctx, in.scope, name, "", true, setup))
		must(w.AddEntry(ctx, in.scope, c.ID, "old_tool", "", setup))
		return strconv.FormatInt(c.ID, 10)
	case strings.Contains(path, "admin/boundaries/{id}"):
		return strconv.FormatInt(must(w.CreateBound(ctx, boundary.Party{Issuer: issuer, Client: name},
			boundary.Boundary{Items: []string{"tool:read"}}, setup)).ID, 10)
	case strings.Contains(path, "admin/orgs/{id}"):
		return strconv.FormatInt(must(w.CreateOrg(ctx, name, setup)).ID, 10)
	case strings.Contains(path, "admin/teams/{id}"):
		return strconv.FormatInt(must(w.CreateTeam(ctx, in.org, name, setup)).ID, 10)
	case strings.Contains(path, "admin/members/{id}"):
		return strconv.FormatInt(must(w.AddMember(ctx, store.InOrg(in.org), issuer, name,
			access.Member, setup)).ID, 10)
	}
	return ""
}

// ask has a client ask for a file.
func (w *world) ask(client, resource string) grant.Request {
	w.Helper()
	return must(w.grants.Ask(context.Background(), grant.Request{
		Permission: grant.Permission{Type: grant.FileRead, Resource: resource,
			Unrestricted: true}, Issuer: issuer,
		Client: client, Principal: "somebody", Tool: "read", Reason: "I want to",
	}))
}

// at fills a path of the document in.
func at(path string, org, team int64, id string) string {
	if strings.HasSuffix(path, "/grants/check") {
		path += "?type=file.read&resource=public/a"
	}
	if strings.HasSuffix(path, "/clients/suggestion") {
		path += "?client=desk"
	}
	return strings.NewReplacer("{org_id}", fmt.Sprint(org), "{team_id}", fmt.Sprint(team), "{id}",
		id, "{tool_name}", "old_tool", "{name}", "some_tool").Replace(path)
}

// operation is one that the document describes.
type operation struct{ id, method, path string }

// operations are all that the document describes, as it is served.
func (w *world) operations() []operation {
	w.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		}
	}
	got := w.send("stranger", "GET", api.PathOpenAPI, "")
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil || got.status != 200 {
		w.Fatal(err, got)
	}
	var all []operation
	for path, item := range doc.Paths {
		for method, op := range item {
			all = append(all, operation{op.ID, strings.ToUpper(method), path})
		}
	}
	return all
}

// names are those of the items of a page, in order.
func (w *world) names(a reply) []string {
	w.Helper()
	var page struct{ Items []struct{ Name string } }
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || a.status != 200 {
		w.Fatal(err, a)
	}
	var all []string
	for _, item := range page.Items {
		all = append(all, item.Name)
	}
	slices.Sort(all)
	return all
}

// filled has the ids of acme and of its lab in the place of ORG and TEAM.
func (w *world) filled(text string) string {
	return strings.NewReplacer("ORG", fmt.Sprint(w.acme.ID), "TEAM",
		fmt.Sprint(w.lab.ID)).Replace(text)
}

// decoded is the body of an answer that went well.
func decoded[T any](w *world, a reply) (body T) {
	w.Helper()
	if err := json.Unmarshal([]byte(a.body), &body); err != nil || a.status != 200 {
		w.Fatal(err, a)
	}
	return body
}
