package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// kinds are the columns of the table below. The last three share the column of a member: they are
// callers who manage, with a client that may not administer.
var kinds = []string{"", "token-member", "token-lead", "token-owner", "token-rival", "token-admin",
	"token-lead-agent", "token-owner-agent", "token-admin-agent"}

// Every page and every form, by every kind of caller. Forms are sent in a way that changes nothing
// for who is let in: empty, which is answered with 422.
func TestEveryRouteForEveryKindOfCaller(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			const (
				out     = http.StatusSeeOther // to sign-in
				ok      = http.StatusOK
				no      = http.StatusForbidden
				none    = http.StatusNotFound
				invalid = http.StatusUnprocessableEntity
			)
			type row struct {
				pattern, target                              string
				anonymous, member, lead, owner, rival, admin int
			}
			everybody := func(pattern, target string, status int) row {
				return row{pattern, target, status, status, status, status, status, status}
			}
			admins := func(pattern, target string, status int) row {
				return row{pattern, target, out, no, no, no, no, status}
			}
			managers := func(pattern, target string, status int) row {
				return row{pattern, target, out, no, status, status, status, status}
			}
			org, team, member := fmt.Sprintf("/console/orgs/%d", w.acme.ID),
				fmt.Sprintf("/console/teams/%d", w.lab.ID), fmt.Sprintf("/console/members/%d",
					w.lead.ID)
			requested, given := w.requestPermission("desk", "file.read", "public/**",
				"for a report"), w.gives("desk", "file.read", "public/a")
			target, revoke := "/console/requests/"+requested.ID, "/console/grants/revoke?issuer="+
				url.QueryEscape(issuer)+"&client=desk&type=file.read&resource=public/a"
			bound := fmt.Sprintf("/console/boundaries/%d", w.bounds("desk", boundary.Boundary{}).ID)
			rows := []row{
				everybody("GET /console/assets/{file}", console.Asset("console.css"), ok),
				everybody("GET /console/sign-in", "/console/sign-in", ok),
				everybody("POST /console/sign-in", "/console/sign-in", out),
				everybody("POST /console/sign-out", "/console/sign-out", out),
				managers("GET /console", "/console", ok),
				managers("GET /console/{$}", "/console/", out),
				managers("GET /console/catalogs", "/console/catalogs", ok),
				managers("GET /console/catalogs/new", "/console/catalogs/new", ok),
				// The scope is missing: such a form is nobody's.
				managers("POST /console/catalogs", "/console/catalogs", none),
				admins("GET /console/declared", "/console/declared?name=kit", ok),
				admins("GET /console/matrix", "/console/matrix", ok),
				admins("GET /console/principal", "/console/principal", ok),
				admins("GET /console/tools", "/console/tools", ok),
				admins("POST /console/tools", "/console/tools", invalid),
				admins("GET /console/orgs", "/console/orgs", ok),
				admins("POST /console/orgs", "/console/orgs", invalid),
				admins("GET /console/orgs/{id}", org, ok),
				admins("POST /console/orgs/{id}", org, invalid),
				admins("GET /console/orgs/{id}/delete", org+"/delete", ok),
				admins("POST /console/orgs/{id}/delete", org+"/delete", invalid),
				admins("POST /console/orgs/{id}/teams", org+"/teams", invalid),
				admins("POST /console/orgs/{id}/members", org+"/members", invalid),
				admins("GET /console/teams/{id}", team, ok),
				admins("POST /console/teams/{id}", team, invalid),
				admins("GET /console/teams/{id}/delete", team+"/delete", ok),
				admins("POST /console/teams/{id}/delete", team+"/delete", invalid),
				admins("POST /console/teams/{id}/members", team+"/members", invalid),
				admins("GET /console/members/{id}", member, ok),
				admins("POST /console/members/{id}", member, invalid),
				admins("GET /console/members/{id}/delete", member+"/delete", ok),
				admins("POST /console/members/{id}/delete", member+"/delete", invalid),
				admins("GET /console/audit", "/console/audit", ok),
				admins("GET /console/audit", "/console/audit?from=soon", invalid),
				admins("GET /console/audit/{id}", "/console/audit/1", ok),
				admins("GET /console/audit/{id}", "/console/audit/999999", none),
				admins("GET /console/audit/export", "/console/audit/export", ok),
				admins("GET /console/audit/export", "/console/audit/export?until=late", invalid),
				admins("GET /console/requests", "/console/requests", ok),
				admins("GET /console/requests/{id}", target, ok),
				admins("GET /console/requests/{id}", "/console/requests/none", none),
				admins("POST /console/requests/{id}/approve", target+"/approve", invalid),
				admins("POST /console/requests/{id}/approve", "/console/requests/none/approve",
					none),
				admins("POST /console/requests/{id}/deny", target+"/deny", invalid),
				admins("POST /console/requests/{id}/deny", "/console/requests/none/deny", none),
				admins("GET /console/grants", "/console/grants", ok),
				admins("POST /console/grants", "/console/grants", invalid),
				admins("GET /console/grants/new", "/console/grants/new", ok),
				admins("GET /console/grants/revoke", revoke, ok),
				admins("GET /console/grants/revoke",
					"/console/grants/revoke?client=desk&type=file.write", none),
				// Whose it is to be is missing: such a form is about nothing.
				admins("POST /console/grants/revoke", "/console/grants/revoke", none),
				admins("GET /console/workspaces", "/console/workspaces", ok),
				admins("POST /console/workspaces", "/console/workspaces", invalid),
				admins("GET /console/clients", "/console/clients", ok),
				admins("GET /console/clients/suggestion", "/console/clients/suggestion?client=a", ok),
				admins("GET /console/clients/suggestion", "/console/clients/suggestion", invalid),
				admins("GET /console/clients/block", "/console/clients/block?client=a", ok),
				admins("GET /console/clients/block", "/console/clients/block", none),
				admins("POST /console/clients/block", "/console/clients/block", none),
				admins("GET /console/boundaries/new", "/console/boundaries/new", ok),
				admins("POST /console/boundaries", "/console/boundaries", invalid),
				admins("GET /console/boundaries/{id}", bound, ok),
				admins("GET /console/boundaries/{id}", "/console/boundaries/999", none),
				admins("POST /console/boundaries/{id}", bound, invalid),
				admins("GET /console/boundaries/{id}/delete", bound+"/delete", ok),
				admins("POST /console/boundaries/{id}/delete", bound+"/delete", invalid),
				managers("", "/console/nowhere", none),
				managers("", "/elsewhere", none),
			}
			// A catalog is its scope's alone.
			for _, c := range []struct {
				id                        int64
				lead, owner, rival, admin bool
			}{
				{w.global.ID, false, false, false, true}, {w.ofAcme.ID, false, true, false, true},
				{w.ofLab.ID, true, false, false, true},
				{w.ofRival.ID, false, false, true, true}, {w.ofDen.ID, false, false, false, true},
				{999, false, false, false, false},
			} {
				for pattern, status := range map[string]int{
					"GET /console/catalogs/{id}": ok, "POST /console/catalogs/{id}": invalid,
					"GET /console/catalogs/{id}/delete":          ok,
					"POST /console/catalogs/{id}/delete":         invalid,
					"POST /console/catalogs/{id}/entries":        invalid,
					"POST /console/catalogs/{id}/entries/remove": invalid,
				} {
					_, target, _ := strings.Cut(strings.Replace(pattern, "{id}", fmt.Sprint(c.id),
						1), " ")
					is := func(may bool) int {
						if may {
							return status
						}
						return none
					}
					rows = append(rows, row{pattern, target, out, no, is(c.lead), is(c.owner),
						is(c.rival), is(c.admin)})
				}
			}
			var tested []string
			for _, r := range rows {
				tested = append(tested, r.pattern)
				method, _, found := strings.Cut(r.pattern, " ")
				if !found {
					method = http.MethodGet
				}
				for i, want := range []int{r.anonymous, r.member, r.lead, r.owner, r.rival,
					r.admin, r.member, r.member, r.member} {
					rec := w.do(request(method, r.target, kinds[i], url.Values{}))
					if rec.Code != want {
						t.Errorf("%s %s as %q: %d, want %d", method, r.target, kinds[i], rec.Code,
							want)
					}
					if at := rec.Header().Get("Location"); want == out &&
						!strings.HasPrefix(at, "/console/sign-in") && r.target != "/console/" {
						t.Errorf("%s %s as %q leads to %q", method, r.target, kinds[i], at)
					}
				}
			}
			for _, pattern := range console.Patterns() {
				if !slices.Contains(tested, pattern) {
					t.Errorf("%s is not in the table", pattern)
				}
			}
			if r := must(w.keeper.Request(t.Context(), requested.ID)); r.Status != grant.Open ||
				!slices.Equal(w.has("desk"), []string{given.Permission.String()}) {
				t.Errorf("%+v, %v", r, w.has("desk"))
			}
			if n := len(must(w.store.ToolsOff(t.Context()))); n != 0 {
				t.Errorf("%d tools are off", n)
			}
		})
	}
}

