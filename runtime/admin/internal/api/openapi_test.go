package api_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/grant"
	keeper "github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var update = flag.Bool("update", false, "write the golden files")

func TestDocumentIsTheOneThatWasReviewed(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	got := w.send("stranger", "GET", api.PathOpenAPI, "")
	if media := got.header.Get("Content-Type"); got.status != 200 ||
		media != "application/openapi+json" {
		t.Fatal(got.status, media)
	}
	golden := filepath.Join("testdata", "openapi.json")
	if *update {
		if err := os.WriteFile(golden, []byte(got.body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != got.body {
		t.Errorf(
			"the document differs from %s (%v): read what has changed, then run go test -update",
			golden, err)
	}
	var fromJSON, fromYAML any
	asYAML := w.send("stranger", "GET", api.PathOpenAPIYAML, "")
	if media := asYAML.header.Get("Content-Type"); media != "application/openapi+yaml" {
		t.Error(media)
	}
	if err := json.Unmarshal([]byte(got.body), &fromJSON); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(asYAML.body), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if a, b := must(json.Marshal(fromJSON)), must(json.Marshal(fromYAML)); !bytes.Equal(a, b) {
		t.Errorf("JSON and YAML say different things")
	}
}

type parameter struct {
	Name, In string
	Required bool
	Schema   any
}

type response struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     map[string]any
	Content     map[string]struct{ Schema any }
}

type described struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Security    []map[string][]string
		Parameters  []parameter
		RequestBody struct {
			Required bool
			Content  map[string]struct{ Schema any }
		}
		Responses map[string]response
	}
	Components struct {
		Responses       map[string]response
		Schemas         map[string]any
		SecuritySchemes map[string]struct{ Type, Scheme string }
	}
}

// of is a response, by its own or where it refers to, and where that is.
func (d described) of(path, method, status string) (found response, at string) {
	found, at = d.Paths[path][method].Responses[status], fmt.Sprintf("/paths/%s/%s/responses/%s",
		strings.ReplaceAll(path, "/", "~1"), method, status)
	if name, ok := strings.CutPrefix(found.Ref, "#/components/responses/"); ok {
		return d.Components.Responses[name], "/components/responses/" + name
	}
	return found, at
}

// acting are the operations that do something with what there is, and make nothing that has a
// place.
var acting = []string{"revoke-grants", "approve-grant-request", "deny-grant-request",
	"prune-audit-events", "clear-workspace"}

var inBraces = regexp.MustCompile(`\{(\w+)\}`)

// TestDocumentIsSound checks what the OpenAPI Specification 3.1 asks of a document, and what ours
// promises besides.
func TestDocumentIsSound(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	text := w.send("stranger", "GET", api.PathOpenAPI, "").body
	var doc described
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Components.SecuritySchemes["bearer"].Type != "http" ||
		doc.Components.SecuritySchemes["bearer"].Scheme != "bearer" {
		t.Errorf("%s, %+v", doc.OpenAPI, doc.Components.SecuritySchemes)
	}
	// Every schema compiles, and every reference leads somewhere.
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("doc:///doc.json",
		must(jsonschema.UnmarshalJSON(strings.NewReader(text)))); err != nil {
		t.Fatal(err)
	}
	compile := func(pointer string) {
		if _, err := compiler.Compile("doc:///doc.json#" + pointer); err != nil {
			t.Errorf("%s: %v", pointer, err)
		}
	}
	for name := range doc.Components.Schemas {
		compile("/components/schemas/" + name)
	}
	ids := map[string]bool{}
	for path, item := range doc.Paths {
		for method, op := range item {
			at := fmt.Sprintf("/paths/%s/%s", strings.ReplaceAll(path, "/", "~1"), method)
			if op.OperationID == "" || ids[op.OperationID] || op.Summary == "" {
				t.Errorf("%s: its id %q is none or another's, or it has no summary", at,
					op.OperationID)
			}
			ids[op.OperationID] = true
			if len(op.Security) != 1 || op.Security[0]["bearer"] == nil {
				t.Errorf("%s: security %v", at, op.Security)
			}
			var inPath, declared []string
			for _, m := range inBraces.FindAllStringSubmatch(path, -1) {
				inPath = append(inPath, m[1])
			}
			for i, p := range op.Parameters {
				compile(fmt.Sprintf("%s/parameters/%d/schema", at, i))
				if p.In == "path" {
					declared = append(declared, p.Name)
					if !p.Required {
						t.Errorf("%s: %s is not required", at, p.Name)
					}
				}
			}
			slices.Sort(inPath)
			slices.Sort(declared)
			if !slices.Equal(inPath, declared) {
				t.Errorf("%s: parameters %v", at, declared)
			}
			problems := []string{"400", "401", "403", "500", "503"}
			if strings.Contains(path, "{org_id}") || strings.Contains(path, "{team_id}") ||
				strings.Contains(path, "{id}") {
				problems = append(problems, "404")
			}
			switch method {
			case "post":
				problems = append(problems, "413", "415", "422")
				if acts := slices.Contains(acting, op.OperationID); !acts &&
					(op.Responses["201"].Headers["Location"] == nil ||
						op.Responses["201"].Content == nil) || acts &&
					op.Responses["200"].Content == nil {
					t.Errorf("%s: %+v", at, op.Responses)
				}
			case "patch":
				problems = append(problems, "413", "415", "422")
				if op.RequestBody.Content["application/merge-patch+json"].Schema == nil {
					t.Errorf("%s: %+v", at, op.RequestBody)
				}
				if strings.HasSuffix(path, "/{id}") {
					problems = append(problems, "412", "428")
				}
			case "delete":
				if _, ok := op.Responses["204"]; !ok {
					t.Errorf("%s: no 204", at)
				}
			}
			for _, status := range problems {
				if found, _ := doc.of(path, method,
					status); found.Content["application/problem+json"].Schema == nil {
					t.Errorf("%s: no problem %s", at, status)
				}
			}
			for status := range op.Responses {
				if found, _ := doc.of(path, method, status); found.Description == "" {
					t.Errorf("%s: %s has no description", at, status)
				}
			}
			if method == "post" || method == "patch" || method == "put" {
				if !op.RequestBody.Required {
					t.Errorf("%s: its body is not required", at)
				}
				compile(at + "/requestBody/content/application~1json/schema")
			}
		}
	}
}

