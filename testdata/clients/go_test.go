package clients

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
)

const (
	goSDKModule = "github.com/modelcontextprotocol/go-sdk"
	mcpGoModule = "github.com/mark3labs/mcp-go"
)

// session is a connected client. Funcs of features that the client lacks are nil.
type session struct {
	version   string
	subscribe bool // the server declares subscriptions
	tools     func(context.Context) ([]string, error)
	// result calls a tool, requests progress, and returns the structured content and the text.
	result     func(ctx context.Context, tool string) (content any, text string, err error)
	listen     func(context.Context) error // to changes of lists
	log        func(context.Context) error // requests messages of all levels
	subscribes func(ctx context.Context, uri string) error
	complete   func(context.Context) ([]string, error)
	notices    chan string  // methods of notifications
	progress   chan float64 // the reports of all calls
	close      func()
}

// call calls a tool, requests progress, and returns the text of the result.
func (s *session) call(ctx context.Context, tool string) (string, error) {
	_, text, err := s.result(ctx, tool)
	return text, err
}

// connector connects to a server, with a token or with OAuth.
type connector func(
	ctx context.Context, t *testing.T, c client, server []string, o options,
) (*session, error)

type options struct {
	token string
	oauth bool
}

const limit = time.Minute

// inGo drives a client through all features at once, each in a session of its own.
func inGo(connect connector) func(*testing.T, client, endpoints) (string, cells) {
	return func(t *testing.T, c client, at endpoints) (version string, found cells) {
		found = cells{}
		var wait sync.WaitGroup
		var mu sync.Mutex
		try := func(
			feature string, server []string, o options, run func(context.Context, *session) error,
		) {
			if server == nil {
				return // only over HTTP
			}
			wait.Go(func() {
				if !strings.HasPrefix(c.module, "github.com/") {
					defer slot()()
				}
				once := func() string {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					s, err := connect(ctx, t, c, server, o)
					if err == nil {
						defer s.close()
						err = run(ctx, s)
					}
					mu.Lock()
					defer mu.Unlock()
					if s != nil {
						version = s.version
					}
					return outcomeOf(err)
				}
				outcome := once()
				if _, _, known := faultOf(c, feature); !known && outcome != works && outcome != none {
					t.Logf("%s %s, %s: again after %s", c.name, c.version, feature, outcome)
					outcome = once() // a busy machine may exceed a deadline of the client
				}
				mu.Lock()
				defer mu.Unlock()
				found[feature] = outcome
			})
		}
		for feature, run := range onConformance {
			try(feature, at.conformance, options{}, run)
		}
		for _, feature := range []string{"results", "null"} {
			try(feature, at.typed, options{}, func(ctx context.Context, s *session) error {
				err := callsAll(ctx, s, of(feature, typed))
				if err != nil {
					return err
				}
				if s, err = connect(ctx, t, c, at.adopted, options{}); err != nil {
					return err
				}
				defer s.close()
				return callsAll(ctx, s, of(feature, adopted))
			})
		}
		try("denied", at.team, options{token: "demo-vera"}, denied)
		try("bearer", at.team, options{token: "demo-vera"}, func(ctx context.Context, s *session) error {
			if err := lists(ctx, s, "get_all"); err != nil {
				return err
			}
			other, err := connect(ctx, t, c, at.team, options{token: "demo-nobody"})
			if err != nil {
				return nil
			}
			defer other.close()
			if _, err := other.tools(ctx); err == nil {
				return errors.New("another token is accepted")
			}
			return nil
		})
		try("OAuth", at.inventory, options{oauth: true}, func(ctx context.Context, s *session) error {
			return lists(ctx, s, "list_devices")
		})
		wait.Wait()
		return version, found
	}
}

func lists(ctx context.Context, s *session, want string) error {
	tools, err := s.tools(ctx)
	if err == nil && !slices.Contains(tools, want) {
		err = fmt.Errorf("%s is not among %q", want, tools)
	}
	return err
}

func returns(ctx context.Context, s *session, tool, want string) error {
	text, err := s.call(ctx, tool)
	if err == nil && !strings.Contains(text, want) {
		err = fmt.Errorf("%s returns %q", tool, text)
	}
	return err
}

