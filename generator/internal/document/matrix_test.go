package document

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// schemaOf reads a schema written as JSON.
func schemaOf(text string) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		panic(err)
	}
	return s
}

// everyRule is a service with each kind of rule.
func everyRule(own bool) model.Service {
	tool := func(name string, a model.Access) model.Tool {
		return model.Tool{Name: name, Access: a}
	}
	s := model.Service{
		Package: "m/p", Name: "p", Server: model.Server{Name: "desk"},
		Roles: model.Roles{Chains: [][]string{{"Guest", "Clerk"}}, Own: own},
		Tools: []model.Tool{
			tool("a_public", model.Access{Public: true}),
			tool("b_authenticated", model.Access{Authenticated: true}),
			tool("c_scope", model.Access{Scopes: []string{"x:r", "x:w"}}),
			tool("d_permission", model.Access{Permission: "app.view_x", Action: "view"}),
			tool("e_lowest", model.Access{MinRole: []string{model.Lowest}}),
			tool("f_highest", model.Access{MinRole: []string{model.Highest}}),
			tool("g_nothing", model.Access{}),
		},
	}
	if own {
		s.Tools = append(s.Tools, tool("h_guest", model.Access{MinRole: []string{"Guest"}}),
			tool("i_clerk", model.Access{MinRole: []string{"Clerk"}, Scopes: []string{"x:r"},
				Permission: "app.view_x"}),
			tool("j_unknown", model.Access{MinRole: []string{"Boss"}}))
	}
	return s
}

