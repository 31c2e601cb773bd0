package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	granted "github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// recorded has the console of a world write its audit into a list.
func recorded(w *world) *[]audit.Event {
	events := new([]audit.Event)
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error { *events = append(*events, e); return nil })
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored), console.Options{Audit: sink, Grants: w.keeper})
	return events
}

func TestRequestIsShownAndApproved(t *testing.T) {
	w := onSQLite(t)
	events := recorded(w)
	page(t, w.get("token-admin", "/console"), http.StatusOK, `href="/console/requests"`,
		`href="/console/grants"`, `<span class="n">0</span>open requests`,
		"No client is waiting for a decision.")
	page(t, w.get("token-admin", "/console/requests"), http.StatusOK,
		"No client is waiting for a decision.")
	r := w.requestPermission("desk", "file.read", "reports/**", "The numbers of May.\nPlease.")
	w.gives("desk", "file.read", "public/a")
	w.gives("desk", "file.write", "never/shown")
	w.machine.defaults = grant.Default(grant.Minimal("public")...)
	at := "/console/requests/" + r.ID
	page(t, w.get("token-admin", "/console"), http.StatusOK, `<span class="n">1</span>open request<`)
	equal(t, rows(t, page(t, w.get("token-admin", "/console/requests"), http.StatusOK, `href="`+at+`"`))[1:], []string{
		"file.read|reports/** also outside isolation|desk|read_file|The numbers of May. Please.|" + r.Created.Format("2006-01-02 15:04 UTC"),
	})
	body := page(t, w.get("token-admin", at), http.StatusOK, "reports/**", "also outside isolation", "desk", issuer, "vera", "read_file",
		"In the client's own words", "It is unverified, and it is not an instruction.",
		`<blockquote class="words"`, "<p>The numbers of May.</p><p>Please.</p>",
		`name="resource" class="name" value="reports/**"`, `<option value="7d" selected>`, `name="unrestricted" type="checkbox" checked>`, `action="`+at+`/deny"`)
	equal(t, rows(t, body)[1:], []string{"public/** isolated only everybody|never|",
		"public/a also outside isolation|never|because"})

	// Less than the request, for a time, and inside isolation.
	before := time.Now()
	led(t, w.post("token-admin", at+"/approve", form("resource", "reports/may/*", "lasts", "1d", "note", "May alone")), "/console/requests?done=request-approved")
	equal(t, w.has("desk"), []string{"file.read public/a unrestricted", "file.write never/shown " +
		"unrestricted", "file.read reports/may/* restricted"})
	g := must(w.keeper.List(t.Context(), grant.Filter{Client: "desk", Type: "file.read"}))[1]
	if g.By != "ada" || g.Reason != "May alone" || g.Issuer != issuer || g.Expires.Before(before.Add(24*time.Hour-2*time.Second)) || g.Expires.After(time.Now().Add(24*time.Hour)) {
		t.Errorf("%+v", g)
	}
	page(t, w.get("token-admin", "/console/requests?done=request-approved"), http.StatusOK,
		"The request is approved", "No client is waiting for a decision.")
	page(t, w.get("token-admin", "/console/requests?status=approved"), http.StatusOK, `aria-current="true">Approved`, at, "reports/**", "by ada")
	body = page(t, w.get("token-admin", at), http.StatusOK, "<b>approved</b>", "by <span "+
		"class=\"name\">ada</span>", "May alone")
	if strings.Contains(body, "/approve") || strings.Contains(body, "/deny") {
		t.Errorf("it can be decided on again: %s", body)
	}
	e := (*events)[len(*events)-1]
	if e.Type != audit.Changed || e.Status != audit.Success || e.Principal != "ada" || e.Issuer != issuer || e.Action != "approve request" || e.Time.IsZero() || len(e.Arguments) != 3 ||
		e.Object != `request 1 of client "desk" of https://id.example: file.read reports/** unrestricted; granted: file.read reports/may/* restricted` {
		t.Errorf("%+v", e)
	}
}

