package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A subject is a kind of name that a message may contain. Each subject has rows of its own.
type subject struct {
	name           string
	method, params string // NAME is the name
	header         string // Mcp-Name in 2026-07-28; empty for none
	// No hidden name ends in a hexadecimal digit: the masker would read its unknown names apart.
	hidden     []string
	letter     int                    // the position of the letter that differs; 0 for the last one
	refusal    string                 // a part of each response
	everywhere bool                   // it has rows of TCP and stdio too
	version    string                 // empty for both
	pairs      int                    // the most; 0 for any number
	options    func(*runtime.Options) // of a server of its own; nil for the common server
}

// unknown returns a hidden name with another letter.
func (s subject) unknown(hidden, letter string) string {
	at := s.letter
	if at == 0 {
		at = len(hidden) - 1
	}
	return hidden[:at] + letter + hidden[at+1:]
}

func (s subject) body(version, name string) string {
	return body(version, s.method, strings.ReplaceAll(s.params, "NAME", name))
}

// Hidden tools, whose handlers and schemas are of all kinds, and other hidden things.
var (
	tools = []string{"read_salaries", "drop_customers", "open_document", "route_packets",
		"plan_everything"}
	adopted               = "adopted_routing"
	prompts               = []string{"plan_layoffs"}
	exact, template, long = "staff://all/salaries", "staff://{name}/salary", "archive://hr/{name}"
	// Of each of these, the first call is measured. The SDK of metrics keeps 2,000 series.
	first = names("first_%04ds", firstPairs+warmup*block)
)

const firstPairs = 1200

func names(format string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf(format, i))
	}
	return all
}

// subjects are all subjects whose names are in messages, those of exceptions last.
func subjects(task string) []subject {
	tool := subject{name: "tool", method: "tools/call",
		params: `"name":"NAME","arguments":{"id":"ada"}`, header: "NAME", hidden: tools,
		refusal: "unknown tool"}
	resource := subject{name: "resource", method: "resources/read", params: `"uri":"NAME"`,
		header: "NAME", hidden: []string{exact}, refusal: "Resource not found"}
	prompt := subject{name: "prompt", method: "prompts/get",
		params: `"name":"NAME","arguments":{"id":"ada"}`, header: "NAME", hidden: prompts,
		refusal: "unknown prompt"}
	completion := subject{name: "completion of a prompt", method: "completion/complete",
		params: `"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"id","value":"a"}`,
		hidden: prompts, refusal: "unknown prompt"}
	with := func(s subject, change func(*subject)) subject {
		change(&s)
		return s
	}
	optional := func(s subject, name string, options func(*runtime.Options)) subject {
		s.name += name
		s.options = options
		return s
	}
	everywhere := func(s *subject) { s.everywhere = true }
	return []subject{
		with(tool, everywhere), with(resource, everywhere),
		with(resource, func(s *subject) {
			s.name, s.hidden = "URI of a template", []string{"staff://ada/salary"}
		}),
		prompt, completion,
		with(completion, func(s *subject) {
			s.name, s.hidden = "completion of a template", []string{template}
			s.params = `"ref":{"type":"ref/resource","uri":"NAME"},` +
				`"argument":{"name":"name","value":"a"}`
			s.refusal = "Resource not found"
		}),
		{name: "value of an argument", method: "tools/call",
			params: `"name":"manage","arguments":{"verb":"NAME"}`, header: "manage",
			hidden: []string{"purges"}, refusal: "is not"},
		{name: "task of another caller", method: "tasks/get", params: `"taskId":"NAME"`,
			header: "NAME", hidden: []string{task}, refusal: "unknown task",
			version: modern},
		with(tool, func(s *subject) {
			s.name, s.hidden = "adopted tool with a large schema", []string{adopted}
		}),
		optional(tool, ", identity with a value", valued),
		optional(prompt, ", identity with a value", valued),
		optional(completion, ", identity with a value", valued),

		optional(resource, ", no log", func(o *runtime.Options) {
			o.Logger = slog.New(slog.DiscardHandler)
		}),
		optional(tool, ", log at debug level", func(o *runtime.Options) {
			o.Logger = slog.New(slog.NewTextHandler(io.Discard,
				&slog.HandlerOptions{Level: slog.LevelDebug}))
		}),
		with(resource, func(s *subject) {
			s.name = "URI of 7 kB of an adopted template"
			s.hidden = []string{strings.Replace(long, "{name}", strings.Repeat("s", 7000), 1)}
			s.letter = strings.Index(long, "r/")
		}),
		optional(tool, ", with telemetry", observed),
		with(tool, func(s *subject) {
			s.name, s.hidden, s.options = "tool, its first call with telemetry", first, observed
			s.version, s.pairs = modern, firstPairs
		}),
	}
}