// denied compares the outcome of a hidden tool with that of an unknown one.
func denied(ctx context.Context, s *session) error {
	_, hidden := s.call(ctx, "promote_to_manager")
	_, unknown := s.call(ctx, "no_such_tool")
	if hidden == nil || unknown == nil || strings.ReplaceAll(hidden.Error(), "promote_to_manager",
		"x") != strings.ReplaceAll(unknown.Error(), "no_such_tool", "x") {
		return fmt.Errorf("a hidden tool: %v, an unknown one: %v", hidden, unknown)
	}
	return nil
}

// onConformance are the features that need examples/conformance alone.
var onConformance = map[string]func(context.Context, *session) error{
	"list": func(ctx context.Context, s *session) error { return lists(ctx, s, "test_simple_text") },
	"call": func(ctx context.Context, s *session) error {
		return returns(ctx, s, "test_simple_text", "This is a simple text")
	},
	"list_changed": func(ctx context.Context, s *session) error {
		if err := s.listen(ctx); err != nil {
			return err
		}
		// A client opens its stream after the connection, so the first change may be too early.
		for changes := 1; changes <= 5; changes++ {
			if _, err := s.call(ctx, "test_trigger_tool_change"); err != nil {
				return err
			}
			if !noticed(s, "notifications/tools/list_changed") {
				continue
			}
			tools, err := s.tools(ctx)
			if err == nil && slices.Contains(tools, "transient_tool") != (changes%2 == 1) {
				err = fmt.Errorf("the list after %d changes is %q", changes, tools)
			}
			return err
		}
		return errors.New("no notification")
	},
	"subscribe": func(ctx context.Context, s *session) error {
		if !s.subscribe {
			return errors.New("the server does not declare resources.subscribe")
		}
		if err := s.subscribes(ctx, watched); err != nil {
			return err
		}
		// A client opens its stream after the connection, so the first update may be too early.
		for range 5 {
			if _, err := s.call(ctx, "test_trigger_resource_update"); err != nil {
				return err
			}
			if noticed(s, "notifications/resources/updated") {
				return nil
			}
		}
		return errors.New("no notification")
	},
	"progress": func(ctx context.Context, s *session) error {
		for tool, reports := range map[string][]float64{
			"test_tool_with_progress": {0, 50, 100}, "test_quick_progress": {1, 2, 3, 4}} {
			if _, err := s.call(ctx, tool); err != nil {
				return err
			}
			for _, want := range reports {
				select {
				case got := <-s.progress:
					if got != want {
						return fmt.Errorf("progress %v, want %v", got, want)
					}
				case <-time.After(5 * time.Second):
					return fmt.Errorf("no progress %v", want)
				}
			}
		}
		return nil
	},
	"log": func(ctx context.Context, s *session) error {
		if err := s.log(ctx); err != nil {
			return err
		}
		if _, err := s.call(ctx, "test_tool_with_logging"); err != nil {
			return err
		}
		if !noticed(s, "notifications/message") {
			return errors.New("no message")
		}
		return nil
	},
	"cancel": func(ctx context.Context, s *session) error {
		calling, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-s.progress:
			case <-time.After(5 * time.Second): // a client that drops progress
			}
			stop()
		}()
		if _, err := s.call(calling, "test_wait"); err == nil {
			return errors.New("the cancelled call has a result")
		}
		waiting, stop := context.WithTimeout(ctx, 5*time.Second)
		defer stop()
		if _, err := s.call(waiting, "test_waited"); err != nil {
			return errors.New("the call is not cancelled on the server")
		}
		return nil
	},
	"elicit": func(ctx context.Context, s *session) error {
		return returns(ctx, s, "test_input_required_result_elicitation", "Hello, Ada!")
	},
	"two rounds": func(ctx context.Context, s *session) error {
		return returns(ctx, s, "test_input_required_result_multi_round",
			"Hello, Ada! Your color is blue.")
	},
	"complete": func(ctx context.Context, s *session) error {
		values, err := s.complete(ctx)
		if err == nil && !slices.Equal(values, []string{"ab"}) {
			err = fmt.Errorf("completed to %q", values)
		}
		return err
	},
	"task": func(context.Context, *session) error { return errNone },
}

// noticed waits for a notification, which some clients drop.
func noticed(s *session, method string) bool {
	deadline := time.After(5 * time.Second)
	for {
		select {
		case got := <-s.notices:
			if got == method {
				return true
			}
		case <-deadline:
			return false
		}
	}
}

// watched is the resource that clients subscribe to.
const watched = "test://watched-resource"

