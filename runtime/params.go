package runtime

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// go-sdk decodes the params of a message before any middleware, and the error of params that do
// not fit repeats all of them, passwords included, with the names of its Go types. So whatever
// it would refuse is refused here, in words that hold no value.

// paramsTypes are the params of every method that go-sdk's server knows. Those of a method that is not
// here are taken away: go-sdk does not know it, or an adopted server's owner added it, and then
// the guard refuses it anyway.
var paramsTypes = map[string]reflect.Type{
	"initialize":                reflect.TypeFor[mcp.InitializeParams](),
	"ping":                      reflect.TypeFor[mcp.PingParams](),
	"server/discover":           reflect.TypeFor[mcp.DiscoverParams](),
	"tools/list":                reflect.TypeFor[mcp.ListToolsParams](),
	"tools/call":                reflect.TypeFor[mcp.CallToolParamsRaw](),
	"prompts/list":              reflect.TypeFor[mcp.ListPromptsParams](),
	"prompts/get":               reflect.TypeFor[mcp.GetPromptParams](),
	"resources/list":            reflect.TypeFor[mcp.ListResourcesParams](),
	"resources/templates/list":  reflect.TypeFor[mcp.ListResourceTemplatesParams](),
	"resources/read":            reflect.TypeFor[mcp.ReadResourceParams](),
	"resources/subscribe":       reflect.TypeFor[mcp.SubscribeParams](),
	"resources/unsubscribe":     reflect.TypeFor[mcp.UnsubscribeParams](),
	"subscriptions/listen":      reflect.TypeFor[mcp.SubscriptionsListenParams](),
	"completion/complete":       reflect.TypeFor[mcp.CompleteParams](),
	"notifications/initialized": reflect.TypeFor[mcp.InitializedParams](),
	"notifications/cancelled":   reflect.TypeFor[mcp.CancelledParams](),
	"notifications/progress":    reflect.TypeFor[mcp.ProgressNotificationParams](),
	//lint:ignore SA1019 deprecated in 2026-07-28, and still decoded
	"logging/setLevel": reflect.TypeFor[mcp.SetLoggingLevelParams](),
	//lint:ignore SA1019 as above
	"notifications/roots/list_changed": reflect.TypeFor[mcp.RootsListChangedParams](),
}

// paramsShapes are read from the types once, so that they follow go-sdk by themselves.
var paramsShapes = sync.OnceValue(func() map[string]*shape {
	shapes := make(map[string]*shape, len(paramsTypes))
	for method, t := range paramsTypes {
		shapes[method] = shapeOf(t)
	}
	return shapes
})

// shape is what go-sdk's decoder takes for one Go type: null, and one kind of value.
type shape struct {
	json   string            // the type in words of JSON Schema; empty for any
	bits   int               // of an integer or a number
	item   *shape            // of an array, and of an object without fields of its own
	fields map[string]*shape // of an object; others are dropped unread
	raw    bool              // kept as text, whatever it is
	own    reflect.Type      // decodes itself
}

var (
	rawMessage  = reflect.TypeFor[json.RawMessage]()
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
)

// shapeOf reads a type of go-sdk's params. None of them is recursive but by types that decode themselves.
func shapeOf(t reflect.Type) *shape {
	switch {
	case t == rawMessage:
		return &shape{raw: true}
	case reflect.PointerTo(t).Implements(unmarshaler):
		return &shape{own: t}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shapeOf(t.Elem())
	case reflect.String:
		return &shape{json: "string"}
	case reflect.Bool:
		return &shape{json: "boolean"}
	case reflect.Float32, reflect.Float64:
		return &shape{json: "number", bits: t.Bits()}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &shape{json: "integer", bits: t.Bits()}
	case reflect.Slice:
		return &shape{json: "array", item: shapeOf(t.Elem())}
	case reflect.Map:
		return &shape{json: "object", item: shapeOf(t.Elem())}
	case reflect.Struct:
		s := &shape{json: "object", fields: map[string]*shape{}}
		for f := range fieldsOf(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			if name != "-" {
				s.fields[name] = shapeOf(f.Type)
			}
		}
		return s
	}
	return &shape{}
}

// fieldsOf yields the fields that JSON can see.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && !yield(f) {
				return
			}
		}
	}
}

// misfit refuses params that do not fit. The text is JSON that was scanned already.
func (s *shape) misfit(params []byte) *messageError {
	found := s.check(params)
	if len(found) == 0 {
		return nil
	}
	return &messageError{code: jsonrpc.CodeInvalidParams, text: "invalid params: ", what: decode.NewError(found)}
}

// check tells what of a value does not fit, without the value.
func (s *shape) check(text []byte) []decode.Problem {
	is := typeOf(text[0])
	switch {
	case s.raw || is == "null":
		return nil
	case s.own != nil:
		if decodes(s.own, text) {
			return nil
		}
		return problem(misfits(s.own))
	case s.json == "":
		if s = anyShapes[is]; s == nil {
			return nil
		}
	case is != s.json && (is != "number" || s.json != "integer"):
		return problem(decode.SaysType(is, s.json))
	}
	var found []decode.Problem
	switch s.json {
	case "integer":
		if _, err := strconv.ParseInt(string(text), 10, s.bits); err != nil {
			return problem("is not an integer in range")
		}
	case "number":
		if _, err := strconv.ParseFloat(string(text), s.bits); err != nil {
			return problem(decode.SaysFloatRange(s.bits))
		}
	case "array":
		eachItem(text, func(i int, value []byte) bool {
			found = inside(found, s.item.check(value), strconv.Itoa(i))
			return len(found) <= decode.MaxProblems
		})
	case "object":
		eachMember(text, func(name, value []byte) bool {
			member := s.item
			if s.fields != nil {
				member = s.fields[string(name)]
			}
			if member != nil && !member.raw {
				found = inside(found, member.check(value), string(name))
			}
			return len(found) <= decode.MaxProblems
		})
	}
	return found
}

func problem(says string) []decode.Problem { return []decode.Problem{{Message: says}} }

// inside adds the problems of a member.
func inside(found, inner []decode.Problem, name string) []decode.Problem {
	for _, p := range inner {
		found = append(found, decode.Problem{Pointer: decode.Pointer("", name) + p.Pointer, Message: p.Message})
	}
	return found
}

// anyShapes is what a value of any type is looked at for: its numbers become float64.
var anyShapes = map[string]*shape{
	"number": {json: "number", bits: 64},
	"array":  {json: "array", item: &shape{}},
	"object": {json: "object", item: &shape{}},
}

// decodes asks a type that decodes itself, which is what go-sdk does with it. A panic would end the process
// there, where nobody recovers.
func decodes(t reflect.Type, text []byte) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return json.Unmarshal(text, reflect.New(t).Interface()) == nil
}

func misfits(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[mcp.CompleteReference]():
		return `is not a reference: {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}`
	case reflect.TypeFor[mcp.InputResponseMap]():
		return "is not an object of answers to input requests"
	}
	return decode.SaysRefused
}

// typeOf is the type of the JSON value that begins with a byte.
func typeOf(first byte) string {
	switch first {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}
