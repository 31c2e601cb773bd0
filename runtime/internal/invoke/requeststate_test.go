package invoke

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

func stateOf(sealed mcp.Result) string {
	_, state := wire.InputOf(sealed)
	return state
}

func TestSealedStateIsOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSealer(nil)
		info := &request.Info{Principal: member, Version: request.Stateless}
		call := &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{"a":1,"b":2}`)}
		asked := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{}},
			RequestState: "own"}
		sealed, err := s.Seal(info, call, asked)
		if err != nil || asked.RequestState != "own" || stateOf(sealed) == "own" {
			t.Fatal(sealed, err)
		}
		accept := mcp.InputResponseMap{"sure": &mcp.ElicitResult{Action: "accept"}}
		second := func(change func(*mcp.CallToolParamsRaw, *request.Info)) (*mcp.CallToolParamsRaw,
			error) {
			params := &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{ "b":2, "a":1}`),
				InputResponses: accept, RequestState: stateOf(sealed)}
			caller := &request.Info{Principal: info.Principal, Version: info.Version}
			if change != nil {
				change(params, caller)
			}
			opened, err := s.Open(caller, params)
			call, _ := opened.(*mcp.CallToolParamsRaw)
			return call, err
		}
		if opened, err := second(nil); err != nil || opened.RequestState != "own" ||
			opened.InputResponses["sure"] == nil {
			t.Error(opened, err)
		}
		for name, change := range map[string]func(*mcp.CallToolParamsRaw, *request.Info){
			"another tool": func(p *mcp.CallToolParamsRaw, _ *request.Info) { p.Name = "u" },
			"other arguments": func(p *mcp.CallToolParamsRaw,
				_ *request.Info) {
				p.Arguments = json.RawMessage(`{"a":1}`)
			},
			"more JSON": func(p *mcp.CallToolParamsRaw,
				_ *request.Info) {
				p.Arguments = append(p.Arguments, '1')
			},
			"no JSON": func(p *mcp.CallToolParamsRaw,
				_ *request.Info) {
				p.Arguments = json.RawMessage(`{`)
			},
			"another caller": func(_ *mcp.CallToolParamsRaw,
				i *request.Info) {
				i.Principal.Subject = "bob"
			},
			"another client": func(_ *mcp.CallToolParamsRaw,
				i *request.Info) {
				i.Principal.Client = "bob"
			},
			"an actor": func(_ *mcp.CallToolParamsRaw, i *request.Info) {
				i.Principal.Actor.Subject = "helper"
			},
			"the same actor of another issuer": func(_ *mcp.CallToolParamsRaw, i *request.Info) {
				i.Principal.Actor.Issuer = "other"
			},
			"a plain state": func(p *mcp.CallToolParamsRaw, _ *request.Info) { p.RequestState = "own" },
			"a long state": func(p *mcp.CallToolParamsRaw,
				_ *request.Info) {
				p.RequestState = strings.Repeat("A", 100)
			},
			"a cut state": func(p *mcp.CallToolParamsRaw, _ *request.Info) {
				p.RequestState = p.RequestState[:len(p.RequestState)-4]
			},
			"a nil response": func(p *mcp.CallToolParamsRaw,
				_ *request.Info) {
				p.InputResponses = mcp.InputResponseMap{"sure": nil}
			},
		} {
			if opened, err := second(change); err == nil {
				t.Errorf("%s: %+v", name, opened)
			}
		}
		more, err := second(func(p *mcp.CallToolParamsRaw, _ *request.Info) {
			p.InputResponses = mcp.InputResponseMap{"name": accept["sure"], "nil": nil,
				"sure": accept["sure"]}
		})
		if err != nil || len(more.InputResponses) != 1 || more.InputResponses["sure"] == nil {
			t.Errorf("responses to no request: %+v, %v", more, err)
		}
		first, err := second(func(p *mcp.CallToolParamsRaw, _ *request.Info) { p.RequestState = "" })
		if err != nil || first.InputResponses != nil {
			t.Errorf("responses without a state: %+v, %v", first, err)
		}
		time.Sleep(time.Hour)
		if _, err := second(nil); err == nil {
			t.Error("the state is valid after an hour")
		}
	})
}

func TestStateOfSessionsIsIgnored(t *testing.T) {
	s := NewSealer(nil)
	info := &request.Info{Principal: access.Principal{}, Version: request.NewestWithSessions}
	opened, err := s.Open(info,
		&mcp.CallToolParamsRaw{RequestState: "made up", InputResponses: mcp.InputResponseMap{}})
	if responses, state := wire.ResponsesOf(opened); err != nil || state != "" || responses != nil {
		t.Error(opened, err)
	}
	plain := &mcp.CallToolParamsRaw{}
	if opened, err := s.Open(info, plain); opened != mcp.Params(plain) || err != nil {
		t.Error(opened, err)
	}
}

func TestReplicasWithOneKeyReadEachOthersState(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	one, two := NewSealer(key), NewSealer(key)
	key[0] = 'x' // the sealer has its own
	info, call := &request.Info{Principal: member,
		Version: request.Stateless}, &mcp.CallToolParamsRaw{Name: "t"}
	sealed, err := one.Seal(info, call, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Open(info,
		&mcp.CallToolParamsRaw{Name: "t", RequestState: stateOf(sealed)}); err != nil {
		t.Error(err)
	}
	if _, err := NewSealer(key).Open(info,
		&mcp.CallToolParamsRaw{Name: "t", RequestState: stateOf(sealed)}); err == nil {
		t.Error("another key opens it")
	}
	if _, err := one.Seal(info, call,
		&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"a": nil}}); err == nil {
		t.Error("a nil input request is sealed")
	}
	plain := &mcp.CallToolResult{}
	if res, err := one.Seal(info, call, plain); res != mcp.Result(plain) || err != nil {
		t.Error(res, err)
	}
}
