package runtime_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// taskUsers are the users of tokens subject/client/role, and of subject/client/role/duration.
func taskUsers() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (id identity.Identity, err error) {
		part := strings.Split(token, "/")
		if len(part) < 3 {
			return id, identity.ErrInvalidToken
		}
		id.Principal = access.Principal{Issuer: "test", Subject: part[0], Client: part[1],
			Role: part[2]}
		if len(part) > 3 {
			until, err := strconv.ParseInt(part[3], 10, 64)
			if err != nil {
				return id, identity.ErrInvalidToken
			}
			id.Expires = time.UnixMilli(until)
		}
		return id, nil
	}, identity.KeepToken())
}

// job is what the tools of tasks share with a test.
type job struct {
	release chan struct{} // lets slow return
	started chan context.Context
}

type nameForm struct {
	Name string `json:"name"`
}

func (j *job) toolset() toolset.Toolset {
	slow := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		if p := runtime.Progress(ctx); p != nil {
			p.Report(3, 10, "copying for "+valueIn(ctx))
		}
		select {
		case j.started <- ctx:
		default:
		}
		select {
		case <-ctx.Done():
			return toolset.Result{}, ctx.Err()
		case <-j.release:
			return toolset.Structured(map[string]string{"value": valueIn(ctx)}, nil)
		}
	}
	ask := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		first, err := runtime.Elicit[nameForm](ctx, "who", "Your name?")
		if err != nil {
			return toolset.Result{}, err
		}
		second, err := runtime.Elicit[nameForm](ctx, "pet", "Your pet?")
		if err != nil {
			return toolset.Result{}, err
		}
		return toolset.Structured(map[string]string{"names": first.Name + "+" + second.Name}, nil)
	}
	fail := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		return toolset.Result{}, &jsonrpc.Error{Code: -32050, Message: "broken " + valueIn(ctx)}
	}
	tools := []toolset.Tool{
		{Name: "slow", Task: toolset.TaskOptional, Call: slow, Timeout: time.Minute},
		{Name: "hasty", Task: toolset.TaskOptional, Call: slow, Timeout: 5 * time.Second},
		{Name: "only", Task: toolset.TaskRequired, Call: slow, Timeout: time.Minute},
		{Name: "secret", Task: toolset.TaskRequired, Call: slow, Timeout: time.Minute},
		{Name: "ask", Task: toolset.TaskOptional, Call: ask, Elicits: true},
		{Name: "late", Task: toolset.TaskAnswered, Call: ask, Elicits: true},
		{Name: "fail", Task: toolset.TaskOptional, Call: fail},
		{Name: "plain", Call: ask, Elicits: true},
		{Name: "open", Task: toolset.TaskOptional, Call: slow, Timeout: time.Minute},
	}
	table := access.Table{Roles: access.DefaultRoles()}
	for i := range tools {
		tools[i].Input = `{"type":"object"}`
		rule := access.Rule{Tool: tools[i].Name, MinRole: 2}
		switch tools[i].Name {
		case "secret":
			rule.MinRole = 4
		case "open":
			rule = access.Rule{Tool: "open", Public: true}
		}
		table.Rules = append(table.Rules, rule)
	}
	return toolset.NewToolset(toolset.Generated{Package: "example.com/jobs",
		Server: toolset.ServerInfo{Name: "jobs", Version: "1"}, Table: table, Tools: tools})
}

func newJob() *job {
	return &job{release: make(chan struct{}), started: make(chan context.Context, 100)}
}

// taskServer serves the tools of a job.
func taskServer(t testing.TB, j *job, options runtime.Options) (*runtime.Server, string) {
	t.Helper()
	options.Identity, options.Anonymous = taskUsers(), true
	s := newServer(t, options, j.toolset())
	return s, serve(t, s)
}

const tasksMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// tasksClient is a client that declares the extension.
type tasksClient struct{ raw }

func newTasks(url, token string) *tasksClient {
	return &tasksClient{raw{url: url, token: token, era: "2026-07-28"}}
}

func (c *tasksClient) do(t testing.TB, method, name, params string) reply {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + tasksMeta + `,` +
		params + `}}`
	return c.send(t, http.MethodPost, body, map[string]string{"Mcp-Method": method,
		"Mcp-Name": name})
}

// task sends a tasks method.
func (c *tasksClient) task(t testing.TB, method, id, rest string) reply {
	t.Helper()
	return c.do(t, method, id, `"taskId":"`+id+`"`+rest)
}

func (c *tasksClient) start(t testing.TB, tool, rest string) taskReply {
	t.Helper()
	got := parseTask(t, c.do(t, "tools/call", tool, `"name":"`+tool+`"`+rest))
	if got.Type != "task" || got.ID == "" || got.Status != "working" {
		t.Fatalf("%s: %+v", tool, got)
	}
	return got
}

// await reads a task until it has a status. It is for bubbles.
func (c *tasksClient) await(t testing.TB, id, status string) taskReply {
	t.Helper()
	for range 1000 {
		got := parseTask(t, c.task(t, "tasks/get", id, ""))
		if got.Status == status {
			return got
		}
		if got.Status != "working" && got.Status != "input_required" {
			t.Fatalf("want %s: %+v", status, got)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it is not %s", status)
	return taskReply{}
}

type taskReply struct {
	Type     string                     `json:"resultType"`
	ID       string                     `json:"taskId"`
	Status   string                     `json:"status"`
	Message  string                     `json:"statusMessage"`
	TTL      int64                      `json:"ttlMs"`
	Requests map[string]json.RawMessage `json:"inputRequests"`
	Result   json.RawMessage            `json:"result"`
	Error    json.RawMessage            `json:"error"`
}

func parseTask(t testing.TB, r reply) taskReply {
	t.Helper()
	var body struct {
		Result *taskReply `json:"result"`
	}
	if err := json.Unmarshal([]byte(r.body), &body); err != nil || body.Result == nil ||
		r.status != http.StatusOK {
		t.Fatalf("%v: %s", err, r)
	}
	return *body.Result
}

func TestTaskIsReadUntilItHasItsResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{})
		c := newTasks(url, "ada/ide/Member")
		started := c.start(t, "slow", "")
		if started.TTL != (time.Minute + runtime.DefaultTaskTTL).Milliseconds() {
			t.Errorf("ttlMs %d", started.TTL)
		}
		time.Sleep(2 * time.Second) // progress is stored once a second
		got := parseTask(t, c.task(t, "tasks/get", started.ID, ""))
		if got.Message != "3 of 10: copying for true <***MASKED***>" || got.Type != "complete" ||
			got.Result != nil {
			t.Errorf("no progress: %+v", got)
		}
		close(j.release)
		got = c.await(t, started.ID, "completed")
		if want := `true <ada/ide/Member>`; !strings.Contains(string(got.Result), want) ||
			!strings.Contains(string(got.Result), `"resultType":"complete"`) {
			t.Errorf("the result %s lacks %s", got.Result, want)
		}
		failed := c.await(t, c.start(t, "fail", "").ID, "failed")
		const masked = "broken true <***MASKED***>"
		if string(failed.Error) != `{"code":-32050,"message":"`+masked+`"}` || failed.Result != nil ||
			failed.Message != masked {
			t.Errorf("%+v", failed)
		}
	})
}

func TestHandlersTimeLimitHoldsForTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{})
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "hasty", "").ID, "completed")
		if !strings.Contains(string(got.Result), "timed out after 5s") ||
			!strings.Contains(string(got.Result), `"isError":true`) {
			t.Errorf("%s", got.Result)
		}
	})
}

func TestCancelledTaskStopsItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		_, url := taskServer(t, j, runtime.Options{Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		ctx := <-j.started
		for range 2 { // the second one has no effect
			got := c.task(t, "tasks/cancel", id, "")
			if got.status != http.StatusOK || !strings.Contains(got.body, `"resultType":"complete"`) ||
				strings.Contains(got.body, "taskId") {
				t.Error(got)
			}
		}
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("the handler's context goes on")
		}
		c.await(t, id, "cancelled")
		var kinds []string
		for _, e := range sink.taken() {
			kinds = append(kinds, fmt.Sprintf("%s %s/%s %s", e.Type, e.Status, e.Failure, e.Axis))
		}
		slices.Sort(kinds)
		want := []string{"task_cancel success/ ", "task_cancel success/ ",
			"task_ended failed/error cancelled", "tool_called success/ role"}
		if !slices.Equal(kinds, want) {
			t.Errorf("events %q", kinds)
		}
	})
}

// TestTasksOfOthersAreUnknown compares all callers that are not the owner, by all methods and for
// tasks of all statuses, with an id that never existed.
func TestTasksOfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{})
		owner := newTasks(url, "ada/ide/Admin")
		ids := map[string]string{}
		for _, tool := range []string{"slow", "only", "secret", "ask", "fail", "open"} {
			ids[tool] = owner.start(t, tool, "").ID
		}
		owner.await(t, ids["ask"], "input_required")
		owner.await(t, ids["fail"], "failed")
		methods := map[string]string{"tasks/get": "", "tasks/cancel": "",
			"tasks/update": `,"inputResponses":{"1.who":{"action":"decline"}}`}
		never := strings.Repeat("a", 26)
		for _, caller := range []string{"", "eve/ide/Admin", "eve/web/Admin", "ada/web/Admin",
			"ada//Admin", "eve/ide/Member", "ada/ide/Viewer", "ada/ide/Nobody", "ada/ide/Member"} {
			c := newTasks(url, caller)
			for method, rest := range methods {
				unknown := c.task(t, method, never, rest)
				if !strings.Contains(unknown.body, `"code":-32602,"message":"unknown task"`) {
					t.Fatalf("%s of nothing by %q: %s", method, caller, unknown)
				}
				for tool, id := range ids {
					// The same user and client loses only the tools that its role may not use.
					lost := tool == "secret" || tool != "open" && !strings.HasSuffix(caller, "/Member")
					if strings.HasPrefix(caller, "ada/ide/") && !lost {
						continue
					}
					if got := c.task(t, method, id, rest); got.String() != unknown.String() {
						t.Errorf("%s of a task of %s by %q:\n%s\nwant\n%s", method, tool, caller, got,
							unknown)
					}
				}
			}
		}
		for tool, status := range map[string]string{"slow": "working", "only": "working",
			"secret": "working", "ask": "input_required", "fail": "failed", "open": "working"} {
			owner.await(t, ids[tool], status)
		}
		anonymous := newTasks(url, "")
		id := anonymous.start(t, "open", "").ID
		anonymous.await(t, id, "working")
		if got := owner.task(t, "tasks/get", id, ""); !strings.Contains(got.body, "unknown task") {
			t.Errorf("a user reads a task of an anonymous caller: %s", got)
		}
		close(j.release)
	})
}

func TestClientWithoutTasksWaitsForTheResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		_, url := taskServer(t, j, runtime.Options{})
		for _, era := range eras {
			c := newRaw(t, url, "ada/ide/Member", era)
			if got := c.call(t, "slow", "", nil); !strings.Contains(got.body, `"content"`) ||
				strings.Contains(got.body, "taskId") {
				t.Errorf("%s: %s", era, got)
			}
			got := c.call(t, "only", "", nil)
			hidden, unknown := c.call(t, "secret", "", nil), c.call(t, "secrex", "", nil)
			if strings.ReplaceAll(hidden.String(), "secret", "secrex") != unknown.String() {
				t.Errorf("%s: a hidden tool of tasks: %s", era, hidden)
			}
			update := c.ask(t, "tasks/get", `"taskId":"x"`, map[string]string{"Mcp-Name": "x"})
			if era != "2026-07-28" {
				if !strings.Contains(got.body, `"isError":true`) ||
					!strings.Contains(got.body, "io.modelcontextprotocol/tasks") {
					t.Errorf("%s: %s", era, got)
				}
				if list := c.ask(t, "tasks/got", "", nil); strings.ReplaceAll(update.String(),
					"tasks/get", "tasks/got") != list.String() {
					t.Errorf("%s: %s, and an unknown method %s", era, update, list)
				}
				continue
			}
			for _, got := range []reply{got, update} {
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, `-32021`) ||
					!strings.Contains(got.body, `"data":{"requiredCapabilities":{"extensions":`+
						`{"io.modelcontextprotocol/tasks":{}}}}`) {
					t.Errorf("%s: %s", era, got)
				}
			}
		}
	})
}