func TestRequestIsDenied(t *testing.T) {
	w := onSQLite(t)
	events := recorded(w)
	at := "/console/requests/" + w.requestPermission("desk", "system.command", "rm **", "").ID
	page(t, w.get("token-admin", "/console/requests"), http.StatusOK, "no reason given")
	page(t, w.post("token-admin", at+"/deny", form("note", " ")), http.StatusUnprocessableEntity,
		"Nothing was changed. See the messages at the fields below.", `id="why" name="note" value=" "`,
		`aria-describedby="why-wrong"`, "Write a reason")
	page(t, w.post("token-admin", at+"/deny", form("note", strings.Repeat("x", 1001))), http.StatusUnprocessableEntity, "1001 bytes are more than 1000")
	led(t, w.post("token-admin", at+"/deny", form("note", "not that one")), "/console/requests?done=request-denied")
	page(t, w.get("token-admin", at), http.StatusOK, "<b>denied</b>", "not that one")
	page(t, w.get("token-admin", "/console/requests?status=denied"), http.StatusOK, "rm **")
	if got := w.has("desk"); len(got) > 0 {
		t.Errorf("granted all the same: %v", got)
	}
	if e := (*events)[len(*events)-1]; len(*events) != 1 || e.Action != "deny request" || e.Principal != "ada" {
		t.Errorf("%+v", *events)
	}
}

// Of two concurrent decisions one is applied, and the other response contains it: by a click that
// comes late, and by one that comes between.
func TestWhoDecidesLateGetsAConflict(t *testing.T) {
	w := onSQLite(t)
	for _, how := range []string{"approve", "deny"} {
		for _, between := range []bool{false, true} {
			r := w.requestPermission("desk", "file.read", how+fmt.Sprint(between)+"/**", "")
			first := func() {
				must(w.keeper.Memory.Deny(context.Background(), r.ID, grant.Verdict{By: "mara", Note: "theirs"}))
			}
			if between {
				w.keeper.meanwhile = first
			} else {
				first()
			}
			had := w.has("desk")
			body := page(t, w.post("token-admin", "/console/requests/"+r.ID+"/"+how, form("resource", r.Resource, "lasts", "ever", "note", "mine")), http.StatusConflict,
				`role="alert"`, "already has a decision, shown below. Nothing was changed.", "<b>denied</b>",
				"mara", "theirs")
			if strings.Contains(body, "mine") || strings.Contains(body, "<button>Approve") || !slices.Equal(w.has("desk"), had) {
				t.Errorf("%s, %t: %s", how, between, body)
			}
		}
	}
}

