package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// asking is a tool that wants a confirmation before it does its work, and counts its runs.
func asking(runs *atomic.Int32) func(context.Context, toolset.Call) (toolset.Result, error) {
	return func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		runs.Add(1)
		p := toolset.Request[mcp.CallToolRequest](call).Params
		if p.InputResponses["sure"] == nil {
			return toolset.Native(&mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"sure": &mcp.ElicitParams{Message: "Sure?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}},
				RequestState: "state-of-" + string(call.Arguments),
			}, nil, nil)
		}
		answer, _ := p.InputResponses["sure"].(*mcp.ElicitResult)
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("did it: %s, %s", answer.Action, p.RequestState)}}}, nil, nil)
	}
}

func asker(runs *atomic.Int32) toolset.Toolset {
	return toolsetOf([]toolset.Tool{
		{Name: "drop", SDK: true, Input: `{"type":"object"}`, Call: asking(runs)},
		{Name: "drop_more", SDK: true, Input: `{"type":"object"}`, Call: asking(runs)},
	}, access.Rule{Tool: "drop", MinRole: manager}, access.Rule{Tool: "drop_more",
		MinRole: manager})
}

func TestInputIsAskedForInEveryEra(t *testing.T) {
	var runs atomic.Int32
	s := newServer(t, runtime.Options{}, asker(&runs))
	url := serve(t, s)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	for _, era := range eras {
		session, err := client.Connect(context.Background(),
			&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: clientOf("Manager"),
				MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "drop",
			Arguments: map[string]any{"id": "a", "b": 1}})
		if err != nil || !strings.HasPrefix(text(res), "did it: accept, state-of-{") {
			t.Errorf("%s: %v %q", era, err, text(res))
		}
		session.Close()
	}
}

var stateInBody = regexp.MustCompile(`"requestState":"([^"]*)"`)

const accepted = `"inputResponses":{"sure":{"action":"accept"}}`

func TestForgedInputIsNotTakenForAnAnswer(t *testing.T) {
	var runs atomic.Int32
	s := newServer(t, runtime.Options{}, asker(&runs))
	url := serve(t, s)
	other := newServer(t, runtime.Options{}, asker(&runs)) // another key
	for _, era := range eras {
		c := newRaw(t, url, tokens["Manager"], era)
		states := map[string]string{"none": "", "text": "state-of-{}", "base64": "AAAA",
			"long": strings.Repeat("A", 100)}
		if era == "2026-07-28" {
			state := func(c *raw, tool, arguments string) string {
				m := stateInBody.FindStringSubmatch(c.call(t, tool, `,"arguments":`+arguments,
					nil).body)
				if m == nil {
					t.Fatal("no state")
				}
				return m[1]
			}
			good := state(c, "drop", `{"id":"a"}`)
			states["of other arguments"] = state(c, "drop", `{"id":"b"}`)
			states["of another tool"] = state(c, "drop_more", `{"id":"a"}`)
			states["of another caller"] = state(newRaw(t, url, tokens["Admin"], era), "drop",
				`{"id":"a"}`)
			states["of another server"] = state(newRaw(t, serve(t, other), tokens["Manager"], era),
				"drop", `{"id":"a"}`)
			states["altered"] = good[:len(good)-2] + "AA"
			states["cut"] = good[:len(good)-4]
			for _, arguments := range []string{`{"id":"a"}`, `{ "id" : "\u0061" }`} {
				if got := c.call(t, "drop", `,"arguments":`+arguments+`,`+accepted+
					`,"requestState":"`+good+`"`, nil); !strings.Contains(got.body,
					`did it: accept, state-of-{\"id\":\"a\"}`) {
					t.Errorf("the state that was given: %s", got)
				}
			}
		}
		for name, state := range states {
			for _, input := range []string{accepted, `"inputResponses":{}`,
				`"inputResponses":null`} {
				got := c.call(t, "drop", `,"arguments":{"id":"a"},`+input+`,"requestState":"`+state+
					`"`, nil)
				if strings.Contains(got.body, "did it") {
					t.Errorf("%s, state %s, %s: taken for an answer: %s", era, name, input, got)
				}
				// Without a state it is a first call, and the tool asks.
				want := "-32602"
				if state == "" {
					want = `"resultType":"input_required"`
				}
				if era == "2026-07-28" && !strings.Contains(got.body, want) {
					t.Errorf("%s, state %s, %s: %s", era, name, input, got)
				}
			}
		}
	}
}

