package console_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// rows are the rows of a page's tables, cells joined with bars, in which hidden words stand in
// brackets.
func rows(t *testing.T, body string) (all []string) {
	t.Helper()
	doc := must(html.Parse(strings.NewReader(body)))
	var text func(n *html.Node) string
	text = func(n *html.Node) (s string) {
		if n.Type == html.TextNode {
			return n.Data
		}
		for c := range n.ChildNodes() {
			s += text(c)
		}
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == "class" &&
				a.Val == "hidden"
		}) {
			s = "(" + strings.TrimSpace(s) + ")"
		}
		return s
	}
	for n := range doc.Descendants() {
		if n.Data != "tr" {
			continue
		}
		var cells []string
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				cells = append(cells, strings.Join(strings.Fields(text(c)), " "))
			}
		}
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

func equal(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOverviewHasTheDigestsOfManifestsForAdminsAlone(t *testing.T) {
	w := onSQLite(t)
	const path, adopted = "/console", "No manifest describes"
	w.machine.manifests = []runtime.Manifest{{Package: "example.com/<b>", Digest: "sha256:d35c"},
		{Package: "example.com/old"}}
	body := page(t, w.get("token-admin", path), http.StatusOK, "mcpgen verify")
	equal(t, rows(t, body), []string{"package|digest", "example.com/<b>|sha256:d35c",
		"example.com/old|unknown: regenerate the package"})
	if strings.Contains(body, adopted) {
		t.Error("it is shown as adopted")
	}
	for _, token := range []string{"token-lead", "token-member", ""} {
		if body := w.get(token, path).Body.String(); strings.Contains(body, "sha256:") ||
			strings.Contains(body, "verify") {
			t.Errorf("%q is shown digests", token)
		}
	}
	w.machine.manifests, w.machine.adopted = nil, true
	body = page(t, w.get("token-admin", path), http.StatusOK, adopted)
	equal(t, rows(t, body), nil)
}

func TestMatrixHasWhatTheTableDecides(t *testing.T) {
	w := onSQLite(t)
	if err := w.store.SwitchTool(t.Context(), "erase", true, by); err != nil {
		t.Fatal(err)
	}
	body := page(t, w.get("token-admin", "/console/matrix"), http.StatusOK,
		"anonymous: the server refuses a caller without an identity (401 over HTTP), because "+
			"Options.Anonymous is not set")
	equal(t, rows(t, body), []string{
		"name|anonymous|no role|Viewer|Member|Manager|Admin|and needs",
		"7 tools",
		"change|-(needs an authenticated caller and role Member and scope write)|-(needs role " +
			"Member)|-(needs role Member)|yes|yes|yes|(scope write, or scopes all and more)",
		"erase switched off|-(needs an authenticated caller and role Admin)|-(needs role Admin)|-(needs role Admin)|-(needs role Admin)|-(needs role Admin)|yes|",
		"free|-(needs an authenticated caller and role Viewer)|-(needs role " +
			"Viewer)|yes|yes|yes|yes|no permission of the host",
		"host|-(needs an authenticated caller and role Viewer)|-(needs role " +
			"Viewer)|yes|yes|yes|yes|permission dcim.view_device (enforced only with Host.Source)",
		"known|-(needs an authenticated caller)|yes|yes|yes|yes|yes|",
		"open|yes|yes|yes|yes|yes|yes|",
		"view|-(needs an authenticated caller and role Viewer)|-(needs role Viewer)|yes|yes|yes|yes|a grant of file.read on {path}",
		"1 prompt",
		"greet|-(needs an authenticated caller)|yes|yes|yes|yes|yes|",
		"1 resource",
		"team://people/{id}|-(needs an authenticated caller and role Member)|-(needs role Member)|-(needs role Member)|yes|yes|yes|",
	})
	// Where the host is asked, roles are drawn all the same: what the host has to say stands beside
	// them.
	w.machine.table = table(t, access.Rule{Tool: "host", MinRole: []string{"Member"},
		Permission: access.Permission{App: "dcim", Action: "view", Object: "device"}},
		access.Rule{Tool: "only", Permission: access.Permission{
			App: "dcim", Action: "run"}}).Aware()
	got := rows(t, page(t, w.get("token-admin", "/console/matrix"), http.StatusOK))
	equal(t, got[2:4], []string{
		"host|-(needs an authenticated caller and role Member)|-(needs role Member)|-(needs role Member)|yes|yes|yes|permission dcim.view_device",
		"only|-(needs an authenticated caller)|yes|yes|yes|yes|yes|permission dcim.run",
	})
	// The values with rules of their own stand below the tools.
	w.machine.table = table(t, access.Rule{Tool: "manage", MinRole: []string{"Viewer"}},
		access.Rule{Tool: "manage", Argument: "action", Value: "add", MinRole: []string{"Member"}},
		access.Rule{Tool: "manage", Argument: "action", Value: "erase", MinRole: []string{"Admin"},
			Scopes: []string{"x"}})
	got = rows(t, page(t, w.get("token-admin", "/console/matrix"), http.StatusOK))
	equal(t, got[1:6], []string{
		"1 tool",
		"manage|-(needs an authenticated caller and role Viewer)|-(needs role Viewer)|" +
			"-(needs more for each value of its argument action)|yes|yes|yes|",
		"2 values",
		"manage action=add|-(needs an authenticated caller and role Member)|" +
			"-(needs role Member)|-(needs role Member)|yes|yes|yes|",
		"manage action=erase|-(needs an authenticated caller and role Admin and scope x)|" +
			"-(needs role Admin)|-(needs role Admin)|-(needs role Admin)|-(needs role Admin)|yes|scope x",
	})
	// So do the fields with rules of their own.
	w.machine.table = table(t, access.Rule{Tool: "pay", MinRole: []string{"Viewer"}},
		access.Rule{Field: "example.com/desk.Person.Salary", MinRole: []string{"Manager"}})
	got = rows(t, page(t, w.get("token-admin", "/console/matrix"), http.StatusOK))
	equal(t, got[1:5], []string{
		"1 tool",
		"pay|-(needs an authenticated caller and role Viewer)|-(needs role Viewer)|yes|yes|yes|yes|",
		"1 field",
		"example.com/desk.Person.Salary|-(needs an authenticated caller and role Manager)|" +
			"-(needs role Manager)|-(needs role Manager)|-(needs role Manager)|yes|yes|",
	})
	page(t, w.get("token-admin", "/console/principal?show=1&subject=vera&role=Viewer"),
		http.StatusOK, "1 field", "example.com/desk.Person.Salary")
	// A role beside the main chain has a column, and the row names the roles that open it together.
	w.machine.table = access.NewTable(access.Rule{Tool: "export", MinRole: []string{"Viewer"}},
		access.Rule{Tool: "export", Argument: "of", Value: "pay", MinRole: []string{"Auditor"}})
	w.machine.table.Roles = [][]string{{"Viewer", "Admin"}, {"Auditor"}}
	got = rows(t, page(t, w.get("token-admin", "/console/matrix"), http.StatusOK))
	equal(t, got, []string{
		"name|anonymous|no role|Viewer|Admin|Auditor|and needs",
		"1 tool",
		"export|-(needs an authenticated caller and role Viewer)|-(needs role Viewer)|" +
			"-(needs more for each value of its argument of)|" +
			"-(needs more for each value of its argument of)|-(needs role Viewer)|" +
			"or the roles Viewer and Auditor",
		"1 value",
		"export of=pay|-(needs an authenticated caller and role Auditor and role Viewer)|" +
			"-(needs role Auditor and role Viewer)|-(needs role Auditor)|-(needs role Auditor)|" +
			"-(needs role Viewer)|or the roles Viewer and Auditor",
	})
	page(t, w.get("token-admin", "/console/principal?show=1&subject=vera&role=Viewer&role=Auditor"),
		http.StatusOK, "<option selected>Viewer</option>", "<option>Admin</option>",
		"<option selected>Auditor</option>", "vera, Viewer Auditor: 1 of 1 tools")
	page(t, w.get("token-admin", "/console"), http.StatusOK,
		`<ul class="roles"><li><span>Viewer</span></li><li><span>Admin</span></li></ul>`,
		`<ul class="roles"><li><span>Auditor</span></li></ul>`)
}

func TestChosenPrincipalGetsTheReason(t *testing.T) {
	w := onSQLite(t)
	if err := w.store.SwitchTool(t.Context(), "open", true, by); err != nil {
		t.Fatal(err)
	}
	page(t, w.get("token-admin", "/console/principal"), http.StatusOK,
		"Empty is an anonymous caller", "<option>Viewer</option>")
	body := page(
		t,
		w.get(
			"token-admin",
			"/console/principal?show=1&subject=vera&role=Viewer&scopes=read+write&groups=a+b&issuer=i&client=c&user=u"), http.StatusOK,
		`value="vera"`, "<option selected>Viewer</option>", `value="read write"`,
		"vera, Viewer: 4 of 7 tools")
	got := rows(t, body)
	for _, want := range []string{
		"tool|May use|Is listed|Lacks|Why",
		"change|no|hidden|needs role Member|(holds:)authentication: needs an authenticated " +
			"caller, has vera(fails:)role: needs Member, has Viewer(holds:)scopes: needs write, or all and more, has read, write",
		"view|yes|listed||(holds:)authentication: needs an authenticated caller, has vera(holds:)role: needs Viewer, has Viewer",
		"open switched off|no|hidden||(fails:)switched off: unknown to everybody(holds:)public: needs nothing, has vera",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
	page(t, w.get("token-admin", "/console/principal?show=1"), http.StatusOK,
		"an anonymous caller: 0 of 7 tools", "the server refuses a caller without an identity (401 "+
			"over HTTP), because Options.Anonymous is not set")
}

func TestCatalogIsMadeFilledEditedAndDeleted(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			const token = "token-owner"
			scope := fmt.Sprint("org-", w.acme.ID)
			page(t, w.get(token, "/console/catalogs/new?scope="+scope), http.StatusOK,
				`<option value="`+scope+`" selected>Organisation acme`)
			at := led(t, w.post(token, "/console/catalogs",
				form("scope", scope, "name", "kit", "description", "one\r\ntwo", "active", "on")),
				"/console/catalogs/*")
			page(t, w.get(token, at), http.StatusOK, "The catalog is created. Add tools to it.",
				"Organisation acme · active · version 1", "No tools yet", "one\ntwo</textarea>")
			at, _, _ = strings.Cut(at, "?")
			// The same name again.
			page(t, w.post(token, "/console/catalogs",
				form("scope", scope, "name", "kit", "description", "three")), http.StatusConflict,
				"A catalog with this name already exists there.", `value="kit"`, "three</textarea>")
			page(t, w.post(token, "/console/catalogs",
				form("scope", scope, "name", " kit ", "active", "on")),
				http.StatusUnprocessableEntity, "Write a name", `value=" kit "`, "checked")

			led(t, w.post(token, at+"/entries", form("tool", "view", "module", "core")), at+
				"?done=entry-added")
			page(t, w.post(token, at+"/entries", form("tool", "view", "module", "mine")),
				http.StatusConflict, "This tool is already in the catalog", `value="view"`,
				`value="mine"`)
			page(t, w.post(token, at+"/entries", form("tool", "no tool")),
				http.StatusUnprocessableEntity, "Write a tool&#39;s name", `value="no tool"`)
			led(t, w.post(token, at+"/entries/remove", form("tool", "view")), at+
				"?done=entry-removed")
			page(t, w.post(token, at+"/entries/remove", form("tool", "view")), http.StatusNotFound)
			page(t, w.post(token, at+"/entries/remove", form("tool", "no tool")),
				http.StatusUnprocessableEntity)

			led(t, w.post(token, at, form("version", 1, "name", "kit2", "description", "")), at+
				"?done=catalog-saved")
			page(t, w.get(token, at), http.StatusOK, "kit2", "not active · version 2")
			page(t, w.post(token, at, form("version", 2, "name", "acme-kit", "description",
				"typed")), http.StatusConflict, "A catalog with this name already exists there.", `value="2"`,
				`value="acme-kit"`, "typed</textarea>")
			page(t, w.post(token, at, form("name", "kit3")), http.StatusUnprocessableEntity,
				"Open the page again")
			page(t, w.post(token, at, form("version", 2, "name", "")),
				http.StatusUnprocessableEntity, "Write a name")

			page(t, w.get(token, at+"/delete"), http.StatusOK, "Delete catalog kit2?",
				`name="version" value="2"`)
			page(t, w.post(token, at+"/delete", form("version", 1)), http.StatusConflict,
				"It was changed since", `name="version" value="2"`)
			page(t, w.post(token, at+"/delete", form("version", 0)), http.StatusUnprocessableEntity)
			led(t, w.post(token, at+"/delete", form("version", 2)),
				"/console/catalogs?done=catalog-deleted")
			page(t, w.get(token, at), http.StatusNotFound)
			page(t, w.post(token, at+"/delete", form("version", 2)), http.StatusNotFound)

			events, _, err := w.store.Events(t.Context(), store.Page[int64]{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			var done []string
			for _, e := range events {
				if e.Principal == "olga" && e.Issuer == issuer && e.Client == "olga" &&
					slices.Equal(e.Roles, []string{"Member"}) {
					done = append(done, e.Action)
				}
			}
			equal(t, done, []string{"create catalog", "create entry", "delete entry",
				"update catalog", "delete catalog"})
		})
	}
}

func TestConflictShowsBothAndLosesNothing(t *testing.T) {
	w := onSQLite(t)
	at := fmt.Sprintf("/console/catalogs/%d", w.ofAcme.ID)
	led(t, w.post("token-admin", at, form("version", 1, "name", "theirs", "description", "by ada")),
		at+"?done=catalog-saved")
	body := page(t, w.post("token-owner", at,
		form("version", 1, "name", "mine", "description", "by olga", "active", "on")),
		http.StatusConflict,
		"Another user has saved this catalog", `name="version" value="2"`, `value="mine"`,
		"by olga</textarea>", "checked")
	got := rows(t, body)
	equal(t, got[:4], []string{"Field|Stored now|What you typed|Same?", "Name|theirs|mine|differs",
		"Description|by ada|by olga|differs", "State|not active|active|differs"})
	led(t, w.post("token-owner", at, form("version", 2, "name", "mine", "description", "by ada",
		"active", "on")), at+"?done=catalog-saved")
	body = page(t, w.post("token-admin", at, form(
		"version", 2, "name", "other", "description", "by ada")), http.StatusConflict)
	equal(t, rows(t, body)[2:3], []string{"Description|by ada|by ada|same"})

	for at, noun := range map[string]string{fmt.Sprintf(
		"/console/orgs/%d", w.acme.ID): "organisation",
		fmt.Sprintf("/console/teams/%d", w.lab.ID): "team"} {
		led(t, w.post("token-admin", at, form("version", 1, "name", "first")), at+"?done="+
			map[string]string{"organisation": "org-saved", "team": "team-saved"}[noun])
		body := page(t, w.post("token-admin", at, form("version", 1, "name", "second")),
			http.StatusConflict, "saved this "+noun, `name="version" value="2"`, `value="second"`)
		equal(t, rows(t, body)[1:2], []string{"Name|first|second|differs"})
	}
	at = fmt.Sprintf("/console/members/%d", w.lead.ID)
	led(t, w.post("token-admin", at, form("version", 1, "standing", "admin")), at+
		"?done=member-saved")
	body = page(t, w.post("token-admin", at, form("version", 1, "standing", "member")),
		http.StatusConflict, "saved this member", `name="version" value="2"`,
		"<option selected>member</option>")
	equal(t, rows(t, body)[1:2], []string{"Standing|admin|member|differs"})
}

func TestTenantsAreMadeRenamedAndDeleted(t *testing.T) {
	w := onSQLite(t)
	const token = "token-admin"
	org := led(t, w.post(token, "/console/orgs", form("name", "Nova")), "/console/orgs/*")
	page(t, w.get(token, org), http.StatusOK, "The organisation is created.", "Nova", "No teams yet",
		"Nobody yet", `value="`+issuer+`"`)
	org, _, _ = strings.Cut(org, "?")
	page(t, w.post(token, "/console/orgs", form("name", "Nova")), http.StatusConflict,
		"An organisation with this name already exists.", `value="Nova"`)
	led(t, w.post(token, org, form("name", "Nova2", "version", 1)), org+"?done=org-saved")
	page(t, w.post(token, org, form("name", "acme", "version", 2)), http.StatusConflict,
		"An organisation with this name already exists.", `value="acme"`)

	team := led(t, w.post(token, org+"/teams", form("name", "Ops")), "/console/teams/*")
	team, _, _ = strings.Cut(team, "?")
	page(t, w.post(token, org+"/teams", form("name", "Ops")), http.StatusConflict,
		"A team with this name already exists in this organisation.", `value="Ops"`)
	page(t, w.get(token, team), http.StatusOK, "Organisation Nova2", "Ops")
	led(t, w.post(token, org+"/teams", form("name", "Dev")), "/console/teams/*")
	page(t, w.post(token, team, form("name", "Dev", "version", 1)), http.StatusConflict,
		"A team with this name already exists in this organisation.")

	for _, at := range []string{org, team} {
		page(t, w.get(token, at), http.StatusOK, `name="issuer" value="`+issuer+`"`,
			`exactly as in the tokens. Yours is <span class="name">`+issuer)
		led(t, w.post(token, at+"/members", form(
			"subject", "zoe", "issuer", issuer, "standing", "lead")), at+"?done=member-added")
		page(t, w.post(token, at+"/members", form(
			"subject", "zoe", "issuer", issuer, "standing", "member")), http.StatusConflict,
			"This member already exists. Open it in the list to change its standing.", `value="zoe"`,
			"<option selected>member</option>")
		body := page(t, w.get(token, at), http.StatusOK, "zoe")
		_, rest, _ := strings.Cut(body, `href="/console/members/`)
		id, _, _ := strings.Cut(rest, `"`)
		member := "/console/members/" + id
		page(t, w.get(token, member), http.StatusOK, "zoe", "<option selected>lead</option>")
		led(t, w.post(token, member, form("version", 1, "standing", "owner")), member+
			"?done=member-saved")
		page(t, w.post(token, member, form("version", 2, "standing", "king")),
			http.StatusUnprocessableEntity, "Choose one of the standings",
			"<option selected>owner</option>")
		page(t, w.get(token, member+"/delete"), http.StatusOK, "Remove member zoe?", "(owner)")
		page(t, w.post(token, member+"/delete", form("version", 1)), http.StatusConflict,
			"It was changed since")
		led(t, w.post(token, member+"/delete", form("version", 2)), at+"?done=member-removed")
	}
	page(t, w.get(token, team+"/delete"), http.StatusOK, "Delete team Ops?")
	led(t, w.post(token, team, form("name", "Ops2", "version", 1)), team+"?done=team-saved")
	page(t, w.post(token, team+"/delete", form("version", 1)), http.StatusConflict,
		"Delete team Ops2?")
	led(t, w.post(token, team+"/delete", form("version", 2)), org+"?done=team-deleted")
	page(t, w.get(token, org+"/delete"), http.StatusOK, "Delete organisation Nova2?")
	page(t, w.post(token, org+"/delete", form("version", 1)), http.StatusConflict,
		"Delete organisation Nova2?")
	led(t, w.post(token, org+"/delete", form("version", 2)), "/console/orgs?done=org-deleted")
	for _, at := range []string{org, team, "/console/members/x", "/console/orgs/x",
		"/console/teams/0"} {
		for _, rest := range []string{"", "/delete"} {
			page(t, w.get(token, at+rest), http.StatusNotFound)
			page(t, w.post(token, at+rest, form("version", 1, "name", "x", "standing", "lead")),
				http.StatusNotFound)
		}
	}
	// What is made in an organisation that is gone.
	page(t, w.post(token, "/console/catalogs", form("scope", "org-999", "name", "kit")),
		http.StatusNotFound)
}

func TestDeclaredCatalogIsFoundWhateverItsName(t *testing.T) {
	w := onSQLite(t)
	for _, name := range []string{"kit", "night shift", "a/b", "x?y#z", "100%", "größe", "..",
		"."} {
		w.machine.declared = []catalog.Found{
			{ID: "code:" + name, Name: name, Tools: []string{"view"}}}
		doc := must(html.Parse(w.get("token-admin", "/console/catalogs").Body))
		var at string
		for n := range doc.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "href" && strings.HasPrefix(a.Val, "/console/declared?") {
					at = a.Val
				}
			}
		}
		page(t, w.get("token-admin", at), http.StatusOK, "Declared by code", "view")
	}
}

