package console_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestPolicyAllowsNoScriptAndNoOtherHost(t *testing.T) {
	for _, bad := range []string{"unsafe", "*", "script-src", "http", "data:", "blob:"} {
		if strings.Contains(console.Policy, bad) {
			t.Errorf("the policy has %s: %s", bad, console.Policy)
		}
	}
	w := onSQLite(t)
	for name, rec := range map[string]*httptest.ResponseRecorder{
		"page": w.get("token-admin", "/console"), "sign-in": w.get("", "/console/sign-in"),
		"not found": w.get("token-admin", "/console/x"), "forbidden": w.get("token-member",
			"/console"),
		"led away": w.get("", "/console"), "form": w.post("token-admin", "/console/tools", nil),
		"style":  w.get("", console.Asset("console.css")),
		"export": w.get("token-admin", "/console/audit/export"), "bad export": w.get("token-admin",
			"/console/audit/export?from=x"), "grants": w.get("token-admin", "/console/grants"),
		"foreign": w.do(func() *http.Request {
			r := request(http.MethodPost, "/console/tools", "token-admin", nil)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return r
		}()),
	} {
		h := rec.Header()
		cache := "no-store"
		if name == "style" {
			cache = "public, max-age=31536000, immutable"
		}
		for header, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; " +
				"form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Referrer-Policy": "same-origin", "Cache-Control": cache,
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Values(header); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s is %q, want %q", name, header, got, want)
			}
		}
	}
}

func TestAssetsAreNamedByWhatTheyHold(t *testing.T) {
	w := onSQLite(t)
	for name, kind := range map[string]string{"console.css": "text/css; charset=utf-8",
		"icon.svg": "image/svg+xml"} {
		rec := w.get("", console.Asset(name))
		if rec.Code != http.StatusOK || rec.Header().Get("Content-Type") != kind ||
			rec.Body.Len() == 0 {
			t.Errorf("%s: %d, %v", name, rec.Code, rec.Header())
		}
		for _, other := range []string{name, "..%2fconsole.go", strings.Replace(console.Asset(name),
			".", ".0", 1)[len("/console/assets/"):]} {
			if rec := w.get("", "/console/assets/"+other); rec.Code != http.StatusNotFound ||
				strings.Contains(rec.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d", other, rec.Code)
			}
		}
	}
}

// A form of another site changes nothing, whatever route it is for.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	w := onSQLite(t)
	for _, pattern := range console.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.NewReplacer("{id}", fmt.Sprint(w.ofAcme.ID), "{file}", "x", "{$}",
			"").Replace(path)
		for how, change := range map[string]func(http.Header){
			"cross-site": func(h http.Header) {
				h.Set("Sec-Fetch-Site", "cross-site")
			},
			"same-site": func(h http.Header) {
				h.Set("Sec-Fetch-Site", "same-site")
			},
			"another origin": func(h http.Header) {
				h.Del("Sec-Fetch-Site")
				h.Set("Origin", "https://evil.example")
			},
			"no origin that can be told": func(h http.Header) {
				h.Del("Sec-Fetch-Site")
				h.Set("Origin", "null")
			},
			"the host with another port": func(h http.Header) {
				h.Del("Sec-Fetch-Site")
				h.Set("Origin", "https://console.example:444")
			},
			"the origin's word against fetch": func(h http.Header) {
				h.Set("Sec-Fetch-Site", "cross-site")
				h.Set("Origin", "https://console.example")
			},
		} {
			r := request(method, path, "token-admin", form("version", 1, "tool", "view", "name",
				"x", "token", "token-admin"))
			change(r.Header)
			rec := w.do(r)
			if method == http.MethodPost && (rec.Code != http.StatusForbidden ||
				!strings.Contains(rec.Body.String(), "sent by another site") ||
				len(rec.Result().Cookies()) > 0) {
				t.Errorf("%s %s, %s: %d %s", method, path, how, rec.Code, rec.Body)
			}
			if method == http.MethodGet && rec.Code == http.StatusForbidden {
				t.Errorf("%s %s, %s: a link is refused", method, path, how)
			}
		}
	}
	if off := must(w.store.ToolsOff(t.Context())); len(off) > 0 {
		t.Errorf("%v are off", off)
	}
}

