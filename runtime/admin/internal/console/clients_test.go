package console_test

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// bounds gives a client a boundary.
func (w *world) bounds(client string, b boundary.Boundary) store.Bound {
	return must(w.store.CreateBound(w.ctx, boundary.Party{Issuer: issuer, Client: client}, b, by))
}

// uses records a call of a client, which has seen the server.
func (w *world) uses(client, tool string, failure audit.Failure) {
	e := audit.Event{Time: time.Now().Add(-time.Hour), Type: audit.ToolCalled, RequestID: "r",
		Issuer:    issuer,
		Principal: "mel", Client: client, Roles: []string{"Member"}, Tool: tool}
	if e.End(failure); failure == audit.Denied {
		e.Axis = string(access.AxisBoundary)
	}
	must(0, w.store.Audit().Record(w.ctx, e))
	must(0, w.store.SawClients(w.ctx, []store.SeenClient{
		{Issuer: issuer, Client: client, First: e.Time, Last: e.Time}}))
}

func TestClientsAreListedBoundedBlockedAndFreed(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			const token, none = "token-admin", "No client has a boundary."
			w.uses("desk", "view", "")
			w.uses("desk", "change", audit.Denied)
			page(t, w.get(token, "/console/clients"), http.StatusOK, `aria-current="page">Clients`, "desk",
				"none", "Block …", none)

			// What it uses, with a boundary to copy and to create.
			use := "/console/clients/suggestion?" + url.Values{"issuer": {issuer},
				"client": {"desk"}}.Encode()
			body := page(t, w.get(token, use), http.StatusOK, "Used 1 of 7 tools", "tool:view",
				"Refused by its boundary", "tool:change",
				"boundaries:\n  - issuer: &#34;"+issuer+"&#34;\n    client: &#34;desk&#34;\n    roles:\n"+
					"      - &#34;Viewer&#34;\n    items:\n      - &#34;tool:view&#34;\n</pre>",
				">Viewer</textarea>", ">tool:view</textarea>", "Create the boundary")
			if strings.Contains(body, "more events than") {
				t.Error("the trail was read completely")
			}
			at := led(t, w.post(token, "/console/boundaries", form("issuer", issuer, "client", "desk",
				"roles", "Viewer\r\n", "items", "tool:view\r\n\r\n tool:change ", "until", "2099-01-02 03:04",
				"readonly", "on")), "/console/boundaries/*")
			page(t, w.get(token, at), http.StatusOK, "The boundary is created.", "desk", "version 1",
				"Viewer</textarea>", "tool:view\ntool:change</textarea>", "2099-01-02 03:04:00", "checked")
			at, _, _ = strings.Cut(at, "?")
			page(t, w.post(token, "/console/boundaries", form("issuer", issuer, "client", "desk")),
				http.StatusConflict, "It already has a boundary.", `value="desk"`)

			led(t, w.post(token, at, form("version", 1, "roles", "*", "items", "*")),
				at+"?done=boundary-saved")
			page(t, w.get(token, use), http.StatusOK, `href="`+at+`">Edit the boundary of the client`)
			page(t, w.post(token, at, form("version", 1, "roles", "Member", "items", "tool:view")),
				http.StatusConflict, "saved this boundary", "Member</textarea>")
			page(t, w.post(token, at, form("version", 2, "roles", "Membr\nViewer", "items",
				"tool:veiw\ntool:a",
				"until", "soon")), http.StatusUnprocessableEntity, "Nothing was changed.",
				"&#34;Membr&#34; is not a role.", "The item &#34;tool:veiw&#34; names no tool: "+
					"did you mean another?",
				"The item &#34;tool:a&#34; names", "This is not a time")
			page(t, w.post(token, at, form("roles", "Viewer")), http.StatusUnprocessableEntity,
				"Open the page again")

			block := "/console/clients/block?" + url.Values{"issuer": {issuer}, "client": {"desk"}}.Encode()
			page(t, w.get(token, block), http.StatusOK, "Block", "desk", `name="version" value="2"`,
				`name="blocked" value="yes"`)
			blocks := func(version int, blocked string) url.Values {
				return form("issuer", issuer, "client", "desk", "version", version, "blocked", blocked)
			}
			page(t, w.post(token, "/console/clients/block", blocks(1, "yes")), http.StatusConflict,
				"It was changed since", `value="2"`)
			led(t, w.post(token, "/console/clients/block", blocks(2, "yes")),
				"/console/clients?done=blocked")
			page(t, w.get(token, "/console/clients?done=blocked"), http.StatusOK, "The client is blocked.",
				"desk", "its own", "blocked", "Unblock …")
			page(t, w.get(token, block), http.StatusOK, "Unblock", `name="blocked" value="no"`)
			led(t, w.post(token, at, form("version", 3, "roles", "*", "items", "*")),
				at+"?done=boundary-saved")
			if b := must(w.store.AllBounds(w.ctx))[0].Boundary; !b.Blocked {
				t.Errorf("an edited boundary is no longer blocked: %+v", b)
			}
			led(t, w.post(token, "/console/clients/block", blocks(4, "no")),
				"/console/clients?done=unblocked")
			if b := must(w.store.AllBounds(w.ctx))[0].Boundary; b.Blocked || !slices.Equal(b.Items,
				[]string{"*"}) {
				t.Errorf("%+v", b)
			}
			page(t, w.get(token, at+"/delete"), http.StatusOK, "Delete boundary of desk?")
			led(t, w.post(token, at+"/delete", form("version", 5)), "/console/clients?done=boundary-deleted")
			page(t, w.get(token, "/console/clients"), http.StatusOK, none)

			// A client without a boundary gets one, and an unblocked one may be none.
			page(t, w.get(token, block), http.StatusOK, "It gets a boundary that allows nothing.")
			page(t, w.post(token, "/console/clients/block", blocks(0, "no")), http.StatusNotFound)
			led(t, w.post(token, "/console/clients/block", blocks(0, "yes")),
				"/console/clients?done=blocked")
			page(t, w.get(token, block), http.StatusOK, "The boundary allows nothing")
			page(t, w.get(token, "/console/boundaries/new?issuer="+issuer), http.StatusOK, `value="`+issuer)

			var done []string
			for _, e := range must2(w.store.Events(w.ctx, store.Page[int64]{Limit: 1000})) {
				if e.Principal == "ada" && e.Type == audit.Changed {
					done = append(done, e.Action)
				}
			}
			equal(t, done, []string{"create boundary", "update boundary", "update boundary",
				"update boundary",
				"update boundary", "delete boundary", "create boundary"})
		})
	}
}

