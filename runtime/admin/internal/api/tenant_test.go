package api_test

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// never are ids that nothing has had.
var never = []string{"999999", fmt.Sprint(math.MaxInt64), "99999999999999999999", "0", "-1", "07",
	"+7", "7.0", "abc", "code:kit", "%20", "7%00", "é"}

// neverFor are all of them for the first few requests, and one in turn for the others.
func neverFor(i int) []string {
	if i < 2 {
		return slices.Clone(never)
	}
	return []string{never[i%len(never)]}
}

// requests are ways to send an operation: well, and badly.
func requests(op operation) []struct{ body, query, media, match string } {
	all := []struct{ body, query, media, match string }{
		{"", "", "", ""}, {"", "?limit=1", "", `"1"`}, {"", "?limit=x&nonsense=", "", "*"},
		{"", "?%zz", "", `"2"`},
	}
	if op.method == "POST" || op.method == "PATCH" {
		for _, body := range []string{rows[op.id].body, `{"name":"probe %d"}`,
			`{"tool_name":"probe_%d"}`, `{"description":"probe"}`, `{"name":null}`, `{}`, `[]`, `{`,
			`{"a":1,"a":2}`, strings.Repeat(" ", 70_000)} {
			all = append(all, struct{ body, query, media, match string }{
				body, "", "application/json", `"1"`})
		}
		for _, match := range []string{"", `"2"`, "*", "?", `W/"1"`} {
			all = append(all, struct{ body, query, media, match string }{
				rows[op.id].body, "", "application/json", match})
		}
		all = append(all, struct{ body, query, media, match string }{
			"name: probe", "", "application/yaml", `"1"`})
	}
	return all
}

// try sends a request, and returns what came back, without what the date is.
func (w *world) try(who string, op operation, path string,
	r struct{ body, query, media, match string }) reply {
	w.n++
	var headers []string
	if r.media != "" {
		headers = append(headers, "Content-Type", r.media)
	}
	if r.match != "" {
		headers = append(headers, "If-Match", r.match)
	}
	return w.send(who, op.method, path+r.query, strings.ReplaceAll(r.body, "%d", fmt.Sprint(w.n)),
		headers...)
}

func same(a, b reply) bool {
	return a.status == b.status && a.body == b.body && reflect.DeepEqual(a.header, b.header)
}

// holdings is all that a tenant has, as the store has it.
func (w *world) holdings(in ...store.Scope) string {
	w.Helper()
	var all []string
	for _, scope := range in {
		catalogs, _, err := w.Catalogs(context.Background(), scope, store.Page[int64]{Limit: 1000})
		if err != nil {
			w.Fatal(err)
		}
		for _, c := range catalogs {
			all = append(all, fmt.Sprint(c, must(w.Tools(context.Background(), c.ID))))
		}
	}
	return strings.Join(all, "\n")
}

// TestForeignOrganizationsAndTeamsAnswerAsOnesThatNeverWere sends every operation in a scope, well
// and badly, as those to whom the scope is none of theirs.
func TestForeignOrganizationsAndTeamsAnswerAsOnesThatNeverWere(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		for _, op := range w.operations() {
			foreign := []string{"stranger", "rival", "lablead"}
			switch {
			case strings.HasPrefix(op.path, "/api/v1/teams/"):
				foreign[2] = "orglead" // an organisation's lead is not its team's
			case !strings.HasPrefix(op.path, "/api/v1/orgs/"):
				continue
			}
			id := w.thing(op.path, w.acmePlace(op.path))
			before := w.holdings(w.acmePlace(op.path).scope)
			for _, who := range foreign {
				for i, r := range requests(op) {
					got := w.try(who, op, at(op.path, w.acme.ID, w.lab.ID, id), r)
					if got.status != 404 {
						t.Errorf("%s as %s, %+v: %s", op.id, who, r, got)
					}
					for _, none := range neverFor(i) {
						path := strings.NewReplacer("{org_id}", none, "{team_id}", none).Replace(
							op.path)
						if other := w.try(who, op, at(path, 0, 0, id), r); !same(got, other) {
							t.Errorf("%s as %s, %+v: %s of another tenant, but %s of %s", op.id,
								who, r, got, other, none)
						}
					}
				}
			}
			if after := w.holdings(w.acmePlace(op.path).scope); after != before {
				t.Errorf("%s: %s\nbecame\n%s", op.id, before, after)
			}
		}
	})
}