func TestCookieHoldsTheTokenForTheConsoleAlone(t *testing.T) {
	w := onSQLite(t)
	for name, c := range map[string]struct {
		remote, host, origin string
		tls, secure          bool
	}{
		"over TLS": {"192.0.2.7:1000", "console.example",
			"https://console.example", true, true},
		"over TLS on this machine": {"127.0.0.1:1000", "localhost:8080",
			"https://localhost:8080", true, true},
		"over plain HTTP on this machine": {"127.0.0.1:1000", "localhost:8080",
			"http://localhost:8080", false, false},
		"over plain HTTP on this machine, IPv6": {"[::1]:1000", "[::1]:8080",
			"http://[::1]:8080", false, false},
		"behind a proxy of this machine": {"127.0.0.1:1000", "console.example",
			"https://console.example", false, true},
		"behind one that keeps the name to itself": {"127.0.0.1:1000", "localhost:8080",
			"https://console.example", false, true},
		"behind one of plain HTTP to elsewhere": {"127.0.0.1:1000", "localhost:8080",
			"https://localhost", false, true},
		"from where no browser says it is": {"127.0.0.1:1000", "localhost:8080", "", false,
			true},
		"over plain HTTP with the name of loopback": {"192.0.2.7:1000", "localhost", "", false,
			true},
		"with a name that only looks like it": {"127.0.0.1:1000", "localhost.evil.example",
			"", false, true},
	} {
		r := request(http.MethodPost, "/console/sign-in", "", form("token", "token-admin"))
		r.RemoteAddr, r.Host = c.remote, c.host
		r.Header.Set("Origin", c.origin)
		if c.origin == "" {
			r.Header.Del("Origin")
		}
		if !c.tls {
			r.TLS = nil
		}
		rec := w.do(r)
		led(t, rec, "/console")
		all := rec.Result().Cookies()
		first := all[0]
		want := "mcpgen-console"
		if c.secure {
			want = "__Secure-mcpgen-console"
		}
		if first.Name != want || first.Value != "token-admin" || first.Path != "/console" ||
			first.Domain != "" || !first.HttpOnly || first.Secure != c.secure ||
			first.SameSite != http.SameSiteStrictMode || first.MaxAge != 0 ||
			!first.Expires.IsZero() {
			t.Errorf("%s: %s", name, first)
		}
		for _, rest := range all[1:] {
			if rest.Value != "" || rest.MaxAge != -1 || rest.Path != "/console" ||
				rest.Secure != strings.HasPrefix(rest.Name, "__Secure-") {
				t.Errorf("%s: %s", name, rest)
			}
		}
		if n := len(all); n != 8 && (n != 4 || !c.secure) {
			t.Errorf("%s: %d cookies", name, n)
		}
		// The browser brings it back.
		back := request(http.MethodGet, "/console", "", nil)
		back.RemoteAddr, back.Host, back.TLS = r.RemoteAddr, r.Host, r.TLS
		back.AddCookie(&http.Cookie{Name: first.Name, Value: first.Value})
		page(t, w.do(back), http.StatusOK, "Signed in as <b>ada</b>")
	}
}

// What anybody on the way could have set counts neither against what only the server can have set,
// nor from elsewhere.
func TestSecureCookieCountsBeforeAnother(t *testing.T) {
	w := onSQLite(t)
	const secure, other = "__Secure-mcpgen-console", "mcpgen-console"
	for _, c := range []struct {
		far     bool
		cookies [][2]string
		who     string
	}{
		{false, [][2]string{{other, "token-lead"}, {secure, "token-admin"}}, "ada"},
		{false, [][2]string{{secure, "token-admin"}, {other, "token-lead"}, {other + "-2", "x"}},
			"ada"},
		{false, [][2]string{{other, "token-lead"}}, "lea"},
		{true, [][2]string{{other, "token-lead"}, {secure, "token-admin"}}, "ada"},
		{true, [][2]string{{other, "token-lead"}}, ""},
	} {
		r := request(http.MethodGet, "/console", "", nil)
		if !c.far {
			r.RemoteAddr, r.Host, r.TLS = "127.0.0.1:1000", "localhost:8080", nil
		}
		for _, cookie := range c.cookies {
			r.AddCookie(&http.Cookie{Name: cookie[0], Value: cookie[1]})
		}
		if rec := w.do(r); c.who == "" {
			led(t, rec, "/console/sign-in")
		} else {
			page(t, rec, http.StatusOK, "Signed in as <b>"+c.who+"</b>")
		}
	}
}

