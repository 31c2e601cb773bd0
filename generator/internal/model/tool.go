package model

import (
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Tool is one annotated handler.
type Tool struct {
	Name        string // MCP tool name, prefix included
	Const       string // name of the generated constant, as in "ToolGetByID"
	Title       string
	Description string // from description=, or the doc comment without directives
	Handler     Handler
	Access      Access
	Denial      string // "", "conceal", "forbid" or "challenge"; empty is the server's choice
	Hints       Hints
	// Facts are some of [Facts], sorted, or none alone. They are nil without facts=.
	Facts    []string
	Limits   Limits
	Allows   []Allow  // by argument; of tools alone
	Values   []Value  // of the arguments whose values have rules; of tools alone
	Worker   *Worker  // makes the receiver of a method that runs in a process of its own
	Catalogs []string // names, sorted; of tools alone
	Aliases  []string // deprecated names, sorted, without the prefix; of tools alone
	Icons    []Icon   // of tools alone
	Meta     string   // the _meta of the listing, compact JSON; of tools alone
	UI       string   // the URI of the resource that is its MCP App; of tools alone
	Elicits  bool     // the handler may ask its client: elicitation, sampling or roots
	// Task is "optional", "required" or "answered", as of toolset.Task; empty for no task.
	Task string
	// Lenient is lenient= of the tool, its type or the package; nil is the server's choice.
	Lenient *bool
	// Omits are the properties that results do not contain, as //mcp:param names them, sorted.
	Omits  []string
	Input  Input
	Output Output
	Pos    Position // of the //mcp:tool directive
}

// Icon is one //mcp:meta icon.
type Icon struct {
	Source   string
	MIMEType string
	Sizes    []string
	Theme    string
}

// Handler is the Go func, method or interface method behind a tool.
type Handler struct {
	Name string // Go name of the func or method, as in "GetByID"
	Recv string // receiver type name, empty for a function
	// PointerRecv is whether the method is declared on the pointer.
	PointerRecv bool
	// SDK is whether the handler has go-sdk's own shape:
	// func(ctx, *mcp.CallToolRequest, In) (*mcp.CallToolResult, Out, error).
	SDK bool
	// Token is TokenName if the last parameter has this type.
	Token string
	Pos   Position
}

// TokenName is the name of the type that mcpgen declares for a handler with a token: the handler's
// name, with that of its receiver's type before it, and "Annotated" after it.
func (h Handler) TokenName() string { return h.Recv + h.Name + "Annotated" }

// String is the handler's name in messages and in the manifest: "Service.GetByID" or "ReadFile".
func (h Handler) String() string {
	if h.Recv == "" {
		return h.Name
	}
	return h.Recv + "." + h.Name
}

// The reserved values of Access.MinRole, for packages that fit anybody's hierarchy.
const (
	Lowest  = roleorder.LowestName
	Highest = roleorder.HighestName
)

// Access is the effective access rule of a tool, defaults of type and package applied.
type Access struct {
	Public        bool
	Authenticated bool
	// MinRole are roles of the hierarchy, "lowest" or "highest", as written. A caller needs one of
	// them, or a role above one.
	MinRole []string
	Scopes  []string // sorted; all are required
	// OrScopes are further alternatives, each sorted: in place of Scopes, all of one of them.
	OrScopes [][]string
	// Action is as written, or mapped from Verb. "none" takes the tool out, and empty is no rule.
	Action string
	Verb   string // the CRUD verb that Action is mapped from; empty for any other action
	Object string
	// Permission is computed: <app>.<action>_<object>, or the bare action without app and object.
	// It is empty if Action is empty or none.
	Permission  string
	Constrained bool // the handler honours object constraints
	// ObjectFrom is the place of the //mcp:default that Object is inherited from, as in
	// "device.go:4"; empty where the object is the tool's own.
	ObjectFrom string
}

// SameRule reports whether two handlers have equal effective rules, and refuse in the same way.
func (t Tool) SameRule(o Tool) bool {
	return t.Access.Same(o.Access) && t.Denial == o.Denial
}

// Same reports whether two rules have equal effects.
func (a Access) Same(b Access) bool {
	return a.Public == b.Public && a.Authenticated == b.Authenticated &&
		sameNames(a.MinRole, b.MinRole) &&
		a.sameScopes(b) && a.Permission == b.Permission &&
		a.Constrained == b.Constrained
}

// Alternatives returns the lists of scopes of which a caller needs one whole list: Scopes and
// OrScopes. There are none for a rule without scopes.
func (a Access) Alternatives() [][]string {
	if len(a.Scopes) == 0 {
		return nil
	}
	return append([][]string{a.Scopes}, a.OrScopes...)
}

// SetAlternatives sets Scopes and OrScopes.
func (a *Access) SetAlternatives(alternatives [][]string) {
	a.Scopes, a.OrScopes = nil, nil
	if len(alternatives) > 0 {
		a.Scopes = alternatives[0]
	}
	if len(alternatives) > 1 {
		a.OrScopes = alternatives[1:]
	}
}

// sameScopes reports whether two rules need the same scopes, in whatever order they are written.
func (a Access) sameScopes(b Access) bool {
	return scopeorder.Implies(a.Alternatives(), b.Alternatives()) &&
		scopeorder.Implies(b.Alternatives(), a.Alternatives())
}

// sameNames reports whether two lists have the same names, in whatever order.
func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// Value is one value of an argument whose values have rules by //mcp:rule.
type Value struct {
	Argument string // as clients name it
	Value    string
	Ruled    bool // a //mcp:rule is about it; any other value has the rule of the tool
	// Access includes the rule of the tool, except its roles if the value has roles of its own. A
	// caller needs the roles of both.
	Access Access
}

// GuardKey is the keyword of a property with a rule of its own, in the schemas that the server
// reads. Its value is the name of the rule. Clients do not get it.
const GuardKey = "x-mcpgen-field"

// Field is a struct field with a rule of its own by //mcp:field.
type Field struct {
	// Name has the import path, the type without type arguments and the field, as in
	// "example.com/directory.Person.Salary". The type is the one that tools reach: a type that is
	// defined by another one has a rule of its own.
	Name   string
	Access Access // in addition to the rule of each tool
	// Tools are those whose arguments or results have the field, sorted. Without one, the rule holds
	// below the interfaces of other tools.
	Tools []string
	Pos   Position // of the directive, which may be in another package
}

// Name is the value with its argument, as in action=delete.
func (v Value) Name() string { return v.Argument + "=" + v.Value }

// Ruled returns the values that a //mcp:rule is about.
func (t Tool) Ruled() (values []Value) {
	for _, v := range t.Values {
		if v.Ruled {
			values = append(values, v)
		}
	}
	return values
}

// Closed returns the arguments all of whose values have a //mcp:rule: a caller who may send none
// of them may not use the tool.
func (t Tool) Closed() (arguments []string) {
	for _, v := range t.Values {
		free := slices.ContainsFunc(t.Values, func(o Value) bool {
			return o.Argument == v.Argument && !o.Ruled
		})
		if !free && !slices.Contains(arguments, v.Argument) {
			arguments = append(arguments, v.Argument)
		}
	}
	return arguments
}

// NoAction is the action that takes a tool out of the host's permissions: action=none.
const NoAction = "none"

// RequiredPermission returns the permission that a rule requires of the host, "none" for
// action=none, and "" for a rule without one.
func (a Access) RequiredPermission() string {
	if a.Action == NoAction {
		return NoAction
	}
	return a.Permission
}

// Hints are MCP tool annotations. nil was not written and is not sent.
type Hints struct {
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// InputKind is how arguments become the handler's parameters.
type InputKind int

const (
	NoInput     InputKind = iota // func(ctx): the empty object
	StructInput                  // one input value
	PlainInput                   // plain parameters: the input object is generated from their names
)

// Input is what a tool takes.
type Input struct {
	Kind    InputKind
	Type    Expr    // StructInput: the type without pointer
	Pointer bool    // StructInput: the handler takes *Type
	Outside Expr    // Type for the package of the typed client; nil without one
	Name    string  // unexported base of generated identifiers, one per type: "getByIDInput"
	Params  []Param // PlainInput: in the order of the signature
	Schema  *jsonschema.Schema
	// Codec is what the decoder is generated from. If it is nil, the schema validator decodes
	// instead, and Uncoded is the reason.
	Codec   *Codec
	Uncoded string
	// Written is the schema by hand as compact JSON, empty where Schema was read from the type.
	// Beside it Schema is for documentation alone, and nil where jsonschema.Schema cannot hold it.
	Written string
	File    string // that of Written, relative to the package with slashes
	// Fields are the names of the fields within that have rules of their own, sorted.
	Fields []string
}

// Param is one plain parameter.
type Param struct {
	Name     string // JSON property, snake_case
	Go       string // Go parameter name as in the signature
	Field    string // exported field of the generated input struct
	Type     Expr   // as in the signature
	Outside  Expr   // Type for the package of the typed client; nil without one
	Required bool
	Nil      bool // the zero value of Type is an absent argument
}

// OutputKind is how the server sends a result.
type OutputKind int

const (
	NoOutput     OutputKind = iota // the handler returns an error alone
	ObjectOutput                   // the result is a JSON object
	ValueOutput                    // anything else; MCP versions before 2026-07-28 get {"result": …}

	// The kinds below have no schema, unless the author writes one for a SDKOutput.

	TextOutput    // a string, sent as text content
	JSONOutput    // output=none: any result, sent as JSON in text content
	BytesOutput   // a []byte of MIMEType, sent as an image, audio or an embedded resource
	ContentOutput // go-sdk's content, or a list of it
	SDKOutput     // go-sdk's *mcp.CallToolResult
)

// Structured reports whether the server sends results of the kind as structured content.
func (k OutputKind) Structured() bool { return k == ObjectOutput || k == ValueOutput }

// Output is what a tool returns.
type Output struct {
	Kind OutputKind
	Type Expr
	// Outside is Type for the package of the typed client; nil without one.
	Outside Expr
	Name    string             // unexported base of generated identifiers, one per type
	Schema  *jsonschema.Schema // nil for any
	// Written, File and Fields are as in Input.
	Written, File string
	Fields        []string
	// Guarded is the schema of a result with such fields that clients get no schema of.
	Guarded  *jsonschema.Schema
	MIMEType string // of a BytesOutput
}