// TestResponsesAreAsInTheDocument sends what every row of the table says, as an admin, and holds
// answers to their schemas.
func TestResponsesAreAsInTheDocument(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	text := w.send("stranger", "GET", api.PathOpenAPI, "").body
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("doc:///doc.json",
		must(jsonschema.UnmarshalJSON(strings.NewReader(text)))); err != nil {
		t.Fatal(err)
	}
	var doc described
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, op := range w.operations() {
		path := at(op.path, w.acme.ID, w.lab.ID, w.thing(op.path, w.acmePlace(op.path)))
		for _, match := range []string{`"1"`, `"99"`, ""} {
			w.n++
			body := strings.NewReplacer("%d", fmt.Sprint(w.n), "ORG",
				fmt.Sprint(w.acme.ID)).Replace(rows[op.id].body)
			for _, body := range []string{body, `{"nonsense":1}`} {
				got := w.send("root", op.method, path, body, "If-Match", match)
				response, where := doc.of(op.path, strings.ToLower(op.method),
					fmt.Sprint(got.status))
				if response.Description == "" {
					t.Errorf("%s: the document has no answer %s", op.id, got)
					continue
				}
				media := got.header.Get("Content-Type")
				if _, ok := response.Content[media]; !ok && got.body != "" {
					t.Errorf("%s: the document has no %s", op.id, media)
				}
				if response.Content[media].Schema == nil {
					continue
				}
				schema, err := compiler.Compile(fmt.Sprintf(
					"doc:///doc.json#%s/content/%s/schema", where,
					strings.ReplaceAll(media, "/", "~1")))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(must(
					jsonschema.UnmarshalJSON(strings.NewReader(got.raw)))); err != nil {
					t.Errorf("%s: %s: %v", op.id, got, err)
				}
			}
		}
	}
}

// statuses is a server whose identity source obeys a header of the request.
type statuses struct{ runtime.Administered }

func (s statuses) Identify(r *http.Request) (context.Context, error) {
	switch status := r.Header.Get("Test-Status"); status {
	case "403", "429":
		return nil, &runtime.Refusal{Status: must(strconv.Atoi(status)), Reason: "refused"}
	case "500":
		panic("the identity source fails")
	case "503":
		return nil, errors.New("the identity source is away")
	}
	return s.Administered.Identify(r)
}

