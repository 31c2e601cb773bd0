package telemetry

import (
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// Attributes of the semantic conventions for MCP. They stand here by name since package semconv has
// none of them from v1.42.0 on, when they moved to the conventions for generative AI.
const (
	keyMethod   = attribute.Key("mcp.method.name")
	keyProtocol = attribute.Key("mcp.protocol.version")
	// as its author wrote it, a template included
	keyResource        = attribute.Key("mcp.resource.uri")
	keyTool            = attribute.Key("gen_ai.tool.name")
	keyPrompt          = attribute.Key("gen_ai.prompt.name")
	keyOperation       = attribute.Key("gen_ai.operation.name")
	keyCode            = attribute.Key("rpc.response.status_code")
	keyErrorType       = attribute.Key("error.type")
	keyTransport       = attribute.Key("network.transport")
	keyNetworkProtocol = attribute.Key("network.protocol.name")
	keyHTTPStatus      = attribute.Key("http.response.status_code")
)

// Attributes of this package's own.
const (
	keyRequestID = attribute.Key("mcpgen.request.id")  // as in the log and the audit
	keyStatus    = attribute.Key("mcpgen.status")      // as in the audit, also without an event
	keyFailure   = attribute.Key("mcpgen.failure")     // as in the audit
	keyAxis      = attribute.Key("mcpgen.denial.axis") // as in the audit
	keyLimit     = attribute.Key("mcpgen.limit")
	keyKilled    = attribute.Key("mcpgen.sandbox.killed")
	keyListed    = attribute.Key("mcpgen.list.visible")
	keyTotal     = attribute.Key("mcpgen.list.total")
	keyCoercion  = attribute.Key("mcpgen.coercion")
	keyCache     = attribute.Key("mcpgen.cache.name")
	keyHit       = attribute.Key("mcpgen.cache.hit")
)

// other stands for what is not named, as conventions have it.
const other = "_OTHER"

// methodOf is how a method is named.
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

// ofTarget is the attribute that names what there is.
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

// codeOf is how the code of an error is named. Those that are JSON-RPC's (section 5.1) are kept;
// handlers may make up any others.
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

// limits are those that there are. Handlers may end at any others.
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
