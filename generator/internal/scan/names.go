package scan

import (
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// toolName is the rule of the MCP specification, section Tools of revision 2025-11-25: ASCII
// letters, digits, underscore, hyphen and dot, 1 to 128 of them.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// checkName applies the specification's rule for names of tools to prompts as well, for whose names
// it has none: every client can show such names.
func (t *reading) checkName(name string) {
	if !toolName.MatchString(name) && t.decl.Func.Name() != "_" {
		t.report(diag.BadToolName, t.written.Span,
			"write another name=, of ASCII letters, digits, underscore, hyphen and dot",
			"%q is not an MCP %s name", name, t.written.Name)
	}
}

// constantsOf names the constants of the names of tools and prompts and of the URIs of resources.
func (s *scanner) constantsOf() {
	var served []naming.Served
	for _, t := range s.Service.Served() {
		served = append(served, naming.Served{Kind: t.Kind, Recv: t.Handler.Recv, Name: t.Handler.Name})
	}
	constants, owner := naming.Constants(served), map[string]string{}
	for i, t := range s.Service.Served() {
		h := t.Handler
		t.Const = constants[i]
		if other, taken := owner[t.Const]; taken {
			s.Findings.Add(diag.NameTaken, h.Pos, "rename one of the two",
				"%s and %s would both have the constant %s", other, h, t.Const)
			continue
		}
		owner[t.Const] = h.String()
	}
}

// names gives every type of inputs and outputs one base for generated identifiers.
type names struct {
	byKey map[string]string
	taken map[string]bool
}

// name returns the base of a key, made from want where the key is new.
func (n *names) name(key, want string) string {
	if n.byKey == nil {
		n.byKey, n.taken = map[string]string{}, map[string]bool{}
	}
	if have, ok := n.byKey[key]; ok {
		return have
	}
	name := want
	for i := 2; n.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", want, i)
	}
	n.byKey[key], n.taken[name] = name, true
	return name
}

// base names the generated identifiers of a type. Inputs and outputs of one type have
// different schemas, and so may a type and a pointer to it: equal schemas share a name. A type
// without a name of its own is named for the handler.
func (t *reading) base(
	direction string, typ types.Type, sch *jsonschema.Schema, suffix string,
) string {
	want := naming.Word(typ, t.pkg.Types)
	if want == "" {
		want = naming.LowerFirst(t.decl.Func.Name())
	}
	if _, named := types.Unalias(pointee(typ)).(*types.Named); !named {
		want += suffix
	}
	text, err := json.Marshal(sch)
	if err != nil {
		// Schemas are made of plain values; one that is not stays alone under its handler's name.
		text = []byte(t.String())
	}
	key := direction + types.TypeString(pointee(typ), (*types.Package).Path) + " " + string(text)
	if t.names.taken[want] && t.names.byKey[key] == "" && !strings.HasSuffix(want, suffix) {
		want += suffix
	}
	return t.names.name(key, want)
}

// reserved are names that generated code uses within Toolset: its locals and the packages it
// imports.
var reserved = map[string]bool{
	"ctx": true, "call": true, "in": true, "err": true, "out": true, "res": true, "table": true,
	"context": true, "time": true, "json": true, "access": true, "toolset": true, "mcp": true,
	"decode": true, "validator": true,
}

// parameter names the parameter of Toolset for a receiver type.
func (s *scanner) parameter(typ string, taken map[string]bool) string {
	free := func(name string) bool {
		return token.IsIdentifier(name) && !reserved[name] && !taken[name] &&
			types.Universe.Lookup(name) == nil && s.pkg.Types.Scope().Lookup(name) == nil
	}
	base := naming.LowerFirst(typ)
	if free(base) {
		return base
	}
	name := "the" + naming.UpperFirst(typ)
	for i := 2; !free(name); i++ {
		name = fmt.Sprintf("the%s%d", naming.UpperFirst(typ), i)
	}
	return name
}
