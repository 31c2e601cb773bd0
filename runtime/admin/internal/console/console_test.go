package console_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var engines = testdb.Migrated(store.Open)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func must2[T, U any](v T, _ U, err error) T { return must(v, err) }

const issuer = "https://id.example"

// callers are all kinds of people, by the tokens that they sign in with. Theirs is acme, but for
// rival's owner.
var callers = map[string]access.Principal{
	"token-admin": {Issuer: issuer, Subject: "ada", Client: "browser", Roles: []string{"Admin"},
		Scopes: []string{"read"}, Groups: []string{"ops"}},
	"token-owner":  {Issuer: issuer, Subject: "olga", Roles: []string{"Member"}},
	"token-lead":   {Issuer: issuer, Subject: "lea", Roles: []string{"Member"}},
	"token-member": {Issuer: issuer, Subject: "mel", Roles: []string{"Manager"}},
	"token-rival":  {Issuer: issuer, Subject: "rita", Roles: []string{"Member"}},

	"token-admin-agent": {Issuer: issuer, Subject: "ada", Client: "agent", Roles: []string{"Admin"}},
	"token-owner-agent": {Issuer: issuer, Subject: "olga", Client: "agent", Roles: []string{"Member"}},
	"token-lead-agent":  {Issuer: issuer, Subject: "lea", Client: "agent", Roles: []string{"Member"}},
}

// machine is a server of some tools that a test can make fail.
type machine struct {
	table    access.Table
	declared []catalog.Found
	callers  map[string]access.Principal
	refusal  error // of Identify
	catalogs catalog.Source
	failure  error // of ListTools and ReloadSwitches
	reloads  int
	panics   bool // ExplainOf
	defaults []grant.Grant
	spaces   *spaces

	manifests []runtime.Manifest
	adopted   bool
	bounds    boundary.Source
}

