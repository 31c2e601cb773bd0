package wire

//lint:file-ignore SA1019 log messages and roots are deprecated in 2026-07-28, and still decoded

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// The errors of encoding/json repeat params, passwords included. So this file refuses misfits
// first.

// ParamsTypes returns the types of the params of every method, but for the extension of tasks.
var ParamsTypes = sync.OnceValue(func() map[string]reflect.Type {
	return map[string]reflect.Type{
		"initialize":                       reflect.TypeFor[mcp.InitializeParams](),
		"ping":                             reflect.TypeFor[mcp.PingParams](),
		"server/discover":                  reflect.TypeFor[mcp.DiscoverParams](),
		"tools/list":                       reflect.TypeFor[mcp.ListToolsParams](),
		"tools/call":                       reflect.TypeFor[mcp.CallToolParamsRaw](),
		"prompts/list":                     reflect.TypeFor[mcp.ListPromptsParams](),
		"prompts/get":                      reflect.TypeFor[mcp.GetPromptParams](),
		"resources/list":                   reflect.TypeFor[mcp.ListResourcesParams](),
		"resources/templates/list":         reflect.TypeFor[mcp.ListResourceTemplatesParams](),
		"resources/read":                   reflect.TypeFor[mcp.ReadResourceParams](),
		"resources/subscribe":              reflect.TypeFor[mcp.SubscribeParams](),
		"resources/unsubscribe":            reflect.TypeFor[mcp.UnsubscribeParams](),
		"subscriptions/listen":             reflect.TypeFor[mcp.SubscriptionsListenParams](),
		"completion/complete":              reflect.TypeFor[mcp.CompleteParams](),
		"notifications/initialized":        reflect.TypeFor[mcp.InitializedParams](),
		"notifications/cancelled":          reflect.TypeFor[mcp.CancelledParams](),
		"notifications/progress":           reflect.TypeFor[mcp.ProgressNotificationParams](),
		"logging/setLevel":                 reflect.TypeFor[mcp.SetLoggingLevelParams](),
		"notifications/roots/list_changed": reflect.TypeFor[mcp.RootsListChangedParams](),
	}
})

// plainCall returns two members of the params of any method. It decodes a call without further
// members, as nearly all are, and leaves others to decode.
func (c *Checked) plainCall(params decode.Value) (meta, responses decode.Value) {
	var call *mcp.CallToolParamsRaw
	if c.Method == "tools/call" && params.Type() == "object" {
		call = &mcp.CallToolParamsRaw{}
	}
	for name, value := range params.Members() {
		is, plain := value.Type(), false
		switch string(name) {
		case "_meta":
			meta, plain = value, is == "object"
		case "inputResponses":
			responses = value
		case "name":
			if plain = is == "string"; plain && call != nil {
				call.Name = string(value.Text())
			}
		case "arguments":
			if plain = is == "object"; plain && call != nil {
				call.Arguments = json.RawMessage(value)
			}
		}
		if !plain {
			call = nil
		}
	}
	if call != nil {
		c.Params = call
	}
	return meta, responses
}

// decode decodes the params of a method, which fit its type. A message without params has a typed
// nil, and an unknown method has no params. Names are case-sensitive, and null is like no member.
func (c *Checked) decode(params, meta decode.Value) (problems []decode.Problem) {
	if meta.Type() == "object" {
		var fits bool
		if c.Meta, fits = objectOf(meta); !fits { // a number is too large
			return within("/_meta", anyShape.Check(meta))
		}
		var version any
		version, c.Versioned = c.Meta[mcp.MetaKeyProtocolVersion]
		c.Version, _ = version.(string)
	}
	if request.IsStateless(c.Version) && !c.plainClient() {
		problems = clientProblems(meta)
	}
	t := ParamsTypes()[c.Method]
	switch {
	case c.Params != nil: // a plain call
	case IsTaskMethod(c.Method):
		p := &TaskParams{}
		c.members(params, p, taskParams(p))
	case t == nil:
		return problems
	case params.Type() != "object":
		c.Params, _ = reflect.Zero(reflect.PointerTo(t)).Interface().(mcp.Params)
		return problems
	case !c.common(params):
		p, _ := reflect.New(t).Interface().(mcp.Params)
		if json.Unmarshal(params, p) != nil { // values that marshal themselves, such as input responses
			return append(problems, decode.Problem{Pointer: "", Message: "do not fit the method"})
		}
		c.Params = p
		c.note(params)
	}
	if c.misfit {
		problems = append(problems, decode.Problem{Pointer: "/inputResponses",
			Message: "is not an object of responses to input requests"})
	}
	if c.Meta != nil {
		c.Params.SetMeta(c.Meta)
	}
	return problems
}

// objectOf decodes an object as encoding/json does, without reflection. It reports false for a
// number that no float64 holds.
func objectOf(v decode.Value) (map[string]any, bool) {
	object := map[string]any{}
	for name, value := range v.Members() {
		decoded, fits := anyOf(value)
		if !fits {
			return nil, false
		}
		object[textOf(name)] = decoded
	}
	return object, true
}

