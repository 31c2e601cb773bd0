package noninterference

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/callpath/trace"
	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A world is one of the two servers, with the things outside it.
type world struct {
	plan    plan
	which   int // 0 or 1
	server  *runtime.Server
	url     string
	adopt   *mcp.Server // nil, or the adopted server
	clients []*client

	queries  atomic.Int32  // of the host and of the catalogs
	lost     atomic.Bool   // audit records
	logged   atomic.Bool   // the marker, in a log or an audit record
	entered  []trace.Entry // functions, by the last message of work
	mu       sync.Mutex
	users    map[string]principal // by token
	off      map[string]bool      // tools that are switched off
	down     bool                 // the host
	catalogs map[string][]string  // tools by name
	grants   *grant.Memory
	changes  []chan catalog.Change
	excluded map[string]bool // items that the boundary of the caller's client excludes
	bounds   chan boundary.Party
	waiting  []chan struct{} // calls of the caller with the behaviour "wait", oldest first
	held     string          // a name whose calls wait, whatever their behaviour
}

// newWorld starts a server. It returns nil for one that New refuses for its overlapping templates,
// and for a boundary that New refuses for those of an adopted server, if the boundary is fixed.
func newWorld(t *testing.T, p plan, which int) *world {
	if p.shadowsOutside() {
		return nil
	}
	w := &world{plan: p, which: which, off: map[string]bool{}, excluded: map[string]bool{},
		bounds:   make(chan boundary.Party, 100),
		users:    map[string]principal{"other": p.other()},
		catalogs: map[string][]string{"stored": nil}, grants: grant.NewMemory()}
	if !p.Caller.anonymous() {
		w.users[p.Caller.Subject] = p.Caller
	}
	for _, i := range p.Items {
		if f := i.Forms[which]; f != nil && f.Catalog {
			w.catalogs["stored"] = append(w.catalogs["stored"], i.Name)
		}
	}
	var err error
	if p.Adopted {
		w.adopt = mcp.NewServer(&mcp.Implementation{Name: "adopted", Version: "1"}, &mcp.ServerOptions{
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil }})
		rules := w.fill()
		w.server, err = runtime.Adopt(w.adopt, w.options(), rules, w.toolset())
	} else {
		of := []toolset.Toolset{w.toolset()}
		if p.Package > 0 {
			of = append(of, w.vary())
		}
		w.server, err = runtime.New(w.options(), of...)
	}
	if err != nil && strings.Contains(err.Error(), "match the same URI") {
		return nil
	} else if err != nil {
		panic(fmt.Sprintf("%v\n%s", err, p))
	}
	w.url = memnet.Start(t, &http.Server{Handler: w.server.Handler()})
	return w
}

func (w *world) options() runtime.Options {
	p := w.plan
	o := runtime.Options{
		Anonymous: true, Access: runtime.AccessOptions{Denial: p.Denial},
		Lists: runtime.ListOptions{PageSize: p.PageSize}, ReadOnly: p.ReadOnly,
		Identity: identity.Bearer(w.verify, identity.NamesUsers()),
		Catalogs: runtime.CatalogOptions{Source: w, Strict: p.Strict},
		Protocol: runtime.ProtocolOptions{
			LenientArguments: p.Lenient,
			StateKey:         []byte(strings.Repeat("k", 32)),
		},
		Grants: runtime.GrantOptions{Source: w.grants, Offer: p.Offers},
		// No two timers end at the same time: their order would be a matter of chance.
		HTTP: runtime.HTTPOptions{
			SessionTimeout: 29*time.Minute + 7,
			KeepAlive:      17*time.Second + 11,
		},
		Host:  runtime.HostOptions{Recheck: 61*time.Second + 13},
		Tasks: runtime.TaskOptions{TTL: 31*time.Minute + 3}, Logger: slog.New(slog.DiscardHandler),
	}
	if p.Keeps {
		o.Interceptors = append(o.Interceptors, keepsResults)
	}
	if p.Bounded {
		o.Access.Boundaries = fence{w}
	}
	if p.Logged {
		o.Logger = slog.New(slog.NewJSONHandler(watch{w}, nil))
	}
	if p.Protected {
		o.Identity = protected{o.Identity}
	}
	if p.Records {
		o.Audit.Sink = audit.JSONLines(w)
	}
	if p.Slow {
		o.Audit.Timeout = 9*time.Second + 1
		o.Audit.Sink = audit.SinkFunc(func(context.Context, audit.Event) error {
			time.Sleep(7*time.Second + 17) // longer than until a stream begins
			return nil
		})
	}
	if p.Observed {
		o.Observe.Observer = seen{}
	}
	if p.Masked {
		o.Observe.Masker.Values = []*regexp.Regexp{regexp.MustCompile(`acme-\d+`)}
	}
	if p.Aware {
		o.Host.Source = w
	} else {
		o.Host.RecordOnly = true
	}
	if p.TTL {
		o.Host.TTL = time.Hour
	}
	if p.Instructed {
		o.Texts.InstructionsFor = func(_ access.Principal, tools []string) string {
			return "Use `" + strings.Join(tools, "`, `") + "`."
		}
	}
	return o
}

