package systemtest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

// registryModule has the schema of server.json. make setup downloads it.
const registryModule = "github.com/modelcontextprotocol/registry@v1.8.8"

func registrySchemaOf(t *testing.T) (schema *jsonschema.Schema, id string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json",
		registryModule).Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil {
		testdb.Unavailable(t, "no schema of server.json: run make setup: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, "internal", "validators", "schemas",
		"2025-12-11.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	registrySchema := doc.(map[string]any)["$id"].(string)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(registrySchema, doc); err != nil {
		t.Fatal(err)
	}
	schema, err = c.Compile(registrySchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema, registrySchema
}

func TestServerJSONFitsTheSchemaOfTheRegistry(t *testing.T) {
	schema, want := registrySchemaOf(t)
	entry := document.Entry{Name: "com.example/parts", URL: "https://parts.example/mcp"}
	server := model.Server{Title: "Parts", Version: "1.4.0", Description: "Serves <parts>.",
		Website: "https://parts.example", Icons: []model.Icon{
			{Source: "https://parts.example/icon.png", MIMEType: "image/png",
				Sizes: []string{"48x48", "any"}, Theme: "dark"},
			{Source: "https://parts.example/icon.gif", MIMEType: "image/gif"},
			{Source: "data:image/png;base64,AAAA"},
		}}
	long := strings.Repeat("a", 101)
	for name, test := range map[string]struct {
		change func(*model.Server, *document.Entry)
		err    string
	}{
		"all fields": {func(*model.Server, *document.Entry) {}, ""},
		"no optional field": {func(s *model.Server, _ *document.Entry) {
			*s = model.Server{Version: "1", Description: "a"}
		}, ""},
		"another version": {func(_ *model.Server, e *document.Entry) { e.Version = "v2.0.0-rc.1" },
			""},
		"a name without slash": {func(_ *model.Server, e *document.Entry) { e.Name = "parts" },
			`the name "parts"`},
		"two slashes": {func(_ *model.Server, e *document.Entry) { e.Name = "a.b/c/d" },
			`the name "a.b/c/d"`},
		"no URL": {func(_ *model.Server, e *document.Entry) { e.URL = "parts.example" },
			`the URL`},
		"no version": {func(s *model.Server, _ *document.Entry) { s.Version = "" },
			`the version ""`},
		"a range": {func(s *model.Server, _ *document.Entry) { s.Version = "^1.2.3" },
			`the version "^1.2.3"`},
		"no description": {func(s *model.Server, _ *document.Entry) { s.Description = "" },
			"has 0 characters"},
		"a long description": {func(s *model.Server, _ *document.Entry) { s.Description = long },
			"has 101 characters"},
		"a long title": {func(s *model.Server, _ *document.Entry) { s.Title = long },
			"the title"},
	} {
		s, e := server, entry
		test.change(&s, &e)
		text, err := document.ServerJSON(model.Service{Package: "example.com/parts", Server: s}, e)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", name, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if id := doc.(map[string]any)["$schema"]; id != want {
			t.Errorf("%s: $schema is %v, want %s", name, id, want)
		}
		if err := schema.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if strings.Contains(string(text), "icon.gif") || strings.Contains(string(text), "base64") {
			t.Errorf("%s: an icon that the registry does not take:\n%s", name, text)
		}
	}
}
