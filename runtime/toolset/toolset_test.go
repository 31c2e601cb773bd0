package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

func TestGeneratedSharesNoRules(t *testing.T) {
	rule := access.Rule{Tool: "t", Scopes: []string{"read"}}
	set := NewToolset(Generated{Table: access.Table{
		Roles:     [][]string{{"Viewer"}},
		Rules:     []access.Rule{rule},
		Prompts:   []access.Rule{{Prompt: "p", Scopes: []string{"read"}}},
		Resources: []access.Rule{{Resource: "r:r", Scopes: []string{"read"}}},
	}})
	edited := set.Generated().Table
	edited.Roles[0][0] = "Admin"
	for _, rules := range [][]access.Rule{edited.Rules, edited.Prompts, edited.Resources} {
		rules[0].Public = true
		rules[0].Scopes[0] = "write"
	}
	table := set.Generated().Table
	if table.Roles[0][0] != "Viewer" {
		t.Errorf("the roles are %v", table.Roles)
	}
	for _, rules := range [][]access.Rule{table.Rules, table.Prompts, table.Resources} {
		if rules[0].Public || rules[0].Scopes[0] != "read" {
			t.Errorf("the rule is %+v", rules[0])
		}
	}
	if empty := (Toolset{}).Generated(); !reflect.DeepEqual(empty, Generated{}) {
		t.Errorf("an empty Toolset returns %+v", empty)
	}
}

// TestGeneratedSharesNothing changes everything that the description of a package reaches, by
// reflection, and reads it again.
func TestGeneratedSharesNothing(t *testing.T) {
	described := func() Generated {
		return Generated{
			Receivers: []any{"a"}, Timeout: 5,
			Tools: []Tool{{
				Name: "t", Annotations: Annotations{DestructiveHint: new(true),
					OpenWorldHint: new(true)},
				Timeout: 1, Catalogs: []string{"a"}, Allow: []Allow{{Kind: "a"}},
				Limits: Limits{Capabilities: []string{"a"}},
			}},
			Prompts: []Prompt{{Name: "p",
				Arguments: []Argument{{Name: "a", Values: []string{"a"}}}}},
			Resources: []Resource{{URI: "r:r", Timeout: 2,
				Variables: []Variable{{Name: "a", Values: []string{"a"}}}}},
			Table: access.Table{Roles: [][]string{{"a"}},
				Rules:     []access.Rule{{Tool: "t", Scopes: []string{"a"}}},
				Prompts:   []access.Rule{{Prompt: "p", Scopes: []string{"a"}}},
				Resources: []access.Rule{{Resource: "r:r", Scopes: []string{"a"}}}},
		}
	}
	made := described()
	set := NewToolset(made)
	changed := clobber(reflect.ValueOf(&made))
	first := set.Generated()
	if changed += clobber(reflect.ValueOf(&first)); changed < 80 {
		t.Fatalf("%d values were changed", changed)
	}
	want := described()
	want.Prompts[0].Timeout = want.Timeout // the others have their own
	if got := set.Generated(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// clobber sets all strings, numbers and booleans that a value reaches, and counts them.
func clobber(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return clobber(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += clobber(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += clobber(v.Field(i))
			}
		}
	case reflect.Interface:
		v.SetZero()
		return 1
	case reflect.String:
		v.SetString("changed")
		return 1
	case reflect.Bool:
		v.SetBool(!v.Bool())
		return 1
	case reflect.Int, reflect.Int64:
		v.SetInt(99)
		return 1
	}
	return n
}

// server is the server's side of a call, with all methods.
type server struct {
	request mcp.CallToolRequest
	named   []Named
}

type key struct{}

func (s *server) Request() *mcp.CallToolRequest { return &s.request }

func (s *server) Allow(ctx context.Context, named []Named) (context.Context, error) {
	s.named = named
	return context.WithValue(ctx, key{}, "allowed"), nil
}

func (s *server) Isolated(ctx context.Context) (json.RawMessage, error) {
	text, _ := ctx.Value(key{}).(string)
	return json.Marshal(text)
}

func TestACallUsesItsServer(t *testing.T) {
	s := &server{}
	call := NewCall(json.RawMessage(`{"a":1}`), s)
	if string(call.Arguments) != `{"a":1}` || Request[mcp.CallToolRequest](call) != &s.request {
		t.Errorf("the call is %+v", call)
	}
	ctx, err := call.Allow(t.Context(), Named{Argument: "a"}, Named{Argument: "b"})
	if err != nil || len(s.named) != 2 || s.named[1].Argument != "b" {
		t.Errorf("Allow: %v, with %v", err, s.named)
	}
	if out, err := call.Isolated(ctx); err != nil || string(out) != `"allowed"` {
		t.Errorf("Isolated returns %s, %v", out, err)
	}
}

func TestACallOutsideAServerFails(t *testing.T) {
	for _, call := range []Call{{}, NewCall(nil, nil), NewCall(nil, "a value without methods")} {
		if Request[mcp.CallToolRequest](call) != nil {
			t.Error("there is a request")
		}
		if ctx, err := call.Allow(t.Context()); ctx != t.Context() ||
			!errors.Is(err, ErrOutsideServer) {
			t.Errorf("Allow returns %v, %v", ctx, err)
		}
		if out, err := call.Isolated(t.Context()); out != nil || !errors.Is(err, ErrOutsideServer) {
			t.Errorf("Isolated returns %s, %v", out, err)
		}
	}
}

// encoding/json tells absent, null and a value of an Optional apart, both ways.
func TestAnOptionalDistinguishesAbsentNullAndAValue(t *testing.T) {
	type query struct {
		Note  Optional[string] `json:"note,omitzero"`
		Count Optional[int]    `json:"count,omitzero"`
	}
	for doc, want := range map[string]query{
		`{}`:            {},
		`{"note":null}`: {Note: Optional[string]{Present: true, Null: true}},
		`{"note":"","count":0}`: {Note: Optional[string]{Present: true},
			Count: Optional[int]{Present: true}},
		`{"note":"a","count":-1}`: {Note: Optional[string]{Value: "a", Present: true},
			Count: Optional[int]{Value: -1, Present: true}},
	} {
		var got query
		if err := json.Unmarshal([]byte(doc), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", doc, got, err)
		}
		if again, err := json.Marshal(got); err != nil || string(again) != doc {
			t.Errorf("%s becomes %s, %v", doc, again, err)
		}
		_, ok := got.Note.Get()
		if ok != (want.Note.Present && !want.Note.Null) {
			t.Errorf("%s: Get reports %t", doc, ok)
		}
	}
	if err := json.Unmarshal([]byte(`{"count":"1"}`), new(query)); err == nil {
		t.Error("a text passes for a number")
	}
}
