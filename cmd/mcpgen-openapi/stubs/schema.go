package stubs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// raw is the Go type of values that no other type fits.
const raw = "json.RawMessage"

// maxNested limits types without a name of their own, such as lists of lists.
const maxNested = 16

// maxDepth limits how deep types are in each other.
const maxDepth = 1000

// direction is what a type is for: readOnly properties are in results only, and writeOnly ones in
// requests only.
type direction int

const (
	request direction = iota
	result
)

// shape is how Go has a schema.
type shape struct {
	goType   string
	fields   map[string]string // of a struct: Go names by JSON name
	nullable bool
	value    bool     // a scalar or a struct: optional ones are pointers
	tags     []string // of the jsonschema tag
}

// schema of a reference. Beside a $ref, OpenAPI 3.1 allows annotations, for which kin-openapi
// copies the schema. The type is that of the component then.
func (w *writer) schema(ref *openapi3.SchemaRef) *openapi3.Schema {
	if ref == nil {
		return nil
	}
	name, local := strings.CutPrefix(ref.Ref, "#/components/schemas/")
	if local && ref.Value != nil && w.doc.Components != nil {
		c := w.doc.Components.Schemas[name]
		if c != nil && c.Value != nil && len(c.Value.AllOf) == len(ref.Value.AllOf) {
			return c.Value
		}
	}
	return ref.Value
}

// key identifies a type.
type key struct {
	schema *openapi3.Schema
	to     direction
}

// shape chooses the Go type of a schema. name is that of a struct which has no other.
func (w *writer) shape(ref *openapi3.SchemaRef, name string, to direction, nested int) shape {
	s := w.schema(ref)
	if s == nil || nested > maxNested || w.depth > maxDepth || w.full() {
		return shape{goType: raw}
	}
	w.depth++
	defer func() { w.depth-- }()
	if !w.directed(s) {
		to = result
	}
	k := key{s, to}
	if done, known := w.shapes[k]; known {
		done.tags = slices.Clone(done.tags)
		if w.open[k] > 0 && done.fields != nil {
			done.goType = "*" + done.goType
			done.value = false
		}
		return done
	}
	if w.open[k] > 0 {
		return shape{goType: raw} // it contains itself, and not by a struct
	}
	w.open[k]++
	defer func() { w.open[k]-- }()
	if component, local := strings.CutPrefix(ref.Ref, "#/components/schemas/"); local {
		name = extension.Identifier(component, "Type")
		if to == request {
			name += "Request"
		}
	}
	found := w.build(s, name, k, nested)
	w.shapes[k] = found
	return found
}

// build is the shape of a schema that has none yet.
func (w *writer) build(s *openapi3.Schema, name string, k key, nested int) shape {
	kind, nullable, one := kindOf(s)
	choice := slices.Concat(s.OneOf, s.AnyOf)
	if alternatives := slices.DeleteFunc(slices.Clone(choice), isNull); kind == "" &&
		len(alternatives) == 1 && len(s.AllOf) == 0 && len(s.Properties) == 0 {
		found := w.shape(alternatives[0], name, k.to, nested+1)
		found.nullable = found.nullable && found.goType != raw || found.goType != raw &&
			(nullable || len(alternatives) < len(choice))
		return found
	}
	if len(s.AllOf) == 1 && kind == "" && len(choice) == 0 && len(s.Properties) == 0 {
		found := w.shape(s.AllOf[0], name, k.to, nested+1)
		found.nullable = found.goType != raw && (found.nullable || nullable)
		return found
	}
	if !one || len(choice) > 0 || s.Not != nil || s.If != nil || len(s.PrefixItems) > 0 {
		return shape{goType: raw}
	}
	found := shape{nullable: nullable, value: true}
	switch kind {
	case "string":
		found.goType = "string"
		found.tags = w.textTags(s)
	case "boolean":
		found.goType = "bool"
	case "integer", "number":
		found.goType, found.tags = numberTags(s, kind)
	case "array":
		if s.Items == nil {
			return shape{goType: "[]" + raw, nullable: nullable, tags: listTags(s)}
		}
		items := w.shape(s.Items, name+"Item", k.to, nested+1)
		found.value, found.tags = false, listTags(s)
		if found.goType = "[]" + items.goType; items.nullable && items.value {
			found.goType = "[]*" + items.goType
		}
		if items.value {
			found.tags = append(found.tags, items.tags...)
		}
	case "object", "":
		return w.object(s, name, k, nested, nullable)
	default:
		return shape{goType: raw}
	}
	return found
}

