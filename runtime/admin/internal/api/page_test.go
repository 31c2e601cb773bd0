package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// page is one of any list.
type page struct {
	Items []map[string]any
	Next  string
}

func (w *world) page(path string) (page, reply) {
	w.Helper()
	got := w.send("root", "GET", path, "")
	var p page
	if err := json.Unmarshal([]byte(got.body), &p); err != nil || got.status != 200 {
		w.Fatalf("%s: %v, %s", path, err, got)
	}
	return p, got
}

// walk reads a list page by page, by its links, and calls between after each page.
func (w *world) walk(path string, limit int, between func()) (all []string) {
	w.Helper()
	next := fmt.Sprintf("%s?limit=%d", path, limit)
	for next != "" {
		p, got := w.page(next)
		if len(p.Items) > limit {
			w.Fatalf("%s: %d items", next, len(p.Items))
		}
		for _, item := range p.Items {
			key, ok := item["id"]
			for _, name := range []string{"name", "tool_name"} {
				if !ok {
					key, ok = item[name]
				}
			}
			all = append(all, fmt.Sprint(key))
		}
		link := got.header.Get("Link")
		if (p.Next == "") != (link == "") || p.Next != "" &&
			(!strings.HasPrefix(link, "<"+path+"?") || !strings.HasSuffix(link, `>; rel="next"`) ||
				!strings.Contains(link, "after="+url.QueryEscape(p.Next)) || len(p.Items) == 0) {
			w.Fatalf("%s: next %q, link %q", path, p.Next, link)
		}
		next, _, _ = strings.Cut(strings.TrimPrefix(link, "<"), ">")
		between()
	}
	return all
}

// TestListsHoldEverythingOnceWhateverChangesMeanwhile pages through a list while others add to it
// and delete from it.
func TestListsHoldEverythingOnceWhateverChangesMeanwhile(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		scope := store.InTeam(w.lab.ID)
		path := fmt.Sprintf("/api/v1/teams/%d/mcp/tool_catalogs", w.lab.ID)
		rapid.Check(t, func(rt *rapid.T) {
			old, _, err := w.Catalogs(ctx, scope, store.Page[int64]{Limit: 1000})
			if err != nil {
				rt.Fatal(err)
			}
			for _, c := range old {
				if err := w.DeleteCatalog(ctx, scope, c.ID, 0, setup); err != nil {
					rt.Fatal(err)
				}
			}
			var stays, goes []store.Catalog
			for range rapid.IntRange(0, 8).Draw(rt, "catalogs") {
				w.n++
				c := must(w.CreateCatalog(ctx, scope, fmt.Sprint("c", w.n), "", true, setup))
				if rapid.Bool().Draw(rt, "stays") {
					stays = append(stays, c)
				} else {
					goes = append(goes, c)
				}
			}
			got := w.walk(path, rapid.IntRange(1, 4).Draw(rt, "limit"), func() {
				if len(goes) > 0 && rapid.Bool().Draw(rt, "delete") {
					if err := w.DeleteCatalog(ctx, scope, goes[0].ID, 0, setup); err != nil {
						rt.Fatal(err)
					}
					goes = goes[1:]
				}
				w.n++
				if w.n%3 == 0 {
					must(w.CreateCatalog(ctx, scope, fmt.Sprint("c", w.n), "", true, setup))
				}
			})
			for i, id := range got {
				if slices.Contains(got[:i], id) {
					rt.Fatalf("%s is there twice: %v", id, got)
				}
			}
			for _, c := range stays {
				if !slices.Contains(got, fmt.Sprint(c.ID)) {
					rt.Fatalf("%d is not there: %v", c.ID, got)
				}
			}
		})
	})
}