func TestLongTokensAreKeptInParts(t *testing.T) {
	w := onSQLite(t)
	for _, n := range []int{1, console.PartBytes, console.PartBytes + 1, 2 * console.PartBytes,
		console.MaxToken - 1, console.MaxToken} {
		token := strings.Repeat("abcdefgh.-_~+/0123456789", n/24+1)[:n]
		w.machine.callers = map[string]access.Principal{token: callers["token-admin"]}
		rec := w.post("", "/console/sign-in", form("token", " "+token+"\n"))
		led(t, rec, "/console")
		r := request(http.MethodGet, "/console", "", nil)
		for _, c := range rec.Result().Cookies() {
			if len(c.Name)+len(c.Value) > 4096 {
				t.Errorf("a cookie of %d bytes", len(c.Value))
			}
			if c.MaxAge == 0 {
				r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
			}
		}
		page(t, w.do(r), http.StatusOK, "ada")
		// Without its last part, or with one part twice, it is nobody's.
		if all := r.Cookies(); len(all) > 1 {
			cut := request(http.MethodGet, "/console", "", nil)
			for _, c := range all[:len(all)-1] {
				cut.AddCookie(c)
			}
			led(t, w.do(cut), "/console/sign-in?problem=ended")
		}
		r.AddCookie(r.Cookies()[0])
		led(t, w.do(r), "/console/sign-in")
	}
}

func TestSignInReportsTheProblem(t *testing.T) {
	w := onSQLite(t)
	for name, c := range map[string]struct {
		token   string
		refusal error
		plain   bool
		code    string
	}{
		"nothing":              {token: "  ", code: "empty"},
		"a wrong one":          {token: "token-nobody", code: "refused"},
		"with a scheme":        {token: "Bearer token-admin", code: "malformed"},
		"with quotes":          {token: `"token-admin"`, code: "malformed"},
		"signs alone":          {token: "==", code: "malformed"},
		"not of this alphabet": {token: "token-ädmin", code: "malformed"},
		"with a semicolon":     {token: "a;Domain=evil.example", code: "malformed"},
		"too long":             {token: strings.Repeat("a", console.MaxToken+1), code: "long"},
		"plain HTTP":           {token: "token-admin", plain: true, code: "plain"},
		"no user of the host": {token: "token-admin",
			refusal: &runtime.Refusal{Status: http.StatusForbidden}, code: "stranger"},
		"no answer": {token: "token-admin",
			refusal: &runtime.Refusal{Status: http.StatusServiceUnavailable}, code: "unavailable"},
		"some other failure": {token: "token-admin", refusal: errBroken, code: "unavailable"},
	} {
		w.machine.refusal = c.refusal
		r := request(http.MethodPost, "/console/sign-in", "", form("token", c.token, "next",
			"/console/tools"))
		if c.plain {
			r.TLS, r.Host = nil, "console.example"
			r.Header.Set("Origin", "http://console.example")
		}
		rec := w.do(r)
		at := led(t, rec, "/console/sign-in?next=%2Fconsole%2Ftools&problem="+c.code)
		if len(rec.Result().Cookies()) > 0 {
			t.Errorf("%s: a cookie", name)
		}
		page(t, w.get("", at), http.StatusOK, `role="alert"`, `value="/console/tools"`,
			`aria-invalid="true"`)
	}
	body := page(t, w.get("", "/console/sign-in?problem=%3Cb%3Enone&done=%3Cb%3Ex"), http.StatusOK,
		"Sign in")
	if strings.Contains(body, "none") || strings.Contains(body, "alert") {
		t.Errorf("an address says what the page says: %s", body)
	}
}

