package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// object reads a struct. Each type is one object, in all its places.
func (c *coder) object(
	codec *model.Codec, t types.Type, u *types.Struct, rest *jsonschema.Schema,
) error {
	codec.Kind, codec.Name = model.ObjectCodec, c.nameOf(t)
	s := *rest
	if rest.AdditionalProperties != jsonschema.FalseSchema {
		return fmt.Errorf("%s has additional properties", gotype.Plain(t))
	}
	if err := typed(rest, "object"); err != nil {
		return err
	}
	rest.Properties, rest.Required, rest.AdditionalProperties = nil, nil, nil
	oneOf, okOne := groups(&rest.OneOf)
	anyOf, okAny := groups(&rest.AnyOf)
	if !okOne || !okAny {
		return fmt.Errorf("%s is a choice of other schemas", gotype.Plain(t))
	}
	if c.made[codec.Name] != nil || c.objects[codec.Name] != nil {
		return nil
	}
	object := &model.Object{Name: codec.Name, Type: codec.Type, OneOf: oneOf, AnyOf: anyOf}
	c.made[codec.Name] = object // before its fields, which may hold it
	for _, f := range c.walker.Fields(t) {
		path, err := c.selectors(u, f)
		if err != nil {
			return err
		}
		field := model.ObjectField{Name: f.Name, Path: path}
		if err := c.field(object, field, f.Type, &s, f.Quoted); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// field adds a property of parent to an object.
func (c *coder) field(
	object *model.Object, f model.ObjectField, t types.Type, parent *jsonschema.Schema, quoted bool,
) error {
	s, ok := parent.Properties.Get(f.Name)
	if !ok {
		return errors.New("the schema has no such property")
	}
	f.Required = slices.Contains(parent.Required, f.Name)
	if s.Default != nil {
		text, err := json.Marshal(s.Default)
		if err != nil {
			return fmt.Errorf("the default: %w", err)
		}
		f.Default = string(text)
	}
	var err error
	if quoted {
		f.Codec, err = c.quoted(t, s)
	} else {
		f.Codec, err = c.value(t, s)
	}
	if err != nil {
		return err
	}
	f.Guard, _ = s.Extras[model.GuardKey].(string)
	f.NullAbsent = c.walker.NullOptional && !f.Required && f.Codec.Nullable
	object.Fields = append(object.Fields, f)
	return nil
}

// groups takes over alternatives that consist of required properties alone.
func groups(alternatives *[]*jsonschema.Schema) (names [][]string, ok bool) {
	for _, s := range *alternatives {
		rest := noted(s)
		rest.Required = nil
		if len(s.Required) == 0 || !empty(rest) {
			return nil, false
		}
		names = append(names, s.Required)
	}
	*alternatives = nil
	return names, true
}

// selectors is the way to a field through embedded structs.
func (c *coder) selectors(u *types.Struct, f schema.Field) ([]model.Selector, error) {
	var path []model.Selector
	for i, index := range f.Index {
		v := u.Field(index)
		if !v.Exported() && v.Pkg().Path() != c.pkg.Path() {
			return nil, fmt.Errorf("%s is not exported by package %s", v.Name(), v.Pkg().Name())
		}
		step := model.Selector{Name: v.Name()}
		if i < len(f.Index)-1 {
			t := types.Unalias(v.Type())
			if ptr, ok := t.(*types.Pointer); ok {
				step.Pointer, t = true, ptr.Elem()
			}
			u = t.Underlying().(*types.Struct)
		}
		path = append(path, step)
	}
	return path, nil
}

// elements reads a slice or an array.
func (c *coder) elements(codec *model.Codec, elem types.Type, rest *jsonschema.Schema) error {
	if err := typed(rest, "array"); err != nil {
		return err
	}
	limit(codec, "minItems", &rest.MinItems)
	limit(codec, "maxItems", &rest.MaxItems)
	if rest.UniqueItems {
		addCheck(codec, "uniqueItems")
		rest.UniqueItems = false
	}
	items := rest.Items
	if items == nil {
		items = &jsonschema.Schema{}
	}
	rest.Items = nil
	return c.inner(codec, elem, items)
}

// depthLimit ends the reading of types that never reach a struct.
const depthLimit = 200

func (c *coder) inner(codec *model.Codec, elem types.Type, s *jsonschema.Schema) error {
	if c.depth >= depthLimit {
		return errors.New("a recursive type without a struct")
	}
	c.depth++
	defer func() { c.depth-- }()
	inner, err := c.value(elem, s)
	codec.Elem = &inner
	return err
}

// mapped reads a map.
func (c *coder) mapped(codec *model.Codec, u *types.Map, rest *jsonschema.Schema) error {
	if err := typed(rest, "object"); err != nil {
		return err
	}
	codec.Kind = model.MapCodec
	key := types.Unalias(u.Key())
	text := c.walker.ReadsText(key)
	basic, ok := key.Underlying().(*types.Basic)
	if !ok && !text {
		return fmt.Errorf("the keys of type %s have no generated decoder", gotype.Plain(key))
	}
	if !gotype.CanWrite(key, c.pkg) {
		return fmt.Errorf("the type %s cannot be named in generated code", gotype.Plain(key))
	}
	codec.KeyType = gotype.Expr(key, c.pkg)
	s := rest.AdditionalProperties
	if text {
		codec.Key = "text"
	} else if basic.Info()&types.IsString != 0 {
		codec.Key = "string"
		if names := rest.PropertyNames; names != nil {
			codec.Key, codec.Keys = "enum", choices(names.Enum)
			rest.PropertyNames = nil
		}
	} else {
		pattern := schema.SignedPattern
		codec.Key = "int"
		if basic.Info()&types.IsUnsigned != 0 {
			codec.Key, pattern = "uint", schema.UnsignedPattern
		}
		s = rest.PatternProperties[pattern]
		if len(rest.PatternProperties) != 1 || s == nil || basic.Kind() == types.Uintptr {
			return fmt.Errorf("the keys of type %s have no generated decoder", gotype.Plain(key))
		}
		rest.PatternProperties = nil
	}
	rest.AdditionalProperties, rest.Properties = nil, nil
	if s == nil {
		s = &jsonschema.Schema{}
	}
	return c.inner(codec, u.Elem(), s)
}

func choices(values []any) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprint(v)
	}
	return list
}

