package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestLastRecordOfACallSaysWhatBecameOfIt(t *testing.T) {
	for name, test := range map[string]struct {
		recorded func(*record)                                          // while the sink has the first record
		becomes  func(*mcp.CallToolResult) (*mcp.CallToolResult, error) // of the closure's answer, in go-sdk
		want     []string
	}{
		"nothing happens":     {nil, nil, []string{"ok "}},
		"the credential ends": {func(r *record) { r.expires = time.Now() }, nil, []string{"ok ", "failed the credential expired during the call"}},
		"the answer is lost": {nil, func(*mcp.CallToolResult) (*mcp.CallToolResult, error) {
			return nil, errors.New("lost")
		}, []string{"ok ", "failed "}},
		"the answer is replaced by what cannot be sent": {nil, func(*mcp.CallToolResult) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
		}, []string{"ok ", "crashed "}},
	} {
		t.Run(name, func(t *testing.T) {
			var rec *record
			var got, ids []string
			sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
				got, ids = append(got, fmt.Sprint(e.Status, " ", e.Missing)), append(ids, e.RequestID)
				if test.recorded != nil && len(got) == 1 {
					test.recorded(rec)
				}
				return nil
			})
			s, err := New(Options{Anonymous: true, Audit: sink}, toolset.NewToolset(toolset.Generated{
				Package: "example.com/early", Server: toolset.ServerInfo{Name: "early", Version: "1"},
				Table: access.Table{Roles: []string{"Member"}, Rules: []access.Rule{{Tool: "t", MinRole: 1}}},
				Tools: []toolset.Tool{{Name: "t", Description: "T is a tool.", Input: `{"type":"object"}`, Call: func(context.Context, toolset.Call) (toolset.Result, error) {
					return toolset.Structured(map[string]int{"a": 1}, nil)
				}}},
			}))
			if err != nil {
				t.Fatal(err)
			}
			defer s.workers.close()
			extra := &mcp.RequestExtra{TokenInfo: newRecord(identity.Identity{Principal: access.Principal{Subject: "mel", Role: "Member"}, Expires: time.Now().Add(time.Hour)}, nil).tokenInfo()}
			rec = recordOf(extra)
			guarded := s.receiving(func(ctx context.Context, _ string, req mcp.Request) (mcp.Result, error) {
				res, err := s.dispatch(s.tools["t"])(ctx, req.(*mcp.CallToolRequest))
				if err == nil && test.becomes != nil {
					res, err = test.becomes(res)
				}
				if err != nil {
					return nil, err
				}
				return res, nil
			})
			_, err = guarded(t.Context(), "tools/call", &mcp.CallToolRequest{
				Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{}`)}, Extra: extra,
			})
			if answered := len(test.want) == 1; answered != (err == nil) {
				t.Errorf("answered with %v", err)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("recorded %q, want %q", got, test.want)
			}
			if len(slices.Compact(ids)) != 1 {
				t.Errorf("the records of one call are of %q", ids)
			}
		})
	}
}

func TestCallIsNotRecordedBeforeItIsClearHowItEnds(t *testing.T) {
	done, torn := newBody([]byte("{}")), newBody([]byte("\xff"))
	for name, test := range map[string]struct {
		expires time.Duration
		answer  toolAnswer
		want    bool
	}{
		"finished, without an end of the credential": {0, toolAnswer{outcome: audit.OK, body: &done}, true},
		"with an end that is far":                    {time.Minute, toolAnswer{outcome: audit.OK, body: &done}, true},
		"with an end within the sink's time":         {2 * time.Second, toolAnswer{outcome: audit.OK, body: &done}, false},
		"still to be marshalled":                     {0, toolAnswer{outcome: audit.OK}, false},
		"no UTF-8":                                   {0, toolAnswer{outcome: audit.OK, body: &torn}, false},
		"failed":                                     {0, toolAnswer{outcome: audit.Failed, body: &done}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := lonely(audit.SinkFunc(func(context.Context, audit.Event) error { return nil }))
				defer s.workers.close()
				rec := &record{awaited: &audit.Event{}}
				if test.expires > 0 {
					rec.expires = time.Now().Add(test.expires)
				}
				ranOnce(t.Context(), s, rec, time.Hour, func(context.Context) toolAnswer { return test.answer })
				if rec.recorded != test.want {
					t.Errorf("recorded early: %t", rec.recorded)
				}
			})
		})
	}
}
