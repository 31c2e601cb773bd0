package runtime_test

//lint:file-ignore SA1019 sampling and log messages are deprecated in 2026-07-28, and still in use

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// TestProbesOfTheSpecification runs the probes of testdata/probes.txt on a server of toolsets, and
// on a go-sdk server with the same tools. Each probe notes who keeps its rule. With -v the test
// prints the table. A rule that a server of toolsets does not keep is a SHOULD, with the reason.
func TestProbesOfTheSpecification(t *testing.T) {
	t.Parallel()
	word, kept := map[bool]string{true: "yes", false: "no"}, [2]int{}
	table := "| probe | specification | mcpgen | go-sdk |\n|---|---|---|---|\n"
	probes := readProbes(t)
	for _, p := range probes {
		var why [2]string // the rule is not kept; empty if it is
		for i := range why {
			synctest.Test(t, func(t *testing.T) { why[i] = p.run(t, i == 1) })
		}
		keeps := [2]string{word[why[0] == ""], word[why[1] == ""]}
		if keeps != p.keeps {
			t.Errorf("%s: %s\nnoted %q, and %q\nmcpgen: %s\ngo-sdk: %s", p.at, p.rule, p.keeps,
				keeps, why[0], why[1])
		}
		if keeps[0] == "no" && !regexp.MustCompile(`SHOULD.*\(not kept.*: `).MatchString(p.rule) {
			t.Errorf("no reason: %s", p.rule)
		}
		for i, k := range keeps {
			kept[i] += strings.Count(k, "yes")
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", p.rule, p.at, keeps[0], keeps[1])
	}
	if testing.Verbose() {
		fmt.Printf("%s\n%d probes: mcpgen keeps %d, go-sdk %d.\n", table, len(probes), kept[0],
			kept[1])
	}
}

// specProbe is one rule of the specification and an exchange that shows whether a server keeps it.
//
// Its steps have a line each: a message, its headers, and what its outcome matches.
//
//	METHOD PARAMS | Header: value => REGEXP && !REGEXP
//
// An empty value removes the header. $1 is the first group that a match had. POST, LINE, GET and
// DELETE send what follows as it is; other words are in (*probing).step. The first step may begin
// with "cold", for no session, and with a server:
//
//	stdio: auth: (a token for each user) paged: (two entries a page) only: (no more than a tool)
type specProbe struct {
	at    string // version, page and section
	rule  string
	keeps [2]string // "yes" or "no" for mcpgen and for go-sdk
	steps []string
}

func readProbes(t *testing.T) (probes []specProbe) {
	text, err := os.ReadFile("testdata/probes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		head, rule, _ := strings.Cut(lines[0], ": ")
		words := strings.SplitN(head, " ", 3)
		probes = append(probes, specProbe{words[2], rule, [2]string(words[:2]), lines[1:]})
	}
	return probes
}

// probing is a probe under way, in a bubble.
type probing struct {
	t       *testing.T
	ctx     context.Context // of the server
	version string
	kind    string // of the server
	url     string
	caps    string // of the client
	session string
	id      int
	stdin   *io.PipeWriter
	steps   []*probeOutcome
	release chan struct{} // what a waiting handler waits for
	ended   atomic.Int32  // handlers whose context has ended
}

// probeOutcome is what has come back so far.
type probeOutcome struct {
	mu     sync.Mutex
	text   bytes.Buffer
	cancel context.CancelFunc
}

func (o *probeOutcome) addf(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	fmt.Fprintf(&o.text, format+"\n", args...)
}

func (o *probeOutcome) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// add adds a message with its names in order, or a text that is no JSON.
func (o *probeOutcome) add(text string) {
	var message any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&message); err != nil {
		o.addf("no JSON: %s", text)
		return
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(message); err != nil {
		panic(err)
	}
	o.addf("%s", bytes.TrimSpace(b.Bytes()))
}

var (
	probeKinds   = regexp.MustCompile(`^(cold )?(?:(\w+): )?`)
	probeSession = regexp.MustCompile(`(?m)^Mcp-Session-Id: (.*)$`)
)

// run returns why the server does not keep the rule.
func (p specProbe) run(t *testing.T, sdk bool) string {
	pr := &probing{t: t, version: p.at[:10], caps: "{}", release: make(chan struct{})}
	kind := probeKinds.FindStringSubmatch(p.steps[0])
	pr.kind = kind[2]
	pr.start(sdk)
	var groups []string // with their names, for a replacer
	for i, line := range p.steps {
		if i == 0 {
			line = strings.TrimPrefix(line, kind[0])
			if kind[1] == "" && !strings.HasPrefix(line, "as ") {
				pr.open()
			}
		}
		step, wants, _ := strings.Cut(strings.NewReplacer(groups...).Replace(line), " => ")
		outcome := pr.step(step)
		for want := range strings.SplitSeq(wants, " && ") {
			pattern, not := strings.CutPrefix(want, "!")
			match := regexp.MustCompile("(?s)" + pattern).FindStringSubmatch(outcome)
			if (match == nil) != not {
				return fmt.Sprintf("%s\ndoes not fit %s:\n%s", step, want, outcome)
			}
			if len(match) > 1 {
				groups = append(groups, fmt.Sprint("$", 1+len(groups)/2), match[1])
			}
		}
	}
	return ""
}

// open opens a session, if the version has sessions.
func (pr *probing) open() {
	if pr.version < "2026" {
		pr.step(`initialize {"protocolVersion":"` + pr.version + `","capabilities":` + pr.caps +
			`,"clientInfo":{"name":"c","version":"1"}}`)
		pr.step("notifications/initialized")
	}
}

// step takes one step, and returns its outcome once the server waits.
func (pr *probing) step(text string) string {
	text, headers, _ := strings.Cut(text, " | ")
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "as": // opens a session of a client with these MCP capabilities
		pr.caps = rest
		pr.open()
		return ""
	case "ended":
		return fmt.Sprint("ended ", pr.ended.Load())
	case "drop": // closes the newest response
		pr.steps[len(pr.steps)-1].cancel()
	case "back": // the outcome of an earlier step: 1 is the newest
		n, _ := strconv.Atoi(rest)
		return pr.steps[len(pr.steps)-n].String()
	case "exit":
		_ = pr.stdin.Close()
		synctest.Wait()
		return pr.steps[0].String()
	default:
		body := pr.body(verb, rest)
		if pr.kind == "stdio" {
			all := pr.steps[0]
			before := len(all.String())
			go func() { _, _ = io.WriteString(pr.stdin, body+"\n") }()
			synctest.Wait()
			return all.String()[before:]
		}
		return pr.send(verb, rest, body, headers)
	}
	synctest.Wait()
	return ""
}

