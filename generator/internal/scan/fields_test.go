package scan_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/check"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/load/loadtest"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// A guardCase is a package with a finding about a guarded field, and the edits that its cure asks
// for. Files of other packages follow the first one as txtar.
type guardCase struct {
	name, source string
	want         string   // CODE: the beginning of the message; empty for no finding
	cure         string   // a part of the cure
	edits        []string // old and new texts: the cure, followed
}

const (
	person = `
// Person is a person.
type Person struct {
	Name string ` + "`json:\"name\"`" + `
	// Salary is the pay.
	//
	//mcp:field minrole=Manager
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`
	get = `
// Get returns a person.
//
//mcp:tool minrole=Viewer
func Get(ctx context.Context, name string) (Person, error) { return Person{}, nil }
`
	change = `
// Update changes a person.
//
//mcp:tool minrole=Viewer
func Update(ctx context.Context, person Person) error { return nil }
`
	anything = `
// Any returns anything.
//
//mcp:tool minrole=Viewer
func Any(ctx context.Context) (map[string]any, error) { return nil, nil }
`
	remove = "//mcp:field minrole=Manager\n"

	elsewhere = "import \"example.com/scratch/CASE/types\"\n" + `
//mcp:tool minrole=Viewer
func Get(ctx context.Context, in types.Person) (types.Person, error) { return in, nil }
`
)

// foreign is a package with rules for fields of another module.
func foreign(field, role string) string {
	return "//mcp:field " + field + "\npackage scratch\n" + strings.ReplaceAll(`
//mcp:tool minrole=ROLE
func Get(ctx context.Context) (*mcp.Implementation, error) { return nil, nil }
`, "ROLE", role)
}