func TestSessionEndsWithItsCredential(t *testing.T) {
	w := onSQLite(t)
	page(t, w.get("token-admin", "/console/tools"), http.StatusOK)
	cleared := func(rec *httptest.ResponseRecorder) {
		t.Helper()
		if all := rec.Result().Cookies(); len(all) != 4 ||
			slices.ContainsFunc(all, func(c *http.Cookie) bool {
				return c.MaxAge != -1 || c.Value != ""
			}) {
			t.Errorf("cookies: %v", all)
		}
	}
	w.machine.callers = nil
	rec := w.get("token-admin", "/console/tools")
	led(t, rec, "/console/sign-in?next=%2Fconsole%2Ftools&problem=ended")
	cleared(rec)
	// The values of a form are not repeated.
	rec = w.post("token-admin", "/console/tools", form("tool", "view", "off", "yes"))
	led(t, rec, "/console/sign-in?problem=ended")
	cleared(rec)
	w.machine.callers = callers
	rec = w.post("token-admin", "/console/sign-out", nil)
	led(t, rec, "/console/sign-in?done=signed-out")
	cleared(rec)
	page(t, w.get("", "/console/sign-in?done=signed-out"), http.StatusOK, "You are signed out")

	// Of an address whose tokens failed too often.
	w.machine.refusal = &runtime.Refusal{Status: http.StatusTooManyRequests, RetryAfter: 7}
	rec = w.get("token-admin", "/console/tools")
	page(t, rec, http.StatusTooManyRequests, "Sign in", `role="alert"`,
		"The server rejects this token, after too many invalid ones from your address. Wait before "+
			"you try another. A valid token is accepted at once.", `value="/console/tools"`)
	cleared(rec)
	signIn := w.post("", "/console/sign-in", form("token", "token-x", "next", "/console/tools"))
	page(t, signIn, http.StatusTooManyRequests, "Sign in",
		"The server rejects this token, after too many invalid ones from your address. Wait before "+
			"you try another. A valid token is accepted at once.",
		`value="/console/tools"`)
	if rec.Header().Get("Retry-After") != "7" || signIn.Header().Get("Retry-After") != "7" ||
		len(signIn.Result().Cookies()) > 0 {
		t.Errorf("%v, %v", rec.Header(), signIn.Header())
	}

	w.machine.refusal = &runtime.Refusal{Status: http.StatusForbidden}
	page(t, w.get("token-admin", "/console"), http.StatusForbidden, "Sign out", "Not let in")
	w.machine.refusal = errBroken
	page(t, w.get("token-admin", "/console"), http.StatusServiceUnavailable, "Not now")
	if len(must(w.store.ToolsOff(t.Context()))) > 0 {
		t.Error("a tool is off")
	}
}

// Browsers send no such cookie where another site leads here, and send it with the console's own
// links.
func TestWhoComesFromAnotherSiteNeedNotSignInAgain(t *testing.T) {
	w := onSQLite(t)
	r := request(http.MethodGet, "/console/sign-in?next=%2Fconsole%2Ftools", "", nil)
	for site, told := range map[string]bool{"cross-site": true, "same-site": true,
		"same-origin": false, "none": false, "": false} {
		r.Header.Set("Sec-Fetch-Site", site)
		if body := page(t, w.do(r), http.StatusOK, "Sign in"); strings.Contains(body,
			`<a href="/console/tools">Go on</a>`) != told {
			t.Errorf("%s: %s", site, body)
		}
	}
}

