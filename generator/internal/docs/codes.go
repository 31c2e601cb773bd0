package main

import (
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocolCodes are the codes of JSON-RPC and MCP that the runtime uses.
var protocolCodes = []struct {
	name          string // in go-sdk
	code          int64
	from, meaning string
}{
	{"CodeParseError", jsonrpc.CodeParseError, "JSON-RPC", "a message that is not JSON"},
	{"CodeInvalidRequest", jsonrpc.CodeInvalidRequest, "JSON-RPC",
		"a message that the server does not accept, or not now"},
	{"CodeMethodNotFound", jsonrpc.CodeMethodNotFound, "JSON-RPC", "an unknown method"},
	{"CodeInvalidParams", jsonrpc.CodeInvalidParams, "JSON-RPC",
		"params that do not fit the method; an unknown or concealed tool, prompt, resource or task"},
	{"CodeInternalError", jsonrpc.CodeInternalError, "JSON-RPC",
		"a failure in the server, whose log has the cause"},
	{"CodeHeaderMismatch", mcp.CodeHeaderMismatch, "MCP 2026-07-28",
		"a header that is missing, malformed, or different from the body"},
	{"CodeMissingRequiredClientCapabilities", mcp.CodeMissingRequiredClientCapabilities,
		"MCP 2026-07-28", "an MCP capability that the client has not declared"},
	{"CodeUnsupportedProtocolVersion", mcp.CodeUnsupportedProtocolVersion, "MCP 2026-07-28",
		"a version that the server does not serve without a session"},
}

// ownCodes are the constants of package wire.
var ownCodes = []struct{ name, meaning string }{
	{"codeForbidden", "a prompt or resource that is refused and not concealed, a caller without " +
		"a user of the host, or a blocked client"},
	{"codeTooManyListeners", "too many `subscriptions/listen` requests"},
	{"codeUnavailable", "tasks, catalogs or permissions that cannot be read now: try again later"},
}

func errorCodes(r *repository) string {
	var b strings.Builder
	b.WriteString(head("code", "of", "meaning"))
	for _, c := range protocolCodes {
		b.WriteString(row(strconv.FormatInt(c.code, 10), c.from, c.meaning))
	}
	for _, c := range ownCodes {
		v, _ := r.read("runtime/internal/wire").must(c.name)
		b.WriteString(row(v.ExactString(), "mcpgen", c.meaning))
	}
	return b.String()
}