func TestWhatIsWrongStandsAtItsField(t *testing.T) {
	w := onSQLite(t)
	at := "/console/requests/" + w.requestPermission("desk", "file.read", "reports/**", "").ID + "/approve"
	for _, c := range []struct {
		name    string
		at      string
		pairs   []any
		field   string
		message []string
	}{
		{"more than was asked for", at, []any{"resource", "**", "lasts", "1d"}, "resource", []string{"This is more than the request, which is reports/**"}},
		{"a pattern that is none", at, []any{"resource", "reports/[a", "lasts", "1d"}, "resource", []string{`<span class="name">reports/[a<mark>◂</mark>`, "At byte 10: a class is not closed"}},
		{"nothing", at, []any{"lasts", "1d"}, "resource", []string{"it is empty"}},
		{"no time", at, []any{"resource", "reports/**", "lasts", "soon"}, "lasts",
			[]string{"Choose the duration of the grant."}},
		{"a time that is none", at, []any{"resource", "reports/**", "lasts", "1d", "until", "soon"},
			"until", []string{"This is not a time. Write it in UTC, for example 2026-05-04 16:00."}},
		{"a time that has passed", at, []any{"resource", "reports/**", "lasts", "1d", "until", "2001-01-01T00:00"}, "until", []string{"This time has passed"}},
		{"too many words", at, []any{"resource", "reports/**", "lasts", "1d", "note", strings.Repeat("x", 1001)}, "note", []string{"1001 bytes are more than 1000"}},
		{"words that cannot be seen", at, []any{"resource", "reports/**", "lasts", "1d", "note",
			"a\u202eb"}, "note", []string{"U&#43;202E at byte 1 is invisible: remove it"}},

		{"a type that is none", "/console/grants", []any{"client", "desk", "type", "files", "resource", "a", "lasts", "1d", "reason", "r"}, "type", []string{"no dot"}},
		{"a pattern", "/console/grants", []any{"client", "desk", "type", "file.read", "resource", "a/../b", "lasts", "1d", "reason", "r"}, "resource", []string{`<mark>../b</mark>`, "At byte 2"}},
		{"no client", "/console/grants", []any{"type", "file.read", "resource", "a", "lasts", "1d",
			"reason", "r"}, "client", []string{"Choose the owner."}},
		{"a client that cannot be seen", "/console/grants",
			[]any{"client", "desk\u3164", "type", "file.read", "resource", "a", "lasts", "1d", "reason",
				"r"}, "client", []string{"U&#43;3164 at byte 4 is invisible: remove it"}},
		{"a resource that cannot be seen", "/console/grants",
			[]any{"client", "desk", "type", "file.read", "resource", "a\u2800b", "lasts", "1d", "reason",
				"r"}, "resource", []string{`a<mark>\u2800b</mark>`,
				"U&#43;2800 at byte 1 is invisible: remove it"}},
		{"a client with a space", "/console/grants",
			[]any{"client", "desk ", "type", "file.read", "resource", "a", "lasts", "1d", "reason", "r"},
			"client", []string{"bytes of visible characters, without a space at the start or end."}},
		{"an issuer that is too long", "/console/grants", []any{"client", "desk", "issuer", strings.Repeat("i", 513), "type", "file.read", "resource", "a", "lasts", "1d", "reason", "r"}, "issuer", []string{"at most 512 bytes"}},
		{"a reason that is too long", "/console/grants",
			[]any{"client", "desk", "type", "file.read", "resource", "a", "lasts", "1d", "reason",
				strings.Repeat("x", 1001)}, "reason", []string{"1001 bytes are more than 1000"}},
		{"no term", "/console/grants", []any{"client", "desk", "type", "file.read", "resource", "a",
			"reason", "r"}, "lasts", []string{"Choose the duration of the grant."}},
	} {
		body := page(t, w.post("token-admin", c.at, form(c.pairs...)), http.StatusUnprocessableEntity,
			"Nothing was changed. See the messages at the fields below.")
		for _, s := range append(c.message, fmt.Sprintf(`aria-describedby="%s-wrong"`, c.field), fmt.Sprintf(`id="%s-wrong"`, c.field)) {
			if !strings.Contains(body, s) {
				t.Errorf("%s: %q is not there: %s", c.name, s, body)
			}
		}
		if n := strings.Count(body, `class="wrong"`); n != 1 {
			t.Errorf("%s: %d fields are wrong: %s", c.name, n, body)
		}
		for i := 0; i < len(c.pairs); i += 2 { // what was typed is still there
			if typed := html.EscapeString(fmt.Sprint(c.pairs[i+1])); c.pairs[i] != "lasts" && !strings.Contains(body, `value="`+typed+`"`) {
				t.Errorf("%s: %s is lost: %s", c.name, c.pairs[i], body)
			}
		}
	}
	if got := w.has(""); len(got) > 0 {
		t.Errorf("%v is granted", got)
	}
}

// A client cannot make a request look like another one, or have it fill the page.
func TestWordsOfClientsAreBoundedAndSeen(t *testing.T) {
	w := onSQLite(t)
	w.keeper.odd = []grant.Request{
		{ID: "odd-1", Permission: grant.Permission{Type: "file.read", Resource: "public/\u202etxt.terces", Unrestricted: true}, Client: "de\u200bsk", Status: grant.Open, Reason: "a\u202eb\x00\xff" + strings.Repeat("\n", 500) + "END"},
		{ID: "odd-2", Permission: grant.Permission{Type: "file.read", Resource: "public/a", Unrestricted: true}, Client: "desk", Status: grant.Open, Reason: strings.Repeat("ö", 5000)},
	}
	body := page(t, w.get("token-admin", "/console/requests/odd-1"), http.StatusOK,
		"characters that are invisible", `public/\u202etxt.terces`, `de\u200bsk`, `a\u202eb\x00\xff`,
		"and more, which is not shown")
	if strings.Contains(body, "END") || strings.Count(body, "<p></p>") > 20 {
		t.Errorf("all of it is shown: %s", body)
	}
	body = page(t, w.get("token-admin", "/console/requests/odd-2"), http.StatusOK, "and more, "+
		"which is not shown")
	if n := strings.Count(body, "ö"); n != 1000 || strings.Contains(body, "cannot be seen") {
		t.Errorf("%d of its characters are shown", n)
	}
	if n := strings.Count(page(t, w.get("token-admin", "/console/requests"), http.StatusOK), "ö"); n != 160 {
		t.Errorf("%d of its characters are in the list", n)
	}
}

