package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// apiDocument is what this package reads of an OpenAPI document.
type apiDocument struct {
	Paths      map[string]map[string]operation
	Components struct {
		Schemas map[string]property
	}
}

type operation struct {
	Summary, Description string
	Tags                 []string
	Parameters           []struct {
		Name, In, Description string
		Required              bool
		Schema                property
	}
	RequestBody struct {
		Content map[string]struct{ Schema property }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema property }
	}
}

type property struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format, Description  string
	Enum                 []any
	Default              any
	Items                *property
	AnyOf, OneOf         []property
	AdditionalProperties any
	Properties           map[string]property
	Required             []string
	MaxLength, MaxItems  json.Number
	Minimum, Maximum     json.Number
}

func (r *repository) api() (doc apiDocument) {
	text, err := os.ReadFile(
		filepath.Join(r.root, "runtime", "admin", "internal", "api", "testdata", "openapi.json"))
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := errors.Join(err, d.Decode(&doc)); err != nil {
		r.fault("%w", err)
	}
	return doc
}

// methods is their order within a path.
var methods = []string{"get", "post", "put", "patch", "delete"}

// operations has a heading for each tag, and below it each operation with its input and output.
func operations(r *repository) string {
	doc := r.api()
	tags := map[string]*strings.Builder{}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range methods {
			o, ok := doc.Paths[path][method]
			if !ok {
				continue
			}
			if len(o.Tags) != 1 {
				r.fault("%s %s has the tags %q, not one", method, path, o.Tags)
				continue
			}
			b := tags[o.Tags[0]]
			if b == nil {
				b = new(strings.Builder)
				tags[o.Tags[0]] = b
			}
			o.write(b, method, path)
		}
	}
	var all strings.Builder
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		fmt.Fprintf(&all, "## Operations: %s\n\n%s", tag, tags[tag])
	}
	return all.String()
}

func (o operation) write(b *strings.Builder, method, path string) {
	fmt.Fprintf(b, "### %s %s\n\n%s", strings.ToUpper(method), path, sentence(o.Summary))
	if o.Description != "" {
		b.WriteString(" " + prose(sentence(o.Description)))
	}
	b.WriteString("\n\n")
	if len(o.Parameters) > 0 {
		b.WriteString(head("parameter", "in", "type", "meaning"))
		for _, p := range o.Parameters {
			name := code(p.Name)
			if p.Required {
				name += " (required)"
			}
			b.WriteString(row(name, p.In, p.Schema.kind(),
				cell(cmp.Or(p.Description, p.Schema.Description))))
		}
		b.WriteString("\n")
	}
	if c, ok := o.RequestBody.Content["application/json"]; ok {
		fmt.Fprintf(b, "- Body: %s\n", c.Schema.kind())
	}
	var failures []string
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if status >= "4" {
			failures = append(failures, status)
			continue
		}
		returned := "no body"
		for media, c := range o.Responses[status].Content {
			if returned = c.Schema.kind(); media != "application/json" {
				returned = code(media)
			}
		}
		fmt.Fprintf(b, "- %s: %s\n", status, returned)
	}
	fmt.Fprintf(b, "- Errors: %s\n\n", strings.Join(failures, ", "))
}

// kind is the type of a value, linked if it is a schema of the document.
func (p property) kind() string {
	if name := p.Ref[strings.LastIndex(p.Ref, "/")+1:]; name != "" {
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	for _, list := range [][]property{p.AnyOf, p.OneOf} {
		var kinds []string
		for _, one := range list {
			kinds = append(kinds, one.kind())
		}
		if kinds != nil {
			return strings.Join(kinds, " or ")
		}
	}
	var text string
	switch t := p.Type.(type) {
	case string:
		text = t
	case []any:
		var kinds []string
		for _, one := range t {
			kinds = append(kinds, fmt.Sprint(one))
		}
		text = strings.Join(kinds, " or ")
	default:
		return "any"
	}
	if p.Items != nil {
		text += " of " + p.Items.kind()
	}
	if len(p.Enum) > 0 {
		var values []string
		for _, v := range p.Enum {
			values = append(values, code(fmt.Sprint(v)))
		}
		text += ": " + strings.Join(values, ", ")
	}
	if p.Format != "" {
		text += " (" + p.Format + ")"
	}
	if p.MaxLength != "" {
		text += ", at most " + p.MaxLength.String() + " characters"
	}
	if p.MaxItems != "" {
		text += ", at most " + p.MaxItems.String() + " items"
	}
	switch {
	case p.Minimum != "" && p.Maximum != "":
		text += ", " + p.Minimum.String() + " to " + p.Maximum.String()
	case p.Minimum != "":
		text += ", at least " + p.Minimum.String()
	case p.Maximum != "":
		text += ", at most " + p.Maximum.String()
	}
	return text
}

// apiTypes has a heading for each schema of the document, with its properties.
func apiTypes(r *repository) string {
	doc := r.api()
	var b strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(doc.Components.Schemas), func(a, b string) int {
		return strings.Compare(strings.ToLower(a), strings.ToLower(b))
	}) {
		s := doc.Components.Schemas[name]
		fmt.Fprintf(&b, "### %s\n\n", name)
		if s.Description != "" {
			b.WriteString(prose(sentence(s.Description)) + "\n\n")
		}
		if len(s.Properties) == 0 {
			fmt.Fprintf(&b, "%s\n\n", s.kind())
			continue
		}
		b.WriteString(head("property", "type", "meaning"))
		for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
			shown := code(p)
			if slices.Contains(s.Required, p) {
				shown += " (required)"
			}
			of := s.Properties[p]
			b.WriteString(row(shown, of.kind(), cell(of.Description)))
		}
		b.WriteString("\n")
	}
	return b.String()
}
