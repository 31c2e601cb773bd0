package secrettest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/mcpgen/mcpgen/internal/systemtest/secrettest"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/telemetry"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var (
	eras   = []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	cuts   = []int{64, 128, 256, 1 << 10, 4 << 10, 64 << 10} // where texts are cut
	levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

// scene is a server with secrets in all its inputs, and its outputs by place.
type scene struct {
	t        *testing.T
	secrets  []secrettest.Secret
	progress secrettest.Secret // which clients get back, and nobody else

	deep  bool // with secrets where texts are cut
	tasks bool // clients of 2026-07-28 declare the extension

	store *store.Store // which the audit goes to

	mu  sync.Mutex
	out map[string]*bytes.Buffer
}

// output is one of the places where something comes out.
type output struct {
	scene *scene
	where string
}

func (s *scene) at(where string) output { return output{s, where} }

// Write implements io.Writer.
func (h output) Write(p []byte) (int, error) {
	h.scene.mu.Lock()
	defer h.scene.mu.Unlock()
	b := h.scene.out[h.where]
	if b == nil {
		b = &bytes.Buffer{}
		h.scene.out[h.where] = b
	}
	return b.Write(p)
}

// of are the secrets of a place and its canary, which stands where they do and is none: it is to be
// seen.
func (s *scene) of(place secrettest.Place) []secrettest.Secret {
	return append(secrettest.At(s.secrets, place), canary(place))
}

const canaries = "canary-of-"

func canary(place secrettest.Place) secrettest.Secret {
	text := canaries + strings.ReplaceAll(string(place), " ", "-")
	return secrettest.Secret{Place: place, Value: text, Core: text}
}

// fault is what the error of an outside thing says for a caller, a token or a name such as sink-3.
func (s *scene) fault(name, prefix string, place secrettest.Place) error {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return nil
	}
	n, cut := 0, 0
	if got, _ := fmt.Sscanf(rest, "%d-%d", &n, &cut); got == 0 {
		return nil
	}
	if secret := s.of(place)[n]; cut > 0 {
		return errors.New(secret.Before(cut).Text())
	} else {
		return errors.New("it fails: " + secret.Text())
	}
}

// source, host, shelf and sink are the things outside.
func (s *scene) verify(_ context.Context, token string) (identity.Identity, error) {
	if err := s.fault(token, "bad-", secrettest.SourceError); err != nil {
		if len(token)%2 == 0 {
			err = fmt.Errorf("%w: %w", identity.ErrInvalidToken, err)
		}
		return identity.Identity{}, err
	}
	claims := map[string]any{"inner": map[string]any{}, "list": []any{}}
	for i, c := range s.of(secrettest.Claim) {
		switch {
		case c.Name == "" && i%4 == 1:
			claims["list"] = append(claims["list"].([]any), c.Value)
		case c.Name == "":
			claims[fmt.Sprintf("plain%d", i)] = c.Value
		case i%4 == 0:
			claims["inner"].(map[string]any)[c.Name] = []any{c.Value}
		default:
			claims[c.Name] = c.Value
		}
	}
	return identity.Identity{Principal: principal(token), Scheme: "Bearer", Claims: claims}, nil
}

func principal(name string) access.Principal {
	return access.Principal{Subject: name, User: name, Roles: []string{"Admin"}}
}

type host struct{ scene *scene }

func (h host) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	return capability.User{Name: p.User}, h.scene.fault(p.User, "host-", secrettest.HostError)
}

func (h host) Capabilities(_ context.Context, p access.Principal) (capability.Set, error) {
	err := h.scene.fault(p.User, "host-", secrettest.HostError)
	if err != nil && strings.HasSuffix(p.User, "1") {
		panic(err)
	}
	return capability.Set{}, err
}

func (host) MapAction(permission string) (string, error) { return permission, nil }

type shelf struct{ scene *scene }

func (s shelf) Catalog(_ context.Context, _ access.Principal, ref catalog.Ref) (
	catalog.Found, error) {
	if err := s.scene.fault(ref.Name, "down-", secrettest.CatalogError); err != nil {
		return catalog.Found{}, err
	}
	return catalog.Found{}, catalog.ErrUnknown
}

func (shelf) ToolsOff(context.Context) ([]string, error) { return nil, nil }

