package scan_test

import (
	"reflect"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
)

const permissionsSource = `// Package permissions has permissions and limits.
//
//mcp:default minrole=Viewer
package permissions

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

//mcp:tool
//mcp:allow file.write={source_path}:*.txt queue.push={queue}:mail-*
//mcp:allow system.command={argv} file.read={source_path}
//mcp:limit timeout=5s output=64KiB concurrency=2 rate=100/m capabilities=network,exec,files
func Plain(ctx context.Context, queue string, sourcePath grant.Path, argv grant.Argv) error {
	_, err := grant.File(ctx, "source_path")
	return err
}

type Base struct{ Host string }

type In struct {
	Base
	Argv []string
}

//mcp:tool
//mcp:allow net.connect={Host} system.command={Argv}
func Fields(ctx context.Context, in *In) error { return nil }

type Press struct{}

//mcp:worker
func NewPress(ctx context.Context) (*Press, error) { return nil, nil }

//mcp:tool
//mcp:limit isolate=process
func (*Press) Render(ctx context.Context) error { return nil }

type Ink struct{}

//mcp:worker
func NewInk() Ink { return Ink{} }

//mcp:tool
//mcp:limit isolate=process memory=1GiB
func (Ink) Fill(ctx context.Context) error { return nil }

//mcp:tool
//mcp:limit nonblocking output=1KiB
func (Ink) Sell(ctx context.Context) error { return nil }
`

func TestPermissionsAndLimitsAreRead(t *testing.T) {
	services, findings := scan.Services(loadtest.Load(t, []txtar.File{{Name: "permissions/permissions.go", Data: []byte(permissionsSource)}}))
	if len(findings) > 0 || len(services) != 1 {
		t.Fatal(findings)
	}
	s := services[0]
	tools := map[string]model.Tool{}
	for _, tool := range s.Tools {
		for i := range tool.Allows {
			tool.Allows[i].Pos = model.Position{}
		}
		tools[tool.Name] = tool
	}
	path := func(names ...string) (list []model.Selector) {
		for _, name := range names {
			list = append(list, model.Selector{Name: name})
		}
		return list
	}
	for _, tc := range []struct {
		what      string
		got, want any
	}{
		{"permissions of plain parameters", tools["plain"].Allows, []model.Allow{
			{Argument: "argv", Kinds: []string{"system.command"}, Path: path("Argv"), List: true},
			{Argument: "queue", Kinds: []string{"queue.push"}, Path: path("Queue"), Plain: true,
				Within: map[string]string{"queue.push": "mail-*"}},
			{Argument: "source_path", Kinds: []string{"file.read", "file.write"}, Path: path("SourcePath"),
				Within: map[string]string{"file.write": "**/*.txt"}},
		}},
		{"permissions as they are listed", tools["plain"].Permissions(), []string{
			"file.read={source_path}", "file.write={source_path}:**/*.txt", "queue.push={queue}:mail-*",
			"system.command={argv}",
		}},
		{"permissions of fields", tools["fields"].Allows, []model.Allow{
			{Argument: "Argv", Kinds: []string{"system.command"}, Path: path("Argv"), List: true, Plain: true},
			{Argument: "Host", Kinds: []string{"net.connect"}, Path: path("Base", "Host"), Plain: true},
		}},
		{"limits", tools["plain"].Limits, model.Limits{
			Timeout: 5 * time.Second, Output: 64 * model.KiB, Concurrency: 2, Rate: model.Rate{Calls: 100, Per: time.Minute},
			Capabilities: []string{"exec", "files", "network"},
		}},
		{"limits where none are written", tools["fields"].Limits, model.Limits{Timeout: 30 * time.Second}},
		{"limits of a process", tools["render"].Limits, model.Limits{Timeout: 30 * time.Second, Memory: 512 * model.MiB, Isolate: "process"}},
		{"memory of a process", tools["fill"].Limits.Memory, model.GiB},
		{"limits of a handler that only computes", tools["sell"].Limits,
			model.Limits{NonBlocking: true, Output: model.KiB}},
		{"a worker", tools["render"].Worker, &model.Worker{Name: "NewPress", Context: true, Error: true}},
		{"a plain worker", tools["fill"].Worker, &model.Worker{Name: "NewInk"}},
		{"no worker for what runs here", tools["sell"].Worker, (*model.Worker)(nil)},
		{"receivers of the server", s.Receivers, []model.Receiver{{Type: "Ink", Param: "ink"}}},
		{"what the generated test watches", s.HashInputs.Decls["."], []string{
			"Base", "Fields", "In", "Ink.Fill", "Ink.Sell", "NewInk", "NewPress", "Plain", "Press.Render",
		}},
	} {
		if !reflect.DeepEqual(tc.got, tc.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", tc.what, tc.got, tc.want)
		}
	}
}