// kindOf is the JSON type of a schema. one is false if it has several.
func kindOf(s *openapi3.Schema) (kind string, nullable, one bool) {
	nullable = s.Nullable
	for _, t := range s.Type.Slice() {
		switch {
		case t == "null":
			nullable = true
		case kind != "":
			return "", nullable, false
		default:
			kind = t
		}
	}
	if kind == "" && len(s.Type.Slice()) > 0 {
		return "", nullable, false // null alone
	}
	for _, value := range s.Enum {
		nullable = nullable || value == nil
	}
	if _, text := s.Const.(string); kind == "" && (text || len(s.Enum) > 0 && texts(s.Enum)) {
		kind = "string"
	}
	return kind, nullable, true
}

// texts reports whether all values are strings or null.
func texts(values []any) bool {
	return !slices.ContainsFunc(values, func(value any) bool {
		_, text := value.(string)
		return !text && value != nil
	})
}

func isNull(ref *openapi3.SchemaRef) bool {
	return ref != nil && ref.Value != nil && ref.Value.Type.Is("null")
}

// object is a struct, a map, or JSON if a struct would lose something.
func (w *writer) object(
	s *openapi3.Schema, name string, k key, nested int, nullable bool,
) shape {
	kind, _, _ := kindOf(s)
	o := members{properties: map[string]*openapi3.SchemaRef{}, required: map[string]bool{},
		seen: map[*openapi3.Schema]bool{}}
	if !o.add(w, s, 0) || kind == "" && len(o.properties) == 0 {
		return shape{goType: raw}
	}
	if len(o.properties) == 0 || o.further {
		found := shape{goType: "map[string]" + raw, nullable: nullable}
		more := s.AdditionalProperties.Schema
		if len(o.properties) == 0 && more != nil && len(s.AllOf) == 0 {
			value := w.shape(more, name+"Value", k.to, nested+1)
			if found.goType = "map[string]" + value.goType; value.nullable && value.value {
				found.goType = "map[string]*" + value.goType
			}
		}
		return found
	}
	// Required properties that no tag can name make the struct impossible.
	names := slices.Sorted(maps.Keys(o.properties))
	folded := map[string]bool{}
	for _, property := range names {
		fold := strings.ToLower(property)
		bad := !tagName.MatchString(property) || property == "-" || folded[fold]
		folded[fold] = true
		if bad {
			w.note("schema %s: it is a map, since no struct can have the property %+q", name,
				property)
			return shape{goType: "map[string]" + raw, nullable: nullable}
		}
	}
	name = w.unique(name)
	found := shape{goType: name, value: true, nullable: nullable, fields: map[string]string{}}
	w.shapes[k] = found // properties may lead back
	var b strings.Builder
	b.WriteString("\n" + w.comment(name, s.Description) + "type " + name + " struct {\n")
	taken := map[string]bool{}
	for _, property := range names {
		if w.full() {
			break
		}
		ref := o.properties[property]
		if ref == nil || ref.Value == nil || k.to == request && ref.Value.ReadOnly ||
			k.to == result && ref.Value.WriteOnly {
			continue
		}
		field := extension.Unique(extension.Identifier(property, "Field"),
			func(name string) bool { return taken[name] })
		taken[field] = true
		found.fields[property] = field
		inner := w.shape(ref, name+field, k.to, 0)
		own := *ref.Value
		if inner.fields != nil && ref.Value == w.schema(ref) {
			own.Description = "" // the type has it
		}
		b.WriteString(w.field(field, property, &own, inner, o.required[property], true))
	}
	b.WriteString("}\n")
	w.types.WriteString(b.String())
	return found
}

// members are the properties of an object, with those of allOf.
type members struct {
	properties map[string]*openapi3.SchemaRef
	required   map[string]bool
	further    bool // other properties have a meaning
	seen       map[*openapi3.Schema]bool
}