func TestExtensionIsDeclaredAlikeForAllCallers(t *testing.T) {
	t.Parallel()
	j := newJob()
	const declared = `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	url := serve(t, newServer(t, runtime.Options{Identity: taskUsers(), Anonymous: true},
		j.toolset().Without("only", "secret")))
	for _, token := range []string{"", "ada/ide/Viewer", "ada/ide/Admin"} {
		c := newTasks(url, token)
		if got := c.do(t, "server/discover", "", `"x":1`); !strings.Contains(got.body, declared) {
			t.Errorf("%q: %s", token, got)
		}
	}
}

func TestMcpNameHasToBeTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := &keeper{}
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		base64Of := func(text string) string {
			return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
		}
		if got := c.do(t, "tasks/get", base64Of(id), `"taskId":"`+id+`"`); got.status != http.StatusOK {
			t.Errorf("in base64: %s", got)
		}
		for _, name := range []string{"", "other", strings.ToUpper(id), base64Of("other"),
			"=?base64?" + id + "?="} {
			for _, of := range []string{id, "unknown"} {
				got := c.do(t, "tasks/get", name, `"taskId":"`+of+`"`)
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, "-32020") {
					t.Errorf("%q for %q: %s", name, of, got)
				}
			}
		}
		for _, of := range []string{id, "unknown"} {
			sink.taken()
			c.do(t, "tasks/cancel", "other", `"taskId":"`+of+`"`)
			if events := sink.taken(); len(events) != 1 || events[0].Type != audit.TaskCancel ||
				events[0].Failure != audit.Invalid {
				t.Errorf("%q: %+v", of, events)
			}
		}
	})
}

func answer(key, name string) string {
	return fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"name":%q}}}`, key, name)
}

func TestTaskAsksAndGoesOnWithTheAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := &keeper{}
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "ask", "").ID
		got := c.await(t, id, "input_required")
		if len(got.Requests) != 1 || !strings.Contains(string(got.Requests["1.who"]), "Your name?") {
			t.Fatalf("%+v", got)
		}
		for _, rest := range []string{``, `,"inputResponses":7`, `,"inputResponses":{"1.who":7}`,
			`,"inputResponses":{"1.who":{"action":"accept","content":{"name":7}}}`,
			`,"inputResponses":{"1.who":{"roots":[]}}`} {
			if got := c.task(t, "tasks/update", id, rest); got.status != http.StatusBadRequest ||
				!strings.Contains(got.body, "-32602") {
				t.Errorf("%s: %s", rest, got)
			}
		}
		for _, rest := range []string{`,"inputResponses":{}`, answer("2.who", "x"), answer("who", "x"),
			`,"inputResponses":{"x":{"odd":[1]}}`} {
			if got := c.task(t, "tasks/update", id, rest); got.status != http.StatusOK {
				t.Errorf("%s: %s", rest, got)
			}
		}
		c.await(t, id, "input_required")
		if got := c.task(t, "tasks/update", id, answer("1.who", "Ada")); got.status != http.StatusOK {
			t.Fatal(got)
		}
		for got.Requests["2.pet"] == nil {
			got = c.await(t, id, "input_required")
		}
		if len(got.Requests) != 1 {
			t.Errorf("%+v", got)
		}
		// A late answer to the first question is ignored.
		c.task(t, "tasks/update", id, answer("1.who", "Eve"))
		c.task(t, "tasks/update", id, answer("2.pet", "Cat"))
		done := c.await(t, id, "completed")
		if !strings.Contains(string(done.Result), "Ada+Cat") {
			t.Errorf("%s", done.Result)
		}
		events := map[audit.Type]int{}
		var call, ended string
		for _, e := range sink.taken() {
			events[e.Type]++
			switch e.Type {
			case audit.ToolCalled:
				call = e.RequestID
			case audit.TaskEnded:
				if ended = e.RequestID; e.Failure != "" || e.Tool != "ask" || e.Principal != "ada" {
					t.Errorf("%+v", e)
				}
			case audit.TaskUpdate:
				if e.Failure == "" && e.Object != "task of request "+call {
					t.Errorf("%+v", e)
				}
			}
		}
		if events[audit.TaskAsked] != 2 || events[audit.ToolCalled] != 1 ||
			events[audit.TaskEnded] != 1 ||
			call != ended || events[audit.TaskUpdate] != 12 {
			t.Errorf("%v, %s, %s", events, call, ended)
		}
	})
}

func TestTaskBeginsWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{})
		c := newTasks(url, "ada/ide/Member")
		first := c.do(t, "tools/call", "late", `"name":"late"`)
		var asked struct {
			Result struct {
				Type  string `json:"resultType"`
				State string `json:"requestState"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(first.body), &asked); err != nil ||
			asked.Result.Type != "input_required" || strings.Contains(first.body, "taskId") {
			t.Fatalf("%v: %s", err, first)
		}
		id := c.start(t, "late", answer("who", "Ada")+`,"requestState":"`+asked.Result.State+`"`).ID
		c.await(t, id, "input_required")
		c.task(t, "tasks/update", id, answer("1.pet", "Cat"))
		if got := c.await(t, id, "completed"); !strings.Contains(string(got.Result), "Ada+Cat") {
			t.Errorf("%s", got.Result)
		}
	})
}

func TestTasksAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{
			Tasks: runtime.TaskOptions{Max: 3, MaxPerUser: 2}})
		for _, step := range []struct {
			token string
			full  bool
		}{{"ada/ide/Member", false}, {"ada/web/Member", false}, {"ada/ide/Member", true},
			{"eve/ide/Member", false}, {"bob/ide/Member", true}} {
			c := newTasks(url, step.token)
			got := c.do(t, "tools/call", "only", `"name":"only"`)
			if strings.Contains(got.body, `too many tasks`) != step.full ||
				strings.Contains(got.body, `"isError":true`) != step.full {
				t.Errorf("%s: %s", step.token, got)
			}
			if step.full { // the tasks of others refuse no call of a tool that runs without
				got := c.do(t, "tools/call", "hasty", `"name":"hasty"`)
				if !strings.Contains(got.body, "timed out after 5s") || strings.Contains(got.body, "taskId") {
					t.Errorf("%s: %s", step.token, got)
				}
			}
		}
		c := newTasks(url, "ada/ide/Member")
		big := c.do(t, "tools/call", "slow",
			`"name":"slow","arguments":{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
		if !strings.Contains(big.body, "too large for a task") {
			t.Errorf("%.300s", big)
		}
	})
}

func TestTaskIsUnknownAfterItsTimeToLive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{
			Tasks: runtime.TaskOptions{TTL: 2 * time.Second}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "hasty", "").ID
		c.await(t, id, "completed")
		time.Sleep(2100 * time.Millisecond)
		if got, never := c.task(t, "tasks/get", id, ""), c.task(t, "tasks/get", "x",
			""); got.String() != never.String() {
			t.Error(got)
		}
	})
}

