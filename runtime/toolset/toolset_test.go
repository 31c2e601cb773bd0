package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

func TestGeneratedSharesNoRules(t *testing.T) {
	rule := access.Rule{Tool: "t", Scopes: []string{"read"}}
	set := NewToolset(Generated{Table: access.Table{
		Roles:     []string{"Viewer"},
		Rules:     []access.Rule{rule},
		Prompts:   []access.Rule{{Prompt: "p", Scopes: []string{"read"}}},
		Resources: []access.Rule{{Resource: "r:r", Scopes: []string{"read"}}},
	}})
	edited := set.Generated().Table
	edited.Roles[0] = "Admin"
	for _, rules := range [][]access.Rule{edited.Rules, edited.Prompts, edited.Resources} {
		rules[0].Public = true
		rules[0].Scopes[0] = "write"
	}
	table := set.Generated().Table
	if table.Roles[0] != "Viewer" {
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
	if string(call.Arguments) != `{"a":1}` || Request(call) != &s.request {
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
		if Request(call) != nil {
			t.Error("there is a request")
		}
		if ctx, err := call.Allow(t.Context()); ctx != t.Context() || !errors.Is(err, ErrOutsideServer) {
			t.Errorf("Allow returns %v, %v", ctx, err)
		}
		if out, err := call.Isolated(t.Context()); out != nil || !errors.Is(err, ErrOutsideServer) {
			t.Errorf("Isolated returns %s, %v", out, err)
		}
	}
}

func TestARefusalCrosses(t *testing.T) {
	refusal := &grant.Denied{
		Kind: grant.NetConnect, Resource: "db.test:80", Cause: grant.NotPublic, Reason: "it is private",
	}
	_, err := Encoded(nil, fmt.Errorf("connecting: %w", refusal))
	denied, text := ParseRefused(err.Error())
	if denied == nil || *denied != *refusal || text == err.Error() {
		t.Errorf("%q is parsed as %v, %q", err, denied, text)
	}
	plain := errors.New("no such file")
	if err := Refused(plain); err != plain {
		t.Errorf("another error becomes %v", err)
	}
	if err := Refused(nil); err != nil {
		t.Errorf("no error becomes %v", err)
	}
	for words, want := range map[string]string{
		"no such file":           "no such file",
		"":                       "",
		refusedMark:              "",
		refusedMark + "null":     "null",
		refusedMark + `{"Kind":`: `{"Kind":`,
		"x" + refusedMark + "{}": "x" + refusedMark + "{}",
	} {
		if denied, text := ParseRefused(words); denied != nil || text != want {
			t.Errorf("%q is parsed as %v, %q", words, denied, text)
		}
	}
}

func TestEncodedIsJSON(t *testing.T) {
	if out, err := Encoded(map[string]int{"n": 1}, nil); err != nil || string(out) != `{"n":1}` {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := Encoded(func() {}, nil); err == nil {
		t.Error("a func is encoded")
	}
}
