package wire

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// ResultResponse returns the response to a request with this id, which is JSON.
func ResultResponse(id string, result *Encoded) []byte {
	const before, after = `{"jsonrpc":"2.0","id":`, `,"result":`
	out := make([]byte, 0, len(before)+len(id)+len(after)+result.Size()+1)
	out = append(append(append(out, before...), id...), after...)
	return append(result.Append(out), '}')
}

// ErrorResponse returns the response that reports an error, with the code of the JSON-RPC error in
// it and, as go-sdk does, the words of all of it.
func ErrorResponse(id string, err error) []byte {
	rpc := rpcError(err)
	out, err := Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", json.RawMessage(id), rpc})
	if err != nil { // Data that is no JSON
		return ErrorResponse(id, InternalError())
	}
	return out
}

func rpcError(err error) *jsonrpc.Error {
	if rpc, ok := err.(*jsonrpc.Error); ok {
		return rpc
	}
	out := &jsonrpc.Error{Message: err.Error()}
	if rpc, ok := errors.AsType[*jsonrpc.Error](err); ok {
		out.Code = rpc.Code
	}
	return out
}

// ErrorStatus returns the HTTP status of an error in 2026-07-28 (SEP-2575), and 200 before.
func ErrorStatus(err error, version string) int {
	if err == nil || version < request.Stateless {
		return http.StatusOK
	}
	switch rpcError(err).Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch,
		mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// Notification returns a notification of the server.
func Notification(method string, params any) ([]byte, error) {
	return Marshal(struct {
		Version string `json:"jsonrpc"`
		Method  string `json:"method"`
		Params  any    `json:"params"`
	}{"2.0", method, params})
}
