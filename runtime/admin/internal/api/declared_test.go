package api_test

import (
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestCatalogsOfCodeAreShownToAdminsAndChangedByNobody(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const kit = "/api/v1/admin/mcp/tool_catalogs/code:kit"
		got := w.send("root", "GET", kit, "")
		if got.status != 200 || got.field("name") != "kit" || got.field("source") != "code" ||
			got.field("read_only") != "true" || got.header.Get("ETag") != "" {
			t.Error(got)
		}
		p, _ := w.page("/api/v1/admin/mcp/tool_catalogs?limit=2")
		if p.Items[0]["id"] != "code:basics" || p.Items[1]["id"] != "code:kit" {
			t.Error(p)
		}
		if p, _ := w.page(kit + "/entries"); fmt.Sprint(
			p.Items) != "[map[tool_name:admin_only] map[tool_name:ask] map[tool_name:read]]" {
			t.Error(p.Items)
		}
		w.recorded()
		for _, r := range []struct{ method, path, body string }{
			{"PATCH", kit, `{"name":"other"}`}, {"DELETE", kit, ""},
			{"POST", kit + "/entries", `{"tool_name":"other"}`},
			{"DELETE", kit + "/entries/ask", ""},
			{"POST", "/api/v1/admin/mcp/tool_catalogs", `{"name":"kit"}`},
		} {
			if got := w.send("root", r.method, r.path, r.body, "If-Match", "*"); got.status != 409 {
				t.Errorf("%+v: %s", r, got)
			}
		}
		for _, r := range []struct{ method, path, body string }{
			{"GET", "/api/v1/admin/mcp/tool_catalogs/code:other", ""},
			{"GET", "/api/v1/admin/mcp/tool_catalogs/code:", ""},
			{"GET", "/api/v1/admin/mcp/tool_catalogs/kit", ""},
			{"PATCH", "/api/v1/admin/mcp/tool_catalogs/code:other", `{"name":"other"}`},
			{"DELETE", "/api/v1/admin/mcp/tool_catalogs/code:other", ""},
			{"GET", "/api/v1/admin/mcp/tool_catalogs/code:other/entries", ""},
		} {
			if got := w.send("root", r.method, r.path, r.body, "If-Match", "*"); got.status != 404 {
				t.Errorf("%+v: %s", r, got)
			}
		}
		if changed := w.recorded(); len(changed) > 0 {
			t.Error(changed)
		}
		// An organisation's own catalog may have the name: it comes before the global one.
		if got := w.send("owner", "POST", fmt.Sprintf(
			"/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID), `{"name":"kit"}`); got.status != 201 {
			t.Error(got)
		}
		global := w.send("root", "POST", "/api/v1/admin/mcp/tool_catalogs",
			`{"name":"mine","is_active":false,"description":"of all"}`)
		if global.status != 201 || global.field("is_active") != "false" ||
			global.field("description") != "of all" ||
			global.header.Get("Location") != "/api/v1/admin/mcp/tool_catalogs/"+global.field("id") {
			t.Error(global)
		}
		if got := w.send("root", "PATCH", global.header.Get("Location"), `{"name":"basics"}`,
			"If-Match", "*"); got.status != 409 {
			t.Error(got)
		}
		// One that the store has had since before code declared the name can be changed, and
		// renamed.
		older := must(w.CreateCatalog(t.Context(), store.Global, "basics", "", true, setup))
		at := fmt.Sprintf("/api/v1/admin/mcp/tool_catalogs/%d", older.ID)
		for _, body := range []string{`{"name":"basics","description":"new"}`, `{"name":"other"}`} {
			if got := w.send("root", "PATCH", at, body, "If-Match", "*"); got.status != 200 {
				t.Error(got)
			}
		}
	})
}

