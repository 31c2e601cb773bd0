package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/ordered"
	"github.com/mcpgen/mcpgen/generator/internal/schemafile"
	"github.com/mcpgen/mcpgen/internal/structured"
)

// schemaDir is the directory of the schema files.
const schemaDir = "schemas"

// toolName is the rule of the specification for names of tools.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// tool adds the files and the handler of one tool.
func (w *writer) tool(t Tool) {
	switch {
	case !toolName.MatchString(t.Name):
		w.note("tool %+q is skipped: its name is not an MCP tool name", t.Name)
		return
	case w.met[t.Name]:
		w.note("tool %s is skipped: the list has two tools with this name", t.Name)
		return
	}
	if w.met == nil {
		w.met = map[string]bool{}
	}
	w.met[t.Name] = true
	s, err := w.schemaOf(t.Name, t.Input, true)
	if err != nil {
		w.note("tool %s is skipped: input schema: %s", t.Name, err)
		return
	}
	var out fileSchema
	if t.Output != nil {
		if out, err = w.schemaOf(t.Name, t.Output, false); err != nil {
			w.note("tool %s is skipped: output schema: %s", t.Name, err)
			return
		}
	}
	if Visible(t.Title) != t.Title ||
		Visible(t.Description) != strings.Join(strings.Fields(t.Description), " ") {
		w.note("tool %s: removed invisible characters from its texts", t.Name)
	}
	file := w.fileName(t.Name)
	input := schemaDir + "/" + file + ".input.json"
	w.schemas = append(w.schemas, emit.File{Path: input, Content: s.text})

	name := w.goName(t.Name)
	directives := "//mcp:tool name=" + t.Name + " minrole=" + FillIn +
		Key("title", Visible(t.Title))
	for _, h := range []struct {
		name  string
		value *bool
	}{
		{"readonly", t.ReadOnly}, {"destructive", t.Destructive},
		{"idempotent", t.Idempotent}, {"openworld", t.OpenWorld},
	} {
		if h.value != nil {
			directives += " " + h.name
			if !*h.value {
				directives += "=false"
			}
		}
	}
	directives += "\n//mcp:schema input=" + input
	failure := "errors.New(" + strconv.QuoteToASCII(t.Name+" is not implemented") + ")"

	in, declaration := w.input(name+"Input", s)
	w.body.WriteString("\n" + declaration + "\n")
	switch text, doc := strings.TrimSpace(printable(t.Description)), Comment(t.Description); {
	case text == "":
	case text == described(doc):
		w.body.WriteString(doc + "//\n")
	default:
		w.body.WriteString(declared(name+"Description", text))
		directives = strings.Replace(directives, " minrole=",
			" description=@"+name+"Description minrole=", 1)
	}
	if t.Output == nil {
		w.imports.sdk = true
		fmt.Fprintf(&w.body, "%s\nfunc %s(ctx context.Context, req *mcp.CallToolRequest, "+
			"%s %sInput) (*mcp.CallToolResult, any, error) {\nreturn nil, nil, %s\n}\n",
			directives, name, in, name, failure)
		return
	}
	output := schemaDir + "/" + file + ".output.json"
	w.schemas = append(w.schemas, emit.File{Path: output, Content: out.text})
	result := "map[string]any"
	if structured.New(out.text).Form == structured.InResult {
		result = "any"
	}
	fmt.Fprintf(&w.body, "%s output=%s\nfunc %s(ctx context.Context, %s %sInput) "+
		"(%s, error) {\nreturn nil, %s\n}\n",
		directives, output, name, in, name, result, failure)
}

// fileSchema is a schema that a file holds.
type fileSchema struct {
	text       []byte
	fits       bool       // a struct can hold the arguments
	properties []property // in their order
	names      []string   // of the properties
}

type property struct {
	name, goType string
	required     bool
}

// schemaOf reads a schema of a tool in a list. It drops $schema and $id, which mcpgen writes by
// itself or not at all, and adds the type of the root of an input schema.
func (w *writer) schemaOf(tool string, text json.RawMessage, input bool) (s fileSchema, err error) {
	var root struct {
		Type       any
		Properties json.RawMessage
		Required   []string

		AdditionalProperties json.RawMessage
	}
	text, changes, err := schemafile.Foreign(text)
	if err != nil {
		return s, err
	}
	for _, change := range changes {
		w.note("tool %s: %s", tool, change)
	}
	members, err := ordered.Read(text)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &root); err != nil {
		return s, err
	}
	if input && root.Type != nil && root.Type != "object" {
		return s, errors.New("its type is not object")
	}
	members = slices.DeleteFunc(members, func(m ordered.Member) bool {
		return m.Key == "$schema" || m.Key == "$id"
	})
	if root.Type == nil && input {
		members = slices.Insert(members, 0, ordered.Member{Key: "type", Value: []byte(`"object"`)})
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, members.Text(), "", "  "); err != nil {
		return s, err
	}
	s.text = append(escaped(indented.String()), '\n')
	var fault *schemafile.Error
	if _, err := schemafile.Read(s.text); errors.As(err, &fault) && fault.Invalid() {
		return s, err
	}
	if !input {
		return s, nil
	}
	s.fits = root.Properties != nil || string(root.AdditionalProperties) == "false"
	if more := root.AdditionalProperties; more != nil && string(more) != "false" {
		s.fits = false // a struct would lose them
	}
	for _, m := range members {
		switch m.Key {
		case "$defs", "definitions", "$comment", "type", "properties", "required",
			"additionalProperties", "title", "description", "examples", "default":
		default:
			s.fits = false // alternatives, patterns of names and the like
		}
	}
	properties, err := ordered.Read(root.Properties)
	if err != nil && root.Properties != nil {
		return s, fmt.Errorf("properties: %w", err)
	}
	folded := map[string]bool{}
	for _, p := range properties {
		fold := strings.ToLower(p.Key)
		if folded[fold] || !fieldName.MatchString(p.Key) {
			s.fits = false
		}
		folded[fold] = true
		s.names = append(s.names, p.Key)
		s.properties = append(s.properties, propertyOf(p, slices.Contains(root.Required, p.Key)))
	}
	return s, nil
}

