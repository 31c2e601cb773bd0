// Package secrets finds the values with a rule that a schema or a text shows. A //mcp:rule is at an
// argument, and its values are those of a type, which may be used elsewhere.
package secrets

import (
	"encoding/json"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Value is a value of a type with a rule.
type Value struct {
	Type      *types.TypeName
	Argument  string // at which the rule is
	Text      string
	Need      model.Access // roles and authenticated of the rule
	Scopes    []string     // of scopes= of the rule
	AnyScope  []string     // of anyscope= of the rule
	Handler   string       // with the rule
	Directive *directive.Directive
}

// Written is the rule as its author has written it, as in minrole=Admin.
func (v Value) Written() string {
	var keys []string
	if len(v.Need.MinRole) > 0 {
		keys = append(keys, "minrole="+strings.Join(v.Need.MinRole, ","))
	}
	if len(v.Scopes) > 0 {
		keys = append(keys, "scopes="+strings.Join(v.Scopes, ","))
	}
	if len(v.AnyScope) > 0 {
		keys = append(keys, "anyscope="+strings.Join(v.AnyScope, ","))
	}
	if v.Need.Authenticated {
		keys = append(keys, "authenticated")
	}
	return strings.Join(keys, " ")
}

// In returns the values with rules of a package that is not scanned.
func In(prog *load.Program, pkg *load.Package, w *schema.Walker) []Value {
	ruled := slices.ContainsFunc(pkg.Files, func(f *load.File) bool {
		return slices.ContainsFunc(f.Syntax.Comments, func(group *ast.CommentGroup) bool {
			return slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
				return strings.HasPrefix(c.Text, "//mcp:rule")
			})
		})
	})
	if !ruled {
		return nil
	}
	decls, _ := annotated.Read(prog, pkg, &diag.List{}) // its findings are those of its own run
	return Of(decls, w)
}

// Word is the value as a directive has it: in quotes if it is not one word.
func (v Value) Word() string {
	if v.Text == "" || strings.ContainsAny(v.Text, " \t,=\"`{}") {
		return strconv.Quote(v.Text)
	}
	return v.Text
}

// Of returns the values with rules of the declarations of a package, if their argument has a named
// type.
func Of(decls []*annotated.Decl, w *schema.Walker) (values []Value) {
	for _, d := range decls {
		if d.Func == nil {
			continue
		}
		for _, found := range d.Directives {
			if found.Name != "rule" || found.Broken {
				continue
			}
			name := typeOf(d, found.Subject.Text, w)
			if name == nil {
				continue
			}
			for _, value := range found.Chain {
				values = append(values, Value{Type: name, Argument: found.Subject.Text,
					Text: value.Text, Handler: d.String(), Directive: found,
					Scopes: found.List("scopes"), AnyScope: found.List("anyscope"),
					Need: model.Access{MinRole: found.List("minrole"),
						Authenticated: found.Has("authenticated")}})
			}
		}
	}
	return values
}

// typeOf returns the named type of an argument: a parameter, or a field of the input.
func typeOf(d *annotated.Decl, argument string, w *schema.Walker) *types.TypeName {
	var fields []schema.Field
	for v := range d.Func.Signature().Params().Variables() {
		if naming.Snake(v.Name()) == argument {
			return named(v.Type())
		}
		if _, ok := pointee(v.Type()).Underlying().(*types.Struct); ok {
			fields = append(fields, w.Fields(pointee(v.Type()))...)
		}
	}
	i := slices.IndexFunc(fields, func(f schema.Field) bool { return f.Name == argument })
	if i < 0 {
		return nil
	}
	return named(fields[i].Type)
}

func named(t types.Type) *types.TypeName {
	if elem := schema.Optional(t); elem != nil {
		t = elem
	}
	if n, ok := types.Unalias(pointee(t)).(*types.Named); ok && n.Obj().Pkg() != nil {
		return n.Obj()
	}
	return nil
}

func pointee(t types.Type) types.Type {
	for {
		p, ok := types.Unalias(t).(*types.Pointer)
		if !ok {
			return t
		}
		t = p.Elem()
	}
}