// body is the message of a step.
func (pr *probing) body(verb, rest string) string {
	switch verb {
	case "POST", "LINE":
		return rest
	case "GET", "DELETE":
		return ""
	}
	message := map[string]any{"jsonrpc": "2.0", "method": verb}
	if !strings.HasPrefix(verb, "notifications/") {
		pr.id++
		message["id"] = pr.id
	}
	params := map[string]any{}
	if rest != "" {
		if err := json.Unmarshal([]byte(rest), &params); err != nil {
			pr.t.Fatalf("%s %s: %v", verb, rest, err)
		}
	}
	if pr.version >= "2026" && verb != "initialize" {
		meta := map[string]any{mcp.MetaKeyProtocolVersion: pr.version,
			mcp.MetaKeyClientCapabilities: json.RawMessage(pr.caps)}
		if own, ok := params["_meta"].(map[string]any); ok {
			maps.Copy(meta, own)
		}
		params["_meta"] = meta
	}
	message["params"] = params
	text, err := json.Marshal(message)
	if err != nil {
		pr.t.Fatal(err)
	}
	return string(text)
}

// send sends an HTTP request with the headers of the version.
func (pr *probing) send(verb, rest, body, headers string) string {
	method, url := http.MethodPost, pr.url+"/mcp"
	switch verb {
	case http.MethodGet, http.MethodDelete:
		if method = verb; rest != "" {
			url = pr.url + rest
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &probeOutcome{cancel: cancel}
	pr.steps = append(pr.steps, o)
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		pr.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	if pr.session != "" {
		r.Header.Set("Mcp-Session-Id", pr.session)
	}
	if pr.version >= "2026" && verb != "initialize" {
		var sent struct {
			Method string
			Params struct{ Name, URI string }
		}
		_ = json.Unmarshal([]byte(body), &sent) // some bodies are no JSON
		r.Header.Set("Mcp-Method", sent.Method)
		if name := cmp.Or(sent.Params.Name, sent.Params.URI); name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
	if pr.version >= "2026" || pr.session != "" {
		r.Header.Set("Mcp-Protocol-Version", pr.version)
	}
	for header := range strings.SplitSeq(headers, " | ") {
		if name, value, ok := strings.Cut(header, ":"); ok && value == "" {
			r.Header.Del(name)
		} else if ok {
			r.Header.Set(name, strings.TrimSpace(value))
		}
	}
	go o.receive(r)
	synctest.Wait()
	if id := probeSession.FindStringSubmatch(o.String()); id != nil {
		pr.session = id[1]
	}
	return o.String()
}

// receive notes a response: its status, its headers, its messages with the ids of their events, and
// its end.
func (o *probeOutcome) receive(r *http.Request) {
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		o.addf("no response")
		return
	}
	defer res.Body.Close()
	o.addf("%d", res.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		o.addf("%s: %s", name, strings.Join(res.Header[name], ", "))
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
				o.add(data)
			} else if strings.HasPrefix(lines.Text(), "id:") {
				o.addf("%s", lines.Text())
			}
		}
	} else if text, _ := io.ReadAll(res.Body); len(text) > 0 {
		o.add(string(text))
	}
	o.addf("end")
}