func valued(o *runtime.Options) {
	o.Identity = identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: principals[token]}, nil
	}, identity.KeepToken())
}

func observed(o *runtime.Options) {
	never := sdktrace.WithSampler(sdktrace.NeverSample())
	reader := sdkmetric.WithReader(sdkmetric.NewManualReader())
	observer, err := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(never),
		MeterProvider:  sdkmetric.NewMeterProvider(reader),
	})
	if err != nil {
		panic(err) // of instruments with constant names
	}
	o.Observe.Observer = observer
}

// decided is the subject of the decision alone, without a message.
var decided = subject{name: "decision alone", hidden: tools}

// decides calls the table of a server 100 times.
func decides(table access.Table) caller {
	return func(name string) (time.Duration, []byte, error) {
		began := time.Now()
		for range 100 {
			if table.Decide(principals["viewer"], name).Allowed {
				return 0, nil, fmt.Errorf("%s is allowed", name)
			}
		}
		return time.Since(began) / 100, nil, nil
	}
}

var taskID = regexp.MustCompile(`"taskId":"([a-z2-7]+)"`)

// newTask returns the id of a task of another caller, which does not end in a hexadecimal digit.
func newTask(server *runtime.Server, url string) (string, error) {
	call, err := overHTTP(inProcess(server.Handler()), url, modern, "admin", subject{
		method: "tools/call", params: `"name":"NAME"`, header: "NAME"})
	if err != nil {
		return "", err
	}
	for {
		_, text, err := call("visible")
		if err != nil {
			return "", err
		}
		id := taskID.FindSubmatch(text)
		if id == nil {
			return "", fmt.Errorf("the call made no task: %s", text)
		}
		if last := id[1][len(id[1])-1:]; bytes.ContainsAny(last, "ghijklmnoprstuvwyz") {
			return string(id[1]), nil
		}
	}
}

var principals = map[string]access.Principal{
	"viewer": {Issuer: "test", Subject: "viewer", Roles: []string{"Viewer"}},
	"admin":  {Issuer: "test", Subject: "admin", Roles: []string{"Admin"}},
}