// TestTaskEndsWithTheCredentialOfItsCaller also reads the task with a newer credential, which lets
// it go on.
func TestTaskEndsWithTheCredentialOfItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{})
		until := func(d time.Duration) string {
			return fmt.Sprintf("ada/ide/Member/%d", time.Now().Add(d).UnixMilli())
		}
		short := newTasks(url, until(1500*time.Millisecond))
		left, kept := short.start(t, "slow", "").ID, short.start(t, "slow", "").ID
		first, second := <-j.started, <-j.started
		newer := newTasks(url, until(time.Hour))
		newer.await(t, kept, "working")
		select {
		case <-first.Done():
		case <-second.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("the run goes on without a credential")
		}
		time.Sleep(1500 * time.Millisecond)
		if got := parseTask(t, newer.task(t, "tasks/get", left, "")); got.Status != "failed" ||
			!strings.Contains(string(got.Error), "credential has expired") {
			t.Errorf("%+v", got)
		}
		close(j.release)
		got := newer.await(t, kept, "completed")
		// The value of the call has ended with the call's credential.
		if !strings.Contains(string(got.Result), `false <>`) {
			t.Errorf("%s", got.Result)
		}
		for _, ctx := range []context.Context{first, second} {
			if text := valueIn(ctx); text != "false <>" {
				t.Errorf("the value after the task: %s", text)
			}
		}
	})
}

// A run keeps the role and scopes of its call: a newer credential with others, also fewer ones,
// lets no run go on with the old ones.
func TestNewerCredentialOfAnotherRoleExtendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{})
		token := func(role string, d time.Duration) *tasksClient {
			return newTasks(url, fmt.Sprintf("ada/ide/%s/%d", role, time.Now().Add(d).UnixMilli()))
		}
		id := token("Admin", 1500*time.Millisecond).start(t, "slow", "").ID
		ctx := <-j.started
		newer := token("Member", time.Hour)
		newer.await(t, id, "working")
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("the run goes on with the role of a credential that has ended")
		}
		if got := newer.await(t, id, "failed"); !strings.Contains(string(got.Error),
			"credential has expired") {
			t.Errorf("%+v", got)
		}
	})
}

func TestShutdownFailsTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, store := newJob(), task.NewMemory()
		for _, own := range []task.Store{nil, store} {
			s, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: own}})
			c := newTasks(url, "ada/ide/Member")
			id := c.start(t, "slow", "").ID
			ctx := <-j.started
			const grace = 10 * time.Second
			end, cancel := context.WithTimeout(t.Context(), grace)
			began := time.Now()
			err := s.Shutdown(end)
			cancel()
			if own == nil && err != nil || own != nil && time.Since(began) < grace-time.Second {
				t.Errorf("%v after %s", err, time.Since(began))
			}
			if synctest.Wait(); ctx.Err() == nil {
				t.Error("the handler goes on")
			}
			if own != nil {
				_, next := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: own}})
				got := newTasks(next, "ada/ide/Member").await(t, id, "failed")
				if !strings.Contains(string(got.Error), "shutting down") {
					t.Errorf("%+v", got)
				}
			}
		}
	})
}

// failingOn is a sink that fails for events of a type that are no intents, until it is repaired.
type failingOn struct {
	keeper
	kind     audit.Type
	repaired atomic.Bool
}

func (f *failingOn) Record(ctx context.Context, e audit.Event) error {
	if e.Type == f.kind && e.Status != audit.Intent && !f.repaired.Load() {
		return errors.New("full")
	}
	return f.keeper.Record(ctx, e)
}

func TestTaskStartsOnceItsCallIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{
			Audit: runtime.AuditOptions{Sink: &failingOn{kind: audit.ToolCalled}}})
		c := newTasks(url, "ada/ide/Member")
		if got := c.do(t, "tools/call", "slow", `"name":"slow"`); !strings.Contains(got.body,
			"-32603") || strings.Contains(got.body, "taskId") {
			t.Error(got)
		}
		if time.Sleep(time.Minute); len(j.started) > 0 {
			t.Error("the handler has started without a record")
		}
	})
}

func TestResultOfATaskThatCannotBeRecordedIsWithheld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		_, url := taskServer(t, j, runtime.Options{
			Audit: runtime.AuditOptions{Sink: &failingOn{kind: audit.TaskEnded}}})
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "slow", "").ID, "failed")
		if string(got.Error) != `{"code":-32603,"message":"internal error"}` {
			t.Errorf("%+v", got)
		}
	})
}

// askingReader is a tool that reads a file by a grant and then asks. first runs before it asks.
func askingReader(tool toolset.Tool, first func()) toolset.Toolset {
	tool.Name, tool.Allow, tool.Elicits = "read", reading.Allow, true
	return permitting(tool, func(ctx context.Context, in named) (string, error) {
		text, err := readAll(ctx, in)
		if err != nil {
			return "", err
		}
		first()
		form, err := runtime.Elicit[nameForm](ctx, "who", "Your name?")
		return text + form.Name, err
	})
}

func TestGrantsOfARunThatAsksAreRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, sink := &purse{}, &keeper{}
		allowed := grant.Permission{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true}
		p.put(client("Member"), allowed)
		options := runtime.Options{Grants: runtime.GrantOptions{
			Source: p,
			Roots:  roots(t, map[string]string{"a.md": "A"}),
		},
			Audit: runtime.AuditOptions{Sink: sink}}
		url := serve(t, newServer(t, options,
			askingReader(toolset.Tool{Task: toolset.TaskOptional}, func() {})))
		c := newTasks(url, tokens["Member"])
		const arguments = `,"arguments":{"path":"docs/a.md"}`
		id := c.start(t, "read", arguments).ID
		c.await(t, id, "input_required") // the record is there before
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskAsked || len(e.Grants) != 1 ||
			e.Grants[0].Grant != "1.0" || e.Failure != "" || e.RequestID != events[0].RequestID {
			t.Errorf("%+v", e)
		}
		// The second run of a call with answers that nobody asked for has another grant.
		url = serve(t, newServer(t, options,
			askingReader(toolset.Tool{Unsolicited: true}, func() { p.put(client("Member"), allowed) })))
		got := newRaw(t, url, tokens["Member"], "2026-07-28").call(t, "read", arguments+
			`,"inputResponses":{"who":{"action":"accept","content":{"name":"Ada"}}}`, nil)
		if !strings.Contains(got.body, "AAda") {
			t.Fatal(got)
		}
		events = sink.taken()
		if e := events[len(events)-1]; len(e.Grants) != 2 || e.Grants[0].Grant != "1.0" ||
			e.Grants[1].Grant != "2.0" {
			t.Errorf("%+v", e)
		}
	})
}

