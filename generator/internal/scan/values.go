package scan

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// noInput gives a handler without input the schema of the empty object.
func (s *scanner) noInput(d *annotated.Decl, t *model.Tool) {
	if !s.handInput(d, t) {
		t.Input.Schema, _ = s.walker.Object(nil)
	}
}

// structInput reads a handler's only input value.
func (s *scanner) structInput(d *annotated.Decl, t *model.Tool, in *types.Var) {
	typ := pointee(in.Type())
	t.Input.Kind = model.StructInput
	t.Input.Pointer = isPointer(in.Type())
	t.Input.Type, t.Input.Outside = gotype.Expr(typ, s.pkg.Types), s.typeForClient(typ)
	var problems []schema.Problem
	t.Input.Schema, problems = s.walker.Input(typ)
	if s.handInput(d, t) {
		problems = slices.DeleteFunc(problems, curable) // the walk was for the compile guards
	}
	t.Input.Name = s.base("in ", d, typ, t.Input.Schema, "Input")
	s.problems(problems, func(string) (token.Pos, token.Pos) { return placeOf(d, in) })
	if t.Input.Schema != nil && t.Input.Written == "" {
		codec, err := s.codecs.Input(typ, t.Input.Schema)
		t.Input.Codec, t.Input.Uncoded = codecOrReason(codec, err)
		s.withoutNull(t, func() { t.Input.Schema, _ = s.walker.Input(typ) })
	}
}

// plainInput makes the input object from the names of plain parameters.
func (s *scanner) plainInput(d *annotated.Decl, t *model.Tool, in []*types.Var) {
	t.Input.Kind = model.PlainInput
	var known []string
	for _, v := range in {
		if v.Name() != "" && v.Name() != "_" {
			known = append(known, v.Name())
		}
	}
	described := s.params(d, known)
	var (
		props  []schema.Property
		owners = map[string]*types.Var{} // by property
	)
	for _, v := range in {
		switch {
		case v.Name() == "" || v.Name() == "_":
			pos, end := placeOf(d, v)
			s.report(diag.UnnamedParameter, pos, end,
				"give every parameter a name: it becomes a property of the input",
				"a plain parameter of %s has no name", d)
			continue
		case isContext(v.Type()) || isRequest(v.Type()):
			pos, end := placeOf(d, v)
			s.report(diag.BadShape, pos, end, shapes, "the parameter %s of %s is not a plain value",
				v.Name(), d)
			continue
		}
		p := model.Param{
			Name: naming.Snake(v.Name()), Go: v.Name(), Field: naming.Field(v.Name()),
			Type: gotype.Expr(v.Type(), s.pkg.Types), Outside: s.typeForClient(v.Type()),
			Nil: isPointer(v.Type()) || schema.Optional(v.Type()) != nil,
		}
		if other := owners[p.Name]; other != nil {
			pos, end := placeOf(d, v)
			s.report(diag.UnnamedParameter, pos, end, "rename one of the two",
				"the parameters %s and %s of %s are the same property, %s", other.Name(), v.Name(),
				d, p.Name)
			continue
		}
		owners[p.Name] = v
		about := described[v.Name()]
		p.Required = !isPointer(v.Type()) && schema.Optional(v.Type()) == nil &&
			(about == nil || !about.Has("default") && !about.Has("nullable"))
		t.Input.Params = append(t.Input.Params, p)
		props = append(props, schema.Property{
			Name: p.Name, Type: v.Type(), Required: p.Required, Tags: tags(about),
		})
	}
	t.Input.Name = s.names.name("plain "+d.String(), naming.LowerFirst(d.Func.Name())+"Input")
	var problems []schema.Problem
	t.Input.Schema, problems = s.walker.Object(props)
	if s.handInput(d, t) {
		problems = slices.DeleteFunc(problems, curable)
	} else if t.Input.Schema != nil && len(problems) == 0 {
		fields := make([]string, len(t.Input.Params))
		for i, p := range t.Input.Params {
			fields[i] = p.Field
		}
		codec, err := s.codecs.Object(t.Input.Name, props, fields, t.Input.Schema)
		t.Input.Codec, t.Input.Uncoded = codecOrReason(codec, err)
		s.withoutNull(t, func() { t.Input.Schema, _ = s.walker.Object(props) })
	}
	s.problems(problems, func(path string) (token.Pos, token.Pos) {
		first := path
		if i := strings.IndexAny(path, ".["); i >= 0 {
			first = path[:i]
		}
		v := owners[first]
		if v == nil {
			return d.Name.Pos(), d.Name.End()
		}
		if about := described[v.Name()]; about != nil && first == path {
			return about.Pos, about.End
		}
		return placeOf(d, v)
	})
}

