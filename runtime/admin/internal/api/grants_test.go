package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

const (
	ownGrants     = "/api/v1/mcp/grants"
	ownRequests   = ownGrants + "/requests"
	adminGrants   = "/api/v1/admin/mcp/grants"
	adminRequests = adminGrants + "/requests"
)

// mayRead is the result of the check for reading a file.
func (w *world) mayRead(who, file string) string {
	w.Helper()
	got := decoded[api.GrantCheck](w, w.send(
		who, "GET", ownGrants+"/check?type=file.read&resource="+file, ""))
	if got.Allowed {
		return "allowed"
	}
	return got.Cause
}

// done are the changes that were recorded since its last call, wherever they are
// recorded.
func (w *world) done() (all []audit.Event) {
	w.Helper()
	for _, e := range w.recorded() {
		all = append(all, e.Event)
	}
	for _, e := range w.refusals.take() {
		if e.Type == audit.Changed {
			all = append(all, e)
		}
	}
	return all
}

func TestPermissionThatIsAskedForAndApprovedWorksUntilItIsRevoked(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		if got := w.mayRead("member", "docs/a.md"); got != "no_grant" {
			t.Error(got)
		}
		w.done()
		asked := w.send("member", "POST", ownRequests,
			`{"type":"file.read","resource":"docs/*.md","restricted":false,"reason":"for the report","tool":"read"}`)
		if asked.status != 201 || asked.header.Get("Location") != ownRequests+"/"+
			asked.field("id") || asked.field("status") != "open" {
			t.Fatal(asked)
		}
		if again := w.send("member", "POST", ownRequests,
			`{"type":"file.read","resource":"docs/*.md","restricted":false,"reason":"please"}`); again.status != 201 || again.field("id") != asked.field("id") {
			t.Error(again)
		}
		of := adminRequests + "/" + asked.field("id")
		seen := decoded[api.PermissionRequest](w, w.send("root", "GET", of, ""))
		if seen.Issuer != issuer || seen.Client != "member's client" ||
			seen.Principal != "member" || seen.Tool != "read" || seen.Reason != "for the report" ||
			seen.Decided != nil {
			t.Errorf("%+v", seen)
		}
		end := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
		approved := decoded[api.Approved](w, w.send(
			"root", "POST", of+"/approve", fmt.Sprintf(
				`{"note":"one file","expires_at":%q,"permission":{"type":"file.read","resource":"docs/a.md","restricted":false}}`, end.Format(time.RFC3339))))
		if g := approved.Grant; g.Resource != "docs/a.md" || g.By != "root" ||
			g.Reason != "one file" || g.Client != "member's client" || !g.Expires.Equal(end) ||
			approved.Request.GrantID != g.ID || approved.Request.By != "root" ||
			approved.Request.Status != "approved" {
			t.Errorf("%+v", approved)
		}
		for file, want := range map[string]string{
			"docs/a.md": "allowed", "docs/b.md": "no_grant", "public/x": "restricted"} {
			if got := w.mayRead("member", file); got != want {
				t.Errorf("%s: %s", file, got)
			}
		}
		if got := w.mayRead("rival", "docs/a.md"); got != "no_grant" {
			t.Error(got)
		}
		own := w.send("member", "GET", asked.header.Get("Location"), "")
		if own.field("status") != "approved" || own.field("note") != "one file" ||
			own.field("grant_id") != approved.Grant.ID || strings.Contains(own.body, "root") {
			t.Error(own)
		}
		for _, verdict := range []string{"/approve", "/deny"} {
			if got := w.send("root", "POST", of+verdict, `{}`); got.status != 409 {
				t.Error(got)
			}
		}
		held := decoded[api.Page[api.OwnGrant]](w, w.send("member", "GET", ownGrants, "")).Items
		if len(held) != 3 || held[0].Resource != "docs/a.md" || held[0].Default ||
			held[0].Expired || !held[0].Expires.Equal(end) || !held[1].Default ||
			held[2].ID != "default:2" {
			t.Errorf("%+v", held)
		}
		gone := decoded[api.Revoked](w, w.send(
			"root", "POST", adminGrants+"/revoke",
			`{"issuer":"https://id.example","client":"member's client","type":"file.read","resource":"docs/a.md","reason":"it is over"}`))
		if len(gone.Revoked) != 1 || gone.Revoked[0].ID != approved.Grant.ID {
			t.Errorf("%+v", gone)
		}
		if got := w.mayRead("member", "docs/a.md"); got != "no_grant" {
			t.Error(got)
		}
		var told []string
		for _, e := range w.done() {
			told = append(told, e.Principal)
			if !strings.Contains(e.Object, "docs/") || len(e.Arguments) == 0 || e.RequestID == "" {
				t.Errorf("%+v", e)
			}
		}
		// to ask again changes nothing
		if who := strings.TrimPrefix(fmt.Sprint(told), "[member "); who != "member root root]" &&
			who != "root root]" {
			t.Error(told)
		}
	})
}

