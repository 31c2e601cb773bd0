// Package model is the plain data that scan reads from source, check judges and emit writes.
//
// Nothing here points into go/ast or go/types: a model can be compared, printed and
// written to a manifest. Lists are in the order of names unless the field's comment differs.
package model

import (
	"regexp"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Service is the model of a package with directives.
type Service struct {
	Package     string       // import path
	Name        string       // the name in the package clause
	Dir         string       // absolute directory of the package
	Module      string       // path of the module that holds it
	Server      Server       //
	Roles       Roles        //
	Scopes      Scopes       //
	Tools       []Tool       // by tool name
	Prompts     []Prompt     // by name
	Resources   []Resource   // by URI
	Completions []Completion // by handler
	Fields      []Field      // by name
	// Foreign are fields of other modules that the tools have: true for those with a rule. The names
	// have the import path, the type that declares the field, and the field.
	Foreign   map[string]bool
	Ignored   []Ignored      // by handler
	Types     []DeclaredType // by name
	Objects   []Object       // by name: the structs that inputs hold, for codecs
	Receivers []Receiver     // by type name: the parameters of Toolset
	Quiet     bool           // no handler can log to clients
	// package-level names that the author's own files declare, tests of the package included, sorted
	Scope []string
	// by name: those of each import in those files; no package-level name may equal one
	Imports       []Import
	CompileGuards []CompileGuard // what the compiler watches over, in the order it is written
	HashInputs    HashInputs     // what the generated test watches over
	Proof         *Proof         // what mcpgen prove has recorded; nil without a record
	Declared      []Position     // where each name of Scope is declared, in the same order
}

// Import is a name that an import declares in a file.
type Import struct {
	Name string
	Dot  bool // the name is one of the imported package
	Pos  Position
}

// Server holds the values of //mcp:server.
type Server struct {
	Name    string // default: the package name
	Title   string
	Version string
	// Description is the first sentence of the package doc; empty without one.
	Description string
	Website     string // URL
	Icons       []Icon // of each //mcp:meta icon in the package doc
	App         string // the app label of permission strings
	Prefix      string // of the name of every tool and prompt
	Named       bool   // name= is written: packages of one run with the same one are one server
	// Unannotated is "ignore" if handlers without a directive are no findings, and "strict" if every
	// tool, prompt and resource has a token as well. It is empty by default.
	Unannotated string
	// Client is the directory of the typed client, below the package, with slashes; empty for none.
	Client string
	Pos    Position
}

// ClientFile is the name of the file of a typed client.
const ClientFile = "mcp_client.go"

// CheckArguments is the func that typed clients call. A package with client= declares it.
const CheckArguments = "CheckArguments"

var clientDir = regexp.MustCompile(`^[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)*$`)

// IsClientDir reports whether text can be a Server.Client: a path that stays below the package, of
// names that the go command does not ignore.
func IsClientDir(text string) bool {
	return clientDir.MatchString(text) && !strings.Contains("/"+text+"/", "/testdata/") &&
		!strings.Contains("/"+text+"/", "/vendor/") && !strings.HasSuffix(text, "_test")
}

// Roles is the role hierarchy.
type Roles struct {
	// Chains are a partial order together. Each is lowest first, and the first is the main chain.
	// They are empty if the hierarchy has a finding.
	Chains [][]string
	// Own is whether the package declares a hierarchy or names a role of the default one. A package
	// whose rules name no role fits any hierarchy.
	Own bool
	// Type is the named integer type of a const block marked //mcp:roles, or empty without one.
	Type string
	Pos  Position // of the first //mcp:roles
}

// Order returns the partial order of the roles.
func (r Roles) Order() roleorder.Order {
	order, _ := roleorder.New(r.Chains) // scan has reported its problems
	return order
}

// Scopes are the lines of //mcp:scopes.
type Scopes struct {
	// Lines have a scope, and then the scopes that a token with it has too. They are empty if a line
	// has a finding.
	Lines [][]string
	Pos   Position // of the first //mcp:scopes
}

// Order returns the scopes that include others.
func (s Scopes) Order() scopeorder.Order {
	order, _ := scopeorder.New(s.Lines) // scan has reported its problems
	return order
}

// DeclaredType is a type that //mcp:type gives a schema.
type DeclaredType struct {
	Name   string // with the import path
	Schema string // as written: "string,format=date-time"
}

// Ignored is a handler that //mcp:ignore takes out.
type Ignored struct {
	Handler string // as in "Service.Reindex"
	Reason  string
	Pos     Position
}

// Receiver is one parameter of the generated Toolset function.
type Receiver struct {
	Type      string // type name, as in "Service"
	Pointer   bool   // the parameter is *Type
	Interface bool   // Type is an interface
	Param     string // parameter name, free of keywords and package-level names
}

// Position is a place in a source file. Line and Col count from 1, Col in bytes.
// The zero Position is no place.
type Position struct {
	File      string // absolute
	Line, Col int
	EndCol    int // exclusive, on the same line; 0 when unknown
}