// protected is a source whose server has the metadata of a protected resource.
type protected struct{ identity.Source }

func (protected) NamesUsers() bool { return true }

func (protected) Resource() identity.Resource {
	return identity.Resource{URL: "https://mcp.example/mcp",
		AuthorizationServers: []string{"https://id.example"}}
}

// principalOf returns the caller of a token as it is now.
func (w *world) principalOf(token string) (access.Principal, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, known := w.users[token]
	p := access.Principal{Issuer: "test", Subject: u.Subject, User: u.Subject, Roles: u.Roles,
		Scopes: u.Scopes}
	if w.plan.Bounded && u.Subject == w.plan.Caller.Subject {
		p.Client = agent
	}
	return p, known
}

func (w *world) verify(_ context.Context, token string) (identity.Identity, error) {
	p, known := w.principalOf(token)
	if !known {
		return identity.Identity{}, identity.ErrInvalidToken
	}
	id := identity.Identity{Principal: p, Scheme: "Bearer"}
	if w.plan.Value {
		id.Value = identity.NewValue(token, "value-of-"+token)
	}
	return id, nil
}

// agent is the client of the caller of a bounded plan.
const agent = "agent"

// fence has the boundaries of a world, which change.
type fence struct{ *world }

// Boundary implements boundary.Source.
func (w fence) Boundary(_ context.Context, party boundary.Party) (boundary.Boundary, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := boundary.Boundary{Roles: []string{"*"}, Items: []string{"*"}}
	if party.Client != agent {
		return b, true, nil
	}
	if within := w.users[w.plan.Caller.Subject].Within; within != nil {
		b.Roles = within
	}
	b.Items = []string{"tool:base", "prompt:base", "prompt:scoped", "resource:base://{id}",
		"resource:ui://base"}
	for _, i := range w.plan.Items {
		if f := cmp.Or(i.Forms[0], i.Forms[1]); f.Outside || i.Forms[1] != nil && i.Forms[1].Outside {
			continue
		}
		if w.excluded[i.Kind.String()+":"+i.Name] {
			continue
		}
		b.Items = append(b.Items, i.Kind.String()+":"+i.Name)
		if i.Kind == access.Tools {
			b.Items = append(b.Items, "resource:ui://"+i.Name)
		}
	}
	return b, true, nil
}

// Changes is the optional method of boundary.Source.
func (w fence) Changes(context.Context) <-chan boundary.Party { return w.bounds }

// exclude changes the boundary of the caller's client.
func (w *world) exclude(item string, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excluded[item] = is
	w.bounds <- boundary.Party{Issuer: "test", Client: agent}
}

// Write implements io.Writer for the audit.
func (w *world) Write(line []byte) (int, error) {
	if w.lost.Load() {
		return 0, errDown
	}
	return watch{w}.Write(line)
}

// Resolve implements capability.Source.
func (w *world) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	w.queries.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return capability.User{}, errDown
	}
	return capability.User{Name: p.User}, nil
}

var errDown = errors.New("the host is down")

// Capabilities implements capability.Source.
func (w *world) Capabilities(_ context.Context, p access.Principal) (capability.Set, error) {
	w.queries.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	var set capability.Set
	if w.down {
		return set, errDown
	}
	u, known := w.users[p.User]
	if !known {
		return set, capability.ErrNoUser
	}
	for _, name := range u.Permits {
		set.Add(name)
	}
	return set, nil
}

// MapAction implements capability.Source.
func (*world) MapAction(permission string) (string, error) { return permission, nil }

// Catalog implements catalog.Source.
func (w *world) Catalog(_ context.Context, p access.Principal, ref catalog.Ref) (catalog.Found,
	error) {
	w.queries.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	tools, known := w.catalogs[ref.Name]
	if known = known || ref.Name == "of others" && p.Subject == "other"; !known {
		return catalog.Found{}, catalog.ErrUnknown
	}
	return catalog.Found{ID: ref.Name, Name: ref.Name, Tools: slices.Sorted(slices.Values(tools))},
		nil
}

