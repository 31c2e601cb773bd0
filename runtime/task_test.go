package runtime_test

import (
	"context"
	"net/http"
	"regexp"
	goruntime "runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// An answer that waits for the store has the value of its caller until the credential ends, and no
// longer.
func TestAnswerThatWaitsForgetsAnExpiredCredential(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type content struct{ secret string }
		var last atomic.Pointer[weak.Pointer[content]]
		w := &scenarioWorld{t: t, storeFails: map[string]string{}}
		w.store = &scenarioStore{Store: task.NewMemory(), w: w}
		source := identity.Bearer(func(context.Context, string) (id identity.Identity, _ error) {
			c := &content{"hunter2"}
			last.Store(new(weak.Make(c)))
			id.Principal = access.Principal{Issuer: "test", Subject: "ada", Roles: []string{"Member"}}
			id.Expires, id.Value = time.Now().Add(time.Minute), identity.NewValue(c, c.secret)
			return id, nil
		})
		c := &raw{era: "2026-07-28", token: "x", url: serve(t, newServer(t, runtime.Options{
			Tasks: runtime.TaskOptions{Store: w.store}, Identity: source},
			toolset.NewToolset(scripted(w))))}
		do := func(method, name, params string) reply {
			return c.send(t, http.MethodPost, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},`+
				`"extensions":{"io.modelcontextprotocol/tasks":{}}}},`+params+`}}`,
				map[string]string{"Mcp-Method": method, "Mcp-Name": name})
		}
		started := do("tools/call", "task", `"name":"task","arguments":{"do":"elicit who Your name?"}`)
		id := regexp.MustCompile(`"taskId":"(\w+)"`).FindStringSubmatch(started.body)[1]
		time.Sleep(time.Second) // until it asks
		if err := w.do("store", "change disk full"); err != nil {
			t.Fatal(err)
		}
		if got := do("tasks/update", id, `"taskId":"`+id+
			`","inputResponses":{"1.who":{"action":"accept","content":{"name":"Ada"}}}`); got.status != 503 {
			t.Fatal(got)
		}
		value := last.Load()
		collect := func() {
			synctest.Wait()
			for range 3 { // the second one empties pools
				goruntime.GC()
			}
		}
		time.Sleep(59 * time.Second)
		if collect(); value.Value() == nil {
			t.Error("the answer has no value for its run")
		}
		time.Sleep(2 * time.Second)
		if collect(); value.Value() != nil {
			t.Error("the answer keeps the value of a credential that has expired")
		}
	})
}