// start starts a server of the kind of the probe: go-sdk's, or one of toolsets.
func (pr *probing) start(sdk bool) {
	pages := 100
	if pr.kind == "paged" {
		pages = 2
	}
	var cancel context.CancelFunc
	pr.ctx, cancel = context.WithCancel(context.Background())
	end := func() { // before the server shuts down
		cancel()
		for _, o := range pr.steps {
			o.cancel()
		}
		synctest.Wait()
	}
	var handler http.Handler
	var lines func(context.Context, io.ReadCloser, io.WriteCloser) error
	if sdk {
		server := pr.sdkServer(&mcp.ServerOptions{PageSize: pages})
		handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
			&mcp.StreamableHTTPOptions{Stateless: pr.version >= "2026",
				EventStore: mcp.NewMemoryEventStore(nil)})
		if pr.kind == "auth" {
			handler = sdkAuth(handler)
		}
		lines = func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
		}
		pr.t.Cleanup(func() {
			end()
			for s := range server.Sessions() {
				_ = s.Close()
			}
		})
	} else {
		options := runtime.Options{Anonymous: true, Lists: runtime.ListOptions{PageSize: pages}}
		if pr.kind == "auth" {
			options.Anonymous = false
			options.Identity = guarded{identity.Bearer(probeVerify), identity.Resource{
				URL: probeResource, AuthorizationServers: []string{"https://id.example"}}}
		}
		server := newServer(pr.t, options, pr.toolset())
		shutDown(pr.t, server)
		pr.t.Cleanup(end)
		handler = server.Handler()
		lines = func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			return server.RunIO(ctx, in, out, access.Principal{})
		}
	}
	if pr.kind != "stdio" {
		pr.url = memnet.Start(pr.t, &http.Server{Handler: handler})
		return
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	all := &probeOutcome{cancel: func() { _ = stdin.Close() }}
	pr.stdin, pr.steps = stdin, []*probeOutcome{all}
	go func() {
		_ = lines(pr.ctx, in, out)
		_ = in.Close() // nobody reads what follows
		_ = out.Close()
	}()
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			all.add(lines.Text())
		}
		all.addf("end")
	}()
}

const probeResource = "https://mcp.example/mcp"

// probeVerify knows two people, and a token that has expired.
func probeVerify(_ context.Context, token string) (found identity.Identity, err error) {
	found.Principal = access.Principal{Issuer: "i", Subject: token}
	found.Expires = time.Now().Add(time.Hour)
	switch token {
	case "old":
		found.Expires = time.Unix(1, 0)
	case "ann", "bob":
	default:
		err = identity.ErrInvalidToken
	}
	return found, err
}

// sdkAuth is the same with go-sdk's means.
func sdkAuth(handler http.Handler) http.Handler {
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	verify := func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		found, err := probeVerify(ctx, token)
		if err != nil {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: token, Expiration: found.Expires}, nil
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: "https://mcp.example" + metadata})(handler))
	mux.Handle(metadata, auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: probeResource, AuthorizationServers: []string{"https://id.example"}}))
	return mux
}