// The trail has who granted what to whom. A reason adds to that, as the note of an approval does.
func TestGrantsAndRevocationsNeedNoReason(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		w.done()
		for _, reason := range []string{``, `,"reason":""`} {
			body := `{"issuer":"https://id.example","client":"member's client","type":"file.read",` +
				`"resource":"docs/a.md"` + reason
			got := w.send("root", "POST", adminGrants, body+`,"restricted":false}`)
			if got.status != 201 || got.field("reason") != "" || w.mayRead("member",
				"docs/a.md") != "allowed" {
				t.Error(got)
			}
			gone := decoded[api.Revoked](w, w.send("root", "POST", adminGrants+"/revoke", body+`}`))
			if len(gone.Revoked) != 1 || w.mayRead("member", "docs/a.md") != "no_grant" {
				t.Errorf("%+v", gone)
			}
		}
		if done := w.done(); len(done) != 4 || done[0].Principal != "root" {
			t.Errorf("%+v", done)
		}
	})
}

func TestAllOfATypeIsRevokedAtOnce(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, resource := range []string{"docs/a", "docs/b", "docs/c"} {
			for _, kind := range []string{grant.FileRead, grant.FileWrite} {
				got := w.send("root", "POST", adminGrants,
					fmt.Sprintf(
						`{"issuer":"https://id.example","client":"desk","type":%q,"resource":%q,"reason":"work"}`, kind, resource))
				if got.status != 201 || got.field("by") != "root" ||
					got.field("expires_at") != "<nil>" {
					t.Error(got)
				}
			}
		}
		w.done()
		const all = `{"issuer":"https://id.example","client":"desk","type":"file.write","reason":"it is over"}`
		gone := decoded[api.Revoked](w, w.send("root", "POST", adminGrants+"/revoke", all))
		if done := w.done(); len(gone.Revoked) != 3 || len(done) != 1 {
			t.Errorf("%+v, %+v", gone, done)
		}
		if again := w.send("root", "POST", adminGrants+"/revoke", all); again.status != 404 {
			t.Error(again)
		}
		if p, _ := w.page(adminGrants + "?client=desk"); len(p.Items) != 3 ||
			p.Items[0]["type"] != "file.read" {
			t.Error(p)
		}
	})
}