// withoutNull makes the schema of a tool without a generated decoder again, without the effect of
// optional=null: only a generated decoder treats null as an absent argument.
func (s *scanner) withoutNull(t *model.Tool, again func()) {
	if t.Input.Codec == nil && s.walker.NullOptional {
		s.walker.NullOptional = false
		again()
		s.walker.NullOptional = true
	}
}

// curable reports a problem that a schema by hand solves.
func curable(p schema.Problem) bool { return !p.Panics }

// codecOrReason is a codec, or the reason that there is none.
func codecOrReason(codec *model.Codec, err error) (*model.Codec, string) {
	if err != nil {
		return nil, err.Error()
	}
	return codec, ""
}

// tags turns //mcp:param into the keys of the jsonschema tag.
func tags(d *directive.Directive) []schema.Tag {
	if d == nil {
		return nil
	}
	var list []schema.Tag
	for _, a := range d.Args {
		if len(a.Values) == 0 { // nullable, a flag of the tag too
			list = append(list, schema.Tag{Key: a.Key})
		}
		for _, v := range a.Values {
			list = append(list, schema.Tag{Key: a.Key, Value: v.Text})
		}
	}
	return list
}

// output reads a handler's result.
func (s *scanner) output(d *annotated.Decl, t *model.Tool, out *types.Var) {
	if !s.unstructured(d, t, out.Type()) {
		s.structured(d, t, out)
	}
}

// structured reads a result with a schema.
func (s *scanner) structured(d *annotated.Decl, t *model.Tool, out *types.Var) {
	sch, object, problems := s.walker.Output(out.Type())
	if s.handOutput(d, t, out.Type()) {
		return
	}
	t.Output = model.Output{
		Kind: model.ObjectOutput, Type: gotype.Expr(out.Type(), s.pkg.Types),
		Outside: s.typeForClient(out.Type()), Name: s.base("out ", d, out.Type(), sch, "Result"),
		Schema: sch,
	}
	if !object {
		t.Output.Kind = model.ValueOutput
	}
	for i := range problems {
		p := &problems[i]
		if strings.HasSuffix(p.Cure, schema.ByHand) && !strings.ContainsAny(p.Path, ".[") {
			p.Cure += ", or output=none for a result"
		}
	}
	s.problems(problems, func(string) (token.Pos, token.Pos) { return placeOf(d, out) })
}

