package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is what a handler may ask its caller in a multi-round-trip request.
type question string

const (
	elicitation question = "e"
	sampling    question = "s"
	roots       question = "r"
)

// questions checks what a handler asks, and copies it. For sessions before 2026-07-28 go-sdk asks
// in goroutines of its own, outside of any recover, where a nil among the questions ends the
// process; a copy made by way of JSON holds nothing that can panic, and nothing that the
// handler still writes to.
//
// It must run under recover: questions marshal themselves.
func questions(asked mcp.InputRequestMap) (mcp.InputRequestMap, error) {
	if asked == nil {
		return nil, nil
	}
	schemas := map[string]json.RawMessage{}
	for key, q := range asked {
		if err := checkQuestion(q); err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		if e, ok := q.(*mcp.ElicitParams); ok && e.RequestedSchema != nil {
			raw, err := marshal(e.RequestedSchema)
			if err != nil {
				return nil, fmt.Errorf("input request %q: its schema: %w", key, err)
			}
			schemas[key] = raw
		}
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("input requests: %w", err)
	}
	var out mcp.InputRequestMap
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("input requests: %w", err)
	}
	for key, schema := range schemas {
		// As it was written: a decoded one would have its numbers rounded.
		if e, ok := out[key].(*mcp.ElicitParams); ok && string(schema) != "null" {
			e.RequestedSchema = schema
		}
	}
	return out, nil
}

var (
	errNilQuestion = errors.New("it is nil: leave it out")
	errNilMessage  = errors.New("a nil message or content: leave it out")
)

func checkQuestion(q mcp.InputRequest) error {
	if isNil(q) {
		return errNilQuestion
	}
	isNilContent := func(c mcp.Content) bool { return isNil(c) }
	switch p := q.(type) {
	//lint:ignore SA1019 deprecated in 2026-07-28, and still what older clients can be asked
	case *mcp.CreateMessageParams:
		for _, m := range p.Messages {
			if m == nil || isNil(m.Content) {
				return errNilMessage
			}
		}
	//lint:ignore SA1019 as above
	case *mcp.CreateMessageWithToolsParams:
		for _, m := range p.Messages {
			if m == nil || slices.ContainsFunc(m.Content, isNilContent) {
				return errNilMessage
			}
		}
	}
	_, err := kindOf(q)
	return err
}

// kindOf tells what kind of answer a question has.
func kindOf(q mcp.InputRequest) (question, error) {
	switch q.(type) {
	case *mcp.ElicitParams:
		return elicitation, nil
	//lint:ignore SA1019 see checkQuestion
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams:
		return sampling, nil
	//lint:ignore SA1019 see checkQuestion
	case *mcp.ListRootsParams:
		return roots, nil
	}
	return "", fmt.Errorf("a %T is not one: ask by elicitation, sampling or roots", q)
}

// answers reports whether an answer is of the question's kind.
func (q question) answers(a mcp.InputResponse) bool {
	if isNil(a) {
		return false
	}
	switch a.(type) {
	case *mcp.ElicitResult:
		return q == elicitation
	//lint:ignore SA1019 see checkQuestion
	case *mcp.CreateMessageResult, *mcp.CreateMessageWithToolsResult:
		return q == sampling
	//lint:ignore SA1019 see checkQuestion
	case *mcp.ListRootsResult:
		return q == roots
	}
	return false
}
