// Package runtime serves generated toolsets over MCP: it shows each caller the tools, prompts and
// resources that the compiled table allows and enforces the same table on every call.
package runtime

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Contract1_RunGoGenerate is named by generated code, so that code generated for another
// runtime does not compile and the compiler's message says what to run.
const Contract1_RunGoGenerate = 1

// Generated is what generated code says of one package. It is written by mcpgen, not by hand.
type Generated struct {
	Package   string // import path
	Server    ServerInfo
	Table     access.Table
	Receivers []any // the arguments of Toolset: none may be nil
	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
}

// ServerInfo names the server to clients.
type ServerInfo struct {
	Name, Title, Version string
}

// Tool is one generated tool: what clients see of it and what answers its calls, which is Answer
// where there is one and Call otherwise.
type Tool struct {
	Name, Title, Description string
	Input                    string // JSON Schema of the arguments, an object
	Output                   string // JSON Schema of the structured content; empty for none
	Annotations              *mcp.ToolAnnotations
	Timeout                  time.Duration
	Catalogs                 []string // the global catalogs that code puts it into
	Allow                    []Allow  // the permissions that a call needs on what its arguments name
	Limits                   Limits
	Isolate                  string // the handler of package sandbox that runs its calls, each in a process of its own; empty runs them here
	Answer                   Answerer
	Call                     func(context.Context, Call) (Result, error)
}

// Call is one decided call on its way to a handler.
type Call struct {
	Arguments json.RawMessage // the arguments object; {} where the client sent none
	run       any             // the *toolRun, nil outside of a server; any, for the reason told at Request
}

// Request is the request of a call, for tools of go-sdk's own shape. It carries no token.
//
// It is neither a field nor a method of Call. Its type is an instance of a generic one, whose methods are compiled
// anew in every package that reaches it, with those of all instances that it reaches in turn: hundreds
// of funcs. So only packages with such a tool pay for them.
func Request(call Call) *mcp.CallToolRequest {
	r, ok := call.run.(*toolRun)
	if !ok {
		return nil
	}
	return &r.req
}

// Toolset is what one package serves. Its rules cannot be edited at run time.
type Toolset struct {
	generated Generated
}

// NewToolset is called by generated code.
func NewToolset(g Generated) Toolset { return Toolset{generated: g} }

// Result is what a handler answered.
type Result struct {
	sdk     bool // from a handler of go-sdk's own shape
	native  *mcp.CallToolResult
	out     any
	hasOut  bool
	wrapped bool
}

// Structured returns a result that is a JSON object.
//
// It is not inlined: a copy in the closure of every tool is a good part of what generated code takes to compile.
//
//go:noinline
func Structured(out any, err error) (Result, error) {
	return Result{out: out, hasOut: true}, err
}

// Wrapped returns any other result as {"result": …}.
//
//go:noinline
func Wrapped(out any, err error) (Result, error) {
	return Result{out: out, hasOut: true, wrapped: true}, err
}

// Done returns the result of a handler that answers with an error alone.
func Done(err error) (Result, error) { return Result{}, err }

// Native returns the result of a handler of go-sdk's own shape.
//
//go:noinline
func Native(res *mcp.CallToolResult, out any, err error) (Result, error) {
	return Result{sdk: true, native: res, out: out, hasOut: out != nil}, err
}

// NativeWrapped is Native for a handler whose output is no JSON object: it is sent as {"result": …}.
//
//go:noinline
func NativeWrapped(res *mcp.CallToolResult, out any, err error) (Result, error) {
	return Result{sdk: true, native: res, out: out, hasOut: true, wrapped: true}, err
}