func TestNobodyIsLedAway(t *testing.T) {
	for next, want := range map[string]string{
		"/console": "/console", "/console/tools": "/console/tools",
		"/console/catalogs?scope=org-1": "/console/catalogs?scope=org-1",
		"/console/x%20y":                "/console/x%20y",
	} {
		if got := console.Within(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
	bad := []string{
		"", "/", "https://evil.example", "https://evil.example/console", "//evil.example",
		"//evil.example/console", "///evil.example/console", `/\evil.example`,
		`\\evil.example/console`,
		"/console/../x", "/console/%2e%2e/x", "/console//evil.example", "/console/..", "/console/.",
		"/console/", "/consoles", "/console\\..", "/console%5c..%5c", "javascript:alert(1)",
		"console", "/console\r\nSet-Cookie: a=b", "/console\n", "/console\t", " /console",
		"/console ", "https:/console", "https:console", "http:///console", "/api/v1/", "?x", "#x",
		"/console%",
		"//user@evil.example/console", "/console/sign-in", "/console/sign-out",
		"/console/sign-in?next=/console", "/%63onsole/../..//evil.example",
	}
	w := onSQLite(t)
	for _, next := range bad {
		if got := console.Within(next); got != "/console" {
			t.Errorf("%q leads to %q", next, got)
		}
		led(t, w.post("", "/console/sign-in", form("token", "token-admin", "next", next)),
			"/console")
		page(t, w.get("", "/console/sign-in?next="+url.QueryEscape(next)), http.StatusOK,
			`name="next" value="/console"`)
	}
}

func FuzzWithin(f *testing.F) {
	for _, next := range []string{"/console", "//x", `/\x`, "/console/a?b#c", "/console/%2f%2fevil",
		"/console;x"} {
		f.Add(next)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := console.Within(next)
		u, err := must(url.Parse("https://console.example/console/sign-in")).Parse(got)
		if err != nil || u.Host != "console.example" || u.Scheme != "https" ||
			u.Path != "/console" && !strings.HasPrefix(u.Path, "/console/") ||
			strings.ContainsAny(got, "\\\r\n\t ") {
			t.Errorf("%q leads to %q, that is %v", next, got, u)
		}
	})
}

// planted is what markup a page must never have: an element or an attribute that nobody wrote into
// a template.
const planted = "planted"

// failing is a test, of rapid's or not.
type failing interface{ Errorf(string, ...any) }

// checkMarkup fails where a page has an element or an attribute of somebody else's.
func checkMarkup(t failing, body string) {
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Errorf("%v: %s", err, body)
		return
	}
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode &&
			(n.Data == "script" || n.Data == "iframe" || strings.Contains(n.Data, planted)) {
			t.Errorf("an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" ||
				strings.Contains(a.Key, planted) {
				t.Errorf("an attribute %s of %s", a.Key, n.Data)
			}
			if (a.Key == "href" || a.Key == "src" || a.Key == "action") &&
				!strings.HasPrefix(a.Val, "/console") && a.Val != "#main" {
				t.Errorf("%s of %s is %s", a.Key, n.Data, a.Val)
			}
		}
	}
}

// tricks are what somebody might call an organisation.
var tricks = []string{
	`"><script planted>alert(1)</script>`, `' planted='`, `" onfocus=alert(1) autofocus planted="`,
	`</textarea><planted>`, `</title></style><planted x=">`, `<!--`,
	`--><img src=x onerror=planted>`,
	`{{.}}<planted>`, `javascript:planted`, `&lt;planted&gt;&quot;`, `</option></select><planted>`,
	`<planted`, "`planted`",
}

func TestWhatPeopleWriteIsTextOnEveryPage(t *testing.T) {
	w := onSQLite(t)
	for _, trick := range tricks {
		odd := w.called(trick)
		for _, at := range odd.pages {
			odd.visit(t, at)
		}
		for _, at := range odd.forms {
			odd.send(t, at)
		}
		odd.gone()
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(tricks).Draw(t, "trick") +
			rapid.StringOfN(rapid.SampledFrom([]rune("<>\"'&/=ab`-!")), 0, 12, -1).Draw(t, "more")
		odd := w.called(text)
		defer odd.gone()
		odd.visit(t, rapid.SampledFrom(odd.pages).Draw(t, "page"))
		odd.send(t, rapid.SampledFrom(odd.forms).Draw(t, "form"))
	})
}

// odd is a world where everything and everybody has one name.
type odd struct {
	*world
	org          store.Org
	pages, forms []string
	form         url.Values
}