// frequent are texts of _meta that need no memory of their own.
var frequent = func() map[string]any {
	all := map[string]any{}
	for _, text := range []string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo,
		mcp.MetaKeyClientCapabilities, request.Stateless, "name", "version", "title",
		"progressToken", "traceparent", "elicitation", "sampling", "roots"} {
		all[text] = text
	}
	return all
}()

func textOf(text []byte) string {
	if known, ok := frequent[string(text)].(string); ok {
		return known
	}
	return string(text)
}

// anyOf decodes any value as objectOf does.
func anyOf(v decode.Value) (any, bool) {
	switch v.Type() {
	case "object":
		return objectOf(v)
	case "array":
		list := []any{}
		for _, item := range v.Items() {
			decoded, fits := anyOf(item)
			if !fits {
				return nil, false
			}
			list = append(list, decoded)
		}
		return list, true
	case "string":
		text := v.Text()
		if known, ok := frequent[string(text)]; ok {
			return known, true
		}
		return string(text), true
	case "number":
		n, err := strconv.ParseFloat(string(v), 64)
		return n, err == nil
	case "boolean":
		return v[0] == 't', true
	}
	return nil, true
}

// clientShapes are those of what a message of 2026-07-28 tells of its client.
var clientShapes = [...]struct {
	name, pointer string
	shape         *decode.GoType
}{
	{mcp.MetaKeyClientCapabilities, pointerTo(mcp.MetaKeyClientCapabilities), capabilitiesShape},
	{mcp.MetaKeyClientInfo, pointerTo(mcp.MetaKeyClientInfo), implementationShape},
}

func pointerTo(metaKey string) string { return "/_meta/" + strings.ReplaceAll(metaKey, "/", "~1") }

// plainClient reports whether a message tells of its client what fits the types at a glance: no
// capabilities, and texts.
func (c *Checked) plainClient() bool {
	capabilities, ok := c.Meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	info, known := c.Meta[mcp.MetaKeyClientInfo].(map[string]any)
	for name, value := range info {
		_, isText := value.(string)
		known = known && isText && (name == "name" || name == "title" || name == "version")
	}
	return ok && len(capabilities) == 0 && known
}

// clientProblems are those of what a message of 2026-07-28 tells of its client.
func clientProblems(meta decode.Value) (problems []decode.Problem) {
	for _, of := range clientShapes {
		value := meta.Member(of.name)
		if value == nil || of.name == mcp.MetaKeyClientCapabilities && value.Type() != "object" {
			continue // a message without capabilities is refused in other words
		}
		if value.Type() != "object" {
			problems = append(problems,
				decode.Problem{Pointer: of.pointer, Message: "is not an object"})
			continue
		}
		problems = append(problems, within(of.pointer, of.shape.Check(value))...)
	}
	return problems
}

// within returns problems with the pointer of what they are found in.
func within(pointer string, problems []decode.Problem) []decode.Problem {
	for i := range problems {
		problems[i].Pointer = pointer + problems[i].Pointer
	}
	return problems
}

// note notes members that the params of a method do not have, or have in another form.
func (c *Checked) note(params decode.Value) {
	switch c.Method {
	case "initialize": // whose type decodes only one of its two fields for roots
		roots := params.Member("capabilities").Member("roots")
		if p := c.Params.(*mcp.InitializeParams); p.Capabilities != nil && roots.Type() == "object" {
			p.Capabilities.RootsV2 = &mcp.RootCapabilities{}
			_ = json.Unmarshal(roots, p.Capabilities.RootsV2) // it fits the type
		}
	case "resources/subscribe":
		c.Arguments = params.Member("uri")
	case "subscriptions/listen":
		ids := params.Member("notifications").Member("taskIds").Type()
		c.TaskIDs = ids != "" && ids != "null"
	case "notifications/cancelled":
		c.Cancels, _ = IDOf(params.Member("requestId"))
	}
}

