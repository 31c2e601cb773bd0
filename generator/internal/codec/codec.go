// Package codec plans the decoders of tools: it pairs a Go type with the schema of its arguments in
// one [model.Codec]. A type that generated code cannot decode exactly by the schema is an error.
package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Planner plans the decoders of one package's tools. It keeps the objects of the codecs made, and
// is not safe for concurrent use.
type Planner struct {
	walker  *schema.Walker
	pkg     *types.Package // that the decoders belong to
	objects map[string]*model.Object
	names   typeutil.Map // of objects, by their types
}

// nameOf returns the name of the object of a type, one for each variant of its fields. Identical
// types have one, though aliases among their arguments may be written in another way at each place.
func (p *Planner) nameOf(t types.Type) string {
	name, known := p.names.At(t).(string)
	if !known {
		name = types.TypeString(t, nil)
		p.names.Set(t, name)
	}
	return name + p.walker.Variant()
}

// New returns a planner for the decoders of a package, whose schemas the walker made.
func New(pkg *types.Package, walker *schema.Walker) *Planner {
	return &Planner{walker: walker, pkg: pkg, objects: map[string]*model.Object{}}
}

// Input pairs a type with the schema that Walker.Input made of it. The error names the part that
// generated code cannot decode exactly as the schema demands; the schema validator has to do it.
func (p *Planner) Input(t types.Type, s *jsonschema.Schema) (*model.Codec, error) {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem() // the caller's own pointer
	}
	c := p.coder(s)
	// A root contains the remaining $defs.
	root := *s
	root.Definitions = nil
	codec, err := c.value(t, &root)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.objects, c.made)
	return &codec, nil
}

// Object is Input for the schema that Walker.Object made. fields are the Go names that the
// properties have in the generated struct, in the same order. name is the name of the object.
func (p *Planner) Object(
	name string, props []schema.Property, fields []string, s *jsonschema.Schema,
) (*model.Codec, error) {
	c := p.coder(s)
	object := &model.Object{Name: name}
	for i, prop := range props {
		f := model.ObjectField{Name: prop.Name, Path: []model.Selector{{Name: fields[i]}}}
		if err := c.field(object, f, prop.Type, s, false); err != nil {
			return nil, err
		}
	}
	c.made[name] = object
	maps.Copy(p.objects, c.made)
	return &model.Codec{Kind: model.ObjectCodec, Name: name}, nil
}

// Objects is every object of the codecs made, sorted by name.
func (p *Planner) Objects() []model.Object {
	var list []model.Object
	for _, name := range slices.Sorted(maps.Keys(p.objects)) {
		list = append(list, *p.objects[name])
	}
	return list
}

// coder pairs the types and schemas of one root.
type coder struct {
	*Planner
	root  *jsonschema.Schema
	made  map[string]*model.Object
	depth int // nesting of inner
}

func (p *Planner) coder(root *jsonschema.Schema) *coder {
	return &coder{Planner: p, root: root, made: map[string]*model.Object{}}
}

// value makes the codec of a place that holds a t.
func (c *coder) value(t types.Type, s *jsonschema.Schema) (model.Codec, error) {
	var codec model.Codec
	for {
		ptr, ok := types.Unalias(t).(*types.Pointer)
		if !ok {
			break
		}
		t = ptr.Elem()
		codec.Pointers++
	}
	_, choice := typesOf(s.AnyOf)
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" && !(choice && isDynamic(t)) {
		outer := noted(s)
		outer.AnyOf = nil
		if !empty(outer) {
			return codec, errors.New("a choice with its own limits")
		}
		codec.Nullable = true
		s = s.AnyOf[0]
	}
	if key, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		outer := noted(s)
		outer.Ref = ""
		if s = c.root.Definitions[key]; s == nil || !empty(outer) {
			return codec, errors.New("a reference with its own limits")
		}
	}
	t = types.Unalias(t)
	if !gotype.CanWrite(t, c.pkg) {
		return codec, fmt.Errorf("the type %s cannot be named in generated code", gotype.Plain(t))
	}
	codec.Type = gotype.Expr(t, c.pkg)
	if elem := schema.Optional(t); elem != nil {
		codec.Kind, codec.Nullable = model.OptionalCodec, false
		return codec, c.inner(&codec, elem, s)
	}
	rest := noted(s)
	if err := c.form(&codec, t, &rest); err != nil {
		return codec, err
	}
	if codec.Pointers > 0 && takesNull(codec) {
		codec.Nullable = true // encoding/json makes the pointer nil before it looks at the value
	}
	if len(rest.OneOf)+len(rest.AnyOf) > 0 {
		return codec, fmt.Errorf("%s is a choice of several schemas", gotype.Plain(t))
	}
	if !empty(rest) {
		return codec, fmt.Errorf("%s has a schema that differs from its Go type", gotype.Plain(t))
	}
	return codec, nil
}

