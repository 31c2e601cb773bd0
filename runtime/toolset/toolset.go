// Package toolset is the contract between generated code and package runtime.
//
// mcpgen writes one function Toolset for each package that has handlers. The function returns a
// [Toolset], which runtime.New takes. Other code needs this package for tools that are known only
// at run time ([NewToolset]), for tests of a server, and to read what a server serves.
//
// Each generated package and its tests link this package. Therefore it imports runtime/access,
// runtime/decode and a small part of the standard library, but neither go-sdk nor package net.
package toolset

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
)

// Contract9_RunGoGenerate names the version of this contract. Generated code refers to it. If the
// versions differ, the compiler reports the constant as undefined. Its name is the cure: run go
// generate.
const Contract9_RunGoGenerate = 9

// RunGoGenerate is in the compile guards of generated code. A guard compares a part of the source
// with the type that mcpgen read. After a change of the source it does not compile, and the
// compiler's message contains this name.
func RunGoGenerate[T any](T) {}

// Codec has the methods by which a type writes and reads its own JSON. Compile guards embed it
// beside types without such methods: a new one makes the selector ambiguous.
type Codec interface {
	json.Marshaler
	json.Unmarshaler
	encoding.TextMarshaler
	encoding.TextUnmarshaler
}

// Generated describes one package. mcpgen writes it.
type Generated struct {
	Package   string // import path
	Manifest  string // digest of mcp.manifest.json; see [Toolset.Manifest]
	Server    ServerInfo
	Table     access.Table
	Receivers []any // the arguments of the function Toolset; none may be nil
	Quiet     bool  // no handler refers to runtime.Logger
	// Timeout is that of the tools, prompts and resources that have none of their own, and not
	// NonBlocking.
	Timeout   time.Duration
	Tools     []Tool
	Prompts   []Prompt
	Resources []Resource
}

// ServerInfo is the name of the server, as clients see it.
type ServerInfo struct {
	Name, Title, Version string
	WebsiteURL           string
	Icons                []Icon
}

// Icon is an image that a client can show beside a name.
type Icon struct {
	Source   string   // an https or data URI
	MIMEType string   // empty if the client finds it out
	Sizes    []string // as in "48x48", or "any"
	Theme    string   // "light" or "dark"; empty for both
}

func cloneIcons(icons []Icon) []Icon {
	icons = slices.Clone(icons)
	for i := range icons {
		icons[i].Sizes = slices.Clone(icons[i].Sizes)
	}
	return icons
}

// Toolset is what one package serves: everything, or less by [Toolset.Only], [Toolset.Without] and
// [Toolset.ReadOnly]. Its rules cannot be edited at run time.
type Toolset struct {
	generated Generated
	removed   []Tool   // by narrowing
	unknown   []string // names that narrowing got and the package does not have
}

// NewToolset makes a Toolset of a copy of g. Generated code calls it. Code by hand may do so for
// tools that are known only at run time. It needs Package, Server.Name, a rule in Table for each
// tool, and Tools with Name, Input, and Handle or Call; runtime.New reports what is missing.
func NewToolset(g Generated) Toolset { return Toolset{generated: g.clone()} }

// Generated returns the description of the package. The server reads it.
//
// It is a deep copy: a caller that changes its rules or tools changes no other copy. Its Manifest
// is empty, so that a Toolset of a changed copy does not have the digest of the reviewed rules.
func (t Toolset) Generated() Generated {
	g := t.generated.clone()
	g.Manifest = ""
	return g
}

// Manifest returns the digest of mcp.manifest.json as "sha256:…". It is empty in code of earlier
// versions of mcpgen, and if [NewToolset] got the description of another Toolset.
func (t Toolset) Manifest() string { return t.generated.Manifest }

// clone returns a deep copy, in which Timeout is that of each tool, prompt and resource without
// one that may block.
func (g Generated) clone() Generated {
	g.Table = g.Table.Clone()
	g.Server.Icons = cloneIcons(g.Server.Icons)
	g.Receivers = slices.Clone(g.Receivers)
	g.Tools = slices.Clone(g.Tools)
	for i := range g.Tools {
		t := &g.Tools[i]
		t.Timeout = g.timeout(t.Timeout, t.NonBlocking)
		t.Catalogs, t.Allow = slices.Clone(t.Catalogs), slices.Clone(t.Allow)
		t.Aliases, t.Icons = slices.Clone(t.Aliases), cloneIcons(t.Icons)
		t.Limits.Capabilities = slices.Clone(t.Limits.Capabilities)
		for _, hint := range []**bool{&t.Annotations.DestructiveHint,
			&t.Annotations.OpenWorldHint} {
			if *hint != nil {
				*hint = new(**hint)
			}
		}
	}
	g.Prompts = slices.Clone(g.Prompts)
	for i := range g.Prompts {
		p := &g.Prompts[i]
		p.Timeout = g.timeout(p.Timeout, p.NonBlocking)
		p.Arguments = slices.Clone(p.Arguments)
		for j := range p.Arguments {
			p.Arguments[j].Values = slices.Clone(p.Arguments[j].Values)
		}
	}
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		r := &g.Resources[i]
		r.Timeout = g.timeout(r.Timeout, r.NonBlocking)
		r.Variables = slices.Clone(r.Variables)
		for j := range r.Variables {
			r.Variables[j].Values = slices.Clone(r.Variables[j].Values)
		}
	}
	return g
}

