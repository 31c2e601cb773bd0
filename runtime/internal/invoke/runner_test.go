package invoke

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// member is the caller of most tests.
var member = access.Principal{Issuer: "test", Subject: "ada", Roles: []string{"Member"}}

// policy allows members what is named t, prompts and resources of any name in it.
func policy(t testing.TB, denial access.Denial) *discovery.Policy {
	t.Helper()
	table, err := access.Compose(access.Part{Table: access.Table{
		Roles: [][]string{{"Member", "Admin"}},
		Rules: []access.Rule{
			{Tool: "t", MinRole: []string{"Member"}}, {Tool: "admin", MinRole: []string{"Admin"}},
			{Tool: requestTool, MinRole: []string{"Admin"}},
		},
		Prompts: []access.Rule{
			{Prompt: "t", MinRole: []string{"Member"}}, {Prompt: "admin", MinRole: []string{"Admin"}},
			{Prompt: "adopted", MinRole: []string{"Member"}},
		},
		Resources: []access.Rule{
			{Resource: "file:///t", MinRole: []string{"Member"}}, {Resource: "note:{n}",
				MinRole: []string{"Member"}},
			{Resource: "admin:{n}", MinRole: []string{"Admin"}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return &discovery.Policy{Table: table, Denial: denial}
}

// journal is a log in memory.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// newRunner returns a runner and what it logs.
func newRunner(t testing.TB) (*Runner, *journal) {
	t.Helper()
	logged := &journal{}
	r := NewRunner(Config{
		Policy: policy(t, access.Conceal), Pool: worker.NewPool(), Log: logged.logger(),
		Prompts: map[string]*Prompt{}, Resources: &Resources{},
	})
	t.Cleanup(r.Pool.Close)
	return r, logged
}

// message is a message of a caller.
func message(r *Runner, p access.Principal) *request.Info {
	return &request.Info{
		ID: "m", Started: time.Now(), Principal: p, Version: request.Stateless,
		Server: &request.Server{Log: r.Log, Masker: r.Masker},
		Inputs: request.Inputs{Form: true, URL: true, Sampling: true, SamplingTools: true, Roots: true},
	}
}

// handler is a tool's.
type handler func(context.Context, toolset.Call) (toolset.Result, error)

// returns is a handler that returns the same in each run.
func returns(res toolset.Result, err error) handler {
	return func(context.Context, toolset.Call) (toolset.Result, error) { return res, err }
}

// inputs is a result that asks for one input.
func inputs(key string, req mcp.InputRequest) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: req}}
}

// contents is a result with one text.
func contents(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// newTool returns the tool "t" unless tool has another name.
func newTool(t testing.TB, tool toolset.Tool, handle handler) *Tool {
	t.Helper()
	if tool.Name == "" {
		tool.Name = "t"
	}
	tool.Input, tool.Call = `{"type":"object"}`, handle
	built, err := NewTool(tool, Schemas{})
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// text returns the texts of a result, with "!" in front if it is an error.
func text(res *mcp.CallToolResult) string {
	if res == nil {
		return "none"
	}
	var b strings.Builder
	if res.IsError {
		b.WriteByte('!')
	}
	for i, c := range res.Content {
		if i > 0 {
			b.WriteByte('+')
		}
		b.WriteString(c.(*mcp.TextContent).Text)
	}
	return b.String()
}

// called runs a tool for a member.
func called(r *Runner, tool *Tool, arguments string) (string, Report, error) {
	return calledBy(r, message(r, member), tool, &mcp.CallToolParamsRaw{
		Name: tool.Name, Arguments: json.RawMessage(arguments),
	})
}

func calledBy(
	r *Runner, info *request.Info, tool *Tool, params *mcp.CallToolParamsRaw,
) (string, Report, error) {
	res, report, err := r.Tool(context.Background(), info, tool,
		mcp.CallToolRequest{Params: params})
	return text(res), report, err
}

func TestRunsAreDecidedAgain(t *testing.T) {
	forbidding, _ := newRunner(t)
	forbidding.Policy = policy(t, access.Forbid)
	concealing, _ := newRunner(t)
	expired := message(concealing, member)
	expired.Expires = time.Now()
	ran := false
	build := func(name string) *Tool {
		return newTool(t, toolset.Tool{Name: name},
			func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				ran = true
				return toolset.Done(nil)
			})
	}
	for name, test := range map[string]struct {
		r        *Runner
		info     *request.Info
		tool     string
		want     string
		fails    string
		status   audit.Failure
		mustRun  bool
		prompted string // the error of the prompt of that name
	}{
		"allowed": {concealing, message(concealing, member), "t", "", "", "", true, ""},
		"concealed": {concealing, message(concealing, member), "admin", "none",
			`unknown tool "admin"`, audit.Denied, false, `unknown prompt "admin"`},
		"expired": {concealing, expired, "t", "none", `unknown tool "t"`, audit.Denied, false,
			`unknown prompt "t"`},
		"forbidden": {forbidding, message(forbidding, member), "admin",
			`!403 Forbidden: tool "admin" `, "", audit.Denied, false,
			`403 Forbidden: prompt "admin" `},
		"without a rule": {forbidding, message(forbidding, member), "none", "none",
			`unknown tool "none"`, audit.Denied, false, `unknown prompt "none"`},
		"nobody's caller": {concealing, message(concealing, access.Principal{}), "t", "none",
			`unknown tool "t"`, audit.Denied, false, `unknown prompt "t"`},
	} {
		ran = false
		got, report, err := calledBy(test.r, test.info, build(test.tool), &mcp.CallToolParamsRaw{})
		if !strings.HasPrefix(got, test.want) || ran != test.mustRun ||
			report.Failure != test.status ||
			(err != nil) != (test.fails != "") || err != nil && err.Error() != test.fails {
			t.Errorf("%s: %q, ran %t, %+v, %v", name, got, ran, report, err)
		}
		prompt := newPrompt(t, test.tool, prompts(toolset.PromptText("p", nil)))
		_, report, err = test.r.Prompt(t.Context(), test.info, prompt, &mcp.GetPromptParams{})
		if report.Failure != test.status || (err != nil) != (test.prompted != "") || err != nil &&
			!strings.HasPrefix(err.Error(), test.prompted) {
			t.Errorf("%s, a prompt: %+v, %v", name, report, err)
		}
	}
}

func TestHandlersKnowTheirCaller(t *testing.T) {
	r, _ := newRunner(t)
	info := message(r, member)
	tool := newTool(t, toolset.Tool{},
		func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			caller, ok := request.Caller(ctx)
			if !ok || caller.Subject != "ada" || request.From(ctx) != info ||
				toolset.Request[mcp.CallToolRequest](call).Extra.Header != nil {
				return toolset.Result{}, fmt.Errorf("%+v %t", caller, ok)
			}
			return toolset.Done(nil)
		})
	if got, report, err := calledBy(r, info, tool, &mcp.CallToolParamsRaw{}); got != "" ||
		report.Failure != "" || err != nil {
		t.Errorf("%q %+v %v", got, report, err)
	}
}

// limited is a [toolset.LimitError].
type limited string

func (l limited) Error() string   { return "the tool reached its limit on " + string(l) }
func (l limited) Reached() string { return string(l) }

// nilWords is an error that panics when it is nil.
type nilWords struct{ text string }

func (e *nilWords) Error() string { return e.text }

func TestWhatARunComesTo(t *testing.T) {
	failing, both := contents("bad"), contents("x")
	failing.IsError, both.InputRequests = true, mcp.InputRequestMap{"a": &mcp.ElicitParams{}}
	leaking := contents("password=hunter2hunter2")
	leaking.IsError = true
	empty := &mcp.CallToolResult{Content: []mcp.Content{(*mcp.TextContent)(nil)}}
	limit := Report{Failure: audit.Limited, Axis: audit.AxisLimit, Missing: "memory"}
	ok, failed := Report{}, Report{Failure: audit.Errored}
	crashed := Report{Failure: audit.Crashed}
	const internal, masked = "!internal error", "!password=" + redact.Mask
	for name, test := range map[string]struct {
		handle handler
		want   string
		err    string
		report Report // Failure is compared by want
	}{
		"a result": {returns(toolset.Structured(7, nil)), `7`, "", ok},
		"an error": {returns(toolset.Done(errors.New("no"))), "!no", "", failed},
		"a limit": {returns(toolset.Done(limited("memory"))),
			"!the tool reached its limit on memory", "", limit},
		"a JSON-RPC error": {returns(toolset.Done(&jsonrpc.Error{Code: 7, Message: "seven"})),
			"none", "seven", failed},
		"an error result":  {returns(toolset.Native(failing, nil, nil)), "!bad", "", failed},
		"what has no JSON": {returns(toolset.Structured(func() {}, nil)), internal, "", crashed},
		"a panic": {func(context.Context, toolset.Call) (toolset.Result, error) { panic("!") },
			internal, "", crashed},
		"a panic of words": {returns(toolset.Done((*nilWords)(nil))), internal, "", crashed},
		"no goroutine": {func(context.Context, toolset.Call) (toolset.Result, error) {
			runtime.Goexit()
			return toolset.Done(nil)
		}, internal, "", crashed},
		"both kinds":    {returns(toolset.Native(both, nil, nil)), internal, "", crashed},
		"a nil content": {returns(toolset.Native(empty, nil, nil)), internal, "", crashed},
		"a nil input": {returns(toolset.Native(inputs("a", nil), nil, nil)), internal, "",
			crashed},
		"its own deadline": {returns(toolset.Done(context.DeadlineExceeded)),
			"!context deadline exceeded", "", failed},
		"a secret": {returns(toolset.Done(errors.New("password=hunter2hunter2"))),
			masked, "", failed},
		"an error's secret": {returns(toolset.Native(leaking, nil, nil)), masked, "", failed},
	} {
		for _, nonBlocking := range []bool{false, true} {
			r, logged := newRunner(t)
			got, report, err := called(r, newTool(t,
				toolset.Tool{NonBlocking: nonBlocking}, test.handle), `{}`)
			if got != test.want || (err != nil) != (test.err != "") || err != nil &&
				err.Error() != test.err {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			if (report.Err != nil) != (report.Failure != "") ||
				(report.Content != nil) != (report.Failure == "") {
				t.Errorf("%s: the failure is %v, the content %v", name, report.Err, report.Content)
			}
			report.Err, report.Content = nil, nil
			if fmt.Sprint(report) != fmt.Sprint(test.report) {
				t.Errorf("%s: %+v, want %+v", name, report, test.report)
			}
			if logs := strings.Contains(logged.String(),
				"level=ERROR"); logs != (report.Failure == audit.Crashed && name != "no goroutine") {
				t.Errorf("%s: logged %s", name, logged)
			}
		}
	}
}

func TestPanicsAfterTheAnswerAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, end := range []func(){func() { panic("long after") }, func() {}} {
			r, logged := newRunner(t)
			tool := newTool(t, toolset.Tool{Timeout: time.Second},
				func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					<-ctx.Done()
					time.Sleep(time.Hour)
					end()
					return toolset.Done(nil)
				})
			begun := time.Now()
			got, report, err := called(r, tool, `{}`)
			if got != "!timed out after 1s" || report.Failure != audit.Timeout || err != nil ||
				time.Since(begun) != time.Second+worker.Grace {
				t.Errorf("%q %+v %v after %s", got, report, err, time.Since(begun))
			}
			if n := strings.Count(logged.String(), "its goroutine is still running"); n != 1 {
				t.Errorf("%d lines: %s", n, logged)
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			want := `a handler returned after the response to its call" tool=t request_id=m after=`
			if strings.Contains(logged.String(), "long after") {
				want = `a handler panicked after the response to its call" tool=t request_id=m after=`
			}
			if !strings.Contains(logged.String(), want) {
				t.Errorf("logged %s", logged)
			}
			r.Pool.Close()
		}
	})
}

func TestCancelledAndClosingServersStopHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, closing := range []bool{false, true} {
			r, _ := newRunner(t)
			stop := make(chan struct{})
			r.Stop = stop
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tool := newTool(t, toolset.Tool{Timeout: time.Hour},
				func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					<-ctx.Done()
					return toolset.Done(ctx.Err())
				})
			time.AfterFunc(time.Second, func() {
				if closing {
					close(stop)
				} else {
					cancel()
				}
			})
			begun := time.Now()
			res, report, err := r.Tool(ctx, message(r, member), tool,
				mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
			want := "!the call was cancelled"
			if closing {
				want = "!the server is shutting down; the call may have had an effect"
			}
			if text(res) != want || report.Failure != audit.Errored ||
				!report.Cancelled || err != nil || time.Since(begun) != time.Second {
				t.Errorf("closing %t: %q %+v %v after %s", closing, text(res), report, err,
					time.Since(begun))
			}
			r.Pool.Close()
		}
	})
}

// The end of the credential is no time limit of the tool, also for a handler that goes on.
func TestEndOfTheCredentialIsNoTimeout(t *testing.T) {
	for _, test := range []struct {
		returns bool
		tool    toolset.Tool
	}{
		{true, toolset.Tool{Timeout: time.Minute}}, {false, toolset.Tool{Timeout: time.Minute}},
		{true, toolset.Tool{NonBlocking: true}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newRunner(t)
			hold := make(chan struct{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			tool := newTool(t, test.tool,
				func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					if <-ctx.Done(); !test.returns {
						<-hold
					}
					return toolset.Done(ctx.Err())
				})
			res, report, err := r.Tool(ctx, message(r, member), tool,
				mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{}})
			if text(res) != "!the credential expired during the call" ||
				report.Failure != audit.Errored || err != nil {
				t.Errorf("returns %t: %q %+v %v", test.returns, text(res), report, err)
			}
			close(hold)
			synctest.Wait()
			r.Pool.Close()
		})
	}
}

// A handler may compare the time itself, and be ahead of its context.
func TestHandlerThatStopsInTimeHasTimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, handle := range map[string]handler{
			"by its context": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				<-ctx.Done()
				return toolset.Done(ctx.Err())
			},
			"by the clock": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				deadline, _ := ctx.Deadline()
				time.Sleep(time.Until(deadline))
				return toolset.Done(errors.New("too late"))
			},
		} {
			r, _ := newRunner(t)
			got, report, err := called(r, newTool(t, toolset.Tool{Timeout: time.Second}, handle),
				`{}`)
			if got != "!timed out after 1s" || report.Failure != audit.Timeout ||
				report.Axis != audit.AxisLimit || report.Missing != "timeout" || err != nil {
				t.Errorf("%s: %q %+v %v", name, got, report, err)
			}
			r.Pool.Close()
		}
	})
}

func TestLateSuccessIsAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newRunner(t)
		defer r.Pool.Close()
		got, report, err := called(r,
			newTool(t, toolset.Tool{Timeout: time.Second},
				func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
					<-ctx.Done()
					return toolset.Structured("done", nil)
				}), `{}`)
		if got != `"done"` || report.Failure != "" || err != nil {
			t.Errorf("%q %+v %v", got, report, err)
		}
	})
}
