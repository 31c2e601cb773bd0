package runtime_test

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// visit asks the client three times, and returns a text of its answers.
func visit(ctx context.Context) (string, error) {
	who, err := runtime.Elicit[struct {
		Name string `json:"name"`
	}](ctx, "who", "Who are you?")
	if err != nil {
		return "", err
	}
	greeting, err := runtime.Sample(ctx, "greeting", &mcp.CreateMessageParams{MaxTokens: 10,
		Messages: []*mcp.SamplingMessage{{Role: "user",
			Content: &mcp.TextContent{Text: "Greet " + who.Name}}}})
	if err != nil {
		return "", fmt.Errorf("the greeting: %w", err)
	}
	roots, err := runtime.Roots(ctx)
	if err != nil {
		return "", err
	}
	text, _ := greeting.Content.(*mcp.TextContent)
	return fmt.Sprintf("%s %s", text.Text, roots[0].URI), nil
}

// visits has a tool, a prompt and a resource that run the same handler. Viewers may use them, and
// three more are for managers.
func visits(handle func(context.Context) (string, error)) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/visits",
		Server: toolset.ServerInfo{Name: "visits", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(),
			Rules: []access.Rule{{Tool: "meet", MinRole: []string{"Viewer"}}, {Tool: "boss",
				MinRole: []string{"Manager"}}},
			Prompts: []access.Rule{{Prompt: "meet", MinRole: []string{"Viewer"}},
				{Prompt: "boss", MinRole: []string{"Manager"}}},
			Resources: []access.Rule{{Resource: "meet://{at}", MinRole: []string{"Viewer"}},
				{Resource: "boss://{at}", MinRole: []string{"Manager"}}}}}
	for _, name := range []string{"meet", "boss"} {
		g.Tools = append(g.Tools, toolset.Tool{Name: name, Input: anyInput, Elicits: true,
			Returns: toolset.Text,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := handle(ctx)
				return toolset.Result{Out: text, HasOut: true}, err
			}})
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: name, Elicits: true,
			Arguments: []toolset.Argument{{Name: "at"}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(handle(ctx))
			}})
		g.Resources = append(g.Resources, toolset.Resource{URI: name + "://{at}", Name: name,
			Elicits: true, Variables: []toolset.Variable{{Name: "at"}},
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText(handle(ctx))
			}})
	}
	return toolset.NewToolset(g)
}

// ways are how to run a handler of visits.
var ways = map[string]func(*mcp.ClientSession, context.Context) (string, error){
	"tool": func(s *mcp.ClientSession, ctx context.Context) (string, error) {
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "meet"})
		if err != nil {
			return "", err
		}
		if res.IsError {
			return "", errors.New("!" + text(res))
		}
		return text(res), nil
	},
	"prompt": func(s *mcp.ClientSession, ctx context.Context) (string, error) {
		res, err := s.GetPrompt(ctx, &mcp.GetPromptParams{Name: "meet"})
		if err != nil {
			return "", err
		}
		return res.Messages[0].Content.(*mcp.TextContent).Text, nil
	},
	"resource": func(s *mcp.ClientSession, ctx context.Context) (string, error) {
		res, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: "meet://home"})
		if err != nil {
			return "", err
		}
		return res.Contents[0].Text, nil
	},
}

// guest is a client that has all kinds of input; adjust may remove some. fill is for its forms.
func guest(fill func() *mcp.ElicitResult, adjust func(*mcp.ClientOptions)) *mcp.Client {
	options := &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return fill(), nil
		},
		CreateMessageHandler: func(_ context.Context,
			req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			asked := req.Params.Messages[0].Content.(*mcp.TextContent).Text
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m",
				Content: &mcp.TextContent{Text: "done: " + asked}}, nil
		},
	}
	if adjust != nil {
		adjust(options)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "guest", Version: "1"}, options)
	client.AddRoots(&mcp.Root{URI: "file:///home"})
	return client
}

// visiting connects a client over HTTP and over stdio.
func visiting(t *testing.T, s *runtime.Server, client *mcp.Client, era string,
	each func(transport string, session *mcp.ClientSession)) {
	t.Helper()
	http := &mcp.StreamableClientTransport{Endpoint: serve(t, s), HTTPClient: clientOf("Viewer"),
		MaxRetries: -1}
	toServer, fromClient := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() {
		_ = s.RunIO(t.Context(), toServer, toClient, principalOf("Viewer")) // ends with the test
		toServer.Close()
		toClient.Close()
	}()
	for name, transport := range map[string]mcp.Transport{"HTTP": http,
		"stdio": &mcp.IOTransport{Reader: fromServer, Writer: fromClient}} {
		session, err := client.Connect(t.Context(), transport,
			&mcp.ClientSessionOptions{ProtocolVersion: era})
		if err != nil {
			t.Fatal(err)
		}
		each(name, session)
		session.Close()
	}
}