func (shelf) Changes(ctx context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change)
	context.AfterFunc(ctx, func() { close(changes) })
	return changes
}

func (s *scene) record(_ context.Context, e audit.Event) error {
	err := s.fault(e.Principal, "sink-", secrettest.SinkError)
	if err != nil && strings.HasSuffix(e.Principal, "1") {
		panic(err)
	}
	return err
}

// unfit is a value that cannot be sent.
type unfit struct{ err error }

func (u unfit) MarshalJSON() ([]byte, error) { return nil, u.err }

// shades is what the tool "check" takes.
type shades struct {
	Color string `json:"color"`
	Count int    `json:"count"`
}

func decodeShades(r *decode.Reader, v *shades) {
	o := r.Object(0, "color", "count")
	for o.Next() {
		switch o.Property {
		case 0: // color
			decode.String(r, &v.Color).OneOf("red", "green")
		case 1: // count
			decode.Int(r, &v.Count, 0, 9)
		}
	}
}

// failures are the ways in which a handler can fail.
var failures = map[string]func(text string, s secrettest.Secret) (toolset.Result, error){
	"error": func(text string, _ secrettest.Secret) (toolset.Result, error) {
		return toolset.Done(errors.New(text))
	},
	"wrapped": func(text string, _ secrettest.Secret) (toolset.Result, error) {
		return toolset.Done(fmt.Errorf("reading: %w", errors.Join(io.EOF, errors.New(text))))
	},
	"rpc": func(text string, s secrettest.Secret) (toolset.Result, error) {
		data, err := json.Marshal(map[string]any{"detail": text,
			"all": map[string]any{named(s): []any{s.Value}}})
		return toolset.Done(errors.Join(err, &jsonrpc.Error{Code: -32050, Message: text, Data: data}))
	},
	"rpc alone": func(text string, _ secrettest.Secret) (toolset.Result, error) {
		return toolset.Done(&jsonrpc.Error{Code: -32051, Message: text})
	},
	"own result": func(text string, s secrettest.Secret) (toolset.Result, error) {
		return toolset.Native(&mcp.CallToolResult{IsError: true, Content: []mcp.Content{
			&mcp.TextContent{Text: text},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "planted://x", Text: text}},
			&mcp.ResourceLink{URI: "planted://x", Name: "x", Description: text},
		}, StructuredContent: map[string]any{named(s): s.Value, "text": text}}, nil, nil)
	},
	"of the arguments": func(text string, _ secrettest.Secret) (toolset.Result, error) {
		literal, _ := json.Marshal(text)
		return toolset.Done(fmt.Errorf("checking: %w", decode.NewError([]decode.Problem{
			decode.NewProblem("/color", string(literal), "is not one"),
			{Pointer: "/" + text, Message: "is unknown"}})))
	},
	"not granted": func(text string, s secrettest.Secret) (toolset.Result, error) {
		return toolset.Done(&grant.Denied{Kind: grant.SystemCommand, Resource: "curl " + s.Text(),
			Cause: grant.NoGrant, Reason: text})
	},
	"unfit": func(text string, _ secrettest.Secret) (toolset.Result, error) {
		return toolset.Structured(unfit{errors.New(text)}, nil)
	},
}

var ways = []string{"error", "wrapped", "rpc", "rpc alone", "own result", "of the arguments",
	"not granted", "unfit"}

func named(s secrettest.Secret) string {
	if s.Name == "" {
		return "plain"
	}
	return s.Name
}

