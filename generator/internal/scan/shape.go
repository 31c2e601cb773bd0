package scan

import (
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

const sdkPath = "github.com/modelcontextprotocol/go-sdk/mcp"

// shapes is the cure of every handler that has another one.
const shapes = "write func(ctx context.Context, in In) (Out, error), with plain parameters " +
	"instead of in, and with or without in and Out"

// isHandler reports whether a func is handler-shaped: it must be served or ignored.
func isHandler(sig *types.Signature) bool {
	in, out := sig.Params(), sig.Results()
	return in.Len() > 0 && out.Len() > 0 && isContext(in.At(0).Type()) &&
		isError(out.At(out.Len()-1).Type())
}

// neverTool reports whether a handler is generic, or has a parameter that no arguments can fill.
func neverTool(sig *types.Signature) bool {
	return sig.TypeParams().Len() > 0 || slices.ContainsFunc(vars(sig.Params())[1:],
		func(v *types.Var) bool {
			return !isRequest(v.Type()) && !fillable(v.Type(), new(typeutil.Map))
		})
}

// fillable reports whether JSON could fill a value of the type. It cannot fill an interface with
// methods, a func or a channel. Nor can it fill a client: a struct that has one of these in a
// field, or hides all of its fields.
func fillable(t types.Type, seen *typeutil.Map) bool {
	if seen.Set(t, true) != nil {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		return u.NumMethods() == 0
	case *types.Signature, *types.Chan:
		return false
	case *types.Pointer:
		return fillable(u.Elem(), seen)
	case *types.Slice:
		return fillable(u.Elem(), seen)
	case *types.Array:
		return fillable(u.Elem(), seen)
	case *types.Map:
		return fillable(u.Elem(), seen)
	case *types.Struct:
		if !isObject(t) {
			return true // it decodes itself
		}
		hidden := 0
		for i := range u.NumFields() {
			f := u.Field(i)
			switch {
			case !f.Exported() && !f.Embedded():
				hidden++
			case reflect.StructTag(u.Tag(i)).Get("json") != "-" && !fillable(f.Type(), seen):
				return false
			}
		}
		return hidden == 0 || hidden < u.NumFields()
	}
	return true
}

func isContext(t types.Type) bool { return isNamed(t, "context", "Context") }

func isError(t types.Type) bool {
	return types.Identical(types.Unalias(t), types.Universe.Lookup("error").Type())
}

func isString(t types.Type) bool {
	return types.Identical(types.Unalias(t), types.Typ[types.String])
}

func isNamed(t types.Type, path, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == path && n.Obj().Name() == name
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// pointee is the type behind a pointer, and the type itself where it is none.
func pointee(t types.Type) types.Type {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// isRequest recognises *mcp.CallToolRequest, which is an alias of an instance.
func isRequest(t types.Type) bool {
	if !isPointer(t) || !isNamed(pointee(t), sdkPath, "ServerRequest") {
		return false
	}
	args := types.Unalias(pointee(t)).(*types.Named).TypeArgs()
	return args.Len() == 1 && isNamed(pointee(args.At(0)), sdkPath, "CallToolParamsRaw")
}

func isResult(t types.Type) bool {
	return isPointer(t) && isNamed(pointee(t), sdkPath, "CallToolResult")
}

// isContent recognises mcp.Content, the contents of tools that implement it, and a slice of these.
func isContent(t types.Type) bool {
	if slice, ok := types.Unalias(t).(*types.Slice); ok {
		t = slice.Elem()
	}
	if isNamed(t, sdkPath, "Content") {
		return true
	}
	return isPointer(t) && slices.ContainsFunc(contents, func(name string) bool {
		return isNamed(pointee(t), sdkPath, name)
	})
}

// contents are the types of go-sdk's that a result of a tool may have as content.
var contents = []string{
	"TextContent", "ImageContent", "AudioContent", "ResourceLink", "EmbeddedResource",
}

// sdkCure is the cure of a handler that takes *mcp.CallToolRequest and has not go-sdk's shape.
func sdkCure(in, out []*types.Var) string {
	switch {
	case len(in) == 1:
		return "write func(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) " +
			"(*mcp.CallToolResult, any, error) for a tool without arguments, or remove req"
	case len(in) == 2 && len(out) == 1 && isResult(out[0].Type()):
		return "return (*mcp.CallToolResult, any, error), or remove req"
	}
	return "remove req, or write func(ctx context.Context, req *mcp.CallToolRequest, in In) " +
		"(*mcp.CallToolResult, Out, error)"
}

// foreign describes the types of a handler that another MCP SDK declares, or that go-sdk has as
// pointers, and returns the cure. It is empty for other types.
func (s *scanner) foreign(in, out []*types.Var) (wrong, cure string) {
	var other []string
	sdk := ""
	for _, v := range slices.Concat(in, out) {
		t := v.Type()
		if slice, ok := types.Unalias(t).(*types.Slice); ok {
			t = slice.Elem()
		}
		n, ok := types.Unalias(pointee(t)).(*types.Named)
		if !ok || n.Obj().Pkg() == nil || s.prog.Local(n.Obj().Pkg()) {
			continue
		}
		pkg, name := n.Obj().Pkg(), n.Obj().Name()
		switch {
		case pkg.Path() == sdkPath && !isPointer(t) && (name == "CallToolResult" ||
			slices.Contains(contents, name) || isRequest(types.NewPointer(t))):
			if name == "ServerRequest" {
				name = "CallToolRequest"
			}
			return "mcp." + name + " by value", "write *mcp." + name
		case isOtherSDK(pkg):
			other, sdk = append(other, pkg.Name()+"."+name), pkg.Path()
		}
	}
	if sdk == "" {
		return "", ""
	}
	return strings.Join(other, " and ") + " of " + sdk + ", which is another SDK",
		"return *mcp.CallToolResult of " + sdkPath + ", a string or a struct; and take a " +
			"context.Context, then a struct, plain parameters, or args map[string]any with " +
			"//mcp:schema input=FILE"
}

// isOtherSDK recognises an MCP SDK by the type of its results. ToolResponse, the name in
// mcp-golang, is also one in libraries for models.
func isOtherSDK(pkg *types.Package) bool {
	return pkg.Path() != sdkPath && (pkg.Scope().Lookup("CallToolResult") != nil ||
		pkg.Scope().Lookup("ToolResponse") != nil && strings.Contains(pkg.Name(), "mcp"))
}

// isText reports a string type that encoding/json writes as the string itself.
func isText(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	if !ok || basic.Kind() != types.String {
		return false
	}
	methods := types.NewMethodSet(types.NewPointer(t))
	return methods.Lookup(nil, "MarshalJSON") == nil && methods.Lookup(nil, "MarshalText") == nil
}

// isBytes recognises []byte.
func isBytes(t types.Type) bool {
	slice, ok := types.Unalias(t).(*types.Slice)
	return ok && types.Identical(slice.Elem(), types.Typ[types.Byte])
}

// callable returns a handler's parameters without the context and its results without the
// error, or reports why it cannot serve.
func (t *reading) callable() (in, out []*types.Var, ok bool) {
	sig := t.decl.Func.Signature()
	switch {
	case t.unreadable():
		// Most often a type error, which is reported at its own position.
		t.unread = append(t.unread, unread{t.decl.String(), t.at(spanOf(t.decl.Name))})
		return nil, nil, false
	case t.decl.Recv == nil && sig.TypeParams().Len() > 0:
		t.reject(diag.Generic, "annotate a plain func that calls the instance",
			"%s is generic, so the instance is unknown", t)
		return nil, nil, false
	case sig.TypeParams().Len() > 0, sig.RecvTypeParams().Len() > 0,
		t.decl.Recv != nil && generic(t.decl.Recv):
		t.reject(diag.Generic, "annotate the method in an interface that the instance "+
			"satisfies, and pass the instance to Toolset",
			"%s is generic, so the instance is unknown", t)
		return nil, nil, false
	case t.decl.Recv != nil && constraint(t.decl.Recv):
		t.reject(diag.BadShape, "declare an interface with methods only",
			"%s is a type constraint, and no value can have it as its type", t.decl.Recv.Name())
		return nil, nil, false
	case t.decl.Recv != nil && t.decl.Recv.Name() == "_":
		t.reject(diag.BadShape, "give the type a name",
			"%s is a method of a type without a name", t.decl.Func.Name())
		return nil, nil, false
	case t.decl.Name.Name == "_":
		t.reject(diag.BadShape, "give it a name", "a func without a name cannot be called")
		return nil, nil, false
	case sig.Params().Len() == 0 || !isContext(sig.Params().At(0).Type()):
		t.reject(diag.BadShape, shapes, "the first parameter of %s is not context.Context", t)
		return nil, nil, false
	case sig.Results().Len() == 0 || !isError(sig.Results().At(sig.Results().Len()-1).Type()):
		t.reject(diag.BadShape, shapes, "the last result of %s is not error", t)
		return nil, nil, false
	case sig.Variadic():
		last := sig.Params().At(sig.Params().Len() - 1)
		t.report(diag.Variadic, directive.Span{Pos: last.Pos()}, "use a slice", "%s is variadic", t)
		return nil, nil, false
	}
	in, out = t.inputs()[1:], vars(sig.Results())
	return in, out[:len(out)-1], true
}

// inputs returns the parameters of a handler without its token.
func (t *reading) inputs() []*types.Var {
	params := vars(t.decl.Func.Signature().Params())
	if t.decl.Token() != "" {
		return params[:len(params)-1]
	}
	return params
}

// unreadable reports whether a parameter other than the token, or a result, has a type that did not
// check.
func (t *reading) unreadable() bool {
	return slices.ContainsFunc(slices.Concat(t.inputs(), vars(t.decl.Func.Signature().Results())),
		func(v *types.Var) bool { return invalid(v.Type()) })
}

// signature fills the tool's input and output from the handler's signature, or reports why it
// cannot serve.
func (t *reading) signature() {
	if wrong, cure := t.foreign(t.inputs(), vars(t.decl.Func.Signature().Results())); wrong != "" {
		t.reject(diag.BadShape, cure, "%s has %s", t, wrong)
		return
	}
	in, out, ok := t.callable()
	if !ok {
		return
	}
	t.edit(in, out)
	defer func() {
		t.omitted(out)
		t.walker.Edit(nil)
		clear(t.edited)
	}()
	switch {
	case len(in) > 0 && isRequest(in[0].Type()):
		if len(in) != 2 || len(out) != 2 || !isResult(out[0].Type()) {
			t.reject(diag.BadShape, sdkCure(in, out),
				"%s takes *mcp.CallToolRequest, but does not have go-sdk's shape", t)
			return
		}
		t.Handler.SDK = true
		t.params(nil)
		t.structInput(in[1])
		t.sdkOutput(out[1])
		t.guarded(in, out)
		return
	case len(out) == 2 && isResult(out[0].Type()):
		t.reject(diag.BadShape,
			"return only *mcp.CallToolResult, or take req *mcp.CallToolRequest before the input",
			"%s returns *mcp.CallToolResult and an Out, but does not have go-sdk's shape", t)
		return
	case len(out) > 1:
		t.reject(diag.BadShape,
			"return one result and an error; use a struct for several values",
			"%s returns %d results and an error", t, len(out))
		return
	}
	t.input(in)
	if len(out) == 0 {
		t.handNothing()
	} else if !t.unstructured(out[0]) {
		t.structured(out[0])
	}
	t.guarded(in, out)
}

// input reads what a handler takes.
func (t *reading) input(in []*types.Var) {
	switch {
	case len(in) == 0:
		t.Input.Kind = model.NoInput
		t.params(nil)
		if !t.handInput() {
			t.Input.Schema, _ = t.walker.Object(nil)
		}
	case t.whole(in):
		t.params(nil)
		t.structInput(in[0])
	default:
		t.plainInput(in)
	}
}

// whole reports whether the only parameter is the whole input.
func (t *reading) whole(in []*types.Var) bool {
	return len(in) == 1 && (isObject(in[0].Type()) || t.isDocument(in[0]))
}

func vars(t *types.Tuple) []*types.Var { return slices.Collect(t.Variables()) }

func generic(name *types.TypeName) bool {
	n, ok := types.Unalias(name.Type()).(*types.Named)
	return ok && n.TypeParams().Len() > 0
}

// constraint reports whether the type is an interface that only constrains type parameters.
func constraint(name *types.TypeName) bool {
	i, ok := name.Type().Underlying().(*types.Interface)
	return ok && !i.IsMethodSet()
}

// isObject reports whether a single parameter is an input object rather than a plain value:
// a struct, or a pointer to one, that JSON sees field by field. time.Time and its like are values.
func isObject(t types.Type) bool {
	t = pointee(t)
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return false
	}
	methods := types.NewMethodSet(types.NewPointer(t))
	return methods.Lookup(nil, "UnmarshalJSON") == nil && methods.Lookup(nil, "UnmarshalText") == nil
}

// isDocument reports whether a single parameter is the whole input although its type hides its
// fields, and a schema by hand describes it: a struct that decodes itself, a map with string keys,
// or json.RawMessage. If the schema has a property with the parameter's name, the parameter is a
// plain one.
func (t *reading) isDocument(in *types.Var) bool {
	w, typ := t.hand.input, pointee(in.Type())
	if w == nil || w.Text == "" || slices.Contains(w.Properties, naming.Snake(in.Name())) {
		return false
	}
	if isNamed(typ, "encoding/json", "RawMessage") {
		return true
	}
	switch u := typ.Underlying().(type) {
	case *types.Map:
		return types.Identical(u.Key(), types.Typ[types.String])
	case *types.Struct:
		return !schema.Standard(typ) &&
			types.NewMethodSet(types.NewPointer(typ)).Lookup(nil, "UnmarshalJSON") != nil
	}
	return false
}

// invalid reports whether the type holds one that did not check.
func invalid(t types.Type) bool {
	seen := new(typeutil.Map) // by identity: with aliases, each instance may be another pointer
	var walk func(types.Type) bool
	list := func(n int, at func(int) types.Type) bool {
		for i := range n {
			if walk(at(i)) {
				return true
			}
		}
		return false
	}
	walk = func(t types.Type) bool {
		t = types.Unalias(t) // an alias is identical to its type
		if seen.Set(t, true) != nil {
			return false
		}
		switch t := t.(type) {
		case *types.Basic:
			return t.Kind() == types.Invalid
		case *types.Named:
			return list(t.TypeArgs().Len(), func(i int) types.Type { return t.TypeArgs().At(i) }) ||
				walk(t.Underlying())
		case *types.Pointer:
			return walk(t.Elem())
		case *types.Slice:
			return walk(t.Elem())
		case *types.Array:
			return walk(t.Elem())
		case *types.Map:
			return walk(t.Key()) || walk(t.Elem())
		case *types.Struct:
			return list(t.NumFields(), func(i int) types.Type { return t.Field(i).Type() })
		case *types.Signature:
			return walk(t.Params()) || walk(t.Results())
		case *types.Tuple:
			return list(t.Len(), func(i int) types.Type { return t.At(i).Type() })
		}
		return false
	}
	return walk(t)
}
