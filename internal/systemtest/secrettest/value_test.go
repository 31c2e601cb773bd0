package secrettest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/systemtest/secrettest"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// valued is a server whose handlers let out what they hold of their caller.
type valued struct {
	*scene
	exchange *oidc.Exchange
}

// endpoint exchanges tokens, and fails for every second one with an error that repeats all.
type endpoint struct {
	secret string
	fails  bool
}

func (e endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body) // of a reader of strings
	status, text := 200, `{"access_token":"`+e.secret+`","token_type":"Bearer","expires_in":600,`+
		`"issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`
	if e.fails {
		answer, _ := json.Marshal(map[string]string{ // of strings
			"error": "invalid_grant", "error_description": string(body), "access_token": e.secret})
		status, text = 400, string(answer)
	}
	return &http.Response{StatusCode: status,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

// held is a text with what a handler holds, in a form that no masker knows, and with a canary.
func (s *valued) held(ctx context.Context, of string) (string, error) {
	token, ok := runtime.CallerValue[identity.Token](ctx)
	text := token.Reveal()
	if of == "exchanged" || of == "failing" {
		x := s.exchange
		if of == "failing" {
			x, _ = oidc.NewExchange(oidc.ExchangeOptions{TokenURL: "https://login.example/token",
				ClientID: "mcp", ClientSecret: "x", Target: oidc.Target{Scopes: []string{"a"}},
				Client: &http.Client{Transport: endpoint{text, true}}})
		}
		got, err := x.TokenSource(ctx).Token()
		if err != nil {
			return "", fmt.Errorf("%sfailing: %w", canaries, err)
		}
		text = got.AccessToken
	}
	if !ok || text == "" {
		return "", errors.New("the test has no value")
	}
	return canaries + of + " - " + text + " -", nil
}

// leaks are the ways in which a handler lets out a text.
var leaks = map[string]func(ctx context.Context, text string) (toolset.Result, error){
	"error": func(_ context.Context, text string) (
		toolset.Result, error) {
		return toolset.Done(errors.New(text))
	},
	"wrapped": failures0("wrapped"), "rpc": failures0("rpc"), "own result": failures0("own result"),
	"unfit": failures0("unfit"),
	"url": func(_ context.Context, text string) (toolset.Result, error) {
		return toolset.Done(fmt.Errorf("GET https://api.example/%s?of=%s: %q", url.PathEscape(text),
			url.QueryEscape(text), text))
	},
	"encoded": func(_ context.Context, text string) (toolset.Result, error) {
		basic := base64.StdEncoding.EncodeToString([]byte("ada:" + text))
		return toolset.Done(fmt.Errorf("%x %X %s %s", text, text, basic,
			base64.RawURLEncoding.EncodeToString([]byte(text+"."))))
	},
	"panic": func(_ context.Context, text string) (toolset.Result, error) { panic(text) },
	"panic error": func(_ context.Context, text string) (toolset.Result, error) {
		panic(errors.New(text))
	},
	"panic map": func(_ context.Context, text string) (toolset.Result, error) {
		panic(map[string]any{"a": []string{text}})
	},
	"cut": func(_ context.Context, text string) (toolset.Result, error) {
		for _, n := range cuts {
			text += "\n" + strings.Repeat("-", max(0, n-len(text)-20)) + text
		}
		return toolset.Done(errors.New(text))
	},
	"log": func(ctx context.Context, text string) (toolset.Result, error) {
		log := runtime.Logger(ctx)
		log.Error("without a context "+text, "a", text, "error", errors.New(text), "all",
			map[string]any{text: []byte(text)})
		log.ErrorContext(ctx, "with one "+text, "a", text)
		log.With("a", text).WithGroup(text).Error("before")
		runtime.Progress(ctx).Report(1, 2, text)
		runtime.Advise(ctx, 1, "mind %s", text)
		return toolset.Done(nil)
	},
}

func failures0(way string) func(context.Context, string) (toolset.Result, error) {
	return func(_ context.Context, text string) (toolset.Result, error) {
		return failures[way](text, secrettest.Secret{Value: text})
	}
}

func (s *valued) leak(ctx context.Context, arguments json.RawMessage) (toolset.Result, error) {
	var in struct{ Do, Of string }
	if err := json.Unmarshal(arguments, &in); err != nil {
		return toolset.Result{}, err
	}
	text, err := s.held(ctx, in.Of)
	if err != nil {
		return toolset.Done(err)
	}
	return leaks[in.Do](ctx, text)
}

func (s *valued) failing(ctx context.Context, plain bool) error {
	text, err := s.held(ctx, "exchanged")
	if err != nil {
		return err
	}
	if plain {
		return errors.New(text)
	}
	return &jsonrpc.Error{Code: -32052, Message: text, Data: json.RawMessage(quoted(text))}
}

func (s *valued) toolset() toolset.Toolset {
	open := access.Rule{Authenticated: true}
	first, second, prompt, resource := open, open, open, open
	first.Tool, second.Tool, prompt.Prompt, resource.Resource = "leak", "sdk", "p", "planted://v"
	leak := func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		return s.leak(ctx, call.Arguments)
	}
	complete := func(ctx context.Context, _ string) (
		[]string, error) {
		return nil, s.failing(ctx, true)
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/valued", Server: toolset.ServerInfo{Name: "valued", Version: "1"},
		Table: access.Table{Roles: [][]string{{"Viewer", "Admin"}},
			Rules: []access.Rule{first, second}, Prompts: []access.Rule{prompt},
			Resources: []access.Rule{resource}},
		Tools: []toolset.Tool{{Name: "leak", Input: `{"type":"object"}`, Call: leak},
			{Name: "sdk", Input: `{"type":"object"}`, Call: leak, SDK: true}},
		Prompts: []toolset.Prompt{{Name: "p",
			Arguments: []toolset.Argument{{Name: "of", Complete: complete}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptResult{}, s.failing(ctx, true)
			}}},
		Resources: []toolset.Resource{{URI: "planted://v", Name: "v",
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceResult{}, s.failing(ctx, false)
			}}},
	})
}