// notify passes a notification on, unless too many wait.
func notify[T any](to chan T, v T) {
	select {
	case to <- v:
	default:
	}
}

// filled is what the person at the client enters into a form.
func filled(schema any) map[string]any {
	if strings.Contains(fmt.Sprint(schema), "color") {
		return map[string]any{"color": "blue"}
	}
	return map[string]any{"name": "Ada"}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

const redirect = "http://127.0.0.1:9/callback"

// signIn follows the pages of the provider, as a browser does, to the address of the client.
// Without one it requests that as well.
func signIn(ctx context.Context, address, stop string) (url.Values, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var last *url.URL
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		last = r.URL
		if stop != "" && strings.HasPrefix(r.URL.String(), stop) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return nil, err
	}
	res, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if last == nil || res.StatusCode >= 400 {
		return nil, fmt.Errorf("the provider does not sign in: %s", res.Status)
	}
	return last.Query(), nil
}

func connectGoSDK(
	ctx context.Context, _ *testing.T, c client, server []string, o options,
) (*session, error) {
	over := &mcp.StreamableClientTransport{Endpoint: server[0]}
	if o.token != "" {
		over.HTTPClient = &http.Client{Transport: bearer(o.token)}
	}
	if o.oauth {
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
				Metadata: &oauthex.ClientRegistrationMetadata{RedirectURIs: []string{redirect},
					TokenEndpointAuthMethod: "none"}},
			AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (
				*auth.AuthorizationResult, error) {
				q, err := signIn(ctx, args.URL, redirect)
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"),
					Iss: q.Get("iss")}, err
			},
		})
		if err != nil {
			return nil, err
		}
		over.OAuthHandler = handler
	}
	if len(server) > 1 {
		return goSDKOver(ctx, &mcp.CommandTransport{Command: exec.Command(server[0], server[1:]...)},
			c.version)
	}
	return goSDKOver(ctx, over, c.version)
}

func goSDKOver(ctx context.Context, over mcp.Transport, version string) (*session, error) {
	notices, progress := make(chan string, 10), make(chan float64, 10)
	sdk := mcp.NewClient(&mcp.Implementation{Name: "clients", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
			notify(progress, req.Params.Progress)
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			notify(notices, "notifications/tools/list_changed")
		},
		ResourceUpdatedHandler: func(_ context.Context, req *mcp.ResourceUpdatedNotificationRequest) {
			if req.Params.URI == watched {
				notify(notices, "notifications/resources/updated")
			}
		},
		LoggingMessageHandler: func(context.Context, *mcp.LoggingMessageRequest) {
			notify(notices, "notifications/message")
		},
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: filled(req.Params.RequestedSchema)}, nil
		},
	})
	s, err := sdk.Connect(ctx, over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	capabilities, level := s.InitializeResult().Capabilities, ""
	modern := s.InitializeResult().ProtocolVersion == "2026-07-28"
	return &session{
		version: s.InitializeResult().ProtocolVersion, notices: notices, progress: progress,
		subscribe: capabilities.Resources != nil && capabilities.Resources.Subscribe,
		close:     func() { _ = s.Close() },
		listen:    func(context.Context) error { return nil }, // it listens by itself
		tools: func(ctx context.Context) (names []string, err error) {
			for tool, err := range s.Tools(ctx, nil) {
				if err != nil {
					return nil, err
				}
				names = append(names, tool.Name)
			}
			return names, nil
		},
		result: func(ctx context.Context, tool string) (any, string, error) {
			params := &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}}
			params.SetProgressToken(tool)
			if level != "" {
				params.Meta["io.modelcontextprotocol/logLevel"] = level
			}
			res, err := s.CallTool(ctx, params)
			if err != nil || len(res.Content) == 0 {
				return nil, "", err
			}
			text := res.Content[0].(*mcp.TextContent).Text
			if res.IsError {
				return nil, "", errors.New(text)
			}
			return res.StructuredContent, text, nil
		},
		log: func(ctx context.Context) error {
			if modern { // each request has the level of its messages
				level = "debug"
				return nil
			}
			return s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"})
		},
		subscribes: func(ctx context.Context, uri string) error {
			return s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
		},
		complete: func(ctx context.Context) ([]string, error) {
			res, err := s.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"},
				Argument: mcp.CompleteParamsArgument{Name: "arg2", Value: "b"},
				Context:  &mcp.CompleteContext{Arguments: map[string]string{"arg1": "a"}}})
			if err != nil {
				return nil, err
			}
			return res.Completion.Values, nil
		},
	}, nil
}

