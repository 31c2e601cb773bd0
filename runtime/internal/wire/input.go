package wire

//lint:file-ignore SA1019 deprecated in 2026-07-28, and still what older clients support

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// InputKind returns the kind of input that a request asks for or a response contains: "e" for
// elicitation, "s" for sampling, "r" for roots. It is empty for nil and for other values.
func InputKind(v any) string {
	if request.IsNil(v) {
		return ""
	}
	switch v.(type) {
	case *mcp.ElicitParams, *mcp.ElicitResult:
		return "e"
	case *mcp.CreateMessageParams, *mcp.CreateMessageWithToolsParams,
		*mcp.CreateMessageResult, *mcp.CreateMessageWithToolsResult:
		return "s"
	case *mcp.ListRootsParams, *mcp.ListRootsResult:
		return "r"
	}
	return ""
}

var errNilMessage = errors.New("a nil message or content: remove it")

// CheckInputRequest returns the kind of an input request. It refuses one that is nil, contains nil
// or is of no known kind.
func CheckInputRequest(r mcp.InputRequest) (kind string, err error) {
	if request.IsNil(r) {
		return "", errors.New("it is nil: remove it")
	}
	isNil := func(c mcp.Content) bool { return request.IsNil(c) }
	switch p := r.(type) {
	case *mcp.CreateMessageParams:
		for _, m := range p.Messages {
			if m == nil || isNil(m.Content) {
				return "", errNilMessage
			}
		}
	case *mcp.CreateMessageWithToolsParams:
		for _, m := range p.Messages {
			if m == nil || slices.ContainsFunc(m.Content, isNil) {
				return "", errNilMessage
			}
		}
	}
	if kind = InputKind(r); kind == "" {
		err = fmt.Errorf("a %T is not an input request: use elicitation, sampling or roots", r)
	}
	return kind, err
}

// CopyInputRequests checks and copies a handler's input requests, by way of JSON: go-sdk sends them
// without recover, so that they must not panic. Call it under recover: requests marshal themselves.
func CopyInputRequests(requests mcp.InputRequestMap) (mcp.InputRequestMap, error) {
	if requests == nil {
		return nil, nil
	}
	for key, r := range requests {
		if _, err := CheckInputRequest(r); err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
	}
	var copied mcp.InputRequestMap
	raw, err := json.Marshal(requests)
	if err == nil {
		err = json.Unmarshal(raw, &copied)
	}
	if err != nil {
		return nil, fmt.Errorf("input requests: %w", err)
	}
	for key, r := range copied {
		to, _ := r.(*mcp.ElicitParams)
		from, _ := requests[key].(*mcp.ElicitParams)
		if to == nil || from == nil || to.RequestedSchema == nil {
			continue
		}
		// The original text: decoding would round its numbers.
		schema, err := Marshal(from.RequestedSchema)
		if err != nil {
			return nil, fmt.Errorf("input request %q: its schema: %w", key, err)
		}
		to.RequestedSchema = json.RawMessage(schema)
	}
	return copied, nil
}

// ElicitSchema returns the schema of the form that an input request contains, nil for none. It
// fails for a schema that no answer can be checked against, and for one with a number that clients
// in JavaScript round.
func ElicitSchema(r mcp.InputRequest) (json.RawMessage, error) {
	p, _ := r.(*mcp.ElicitParams)
	if p == nil || request.IsNil(p.RequestedSchema) {
		return nil, nil
	}
	schema, err := Marshal(p.RequestedSchema)
	if err == nil {
		err = exact(schema)
	}
	if err == nil {
		_, err = resolve(schema)
	}
	if err == nil {
		err = flat(decode.Value(schema))
	}
	if err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	return schema, nil
}

// flat reports a field that is an object or a list of anything but choices: no form of a client has
// such a field (specification 2025-11-25, client/elicitation).
func flat(schema decode.Value) error {
	for name, field := range schema.Member("properties").Members() {
		has := func(keyword string) bool { return len(field.Member("items").Member(keyword)) > 0 }
		switch is := string(field.Member("type").Text()); {
		case is == "object" || field.Member("properties") != nil:
			return fmt.Errorf("%s is an object: a form has texts, numbers, booleans and choices", name)
		case is == "array" && !has("enum") && !has("anyOf") && !has("oneOf"):
			return fmt.Errorf("%s is a list without choices: add enum or anyOf to its items", name)
		}
	}
	return nil
}

// exact reports a number beyond ±(2^53-1).
func exact(schema []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n, ok := token.(json.Number); ok {
			if f, err := n.Float64(); err != nil || math.Abs(f) > 1<<53-1 {
				return fmt.Errorf("the number %s is beyond ±9007199254740991, up to which "+
					"every client keeps a number as it is", n)
			}
		}
	}
}

func errorIf(wrong bool, text string) error {
	if wrong {
		return errors.New(text)
	}
	return nil
}

func resolve(schema []byte) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// CheckInputResponse checks an answer against the schema that was sent with its question, nil for
// none, and fills in the schema's defaults. No content is an empty object. It refuses messages and
// roots of null.
func CheckInputResponse(schema json.RawMessage, r mcp.InputResponse) error {
	switch p := r.(type) {
	case *mcp.CreateMessageResult:
		return errorIf(request.IsNil(p.Content), "it has no content")
	case *mcp.CreateMessageWithToolsResult:
		isNil := func(c mcp.Content) bool { return request.IsNil(c) }
		return errorIf(len(p.Content) == 0 || slices.ContainsFunc(p.Content, isNil),
			"it has no content")
	case *mcp.ListRootsResult:
		return errorIf(slices.Contains(p.Roots, nil), "a root is null")
	}
	form, _ := r.(*mcp.ElicitResult)
	if form == nil {
		return nil
	}
	switch form.Action {
	case "accept":
	case "decline", "cancel":
		return nil
	default:
		return errors.New("its action is unknown: use accept, decline or cancel")
	}
	if schema == nil {
		return nil
	}
	resolved, err := resolve(schema)
	if err != nil {
		return err
	}
	if form.Content == nil {
		form.Content = map[string]any{}
	}
	if resolved.Validate(form.Content) != nil { // its words contain the answer
		return errors.New("its content does not match the schema of the request")
	}
	return resolved.ApplyDefaults(&form.Content)
}