// scalar reads a bool, a number or a string.
func (c *coder) scalar(codec *model.Codec, u *types.Basic, rest *jsonschema.Schema) error {
	switch info := u.Info(); {
	case info&types.IsString != 0:
		codec.Kind = model.StringCodec
		return c.text(codec, rest)
	case info&types.IsBoolean != 0:
		codec.Kind = model.BoolCodec
		if err := typed(rest, "boolean"); err != nil {
			return err
		}
		return enum(codec, rest)
	case info&types.IsFloat != 0:
		codec.Kind = model.FloatCodec
		return c.number(codec, rest)
	case info&types.IsInteger != 0 && u.Kind() != types.Uintptr:
		codec.Kind = model.IntCodec
		if info&types.IsUnsigned != 0 {
			codec.Kind = model.UintCodec
		}
		if err := typed(rest, "integer"); err != nil {
			return err
		}
		least, most := schema.IntegerBounds(u.Kind())
		codec.Least = bound(&rest.Minimum, least)
		codec.Most = bound(&rest.Maximum, most)
		rest.Type = "number"
		return c.number(codec, rest)
	}
	return errors.New("no generated form")
}

// bound returns an integer limit, or that of the Go type without one.
func bound(limit *json.Number, own json.Number) string {
	r := schema.Rational(limit.String())
	if r == nil || !r.IsInt() {
		return own.String()
	}
	*limit = ""
	return r.Num().String()
}

// number reads the keywords of numbers.
func (c *coder) number(codec *model.Codec, rest *jsonschema.Schema) error {
	if err := typed(rest, "number"); err != nil {
		return err
	}
	if err := enum(codec, rest); err != nil {
		return err
	}
	for _, n := range []struct {
		keyword string
		value   *json.Number
	}{
		{"minimum", &rest.Minimum}, {"maximum", &rest.Maximum},
		{"exclusiveMinimum", &rest.ExclusiveMinimum}, {"exclusiveMaximum", &rest.ExclusiveMaximum},
		{"multipleOf", &rest.MultipleOf},
	} {
		if *n.value == "" {
			continue
		}
		r := schema.Rational(n.value.String())
		if r == nil {
			return fmt.Errorf("%s=%s is not a JSON number", n.keyword, *n.value)
		}
		text := n.value.String()
		if r.IsInt() {
			text = r.Num().String() // as messages show it
		} else if f, _ := r.Float64(); strings.ContainsAny(text, "eE") {
			short := strconv.FormatFloat(f, 'g', -1, 64)
			if same := schema.Rational(short); same != nil && same.Cmp(r) == 0 {
				text = short
			}
		}
		addCheck(codec, n.keyword, text)
		*n.value = ""
	}
	return nil
}