// elicitor enters values into forms.
type elicitor struct{}

func (elicitor) Elicit(
	_ context.Context, req mcpgo.ElicitationRequest,
) (*mcpgo.ElicitationResult, error) {
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{
		Action: mcpgo.ElicitationResponseActionAccept, Content: filled(req.Params.RequestedSchema)}}, nil
}

func connectMCPGo(
	ctx context.Context, t *testing.T, c client, server []string, o options,
) (*session, error) {
	modern := c.version == mcpgo.ProtocolVersion20260728
	var over transport.Interface
	if len(server) > 1 {
		over = transport.NewStdio(server[0], nil, server[1:]...)
	} else {
		var settings []transport.StreamableHTTPCOption
		if !modern {
			settings = append(settings, transport.WithContinuousListening())
		}
		if o.token != "" {
			settings = append(settings, transport.WithHTTPHeaders(map[string]string{
				"Authorization": "Bearer " + o.token}))
		}
		if o.oauth {
			config := transport.OAuthConfig{RedirectURI: redirect, PKCEEnabled: true,
				Scopes: []string{"openid"}, TokenStore: transport.NewMemoryTokenStore()}
			if err := mcpGoSignIn(ctx, server[0], &config); err != nil {
				return nil, err
			}
			settings = append(settings, transport.WithHTTPOAuth(config))
		}
		var err error
		if over, err = transport.NewStreamableHTTP(server[0], settings...); err != nil {
			return nil, err
		}
	}
	sdk := mcpgoclient.NewClient(over, mcpgoclient.WithProtocolVersion(c.version),
		mcpgoclient.WithElicitationHandler(elicitor{}))
	notices, progress := make(chan string, 10), make(chan float64, 10)
	sdk.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if uri, ok := n.Params.AdditionalFields["uri"]; !ok || uri == watched {
			notify(notices, n.Method)
		}
		if report, ok := n.Params.AdditionalFields["progress"].(float64); ok {
			notify(progress, report)
		}
	})
	if err := sdk.Start(t.Context()); err != nil {
		return nil, err
	}
	initialize := mcpgo.InitializeRequest{}
	initialize.Params.ClientInfo = mcpgo.Implementation{Name: "clients", Version: "1"}
	res, err := sdk.Initialize(ctx, initialize)
	if err != nil {
		_ = sdk.Close()
		return nil, err
	}
	resources := res.Capabilities.Resources
	return &session{
		version: res.ProtocolVersion, notices: notices, progress: progress,
		subscribe: resources != nil && resources.Subscribe,
		// The request that ends a session waits for calls that go on.
		close: func() { go func() { _ = sdk.Close() }() },
		listen: func(context.Context) error {
			if !modern {
				return nil
			}
			_, err := sdk.ListenAsync(t.Context(), mcpgo.SubscriptionFilter{ToolsListChanged: true}, nil)
			return err
		},
		tools: func(ctx context.Context) (names []string, err error) {
			res, err := sdk.ListTools(ctx, mcpgo.ListToolsRequest{})
			if err != nil {
				return nil, err
			}
			for _, tool := range res.Tools {
				names = append(names, tool.Name)
			}
			return names, nil
		},
		result: func(ctx context.Context, tool string) (any, string, error) {
			req := mcpgo.CallToolRequest{}
			req.Params.Name, req.Params.Meta = tool, &mcpgo.Meta{ProgressToken: tool}
			req.Params.Arguments = map[string]any{}
			res, err := sdk.CallTool(ctx, req)
			if err != nil || len(res.Content) == 0 {
				return nil, "", err
			}
			text := res.Content[0].(mcpgo.TextContent).Text
			if res.IsError {
				return nil, "", errors.New(text)
			}
			return res.StructuredContent, text, nil
		},
		log: func(ctx context.Context) error {
			req := mcpgo.SetLevelRequest{}
			req.Params.Level = mcpgo.LoggingLevelDebug
			return sdk.SetLevel(ctx, req)
		},
		subscribes: func(ctx context.Context, uri string) error {
			if modern {
				_, err := sdk.ListenAsync(t.Context(),
					mcpgo.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
				return err
			}
			req := mcpgo.SubscribeRequest{}
			req.Params.URI = uri
			return sdk.Subscribe(ctx, req)
		},
		complete: func(ctx context.Context) ([]string, error) {
			req := mcpgo.CompleteRequest{}
			req.Params.Ref = mcpgo.PromptReference{Type: "ref/prompt", Name: "test_prompt_with_arguments"}
			req.Params.Argument.Name, req.Params.Argument.Value = "arg2", "b"
			req.Params.Context.Arguments = map[string]string{"arg1": "a"}
			res, err := sdk.Complete(ctx, req)
			if err != nil {
				return nil, err
			}
			return res.Completion.Values, nil
		},
	}, nil
}

