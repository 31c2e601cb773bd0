package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const boundaries = "/api/v1/admin/boundaries"

// A boundary is created, read, changed, blocked and deleted, as an entry of a file.
func TestBoundaryIsCreatedChangedBlockedAndDeleted(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const entry = `"issuer":"https://id.example","client":"dns-agent"`
		got := w.send("root", "POST", boundaries, `{`+entry+`,"roles":["Member"],"items":["tool:read",`+
			`"catalog:kit"],"readonly":true,"until":"2099-06-30T00:00:00Z"}`)
		at := got.header.Get("Location")
		if got.status != 201 || got.header.Get("ETag") != `"1"` || !strings.Contains(got.body,
			`"roles":["Member"],"items":["tool:read","catalog:kit"],"readonly":true,`+
				`"until":"2099-06-30T00:00:00Z","version":1`) {
			t.Fatal(got)
		}
		if again := w.send("root", "POST", boundaries, `{`+entry+`}`); again.status != 409 ||
			!strings.Contains(again.body, "already has a boundary") {
			t.Error(again)
		}
		for i, test := range []struct{ body, want string }{
			{`{"blocked":true}`, `"blocked":true`}, {`{"blocked":false,"roles":"*"}`, `"roles":"*"`},
			{`{"items":[],"readonly":false}`, `"roles":"*","until"`}, {`{"until":""}`,
				`"roles":"*","version"`},
			{`{"until":"2000-01-01T02:00:00+02:00"}`, `"until":"2000-01-01T00:00:00Z"`},
		} {
			version := fmt.Sprintf(`"%d"`, i+1)
			if stale := w.send("root", "PATCH", at, test.body, "If-Match", `"99"`); stale.status != 412 {
				t.Error(stale)
			}
			got := w.send("root", "PATCH", at, test.body, "If-Match", version)
			if got.status != 200 || !strings.Contains(got.body, test.want) {
				t.Errorf("%s: %s", test.body, got)
			}
			if read := w.send("root", "GET", at, ""); read.body != got.body ||
				read.header.Get("ETag") != got.header.Get("ETag") {
				t.Errorf("%s, then %s", got, read)
			}
		}
		page := w.send("root", "GET", boundaries, "")
		if !strings.Contains(page.body, `"client":"dns-agent"`) {
			t.Error(page)
		}
		if got := w.send("root", "DELETE", at, "", "If-Match", `"6"`); got.status != 204 {
			t.Error(got)
		}
		if got := w.send("root", "GET", at, ""); got.status != 404 {
			t.Error(got)
		}
	})
}