func TestMatrixShowsWhoMayUseWhat(t *testing.T) {
	got := Matrix([]model.Service{everyRule(true), everyRule(false)}, nil)
	want := `desk (m/p)
tool             anonymous  no role  Guest  Clerk  and needs
a_public         yes        yes      yes    yes
b_authenticated  -          yes      yes    yes
c_scope          -          yes      yes    yes    scope x:r, scope x:w
d_permission     -          yes      yes    yes    permission app.view_x (enforced only with Host.Source)
e_lowest         -          -        yes    yes
f_highest        -          -        -      yes
g_nothing        -          -        -      -
h_guest          -          -        yes    yes
i_clerk          -          -        -      yes    scope x:r, permission app.view_x (enforced only with Host.Source)
j_unknown        -          -        -      -

desk (m/p)
tool             anonymous  no role  lowest role  highest role  and needs
a_public         yes        yes      yes          yes
b_authenticated  -          yes      yes          yes
c_scope          -          yes      yes          yes           scope x:r, scope x:w
d_permission     -          yes      yes          yes           permission app.view_x (enforced only with Host.Source)
e_lowest         -          -        yes          yes
f_highest        -          -        -            yes
g_nothing        -          -        -            -
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
	s := everyRule(false)
	s.Tools[2].Catalogs, s.Tools[0].Catalogs = []string{"desk", "night shift"}, []string{"desk"}
	if got, after := Matrix([]model.Service{s, everyRule(true)}, nil), `
g_nothing        -          -        -            -

catalog      tools
desk         a_public, c_scope
night shift  c_scope

desk (m/p)
`; !strings.Contains(got, after) {
		t.Errorf("got\n%s", got)
	}
	if Matrix(nil, nil) != "" {
		t.Error("no services have a matrix")
	}
}

// Roles that are not in one line have columns after the main chain. If a tool and its argument need
// different roles, the row names them.
func TestMatrixOfAPartialOrder(t *testing.T) {
	access := func(roles ...string) model.Access { return model.Access{MinRole: roles} }
	s := model.Service{
		Package: "m/p", Name: "p", Server: model.Server{Name: "desk"},
		Roles: model.Roles{Own: true, Chains: [][]string{{"Member", "Manager", "Admin"},
			{"Auditor", "Admin"}, {"Support"}}},
		Tools: []model.Tool{
			{Name: "log", Access: access("Manager"), Values: []model.Value{
				{Argument: "do", Value: "read", Ruled: true, Access: access("Auditor", "Support")},
				{Argument: "do", Value: "purge", Ruled: true, Access: access("highest")}}},
			{Name: "report", Access: access("Manager", "Auditor")},
		},
	}
	want := `desk (m/p)
tool          anonymous  no role  Member  Manager  Admin  Auditor  Support  and needs
log           -          -        -       -        yes    -        -        ` +
		`a value of do, open to the roles Manager and Auditor together, ` +
		`open to the roles Manager and Support together
log do=read   -          -        -       -        yes    -        -        ` +
		`open to the roles Manager and Auditor together, open to the roles Manager and Support together
log do=purge  -          -        -       -        yes    -        -
report        -          -        -       yes      yes    yes      -
`
	if got := Matrix([]model.Service{s}, nil); got != want {
		t.Errorf("got\n%s", got)
	}
	diagram := mermaid(s.Roles.Order())
	for line, times := range map[string]int{"-->": 3, "role0 --> role1\n": 1, "role1 --> role2\n": 1,
		"role3 --> role2\n": 1, "role4[\"Support\"]\n": 1} {
		if strings.Count(diagram, line) != times {
			t.Errorf("%q is not %d times in %s", line, times, diagram)
		}
	}
}

func TestAccessIsDescribedInWords(t *testing.T) {
	for _, tc := range []struct {
		tool model.Tool
		base []string
		want string
	}{
		{model.Tool{Access: model.Access{Public: true}}, nil,
			"public; every caller may use it, anonymous callers included."},
		{model.Tool{Access: model.Access{Authenticated: true}, Denial: "forbid"}, nil,
			"needs an authenticated caller. A refusal lists the missing rights."},
		{model.Tool{Access: model.Access{MinRole: []string{"Clerk"}}, Denial: "conceal"}, nil,
			"needs role Clerk or higher. For others it does not exist."},
		{model.Tool{Access: model.Access{MinRole: []string{"lowest"}}}, nil,
			"needs the server's lowest role or higher."},
		{model.Tool{Access: model.Access{MinRole: []string{"highest"}}}, nil,
			"needs the server's highest role."},
		{model.Tool{Access: model.Access{Scopes: []string{"a", "b"}}}, nil,
			"needs scope `a` and scope `b`."},
		{model.Tool{Access: model.Access{MinRole: []string{"Clerk"}, Scopes: []string{"a", "b"},
			OrScopes: [][]string{{"c"}}}}, nil,
			"needs role Clerk or higher and (scopes `a` and `b`, or scope `c`)."},
		{model.Tool{Access: model.Access{MinRole: []string{"Clerk"}, Scopes: []string{"a"},
			Permission: "x.y", Constrained: true}}, nil,
			"needs role Clerk or higher, scope `a` and permission `x.y` (enforced only with " +
				"Host.Source), with object constraints."},
		{model.Tool{Access: model.Access{Authenticated: true, Action: "none"}, Denial: "conceal"},
			nil, "needs an authenticated caller; no permission of the host. For others it does not exist."},
		{model.Tool{Access: model.Access{MinRole: []string{"Clerk", "Auditor"}}}, []string{"Guest"},
			"needs one of the roles Clerk and Auditor or higher and role Guest or higher."},
		{model.Tool{}, nil, "nobody may call it."},
	} {
		if got := accessWords(tc.tool, tc.base); got != tc.want {
			t.Errorf("%+v: %s", tc.tool.Access, got)
		}
	}
}

func TestHintsAreDescribedInWords(t *testing.T) {
	yes, no := new(true), new(false)
	all := model.Hints{ReadOnly: no, Destructive: yes, Idempotent: no, OpenWorld: yes}
	if got, want := hintWords(all),
		"changes something, may destroy, repeating it has a further effect, interacts with external "+
			"systems"; got != want {
		t.Errorf("got %s", got)
	}
	all = model.Hints{ReadOnly: yes, Destructive: no, Idempotent: yes, OpenWorld: no}
	if got, want := hintWords(all),
		"changes nothing, destroys nothing, repeating it has no further effect, stays within "+
			"this system"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestTypesAreDescribedInWords(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string"}`:                           "string",
		`{"type":"string","format":"uri"}`:            "string (uri)",
		`{"type":"integer","minimum":1,"maximum":9}`:  "integer from 1 to 9",
		`{"type":"number","exclusiveMinimum":0}`:      "number above 0",
		`{"type":"number","exclusiveMaximum":1.5}`:    "number below 1.5",
		`{"type":"number"}`:                           "number",
		`{"type":"boolean"}`:                          "boolean",
		`{"type":"array"}`:                            "array",
		`{"type":"array","items":{"type":"integer"}}`: "array of integer",
		`{"type":"array","minItems":1,"maxItems":5,"uniqueItems":true,"items":{"type":"string","maxLength":3}}`: "array of string (at most 3 characters) (1 to 5 items, no two equal)",
		`{"type":"array","minItems":2}`:                                        "array (at least 2 items)",
		`{"type":"array","minItems":2,"maxItems":2,"items":{"type":"number"}}`: "array of number (2 items)",
		`{"type":"integer","minimum":5,"multipleOf":5}`:                        "integer from 5, a multiple of 5",
		`{"type":"object"}`:                                                    "object",
		`{"type":"object","additionalProperties":{"type":"string"}}`:           "object of string",
		`{"$ref":"#/$defs/Node"}`:                                              "`Node`",
		`{"enum":["a","<",1,null]}`:                                            "one of `\"a\"`, `\"<\"`, `1`, `null`",
		`{"const":"x"}`:                                                        "always `\"x\"`",
		`{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"string"}]}`:   "string or integer",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:                        "string or null",
		`{}`:                       "any value",
		`{"enum":["` + "`" + `"]}`: "one of `` \"`\" ``",
	} {
		if got := typeWords(schemaOf(schema)); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
	if got := typeWords(nil); got != "any value" {
		t.Errorf("no schema: %s", got)
	}
	if got := value(func() {}); !strings.HasPrefix(got, "0x") {
		t.Errorf("what is not JSON: %s", got)
	}
}