func TestToolsAreSwitchedOffAndOn(t *testing.T) {
	w := onSQLite(t)
	const token = "token-admin"
	led(t, w.post(token, "/console/tools", form("tool", "view", "off", "yes")),
		"/console/tools?done=tool-off")
	led(t, w.post(token, "/console/tools", form("tool", "of.another", "off", "yes")),
		"/console/tools?done=tool-off&unserved=of.another")
	// The page has a note and a warning. It does not repeat a name that only its address has.
	const warns = "No tool of this server has this name: of.another"
	page(t, w.get(token, "/console/tools?done=tool-off&unserved=of.another"), http.StatusOK,
		"The tool is switched off", `class="note warning" role="status"`, warns)
	for at, says := range map[string]bool{"?done=tool-off": false,
		"?done=tool-off&unserved=view": false, "?done=tool-off&unserved=Call+me": true} {
		body := page(t, w.get(token, "/console/tools"+at), http.StatusOK,
			"The tool is switched off")
		if strings.Contains(body, "No tool of this server has") != says ||
			strings.Contains(body, "Call") {
			t.Errorf("%s: %s", at, body)
		}
	}
	body := page(t, w.get(token, "/console/tools"), http.StatusOK)
	got := rows(t, body)
	for _, want := range []string{"view|switched off|Switch on(view)",
		"of.another not served here|switched off|Switch on(of.another)",
		"open|on|Switch off(open)"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, strings.Join(got, "\n"))
		}
	}
	page(t, w.get(token, "/console"), http.StatusOK, `<span class="n">2</span>switched off`,
		"of.another", "view")
	led(t, w.post(token, "/console/tools", form("tool", "view", "off", "no")),
		"/console/tools?done=tool-on")
	at := led(t, w.post(token, "/console/tools", form("tool", "nope_tool", "off", "no")),
		"/console/tools?done=tool-on&unserved=nope_tool")
	page(t, w.get(token, at), http.StatusOK, "The tool is switched on",
		"No tool of this server has the name of the switch.")
	if off := must(w.store.ToolsOff(t.Context())); !slices.Equal(off, []string{"of.another"}) {
		t.Errorf("%v", off)
	}
}