func (w *world) called(text string) *odd {
	ctx := context.Background()
	o := &odd{world: w, org: must(w.store.CreateOrg(ctx, text, by))}
	team := must(w.store.CreateTeam(ctx, o.org.ID, text, by))
	in := store.InTeam(team.ID)
	member := must(w.store.AddMember(ctx, in, text, text, access.Owner, by))
	c := must(w.store.CreateCatalog(ctx, in, text, text, true, by))
	must(w.store.AddEntry(ctx, in, c.ID, "view", text, by))
	w.machine.callers = map[string]access.Principal{
		"token-odd": {Issuer: text, Subject: text, Client: text, Roles: []string{"Admin"},
			Scopes: []string{text}, Groups: []string{text}},
		"token-lead": {Issuer: text, Subject: text, Roles: []string{text}},
	}
	w.machine.declared = []catalog.Found{{ID: text, Name: text, Tools: []string{text}}}
	request := grant.Request{
		Permission: grant.Permission{Type: text, Resource: text,
			Parameters:   map[string]json.RawMessage{text: must(json.Marshal(text))},
			Unrestricted: true}, Issuer: text, Client: text, Principal: text,
		Tool: text, Reason: text, By: text, Note: text,
	}
	given := grant.Grant{Permission: request.Permission, Issuer: text, Client: text, By: text,
		Reason: text}
	w.keeper.Memory, w.keeper.odd = grant.NewMemory(given), nil
	for _, status := range []grant.Status{grant.Open, grant.Refused, grant.Status(text)} {
		request.ID, request.Status = fmt.Sprint("odd-", len(w.keeper.odd)), status
		w.keeper.odd = append(w.keeper.odd, request)
	}
	w.machine.defaults = []grant.Grant{{Permission: request.Permission, By: text}}
	e := audit.Event{
		Type: audit.Type(text), RequestID: text, Issuer: text, Principal: text, Client: text + "!",
		Roles: []string{text}, Tool: text, Action: text, Object: text, Status: audit.Status(text),
		Axis:    text,
		Missing: text, Catalog: text,
		Arguments: []audit.Argument{{Name: text}}, Grants: []audit.Use{{Argument: text, Kind: text,
			Grant: text}}, Chain: &audit.Link{ID: text}, TraceID: text, Total: 1,
	}
	must(0, w.store.Audit().Record(ctx, e))
	event := must2(w.store.SearchEvents(ctx, store.EventFilter{RequestID: text},
		store.EventPage{Limit: 1}))[0]
	q := url.QueryEscape(text)
	catalogAt, orgAt, teamAt, memberAt := fmt.Sprintf("/console/catalogs/%d", c.ID),
		fmt.Sprintf("/console/orgs/%d", o.org.ID), fmt.Sprintf("/console/teams/%d", team.ID),
		fmt.Sprintf("/console/members/%d", member.ID)
	o.pages = []string{
		"/console", "/console/matrix", "/console/tools", "/console/catalogs",
		"/console/catalogs?after=" + q, "/console/catalogs/new?scope=" + q,
		"/console/declared?name=" + q, "/console/orgs",
		catalogAt, catalogAt + "/delete", catalogAt + "?done=" + q, catalogAt + "?after=" + q,
		orgAt, orgAt + "/delete", teamAt, teamAt + "/delete", memberAt, memberAt + "/delete",
		"/console/" + url.PathEscape(text),
		fmt.Sprintf(
			"/console/principal?show=1&subject=%s&issuer=%[1]s&client=%[1]s&role=%[1]s&scopes=%[1]s&groups=%[1]s&user=%[1]s", q),
		"/console/sign-in?problem=" + q + "&done=" + q + "&next=" + q,
		"/console/requests", "/console/requests?status=" + q + "&after=" + q,
		"/console/requests?status=denied", "/console/requests/odd-0", "/console/requests/odd-1",
		"/console/requests/odd-2", "/console/requests/" + url.PathEscape(text),
		"/console/workspaces", "/console/grants",
		fmt.Sprintf("/console/grants?client=%s&issuer=%[1]s&type=%[1]s&after=%[1]s", q),
		fmt.Sprintf("/console/grants/new?client=%s&issuer=%[1]s&type=%[1]s", q),
		fmt.Sprintf("/console/grants/revoke?client=%s&issuer=%[1]s&type=%[1]s&resource=%[1]s", q),
		fmt.Sprintf("/console/grants/revoke?client=%s&issuer=%[1]s&type=%[1]s", q),
		"/console/audit",
		fmt.Sprintf(
			"/console/audit?from=%s&until=%[1]s&client=%[1]s&principal=%[1]s&tool=%[1]s&type=%[1]s&status=%[1]s&failure=%[1]s&request=%[1]s", q), "/console/audit?request=" + q, fmt.Sprint("/console/audit/", event.ID),
	}
	o.form = form("version", 7, "name", text, "description", text, "tool", text, "module", text,
		"issuer", text, "subject", text, "standing", text, "scope", fmt.Sprint("team-", team.ID),
		"active", text,
		"client", text, "type", text, "resource", text, "note", text, "reason", text, "lasts", text,
		"until", text)
	o.forms = []string{catalogAt, catalogAt + "/entries", catalogAt + "/entries/remove", catalogAt +
		"/delete", orgAt, orgAt + "/teams", orgAt + "/members", orgAt + "/delete", teamAt, teamAt +
		"/members", teamAt + "/delete", memberAt, memberAt + "/delete", "/console/catalogs",
		"/console/tools", "/console/orgs",
		"/console/workspaces", "/console/grants", "/console/grants/revoke",
		"/console/requests/odd-0/approve", "/console/requests/odd-0/deny",
		"/console/requests/odd-1/deny"}
	return o
}