type probeSum struct {
	A int `json:"a"`
	B int `json:"b,omitempty"`
}

const probeSumSchema = `{"type":"object","properties":{"a":{"type":"integer"},` +
	`"b":{"type":"integer"}},"required":["a"],"additionalProperties":false}`

// nested is no form: its field is an object.
const nested = `{"type":"object","properties":{"a":{"type":"object"}}}`

var probeValues = slices.Repeat([]string{"a"}, 150)

// link asks the user to open a page, and tooled lets the model use tools.
func link(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Mode: "url", Message: "Open it.",
		URL: "https://mcp.example/", ElicitationID: "1"})
	return &mcp.CallToolResult{}, err
}

func tooled(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	_, err := r.Session.CreateMessageWithTools(ctx, &mcp.CreateMessageWithToolsParams{MaxTokens: 1,
		Messages: []*mcp.SamplingMessageV2{}, Tools: []*mcp.Tool{{Name: "t",
			InputSchema: map[string]any{"type": "object"}}}})
	return &mcp.CallToolResult{}, err
}

// toolset has an item of each kind.
func (pr *probing) toolset() toolset.Toolset {
	sdk := func(name string, h mcp.ToolHandler) toolset.Tool {
		return toolset.Tool{Name: name, Input: anyInput, SDK: true,
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				res, err := h(ctx, toolset.Request[mcp.CallToolRequest](call))
				return toolset.Native(res, nil, err)
			}}
	}
	text := func(name string, of func(context.Context) (string, error)) toolset.Tool {
		return toolset.Tool{Name: name, Input: anyInput, Returns: toolset.Text,
			Elicits: name == "ask" || name == "form",
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				return toolset.Unstructured(of(ctx))
			}}
	}
	read := func(text string, err error) func(context.Context,
		toolset.Call) (toolset.ResourceResult, error) {
		return func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText(text, err)
		}
	}
	failed := errors.New("no luck")
	g := toolset.Generated{Package: "example.com/probes", Server: toolset.ServerInfo{Name: "probes",
		Version: "1"}, Table: access.Table{Roles: access.DefaultRoles()},
		Tools: []toolset.Tool{{Name: "add", Input: probeSumSchema, Output: probeSumSchema,
			Handle: func(_ context.Context, r *decode.Reader) (any, error) {
				var in probeSum
				for o := r.Object(1, "a", "b"); o.Next(); {
					decode.Int(r, []*int{&in.A, &in.B}[o.Property], math.MinInt, math.MaxInt)
				}
				return probeSum{A: in.A + in.B}, r.Finish()
			}}}}
	if pr.kind != "only" {
		g.Tools = append(g.Tools, sdk("link", link), sdk("tooled", tooled),
			text("fail", func(context.Context) (string, error) { return "", failed }),
			text("lines", func(context.Context) (string, error) { return "a\nb\r\nc", nil }),
			text("ask", func(ctx context.Context) (string, error) {
				_, err := runtime.Elicit[probeSum](ctx, "a", "How many?")
				return "", err
			}),
			text("form", func(ctx context.Context) (string, error) {
				_, err := runtime.ElicitForm[any](ctx, "a", "What?", json.RawMessage(nested))
				return "", err
			}),
			text("talk", func(ctx context.Context) (string, error) {
				runtime.Logger(ctx).Info("quiet")
				runtime.Logger(ctx).Error("loud")
				runtime.Progress(ctx).Report(1, 0, "")
				return "said", nil
			}),
			text("wait", func(ctx context.Context) (string, error) {
				runtime.Progress(ctx).Report(1, 0, "")
				return pr.wait(ctx)
			}))
		g.Prompts = []toolset.Prompt{{Name: "broken",
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("", failed)
			}}, {Name: "greet", Arguments: []toolset.Argument{{Name: "who", Required: true,
			Complete: func(context.Context, string) ([]string, error) { return probeValues, nil }}},
			Get: func(_ context.Context, call toolset.Call) (toolset.PromptResult, error) {
				_, err := decode.Arguments(call.Arguments, func(r *decode.Reader, who *string) {
					for o := r.Object(1, "who"); o.Next(); {
						decode.String(r, who)
					}
				})
				return toolset.PromptText("Hello", err)
			}}}
		g.Resources = []toolset.Resource{
			{URI: "lib://broken", Name: "broken", Read: read("", failed)},
			{URI: "lib://bytes", Name: "bytes", MIMEType: "image/png",
				Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceBytes([]byte{0xfb, 0xff}, nil)
				}},
			{URI: "lib://hall", Name: "hall", MIMEType: "text/plain", Read: read("text", nil)},
			{URI: "lib://rooms/{name}", Name: "room", Variables: []toolset.Variable{{Name: "name"}},
				Read: read("room", nil)}}
	}
	for _, item := range g.Tools {
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: item.Name, Public: true})
	}
	for _, item := range g.Prompts {
		g.Table.Prompts = append(g.Table.Prompts, access.Rule{Prompt: item.Name, Public: true})
	}
	for _, item := range g.Resources {
		g.Table.Resources = append(g.Table.Resources, access.Rule{Resource: item.URI, Public: true})
	}
	return toolset.NewToolset(g)
}