// A handler that always asks ends, in versions with sessions by the server's bound.
func TestQuestionsOfOneMessageAreBounded(t *testing.T) {
	for _, version := range eras[:2] {
		var runs atomic.Int32
		endless := visits(func(ctx context.Context) (string, error) {
			n := runs.Add(1)
			_, err := runtime.Elicit[order](ctx, fmt.Sprint("q", n), "?")
			return "", err
		})
		client := guest(func() *mcp.ElicitResult { return &mcp.ElicitResult{Action: "decline"} }, nil)
		visiting(t, newServer(t, runtime.Options{}, endless), client, version,
			func(transport string, session *mcp.ClientSession) {
				for name, use := range ways {
					runs.Store(0)
					if got, err := use(session, t.Context()); err == nil || runs.Load() != 16 {
						t.Errorf("%s, %s, %s: %d runs, %q %v", version, transport, name, runs.Load(), got,
							err)
					}
				}
			})
	}
}

// A client that leaves during each question holds no more than a bound of calls.
func TestQuestionsThatWaitAreBounded(t *testing.T) {
	c := &raw{url: serve(t, newServer(t, runtime.Options{}, visits(visit))),
		token: tokens["Viewer"], era: "2025-11-25", client: http.Client{Timeout: 20 * time.Second}}
	got := c.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{`+
		`"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},`+
		`"clientInfo":{"name":"raw","version":"1"}}}`, nil)
	c.session = got.header.Get("Mcp-Session-Id")
	c.send(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	call := func(id int) string {
		return fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"meet"}}`, id+1)
	}
	for id := range 32 {
		s := c.stream(t, http.MethodPost, call(id), "")
		s.next(t) // the id of the stream
		if got := s.next(t).data; !strings.Contains(got, "elicitation/create") {
			t.Errorf("%d: %s", id, got)
		}
		s.drop()
	}
	if got := c.send(t, http.MethodPost, call(32), nil); !strings.Contains(got.body,
		"wait for an answer") {
		t.Errorf("%s", got)
	}
	for id := range 32 { // ends them
		c.send(t, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled",`+
			`"params":{"requestId":%d}}`, id+1), nil)
	}
}

// What a client answers is in no log and no audit event, also if it does not fit.
func TestAnswersAreNotLogged(t *testing.T) {
	const secret = "planted-answer"
	for _, era := range eras {
		for _, content := range []map[string]any{{"name": secret}, {"name": 7, secret: secret},
			{secret: []any{secret}}, {"name": []any{secret}}} {
			var log bytes.Buffer
			sink := &keeper{}
			s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
				Logger: slog.New(slog.NewTextHandler(&log,
					&slog.HandlerOptions{Level: slog.LevelDebug}))}, visits(visit))
			client := guest(func() *mcp.ElicitResult {
				return &mcp.ElicitResult{Action: "accept", Content: content}
			}, nil)
			session, err := client.Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: serve(t, s), HTTPClient: clientOf("Viewer"),
					MaxRetries: -1, DisableStandaloneSSE: true},
				&mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatal(err)
			}
			for _, use := range ways {
				_, _ = use(session, t.Context()) // some fail
			}
			session.Close()
			c := newRaw(t, serve(t, s), tokens["Viewer"], "2026-07-28")
			state := stateInBody.FindStringSubmatch(c.call(t, "meet", "", nil).body)
			for _, answer := range []string{`{"action":"` + secret + `"}`,
				`{"action":"accept","content":{"name":["` + secret + `"]}}`} {
				got := c.call(t, "meet", `,"requestState":"`+state[1]+`","inputResponses":{"who":`+
					answer+`}`, nil)
				if !strings.Contains(got.body, "-32602") || strings.Contains(got.body, secret) {
					t.Errorf("%s: %s", answer, got)
				}
			}
			if err := s.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			if text := log.String() + fmt.Sprint(sink.taken()); strings.Contains(text, secret) ||
				!strings.Contains(text, "meet") {
				t.Errorf("%s: %s", era, text)
			}
		}
	}
}