func (o *odd) gone() { must(0, o.store.DeleteOrg(context.Background(), o.org.ID, 0, by)) }

func (o *odd) visit(t failing, at string) {
	for _, token := range []string{"token-odd", "token-lead", ""} {
		checkMarkup(t, o.get(token, at).Body.String())
	}
}

func (o *odd) send(t failing, at string) {
	rec := o.post("token-odd", at, o.form)
	if rec.Code >= 500 {
		t.Errorf("%s: %d", at, rec.Code)
	}
	checkMarkup(t, rec.Body.String())
}

// The token is in the cookie and nowhere else: in no page, no address and no log.
func TestTokenIsNowhereButInItsCookie(t *testing.T) {
	w := onSQLite(t)
	secret := base64.RawURLEncoding.EncodeToString([]byte("a token that nobody else may read"))
	w.machine.callers = map[string]access.Principal{secret: callers["token-admin"]}
	w.machine.failure = errors.New("broken")
	look := func(rec *httptest.ResponseRecorder) {
		t.Helper()
		h := rec.Header().Clone()
		if rec.Code == http.StatusSeeOther && h.Get("Location") == "/console" {
			h.Del("Set-Cookie") // signed in
		}
		if strings.Contains(fmt.Sprint(h, rec.Body), secret) {
			t.Errorf("the token is in %v %s", h, rec.Body)
		}
	}
	for _, pattern := range console.Patterns() {
		method, path, _ := strings.Cut(pattern, " ")
		for _, id := range []int64{w.ofAcme.ID, w.lead.ID, 999} {
			at := strings.NewReplacer("{id}", fmt.Sprint(id), "{file}", "x", "{$}",
				"").Replace(path)
			look(w.do(request(method, at, secret, form("token", secret))))
			look(w.do(request(method, at, secret+"x", form("token", secret+"-wrong"))))
		}
	}
	bad := httptest.NewRequest(http.MethodPost, "https://console.example/console/sign-in",
		strings.NewReader("token="+secret+"%zz"))
	bad.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	look(w.do(bad))
	large := request(http.MethodPost, "/console/sign-in", "",
		form("token", strings.Repeat(secret, 4000)))
	page(t, w.do(large), http.StatusRequestEntityTooLarge, "Too much")
	if w.log.Len() == 0 {
		t.Error("nothing is logged, though things fail")
	}
	if strings.Contains(w.log.String(), secret) {
		t.Errorf("the token is in the log: %s", w.log)
	}
}