func TestFieldsOfNestedArgumentsAreReportedOnce(t *testing.T) {
	const schema = `{"type":"object","required":["to"],"properties":{
		"to":{"type":"object","required":["zip"],"description":"Where to.","properties":{"zip":{"type":"string","pattern":"^[0-9]+$"},"floor":{"type":"integer","default":1}}},
		"items":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"name":{"type":"string"}}}},
		"by":{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer"}}}},
		"maybe":{"anyOf":[{"type":"object","properties":{"x":{"type":"boolean"}}},{"type":"null"}]},
		"tree":{"$ref":"#/$defs/Node"},"other":{"$ref":"#/$defs/Node"}
	},"$defs":{"Node":{"type":"object","properties":{"left":{"$ref":"#/$defs/Node"}}}}}`
	var b strings.Builder
	writeArguments(&b, schemaOf(schema), nil)
	want := `
| argument | type | required | description |
|---|---|---|---|
| ~to~ | object | yes | Where to. |
| ~to.zip~ | string (matches ~^[0-9]+$~) | yes | |
| ~to.floor~ | integer | no | Default: ~1~ |
| ~items~ | array of object (at most 3 items) | no | |
| ~items[].name~ | string | no | |
| ~by~ | object of object | no | |
| ~by.*.n~ | integer | no | |
| ~maybe~ | object or null | no | |
| ~maybe.x~ | boolean | no | |
| ~tree~ | ~Node~ | no | |
| ~tree.left~ | ~Node~ | no | |
| ~other~ | ~Node~ | no | |
`
	if got := strings.ReplaceAll(b.String(), "`", "~"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestResultsAreDescribedInWords(t *testing.T) {
	for _, tc := range []struct {
		out  model.Output
		want string
	}{
		{model.Output{}, "The result is empty."},
		{model.Output{Kind: model.ObjectOutput}, "The result may be anything."},
		{model.Output{Kind: model.TextOutput}, "The result is plain text."},
		{model.Output{Kind: model.JSONOutput}, "The result is text without a schema."},
		{model.Output{Kind: model.BytesOutput, MIMEType: "image/png"},
			"The result is `image/png`."},
		{model.Output{Kind: model.ContentOutput}, "The result is content that the handler makes."},
		{model.Output{Kind: model.SDKOutput}, "The handler makes the whole result."},
		{model.Output{Kind: model.SDKOutput, File: "a.json"},
			"The schema of the result is in `a.json`."},
		{model.Output{Kind: model.ObjectOutput, Schema: schemaOf(`{"type":"object"}`)},
			"The result is an object."},
		{model.Output{Kind: model.ObjectOutput,
			Schema: schemaOf(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
			"The result is an object with `a` (string)."},
		{model.Output{Kind: model.ValueOutput,
			Schema: schemaOf(`{"type":"array"}`)},
			"The result is an array."},
		{model.Output{Kind: model.ValueOutput,
			Schema: schemaOf(`{"type":"string"}`)},
			"The result is a string."},
		{model.Output{Kind: model.ValueOutput,
			Schema: schemaOf(`{"enum":[1,2]}`)},
			"The result is one of `1`, `2`."},
		{model.Output{Kind: model.ObjectOutput,
			Schema: schemaOf(
				`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`)}, "The result is an object with `a` (object) and `a.b` (string)."},
		{model.Output{Kind: model.ValueOutput,
			Schema: schemaOf(
				`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}}`)}, "The result is an array of object with `[].a` (string) and `[].b` (integer)."},
		{model.Output{Kind: model.ObjectOutput, Schema: schemaOf(
			`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"null"}]}`)},
			"The result is an object with `a` (string), or null."},
		{model.Output{Kind: model.ValueOutput, Schema: &jsonschema.Schema{}},
			"The result is any value."},
	} {
		if got := resultWords(tc.out); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}

func TestAlternativesOfScopesAreWrittenAsKeys(t *testing.T) {
	for want, alternatives := range map[string][][]string{
		"scopes=a,b":   {{"a", "b"}},
		"anyscope=a,b": {{"a"}, {"b"}},
		"scopes=a,b|c": {{"a", "b"}, {"c"}},
	} {
		if got := scopes(alternatives); got != want {
			t.Errorf("%q: %s, want %s", alternatives, got, want)
		}
	}
}

// A field has the name of its package for people, unless the names of two fields are equal then.
func TestFieldsHaveShortNamesThatDiffer(t *testing.T) {
	want := map[string]string{
		"example.com/a/people.Person.Salary": "example.com/a/people.Person.Salary",
		"example.com/b/people.Person.Salary": "example.com/b/people.Person.Salary",
		"example.com/b/people.Person.Notes":  "people.Person.Notes",
		"main.Person.Notes":                  "main.Person.Notes",
	}
	var s model.Service
	for name := range want {
		s.Fields = append(s.Fields, model.Field{Name: name})
	}
	if got := fieldNames(s); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
