package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// eliciting opens a session of a client whose user fills in forms.
func eliciting(t *testing.T, url, user, era string,
	fill func(message string) *mcp.ElicitResult) *mcp.ClientSession {
	t.Helper()
	options := &mcp.ClientOptions{}
	if fill != nil {
		options.ElicitationHandler = func(_ context.Context,
			req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return fill(req.Params.Message), nil
		}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"},
		options).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: clientOf(user), MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestRefusalOffersToAskAnAdministrator(t *testing.T) {
	for _, era := range eras {
		kept := grant.NewMemory()
		sink := &keeper{}
		s := newServer(t, runtime.Options{Grants: runtime.GrantOptions{
			Source: kept,
			Offer:  true,
			Roots:  roots(t, map[string]string{"a[1].md": "A"}),
		}, Audit: runtime.AuditOptions{Sink: sink}},
			permitting(reading, readAll))
		url := serve(t, s)
		const call = `{"path":"docs/./a[1].md"}`
		const refused = `!permission_denied: file.read "docs/./a[1].md": no grant allows it`
		open := func() []grant.Request {
			requests, err := kept.Requests(t.Context(), grant.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			return requests
		}
		var asked []string
		answer := &mcp.ElicitResult{Action: "decline"}
		session := eliciting(t, url, "Member", era, func(message string) *mcp.ElicitResult {
			asked = append(asked, message)
			return answer
		})
		if got := callText(t, session, "read", call); got != refused || len(open()) != 0 ||
			len(asked) != 1 ||
			asked[0] != `read needs file.read of "docs/./a[1].md", which is not granted for calls that are not isolated. Ask an administrator for it?` {
			t.Errorf("%s, declined: %s %q", era, got, asked)
		}
		if got := callText(t, eliciting(t, url, "Member", era, nil), "read", call); got != refused {
			t.Errorf("%s, without elicitation: %s", era, got)
		}
		answer = &mcp.ElicitResult{Action: "accept",
			Content: map[string]any{"reason": "to index it"}}
		if got := callText(t, session, "read", call); got != refused+
			"; the server sent an administrator the request 1" {
			t.Errorf("%s, accepted: %s", era, got)
		}
		requests := open()
		if len(requests) != 1 || requests[0].Client != "user-Member" ||
			requests[0].Issuer != "test" || requests[0].Tool != "read" ||
			requests[0].Reason != "to index it" {
			t.Fatalf("%s: %+v", era, requests)
		}
		for _, e := range sink.taken() {
			if e.Type == audit.ToolCalled && e.Failure != audit.Denied {
				t.Errorf("%s: %+v", era, e)
			}
		}
		if _, _, err := kept.Approve(t.Context(), requests[0].ID, grant.Verdict{By: "ada",
			Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if got := callText(t, session, "read", call); got != contentIn(era, `"A"`) {
			t.Errorf("%s, approved: %s", era, got)
		}
	}
}

func TestNothingIsOfferedWhereNobodyCouldDecideOrTheHandlerHadBegun(t *testing.T) {
	kept := grant.NewMemory(grant.Grant{Permission: grant.Permission{Type: grant.NetConnect,
		Resource: "127.0.0.1:9", Unrestricted: true}, Issuer: "test", Client: "user-Member"})
	runs := 0
	s := newServer(t, runtime.Options{Anonymous: true,
		Grants: runtime.GrantOptions{Source: kept, Offer: true}},
		permitting(
			toolset.Tool{Name: "call",
				Allow: []toolset.Allow{{Kind: grant.NetConnect, Argument: "host"}}},
			func(ctx context.Context, _ named) (string, error) {
				runs++
				dialer, err := grant.Connect(ctx, "host")
				if err != nil {
					return "", err
				}
				_, err = dialer.DialContext(ctx, "tcp", "127.0.0.1:10")
				return "", err
			}))
	url := serve(t, s)
	never := func(message string) *mcp.ElicitResult {
		t.Errorf("asked: %s", message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"reason": "x"}}
	}
	for _, era := range eras {
		for _, test := range []struct{ user, host string }{{"Member", "127.0.0.1:9"},
			{"Member", "no host at all"}, {"", "127.0.0.1:9"}} {
			if got := callText(t, eliciting(t, url, test.user, era, never), "call",
				fmt.Sprintf(`{"host":%q}`, test.host)); !strings.HasPrefix(got,
				"!permission_denied: net.connect") {
				t.Errorf("%s: %v: %s", era, test, got)
			}
		}
	}
	if runs != len(eras) {
		t.Errorf("the handler ran %d times", runs)
	}
}

// A handler that ran may say that it was refused something, in words that nobody else would take
// for true.
func TestHandlersDoNotMakeUpWhatIsOffered(t *testing.T) {
	made := &grant.Denied{Kind: grant.NetConnect, Resource: "made-up.example:1",
		Cause: grant.NoGrant, Reason: "made up"}
	for name, set := range map[string]toolset.Toolset{
		"isolated": apart(toolset.Tool{Name: "look"}),
		"in process": oneTool("look", func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(made)
		}),
	} {
		for _, era := range eras {
			kept, sink, runs := grant.NewMemory(), &keeper{}, 0
			s := newServer(t, runtime.Options{
				Grants: runtime.GrantOptions{Source: kept, Offer: true},
				Audit:  runtime.AuditOptions{Sink: sink},
				Sandbox: &box{isolate: func(context.Context, isolate.Call) (json.RawMessage,
					error) {
					runs++
					return nil, words(isolate.Refused(made).Error())
				}}}, set)
			session := eliciting(t, serve(t, s), "Member", era,
				func(message string) *mcp.ElicitResult {
					t.Errorf("%s, %s: asked: %s", name, era, message)
					return &mcp.ElicitResult{Action: "accept",
						Content: map[string]any{"reason": "x"}}
				})
			if got := callText(t, session, "look", `{}`); !strings.HasPrefix(got, "!") || runs > 1 {
				t.Errorf("%s, %s: %s after %d runs", name, era, got, runs)
			}
			for _, e := range sink.taken() {
				if e.Type == audit.ToolCalled && e.Failure != audit.Errored {
					t.Errorf("%s, %s: a call that ran is %s", name, era, e.Status)
				}
			}
		}
	}
}

func TestOfferNeedsSomewhereToAsk(t *testing.T) {
	_, err := runtime.New(runtime.Options{
		Grants: runtime.GrantOptions{Source: &purse{}, Offer: true},
		Logger: quiet()},
		oneTool("a", nil))
	if err == nil || !strings.Contains(err.Error(), "Options.Grants.Offer is set") {
		t.Error(err)
	}
}