// wait waits until the test or the client ends a call.
func (pr *probing) wait(ctx context.Context) (string, error) {
	select {
	case <-pr.release:
		return "done", nil
	case <-ctx.Done():
		pr.ended.Add(1)
		return "", ctx.Err()
	}
}

// sdkServer is the same by go-sdk's own means.
func (pr *probing) sdkServer(options *mcp.ServerOptions) *mcp.Server {
	if pr.kind != "only" {
		options.CompletionHandler = func(context.Context,
			*mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{
				Completion: mcp.CompletionResultDetails{Values: probeValues}}, nil
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "probes", Version: "1"}, options)
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest,
		in probeSum) (*mcp.CallToolResult, probeSum, error) {
		return nil, probeSum{A: in.A + in.B}, nil
	})
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			ctx, cancel := context.WithCancel(ctx) // a session ends when its handlers have
			defer context.AfterFunc(pr.ctx, cancel)()
			return next(ctx, method, r)
		}
	})
	if pr.kind == "only" {
		return s
	}
	add := func(name string, h mcp.ToolHandler) {
		mcp.AddTool(s, &mcp.Tool{Name: name}, func(ctx context.Context, r *mcp.CallToolRequest,
			_ struct{}) (*mcp.CallToolResult, any, error) {
			res, err := h(ctx, r)
			return res, nil, err
		})
	}
	said := func(text string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
	failed := errors.New("no luck")
	add("link", link)
	add("tooled", tooled)
	add("fail", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, failed
	})
	add("lines", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return said("a\nb\r\nc"), nil
	})
	ask := func(schema any) mcp.ToolHandler {
		return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?",
				RequestedSchema: schema})
			return said(""), err
		}
	}
	add("ask", ask(json.RawMessage(probeSumSchema)))
	add("form", ask(json.RawMessage(nested)))
	progress := func(ctx context.Context, r *mcp.CallToolRequest) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: 1})
		}
	}
	add("talk", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "quiet"})
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "error", Data: "loud"})
		progress(ctx, r)
		return said("said"), nil
	})
	add("wait", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		progress(ctx, r)
		text, err := pr.wait(ctx)
		return said(text), err
	})
	get := func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if r.Params.Name == "broken" {
			return nil, failed
		}
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user",
			Content: &mcp.TextContent{Text: "Hello"}}}}, nil
	}
	s.AddPrompt(&mcp.Prompt{Name: "broken"}, get)
	s.AddPrompt(&mcp.Prompt{Name: "greet",
		Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}}, get)
	read := func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		contents := &mcp.ResourceContents{URI: r.Params.URI}
		switch r.Params.URI {
		case "lib://broken":
			return nil, failed
		case "lib://bytes":
			contents.Blob = []byte{0xfb, 0xff}
		default:
			contents.Text = "text"
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
	}
	for name, kind := range map[string]string{"broken": "", "bytes": "image/png",
		"hall": "text/plain"} {
		s.AddResource(&mcp.Resource{Name: name, URI: "lib://" + name, MIMEType: kind}, read)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "room",
		URITemplate: "lib://rooms/{name}"}, read)
	return s
}