func TestCatalogIsMadeInTheScopeOfItsBody(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const all = "/api/v1/admin/mcp/tool_catalogs"
		for body, want := range map[string]string{
			`{"name":"a","org_id":"ORG"}`:                  "201 ORG <nil>",
			`{"name":"a","team_id":"TEAM"}`:                "201 <nil> TEAM",
			`{"name":"a"}`:                                 "201 <nil> <nil>",
			`{"name":"b","org_id":"ORG","team_id":"TEAM"}`: "422 <nil> <nil>",
			`{"name":"b","org_id":"999"}`:                  "422 <nil> <nil>",
			`{"name":"b","team_id":"abc"}`:                 "422 <nil> <nil>",
			`{"name":"b","org_id":""}`:                     "422 <nil> <nil>",
			`{"name":"b","team_id":""}`:                    "422 <nil> <nil>",
			`{"name":"b","org_id":null}`:                   "201 <nil> <nil>",
			`{"name":"c","org_id":ORG,"team_id":null}`:     "201 ORG <nil>",
			`{"name":"b","org_id":1}`:                      "422 <nil> <nil>",
		} {
			got := w.send("root", "POST", all, w.filled(body))
			if fmt.Sprint(got.status, " ", got.field("org_id"), " ",
				got.field("team_id")) != w.filled(want) {
				t.Errorf("%s: %s", body, got)
			}
		}
		for _, c := range []struct {
			path, body string
			want       int
		}{
			{"/api/v1/admin/members", `{"subject":"x","issuer":"","standing":"lead"}`, 422},
			{"/api/v1/admin/members",
				`{"subject":"x","issuer":"","standing":"lead","org_id":"999"}`, 422},
			{"/api/v1/admin/members",
				`{"subject":"x","issuer":"","standing":"lead","org_id":"ORG","team_id":"TEAM"}`,
				422}, {"/api/v1/admin/members",
				`{"subject":"x","issuer":"","standing":"lead","team_id":"TEAM"}`, 201},
			{"/api/v1/admin/members",
				`{"subject":"x","issuer":"","standing":"lead","team_id":"TEAM"}`, 409},
			{"/api/v1/admin/members",
				`{"subject":"x","issuer":"","standing":"boss","team_id":"TEAM"}`, 422},
			{"/api/v1/admin/members",
				`{"subject":"","issuer":"","standing":"lead","team_id":"TEAM"}`, 422},
			{"/api/v1/admin/teams", `{"name":"x","org_id":"999"}`, 422},
			{"/api/v1/admin/teams", `{"name":"x"}`, 422},
			{"/api/v1/admin/teams", `{"name":"lab","org_id":"ORG"}`, 409},
			{"/api/v1/admin/orgs", `{"name":"acme"}`, 409},
			{"/api/v1/admin/orgs", `{"name":" acme"}`, 422},
			{"/api/v1/admin/orgs", `{"name":"x","":null}`, 422}, {all, `{"name":null}`, 422},
			{"/api/v1/admin/orgs", `{"name":"a\u0000"}`, 422},
			{"/api/v1/admin/orgs", `{"name":"a","org_id":"1"}`, 422},
			{all, `{"name":"a","org_id":"ORG"}`, 409},
		} {
			if got := w.send("root", "POST", c.path, w.filled(c.body)); got.status != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		}
		// In a scope there is no choice.
		for _, body := range []string{`{"name":"c","org_id":"ORG"}`,
			`{"name":"c","team_id":"TEAM"}`} {
			if got := w.send("owner", "POST",
				fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID),
				w.filled(body)); got.status != 422 {
				t.Errorf("%s: %s", body, got)
			}
		}
	})
}

// TestNameRevealsNothingOfOtherScopes: a name that another has is as free as one that nobody has.
func TestNameRevealsNothingOfOtherScopes(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for who, at := range map[string]string{
			"owner":   fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID),
			"lablead": fmt.Sprintf("/api/v1/teams/%d/mcp/tool_catalogs", w.lab.ID),
			"rival":   fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.rival.ID),
			"root":    "/api/v1/admin/mcp/tool_catalogs",
		} {
			for _, want := range []int{201, 409} {
				if got := w.send(who, "POST", at, `{"name":"same"}`); got.status != want {
					t.Errorf("%s: %s", who, got)
				}
			}
		}
	})
}

func TestEntryOfAToolThatThereIsAnswersAsOneOfAToolThatThereIsNot(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		c := must(w.CreateCatalog(t.Context(), store.InOrg(w.acme.ID), "kit", "", true, setup))
		at := fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs/%d/entries", w.acme.ID, c.ID)
		for _, tool := range []string{"admin_only", "no_such_tool", "ask"} {
			got := w.send("owner", "POST", at,
				fmt.Sprintf(`{"tool_name":%q,"module_id":"m"}`, tool))
			if got.status != 201 || got.field("tool_name") != tool ||
				got.field("module_id") != "m" || got.header.Get("Location") != at+"/"+tool {
				t.Error(got)
			}
			if got := w.send("owner", "POST", at,
				fmt.Sprintf(`{"tool_name":%q}`, tool)); got.status != 409 {
				t.Error(got)
			}
		}
		for _, tool := range []string{"", "a b", "ä", "a/b", `a\n`} {
			if got := w.send("owner", "POST", at,
				fmt.Sprintf(`{"tool_name":"%s"}`, tool)); got.status != 422 {
				t.Error(got)
			}
		}
		for tool, want := range map[string]int{
			"ask": 204, "never": 404, "a%20b": 422, "a%2Fb": 422, "%C3%A4": 422} {
			if got := w.send("owner", "DELETE", at+"/"+tool, ""); got.status != want {
				t.Errorf("%s: %s", tool, got)
			}
		}
	})
}