// TestRevocationThatHitsNothingIsNoSuccess: the client would go on with what somebody believes to
// have taken away.
func TestRevocationThatHitsNothingIsNoSuccess(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for i, client := range []string{"robin", "robin", "robin", "robin", "kim"} {
			must(w.grants.Grant(t.Context(), grant.Grant{
				Permission: grant.Permission{
					Type: grant.FileRead, Resource: fmt.Sprintf("files/%d.md", i),
					Unrestricted: true}, Issuer: "me", Client: client}))
		}
		must(w.grants.Grant(t.Context(), grant.Grant{
			Permission: grant.Permission{Type: "db.read", Resource: "prices", Unrestricted: true},
			Issuer:     "me", Client: "kim"}))
		for _, c := range []struct{ issuer, client, kind, resource, message string }{
			{"me", "robin", "file.read", "files/**",
				`client "robin" of me has no grant of file.read files/**; it has files/0.md, files/1.md, files/2.md and 1 more`},
			{"me", "kim", "file.read", "files/0.md",
				`client "kim" of me has no grant of file.read files/0.md; it has files/4.md`},
			{"me", "kim", "net.connect", "",
				`client "kim" of me has no grant of net.connect; it has file.read files/4.md, db.read prices`},
			{"", "kim", "file.read", "files/4.md",
				`client "kim" has no grant of file.read files/4.md, nor any other; a client with grants ` +
					`is client "kim" of me`},
			{"me", "robbin", "file.read", "",
				`client "robbin" of me has no grant of file.read, nor any other: check the spelling in the ` +
					`list of grants`},
			{"me", "robin", "file.read", "public/**",
				`all clients have file.read public/** by configuration (GrantDefaults); it cannot be revoked`},
		} {
			body := fmt.Sprintf(`{"issuer":%q,"client":%q,"type":%q,"reason":"it is over"`,
				c.issuer, c.client, c.kind)
			if c.resource != "" {
				body += fmt.Sprintf(`,"resource":%q`, c.resource)
			}
			if got := w.send("root", "POST", adminGrants+"/revoke", body+"}"); got.status != 404 ||
				got.field("detail") != c.message {
				t.Errorf("%+v: %s", c, got)
			}
			if got := w.send("member", "POST", adminGrants+"/revoke", body+
				"}"); got.status != 403 || strings.Contains(got.body, "files/") {
				t.Errorf("%+v: %s", c, got)
			}
		}
		if all, err := w.grants.List(t.Context(), grant.Filter{}); err != nil || len(all) != 6 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestGrantThatIsGivenAgainIsRenewed(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		give := func(more string) reply {
			return w.send("root", "POST", adminGrants,
				`{"issuer":"","client":"desk","type":"net.connect","resource":"API.example.com:443","reason":"work"`+more+`}`)
		}
		end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		first, second := give(""), give(`,"restricted":true,"expires_at":"`+end+`"`)
		if first.status != 201 || second.status != 201 || first.field("id") != second.field("id") ||
			first.field("resource") != "api.example.com:443" || second.field("expires_at") != end {
			t.Error(first, second)
		}
		if first.field("restricted") != "true" {
			t.Error(first)
		}
		wide := give(`,"restricted":false`)
		if wide.field("id") == first.field("id") || wide.field("restricted") != "false" {
			t.Error(wide)
		}
		own := w.send("root", "POST", adminGrants,
			`{"issuer":"","client":"desk","type":"db.read","resource":"prices","reason":"work","parameters":{"purpose":"prices","rows":12345678901234567890.50,"of":{"b":[1.0,null],"a":"<"}}}`)
		if own.status != 201 || !strings.Contains(
			own.body,
			`"parameters":{"of":{"a":"<","b":[1.0,null]},"purpose":"prices","rows":12345678901234567890.50}`) {
			t.Error(own)
		}
	})
}

// TestRequestsOfOthersAnswerAsOnesThatNeverWere: clients read their own, of their own issuer, and
// admins no others by the clients' route.
func TestRequestsOfOthersAnswerAsOnesThatNeverWere(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		theirs := []string{w.ask("rival's client", "docs/a").ID}
		// The same name, of another issuer and of none.
		for _, of := range []string{"https://other.example", ""} {
			theirs = append(theirs, must(w.grants.Ask(
				t.Context(), grant.Request{Permission: grant.Permission{
					Type: grant.FileRead, Resource: "docs/b", Unrestricted: true}, Issuer: of,
					Client: "member's client", Reason: "I want to"})).ID)
		}
		own := w.ask("member's client", "docs/c").ID
		w.refusals.take()
		for _, who := range []string{"member", "root", "owner", "stranger"} {
			none := w.send(who, "GET", ownRequests+"/999999", "")
			if none.status != 404 {
				t.Error(none)
			}
			for _, id := range append([]string{
				"0", "abc", "%00", "é", "-1", "07", strings.Repeat("1", 200)}, theirs...) {
				if got := w.send(who, "GET", ownRequests+"/"+id, ""); !same(got, none) {
					t.Errorf("%s of %s: %s, and %s", id, who, got, none)
				}
			}
			refused := w.refusals.take()
			if len(refused) != 11 {
				t.Errorf("%d refusals were recorded", len(refused))
			}
			for _, e := range refused {
				if e.Object != refused[0].Object ||
					e.Missing != "must be the requesting client" || e.Principal != who {
					t.Errorf("%+v", e)
				}
			}
			want := "[]"
			if who == "member" {
				want = "[" + own + "]"
			}
			var ids []string
			for _, q := range decoded[api.Page[api.OwnRequest]](
				w, w.send(who, "GET", ownRequests, "")).Items {
				ids = append(ids, q.ID)
			}
			if fmt.Sprint(ids) != want {
				t.Errorf("%s: %v", who, ids)
			}
		}
	})
}