func TestListsGoOnOnTheNextPage(t *testing.T) {
	w := onSQLite(t)
	ctx := t.Context()
	in := store.InOrg(w.acme.ID)
	for i := range 101 {
		name := fmt.Sprintf("n%03d", i)
		must(w.store.CreateOrg(ctx, name, by))
		must(w.store.CreateTeam(ctx, w.acme.ID, name, by))
		must(w.store.AddMember(ctx, in, issuer, name, access.Member, by))
		must(w.store.CreateCatalog(ctx, in, name, "", true, by))
		must(w.store.AddEntry(ctx, in, w.ofAcme.ID, name, "", by))
	}
	for token, pages := range map[string][]string{
		"token-admin": {"/console/orgs", "/console/catalogs",
			fmt.Sprintf("/console/orgs/%d", w.acme.ID),
			fmt.Sprintf("/console/catalogs/%d", w.ofAcme.ID)},
		"token-owner": {"/console/catalogs", fmt.Sprintf(
			"/console/catalogs?scope=org-%d", w.acme.ID)},
	} {
		for _, at := range pages {
			body := w.get(token, at).Body.String()
			if strings.Count(body, "n100") > 0 {
				t.Errorf("%s has all on one page", at)
			}
			parts := strings.Split(body, `<p class="more"><a href="`)
			if len(parts) < 2 {
				t.Fatalf("%s has no next page: %s", at, body)
			}
			found := 0
			for _, part := range parts[1:] {
				next, _, _ := strings.Cut(part, `"`)
				next = html.UnescapeString(next)
				if !strings.HasPrefix(next, strings.Split(at, "?")[0]) {
					t.Errorf("%s goes on at %s", at, next)
				}
				found += strings.Count(page(t, w.get(token, next), http.StatusOK), ">n100<")
			}
			if found == 0 {
				t.Errorf("what comes after %s has no n100", at)
			}
		}
	}
	page(t, w.get("token-admin", "/console"), http.StatusOK, "100+")
	// More places than there is a list for: what is chosen is in it all the same.
	for i := range 100 {
		must(w.store.CreateOrg(ctx, fmt.Sprintf("m%03d", i), by))
	}
	last := must(w.store.CreateOrg(ctx, "the last one", by))
	page(t, w.get("token-admin", fmt.Sprintf("/console/catalogs/new?scope=org-%d", last.ID)),
		http.StatusOK, "Organisation the last one",
		"The list is incomplete: start from the page of the organisation or the team.")
	// Nonsense is the first page.
	for _, after := range []string{"x", "-7", "99999999999999999999"} {
		page(t, w.get("token-admin", "/console/orgs?after="+url.QueryEscape(after)), http.StatusOK,
			"acme")
	}
}