// A missing key, null and [] allow nothing, and "*" allows all. A mistake has its place and cure.
func TestBoundariesAreReadAsEntriesOfAFile(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for i, test := range []struct {
		list string
		want []string
	}{{``, nil}, {`,"L":null`, nil}, {`,"L":[]`, nil}, {`,"L":"*"`, []string{"*"}}, {`,"L":["*"]`,
		[]string{"*"}}} {
		list := strings.ReplaceAll(test.list, "L", "roles") + strings.ReplaceAll(test.list, "L", "items")
		got := w.send("root", "POST", boundaries, fmt.Sprintf(`{"issuer":"i","client":"c%d"%s}`, i, list))
		if got.status != 201 {
			t.Error(got)
			continue
		}
		b, ok, err := bounded{w.Store}.Boundary(t.Context(),
			boundary.Party{Issuer: "i", Client: fmt.Sprint("c", i)})
		if !ok || err != nil || fmt.Sprint(b.Roles, b.Items) != fmt.Sprint(test.want, test.want) {
			t.Errorf("%s: %+v", list, b)
		}
	}
	const entry = `"issuer":"i","client":"agent"`
	for body, want := range map[string]string{
		entry + `,"item":[]`:                `"location":"body.item"`,
		entry + `,"roles":["Membr"]`:        `is not a role of Viewer < Member < Manager < Admin: use one of them","location":"body.roles[0]"`,
		entry + `,"roles":["*","Member"]`:   `must be the only one: remove it, or the others","location":"body.roles[0]"`,
		entry + `,"items":["tool:ask","*"]`: `must be the only one: remove it, or the others","location":"body.items[1]"`,
		entry + `,"items":["tool:aks"]`:     `names no tool of the server: did you mean \"ask\"?","location":"body.items[0]"`,
		entry + `,"items":["tool:ask a=b"]`: `names no value of an argument with rules ` +
			`of the server: correct the name, or remove it`,
		entry + `,"items":["catalog:acme"]`:         `A boundary takes no other catalogs`,
		entry + `,"items":["ask"]`:                  `has no kind that exists: write tool:NAME,`,
		entry + `,"items":"tool:ask"`:               `expected a list of texts, or \"*\" for all","location":"body.items"`,
		entry + `,"items":["tool:ask","tool:ask"]`:  `is in its list twice: remove one","location":"body.items"`,
		entry + `,"until":"tomorrow"`:               `is not a time of RFC 3339: write one as in 2027-06-30T00:00:00Z","location":"body.until"`,
		entry + `,"actor":"b"`:                      `has none or both of client and actor: write one of them","location":"body.client"`,
		`"issuer":"i"`:                              `has none or both of client and actor`,
		`"client":"agent"`:                          `expected required property issuer to be present`,
		`"issuer":"i","client":"*","subject":"ada"`: `has a subject without one client`,
	} {
		got := w.send("root", "POST", boundaries, "{"+body+"}")
		if got.status != 422 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		`{}`: "the body changes nothing", `{"items":null}`: "the body changes nothing",
		`{"client":"b"}`: "body.client", `{"items":["tool:aks"]}`: "did you mean",
	} {
		at := boundaries + "/" + w.thing(boundaries+"/{id}", place{})
		got := w.send("root", "PATCH", at, body, "If-Match", "*")
		if got.status != 422 || !strings.Contains(got.body, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// Operators cannot lock themselves out: a client that administers has no boundary of its own, and
// that of all clients neither blocks it nor limits its administration.
func TestClientsThatAdministerCannotBeBounded(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	const cure = "administers the server (admin.Options.Clients)"
	for _, body := range []string{
		`{"issuer":"https://id.example","client":"root's client"}`,
		`{"issuer":"https://id.example","client":"root's client","subject":"ada","roles":"*","items":"*"}`,
	} {
		if got := w.send("root", "POST", boundaries, body); got.status != 422 ||
			!strings.Contains(got.body, cure) {
			t.Errorf("%s: %s", body, got)
		}
	}
	for _, body := range []string{`{"issuer":"https://id.example","client":"*"}`,
		`{"issuer":"elsewhere","client":"root's client","blocked":true}`,
		`{"issuer":"https://id.example","actor":"root's client","blocked":true}`,
	} {
		if got := w.send("root", "POST", boundaries, body); got.status != 201 {
			t.Errorf("%s: %s", body, got)
		}
	}
	got := w.send("root", "GET", boundaries, "")
	if got.status != 200 {
		t.Errorf("an entry of all clients locks administrators out: %s", got)
	}
	at := boundaries + "/1"
	if got := w.send("root", "PATCH", at, `{"blocked":true}`, "If-Match", "*"); got.status != 200 {
		t.Error(got)
	}
	w.nameless = true // a blocked client is refused before its request has an id
	if got := w.send("member", "GET", "/api/v1/whoami", ""); got.status != 403 {
		t.Errorf("a blocked client: %s", got)
	}
	w.nameless = false
	if got := w.send("root", "GET", boundaries, ""); got.status != 200 {
		t.Errorf("a block of all clients locks administrators out: %s", got)
	}
	// One that came into the store before its client administered can be deleted.
	b := must(w.CreateBound(t.Context(), administrators[0], boundary.Boundary{}, setup))
	at = fmt.Sprint(boundaries, "/", b.ID)
	if got := w.send("root", "PATCH", at, `{"readonly":true}`, "If-Match", "*"); got.status != 422 {
		t.Error(got)
	}
	if got := w.send("root", "DELETE", at, ""); got.status != 204 {
		t.Error(got)
	}
}

// A client can be blocked although the server does not have an item of its boundary any more.
func TestBlockDoesNotDependOnTheItems(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	b := must(w.CreateBound(t.Context(), boundary.Party{Issuer: "gone", Client: "agent"},
		boundary.Boundary{Roles: []string{"Gone"}, Items: []string{"tool:gone"}}, setup))
	got := w.send("root", "PATCH", fmt.Sprint(boundaries, "/", b.ID), `{"blocked":true}`,
		"If-Match", `"1"`)
	if got.status != 200 || !strings.Contains(got.body, `"items":["tool:gone"]`) {
		t.Error(got)
	}
}

// The list of clients has the boundary that counts for each.
func TestSeenClientsAreListedWithTheirBoundary(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx, now := t.Context(), time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
		for i, client := range []string{"own", "other", "far"} {
			in := issuer
			if client == "far" {
				in = "https://far.example"
			}
			must(0, w.SawClients(ctx, []store.SeenClient{{Issuer: in, Client: client, First: now,
				Last: now.Add(time.Duration(i) * time.Hour)}}))
		}
		all := must(w.CreateBound(ctx, boundary.Party{Issuer: issuer, Client: "*"},
			boundary.Boundary{}, setup))
		own := must(w.CreateBound(ctx, boundary.Party{Issuer: issuer, Client: "own"},
			boundary.Boundary{Blocked: true}, setup))
		var got []string
		for path := "/api/v1/admin/clients?limit=2"; path != ""; {
			page := decoded[api.Page[api.SeenClient]](w, w.send("root", "GET", path, ""))
			for _, c := range page.Items {
				got = append(got, fmt.Sprintf("%s %s %t %s", c.Client, c.BoundaryID, c.Blocked,
					c.Last.Format(time.TimeOnly)))
			}
			if path = ""; page.Next != "" {
				path = "/api/v1/admin/clients?limit=2&after=" + page.Next
			}
		}
		want := fmt.Sprintf("[far  false 14:00:00 other %d false 13:00:00 own %d true 12:00:00]",
			all.ID, own.ID)
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	})
}

// A suggestion allows the items that the client has used, and no others.
func TestSuggestionHasTheUsedItems(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		record := func(client string, age time.Duration, failure audit.Failure, tool string) {
			e := audit.Event{Time: time.Now().Add(-age), Type: audit.ToolCalled, RequestID: "r",
				Issuer:    issuer,
				Principal: "ada", Client: client, Roles: []string{"Admin"}, Tool: tool}
			e.End(failure)
			if failure == audit.Denied {
				e.Axis = string(access.AxisBoundary)
			}
			must(0, w.Audit().Record(t.Context(), e))
		}
		record("desk", time.Hour, "", "read")
		record("desk", 2*time.Hour, audit.Errored, "read")
		record("desk", time.Hour, audit.Denied, "admin_only")
		record("desk", time.Hour, "", "gone")
		record("desk", 48*time.Hour, "", "ask")
		record("else", time.Hour, "", "ask")
		const path = "/api/v1/admin/clients/suggestion?issuer=https://id.example&client=desk&days="
		for days, want := range map[string]string{
			"1": `"complete":true,"used_tools":1,"tools":4,"used":[{"item":"tool:read","count":2,`,
			"3": `"complete":true,"used_tools":2,"tools":4,"used":[{"item":"tool:ask","count":1,`,
		} {
			got := w.send("root", "GET", path+days, "")
			if got.status != 200 || !strings.Contains(got.body, want) ||
				!strings.Contains(got.body, `"refused":[{"item":"tool:admin_only","count":1,`) {
				t.Errorf("%s days: %s", days, got)
			}
			entry := decoded[api.Suggestion](w, got).Entry
			if fmt.Sprint(entry.Roles) != "[Viewer]" {
				t.Errorf("%+v", entry)
			}
		}
		for _, bad := range []string{"0", "400", "x"} {
			if got := w.send("root", "GET", path+bad, ""); got.status != 422 {
				t.Error(got)
			}
		}
	})
}

// A server with other boundaries, or without any, has no operations on them.
func TestOtherBoundariesCannotBeChanged(t *testing.T) {
	for _, of := range []boundary.Source{nil, elsewhere{}, bounded{new(store.Store)}} {
		var server runtime.Administered
		w := newWorld(t, engines["sqlite"](t), runtime.Options{},
			func(s runtime.Administered) runtime.Administered {
				server = s
				return boundedBy{s, of}
			})
		if server == nil {
			t.Fatal("no server")
		}
		for path, want := range map[string]int{boundaries: http.StatusNotFound,
			"/api/v1/admin/clients": http.StatusNotFound, "/api/v1/admin/clients/suggestion?client=a": 200} {
			if got := w.send("root", "GET", path, ""); got.status != want {
				t.Errorf("%T: %s: %s", of, path, got)
			}
		}
	}
}

type boundedBy struct {
	runtime.Administered
	of boundary.Source
}

func (b boundedBy) Boundaries() boundary.Source { return b.of }

type elsewhere struct{ boundary.Source }
