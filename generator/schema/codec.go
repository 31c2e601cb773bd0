package schema

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

	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/spell"
)

// Codec pairs a type with the input schema that Input made of it. The error says which part
// generated code cannot decode exactly as the schema says; the schema validator has to do it.
func (w *Walker) Codec(t types.Type, s *jsonschema.Schema) (*model.Codec, error) {
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		t = ptr.Elem() // the caller's own pointer
	}
	c := w.coder(s)
	// A root has what is left of $defs with it.
	root := *s
	root.Definitions = nil
	codec, err := c.value(t, &root)
	if err != nil {
		return nil, err
	}
	maps.Copy(w.objects, c.objects)
	return &codec, nil
}

// ObjectCodec is Codec for the schema that Object made. fields are the Go names that the
// properties have in the generated struct, in the same order, and name is what the object is called.
func (w *Walker) ObjectCodec(name string, props []Property, fields []string, s *jsonschema.Schema) (*model.Codec, error) {
	c := w.coder(s)
	object := &model.Object{Name: name}
	for i, prop := range props {
		f := model.ObjectField{Name: prop.Name, Path: []model.Selector{{Name: fields[i]}}}
		if err := c.field(object, f, prop.Type, s); err != nil {
			return nil, err
		}
	}
	c.objects[name] = object
	maps.Copy(w.objects, c.objects)
	return &model.Codec{Kind: model.ObjectCodec, Name: name}, nil
}

// Objects is every object of the codecs made, sorted by name.
func (w *Walker) Objects() []model.Object {
	var list []model.Object
	for _, name := range slices.Sorted(maps.Keys(w.objects)) {
		list = append(list, *w.objects[name])
	}
	return list
}

// coder pairs the types and schemas of one root.
type coder struct {
	*pass
	root    *jsonschema.Schema
	objects map[string]*model.Object
}

func (w *Walker) coder(root *jsonschema.Schema) *coder {
	return &coder{pass: w.pass(inputRules, decoding), root: root, objects: map[string]*model.Object{}}
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
	if len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null" {
		outer := noted(s)
		outer.AnyOf = nil
		if !empty(outer) {
			return codec, errors.New("a choice with limits of its own")
		}
		codec.Nullable = true
		s = s.AnyOf[0]
	}
	if key, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		outer := noted(s)
		outer.Ref = ""
		if s = c.root.Definitions[key]; s == nil || !empty(outer) {
			return codec, errors.New("a reference with limits of its own")
		}
	}
	t = types.Unalias(t)
	if !spell.Can(t, c.w.pkg) {
		return codec, fmt.Errorf("the type %s cannot be named in generated code", plainly(t))
	}
	codec.Type = spell.Type(t, c.w.pkg)
	rest := noted(s)
	if err := c.form(&codec, t, &rest); err != nil {
		return codec, err
	}
	if !empty(rest) {
		return codec, fmt.Errorf("%s has a schema that is more than its Go type's", plainly(t))
	}
	return codec, nil
}

// noted is a copy of a schema without what binds nothing. Whoever reads a keyword deletes it
// from the copy: what is left over in the end has been read by nobody.
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
		return fmt.Errorf("%s in the schema is no %s in Go", describe(rest), want)
	}
	rest.Type = ""
	return nil
}

// form finds out what the type is in JSON and reads the keywords that belong to it.
func (c *coder) form(codec *model.Codec, t types.Type, rest *jsonschema.Schema) error {
	n, isNamed := t.(*types.Named)
	if isNamed {
		if done, err := c.fixed(codec, fullName(n), rest); done {
			return err
		}
	}
	if _, opaque := c.opaque(t); opaque {
		return fmt.Errorf("%s has its own UnmarshalJSON", plainly(t))
	}
	if !types.IsInterface(t) && c.has(t, unmarshalText, byPointer) || isNamed && fullName(n) == "log/slog.Level" {
		codec.Kind = model.TextCodec
		return c.text(codec, rest)
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		return c.object(codec, t, u, rest)
	case *types.Slice:
		if rest.ContentEncoding == "base64" {
			if !types.Identical(types.Unalias(u.Elem()), types.Typ[types.Uint8]) {
				return fmt.Errorf("the elements of %s are bytes of their own type", plainly(t))
			}
			codec.Kind, rest.ContentEncoding = model.BytesCodec, ""
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
		return nil
	case *types.Basic:
		return c.scalar(codec, u, rest)
	}
	return fmt.Errorf("%s has no generated form", plainly(t))
}

// fixed knows the types of the standard library with a form of their own.
func (c *coder) fixed(codec *model.Codec, name string, rest *jsonschema.Schema) (done bool, err error) {
	switch name {
	case "time.Time":
		if rest.Format != "date-time" {
			return true, errors.New("a time.Time with a format of its own")
		}
		codec.Kind, rest.Format = model.TimeCodec, ""
		return true, c.text(codec, rest)
	case "encoding/json.RawMessage":
		codec.Kind = model.RawCodec
		return true, nil
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

// asserted are the formats that runtime/decode knows; unasserted those that the schema
// validator asserts besides. A format that neither knows binds nothing.
var (
	asserted = []string{"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uri-reference", "uuid"}
	others   = []string{"iri", "iri-reference", "json-pointer", "period", "regex", "relative-json-pointer", "semver", "uri-template"}
)

// text reads the keywords of strings.
func (c *coder) text(codec *model.Codec, rest *jsonschema.Schema) error {
	if err := typed(rest, "string"); err != nil {
		return err
	}
	if err := enum(codec, rest); err != nil {
		return err
	}
	if slices.Contains(others, rest.Format) {
		return fmt.Errorf("the format %s is not generated", rest.Format)
	}
	if slices.Contains(asserted, rest.Format) {
		ask(codec, "format", rest.Format)
	}
	rest.Format = ""
	limit(codec, "minLength", &rest.MinLength)
	limit(codec, "maxLength", &rest.MaxLength)
	if rest.Pattern != "" {
		ask(codec, "pattern", rest.Pattern)
		rest.Pattern = ""
	}
	return nil
}

// ask adds a keyword that generated code asks for.
func ask(codec *model.Codec, keyword string, values ...string) {
	codec.Checks = append(codec.Checks, model.Check{Keyword: keyword, Values: values})
}

// limit takes over a count.
func limit(codec *model.Codec, keyword string, n **uint64) {
	if *n != nil {
		ask(codec, keyword, strconv.FormatUint(**n, 10))
		*n = nil
	}
}

// enum takes over the values that are allowed.
func enum(codec *model.Codec, rest *jsonschema.Schema) error {
	if len(rest.Enum) == 0 {
		return nil
	}
	for _, v := range rest.Enum {
		switch v.(type) {
		case string, bool, json.Number:
		default:
			return errors.New("an enum of other values than strings, numbers and booleans")
		}
	}
	ask(codec, "enum", choices(rest.Enum)...)
	rest.Enum = nil
	return nil
}