// spelled is all of an answer.
func spelled(rec *httptest.ResponseRecorder) string {
	return fmt.Sprint(rec.Code, rec.Header(), rec.Body)
}

func TestWhatIsAnotherTenantsIsWhatNeverWas(t *testing.T) {
	w := onSQLite(t)
	for _, token := range []string{"token-lead", "token-owner", "token-rival"} {
		for _, rest := range []string{"", "/delete", "?after=view"} {
			want := spelled(w.get(token, "/console/catalogs/999"+rest))
			for _, id := range []string{fmt.Sprint(w.global.ID), fmt.Sprint(w.ofDen.ID), "0", "-1",
				"x", "+1", "01", "99999999999999999999"} {
				if got := spelled(w.get(token, "/console/catalogs/"+id+rest)); got != want {
					t.Errorf("%s: catalog %s%s: %s\nwant %s", token, id, rest, got, want)
				}
			}
		}
		for _, rest := range []string{"", "/delete", "/entries", "/entries/remove"} {
			f := form("version", 1, "name", "taken over", "tool", "view")
			want := spelled(w.post(token, "/console/catalogs/999"+rest, f))
			if got := spelled(w.post(token, fmt.Sprintf("/console/catalogs/%d%s", w.ofDen.ID, rest),
				f)); got != want {
				t.Errorf("%s: catalog%s: %s\nwant %s", token, rest, got, want)
			}
		}
		// Where something is made or listed: neither another's place nor one that there is not.
		for _, scope := range []string{"org-999", "team-999", "team-0", "user-1", "global", "",
			"org-", fmt.Sprint("team-", w.den.ID)} {
			f := form("name", "mine", "scope", scope)
			want := spelled(w.post(token, "/console/catalogs", form("name", "mine", "scope",
				"org-999")))
			if got := spelled(w.post(token, "/console/catalogs", f)); got != want {
				t.Errorf("%s: scope %q: %s", token, scope, got)
			}
			if scope == "" {
				continue // all that there are
			}
			for _, page := range []string{"/console/catalogs", "/console/catalogs/new"} {
				if got := spelled(w.get(token, page+"?scope="+scope)); got != want {
					t.Errorf("%s: %s of scope %q: %s", token, page, scope, got)
				}
			}
		}
		body := w.get(token, "/console/catalogs").Body.String() +
			w.get(token, "/console").Body.String() +
			w.get(token, "/console/catalogs/new").Body.String()
		for _, foreign := range []string{"den-kit", "everything", "den"} {
			if strings.Contains(body, ">"+foreign) {
				t.Errorf("%s sees %s", token, foreign)
			}
		}
	}
	if got := must(w.store.Tools(t.Context(), w.ofDen.ID)); len(got) != 1 {
		t.Errorf("den-kit has %v", got)
	}
}