// wanting is a tool that asks for a form with a number, and counts how often it got one.
func wanting(done *atomic.Int32) toolset.Toolset {
	return oneSDKTool("scale", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
		answer, _ := toolset.Request[mcp.CallToolRequest](call).Params.InputResponses["form"].(*mcp.ElicitResult)
		if answer == nil {
			return toolset.Native(&mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"form": &mcp.ElicitParams{
					Message: "How many?", RequestedSchema: json.RawMessage(
						`{"type":"object","properties":{
					"n":{"type":"integer","minimum":1,"maximum":9},"unit":{"type":"string","enum":["pod","node"],"default":"pod"}},
					"required":["n"]}`)}}}, nil, nil)
		}
		done.Add(1)
		return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{
			Text: fmt.Sprintf("%s %v %v", answer.Action, answer.Content["n"],
				answer.Content["unit"])}}}, nil, nil)
	})
}

func TestAnswersFitTheSchemaThatWasSent(t *testing.T) {
	var done atomic.Int32
	c := newRaw(t, serve(t, newServer(t, runtime.Options{}, wanting(&done))), tokens["Admin"],
		"2026-07-28")
	for answer, want := range map[string]string{
		`{"action":"accept","content":{"n":3}}`:               "accept 3 pod",
		`{"action":"accept","content":{"n":9,"unit":"node"}}`: "accept 9 node",
		`{"action":"decline"}`:                                "decline",
		`{"action":"cancel","content":{}}`:                    "cancel",
		`{"action":"accept"}`:                                 "",
		`{"action":"accept","content":null}`:                  "",
		`{"action":"accept","content":{}}`:                    "",
		`{"action":"accept","content":{"n":10}}`:              "",
		`{"action":"accept","content":{"n":0.5}}`:             "",
		`{"action":"accept","content":{"n":"3"}}`:             "",
		`{"action":"accept","content":{"n":3,"unit":"rack"}}`: "",
		`{"action":"ACCEPT","content":{"n":3}}`:               "",
		`{"action":"","content":{"n":3}}`:                     "",
	} {
		state := stateInBody.FindStringSubmatch(c.call(t, "scale", "", nil).body)
		if state == nil {
			t.Fatal("no state")
		}
		before := done.Load()
		got := c.call(t, "scale", `,"inputResponses":{"form":`+answer+`},"requestState":"`+state[1]+
			`"`, nil)
		if want == "" && (!strings.Contains(got.body, "-32602") ||
			!strings.Contains(got.body, `\"form\"`) || done.Load() != before) ||
			want != "" && !strings.Contains(got.body, want) {
			t.Errorf("%s: %s", answer, got)
		}
	}
}

// TestAcceptedFormHasContent: go-sdk passes an accepted form without content on as it is.
func TestAcceptedFormHasContent(t *testing.T) {
	var done atomic.Int32
	url := serve(t, newServer(t, runtime.Options{}, wanting(&done)))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	for _, era := range eras {
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url,
			HTTPClient: clientOf("Admin"), MaxRetries: -1},
			&mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := session.CallTool(t.Context(),
			&mcp.CallToolParams{Name: "scale"}); err == nil || !strings.Contains(err.Error(),
			"form") || done.Load() > 0 {
			t.Errorf("%s: %+v %v", era, res, err)
		}
		session.Close()
	}
}

func TestQuestionWhoseSchemaIsNoneIsAnError(t *testing.T) {
	s := newServer(t, runtime.Options{},
		oneSDKTool("ask", func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
				"q": &mcp.ElicitParams{Message: "?",
					RequestedSchema: json.RawMessage(`{"type":7}`)}}},
				nil, nil)
		}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
	if got := c.call(t, "ask", "", nil); strings.Contains(got.body, "inputRequests") ||
		!strings.Contains(got.body, "rror") {
		t.Errorf("%s", got)
	}
}