// common decodes the params of the most frequent methods, without reflection. It reports false for
// other methods.
func (c *Checked) common(params decode.Value) bool {
	switch c.Method {
	case "tools/call":
		r := &mcp.CallToolParamsRaw{}
		c.members(params, r, c.inputs(&r.InputResponses, &r.RequestState,
			func(name string, value decode.Value) {
				switch name {
				case "name":
					r.Name = string(value.Text())
				case "arguments":
					r.Arguments = json.RawMessage(value)
				}
			}))
	case "tools/list":
		r := &mcp.ListToolsParams{}
		c.members(params, r, cursor(&r.Cursor))
	case "prompts/list":
		r := &mcp.ListPromptsParams{}
		c.members(params, r, cursor(&r.Cursor))
	case "resources/list":
		r := &mcp.ListResourcesParams{}
		c.members(params, r, cursor(&r.Cursor))
	case "resources/templates/list":
		r := &mcp.ListResourceTemplatesParams{}
		c.members(params, r, cursor(&r.Cursor))
	case "prompts/get":
		r := &mcp.GetPromptParams{}
		c.members(params, r, c.inputs(&r.InputResponses, &r.RequestState,
			func(name string, value decode.Value) {
				switch name {
				case "name":
					r.Name = string(value.Text())
				case "arguments":
					r.Arguments, c.Arguments = textsOf(value), value
				}
			}))
	case "resources/read":
		r := &mcp.ReadResourceParams{}
		c.members(params, r, c.inputs(&r.InputResponses, &r.RequestState,
			func(name string, value decode.Value) {
				if name == "uri" {
					r.URI, c.Arguments = string(value.Text()), value
				}
			}))
	case "completion/complete":
		r := &mcp.CompleteParams{}
		c.members(params, r, func(name string, value decode.Value) {
			switch is := textsOf(value); {
			case name == "argument":
				r.Argument = mcp.CompleteParamsArgument{Name: is["name"], Value: is["value"]}
				c.Arguments = value
			case name == "context" && value.Type() == "object":
				r.Context = &mcp.CompleteContext{Arguments: textsOf(value.Member("arguments"))}
			case name == "ref" && value.Type() == "object":
				r.Ref = &mcp.CompleteReference{Type: is["type"], Name: is["name"], URI: is["uri"]}
			}
		})
	default:
		return false
	}
	return true
}

// members sets params by their members.
func (c *Checked) members(params decode.Value, p mcp.Params, set func(string, decode.Value)) {
	c.Params = p
	for name, value := range params.Members() {
		if string(name) != "_meta" {
			set(string(name), value)
		}
	}
}

// inputs sets the members by which a client responds to input requests, and passes others on.
func (c *Checked) inputs(responses *mcp.InputResponseMap, state *string,
	set func(string, decode.Value)) func(string, decode.Value) {
	return func(name string, value decode.Value) {
		switch name {
		case "inputResponses":
			*responses, c.misfit = responsesIn(value)
		case "requestState":
			*state = string(value.Text())
		default:
			set(name, value)
		}
	}
}

// maxResponses bounds the input responses of a message. They are decoded before the decision, and
// each takes many times longer than its bytes do elsewhere.
const maxResponses = 256

func tooManyResponses(responses decode.Value) []decode.Problem {
	n := 0
	for range responses.Members() {
		if n++; n > maxResponses {
			return []decode.Problem{{Pointer: "/inputResponses",
				Message: fmt.Sprintf("has more than %d responses", maxResponses)}}
		}
	}
	return nil
}

// responsesIn decodes input responses. One of an unknown form is nil, because it may have the key
// of no request. misfit reports another value than an object.
func responsesIn(value decode.Value) (all mcp.InputResponseMap, misfit bool) {
	if is := value.Type(); is != "object" {
		return nil, is != "null"
	}
	all = mcp.InputResponseMap{}
	for key, response := range value.Members() {
		all[string(key)], _ = decodeResponse(response) // its error may repeat the response
	}
	return all, false
}

func cursor(c *string) func(string, decode.Value) {
	return func(name string, value decode.Value) {
		if name == "cursor" {
			*c = string(value.Text())
		}
	}
}

// textsOf returns the members of an object that are texts; nil for another value.
func textsOf(object decode.Value) map[string]string {
	if object.Type() != "object" {
		return nil
	}
	texts := map[string]string{}
	for name, value := range object.Members() {
		if is := value.Type(); is == "string" || is == "null" {
			texts[string(name)] = string(value.Text())
		}
	}
	return texts
}

// CheckParams refuses params that go-sdk could not decode. params is JSON that was scanned.
func CheckParams(method string, params []byte) *MessageError {
	if problems := paramsShapes()[method].shape.Check(params); len(problems) > 0 {
		return paramsError(problems)
	}
	return nil
}

// paramsShapes are read from the types, so that they follow go-sdk.
var paramsShapes = sync.OnceValue(func() map[string]*knownMethod {
	refused := map[reflect.Type]string{
		reflect.TypeFor[mcp.CompleteReference](): `is not a reference: ` +
			`{"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}`,
		reflect.TypeFor[mcp.InputResponseMap](): "is not an object of responses to input requests",
	}
	shapes := map[string]*knownMethod{}
	for method, t := range ParamsTypes() {
		shapes[method] = &knownMethod{method, decode.GoTypeOf(t, refused)}
	}
	return shapes
})

// knownMethod is a method whose params have a type of go-sdk's.
type knownMethod struct {
	method string
	shape  *decode.GoType
}

var (
	capabilitiesShape   = decode.GoTypeOf(reflect.TypeFor[mcp.ClientCapabilities](), nil)
	implementationShape = decode.GoTypeOf(reflect.TypeFor[mcp.Implementation](), nil)
)

var (
	errorShape = decode.GoTypeOf(reflect.TypeFor[jsonrpc.Error](), nil)
	anyShape   = decode.GoTypeOf(reflect.TypeFor[any](), nil)
)
