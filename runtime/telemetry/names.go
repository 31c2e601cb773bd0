package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// Attributes of the semantic conventions for MCP. They are written here since package semconv has
// none of them from v1.42.0 on, when they moved to the conventions for generative AI. The comments
// of these constants are on the page docs/reference/metrics.md.
const (
	keyMethod   = attribute.Key("mcp.method.name")      // the method; _OTHER for an unknown one
	keyProtocol = attribute.Key("mcp.protocol.version") // of the client, if it is a known version
	// the resource as its author wrote it: of shop://orders/7 the template shop://orders/{id}
	keyResource  = attribute.Key("mcp.resource.uri")
	keyTool      = attribute.Key("gen_ai.tool.name")      // the tool, if there is one of that name
	keyPrompt    = attribute.Key("gen_ai.prompt.name")    // the prompt, if there is one of that name
	keyOperation = attribute.Key("gen_ai.operation.name") // execute_tool, of calls
	// the code of a JSON-RPC error; _OTHER for codes outside of those that JSON-RPC reserves
	keyCode = attribute.Key("rpc.response.status_code")
	// timeout; crashed if a handler panicked; cancelled if the client left or the server stopped;
	// the code of a JSON-RPC error; tool_error for a result that is an error; or _OTHER
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")     // tcp, or pipe on stdio
	keyNetworkProtocol = attribute.Key("network.protocol.name") // http; absent on stdio
	// the status of an HTTP request that was refused before its message was read
	keyHTTPStatus = attribute.Key("http.response.status_code")
)

// Attributes of this package's own.
const (
	keyRequestID = attribute.Key("mcpgen.request.id") // request_id of the log and the audit
	keyStatus    = attribute.Key("mcpgen.status")     // success or failed, as in the audit
	keyFailure   = attribute.Key("mcpgen.failure")    // the failure, as in the audit
	// the axis, as in the audit; limit also for a call that ended at a limit, its time included
	keyAxis     = attribute.Key("mcpgen.denial.axis")
	keyLimit    = attribute.Key("mcpgen.limit")          // the limit that was reached
	keyKilled   = attribute.Key("mcpgen.sandbox.killed") // whether processes were killed for it
	keyListed   = attribute.Key("mcpgen.list.visible")   // items of a list that the caller may see
	keyTotal    = attribute.Key("mcpgen.list.total")     // items of a list for all callers
	keyCoercion = attribute.Key("mcpgen.coercion")       // number, boolean, list, null or unknown
	// capabilities, the host's permissions of callers
	keyCache = attribute.Key("mcpgen.cache.name")
	// whether the cache had the entry; without Options.CapabilityTTL, whether the message shared a
	// query with another one
	keyHit = attribute.Key("mcpgen.cache.hit")
)

// other is the conventions' value for all values without a name.
const other = "_OTHER"

// methodOf is the attribute value of a method.
func methodOf(known string) string {
	if known == "" {
		return other
	}
	return known
}

// ofTransport are the attributes of a transport (conventions for MCP, recording MCP transport).
func ofTransport(transport string) []attribute.KeyValue {
	if transport == observe.TransportStdio {
		return []attribute.KeyValue{keyTransport.String("pipe")}
	}
	return []attribute.KeyValue{keyTransport.String("tcp"), keyNetworkProtocol.String("http")}
}

// ofTarget is the attribute with the name of an existing tool, prompt or resource.
func ofTarget(kind access.Kind, name string) []attribute.KeyValue {
	switch {
	case name == "":
		return nil
	case kind == access.Prompts:
		return []attribute.KeyValue{keyPrompt.String(name)}
	case kind == access.Resources:
		return []attribute.KeyValue{keyResource.String(name)}
	}
	return []attribute.KeyValue{keyTool.String(name)}
}

// codeOf is the attribute value of an error code. JSON-RPC's own (section 5.1) are kept; handlers
// may return any others.
func codeOf(code int64) string {
	switch {
	case code == -32700, -32603 <= code && code <= -32600, -32099 <= code && code <= -32000:
		return strconv.FormatInt(code, 10)
	}
	return other
}

// errorTypeOf is the error.type of a message, empty where it did not fail.
func errorTypeOf(s shape) string {
	switch {
	case s.failed == audit.Timeout:
		return "timeout"
	case s.failed == audit.Crashed:
		return string(audit.Crashed)
	case s.gone:
		return "cancelled"
	case s.code != 0:
		return codeOf(s.code)
	case s.failed == "":
		return ""
	case s.method == "tools/call":
		return "tool_error"
	}
	return other
}

// limits are the runtime's limits. Handlers may end at any others.
var limits = map[string]bool{
	"timeout": true, "memory": true, "cpu": true, "output": true, "open files": true,
	"file size": true, "processes": true, "system call": true,
	"calls at a time": true, "rate": true, "workspace": true,
}

func limitOf(limit string) string {
	if limit == "" || limits[limit] {
		return limit
	}
	return other
}

// lookup is one look into a cache.
type lookup struct {
	cache string
	hit   bool
}

func lookupOf(l lookup) []metric.AddOption {
	return adding(keyCache.String(l.cache), keyHit.Bool(l.hit))
}

func refusalOf(status int) []metric.AddOption { return adding(keyHTTPStatus.Int(status)) }