func TestWhatFailsIsLoggedAndSentToNobody(t *testing.T) {
	w := onSQLite(t)
	w.machine.failure = errBroken
	page(t, w.get("token-admin", fmt.Sprintf("/console/catalogs/%d", w.ofAcme.ID)),
		http.StatusInternalServerError, "Something failed")
	if !strings.Contains(w.log.String(), "the disk is gone") {
		t.Errorf("the log: %s", w.log)
	}
	w.machine.failure = nil
	w.machine.table = access.Table{Roles: [][]string{{"Admin"}}}
	page(t, w.get("token-admin", "/console/tools"), http.StatusOK, "This server has no tools")
	page(t, w.get("token-admin", "/console/matrix"), http.StatusOK, "0 tools")

	bad := request(http.MethodPost, "/console/tools", "token-admin", nil)
	bad.Body = http.NoBody
	bad.URL.RawQuery = "tool=view&off=yes"
	page(t, w.do(bad), http.StatusUnprocessableEntity) // a form ignores the address
	broken := request(http.MethodPost, "/console/tools", "token-admin", nil)
	broken.Body = readCloser{strings.NewReader("tool=%zz")}
	page(t, w.do(broken), http.StatusBadRequest, "Not readable")

	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"/console", "/console/matrix", "/console/principal?show=1",
		"/console/tools", "/console/catalogs", "/console/catalogs/new", "/console/catalogs/1",
		"/console/orgs", "/console/orgs/1", "/console/teams/1", "/console/members/1"} {
		page(t, w.get("token-admin", at), http.StatusServiceUnavailable, "Not now",
			"The database does not respond: try again; nothing was changed.")
		page(t, w.get("token-lead", at), http.StatusServiceUnavailable, "Not now",
			"The database does not respond: try again; nothing was changed.")
	}
	f := form("version", 1, "name", "x", "tool", "view", "scope", "global", "standing", "lead",
		"subject", "x")
	for _, at := range []string{"/console/tools", "/console/catalogs", "/console/catalogs/1",
		"/console/catalogs/1/delete", "/console/catalogs/1/entries",
		"/console/catalogs/1/entries/remove", "/console/orgs", "/console/orgs/1",
		"/console/orgs/1/delete", "/console/orgs/1/teams", "/console/teams/1",
		"/console/teams/1/delete", "/console/members/1", "/console/members/1/delete"} {
		body := page(t, w.post("token-admin", at, f), http.StatusServiceUnavailable, "Not now",
			"The database does not respond: try again; nothing was changed.")
		if strings.Contains(body, "sql") || strings.Contains(body, "closed") ||
			!strings.Contains(w.log.String(), "is closed") {
			t.Errorf("%s tells the reason: %s", at, body)
		}
	}

	panicking := onSQLite(t)
	panicking.machine.table = access.Table{Rules: []access.Rule{{Tool: "x"}}}
	panicking.machine.panics = true
	page(t, panicking.get("token-admin", "/console/matrix"), http.StatusInternalServerError,
		"Something failed")
	if !strings.Contains(panicking.log.String(), "the console panicked") {
		t.Errorf("the log: %s", panicking.log)
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestPlaceThatIsFullReportsIt(t *testing.T) {
	file := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	w := newWorld(t, file)
	db, err := sql.Open("sqlite", strings.TrimPrefix(file, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(fmt.Sprintf(`INSERT INTO teams (org_id, name, created_at, updated_at)
		WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT %d, 'team ' || i, 1, 1 FROM n`, w.acme.ID)); err != nil {
		t.Fatal(err)
	}
	page(t, w.post("token-admin", fmt.Sprintf("/console/orgs/%d/teams", w.acme.ID),
		form("name", "one too many")), http.StatusConflict,
		"The maximum number is reached. Remove one that you no longer need, and try again.",
		`value="one too many"`)
}