// adopted is a server of go-sdk's whose tool lets out the same.
func (s *valued) adopted(o runtime.Options) *runtime.Server {
	inner := mcp.NewServer(&mcp.Implementation{Name: "inner", Version: "1"}, nil)
	mcp.AddTool(inner, &mcp.Tool{Name: "leak"},
		func(ctx context.Context, r *mcp.CallToolRequest, _ map[string]any) (
			*mcp.CallToolResult, any, error) {
			out, err := s.leak(ctx, r.Params.Arguments)
			if res, ok := out.Native.(*mcp.CallToolResult); ok {
				return res, nil, err
			}
			return nil, out.Out, err
		})
	server, err := runtime.Adopt(inner, o, map[string]access.Rule{"leak": {Authenticated: true}})
	if err != nil {
		s.t.Fatal(err)
	}
	return server
}

// What a handler holds of its caller is in no output, whatever the handler does with it but return
// it: neither the received token nor one that was exchanged for it.
func TestCallersValueComesOutNowhere(t *testing.T) {
	all := secrettest.All(uint64(time.Now().UnixNano()))
	own, sent, exchanged := all[0].Core, all[2].Core, all[4].Core
	s := &valued{scene: &scene{
		t: t, progress: secrettest.All(7)[0], out: map[string]*bytes.Buffer{}}}
	for i, core := range []string{own, sent, exchanged} {
		s.secrets = append(s.secrets, secrettest.Secret{
			Place: secrettest.Place(fmt.Sprint("value ", i)), Value: core, Core: core})
	}
	s.secrets = append(s.secrets, secrettest.At(all, secrettest.Header)[0]) // of the trace
	s.exchange, _ = oidc.NewExchange(oidc.ExchangeOptions{
		TokenURL: "https://login.example/token", ClientID: "mcp",
		ClientSecret: "x", Target: oidc.Target{Scopes: []string{"a"}},
		Client: &http.Client{Transport: endpoint{exchanged, false}}})
	t.Run("play", func(t *testing.T) {
		s.t = t
		s.aside()
		o := s.options(redact.Masker{})
		o.Host.Source, o.Catalogs.Source, o.Observe.Readiness = nil, nil, nil
		o.Identity = identity.Bearer(func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{Principal: principal("boss")}, nil
		}, identity.KeepToken())
		o.Protocol.StdioValue = func(context.Context) (
			identity.Value, error) {
			return identity.NewValue(identity.NewToken(own)), nil
		}
		for _, kind := range []string{"", "adopted, "} {
			server, err := runtime.New(o, s.toolset())
			if kind == "adopted, " {
				server = s.adopted(o)
			}
			if err != nil {
				t.Fatal(err)
			}
			for turn, c := range s.connections(server, kind) {
				s.play(c, kind, turn)
			}
		}
		s.runsOn(o)
	})
	s.t = t
	wanted := map[string][]string{"value": {"log as text", "log as JSON"},
		"exchanged": {"log as text", "log as JSON"}, "failing": {"log as text"}}
	for _, kind := range []string{"", "adopted, "} {
		for _, era := range eras {
			for _, of := range []string{"value", "exchanged", "failing"} {
				wanted[of] = append(wanted[of], kind+"http "+era, kind+"stdio "+era)
			}
		}
	}
	for of, outs := range wanted {
		for _, where := range outs {
			if b := s.out[where]; b == nil || !strings.Contains(b.String(), canaries+of) {
				t.Errorf("%s: what a handler lets out of %s is not seen there, hidden or not",
					where, of)
			}
		}
	}
	if b := s.out["default log"]; b == nil || !strings.Contains(b.String(), "invalid_grant") {
		t.Error("the log has no code of the exchange that failed")
	}
	s.check(nil)
}

