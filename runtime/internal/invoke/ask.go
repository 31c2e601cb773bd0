package invoke

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// A handler that asks its client runs again once the client has answered, so that no goroutine
// waits for a person, and each run is decided by the permissions of its time. Tools, prompts and
// resources ask alike, and in every version of the protocol.

var (
	// ErrDeclined reports that the person has declined or cancelled.
	ErrDeclined = errors.New("the user of the client did not agree")
	// ErrCannotElicit reports that the client does not support forms.
	ErrCannotElicit error = wire.NotDeclared{Missing: request.Inputs{Form: true}}
	// ErrCannotSample reports that the client does not support sampling.
	ErrCannotSample error = wire.NotDeclared{Missing: request.Inputs{Sampling: true}}
	// ErrCannotListRoots reports that the client does not support roots.
	ErrCannotListRoots error = wire.NotDeclared{Missing: request.Inputs{Roots: true}}

	errCannotAsk = errors.New("this handler cannot ask its client: write elicits in its //mcp:tool, " +
		"//mcp:prompt or //mcp:resource, and no isolate=process")
)

// asking is what one run of a handler asks its client, and the answers so far.
type asking struct {
	client  request.Inputs
	answers mcp.InputResponseMap // of this message and of those before it, by key

	mu      sync.Mutex
	pending *question
}

type askingKey struct{}

// question is the error by which a handler ends until the client has answered.
type question struct {
	key     string
	request mcp.InputRequest
}

func (*question) Error() string {
	return "waiting for the client: return this error from the handler"
}

// asks returns the context of a run whose handler may ask its client. Neither the answers nor the
// state are the client's invention: the guard and the session have checked them.
func (j *job) asks(ctx context.Context, params mcp.Params) (context.Context, error) {
	a := &asking{client: j.info.Inputs, answers: mcp.InputResponseMap{}}
	responses, state := wire.ResponsesOf(params)
	if state != "" {
		// A handler of go-sdk's shape may have returned a state of its own.
		if err := json.Unmarshal([]byte(state), &a.answers); err != nil && !j.ownState {
			return ctx, err
		}
	}
	for key, response := range responses {
		if !request.IsNil(response) {
			if a.answers == nil {
				a.answers = mcp.InputResponseMap{}
			}
			a.answers[key] = response
		}
	}
	j.asking = a
	return context.WithValue(ctx, askingKey{}, a), nil
}

// ask returns the client's answer to a question. Without one it returns the error by which the
// handler has to end.
func ask[R mcp.InputResponse](ctx context.Context, key string, q mcp.InputRequest) (R, error) {
	var answer R
	a, _ := ctx.Value(askingKey{}).(*asking)
	if a == nil {
		return answer, errCannotAsk
	}
	if known, ok := a.answers[key]; ok {
		if answer, ok = known.(R); !ok {
			return answer, fmt.Errorf("the key %q belongs to a question of another kind", key)
		}
		return answer, nil
	}
	if err := wire.CheckDeclared(a.client, q); err != nil {
		return answer, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = &question{key, q}
	return answer, a.pending
}

// Elicit returns the person's answer as a JSON object that fits the schema.
func Elicit(ctx context.Context, key, message string,
	schema json.RawMessage) (json.RawMessage, error) {
	answer, err := ask[*mcp.ElicitResult](ctx, key,
		&mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: schema})
	if err != nil {
		return nil, err
	}
	if answer.Action != "accept" {
		return nil, ErrDeclined
	}
	return wire.Marshal(answer.Content)
}

// Sample returns a message of the model at the client.
func Sample(ctx context.Context, key string,
	params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	answer, err := ask[*mcp.CreateMessageWithToolsResult](ctx, key, params)
	if err != nil {
		return nil, err
	}
	if len(answer.Content) != 1 {
		return nil, fmt.Errorf("the message has %d contents, and one was expected",
			len(answer.Content))
	}
	return &mcp.CreateMessageResult{Meta: answer.Meta, Content: answer.Content[0],
		Model: answer.Model, Role: answer.Role, StopReason: answer.StopReason}, nil
}

// rootsKey is the key of the one question for roots.
const rootsKey = "mcpgen.roots"

// Roots returns the folders that the client works in.
func Roots(ctx context.Context) ([]*mcp.Root, error) {
	answer, err := ask[*mcp.ListRootsResult](ctx, rootsKey, &mcp.ListRootsParams{})
	if err != nil {
		return nil, err
	}
	return answer.Roots, nil
}

// asked reports whether err is the question of this run, and returns it as input requests, with the
// answers so far as their state.
func (j *job) asked(err error) (inputs mcp.InputRequestMap, state string, ok bool, _ error) {
	var q *question
	if j.asking == nil || !errors.As(err, &q) {
		return nil, "", false, nil
	}
	j.asking.mu.Lock()
	ok = q == j.asking.pending
	j.asking.mu.Unlock()
	if !ok {
		return nil, "", false, nil
	}
	inputs, err = j.inputs(mcp.InputRequestMap{q.key: q.request})
	if err != nil {
		return nil, "", true, err
	}
	answers, err := json.Marshal(j.asking.answers)
	return inputs, string(answers), true, err
}

// inputs checks and copies what a handler asks its client: its schemas, and that the client
// supports it.
func (j *job) inputs(requests mcp.InputRequestMap) (mcp.InputRequestMap, error) {
	copied, err := wire.CopyInputRequests(requests)
	if err != nil {
		return nil, err
	}
	for key, r := range copied {
		if _, err := wire.ElicitSchema(r); err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
	}
	return copied, wire.CheckDeclared(j.info.Inputs, slices.Collect(maps.Values(copied))...)
}

// solicited returns those of the answers that came with the first call which fit what the handler
// has now asked. It does so once for a message. If the handler returned a state of its own, which
// the client must send back, there are none.
func (j *job) solicited(res *mcp.CallToolResult) mcp.InputResponseMap {
	early := j.info.Unsolicited
	if res == nil || res.InputRequests == nil {
		return nil
	}
	j.info.Unsolicited = nil
	own := res.RequestState != ""
	if own && j.asking != nil {
		j.asking.mu.Lock()
		own = j.asking.pending == nil
		j.asking.mu.Unlock()
	}
	if own {
		return nil
	}
	return wire.FittingResponses(res.InputRequests, early)
}

var forms sync.Map // from reflect.Type to json.RawMessage

// Form returns the schema of the form with the fields of a struct. The protocol knows texts,
// numbers and booleans only (specification 2025-11-25, client/elicitation).
func Form(t reflect.Type) (json.RawMessage, error) {
	if known, ok := forms.Load(t); ok {
		return known.(json.RawMessage), nil
	}
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a form must be a struct, and %v is not", t)
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("the form %v: %w", t, err)
	}
	plain := []string{"string", "number", "integer", "boolean"}
	for name, field := range s.Properties {
		if !slices.Contains(plain, field.Type) {
			return nil, fmt.Errorf("the form %v: %s is neither a string, a number nor a bool", t,
				name)
		}
	}
	s.AdditionalProperties = nil
	text, err := wire.Marshal(s)
	if err == nil {
		forms.Store(t, json.RawMessage(text))
	}
	return text, err
}
