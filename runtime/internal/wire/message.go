// Package wire is mcpgen's side of JSON-RPC: it validates the messages that come in, and encodes
// the results and errors that go out.
package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Checked is a message that every reader understands alike, decoded once.
type Checked struct {
	Method string // masked and cut if no such method exists; empty for a response
	ID     ID     // zero for a notification
	// Params are those of a method that the server knows, and nil for others. They are a typed nil if
	// the message has none.
	Params  mcp.Params
	Meta    map[string]any // of the params; nil for none
	Catalog request.CatalogQuery
	// Version is the protocol version that the message names in its _meta; empty for none. Versioned
	// reports that it has such a member, which may be no version.
	Version   string
	Versioned bool
	// Arguments are those of a prompt, the URI of a resource or the argument to complete, as sent;
	// nil for other methods.
	Arguments decode.Value
	// TaskIDs reports that it requests notifications of tasks, for which go-sdk has no params.
	TaskIDs bool
	// Cancels is the request that notifications/cancelled names; zero for other messages.
	Cancels ID
	// Result and Err are those of a response; one of them is nil.
	Result json.RawMessage
	Err    *jsonrpc.Error

	misfit bool // the input responses do not fit their types
}

// MessageError is the reason why a message is refused unread, as a JSON-RPC error.
type MessageError struct {
	Mute bool // the message is a notification, which has no response

	code   int64
	prefix string
	reason error
	id     ID // zero if it is unknown
}

// NotRequest returns the error for a message that is no request.
func NotRequest(why string) *MessageError {
	return &MessageError{code: jsonrpc.CodeInvalidRequest, prefix: "invalid request: ",
		reason: errors.New(why)}
}

func parseError(reason error) *MessageError {
	return &MessageError{code: jsonrpc.CodeParseError, prefix: "parse error: ", reason: reason}
}

func paramsError(problems []decode.Problem) *MessageError {
	return &MessageError{code: jsonrpc.CodeInvalidParams, prefix: "invalid params: ",
		reason: decode.NewError(problems)}
}

// of sets the message that an error answers.
func (e *MessageError) of(id ID) *MessageError {
	e.id = id
	return e
}

// Response returns the error response. Secrets in names that the client chose are masked.
func (e *MessageError) Response(mask redact.Masker) []byte {
	return ErrorResponse(e.id,
		&jsonrpc.Error{Code: e.code, Message: e.prefix + MaskedWords(mask, e.reason)})
}

