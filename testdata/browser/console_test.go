package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp/kb"
)

// An operator with a keyboard alone: in, a catalog with tools, the matrix, a tool off, out.
func TestConsoleByKeyboardAlone(t *testing.T) {
	w := serve(t)
	b := open(t, w.url)

	b.visit("/console/catalogs")
	if at := b.at(); at != "/console/sign-in?next=%2Fconsole%2Fcatalogs" {
		t.Errorf("a stranger is led to %s", at)
	}
	b.signIn("demo-wrong-0123456789")
	b.reads("The server rejects this token: it has expired, is for another server, or " +
		"is incomplete. Copy the whole token again, without \"Bearer\" in front, or get a new one.")
	b.signIn(tokenAda)
	if at := b.at(); at != "/console/catalogs" {
		t.Errorf("signing in leads to %s", at)
	}
	b.reads("Signed in as ada", "No catalogs")

	// The first stop of the keyboard is the way past the navigation.
	b.tab("a")
	b.reads("Skip to the content")
	b.keys(kb.Enter)
	if id := eval[string](b, `document.activeElement.id`); id != "main" {
		t.Errorf("the skip link leads to %q", id)
	}

	b.tab(`a[href="/console/catalogs/new"]`)
	b.enter()
	b.tab("#name")
	b.keys("research-kit")
	b.tab("#description")
	b.keys("Reading, and nothing that writes.")
	b.tab("form.panel button")
	b.enter()
	b.reads("The catalog is created. Add tools to it.", "research-kit", "No tools yet")
	made := b.at()
	for _, tool := range []string{"get_all", "get_by_id", "not.yet.there"} {
		b.tab("#tool")
		b.keys(tool)
		b.tab("form.panel button")
		b.enter()
		b.reads("The tool is in the catalog", tool)
	}
	b.tab(`form[action$="/entries/remove"]:has([value="not.yet.there"]) button`)
	b.enter()
	b.reads("no longer in the catalog")

	b.tab(`nav a[href="/console/matrix"]`)
	b.enter()
	b.reads("anonymous", "no role", "Viewer", "Manager", "Admin", "and needs")
	cells := `[...document.querySelectorAll("table.matrix tbody tr")].find(r => r.querySelector("th").innerText.startsWith(%q)).querySelectorAll("td.cell")`
	row := func(tool string) string {
		return eval[string](b, fmt.Sprintf(`[...`+cells+`].map(c => c.firstChild.textContent).join(" ")`, tool))
	}
	for tool, want := range map[string]string{"get_public_info": "yes yes yes yes yes yes yes",
		"get_all": "- yes yes yes yes yes yes", "update": "- - - yes yes yes -",
		"promote_to_manager": "- - - - - yes -"} {
		if got := row(tool); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	b.tab(`thead a[href*="role=Member"]`)
	b.enter()
	b.reads("somebody, Member: 5 of 6 tools", "needs role Manager")

	b.tab(`nav a[href="/console/tools"]`)
	b.enter()
	b.tab(`form:has([value="update"]) button`)
	b.enter()
	b.reads("The tool is switched off", "switched off")
	if off, err := w.store.ToolsOff(t.Context()); err != nil || !slices.Equal(off, []string{"update"}) {
		t.Errorf("off: %v, %v", off, err)
	}

	// With a slash at its end the address is the same page's.
	b.visit("/console/")
	if at := b.at(); at != "/console" {
		t.Errorf("/console/ leads to %s", at)
	}
	b.reads("Overview")

	cookies := command(b, network.GetCookies, network.GetCookiesParams{}).Cookies
	if len(cookies) != 1 || !cookies[0].HTTPOnly || cookies[0].SameSite != network.CookieSameSiteStrict || cookies[0].Path != "/console" || !cookies[0].Session {
		t.Errorf("cookies: %+v", cookies)
	}
	if script := eval[string](b, `document.cookie`); script != "" {
		t.Errorf("a script would read %q", script)
	}
	b.tab(`form[action="/console/sign-out"] button`)
	b.enter()
	b.reads("You are signed out")
	b.visit(made)
	if at := b.at(); !strings.HasPrefix(at, "/console/sign-in?next=") {
		t.Errorf("after signing out: %s", at)
	}
	if strings.Contains(w.log.String(), "demo-") {
		t.Errorf("a token in the log: %s", w.log)
	}
}

// Who leads a team finds its catalogs, by the keyboard too, and no more.
func TestLeadByKeyboardAlone(t *testing.T) {
	w := serve(t)
	w.furnish(t)
	b := open(t, w.url)
	b.visit("/console")
	b.signIn(tokenLead)
	b.reads("Signed in as mel", "You manage the catalogs", "Team Laboratory")
	if links := eval[string](b, `[...document.querySelectorAll("nav a")].map(a => a.innerText).join(" ")`); links != "Overview Catalogs" {
		t.Errorf("a lead is led to %s", links)
	}
	b.tab(`main a[href^="/console/catalogs?scope=team-"]`)
	b.enter()
	b.reads("research-kit", "not active")
	b.tab(`main a[href="/console/catalogs/3"]`)
	b.enter()
	b.tab("#active")
	b.keys(" ")
	b.tab(`form[action="/console/catalogs/3"] button`)
	b.enter()
	b.reads("The catalog is saved", "Team Laboratory · active")
	for _, foreign := range []string{"/console/catalogs/1", "/console/catalogs/999"} {
		b.expect(404)
		b.visit(foreign)
		b.reads("This page does not exist, or its object was deleted or is not accessible to you.")
	}
}

// An operator with a keyboard alone blocks a client, and gives it a boundary.
func TestClientIsBlockedAndBoundedByKeyboardAlone(t *testing.T) {
	w := serve(t)
	w.furnish(t)
	b := open(t, w.url)
	b.visit("/console/clients")
	b.signIn(tokenAda)
	b.reads("reporting-agent", "dns-agent")
	b.tab(`a[href="/console/clients/block?client=reporting-agent&issuer=team"]`)
	b.enter()
	b.reads("Block reporting-agent?", "All replicas refuse its requests then.")
	b.tab("form button.danger")
	b.enter()
	b.reads("The client is blocked.", "Unblock")
	b.tab(`a[href="/console/boundaries/2"]`)
	b.enter()
	b.tab("#items")
	b.keys("tool:get_al")
	b.tab("form.panel button")
	b.expect(422)
	b.enter()
	b.reads("names no tool of the server", "get_all")
	b.tab("#items")
	b.keys(kb.End + "l")
	b.tab("form.panel button")
	b.enter()
	b.reads("The boundary is saved.", "blocked")
	all, err := w.store.AllBounds(t.Context())
	if err != nil || len(all) != 2 || !all[1].Boundary.Blocked ||
		!slices.Equal(all[1].Boundary.Items, []string{"tool:get_all"}) {
		t.Errorf("%+v, %v", all, err)
	}
}

// A link from elsewhere: the browser keeps the cookie back, and the console's own link has it
// again.
func TestLinkOfAnotherSiteLeadsInWithoutAnotherSignIn(t *testing.T) {
	w := serve(t)
	b := open(t, w.url)
	b.visit("/console")
	b.signIn(tokenAda)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(out, `<!DOCTYPE html><link rel="icon" href="data:,"><a href="%s/console/tools">the tools</a>`, w.url)
	}))
	defer elsewhere.Close()
	// Another port of one host is the same site: it takes another name.
	_, port, _ := strings.Cut(strings.TrimPrefix(elsewhere.URL, "http://"), ":")
	other := "http://localhost:" + port
	b.leave(other)
	b.keys(kb.Tab)
	b.enter()
	b.reads("You came from another site, and browsers do not send the console's cookie then. " +
		"Already signed in?")
	b.tab(`main a[href="/console/tools"]`)
	b.enter()
	b.reads("Signed in as ada", "Tools on and off")
}
