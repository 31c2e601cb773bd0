// Package toolset is the contract between generated code and package runtime.
//
// mcpgen writes one function Toolset for each package that has handlers. The function returns a
// [Toolset], which runtime.New takes. Code that is not generated does not need this package, except
// tests of a server, and tools that read what a server serves.
//
// The package imports go-sdk's value types, runtime/access and runtime/grant only, because each
// generated package links it.
package toolset

import (
	"context"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Contract2_RunGoGenerate names the version of this contract. Generated code refers to it. If the
// versions differ, the compiler reports the constant as undefined. Its name tells you what to do:
// run go generate.
const Contract2_RunGoGenerate = 2

// Generated describes one package. mcpgen writes it.
type Generated struct {
	Package   string // import path
	Server    ServerInfo
	Table     access.Table
	Receivers []any // the arguments of the function Toolset; none may be nil
	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
}

// ServerInfo is the name of the server, as clients see it.
type ServerInfo struct {
	Name, Title, Version string
}

// Toolset is everything that one package serves. Its rules cannot be edited at run time.
type Toolset struct {
	generated Generated
}

// NewToolset makes a Toolset. Generated code calls it.
func NewToolset(g Generated) Toolset { return Toolset{generated: g} }

// Generated returns the description of the package. The server reads it.
//
// The table is a deep copy: a caller that changes its rules changes no other copy.
func (t Toolset) Generated() Generated {
	g := t.generated
	g.Table.Roles = slices.Clone(g.Table.Roles)
	g.Table.Rules = cloneRules(g.Table.Rules)
	g.Table.Prompts = cloneRules(g.Table.Prompts)
	g.Table.Resources = cloneRules(g.Table.Resources)
	return g
}

// cloneRules returns a deep copy. It keeps the difference between nil and empty.
func cloneRules(rules []access.Rule) []access.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Scopes = slices.Clone(rules[i].Scopes)
	}
	return rules
}

// Tool is one tool: its listing and its handler. The handler is Answer if that is set, and Call
// otherwise.
type Tool struct {
	Name, Title, Description string
	Input                    string // JSON Schema of the arguments, an object
	Output                   string // JSON Schema of the structured content; empty for none
	Annotations              *mcp.ToolAnnotations
	Timeout                  time.Duration
	Catalogs                 []string // the global catalogs that the source code puts the tool into
	Allow                    []Allow  // the permissions that a call needs on its arguments
	Limits                   Limits

	// SDK reports that the handler has go-sdk's signature. It gets a session of go-sdk's.
	SDK bool

	// Isolate is the name of the handler that package sandbox runs for each call, in a process of
	// its own. It is empty if the handler runs in the server's process.
	Isolate string

	Answer Answerer
	Call   func(context.Context, Call) (Result, error)
}

// Answerer is the handler of a tool. Generated code declares one type for each handler signature;
// its values are the handlers:
//
//	type answerBooking func(context.Context, Booking) (Receipt, error)
//
// Tools with the same signature share one method, and the rows that name them are static data. A
// closure for each tool, or a call that makes one, dominates the compile time of a large package. A
// generic function is not cheaper, because the compiler instantiates it in each package.
type Answerer interface {
	Answer(ctx context.Context, call Call) (Result, error)
}

// Result is the result of a tool's handler. Generated code writes it with one of the constructors;
// the server reads it.
type Result struct {
	SDK    bool                // the handler has go-sdk's signature
	Native *mcp.CallToolResult // the result of such a handler; nil if it returned none
	Out    any                 // the structured content
	HasOut bool                // Out is set, possibly to nil
	// Wrapped makes the server send Out as {"result": Out}. It is set if Out is not a JSON object.
	Wrapped bool
}

// Structured returns a result whose structured content is a JSON object.
//
// It is not inlined: a copy in the closure of each tool slows down the compiler noticeably.
//
//go:noinline
func Structured(out any, err error) (Result, error) {
	return Result{Out: out, HasOut: true}, err
}

// Wrapped returns a result whose structured content is not a JSON object. The server sends it as
// {"result": …}.
//
//go:noinline
func Wrapped(out any, err error) (Result, error) {
	return Result{Out: out, HasOut: true, Wrapped: true}, err
}

// Done returns the result of a handler that returns an error only.
func Done(err error) (Result, error) { return Result{}, err }

// Native returns the result of a handler that has go-sdk's signature.
//
//go:noinline
func Native(res *mcp.CallToolResult, out any, err error) (Result, error) {
	return Result{SDK: true, Native: res, Out: out, HasOut: out != nil}, err
}

// NativeWrapped is like [Native], for an output that is not a JSON object. The server sends it as
// {"result": …}.
//
//go:noinline
func NativeWrapped(res *mcp.CallToolResult, out any, err error) (Result, error) {
	return Result{SDK: true, Native: res, Out: out, HasOut: true, Wrapped: true}, err
}