func TestAnswersToWhatWasNotAskedAreRefused(t *testing.T) {
	// A tool that asks for a name, and only then for a confirmation; it keeps no state.
	s := newServer(t, runtime.Options{},
		oneSDKTool("remove", func(_ context.Context, call toolset.Call) (toolset.Result, error) {
			answers := toolset.Request[mcp.CallToolRequest](call).Params.InputResponses
			ask := func(key string) (toolset.Result, error) {
				return toolset.Native(&mcp.CallToolResult{
					InputRequests: mcp.InputRequestMap{key: &mcp.ElicitParams{Message: key}}}, nil,
					nil)
			}
			switch {
			case answers["sure"] != nil:
				return toolset.Native(&mcp.CallToolResult{
					Content: []mcp.Content{&mcp.TextContent{Text: "removed it"}}}, nil, nil)
			case answers["name"] != nil:
				return ask("sure")
			}
			return ask("name")
		}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
	state := func(rest string) string {
		t.Helper()
		got := c.call(t, "remove", rest, nil)
		m := stateInBody.FindStringSubmatch(got.body)
		if m == nil {
			t.Fatalf("no state: %s", got)
		}
		return m[1]
	}
	first := state("")
	const accept = `{"action":"accept"}`
	for _, answers := range []string{
		`"sure":` + accept, `"name":` + accept + `,"sure":` + accept, `"NAME":` + accept,
		`"":` + accept,
		`"name":{"roots":[]}`,
		`"name":{"role":"user","model":"m","content":{"type":"text","text":"x"}}`,
	} {
		got := c.call(t, "remove", `,"requestState":"`+first+`","inputResponses":{`+answers+`}`,
			nil)
		if !strings.Contains(got.body, "-32602") || !strings.Contains(got.body, "without a request") {
			t.Errorf("%s: %s", answers, got)
		}
	}
	second := state(`,"requestState":"` + first + `","inputResponses":{"name":` + accept + `}`)
	if got := c.call(t, "remove", `,"requestState":"`+second+`","inputResponses":{"name":`+accept+
		`}`, nil); !strings.Contains(got.body, "-32602") {
		t.Errorf("an answer to the question before: %s", got)
	}
	if got := c.call(t, "remove", `,"requestState":"`+second+`","inputResponses":{"sure":`+accept+
		`}`, nil); !strings.Contains(got.body, "removed it") {
		t.Errorf("the answer that was requested: %s", got)
	}
}

func TestReplicasWithOneKeyReadEachOthersState(t *testing.T) {
	var runs atomic.Int32
	options := runtime.Options{StateKey: []byte("0123456789abcdef0123456789abcdef")}
	one := newRaw(t, serve(t, newServer(t, options, asker(&runs))), tokens["Manager"], "2026-07-28")
	two := newRaw(t, serve(t, newServer(t, options, asker(&runs))), tokens["Manager"], "2026-07-28")
	state := stateInBody.FindStringSubmatch(one.call(t, "drop", ``, nil).body)[1]
	if got := two.call(t, "drop", `,`+accepted+`,"requestState":"`+state+`"`,
		nil); !strings.Contains(got.body, "did it") {
		t.Errorf("%s", got)
	}
}

// credentialLife is long enough for a call to begin, and short enough to wait for its end.
const credentialLife = time.Second

func TestHandlerInvokedAgainIsDecidedAgain(t *testing.T) {
	// The credential ends while the person is asked: of the two runs that go-sdk makes behind the
	// guard for an older client, the second is refused.
	var runs atomic.Int32
	asked := make(chan struct{})
	verify := func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Manager"},
			Expires: time.Now().Add(credentialLife)}, nil
	}
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, asker(&runs))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			close(asked)
			// a person who outlives the credential
			<-time.After(credentialLife + 100*time.Millisecond)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: serve(t, s), HTTPClient: clientOf("Manager"),
			MaxRetries: -1, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "drop"})
	<-asked
	if err == nil || runs.Load() != 1 {
		t.Errorf("%d runs, %v %q", runs.Load(), err, text(res))
	}
}

