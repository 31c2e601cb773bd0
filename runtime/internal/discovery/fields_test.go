package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// marked returns a schema with the keyword of guarded fields for each "!name", a field of p.T.
func marked(schema string) json.RawMessage {
	for _, name := range []string{"A", "B", "C"} {
		schema = strings.ReplaceAll(schema, `"!`+name+`"`, `"x-mcpgen-field":"p.T.`+name+`"`)
	}
	return json.RawMessage(schema)
}

// No list has the keyword, and the schemas of a caller have no hidden field.
func TestSchemasHaveNoHiddenField(t *testing.T) {
	for name, test := range map[string]struct{ schema, want string }{
		"none": {`{"type":"object","a": 1}`, `{"type":"object","a": 1}`},
		"shown": {`{"properties":{"b":{"type":"string","!B"}},"required":["b"]}`,
			`{"properties":{"b":{"type":"string"}},"required":["b"]}`},
		"hidden": {`{"properties":{"a":{"!A","type":"string"},"b":{}},"type":"object","required":["a"]}`,
			`{"properties":{"b":{}},"type":"object"}`},
		"all": {`{"properties":{"a":{"!A"}},"required":["a"]}`, `{"properties":{}}`},
		"one of the required": {`{"required":["a","b"],"properties":{"a":{"!A"},"b":{}}}`,
			`{"required":["b"],"properties":{"b":{}}}`},
		"beside a reference": {
			`{"$defs":{"D":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/D","!A"}}}`,
			`{"properties":{}}`},
		"a definition that others refer to": {`{"$defs":{"D":{"$ref":"#/$defs/E"},"E":{},"F":{}},` +
			`"properties":{"a":{"$ref":"#/$defs/F","!A"},"b":{"items":[{"$ref":"#/$defs/D"}]}}}`,
			`{"$defs":{"D":{"$ref":"#/$defs/E"},"E":{}},` +
				`"properties":{"b":{"items":[{"$ref":"#/$defs/D"}]}}}`},
		"definitions of all": {`{"$defs":{"D":{"properties":{"b":{"!B"}}}},"items":{"$ref":"#/$defs/D"}}`,
			`{"$defs":{"D":{"properties":{"b":{}}}},"items":{"$ref":"#/$defs/D"}}`},
		"a cycle": {`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"properties":{"a":{"!A"},` +
			`"next":{"$ref":"#/$defs/a~1b%20c"}}}}}`,
			`{"$ref":"#/$defs/a~1b%20c","$defs":{"a/b c":{"properties":{` +
				`"next":{"$ref":"#/$defs/a~1b%20c"}}}}}`},
		"alternatives": {`{"anyOf":[{"properties":{"a":{"!A"}}},{"type":"null"}]}`,
			`{"anyOf":[{"properties":{}},{"type":"null"}]}`},
		"additional properties": {`{"additionalProperties":{"properties":{"a":{"!A"},"b":{"!B"}}}}`,
			`{"additionalProperties":{"properties":{"b":{}}}}`},
		"a property with the name of the keyword": {
			`{"properties":{"x-mcpgen-field":{"type":"string"},"required":{"!A"}},"required":["required"]}`,
			`{"properties":{"x-mcpgen-field":{"type":"string"}}}`},
		"examples": {`{"default":{"a":1,"c":2},"examples":[{"x":[{"a":1}]},"a"],"enum":[{"a":1}],` +
			`"const":{"b":1},"properties":{"a":{"!A"},"b":{"!B"}}}`,
			`{"default":{"c":2},"examples":[{"x":[{}]},"a"],"enum":[{}],` +
				`"const":{"b":1},"properties":{"b":{}}}`},
		"true": {`{"properties":{"a":{"!A"},"b":true},"items":[]}`,
			`{"properties":{"b":true},"items":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			schema := marked(test.schema)
			for _, tool := range []*mcp.Tool{{InputSchema: schema}, {OutputSchema: schema}} {
				got := narrow(tool, nil, []string{"p.T.A"})
				for _, s := range []any{got.InputSchema, got.OutputSchema} {
					if text, ok := s.(json.RawMessage); ok && string(text) != test.want {
						t.Errorf("%s, want %s", text, test.want)
					}
				}
			}
			if string(schema) != string(marked(test.schema)) {
				t.Error("the shared tool has changed")
			}
		})
	}
	broken := &mcp.Tool{InputSchema: json.RawMessage(`{"x-mcpgen-field":`)}
	if narrow(broken, nil, nil) != nil {
		t.Error("a schema that cannot be read is listed")
	}
}

// structs are types with fields, by name.
type structs map[string][]structField

type structField struct {
	name, field   string // field is empty for no rule
	required      bool
	kind, struct_ string
}

// forms are the forms of a root; %s has the members of an object.
var forms = []string{`{%s}`, `{"items":{%s},"type":"array"}`, `{"anyOf":[{%s},{"type":"null"}]}`}

// schema returns the schema of a type with the keyword, or the one without some fields.
func (s structs) schema(root, form string, keyword bool, hidden []string) string {
	used := map[string]bool{}
	var use func(string)
	object := func(name string) string {
		var properties, required []string
		for _, f := range s[name] {
			if f.field != "" && slices.Contains(hidden, f.field) {
				continue
			}
			text := `{"type":"` + f.kind + `"`
			ref := `{"$ref":"#/$defs/` + f.struct_ + `"`
			switch f.kind {
			case "ref":
				text = ref
			case "list":
				text = `{"items":` + ref + `},"type":"array"`
			case "map":
				text = `{"additionalProperties":` + ref + `},"type":"object"`
			case "pointer":
				text = `{"anyOf":[` + ref + `},{"type":"null"}]`
			}
			if f.struct_ != "" {
				use(f.struct_)
			}
			if keyword && f.field != "" {
				text += `,"x-mcpgen-field":"` + f.field + `"`
			}
			properties = append(properties, `"`+f.name+`":`+text+`}`)
			if f.required {
				required = append(required, `"`+f.name+`"`)
			}
		}
		text := `"properties":{` + strings.Join(properties, ",") + `},"type":"object"`
		if len(required) > 0 {
			text += `,"required":[` + strings.Join(required, ",") + `]`
		}
		return text
	}
	use = func(name string) {
		if !used[name] {
			used[name] = true
			object(name)
		}
	}
	text := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf(form, object(root)), "{"), "}")
	var defs []string
	for _, name := range slices.Sorted(maps.Keys(used)) {
		defs = append(defs, `"`+name+`":{`+object(name)+`}`)
	}
	if len(defs) > 0 {
		text = `"$defs":{` + strings.Join(defs, ",") + `},` + text
	}
	return "{" + text + "}"
}

// The schema of a caller is, byte for byte, that of types without the hidden fields.
func TestSchemaOfACallerIsThatOfTypesWithoutTheFields(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		types, names, fields := structs{}, []string{"T0", "T1", "T2", "T3"}, []string{}
		for _, name := range names {
			for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
				f := structField{name: fmt.Sprint("f", i), required: rapid.Bool().Draw(t, "required"),
					kind: rapid.SampledFrom([]string{"string", "ref", "list", "map",
						"pointer"}).Draw(t, "kind")}
				if f.kind != "string" {
					f.struct_ = rapid.SampledFrom(names).Draw(t, "type")
				}
				if rapid.Bool().Draw(t, "guarded") {
					f.field = "p." + name + "." + f.name
					fields = append(fields, f.field)
				}
				types[name] = append(types[name], f)
			}
		}
		var hidden []string
		for _, f := range fields {
			if rapid.Bool().Draw(t, "hidden") {
				hidden = append(hidden, f)
			}
		}
		form := rapid.SampledFrom(forms).Draw(t, "form")
		schema := types.schema("T0", form, true, nil)
		want := types.schema("T0", form, false, hidden)
		for _, sessions := range []bool{false, true} {
			tool := withOutput(&mcp.Tool{OutputSchema: json.RawMessage(schema)}, sessions)
			tool, _ = withoutFields(tool, hidden)
			same := withOutput(&mcp.Tool{OutputSchema: json.RawMessage(want)}, sessions)
			if !reflect.DeepEqual(tool, same) {
				t.Errorf("without %q, sessions %t, %s is listed as\n%s, want\n%s", hidden, sessions,
					schema, tool.OutputSchema, same.OutputSchema)
			}
		}
	})
}

// listsOfFields has three tools with the fields A, B, and A and B, and one without.
func listsOfFields(t *testing.T, c ListsConfig) *Lists {
	t.Helper()
	manager := access.Rule{MinRole: []string{"Manager"}, Scopes: []string{"pay"}}
	a, b := manager, manager
	a.Field, b.Field, b.Scopes = "p.T.A", "p.T.B", nil
	var rules []access.Rule
	for _, name := range []string{"a", "ab", "b", "none"} {
		rules = append(rules, access.Rule{Tool: name, MinRole: []string{"Viewer"}})
	}
	table, err := access.Compose(access.Part{Package: "p", Table: access.Table{
		Roles: [][]string{{"Viewer", "Manager"}}, Rules: rules, Fields: []access.Rule{a, b}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Policy = &Policy{Table: table, ListAll: c.Policy != nil}
	l := NewLists(c)
	for name, properties := range map[string]string{"a": `"a":{"!A"}`, "b": `"b":{"!B"}`,
		"ab": `"a":{"!A"},"b":{"!B"}`, "none": ``} {
		l.AddTool(&mcp.Tool{Name: name,
			InputSchema:  marked(`{"type":"object","properties":{` + properties + `}}`),
			OutputSchema: marked(`{"type":"array","items":{"properties":{` + properties + `}}}`)})
	}
	return l
}

var (
	viewer      = access.Principal{Subject: "v", Roles: []string{"Viewer"}}
	manager     = access.Principal{Subject: "m", Roles: []string{"Manager"}}
	paidManager = access.Principal{Subject: "p", Roles: []string{"Manager"}, Scopes: []string{"pay"}}
)

// Every form of a list has the fields of its caller, and none has the keyword.
func TestEachCallerIsListedItsFields(t *testing.T) {
	for _, listAll := range []bool{false, true} {
		for _, clone := range []bool{false, true} {
			c := ListsConfig{PageSize: 2, Clone: clone}
			if listAll {
				c.Policy = &Policy{}
			}
			l := listsOfFields(t, c)
			for caller, want := range map[*access.Principal]string{&viewer: "", &manager: "b b",
				&paidManager: "a a b b"} {
				for _, sessions := range []bool{false, true} {
					f := Filter{Sessions: sessions}
					text := ""
					for cursor := ""; ; {
						params := &mcp.ListToolsParams{Cursor: cursor}
						res, _, err := l.Result(*caller, f, params)
						if err != nil {
							t.Fatal(err)
						}
						page := res.(*mcp.ListToolsResult)
						plain, err := json.Marshal(page.Tools)
						if err != nil {
							t.Fatal(err)
						}
						text += string(plain)
						if e, ok, err := l.Encode(*caller, f, params); ok {
							if err != nil || !strings.Contains(string(e.Append(nil)), string(plain)) {
								t.Errorf("%s, %v, want %s", e.Append(nil), err, plain)
							}
						}
						if cursor = page.NextCursor; cursor == "" {
							break
						}
					}
					for _, e := range l.Entries(*caller, true, Filter{}) {
						all, _ := json.Marshal(e.Tool)
						if strings.Contains(string(all), "mcpgen") ||
							strings.Contains(e.Tool.Name, "a") != strings.Contains(string(all), `"a":{}`) {
							t.Errorf("an admin is listed %s", all)
						}
					}
					for _, e := range l.Entries(*caller, false, Filter{}) {
						own, _ := json.Marshal(e.Tool)
						text += string(own)
					}
					got := ""
					for _, name := range []string{"a", "b"} {
						// Two tools have each field in two schemas, in the list and in the entries.
						switch n := strings.Count(text, `"`+name+`":{}`); n {
						case 0:
						case 8:
							got += " " + name + " " + name
						default:
							t.Errorf("%s: field %s is listed %d times in %s", caller.Subject, name, n, text)
						}
					}
					if strings.TrimSpace(got) != want || strings.Contains(text, "mcpgen") {
						t.Errorf("%s, ListAll %t, sessions %t: %q of %s", caller.Subject, listAll, sessions,
							got, text)
					}
				}
			}
		}
	}
}

// A list changes for a caller with the fields in its schemas, and with no others. The cursors of
// different lists are different.
func TestListsChangeWithTheirFields(t *testing.T) {
	l := listsOfFields(t, ListsConfig{PageSize: 1})
	only := func(names ...string) *access.Set {
		set := l.Policy.Table.Named(names)
		return &set
	}
	for _, test := range []struct {
		in         *access.Set
		more, same bool // than viewer, for manager and paidManager
	}{
		{nil, false, false}, {only("none"), true, true}, {only("a"), true, false},
		{only("b"), false, true}, {only("ab", "none"), false, false},
	} {
		low, middle, high := l.digests(viewer, test.in), l.digests(manager, test.in),
			l.digests(paidManager, test.in)
		if (low == middle) != test.more || (middle == high) != test.same {
			t.Errorf("%v: %v %v %v", test.in, low, middle, high)
		}
	}
	if l.Seen(viewer) == l.Seen(manager) || l.Seen(manager) == l.Seen(paidManager) {
		t.Error("lists with other fields are equal")
	}
	_, cursor, err := l.tools.page(manager, nil, nil, "")
	if err != nil || cursor == "" {
		t.Fatal(cursor, err)
	}
	if _, _, err := l.tools.page(viewer, nil, nil, cursor); err == nil {
		t.Error("a cursor of another list is valid")
	}
	if _, _, err := l.tools.page(manager, nil, nil, cursor); err != nil {
		t.Error(err)
	}
}

// The fields that a caller is listed are those that it may see.
func TestListedFieldsAreTheVisibleOnes(t *testing.T) {
	for _, all := range []*Policy{nil, {}} {
		p := listsOfFields(t, ListsConfig{Policy: all}).Policy
		for caller, want := range map[*access.Principal]string{&viewer: "", &manager: "p.T.B",
			&paidManager: "p.T.A p.T.B"} {
			var got []string
			for _, name := range p.Listed(*caller, access.Fields).All {
				got = append(got, name)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %q, want %q", caller.Subject, got, want)
			}
		}
	}
}