// timeout returns the time limit of a tool, prompt or resource.
func (g Generated) timeout(own time.Duration, nonBlocking bool) time.Duration {
	if nonBlocking {
		return own
	}
	return cmp.Or(own, g.Timeout)
}

// Tool is one tool: its listing and its handler. The handler is Handle if that is set, and Call
// otherwise.
type Tool struct {
	Name, Title, Description string
	// Input is the JSON Schema of the arguments, an object, for clients. Handle or Call checks the
	// arguments: generated decoders accept what the schema accepts.
	Input string
	// Output is the JSON Schema of the structured content, for clients. No result is checked by the
	// schema. Empty for none.
	Output string
	// Guarded is the JSON Schema of the handler's result, if the result has guarded fields and Output
	// is empty. Clients never get it: the server leaves out fields by it.
	//
	// In Input, Output and Guarded, the schema of a property with a guarded field has the keyword
	// x-mcpgen-field. Its value is the name of a rule in Table.Fields. Lists do not contain it.
	Guarded string
	// Omits reports that structured content has only the properties of Output. The server leaves out
	// all others from what the handler returns.
	Omits       bool
	Annotations Annotations
	Icons       []Icon
	Meta        string // the _meta of its listing, a JSON object; empty for none
	// UI is the URI of the resource of the package that shows the result of a call, an MCP App
	// (SEP-1865). It has the tool's rule. Empty for none.
	UI string
	// Aliases are deprecated names. They are not listed, and a call by one is a call of the tool.
	Aliases []string
	Timeout time.Duration
	// NonBlocking reports that the handler only computes. Its calls have no second goroutine and
	// no time limit: the server waits until the handler returns. runtime.New refuses it beside
	// Timeout, Allow, SDK, Elicits, Task and Isolate.
	NonBlocking bool

	Catalogs []string // the global catalogs that the source code puts the tool into
	Allow    []Allow  // the permissions that a call needs on its arguments
	Limits   Limits

	// Lenient makes the server coerce the arguments before the handler's decoder reads them, as
	// [decode.Lenient] does. Strict prevents it also if runtime.Options.Protocol.LenientArguments is
	// set.
	Lenient, Strict bool

	// SDK reports that the handler has go-sdk's signature. It gets a session of go-sdk's. In
	// 2026-07-28, answers that come with the first call count if they fit what the handler then asks,
	// and it gives no state of its own.
	SDK bool

	// Elicits reports that the handler calls runtime.Elicit, Sample or Roots. In a session it gets
	// go-sdk's.
	Elicits bool

	// Task is whether calls run as tasks, which outlive their requests; empty for never.
	Task Task

	// Isolate is the name of the handler that package sandbox runs for each call, in a process of
	// its own. It is empty if the handler runs in the server's process.
	Isolate string

	// Handle reads the arguments from the Reader, ends it with Finish, and calls the handler. Its
	// result is the handler's output, whose form Returns names. Small functions of this type keep
	// large packages fast to compile; a generic function would be compiled again for each tool.
	Handle  func(context.Context, *decode.Reader) (any, error)
	Returns Form

	// Call is for handlers that need more than their arguments: a request of go-sdk's, permissions
	// on what the arguments name, or a process of their own. If Returns is Text or a later form,
	// its results have that form.
	Call func(context.Context, Call) (Result, error)

	// MIMEType is the media type of a handler's output of the form Bytes.
	MIMEType string
}

// Form is the form of a handler's output.
type Form int

// The forms.
const (
	Object  Form = iota // a JSON object
	Value               // any other JSON; MCP versions before 2026-07-28 get it as {"result": …}
	Nothing             // the handler returns an error only

	// The forms below have no structured content, unless the handler makes it.

	Text      // a string; the server sends it as text content
	JSON      // any JSON; the server sends it as text content
	Bytes     // a []byte of Tool.MIMEType; the server sends an image, audio or embedded resource
	Contents  // a mcp.Content of go-sdk's, or a slice of these
	SDKResult // a *mcp.CallToolResult of go-sdk's
)

// Annotations are the hints of a tool for clients, as the protocol defines them. No handler is
// checked by them. A nil hint is not sent. The zero Annotations are not sent.
type Annotations struct {
	// ReadOnlyHint marks the tool as readonly, for runtime.Options.ReadOnly, [Toolset.ReadOnly] and
	// audit.IntentNonReadonly.
	ReadOnlyHint    bool
	DestructiveHint *bool
	IdempotentHint  bool
	OpenWorldHint   *bool
}

// Result is the result of a tool's handler. Generated code writes it with one of the constructors;
// the server reads it.
type Result struct {
	SDK    bool // the handler has go-sdk's signature
	Native any  // the *mcp.CallToolResult of such a handler, or nil
	Out    any  // the structured content
	HasOut bool // Out is set, possibly to nil
}

// Structured returns a result with structured content.
//
// It is not inlined: a copy in the closure of each tool slows down the compiler noticeably.
//
//go:noinline
func Structured(out any, err error) (Result, error) {
	return Result{Out: out, HasOut: true}, err
}

// Unstructured returns a result of the form that Returns of the tool names.
//
//go:noinline
func Unstructured(out any, err error) (Result, error) { return Result{Out: out, HasOut: true}, err }

// Done returns the result of a handler that returns an error only.
func Done(err error) (Result, error) { return Result{}, err }

// Native returns the result of a handler that has go-sdk's signature.
//
//go:noinline
func Native(res, out any, err error) (Result, error) {
	return Result{SDK: true, Native: res, Out: out, HasOut: out != nil}, err
}