// Same reports whether two names are those of one type.
func Same(a, b *types.TypeName) bool {
	return a.Name() == b.Name() && a.Pkg().Path() == b.Pkg().Path()
}

// Place is where a schema shows a value.
type Place struct {
	Pointer  string // as in /properties/verb/enum
	Argument string // the argument of the input that the place is a part of itself; empty for others
	Text     bool   // a title or a description
}

// Places returns where a schema shows a value, in the order of the pointers. A text shows a value
// that it has in quotes or backquotes.
func Places(document []byte, value string) []Place {
	var root any
	if json.Unmarshal(document, &root) != nil {
		return nil // of a file that has findings of its own
	}
	f := finder{value: value}
	f.schema(root, "")
	return f.found
}

type finder struct {
	value string
	found []Place
}

// schemasByName are the keywords of a schema whose members have schemas under names of their own.
var schemasByName = []string{"properties", "patternProperties", "$defs", "definitions",
	"dependentSchemas"}

func (f *finder) schema(node any, at string) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			f.schema(item, at)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			f.keyword(key, node[key], at+"/"+key)
		}
	}
}

func (f *finder) keyword(key string, value any, at string) {
	text, isText := value.(string)
	members, isObject := value.(map[string]any)
	switch {
	case slices.Contains(schemasByName, key) && isObject:
		for _, name := range slices.Sorted(maps.Keys(members)) {
			f.schema(members[name], at+"/"+name)
		}
	case slices.Contains([]string{"enum", "examples", "example", "default", "const"}, key):
		if f.has(value) {
			f.add(at, false)
		}
	case isText && (key == "description" || key == "title" || key == "$comment"):
		if Mentions(text, f.value) {
			f.add(at, true)
		}
	default:
		f.schema(value, at)
	}
}

func (f *finder) add(at string, text bool) {
	place := Place{Pointer: at, Text: text}
	if rest, ok := strings.CutPrefix(at, "/properties/"); ok {
		if name, keyword, _ := strings.Cut(rest, "/"); !strings.Contains(keyword, "/") {
			place.Argument = name
		}
	}
	f.found = append(f.found, place)
}

// has reports whether an example or the like is or contains the value, or has a member of its name.
func (f *finder) has(node any) bool {
	switch node := node.(type) {
	case string:
		return node == f.value
	case []any:
		return slices.ContainsFunc(node, f.has)
	case map[string]any:
		for name, member := range node {
			if name == f.value || f.has(member) {
				return true
			}
		}
	}
	return false
}

// Shown are the names and texts of a schema, for callers who do not see one of its properties.
type Shown struct {
	Hidden, Visible []string    // names of properties
	Texts           [][2]string // titles and descriptions, each after its pointer
}

// Texts returns the texts of a schema. A property whose keyword key has a value is hidden, with its
// texts.
func Texts(document []byte, key, value string) (s Shown) {
	var root any
	if json.Unmarshal(document, &root) == nil {
		s.read(root, "", key, value)
	}
	return s
}

func (s *Shown) read(node any, at, key, value string) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			s.read(item, at, key, value)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			member := node[name]
			at := at + "/" + name
			properties, isObject := member.(map[string]any)
			text, isText := member.(string)
			switch {
			case name == "properties" && isObject:
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					property, _ := properties[name].(map[string]any)
					if property[key] == value {
						s.Hidden = append(s.Hidden, name)
						continue
					}
					s.Visible = append(s.Visible, name)
					s.read(property, at+"/"+name, key, value)
				}
			case slices.Contains(schemasByName, name) && isObject:
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					s.read(properties[name], at+"/"+name, key, value)
				}
			case isText && (name == "title" || name == "description"):
				s.Texts = append(s.Texts, [2]string{at, text})
			default:
				s.read(member, at, key, value)
			}
		}
	}
}

// Mentions reports whether a text has a value in quotes or backquotes.
func Mentions(text, value string) bool {
	for _, quote := range []string{"`", `"`, "'"} {
		if strings.Contains(text, quote+value+quote) {
			return true
		}
	}
	return false
}
