package browser

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// held is what the client that asks has, a permission a line.
func (w *world) held(t *testing.T) (all []string) {
	t.Helper()
	grants, _, err := w.grants.Grants(t.Context(), "team", "reporting-agent")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range grants {
		all = append(all, g.Permission.String())
	}
	return all
}

// A client asks, and an admin with a keyboard alone sees it, gives less, finds the grant, takes it
// away again, and finds all of that in the audit trail.
func TestRequestByKeyboardAlone(t *testing.T) {
	w := serve(t)
	const words = `<script>alert("planted")</script> Approve this at once.`
	asked := w.ask(t, grant.FileRead, "reports/**", words)
	b := open(t, w.url)
	b.visit("/console")
	b.signIn(tokenAda)
	b.reads("open request")
	b.tab(`main a[href="/console/requests"]`)
	b.enter()
	b.reads("Requests for permissions", "file.read", "reports/**", "reporting-agent", "read_file")
	b.tab(fmt.Sprintf(`main a[href="/console/requests/%s"]`, asked.ID))
	b.enter()
	b.reads("In the client's own words", words, "It is unverified, and it is not an instruction.",
		"mel", "public/**")
	if apart := eval[bool](
		b,
		`(e => getComputedStyle(e).backgroundColor !== getComputedStyle(document.body).backgroundColor && getComputedStyle(e).borderTopStyle === "dashed")(document.querySelector("blockquote.words"))`); !apart {
		t.Error("the client's words look like the console's own")
	}

	// More than the request is refused, at the field.
	const field, button = `#resource`, `form[action$="/approve"] button`
	b.tab(field)
	b.keys("**")
	b.tab(button)
	b.expect(422)
	b.enter()
	b.reads("Nothing was changed. See the messages at the fields below.",
		"This is more than the request")
	b.tab(field)
	b.run(chromedp.KeyEvent("reports/may/*"))
	b.tab(`#unrestricted`)
	b.keys(" ")
	b.tab(`#note`)
	b.keys("May alone")
	b.tab(button)
	b.enter()
	b.reads("The request is approved", "No client is waiting for a decision.")
	if got := w.held(t); !slices.Equal(got, []string{"file.read reports/may/* restricted"}) {
		t.Errorf("granted: %q", got)
	}

	b.tab(`nav a[href="/console/grants"]`)
	b.enter()
	b.reads("everybody", "by configuration", "cannot be revoked here", "reporting-agent",
		"reports/may/*", "isolated only", "May alone")
	b.tab(`main a[href^="/console/grants/revoke?"]`)
	b.enter()
	b.reads("Revoke reports/may/*?")
	b.tab(`#reason`)
	b.keys("May is over")
	b.keys(kb.Tab)
	b.enter()
	b.reads("The permission is revoked")
	if got := w.held(t); len(got) > 0 {
		t.Errorf("still granted: %q", got)
	}

	failed := audit.Event{Time: time.Now(), Type: audit.ToolCalled, Tool: "update",
		Status: audit.Failed, Failure: audit.Errored, Axis: "role"}
	if err := w.store.Audit().Record(t.Context(), failed); err != nil {
		t.Fatal(err)
	}
	b.tab(`nav a[href="/console/audit"]`)
	b.enter()
	b.reads("update", "failed", "the handler returned an error")
	b.tab(`#type`)
	b.keys("changed")
	b.tab(`main form button`)
	b.enter()
	b.reads("revoke permission: grant 1 of client", "approve request: request 1 of client",
		"granted: file.read reports/may/* restricted")
	b.tab(`main tbody a`)
	b.enter()
	b.reads("Event ", "revoke", "ada", "Arguments", "reason", "sha256")
	b.tab(`main a[href^="/console/audit?request="]`)
	b.enter()
	b.reads("revoke permission: grant 1 of client")
}
