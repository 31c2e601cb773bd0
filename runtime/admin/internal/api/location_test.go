package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestProblemOfARequestIsReportedWithItsPlace: the status of each, and the location and words of
// its one error.
func TestProblemOfARequestIsReportedWithItsPlace(t *testing.T) {
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
			location, message  string
		}{
			// Taken: by what, under which name.
			{"POST", admin + "/orgs", `{"name":"acme"}`, 409, "body.name",
				`an organization "acme" already`},
			{"PATCH", fmt.Sprintf("%s/orgs/%d", admin, w.rival.ID), `{"name":"acme"}`, 409,
				"body.name", `an organization "acme" already`},
			{"POST", admin + "/teams", `{"org_id":"ORG","name":"lab"}`, 409, "body.name",
				`already has a team "lab"`},
			{"POST", admin + "/mcp/tool_catalogs", `{"org_id":"ORG","name":"kit"}`, 409,
				"body.name", `a catalog "kit" already exists there: use another name, or change that catalog`},
			{"POST", admin + "/mcp/tool_catalogs", `{"name":"kit"}`, 409, "body.name",
				`the source of the server declares a catalog "kit"`},
			{"POST", theirs, `{"name":"kit"}`, 409, "body.name",
				`a catalog "kit" already exists there: use another name, or change that catalog`},
			{"PATCH", ofKit, `{"name":"other"}`, 409, "body.name",
				`a catalog "other" already exists there: use another name, or change that catalog`},
			{"POST", ofKit + "/entries", `{"tool_name":"ask"}`, 409, "body.tool_name",
				`"ask" is already in the catalog`},
			{"POST", admin + "/members",
				`{"org_id":"ORG","issuer":"https://id.example","subject":"owner","standing":"lead"}`, 409,
				"body.subject", `"owner" of issuer "https://id.example" is already a member of ` +
					`organization ORG`},
			// No such place.
			{"POST", admin + "/teams", `{"org_id":"999","name":"x"}`, 422, "body.org_id",
				"unknown organization id: GET"},
			{"POST", admin + "/teams", `{"org_id":"","name":"x"}`, 422, "body.org_id",
				"expected an id"},
			{"POST", admin + "/members",
				`{"team_id":"999","issuer":"","subject":"x","standing":"lead"}`, 422,
				"body.team_id", "unknown team id: GET"},
			{"POST", admin + "/members", `{"issuer":"","subject":"x","standing":"lead"}`, 422,
				"body.org_id", "send org_id or team_id"},
			{"POST", admin + "/members",
				`{"org_id":"1","team_id":"2","issuer":"","subject":"x","standing":"lead"}`, 422,
				"body.team_id", "not both"},
			{"GET", admin + "/members?org_id=1&team_id=2", "", 422, "query.team_id", "not both"},
			{"POST", admin + "/mcp/tool_catalogs", `{"org_id":"abc","name":"x"}`, 422,
				"body.org_id", "expected an id"},
			{"POST", admin + "/mcp/tool_catalogs", `{"team_id":"ORG","name":"x"}`, 422,
				"body.team_id", "unknown team id: GET"},
			// An id may be a number.
			{"POST", admin + "/teams", `{"org_id":3,"name":"x"}`, 422, "body.org_id",
				"unknown organization id: GET"},
			{"POST", admin + "/members",
				`{"team_id":12345678901,"issuer":"","subject":"x","standing":"lead"}`, 422,
				"body.team_id", "unknown team id: GET"},
			{"POST", admin + "/teams", `{"org_id":"ORG","name":3}`, 422, "body.name",
				"expected string"},
			// Names and texts.
			{"POST", admin + "/orgs", `{"name":""}`, 422, "body.name", "length"},
			{"POST", admin + "/orgs", `{"name":" "}`, 422, "body.name", "space"},
			{"POST", admin + "/orgs", `{"name":"x "}`, 422, "body.name", "space"},
			{"PATCH", fmt.Sprintf("%s/teams/%d", admin, w.lab.ID), `{"name":" lab"}`, 422,
				"body.name", "space"},
			{"POST", theirs, `{"name":"a\u0007"}`, 422, "body.name", "printable"},
			{"POST", theirs, `{"name":"a","description":"\u0007"}`, 422, "body.description",
				"printable"},
			{"POST", ofKit + "/entries", `{"tool_name":"x","module_id":"\u0007"}`, 422,
				"body.module_id", "printable"},
			{"POST", admin + "/members",
				`{"org_id":"ORG","issuer":"\u0007","subject":"x","standing":"lead"}`, 422,
				"body.issuer", "printable"},
			{"POST", admin + "/members",
				`{"org_id":"ORG","issuer":"","subject":"\u0007","standing":"lead"}`, 422,
				"body.subject", "printable"},
			{"GET", admin + "/orgs?after=nonsense", "", 422, "query.after", "next"},
		} {
			got := w.send("root", c.method, w.filled(c.path), w.filled(c.body), "If-Match", "*")
			var problem struct {
				Detail string
				Errors []struct{ Location, Message string }
			}
			if err := json.Unmarshal([]byte(got.body), &problem); err != nil ||
				got.status != c.status || len(problem.Errors) != 1 ||
				problem.Errors[0].Location != c.location ||
				!strings.Contains(problem.Errors[0].Message, w.filled(c.message)) {
				t.Errorf("%+v: %s", c, got)
			}
			if c.status == 409 && !strings.Contains(problem.Detail, w.filled(c.message)) {
				t.Errorf("%+v: the detail is %q", c, problem.Detail)
			}
		}
	})
}

