package wire

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// go-sdk's errors repeat all params, passwords included. So this file refuses misfits first.

// ParamsTypes returns the types of the params of every method that go-sdk's server knows. Params of
// other methods are removed: go-sdk does not know the method, or the guard refuses it anyway.
func ParamsTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
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
}

// callOf returns the params of a method that the kernel answers itself, which have passed
// [CheckMessage]. It returns nil for other methods, for a message without id, and where go-sdk has
// to word a refusal. Names are case-sensitive, and null is like no member. It sets arguments as
// [Checked] has them.
func callOf(method, id string, params decode.Value, arguments *decode.Value) *Call {
	if id == "" {
		return nil
	}
	c := &Call{}
	p, meta, ok := c.decode(method, params, arguments)
	if !ok {
		return nil
	}
	c.Params = p
	if meta.Type() != "object" {
		return c
	}
	if json.Unmarshal(meta, &c.Meta) != nil {
		return nil
	}
	p.SetMeta(c.Meta)
	version := meta.Member(mcp.MetaKeyProtocolVersion)
	if c.Version = string(version.Text()); version != nil && c.Version == "" {
		c.Version = "none"
	}
	if c.Version == request.Stateless {
		capabilities := meta.Member(mcp.MetaKeyClientCapabilities)
		info := meta.Member(mcp.MetaKeyClientInfo)
		c.Odd = !fits(capabilitiesShape, capabilities) || info != nil &&
			!fits(implementationShape, info)
		// for a header, go-sdk decodes them as any value
		if r, ok := p.(*mcp.CallToolParamsRaw); ok {
			c.Odd = c.Odd || len(anyShape.Check(decode.Value(r.Arguments))) > 0
		}
	}
	return c
}

func fits(shape *decode.GoType, v decode.Value) bool {
	return v.Type() == "object" && len(shape.Check(v)) == 0
}

func (c *Call) decode(method string, params decode.Value,
	arguments *decode.Value) (p mcp.Params, meta decode.Value, ok bool) {
	set, optional := func(string, decode.Value) {}, false
	ok = true
	switch method {
	case "tools/call":
		r := &mcp.CallToolParamsRaw{}
		p, set = r, func(name string, value decode.Value) {
			switch name {
			case "name":
				r.Name = string(value.Text())
			case "arguments":
				r.Arguments = json.RawMessage(value)
			default:
				ok = input(name, value, &r.InputResponses, &r.RequestState) && ok
			}
		}
	case "tools/list":
		r := &mcp.ListToolsParams{}
		p, set, optional = r, cursor(&r.Cursor), true
	case "prompts/list":
		r := &mcp.ListPromptsParams{}
		p, set, optional = r, cursor(&r.Cursor), true
	case "resources/list":
		r := &mcp.ListResourcesParams{}
		p, set, optional = r, cursor(&r.Cursor), true
	case "resources/templates/list":
		r := &mcp.ListResourceTemplatesParams{}
		p, set, optional = r, cursor(&r.Cursor), true
	case "prompts/get":
		r := &mcp.GetPromptParams{}
		p, set = r, func(name string, value decode.Value) {
			switch name {
			case "name":
				r.Name = string(value.Text())
			case "arguments":
				r.Arguments, *arguments = textsOf(value), value
			default:
				ok = input(name, value, &r.InputResponses, &r.RequestState) && ok
			}
		}
	case "resources/read":
		r := &mcp.ReadResourceParams{}
		p, set = r, func(name string, value decode.Value) {
			if name == "uri" {
				r.URI, *arguments = string(value.Text()), value
			} else {
				ok = input(name, value, &r.InputResponses, &r.RequestState) && ok
			}
		}
	case "completion/complete":
		r := &mcp.CompleteParams{}
		p, set = r, func(name string, value decode.Value) {
			switch is := textsOf(value); {
			case name == "argument":
				r.Argument = mcp.CompleteParamsArgument{Name: is["name"], Value: is["value"]}
				*arguments = value
			case name == "context" && value.Type() == "object":
				r.Context = &mcp.CompleteContext{Arguments: textsOf(value.Member("arguments"))}
			case name == "ref" && value.Type() == "object":
				r.Ref = &mcp.CompleteReference{Type: is["type"], Name: is["name"], URI: is["uri"]}
			}
		}
	default:
		if !IsTaskMethod(method) {
			return nil, nil, false
		}
		r := &TaskParams{}
		p, set = r, taskParams(r)
	}
	if is := params.Type(); is != "object" && (is != "" || !optional) {
		return nil, nil, false
	}
	for name, value := range params.Members() {
		switch string(name) {
		case "_meta":
			meta = value
			continue
		case "inputResponses", "requestState":
			c.Responds = true
		}
		set(string(name), value)
	}
	return p, meta, ok
}

// input decodes the members of params by which a client responds to input requests. It reports
// false for responses that go-sdk has to refuse.
func input(name string, value decode.Value, responses *mcp.InputResponseMap, state *string) bool {
	switch name {
	case "inputResponses":
		return json.Unmarshal(value, responses) == nil
	case "requestState":
		*state = string(value.Text())
	}
	return true
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
	if problems := paramsShapes()[method].Check(params); len(problems) > 0 {
		return paramsError(problems)
	}
	return nil
}

// paramsShapes are read from the types, so that they follow go-sdk.
var paramsShapes = sync.OnceValue(func() map[string]*decode.GoType {
	refused := map[reflect.Type]string{
		reflect.TypeFor[mcp.CompleteReference](): `is not a reference: ` +
			`{"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}`,
		reflect.TypeFor[mcp.InputResponseMap](): "is not an object of responses to input requests",
	}
	shapes := map[string]*decode.GoType{}
	for method, t := range ParamsTypes() {
		shapes[method] = decode.GoTypeOf(t, refused)
	}
	return shapes
})

var (
	capabilitiesShape   = decode.GoTypeOf(reflect.TypeFor[mcp.ClientCapabilities](), nil)
	implementationShape = decode.GoTypeOf(reflect.TypeFor[mcp.Implementation](), nil)
)

var (
	errorShape = decode.GoTypeOf(reflect.TypeFor[jsonrpc.Error](), nil)
	anyShape   = decode.GoTypeOf(reflect.TypeFor[any](), nil)
)