// TestGrantsOfAnIssuerAreOfNoOther: a caller that nobody vouches for has none of those of the same
// name.
func TestGrantsOfAnIssuerAreOfNoOther(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, of := range []string{issuer, ""} {
			must(w.grants.Grant(t.Context(), grant.Grant{
				Permission: grant.Permission{
					Type: grant.FileRead, Resource: "docs/of-" + strings.TrimPrefix(of, "https://"),
					Unrestricted: true}, Issuer: of, Client: "homemade"}))
			must(w.grants.Ask(t.Context(), grant.Request{
				Permission: grant.Permission{
					Type: grant.FileRead, Resource: "docs/x", Unrestricted: true}, Issuer: of,
				Client: "homemade", Reason: "from " + of}))
		}
		held := decoded[api.Page[api.OwnGrant]](w, w.send("homemade", "GET", ownGrants, "")).Items
		asked := decoded[api.Page[api.OwnRequest]](
			w, w.send("homemade", "GET", ownRequests+"?limit=1", ""))
		if len(held) != 3 || held[0].Resource != "docs/of-" || len(asked.Items) != 1 ||
			asked.Items[0].Reason != "from " || asked.Next != "" {
			t.Errorf("%+v, %+v", held, asked)
		}
	})
}

func TestWhoseRequestItIsAndWhoDecidesIsTheCaller(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, more := range []string{`"issuer":"x"`, `"client":"rival's client"`,
			`"principal":"root"`, `"status":"approved"`, `"by":"root"`} {
			if got := w.send("member", "POST", ownRequests,
				`{"type":"file.read","resource":"docs/a","reason":"x",`+more+
					`}`); got.status != 422 {
				t.Error(got)
			}
		}
		of := adminRequests + "/" + w.ask("desk", "docs/a").ID
		for _, body := range []string{`{"by":"owner"}`, `{"decided_by":"owner"}`} {
			for _, verdict := range []string{"/approve", "/deny"} {
				if got := w.send("root", "POST", of+verdict, body); got.status != 422 {
					t.Error(got)
				}
			}
		}
		if got := w.send("root", "GET", of, ""); got.field("status") != "open" {
			t.Error(got)
		}
		if got := w.send("root", "POST", of+"/deny", `{"note":"ask\nthe owner"}`); got.field(
			"status") != "denied" || got.field("decided_by") != "root" ||
			got.field("note") != "ask\nthe owner" {
			t.Error(got)
		}
		for _, gone := range []string{"999999", "abc", "%00"} {
			for _, verdict := range []string{"/approve", "/deny"} {
				if got := w.send("root", "POST", adminRequests+"/"+gone+verdict,
					`{}`); got.status != 404 {
					t.Error(got)
				}
			}
		}
	})
}

