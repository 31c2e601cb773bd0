package emit

import (
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// permissions has permissions, limits and processes of every kind.
func permissions() testCase {
	const half = 30 * time.Second
	pair := model.Codec{Kind: model.ObjectCodec, Type: here("Pair"), Name: "example.com/permissions.Pair"}
	text := func(typ string) model.Codec { return model.Codec{Kind: model.StringCodec, Type: here(typ)} }
	words := text("string")
	ends := func(field string) []model.Selector { return []model.Selector{{Name: "Ends"}, {Name: field}} }
	argv := []model.Selector{{Name: "Argv"}}
	schema := schemaOf(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"},"note":{"type":"string"}},"required":["from","to","note"],"additionalProperties":false}`)
	in := model.Input{Kind: model.StructInput, Type: here("Pair"), Name: "pair", Codec: &pair, Schema: schema}
	access := model.Access{Authenticated: true}
	return testCase{
		name: "permissions",
		service: model.Service{
			Package: "example.com/permissions", Name: "permissions", Module: "example.com",
			Server: model.Server{Name: "permissions"},
			Roles:  model.Roles{Chains: [][]string{{"Viewer", "Member", "Manager", "Admin"}}},
			Tools: []model.Tool{
				{
					Name: "copy", Const: "ToolCopy", Handler: model.Handler{Name: "Copy"}, Description: "Copy copies a file.", Access: access,
					Allows: []model.Allow{
						{Argument: "from", Kinds: []string{"file.read"}, Path: ends("From"), Plain: true},
						{Argument: "to", Kinds: []string{"file.write"}, Path: ends("To"),
							Within: map[string]string{"file.write": "**/*.txt"}},
					},
					Limits: model.Limits{
						Timeout: half, Output: model.KiB, Concurrency: 2, Rate: model.Rate{Calls: 100, Per: time.Minute},
						Capabilities: []string{"files", "network"},
					},
					Input: in,
				},
				{
					Name: "do", Const: "ToolDo", Handler: model.Handler{Name: "Do", Recv: "Job", PointerRecv: true}, Description: "Do does it.", Access: access,
					Limits: model.Limits{Timeout: half, Isolate: "process", Memory: 512 * model.MiB, Capabilities: []string{"exec", "files", "network"}},
					Worker: &model.Worker{Name: "NewJob", Context: true, Error: true},
					Input:  in, Output: model.Output{Kind: model.ObjectOutput, Type: here("Pair"), Name: "pair", Schema: schema},
				},
				{
					Name: "nap", Const: "ToolNap", Handler: model.Handler{Name: "Nap"}, Description: "Nap sleeps.", Access: access,
					Limits: model.Limits{Timeout: half, Isolate: "process", Memory: 512 * model.MiB, Output: 1536 * model.KiB, Rate: model.Rate{Calls: 3, Per: time.Second}},
					Output: model.Output{Kind: model.ValueOutput, Type: here("string"), Name: "string",
						Schema: schemaOf(`{"type":"string"}`)},
				},
				{
					Name: "run", Const: "ToolRun", Handler: model.Handler{Name: "Run"}, Description: "Run starts a program.", Access: access,
					Allows: []model.Allow{{Argument: "argv", Kinds: []string{"system.command"}, Path: argv, List: true, Plain: true}},
					Limits: model.Limits{
						Timeout: half, Isolate: "process", Memory: model.GiB, Rate: model.Rate{Calls: 1, Per: time.Hour}, Capabilities: []string{"none"},
					},
					Input: model.Input{
						Kind: model.PlainInput, Name: "runInput",
						Params: []model.Param{{Name: "argv", Go: "argv", Field: "Argv", Type: here("[]string"), Required: true}},
						Codec:  &model.Codec{Kind: model.ObjectCodec, Type: here("runInput"), Name: "runInput"},
						Schema: schemaOf(`{"type":"object","properties":{"argv":{"type":"array","items":{"type":"string"}}},"required":["argv"],"additionalProperties":false}`),
					},
				},
				{
					Name: "show", Const: "ToolShow", Handler: model.Handler{Name: "Show", Recv: "Job", PointerRecv: true}, Description: "Show shows it.",
					Access: access, Limits: model.Limits{Timeout: half},
				},
				{
					Name: "sit", Const: "ToolSit", Handler: model.Handler{Name: "Sit", Recv: "Desk", PointerRecv: true}, Description: "Sit sits.",
					Access: access, Limits: model.Limits{Timeout: half, Isolate: "process", Memory: 512 * model.MiB},
					Worker: &model.Worker{Name: "NewDesk"},
				},
			},
			Receivers: []model.Receiver{{Type: "Job", Pointer: true, Param: "j"}},
			Objects: []model.Object{
				{Name: "example.com/permissions.Pair", Type: here("Pair"), Fields: []model.ObjectField{
					{Name: "from", Path: ends("From"), Required: true, Codec: words},
					{Name: "to", Path: ends("To"), Required: true, Codec: text("Path")},
					{Name: "note", Path: []model.Selector{{Name: "Note"}}, Required: true, Codec: words},
				}},
				{Name: "runInput", Type: here("runInput"), Fields: []model.ObjectField{
					{Name: "argv", Path: argv, Required: true, Codec: model.Codec{Kind: model.ListCodec, Type: here("[]string"), Elem: &words}},
				}},
			},
			Scope:   []string{"Copy", "Desk", "Ends", "Job", "Nap", "NewDesk", "NewJob", "Pair", "Path", "Run", "job", "sandbox"},
			Imports: imports("context"),
			HashInputs: model.HashInputs{Decls: map[string][]string{
				".": {"Copy", "Desk.Sit", "Ends", "Job.Do", "Job.Show", "Nap", "NewDesk", "NewJob", "Pair", "Path", "Run"},
			}},
		},
		facts: facts{
			handlers: []string{"Copy", "Job.Do", "Nap", "Run", "Job.Show", "Desk.Sit", "NewDesk", "NewJob"},
			types:    []string{"Pair", "Ends", "Path"},
		},
	}
}
