package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// writeArguments writes the table of a tool's arguments.
func writeArguments(b *strings.Builder, s *jsonschema.Schema, fields map[string]string) {
	b.WriteString("\n| argument | type | required | description |\n|---|---|---|---|\n")
	each(s, func(name string, required bool, p *jsonschema.Schema) {
		description := p.Description
		if p.Default != nil {
			description = strings.TrimSpace(fmt.Sprintf("%s Default: %s", description,
				value(p.Default)))
		}
		if header, ok := p.Extras["x-mcp-header"].(string); ok {
			description = strings.TrimSpace(description + " Header: " + code("Mcp-Param-"+header) + ".")
		}
		description = guardedWords(description, p, fields)
		fmt.Fprintf(b, "| %s | %s | %s |%s |\n", cell(code(name)), cell(typeWords(p)),
			map[bool]string{true: "yes", false: "no"}[required], pad(cell(prose(oneLine(description)))))
	})
}

// guardedWords adds to the description of a property that it has a rule of its own.
func guardedWords(description string, p *jsonschema.Schema, fields map[string]string) string {
	if name, ok := p.Extras[model.GuardKey].(string); ok {
		description += " Only for callers with the field " + code(fields[name]) + "."
	}
	return strings.TrimSpace(description)
}

// each yields the properties of an object, and after each the properties within it: the fields of
// an object as name.field, of the items of a list as name[], and of the values of a map as name.*.
func each(s *jsonschema.Schema, yield func(name string, required bool, p *jsonschema.Schema)) {
	shown := map[string]bool{} // definitions that were already described
	var within func(path string, s *jsonschema.Schema)
	fields := func(path string, s *jsonschema.Schema) {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			yield(path+pair.Key, slices.Contains(s.Required, pair.Key), pair.Value)
			within(path+pair.Key, pair.Value)
		}
	}
	within = func(path string, part *jsonschema.Schema) {
		if part == nil {
			return
		}
		if name, ok := strings.CutPrefix(part.Ref, "#/$defs/"); ok {
			if !shown[name] {
				shown[name] = true
				within(path, s.Definitions[name])
			}
			return
		}
		if part.Properties != nil {
			fields(strings.TrimPrefix(path+".", "."), part)
		}
		within(path+"[]", part.Items)
		within(strings.TrimPrefix(path+".*", "."), part.AdditionalProperties)
		for _, one := range slices.Concat(part.AnyOf, part.OneOf) {
			within(path, one)
		}
	}
	within("", s)
}

// typeWords describes in a few words the values that a schema accepts. A reference is named, not
// followed.
func typeWords(s *jsonschema.Schema) string {
	switch {
	case s == nil:
		return "any value"
	case s.Ref != "":
		return "`" + strings.TrimPrefix(s.Ref, "#/$defs/") + "`"
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, value(v))
		}
		return "one of " + strings.Join(values, ", ")
	case s.Const != nil:
		return "always " + value(s.Const)
	case len(s.OneOf) > 0:
		return alternatives(s.OneOf)
	case len(s.AnyOf) > 0:
		return alternatives(s.AnyOf)
	}
	switch s.Type {
	case "":
		return "any value"
	case "array":
		if s.Items == nil {
			return "array" + listLimits(s)
		}
		return "array of " + typeWords(s.Items) + listLimits(s)
	case "object":
		if s.AdditionalProperties != nil && s.AdditionalProperties.Type != "" {
			return "object of " + typeWords(s.AdditionalProperties)
		}
		return "object"
	case "integer", "number":
		return s.Type + bounds(s)
	case "string":
		return s.Type + textLimits(s)
	}
	return s.Type
}

// textLimits returns the limits of a string, in brackets.
func textLimits(s *jsonschema.Schema) string {
	var limits words
	limits.add(s.Format != "", s.Format)
	limits.add(s.ContentEncoding != "", s.ContentEncoding)
	limits.count(s.MinLength, s.MaxLength, "characters")
	limits.add(s.Pattern != "", "matches "+code(s.Pattern))
	return inBrackets(limits)
}

// listLimits returns the limits of a list, in brackets.
func listLimits(s *jsonschema.Schema) string {
	var limits words
	limits.count(s.MinItems, s.MaxItems, "items")
	limits.add(s.UniqueItems, "no two equal")
	return inBrackets(limits)
}

// count adds the limits of a length.
func (w *words) count(least, most *uint64, unit string) {
	switch {
	case least != nil && most != nil && *least == *most:
		w.add(true, fmt.Sprintf("%d %s", *least, unit))
	case least != nil && most != nil:
		w.add(true, fmt.Sprintf("%d to %d %s", *least, *most, unit))
	case least != nil:
		w.add(true, fmt.Sprintf("at least %d %s", *least, unit))
	case most != nil:
		w.add(true, fmt.Sprintf("at most %d %s", *most, unit))
	}
}

func inBrackets(limits []string) string {
	if len(limits) == 0 {
		return ""
	}
	return " (" + strings.Join(limits, ", ") + ")"
}

func alternatives(of []*jsonschema.Schema) string {
	var words []string
	for _, s := range of {
		if w := typeWords(s); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

// bounds writes the limits of a number.
func bounds(s *jsonschema.Schema) string {
	var limits words
	limits.add(s.Minimum != "", " from "+s.Minimum.String())
	limits.add(s.ExclusiveMinimum != "", " above "+s.ExclusiveMinimum.String())
	limits.add(s.Maximum != "", " to "+s.Maximum.String())
	limits.add(s.ExclusiveMaximum != "", " below "+s.ExclusiveMaximum.String())
	limits.add(s.MultipleOf != "", ", a multiple of "+s.MultipleOf.String())
	return strings.Join(limits, "")
}

// value writes a JSON value as code.
func value(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return code(string(PlainHTML(text)))
}

// code writes text in backquotes: more of them than the text has in a row.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// cell fits text into a cell of a table: a row is one line and a bar ends a cell, even in code.
func cell(text string) string {
	return strings.ReplaceAll(oneLine(text), "|", `\|`)
}

func pad(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

// oneLine joins lines. Code of several lines is none in a cell of a table.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
