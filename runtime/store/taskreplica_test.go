package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// replicaOf is a server on a database of its own handle, and its endpoint.
func replicaOf(t *testing.T, w watch, url string, tools []toolset.Tool, sink audit.Sink) string {
	t.Helper()
	table := access.Table{Roles: access.DefaultRoles()}
	for i := range tools {
		tools[i].Input = `{"type":"object"}`
		table.Rules = append(table.Rules, access.Rule{Tool: tools[i].Name, Authenticated: true})
	}
	server := must(runtime.New(runtime.Options{
		Tasks: runtime.TaskOptions{Store: watched{open(t, url).Tasks(), w}},
		Audit: runtime.AuditOptions{Sink: sink},
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			return identity.Identity{Principal: access.Principal{Subject: token, Client: "ide"}}, nil
		})}, toolset.NewToolset(toolset.Generated{Package: "example.com/replica",
		Server: toolset.ServerInfo{Name: "replica", Version: "1"}, Table: table, Tools: tools})))
	web := memnet.Start(t, &http.Server{Handler: server.Handler()})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // so that it does not wait for tasks of other tests' handlers
		_ = server.Shutdown(ctx)
	})
	return web + "/mcp"
}

// sendTask sends a message of 2026-07-28 that declares the extension.
func sendTask(t *testing.T, url, user, method, name, params string) string {
	t.Helper()
	req := must(http.NewRequest(http.MethodPost, url, strings.NewReader(fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":`+
			`{"io.modelcontextprotocol/tasks":{}}}},%s}}`, method, params))))
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + user,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		req.Header.Set(name, value)
	}
	res := must((&http.Client{Transport: memnet.Transport{}}).Do(req))
	defer res.Body.Close()
	return string(must(io.ReadAll(res.Body)))
}

// watch has a value while a replica may have changed a task since the last one was taken.
type watch chan struct{}

// watched is a store of tasks that reports its changes.
type watched struct {
	task.Store
	watch watch
}

func (s watched) Change(ctx context.Context, o task.Owner, id string,
	change func(*task.Record) error) (task.Record, error) {
	r, err := s.Store.Change(ctx, o, id, change)
	select {
	case s.watch <- struct{}{}:
	default:
	}
	return r, err
}

// readUntil reads a task of bob, after each change, until its answer has a text.
func (w watch) readUntil(t *testing.T, url, id, text string) string {
	t.Helper()
	for {
		got := sendTask(t, url, "bob", "tasks/get", id, `"taskId":"`+id+`"`)
		if strings.Contains(got, text) {
			return got
		}
		<-w
	}
}

func startTask(t *testing.T, url, tool string) string {
	t.Helper()
	var got struct {
		Result struct {
			ID string `json:"taskId"`
		} `json:"result"`
	}
	text := sendTask(t, url, "bob", "tools/call", tool, `"name":"`+tool+`"`)
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Result.ID == "" {
		t.Fatal(text, err)
	}
	return got.Result.ID
}

type counted struct{ ended chan audit.Event }

func (c counted) Record(_ context.Context, e audit.Event) error {
	if e.Type == audit.TaskEnded {
		c.ended <- e
	}
	return nil
}

// full is a sink that takes no answers to questions.
type full struct{ counted }

func (f full) Record(ctx context.Context, e audit.Event) error {
	if e.Type == audit.TaskUpdate {
		return errors.New("the disk is full")
	}
	return f.counted.Record(ctx, e)
}

func TestReplicasAnswerForEachOthersTasks(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		type form struct {
			Name string `json:"name"`
		}
		stopped, release := make(chan struct{}, 10), make(chan struct{})
		tools := func() []toolset.Tool {
			return []toolset.Tool{
				{Name: "slow", Task: toolset.TaskOptional, Timeout: time.Minute,
					Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
						runtime.Progress(ctx).Report(1, 2, "half")
						select {
						case <-ctx.Done():
							stopped <- struct{}{}
							return toolset.Result{}, ctx.Err()
						case <-release:
							return toolset.Structured(map[string]bool{"done": true}, nil)
						}
					}},
				{Name: "ask", Task: toolset.TaskOptional, Elicits: true,
					Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
						who, err := runtime.Elicit[form](ctx, "who", "Name?")
						return toolset.Structured(map[string]string{"hello": who.Name}, err)
					}},
			}
		}
		sink, w := counted{make(chan audit.Event, 100)}, make(watch, 1)
		a, b := replicaOf(t, w, url, tools(), sink), replicaOf(t, w, url, tools(), sink)
		broken := replicaOf(t, w, url, tools(), full{sink})
		kept := open(t, url).Tasks()
		change := func(id string, change func(*task.Record)) {
			t.Helper()
			sum := sha256.Sum256([]byte(id))
			must(kept.Change(t.Context(), task.Owner{Subject: "bob", Client: "ide"},
				hex.EncodeToString(sum[:]), func(r *task.Record) error { change(r); return nil }))
		}

		asks := startTask(t, a, "ask")
		w.readUntil(t, b, asks, `"input_required"`)
		// An answer that cannot be recorded is not kept, for no replica.
		if got := sendTask(t, broken, "bob", "tasks/update", asks, `"taskId":"`+asks+
			`","inputResponses":{"1.who":{"action":"accept","content":{"name":"Eve"}}}`); !strings.Contains(
			got, "-32603") {
			t.Error(got)
		}
		change(asks, func(r *task.Record) {
			if r.Status != task.InputRequired || len(r.Answers) > 0 {
				t.Errorf("%+v", r)
			}
		})
		sendTask(t, b, "bob", "tasks/update", asks, `"taskId":"`+asks+
			`","inputResponses":{"1.who":{"action":"accept","content":{"name":"Bob"}}}`)
		w.readUntil(t, a, asks, `"hello":"Bob"`)

		cancelled := startTask(t, a, "slow")
		w.readUntil(t, b, cancelled, "1 of 2: half")
		never := sendTask(t, b, "eve", "tasks/get", "x", `"taskId":"x"`)
		for _, method := range []string{"tasks/get", "tasks/cancel"} {
			if got := sendTask(t, b, "eve", method, cancelled,
				`"taskId":"`+cancelled+`"`); got != never {
				t.Errorf("%s by another user: %s", method, got)
			}
		}
		sendTask(t, b, "bob", "tasks/cancel", cancelled, `"taskId":"`+cancelled+`"`)
		w.readUntil(t, a, cancelled, `"cancelled"`)
		select {
		case <-stopped:
		case <-time.After(time.Minute):
			t.Error("the handler on the other replica goes on")
		}

		// A replica that alone could not reach the database, and returns.
		late := startTask(t, a, "slow")
		w.readUntil(t, b, late, "1 of 2: half")
		change(late, func(r *task.Record) { r.Status, r.Run = task.Failed, "" })
		select {
		case <-stopped:
		case <-time.After(time.Minute):
			t.Error("the handler of the replica goes on")
		}

		runs := startTask(t, b, "slow")
		w.readUntil(t, a, runs, `"working"`)
		close(release)
		w.readUntil(t, a, runs, `"done":true`)

		for n := 0; n < 3; n++ { // one for each task that a run has ended
			select {
			case <-sink.ended:
			case <-time.After(time.Minute):
				t.Fatalf("%d tasks have a record of their end", n)
			}
		}
		select {
		case e := <-sink.ended:
			t.Errorf("one more end: %+v", e)
		default:
		}
	})
}
