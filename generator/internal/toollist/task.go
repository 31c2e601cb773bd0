package toollist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the extension by which a call may become a task (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// unavailable is the code of servers of mcpgen that cannot read their tasks now.
const unavailable = 503

// task is a task as results contain it.
type task struct {
	ID      string          `json:"taskId"`
	Status  string          `json:"status"`
	Message string          `json:"statusMessage"`
	Poll    int64           `json:"pollIntervalMs"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// wait reads a task until it ends, and returns the result of its call. progress gets each new
// message of the task.
func (s *Session) wait(ctx context.Context, t task, progress func(string)) (
	*mcp.CallToolResult, error) {
	for shown := ""; ; {
		if t.Message != shown && t.Status == "working" {
			shown = t.Message
			progress(shown)
		}
		switch t.Status {
		case "completed":
			result := &mcp.CallToolResult{}
			if err := json.Unmarshal(t.Result, result); err != nil {
				return nil, fmt.Errorf("the result of the task: %w", printable{err})
			}
			var p page
			if err := json.Unmarshal(t.Result, &p); err == nil && p.StructuredContent != nil {
				result.StructuredContent = p.StructuredContent
			}
			return result, nil
		case "failed":
			return nil, fmt.Errorf("the task failed: %w", printable{errors.New(string(t.Error))})
		case "cancelled":
			return nil, errors.New("the task was cancelled")
		case "input_required":
			_, err := s.request(ctx, "tasks/cancel", t.ID)
			return nil, errors.Join(errors.New("the tool asks its client a question, so "+
				"mcpgen cancelled the task: use a client that supports it"), err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the task %s goes on without this command: use a longer --timeout: %w",
				Line(t.ID), ctx.Err())
		case <-time.After(max(time.Duration(t.Poll)*time.Millisecond, 100*time.Millisecond)):
		}
		result, err := s.request(ctx, "tasks/get", t.ID)
		if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok && rpc.Code == unavailable {
			continue // the task goes on
		}
		if err != nil {
			return nil, err
		}
		id := t.ID
		if t = (task{}); json.Unmarshal(result, &t) != nil || t.Status == "" {
			return nil, errors.New("tasks/get: the result is no task")
		}
		t.ID = id
	}
}

// request sends a request about a task, which go-sdk's client does not have.
func (s *Session) request(ctx context.Context, method, id string) (json.RawMessage, error) {
	version := s.session.InitializeResult().ProtocolVersion
	params, err := json.Marshal(map[string]any{"taskId": id, "_meta": map[string]any{
		mcp.MetaKeyProtocolVersion:    version,
		mcp.MetaKeyClientInfo:         implementation,
		mcp.MetaKeyClientCapabilities: map[string]any{"extensions": extensions},
	}})
	if err != nil {
		return nil, err
	}
	number, err := jsonrpc.MakeID("task " + id)
	if err != nil {
		return nil, err
	}
	r := &jsonrpc.Request{ID: number, Method: method, Params: params}
	response, err := s.send(ctx, r, id, version)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", method, NetworkError(ctx, err))
	case response.Error != nil:
		return nil, fmt.Errorf("%s: %w", method, printable{response.Error})
	}
	return response.Result, nil
}

// send sends a request and waits for its response.
func (s *Session) send(ctx context.Context, r *jsonrpc.Request, name, version string) (
	*jsonrpc.Response, error) {
	if s.client == nil {
		responses := s.tap.expect(r.ID)
		if err := s.tap.connection.Write(ctx, r); err != nil {
			return nil, err
		}
		select {
		case response := <-responses:
			return response, nil
		case <-s.tap.ended:
			return nil, mcp.ErrConnectionClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	body, err := jsonrpc.EncodeMessage(r)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint,
		bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for header, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": version,
		"Mcp-Method": r.Method, "Mcp-Name": name} {
		request.Header.Set(header, value)
	}
	got, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body) // the tap bounds it
	if err != nil {
		return nil, err
	}
	for _, m := range messages(got.Header.Get("Content-Type"), text) {
		message, err := jsonrpc.DecodeMessage(m)
		response, ok := message.(*jsonrpc.Response)
		if err == nil && ok && response.ID == r.ID {
			return response, nil
		}
	}
	return nil, fmt.Errorf("the status %d has no response", got.StatusCode)
}

// expect returns a channel for the response to a request of a stdio server, which go-sdk does not
// see.
func (t *tap) expect(id jsonrpc.ID) <-chan *jsonrpc.Response {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected, t.responses = id, make(chan *jsonrpc.Response, 1)
	return t.responses
}

// take reports whether a response is the expected one, and delivers it.
func (t *tap) take(response *jsonrpc.Response) bool {
	if t.responses == nil || response.ID != t.expected {
		return false
	}
	t.responses <- response
	t.responses = nil
	return true
}