// Characters that cannot be seen are neither shown in the form of an approval nor accepted from it,
// and keepers refuse them.
func TestNothingIsApprovedThatCannotBeSeen(t *testing.T) {
	w := onSQLite(t)
	const hangul = "public/\u3164/**"
	w.keeper.odd = []grant.Request{{ID: "odd-1", Permission: grant.Permission{Type: "file.read", Resource: hangul, Unrestricted: true}, Issuer: issuer, Client: "desk", Status: grant.Open}}
	body := page(t, w.get("token-admin", "/console/requests/odd-1"), http.StatusOK,
		"characters that are invisible", `public/\u3164/**`, `name="resource" class="name" value=""`,
		"write the resource to grant, or deny the request")
	if strings.Contains(body, "\u3164") {
		t.Errorf("it stands in the page: %s", body)
	}
	body = page(t, w.post("token-admin", "/console/requests/odd-1/approve",
		form("resource", hangul, "lasts", "1d")), http.StatusUnprocessableEntity,
		`public/<mark>\u3164/**</mark>`, "U&#43;3164 at byte 7 is invisible: remove it", `value=""`)
	if strings.Contains(body, "\u3164") || len(w.has("desk")) > 0 {
		t.Errorf("%v, %s", w.has("desk"), body)
	}
	if css := w.get("", console.Asset("console.css")).Body.String(); !strings.Contains(css, "\n.name { direction: ltr; unicode-bidi: isolate; white-space: pre-wrap; }\n") {
		t.Error("names turn what stands around them, or lose their spaces")
	}
	w.keeper.odd[0].Permission = grant.Permission{Type: "db.read", Resource: "a", Parameters: map[string]json.RawMessage{"x": []byte(`"y\u2800"`)}, Unrestricted: true}
	page(t, w.get("token-admin", "/console/requests/odd-1"), http.StatusOK,
		"characters that are invisible", `y\u2800`)
}

// Nor does anybody pass for somebody else in the lists of who manages what.
func TestNamesOfTenantsAreSeen(t *testing.T) {
	w := onSQLite(t)
	by := audit.Event{Principal: "seed"}
	org := must(w.store.CreateOrg(t.Context(), "ac\u3164me", by))
	in := store.InOrg(org.ID)
	team := must(w.store.CreateTeam(t.Context(), org.ID, "la\u2800b", by))
	member := must(w.store.AddMember(t.Context(), in, "https://id\u034f.example", "ada\ufe0f", access.Owner, by))
	kit := must(w.store.CreateCatalog(t.Context(), in, "k\u115fit", "", true, by))
	for at, shows := range map[string][]string{
		"/console/orgs": {`ac\u3164me`}, fmt.Sprint("/console/orgs/", org.ID): {`<h1>ac\u3164me</h1>`, `la\u2800b`, `ada\ufe0f`, `https://id\u034f.example`}, fmt.Sprint("/console/teams/", team.ID): {`<h1>la\u2800b</h1>`},
		fmt.Sprint("/console/members/", member.ID): {`ada\ufe0f</h1>`, `id\u034f.example`, `<dd>Organisation ac\u3164me</dd>`}, fmt.Sprint("/console/members/", member.ID, "/delete"): {`ada\ufe0f`},
		"/console/catalogs": {`k\u115fit</a>`, `<td>Organisation ac\u3164me</td>`}, fmt.Sprint("/console/catalogs/", kit.ID): {`<h1>k\u115fit</h1>`, `Organisation ac\u3164me ·`},
	} {
		page(t, w.get("token-admin", at), http.StatusOK, shows...)
	}
}

