package scan

import (
	"go/types"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

const systemCommand = "system.command"

// bound is an argument that //mcp:allow binds, with its value in the handler's input.
type bound struct {
	model.Allow
	param *types.Var // of a plain parameter; nil for a field
}

// allows reads //mcp:allow: which arguments are decided on before the handler runs.
func (t *reading) allows() {
	if t.Input.Schema == nil && t.Input.Written == "" {
		return // the input could not be read, which is reported
	}
	byName := map[string]*bound{}
	for _, found := range t.decl.Directives {
		if found.Name != "allow" {
			continue
		}
		for _, arg := range found.Args {
			t.allow(byName, arg)
		}
	}
	for _, b := range byName {
		t.Allows = append(t.Allows, b.Allow)
	}
	sortBy(t.Allows, func(a model.Allow) string { return a.Argument })
	t.distinct(byName)
	t.opened()
}

// allow reads one KIND={argument}.
func (t *reading) allow(byName map[string]*bound, arg directive.Arg) {
	kind, value := arg.Key, arg.Values[0]
	if t.guards(value.Text) {
		return // reported
	}
	b := byName[value.Text]
	if b == nil {
		var typ types.Type
		if b, typ = t.argument(arg); b == nil {
			return
		}
		fits, list := false, false
		switch under := typ.Underlying().(type) {
		case *types.Basic:
			fits = under.Kind() == types.String
		case *types.Slice:
			list = types.Identical(types.Unalias(under.Elem()), types.Typ[types.String])
			fits = list
		}
		if !fits || list != (kind == systemCommand) {
			fix := "give it the type string, or " + typeFor(kind)
			if kind == systemCommand {
				fix = "give it the type []string or grant.Argv: a command is a program and its arguments, " +
					"not a line for a shell"
			}
			t.report(diag.Unbindable, value.Span, fix,
				"the type of the argument %s of %s does not fit %s", value.Text, t, kind)
			return
		}
		b.List, b.Plain = list, types.Identical(types.Unalias(typ), typ.Underlying())
		byName[value.Text] = b
	}
	other := ""
	if len(b.Kinds) > 0 {
		other = b.Kinds[0]
	}
	switch {
	case slices.Contains(b.Kinds, kind):
		t.report(diag.Duplicate, arg.Span, "remove one of the two",
			"%s is bound to %s twice", value.Text, kind)
		return
	case other != "" && (!isFile(kind) || !isFile(other)):
		t.report(diag.Unbindable, arg.Span,
			"bind each to its own argument; only file.read and file.write can share one",
			"the argument %s of %s is bound to %s and to %s", value.Text, t, other, kind)
		return
	}
	b.Kinds = append(b.Kinds, kind)
	slices.Sort(b.Kinds)
	if len(arg.Values) > 1 {
		if b.Within == nil {
			b.Within = map[string]string{}
		}
		b.Within[kind] = arg.Values[1].Text
	}
}

func isFile(kind string) bool { return strings.HasPrefix(kind, "file.") }

// typeFor is the type that a parameter bound to a kind is best given.
func typeFor(kind string) string {
	switch {
	case isFile(kind):
		return "grant.Path"
	case kind == systemCommand:
		return "grant.Argv"
	case strings.HasPrefix(kind, "net."):
		return "grant.Host"
	}
	return ownType
}

// ownType is the type for kinds without a type of the runtime's.
const ownType = "a string type"

// argument finds the argument that a binding names, or reports that it is missing.
func (t *reading) argument(arg directive.Arg) (*bound, types.Type) {
	value := arg.Values[0]
	b := &bound{Allow: model.Allow{Argument: value.Text, Pos: t.at(arg.Span)}}
	bad := func(fix, format string, args ...any) (*bound, types.Type) {
		t.report(diag.Unbindable, value.Span, fix, format, args...)
		return nil, nil
	}
	var known []string
	switch {
	case t.Input.Kind == model.NoInput:
		return bad("give the handler a parameter "+value.Text, "%s has no arguments to bind", t)
	case t.Input.Kind == model.PlainInput:
		for _, p := range t.Input.Params {
			if p.Name == value.Text {
				b.Path = []model.Selector{{Name: p.Field}}
				for v := range t.decl.Func.Signature().Params().Variables() {
					if v.Name() == p.Go {
						b.param = v
					}
				}
				return b, b.param.Type()
			}
			known = append(known, p.Name)
		}
	case t.Input.Codec == nil:
		return bad("take plain parameters, or a struct whose fields mcpgen can read",
			"the arguments of %s cannot be bound: %s", t, t.Input.Uncoded)
	default:
		in := t.inputs()
		typ := pointee(in[len(in)-1].Type())
		for _, object := range t.codecs.Objects() {
			if object.Name != t.Input.Codec.Name {
				continue
			}
			for _, f := range object.Fields {
				if f.Name == value.Text {
					return t.field(b, value, typ, f.Path)
				}
				known = append(known, f.Name)
			}
		}
	}
	fix := "bind an argument of the handler"
	if len(known) > 0 {
		fix = directive.Nearest("", value.Text, known)
	}
	if name := naming.Snake(value.Text); slices.Contains(known, name) {
		fix = "write {" + name + "}, the argument's name that clients use"
	}
	return bad(fix, "%s has no argument %s", t, value.Text)
}

// field follows the way to a field of an input struct.
func (t *reading) field(
	b *bound, value directive.Value, typ types.Type, path []model.Selector,
) (*bound, types.Type) {
	b.Path = path
	for i, step := range path {
		if step.Pointer && i < len(path)-1 {
			t.report(diag.Unbindable, value.Span, "declare the field in the input struct itself",
				"the argument %s of %s is a field of an embedded pointer, which can be nil",
				value.Text, t)
			return nil, nil
		}
		of, ok := pointee(typ).Underlying().(*types.Struct)
		if !ok {
			return nil, nil // the codec is of another type than the signature's, which cannot be
		}
		for f := range of.Fields() {
			if f.Name() == step.Name {
				typ = f.Type()
			}
		}
	}
	return b, typ
}

// distinct reports bound plain parameters of a type that another parameter has too: swapped ones
// would compile, and the wrong one would be decided on.
func (t *reading) distinct(byName map[string]*bound) {
	reported := map[*types.Var]bool{}
	for v := range t.decl.Func.Signature().Params().Variables() {
		var b *bound
		for _, candidate := range byName {
			if candidate.param == v {
				b = candidate
			}
		}
		if b == nil || len(b.Kinds) == 0 {
			continue
		}
		for other := range t.decl.Func.Signature().Params().Variables() {
			if other == v || reported[other] || !types.Identical(other.Type(), v.Type()) {
				continue
			}
			reported[v] = true
			fix := "give " + v.Name() + " the type " + typeFor(b.Kinds[0]) + ", which no other parameter has"
			if typeFor(b.Kinds[0]) == ownType {
				fix = "give " + v.Name() + " a string type that no other parameter has, for example type " +
					naming.UpperFirst(v.Name()) + " string"
			}
			if !b.Plain {
				fix = "give each its own type, for example type Target string, or use a struct"
			}
			t.report(diag.Unbindable, placeOf(t.decl, v), fix,
				"%s and %s of %s have the same type, so swapped arguments would compile, and %s is bound "+
					"to %s",
				v.Name(), other.Name(), t, v.Name(), b.Kinds[0])
			break
		}
	}
}

// opened reports arguments with a file permission whose file the handler never takes: a file that
// it opens by name instead would have another decision, or none.
func (t *reading) opened() {
	for _, a := range t.Allows {
		if len(a.Kinds) == 0 || !isFile(a.Kinds[0]) {
			continue
		}
		switch {
		case t.decl.Place == directive.InterfaceMethod:
			t.Findings.Add(diag.NotOpened, a.Pos, "annotate the method of the implementing type",
				"%s is an interface method, so mcpgen cannot check whether it takes the file of %s from "+
					"package grant", t, a.Argument)
		case !t.grantUses().Take(t.decl.Name, a.Argument):
			t.Findings.Add(diag.NotOpened, a.Pos, `take the file in the handler with grant.File(ctx, "`+
				a.Argument+`"), grant.Dir or grant.TruePath, and write the name as a literal`,
				"%s never takes the file of the argument %s, which the server checks and opens before the call",
				t, a.Argument)
		}
	}
}
