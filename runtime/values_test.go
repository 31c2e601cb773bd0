package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// ruled is a tool of the crew, whose enum has rules by value. may says by hand who may send each
// value, in the columns of callers.
type ruled struct {
	name, argument string
	values         []string
	may            map[string]string
	standard       string // the default of the argument; empty if it is required
	form           int    // of its handler: 0 has Handle, 1 has Call, 2 has go-sdk's shape
}

var crewTools = []ruled{
	{"manage", "action", []string{"list", "add", "delete"},
		map[string]string{"list": "nnyyyy", "add": "nnnyyy", "delete": "nnnnny"}, "", 0},
	{"survey", "mode", []string{"deep", "fast"},
		map[string]string{"fast": "yyyyyy", "deep": "nnyyyy"}, "fast", 2},
	{"tidy", "mode", []string{"deep", "fast"},
		map[string]string{"fast": "nnyyyy", "deep": "nnnnyy"}, "deep", 1},
	{"wipe", "what", []string{"one", "all"},
		map[string]string{"one": "nnnnyy", "all": "nnnnny"}, "one", 0},
}

// schema is the input schema as mcpgen generates it for an enum of some values.
func (r ruled) schema(values []string) string {
	quoted, _ := json.Marshal(values)
	standard, required := "", `["note"]`
	if slices.Contains(values, r.standard) {
		standard = fmt.Sprintf(`,"default":%q`, r.standard)
	} else {
		required = fmt.Sprintf(`["note",%q]`, r.argument)
	}
	return fmt.Sprintf(`{"properties":{"note":{"type":"string","maxLength":3},%q:{"type":"string",`+
		`"enum":%s,"description":"What to do."%s}},"additionalProperties":false,"type":"object",`+
		`"required":%s}`, r.argument, quoted, standard, required)
}

type crewInput struct{ value, note string }

func (r ruled) read(reader *decode.Reader, in *crewInput) {
	in.value = r.standard
	required := 2
	if r.standard != "" {
		required = 1
	}
	o := reader.Object(required, "note", r.argument)
	for o.Next() {
		switch o.Property {
		case 0:
			decode.String(reader, &in.note).MaxLength(3)
		case 1:
			decode.String(reader, &in.value).OneOf(r.values...)
		}
	}
}

// tool is the tool as mcpgen generates it.
func (r ruled) tool() toolset.Tool {
	t := toolset.Tool{Name: r.name, Input: r.schema(r.values), Catalogs: []string{"crew"}}
	handle := func(in crewInput) (any, error) { return map[string]string{"did": in.value}, nil }
	switch r.form {
	case 0:
		t.Handle = func(_ context.Context, reader *decode.Reader) (any, error) {
			var in crewInput
			r.read(reader, &in)
			if err := reader.Finish(); err != nil {
				return nil, err
			}
			return handle(in)
		}
		return t
	}
	t.SDK = r.form == 2
	t.Call = func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		in, err := decode.ArgumentsOf(call.Arguments, call.Choices(), r.read)
		if err != nil {
			return toolset.Result{}, err
		}
		out, err := handle(in)
		if r.form == 2 {
			return toolset.Native((*mcp.CallToolResult)(nil), out, err)
		}
		return toolset.Structured(out, err)
	}
	return t
}

// crew is the toolset of the tools. Its rules are what mcpgen generates for
//
//	manage: minrole=Viewer, add: minrole=Member, delete: minrole=Admin
//	survey: public, deep: minrole=Viewer
//	tidy:   minrole=Viewer, deep: minrole=Manager
//	wipe:   minrole=Viewer, one: minrole=Manager, all: minrole=Admin
func crew() toolset.Toolset {
	g := toolset.Generated{Package: "example.com/crew",
		Server: toolset.ServerInfo{Name: "crew", Version: "1"}}
	g.Table.Roles = access.DefaultRoles()
	for _, r := range crewTools {
		g.Tools = append(g.Tools, r.tool())
		rule := access.Rule{Tool: r.name, MinRole: viewer}
		if r.name == "survey" {
			rule = access.Rule{Tool: r.name, Public: true}
		}
		g.Table.Rules = append(g.Table.Rules, rule)
		for _, value := range r.values {
			rule := access.Rule{Tool: r.name, Argument: r.argument, Value: value}
			if from := strings.Index(r.may[value], "y"); from == 0 {
				rule.Public = true
			} else {
				rule.MinRole = access.Role(from - 1)
			}
			g.Table.Values = append(g.Table.Values, rule)
		}
	}
	return toolset.NewToolset(g)
}
