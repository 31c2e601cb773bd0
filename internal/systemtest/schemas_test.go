package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/mcpgen/mcpgen/internal/testrepo"
	boundaries "github.com/mcpgen/mcpgen/runtime/boundary/static"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
)

// schemaFolder is where the schemas are, and schemaHome their address.
const (
	schemaFolder = "docs/reference/schemas/"
	schemaHome   = "https://raw.githubusercontent.com/mcpgen/mcpgen/main/" + schemaFolder
)

// schemaNamed compiles a schema, which must be one of JSON Schema 2020-12.
func schemaNamed(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(testrepo.Root(t), schemaFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	top := document.(map[string]any)
	const draft = "https://json-schema.org/draft/2020-12/schema"
	if top["$id"] != schemaHome+name || top["$schema"] != draft {
		t.Errorf("%s has $id %v and $schema %v", name, top["$id"], top["$schema"])
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(schemaHome+name, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(schemaHome + name)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s.Validate(value)
}

func TestManifestsOfTheRepositoryFitTheirSchema(t *testing.T) {
	root, schema := testrepo.Root(t), schemaNamed(t, "manifest.json")
	names := strings.Fields(testrepo.Output(t, root, "git ls-files *mcp.manifest.json"))
	if len(names) < 15 {
		t.Errorf("the repository has the manifests %v", names)
	}
	clients := 0
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, schema, string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(string(text), `"client": `) {
			clients++
		}
	}
	if clients == 0 {
		t.Error("no manifest has a client")
	}
}

func TestSchemaOfManifestsRefusesMistakes(t *testing.T) {
	schema := schemaNamed(t, "manifest.json")
	const sound = `{"manifest": 3, "package": "p", "server": {"name": "s", "client": "client"},
		"roles": [["A"]], "tools": [{"name": "t", "handler": "T", "access": {"minRole": ["A"]},
		"denial": "forbid", "limits": {"timeout": "30s", "isolate": "process"},
		"input": {"/a": {"type": "string"}}, "lenient": false, "_meta": {"a/b": 1}}],
		"prompts": [{"name": "q", "handler": "Q", "access": {"public": true},
		"limits": {"timeout": "30s"}, "arguments": [{"name": "n", "type": "integer"}]}],
		"resources": [{"uri": "x://y", "name": "r", "handler": "R", "access": {"authenticated": true},
		"limits": {"timeout": "30s"}}], "ignored": [{"handler": "H", "reason": "none"}],
		"types": {"x.T": "{}"}}`
	if err := valid(t, schema, sound); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"manifest": 3`, `"manifest": 1`}, {`"manifest": 3, `, ``}, {`"package": "p"`, `"package": 7`},
		{`"client": "client"`, `"client": true`}, {`"client": "client"`, `"clients": "client"`},
		{`"minRole": ["A"]`, `"minrole": ["A"]`}, {`"minRole": ["A"]`, `"minRole": "A"`},
		{`"denial": "forbid"`, `"denial": "deny"`}, {`"isolate": "process"`, `"isolate": "thread"`},
		{`"timeout": "30s", "isolate"`, `"timeout": 30, "isolate"`}, {`"roles": [["A"]],`, ``},
		{`[["A"]]`, `["A"]`},
		{`"/a": {"type": "string"}`, `"/a": "string"`}, {`"lenient": false`, `"lenient": "no"`},
		{`"type": "integer"`, `"type": "number"`}, {`"uri": "x://y", `, ``},
		{`"ignored": [`, `"ignored": [1, `}, {`"x.T": "{}"`, `"x.T": {}`},
		{`{"manifest"`, `{"$schema": "x", "manifest"`}, {`"_meta": {"a/b": 1}`, `"_meta": 1`},
	} {
		if strings.Count(sound, change[0]) != 1 {
			t.Fatalf("%s is not in the manifest once", change[0])
		}
		if valid(t, schema, strings.Replace(sound, change[0], change[1], 1)) == nil {
			t.Errorf("%s in place of %s is accepted", change[1], change[0])
		}
	}
}

// opens reports whether the source of permissions accepts a file.
func opens(text string) error {
	_, err := static.OpenFS(fstest.MapFS{"p.json": {Data: []byte(text)}}, "p.json")
	return err
}

// TestSchemaOfPermissionsAcceptsWhatTheSourceAccepts holds both against each other.
func TestSchemaOfPermissionsAcceptsWhatTheSourceAccepts(t *testing.T) {
	schema := schemaNamed(t, "permissions.json")
	accepted := 0
	for _, text := range []string{
		`{"users": {}}`, `{}`, `[]`, `{"users": []}`, `{"users": {}, "user": {}}`, `{"users": null}`,
		`{"users": {"ada": {}}}`, `{"users": {"": {}}}`, `{"users": {" ada": {}}}`,
		`{"users": {"ada l": {}}}`, `{"users": {"ada\n": {}}}`, `{"users": {"a": {}, "Ä b": {}}}`,
		`{"users": {"ada": null}}`, `{"users": {"ada": {"superuser": true, "active": false}}}`,
		`{"users": {"ada": {"superuser": "true"}}}`, `{"users": {"ada": {"admin": true}}}`,
		`{"users": {"ada": {"permissions": ["dcim.view_device", "export", "billing.export"]}}}`,
		`{"users": {"ada": {"permissions": "dcim.view_device"}}}`,
		`{"users": {"ada": {"permissions": ["dcim.view-device"]}}}`,
		`{"users": {"ada": {"permissions": ["a.b.c"]}}}`, `{"users": {"ada": {"permissions": [1]}}}`,
		`{"users": {"ada": {"permissions": ["a.b", "a.b"]}}}`,
		`{"users": {"ada": {"constrained": {"a.b_c": [{"site": "ams"}, {"x": [1, null]}]}}}}`,
		`{"users": {"ada": {"constrained": {"a.b_c": []}}}}`,
		`{"users": {"ada": {"constrained": {"a.b_c": [{}]}}}}`,
		`{"users": {"ada": {"constrained": {"a.b_c": {"site": "ams"}}}}}`,
		`{"users": {"ada": {"constrained": {"a b": [{"site": "ams"}]}}}}`,
		`{"users": {"ada": {"exempt": {"dcim.device": ["view"], "billing": ["export"]}}}}`,
		`{"users": {"ada": {"exempt": {"*": ["view"], "dcim.site": ["*"]}}}}`,
		`{"users": {"ada": {"exempt": {"*": ["*"]}}}}`, `{"users": {"ada": {"exempt": {"a.b.c": []}}}}`,
		`{"users": {"ada": {"exempt": {"dcim.device": "view"}}}}`,
		`{"users": {"ada": {"exempt": {"dcim.device": ["view", "view"]}}}}`,
		`{"users": {"ada": {"exempt": {"dcim.device": ["view.x"]}}}}`,
		`{"users": {}, "exempt": {"dcim.site": ["view"]}, "actions": ["dcim.view_site"]}`,
		`{"users": {}, "exempt": ["dcim.site"]}`, `{"users": {}, "actions": ["dcim view"]}`,
		`{"users": {"a": {"groups": ["g"]}}, "groups": {"g": {"permissions": ["a.b"]}}}`,
		`{"users": {}, "groups": {"g": {"groups": ["g"]}}}`,
		`{"users": {}, "groups": {"g": {"active": true}}}`, `{"users": {}, "groups": {"g ": {}}}`,
	} {
		err, opened := valid(t, schema, text), opens(text)
		if (err == nil) != (opened == nil) {
			t.Errorf("%s: by the schema %v, by the source %v", text, err, opened)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < 10 {
		t.Errorf("%d files are accepted", accepted)
	}
	// Names of other parts of the file are beyond the schema.
	for _, text := range []string{
		`{"users": {"ada": {"groups": ["none"]}}}`,
		`{"users": {}, "actions": [], "exempt": {"a.b": ["c"]}}`,
		`{"users": {"ada": {"permissions": ["a.b"], "constrained": {"a.b": [{"c": 1}]}}}}`,
	} {
		if err, opened := valid(t, schema, text), opens(text); err != nil || opened == nil {
			t.Errorf("%s: by the schema %v, by the source %v", text, err, opened)
		}
	}
}

// TestSchemaOfBoundariesAcceptsWhatTheSourceAccepts holds both against each other.
func TestSchemaOfBoundariesAcceptsWhatTheSourceAccepts(t *testing.T) {
	schema := schemaNamed(t, "boundaries.json")
	texts := []string{`{"boundaries": []}`, `{}`, `[]`, `{"boundaries": {}}`, `{"boundaries": null}`,
		`{"boundaries": [], "users": {}}`, `{"boundaries": [1]}`}
	for _, entry := range []string{``, `"client": "a"`, `"issuer": "i"`, `"issuer": "", "client": "a"`,
		`"issuer": 1, "client": "a"`, `"issuer": "i", "client": ""`, `"issuer": "i", "client": null`,
		`"issuer": "i", "actor": "a"`, `"issuer": "i", "actor": ""`,
		`"issuer": "i", "actor": "a", "client": "a"`, `"issuer": "i", "actor": "a", "subject": "s"`,
		`"issuer": "i", "client": "*", "subject": "s"`, `"issuer": "i", "client": "a", "subject": "s"`,
		`"issuer": "i", "client": "a", "subject": ""`, `"issuer": "i", "client": "a", "scopes": []`} {
		texts = append(texts, `{"boundaries": [{`+entry+`}]}`)
	}
	for _, member := range []string{`"roles": null`, `"roles": []`, `"roles": "*"`, `"roles": ["*"]`,
		`"roles": "Viewer"`, `"roles": ["Viewer", "*"]`, `"roles": ["Viewer", "Admin"]`,
		`"roles": ["Viewer", "Viewer"]`, `"roles": [""]`, `"roles": [1]`, `"roles": {}`, `"items": null`,
		`"items": []`, `"items": "*"`, `"items": ["*"]`, `"items": "tool:a"`, `"items": ["tool:a", "*"]`,
		`"items": ["tool:a", "prompt:b", "resource:c://{d}", "skill:e", "catalog:f g"]`,
		`"items": ["tool:a b=c d", "tool:a b="]`, `"items": ["tool:a", "tool:a"]`, `"items": ["tool:"]`,
		`"items": ["tool: a"]`, `"items": ["tool:a "]`, `"items": ["tool:a b"]`, `"items": ["tool:a =b"]`,
		`"items": ["tool:a  b=c"]`, `"items": ["value:a"]`, `"items": ["a"]`, `"items": ["prompt: "]`,
		`"items": [1]`, `"readonly": true`, `"readonly": false`, `"readonly": null`, `"readonly": "true"`,
		`"until": "2027-06-30T00:00:00Z"`, `"until": "2027-06-30T00:00:00.5+02:00"`, `"until": null`,
		`"until": "2027-06-30"`, `"until": 1`} {
		texts = append(texts, `{"boundaries": [{"issuer": "i", "client": "a", `+member+`}]}`)
	}
	accepted := 0
	for _, text := range texts {
		_, opened := boundaries.OpenFS(fstest.MapFS{"b.json": {Data: []byte(text)}}, "b.json")
		err := valid(t, schema, text)
		if (err == nil) != (opened == nil) {
			t.Errorf("%s: by the schema %v, by the source %v", text, err, opened)
		}
		if err == nil {
			accepted++
		}
	}
	if accepted < 18 {
		t.Errorf("%d files are accepted", accepted)
	}
}

func TestPermissionsOfThePagesFitTheirSchema(t *testing.T) {
	schema := schemaNamed(t, "permissions.json")
	found := 0
	for _, b := range blocks(t) {
		if b.language != "yaml" || !strings.Contains(b.text, "\nusers:\n") {
			continue
		}
		var value any
		if err := yaml.Unmarshal([]byte(b.text), &value); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := valid(t, schema, string(text)); err != nil || opens(string(text)) != nil {
			t.Errorf("%s: %v, %v", b.page, err, opens(string(text)))
		}
		found++
	}
	if found == 0 {
		t.Error("no page has a file of permissions")
	}
}

// TestEditorSettingsNameSchemasThatExist reads the snippets of the page about editors.
func TestEditorSettingsNameSchemasThatExist(t *testing.T) {
	var named []string
	for _, b := range blocks(t) {
		if b.page != "editor" || b.language != "json" {
			continue
		}
		var settings struct {
			JSON []struct {
				FileMatch []string
				URL       string
			} `json:"json.schemas"`
			YAML map[string][]string `json:"yaml.schemas"`
		}
		if err := json.Unmarshal([]byte(b.text), &settings); err != nil {
			t.Errorf("%v\n%s", err, b.text)
		}
		for _, s := range settings.JSON {
			named = append(named, s.URL+" "+strings.Join(s.FileMatch, " "))
		}
		for url, match := range settings.YAML {
			named = append(named, url+" "+strings.Join(match, " "))
		}
	}
	want := []string{schemaHome + "boundaries.json boundaries.yaml",
		schemaHome + "manifest.json mcp.manifest.json",
		schemaHome + "permissions.json permissions.yaml"}
	slices.Sort(named)
	if !slices.Equal(named, want) {
		t.Errorf("the page names %q, want %q", named, want)
	}
	for _, name := range want {
		url, _, _ := strings.Cut(name, " ")
		schemaNamed(t, strings.TrimPrefix(url, schemaHome))
	}
}