// fieldName is what a field's tag can name without quotes and options.
var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,99}$`)

// propertyOf chooses the Go type of a property: a plain one if the schema has one type that is
// plain, and JSON otherwise.
func propertyOf(m ordered.Member, required bool) property {
	var s struct {
		Type    any
		Default json.RawMessage
		Items   struct{ Type any }
	}
	p := property{name: m.Key, required: required, goType: raw}
	if json.Unmarshal(m.Value, &s) != nil {
		return p
	}
	name, null := s.Type, false
	if list, ok := s.Type.([]any); ok && len(list) == 2 && slices.Contains(list, "null") {
		name, null = list[0], true
		if name == "null" {
			name = list[1]
		}
	}
	if t, ok := scalars[name]; ok {
		p.goType = t
		if null || !required && s.Default == nil {
			p.goType = "*" + t
		}
	} else if t, ok := scalars[s.Items.Type]; ok && name == "array" {
		p.goType = "[]" + t
	}
	return p
}

const raw = "json.RawMessage"

var scalars = map[any]string{
	"string": "string", "boolean": "bool", "integer": "int64", "number": "float64",
}

// input returns the name of the parameter, and the declaration of its type.
func (w *writer) input(typ string, s fileSchema) (name, declaration string) {
	var b strings.Builder
	if !s.fits {
		w.imports.bytes, w.imports.json = true, true
		fmt.Fprintf(&b, "// %s has the arguments as JSON.\n"+
			"type %[1]s struct{ Raw json.RawMessage }\n\n"+
			"// UnmarshalJSON keeps the arguments.\n"+
			"func (in *%[1]s) UnmarshalJSON(text []byte) error {\n"+
			"in.Raw = bytes.Clone(text)\nreturn nil\n}\n", typ)
		// A parameter with the name of a property would be that property.
		for name = "in"; slices.Contains(s.names, name); name += "n" {
		}
		return name, b.String()
	}
	fmt.Fprintf(&b, "// %s has the arguments. Their schema is in a file, which mcpgen serves.\n"+
		"type %[1]s struct {\n", typ)
	taken := map[string]bool{}
	for _, p := range s.properties {
		field := Unique(Identifier(p.name, "Field"), func(name string) bool { return taken[name] })
		taken[field] = true
		omit := ",omitempty"
		if p.required {
			omit = ""
		}
		if p.goType == raw {
			w.imports.json = true
		}
		fmt.Fprintf(&b, "%s %s `json:\"%s%s\"`\n", field, p.goType, p.name, omit)
	}
	b.WriteString("}\n")
	return "in", b.String()
}

// goName is the name of a tool's handler. Its input type and the constant that mcpgen generates
// for it are free as well.
func (w *writer) goName(tool string) string {
	others := func(name string) []string {
		return []string{name, name + "Input", name + "Description", "Tool" + name}
	}
	name := Unique(Identifier(tool, "Call"), func(name string) bool {
		return slices.ContainsFunc(others(name), func(other string) bool { return w.Taken[other] })
	})
	for _, other := range others(name) {
		w.Taken[other] = true
	}
	return name
}

var reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)

// fileName is the start of the names of a tool's schema files. It has no dots and no slashes, and
// differs from others in more than case.
func (w *writer) fileName(tool string) string {
	name := strings.ReplaceAll(strings.ToLower(tool), ".", "_")
	if reserved.MatchString(name) || strings.HasPrefix(name, "-") {
		name = "tool_" + name
	}
	name = Unique(name, func(name string) bool { return w.files[name] })
	w.files[name] = true
	return name
}

// escaped writes the characters of a JSON text that a reader does not see as escapes. They are in
// strings: white space outside of them is spaces and line feeds.
func escaped(text string) []byte {
	var b []byte
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		switch {
		case r == '\n', unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r):
			b = utf8.AppendRune(b, r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
		}
	}
	return b
}
