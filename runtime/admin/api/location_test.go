package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestWhatIsWrongWithARequestIsSaidWhereItIs: the status of each, and the location and words of its one error.
func TestWhatIsWrongWithARequestIsSaidWhereItIs(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const admin = "/api/v1/admin"
		ctx := t.Context()
		kit := must(w.CreateCatalog(ctx, store.InOrg(w.acme.ID), "kit", "", true, setup))
		must(w.CreateCatalog(ctx, store.InOrg(w.acme.ID), "other", "", true, setup))
		must(w.AddEntry(ctx, store.InOrg(w.acme.ID), kit.ID, "ask", "", setup))
		ofKit := fmt.Sprintf("%s/mcp/tool_catalogs/%d", admin, kit.ID)
		theirs := fmt.Sprintf("/api/v1/orgs/%d/mcp/tool_catalogs", w.acme.ID)
		for _, c := range []struct {
			method, path, body string
			status             int
			location, says     string
		}{
			// Taken: by what, under which name.
			{"POST", admin + "/orgs", `{"name":"acme"}`, 409, "body.name", `an organization "acme" already`},
			{"PATCH", fmt.Sprintf("%s/orgs/%d", admin, w.rival.ID), `{"name":"acme"}`, 409, "body.name", `an organization "acme" already`},
			{"POST", admin + "/teams", `{"org_id":"ORG","name":"lab"}`, 409, "body.name", `a team "lab" already`},
			{"POST", admin + "/mcp/tool_catalogs", `{"org_id":"ORG","name":"kit"}`, 409, "body.name", `a catalog "kit" there already`},
			{"POST", admin + "/mcp/tool_catalogs", `{"name":"kit"}`, 409, "body.name", `the source of the server declares a catalog "kit"`},
			{"POST", theirs, `{"name":"kit"}`, 409, "body.name", `a catalog "kit" there already`},
			{"PATCH", ofKit, `{"name":"other"}`, 409, "body.name", `a catalog "other" there already`},
			{"POST", ofKit + "/entries", `{"tool_name":"ask"}`, 409, "body.tool_name", `"ask" is in the catalog already`},
			{"POST", admin + "/members", `{"org_id":"ORG","issuer":"https://id.example","subject":"owner","standing":"lead"}`, 409, "body.subject", `"owner" of issuer "https://id.example" is a member of organization ORG already`},
			// No such place.
			{"POST", admin + "/teams", `{"org_id":"999","name":"x"}`, 422, "body.org_id", "there is no organization of this id"},
			{"POST", admin + "/teams", `{"org_id":"","name":"x"}`, 422, "body.org_id", "there is no organization of this id"},
			{"POST", admin + "/members", `{"team_id":"999","issuer":"","subject":"x","standing":"lead"}`, 422, "body.team_id", "there is no team of this id"},
			{"POST", admin + "/members", `{"issuer":"","subject":"x","standing":"lead"}`, 422, "body.org_id", "send org_id or team_id"},
			{"POST", admin + "/members", `{"org_id":"1","team_id":"2","issuer":"","subject":"x","standing":"lead"}`, 422, "body.team_id", "not both"},
			{"GET", admin + "/members?org_id=1&team_id=2", "", 422, "query.team_id", "not both"},
			{"POST", admin + "/mcp/tool_catalogs", `{"org_id":"abc","name":"x"}`, 422, "body.org_id", "there is no organization of this id"},
			{"POST", admin + "/mcp/tool_catalogs", `{"team_id":"ORG","name":"x"}`, 422, "body.team_id", "there is no team of this id"},
			// An id that was sent as the number that it looks like.
			{"POST", admin + "/teams", `{"org_id":3,"name":"x"}`, 422, "body.org_id", `expected string: ids are strings: "3"`},
			{"POST", admin + "/members", `{"team_id":12345678901,"issuer":"","subject":"x","standing":"lead"}`, 422, "body.team_id", `ids are strings: "12345678901"`},
			{"POST", admin + "/teams", `{"org_id":"ORG","name":3}`, 422, "body.name", "expected string"},
			// Names and texts.
			{"POST", admin + "/orgs", `{"name":""}`, 422, "body.name", "length"},
			{"POST", admin + "/orgs", `{"name":" "}`, 422, "body.name", "space"},
			{"POST", admin + "/orgs", `{"name":"x "}`, 422, "body.name", "space"},
			{"PATCH", fmt.Sprintf("%s/teams/%d", admin, w.lab.ID), `{"name":" lab"}`, 422, "body.name", "space"},
			{"POST", theirs, `{"name":"a\u0007"}`, 422, "body.name", "printable"},
			{"POST", theirs, `{"name":"a","description":"\u0007"}`, 422, "body.description", "printable"},
			{"POST", ofKit + "/entries", `{"tool_name":"x","module_id":"\u0007"}`, 422, "body.module_id", "printable"},
			{"POST", admin + "/members", `{"org_id":"ORG","issuer":"\u0007","subject":"x","standing":"lead"}`, 422, "body.issuer", "printable"},
			{"POST", admin + "/members", `{"org_id":"ORG","issuer":"","subject":"\u0007","standing":"lead"}`, 422, "body.subject", "printable"},
			{"GET", admin + "/orgs?after=nonsense", "", 422, "query.after", "next"},
		} {
			got := w.send("root", c.method, w.filled(c.path), w.filled(c.body), "If-Match", "*")
			var said struct {
				Detail string
				Errors []struct{ Location, Message string }
			}
			if err := json.Unmarshal([]byte(got.body), &said); err != nil || got.status != c.status || len(said.Errors) != 1 || said.Errors[0].Location != c.location || !strings.Contains(said.Errors[0].Message, w.filled(c.says)) {
				t.Errorf("%+v: %s", c, got)
			}
			if c.status == 409 && !strings.Contains(said.Detail, w.filled(c.says)) {
				t.Errorf("%+v: the detail is %q", c, said.Detail)
			}
		}
	})
}