// Operators cannot lock themselves out.
func TestClientOfTheConsoleCannotBeBlocked(t *testing.T) {
	w := onSQLite(t)
	const token, cure = "token-admin", "administers the server (admin.Options.Clients)"
	page(t, w.post(token, "/console/clients/block", form("issuer", issuer, "client", "browser",
		"version", 0,
		"blocked", "yes")), http.StatusUnprocessableEntity, cure)
	page(t, w.post(token, "/console/boundaries", form("issuer", issuer, "client", "browser")),
		http.StatusUnprocessableEntity, cure)
	if all := must(w.store.AllBounds(w.ctx)); len(all) > 0 {
		t.Errorf("%+v", all)
	}
	// The pages offer neither.
	w.uses("browser", "view", "")
	if body := page(t, w.get(token, "/console/clients"), http.StatusOK, "browser",
		"administers"); strings.Contains(body, "/console/clients/block") {
		t.Error(body)
	}
	if body := page(t, w.get(token, "/console/clients/suggestion?"+of("browser")), http.StatusOK,
		"tool:view", "can have no boundary"); strings.Contains(body, "Create the boundary") {
		t.Error(body)
	}
	w.uses("desk", "view", "")
	page(t, w.get(token, "/console/clients"), http.StatusOK, "/console/clients/block?client=desk")
}

func of(client string) string {
	return url.Values{"issuer": {issuer}, "client": {client}}.Encode()
}

// fixed are boundaries in a file.
type fixed struct{ boundary.Source }

func (fixed) All() iter.Seq2[boundary.Party, boundary.Boundary] {
	return func(yield func(boundary.Party, boundary.Boundary) bool) {
		for i := range 1002 {
			if !yield(boundary.Party{Issuer: issuer, Client: fmt.Sprint("c", i)}, boundary.Boundary{
				Items: []string{"*"}, Where: fmt.Sprint("b.yaml:", i)}) {
				return
			}
		}
	}
}