// takesNull reports the codec of a value of any kind, of which null is one.
func takesNull(c model.Codec) bool {
	typed := func(check model.Check) bool {
		return check.Keyword == "type" && !slices.Contains(check.Values, "null")
	}
	return (c.Kind == model.AnyCodec || c.Kind == model.RawCodec) &&
		!slices.ContainsFunc(c.Checks, typed)
}

// quoted makes the codec of a field with the string option of encoding/json.
func (c *coder) quoted(t types.Type, s *jsonschema.Schema) (model.Codec, error) {
	inner := *s
	outer := &inner
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		inside := *s.AnyOf[0]
		inner.AnyOf = []*jsonschema.Schema{&inside, s.AnyOf[1]}
		outer = &inside
	}
	// The codec is that of the number or the boolean, and the schema limits its text.
	text := noted(outer)
	elem := types.Unalias(t)
	if ptr, ok := elem.(*types.Pointer); ok {
		elem = types.Unalias(ptr.Elem())
	}
	basic, ok := elem.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsString != 0 {
		return model.Codec{}, errors.New("a string option on a string")
	}
	if c.walker.ReadsJSON(elem) || c.walker.ReadsText(elem) {
		return model.Codec{}, fmt.Errorf("a string option on %s, which has a method",
			gotype.Plain(elem))
	}
	form := map[types.BasicInfo]string{
		types.IsFloat: schema.NumberPattern, types.IsUnsigned: schema.UnsignedPattern,
		0: schema.SignedPattern,
	}[basic.Info()&(types.IsFloat|types.IsUnsigned)]
	*outer = jsonschema.Schema{Type: "integer"}
	switch {
	case basic.Info()&types.IsBoolean != 0:
		*outer, form = jsonschema.Schema{Type: "boolean"}, ""
		if !reflect.DeepEqual(text.Enum, []any{"true", "false"}) {
			return model.Codec{}, errors.New("a string option with its own enum")
		}
		text.Enum = nil
	case basic.Info()&types.IsFloat != 0:
		outer.Type = "number"
	}
	if text.Pattern != form {
		return model.Codec{}, errors.New("a string option with its own pattern")
	}
	text.Pattern = ""
	codec, err := c.value(t, &inner)
	if err != nil {
		return codec, err
	}
	codec.Quoted = true
	if form != "" {
		addCheck(&codec, "pattern", form)
	}
	if err := c.text(&codec, &text); err != nil {
		return codec, err
	}
	if !empty(text) {
		return codec, errors.New("a string option with limits that are not for strings")
	}
	return codec, nil
}

// isDynamic reports types that hold JSON of any kind.
func isDynamic(t types.Type) bool {
	t = types.Unalias(t)
	n, ok := t.(*types.Named)
	return types.IsInterface(t) || ok && types.TypeString(n, nil) == "encoding/json.RawMessage"
}

// choice reads the types that a value of any kind may have.
func (c *coder) choice(codec *model.Codec, rest *jsonschema.Schema) error {
	switch one, isOne := typesOf(rest.OneOf); {
	case rest.Type != "":
		addCheck(codec, "type", rest.Type)
		rest.Type = ""
	case isOne && len(rest.AnyOf) == 0:
		distinct := slices.Compact(slices.Sorted(slices.Values(one)))
		overlap := slices.Contains(one, "integer") && slices.Contains(one, "number")
		if overlap || len(one) > len(distinct) {
			return errors.New("a choice of types that exclude each other")
		}
		addCheck(codec, "type", one...)
		rest.OneOf = nil
	case len(rest.OneOf) == 0:
		if some, ok := typesOf(rest.AnyOf); ok {
			addCheck(codec, "type", some...)
			rest.AnyOf = nil
		}
	}
	if codec.Nullable && len(codec.Checks) > 0 {
		return errors.New("a choice of types that may also be null")
	}
	return nil
}

// typesOf returns the types of alternatives without other keywords.
func typesOf(alternatives []*jsonschema.Schema) (names []string, ok bool) {
	for _, s := range alternatives {
		if s.Type == "" || !reflect.DeepEqual(*s, jsonschema.Schema{Type: s.Type}) {
			return nil, false
		}
		names = append(names, s.Type)
	}
	return names, len(names) > 0
}

// noted is a copy of a schema without its annotations. The reader of a keyword deletes it from the
// copy: the keywords left at the end are unread.
func noted(s *jsonschema.Schema) jsonschema.Schema {
	rest := *s
	rest.Title, rest.Description, rest.Comments, rest.Default, rest.Examples = "", "", "", nil, nil
	rest.Deprecated, rest.ReadOnly, rest.WriteOnly, rest.Extras = false, false, false, nil
	return rest
}