func TestQuestionsThatCannotBeRecordedAreWithheld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := &failingOn{kind: audit.TaskAsked}
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "ask", "").ID, "failed")
		if string(got.Error) != `{"code":-32603,"message":"internal error"}` || got.Requests != nil {
			t.Errorf("%+v", got)
		}
		events := sink.taken()
		if !slices.ContainsFunc(events, func(e audit.Event) bool {
			return e.Type == audit.TaskEnded && e.Failure == audit.Crashed
		}) {
			t.Errorf("%+v", events)
		}
	})
}

func TestTaskIsCancelledOnceThatIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		_, url := taskServer(t, j, runtime.Options{
			Audit: runtime.AuditOptions{Sink: &failingOn{kind: audit.TaskCancel}}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		ctx := <-j.started
		if got := c.task(t, "tasks/cancel", id, ""); !strings.Contains(got.body, "-32603") {
			t.Error(got)
		}
		if c.await(t, id, "working"); ctx.Err() != nil {
			t.Error("the run has ended without a record")
		}
		close(j.release)
	})
}

// TestAnswersThatCannotBeRecordedAreNotKept looks at the store too: another replica must not start
// a run with them.
func TestAnswersThatCannotBeRecordedAreNotKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, sink := &created{Store: task.NewMemory()}, &failingOn{kind: audit.TaskUpdate}
		_, url := taskServer(t, newJob(), runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "ask", "").ID
		c.await(t, id, "input_required")
		if got := c.task(t, "tasks/update", id, answer("1.who", "Eve")); !strings.Contains(got.body,
			"-32603") {
			t.Error(got)
		}
		r, err := store.Get(t.Context(), store.made.Owner, store.made.ID)
		if err != nil || r.Status != task.InputRequired || r.Answers != nil || r.Run != "" {
			t.Errorf("%v %+v", err, r)
		}
		sink.repaired.Store(true)
		time.Sleep(time.Minute) // the server tries the sink again
		c.task(t, "tasks/update", id, answer("1.who", "Ada"))
		synctest.Wait()
		if got := c.await(t, id, "input_required"); got.Requests["2.pet"] == nil {
			t.Errorf("%+v", got)
		}
		c.task(t, "tasks/update", id, answer("2.pet", "Cat"))
		if got := c.await(t, id, "completed"); !strings.Contains(string(got.Result), "Ada+Cat") {
			t.Errorf("%s", got.Result)
		}
	})
}

// readonly is a store that takes no changes until it is repaired.
type readonly struct {
	task.Store
	err      error
	repaired atomic.Bool
}

func (r *readonly) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	if r.repaired.Load() {
		return r.Store.Change(ctx, o, id, change)
	}
	return task.Record{}, r.err
}

// The event of a change is durable before the change, so that a second one has its failure.
func TestTaskThatCannotBeChangedIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct {
			err  error
			body string
			want audit.Failure
		}{
			{errors.New("read only: secret.example"), `"code":503,"message":"tasks are not available ` +
				`now: try again later"`, audit.Errored},
			{task.ErrFull, `"code":-32602,"message":"the server has no room for the task"`,
				audit.Limited},
			{task.ErrUnknown, `"code":-32602,"message":"unknown task"`, audit.Denied},
		} {
			j, sink, store := newJob(), &keeper{}, &readonly{Store: task.NewMemory(), err: test.err}
			seen := &watched{}
			_, url := taskServer(t, j, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
				Tasks:   runtime.TaskOptions{Store: store},
				Observe: runtime.ObserveOptions{Observer: seen.observer()}})
			c := newTasks(url, "ada/ide/Member")
			id := c.start(t, "slow", "").ID
			if got := c.task(t, "tasks/cancel", id, ""); !strings.Contains(got.body, test.body) {
				t.Error(got)
			}
			events := sink.taken()
			i := slices.IndexFunc(events, func(e audit.Event) bool { return e.Failure != "" })
			if i < 0 || events[i].Type != audit.TaskCancel || events[i].Failure != test.want ||
				events[i-1].Type != audit.TaskCancel ||
				events[i].Object != "task of request "+events[0].RequestID {
				t.Errorf("%v: %+v", test.err, events)
			}
			if got := seen.taken(t, 2).outcomes[1]; got.Failure != test.want {
				t.Errorf("%v: observed as %+v", test.err, got)
			}
			store.repaired.Store(true)
			close(j.release)
		}
	})
}

// hastyStore cancels each task before its run can start.
type hastyStore struct{ task.Store }

func (h hastyStore) Create(ctx context.Context, r task.Record, l task.Limits) error {
	if err := h.Store.Create(ctx, r, l); err != nil {
		return err
	}
	_, err := h.Change(ctx, r.Owner, r.ID, func(r *task.Record) error {
		r.Status = task.Cancelled
		return nil
	})
	return err
}

func TestHandlerOfACancelledTaskDoesNotStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		s, url := taskServer(t, j, runtime.Options{
			Tasks: runtime.TaskOptions{Store: hastyStore{task.NewMemory()}},
			Audit: runtime.AuditOptions{Sink: sink}})
		newTasks(url, "ada/ide/Member").start(t, "slow", "")
		if err := s.Shutdown(t.Context()); err != nil { // waits for the run
			t.Error(err)
		}
		if len(j.started) > 0 {
			t.Error("the handler has run")
		}
		events := sink.taken()
		if len(events) != 2 || events[1].Type != audit.TaskEnded ||
			events[1].Axis != audit.AxisCancelled || events[1].Failure != audit.Errored {
			t.Errorf("%+v", events)
		}
	})
}