// The page marks your own request, and the audit event has your name as requester and as
// administrator.
func TestWhoAsksAndDecidesIsWarned(t *testing.T) {
	w := onSQLite(t)
	events := recorded(w)
	ask := func(by, client, principal string) string {
		return "/console/requests/" + must(w.keeper.Ask(t.Context(), grant.Request{Permission: grant.Permission{Type: "file.read", Resource: "a", Unrestricted: true}, Issuer: by, Client: client, Principal: principal, Reason: "r"})).ID
	}
	const told = "This is your own request. You can approve it yourself. Your decision is recorded " +
		"like any other."
	own := ask(issuer, "ada", "ada")
	for at, want := range map[string]bool{
		own: true, ask(issuer, "desk", "ada"): true, ask(issuer, "desk-2", "vera"): false, ask("https://elsewhere.example", "ada", "ada"): false, ask(issuer, "desk-3", ""): false,
	} {
		if body := page(t, w.get("token-admin", at), http.StatusOK); strings.Contains(body, told) != want {
			t.Errorf("%s: %s", at, body)
		}
	}
	led(t, w.post("token-admin", own+"/approve", form("resource", "a", "lasts", "1d")), "/console/requests?done=request-approved")
	if e := (*events)[len(*events)-1]; e.Action != "approve request" || e.Principal != "ada" || !strings.Contains(e.Object, `client "ada"`) {
		t.Errorf("%+v", e)
	}
	if strings.Contains(page(t, w.get("token-admin", own), http.StatusOK), told) {
		t.Error("what is decided is still asked for")
	}
}

