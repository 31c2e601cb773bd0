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

// structInput reads a handler's only input value.
func (t *reading) structInput(in *types.Var) {
	typ := pointee(in.Type())
	t.Input.Kind = model.StructInput
	t.Input.Pointer = isPointer(in.Type())
	t.Input.Type, t.Input.Outside = gotype.Expr(typ, t.pkg.Types), t.typeForClient(typ)
	var problems []schema.Problem
	t.Input.Schema, problems = t.walker.Input(typ)
	if t.handInput() {
		problems = slices.DeleteFunc(problems, curable) // the walk was for the compile guards
	}
	t.Input.Name = t.base("in ", typ, t.Input.Schema, "Input")
	t.problems(t.byType(problems, in), func(string) directive.Span { return placeOf(t.decl, in) })
	if t.Input.Schema != nil && t.Input.Written == "" {
		t.Input.Codec, t.Input.Uncoded = codecOrReason(t.codecs.Input(typ, t.Input.Schema))
		t.withoutNull(func() { t.Input.Schema, _ = t.walker.Input(typ) })
	}
}

// plainInput makes the input object from the names of plain parameters.
func (t *reading) plainInput(in []*types.Var) {
	t.Input.Kind = model.PlainInput
	var known []string
	for _, v := range in {
		if v.Name() != "" && v.Name() != "_" {
			known = append(known, v.Name())
		}
	}
	described := t.params(known)
	var (
		props  []schema.Property
		owners = map[string]*types.Var{} // by property
	)
	for _, v := range in {
		switch {
		case v.Name() == "" || v.Name() == "_":
			t.report(diag.UnnamedParameter, placeOf(t.decl, v),
				"give every parameter a name: it becomes a property of the input",
				"a plain parameter of %s has no name", t)
			continue
		case isContext(v.Type()) || isRequest(v.Type()):
			t.report(diag.BadShape, placeOf(t.decl, v), shapes,
				"the parameter %s of %s is not a plain value", v.Name(), t)
			continue
		}
		p := model.Param{
			Name: naming.Snake(v.Name()), Go: v.Name(), Field: naming.Field(v.Name()),
			Type: gotype.Expr(v.Type(), t.pkg.Types), Outside: t.typeForClient(v.Type()),
			Nil: isPointer(v.Type()) || schema.Optional(v.Type()) != nil,
		}
		if other := owners[p.Name]; other != nil {
			t.report(diag.UnnamedParameter, placeOf(t.decl, v), "rename one of the two",
				"the parameters %s and %s of %s are the same property, %s", other.Name(), v.Name(),
				t, p.Name)
			continue
		}
		owners[p.Name] = v
		about := described[v.Name()]
		p.Required = !isPointer(v.Type()) && schema.Optional(v.Type()) == nil && (about == nil ||
			!about.Has("default") && !about.Has("nullable") && !about.Has("optional"))
		t.Input.Params = append(t.Input.Params, p)
		props = append(props, schema.Property{
			Name: p.Name, Type: v.Type(), Required: p.Required, Tags: t.tags(about),
		})
	}
	want := naming.LowerFirst(t.decl.Func.Name()) + "Input"
	t.Input.Name = t.names.name("plain "+t.String(), want)
	var problems []schema.Problem
	t.Input.Schema, problems = t.walker.Object(props)
	if t.handInput() {
		problems = slices.DeleteFunc(problems, curable)
	} else if t.Input.Schema != nil && len(problems) == 0 {
		fields := make([]string, len(t.Input.Params))
		for i, p := range t.Input.Params {
			fields[i] = p.Field
		}
		t.Input.Codec, t.Input.Uncoded = codecOrReason(
			t.codecs.Object(t.Input.Name, props, fields, t.Input.Schema))
		t.withoutNull(func() { t.Input.Schema, _ = t.walker.Object(props) })
	}
	t.problems(t.byType(problems, in...), func(path string) directive.Span {
		first := path
		if i := strings.IndexAny(path, ".["); i >= 0 {
			first = path[:i]
		}
		v := owners[first]
		if v == nil {
			return spanOf(t.decl.Name)
		}
		if about := described[v.Name()]; about != nil && first == path {
			return about.Span
		}
		return placeOf(t.decl, v)
	})
}