// ToolsOff implements catalog.Source.
func (w *world) ToolsOff(context.Context) (off []string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, is := range w.off {
		if is {
			off = append(off, name)
		}
	}
	return off, nil
}

// Changes implements catalog.Source.
func (w *world) Changes(ctx context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change, 100)
	changes <- catalog.Change{Tools: true, Catalogs: true}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := len(w.changes)
	w.changes = append(w.changes, changes)
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		close(w.changes[at])
		w.changes[at] = nil
	})
	return changes
}

// change edits the things outside, and reports that.
func (w *world) change(c catalog.Change, edit func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	edit()
	for _, changes := range w.changes {
		if changes != nil && c != (catalog.Change{}) {
			changes <- c
		}
	}
}

// grant gives a caller the permission of tools with grants, or revokes that permission.
func (w *world) grant(token string, revoked bool) {
	ctx := context.Background()
	var err error
	if revoked {
		_, err = w.grants.Revoke(ctx, grant.Revocation{Issuer: "test", Client: token,
			Type: permitted, By: "test", Reason: "test"})
	} else {
		_, err = w.grants.Grant(ctx, grant.Grant{Issuer: "test", Client: token, By: "test",
			Reason:     "test",
			Permission: grant.Permission{Type: permitted, Resource: "*", Unrestricted: true}})
	}
	if err != nil && !errors.Is(err, grant.ErrUnknown) {
		panic(err)
	}
}

// proceed lets the oldest call end that waits.
func (w *world) proceed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 {
		close(w.waiting[0])
		w.waiting = w.waiting[1:]
	}
}

// behave is every handler. It returns a text.
func (w *world) behave(ctx context.Context, name, behaviour string) (string, error) {
	w.mu.Lock()
	held := w.held == name
	w.mu.Unlock()
	if held { // until the caller may not use it any more, so that its result is hidden
		_, err := w.behave(ctx, "", "wait")
		return fmt.Sprint("of server ", w.which+1), err
	}
	switch behaviour {
	case "fail":
		return "", errors.New(name + " fails")
	case "panic":
		panic(name)
	case "ask":
		answer, err := runtime.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "who", "Who needs "+name+"?")
		return answer.Name, err
	case "sample":
		//lint:ignore SA1019 clients of the versions with sessions can be asked
		answer, err := runtime.Sample(ctx, "who", &mcp.CreateMessageParams{MaxTokens: 9})
		if err != nil {
			return "", err
		}
		return answer.Model, nil
	case "roots":
		roots, err := runtime.Roots(ctx)
		return fmt.Sprint(len(roots), " roots"), err
	case "log":
		runtime.Logger(ctx).WarnContext(ctx, name+" runs")
	case "progress":
		runtime.Progress(ctx).Report(1, 2, name)
	case "wait":
		waiting := make(chan struct{})
		if p, _ := runtime.Caller(ctx); p.Subject != "other" {
			w.mu.Lock()
			w.waiting = append(w.waiting, waiting)
			w.mu.Unlock()
		}
		select {
		case <-waiting:
		case <-ctx.Done():
			w.mu.Lock()
			defer w.mu.Unlock()
			w.waiting = slices.DeleteFunc(w.waiting, func(other chan struct{}) bool {
				return other == waiting
			})
			return "", ctx.Err()
		}
	case "sleep":
		time.Sleep(3*time.Second + 5)
	case "long":
		return strings.Repeat(name, 3000), nil
	}
	return name + " is done", nil
}

// base has one item of each kind that everybody may use, so that both servers declare the same MCP
// capabilities and the same catalog, and one that is challenged, so that both publish the same
// scopes. All of that is equal for every caller by design.
var base = []item{
	{Kind: access.Tools, Name: "base", Forms: both(form{Rule: access.Rule{Tool: "base", Public: true},
		Behaviour: "ask", Task: toolset.TaskOptional, ReadOnly: true, Catalog: true, App: true})},
	{Kind: access.Prompts, Name: "base", Forms: both(form{
		Rule: access.Rule{Prompt: "base", Public: true}, Behaviour: "text"})},
	{Kind: access.Prompts, Name: "scoped", Forms: both(form{Rule: access.Rule{Prompt: "scoped",
		Scopes: scopes, Denial: access.Challenge, Permission: access.NoPermission()},
		Behaviour: "text"})},
	{Kind: access.Resources, Name: "base://{id}", Forms: both(form{
		Rule: access.Rule{Resource: "base://{id}", Public: true}, Behaviour: "log"})},
}