// optional are the members that a schema of the document does not require, with where they are.
func (d described) optional(schema any, at string) (members, required []string) {
	body, _ := schema.(map[string]any)
	if ref, ok := body["$ref"].(string); ok {
		return d.optional(d.Components.Schemas[path.Base(ref)], at)
	}
	properties, _ := body["properties"].(map[string]any)
	needed, _ := body["required"].([]any)
	for name, property := range properties {
		if slices.Contains(needed, any(name)) {
			required = append(required, at+name)
		} else {
			members = append(members, at+name)
		}
		within, must := d.optional(property, at+name+".")
		members, required = append(members, within...), append(required, must...)
	}
	return members, required
}

// with sets a member of an object, by its place as in permission.type.
func with(body map[string]any, place string, value any) map[string]any {
	body = maps.Clone(body)
	name, rest, nested := strings.Cut(place, ".")
	if nested {
		within, ok := body[name].(map[string]any)
		if !ok { // less than thing requested
			within = map[string]any{"type": "file.read", "resource": "public/%d"}
		}
		value = with(within, rest, value)
	}
	body[name] = value
	return body
}

// TestNullIsAbsenceWhereAMemberIsOptional sends every member of every body as null. The document
// allows null exactly where the server does.
func TestNullIsAbsenceWhereAMemberIsOptional(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	text := w.send("stranger", "GET", api.PathOpenAPI, "").body
	var doc described
	must(0, json.Unmarshal([]byte(text), &doc))
	compiler := jsonschema.NewCompiler()
	must(0, compiler.AddResource("doc:///doc.json",
		must(jsonschema.UnmarshalJSON(strings.NewReader(text)))))
	tried := 0
	for _, op := range w.operations() {
		content := doc.Paths[op.path][strings.ToLower(op.method)].RequestBody.Content
		if content == nil {
			continue
		}
		optional, required := doc.optional(content["application/json"].Schema, "")
		send := func(place, media string) (reply, error) {
			w.n++
			var body map[string]any
			must(0, json.Unmarshal([]byte(rows[op.id].body), &body))
			sent := string(must(json.Marshal(with(body, place, nil))))
			id := w.thing(op.path, w.acmePlace(op.path))
			sent = strings.NewReplacer("public/%d", fmt.Sprint("public/thing ", w.n), "%d",
				fmt.Sprint(w.n), "ORG", fmt.Sprint(w.acme.ID)).Replace(sent)
			schema := must(compiler.Compile(fmt.Sprintf(
				"doc:///doc.json#/paths/%s/%s/requestBody/content/%s/schema",
				strings.ReplaceAll(op.path, "/", "~1"), strings.ToLower(op.method),
				strings.ReplaceAll(media, "/", "~1"))))
			return w.send("root", op.method, at(op.path, w.acme.ID, w.lab.ID, id), sent,
					"If-Match", "*", "Content-Type", media),
				schema.Validate(must(jsonschema.UnmarshalJSON(strings.NewReader(sent))))
		}
		for _, place := range optional {
			tried++
			got, invalid := send(place, "application/json")
			if only := op.id == "create-member" && place == "org_id" ||
				op.id == "create-boundary" && place == "client" ||
				strings.HasPrefix(op.id, "update-") &&
					strings.Contains(rows[op.id].body, place); invalid != nil ||
				got.status != 200 && got.status != 201 && (got.status != 422 || !only) {
				t.Errorf("%s: %s is null: %s, %v", op.id, place, got, invalid)
			}
			if op.method != "PATCH" {
				continue
			}
			got, invalid = send(place, "application/merge-patch+json")
			if got.status != 422 || !strings.Contains(got.body, `"location":"body.`+place+`"`) ||
				invalid == nil {
				t.Errorf("%s: a merge patch removes %s: %s, %v", op.id, place, got, invalid)
			}
		}
		for _, place := range required {
			if got, invalid := send(place, "application/json"); got.status != 422 ||
				!strings.Contains(got.body, `"location":"body.`+place+`"`) || invalid == nil {
				t.Errorf("%s: %s is null: %s, %v", op.id, place, got, invalid)
			}
		}
	}
	if tried < 20 {
		t.Errorf("%d optional members were tried", tried)
	}
}

