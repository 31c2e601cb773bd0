package console

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/asset"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/visible"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

//go:embed templates
var templateFiles embed.FS

// templates are the pages, each within the layout.
var templates = parsed()

func parsed() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Funcs(template.FuncMap{
		"asset":     asset.Path,
		"moment":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
		"second":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
		"breakable": visible.Breakable,
		"shown":     func(name any) template.HTML { return visible.Name(fmt.Sprint(name)) },
		"join":      func(list []string) string { return strings.Join(list, " ") },

		"eventTypes": func() []audit.Type { return eventTypes },
		"statuses":   func() []audit.Status { return eventStatuses },
		"failures":   func() []audit.Failure { return eventFailures },
		"grantTypes": func() []string { return grantTypes },
		"standings":  func() []access.Standing { return standings },
		"states":     func() []state { return states },
		"terms":      func() []term { return terms },
	}).Option("missingkey=error").ParseFS(templateFiles, "templates/layout.html",
		"templates/parts.html"))
	all := map[string]*template.Template{}
	for _, name := range []string{
		"sign-in", "message", "overview", "matrix", "principal", "catalogs", "catalog-new",
		"catalog",
		"declared", "tools", "orgs", "org", "team", "member", "delete", "permission-requests",
		"permission-request", "grants", "grant-new", "revoke", "workspaces", "audit", "event",
		"clients", "suggestion", "boundary-new", "boundary", "block",
	} {
		all[name] = template.Must(template.Must(layout.Clone()).ParseFS(templateFiles, "templates/"+
			name+".html"))
	}
	return all
}

// page has the values of the layout, around the content of a page.
type page struct {
	Title string
	Here  string // of the navigation: the path of the part that the page belongs to
	Leave bool   // offers to sign out where the caller is not known
	Done  string // a code of done

	Warning  string    // what may not have been meant
	Problem  string    // of a form
	Conflict *conflict // with a concurrent change
	Data     any

	// Filled in by render.
	Server string
	Caller *caller
}

type caller struct {
	access.Principal
	Admin      bool
	Grants     bool // there are grants to manage
	Workspaces bool // there are workspaces to clear
}

// Notice is the message about a form's result.
func (p page) Notice() string { return done[p.Done] }

// done has the messages of results, by their codes in addresses: no text of an address is ever
// shown.
var done = map[string]string{
	"signed-out":      "You are signed out.",
	"catalog-created": "The catalog is created. Add tools to it.",
	"catalog-saved":   "The catalog is saved.",
	"catalog-deleted": "The catalog is deleted.",
	"entry-added":     "The tool is in the catalog.",
	"entry-removed":   "The tool is no longer in the catalog.",
	"tool-off":        "The tool is switched off. No caller can call or list it.",
	"tool-on":         "The tool is switched on.",
	"org-created":     "The organisation is created.",
	"org-saved":       "The organisation is renamed.",
	"org-deleted":     "The organisation is deleted, with its teams, members and catalogs.",
	"team-created":    "The team is created.",
	"team-saved":      "The team is renamed.",
	"team-deleted":    "The team is deleted, with its members and catalogs.",
	"member-added":    "The member is added.",
	"member-saved":    "The member's standing is saved.",
	"member-removed":  "The member is removed.",

	"request-approved": "The request is approved. The client's next call may use the permission.",
	"request-denied":   "The request is denied.",
	"granted":          "The permission is granted. The client's next call may use it.",
	"revoked":          "The permission is revoked. The client's next call cannot use it.",
	"revoked-before":   "There was no permission to revoke: it was already revoked or deleted.",

	"blocked":          "The client is blocked. All replicas refuse its requests.",
	"unblocked":        "The client is no longer blocked.",
	"boundary-created": "The boundary is created.",
	"boundary-saved":   "The boundary is saved.",
	"boundary-deleted": "The boundary is deleted.",

	"workspace-cleared": "The workspace is cleared. The client's next call has an empty one.",
}

// message is a page with one message and the facts for it.
type message struct {
	Text  string
	Facts []fact
	After string
}

// fact is something under its name.
type fact struct{ Name, Value string }

var (
	missing = page{Title: "Not found",
		Data: message{Text: "This page does not exist, or its object was deleted or is not " +
			"accessible to you."}}
	broken = page{Title: "Something failed",
		Data: message{Text: "The server could not do this. Its operator can find the reason in its " +
			"log. Try again in a moment."}}
)