func TestProblemOfAPermissionIsReportedWithItsPlace(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		of := adminRequests + "/" + w.ask("desk", "docs/*").ID
		const whose = `"issuer":"","client":"desk","reason":"x"`
		for _, c := range []struct{ who, path, body, location, message string }{
			{"member", ownRequests, `{"type":"files","resource":"docs/a","reason":"x"}`,
				"body.type", "dotted kind"},
			{"member", ownRequests, `{"type":"file.read","resource":"../a","reason":"x"}`,
				"body.resource", ""},
			{"member", ownRequests, `{"type":"system.command","resource":"ls; rm","reason":"x"}`,
				"body.resource", "does not run in a shell"},
			{"member", ownRequests, `{"type":"file.read","resource":"","reason":"x"}`,
				"body.resource", "length"},
			{"member", ownRequests, `{"type":"file.read","resource":"a","reason":""}`,
				"body.reason", "length"},
			{"member", ownRequests, `{"type":"file.read","resource":"a","reason":"\u202eevil"}`,
				"body.reason", "U+202E at byte 0"},
			{"member", ownRequests, `{"type":"file.read","resource":"a","reason":"` +
				strings.Repeat("ä", 600) + `"}`, "body.reason", "1200 bytes"},
			{"member", ownRequests, `{"type":"file.read","resource":"a","reason":"x","tool":"a b"}`,
				"body.tool", "name"},
			{"member", ownRequests,
				`{"type":"db.read","resource":"a","reason":"x","parameters":{"A":"1"}}`,
				"body.parameters", "key"},
			{"member", ownRequests,
				`{"type":"file.read","resource":"a","reason":"x","parameters":{"a":"1"}}`,
				"body.parameters",
				"parameters: permissions on files, commands and hosts have none: remove them"},
			{"root", adminGrants, `{"type":"file.read","resource":"docs/[","` + whose[1:] + `}`,
				"body.resource", ""},
			{"root", adminGrants, `{"type":"file.read","resource":"docs/a",` + whose +
				`,"expires_at":"2020-01-01T00:00:00Z"}`, "body.expires_at", "passed"},
			{"root", adminGrants, `{"type":"file.read","resource":"docs/a",` + whose +
				`,"expires_at":"0001-01-01T00:00:00Z"}`, "body.expires_at", "passed"},
			{"root", adminGrants, `{"type":"file.read","resource":"docs/a",` + whose +
				`,"expires_at":"soon"}`, "body.expires_at", ""},
			{"root", adminGrants,
				`{"type":"file.read","resource":"docs/a","issuer":"","client":"a\u0000","reason":"x"}`,
				"body.client", "U+0000 at byte 1 is invisible: remove it"},
			{"root", adminGrants,
				`{"type":"file.read","resource":"docs/a","issuer":"\u200b","client":"a","reason":"x"}`,
				"body.issuer", "U+200B at byte 0 is invisible: remove it"},
			{"root", adminGrants,
				`{"type":"file.read","resource":"docs/a","issuer":"","client":"a","reason":"\u0007"}`, "body.reason", "U+0007"},
			{"root", adminGrants + "/revoke", `{"type":"file.read","resource":"docs/\u0000",` +
				whose + `}`, "body.resource", "U+0000 at byte 5"},
			{"root", adminGrants + "/revoke", `{"type":"file.read","resource":"",` + whose + `}`,
				"body.resource", "length"},
			{"root", of + "/approve", `{"permission":{"type":"file.read","resource":"docs/**"}}`,
				"body.permission", "more than the request"},
			{"root", of + "/approve", `{"permission":{"type":"file.write","resource":"docs/a"}}`,
				"body.permission", "more than the request"},
			{"root", of + "/approve", `{"permission":{"type":"file.read","resource":"/docs"}}`,
				"body.permission.resource", ""},
			{"root", of + "/approve", `{"expires_at":"2020-01-01T00:00:00Z"}`, "body.expires_at",
				"passed"},
			{"root", of + "/approve", `{"note":"\u0007"}`, "body.note", "U+0007"},
			{"root", of + "/deny", `{"note":"\u0007"}`, "body.note", "U+0007"},
			{"root", of + "/approve",
				`{"permission":{"type":"file.read","resource":"docs/a\u3164"}}`,
				"body.permission.resource", "U+3164 at byte 6 is invisible: remove it"},
			{"member", ownRequests, `{"type":"file.read","resource":"a\u2800","reason":"x"}`,
				"body.resource", "U+2800 at byte 1 is invisible: remove it"},
			{"member", ownRequests,
				`{"type":"system.command","resource":"[\"cat\",\"a\\u3164\"]","reason":"x"}`,
				"body.resource", "U+3164 at byte 5"},
			{"member", ownRequests, `{"type":"db.read","resource":"a\nb","reason":"x"}`,
				"body.resource", "U+000A at byte 1"},
			{"member", ownRequests,
				`{"type":"db.read","resource":"a","reason":"x","parameters":{"a":"1\u034f"}}`,
				"body.parameters", "U+034F at byte 1"},
			{"root", adminGrants, `{"type":"file.read","resource":"\u202ea",` + whose + `}`,
				"body.resource", "U+202E at byte 0"},
		} {
			got := w.send(c.who, "POST", c.path, c.body)
			var problem struct {
				Errors []struct{ Location, Message string }
			}
			if err := json.Unmarshal([]byte(got.body), &problem); err != nil || got.status != 422 ||
				len(problem.Errors) == 0 || problem.Errors[0].Location != c.location ||
				!strings.Contains(problem.Errors[0].Message, c.message) {
				t.Errorf("%+v: %s", c, got)
			}
		}
		for _, body := range []string{`{"permission":{"Type":"file.read","resource":"docs/a"}}`,
			`{"permission":{"type":"file.read","resource":null}}`, `{"permission":{}}`} {
			if got := w.send("root", "POST", of+"/approve", body); got.status != 422 {
				t.Errorf("%s: %s", body, got)
			}
		}
		for _, path := range []string{adminGrants + "?client=%00", adminGrants +
			"?issuer=%E2%80%8B", adminRequests + "?type=%00", adminRequests + "?status=new",
			adminGrants + "?after=Z2FiYw", adminRequests + "?after=Z2EvYg", ownGrants +
				"/check?type=system.command&resource=%5B1%5D"} {
			if got := w.send("root", "GET", path, ""); got.status != 422 {
				t.Errorf("%s: %s", path, got)
			}
		}
		if got := w.send("root", "GET", of, ""); got.field("status") != "open" {
			t.Error(got)
		}
	})
}

