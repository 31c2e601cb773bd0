package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestCallersReadWhoTheyAre(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for who, want := range map[string]string{
			"stranger": "[] []",
			"member":   "[{ORG acme member}] [{TEAM lab member}]",
			"owner":    "[{ORG acme manager}] [{TEAM lab manager}]",
			"orglead":  "[{ORG acme manager}] []",
			"lablead":  "[] [{TEAM lab manager}]",
			"rival":    fmt.Sprintf("[{%d rival manager}] [{%d lab manager}]", w.rival.ID, w.rivalLab.ID),
			"root":     "[] []",
		} {
			got := decoded[api.Whoami](w, w.send(who, "GET", "/api/v1/whoami", ""))
			if text := fmt.Sprint(got.Orgs, got.Teams); text != w.filled(want) {
				t.Errorf("%s is in %s", who, text)
			}
			role := "Viewer"
			if who == "root" {
				role = "Admin"
			}
			if got.Issuer != issuer || got.Subject != who || got.Client != who+"'s client" ||
				!slices.Equal(got.Roles, []string{role}) || got.Admin != (who == "root") || got.Scopes == nil {
				t.Errorf("%s: %+v", who, got)
			}
		}
	})
}

// withBoundaries is a server with other boundaries.
type withBoundaries struct {
	runtime.Administered
	source   boundary.Source
	optional bool
}

func (s withBoundaries) Boundaries() boundary.Source { return s.source }
func (s withBoundaries) BoundariesOptional() bool    { return s.optional }

// A client finds out whether it needs a boundary, and which of its roles count within its own.
func TestWhoamiHasTheBoundaryOfTheClient(t *testing.T) {
	for _, test := range []struct {
		with withBoundaries
		want string
	}{
		{withBoundaries{}, "none"}, {withBoundaries{source: bounded{}}, "required"},
		{withBoundaries{source: bounded{}, optional: true}, "optional"},
	} {
		w := newWorld(t, engines["sqlite"](t), runtime.Options{},
			func(s runtime.Administered) runtime.Administered {
				test.with.Administered = s
				return test.with
			})
		must(w.CreateBound(t.Context(), boundary.Party{Issuer: issuer, Client: "root_agent's client"},
			boundary.Boundary{Roles: []string{"Member"}, Items: []string{"*"}}, setup))
		for who, roles := range map[string]string{"root": "[Admin]", "root_agent": "[Member]"} {
			got := decoded[api.Whoami](w, w.send(who, "GET", "/api/v1/whoami", ""))
			if got.Boundaries != test.want || fmt.Sprint(got.Roles) != roles {
				t.Errorf("%s: %+v, want %s", who, got, test.want)
			}
		}
	}
}

// askable is what each caller may ask for, with a star at what a name resolves to.
func (w *world) askable(who, query string) (all []string) {
	w.Helper()
	for _, c := range decoded[api.Page[api.Askable]](w, w.send(who, "GET", "/api/v1/mcp/tool_catalogs"+query, "")).Items {
		text := c.Name + " " + c.Scope + c.TeamID + c.OrgID
		if c.Source == "code" {
			text = c.Name + " code"
		}
		if c.Resolves {
			text += "*"
		}
		all = append(all, text)
	}
	return all
}

