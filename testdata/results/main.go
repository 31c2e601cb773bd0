// Command results serves tools whose results are no objects, to the clients of testdata/clients:
// those of a toolset, or with -adopt those of a go-sdk server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {
	adopt := flag.Bool("adopt", false, "serve the tools of a go-sdk server")
	flag.Parse()
	serve := serveToolset
	if *adopt {
		serve = serveAdopted
	}
	server, err := serve(runtime.Options{Anonymous: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(runtime.ListenAndServe(context.Background(), "127.0.0.1:0", server,
		runtime.OnListen(func(url string) { fmt.Println("serving", url) })))
}

type person struct {
	Name string `json:"name"`
}

const (
	input  = `{"type":"object"}`
	object = `"properties":{"name":{"type":"string"}},"required":["name"]`
	orNull = `{"anyOf":[{"type":"object",` + object + `},{"type":"null"}]}`
)

func serveToolset(options runtime.Options) (*runtime.Server, error) {
	g := toolset.Generated{Package: "results", Server: toolset.ServerInfo{Name: "results"}}
	g.Table.Roles = access.DefaultRoles()
	add := func(name, output string, result func(out any) (toolset.Result, error), out any) {
		g.Tools = append(g.Tools, toolset.Tool{Name: name, Input: input, Output: output,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) { return result(out) }})
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: name, Public: true})
	}
	plain := func(out any) (toolset.Result, error) { return toolset.Structured(out, nil) }
	native := func(out any) (toolset.Result, error) { return toolset.Native(nil, out, nil) }
	add("list", `{"type":"array","items":{"type":"string"}}`, plain, []string{"a"})
	add("text", `{"type":"string"}`, plain, "a")
	add("number", `{"type":"number"}`, plain, 1.5)
	add("anything", `{}`, plain, person{"a"})
	add("pointer", orNull, plain, &person{"a"})
	add("nil_pointer", orNull, plain, (*person)(nil))
	add("native_list", `{"type":"array","items":{"type":"string"}}`, native, []string{"a"})
	add("types_by_hand", `{"type":["array","null"]}`, plain, nil)
	return runtime.New(options, toolset.NewToolset(g))
}

func serveAdopted(options runtime.Options) (*runtime.Server, error) {
	own, rules := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil),
		map[string]access.Rule{"slice": {Public: true}}
	mcp.AddTool(own, &mcp.Tool{Name: "slice"}, // its schema has the types null and array
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, []string, error) {
			return nil, []string{"a"}, nil
		})
	add := func(name, output, content string) {
		tool := &mcp.Tool{Name: name, InputSchema: json.RawMessage(input)}
		if output != "" {
			tool.OutputSchema = json.RawMessage(output)
		}
		own.AddTool(tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(content),
				Content: []mcp.Content{&mcp.TextContent{Text: "own text"}}}, nil
		})
		rules[name] = access.Rule{Public: true}
	}
	add("object_or_null", `{"type":["object","null"],`+object+`}`, `{"name":"a"}`)
	add("null_of_object", `{"type":["object","null"],`+object+`}`, `null`)
	add("untyped", `{}`, `[1]`)
	add("without_schema", ``, `[1]`)
	return runtime.Adopt(own, options, rules)
}