// act is the tool that does what its arguments say.
func (s *scene) act(ctx context.Context, call toolset.Call) (toolset.Result, error) {
	var in struct {
		Do  string `json:"do"`
		At  int    `json:"at"`
		Cut int    `json:"cut"` // where the secret is to be cut, 0 for nowhere
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return toolset.Done(err)
	}
	taken := func(place secrettest.Place) secrettest.Secret {
		if secret := s.of(place)[in.At]; in.Cut == 0 {
			return secret
		} else {
			return secret.Before(in.Cut)
		}
	}
	switch in.Do {
	case "panic":
		secret := taken(secrettest.Panic)
		switch in.At % 3 {
		case 0:
			panic(secret.Text())
		case 1:
			panic(errors.New(secret.Text()))
		}
		panic(map[string]any{named(secret): secret.Value, "text": secret.Text()})
	case "log":
		secret := taken(secrettest.Log)
		log := runtime.Logger(ctx)
		for i := range levels {
			level := slog.Level(-4 + 2*i)
			log.Log(ctx, level, "it says "+secret.Text(), named(secret), secret.Value,
				"error", errors.New(secret.Text()), slog.Group("in", named(secret), secret.Value),
				"all", map[string]any{named(secret): secret.Value})
		}
		log.With(named(secret), secret.Value).WithGroup("of").Error("with", "text", []byte(secret.Text()))
		runtime.Progress(ctx).Report(float64(in.At+1), 100, secret.Text())
		runtime.Advise(ctx, 1, "mind %s", secret.Text())
		return toolset.Done(nil)
	}
	secret := taken(secrettest.Error)
	if in.Cut > 0 {
		return failures[in.Do](secret.Text(), secret)
	}
	return failures[in.Do]("it fails: "+secret.Text(), secret)
}

func (s *scene) failing(in json.RawMessage) error {
	var of map[string]json.Number
	if err := json.Unmarshal(in, &of); err != nil {
		return err
	}
	n, err := of["at"].Int64()
	if err != nil {
		return err
	}
	secret := s.of(secrettest.Error)[n]
	if n%2 == 0 {
		return &jsonrpc.Error{Code: -32052, Message: secret.Text(), Data: json.RawMessage(`{"a":1}`)}
	}
	return errors.New(secret.Text())
}

// manifest is the digest of the manifest. It is for admins, and for the log.
const manifest = "sha256:6f1c8a0d94be27530fe2c7b1849d3a65e0c2f79b16d84a3350be9c71a2f4d806"

func (s *scene) toolset() toolset.Toolset {
	rule := access.Rule{Authenticated: true, Permission: access.NoPermission()}
	tool, check, prompt, resource := rule, rule, rule, rule
	tool.Tool, check.Tool, prompt.Prompt = "act", "check", "fail"
	resource.Resource = "planted://fail/{at}"
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/secrettest", Manifest: manifest,
		Server: toolset.ServerInfo{Name: "planted", Version: "1"},
		Table: access.Table{Roles: [][]string{{"Viewer", "Admin"}}, Rules: []access.Rule{tool, check},
			Prompts: []access.Rule{prompt}, Resources: []access.Rule{resource}},
		Tools: []toolset.Tool{
			{Name: "act", Input: `{"type":"object"}`, Call: s.act, Task: toolset.TaskOptional},
			{Name: "check", Input: `{"type":"object","properties":{"color":{"enum":["red","green"]},` +
				`"count":{"type":"integer","minimum":0,"maximum":9}},"additionalProperties":false}`,
				Call: func(_ context.Context, call toolset.Call) (toolset.Result, error) {
					in, err := decode.Arguments(call.Arguments, decodeShades)
					if err != nil {
						return toolset.Result{}, err
					}
					return toolset.Structured(in, nil)
				}},
		},
		Prompts: []toolset.Prompt{{Name: "fail", Arguments: []toolset.Argument{{Name: "at"}},
			Get: func(_ context.Context, call toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptResult{}, s.failing(call.Arguments)
			}}},
		Resources: []toolset.Resource{{URI: "planted://fail/{at}", Name: "fail", Subscribe: true,
			Variables: []toolset.Variable{{Name: "at", Type: toolset.IntegerVariable,
				Complete: func(_ context.Context, begun string) ([]string, error) {
					return nil, s.failing(json.RawMessage(`{"at":` + begun + `}`))
				}}},
			Read: func(_ context.Context, call toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceResult{}, s.failing(call.Arguments)
			}}},
	})
}