// The host takes a permission away while the person is asked. The second run is refused: in older
// versions it is one more run of the same message, and in 2026-07-28 a message of its own.
func TestPermissionLostWhileThePersonIsAskedIsGone(t *testing.T) {
	for _, era := range eras {
		h := newHost(nil)
		h.set("ada", "dcim.drop_device")
		var runs atomic.Int32
		s := newServer(t, runtime.Options{
			PermissionAware: true, Capabilities: h, Identity: hosted(),
		}, toolsetOf([]toolset.Tool{
			{Name: "drop", SDK: true, Input: `{"type":"object"}`, Call: asking(&runs)},
		}, access.Rule{Tool: "drop", Permission: permission("dcim.drop_device")}))
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(context.Context,
				*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				h.set("ada")
				return &mcp.ElicitResult{Action: "accept"}, nil
			},
		})
		session, err := client.Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: serve(t, s), DisableStandaloneSSE: true,
				HTTPClient: mcptest.HTTPClient("ada_Viewer"), MaxRetries: -1},
			&mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "drop"})
		if err == nil || !strings.Contains(err.Error(), "unknown tool") || runs.Load() != 1 {
			t.Errorf("%s: %d runs, %v %q", era, runs.Load(), err, text(res))
		}
		session.Close()
	}
}

// A form whose schema has a number that clients in JavaScript round is never sent, by a session or
// with a result.
func TestFormsWithNumbersThatClientsRoundAreNotSent(t *testing.T) {
	form := &mcp.ElicitParams{Message: "How many?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}`)}
	got := make(chan error, 1)
	s := newServer(t, runtime.Options{Identity: users()},
		oneSDKTool("ask", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			req := toolset.Request[mcp.CallToolRequest](call)
			if strings.Contains(string(call.Arguments), "session") {
				_, err := req.Session.Elicit(ctx, form)
				got <- err
				return toolset.Done(err)
			}
			if req.Params.InputResponses != nil {
				return toolset.Done(nil)
			}
			return toolset.Native(&mcp.CallToolResult{
				InputRequests: mcp.InputRequestMap{"n": form}}, nil, nil)
		}))
	sent := false
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			sent = true
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	endpoint := serve(t, s)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		session, err := client.Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: clientOf("Manager"),
				MaxRetries: -1, DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for _, way := range []string{"session", "result"} {
			if way == "session" && version != "2025-11-25" {
				continue // the protocol has no requests of servers
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask",
				Arguments: map[string]any{"way": way}})
			if err == nil && !res.IsError || sent {
				t.Errorf("%s, %s: %v, sent %t", version, way, res, sent)
			}
			if way != "session" {
				continue
			}
			select {
			case err := <-got:
				if err == nil || !strings.Contains(err.Error(), "is beyond ±") {
					t.Errorf("the handler's error is %v", err)
				}
			default:
				t.Fatal("the handler was not called")
			}
		}
	}
}

func TestServerToClientRequestsAreDecidedAgainWhenTheyReturn(t *testing.T) {
	verify := func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Manager"},
			Expires: time.Now().Add(credentialLife)}, nil
	}
	got := make(chan error, 1)
	s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)},
		oneSDKTool("ask", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			_, err := toolset.Request[mcp.CallToolRequest](call).Session.Elicit(ctx,
				&mcp.ElicitParams{Message: "Sure?",
					RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)})
			got <- err
			return toolset.Done(err)
		}))
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-time.After(credentialLife + 100*time.Millisecond)
			return &mcp.ElicitResult{Action: "accept"}, nil
		},
	})
	session, err := client.Connect(context.Background(),
		&mcp.StreamableClientTransport{Endpoint: serve(t, s), HTTPClient: clientOf("Manager"),
			MaxRetries: -1, DisableStandaloneSSE: true},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.CallTool(context.Background(),
		&mcp.CallToolParams{Name: "ask"}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the caller was told %v", err)
	}
	if err := <-got; err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the handler was told %v", err)
	}
}