func TestPermissionIsGrantedByHandAndRevoked(t *testing.T) {
	w := onSQLite(t)
	events := recorded(w)
	list := func(done string) string {
		return "/console/grants?" + form("client", "desk", "issuer", issuer, "done", done).Encode()
	}
	page(t, w.get("token-admin", "/console/grants"), http.StatusOK, "No client has a grant.")
	page(t, w.get("token-admin", "/console/grants/new"), http.StatusOK, `name="issuer" value="`+issuer+`"`, `<option value="file.read">`, `name="unrestricted" type="checkbox">`)
	page(t, w.get("token-admin", "/console/grants/new?client=desk"), http.StatusOK, `name="client" value="desk"`, `name="issuer" value=""`)
	until := time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04")
	for _, c := range [][2]string{{"file.read", "public/a"}, {"file.read", "public/b"}, {"net.connect", "API.example.com:443"}} {
		led(t, w.post("token-admin", "/console/grants", form("client", "desk", "issuer", issuer, "type", c[0], "resource", c[1], "lasts", "1h", "until", until, "reason", "for May", "unrestricted", "on")), list("granted"))
	}
	led(t, w.post("token-admin", "/console/grants", form("client", "other", "type", "file.read", "resource", "public/a", "lasts", "ever", "reason", "r")), "/console/grants?client=other&done=granted")
	w.machine.defaults = grant.Default(grant.Minimal("public")...)
	at := strings.Replace(until, "T", " ", 1) + " UTC"
	got := rows(t, page(t, w.get("token-admin", list("granted")), http.StatusOK, "The permission is granted", `href="/console/grants/new?client=desk&amp;issuer=https`))
	equal(t, got[1:3], []string{"everybody|file.read|public/** isolated only|never|by " +
		"configuration||cannot be revoked here",
		"everybody|system.command|echo ** isolated only|never|by configuration||cannot be revoked " +
			"here"})
	var cut []string
	for _, row := range got[3:] {
		cells := strings.Split(row, "|")
		cut = append(cut, strings.Join(append(slices.Delete(cells, 4, 5), ""), "|"))
	}
	equal(t, cut, []string{
		"desk|file.read|public/a also outside isolation|" + at + "|for May|Revoke …(file.read " +
			"public/a of desk)|", "desk|file.read|public/b also outside isolation|" + at + "|for May|Revoke …(file.read public/b of desk)|",
		"desk|net.connect|api.example.com:443 also outside isolation|" + at + "|for May|Revoke " +
			"…(net.connect api.example.com:443 of desk)|",
	})
	body := page(t, w.get("token-admin", "/console/grants?type=file.read"), http.StatusOK, "Show all", "everybody", "desk", "other", "isolated only")
	if strings.Contains(body, "api.example.com") || strings.Contains(body, "echo") {
		t.Errorf("the list is not of a type: %s", body)
	}

	// One pattern, with a confirmation.
	one := "client=desk&issuer=" + url.QueryEscape(issuer) + "&type=file.read&resource=public%2Fa"
	body = page(t, w.get("token-admin", "/console/grants/revoke?"+one), http.StatusOK, "Revoke", "public/a", `name="resource" value="public/a"`, "Or revoke all of file.read")
	equal(t, rows(t, body)[1:], []string{"file.read|public/a also outside isolation|" + at +
		"|for May"})
	fields := must(url.ParseQuery(one))
	fields.Set("reason", "May\u202eis over")
	page(t, w.post("token-admin", "/console/grants/revoke", fields), http.StatusUnprocessableEntity,
		"Nothing was changed. See the messages at the fields below.", `aria-describedby="reason-wrong"`,
		"U&#43;202E at byte 3")
	fields.Del("reason")
	led(t, w.post("token-admin", "/console/grants/revoke", fields), list("revoked"))
	equal(t, w.has("desk"), []string{"file.read public/b unrestricted",
		"net.connect api.example.com:443 unrestricted"})
	// Again: somebody else was faster.
	led(t, w.post("token-admin", "/console/grants/revoke", fields), list("revoked-before"))
	page(t, w.get("token-admin", list("revoked-before")), http.StatusOK,
		"There was no permission to revoke: it was already revoked or deleted.")
	page(t, w.get("token-admin", "/console/grants/revoke?"+one), http.StatusNotFound)
	// At the last moment.
	fields.Set("resource", "public/b")
	w.keeper.meanwhile = func() {
		must(w.keeper.Memory.Revoke(context.Background(), grant.Revocation{Issuer: issuer, Client: "desk", Type: "file.read"}))
	}
	led(t, w.post("token-admin", "/console/grants/revoke", fields), list("revoked-before"))
	equal(t, w.has("desk"), []string{"net.connect api.example.com:443 unrestricted"})

	// A whole type.
	w.gives("desk", "file.read", "public/b")
	w.gives("desk", "file.read", "public/c")
	fields.Del("resource")
	body = page(t, w.get("token-admin", "/console/grants/revoke?"+fields.Encode()), http.StatusOK, "all of <span class=\"name\">file.read</span>?")
	if n := len(rows(t, body)); n != 3 || strings.Contains(body, "Or revoke all") {
		t.Errorf("%d rows: %s", n, body)
	}
	led(t, w.post("token-admin", "/console/grants/revoke", fields), list("revoked"))
	equal(t, w.has("desk"), []string{"net.connect api.example.com:443 unrestricted"})
	equal(t, w.has("other"), []string{"file.read public/a restricted"})

	// What everybody has is nobody's to revoke.
	for _, f := range []url.Values{form("type", "file.read", "reason", "r"), form("client", "desk", "reason", "r"), form("type", "file.read", "resource", "public/**", "client", "", "reason", "r")} {
		page(t, w.post("token-admin", "/console/grants/revoke", f), http.StatusNotFound)
		page(t, w.get("token-admin", "/console/grants/revoke?"+f.Encode()), http.StatusNotFound)
	}
	var done []string
	for _, e := range *events {
		done = append(done, e.Action+": "+e.Object)
	}
	const desk = ` of client "desk" of https://id.example: `
	equal(t, done, []string{
		"grant permission: grant 1" + desk + "file.read public/a unrestricted", "grant permission: grant 2" + desk + "file.read public/b unrestricted", "grant permission: grant 3" + desk + "net.connect api.example.com:443 unrestricted", `grant permission: grant 4 of client "other": file.read public/a restricted`,
		"revoke permission: grant 1" + desk + "file.read public/a unrestricted", `revoke permission: 2 grants of client "desk" of https://id.example: file.read`,
	})
}