func (m *machine) Identify(r *http.Request) (context.Context, access.Principal, error) {
	if r.Header.Get("Cookie") != "" {
		panic("the identity source is shown cookies")
	}
	p, ok := m.callers[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	switch {
	case m.refusal != nil:
		return nil, access.Principal{}, m.refusal
	case !ok:
		return nil, access.Principal{}, &runtime.Refusal{Status: http.StatusUnauthorized,
			Reason: "authentication required"}
	}
	return context.WithValue(r.Context(), callerKey{}, p), p, nil
}

type callerKey struct{}

func (m *machine) Masker() redact.Masker             { return redact.Masker{} }
func (m *machine) Table() access.Table               { return m.table }
func (m *machine) MayManage(p access.Principal) bool { return p.Client != "agent" }
func (m *machine) Catalogs() catalog.Source          { return m.catalogs }
func (m *machine) DeclaredCatalogs() []catalog.Found { return m.declared }
func (m *machine) GrantDefaults() []grant.Grant      { return m.defaults }
func (m *machine) Manifests() []runtime.Manifest     { return m.manifests }
func (m *machine) Adopted() bool                     { return m.adopted }

func (m *machine) Boundaries() boundary.Source { return m.bounds }

// Reach counts the tools that a boundary names, and not its roles.
func (m *machine) Reach(_ context.Context, b *boundary.Boundary) (private, untrusted,
	egress []string) {
	switch {
	case b == nil && m.bounds == nil:
		return m.table.Reach(nil)
	case b == nil:
		b = &boundary.Boundary{}
	}
	return m.table.Reach(m.table.Bounds(m.table.Hierarchy(), func(_ access.Kind,
		rule access.Rule) bool {
		return boundaryitem.IsAll(b.Items) || slices.Contains(b.Items, "tool:"+rule.Tool)
	}))
}

func (m *machine) IsAdmin(p access.Principal) bool {
	return m.MayManage(p) && slices.Contains(p.Roles, "Admin")
}

// CheckBoundary knows the roles and the tools of the table.
func (m *machine) CheckBoundary(_ boundary.Party, b boundary.Boundary) (errs []error) {
	for _, role := range b.Roles {
		if role != "*" && !slices.Contains(m.table.Hierarchy(), role) {
			errs = append(errs, fmt.Errorf("%q is not a role", role))
		}
	}
	for _, item := range b.Items {
		if _, ok := m.table.Tool(strings.TrimPrefix(item, "tool:")); item != "*" && !ok {
			errs = append(errs, fmt.Errorf("the item %q names no tool: did you mean another?", item))
		}
	}
	return errs
}

// bounded are the boundaries in a store.
type bounded struct {
	boundary.Source
	kept *store.Store
}

func (b bounded) Store() *store.Store { return b.kept }

func (m *machine) Workspaces() isolate.Workspaces {
	if m.spaces == nil {
		return nil
	}
	return m.spaces
}

// Allows binds an argument of one tool.
func (m *machine) Allows(tool string) []toolset.Allow {
	if tool == "view" {
		return []toolset.Allow{{Kind: grant.FileRead, Argument: "path"}}
	}
	return nil
}

func (m *machine) ExplainOf(_ context.Context, p access.Principal, k access.Kind,
	name string) access.Explanation {
	if m.panics {
		panic("an explanation too many")
	}
	table := m.table.Of(k)
	d := table.Decide(p, name)
	e := access.Explanation{Kind: k, Name: name, Allowed: d.Allowed, Listed: d.Allowed,
		Missing: d.Missing(), Verdicts: table.Explain(p, name)}
	if p.Anonymous() {
		e.Host = "the server refuses a caller without an identity (401 over HTTP), because " +
			"Options.Anonymous is not set"
	}
	return e
}

func (m *machine) ListTools(ctx context.Context, _ catalog.Ref) (l runtime.Listing, err error) {
	p := ctx.Value(callerKey{}).(access.Principal)
	for _, name := range m.table.Tools() {
		if m.IsAdmin(p) || m.table.Decide(p, name).Allowed {
			l.Tools = append(l.Tools, runtime.ListedTool{Tool: &mcp.Tool{Name: name}})
		}
	}
	return l, m.failure
}

func (m *machine) ReloadSwitches(context.Context) error { m.reloads++; return m.failure }

// world is a console over a store with two tenants.
type world struct {
	http.Handler
	*machine
	ctx    context.Context
	store  *store.Store
	keeper *keeper
	log    *bytes.Buffer

	acme, rival                           store.Org
	lab, den                              store.Team // of acme, of rival
	global, ofAcme, ofLab, ofRival, ofDen store.Catalog
	lead                                  store.Membership // of lea in lab
}

var by = audit.Event{Principal: "seed"}

func table(t testing.TB, rules ...access.Rule) access.Table {
	t.Helper()
	own := access.NewTable(append(rules, access.Rule{Prompt: "greet", Authenticated: true},
		access.Rule{Resource: "team://people/{id}", MinRole: []string{"Member"}})...)
	own.Roles = access.DefaultRoles()
	composed, err := access.Compose(access.Part{Package: "p", Table: own})
	if err != nil {
		t.Fatal(err)
	}
	return composed
}

func rules() []access.Rule {
	return []access.Rule{
		{Tool: "open", Public: true}, {Tool: "known", Authenticated: true},
		{Tool: "view", MinRole: []string{"Viewer"}}, {Tool: "change", MinRole: []string{"Member"},
			Scopes:   []string{"write"},
			OrScopes: [][]string{{"all", "more"}}},
		{Tool: "erase", MinRole: []string{"Admin"}}, {Tool: "host", MinRole: []string{"Viewer"},
			Permission: access.Permission{App: "dcim", Action: "view", Object: "device"}},
		{Tool: "free", MinRole: []string{"Viewer"}, Permission: access.NoPermission()},
	}
}

func newWorld(t testing.TB, url string) *world {
	t.Helper()
	return newWorldOf(t, url, func(*machine) {})
}

// newWorldOf is newWorld with a changed server.
func newWorldOf(t testing.TB, url string, change func(*machine)) *world {
	t.Helper()
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
	w := &world{ctx: ctx, store: s, keeper: &keeper{Memory: grant.NewMemory()}, log: new(bytes.Buffer),
		machine: &machine{
			table: table(t, rules()...), callers: callers,
			declared: []catalog.Found{{ID: "code:kit", Name: "kit", Tools: []string{"view"}}},
			spaces:   &spaces{kept: map[isolate.Client]bool{}},
		}}
	// Ids of organisations and of teams differ, so that none is taken for the other.
	for range 3 {
		must(0, s.DeleteOrg(ctx, must(s.CreateOrg(ctx, "gone", by)).ID, 0, by))
	}
	w.acme, w.rival = must(s.CreateOrg(ctx, "acme", by)), must(s.CreateOrg(ctx, "rival", by))
	w.lab, w.den = must(s.CreateTeam(ctx, w.acme.ID, "lab", by)),
		must(s.CreateTeam(ctx, w.rival.ID, "den", by))
	catalogOf := func(in store.Scope, name string) store.Catalog {
		c := must(s.CreateCatalog(ctx, in, name, "about "+name, true, by))
		must(s.AddEntry(ctx, in, c.ID, "view", "core", by))
		return c
	}
	w.global, w.ofAcme, w.ofLab = catalogOf(store.Global, "everything"),
		catalogOf(store.InOrg(w.acme.ID), "acme-kit"), catalogOf(store.InTeam(w.lab.ID), "lab-kit")
	w.ofRival, w.ofDen = catalogOf(store.InOrg(w.rival.ID), "rival-kit"),
		catalogOf(store.InTeam(w.den.ID), "den-kit")
	must(s.AddMember(ctx, store.InOrg(w.acme.ID), issuer, "olga", access.Owner, by))
	w.lead = must(s.AddMember(ctx, store.InTeam(w.lab.ID), issuer, "lea", access.Lead, by))
	must(s.AddMember(ctx, store.InOrg(w.acme.ID), issuer, "mel", access.Member, by))
	must(s.AddMember(ctx, store.InOrg(w.rival.ID), issuer, "rita", access.Owner, by))
	w.machine.catalogs, w.machine.bounds = stored.New(s, stored.Stored), bounded{kept: s}
	change(w.machine)
	w.Handler = console.NewOf(w.machine, s, authority.New(w.machine, s, stored.Stored),
		console.Options{Logger: slog.New(slog.NewTextHandler(w.log, nil)), Title: "Team directory",
			Grants: w.keeper, Clients: []boundary.Party{{Issuer: issuer, Client: "browser"}}})
	return w
}

func onSQLite(t testing.TB) *world { t.Helper(); return newWorld(t, engines["sqlite"](t)) }

// request is one over TLS from the console's own pages.
func request(method, target, token string, form url.Values) *http.Request {
	r := httptest.NewRequest(method, "https://console.example"+target,
		strings.NewReader(form.Encode()))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method != http.MethodGet && method != http.MethodHead {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://console.example")
	}
	if token != "" {
		r.AddCookie(&http.Cookie{Name: "__Secure-mcpgen-console", Value: token})
	}
	return r
}

func (w *world) do(r *http.Request) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	w.ServeHTTP(rec, r)
	return rec
}

