package runtime_test

//lint:file-ignore SA1019 log messages, roots and sampling are deprecated in 2026-07-28, and in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/scenario"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

type nameForm struct {
	Name string `json:"name"`
}

const ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// sessionKey is of the go-sdk session of a handler.
type sessionKey struct{}

// script does the steps of a text one by one, and returns their results.
func (w *scenarioWorld) script(ctx context.Context, text string) (string, error) {
	var found []string
	session, _ := ctx.Value(sessionKey{}).(*mcp.ServerSession)
	for step := range strings.SplitSeq(text, "; ") {
		verb, rest, _ := strings.Cut(step, " ")
		first, more, _ := strings.Cut(rest, " ")
		n, _ := strconv.Atoi(first) // other words have no number
		d, _ := time.ParseDuration(first)
		var err error
		switch verb {
		case "log":
			runtime.Logger(ctx).Log(ctx, slogLevels[first], more)
		case "progress":
			total, message, _ := strings.Cut(more, " ")
			of, _ := strconv.Atoi(total)
			runtime.Progress(ctx).Report(float64(n), float64(of), message)
		case "sleep":
			scenario.Pause(d)
		case "hold": // until the test or the context ends it
			select {
			case <-w.proceed:
			case <-ctx.Done():
				w.note("note: the handler has ended: " + ctx.Err().Error())
				err = ctx.Err()
			}
		case "stuck": // until the test ends it
			<-w.proceed
		case "elicit":
			form, failed := runtime.Elicit[nameForm](ctx, first, more)
			found, err = append(found, form.Name), failed
		case "error":
			err = errors.New(rest)
		case "rpc":
			err = &jsonrpc.Error{Code: int64(n), Message: more}
		case "problems": // what is wrong with arguments, with names and values that look like secrets
			err = decode.NewError([]decode.Problem{
				{Pointer: "/password", Message: "must have at least 8 characters"},
				{Pointer: "/token/key", Message: "is required"},
				decode.NewProblem("/color", `"`+ghp+`"`, `is not one of "red" and "green"`),
				{Pointer: "/" + ghp, Message: "is not a property"},
				{Pointer: decode.Pointer("", "https://"+strings.Repeat("q7", 12)+"@h"),
					Message: "is not a property"},
			})
		case "limit":
			err = reached(rest)
		case "trace":
			r, _ := runtime.RequestOf(ctx)
			found = append(found, fmt.Sprint(r.TraceID, " ", ctx.Value(observedKey{})))
		case "panic":
			panic(rest)
		case "goexit":
			goruntime.Goexit()
		case "value":
			found = append(found, valueIn(ctx))
		case "keep":
			w.kept = ctx
		case "tell":
			w.note("note: " + valueIn(ctx))
		case "large":
			found = append(found, strings.Repeat("x", n))
		case "note":
			w.note("note: " + rest)
		case "say": // go-sdk's session
			err = session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(first),
				Data: more})
		case "broadcast":
			for session := range w.adopted.Sessions() {
				err = errors.Join(err, session.Log(ctx, &mcp.LoggingMessageParams{Level: "info",
					Data: map[string]any{"msg": rest}}))
			}
		case "angry":
			err = session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				Meta: mcp.Meta{"a": angry{}}, ProgressToken: "t"})
		case "session":
			found = append(found, fmt.Sprintf("%q %s", session.ID(),
				session.InitializeParams().ProtocolVersion))
		case "ask":
			_, err = session.Elicit(ctx, &mcp.ElicitParams{Message: rest})
		case "ask-rounded":
			_, err = session.Elicit(ctx, roundedForm)
		case "roots":
			_, err = session.ListRoots(ctx, nil)
		case "ping":
			err = session.Ping(ctx, nil)
		case "":
		default:
			err = fmt.Errorf("no step %q", verb)
		}
		if err != nil {
			return "", err
		}
	}
	return strings.Join(found, " "), nil
}

var slogLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo,
	"notice": mcp.LevelNotice, "warning": slog.LevelWarn, "error": slog.LevelError,
	"critical": mcp.LevelCritical, "alert": mcp.LevelAlert, "emergency": mcp.LevelEmergency,
	"lower": slog.LevelDebug - 10, "higher": mcp.LevelEmergency + 50}

