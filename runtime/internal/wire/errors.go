package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// These codes are outside of -32768 to -32000, which JSON-RPC reserves for itself and MCP. They are
// the HTTP statuses of the same meaning. docs/reference/errors.md has all codes of the runtime.
const (
	codeForbidden        = 403
	codeTooManyListeners = 429
	codeUnavailable      = 503
)

// maxEcho bounds a text of the client that an error repeats, in bytes.
const maxEcho = 1 << 10

// Echo returns a text of the client as an error repeats it: masked, and then cut, which "…"
// shows.
func Echo(mask redact.Masker, text string) string {
	shown := mask.TextWithin(text, maxEcho)
	if len(text) > maxEcho {
		shown += "…"
	}
	return shown
}

// echo is an error that repeats a text of the client. [MaskError] masks and cuts the text.
type echo struct {
	text string
	of   func(text string) *jsonrpc.Error
}

func (e echo) masked(mask redact.Masker) *jsonrpc.Error { return e.of(Echo(mask, e.text)) }

// Error implements error. It has the words for a client.
func (e echo) Error() string { return e.masked(redact.Masker{}).Message }

// Unwrap returns the JSON-RPC error.
func (e echo) Unwrap() error { return e.masked(redact.Masker{}) }

// UnknownTool is the error for a tool that does not exist and for one that is concealed. It has
// go-sdk's code and words, so that no server looks different from another. Nothing else makes the
// response to an unknown tool: SEP-2145, a draft, makes it a result with isError.
func UnknownTool(name string) error { return echo{name, unknownTool} }

func unknownTool(name string) *jsonrpc.Error {
	return newError(jsonrpc.CodeInvalidParams, "unknown tool %q", name)
}

// UnknownPrompt is UnknownTool for a prompt.
func UnknownPrompt(name string) error { return echo{name, unknownPrompt} }

func unknownPrompt(name string) *jsonrpc.Error {
	return newError(jsonrpc.CodeInvalidParams, "unknown prompt %q", name)
}

// UnknownResource is UnknownTool for a resource. go-sdk writes the URI with %q, which is not JSON
// for control characters and ends the session.
func UnknownResource(uri string) error { return echo{uri, unknownResource} }

func unknownResource(uri string) *jsonrpc.Error {
	data, _ := json.Marshal(map[string]string{"uri": uri}) // cannot fail for a string
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Resource not found", Data: data}
}

// MethodNotFound has go-sdk's code and words. [CheckMessage] has cut the method.
func MethodNotFound(method string) error {
	return newError(jsonrpc.CodeMethodNotFound, "method not found: %q", method)
}

// InvalidParams takes a format and arguments as [fmt.Sprintf] does.
func InvalidParams(format string, args ...any) error {
	return newError(jsonrpc.CodeInvalidParams, format, args...)
}

// InvalidRequest is the error of a message that the client must not send now.
func InvalidRequest(format string, args ...any) error {
	return newError(jsonrpc.CodeInvalidRequest, format, args...)
}

// InternalError has no details of the cause.
func InternalError() error { return newError(jsonrpc.CodeInternalError, "internal error") }

// DuplicateID refuses a call whose id, as JSON, is in flight. It has go-sdk's code and words.
func DuplicateID(id string) error {
	return newError(jsonrpc.CodeInvalidRequest, "duplicate in-flight request ID %s",
		strings.Trim(id, `"`))
}

// Ended is the error of a message that is [request.Info.Expired].
func Ended(info *request.Info) error {
	if info.Blocked() {
		return Refused()
	}
	return Expired()
}

// Expired is the error for a credential that ended.
func Expired() error { return newError(jsonrpc.CodeInvalidRequest, "the credential has expired") }

// Forbidden refuses a prompt or a resource that need not be concealed.
func Forbidden(kind access.Kind, name string, d access.Decision) error {
	return newError(codeForbidden, "403 Forbidden: %s %q %s", kind, name, d.Missing())
}

// Refused refuses a caller whose client is blocked, or who has no user of the host if
// Options.Anonymous is not set.
func Refused() error { return newError(codeForbidden, "403 Forbidden") }

// TooManyListeners refuses a request that listens, by the status that [request.Conn] reports.
func TooManyListeners(status int) error {
	text := "too many open subscriptions on this server: try again later"
	if status == http.StatusTooManyRequests {
		text = "too many sessions and subscriptions of this caller: end one, or try again later"
	}
	return newError(codeTooManyListeners, "%s", text)
}

// Unavailable is the error while a store does not respond, or not in time.
func Unavailable(of string) error {
	return newError(codeUnavailable, "%s are not available now: try again later", of)
}

func newError(code int64, format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WireError returns the part of an error that may leave. A JSON-RPC error keeps its code and words.
// Any other becomes an internal error, because go-sdk would send all its words.
func WireError(err error) error {
	if e, ok := err.(echo); ok {
		return e
	}
	var rpc *jsonrpc.Error
	if errors.As(err, &rpc) && rpc != nil {
		clean := &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message}
		if json.Valid(rpc.Data) {
			clean.Data = rpc.Data
		}
		if err != error(rpc) {
			clean.Message = err.Error()
		}
		return clean
	}
	if errors.Is(err, context.Canceled) {
		return newError(jsonrpc.CodeInternalError, "the request was cancelled")
	}
	return InternalError()
}
