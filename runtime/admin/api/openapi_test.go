package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/api"
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
		t.Errorf("the document differs from %s (%v): read what has changed, then run go test -update", golden, err)
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
var acting = []string{"grant", "revoke-grants", "approve-grant-request", "deny-grant-request",
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
	if err := compiler.AddResource("doc.json",
		must(jsonschema.UnmarshalJSON(strings.NewReader(text)))); err != nil {
		t.Fatal(err)
	}
	compile := func(pointer string) {
		if _, err := compiler.Compile("doc.json#" + pointer); err != nil {
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

// TestAnswersAreWhatTheDocumentSays sends what every row of the table says, as an admin, and holds
// answers to their schemas.
func TestAnswersAreWhatTheDocumentSays(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	text := w.send("stranger", "GET", api.PathOpenAPI, "").body
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("doc.json",
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
				schema, err := compiler.Compile(fmt.Sprintf("doc.json#%s/content/%s/schema", where,
					strings.ReplaceAll(media, "/", "~1")))
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(must(jsonschema.UnmarshalJSON(strings.NewReader(got.raw)))); err != nil {
					t.Errorf("%s: %s: %v", op.id, got, err)
				}
			}
		}
	}
}
