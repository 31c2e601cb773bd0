package wire

import (
	"reflect"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
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
		reflect.TypeFor[mcp.InputResponseMap](): "is not an object of answers to input requests",
	}
	shapes := map[string]*decode.GoType{}
	for method, t := range ParamsTypes() {
		shapes[method] = decode.GoTypeOf(t, refused)
	}
	return shapes
})

var (
	errorShape = decode.GoTypeOf(reflect.TypeFor[jsonrpc.Error](), nil)
	anyShape   = decode.GoTypeOf(reflect.TypeFor[any](), nil)
)