// TestEndOfALostTaskIsRecordedOnce: a replica that has lost its task, because it could not renew
// the lease, leaves the record to the replica that has ended the task.
func TestEndOfALostTaskIsRecordedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tool := range []string{"slow", "ask"} {
			j, store, sink := newJob(), &created{Store: task.NewMemory()}, &keeper{}
			begun := make(chan struct{})
			s, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
				Audit: runtime.AuditOptions{Sink: sink},
				Interceptors: []intercept.Middleware{func(next intercept.Next) intercept.Next {
					return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
						close(begun)
						<-j.release
						return next(ctx, m)
					}
				}}})
			newTasks(url, "ada/ide/Member").start(t, tool, "")
			<-begun
			if _, err := store.Change(t.Context(), store.made.Owner, store.made.ID,
				func(r *task.Record) error {
					r.Status, r.Run = task.Failed, ""
					return nil
				}); err != nil {
				t.Fatal(err)
			}
			close(j.release)
			if err := s.Shutdown(t.Context()); err != nil { // waits for the run
				t.Error(err)
			}
			if events := sink.taken(); len(events) != 1 || events[0].Type != audit.ToolCalled {
				t.Errorf("%s: %+v", tool, events)
			}
		}
	})
}

func TestEventReportsAResultThatIsTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newJob().toolset().Generated()
		for i := range g.Tools {
			if g.Tools[i].Name == "fail" {
				g.Tools[i].Call = func(context.Context, toolset.Call) (toolset.Result, error) {
					return toolset.Structured(map[string]string{"x": strings.Repeat("x", 1<<20)}, nil)
				}
			}
		}
		sink := &keeper{}
		url := serve(t, newServer(t, runtime.Options{Identity: taskUsers(),
			Audit: runtime.AuditOptions{Sink: sink}},
			toolset.NewToolset(g)))
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "fail", "").ID, "failed")
		if !strings.Contains(got.Message, "larger than 1 MiB") {
			t.Errorf("%+v", got)
		}
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskEnded || e.Failure != audit.Limited ||
			e.Missing != "task size" {
			t.Errorf("%+v", e)
		}
	})
}

// panickingAt is a log handler that panics at one message.
type panickingAt struct {
	slog.Handler
	at string
}

func (p panickingAt) Handle(_ context.Context, r slog.Record) error {
	if r.Message == p.at {
		panic("the log handler")
	}
	return nil
}

func (p panickingAt) WithAttrs([]slog.Attr) slog.Handler { return p }

func (p panickingAt) WithGroup(string) slog.Handler { return p }

// The program's log handler may panic after a task was created, and before its run starts.
func TestTaskWhoseRequestPanicsEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, store := newJob(), &created{Store: task.NewMemory()}
		_, url := taskServer(t, j, runtime.Options{Tasks: runtime.TaskOptions{Store: store},
			Audit: runtime.AuditOptions{Sink: &failingOn{kind: audit.ToolCalled}},
			Logger: slog.New(panickingAt{quiet().Handler(),
				"the outcome of a call could not be recorded; the call has run, and the server " +
					"withholds its response"})})
		if got := newTasks(url, "ada/ide/Member").do(t, "tools/call", "slow",
			`"name":"slow"`); !strings.Contains(got.body, "-32603") {
			t.Error(got)
		}
		r, err := store.Get(t.Context(), store.made.Owner, store.made.ID)
		if err != nil || r.Status != task.Failed || r.Run != "" {
			t.Errorf("%v %+v", err, r)
		}
	})
}

// The program's log handler runs on the goroutine of a run, which nothing else recovers.
func TestLogHandlerThatPanicsEndsNoTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{
			Logger: slog.New(panickingAt{quiet().Handler(), "call failed"})})
		c := newTasks(url, "ada/ide/Member")
		if got := c.await(t, c.start(t, "fail", "").ID, "failed"); !strings.Contains(got.Message,
			"broken") {
			t.Errorf("%+v", got)
		}
	})
}

// created is a store that keeps the newest of its tasks.
type created struct {
	task.Store
	made task.Record
}

func (c *created) Create(ctx context.Context, r task.Record, l task.Limits) error {
	c.made = r
	return c.Store.Create(ctx, r, l)
}

// TestSessionOfATask: the session of a handler of go-sdk's shape takes progress, and reaches no
// client.
func TestSessionOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newJob().toolset().Generated()
		release := make(chan struct{})
		for i := range g.Tools {
			if g.Tools[i].Name != "fail" {
				continue
			}
			g.Tools[i].SDK = true
			g.Tools[i].Call = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
				session := toolset.Request[mcp.CallToolRequest](c).Session
				client := session.InitializeParams()
				if client.ProtocolVersion != "2026-07-28" || client.Capabilities.Elicitation == nil ||
					session.ID() != "" {
					t.Errorf("%q %+v", session.ID(), client)
				}
				for done := range 2 {
					if err := session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						Progress: float64(done + 1), Message: valueIn(ctx)}); err != nil {
						t.Error(err)
					}
				}
				<-release
				var all error
				//lint:ignore SA1019 calls that need a client
				_, roots := session.ListRoots(ctx, nil)
				_, form := session.Elicit(ctx, &mcp.ElicitParams{Message: "?"})
				for _, err := range []error{roots, form, session.Ping(ctx, nil)} {
					if err == nil {
						t.Error("a request has reached the client")
					}
					all = errors.Join(all, err)
				}
				return toolset.Result{}, all
			}
		}
		sink := &keeper{}
		url := serve(t, newServer(t, runtime.Options{Identity: taskUsers(),
			Audit: runtime.AuditOptions{Sink: sink}},
			toolset.NewToolset(g)))
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "fail", "").ID
		time.Sleep(2 * time.Second) // progress is stored once a second
		progress := parseTask(t, c.task(t, "tasks/get", id, ""))
		if progress.Message != "2: true <***MASKED***>" {
			t.Errorf("%+v", progress)
		}
		close(release)
		got := c.await(t, id, "completed")
		for _, want := range []string{`roots/list`, `elicitation/create`, `InputRequests`,
			`no connection to its client`, `"isError":true`} {
			if !strings.Contains(string(got.Result), want) {
				t.Errorf("%s lacks %s", got.Result, want)
			}
		}
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskEnded || e.Failure != audit.Errored {
			t.Errorf("%+v", e)
		}
	})
}

// Tools of toolsets run as tasks beside an adopted server, whose own tools do not.
func TestAdoptedServerHasTheTasksOfItsToolsets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		s, err := runtime.Adopt(existing("own"),
			runtime.Options{Identity: taskUsers(), Logger: quiet()},
			map[string]access.Rule{"own": {Authenticated: true}}, j.toolset())
		if err != nil {
			t.Fatal(err)
		}
		c := newTasks(serve(t, s), "ada/ide/Member")
		if got := c.do(t, "server/discover", "", `"x":1`); !strings.Contains(got.body,
			`"io.modelcontextprotocol/tasks"`) {
			t.Error(got)
		}
		id := c.start(t, "slow", "").ID
		if got := c.do(t, "tools/call", "own", `"name":"own"`); !strings.Contains(got.body,
			`"resultType":"complete"`) || strings.Contains(got.body, "taskId") {
			t.Errorf("%s", got)
		}
		close(j.release)
		if got := c.await(t, id, "completed"); !strings.Contains(string(got.Result),
			`true <ada/ide/Member>`) {
			t.Errorf("%+v", got)
		}
	})
}

func TestInterceptorsGetTheRunsOfTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		close(j.release)
		var mu sync.Mutex
		var got []string
		_, url := taskServer(t, j, runtime.Options{Interceptors: []intercept.Middleware{
			func(next intercept.Next) intercept.Next {
				return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
					res, err := next(ctx, m)
					mu.Lock()
					defer mu.Unlock()
					got = append(got, fmt.Sprintf("%s %v", m.Method, err))
					if r, ok := res.(*mcp.CallToolResult); ok {
						r.Content = []mcp.Content{&mcp.TextContent{Text: "changed"}}
					}
					return res, err
				}
			}}})
		c := newTasks(url, "ada/ide/Member")
		done := c.await(t, c.start(t, "slow", "").ID, "completed")
		if !strings.Contains(string(done.Result), "changed") || len(got) != 1 ||
			got[0] != "tools/call <nil>" {
			t.Errorf("%q: %s", got, done.Result)
		}
	})
}

// Middleware may return a result that has no JSON: the task fails, and does not complete without a
// result.
func TestTaskWhoseResultCannotBeEncodedFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, sink := newJob(), &keeper{}
		close(j.release)
		_, url := taskServer(t, j, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Interceptors: []intercept.Middleware{func(intercept.Next) intercept.Next {
				return func(context.Context, intercept.Message) (mcp.Result, error) {
					return &mcp.CallToolResult{StructuredContent: math.NaN()}, nil
				}
			}}})
		c := newTasks(url, "ada/ide/Member")
		got := c.await(t, c.start(t, "slow", "").ID, "failed")
		if string(got.Error) != `{"code":-32603,"message":"internal error"}` || got.Result != nil {
			t.Errorf("%+v", got)
		}
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskEnded || e.Failure != audit.Crashed {
			t.Errorf("%+v", e)
		}
	})
}

// crashing is a store whose driver panics.
type crashing struct{ task.Store }

func (crashing) Create(context.Context, task.Record, task.Limits) error { panic("a nil pointer") }

func (crashing) Get(context.Context, task.Owner, string) (task.Record, error) {
	panic("a nil pointer")
}

func TestRequestOfATaskWhoseStorePanicsIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := &keeper{}
		_, url := taskServer(t, newJob(), runtime.Options{
			Tasks: runtime.TaskOptions{Store: crashing{}},
			Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		for want, send := range map[audit.Type]func() reply{
			audit.ToolCalled: func() reply { return c.do(t, "tools/call", "slow", `"name":"slow"`) },
			audit.TaskCancel: func() reply { return c.task(t, "tasks/cancel", "x", "") },
			audit.TaskUpdate: func() reply { return c.task(t, "tasks/update", "x", `,"inputResponses":{}`) },
		} {
			if got := send(); !strings.Contains(got.body, `"code":-32603,"message":"internal error"`) {
				t.Error(got)
			}
			events := sink.taken()
			if n := len(events); n == 0 || events[n-1].Type != want ||
				events[n-1].Failure != audit.Errored {
				t.Errorf("%s: %+v", want, events)
			}
		}
	})
}

func TestTasksOnStdio(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := newJob()
		s := newServer(t, runtime.Options{Identity: taskUsers()}, j.toolset())
		shutDown(t, s)
		in, write := io.Pipe()
		read, out := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- s.RunIO(t.Context(), in, out, access.Principal{Subject: "ada", Role: "Member"})
		}()
		lines := bufio.NewReader(read)
		send := func(method, params string) taskReply {
			t.Helper()
			if _, err := fmt.Fprintf(write, `{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s,%s}}`+"\n",
				method, tasksMeta, params); err != nil {
				t.Fatal(err)
			}
			text, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return parseTask(t, reply{status: http.StatusOK, body: text})
		}
		id := send("tools/call", `"name":"slow"`).ID
		other := send("tools/call", `"name":"slow"`).ID
		close(j.release)
		for _, id := range []string{id, other} {
			for send("tasks/get", `"taskId":"`+id+`"`).Status != "completed" {
				time.Sleep(10 * time.Millisecond)
			}
		}
		if err := errors.Join(write.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
}

// TestTaskOfARevokedToolIsUnknown also waits until the run has ended, which is recorded.
func TestTaskOfARevokedToolIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j, source, sink := newJob(), &shelf{}, &keeper{}
		_, url := taskServer(t, j, runtime.Options{Catalogs: runtime.CatalogOptions{Source: source},
			Audit: runtime.AuditOptions{Sink: sink}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		ctx := <-j.started
		never := c.task(t, "tasks/get", "x", "")
		source.turnOff("slow")
		synctest.Wait()
		if got := c.task(t, "tasks/get", id, ""); got.String() != never.String() {
			t.Errorf("the task of a tool that is off: %s", got)
		}
		if time.Sleep(20 * time.Second); ctx.Err() == nil {
			t.Error("the handler goes on")
		}
		source.turnOff()
		synctest.Wait()
		if got := c.await(t, id, "failed"); !strings.Contains(got.Message, "permission was revoked") {
			t.Errorf("%+v", got)
		}
		events := sink.taken()
		if e := events[len(events)-1]; e.Type != audit.TaskEnded || e.Failure != audit.Errored ||
			!strings.Contains(e.Missing, "revoked") {
			t.Errorf("%+v", e)
		}
	})
}

// counting counts the calls of a store.
type counting struct {
	task.Store
	gets, changes atomic.Int64
}

func (c *counting) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	c.gets.Add(1)
	return c.Store.Get(ctx, o, id)
}

func (c *counting) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	c.changes.Add(1)
	return c.Store.Change(ctx, o, id, change)
}