// mcpGoSignIn registers at the provider of a server, and signs a user in. The token is in the store
// of the configuration then.
func mcpGoSignIn(ctx context.Context, server string, config *transport.OAuthConfig) error {
	over, err := transport.NewStreamableHTTP(server, transport.WithHTTPOAuth(*config))
	if err != nil {
		return err
	}
	sdk := mcpgoclient.NewClient(over)
	defer sdk.Close()
	if err = sdk.Start(ctx); err == nil {
		_, err = sdk.Initialize(ctx, mcpgo.InitializeRequest{})
	}
	if !mcpgoclient.IsOAuthAuthorizationRequiredError(err) {
		return fmt.Errorf("the client does not sign in: %w", err)
	}
	handler := mcpgoclient.GetOAuthHandler(err)
	if err := handler.RegisterClient(ctx, "clients"); err != nil {
		return err
	}
	verifier, err := mcpgoclient.GenerateCodeVerifier()
	if err != nil {
		return err
	}
	address, err := handler.GetAuthorizationURL(ctx, "state",
		mcpgoclient.GenerateCodeChallenge(verifier))
	if err != nil {
		return err
	}
	q, err := signIn(ctx, address, redirect)
	if err != nil {
		return err
	}
	config.ClientID, config.ClientSecret = handler.GetClientID(), handler.GetClientSecret()
	return handler.ProcessAuthorizationResponse(ctx, q.Get("code"), q.Get("state"), verifier)
}

// connectMCPRemote connects go-sdk to mcp-remote, which passes messages on to a server.
func connectMCPRemote(
	ctx context.Context, t *testing.T, _ client, server []string, o options,
) (*session, error) {
	args := []string{filepath.Join("node_modules", "mcp-remote", "dist", "proxy.js"), server[0],
		"--allow-http"}
	if o.token != "" {
		args = append(args, "--header", "Authorization:Bearer "+o.token)
	}
	cmd := nodeCommand(t, args...)
	signed, err := signsIn(ctx, cmd)
	if err != nil {
		return nil, err
	}
	s, err := goSDKOver(ctx, &mcp.CommandTransport{Command: cmd}, "")
	if err != nil || !o.oauth {
		return s, err
	}
	if err := <-signed; err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// signsIn signs a user in at the address that a command writes to its standard error.
func signsIn(ctx context.Context, cmd *exec.Cmd) (<-chan error, error) {
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	signed := make(chan error, 1)
	go func() {
		lines, written := bufio.NewScanner(stderr), ""
		for lines.Scan() {
			written += lines.Text() + "\n"
			at := strings.Index(lines.Text(), "http://127.0.0.1:")
			if at < 0 || !strings.Contains(lines.Text(), "/auth?") {
				continue
			}
			_, err := signIn(ctx, strings.Fields(lines.Text()[at:])[0], "")
			signed <- err
			_, _ = io.Copy(io.Discard, stderr)
			return
		}
		signed <- fmt.Errorf("the client does not sign in: %s", written)
	}()
	return signed, nil
}

// inspectorOAuth signs in with the CLI of the Inspector.
func inspectorOAuth(t *testing.T, at endpoints, era string) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd := nodeCommand(t, "node_modules/.bin/mcp-inspector", "--cli", "--protocol-era", era,
		"--callback-url", "http://127.0.0.1:0/oauth/callback", "--method", "tools/list", at.inventory[0])
	signed, err := signsIn(ctx, cmd)
	if err != nil {
		return err
	}
	cmd.Env = append(cmd.Env, "MCP_AUTO_OPEN_ENABLED=true") // it signs in without a terminal
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-signed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return err
	}
	select {
	case err = <-ended:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		err = ctx.Err()
	}
	if err == nil && !strings.Contains(out.String(), `"list_devices"`) {
		err = errors.New(out.String())
	}
	return err
}