// Each place that cannot guard a field is a finding, and its cure removes the finding.
func TestFieldsThatCannotBeGuardedAreFindings(t *testing.T) {
	in := func(old, text string) string { return strings.Replace(person, old, text, 1) }
	cases := []guardCase{
		{"always there", in("*int", "int") + change,
			"MCP053: Person.Salary: an argument with a rule of its own has a type that is never absent",
			"use a pointer", []string{"Salary int", "Salary *int"}},
		{"optional", in("*int", "int") + change, "MCP053: Person.Salary: an argument",
			"toolset.Optional with omitzero", []string{"Salary int", "Salary toolset.Optional[int]",
				"omitempty", "omitzero"}},
		{"optional without omitzero", in("*int", "toolset.Optional[int]") + change,
			"MCP053: Person.Salary: an argument with a rule of its own is null in JSON if it " +
				"is absent in Go",
			"write omitzero", []string{"omitempty", "omitzero"}},
		{"a required optional", strings.Replace(in("*int", "toolset.Optional[int]"), ",omitempty\"",
			"\" jsonschema:\"required\"", 1) + change,
			"MCP053: Person.Salary: an argument with a rule of its own is required",
			"write omitzero in its json tag, and remove required", []string{
				"salary\" jsonschema:\"required\"", "salary,omitzero\""}},
		{"a list", in("*int", "[]int") + change, "MCP053: Person.Salary: an argument",
			"use a pointer", []string{"Salary []int", "Salary *[]int"}},
		{"required", in(",omitempty", "") + change, "MCP053: Person.Salary: an argument with a rule " +
			"of its own is required", "write omitempty", []string{"salary", "salary,omitempty"}},
		{"required by its tag", in("omitempty\"", "omitempty\" jsonschema:\"required\"") + change,
			"MCP053: Person.Salary: an argument with a rule of its own is required",
			"remove required", []string{" jsonschema:\"required\"", ""}},
		{"a default", in("omitempty\"", "omitempty\" jsonschema:\"default=1\"") + change,
			"MCP053: Person.Salary: an argument with a rule of its own has a default",
			"remove the default", []string{" jsonschema:\"default=1\"", ""}},
		{"a group", strings.Replace(in("omitempty\"", "omitempty\" jsonschema:\"oneof_required=a\""),
			"`json:\"name\"`", "`json:\"name,omitempty\" jsonschema:\"oneof_required=b\"`", 1) + change,
			"MCP053: Person.Salary: an argument with a rule of its own is in a group",
			"remove it from the group", []string{" jsonschema:\"oneof_required=a\"", "",
				" jsonschema:\"oneof_required=b\"", ""}},
		{"a header", in("omitempty\"", "omitempty\" jsonschema_extras:\"x-mcp-header=Salary\"") + change,
			"MCP053: Person.Salary: an argument with a rule of its own is in an HTTP header",
			"remove the header", []string{" jsonschema_extras:\"x-mcp-header=Salary\"", ""}},
		{"both directions", in("*int", "int") + change + get,
			"MCP053: Person.Salary: an argument", "use a pointer", []string{"Salary int", "Salary *int"}},
		{"within a list", in("*int", "int") + strings.Replace(change, "person Person",
			"all []map[string]*Person", 1), "MCP053: all[][…].Salary: an argument", "use a pointer",
			[]string{"Salary int", "Salary *int"}},

		{"a method", person + get + "func (Person) MarshalJSON() ([]byte, error) { return nil, nil }\n",
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Person has a JSON " +
				"form of its own", "remove the cause", []string{
				"func (Person) MarshalJSON() ([]byte, error) { return nil, nil }", ""}},
		{"a method for text", person + get +
			"func (Person) MarshalText() ([]byte, error) { return nil, nil }\n",
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Person has a JSON " +
				"form of its own", "remove the cause", []string{"func (Person) MarshalText",
				"func MarshalText"}},
		{"a method of an argument", person + change +
			"func (*Person) UnmarshalText([]byte) error { return nil }\n",
			"MCP053: mcpgen cannot guard fields within the arguments of Update: scratch.Person has",
			"remove the cause", []string{"func (*Person) Un", "func Un"}},
		{"a promoted method", person + "\ntype Stamp struct{ time.Time }\n" +
			"type Row struct {\n\tStamp\n\tPerson Person\n}\n" + strings.Replace(get, "(Person, error) { "+
			"return Person{}", "(Row, error) { return Row{}", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Row has a JSON form",
			"remove the cause", []string{"\tStamp\n", "\tAt Stamp `json:\"-\"`\n"}},
		{"a method that decodes", person + change +
			"func (*Person) UnmarshalJSON([]byte) error { return nil }\n",
			"MCP015: person: scratch.Person has its own UnmarshalJSON", "use a type without the method",
			[]string{"func (*Person) Un", "func Un"}},
		{"an embedded time", person + "type Row struct {\n\ttime.Time\n\tPerson Person\n}\n" +
			strings.Replace(get, "(Person, error) { return Person{}", "(Row, error) { return Row{}", 1),
			"MCP015: Row: scratch.Row has MarshalJSON from the embedded time.Time",
			"give the embedded field a name, or use a type without the method",
			[]string{"\ttime.Time\n", "\tAt time.Time\n"}},
		{"a method beside it", person + "type Bad struct{ N int }\n\n" +
			"func (Bad) MarshalJSON() ([]byte, error) { return nil, nil }\n\n" +
			"type Row struct {\n\tB Bad\n\tPerson Person\n}\n" + strings.Replace(get,
			"(Person, error) { return Person{}", "(Row, error) { return Row{}", 1),
			"MCP015: Row.B: scratch.Bad has its own MarshalJSON", "declare the JSON type in the field's tag",
			[]string{"\tB Bad\n", "\tB Bad `jsonschema:\"type=string\"`\n"}},
		{"a key without a text form", person + strings.Replace(get, "(Person, error) { return Person{}",
			"(map[Person]int, error) { return nil", 1), "MCP015: map[Person]int: a map with keys of type " +
			"scratch.Person has no JSON", "use a string or an integer as key",
			[]string{"map[Person]int", "map[string]Person"}},
		{"a header of another line", person + strings.Replace(change, "minrole=Viewer",
			"minrole=Viewer\n"+
				"//mcp:param salary header=Salary", 1), "MCP030: salary is a field of this module",
			"remove it, or write omitempty", []string{"//mcp:param salary header=Salary\n", ""}},
		{"a type around it", person + "\ntype Page struct{ people []Person }\n\n" +
			"func (Page) MarshalJSON() ([]byte, error) { return nil, nil }\n" + strings.Replace(get,
			"(Person, error) { return Person{}", "([]Page, error) { return nil", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Page has a JSON form",
			"remove the cause", []string{"func (Page) MarshalJSON() ([]byte, error) { return " +
				"nil, nil }", ""}},
		{"a declared type", "//mcp:type Person schema=object\npackage scratch\n" + person + get +
			"func (Person) MarshalJSON() ([]byte, error) { return nil, nil }\n",
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Person has a JSON " +
				"form of its own", "remove the cause", []string{
				"func (Person) MarshalJSON() ([]byte, error) { return nil, nil }", "",
				"//mcp:type Person schema=object\n", ""}},
		{"a key", person + "func (Person) MarshalText() ([]byte, error) { return nil, nil }\n" +
			strings.Replace(get, "(Person, error) { return Person{}",
				"(map[Person]int, error) { return nil", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: scratch.Person has a JSON " +
				"form of its own", "use a type without the field", []string{"map[Person]int", "map[string]int",
				remove, ""}},
		{"alternatives", person + "type Row struct {\n" +
			"\tP Person `json:\"p\" jsonschema:\"oneof_type=string;object\"`\n}\n" + strings.Replace(get,
			"(Person, error) { return Person{}", "(Row, error) { return Row{}", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: the tag of P in scratch.Row " +
				"has alternatives", "remove the cause",
			[]string{" jsonschema:\"oneof_type=string;object\"", ""}},
		{"hidden from the schema", in("omitempty\"", "omitempty\" jsonschema:\"-\"") + get,
			"MCP053: mcpgen cannot guard fields within the result of Get: the jsonschema tag of Salary " +
				"in scratch.Person hides it from the schema only", "remove the cause",
			[]string{" jsonschema:\"-\"", ""}},
		{"hidden around it", person + "type Row struct {\n\tP []Person `json:\"p\" " +
			"jsonschema:\"-\"`\n}\n" +
			strings.Replace(get, "(Person, error) { return Person{}", "(Row, error) { return Row{}", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: the jsonschema tag of P in " +
				"scratch.Row hides it from the schema only", "remove the cause",
			[]string{" jsonschema:\"-\"", ""}},
		{"a list of itself", "type Rows []Rows\n" + in("\tName", "\tRows Rows\n\tName") + get, "",
			"", nil},
		{"no schema", person + "type Row struct {\n\tP Person\n\tF func()\n}\n" + strings.Replace(
			strings.Replace(get, "(Person, error) { return Person{}", "(Row, error) { return Row{}", 1),
			"Viewer", "Viewer output=none", 1),
			"MCP053: mcpgen cannot guard fields within the result of Get: Row.F: func() has no JSON",
			"remove the cause", []string{"\tF func()\n", "\tF func() `json:\"-\"`\n"}},
		{"no decoder", person + "type In struct {\n\tP *Person `json:\"p,omitempty\"`\n" +
			"\tX any `json:\"x\" jsonschema:\"oneof_type=integer;number\"`\n}\n" + strings.Replace(change,
			"person Person", "in In", 1), "MCP053: mcpgen cannot guard fields within the arguments of " +
			"Update: X: a choice of types", "use types that mcpgen can decode",
			[]string{"integer;number", "string;number"}},

		{"a schema by hand", person + "//mcp:tool minrole=Viewer\n//mcp:schema output=s.json\n" +
			"func Get(ctx context.Context) (Person, error) { return Person{}, nil }\n" +
			"-- s.json --\n{\"type\": \"object\"}\n",
			"MCP053: fields in the result of Get have rules, and //mcp:schema describes it",
			"remove the schema by hand", []string{"//mcp:schema output=s.json\n", ""}},
		{"arguments by hand", person + "//mcp:tool minrole=Viewer\n//mcp:schema input=s.json\n" +
			"func Update(ctx context.Context, p Person) error { return nil }\n" +
			"-- s.json --\n{\"type\": \"object\"}\n",
			"MCP053: fields in the arguments of Update have rules, and //mcp:schema describes them",
			"remove the schema by hand", []string{"//mcp:schema input=s.json\n", ""}},
		{"go-sdk's shape", person + `
//mcp:tool minrole=Viewer
func Get(ctx context.Context, req *mcp.CallToolRequest, in Person) (*mcp.CallToolResult, any, error) {
	return nil, nil, nil
}
`, "MCP053: fields in the arguments of Get have rules, and the handler has go-sdk's shape",
			"take no *mcp.CallToolRequest", []string{"req *mcp.CallToolRequest, ", "",
				"(*mcp.CallToolResult, any, error)", "(any, error)", "nil, nil, nil", "nil, nil"}},
		{"go-sdk's result", person + `
//mcp:tool minrole=Viewer
func Get(ctx context.Context, req *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, Person, error) {
	return nil, Person{}, nil
}
`, "MCP053: fields in the result of Get have rules, and the handler has go-sdk's shape",
			"return the result itself", []string{"req *mcp.CallToolRequest, ", "",
				"(*mcp.CallToolResult, Person, error)", "(Person, error)", "nil, Person{}", "Person{}"}},
		{"a rule of a value", `
type Grade string

const (
	Low  Grade = "low"
	High Grade = "high"
)

type Person struct {
	//mcp:field minrole=Manager
	Grade *Grade ` + "`json:\"grade,omitempty\" jsonschema:\"enum=low,enum=high\"`" + `
}

//mcp:tool minrole=Viewer
//mcp:rule grade=high minrole=Admin
func Update(ctx context.Context, person Person) error { return nil }
`, "MCP053: the argument grade of Update has //mcp:rule and //mcp:field", "remove one of the two",
			[]string{"//mcp:rule grade=high minrole=Admin\n", ""}},
		{"a permission", `
type Read struct {
	//mcp:field minrole=Manager
	Path *grant.Path ` + "`json:\"path,omitempty\"`" + `
}

//mcp:tool minrole=Viewer
//mcp:allow net.connect={path}
func Update(ctx context.Context, in Read) error { return nil }
`, "MCP053: the argument path of Update has //mcp:allow and //mcp:field", "remove one of the two",
			[]string{"//mcp:allow net.connect={path}\n", ""}},
		{"no name", `
type Page struct {
	Rows []struct {
		//mcp:field minrole=Manager
		Salary int
	}
}
` + strings.ReplaceAll(get, "Person", "Page"),
			"MCP053: the field Salary with the rule is a field of a struct without a name",
			"give the struct a type name", []string{"[]struct {", "[]Row }; type Row struct {",
				"}\n}", "}"}},
		{"an alias", "type Row = struct {\n\t//mcp:field minrole=Manager\n\tSalary int\n}\n" +
			strings.ReplaceAll(get, "Person", "Row"),
			"MCP053: the field Salary with the rule is a field of a struct without a name",
			"give the struct a type name", []string{"type Row = struct", "type Row struct"}},
		{"a reference of a tag", person + strings.Replace(change, "person Person", "in in", 1) +
			"type in struct {\n\tAny any `json:\"any\" jsonschema:\"anyof_ref=#/$defs/Person\"`\n}\n",
			"MCP053: in.Any: the tag of an argument refers to Person", "use Person as the type",
			[]string{"any `json:\"any\" jsonschema:\"anyof_ref=#/$defs/Person\"`",
				"Person `json:\"any\"`"}},
		{"a type within a func with the name of another", person +
			strings.ReplaceAll(strings.Replace(person, "Manager", "Member", 1), "Person", "Row") +
			"func of() any {\n\ttype Person Row\n\treturn Person{}\n}\n" + anything,
			"MCP053: two types have the name example.com/scratch/CASE.Person, and different rules for " +
				"the field Salary", "rename one of the types",
			[]string{"type Person Row", "type Public Row", "return Person{}", "return Public{}"}},
		{"embedded", "type Base struct{ Salary int }\ntype Person struct {\n\tName string\n" +
			"\t//mcp:field minrole=Manager\n\tBase\n}\n" + get,
			"MCP053: the field Base with the rule is an embedded struct", "write the rule on its fields",
			[]string{"\t//mcp:field minrole=Manager\n", "", "{ Salary int }",
				"{\n\t//mcp:field minrole=Manager\n\tSalary int\n}"}},
		{"not exported", in("Salary *int `json:\"salary,omitempty\"`", "salary *int") + get,
			"MCP053: the field salary with the rule is not exported", "export the field",
			[]string{"salary *int", "Salary *int"}},
		{"not in JSON", in("salary,omitempty", "-") + get,
			"MCP053: the field Salary with the rule has json:\"-\"", "remove the rule",
			[]string{"\t" + remove, ""}},
		{"a prompt", strings.Replace(in("*int", "*string"), "Viewer", "", 1) + `
//mcp:prompt minrole=Viewer
func Greet(ctx context.Context, person Person) (string, error) { return "", nil }
`, "MCP053: fields in the arguments of Greet have rules, and it is a prompt",
			"use a type without the field", []string{"person Person", "name string"}},
		{"a resource", in("*int", "*string") + `
//mcp:resource uri=x://{name} minrole=Viewer
func Read(ctx context.Context, person Person) (string, error) { return "", nil }
`, "MCP053: fields in the arguments of Read have rules, and it is a resource",
			"use a type without the field", []string{"person Person", "name string"}},

		{"nothing more", strings.Replace(person, "Manager", "Viewer", 1) + get,
			"MCP053: the rule of example.com/scratch/CASE.Person.Salary adds nothing to the rules of " +
				"the tools that have the field: get", "write a stricter rule",
			[]string{"//mcp:field minrole=Viewer", "//mcp:field minrole=Member"}},
		{"nothing more for one", strings.Replace(person, "Manager", "Viewer", 1) + get +
			strings.Replace(strings.Replace(get, "Get", "All", -1), "minrole=Viewer", "public", 1),
			"", "", nil},
		{"nothing more, apart from an interface", strings.Replace(person, "Manager", "Viewer", 1) + get +
			strings.Replace(anything, "minrole=Viewer", "public", 1), "", "", nil},
		{"no name below an interface", `
type Page struct {
	Rows []struct {
		//mcp:field minrole=Manager
		Salary int
	}
}
` + anything, "MCP053: the field Salary with the rule is a field of a struct without a name",
			"give the struct a type name", []string{"[]struct {", "[]Row }; type Row struct {",
				"}\n}", "}"}},
		{"nothing more by scopes", "//mcp:scopes all > pay\npackage scratch\n" + strings.Replace(person,
			"minrole=Manager", "scopes=pay", 1) + strings.Replace(get, "minrole=Viewer", "scopes=all,x", 1),
			"MCP053: the rule of example.com/scratch/CASE.Person.Salary adds nothing", "write a stricter",
			[]string{"scopes=all,x", "scopes=x"}},
		{"an unknown role", strings.Replace(person, "Manager", "Manger", 1) + get,
			"MCP009: unknown role Manger", "did you mean Manager?", []string{"Manger", "Manager"}},
		{"twice the same", strings.Replace(person, "Manager", "Manager authenticated", 1) + get,
			"MCP020: authenticated adds nothing to minrole=", "remove authenticated",
			[]string{" authenticated", ""}},
		{"public", strings.Replace(person, "minrole=Manager", "public", 1) + get,
			"MCP020: public in the rule of a field has no effect", "remove the directive",
			[]string{"public", "scopes=pay"}},
		{"no rule", strings.Replace(person, " minrole=Manager", "", 1) + get,
			"MCP031: //mcp:field has no access rule", "write the rule",
			[]string{"//mcp:field", "//mcp:field scopes=x"}},
		{"no action", strings.Replace(person, "minrole=Manager", "action=none", 1) + get,
			"MCP020: action=none is no rule for a field", "write a rule",
			[]string{"action=none", "action=pay_read"}},
		{"an object alone", strings.Replace(person, "minrole=Manager", "object=salary", 1) + get,
			"MCP018: //mcp:field has object= without action=", "write action=",
			[]string{"object=salary", "action=view_salary"}},
		{"an object without app", "package scratch\n" + strings.Replace(person, "minrole=Manager",
			"action=view object=pay", 1) +
			get, "MCP031: //mcp:field has object=, and package scratch has no app=", "write app=",
			[]string{"package scratch", "//mcp:server app=hr\npackage scratch"}},

		{"the name in a text", person + strings.Replace(get, "a person.", "a person, with `salary`.", 1),
			"MCP053: get shows the name salary of a field with a rule to callers below the rule: in its " +
				"description", "remove the name", []string{", with `salary`", ""}},
		{"the Go name in the text of a field", strings.Replace(person, "\tName", "\t// Name without "+
			"`Person.Salary`.\n\tName", 1) + get,
			"MCP053: get shows the name Person.Salary of a field with a rule to callers below the rule: " +
				"in its result at /properties/name/description", "remove the name",
			[]string{" without `Person.Salary`", ""}},
		{"the name in the text of the type", strings.Replace(person, "is a person.", "has `Salary`.", 1) +
			get, "MCP053: get shows the name Salary", "remove the name", []string{"has `Salary`", "is one"}},
		{"the name in double quotes", person + strings.Replace(get, "a person.",
			"a person, with \"salary\".", 1),
			"MCP053: get shows the name salary", "remove the name", []string{", with \"salary\"", ""}},
		{"the name in the text of the type, in quotes", strings.Replace(person, "is a person.",
			"has 'Salary'.",
			1) + get, "MCP053: get shows the name Salary", "remove the name",
			[]string{"has 'Salary'", "is one"}},
		{"the name in _meta", person + strings.Replace(get, "minrole=Viewer", "minrole=Viewer\n"+
			"//mcp:meta example.com/key json=`{\"salary\":1}`", 1), "MCP053: get shows the " +
			"name salary of a field " +
			"with a rule to callers below the rule: in its _meta", "remove the name",
			[]string{"{\"salary\":1}", "{}"}},
		{"the name without quotes", person + strings.Replace(get, "a person.",
			"a person, with salary.", 1),
			"", "", nil},
		{"its own text", strings.Replace(person, "is the pay.", "is the `salary`.", 1) + get, "",
			"", nil},
		{"the name of another", strings.Replace(person, "\tName", "\tOther struct{ Salary int `json:"+
			"\"salary\"` }\n\tName", 1) + strings.Replace(get, "a person.", "a person, with `salary`.", 1),
			"", "", nil},
		{"the name for those who may", person + strings.Replace(strings.Replace(get, "Viewer",
			"Admin", 1),
			"a person.", "a person, with `salary`.", 1) + strings.ReplaceAll(get, "Get", "Other"), "", "",
			nil},

		{"misspelt", strings.Replace(person, "mcp:field", "mcp:feild", 1) + get,
			"MCP003: unknown directive //mcp:feild", "did you mean //mcp:field?",
			[]string{"feild", "field"}},
		{"a near miss", strings.Replace(person, "//mcp:field", "// mcp:field", 1) + get,
			"MCP010: this comment resembles a directive", "did you mean //mcp:field?",
			[]string{"// mcp:field", "//mcp:field"}},
		{"far from the field", strings.Replace(person, "Manager\n", "Manager\n\n", 1) + get,
			"MCP011: //mcp:field is not on a declaration", "without an empty line",
			[]string{"Manager\n\n", "Manager\n"}},
		{"behind the field", strings.Replace(in("\t"+remove, ""), "\"`\n}",
			"\"` //mcp:field minrole=Manager\n}", 1) +
			get, "MCP011: //mcp:field is behind its field", "on a line of its own above the field",
			[]string{" //mcp:field minrole=Manager", "", "\tSalary",
				"\t//mcp:field minrole=Manager\n\tSalary"}},
		{"within a func", "func of() any {\n" + person + "return Person{}\n}\n" + anything,
			"MCP011: //mcp:field is within a func", "declare the type at package level",
			[]string{"func of() any {\n", "", "return Person{}\n}\n", ""}},
		{"behind a field within a func value", "var of = func() any {\n\ttype Person struct {\n\t\t" +
			"Salary *int //mcp:field minrole=Manager\n\t}\n\treturn Person{}\n}\n" + anything,
			"MCP011: //mcp:field is within a func", "declare the type at package level",
			[]string{"var of = func() any {\n", "", "\treturn Person{}\n}\n", "",
				"Salary *int //mcp:field minrole=Manager", "//mcp:field minrole=Manager\nSalary *int"}},
		{"a default on a type within a func", "func of() any {\n\t//mcp:default minrole=Viewer\n" +
			"\ttype Person struct{}\n\treturn Person{}\n}\n" + anything,
			"MCP011: //mcp:default is within a func", "declare the type at package level",
			[]string{"\t//mcp:default minrole=Viewer\n", ""}},
		{"on the type", strings.Replace(strings.Replace(person, remove, "\n", 1), "type Person",
			"//\n//mcp:field minrole=Manager\ntype Person", 1) + get,
			"MCP006: //mcp:field is not allowed on a type", "put it on a struct field",
			[]string{remove, ""}},
		{"twice", strings.Replace(person, "\tSalary", "\t//mcp:field minrole=Admin\n\tSalary", 1) + get,
			"MCP005: //mcp:field is written twice", "remove one of the two",
			[]string{"\t//mcp:field minrole=Admin\n", ""}},
		{"a name on a field", strings.Replace(person, "//mcp:field", "//mcp:field a.Person.Salary", 1) +
			get, "MCP006: //mcp:field on a struct field names a.Person.Salary", "remove the name",
			[]string{"a.Person.Salary ", ""}},
		{"a key of another directive", strings.Replace(person, "Manager", "Manager denial=forbid", 1) +
			get, "MCP004: //mcp:field has no key denial", "remove it", []string{" denial=forbid", ""}},
		{"no name in the package doc", "//mcp:field minrole=Manager\npackage scratch\n" + person + get,
			"MCP031: //mcp:field in the package doc names no field", "write the line above the field",
			[]string{"//mcp:field minrole=Manager\npackage", "package"}},
		{"another package", elsewhere + `-- types/types.go --
package types
` + person, "", "", nil},
		{"an argument of another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	//mcp:field minrole=Manager
	Salary int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP053: Person.Salary: an argument", "use a pointer", []string{"Salary int", "Salary *int"}},
		{"misspelt in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	//mcp:feild minrole=Manager
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP003: unknown directive //mcp:feild", "did you mean //mcp:field?", []string{"feild", "field"}},
		{"a plural in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	//mcp:fields minrole=Manager
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP003: unknown directive //mcp:fields", "did you mean //mcp:field?", []string{"fields", "field"}},
		{"a near miss in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	// mcp:field minrole=Manager
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP010: this comment resembles a directive", "did you mean //mcp:field?", []string{"// mcp:", "//mcp:"}},
		{"far from the field in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	//mcp:field minrole=Manager

	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP011: //mcp:field is not on a declaration", "put it on a struct field", []string{"Manager\n\n", "Manager\n"}},
		{"on a type of another package", elsewhere + `-- types/types.go --
package types

//mcp:field minrole=Manager
type Person struct {
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP006: //mcp:field is not allowed on a type", "put it on a struct field", []string{"//mcp:field minrole=Manager\n", ""}},
		{"behind the field in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	Salary *int ` + "`json:\"salary,omitempty\"`" + ` //mcp:field minrole=Manager
}
`, "MCP011: //mcp:field is behind its field", "on a line of its own above", []string{" //mcp:field minrole=Manager", "", "\tSalary", "\t//mcp:field minrole=Manager\n\tSalary"}},
		{"an unknown role in another package", elsewhere + `-- types/types.go --
package types

type Person struct {
	//mcp:field minrole=Boss
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
}
`, "MCP009: unknown role Boss", "write one of", []string{"Boss", "Admin"}},

		{"another module", foreign("mcp.Implementation.Version minrole=Manager", "Viewer"), "", "", nil},
		{"another module, by its path", foreign("github.com/modelcontextprotocol/go-sdk/mcp."+
			"Implementation.Version minrole=Manager", "Viewer"), "", "", nil},
		{"an argument of another module", foreign("mcp.Implementation.Version minrole=Manager",
			"Viewer") +
			"//mcp:tool minrole=Viewer\nfunc Set(ctx context.Context, in mcp.Implementation) error " +
			"{ return nil }\n", "MCP053: Implementation.Version: an argument with a rule",
			"use a type of your own", []string{"in mcp.Implementation", "in struct{}"}},
		{"an unknown field", foreign("mcp.Implementation.Versoin minrole=Manager", "Viewer"),
			"MCP008: mcp.Implementation has no field Versoin", "did you mean mcp.Implementation.Version?",
			[]string{"Versoin", "Version"}},
		{"an unknown type", foreign("mcp.Implementatoin.Version minrole=Manager", "Viewer"),
			"MCP008: mcp.Implementatoin is not a type", "did you mean mcp.Implementation.Version?",
			[]string{"Implementatoin", "Implementation"}},
		{"an unknown package", foreign("mpc.Implementation.Version minrole=Manager", "Viewer"),
			"MCP008: mpc.Implementation is not a type", "did you mean mcp.Implementation.Version?",
			[]string{"mpc.", "mcp."}},
		{"no package", foreign("Implementation.Version minrole=Manager", "Viewer"),
			"MCP008: Implementation.Version names no package", "write the package",
			[]string{"Implementation.Version", "mcp.Implementation.Version"}},
		{"no struct", foreign("mcp.LoggingLevel.Version minrole=Manager", "Viewer"),
			"MCP008: mcp.LoggingLevel is not a struct", "name a struct type",
			[]string{"LoggingLevel", "Implementation"}},
		{"a promoted field", foreign("mcp.ServerSession.ID minrole=Manager", "Viewer"),
			"MCP008: mcp.ServerSession has no field ID", "", []string{"ServerSession.ID",
				"Implementation.Version"}},
		{"of this module", "//mcp:field scratch.Person.Salary minrole=Admin\npackage scratch\n" + person +
			get, "MCP006: scratch.Person.Salary is a field of this module",
			"write //mcp:field above the field",
			[]string{"//mcp:field scratch.Person.Salary minrole=Admin\n", ""}},
		{"twice in the package doc", foreign("mcp.Implementation.Version minrole=Manager\n//mcp:field "+
			"mcp.Implementation.Version minrole=Admin", "Viewer"),
			"MCP005: the package has another //mcp:field mcp.Implementation.Version",
			"remove one of the two",
			[]string{"//mcp:field mcp.Implementation.Version minrole=Admin\n", ""}},
		{"rules of another server below an interface", "//mcp:roles Reader < Writer\npackage scratch\n" +
			"import _ \"example.com/scratch/CASE/types\"\n" + strings.Replace(anything, "Viewer",
			"Reader", 1) +
			"-- types/types.go --\npackage types\n" + person, "", "", nil},
		{"a field of the name in its line", in("*int", "*struct{ Salary int }") + get,
			"MCP053: the field Salary with the rule is a field of a struct without a name",
			"give the struct a type name", []string{"*struct{ Salary int }", "*Pay",
				get, get + "type Pay struct{ Salary int }\n"}},
		{"not reached", foreign("mcp.Icon.Theme minrole=Manager\n//mcp:field "+
			"mcp.Implementation.Version minrole=Admin", "Viewer"), "", "", nil},
		{"below an interface", foreign("mcp.Root.Name minrole=Manager", "Viewer") + anything, "",
			"", nil},
		{"not reached at all", foreign("mcp.Root.Name minrole=Manager", "Viewer"),
			"MCP053: no tool of the package has the field mcp.Root.Name", "remove it",
			[]string{"//mcp:field mcp.Root.Name minrole=Manager\n", ""}},
		{"nothing more in the package doc", foreign("mcp.Implementation.Version minrole=Manager",
			"Admin"),
			"MCP053: the rule of github.com/modelcontextprotocol/go-sdk/mcp.Implementation.Version adds " +
				"nothing", "remove it", []string{
				"//mcp:field mcp.Implementation.Version minrole=Manager\n", ""}},
	}
	var files []txtar.File
	add := func(i int, text string) {
		pkg := fmt.Sprintf("p%02d", i)
		archive := txtar.Parse([]byte("-- a.go --\n" + text))
		for _, f := range archive.Files {
			data := strings.ReplaceAll(string(f.Data), "CASE", pkg)
			if f.Name == "a.go" {
				data = withClause(data)
			}
			files = append(files, txtar.File{Name: pkg + "/" + f.Name, Data: []byte(data)})
		}
	}
	for i, c := range cases {
		add(i, c.source)
		cured := c.source
		for e := 0; e < len(c.edits); e += 2 {
			if !strings.Contains(cured, c.edits[e]) {
				t.Errorf("%s: the source lacks %q", c.name, c.edits[e])
			}
			cured = strings.Replace(cured, c.edits[e], c.edits[e+1], 1)
		}
		add(500+i, cured)
	}
	prog := loadtest.Load(t, files)
	services, findings := scan.Services(prog)
	findings = append(findings, check.Services(services)...)
	findings.Sort()
	of := func(i int) (list diag.List) {
		for _, d := range findings {
			if strings.Contains(d.Pos.File, fmt.Sprintf("/p%02d/", i)) {
				list = append(list, d)
			}
		}
		return list
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			found := of(i)
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("got %v", found)
				}
				return
			}
			want := strings.ReplaceAll(c.want, "CASE", fmt.Sprintf("p%02d", i))
			if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
				return strings.HasPrefix(fmt.Sprintf("%s: %s", d.Code, d.Message), want) &&
					strings.Contains(d.Suggestion, c.cure)
			}) {
				t.Errorf("got  %v\nwant %s; %s", found, want, c.cure)
			}
			if len(c.edits) == 0 {
				t.Error("the cure is not followed")
			} else if left := of(500 + i); len(left) > 0 {
				t.Errorf("with the cure: %v", left)
			}
			for _, d := range found { // none of these guards a field
				for _, cure := range []string{schema.ByHand, "output=none", "//mcp:type ", "text methods",
					"x-mcp-header"} {
					if strings.Contains(d.Suggestion, cure) {
						t.Errorf("the cure leads to MCP053: %v", d)
					}
				}
			}
		})
	}
}

// An argument with a rule of its own that is absent in Go is absent in JSON, and not null:
// encoding/json encodes it.
func TestGuardedArgumentsThatAreAbsentInGoAreAbsentInJSON(t *testing.T) {
	type optional struct { // like toolset.Optional
		Present bool
		Value   int
	}
	type guarded struct {
		written string
		typ     reflect.Type
	}
	var sources [2]strings.Builder
	want := map[string]bool{} // true with a finding
	sources[0].WriteString("package scratch\n")
	sources[1].WriteString("//mcp:server required=tags\npackage scratch\n")
	for _, field := range []guarded{{"*int", reflect.TypeFor[*int]()}, {"**int",
		reflect.TypeFor[**int]()},
		{"*[]int", reflect.TypeFor[*[]int]()}, {"toolset.Optional[int]", reflect.TypeFor[optional]()},
		{"toolset.Optional[*int]", reflect.TypeFor[optional]()}} {
		for _, tag := range []string{``, `json:"v"`, `json:",omitempty"`, `json:",omitzero"`,
			`json:"v,omitempty,omitzero"`, `json:"v,string"`, `json:"omitempty"`, `json:"omitzero"`} {
			of := reflect.StructOf([]reflect.StructField{{Name: "V", Type: field.typ,
				Tag: reflect.StructTag(tag)}})
			zero, err := json.Marshal(reflect.Zero(of).Interface())
			if err != nil {
				t.Fatal(err)
			}
			for i := range sources {
				name := fmt.Sprintf("%c%d", 'S'+i, len(want))
				want[name] = string(zero) != "{}"
				fmt.Fprintf(&sources[i], "\ntype %s struct {\n\t//mcp:field "+
					"minrole=Manager\n\tV %s `%s`\n}\n\n"+
					"//mcp:tool minrole=Viewer\nfunc Set%[1]s(ctx context.Context, in %[1]s) "+
					"error { return nil }\n",
					name, field.written, tag)
			}
		}
	}
	_, findings := scan.Services(loadtest.Load(t, []txtar.File{
		{Name: "a/a.go", Data: []byte(withClause(sources[0].String()))},
		{Name: "b/b.go", Data: []byte(withClause(sources[1].String()))}}))
	for name, finding := range want {
		if found := slices.ContainsFunc(findings, func(d diag.Diagnostic) bool {
			return d.Code == diag.GuardedField && strings.HasPrefix(d.Message, name+".V: an argument")
		}); found != finding {
			t.Errorf("%s: finding: %t", name, found)
		}
	}
	if t.Failed() {
		t.Log(sources[0].String(), sources[1].String(), findings)
	}
}

// The name of a rule has the type that a tool reaches, in whatever way it reaches the type.
func TestRulesOfFieldsHaveTheNamesOfTheTypesThatToolsReach(t *testing.T) {
	prog := loadtest.Load(t, []txtar.File{{Name: "hr/hr.go", Data: []byte(`// Package hr has people.
package hr

// Base is what all have.
type Base struct {
	//mcp:field scopes=pay anyscope=a,b
	Grade, Level *int ` + "`json:\",omitempty\"`" + `
}

// Person embeds Base.
type Person struct {
	Base
	//mcp:field action=view object=pay
	Salary *int ` + "`json:\"salary,omitempty\"`" + `
	Boss   *Person ` + "`json:\"boss,omitempty\"`" + `
}

// Page is generic.
type Page[T any] struct {
	//mcp:field authenticated
	Total *int
	Items []T
}

// Hidden is reached by no tool.
type Hidden struct {
	//mcp:field minrole=Admin
	Secret *int
}

type view Person

func Show(p Person) any {
	type pay Person
	type more struct{ *pay }
	return more{(*pay)(&p)}
}
`)}, {Name: "tools/tools.go", Data: []byte(`//mcp:server app=hr
package tools

import (
	"context"

	"example.com/scratch/hr"
)

// Employee is a type of its own.
type Employee hr.Person

func manage(p hr.Person) any {
	type manager hr.Page[Employee]
	type chief manager
	return chief{}
}

//mcp:tool public
func List(ctx context.Context) (map[string]hr.Page[hr.Person], error) { return nil, nil }

//mcp:tool minrole=Viewer
func Hire(ctx context.Context, name string, who [2]*Employee) error { return nil }

//mcp:tool minrole=Viewer output=none
func Read(ctx context.Context) ([]*Employee, error) { return nil, nil }

//mcp:tool minrole=Viewer
func Other(ctx context.Context) (any, error) { return nil, nil }
`)}})
	services, findings := scan.Services(prog)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if len(services) != 1 {
		t.Fatalf("package hr is served too: %d services", len(services))
	}
	var got []string
	for _, f := range services[0].Fields {
		a := f.Access
		got = append(got, fmt.Sprint(strings.TrimPrefix(f.Name, "example.com/scratch/"), f.Tools, " ",
			a.MinRole, a.Alternatives(), a.Permission, a.Authenticated))
	}
	want := []string{
		"hr.Base.Grade[hire list read] [] [[a pay] [b pay]]false",
		"hr.Base.Level[hire list read] [] [[a pay] [b pay]]false",
		"hr.Hidden.Secret[] [Admin] []false",
		"hr.Page.Total[list] [] []true",
		"hr.Person.Salary[hire list read] [] []hr.view_payfalse",
		"hr.pay.Salary[] [] []hr.view_payfalse",
		"hr.view.Salary[] [] []hr.view_payfalse",
		"tools.Employee.Salary[hire read] [] []hr.view_payfalse",
		"tools.chief.Total[] [] []true",
		"tools.manager.Total[] [] []true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	decls := services[0].HashInputs.Decls
	if !slices.Equal(decls["../hr"], []string{"Base", "Hidden", "Page", "Person", "view"}) {
		t.Errorf("the generated test does not watch the structs with rules: %v", decls)
	}
}

// A run for the tools alone reads the rules of the packages whose types the tools reach.
func TestRulesOfFieldsAreReadOutsideTheRun(t *testing.T) {
	files := func(field string) []txtar.File {
		return []txtar.File{{Name: "hr/hr.go", Data: []byte("package hr\n\n" +
			"// Person is one.\ntype Person struct {\n" + field + "}\n")},
			{Name: "tools/tools.go", Data: []byte(`package tools

import (
	"context"

	"example.com/scratch/hr"
)

//mcp:tool minrole=Viewer
func List(ctx context.Context) ([]hr.Person, error) { return nil, nil }
`)}}
	}
	for field, want := range map[string]string{
		"\t//mcp:field minrole=Admin\n\tPay *int\n":               "",
		"\t//mcp:field minrole=Admn\n\tPay *int\n":                "hr.go:5: MCP009",
		"\t//mcp:feild minrole=Admin\n\tPay *int\n":               "hr.go:5: MCP003",
		"\t// mcp:field minrole=Admin\n\tPay *int\n":              "hr.go:5: MCP010",
		"\t//mcp:field minrole=Admin\n\n\tPay *int\n":             "hr.go:5: MCP011",
		"\t//mcp:field minrole=Admin denial=forbid\n\tPay *int\n": "hr.go:5: MCP004",
		"\tPay *int //mcp:field minrole=Admin\n":                  "hr.go:5: MCP011",
	} {
		services, findings := scan.Services(loadtest.Load(t, files(field), "./tools"))
		got := ""
		for _, d := range findings {
			got += fmt.Sprintf("hr.go:%d: %s", d.Pos.Line, d.Code)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
		if want == "" && (len(services) != 1 || len(services[0].Fields) != 1) {
			t.Errorf("the rule is not read: %v", services)
		}
	}
}

// withClause adds the package clause and the imports that a source needs.
func withClause(source string) string {
	doc, rest, found := strings.Cut(source, "package scratch\n")
	if !found {
		doc, rest = "", source
	}
	imports := ""
	for _, path := range []string{"context", "time", "github.com/modelcontextprotocol/go-sdk/mcp",
		"github.com/mcpgen/mcpgen/runtime/grant", "github.com/mcpgen/mcpgen/runtime/toolset"} {
		if strings.Contains(rest, path[strings.LastIndex(path, "/")+1:]+".") {
			imports += "; import \"" + path + "\""
		}
	}
	if own, after, found := strings.Cut(rest, "types\"\n"); found { // an import of its own
		imports, rest = imports+"; "+strings.TrimSpace(own)+"types\"", after
	}
	return doc + "package scratch" + imports + "\n\n" + strings.TrimPrefix(rest, "\n")
}

// A package with tools that have a field of another module needs the rule that another package of
// its server has for the field. Other servers do not.
func TestFieldsOfOtherModulesNeedTheirRuleInEachPackage(t *testing.T) {
	const field = "github.com/modelcontextprotocol/go-sdk/mcp.Implementation.WebsiteURL"
	source := func(server, line, typ string) []byte {
		return []byte("//mcp:server name=" + server + "\n" + line +
			"package tools\n\nimport (\n\t\"context\"\n\n" +
			"\t\"github.com/modelcontextprotocol/go-sdk/mcp\"\n)\n\ntype Own mcp.Implementation\n\n" +
			"//mcp:tool minrole=Viewer name=" + strings.ToLower(server+strings.Trim(typ, "[]*.")) +
			fmt.Sprint(len(line)) +
			"\nfunc Get(ctx context.Context) (" + typ + ", error) { panic(0) }\n")
	}
	line := "//mcp:field mcp.Implementation.WebsiteURL minrole=Manager\n"
	services, findings := scan.Services(loadtest.Load(t, []txtar.File{
		{Name: "a/a.go", Data: source("x", line, "mcp.Implementation")},
		{Name: "b/b.go", Data: source("x", "", "[]*mcp.Implementation")},
		{Name: "c/c.go", Data: source("x", "", "Own")},
		{Name: "d/d.go", Data: source("x", line, "Own")},
		{Name: "e/e.go", Data: source("y", "", "mcp.Implementation")},
		{Name: "f/f.go", Data: source("x", "", "mcp.Icon")},
	}))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var outlined []model.Service
	for _, s := range services {
		outlined = append(outlined, check.OutlineOf(s).Service())
	}
	for _, of := range [][]model.Service{services, outlined} {
		var got []string
		for _, d := range check.Servers(of) {
			got = append(got, d.Message)
		}
		slices.Sort(got)
		var want []string
		for _, pkg := range []string{"b", "c"} {
			want = append(want, "tools of package example.com/scratch/"+pkg+" have the field "+field+
				" without a rule, and it has one in example.com/scratch/a")
		}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// The packages of a server have one rule for a field, as runtime.New requires.
func TestPackagesOfAServerHaveOneRuleForAField(t *testing.T) {
	source := func(server, rule string) []byte {
		return []byte("//mcp:server " + server + "\n//mcp:field mcp.Implementation.WebsiteURL " + rule +
			"\npackage tools\n\nimport (\n\t\"context\"\n\n" +
			"\t\"github.com/modelcontextprotocol/go-sdk/mcp\"\n\t\"example.com/scratch/hr\"\n)\n\n" +
			"//mcp:tool minrole=Viewer name=" + strings.Map(func(r rune) rune {
			if strings.ContainsRune("= ,_", r) {
				return -1
			}
			return r
		}, server+rule) + "\nfunc Get(ctx context.Context, in hr.Person) (mcp.Implementation, error) " +
			"{ panic(0) }\n")
	}
	services, findings := scan.Services(loadtest.Load(t, []txtar.File{
		{Name: "hr/hr.go", Data: []byte("package hr\n\ntype Person struct {\n" +
			"\t//mcp:field action=view object=pay\n\tPay *int `json:\"pay,omitempty\"`\n}\n")},
		{Name: "a/a.go", Data: source("name=x app=hr", "scopes=a,b")},
		{Name: "b/b.go", Data: source("name=x app=hr", "scopes=b,a")},
		{Name: "c/c.go", Data: source("name=x app=crew", "scopes=a")},
		{Name: "d/d.go", Data: source("name=y app=hr", "scopes=a")},
		{Name: "e/e.go", Data: source("app=other", "minrole=Admin")},
		{Name: "f/f.go", Data: source("name=z app=hr", "action=read")},
		{Name: "g/g.go", Data: source("name=z app=hr", "action=view")},
	}))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	var outlined []model.Service
	for _, s := range services {
		outlined = append(outlined, check.OutlineOf(s).Service())
	}
	const version = "the field github.com/modelcontextprotocol/go-sdk/mcp.Implementation.WebsiteURL has "
	want := []string{
		"c.go:2 " + version + "one rule in package example.com/scratch/a and another in package " +
			"example.com/scratch/c: write the same //mcp:field in both, or give them different server names",
		"c.go:1 the field example.com/scratch/hr.Person.Pay has one rule in package " +
			"example.com/scratch/a " +
			"and another in package example.com/scratch/c: write the same app= in both, or give them " +
			"different server names",
		"g.go:2 " + version + "one rule in package example.com/scratch/f and another in package " +
			"example.com/scratch/g: write the same //mcp:field in both, or give them different server names",
	}
	slices.Sort(want)
	var got []string
	for _, d := range check.Servers(services) {
		got = append(got, fmt.Sprintf("%s:%d %s: %s", filepath.Base(d.Pos.File), d.Pos.Line, d.Message,
			d.Suggestion))
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if found := check.Servers(outlined); len(found) != len(want) {
		t.Errorf("of outlines: %v", found)
	}
}

// An argument that replaces a list or a map loses the guarded fields of its items: a warning. Each
// part of its cure removes it.
func TestGuardedFieldsInReplacedListsAreWarnings(t *testing.T) {
	for i, tc := range []struct {
		rule, in string
		warns    bool
	}{
		{"minrole=Viewer", "[]Person", true},
		{"minrole=Viewer", "map[string]*Person", true},
		{"minrole=Viewer", "*Person", false}, // one item a call
		{"minrole=Viewer readonly", "[]Person", false},
		{"minrole=Manager", "[]Person", false}, // at least the rule of the field
		{"minrole=Viewer", "[1]*struct{ P *Person `json:\"p,omitempty\"` }", true},
	} {
		p := scan.One(loaded(t, person+get+"//mcp:tool "+tc.rule+
			"\nfunc Put(ctx context.Context, name string, all "+tc.in+") error { return nil }\n"))
		if len(p.Findings) > 0 {
			t.Fatal(i, p.Findings)
		}
		if warns := slices.ContainsFunc(p.Warnings, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Message, "an argument of put replaces a list or map")
		}); warns != tc.warns {
			t.Errorf("%v: %v", tc, p.Warnings)
		}
	}
	put := "//mcp:tool minrole=Manager\nfunc Put(ctx context.Context, all []Person) error { " +
		"return nil }\n"
	for i, source := range []string{person + put, strings.Replace(person, "\t"+remove, "", 1) + put} {
		p := scan.One(loaded(t, source))
		if added := slices.ContainsFunc(p.Findings, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Message, "adds nothing")
		}); added != (i == 0) || len(p.Findings)+len(p.Warnings) != 1-i {
			t.Errorf("no other tool has the field: %v %v", p.Findings, p.Warnings)
		}
	}
}

func loaded(t *testing.T, source string) (*load.Program, *load.Package) {
	t.Helper()
	prog := loadtest.Load(t, []txtar.File{{Name: "p/a.go", Data: []byte(withClause(source))}})
	return prog, prog.Roots[0]
}
