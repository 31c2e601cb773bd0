package emit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// noInputSchema is the schema of a handler without input: an object that holds nothing.
const noInputSchema = `{"type":"object","additionalProperties":false}`

// schemas are the schema constants, one a type and direction: an output's schema leaves out
// the limits of inputs and may differ from the input's of the same type.
type schemas struct {
	names     *names
	constants []schemaConstant
	inputs    map[string]string // constant by tool name
	outputs   map[string]string // empty for a tool without an output schema
	guarded   map[string]string // of results with guarded fields that have no output schema
}

type schemaConstant struct {
	base string // of the type's generated names
	name string
	text string
}

// input names the schema of a tool's arguments.
func (s *schemas) input(tool model.Tool) (string, error) {
	base := inputBase(tool)
	text, err := textOf(tool.Input.Written, tool.Input.Schema)
	if err != nil {
		return "", fmt.Errorf("input schema of tool %s: %w", tool.Name, err)
	}
	s.inputs[tool.Name] = s.constant(base, base+"Schema", text)
	return s.inputs[tool.Name], nil
}

// inputBase is the base of the names that belong to a tool's input.
func inputBase(tool model.Tool) string {
	switch {
	case tool.Input.Kind == model.NoInput:
		return "noInput"
	case tool.Input.Name == "":
		return naming.LowerFirst(tool.Handler.Name) + "Input"
	}
	return tool.Input.Name
}

// output names the schema of a tool's structured content, or that of a result with guarded fields,
// if it has one.
func (s *schemas) output(tool model.Tool) error {
	of, schema := s.outputs, tool.Output.Schema
	if tool.Output.Guarded != nil {
		of, schema = s.guarded, tool.Output.Guarded
	}
	if tool.Output.Kind == model.NoOutput || schema == nil && tool.Output.Written == "" {
		return nil
	}
	text, err := textOf(tool.Output.Written, schema)
	if err != nil {
		return fmt.Errorf("output schema of tool %s: %w", tool.Name, err)
	}
	base := cmp.Or(tool.Output.Name, naming.LowerFirst(tool.Handler.Name)+"Output")
	name := base + "Schema"
	if slices.ContainsFunc(s.constants, func(c schemaConstant) bool { return c.base == base }) {
		name = base + "ResultSchema"
	}
	of[tool.Name] = s.constant(base, name, text)
	return nil
}

// constant returns the constant that holds a type's schema, and creates it if it does not exist.
func (s *schemas) constant(base, name, text string) string {
	for _, c := range s.constants {
		if c.base == base && c.text == text {
			return c.name
		}
	}
	c := schemaConstant{base: base, name: s.names.pick(name), text: text}
	s.constants = append(s.constants, c)
	return c.name
}

func (s *schemas) write(f file) {
	var defs []jen.Code
	for _, c := range s.constants {
		defs = append(defs, jen.Id(c.name).Op("=").Add(raw(c.text)))
	}
	if len(defs) == 0 {
		return
	}
	f.Comment("The schemas of arguments and results.")
	f.Const().Defs(defs...)
	f.Line()
}

// textOf is the text of a schema: as written by hand, or marshalled for people as well as clients.
// encoding/json writes <, > and & for HTML pages, which a schema is not in.
func textOf(written string, s *jsonschema.Schema) (string, error) {
	switch {
	case written != "":
		return written, nil
	case s == nil:
		return noInputSchema, nil
	}
	text, err := json.Marshal(s)
	return string(document.PlainHTML(text)), err
}
