package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/task"
)

// TasksExtension is the extension of tasks (SEP-2663), which go-sdk does not have.
const TasksExtension = "io.modelcontextprotocol/tasks"

// TaskParams are the params of tasks/get, tasks/update and tasks/cancel.
type TaskParams struct {
	mcp.PingParams // go-sdk's params have a method that is not exported
	ID             string
	// Responses are those of tasks/update by key, undecoded: most keys may be unknown. Nil if they
	// are missing or no object.
	Responses map[string]json.RawMessage
}

// IsTaskMethod reports whether a method is one of the extension's, which go-sdk does not have.
func IsTaskMethod(method string) bool {
	return method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel"
}

func taskParams(p *TaskParams) func(string, decode.Value) {
	return func(name string, value decode.Value) {
		switch is := value.Type(); {
		case name == "taskId" && is == "string":
			p.ID = string(value.Text())
		case name == "inputResponses" && is == "object":
			p.Responses = map[string]json.RawMessage{}
			for key, response := range value.Members() {
				p.Responses[string(key)] = json.RawMessage(response)
			}
		}
	}
}

// DeclaresTasks reports whether the _meta of a message declares the extension.
func DeclaresTasks(meta map[string]any) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, declared := extensions[TasksExtension].(map[string]any)
	return declared
}

// UnknownTask is the error for a task that does not exist, that has expired, that is of another
// principal or client, and whose tool its owner may not use any more. It does not have the id, so
// that all of them have the same bytes.
func UnknownTask() error { return InvalidParams("unknown task") }

// MissingTasks refuses a client that does not declare the extension.
func MissingTasks() error {
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{
		"extensions": map[string]any{TasksExtension: struct{}{}}}}) // plain values
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "the client does not declare the extension " + TasksExtension}
}

// TaskHeaderMismatch refuses an Mcp-Name header that is not the id of the task.
func TaskHeaderMismatch() error {
	return newError(mcp.CodeHeaderMismatch, "the header Mcp-Name must be the taskId of the params")
}

// EncodeTask encodes a task: as the result of the call that has created it, or with what its
// status adds.
func EncodeTask(id string, r task.Record, poll time.Duration, created bool) (*Encoded, error) {
	body := struct {
		ID       string          `json:"taskId"`
		Status   task.Status     `json:"status"`
		Message  string          `json:"statusMessage,omitempty"`
		Created  time.Time       `json:"createdAt"`
		Updated  time.Time       `json:"lastUpdatedAt"`
		TTL      int64           `json:"ttlMs"`
		Poll     int64           `json:"pollIntervalMs"`
		Requests any             `json:"inputRequests,omitempty"`
		Result   json.RawMessage `json:"result,omitempty"`
		Error    json.RawMessage `json:"error,omitempty"`
	}{ID: id, Status: r.Status, Message: r.Message, Created: r.Created, Updated: r.Updated,
		TTL: r.Expires.Sub(r.Created).Milliseconds(), Poll: poll.Milliseconds()}
	e := &Encoded{ResultType: "task"}
	if !created {
		e.ResultType = complete
		switch r.Status {
		case task.InputRequired:
			open := map[string]json.RawMessage{}
			for key, request := range r.Requests {
				if r.Answers[key] == nil {
					open[key] = request
				}
			}
			body.Requests = open
		case task.Completed:
			body.Result = r.Result
		case task.Failed:
			body.Error = r.Result
		}
	}
	var err error
	e.Body, err = Marshal(body)
	return e, err
}

// Acknowledgement is the result of tasks/update and tasks/cancel.
func Acknowledgement() *Encoded { return &Encoded{Body: []byte("{}"), ResultType: complete} }

// EncodeRequests encodes the input requests of one run of a task. Their keys begin with the number
// of the run, because a key means one request in the whole life of a task.
func EncodeRequests(requests mcp.InputRequestMap, run int) (map[string]json.RawMessage, error) {
	encoded := map[string]json.RawMessage{}
	for key, r := range requests {
		_, err := CheckInputRequest(r)
		if err == nil {
			_, err = ElicitSchema(r)
		}
		var one map[string]json.RawMessage
		if err == nil {
			var text []byte
			if text, err = json.Marshal(mcp.InputRequestMap{key: r}); err == nil {
				err = json.Unmarshal(text, &one)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		encoded[fmt.Sprintf("%d.%s", run, key)] = one[key]
	}
	return encoded, nil
}

// CheckAnswers returns the responses to outstanding requests of a task. It ignores those to others,
// and fails for nil, for one of another kind than its request, and for one that does not fit the
// request's schema.
func CheckAnswers(r task.Record,
	responses map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if responses == nil {
		return nil, errors.New("inputResponses is missing, or is not an object")
	}
	checked := map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(responses)) {
		if r.Requests[key] == nil || r.Answers[key] != nil {
			continue
		}
		request, response, err := decodePair(r.Requests[key], responses[key])
		if err != nil || InputKind(request) != InputKind(response) {
			return nil, fmt.Errorf("the response to %q is of another kind than the request", key)
		}
		schema, err := ElicitSchema(request)
		if err == nil {
			err = CheckInputResponse(schema, response)
		}
		if err != nil {
			return nil, fmt.Errorf("the response to %q: %w", key, err)
		}
		if checked[key], err = json.Marshal(response); err != nil {
			return nil, err
		}
	}
	return checked, nil
}

// go-sdk decodes maps of input requests and responses only.
func decodePair(request, response json.RawMessage) (mcp.InputRequest, mcp.InputResponse, error) {
	var requests mcp.InputRequestMap
	if err := json.Unmarshal(underKey(request), &requests); err != nil {
		return nil, nil, err
	}
	decoded, err := decodeResponse(response)
	return requests["k"], decoded, err
}

func decodeResponse(text []byte) (mcp.InputResponse, error) {
	var responses mcp.InputResponseMap
	err := json.Unmarshal(underKey(text), &responses)
	return responses["k"], err
}

func underKey(text []byte) []byte { return slices.Concat([]byte(`{"k":`), text, []byte(`}`)) }

// DecodeAnswers returns the answers to a task's requests, by the keys of its handler.
func DecodeAnswers(r task.Record) (mcp.InputResponseMap, error) {
	if len(r.Answers) == 0 {
		return nil, nil
	}
	prefix := len(fmt.Sprintf("%d.", r.Rounds))
	own := map[string]json.RawMessage{}
	for key, answer := range r.Answers {
		own[key[prefix:]] = answer
	}
	text, err := json.Marshal(own)
	var answers mcp.InputResponseMap
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	return answers, err
}