func TestCallersAreListedTheCatalogsThatTheyMayAskFor(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		acme, lab, other := store.InOrg(w.acme.ID), store.InTeam(w.lab.ID), store.InTeam(must(w.CreateTeam(ctx, w.acme.ID, "annex", setup)).ID)
		must(w.AddMember(ctx, other, issuer, "member", "member", setup))
		for _, c := range []struct {
			in     store.Scope
			name   string
			active bool
		}{
			{store.Global, "all", true}, {store.Global, "same", true}, {store.Global, "basics", true}, {store.Global, "off", false},
			{acme, "same", true}, {acme, "kit", true}, {acme, "off", true}, {lab, "same", true}, {other, "same", true}, {lab, "all", false},
			{store.InOrg(w.rival.ID), "same", true}, {store.InTeam(w.rivalLab.ID), "secret", true},
		} {
			made := must(w.CreateCatalog(ctx, c.in, c.name, "about "+c.name, c.active, setup))
			// Each has a tool of its own name's, by which a list tells it.
			tool := map[bool]string{true: "ask", false: "read"}[c.in == lab || c.in == store.Global]
			must(w.AddEntry(ctx, c.in, made.ID, tool, "", setup))
		}
		w.joinAgents()
		// A catalog of code without a tool inside the boundary does not exist.
		must(w.CreateBound(ctx, boundary.Party{Issuer: issuer, Client: "bounded's client"},
			boundary.Boundary{Roles: []string{"*"}, Items: []string{"tool:read"}}, setup))
		for who, want := range map[string]string{
			"bounded": "same teamTEAM*, same organizationORG, kit organizationORG*, off " +
				"organizationORG*, kit code, all global*, same global, basics global*",
			"stranger": "basics code*, kit code*, all global*, same global*, basics global",
			"root":     "basics code*, kit code*, all global*, same global*, basics global",
			"member":   "same teamTEAM*, same teamOTHER, same organizationORG, kit organizationORG*, off organizationORG*, basics code*, kit code, all global*, same global, basics global",
			"orglead":  "same organizationORG*, kit organizationORG*, off organizationORG*, basics code*, kit code, all global*, same global, basics global",
			"rival":    "secret teamDEN*, same organizationRIVAL*, basics code*, kit code*, all global*, same global, basics global",
		} {
			want = strings.NewReplacer("OTHER", fmt.Sprint(other.Team()), "DEN", fmt.Sprint(w.rivalLab.ID), "RIVAL", fmt.Sprint(w.rival.ID)).Replace(w.filled(want))
			all := w.askable(who, "")
			if got := strings.Join(all, ", "); got != want {
				t.Errorf("%s: %s\nwant %s", who, got, want)
			}
			// Page by page it is the same.
			for limit := 1; limit < 4; limit++ {
				var paged []string
				for query := fmt.Sprintf("?limit=%d", limit); query != ""; {
					paged = append(paged, w.askable(who, query)...)
					next := decoded[api.Page[api.Askable]](w, w.send(who, "GET", "/api/v1/mcp/tool_catalogs"+query, "")).Next
					if query = ""; next != "" {
						query = fmt.Sprintf("?limit=%d&after=%s", limit, next)
					}
				}
				if !slices.Equal(paged, all) {
					t.Errorf("%s, by %d: %v", who, limit, paged)
				}
			}
			// What is marked is what the name gives, and each is given by its id.
			for _, c := range decoded[api.Page[api.Askable]](w, w.send(who, "GET", "/api/v1/mcp/tool_catalogs", "")).Items {
				byName, byID := w.shown(who, "?catalog="+c.Name), w.shown(who, "?catalog_id="+c.ID)
				if strings.Contains(byID, "no such catalog") || c.Resolves && !strings.HasPrefix(byName, strings.TrimSuffix(byID, "]")) {
					t.Errorf("%s: %+v is %s by its name, and %s by its id", who, c, byName, byID)
				}
			}
		}
		got := decoded[api.Page[api.Askable]](w, w.send("lablead", "GET", "/api/v1/mcp/tool_catalogs?limit=1", "")).Items[0]
		if got.Description != "about same" || got.Source != "store" || got.ID == "" {
			t.Errorf("%+v", got)
		}
	})
}

// TestCursorOfAnotherTenantLeadsNowhere: a cursor says where the caller's own list goes on, and
// opens no shelf.
func TestCursorOfAnotherTenantLeadsNowhere(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for i := range 2 {
		must(w.CreateCatalog(t.Context(), store.InTeam(w.lab.ID), fmt.Sprint("secret ", i), "", true, setup))
	}
	next := decoded[api.Page[api.Askable]](w, w.send("lablead", "GET", "/api/v1/mcp/tool_catalogs?limit=1", "")).Next
	if got := w.askable("rival", "?after="+next); fmt.Sprint(got) != "[basics code* kit code*]" {
		t.Error(got)
	}
	for _, cursor := range []string{"aTE", "czE", "nonsense!", "cy4u", "czEuMQ"} {
		got := w.send("rival", "GET", "/api/v1/mcp/tool_catalogs?after="+cursor, "")
		if got.status != 422 && got.status != 200 || strings.Contains(got.body, "secret") {
			t.Errorf("%s: %s", cursor, got)
		}
	}
}
