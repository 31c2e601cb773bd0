package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func TestChosenPrincipalIsListedACatalog(t *testing.T) {
	w := onSQLite(t)
	ctx := t.Context()
	for _, tool := range []string{"open", "erase", "never.was"} {
		must(w.store.AddEntry(ctx, store.InTeam(w.lab.ID), w.ofLab.ID, tool, "", by))
	}
	if err := w.store.SwitchTool(ctx, "known", true, by); err != nil {
		t.Fatal(err)
	}
	w.machine.declared = []catalog.Found{{ID: "code:kit", Name: "kit", Tools: []string{"known", "open", "view"}}, {ID: "code:everything", Name: "everything", Tools: []string{"open"}}, {ID: "code:lab-kit", Name: "lab-kit"}}
	for _, c := range []struct{ subject, catalog, want string }{
		{"lea", "lab-kit", fmt.Sprintf("lab-kit (id %d), this caller is listed 2 tools: open, view. 2 more of its tools are not listed.", w.ofLab.ID)},
		{"lea", fmt.Sprint(w.ofLab.ID), "lab-kit (id"},
		{"lea", "kit", "kit (id code:kit), this caller is listed 2 tools: open, view. 1 more of its tools is not listed."},
		{"lea", "code:kit", "kit (id code:kit), this caller"},
		{"lea", "everything", "everything (id code:everything), this caller is listed 1 tool: open."},
		{"lea", fmt.Sprint(w.global.ID), fmt.Sprintf("everything (id %d), this caller is listed 1 tool: view.", w.global.ID)},
		{"lea", "den-kit", "This caller has no catalog of the name or id den-kit"},
		{"rita", fmt.Sprint(w.ofLab.ID), "This caller has no catalog of the name or id"},
		{"", "acme-kit", "This caller has no catalog"},
	} {
		q := url.Values{"show": {"1"}, "issuer": {issuer}, "subject": {c.subject}, "role": {"Viewer"}, "catalog": {c.catalog}}
		body := page(t, w.get("token-admin", "/console/principal?"+q.Encode()), http.StatusOK, `value="`+c.catalog+`"`)
		body = strings.NewReplacer(`<span class="name">`, "", "</span>", "").Replace(body)
		if !strings.Contains(body, c.want) {
			t.Errorf("%+v: %s", c, body)
		}
	}
	w.machine.catalogs = nil
	page(t, w.get("token-admin", "/console/principal?show=1&subject=lea&catalog=lab-kit"), http.StatusOK, "code:lab-kit")
	w.machine.catalogs = broken{}
	page(t, w.get("token-admin", "/console/principal?show=1&subject=lea&catalog=lab-kit"), http.StatusInternalServerError, "Something failed")
}

// broken is a source that fails.
type broken struct{ catalog.Source }

func (broken) Catalog(context.Context, access.Principal, catalog.Ref) (catalog.Found, error) {
	return catalog.Found{}, errBroken
}