// unstructured reads a result that the server does not send as structured content: content of
// go-sdk's, or a result with output=none or output=text. It is false for any other result.
func (s *scanner) unstructured(d *annotated.Decl, t *model.Tool, typ types.Type) bool {
	tool := d.Find("tool")
	mode := cmp.Or(s.defaultsOf(d).output, s.defaults[""].output)
	arg, own := tool.Arg("output")
	if own {
		mode = tool.Text("output")
	}
	o := model.Output{Type: gotype.Expr(typ, s.pkg.Types), Outside: s.typeForClient(typ),
		MIMEType: tool.Text("mimetype")}
	made := !t.Handler.SDK && (isResult(typ) || isContent(typ))
	plain := mode == "none" || mode == "text"
	var wrong, cure string
	code := diag.Contradiction
	switch {
	case own && made:
		wrong, cure = "returns content", "remove output="
	case own && plain && s.hand.output != nil:
		wrong, cure = "an output schema by hand", "remove one of the two"
	case made && isResult(typ):
		o.Kind = model.SDKOutput
		if s.hand.output != nil {
			s.handOutput(d, t, typ)
			o, o.Kind = t.Output, model.SDKOutput
		}
	case made && s.hand.output != nil:
		arg = s.hand.output.arg
		wrong, cure = "returns content, which has no schema", "remove output="
	case made:
		o.Kind = model.ContentOutput
	case !plain || s.hand.output != nil:
		return s.noMediaType(d, o, false)
	case mode == "text" && t.Handler.SDK:
		code = diag.BadShape
		wrong, cure = "go-sdk's shape", "write output=none, or write the text "+
			"into the *mcp.CallToolResult"
	case isText(typ) && !t.Handler.SDK:
		o.Kind = model.TextOutput
	case mode == "none":
		o.Kind = model.JSONOutput
	case isBytes(typ):
		o.Kind = model.BytesOutput
	default:
		code = diag.BadShape
		wrong, cure = "returns neither a string nor a []byte", "write output=none"
	}
	if wrong != "" {
		s.report(code, arg.Pos, arg.End, cure, "%s has output= and %s", d, wrong)
	}
	t.Output = o
	return s.noMediaType(d, o, true)
}

// noMediaType reports a mimetype= that is missing, has no effect or is malformed, and returns done.
func (s *scanner) noMediaType(d *annotated.Decl, o model.Output, done bool) bool {
	tool := d.Find("tool")
	arg, ok := tool.Arg("mimetype")
	_, _, err := mime.ParseMediaType(o.MIMEType)
	switch wanted := o.Kind == model.BytesOutput; {
	case wanted && !ok:
		arg, _ = tool.Arg("output")
		s.report(diag.MissingKey, arg.Pos, arg.End, "write mimetype=, for example mimetype=image/png",
			"%s returns a []byte with output=text and has no mimetype=", d)
	case ok && !wanted:
		s.report(diag.Contradiction, arg.Pos, arg.End,
			"return a []byte and write output=text, or remove mimetype=",
			"mimetype= is for a []byte with output=text")
	case ok && (err != nil || !strings.Contains(o.MIMEType, "/")):
		s.report(diag.BadValue, arg.Pos, arg.End, "write TYPE/SUBTYPE, for example mimetype=image/png",
			"%q is not a media type", o.MIMEType)
	}
	return done
}

// sdkOutput reads the Out of a handler of go-sdk's shape. It may be any, without a schema, because
// the handler may make the whole result.
func (s *scanner) sdkOutput(d *annotated.Decl, t *model.Tool, out *types.Var) {
	if s.unstructured(d, t, out.Type()) {
		return
	}
	if i, ok := out.Type().Underlying().(*types.Interface); ok && i.Empty() && s.hand.output == nil {
		t.Output = model.Output{Kind: model.ObjectOutput,
			Type: gotype.Expr(out.Type(), s.pkg.Types), Outside: s.typeForClient(out.Type())}
		return
	}
	s.structured(d, t, out)
}

// placeOf is the position of a parameter or result in the source; for unnamed ones it is that of
// their handler's name.
func placeOf(d *annotated.Decl, v *types.Var) (pos, end token.Pos) {
	if v.Pos().IsValid() && v.Name() != "" {
		return v.Pos(), v.Pos() + token.Pos(len(v.Name()))
	}
	return d.Name.Pos(), d.Name.End()
}

// within is the place in source of a byte of a tag, or the tag's place if it is no raw string.
func within(tag *ast.BasicLit, offset int) (pos, end token.Pos) {
	if text, err := strconv.Unquote(tag.Value); err == nil && tag.Value == "`"+text+"`" {
		return tag.Pos() + 1 + token.Pos(offset), tag.End()
	}
	return tag.Pos(), tag.End()
}