// play calls everything on one connection.
func (s *valued) play(c connection, kind string, turn int) {
	named := func(name, method, params string) {
		if h, ok := c.(*overHTTP); ok {
			h.token = s.secrets[1].Core // the session was opened with another one
			h.name = name
			defer func() { h.name = "" }()
		}
		c.ask(method, params)
	}
	s.listen(c, "debug")
	tools := []string{"leak", "sdk"}
	if turn >= 4 { // of 2026-07-28, which has no sessions of go-sdk's
		tools = tools[:1]
	}
	if kind == "adopted, " {
		tools = tools[:1]
	}
	for _, tool := range tools {
		for do := range leaks {
			for _, of := range []string{"value", "exchanged"} {
				named(tool, "tools/call", fmt.Sprintf(
					`"name":%q,"arguments":{"do":%q,"of":%q}`, tool, do, of))
			}
		}
		named(tool, "tools/call", fmt.Sprintf(
			`"name":%q,"arguments":{"do":"error","of":"failing"}`, tool))
		if turn%2 == 0 { // the client may repeat it in what it sends
			core := s.secrets[1].Core
			named(core, "tools/call", `"name":`+quoted(core)+`,"arguments":{`+quoted(core)+`:1}`)
			named(tool, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{%q:1}`, tool, core))
		}
	}
	if kind == "adopted, " {
		return
	}
	named("p", "prompts/get", `"name":"p"`)
	named("planted://v", "resources/read", `"uri":"planted://v"`)
	named(
		"", "completion/complete",
		`"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"of","value":""}`)
}

// runsOn calls a handler that panics after its time limit and the response, over pipes in a bubble.
func (s *valued) runsOn(o runtime.Options) {
	outer := s.t
	defer func() { s.t = outer }()
	synctest.Test(outer, func(t *testing.T) {
		s.t, o.Audit.Sink = t, audit.SinkFunc(s.record)
		late := make(chan struct{})
		server, err := runtime.New(o, toolset.NewToolset(toolset.Generated{
			Package: "example.com/late", Server: toolset.ServerInfo{Name: "late", Version: "1"},
			Table: access.Table{Rules: []access.Rule{{Tool: "late", Authenticated: true}}},
			Tools: []toolset.Tool{{Name: "late", Input: `{"type":"object"}`,
				Timeout: time.Millisecond,
				Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					text, err := s.held(ctx, "value")
					<-late
					if err == nil {
						panic(text)
					}
					return toolset.Done(err)
				}}},
		}))
		if err != nil {
			t.Fatal(err)
		}
		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- server.RunIO(context.WithoutCancel(t.Context()), serverIn, serverOut,
				principal("boss"))
		}()
		p := &overPipes{scene: s.scene, in: clientOut, out: bufio.NewScanner(clientIn),
			era: "2026-07-28", level: "debug", where: "late, stdio 2026-07-28"}
		p.ask("tools/call", `"name":"late","arguments":{}`)
		close(late)
		synctest.Wait()
		s.mu.Lock()
		b := s.out["log as JSON"]
		s.mu.Unlock()
		const line = "a handler panicked after the response to its call"
		if b == nil || !strings.Contains(b.String(), line) {
			t.Error("the log has no line about the handler that ran on")
		}
		if err := errors.Join(clientOut.Close(), <-ended, server.Shutdown(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