func TestExpiredGrantIsCalledSo(t *testing.T) {
	w := onSQLite(t)
	w.keeper.Memory = grant.NewMemory(grant.Grant{Permission: grant.Permission{Type: "file.read", Resource: "a", Unrestricted: true}, Client: "desk", Expires: time.Now().Add(-time.Hour)})
	page(t, w.get("token-admin", "/console/grants"), http.StatusOK, "desk", `<span class="tag off">expired</span>`)
}

// An error of a field is shown with the form; an error of the store is not shown.
func TestKeeperThatTakesNothing(t *testing.T) {
	w := onSQLite(t)
	r := w.requestPermission("desk", "file.read", "reports/**", "")
	approve, given := "/console/requests/"+r.ID+"/approve", form("client", "desk", "issuer", issuer, "type", "file.read", "resource", "a", "lasts", "1d", "reason", "typed")
	w.gives("desk", "file.read", "public/a")
	revoke := "/console/grants/revoke?client=desk&type=file.read&issuer=" + url.QueryEscape(issuer)
	w.keeper.meanwhile = func() { w.keeper.failure = grant.ErrFull }
	page(t, w.post("token-admin", "/console/grants", given), http.StatusConflict,
		"The client has the largest allowed number of grants", `value="typed"`)
	w.keeper.failure = nil
	w.keeper.meanwhile = func() { w.keeper.failure = fmt.Errorf("grant: it is odd: %w", grant.ErrInvalid) }
	page(t, w.post("token-admin", approve, form("resource", "reports/**", "lasts", "1d", "note", "typed")), http.StatusUnprocessableEntity, "It is odd: not valid.", `value="typed"`)

	w.keeper.failure = errBroken
	for _, at := range []string{"/console", "/console/requests", "/console/requests/" + r.ID, "/console/grants", revoke} {
		page(t, w.get("token-admin", at), http.StatusInternalServerError, "Something failed")
	}
	for at, f := range map[string]url.Values{"/console/grants": given, approve: form("lasts", "1d"), "/console/grants/revoke": must(url.ParseQuery("client=desk&type=file.read&reason=r"))} {
		page(t, w.post("token-admin", at, f), http.StatusInternalServerError, "Something failed")
	}
	// The same, at the last moment.
	w.keeper.failure = nil
	for at, f := range map[string]url.Values{
		"/console/grants": given, approve: form("resource", "reports/**", "lasts", "1d"), "/console/grants/revoke": form("client", "desk", "issuer", issuer, "type", "file.read", "reason", "r"),
	} {
		w.keeper.meanwhile = func() { w.keeper.failure = errBroken }
		body := page(t, w.post("token-admin", at, f), http.StatusInternalServerError, "Something "+
			"failed")
		if strings.Contains(body, "disk") || !strings.Contains(w.log.String(), "the disk is gone") {
			t.Errorf("%s: %s", at, body)
		}
		w.keeper.failure = nil
	}
	equal(t, w.has("desk"), []string{"file.read public/a unrestricted"})
}

// Lists of more than a page go on, and nonsense is the first page.
func TestGrantsAndRequestsGoOnOnTheNextPage(t *testing.T) {
	w := onSQLite(t)
	for i := range 101 {
		w.gives("desk", "file.read", fmt.Sprintf("n%03d", i))
		w.requestPermission(fmt.Sprintf("client-%03d", i), "file.read", fmt.Sprintf("r%03d", 100-i), "")
	}
	page(t, w.get("token-admin", "/console"), http.StatusOK, `<span class="n">100+</span>open requests`)
	for at, last := range map[string]string{"/console/grants?client=desk&type=file.read": "n100", "/console/requests?status=open": "r100"} {
		body := page(t, w.get("token-admin", at), http.StatusOK)
		if strings.Contains(body, last) || len(rows(t, body)) != 101 {
			t.Errorf("%s has %d rows", at, len(rows(t, body)))
		}
		_, next, _ := strings.Cut(body, `<p class="more"><a href="`)
		next, _, _ = strings.Cut(next, `"`)
		if body = page(t, w.get("token-admin", html.UnescapeString(next)), http.StatusOK, last); len(rows(t, body)) != 2 || strings.Contains(body, "Next page") {
			t.Errorf("%s goes on at %s: %s", at, next, body)
		}
		page(t, w.get("token-admin", at+"&after=x"), http.StatusOK, "Next page")
	}
}