func both(f form) [2]*form { return [2]*form{&f, &f} }

// own reports whether the adopted server has an item.
func (p plan) own(i item) bool {
	return p.Adopted && (i.Hidden || len(i.Forms[0].Description)%2 == 1)
}

// toolset has the items that no adopted server has.
func (w *world) toolset() toolset.Toolset {
	g := toolset.Generated{Package: "example.com/world",
		Server: toolset.ServerInfo{Name: "world", Version: "1"},
		Table:  access.Table{Roles: w.plan.Roles}}
	items := slices.Clone(base)
	if w.plan.Person {
		items[0].Forms = both(*baseWithFields())
	}
	if w.plan.Package == 0 {
		items = append(items, w.plan.Items...)
	}
	for _, i := range items {
		if f := i.Forms[w.which]; f != nil && !w.plan.own(i) {
			w.add(&g, i, f)
		}
	}
	g.Table.Fields = w.rulesOfFields(g.Tools)
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int {
		return cmp.Compare(a.Resource, b.Resource)
	})
	slices.SortFunc(g.Resources, func(a, b toolset.Resource) int { return cmp.Compare(a.URI, b.URI) })
	return toolset.NewToolset(g)
}

func (w *world) add(g *toolset.Generated, i item, f *form) {
	complete := func(ctx context.Context, begun string) ([]string, error) {
		return []string{begun + i.Name, runtime.CompletionArguments(ctx)["id"]}, nil
	}
	asks := slices.Contains([]string{"ask", "sample", "roots"}, f.Behaviour)
	switch i.Kind {
	case access.Tools:
		g.Table.Rules = append(g.Table.Rules, f.Rule)
		t := toolset.Tool{Name: i.Name, Description: f.Description, Input: schemas[f.Schema],
			Task: f.Task, Elicits: asks, Returns: toolset.Text,
			Annotations: toolset.Annotations{ReadOnlyHint: f.ReadOnly},
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := w.behave(ctx, i.Name, f.Behaviour)
				return toolset.Result{Out: text, HasOut: true}, err
			}}
		if f.Output {
			t.Returns, t.Output = toolset.Object, `{"type":"object"}`
			t.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := w.behave(ctx, i.Name, f.Behaviour)
				return toolset.Structured(map[string]string{"text": text}, err)
			}
		}
		if f.Grants {
			t.Allow = []toolset.Allow{{Kind: permitted, Argument: "at"}}
			call := t.Call
			t.Call = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
				var in struct{ At string }
				if err := json.Unmarshal(c.Arguments, &in); err != nil {
					return toolset.Result{}, err
				}
				ctx, err := c.Allow(ctx, toolset.Named{Argument: "at", Kinds: []string{permitted},
					Values: []string{in.At}})
				if err != nil {
					return toolset.Result{}, err
				}
				return call(ctx, c)
			}
		}
		if f.App {
			t.UI = "ui://" + i.Name
			if f.Shared {
				t.UI = "ui://base"
			}
			t.Meta = `{"ui":{"resourceUri":"` + t.UI + `"}}`
		}
		if f.App && !f.Shared {
			rule := f.Rule
			rule.Tool, rule.Resource = "", t.UI
			g.Table.Resources = append(g.Table.Resources, rule)
			g.Resources = append(g.Resources, toolset.Resource{URI: t.UI, Name: i.Name,
				Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText("a page", nil)
				}})
		}
		if f.Alias {
			t.Aliases = []string{i.Name + "_old"}
		}
		if f.Catalog {
			t.Catalogs = []string{"declared"}
		}
		if f.Rich {
			t.Title = "A title of " + i.Name
			if !f.App {
				t.Meta = `{"a":1}`
			}
			t.Icons = []toolset.Icon{{Source: "https://example.com/" + i.Name}}
		}
		switch {
		case f.Value != nil:
			w.addValues(g, &t, f)
		case f.person():
			w.addFields(&t, f)
		}
		g.Tools = append(g.Tools, t)
	case access.Prompts:
		g.Table.Prompts = append(g.Table.Prompts, f.Rule)
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: i.Name, Description: f.Description,
			Elicits:   asks,
			Arguments: []toolset.Argument{{Name: "id", Complete: complete}, {Name: "to"}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(w.behave(ctx, i.Name, f.Behaviour))
			}})
	case access.Resources:
		g.Table.Resources = append(g.Table.Resources, f.Rule)
		r := toolset.Resource{URI: i.Name, Name: i.Name, Description: f.Description, Elicits: asks,
			Subscribe: true,
			Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText(w.behave(ctx, i.Name, f.Behaviour))
			}}
		for _, variable := range []string{"table", "id"} {
			if strings.Contains(i.Name, "{"+variable+"}") {
				r.Variables = append(r.Variables, toolset.Variable{Name: variable, Complete: complete})
			}
		}
		g.Resources = append(g.Resources, r)
	}
}

