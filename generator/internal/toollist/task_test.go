package toollist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// tasker serves one tool, whose task has the fields of statuses, one after the other. It returns
// the methods of requests.
func tasker(t *testing.T, statuses ...string) (*Session, func() string) {
	t.Helper()
	var mu sync.Mutex
	var methods []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ TaskID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		methods = append(methods, m.Method)
		result := `{}`
		switch m.Method {
		case "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],
				"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/call":
			result = `{"resultType":"task","taskId":"x","status":"working","pollIntervalMs":1}`
		case "tasks/get":
			result, statuses = `{"resultType":"complete",`+statuses[0]+`}`, statuses[1:]
			if m.Params.TaskID != "x" || r.Header.Get("Mcp-Name") != "x" ||
				r.Header.Get("Mcp-Method") != m.Method {
				t.Errorf("%+v, headers %v", m, r.Header)
			}
		}
		w.Header().Set("Content-Type", "application/json")
		member := "result"
		if strings.Contains(result, `"code":503`) {
			member, result = "error", `{"code":503,"message":"try again later"}`
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, member, result)
	}))
	t.Cleanup(s.Close)
	session, err := Dial(t.Context(), s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(methods[1:], " ")
	}
}

func TestCallWaitsForItsTask(t *testing.T) {
	session, methods := tasker(t, `"status":"working","statusMessage":"one"`,
		`"code":503`, `"status":"working","statusMessage":"two"`,
		`"status":"completed","result":{"content":[],"structuredContent":{"n":9007199254740993}}`)
	var messages []string
	result, err := session.Call(t.Context(), "slow", nil, func(message string) {
		messages = append(messages, message)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := result.StructuredContent.(json.RawMessage); string(got) != `{"n":9007199254740993}` {
		t.Errorf("%s", got)
	}
	if got := strings.Join(messages, " "); got != "one two" {
		t.Errorf("messages %q", got)
	}
	if got := methods(); got != "tools/call tasks/get tasks/get tasks/get tasks/get" {
		t.Error(got)
	}
}

func TestCallThatEndsBeforeItsTaskNamesTheTask(t *testing.T) {
	session, _ := tasker(t, `"status":"working","statusMessage":"one"`)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := session.Call(ctx, "slow", nil, func(string) { cancel() })
	if err == nil || !strings.Contains(err.Error(), "the task x goes on without this command") ||
		!errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTasksWithoutAResult(t *testing.T) {
	for status, want := range map[string][2]string{
		`"status":"failed","error":{"code":-1,"message":"\u001bbad"}`: {"the task failed", "get"},
		`"status":"cancelled"`:      {"the task was cancelled", "get"},
		`"status":"input_required"`: {"mcpgen cancelled the task", "cancel"},
		`"other":1`:                 {"the result is no task", "get"},
	} {
		session, methods := tasker(t, status)
		_, err := session.Call(t.Context(), "slow", nil, nil)
		if err == nil || !strings.Contains(err.Error(), want[0]) ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %v", status, err)
		}
		if !strings.HasSuffix(methods(), "tasks/"+want[1]) {
			t.Errorf("%s: %s", status, methods())
		}
	}
}