// TestPermissionBelowNoRootIsRefused: it would be granted, and never count. Which roots there are
// is for admins.
func TestPermissionBelowNoRootIsRefused(t *testing.T) {
	opened := must(grant.OpenRoots(map[string]string{"public": t.TempDir(), "files": t.TempDir()}))
	t.Cleanup(func() { _ = opened.Close() })
	w := newWorld(t, engines["sqlite"](t), runtime.Options{
		Grants: runtime.GrantOptions{Roots: opened}})
	of := adminRequests + "/" + w.ask("desk", "**").ID
	const wrong, right = `{"type":"file.read","resource":"file/*.md"`,
		`{"type":"file.read","resource":"files/*.md"`
	for _, c := range []struct{ who, path, before, after, location, message string }{
		{"member", ownRequests, "", `,"reason":"x"}`, "body.resource", `unknown root "file"`},
		{"root", adminGrants, "", `,"issuer":"","client":"desk","reason":"x"}`, "body.resource",
			`unknown root "file"; the roots are files, public`},
		{"root", of + "/approve", `{"permission":`, `}}`, "body.permission.resource",
			`unknown root "file"; the roots are files, public`},
	} {
		got := w.send(c.who, "POST", c.path, c.before+wrong+c.after)
		var problem struct {
			Errors []struct{ Location, Message string }
		}
		if err := json.Unmarshal([]byte(got.body), &problem); err != nil || got.status != 422 ||
			len(problem.Errors) != 1 || problem.Errors[0].Location != c.location ||
			problem.Errors[0].Message != c.message {
			t.Errorf("%+v: %s", c, got)
		}
		if got := w.send(c.who, "POST", c.path, c.before+right+c.after); got.status >= 300 {
			t.Errorf("%+v: %s", c, got)
		}
	}
	for kind, message := range map[string]string{
		"file.raed":    "the only kinds of file. are file.read and file.write",
		"net.listen":   "the only kind of net. is net.connect",
		"system.shell": "the only kind of system. is system.command"} {
		got := w.send("member", "POST", ownRequests, `{"type":"`+kind+
			`","resource":"files/a","reason":"x"}`)
		if got.status != 422 || !strings.Contains(got.body, `"body.type"`) ||
			!strings.Contains(got.body, message) {
			t.Error(got)
		}
	}
}

