// Package wire is mcpgen's side of JSON-RPC: it validates the messages that come in, and encodes
// the results and errors that go out.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Checked is a message that every reader understands alike.
type Checked struct {
	Body    []byte       // the message to pass on
	Method  string       // without secrets if no such method exists; empty for a response
	ID      string       // as JSON; equal ids have equal texts; empty for null and for none
	Params  decode.Value // nil for none
	Catalog request.CatalogQuery
	Call    *Call // nil for anything but a call that the kernel can answer itself
	// Arguments are those of a prompt, the URI of a resource or the argument to complete, as sent;
	// nil for other methods.
	Arguments decode.Value
	// TaskIDs reports that it requests notifications of tasks, for which go-sdk has no params.
	TaskIDs bool
}

// Call is a call of a method that the kernel answers itself, decoded as go-sdk decodes it.
type Call struct {
	Params mcp.Params
	Meta   map[string]any // of the params; nil for none
	// Version is the protocol version that the message names in its _meta; empty for none, and
	// "none" for a value that is none.
	Version string
	// Responds reports whether the params have input responses, or the state of input requests.
	Responds bool
	// go-sdk refuses what the message of 2026-07-28 tells of its client, or its arguments
	Odd bool
}

// MessageError is the reason why a message is refused unread, as a JSON-RPC error.
type MessageError struct {
	Mute bool // the message is a notification, which has no response

	code   int64
	prefix string
	reason error
	id     json.RawMessage // nil if it is unknown
}

// NotRequest returns the error for a message that is no request.
func NotRequest(why string) *MessageError {
	reason := errors.New(why)
	return &MessageError{code: jsonrpc.CodeInvalidRequest, prefix: "invalid request: ",
		reason: reason}
}

func parseError(reason error) *MessageError {
	return &MessageError{code: jsonrpc.CodeParseError, prefix: "parse error: ", reason: reason}
}

func paramsError(problems []decode.Problem) *MessageError {
	reason := decode.NewError(problems)
	return &MessageError{code: jsonrpc.CodeInvalidParams, prefix: "invalid params: ",
		reason: reason}
}

// Response returns the error response. Secrets in names that the client chose are masked.
func (e *MessageError) Response(mask redact.Masker) []byte {
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": e.id, "error": map[string]any{
		"code": e.code, "message": e.prefix + MaskedWords(mask, e.reason)}})
	if err != nil { // of strings and a number
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	}
	return out
}

// Status returns the HTTP status that go-sdk gives such a response. Before 2026-07-28 a well-formed
// request has 200. version is the one in the HTTP header.
func (e *MessageError) Status(version string) int {
	if e.id != nil && version < request.Stateless {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// Limits bound a message. They are wider than those of arguments, which a tool refuses in its own
// words. The transport bounds the size.
var Limits = decode.Limits{
	Bytes: math.MaxInt, Depth: decode.DefaultDepth + 8, Values: 4 * decode.DefaultValues}

// CheckMessage refuses a message that two readers could understand differently: one that is not a
// single JSON object in UTF-8, or has a name twice in an object. It refuses batches, which hide
// messages, and what go-sdk could not decode, because go-sdk's errors repeat the params.
func CheckMessage(body []byte, mask redact.Masker) (Checked, *MessageError) {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return Checked{}, parseError(errors.New("a byte order mark"))
	}
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		if err := decode.Scan(body, Limits); err != nil {
			return Checked{}, parseError(err)
		}
		if text[0] == '[' {
			return Checked{}, NotRequest("batches are not accepted")
		}
		return Checked{}, NotRequest("not an object")
	}
	m := envelope{body: body}
	if err := decode.Members(body, Limits, m.set); err != nil {
		return Checked{}, parseError(err)
	}
	return m.check(mask)
}

type envelope struct {
	body                               []byte
	version, id, method, params, error decode.Value
}

