package runtime_test

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"context"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// crowd is an identity source of any number of people: the token is the name.
func crowd() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: token,
			Roles: []string{"Member"}}}, nil
	})
}

// Each of a hundred clients receives the messages of its own calls, on the answer to each, and
// nothing of any other's; and the server's log has each line under the right ids.
func TestLogsOfConcurrentCallersNeverCross(t *testing.T) {
	t.Parallel()
	const clients, calls, says = 100, 3, 4
	var log lines
	var all sync.WaitGroup // of handlers: they run at once, some of each client
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo), Identity: crowd(),
		HTTP: runtime.HTTPOptions{MaxSessions: 2 * clients}},
		oneTool("work", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			marker := strings.Trim(string(call.Arguments), `{}"m:`)
			l := runtime.Logger(ctx)
			for i := range says {
				l.Info("m", "marker", marker, "i", i, "id", runtime.RequestID(ctx))
				runtime.Progress(ctx).Report(float64(i+1), says, marker)
				goruntime.Gosched()
			}
			return toolset.Structured(map[string]any{"marker": marker,
				"id": runtime.RequestID(ctx)}, nil)
		}))
	s.Linger()
	url := serve(t, s)
	for client := range clients {
		all.Go(func() {
			who, era := fmt.Sprintf("user-%d", client), eras[client%len(eras)]
			var l *listener
			if client%10 == 9 {
				l = overPipe(t, s, access.Principal{Issuer: "test", Subject: who, Roles: []string{"Member"}},
					era)
			} else {
				l = overHTTP(t, url, who, era)
			}
			l.wants(t, "info")
			var own sync.WaitGroup
			for call := range calls {
				own.Go(func() {
					marker := fmt.Sprintf("%s-%d", who, call)
					mine := *l
					mine.meta = strings.TrimPrefix(mine.meta+fmt.Sprintf(`,"progressToken":%q`,
						marker), ",")
					got := mine.call(t, "work", `{"m":"`+marker+`"}`)
					id := ""
					for i, m := range got {
						if m.Method == "notifications/message" &&
							(m.Params.Data["marker"] != marker ||
								m.Params.Data["id"] != m.Params.Data["request_id"]) ||
							m.Method == "notifications/progress" && (m.Params.Message != marker ||
								string(m.Params.ProgressToken) != fmt.Sprintf("%q", marker)) {
							t.Errorf("%s received %s", marker, m.text)
						}
						if last := i == len(got)-1; last != (m.ID != nil) || last &&
							!strings.Contains(string(m.Result.StructuredContent), `"`+marker+`"`) {
							t.Errorf("%s is answered %s", marker, m.text)
						}
						if m.Method == "notifications/message" {
							id, _ = m.Params.Data["id"].(string)
						}
					}
					p := got.progress()
					if len(got.logs()) != says || len(p) == 0 ||
						p[len(p)-1].Params.Progress != says ||
						!strings.Contains(got[len(got)-1].text, id) {
						t.Errorf("%s received %s", marker, got)
					}
				})
			}
			own.Wait()
		})
	}
	all.Wait()
	written := log.of(t, "m")
	for _, line := range written {
		marker, _ := line["marker"].(string)
		if line["id"] != line["request_id"] || line["tool"] != "work" ||
			!strings.HasPrefix(marker, fmt.Sprint(line["principal"])+"-") {
			t.Errorf("the server's log has %v", line)
		}
	}
	if want := clients * calls * says; len(written) != want {
		t.Errorf("the server's log has %d lines, want %d", len(written), want)
	}
}