// TestNoTaskIsSubscribedTo: notifications of tasks are optional, so that the acknowledgement leaves
// out all ids. Only a client that does not declare the extension is refused.
func TestNoTaskIsSubscribedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, url := taskServer(t, newJob(), runtime.Options{})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "slow", "").ID
		without := newRaw(t, url, "ada/ide/Member", "2026-07-28")
		for _, of := range []string{id, strings.Repeat("a", 26)} {
			listen := `"notifications":{"taskIds":["` + of + `"]}`
			if got := c.do(t, "subscriptions/listen", "", listen); got.status != http.StatusOK ||
				!strings.Contains(got.body, `"notifications":{}`) || strings.Contains(got.body, of) {
				t.Error(got)
			}
			if got := without.ask(t, "subscriptions/listen", listen,
				nil); got.status != http.StatusBadRequest || !strings.Contains(got.body, `"code":-32021`) ||
				!strings.Contains(got.body, `"data":{"requiredCapabilities":{"extensions":{`+
					`"io.modelcontextprotocol/tasks":{}}}}`) {
				t.Error(got)
			}
			old := newRaw(t, url, "ada/ide/Member", "2025-11-25")
			got := old.ask(t, "subscriptions/listen", listen, nil)
			if strings.Contains(got.body, "-32021") || strings.Contains(got.body, of) {
				t.Error(got)
			}
		}
	})
}

// TestUnknownTasksAreLookedUpAlike compares what an answer costs: one look by owner and id, which
// finds no row for an id of somebody else.
func TestUnknownTasksAreLookedUpAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: task.NewMemory()}
		_, url := taskServer(t, newJob(), runtime.Options{Tasks: runtime.TaskOptions{Store: store}})
		owner := newTasks(url, "ada/ide/Member")
		id := owner.start(t, "ask", "").ID
		owner.await(t, id, "input_required") // nothing runs, so nothing else reads the store
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			for caller, of := range map[string]string{"ada/ide/Member": "never", "eve/ide/Admin": id,
				"ada/web/Admin": id, "": id, "ada/ide/Viewer": id} {
				gets, changes := store.gets.Load(), store.changes.Load()
				got := newTasks(url, caller).task(t, method, of, answer("1.who", "Eve"))
				if gets, changes = store.gets.Load()-gets, store.changes.Load()-changes; gets != 1 ||
					changes != 0 || !strings.Contains(got.body, "unknown task") {
					t.Errorf("%s by %q: %d reads, %d changes: %s", method, caller, gets, changes, got)
				}
			}
		}
	})
}

// dead is a store in which the run of each task has died.
type dead struct{ task.Store }

func (d dead) Get(ctx context.Context, o task.Owner, id string) (task.Record, error) {
	r, err := d.Store.Get(ctx, o, id)
	r.Lease = time.Now().Add(-time.Minute)
	return r, err
}

func (d dead) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	return d.Store.Change(ctx, o, id, func(r *task.Record) error {
		r.Lease = time.Now().Add(-time.Minute)
		return change(r)
	})
}

func (d dead) Lost(ctx context.Context, now time.Time, most int) ([]task.Record, error) {
	return d.Store.Lost(ctx, now.Add(time.Minute), most)
}

// peeking is a sink that looks for the caller's value.
type peeking struct {
	mu    sync.Mutex
	found map[audit.Type]string
}

func (r *peeking) Record(ctx context.Context, e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[e.Type] = valueIn(ctx)
	return nil
}

// The request that finds a dead task records its end, and may have a value for a handler.
func TestSinkGetsNoValueWithTheEndOfADeadTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink, store := &peeking{found: map[audit.Type]string{}}, task.NewMemory()
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Tasks: runtime.TaskOptions{Store: store}})
		_, other := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Tasks: runtime.TaskOptions{Store: dead{store}}})
		time.Sleep(35 * time.Second)
		id := newTasks(url, "ada/ide/Member").start(t, "slow", "").ID
		time.Sleep(10 * time.Second) // then the other server knows that its store accepts changes
		newTasks(other, "ada/ide/Member").task(t, "tasks/update", id, `,"inputResponses":{}`)
		sink.mu.Lock()
		defer sink.mu.Unlock()
		for _, kind := range []audit.Type{audit.ToolCalled, audit.TaskEnded, audit.TaskUpdate} {
			if got := sink.found[kind]; got != "false <>" {
				t.Errorf("%s: %q", kind, got)
			}
		}
	})
}

// The run of a task gets the answers that came with its call, as a call without a task does.
func TestTasksTakeUnsolicitedAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newJob().toolset().Generated()
		for i := range g.Tools {
			g.Tools[i].Unsolicited = g.Tools[i].Name == "ask"
		}
		url := serve(t, newServer(t, runtime.Options{Identity: taskUsers()}, toolset.NewToolset(g)))
		c := newTasks(url, "ada/ide/Member")
		for _, form := range []struct{ content, want string }{
			{`{"name":"Ada"}`, "Your pet?"}, {`{}`, "Your name?"}} {
			id := c.start(t, "ask", `,"inputResponses":{"who":{"action":"accept","content":`+
				form.content+`}}`).ID
			if got := c.await(t, id, "input_required"); !strings.Contains(fmt.Sprintf("%s", got.Requests),
				form.want) {
				t.Errorf("%s: %s", form.content, got.Requests)
			}
		}
	})
}

// A reader of the log, of the audit or of the store learns no id by which it could reach a task.
func TestNoLogEventOrRecordHasTheIDOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		sink, store := &keeper{}, &created{Store: task.NewMemory()}
		_, url := taskServer(t, newJob(), runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
			Logger: log.logger(),
			Tasks:  runtime.TaskOptions{Store: store}})
		c := newTasks(url, "ada/ide/Member")
		id := c.start(t, "ask", "").ID
		c.await(t, id, "input_required")
		for _, caller := range []*tasksClient{c, newTasks(url, "eve/ide/Member")} {
			caller.do(t, "tasks/get", "other", `"taskId":"`+id+`"`)
			caller.task(t, "tasks/got", id, "")
			caller.task(t, "tasks/update", id, answer("1.who", "Ada")+`,"x":"`+id+`"`)
			caller.task(t, "tasks/cancel", id, "")
		}
		record, err := store.Get(t.Context(), store.made.Owner, store.made.ID)
		if err != nil || record.Status != task.Cancelled {
			t.Errorf("%v %+v", err, record)
		}
		events := fmt.Sprintf("%+v", sink.taken())
		if !strings.Contains(events, "task_cancel") || !strings.Contains(log.String(), "task_cancel") {
			t.Fatal(events, log.String())
		}
		for _, text := range []string{events, log.String(), fmt.Sprintf("%+v", record)} {
			if strings.Contains(text, id) {
				t.Errorf("the id %s is in %s", id, text)
			}
		}
	})
}