// add adds the properties of a schema. It reports false if they are not all that it has.
func (o *members) add(w *writer, s *openapi3.Schema, level int) bool {
	if o.seen[s] {
		return true
	}
	o.seen[s] = true
	kind, _, one := kindOf(s)
	if level > maxNested || !one || kind != "" && kind != "object" || len(s.OneOf) > 0 ||
		len(s.AnyOf) > 0 || s.Not != nil || s.If != nil || len(s.PatternProperties) > 0 {
		return false
	}
	for name, ref := range s.Properties {
		if old := o.properties[name]; old != nil && w.schema(old) != w.schema(ref) {
			return false // both bind the value
		}
		o.properties[name] = ref
	}
	for _, name := range s.Required {
		o.required[name] = true
	}
	more := s.AdditionalProperties
	o.further = o.further || more.Schema != nil || more.Has != nil && *more.Has
	for _, part := range s.AllOf {
		if part == nil || part.Value == nil || !o.add(w, w.schema(part), level+1) {
			return false
		}
	}
	return true
}

// field is the line of a field, with its comment. A field of a named type, which requests and
// results share, tells an absent property from a zero one.
func (w *writer) field(
	name, property string, s *openapi3.Schema, in shape, required, shared bool,
) string {
	goType, tags, option := in.goType, slices.Clone(in.tags), ""
	nilable := strings.HasPrefix(goType, "*")
	given := defaultTag(s, in)
	switch {
	case in.goType == raw || nilable:
		if !required {
			option = ",omitzero"
		}
	case in.nullable && !required:
		goType, option = "toolset.Optional["+goType+"]", ",omitzero"
	case in.nullable:
		tags = append(tags, "nullable", "required")
		if in.value {
			goType = "*" + goType
		}
	case required:
	case given != "" && !shared:
		tags = append(tags, given)
	default:
		option = ",omitzero"
		if in.value {
			goType = "*" + goType
		}
		if given != "" {
			tags = append(tags, given)
		}
	}
	tag := `json:"` + property + option + `"`
	if len(tags) > 0 {
		tag += " jsonschema:" + strconv.Quote(strings.Join(tags, ","))
	}
	if strings.Contains(tag, "`") {
		tag = strconv.Quote(tag)
	} else {
		tag = "`" + tag + "`"
	}
	text := s.Description
	if s.Deprecated {
		text = strings.TrimSpace("Deprecated. " + text)
	}
	line := w.comment(property, text) + name + " " + goType + " " + tag + "\n"
	w.fields += len(line)
	return line
}

// comment is a description as a comment, or nothing.
func (w *writer) comment(of, text string) string {
	if extension.Visible(text) == "" {
		return ""
	}
	return extension.Comment(w.bounded(of, text))
}

// directed reports whether a schema has properties for one direction only, at any depth.
func (w *writer) directed(s *openapi3.Schema) bool {
	if w.oneWay == nil {
		w.oneWay = map[*openapi3.Schema]bool{}
		parents := map[*openapi3.Schema][]*openapi3.Schema{}
		var queue, flagged []*openapi3.Schema
		seen := map[*openapi3.Schema]bool{}
		visit := func(s *openapi3.Schema) {
			if s != nil && !seen[s] {
				seen[s] = true
				queue = append(queue, s)
			}
		}
		for _, root := range w.roots {
			visit(w.schema(root))
		}
		for len(queue) > 0 {
			s := queue[0]
			queue = queue[1:]
			inner := slices.Concat(s.AllOf, s.OneOf, s.AnyOf,
				[]*openapi3.SchemaRef{s.Items, s.AdditionalProperties.Schema})
			for _, ref := range s.Properties {
				if ref != nil && ref.Value != nil && (ref.Value.ReadOnly || ref.Value.WriteOnly) {
					flagged = append(flagged, s)
				}
				inner = append(inner, ref)
			}
			for _, ref := range inner {
				if child := w.schema(ref); child != nil {
					parents[child] = append(parents[child], s)
					visit(child)
				}
			}
		}
		for len(flagged) > 0 {
			s := flagged[0]
			flagged = flagged[1:]
			if !w.oneWay[s] {
				w.oneWay[s] = true
				flagged = append(flagged, parents[s]...)
			}
		}
	}
	return w.oneWay[s]
}