// options are those of a server whose every part fails, logs and records.
func (s *scene) options(mask redact.Masker) runtime.Options {
	s.t.Helper()
	dir := s.t.TempDir()
	file, err := audit.Rotating(filepath.Join(dir, "audit.jsonl"),
		audit.RotateOptions{MaxBytes: 64 << 10, Keep: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	trail, err := store.Open(s.t.Context(), "sqlite:"+filepath.Join(dir, "store.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = trail
	s.t.Cleanup(func() {
		if err := errors.Join(file.Close(), trail.Close()); err != nil {
			s.t.Error(err)
		}
		s.keep(dir)
	})
	spans, reader := tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()
	observer, err := telemetry.New(telemetry.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
		MeterProvider:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		for _, span := range spans.GetSpans() {
			s.export("traces", span)
		}
		var metrics metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &metrics); err != nil {
			s.t.Error(err)
		}
		s.export("metrics", metrics)
	})
	debug := &slog.HandlerOptions{Level: slog.LevelDebug - 100}
	return runtime.Options{
		Identity: identity.Bearer(s.verify, identity.NamesUsers()),
		Host:     runtime.HostOptions{Source: host{s}},
		Catalogs: runtime.CatalogOptions{Source: shelf{s}},
		Observe:  runtime.ObserveOptions{Masker: mask, Observer: observer, Readiness: s.checks()},
		HTTP: runtime.HTTPOptions{
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Logger: slog.New(slog.NewMultiHandler(slog.NewTextHandler(s.at("log as text"), debug),
			slog.NewJSONHandler(s.at("log as JSON"), debug))),
		Audit: runtime.AuditOptions{Sink: audit.Multi(audit.SinkFunc(s.record),
			audit.Slog(slog.New(slog.NewTextHandler(s.at("audit in a log"), nil))),
			audit.JSONLines(s.at("audit in JSON lines")), file, trail.Audit())},
	}
}

// checks are checks of readiness, one for each secret: in one text the canary could stand behind a
// secret that hides all that follows. They are called by them as well, and their names stand in the
// line at the start.
func (s *scene) checks() map[string]func(context.Context) error {
	checks := map[string]func(context.Context) error{}
	for _, secret := range s.of(secrettest.Readiness) {
		checks["planted "+secret.Text()] = func(context.Context) error {
			return errors.New(secret.Text())
		}
	}
	return checks
}

// aside keeps what the process says past the server's own log: to slog.Default, which is package
// log's output as well, and to its standard error.
func (s *scene) aside() {
	file, err := os.Create(filepath.Join(s.t.TempDir(), "stderr"))
	if err != nil {
		s.t.Fatal(err)
	}
	stderr, logger := os.Stderr, slog.Default()
	os.Stderr = file
	slog.SetDefault(slog.New(slog.NewTextHandler(s.at("default log"),
		&slog.HandlerOptions{Level: slog.LevelDebug - 100})))
	s.t.Cleanup(func() {
		os.Stderr = stderr
		slog.SetDefault(logger)
		text, err := os.ReadFile(file.Name())
		if err = errors.Join(err, file.Close()); err != nil {
			s.t.Error(err)
		}
		_, _ = s.at("standard error").Write(text) // never fails
	})
}

// export keeps what an exporter is given, in two notations.
func (s *scene) export(where string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Error(err)
	}
	fmt.Fprintf(s.at(where), "%s\n%+v\n", text, v)
}

// keep reads what is in the files of a folder.
func (s *scene) keep(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		where := "audit in files"
		if strings.HasPrefix(f.Name(), "store.db") {
			where = "audit in a database"
		}
		_, _ = s.at(where).Write(text) // never fails
	}
}

// connection is a client that sends bytes and keeps all that comes back.
type connection interface {
	ask(method, params string) string
	tasks() *string
}

// overHTTP is one over HTTP.
type overHTTP struct {
	scene           *scene
	url, token, era string
	session, where  string
	level           string
	header          http.Header
	name            string // of what is called, which clients of 2026-07-28 repeat in a header
	status          int
}

func (c *overHTTP) post(body string) string {
	c.scene.t.Helper()
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.scene.t.Fatal(err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.token)
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.session != "" || c.era == "2026-07-28" {
		req.Header.Set("Mcp-Protocol-Version", c.era)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.scene.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.scene.t.Fatal(err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	c.status = res.StatusCode
	_ = res.Header.Write(c.scene.at(c.where)) // never fails
	fmt.Fprintf(c.scene.at(c.where), "%d %s\n", res.StatusCode, text)
	return string(text)
}

func (c *overHTTP) ask(method, params string) string {
	if c.era == "2026-07-28" {
		c.header = c.header.Clone()
		c.header.Set("Mcp-Method", method)
		if c.name != "" {
			c.header.Set("Mcp-Name", c.name)
		}
	}
	return c.post(c.scene.request(c.era, c.level, method, params, c.era == eras[0]))
}

// request is a message, with _meta where the era wants it. traced ones have a trace context in it.
func (s *scene) request(era, level, method, params string, traced bool) string {
	meta := `"progressToken":` + quoted(s.progress.Text())
	if traced {
		of := secrettest.At(s.secrets, secrettest.Header)[0].Core
		meta += `,"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",` +
			`"tracestate":"token@acme=` + of + `","baggage":"user=1;password=` + of + `"`
	}
	if era == "2026-07-28" {
		capabilities := `{}`
		if s.tasks {
			capabilities = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		}
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` + capabilities +
			`,"io.modelcontextprotocol/logLevel":"` + level + `"`
	}
	if params != "" {
		params = "," + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":` + quoted(method) + `,"params":{"_meta":{` + meta +
		`}` + params + `}}`
}

func initialize(era string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"` + era +
		`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
}

func quoted(text string) string {
	out, _ := json.Marshal(text) // of a string
	return string(out)
}

// overPipes is one as stdio has it.
type overPipes struct {
	scene             *scene
	in                io.Writer
	out               *bufio.Scanner
	era, level, where string
}

func (c *overPipes) send(line string) string {
	c.scene.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.scene.t.Fatal(err)
	}
	for c.out.Scan() {
		fmt.Fprintln(c.scene.at(c.where), c.out.Text())
		if strings.Contains(c.out.Text(), `"id":7`) {
			return c.out.Text()
		}
	}
	c.scene.t.Fatalf("%s: no answer to %s: %v", c.where, line, c.out.Err())
	return ""
}

func (c *overPipes) ask(method, params string) string {
	return c.send(c.scene.request(c.era, c.level, method, params, true))
}

// connections are clients of every era over both transports.
func (s *scene) connections(server *runtime.Server, kind string) []connection {
	s.t.Helper()
	url := mcptest.Serve(s.t, server)
	var all []connection
	for _, era := range eras {
		c := &overHTTP{scene: s, url: url, token: "boss", era: era, where: kind + "http " + era,
			level: "debug", header: http.Header{}}
		if era != "2026-07-28" {
			c.post(initialize(era))
		}
		all = append(all, c)

		serverIn, clientOut := io.Pipe()
		clientIn, serverOut := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- server.RunIO(ctx, serverIn, serverOut, principal("boss")) }()
		s.t.Cleanup(func() {
			cancel()
			<-ended
		})
		p := &overPipes{scene: s, in: clientOut, out: bufio.NewScanner(clientIn), era: era,
			level: "debug", where: kind + "stdio " + era}
		p.out.Buffer(nil, 16<<20)
		if era != "2026-07-28" {
			p.send(initialize(era))
			if _, err := io.WriteString(clientOut,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
				s.t.Fatal(err)
			}
		}
		all = append(all, p)
	}
	return all
}

// check reports the secrets that came out, and the canaries that did not: without them a place
// proves nothing.
func (s *scene) check(wanted map[secrettest.Place][]string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	finder := secrettest.NewFinder(s.secrets)
	echoed := secrettest.NewFinder([]secrettest.Secret{s.progress})
	for where, text := range s.out {
		if found := echoed.In(text.String()); found != nil && !strings.Contains(where, "http ") &&
			!strings.Contains(where, "stdio ") {
			s.t.Errorf("%s shows the token of a client's progress", where)
		}
		for _, found := range finder.In(text.String()) {
			s.t.Errorf("%s shows a secret, %s", where, found)
		}
	}
	for place, outs := range wanted {
		for _, where := range outs {
			if b := s.out[where]; b == nil || !strings.Contains(b.String(), canary(place).Core) {
				s.t.Errorf("%s: what is planted as %q is not seen there, hidden or not", where, place)
			}
		}
	}
}

func newScene(t *testing.T, seed uint64) *scene {
	t.Helper()
	return &scene{t: t, secrets: secrettest.All(seed), progress: secrettest.All(seed + 1)[0],
		out: map[string]*bytes.Buffer{}}
}

func everywhere(all map[string]*bytes.Buffer, part string) []string {
	var found []string
	for where := range all {
		if strings.Contains(where, part) {
			found = append(found, where)
		}
	}
	slices.Sort(found)
	return found
}