// Boundaries that are not in the store are shown if their source lists them, and never changed.
func TestBoundariesOfAnotherSourceAreShownOnly(t *testing.T) {
	const token = "token-admin"
	for want, source := range map[string]boundary.Source{
		"This server has no boundaries": nil, "a source that does not list them": bounded{},
		"These are the first 1000": fixed{},
	} {
		w := newWorldOf(t, engines["sqlite"](t), func(m *machine) { m.bounds = source })
		body := page(t, w.get(token, "/console/clients"), http.StatusOK, want)
		if listed := strings.Contains(body, "b.yaml:999"); strings.Contains(body,
			"/console/boundaries") ||
			strings.Contains(body, "b.yaml:1000") || listed != (source == fixed{}) {
			t.Errorf("%s: %s", want, body)
		}
		for _, path := range []string{"/console/boundaries/new", "/console/clients/block?client=a"} {
			page(t, w.get(token, path), http.StatusNotFound)
		}
		page(t, w.post(token, "/console/boundaries", form("client", "a")), http.StatusNotFound)
		page(t, w.get(token, "/console/clients/suggestion?client=a&days=x"),
			http.StatusUnprocessableEntity,
			"Write a number of days from 1 to 366.")
		if body := page(t, w.get(token, "/console/clients/suggestion?client=a"), http.StatusOK,
			"It has used nothing",
			"roles: []\n    items: []\n"); strings.Contains(body, "Create the boundary") {
			t.Error(body)
		}
	}
}

// The pages have what an agent of each client reaches by each fact.
func TestBlastRadiusOfClients(t *testing.T) {
	const token, use = "token-admin", "/console/clients/suggestion?client=desk&issuer=" + issuer
	const apart, all = "do not come together", "All three facts come together."
	reach := func(private, untrusted, egress string) string {
		return `private</th><td class="text name">` + private + `</td></tr>` + "\n" +
			`<tr><th scope="row">untrusted</th><td class="text name">` + untrusted + `</td></tr>` + "\n" +
			`<tr><th scope="row">egress</th><td class="text name">` + egress + `</td></tr>`
	}
	change := func(m *machine) {
		m.table = table(t, access.Rule{Tool: "view", MinRole: []string{"Viewer"},
			Facts: "private,untrusted"},
			access.Rule{Tool: "send", MinRole: []string{"Admin"}, Facts: "egress"})
	}
	rest := "prompt:greet, resource:team://people/{id}"
	together, none := reach("tool:view, "+rest, "tool:view, "+rest, "tool:send, "+rest),
		reach("none", "none", "none")
	w := newWorldOf(t, engines["sqlite"](t), change)
	w.uses("desk", "view", "")
	w.uses("free", "view", "")
	bound := w.bounds("desk", boundary.Boundary{Roles: []string{"*"}})
	at := fmt.Sprint("/console/boundaries/", bound.ID)
	for item, wide := range map[string]bool{"tool:view": false, "*": true} {
		bound.Boundary.Items = []string{item}
		bound = must(w.store.UpdateBound(w.ctx, bound.ID, bound.Version, bound.Boundary, by))
		body := page(t, w.get(token, "/console/clients"), http.StatusOK)
		var tagged []bool
		for _, row := range strings.Split(body, "<tr>")[1:] {
			if strings.Contains(row, "</td>") {
				tagged = append(tagged, strings.Contains(row, "all three</span>"))
			}
		}
		if !slices.Equal(tagged, []bool{false, wide, wide}) && !slices.Equal(tagged, []bool{wide,
			false, wide}) {
			t.Errorf("%v: %s", tagged, body)
		}
		want := []string{apart, reach("tool:view", "tool:view", "none")}
		if wide {
			want = []string{all, together}
		}
		page(t, w.get(token, at), http.StatusOK, want...)
		page(t, w.get(token, use), http.StatusOK, want...)
		page(t, w.get(token, strings.Replace(use, "desk", "free", 1)), http.StatusOK, apart, none)
	}
	for want, source := range map[string]boundary.Source{together: nil, "": bounded{}, none: fixed{}} {
		w := newWorldOf(t, engines["sqlite"](t), func(m *machine) { change(m); m.bounds = source })
		body := page(t, w.get(token, use), http.StatusOK, want)
		if has := strings.Contains(body, "Reach of a taken-over agent"); has != (want != "") {
			t.Errorf("%v: %s", source, body)
		}
		if source == (fixed{}) {
			page(t, w.get(token, strings.Replace(use, "desk", "c7", 1)), http.StatusOK, together)
		}
	}
}

// Names of clients are shown so that all of their characters can be seen.
func TestNamesOfClientsAreEscaped(t *testing.T) {
	w := onSQLite(t)
	const name = `<b>"x"</b>`
	w.uses(name, "view", "")
	body := page(t, w.get("token-admin", "/console/clients"), http.StatusOK, "&lt;b&gt;")
	if strings.Contains(body, "<b>\"x") {
		t.Error(body)
	}
	page(t, w.get("token-admin", "/console/clients/suggestion?client="+url.QueryEscape("a\u202eb")),
		http.StatusUnprocessableEntity, `a\u202eb`)
}