// withoutNull makes the schema of a tool without a generated decoder again, without the effect of
// optional=null: only a generated decoder treats null as an absent argument.
func (t *reading) withoutNull(again func()) {
	if t.Input.Codec == nil && t.walker.NullOptional {
		t.walker.NullOptional = false
		again()
		t.walker.NullOptional = true
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
func (t *reading) tags(d *directive.Directive) []schema.Tag {
	if d == nil {
		return nil
	}
	var list []schema.Tag
	for _, a := range d.Args {
		switch a.Key {
		case "optional":
			continue
		case "omit":
			t.report(diag.NotBuilt, a.Span, "remove the parameter, or annotate a func without it",
				"omit of //mcp:param is for fields, and %s is a parameter", d.Subject.Text)
			continue
		case "header":
			if name := t.header(d); name != "" {
				list = append(list, schema.Tag{Key: schema.HeaderKey, Value: name})
			}
			continue
		}
		if len(a.Values) == 0 { // nullable, a flag of the tag too
			list = append(list, schema.Tag{Key: a.Key})
		}
		for _, v := range a.Values {
			list = append(list, schema.Tag{Key: a.Key, Value: v.Text})
		}
	}
	return list
}

// structured reads a result with a schema.
func (t *reading) structured(out *types.Var) {
	sch, object, problems := t.walker.Output(out.Type())
	t.readable(out)
	if t.handOutput(out.Type()) {
		return
	}
	t.Output = model.Output{
		Kind: model.ObjectOutput, Type: gotype.Expr(out.Type(), t.pkg.Types),
		Outside: t.typeForClient(out.Type()), Name: t.base("out ", out.Type(), sch, "Result"),
		Schema: sch,
	}
	if !object {
		t.Output.Kind = model.ValueOutput
	}
	for i := range problems {
		p := &problems[i]
		if strings.Contains(p.Cure, schema.ByHand) && !strings.ContainsAny(p.Path, ".[") {
			p.Cure += ", or output=none for a result"
		}
	}
	t.problems(t.byType(problems, out), func(string) directive.Span { return placeOf(t.decl, out) })
}

// unstructured reads a result that the server does not send as structured content: content of
// go-sdk's, or a result with output=none or output=text. It is false for any other result.
func (t *reading) unstructured(out *types.Var) bool {
	typ := out.Type()
	tool := t.decl.Find("tool")
	mode := cmp.Or(t.defaultsOf().output, t.defaults[""].output)
	arg, own := tool.Arg("output")
	if own {
		mode = tool.Text("output")
	}
	o := model.Output{Type: gotype.Expr(typ, t.pkg.Types), Outside: t.typeForClient(typ),
		MIMEType: tool.Text("mimetype")}
	made := !t.Handler.SDK && (isResult(typ) || isContent(typ))
	plain := mode == "none" || mode == "text"
	var wrong, cure string
	code := diag.Contradiction
	switch {
	case own && made:
		wrong, cure = "returns content", "remove output="
	case own && plain && t.hand.output != nil:
		wrong, cure = "an output schema by hand", "remove one of the two"
	case made && isResult(typ):
		o.Kind = model.SDKOutput
		if t.hand.output != nil {
			t.handOutput(typ)
			o, o.Kind = t.Output, model.SDKOutput
		}
	case made && t.hand.output != nil:
		arg = t.hand.output.arg
		wrong, cure = "returns content, which has no schema", "remove output="
	case made:
		o.Kind = model.ContentOutput
	case !plain || t.hand.output != nil:
		return t.noMediaType(o, false)
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
		t.report(code, arg.Span, cure, "%s has output= and %s", t, wrong)
	}
	t.Output = o
	if o.Kind == model.JSONOutput {
		t.readable(out)
	}
	return t.noMediaType(o, true)
}

// readable reports a result that a typed client cannot read.
func (t *reading) readable(out *types.Var) {
	if t.Service.Server.Client == "" {
		return
	}
	// A walker of its own: the generated code of the server reads no result.
	w := schema.New(t.pkg.Types, t.prog)
	w.Edit(t.edits)
	_, problems := w.Input(out.Type())
	t.problems(slices.DeleteFunc(problems, curable),
		func(string) directive.Span { return placeOf(t.decl, out) })
}

// noMediaType reports a mimetype= that is missing, has no effect or is malformed, and returns done.
func (t *reading) noMediaType(o model.Output, done bool) bool {
	tool := t.decl.Find("tool")
	arg, ok := tool.Arg("mimetype")
	_, _, err := mime.ParseMediaType(o.MIMEType)
	switch wanted := o.Kind == model.BytesOutput; {
	case wanted && !ok:
		arg, _ = tool.Arg("output")
		t.report(diag.MissingKey, arg.Span, "write mimetype=, for example mimetype=image/png",
			"%s returns a []byte with output=text and has no mimetype=", t)
	case ok && !wanted:
		t.report(diag.Contradiction, arg.Span,
			"return a []byte and write output=text, or remove mimetype=",
			"mimetype= is for a []byte with output=text")
	case ok && (err != nil || !strings.Contains(o.MIMEType, "/")):
		t.report(diag.BadValue, arg.Span, "write TYPE/SUBTYPE, for example mimetype=image/png",
			"%q is not a media type", o.MIMEType)
	}
	return done
}

// sdkOutput reads the Out of a handler of go-sdk's shape. It may be any, without a schema, because
// the handler may make the whole result.
func (t *reading) sdkOutput(out *types.Var) {
	if t.unstructured(out) {
		return
	}
	if i, ok := out.Type().Underlying().(*types.Interface); ok && i.Empty() && t.hand.output == nil {
		t.Output = model.Output{Kind: model.ObjectOutput,
			Type: gotype.Expr(out.Type(), t.pkg.Types), Outside: t.typeForClient(out.Type())}
		return
	}
	t.structured(out)
}

// edit reads //mcp:param of fields of structs of other modules, which the author cannot edit.
// Behind a pointer, all fields of such a struct are optional: the nil pointer has none.
func (t *reading) edit(in, out []*types.Var) {
	if len(in) > 0 && isRequest(in[0].Type()) {
		in = in[1:]
	}
	t.edits, t.fields = map[*types.Var]schema.Edit{}, map[*directive.Directive]bool{}
	for _, v := range in {
		n, ok := types.Unalias(pointee(v.Type())).(*types.Named)
		if ok && isPointer(v.Type()) && isObject(n) && !t.prog.Local(n.Obj().Pkg()) {
			for _, field := range t.walker.Unrequired(n) {
				t.edits[field] = schema.Edit{Optional: true}
			}
		}
	}
	seen := map[string]bool{}
	for _, d := range t.decl.Directives {
		isParam := slices.ContainsFunc(in, func(v *types.Var) bool {
			return v.Name() == d.Subject.Text && !t.whole(in)
		})
		if d.Name != "param" || d.Subject.Text == "" || isParam {
			continue
		}
		argument, near := t.fieldOf(d, in)
		var result *types.Var
		if last := len(out) - 1; last >= 0 && t.hand.output == nil && !isResult(out[last].Type()) &&
			!isContent(out[last].Type()) {
			var names []string
			result, names = t.walker.Lookup(out[last].Type(), strings.Split(d.Subject.Text, "."))
			near = append(near, names...)
		}
		foreign := func(v *types.Var) bool { return v != nil && !t.prog.Local(v.Pkg()) }
		switch ofField := d.Has("optional") || d.Has("omit") || d.Has("header"); {
		case foreign(argument) || foreign(result):
			if t.fields[d] = true; seen[d.Subject.Text] {
				t.report(diag.Duplicate, directive.Span{Pos: d.Pos}, "remove one of the two",
					"//mcp:param %s is written twice", d.Subject.Text)
				continue
			}
			seen[d.Subject.Text] = true
			if !foreign(argument) {
				argument = nil
			}
			if !foreign(result) {
				result = nil
			}
			t.editField(d, argument, result)
		case ofField && (argument != nil || result != nil):
			t.fields[d] = true
			cure := `write omitempty, json:"-" or jsonschema_extras:"x-mcp-header=…" in the tag of the field`
			if argument != nil && t.hasRule(argument) || result != nil && t.hasRule(result) {
				cure = "remove it, or write omitempty in the tag of the field, which has a rule"
			}
			t.report(diag.UnknownParameter, d.Subject.Span, cure,
				"%s is a field of this module, and //mcp:param is for those of other modules",
				d.Subject.Text)
		case ofField && len(near) > 0:
			t.fields[d] = true
			slices.Sort(near)
			path := d.Subject.Text[:strings.LastIndexByte(d.Subject.Text, '.')+1]
			t.report(diag.UnknownParameter, d.Subject.Span,
				directive.Nearest(path, d.Subject.Text[len(path):], slices.Compact(near)),
				"%s has neither a parameter nor a field %s", t, d.Subject.Text)
		}
	}
	t.walker.Edit(t.edits)
	if last := len(out) - 1; last >= 0 && len(t.Omits) == 0 && t.hand.output == nil &&
		t.walker.Omits(out[last].Type()) { // the result has a field of the arguments in another place
		for d := range t.fields {
			if d.Has("omit") {
				t.Omits = append(t.Omits, d.Subject.Text)
			}
		}
	}
}

// fieldOf finds the field of the arguments that a //mcp:param names: by the name of a plain
// parameter, then the names of properties. near are the names in its place.
func (t *reading) fieldOf(d *directive.Directive, in []*types.Var) (*types.Var, []string) {
	path := strings.Split(d.Subject.Text, ".")
	switch {
	case t.hand.input != nil:
	case t.whole(in):
		return t.walker.Lookup(in[0].Type(), path)
	case len(path) > 1:
		for _, v := range in {
			if v.Name() == path[0] {
				return t.walker.Lookup(v.Type(), path[1:])
			}
		}
	}
	return nil, nil
}

// editField reads the keys of a //mcp:param of a field: in the arguments, in the result or in both.
func (t *reading) editField(d *directive.Directive, argument, result *types.Var) {
	e := schema.Edit{Optional: d.Has("optional"), Omit: d.Has("omit"), Header: t.header(d)}
	for _, a := range d.Args {
		switch {
		case a.Key != "optional" && a.Key != "omit" && a.Key != "header":
			t.report(diag.NotBuilt, a.Span, "remove it, or take a struct of your own",
				"%s of //mcp:param is for plain parameters, and %s is a field of another module", a.Key,
				d.Subject.Text)
		case a.Key != "omit" && e.Omit:
			t.report(diag.Contradiction, a.Span, "remove one of the two",
				"//mcp:param %s has omit and %s", d.Subject.Text, a.Key)
		case a.Key == "header" && argument == nil:
			t.report(diag.Contradiction, a.Span, "remove header=",
				"%s is a field of the result, and headers are for arguments", d.Subject.Text)
		case a.Key == "omit" && argument != nil && t.Service.Server.Client != "":
			t.report(diag.Contradiction, a.Span, "take a struct of your own, or remove client=",
				"the typed client would send %s, because the type of the arguments has it",
				d.Subject.Text)
		case a.Key == "omit" && result != nil:
			t.Omits = append(t.Omits, d.Subject.Text)
		}
	}
	for _, v := range []*types.Var{argument, result} {
		if v != nil {
			other := t.edits[v] // by another path, or of a pointer
			t.edits[v] = schema.Edit{Optional: e.Optional || other.Optional, Omit: e.Omit || other.Omit,
				Header: cmp.Or(e.Header, other.Header)}
			t.edited[v] = d.Span
		}
	}
}

// omitted reports fields that the result keeps, because the server does not encode it by a schema,
// or because the schema of a part is not made from its fields.
func (t *reading) omitted(out []*types.Var) {
	slices.Sort(t.Omits)
	for _, d := range t.decl.Directives {
		arg, ok := d.Arg("omit")
		if !ok || !slices.Contains(t.Omits, d.Subject.Text) {
			continue
		}
		if t.Handler.SDK || t.Output.Kind != model.NoOutput && !t.Output.Kind.Structured() {
			t.report(diag.Contradiction, arg.Span, "return a struct of your own",
				"omit is for structured content, and %s returns another result", t)
		} else if kept := t.walker.Kept(out[len(out)-1].Type()); kept != "" {
			t.report(diag.Contradiction, arg.Span, "return a struct of your own",
				"the server cannot leave %s out of the result: %s", d.Subject.Text, kept)
		}
	}
}

// header returns the HTTP header of a //mcp:param without its prefix; empty for none.
func (t *reading) header(d *directive.Directive) string {
	const prefix = "Mcp-Param-"
	arg, ok := d.Arg("header")
	if !ok {
		return ""
	}
	name, found := strings.CutPrefix(d.Text("header"), prefix)
	if !found || !schema.IsHeader(name) {
		t.report(diag.BadValue, arg.Span, "write "+prefix+" and a name of letters, digits and -, for "+
			"example header=Mcp-Param-Region", "header=%s is not a header of an argument", d.Text("header"))
		return ""
	}
	return name
}

// placeOf is the position of a parameter or result in the source; for unnamed ones it is that of
// their handler's name.
func placeOf(d *annotated.Decl, v *types.Var) directive.Span {
	if v.Pos().IsValid() && v.Name() != "" {
		return named(v)
	}
	return spanOf(d.Name)
}

// within is the place in source of a byte of a tag, or the tag's place if it is no raw string.
func within(tag *ast.BasicLit, offset int) directive.Span {
	if text, err := strconv.Unquote(tag.Value); err == nil && tag.Value == "`"+text+"`" {
		return directive.Span{Pos: tag.Pos() + 1 + token.Pos(offset), End: tag.End()}
	}
	return spanOf(tag)
}