// TestDocumentListsExactlyTheStatusesThatOccur sends every operation what leads to each status.
func TestDocumentListsExactlyTheStatusesThatOccur(t *testing.T) {
	url, before := engines["sqlite"](t), registry
	t.Cleanup(func() { registry = before })
	registry = func(w *world) grant.Registry {
		return keeper.New(w.Store, keeper.Options{OpenRequests: 1000})
	}
	w := newWorld(t, url, runtime.Options{Catalogs: runtime.CatalogOptions{Strict: true}},
		func(s runtime.Administered) runtime.Administered { return statuses{s} })
	ctx := t.Context()
	must(w.CreateOrg(ctx, "taken", setup))
	must(w.CreateTeam(ctx, w.acme.ID, "taken", setup))
	for _, in := range []store.Scope{store.Global, store.InOrg(w.acme.ID), store.InTeam(w.lab.ID)} {
		must(w.CreateCatalog(ctx, in, "taken", "", true, setup))
	}
	for i := range grant.MaxGrants {
		must(w.grants.Grant(ctx, grant.Grant{Issuer: issuer, Client: "full",
			Permission: grant.Permission{Type: grant.FileRead,
				Resource: fmt.Sprint("public/", i)}}))
	}
	var doc described
	text := w.send("stranger", "GET", api.PathOpenAPI, "").body
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	occurred := map[string]map[string]bool{}
	all := w.operations()
	send := func(op operation, who, id, body, query string, headers ...string) {
		path := at(op.path, w.acme.ID, w.lab.ID, id)
		if query != "" && strings.Contains(path, "?") {
			query = strings.Replace(query, "?", "&", 1)
		}
		r := httptest.NewRequest(op.method, path+query, strings.NewReader(body))
		if who != "" {
			r.Header.Set("Authorization", "Bearer "+who)
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		rec := httptest.NewRecorder()
		w.direct.ServeHTTP(rec, r)
		if occurred[op.id] == nil {
			occurred[op.id] = map[string]bool{}
		}
		occurred[op.id][strconv.Itoa(rec.Code)] = true
	}
	for _, op := range all {
		w.n++
		row := strings.NewReplacer("%d", fmt.Sprint(w.n), "ORG", fmt.Sprint(w.acme.ID)).
			Replace(rows[op.id].body)
		thing := func() string { return w.thing(op.path, w.acmePlace(op.path)) }
		for _, match := range []string{`"1"`, `"99"`, "malformed"} {
			send(op, "root", thing(), row, "", "If-Match", match)
		}
		send(op, "root", thing(), row, "")
		for _, status := range []string{"403", "429", "500", "503"} {
			send(op, "root", thing(), row, "", "Test-Status", status)
		}
		send(op, "", thing(), row, "")
		send(op, "root", thing(), row, "?a=1&a=2")
		send(op, "root", thing(), row, "?nonsense=1")
		send(op, "root", thing(), strings.Repeat(" ", 70_000), "", "If-Match", "*")
		send(op, "root", thing(), row, "", "If-Match", "*", "Content-Type", "text/plain")
		for _, body := range []string{`{"nonsense":1}`, `{"name":"taken"}`,
			`{"org_id":"ORG","name":"taken"}`, `{"tool_name":"old_tool"}`,
			`{"org_id":"ORG","issuer":"https://id.example","subject":"owner","standing":"lead"}`,
			`{"issuer":"i","client":"nobody","type":"file.read","reason":"it is over"}`,
			`{"issuer":"i","client":"nobody"}`,
			`{"issuer":"https://id.example","client":"full","type":"db.read","resource":"a","reason":"x"}`,
		} {
			send(op, "root", thing(), w.filled(body), "", "If-Match", "*")
		}
		once := thing()
		for _, id := range []string{once, once, "9999", "code:kit"} {
			send(op, "root", id, row, "", "If-Match", "*")
		}
		nowhere := op
		nowhere.path = strings.NewReplacer("{org_id}", "9999", "{team_id}", "9999").Replace(op.path)
		if nowhere.path != op.path {
			send(nowhere, "root", "1", row, "")
		}
		if op.id == "list-tools" {
			send(op, "root", "", "", "?catalog=unknown")
		}
	}
	// A change that meets another version each time ends with 409.
	db := must(sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:")))
	defer db.Close()
	for _, table := range []string{"organizations", "teams", "memberships", "tool_catalogs",
		"boundaries"} {
		for _, change := range []string{"UPDATE", "DELETE"} {
			must(db.Exec(fmt.Sprintf(`CREATE TRIGGER %[1]s_%[2]s BEFORE %[2]s ON %[1]s
				BEGIN SELECT RAISE(IGNORE); END`, table, change)))
		}
	}
	for _, op := range all {
		w.n++
		send(op, "root", w.thing(op.path, w.acmePlace(op.path)), strings.NewReplacer("%d",
			fmt.Sprint(w.n), "ORG", fmt.Sprint(w.acme.ID)).Replace(rows[op.id].body), "",
			"If-Match", "*")
	}
	for _, op := range all {
		listed := slices.Sorted(maps.Keys(doc.Paths[op.path][strings.ToLower(op.method)].Responses))
		if got := slices.Sorted(maps.Keys(occurred[op.id])); !slices.Equal(listed, got) {
			t.Errorf("%s: the document lists %v, and what occurred is %v", op.id, listed, got)
		}
	}
}