func (m *envelope) set(name, value []byte) {
	switch string(name) { // go-sdk, too, tells "ID" from "id"
	case "jsonrpc":
		m.version = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "error":
		m.error = value
	}
}

func (m *envelope) check(mask redact.Masker) (Checked, *MessageError) {
	is := m.method.Type()
	switch {
	case string(m.version.Text()) != "2.0":
		return Checked{}, NotRequest("not a JSON-RPC 2.0 message")
	case !isID(m.id):
		return Checked{}, NotRequest("an id that is neither a string nor an integer of at most 53 bits")
	case len(m.error) > 0 && len(errorShape.Check(m.error)) > 0:
		return Checked{}, NotRequest("an error that is not a JSON-RPC 2.0 error")
	case is == "" || is == "null":
		return Checked{Body: m.body}, nil
	case is != "string":
		return Checked{}, NotRequest("a method that is not a string")
	}
	checked := Checked{Body: m.body, Method: string(m.method.Text()), Params: m.params}
	checked.ID, _ = ID(m.id)
	known := paramsShapes()[checked.Method]
	if known == nil && IsTaskMethod(checked.Method) { // go-sdk gets no params
		bare, refused := m.bare(checked.Method)
		bare.ID, bare.Call = checked.ID, callOf(checked.Method, checked.ID, m.params, nil)
		return bare, refused
	}
	if known == nil {
		return m.bare(mask.Text(checked.Method))
	}
	var problems []decode.Problem
	if len(m.params) > 0 {
		problems = known.Check(m.params)
	}
	if len(problems) == 0 {
		switch checked.Method {
		case "resources/subscribe":
			checked.Arguments = m.params.Member("uri")
		case "subscriptions/listen":
			ids := m.params.Member("notifications").Member("taskIds").Type()
			checked.TaskIDs = ids != "" && ids != "null"
		}
		checked.Call = callOf(checked.Method, checked.ID, m.params, &checked.Arguments)
		if catalogMethods[checked.Method] {
			checked.Catalog, problems = catalogInParams(m.params, mask)
		}
	}
	if len(problems) == 0 {
		return checked, nil
	}
	refused := paramsError(problems)
	if refused.Mute = len(m.id) == 0 || m.id.Type() == "null"; !refused.Mute {
		refused.id = json.RawMessage(m.id)
	}
	return Checked{}, refused
}

// bare masks an unknown method, which go-sdk repeats, and keeps only _meta of the params.
func (m *envelope) bare(masked string) (Checked, *MessageError) {
	checked := Checked{Body: m.body, Method: masked}
	if len(m.params) == 0 && masked == string(m.method.Text()) {
		return checked, nil
	}
	bare := map[string]any{"jsonrpc": "2.0", "method": masked}
	if len(m.id) > 0 {
		bare["id"] = json.RawMessage(m.id)
	}
	if meta := m.params.Member("_meta"); meta.Type() == "object" && len(anyShape.Check(meta)) == 0 {
		bare["params"] = map[string]any{"_meta": json.RawMessage(meta)}
	}
	var err error
	if checked.Body, err = Marshal(bare); err != nil {
		return Checked{}, parseError(err)
	}
	return checked, nil
}

// ID returns an id as JSON, written as go-sdk writes it, so that equal ids are equal texts. It
// reports false for null and for no id.
func ID(id decode.Value) (string, bool) {
	switch id.Type() {
	case "string":
		text, err := Marshal(string(id.Text()))
		return string(text), err == nil
	case "number":
		n, err := strconv.ParseInt(string(id), 10, 64)
		return strconv.FormatInt(n, 10), err == nil
	}
	return "", false
}

// isID reports whether go-sdk would repeat an id unchanged: not fractions, and not beyond 2^53.
func isID(id decode.Value) bool {
	switch id.Type() {
	case "", "string", "null":
		return true
	}
	const safe = 1<<53 - 1
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -safe <= n && n <= safe
}
