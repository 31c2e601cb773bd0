package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestRefusalsAreRecorded: who asks for what they may not do is in the audit, whether there is such
// a thing or not.
func TestRefusalsAreRecorded(t *testing.T) {
	w := onSQLite(t)
	var events []audit.Event
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error { events = append(events, e); return nil })
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored), console.Options{Audit: sink})
	const isAdmin, isManager = "requires the role of an admin", "requires owner, admin or lead"
	const isClient = "requires a client of admin.Options.Clients, and no actor"
	foreign, own := fmt.Sprint("/console/catalogs/", w.ofDen.ID), fmt.Sprint("/console/catalogs/", w.ofLab.ID)
	for _, c := range []struct {
		token, method, path     string
		action, object, missing string // none where nothing is recorded
	}{
		{"token-lead", "GET", "/console/tools", "GET /console/tools", "anywhere", isAdmin},
		{"token-lead", "POST", "/console/tools", "POST /console/tools", "anywhere", isAdmin},
		{"token-lead", "POST", "/console/orgs/1/members", "POST /console/orgs/{id}/members", "anywhere", isAdmin},
		{"token-admin-agent", "GET", "/console/tools", "GET /console/tools", "anywhere", isClient},
		{"token-admin-agent", "GET", foreign, "GET /console/catalogs/{id}", "anywhere", isClient},
		{"token-member", "GET", "/console", "GET /console", "anywhere", isManager},
		{"token-member", "POST", "/console/tools", "POST /console/tools", "anywhere", isManager},
		{"token-member", "GET", "/console/nowhere", "unknown", "anywhere", isManager},
		{"token-lead", "GET", foreign, "GET /console/catalogs/{id}", fmt.Sprint("catalog ", w.ofDen.ID), isManager},
		{"token-lead", "POST", foreign + "/entries", "POST /console/catalogs/{id}/entries", fmt.Sprint("catalog ", w.ofDen.ID), isManager},
		{"token-lead", "GET", "/console/catalogs/999", "GET /console/catalogs/{id}", "catalog 999", isManager},
		{"token-lead", "GET", "/console/catalogs?scope=team-999", "GET /console/catalogs", "team 999", isManager},
		{"token-lead", "GET", fmt.Sprint("/console/catalogs?scope=org-", w.rival.ID), "GET /console/catalogs", fmt.Sprint("organization ", w.rival.ID), isManager},
		{"token-lead", "GET", "/console/catalogs/new?scope=global", "GET /console/catalogs/new", "global", isManager},
		{"token-lead", "POST", "/console/catalogs", "POST /console/catalogs", "no scope", isManager},
		{"token-lead", "GET", "/console/nowhere", "", "", ""},
		{"token-lead", "GET", own, "", "", ""},
		{"token-lead", "POST", own + "/entries/remove", "", "", ""}, // an entry that there is not
		{"token-admin", "GET", "/console/catalogs/999", "", "", ""},
		{"token-admin", "GET", "/console/orgs/999", "", "", ""},
		{"", "GET", "/console/tools", "", "", ""},
		{"token-nobody", "POST", "/console/tools", "", "", ""},
	} {
		events = nil
		rec := w.do(request(c.method, c.path, c.token, form("tool", "never.was", "name", "x")))
		if c.action == "" {
			if len(events) > 0 {
				t.Errorf("%+v: %d, and %+v", c, rec.Code, events)
			}
			continue
		}
		if rec.Code != http.StatusForbidden && rec.Code != http.StatusNotFound || len(events) != 1 {
			t.Errorf("%+v: %d, and %+v", c, rec.Code, events)
			continue
		}
		e := events[0]
		if p := callers[c.token]; e.Type != audit.AdminRequest || e.Failure != audit.Denied ||
			e.Time.IsZero() || e.Issuer != p.Issuer || e.Principal != p.Subject ||
			!slices.Equal(e.Roles, p.Roles) ||
			e.Action != c.action || e.Object != c.object || e.Missing != c.missing || e.Arguments != nil {
			t.Errorf("%+v: %+v", c, e)
		}
	}
}

// TestNameThatCodeDeclaresIsTaken: clients would never get a global catalog of that name, as the
// API says.
func TestNameThatCodeDeclaresIsTaken(t *testing.T) {
	w := onSQLite(t)
	const message = "The source of the server declares a catalog &#34;kit&#34; (//mcp:tool " +
		"catalog=): use another name, or remove it there."
	page(t, w.post("token-admin", "/console/catalogs", form("scope", "global", "name", "kit", "description", "typed")), http.StatusConflict, message, "typed")
	at := fmt.Sprint("/console/catalogs/", w.global.ID)
	page(t, w.post("token-admin", at, form("version", w.global.Version, "name", "kit", "description", "typed")), http.StatusConflict, message, "typed")
	if got := must(w.store.Catalog(t.Context(), store.Anywhere, w.global.ID)); got.Name != "everything" {
		t.Errorf("it is called %s", got.Name)
	}
	// It is free in organisations and teams, and one that has it already can be changed.
	led(t, w.post("token-admin", "/console/catalogs", form("scope", fmt.Sprint("org-", w.acme.ID), "name", "kit")), "/console/catalogs/*")
	old := must(w.store.CreateCatalog(t.Context(), store.Global, "kit", "", true, by))
	at = fmt.Sprint("/console/catalogs/", old.ID)
	led(t, w.post("token-admin", at, form("version", old.Version, "name", "kit", "description", "shadowed")), at+"?done=catalog-saved")
	page(t, w.post("token-admin", "/console/catalogs", form("scope", "global", "name", "everything")),
		http.StatusConflict,
		"A catalog with this name already exists there. Choose another name, or open that catalog.")
}

// TestChangeThatMayHaveBeenMadeIsNotDenied: what is said is about the change, and not about the
// page that was to be shown again.
func TestChangeThatMayHaveBeenMadeIsNotDenied(t *testing.T) {
	w := onSQLite(t)
	for _, c := range []struct {
		method, message string
	}{{"GET", "No response in time: try again; nothing was changed."}, {"POST",
		"No response in time: try again; the change may have been made: check before you send " +
			"it again."}} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, request(c.method, "/console/orgs", "token-admin", form("name", "late")).WithContext(ctx))
		page(t, rec, http.StatusServiceUnavailable, "Not now", c.message)
	}
	if orgs, _, err := w.store.Orgs(t.Context(), store.Page[int64]{}); err != nil || slices.ContainsFunc(orgs, func(o store.Org) bool { return o.Name == "late" }) {
		t.Errorf("%v, %v", orgs, err)
	}
}
