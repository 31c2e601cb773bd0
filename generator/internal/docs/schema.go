package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// objects are the structs of the manifest, by the heading of their table.
var objects = []struct{ heading, name string }{
	{"The file", "manifest"}, {"server", "manifestServer"}, {"An item of tools", "manifestTool"},
	{"An item of prompts", "manifestPrompt"}, {"An item of resources", "manifestResource"},
	{"An item of arguments and variables", "manifestArgument"}, {"access", "manifestAccess"},
	{"An item of values", "manifestValue"}, {"hints", "manifestHints"},
	{"limits", "manifestLimits"}, {"An item of icons", "manifestIcon"},
	{"An item of fields", "manifestField"},
	{"An item of ignored", "manifestIgnored"},
}

// words are the values of fields that have few.
var words = map[string][]any{
	"manifestServer.unannotated": {"ignore"},
	"manifestIcon.theme":         {"light", "dark"},
	"manifestTool.denial":        {"conceal", "forbid", "challenge"},
	"manifestPrompt.denial":      {"conceal", "forbid", "challenge"},
	"manifestResource.denial":    {"conceal", "forbid", "challenge"},
	"manifestArgument.type":      {"string", "integer", "boolean"},
	"manifestLimits.isolate":     {"process"},
}

// schemaHome is where editors read the schemas.
const schemaHome = "https://raw.githubusercontent.com/mcpgen/mcpgen/main/docs/reference/schemas/"

// manifestSchema is the JSON Schema of mcp.manifest.json, from the types that mcpgen writes.
func manifestSchema(r *repository) string {
	s := r.read("generator/internal/document")
	version, _ := s.must("manifestVersion")
	schema := &jsonschema.Schema{}
	definitions := jsonschema.Definitions{}
	unused := map[string]bool{}
	for name := range words {
		unused[name] = true
	}
	for _, o := range objects {
		fields, _ := s.fields(o.name)
		object := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(),
			AdditionalProperties: jsonschema.FalseSchema}
		for _, f := range fields {
			tag, rest, _ := strings.Cut(reflect.StructTag(f.tag).Get("json"), ",")
			property := r.schemaOf(f.typ)
			property.Description = strings.Join(strings.Fields(about(f.name, f.comment)), " ")
			property.Enum = words[o.name+"."+tag]
			delete(unused, o.name+"."+tag)
			object.Properties.Set(tag, property)
			if !strings.Contains(rest, "omit") {
				object.Required = append(object.Required, tag)
			}
		}
		if o.name == "manifest" {
			schema = object
			property, _ := object.Properties.Get("manifest")
			property.Const = json.Number(version.String())
			continue
		}
		definitions[o.name] = object
	}
	for name := range unused {
		r.fault("the manifest has no field %s", name)
	}
	schema.Version = jsonschema.Version
	schema.ID = schemaHome + "manifest.json"
	schema.Title = "mcp.manifest.json of mcpgen"
	schema.Definitions = definitions
	text, err := json.Marshal(schema)
	var b bytes.Buffer
	if err := errors.Join(err, json.Indent(&b, text, "", "  ")); err != nil {
		r.fault("%w", err)
	}
	return b.String() + "\n"
}

// schemaOf is the schema of a Go type of the manifest.
func (r *repository) schemaOf(typ string) *jsonschema.Schema {
	typ = strings.TrimPrefix(typ, "*")
	if item, ok := strings.CutPrefix(typ, "[]"); ok {
		return &jsonschema.Schema{Type: "array", Items: r.schemaOf(item)}
	}
	if strings.HasPrefix(typ, "manifest") {
		return &jsonschema.Schema{Ref: "#/$defs/" + typ}
	}
	switch typ {
	case "string", "bool", "int", "json.RawMessage":
		return &jsonschema.Schema{Type: jsonType(typ)}
	case "map[string]string":
		return &jsonschema.Schema{Type: "object",
			AdditionalProperties: &jsonschema.Schema{Type: "string"}}
	case "contract": // a line for each property, which is a JSON Schema
		return &jsonschema.Schema{Type: "object",
			AdditionalProperties: &jsonschema.Schema{Type: "object"}}
	}
	r.fault("no schema for the type %s", typ)
	return &jsonschema.Schema{}
}