// An approval can give less than an unrestricted request, and gives no more than a restricted one.
func TestApproversSeeAndNarrowUnrestrictedRequests(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, c := range []struct{ asks, approves, want string }{
			{``, `{}`, "true"},
			{`,"restricted":true`, `{}`, "true"},
			{`,"restricted":false`, `{}`, "false"},
			{`,"restricted":false`, `{"permission":{"type":"file.read","resource":"docs/%d"}}`,
				"true"},
			{`,"restricted":false`,
				`{"permission":{"type":"file.read","resource":"docs/%d","restricted":false}}`,
				"false"},
			{``, `{"permission":{"type":"file.read","resource":"docs/%d","restricted":false}}`, ""},
		} {
			i := time.Now().UnixNano()
			asked := w.send("member", "POST", ownRequests,
				fmt.Sprintf(`{"type":"file.read","resource":"docs/%d","reason":"x"%s}`, i, c.asks))
			of := adminRequests + "/" + asked.field("id")
			want := fmt.Sprint(!strings.Contains(c.asks, "false"))
			if seen := w.send("root", "GET", of, ""); seen.field("restricted") != want {
				t.Errorf("%+v: %s", c, seen)
			}
			got := w.send("root", "POST", of+"/approve",
				strings.Replace(c.approves, "%d", fmt.Sprint(i), 1))
			if c.want == "" {
				if got.status != 422 || !strings.Contains(got.body, "more than the request") {
					t.Errorf("%+v: %s", c, got)
				}
				continue
			}
			if g := decoded[api.Approved](w, got).Grant; fmt.Sprint(*g.Restricted) != c.want {
				t.Errorf("%+v: %+v", c, g)
			}
		}
	})
}

func TestParametersOfTheEarlierNameAreRefused(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		of := adminRequests + "/" + w.ask("desk", "docs/*").ID
		const permission = `"type":"db.read","resource":"a","params":{"k":"v"}`
		for path, who := range map[string]string{
			ownRequests: "member", adminGrants: "root", of + "/approve": "root"} {
			body := `{` + permission + `,"issuer":"","client":"x","reason":"x"}`
			if path == of+"/approve" {
				body = `{"permission":{` + permission + `}}`
			}
			if got := w.send(who, "POST", path, body); got.status != 422 ||
				!strings.Contains(got.body, `the name of the member is \"parameters\"`) {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
}

func TestCheckReportsWhatACallWouldGet(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, g := range []grant.Grant{
			{Permission: grant.Permission{Type: grant.SystemCommand, Resource: "git log *",
				Unrestricted: true}},
			{Permission: grant.Permission{Type: grant.NetConnect, Resource: "api.example.com:443"}},
			{Permission: grant.Permission{Type: "db.read", Resource: "prices", Unrestricted: true}},
		} {
			g.Issuer, g.Client = issuer, "member's client"
			must(w.grants.Grant(t.Context(), g))
		}
		for query, want := range map[string]string{
			"type=system.command&resource=git+log+-1":                             "{true  }",
			"type=system.command&resource=git+push":                               "{false no_grant no grant allows it}",
			"type=system.command&resource=%5B%22git%22%2C%22log%22%2C%22-1%22%5D": "{true  }",
			"type=system.command&resource=echo+a+b&isolated=true":                 "{true  }",
			"type=net.connect&resource=api.example.com:443": "{false restricted " +
				"the grant applies to isolated calls only}",
			"type=net.connect&resource=api.example.com:443&isolated=true": "{true  }",
			"type=db.read&resource=prices":                                "{true  }",
			"type=db.read&resource=price":                                 "{false no_grant no grant allows it}",
			"type=file.read&resource=public/a&isolated=true":              "{true  }",
			"type=file.read&resource=../a": "{false malformed it " +
				"is not a path below a root}",
		} {
			if got := fmt.Sprint(decoded[api.GrantCheck](
				w, w.send("member", "GET", ownGrants+"/check?"+query, ""))); got != want {
				t.Errorf("%s: %s", query, got)
			}
		}
	})
}

func TestClientThatRequestsTooMuchIsNotified(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for i := range grant.MaxOpen {
			w.ask("member's client", fmt.Sprint("docs/", i))
		}
		got := w.send("member", "POST", ownRequests,
			`{"type":"file.read","resource":"docs/more","reason":"x"}`)
		if got.status != 429 || !strings.Contains(got.field("detail"), "wait") {
			t.Error(got)
		}
	})
}

// stubborn refuses everything, with a reason.
type stubborn struct {
	grant.Registry
	err error
	own []grant.Grant
}

func (s stubborn) Grant(context.Context, grant.Grant) (grant.Grant, error) {
	return grant.Grant{}, s.err
}

func (s stubborn) Grants(context.Context, string, string) ([]grant.Grant, uint64, error) {
	return s.own, 1, s.err
}