// addValues gives a tool the argument "verb", whose value "purge" has a rule of its own.
func (w *world) addValues(g *toolset.Generated, t *toolset.Tool, f *form) {
	verbs := []string{"list", "purge"}
	if f.Lacks {
		verbs = verbs[:1]
	}
	list := f.Rule
	if f.Closed {
		list = *f.Value
	}
	list.Tool, list.Argument, list.Value, list.Denial = t.Name, "verb", "list", access.DenialDefault
	g.Table.Values = append(g.Table.Values, list)
	if !f.Lacks {
		g.Table.Values = append(g.Table.Values, *f.Value)
	}
	enum, _ := json.Marshal(verbs) // of texts
	more := ""
	if f.Rich {
		more = `,"examples":` + string(enum)
		if !f.Lacks {
			more = `,"default":"purge"` + more
		}
	}
	t.Input = `{"type":"object","properties":{"verb":{"type":"string","enum":` + string(enum) + more +
		`}},"required":["verb"],"additionalProperties":false}`
	if t.Output != "" {
		t.Output = `{"type":"object","properties":{"was":{"type":"string","enum":` + string(enum) + `}}}`
	}
	call := t.Call
	t.Call = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
		_, err := decode.ArgumentsOf(c.Arguments, c.Choices(), func(r *decode.Reader, verb *string) {
			for o := r.Object(1, "verb"); o.Next(); {
				decode.String(r, verb).OneOf(verbs...)
			}
		})
		if err != nil {
			return toolset.Result{}, err
		}
		return call(ctx, c)
	}
}

// seen is an observer that keeps nothing.
type seen struct{}

func (seen) Began(ctx context.Context, _ observe.Message) (context.Context, observe.Observation) {
	return ctx, seen{}
}
func (seen) TurnedAway(context.Context, int) {}
func (seen) Cached(string, bool)             {}
func (seen) Trace() (traceID, spanID string) { return "", "" }
func (seen) Ended(observe.Outcome)           {}

// fill gives the adopted server its items, and returns their rules.
func (w *world) fill() map[string]access.Rule {
	rules := map[string]access.Rule{}
	w.adopt.AddResource(&mcp.Resource{URI: "adopted://base", Name: "base"}, w.read("base", "text"))
	rules["resource base"] = access.Rule{Resource: "adopted://base", Public: true}
	for _, i := range w.plan.Items {
		f := i.Forms[w.which]
		if f == nil || !w.plan.own(i) {
			continue
		}
		key := fmt.Sprint(i.Kind, " ", i.Name)
		if i.Kind == access.Tools {
			key = i.Name
		}
		rules[key] = f.Rule
		w.serveAdopted(i, f)
	}
	return rules
}

// serveAdopted lets the adopted server have an item.
func (w *world) serveAdopted(i item, f *form) {
	s := w.adopt
	switch i.Kind {
	case access.Tools:
		s.AddTool(&mcp.Tool{Name: i.Name, Description: f.Description,
			InputSchema: json.RawMessage(schemas[f.Schema]),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: f.ReadOnly}},
			func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := w.behave(ctx, i.Name, f.Behaviour)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
			})
	case access.Prompts:
		s.AddPrompt(&mcp.Prompt{Name: i.Name, Description: f.Description,
			Arguments: []*mcp.PromptArgument{{Name: "id"}}},
			func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				text, err := w.behave(ctx, i.Name, f.Behaviour)
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
					{Role: "user", Content: &mcp.TextContent{Text: text}}}}, err
			})
	case access.Resources:
		if strings.Contains(i.Name, "{") {
			s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: i.Name, Name: i.Name,
				Description: f.Description}, w.read(i.Name, f.Behaviour))
			return
		}
		s.AddResource(&mcp.Resource{URI: i.Name, Name: i.Name, Description: f.Description},
			w.read(i.Name, f.Behaviour))
	}
}

func (w *world) read(name, behaviour string) mcp.ResourceHandler {
	return func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		text, err := w.behave(ctx, name, behaviour)
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI,
			Text: text}}}, err
	}
}

// end closes the clients and the server, and waits for the last handlers.
func (w *world) end() {
	for _, c := range w.clients {
		c.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = w.server.Shutdown(ctx) // tasks may run on until the deadline
	time.Sleep(time.Minute)
}