// TestForeignCatalogsAnswerAsOnesThatNeverWere sends every operation on a catalog, well and badly,
// to the caller's own scope with the id of a catalog that is in another.
func TestForeignCatalogsAnswerAsOnesThatNeverWere(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for _, op := range w.operations() {
			if !strings.Contains(op.path, "tool_catalogs/{id}") ||
				strings.HasPrefix(op.path, "/api/v1/admin/") {
				continue
			}
			theirs := []string{w.thing(op.path, w.rivalPlace(op.path))}
			for _, scope := range []store.Scope{
				store.Global, store.InOrg(w.acme.ID), store.InTeam(w.lab.ID),
				store.InTeam(w.rivalLab.ID)} {
				if scope == w.acmePlace(op.path).scope {
					continue
				}
				w.n++
				c := must(w.CreateCatalog(ctx, scope, fmt.Sprint("other ", w.n), "", true, setup))
				must(w.AddEntry(ctx, scope, c.ID, "old_tool", "", setup))
				theirs = append(theirs, fmt.Sprint(c.ID))
			}
			elsewhere := []store.Scope{store.Global, store.InOrg(w.acme.ID), store.InTeam(w.lab.ID),
				store.InOrg(w.rival.ID), store.InTeam(w.rivalLab.ID)}
			elsewhere = slices.DeleteFunc(elsewhere,
				func(s store.Scope) bool { return s == w.acmePlace(op.path).scope })
			before := w.holdings(elsewhere...)
			for i, r := range requests(op) {
				for _, who := range []string{"owner", "root"} {
					none := w.try(who, op, at(op.path, w.acme.ID, w.lab.ID, "999999"), r)
					if none.status < 400 || none.status >= 500 {
						t.Errorf("%s as %s, %+v: %s", op.id, who, r, none)
					}
					for _, id := range append(neverFor(i), theirs...) {
						if got := w.try(who, op, at(op.path, w.acme.ID, w.lab.ID, id), r); !same(
							none, got) {
							t.Errorf("%s as %s, %+v: %s of another scope, but %s", op.id, who, r,
								got, none)
						}
					}
				}
			}
			if after := w.holdings(elsewhere...); after != before {
				t.Errorf("%s: %s\nbecame\n%s", op.id, before, after)
			}
		}
	})
}

// TestAdminRoutesTellOthersNothing sends every operation of admins, and paths that are none, as
// others.
func TestAdminRoutesTellOthersNothing(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		want := w.send("member", "GET", "/api/v1/admin/orgs", "")
		all := w.operations()
		all = append(all, operation{"none", "GET", "/api/v1/admin/nothing"},
			operation{"none", "PURGE", "/api/v1/admin/orgs"},
			operation{"none", "POST", "/api/v1/admin/"},
			operation{"none", "GET", "/api/v1/admin/orgs/"},
			operation{"none", "GET", "/api/v1/%61dmin/x"})
		for _, op := range all {
			if !strings.HasPrefix(op.path, "/api/v1/admin/") && op.id != "none" {
				continue
			}
			id := w.thing(op.path, w.acmePlace(op.path))
			w.recorded()
			for i, r := range requests(op) {
				for _, id := range append(neverFor(i), id) {
					if got := w.try("owner", op, at(op.path, w.acme.ID, w.lab.ID, id),
						r); got.status != 403 || !same(got, want) {
						t.Errorf("%s %s, %+v: %s", op.method, op.path, r, got)
					}
				}
			}
			if changed := w.recorded(); len(changed) > 0 {
				t.Errorf("%s: %v", op.id, changed)
			}
		}
	})
}

// TestListsOfAScopeHoldNothingOfAnother reads what is anybody's as all who may read anything.
func TestListsOfAScopeHoldNothingOfAnother(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		for name, scope := range map[string]store.Scope{
			"of acme": store.InOrg(w.acme.ID), "of rival": store.InOrg(w.rival.ID),
			"of lab": store.InTeam(w.lab.ID), "of rival's lab": store.InTeam(w.rivalLab.ID),
			"of all": store.Global} {
			must(w.CreateCatalog(ctx, scope, name, "", true, setup))
		}
		for _, c := range []struct {
			who, path string
			want      []string
		}{
			{"owner", fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID),
				[]string{"of acme"}},
			{"owner", fmt.Sprintf("/api/v1/teams/%d/mcp/tool_catalogs", w.lab.ID),
				[]string{"of lab"}},
			{"rival", fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.rival.ID),
				[]string{"of rival"}},
			{"root", fmt.Sprintf("/api/v1/teams/%d/mcp/tool_catalogs", w.rivalLab.ID),
				[]string{"of rival's lab"}},
			{"root", fmt.Sprintf("/api/v1/admin/mcp/tool_catalogs?org_id=%d", w.rival.ID),
				[]string{"of rival"}},
			{"root", fmt.Sprintf("/api/v1/admin/mcp/tool_catalogs?team_id=%d", w.lab.ID),
				[]string{"of lab"}},
			{"root", "/api/v1/admin/mcp/tool_catalogs?team_id=999", nil},
			{"root", "/api/v1/admin/mcp/tool_catalogs",
				[]string{"basics", "kit", "of acme", "of all", "of lab", "of rival",
					"of rival's lab"}},
		} {
			if got := w.names(w.send(c.who, "GET", c.path, "")); !slices.Equal(got, c.want) {
				t.Errorf("%s as %s: %v", c.path, c.who, got)
			}
		}
	})
}