// TestIdIsAStringOrAWholeNumber: both are read, and all else is refused where it stands.
func TestIdIsAStringOrAWholeNumber(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const admin = "/api/v1/admin"
		for i, c := range []struct{ path, body, location string }{
			{admin + "/teams", `{"name":"a%d","org_id":%s}`, "org_id"},
			{admin + "/members", `{"subject":"b%d","issuer":"","standing":"lead","org_id":%s}`,
				"org_id"},
			{admin + "/mcp/tool_catalogs", `{"name":"c%d","org_id":%s}`, "org_id"},
		} {
			for n, id := range []string{"ORG", `"ORG"`} {
				got := w.send("root", "POST", c.path, w.filled(fmt.Sprintf(c.body, 100*i+n, id)))
				if got.status != 201 || got.field("org_id") != w.filled("ORG") ||
					!strings.Contains(got.body, w.filled(`"org_id":"ORG"`)) {
					t.Errorf("%s with %s: %s", c.path, id, got)
				}
			}
			for _, id := range []string{"1.0", "1e3", "1E0", "0", "-1", "-0", "0.5", "true", "{}",
				"[1]",
				"9223372036854775808", "1e400", `""`, `"0"`, `"01"`, `"+1"`, `" 1"`, `"1 "`,
				`"1.0"`, `"-1"`,
				`"9223372036854775808"`, `"１"`, `"1\n"`} {
				got := w.send("root", "POST", c.path, fmt.Sprintf(c.body, 1, id))
				if got.status != 422 ||
					strings.Count(got.body, `"location":"body.`+c.location+`"`) != 1 ||
					!strings.Contains(got.body, "expected an id") {
					t.Errorf("%s with %s: %s", c.path, id, got)
				}
			}
			for _, id := range []string{"01", "+1", "1.0", "x", "0", "%201",
				"9223372036854775808"} {
				got := w.send("root", "GET", c.path+"?org_id="+strings.Replace(id, "+", "%2B", 1),
					"")
				if got.status != 422 || strings.Count(got.body, `"location":"query.org_id"`) != 1 ||
					!strings.Contains(got.body, "expected an id") {
					t.Errorf("%s?org_id=%s: %s", c.path, id, got)
				}
			}
			if got := w.send("root", "GET", w.filled(c.path+"?org_id=ORG"), ""); got.status != 200 {
				t.Error(got)
			}
			// Beyond 2^53: no digit is lost.
			got := w.send("root", "POST", c.path, fmt.Sprintf(c.body, 1, "9007199254740993"))
			if got.status != 422 ||
				!strings.Contains(got.body, "unknown organization id: GET") {
				t.Error(got)
			}
		}
		for _, id := range []string{"01", "%2B1", "1.0", "1e0", "9223372036854775808"} {
			for _, path := range []string{admin + "/orgs/" + id,
				"/api/v1/orgs/" + id + "/mcp/tool_catalogs",
				admin + "/mcp/grants/" + id, admin + "/mcp/grants/requests/" + id} {
				if got := w.send("root", "GET", path, ""); got.status != 404 {
					t.Errorf("%s: %s", path, got)
				}
			}
		}
		kit := must(w.CreateCatalog(t.Context(), store.Global, "modules", "", true, setup))
		entries := fmt.Sprintf("%s/mcp/tool_catalogs/%d/entries", admin, kit.ID)
		for tool, module := range map[string]string{"a": "9007199254740993",
			"b": `"9007199254740993"`} {
			got := w.send("root", "POST", entries,
				fmt.Sprintf(`{"tool_name":%q,"module_id":%s}`, tool, module))
			if got.status != 201 || got.field("module_id") != "9007199254740993" {
				t.Error(got)
			}
		}
		for _, module := range []string{"1.0", "true", "1e3"} {
			got := w.send("root", "POST", entries,
				fmt.Sprintf(`{"tool_name":"c","module_id":%s}`, module))
			if got.status != 422 || !strings.Contains(got.body, `"location":"body.module_id"`) {
				t.Error(got)
			}
		}
	})
}

// numbers are the places of ids that are numbers.
func numbers(value any, at string) (wrong []string) {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			wrong = append(wrong, numbers(item, at+"[]")...)
		}
	case map[string]any:
		for name, member := range value {
			_, number := member.(float64)
			if (name == "id" || strings.HasSuffix(name, "_id")) && number {
				wrong = append(wrong, at+"."+name)
			}
			wrong = append(wrong, numbers(member, at+"."+name)...)
		}
	}
	return wrong
}

// TestWhatIsMadeIsAtItsLocation: every creation answers 201 with the address of the new
// thing.
func TestWhatIsMadeIsAtItsLocation(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		for _, op := range w.operations() {
			if op.method != "POST" || slices.Contains(acting, op.id) {
				continue
			}
			w.n++
			body := strings.NewReplacer("%d", fmt.Sprint(w.n), "ORG",
				fmt.Sprint(w.acme.ID)).Replace(rows[op.id].body)
			id := w.thing(op.path, w.acmePlace(op.path))
			made := w.send("root", "POST", at(op.path, w.acme.ID, w.lab.ID, id), body)
			location := made.header.Get("Location")
			if made.status != 201 || location == "" {
				t.Errorf("%s: %s", op.id, made)
			}
			got := w.send("root", "GET", location, "")
			if strings.HasSuffix(op.id, "-entry") { // which can only be deleted
				got = w.send("root", "DELETE", location, "")
			}
			if got.status == 200 && got.body != made.body || got.status > 204 {
				t.Errorf("%s: made %s, and at %s there is %s", op.id, made, location, got)
			}
		}
	})
}