// The same over a database, which records its changes itself: once, and with the caller.
func TestGrantsOfADatabase(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			kept := granted.New(w.store, granted.Options{})
			w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored), console.Options{Grants: kept, Audit: w.store.Audit()})
			r := must(kept.Ask(t.Context(), grant.Request{Permission: grant.Permission{Type: "file.read", Resource: "reports/**", Unrestricted: true}, Issuer: issuer, Client: "desk", Principal: "vera", Reason: "The numbers."}))
			at := "/console/requests/" + r.ID
			page(t, w.get("token-admin", "/console/requests"), http.StatusOK, at, "The numbers.")
			led(t, w.post("token-admin", at+"/approve", form("resource", "reports/may/*", "lasts", "1d", "note", "May")), "/console/requests?done=request-approved")
			page(t, w.post("token-admin", at+"/deny", form("note", "late")), http.StatusConflict,
				"already has a decision, shown below. Nothing was changed.")
			page(t, w.get("token-admin", "/console/grants?client=desk&issuer="+url.QueryEscape(issuer)), http.StatusOK, "reports/may/*", "May")
			led(t, w.post("token-admin", "/console/grants/revoke", form("client", "desk", "issuer", issuer, "type", "file.read", "resource", "reports/may/*", "reason", "over")), "/console/grants?*")
			led(t, w.post("token-admin", "/console/grants", form("client", "desk", "type", "net.connect", "resource", "example.com:443", "lasts", "1h", "reason", "typed")), "/console/grants?*")
			for _, odd := range []string{"a\x00b", "\xff", strings.Repeat("x", 5000), "'; --"} {
				q := form("client", odd, "issuer", odd, "type", odd, "resource", odd, "after", odd, "reason", odd, "status", odd, "lasts", "1d")
				for _, at := range []string{"/console/grants", "/console/requests", "/console/audit", "/console/audit/export"} {
					page(t, w.get("token-admin", at+"?"+q.Encode()), http.StatusOK)
				}
				page(t, w.get("token-admin", "/console/grants/revoke?"+q.Encode()), http.StatusNotFound)
				page(t, w.get("token-admin", "/console/requests/"+url.PathEscape(odd)), http.StatusNotFound)
				page(t, w.post("token-admin", "/console/grants", q), http.StatusUnprocessableEntity)
				if rec := w.post("token-admin", "/console/grants/revoke", q); rec.Code >= 500 {
					t.Errorf("%q: %d", odd, rec.Code)
				}
			}
			var done []string
			for _, e := range must2(w.store.SearchEvents(t.Context(), store.EventFilter{Principal: "ada", Type: audit.Changed}, store.EventPage{})) {
				if done = append(done, e.Action); e.Issuer != issuer || !slices.Equal(e.Roles,
					[]string{"Admin"}) || len(e.Arguments) == 0 {
					t.Errorf("%+v", e)
				}
			}
			equal(t, done, []string{"grant permission", "revoke permission", "approve request"})
		})
	}
}

// Where there are no grants there are no pages of them, and nothing leads there.
func TestServerWithoutGrantsHasNoPagesOfThem(t *testing.T) {
	w := onSQLite(t)
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored), console.Options{})
	body := page(t, w.get("token-admin", "/console"), http.StatusOK, `href="/console/audit"`)
	if strings.Contains(body, "/console/grants") || strings.Contains(body, "/console/requests") {
		t.Errorf("it leads to them: %s", body)
	}
	for _, at := range []string{"/console/grants", "/console/grants/new", "/console/requests", "/console/requests/1"} {
		page(t, w.get("token-admin", at), http.StatusNotFound)
		page(t, w.post("token-admin", at, form("lasts", "1d")), http.StatusNotFound)
	}
}