// render writes a page, all of it or none.
func (c *console) render(w http.ResponseWriter, who *caller, status int, name string, p page) {
	p.Server, p.Caller = c.title, who
	var b bytes.Buffer
	if err := templates[name].Execute(&b, p); err != nil {
		c.log.Error("a page of the console could not be written", "page", name, "error", err)
		http.Error(w, broken.Title, http.StatusInternalServerError)
		return
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", front.RetryAfter)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the browser may be gone
}

// show renders a page for the caller.
func (v *visit) show(name string, p page) error { return v.showAs(http.StatusOK, name, p) }

func (v *visit) showAs(status int, name string, p page) error {
	var who *caller
	if !v.caller.Anonymous() {
		who = &caller{v.caller, v.admin, v.grants != nil, v.server.Workspaces() != nil}
	}
	if p.Done == "" && v.r.Method != http.MethodPost {
		p.Done = v.r.URL.Query().Get("done")
	}
	v.render(v.w, who, status, name, p)
	return nil
}

// back redirects to a page that shows the result of a form.
func (v *visit) back(to, done string) error {
	v.seeOther(withQuery(to, url.Values{"done": {done}}))
	return nil
}

func (v *visit) nowhere() error { return store.ErrNotFound }

// fail responds to a failed request. A missing thing and one that is not the caller's have the same
// response, byte for byte.
func (v *visit) fail(err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, grant.ErrUnknown):
		v.showAs(http.StatusNotFound, "message", missing)
	case errors.Is(err, errNothing):
		v.showAs(http.StatusForbidden, "message", v.nothing())
	case errors.Is(err, errNotAdmin):
		v.showAs(http.StatusForbidden, "message", page{Title: "For admins",
			Data: message{Text: "Only admins of the server may open this page. The catalogs of your " +
				"organisations and teams are under Catalogs."}})
	case errors.As(err, &tooLarge):
		v.showAs(http.StatusRequestEntityTooLarge, "message",
			page{Title: "Too much",
				Data: message{Text: "The form is too large. Nothing was changed."}})
	case errors.Is(err, errBadForm):
		v.showAs(http.StatusBadRequest, "message", page{Title: "Not readable",
			Data: message{Text: "The form is malformed. Nothing was changed."}})
	default:
		if outage := front.Outage(v.ctx, err, v.r.Method != http.MethodPost); outage != "" {
			v.log.ErrorContext(v.ctx, "the console returned no response", "request_id",
				runtime.RequestID(v.ctx), "method", v.r.Method, "path", v.r.URL.Path, "outage",
				outage, "error", err)
			v.showAs(http.StatusServiceUnavailable, "message",
				page{Title: "Not now", Data: message{Text: sentence(outage)}})
			return
		}
		v.log.ErrorContext(v.ctx, "the console failed", "request_id",
			runtime.RequestID(v.ctx), "method", v.r.Method, "path", v.r.URL.Path, "error", err)
		v.showAs(http.StatusInternalServerError, "message", broken)
	}
}

// sentence is an error's text as a sentence.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// nothing is the page of a caller who manages nothing: who may change that, and the values to type.
func (v *visit) nothing() page {
	return page{Title: "Nothing to manage", Leave: true, Data: message{
		Text: "You are signed in, but you have nothing to manage. This console is for admins of the " +
			"server, and for owners, admins and leads of an organisation or team. Ask an admin of this " +
			"server to make you a lead, on the page of your organisation or team, under \"Add a " +
			"member\". Give the admin these values:",
		Facts: []fact{{"Subject", v.caller.Subject},
			{"Issuer", cmp.Or(v.caller.Issuer, "none: leave the field empty")}},
		After: "If your token contains organisations and teams, ask its issuer instead. To become an " +
			"admin of the server, ask its operator. If the server has boundaries, the operator must list " +
			"the client of your token too (Clients of admin.Options).",
	}}
}

// filled are the pairs of name and value whose value is not empty.
func filled(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// pageSize is how many rows a list has.
const pageSize = 100

// after is where a list continues, by its address.
func (v *visit) after(name string) int64 {
	n, err := strconv.ParseInt(v.r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