func TestEveryListIsPagedAlike(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var kit store.Catalog
		for i := range 7 {
			org := must(w.CreateOrg(ctx, fmt.Sprint("org ", i), setup))
			must(w.CreateTeam(ctx, w.acme.ID, fmt.Sprint("team ", i), setup))
			must(w.AddMember(ctx, store.InOrg(org.ID), "", "somebody", "member", setup))
			kit = must(w.CreateCatalog(ctx, store.InOrg(w.acme.ID), fmt.Sprint("catalog ", i), "",
				true, setup))
		}
		for i := range 7 {
			must(w.grants.Grant(ctx, grant.Grant{
				Permission: grant.Permission{
					Type: grant.FileRead, Resource: fmt.Sprint("docs/", i), Unrestricted: true},
				Issuer: issuer, Client: "root's client"}))
			w.ask("root's client", fmt.Sprint("docs/more/", i))
		}
		w.ask("desk", "docs/a")
		tools := []string{"a", "B", "b", "ask", "c-1", "c.1", "c_1"}
		for _, tool := range tools {
			must(w.AddEntry(ctx, store.InOrg(w.acme.ID), kit.ID, tool, "", setup))
			must(0, w.SwitchTool(ctx, "off_"+tool, true, setup))
		}
		for path, want := range map[string]int{
			"/api/v1/admin/orgs": 9, "/api/v1/admin/teams": 9, "/api/v1/admin/members": 19,
			"/api/v1/admin/mcp/tools": 11, "/api/v1/mcp/tools": 4, "/api/v1/mcp/tool_catalogs": 2,
			"/api/v1/admin/mcp/tool_catalogs":                                              9,
			fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID):                    7,
			fmt.Sprintf("/api/v1/admin/mcp/tool_catalogs/%d/entries", kit.ID):              7,
			fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs/%d/entries", w.acme.ID, kit.ID): 7,
			"/api/v1/admin/mcp/tool_catalogs/code:kit/entries":                             3,
			ownGrants: 9, ownRequests: 7, adminGrants: 7, adminRequests: 8,
		} {
			whole := w.walk(path, 1000, func() {})
			if len(whole) != want {
				t.Errorf("%s has %v", path, whole)
			}
			for limit := 1; limit <= want+1; limit++ {
				if got := w.walk(path, limit, func() {}); !slices.Equal(got, whole) {
					t.Errorf("%s, %d at a time: %v, not %v", path, limit, got, whole)
				}
			}
			p, _ := w.page(path + "?limit=2")
			for _, query := range []string{"?limit=0", "?limit=1001", "?limit=-1", "?limit=x",
				"?limit=9999999999999999999", "?after=x", "?after=" + p.Next + "=", "?after=%ff",
				"?after=aQ", "?after=eHg", "?Limit=1", "?nonsense=1",
				"?after=" + strings.Repeat("a", 1025), "?limit=", "?after=", "?limit=1&limit=1",
				"?limit=1;after=x", "?%zz"} {
				if got := w.send("root", "GET", path+query, ""); got.status != 422 &&
					got.status != 400 {
					t.Errorf("%s%s: %s", path, query, got)
				}
			}
		}
		// A cursor of another list is none, and one of an id is one of an id only.
		orgs, _ := w.page("/api/v1/admin/orgs?limit=1")
		for _, path := range []string{"/api/v1/mcp/tools", "/api/v1/admin/mcp/tools"} {
			if got := w.send("root", "GET", path+"?after="+orgs.Next, ""); got.status != 422 {
				t.Error(got)
			}
		}
		for _, path := range []string{"/api/v1/admin/orgs", "/api/v1/admin/teams",
			"/api/v1/admin/members", "/api/v1/admin/mcp/tool_catalogs"} {
			if got := w.send("root", "GET", path+"?after=aXg", ""); got.status != 422 { // "ix"
				t.Error(got)
			}
		}
	})
}

func TestFiltersNarrowLists(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for path, want := range map[string]int{
			"/api/v1/admin/teams?org_id=%d": 1, "/api/v1/admin/members?org_id=%d": 5,
			"/api/v1/admin/teams?org_id=999":    0,
			"/api/v1/admin/members?team_id=999": 0,
		} {
			if strings.Contains(path, "%d") {
				path = fmt.Sprintf(path, w.acme.ID)
			}
			if p, _ := w.page(path); len(p.Items) != want {
				t.Errorf("%s: %v", path, p.Items)
			}
		}
		for _, path := range []string{"/api/v1/admin/members", "/api/v1/admin/mcp/tool_catalogs"} {
			for query, want := range map[string]int{
				"?org_id=1&team_id=1": 422, "?org_id=": 400, "?org_id=1&org_id=2": 400,
				"?team_id=abc": 422} {
				if got := w.send("root", "GET", path+query, ""); got.status != want {
					t.Errorf("%s%s: %s", path, query, got)
				}
			}
		}
		first, got := w.page(fmt.Sprintf("/api/v1/admin/members?org_id=%d&limit=2", w.acme.ID))
		if link := got.header.Get("Link"); !strings.Contains(
			link, fmt.Sprintf("org_id=%d", w.acme.ID)) || !strings.Contains(link, "limit=2") ||
			first.Next == "" {
			t.Error(link)
		}
	})
}