func TestWhoManagesNothingIsInformed(t *testing.T) {
	w := onSQLite(t)
	page(t, w.get("token-member", "/console"), http.StatusForbidden, "Sign out",
		"Nothing to manage", "You are signed in, but you have nothing to manage.",
		"Ask an admin of this server", "mel",
		"Issuer", issuer)
	w.machine.callers = map[string]access.Principal{"token-bare": {Subject: "<b>bo</b>"}}
	page(t, w.get("token-bare", "/console"), http.StatusForbidden, "&lt;b&gt;bo&lt;/b&gt;",
		"none: leave the field empty")
	w.machine.callers = callers
	page(t, w.get("token-lead", "/console/matrix"), http.StatusForbidden,
		"Only admins of the server may open this page. The catalogs of your organisations and teams "+
			"are under Catalogs.")
}

func TestLeadsSeeTheirOwnAndNoMore(t *testing.T) {
	w := onSQLite(t)
	body := page(t, w.get("token-lead", "/console"), http.StatusOK, "You manage the catalogs",
		"?scope=team-", "Team lab", "lea")
	for _, admins := range []string{"/console/matrix", "/console/tools", "/console/orgs",
		"/console/principal", "/console/requests", "/console/grants", "/console/audit"} {
		if strings.Contains(body, admins) {
			t.Errorf("a lead is shown %s", admins)
		}
	}
	page(t, w.get("token-lead", "/console/catalogs"), http.StatusOK, "Team lab", "lab-kit")
	// A name is suggested that the lead is listed, and another one is taken all the same, without a
	// word on whether there is such a tool.
	at := fmt.Sprintf("/console/catalogs/%d", w.ofLab.ID)
	body = page(t, w.get("token-lead", at), http.StatusOK, `<option value="known">`,
		`<option value="view">`)
	if strings.Contains(body, "erase") {
		t.Error("a lead sees a tool that it may not use")
	}
	for _, tool := range []string{"erase", "never.was"} {
		led(t, w.post("token-lead", at+"/entries", form("tool", tool)), at+"?done=entry-added")
	}
	body = page(t, w.get("token-lead", at), http.StatusOK, "erase", "never.was")
	if strings.Contains(body, "not served here") {
		t.Error("a lead sees the tools")
	}
	page(t, w.get("token-admin", at), http.StatusOK, "never.was", "not served here")
}
