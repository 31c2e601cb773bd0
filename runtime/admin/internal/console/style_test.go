package console_test

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// luminance is the relative luminance of a colour (WCAG 2.2, "relative luminance").
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%q is no colour", colour)
	}
	part := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

// Text can be read by day and by night (WCAG 2.2, 1.4.3), and what is to be used can be told from
// its ground (1.4.11).
func TestColoursAreDistinct(t *testing.T) {
	w := onSQLite(t)
	css := w.get("", console.Asset("console.css")).Body.String()
	_, rest, _ := strings.Cut(css, ":root {")
	day, rest, _ := strings.Cut(rest, "}")
	_, rest, _ = strings.Cut(rest, ":root {")
	night, _, _ := strings.Cut(rest, "}")
	for scheme, block := range map[string]string{"day": day, "night": night} {
		colour := map[string]string{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(
			block, -1) {
			colour[m[1]] = m[2]
		}
		for _, pair := range []struct {
			front, ground string
			least         float64
		}{
			{"ink", "ground", 4.5}, {"ink", "sheet", 4.5}, {"dim", "ground", 4.5},
			{"dim", "sheet", 4.5}, {"accent", "ground", 4.5}, {"accent", "sheet", 4.5},
			{"accent-ink", "accent", 4.5},
			{"ink", "accent-soft", 4.5}, {"accent", "accent-soft", 4.5},
			{"dim", "accent-soft", 4.5}, {"yes-ink", "yes", 4.5}, {"warn-ink", "warn", 4.5},
			{"dim", "warn", 4.5}, {"bad-ink", "bad", 4.5}, {"bad-ink", "sheet", 4.5},
			{"sheet", "bad-ink", 4.5},
			{"focus", "ground", 3}, {"focus", "sheet", 3}, {"line-strong", "sheet", 3},
			{"line-strong", "ground", 3},
		} {
			a, b := luminance(t, colour[pair.front]), luminance(t, colour[pair.ground])
			if ratio := (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05); ratio < pair.least {
				t.Errorf("by %s, %s on %s has a contrast of %.2f to 1, less than %g", scheme,
					pair.front, pair.ground, ratio, pair.least)
			}
		}
	}
}

// What a keyboard and a screen reader need of every page.
func TestPagesCanBeUsedWithoutSeeingThem(t *testing.T) {
	w := onSQLite(t)
	w.machine.defaults = grant.Default(grant.Minimal("public")...)
	w.gives("desk", "file.read", "public/a")
	requested := w.requestPermission("desk", "file.read", "notes/**", "two\nlines")
	decided := w.requestPermission("desk", "net.connect", "example.com:443", "")
	must(w.keeper.Deny(t.Context(), decided.ID, grant.Verdict{By: "ada", Note: "no"}))
	must(0, w.store.Audit().Record(t.Context(), audit.Event{Type: audit.ToolCalled, Tool: "view",
		Status: audit.Failed, Failure: audit.Denied, RequestID: "r",
		Arguments: []audit.Argument{{Name: "path"}},
		Grants:    []audit.Use{{Argument: "path"}}}))
	bound := w.bounds("desk", boundary.Boundary{Roles: []string{"*"}, Items: []string{"tool:gone"},
		Blocked: true})
	w.uses("desk", "view", "")
	event := must2(w.store.SearchEvents(t.Context(), store.EventFilter{},
		store.EventPage{Limit: 1}))[0]
	for _, c := range []struct{ token, at string }{
		{"token-admin", "/console/requests"}, {"token-admin", "/console/requests?status=denied"},
		{"token-admin", "/console/requests/" + requested.ID}, {"token-admin", "/console/requests/" +
			decided.ID},
		{"token-admin", "/console/grants"}, {"token-admin", "/console/grants?client=desk"},
		{"token-admin", "/console/grants/new?client=desk"}, {"token-admin", "/console/audit"},
		{"token-admin", "/console/workspaces"}, {"token-admin", "/console/clients"},
		{"token-admin", "/console/clients/suggestion?client=desk&issuer=" + issuer},
		{"token-admin", "/console/clients/block?client=desk&issuer=" + issuer},
		{"token-admin", "/console/boundaries/new"},
		{"token-admin", fmt.Sprint("/console/boundaries/", bound.ID)},
		{"token-admin",
			"/console/grants/revoke?client=desk&type=file.read&resource=public/a&issuer=" + issuer},
		{"token-admin", fmt.Sprint("/console/audit/", event.ID)},
		{"", "/console/sign-in?problem=refused"}, {"token-lead", "/console"},
		{"token-lead", "/console/catalogs"}, {"token-member", "/console"},
		{"token-admin", "/console"}, {"token-admin", "/console/matrix"},
		{"token-admin", "/console/principal?show=1&subject=x"}, {"token-admin", "/console/tools"},
		{"token-admin", "/console/catalogs"}, {"token-admin", "/console/catalogs/new"},
		{"token-admin", fmt.Sprintf("/console/catalogs/%d", w.ofAcme.ID)},
		{"token-admin", fmt.Sprintf("/console/catalogs/%d/delete", w.ofAcme.ID)},
		{"token-admin", "/console/declared?name=kit"},
		{"token-admin", "/console/orgs"},
		{"token-admin", fmt.Sprintf("/console/orgs/%d", w.acme.ID)},
		{"token-admin", fmt.Sprintf("/console/teams/%d", w.lab.ID)},
		{"token-admin", fmt.Sprintf("/console/members/%d", w.lead.ID)},
	} {
		rec := w.get(c.token, c.at)
		doc := must(html.Parse(strings.NewReader(rec.Body.String())))
		attr := func(n *html.Node, key string) string {
			for _, a := range n.Attr {
				if a.Key == key {
					return a.Val
				}
			}
			return ""
		}
		ids, labels, headings, landmarks := map[string]int{}, map[string]bool{}, 0, map[string]int{}
		for n := range doc.Descendants() {
			if id := attr(n, "id"); id != "" {
				ids[id]++
			}
			if n.Data == "label" {
				labels[attr(n, "for")] = true
			}
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			landmarks[n.Data]++
			switch n.Data {
			case "h1":
				headings++
			case "th":
				if attr(n, "scope") == "" {
					t.Errorf("%s: a heading of a table without scope", c.at)
				}
			case "input", "select", "textarea":
				if attr(n, "type") != "hidden" && !labels[attr(n, "id")] {
					t.Errorf("%s: %s %s has no label", c.at, n.Data, attr(n, "name"))
				}
			case "html":
				if attr(n, "lang") == "" {
					t.Errorf("%s says no language", c.at)
				}
			}
			if index := attr(n, "tabindex"); index != "" && index != "0" && index != "-1" {
				t.Errorf("%s: a tabindex of %s", c.at, index)
			}
			for _, key := range []string{"aria-labelledby", "aria-describedby", "list"} {
				if id := attr(n, key); id != "" && ids[id] != 1 {
					t.Errorf("%s: %s names %q, which is there %d times", c.at, key, id, ids[id])
				}
			}
		}
		for id, n := range ids {
			if n > 1 {
				t.Errorf("%s has %q %d times", c.at, id, n)
			}
		}
		if headings != 1 || landmarks["main"] != 1 || landmarks["header"] != 1 ||
			landmarks["script"] > 0 {
			t.Errorf("%s: %d h1, %v", c.at, headings, landmarks)
		}
		if c.token == "token-admin" && (rec.Code != http.StatusOK || landmarks["nav"] != 1) {
			t.Errorf("%s: %d, %v", c.at, rec.Code, landmarks)
		}
	}
}
