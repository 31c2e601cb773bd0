package invoke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// A handler that elicits runs again once the person has answered, so that no goroutine waits for a
// person, and each run is decided by the permissions of its time.

var (
	// ErrDeclined reports that the person has declined or cancelled.
	ErrDeclined = errors.New("the user of the client did not agree")
	// ErrCannotElicit reports that the client cannot ask its person.
	ErrCannotElicit = errors.New("the client does not support elicitation")

	errNotDeclared = errors.New("this handler cannot elicit: it must be a tool with elicits in " +
		"its //mcp:tool and without isolate=process")
)

// elicitation is what one run of a handler asks the person at the client.
type elicitation struct {
	can     bool                         // the client can ask its person
	answers map[string]*mcp.ElicitResult // of this message and of those before it, by key

	mu      sync.Mutex
	pending *question
}

type elicitKey struct{}

// question is the error by which a handler ends until the person has answered.
type question struct {
	key, message string
	schema       json.RawMessage
}

func (*question) Error() string {
	return "waiting for the user of the client: return this error from the handler"
}

// Elicit returns the person's answer as a JSON object that fits the schema. Without an answer it
// returns the error by which the handler has to end.
func Elicit(ctx context.Context, key, message string,
	schema json.RawMessage) (json.RawMessage, error) {
	e, _ := ctx.Value(elicitKey{}).(*elicitation)
	if e == nil {
		return nil, errNotDeclared
	}
	if answer := e.answers[key]; answer != nil {
		if answer.Action != "accept" {
			return nil, ErrDeclined
		}
		return wire.Marshal(answer.Content)
	}
	if !e.can {
		return nil, ErrCannotElicit
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pending = &question{key, message, schema}
	return nil, e.pending
}

// elicitation returns what the run of a tool that elicits knows. Neither the answers nor the state
// are the client's invention: the guard and the bridge have checked them.
func (c *call) elicitation() (*elicitation, error) {
	e := &elicitation{can: c.info.Elicits, answers: map[string]*mcp.ElicitResult{}}
	if state := c.request.Params.RequestState; state != "" && !c.tool.SDK {
		if err := json.Unmarshal([]byte(state), &e.answers); err != nil {
			return nil, err
		}
	}
	for key, response := range c.request.Params.InputResponses {
		if answer, ok := response.(*mcp.ElicitResult); ok && answer != nil {
			e.answers[key] = answer
		}
	}
	return e, nil
}

// ask returns the result that asks the question, with the answers so far as its state.
func (e *elicitation) ask(q *question) (out toolReturned, err error) {
	requests := mcp.InputRequestMap{q.key: &mcp.ElicitParams{
		Mode: "form", Message: q.message, RequestedSchema: q.schema}}
	out.result = &mcp.CallToolResult{}
	if out.result.InputRequests, err = wire.CopyInputRequests(requests); err != nil {
		return out, err
	}
	state, err := json.Marshal(e.answers)
	out.result.RequestState = string(state)
	return out, err
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
