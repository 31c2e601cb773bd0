package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// An event is one line of JSON, which is indented here.
func ExampleJSONLines() {
	var line, shown bytes.Buffer
	sink := audit.JSONLines(&line)
	err := sink.Record(context.Background(), audit.Event{
		Time: time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC), Type: audit.ToolCalled,
		RequestID: "ni2yqkmcyxzmmd4fcjlbjgzbnu", Principal: "mel", Roles: []string{"Member"},
		Tool: "delete_parts", Status: audit.Failed, Failure: audit.Denied,
		Axis: "role", Missing: "needs role Admin", Milliseconds: 0.25,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := json.Indent(&shown, line.Bytes(), "", "  "); err != nil {
		log.Fatal(err)
	}
	fmt.Print(shown.String())
	// Output:
	// {
	//   "timestamp": "2026-11-24T09:30:00Z",
	//   "event_type": "tool_called",
	//   "request_id": "ni2yqkmcyxzmmd4fcjlbjgzbnu",
	//   "principal": "mel",
	//   "roles": [
	//     "Member"
	//   ],
	//   "tool_name": "delete_parts",
	//   "status": "failed",
	//   "failure": "denied",
	//   "axis": "role",
	//   "missing": "needs role Admin",
	//   "execution_time_ms": 0.25
	// }
}

// A server records to a file that is rotated, and to its log. Both must succeed.
func ExampleMulti() {
	file, err := audit.Rotating("/var/log/mcp/audit.jsonl", audit.RotateOptions{
		MaxAge: 24 * time.Hour, Keep: 90})
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	sink := audit.Multi(file, audit.Slog(slog.Default()))
	_ = sink // for runtime.Options.Audit.Sink
}

// A sink of your own. After its error, the server refuses the request.
func ExampleSinkFunc() {
	queue := make(chan audit.Event, 100)
	sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		select {
		case queue <- e:
			return nil
		case <-ctx.Done():
			return errors.New("the queue is full")
		}
	})
	_ = sink // for runtime.Options.Audit.Sink
}