func empty(s jsonschema.Schema) bool { return reflect.DeepEqual(s, jsonschema.Schema{}) }

// typed deletes the type from a schema, which must be the wanted one.
func typed(rest *jsonschema.Schema, want string) error {
	if rest.Type != want {
		return fmt.Errorf("%s in the schema is not a %s in Go", schema.Describe(rest), want)
	}
	rest.Type = ""
	return nil
}

// form finds the JSON form of the type and reads its keywords.
func (c *coder) form(codec *model.Codec, t types.Type, rest *jsonschema.Schema) error {
	n, isNamed := t.(*types.Named)
	if isNamed {
		if done, err := c.fixed(codec, types.TypeString(n, nil), rest); done {
			return err
		}
	}
	if c.walker.ReadsJSON(t) {
		return fmt.Errorf("%s has its own UnmarshalJSON", gotype.Plain(t))
	}
	if c.walker.ReadsText(t) || isNamed && types.TypeString(n, nil) == "log/slog.Level" {
		codec.Kind = model.TextCodec
		return c.text(codec, rest)
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return c.object(codec, t, u, rest)
	case *types.Slice:
		if rest.ContentEncoding == "base64" {
			codec.Kind = model.BytesCodec
			if !types.Identical(types.Unalias(u.Elem()), types.Typ[types.Uint8]) {
				codec.Kind = model.NamedBytesCodec
			}
			rest.ContentEncoding = ""
			return c.text(codec, rest)
		}
		codec.Kind = model.ListCodec
		return c.elements(codec, u.Elem(), rest)
	case *types.Array:
		codec.Kind = model.ArrayCodec
		return c.elements(codec, u.Elem(), rest)
	case *types.Map:
		return c.mapped(codec, u, rest)
	case *types.Interface:
		codec.Kind = model.AnyCodec
		return c.choice(codec, rest)
	case *types.Basic:
		return c.scalar(codec, u, rest)
	}
	return fmt.Errorf("%s has no generated decoder", gotype.Plain(t))
}

// fixed handles the types of the standard library with a form of their own.
func (c *coder) fixed(
	codec *model.Codec, name string, rest *jsonschema.Schema,
) (done bool, err error) {
	switch name {
	case "time.Time":
		if rest.Format != "date-time" {
			return true, errors.New("a time.Time with its own format")
		}
		codec.Kind, rest.Format = model.TimeCodec, ""
		return true, c.text(codec, rest)
	case "encoding/json.RawMessage":
		codec.Kind = model.RawCodec
		return true, c.choice(codec, rest)
	case "encoding/json.Number":
		codec.Kind = model.NumeralCodec
		return true, c.number(codec, rest)
	case "math/big.Int":
		codec.Kind = model.BigIntCodec
		if err := typed(rest, "integer"); err != nil {
			return true, err
		}
		rest.Type = "number"
		return true, c.number(codec, rest)
	}
	return false, nil
}

// asserted are the formats that runtime/decode and the schema validator check. Another format is an
// annotation.
var asserted = []string{
	"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "iri", "iri-reference",
	"json-pointer", "period", "regex", "relative-json-pointer", "semver", "time", "uri",
	"uri-reference", "uri-template", "uuid",
}

// text reads the keywords of strings.
func (c *coder) text(codec *model.Codec, rest *jsonschema.Schema) error {
	if err := typed(rest, "string"); err != nil {
		return err
	}
	if err := enum(codec, rest); err != nil {
		return err
	}
	if slices.Contains(asserted, rest.Format) {
		addCheck(codec, "format", rest.Format)
	}
	rest.Format = ""
	limit(codec, "minLength", &rest.MinLength)
	limit(codec, "maxLength", &rest.MaxLength)
	if rest.Pattern != "" {
		addCheck(codec, "pattern", rest.Pattern)
		rest.Pattern = ""
	}
	return nil
}

// addCheck adds a keyword that generated code checks.
func addCheck(codec *model.Codec, keyword string, values ...string) {
	codec.Checks = append(codec.Checks, model.Check{Keyword: keyword, Values: values})
}

// limit takes over a count.
func limit(codec *model.Codec, keyword string, n **uint64) {
	if *n != nil {
		addCheck(codec, keyword, strconv.FormatUint(**n, 10))
		*n = nil
	}
}

// enum takes over the allowed values.
func enum(codec *model.Codec, rest *jsonschema.Schema) error {
	if len(rest.Enum) == 0 {
		return nil
	}
	for _, v := range rest.Enum {
		switch v.(type) {
		case string, bool, json.Number:
		default:
			return errors.New("an enum with values other than strings, numbers and booleans")
		}
	}
	addCheck(codec, "enum", choices(rest.Enum)...)
	rest.Enum = nil
	return nil
}