// Status returns the HTTP status of the response. Before 2026-07-28 a request whose params alone
// are wrong has 200. version is the one in the HTTP header.
func (e *MessageError) Status(version string) int {
	if e.code == jsonrpc.CodeInvalidParams && !e.Mute && version < request.Stateless {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

// Limits bound a message. They are wider than those of arguments, which a tool refuses in its own
// words. The transport bounds the size.
var Limits = decode.Limits{
	Bytes: math.MaxInt, Depth: decode.DefaultDepth + 8, Values: 4 * decode.DefaultValues}

// maxMeta bounds the _meta of a message, which is decoded into maps.
const maxMeta = 64 << 10

// CheckMessage refuses a message that two readers could understand differently: one that is not a
// single JSON object in UTF-8, or has a name twice in an object. It refuses batches, which hide
// messages, and params that do not fit their types, since the errors of encoding/json repeat them.
func CheckMessage(body []byte, mask redact.Masker) (Checked, *MessageError) {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // RFC 8259, section 8.1
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		if err := decode.Scan(body, Limits); err != nil {
			return Checked{}, parseError(err)
		}
		if text[0] == '[' {
			return Checked{}, NotRequest("batches are not accepted: send each message by itself")
		}
		return Checked{}, NotRequest("not an object")
	}
	m := envelope{}
	if err := decode.Members(body, Limits, m.set); err != nil {
		return Checked{}, parseError(err)
	}
	return m.check(mask)
}

type envelope struct {
	version, id, method, params, result, error decode.Value
}

func (m *envelope) set(name, value []byte) {
	switch string(name) {
	case "jsonrpc":
		m.version = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "result":
		m.result = value
	case "error":
		m.error = value
	}
}

func (m *envelope) check(mask redact.Masker) (Checked, *MessageError) {
	id, problem := IDOf(m.id)
	switch is := m.method.Type(); {
	case string(m.version.Text()) != "2.0":
		return Checked{}, NotRequest(`not a JSON-RPC 2.0 message: "jsonrpc" must be "2.0"`)
	case problem != "":
		return Checked{}, NotRequest(problem)
	case is == "" || is == "null":
		return m.response(id)
	case is != "string":
		return Checked{}, NotRequest("a method that is not a string").of(id)
	case m.id.Type() == "null":
		return Checked{}, NotRequest("the id of a request is null: send a string or a number")
	}
	method := m.method.Text()
	if len(method) == 0 {
		return Checked{}, NotRequest("the method is empty").of(id)
	}
	known, c := paramsShapes()[string(method)], Checked{ID: id}
	if known != nil {
		c.Method = known.method
	} else {
		c.Method = string(method)
	}
	isKnown := known != nil || IsTaskMethod(c.Method)
	notifies := strings.HasPrefix(c.Method, "notifications/")
	switch {
	case isKnown && !notifies && id.Key == "": // it would run, and nothing could refer to it
		return Checked{}, NotRequest("a request without an id: send a string or a number")
	case isKnown && notifies && id.Key != "":
		return Checked{}, NotRequest("a notification with an id: remove the id").of(id)
	case !isKnown:
		c.Method = Echo(mask, c.Method)
	}
	meta, responses := c.plainCall(m.params)
	if len(meta) > maxMeta {
		return Checked{}, NotRequest(
			fmt.Sprintf("params._meta is larger than %d bytes", maxMeta)).of(id)
	}
	var problems []decode.Problem
	if isKnown {
		problems = tooManyResponses(responses)
	}
	if known != nil && c.Params == nil && len(m.params) > 0 && len(problems) == 0 {
		problems = slices.DeleteFunc(known.shape.Check(m.params), func(p decode.Problem) bool {
			return p.Pointer == "/inputResponses" // which are decoded one by one
		})
	} else if known == nil && meta.Type() == "object" && len(anyShape.Check(meta)) > 0 {
		meta = nil
	}
	if len(problems) == 0 {
		problems = c.decode(m.params, meta)
	}
	if token, _ := c.Meta["progressToken"].(string); len(token) > maxID {
		return Checked{}, NotRequest(fmt.Sprintf(
			"params._meta.progressToken has more than %d bytes: send a shorter one", maxID)).of(id)
	}
	if len(problems) == 0 && catalogMethods[c.Method] {
		c.Catalog, problems = catalogInParams(m.params, mask)
	}
	switch {
	case len(problems) == 0:
		return c, nil
	case c.Method == "notifications/cancelled": // a malformed one cancels nothing
		c.Cancels = ID{}
		return c, nil
	}
	refused := paramsError(problems).of(id)
	refused.Mute = id == ID{}
	return Checked{}, refused
}

// response checks a response of the client.
func (m *envelope) response(id ID) (c Checked, _ *MessageError) {
	c.ID, c.Result = id, json.RawMessage(m.result)
	switch failed := len(m.error) > 0 && m.error.Type() != "null"; {
	case failed && len(errorShape.Check(m.error)) > 0:
		return Checked{}, NotRequest("an error that is not a JSON-RPC 2.0 error").of(id)
	case failed && json.Unmarshal(m.error, &c.Err) != nil:
		return Checked{}, NotRequest("an error that is not a JSON-RPC 2.0 error").of(id)
	case !failed && len(m.result) == 0:
		return Checked{}, NotRequest(`neither "method", "result" nor "error"`).of(id)
	}
	return c, nil
}

// ID is the id of a request. The zero ID is none.
type ID struct {
	JSON string // as the client has written it, which the response repeats; empty for none
	// Key is equal for ids of equal value: 1, 1.0 and 1e0 are one id, and "1" is another.
	Key string
}

const (
	maxNumber = 64      // characters of an id that is a number, and its exponent
	maxID     = 1 << 10 // bytes of an id or a progress token, which the server repeats
)

// IDOf returns an id, which is zero for null and for none. It reports a problem, in words for the
// client, for an id that the server cannot keep: JSON-RPC 2.0 allows fractions, and MCP does not.
func IDOf(v decode.Value) (id ID, problem string) {
	switch {
	case v.Type() == "" || v.Type() == "null":
		return ID{}, ""
	case len(v) > maxID:
		return ID{}, fmt.Sprintf("an id of more than %d bytes: send a shorter one", maxID)
	case v.Type() == "string":
		return ID{string(v), strconv.Quote(string(v.Text()))}, ""
	case v.Type() != "number":
		return ID{}, "an id that is neither a string nor an integer"
	}
	text := string(v)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n == 0 {
			return ID{text, "0"}, "" // or -0
		}
		return ID{text, text}, "" // JSON has one way to write it without a fraction and an exponent
	}
	// 1.0 and 1e0 are integers as well. The bounds keep the power of ten small.
	_, power, _ := strings.Cut(strings.ToLower(string(v)), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err == nil && len(v) <= maxNumber && -maxNumber <= exponent && exponent <= maxNumber {
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() && r.Num().IsInt64() {
			return ID{string(v), r.Num().String()}, ""
		}
	}
	return ID{}, "an id that is not an integer of 64 bits: send a string, or a smaller number"
}