func (w *world) get(token, target string) *httptest.ResponseRecorder {
	return w.do(request(http.MethodGet, target, token, nil))
}

func (w *world) post(token, target string, form url.Values) *httptest.ResponseRecorder {
	return w.do(request(http.MethodPost, target, token, form))
}

// form is a form of pairs.
func form(pairs ...any) url.Values {
	f := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		f.Set(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1]))
	}
	return f
}

// page checks a status and that a page says some things, in their order. Where names may break is
// left out.
func page(t *testing.T, rec *httptest.ResponseRecorder, status int, want ...string) string {
	t.Helper()
	body := strings.ReplaceAll(rec.Body.String(), "<wbr>", "")
	if rec.Code != status {
		t.Errorf("%d, want %d: %s", rec.Code, status, body)
	}
	later := rec.Header().Get("Retry-After") != ""
	if later != (rec.Code == http.StatusServiceUnavailable) &&
		rec.Code != http.StatusTooManyRequests {
		t.Errorf("%d with Retry-After %q", rec.Code, rec.Header().Get("Retry-After"))
	}
	rest := body
	for _, s := range want {
		_, after, ok := strings.Cut(rest, s)
		if !ok {
			t.Errorf("%q is not there, or not in its place: %s", s, body)
			return body
		}
		rest = after
	}
	return body
}

// led checks that a form was taken, and where its answer leads.
func led(t *testing.T, rec *httptest.ResponseRecorder, to string) string {
	t.Helper()
	at := rec.Header().Get("Location")
	if rec.Code != http.StatusSeeOther || at != to && !(strings.HasSuffix(to, "*") &&
		strings.HasPrefix(at, strings.TrimSuffix(to, "*"))) {
		t.Errorf("%d to %q, want %q: %s", rec.Code, at, to, rec.Body)
	}
	return at
}

var errBroken = errors.New("the disk is gone")