func (s stubborn) List(context.Context, grant.Filter) ([]grant.Grant, error) { return nil, s.err }

func TestKeeperThatFailsDenies(t *testing.T) {
	const body = `{"type":"file.read","resource":"docs/a","issuer":"","client":"desk","reason":"x"}`
	for _, c := range []struct {
		err    error
		own    []grant.Grant
		status map[string]int
	}{
		{errors.New("the password is hunter2"), nil,
			map[string]int{"POST " + adminGrants: 500, "GET " + ownGrants: 500, "GET " + ownGrants +
				"/check?type=a.b&resource=c": 500, "GET " + adminGrants: 500}},
		{fmt.Errorf("grant: %w", grant.ErrFull), nil, map[string]int{"POST " + adminGrants: 409}},
		{fmt.Errorf("grant: it is %w", grant.ErrInvalid), nil,
			map[string]int{"POST " + adminGrants: 422}},
		{nil, []grant.Grant{{ID: "1", Permission: grant.Permission{
			Type: "file.read", Resource: "[", Unrestricted: true}}},
			map[string]int{"GET " + ownGrants: 200, "GET " + ownGrants +
				"/check?type=a.b&resource=c": 500}},
	} {
		before := registry
		registry = func(w *world) grant.Registry { return stubborn{before(w), c.err, c.own} }
		w := newWorld(t, engines["sqlite"](t), runtime.Options{})
		registry = before
		for request, want := range c.status {
			method, path, _ := strings.Cut(request, " ")
			sent := ""
			if method == "POST" {
				sent = body
			}
			if got := w.send("root", method, path, sent); got.status != want ||
				strings.Contains(got.body, "hunter2") {
				t.Errorf("%v: %s: %s", c.err, request, got)
			}
		}
	}
}

// TestChangeThatCannotBeRecordedIsNoSuccess: where the registry does not record what it changes,
// the sink has to.
func TestChangeThatCannotBeRecordedIsNoSuccess(t *testing.T) {
	inMemory(t)
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.refusals.err = errors.New("the disk is full")
	got := w.send("member", "POST", ownRequests,
		`{"type":"file.read","resource":"docs/a","reason":"x"}`)
	if got.status != 500 || strings.Contains(got.body, "disk") ||
		!strings.Contains(w.log.String(), "a change was made, but could not be recorded") {
		t.Error(got, w.log)
	}
}

// recorder reports that it records its changes.
type recorder struct {
	*grant.Memory
	by *[]audit.Event
}

func (recorder) RecordsChanges() bool { return true }

func (r recorder) Ask(ctx context.Context, q grant.Request) (grant.Request, error) {
	by, _ := audit.WhoActs(ctx)
	*r.by = append(*r.by, by)
	return r.Memory.Ask(ctx, q)
}

func TestRegistryThatRecordsItsChangesGetsTheCaller(t *testing.T) {
	before := registry
	defer func() { registry = before }()
	var by []audit.Event
	registry = func(*world) grant.Registry { return recorder{grant.NewMemory(), &by} }
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.done()
	got := w.send("member", "POST", ownRequests,
		`{"type":"file.read","resource":"docs/a","reason":"x"}`)
	if got.status != 201 || len(by) != 1 || by[0].Principal != "member" || by[0].Issuer != issuer ||
		by[0].RequestID == "" || len(by[0].Arguments) != 3 {
		t.Errorf("%s, %+v", got, by)
	}
	if done := w.done(); len(done) > 0 {
		t.Errorf("it is recorded twice: %+v", done)
	}
}

func TestServerWithoutGrantsHasNoRoutesForThem(t *testing.T) {
	before := registry
	defer func() { registry = before }()
	registry = func(*world) grant.Registry { return nil }
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for _, path := range []string{ownGrants, ownRequests, adminGrants, adminRequests} {
		if got := w.send("root", "GET", path, ""); got.status != 404 {
			t.Error(got)
		}
	}
	if slices.ContainsFunc(w.operations(), func(
		op operation) bool {
		return strings.Contains(op.path, "grants")
	}) {
		t.Error("the document has them")
	}
	if got := w.send("root", "GET", "/api/v1/admin/audit/events", ""); got.status != 200 {
		t.Error(got)
	}
}
