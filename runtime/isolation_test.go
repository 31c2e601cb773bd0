package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// box is a sandbox without walls, which keeps what it was asked for.
type box struct {
	start   error
	enter   error
	isolate func(context.Context, isolate.Call) (json.RawMessage, error)

	mu      sync.Mutex
	started []isolate.Start
	entered []string
	inside  int
}

type insideKey struct{}

func (b *box) Start(s isolate.Start) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.started = append(b.started, s)
	return b.start
}

func (b *box) Enter(ctx context.Context, client isolate.Client, tool string,
	limits toolset.Limits) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entered = append(b.entered, fmt.Sprint(client, " ", tool, " ", limits.Concurrency))
	if b.enter != nil {
		return nil, nil, b.enter
	}
	b.inside++
	return context.WithValue(ctx, insideKey{}, true), func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.inside--
	}, nil
}

func (b *box) Isolate(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	return b.isolate(ctx, call)
}

// reached is a [toolset.LimitError].
type reached string

func (r reached) Error() string   { return "the tool reached its limit on " + string(r) }
func (r reached) Reached() string { return string(r) }

// words are the error of a handler in another process.
type words string

func (w words) Error() string        { return string(w) }
func (w words) HandlerError() string { return string(w) }

// apart is a toolset whose one tool runs in a process of its own, as generated code has it.
func apart(tool toolset.Tool) toolset.Toolset {
	tool.Isolate = "example.com/apart." + tool.Name
	tool.Input = `{"type":"object"}`
	tool.Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		var in named
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return toolset.Result{}, err
		}
		if len(tool.Allow) > 0 {
			var err error
			ctx, err = call.Allow(ctx,
				toolset.Named{Argument: "path", Kinds: []string{grant.FileRead},
					Values: []string{in.Path}},
				toolset.Named{Argument: "argv", Kinds: []string{grant.SystemCommand},
					Values: in.Argv},
				toolset.Named{Argument: "host", Kinds: []string{grant.NetConnect},
					Values: []string{in.Host}})
			if err != nil {
				return toolset.Result{}, err
			}
		}
		return toolset.Wrapped(call.Isolated(ctx))
	}
	return toolsetOf([]toolset.Tool{tool}, access.Rule{Tool: tool.Name, Authenticated: true})
}

var everyFamily = []toolset.Allow{{Kind: grant.FileRead, Argument: "path"},
	{Kind: grant.SystemCommand, Argument: "argv"}, {Kind: grant.NetConnect, Argument: "host"}}

func TestHandlerInItsOwnProcessFindsWhatWasDecided(t *testing.T) {
	p := &purse{}
	p.put(client("Member"),
		grant.Permission{Type: grant.FileRead, Resource: "docs/**"},
		grant.Permission{Type: grant.SystemCommand, Resource: "echo *", Unrestricted: true},
		grant.Permission{Type: grant.NetConnect, Resource: "127.0.0.1:1-9", Unrestricted: true})
	var told isolate.Call
	handler := func(ctx context.Context) (string, error) {
		who, ok := runtime.Caller(ctx)
		if !ok || who.Subject != "user-Member" || who.Role != "Member" || who.Permits != nil {
			return "", fmt.Errorf("the caller is %+v", who)
		}
		text, err := readAll(ctx, named{})
		if err != nil {
			return "", err
		}
		path, err := grant.TruePath(ctx, "path")
		if err != nil {
			return "", err
		}
		cmd, err := grant.Command(ctx, "argv")
		if err != nil {
			return "", err
		}
		if _, err := grant.Dial(ctx, "host"); err == nil || strings.Contains(err.Error(),
			grant.Code) {
			return "", fmt.Errorf("the host that is granted: %v", err)
		}
		dialer, err := grant.Connect(ctx, "host")
		if err != nil {
			return "", err
		}
		if _, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:80"); err == nil ||
			!strings.Contains(err.Error(), grant.Code) {
			return "", fmt.Errorf("another host: %v", err)
		}
		return fmt.Sprint(text, " ", path, " ", cmd.Args, " ", runtime.RequestID(ctx) != ""), nil
	}
	b := &box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
		told = call
		ctx, err := invoke.ChildContext(t.Context(), call.Caller, call.Files)
		if err != nil {
			return nil, err
		}
		return isolate.Encoded(handler(ctx))
	}}
	s := newServer(t, runtime.Options{Grants: p, Roots: roots(t, map[string]string{"a": "A"}),
		Sandbox: b}, apart(toolset.Tool{
		Name: "look", Allow: everyFamily, Timeout: 7 * time.Second,
		Limits: toolset.Limits{Memory: 1 << 20, Concurrency: 3}}))
	session := connectHTTP(t, serve(t, s), tokens["Member"], "")
	if got := callText(t, session, "look",
		`{"path":"docs/a","argv":["echo","x"],"host":"127.0.0.1:9"}`); got != `{"result":"A docs/a [echo x] true"}` {
		t.Error(got)
	}
	if told.Name != "example.com/apart.look" || !told.Network || !told.Programs ||
		told.Limits.Memory != 1<<20 ||
		told.Timeout > 7*time.Second || told.Timeout < time.Second ||
		!strings.Contains(string(told.Arguments), `"echo"`) ||
		!slices.Equal(slices.Collect(maps.Keys(told.Files)), []string{"path"}) {
		t.Errorf("%+v", told)
	}
	if start := b.started[0]; !slices.Equal(start.Isolated, []string{"example.com/apart.look"}) ||
		!start.Network || !start.Programs || start.BestEffort {
		t.Errorf("%+v", start)
	}
	if want := "{test user-Member} look 3"; b.entered[0] != want || b.inside != 0 {
		t.Errorf("%q, %d inside; want %q", b.entered[0], b.inside, want)
	}
}

// emissions are what a handler in a process of its own has sent, of which it takes as much as there
// is room for.
type emissions struct {
	mu   sync.Mutex
	all  []string
	last int
	room int
}

func (s *emissions) send(emission json.RawMessage, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last {
		s.last++
	} else if s.room == 0 {
		return false
	} else {
		s.room--
	}
	s.all = append(s.all, string(emission))
	return true
}

func (s *emissions) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// emitting is the context of a handler in a process of its own, which gets the wanted level.
func emitting(t *testing.T, room int, wanted string) (context.Context, *emissions, func()) {
	t.Helper()
	s := &emissions{room: room}
	ctx, end := notify.Emitting(context.Background(), s.send)
	ctx, err := invoke.ChildContext(ctx, json.RawMessage(wanted), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, s, end
}