// scripted has handlers that do what their argument "do" has. The URI of its resource has
// underscores for spaces.
func scripted(w *scenarioWorld) toolset.Generated {
	call := func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
		var in struct{ Do string }
		if len(call.Arguments) > 0 {
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return toolset.Result{}, err
			}
		}
		for _, kind := range []handlers{killers, deadly} {
			if killer := kind[in.Do]; killer != nil {
				return killer(ctx, call)
			}
		}
		text, err := w.script(ctx, in.Do)
		return toolset.Result{Out: text, HasOut: true}, err
	}
	shaped := func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
		r := toolset.Request[mcp.CallToolRequest](c)
		res, err := call(context.WithValue(ctx, sessionKey{}, r.Session), c)
		if text, ok := res.Out.(string); ok && err == nil {
			return toolset.Native(&mcp.CallToolResult{
				Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil)
		}
		return res, err
	}
	const limit = time.Minute
	tools := []toolset.Tool{
		{Name: "any"}, {Name: "boss", Timeout: limit}, {Name: "brief", Timeout: 10 * time.Second},
		{Name: "do", Timeout: limit},
		{Name: "late", Task: toolset.TaskAnswered}, {Name: "only", Task: toolset.TaskRequired},
		{Name: "open", Task: toolset.TaskOptional, Timeout: limit}, {Name: "quiet"},
		{Name: "reads", Annotations: toolset.Annotations{ReadOnlyHint: true}},
		{Name: "secret", Task: toolset.TaskRequired, Timeout: limit},
		{Name: "shaped", SDK: true, Timeout: limit},
		{Name: "shaped_task", SDK: true, Task: toolset.TaskOptional, Timeout: limit},
		{Name: "task", Task: toolset.TaskOptional, Timeout: limit},
	}
	for i := range tools {
		tools[i].Input, tools[i].Call = anyInput, call
		tools[i].Returns, tools[i].Elicits = toolset.Text, tools[i].Name != "quiet"
		if tools[i].Name == "any" {
			tools[i].Returns = 0
		}
		if tools[i].SDK {
			tools[i].Call, tools[i].Returns, tools[i].Elicits = shaped, 0, false
		}
	}
	g := toolsetOf(tools, access.Rule{Tool: "open", Public: true},
		access.Rule{Tool: "secret", MinRole: []string{"Admin"}},
		access.Rule{Tool: "boss", MinRole: []string{"Admin"}}).Generated()
	g.Table.Prompts = []access.Rule{{Prompt: "do", Authenticated: true}}
	g.Table.Resources = []access.Rule{{Resource: "do:{script}", Authenticated: true}}
	g.Prompts = []toolset.Prompt{{Name: "do", Arguments: []toolset.Argument{{Name: "do",
		Complete: func(ctx context.Context, begun string) ([]string, error) {
			text, err := w.script(ctx, begun)
			return []string{text}, err
		}}},
		Get: func(ctx context.Context, call toolset.Call) (toolset.PromptResult, error) {
			var in struct{ Do string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return toolset.PromptResult{}, err
			}
			return toolset.PromptText(w.script(ctx, in.Do))
		}}}
	g.Resources = []toolset.Resource{{URI: "do:{script}", Name: "do",
		Variables: []toolset.Variable{{Name: "script"}},
		Read: func(ctx context.Context, call toolset.Call) (toolset.ResourceResult, error) {
			var in struct{ Script string }
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return toolset.ResourceResult{}, err
			}
			return toolset.ResourceText(w.script(ctx, strings.ReplaceAll(in.Script, "_", " ")))
		}}}
	return g
}

// isolated is the process of an isolated call.
func (w *scenarioWorld) isolated(ctx context.Context, call isolate.Call) (json.RawMessage, error) {
	if call.Name == "example.com/payroll.apart" {
		return payApart(ctx, call)
	}
	var in struct{ Do string }
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return nil, err
	}
	text, err := w.script(ctx, in.Do)
	return json.RawMessage(strconv.Quote(text)), err
}

// scriptedServer is an existing server with a tool "old" of the same kind.
func scriptedServer(w *scenarioWorld, tools []string) *mcp.Server {
	server := existing(tools...)
	server.AddTool(&mcp.Tool{Name: "old", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Do string }
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			text, err := w.script(context.WithValue(ctx, sessionKey{}, r.Session), in.Do)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
		})
	return server
}

// mutedServer is one whose middleware panics when a handler sends a log message.
func mutedServer(w *scenarioWorld, tools []string) *mcp.Server {
	server := scriptedServer(w, tools)
	server.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/message" {
				panic("hunter2")
			}
			return next(ctx, method, req)
		}
	})
	return server
}

// scenarioStore is a store of tasks that fails as the test has it.
type scenarioStore struct {
	task.Store
	w     *scenarioWorld
	noted bool
	made  task.Record // the newest
}

func (s *scenarioStore) fail(method string) error {
	if s.noted && method != "due" {
		s.w.note("note: the store is called: " + method)
	}
	s.w.mu.Lock()
	text := s.w.storeFails[method]
	s.w.mu.Unlock()
	switch text {
	case "", "cancelled":
		return nil
	case "full":
		return task.ErrFull
	case "unknown":
		return task.ErrUnknown
	case "panic":
		panic("a nil pointer")
	case "held": // and commits, whatever becomes of its caller
		<-s.w.proceed
		return nil
	}
	return errors.New(text)
}

func (s *scenarioStore) Create(ctx context.Context, r task.Record, l task.Limits) error {
	if err := s.fail("create"); err != nil {
		return err
	}
	s.made = r
	err := errors.Join(ctx.Err(), s.Store.Create(context.WithoutCancel(ctx), r, l))
	if s.w.storeFails["create"] == "cancelled" {
		_, err = s.Store.Change(ctx, r.Owner, r.ID, func(r *task.Record) error {
			r.Status = task.Cancelled
			return nil
		})
	}
	return err
}

func (s *scenarioStore) Get(ctx context.Context, o task.Owner,
	id string) (r task.Record, err error) {
	if err := s.fail("get"); err != nil {
		return r, err
	}
	return s.Store.Get(ctx, o, id)
}

func (s *scenarioStore) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (r task.Record, err error) {
	if err := s.fail("change"); err != nil {
		return r, err
	}
	return s.Store.Change(ctx, o, id, change)
}

func (s *scenarioStore) Due(ctx context.Context, ids []string) (map[string]time.Time, error) {
	if err := s.fail("due"); err != nil {
		return nil, err
	}
	return s.Store.Due(ctx, ids)
}
