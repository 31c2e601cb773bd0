package systemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/generator"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/providers"
	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// inputSchema is the input schema of one tool.
type inputSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	except []string        // the providers that cannot use it
}

// notStrict are the tools of examples that a provider cannot use. The official conformance suite
// requires their keywords.
var notStrict = map[string][]string{
	"json_schema_2020_12_tool": {"openai", "anthropic"},
	"test_x_mcp_header":        {"openai", "gemini"},
}

// guardKeyword is the keyword of fields with rules, which clients do not get.
var guardKeyword = regexp.MustCompile(`,"` + model.GuardKey + `":"[^"]*"`)

// TestProvidersUseTheToolsOfTheExamples compares the verdicts of package providers with those of
// the providers' own libraries: on the tools of the examples, and on a list of schemas.
func TestProvidersUseTheToolsOfTheExamples(t *testing.T) {
	tools := slices.Concat(exampleTools(t), adoptedTools(t), listedSchemas(t))
	for _, verdict := range libraryVerdicts(t, tools) {
		i := slices.IndexFunc(tools, func(s inputSchema) bool { return s.Name == verdict["name"] })
		tool := tools[i]
		if verdict["mcpToTool"] != "" {
			t.Errorf("%s: mcpToTool: %s", tool.Name, verdict["mcpToTool"])
		}
		for _, provider := range providers.Names() {
			problems, err := providers.Check(provider, tool.Name, tool.Schema)
			if err != nil {
				t.Fatal(err)
			}
			if provider == "gemini" { // its library has no rule of the API
				problems = slices.DeleteFunc(problems, func(p providers.Problem) bool {
					return p.Rule != nil
				})
			}
			usable := !slices.Contains(tool.except, provider)
			if reason := verdict[provider]; (reason == "") != usable {
				t.Errorf("%s: the library of %s: %q, want usable %t", tool.Name, provider, reason, usable)
			}
			if (len(problems) == 0) != usable {
				t.Errorf("%s: mcpgen about %s: %q, want usable %t", tool.Name, provider, problems, usable)
			}
		}
	}
}

// exampleTools are the tools of the examples, and those that the server adds for permissions.
func exampleTools(t *testing.T) (tools []inputSchema) {
	t.Helper()
	result, err := generator.Run(t.Context(), generator.Options{Dir: testrepo.Root(t),
		Patterns: []string{"./examples/...", "./examples/inventory/...", "./examples/team/...",
			"./examples/workspace/...", "./runtime/grant/permissionrequest"}, Schemas: true})
	if err != nil || len(result.Diagnostics) > 0 {
		t.Fatal(err, result.Diagnostics)
	}
	for _, service := range result.Services {
		for _, tool := range service.Tools {
			schema := []byte(tool.Input.Written)
			if tool.Input.Written == "" {
				if schema, err = json.Marshal(tool.Input.Schema); err != nil {
					t.Fatal(err)
				}
			}
			schema = guardKeyword.ReplaceAll(schema, nil)
			tools = append(tools, inputSchema{tool.Name, schema, notStrict[tool.Name]})
		}
	}
	return tools
}

// adoptedTools has the tools of examples/adopt, whose schema go-sdk makes of struct{}.
func adoptedTools(t *testing.T) (tools []inputSchema) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "tracker"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "count_issues"}, func(context.Context,
		*mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	client, over := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), over, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(),
		client, nil)
	if err != nil {
		t.Fatal(err)
	}
	for tool, err := range session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, inputSchema{Name: tool.Name, Schema: schema})
	}
	return tools
}

// listedSchemas reads testdata/providers/schemas.txt.
func listedSchemas(t *testing.T) (tools []inputSchema) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "providers", "schemas.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	for pair := range slices.Chunk(lines, 2) {
		words := strings.Fields(pair[0])
		tools = append(tools, inputSchema{"listed_" + words[0], json.RawMessage(pair[1]), words[1:]})
	}
	return tools
}

// libraryVerdicts runs verdicts.mjs with the libraries that make npm installs.
func libraryVerdicts(t *testing.T, tools []inputSchema) (verdicts []map[string]string) {
	t.Helper()
	modules, node := testdb.Npm(t, "")
	list, err := json.Marshal(tools)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node,
		filepath.Join("testdata", "providers", "verdicts.mjs"), modules)
	cmd.Stdin = bytes.NewReader(list)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &verdicts); err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != len(tools) {
		t.Fatalf("%d verdicts about %d tools", len(verdicts), len(tools))
	}
	return verdicts
}
