package wire

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Text is an encoded message, in memory that others get after Free.
type Text struct {
	JSON []byte
	of   *encoder // nil for memory that nobody else gets
}

// Free is for a text that nobody reads any more. A text that is not freed stays valid.
func (t Text) Free() {
	if t.of != nil {
		t.of.free()
	}
}

// Response returns the response to a request: its result, or the error if that is not nil.
func Response(id ID, result *Encoded, err error) Text {
	switch {
	case err != nil:
		return Text{JSON: ErrorResponse(id, err)}
	case result == nil: // middleware has returned nothing
		return Text{JSON: ErrorResponse(id, InternalError())}
	}
	const before, after = `{"jsonrpc":"2.0","id":`, `,"result":`
	e := encoders.Get().(*encoder)
	e.buffer.Grow(len(before) + len(id.JSON) + len(after) + result.Size() + 1)
	out := append(append(append(e.buffer.AvailableBuffer(), before...), id.JSON...), after...)
	return Text{append(result.Append(out), '}'), e}
}

// ErrorResponse returns the response that reports an error, with the code of the JSON-RPC error in
// it and, as go-sdk does, the words of all of it. Without an id, that is null (JSON-RPC 2.0,
// section 5).
func ErrorResponse(id ID, err error) []byte {
	rpc := rpcError(err)
	out, err := Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", json.RawMessage(cmp.Or(id.JSON, "null")), rpc})
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

// UnsupportedVersion refuses a message without a session whose version is not supported without
// one.
func UnsupportedVersion(version string) error {
	data, _ := json.Marshal(mcp.UnsupportedProtocolVersionData{ // texts alone
		Supported: []string{request.Stateless}, Requested: version})
	return &jsonrpc.Error{Code: mcp.CodeUnsupportedProtocolVersion, Data: data,
		Message: "unsupported protocol version: send " + request.Stateless + ", or initialize a session"}
}

// DecodeHeader returns the value of a header that repeats a value of a message: in base64 if it is
// not one of visible ASCII (SEP-2243). It reports false for malformed base64. A value that only
// looks like base64 counts as base64, since clients have to encode such values.
func DecodeHeader(sent string) (value string, ok bool) {
	inner, encoded := strings.CutPrefix(sent, "=?base64?")
	if !encoded || !strings.HasSuffix(inner, "?=") {
		return sent, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, "?="))
	return string(decoded), err == nil
}

// HeaderNames reports whether the header Mcp-Name contains the name or the URI of a message.
func HeaderNames(header http.Header, name string) bool {
	sent, ok := DecodeHeader(header.Get("Mcp-Name"))
	return ok && sent == name
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
	case codeUnavailable:
		return http.StatusServiceUnavailable
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

// Request returns a request of the server. id and params are JSON.
func Request(id, method string, params json.RawMessage) ([]byte, error) {
	return Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}{"2.0", json.RawMessage(id), method, params})
}