// newServer makes a server that records and logs each refusal, as servers do by default. Only
// admins may use its hidden things. hidden contains further hidden tools.
func newServer(folder string, change func(*runtime.Options), hidden []string) (*runtime.Server,
	error) {
	folders, err := grant.OpenRoots(map[string]string{"docs": folder})
	if err != nil {
		return nil, err
	}
	options := runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("viewer"): principals["viewer"],
			identity.HashToken("admin"):  principals["admin"]}),
		Grants: runtime.GrantOptions{
			Roots: folders,
			Defaults: []grant.Permission{
				{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true}},
		},
		Audit: runtime.AuditOptions{
			Sink: audit.SinkFunc(func(context.Context, audit.Event) error { return nil })},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	if change != nil {
		change(&options)
	}
	set := toolset.Generated{Package: "example.com/timing",
		Server: toolset.ServerInfo{Name: "timing", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}, Tools: newTools()}
	for _, name := range hidden {
		if !slices.ContainsFunc(set.Tools, func(t toolset.Tool) bool { return t.Name == name }) {
			set.Tools = append(set.Tools, toolset.Tool{Name: name, Input: `{"type":"object"}`,
				Call: set.Tools[0].Call})
		}
	}
	slices.SortFunc(set.Tools, func(a, b toolset.Tool) int {
		return strings.Compare(a.Name, b.Name)
	})
	lowest, highest := []string{access.Lowest}, []string{access.Highest}
	for _, t := range set.Tools {
		rule := access.Rule{Tool: t.Name, MinRole: highest}
		if t.Name == "visible" || t.Name == "manage" {
			rule.MinRole = lowest
		}
		set.Table.Rules = append(set.Table.Rules, rule)
	}
	for i, verb := range verbs { // the last one is hidden
		set.Table.Values = append(set.Table.Values, access.Rule{Tool: "manage", Argument: "verb",
			Value: verb, MinRole: [][]string{lowest, highest}[i]})
	}
	set.Prompts = []toolset.Prompt{{Name: prompts[0],
		Arguments: []toolset.Argument{{Name: "id", Values: []string{"ada"}}},
		Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
			return toolset.PromptText("a plan", nil)
		}}}
	set.Table.Prompts = []access.Rule{{Prompt: prompts[0], MinRole: highest}}
	for _, r := range []toolset.Resource{{URI: exact}, {URI: template,
		Variables: []toolset.Variable{{Name: "name", Values: []string{"ada"}}}}} {
		r.Name = r.URI
		r.Read = func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("100", nil)
		}
		set.Resources = append(set.Resources, r)
		set.Table.Resources = append(set.Table.Resources,
			access.Rule{Resource: r.URI, MinRole: highest})
	}
	old := mcp.NewServer(&mcp.Implementation{Name: "timing", Version: "1"}, nil)
	old.AddTool(&mcp.Tool{Name: adopted, InputSchema: json.RawMessage(strings.Replace(
		bigSchema(900), `"property_0":{`, `"property_0":{"x-mcp-header":"Zero",`, 1))},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	old.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: long, Name: "archive"},
		func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
	return runtime.Adopt(old, options, map[string]access.Rule{adopted: {MinRole: highest},
		"archive": {Resource: long, MinRole: highest}}, toolset.NewToolset(set))
}

var verbs = []string{"list", "purges"}

func newTools() []toolset.Tool {
	call := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]string{"a": "b"}, nil)
	}
	return []toolset.Tool{
		{Name: tools[0], Input: `{"type":"object"}`, Output: `{"type":"object"}`, Call: call},
		{Name: tools[1], SDK: true, Input: `{"type":"object"}`,
			Call: func(_ context.Context, call toolset.Call) (toolset.Result, error) {
				text := &mcp.TextContent{Text: toolset.Request[mcp.CallToolRequest](
					call).Params.Name}
				return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil)
			}},
		{Name: tools[2], Input: `{"type":"object","properties":{"id":{"type":"string"}}}`,
			Allow: []toolset.Allow{{Kind: grant.FileRead, Argument: "id"}},
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				named := toolset.Named{Argument: "id", Kinds: []string{grant.FileRead},
					Values: []string{"docs/a"}}
				_, err := call.Allow(ctx, named)
				return toolset.Done(err)
			}},
		{Name: tools[3],
			Input: `{"type":"object","properties":{"id":{"type":"string","x-mcp-header":"Id"}}}`,
			Call:  call},
		{Name: tools[4], Input: bigSchema(200), Call: call},
		{Name: "visible", Input: `{"type":"object"}`, Task: toolset.TaskOptional, Call: call},
		{Name: "manage", Input: `{"type":"object","properties":{"verb":{"type":"string",` +
			`"enum":["list","purges"]}},"required":["verb"],"additionalProperties":false}`,
			Handle: func(_ context.Context, r *decode.Reader) (any, error) {
				var verb string
				for o := r.Object(1, "verb"); o.Next(); {
					decode.String(r, &verb).OneOf(verbs...)
				}
				return verb, r.Finish()
			}},
	}
}

// bigSchema returns a schema of about 110 bytes a property.
func bigSchema(properties int) string {
	all := map[string]any{}
	for i := range properties {
		all[fmt.Sprintf("property_%d", i)] = map[string]any{
			"type": "string", "description": strings.Repeat("x", 80)}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": all})
	if err != nil {
		panic(err) // of strings
	}
	return string(text)
}
