package runtime

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"reflect"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// messageError says why a message is not looked at, in JSON-RPC's terms.
type messageError struct {
	code int64
	text string
	what error           // follows the text; nil for nothing
	id   json.RawMessage // of a request that is one; nil where nothing is known of it
	mute bool            // it is a notification, which has no answer
}

// response is the answer on the wire, where names that the client made up are masked.
func (e *messageError) response(mask redact.Masker) []byte {
	text := e.text
	if e.what != nil {
		text += maskedWords(mask, e.what)
	}
	out, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": e.id,
		"error": map[string]any{"code": e.code, "message": text},
	})
	if err != nil { // of strings and a number
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	}
	return out
}

// status is that of go-sdk for such an answer: below 2026-07-28 a request that is one has 200.
func (e *messageError) status(r *http.Request) int {
	if e.id != nil && r.Header.Get(headerProtocolVersion) < stateless {
		return http.StatusOK
	}
	return http.StatusBadRequest
}

func notRequest(why string) *messageError {
	return &messageError{code: jsonrpc.CodeInvalidRequest, text: "invalid request: " + why}
}

// messageLimits bound a message. They are a little wider than what decoders allow arguments,
// so that arguments are refused in their tool's own words.
var messageLimits = decode.Limits{
	Bytes:  math.MaxInt, // bounded where it was read
	Depth:  decode.DefaultDepth + 8,
	Values: 4 * decode.DefaultValues,
}

// checkMessage refuses what one reader could take for one thing and another for something
// else: what is not one JSON object in UTF-8, and what has a key twice anywhere. Batches,
// which later protocols dropped and which hide a message among others, are refused as well, and so is
// what go-sdk would fail to decode, since its errors repeat what they are about. It returns the
// message to pass on, and which catalog it asks for.
func checkMessage(body []byte, mask redact.Masker) ([]byte, asked, *messageError) {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return nil, asked{}, &messageError{code: jsonrpc.CodeParseError, text: "parse error: a byte order mark"}
	}
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		if err := decode.Scan(body, messageLimits); err != nil {
			return nil, asked{}, &messageError{code: jsonrpc.CodeParseError, text: "parse error: ", what: err}
		}
		if text[0] == '[' {
			return nil, asked{}, notRequest("batches are not accepted")
		}
		return nil, asked{}, notRequest("not an object")
	}
	var m envelope
	if err := decode.Members(body, messageLimits, m.set); err != nil {
		return nil, asked{}, &messageError{code: jsonrpc.CodeParseError, text: "parse error: ", what: err}
	}
	return m.checked(body, mask)
}

// envelope is the parts of a JSON-RPC message, as text.
type envelope struct{ version, id, method, params, failure []byte }

func (m *envelope) set(name, value []byte) {
	switch string(name) { // as go-sdk has it: "ID" is another
	case "jsonrpc":
		m.version = value
	case "id":
		m.id = value
	case "method":
		m.method = value
	case "params":
		m.params = value
	case "error":
		m.failure = value
	}
}

func (m *envelope) checked(body []byte, mask redact.Masker) ([]byte, asked, *messageError) {
	if len(m.version) == 0 || m.version[0] != '"' || string(unquoted(m.version)) != "2.0" {
		return nil, asked{}, notRequest("not a JSON-RPC 2.0 message")
	}
	if err := checkID(m.id); err != nil {
		return nil, asked{}, err
	}
	if len(m.failure) > 0 && len(failureShape().check(m.failure)) > 0 {
		return nil, asked{}, notRequest("an error that is none of JSON-RPC 2.0")
	}
	if len(m.method) == 0 || string(m.method) == "null" {
		return body, asked{}, nil
	}
	if m.method[0] != '"' {
		return nil, asked{}, notRequest("a method that is not a string")
	}
	method := string(unquoted(m.method))
	shape := paramsShapes()[method]
	if shape == nil {
		masked := mask.Text(method)
		if len(m.params) == 0 && masked == method {
			return body, asked{}, nil
		}
		return m.bare(masked), asked{}, nil
	}
	if len(m.params) == 0 {
		return body, asked{}, nil
	}
	err := shape.misfit(m.params)
	var asks asked
	if err == nil {
		asks, err = m.asks(method, mask)
	}
	if err != nil {
		if err.mute = len(m.id) == 0 || string(m.id) == "null"; !err.mute {
			err.id = m.id
		}
		return nil, asked{}, err
	}
	return body, asks, nil
}

// bare is the message with nothing of its params but _meta, which may say the version. go-sdk repeats the method, which it does
// not know, in its answer, and so it is given what is left of that without secrets.
func (m *envelope) bare(method string) []byte {
	out := append([]byte(`{"jsonrpc":"2.0","method":`), m.method...)
	if method != string(unquoted(m.method)) {
		name, err := marshal(method)
		if err != nil { // of a string
			name = []byte(`""`)
		}
		out = append([]byte(`{"jsonrpc":"2.0","method":`), name...)
	}
	if len(m.id) > 0 {
		out = append(append(out, `,"id":`...), m.id...)
	}
	if len(m.params) > 0 && m.params[0] == '{' {
		eachMember(m.params, func(name, value []byte) bool {
			if string(name) == "_meta" && value[0] == '{' && len(anyShapes["object"].check(value)) == 0 {
				out = append(append(append(out, `,"params":{"_meta":`...), value...), '}')
			}
			return true
		})
	}
	return append(out, '}')
}

// failureShape is what an answer may hold for an error.
var failureShape = sync.OnceValue(func() *shape { return shapeOf(reflect.TypeFor[jsonrpc.Error]()) })

// checkID refuses an id that would be answered as another one: go-sdk cuts a fraction off, and
// whole numbers beyond 2^53 lose digits in it. The specification has ids of strings and
// integers (2025-11-25, basic, requests).
func checkID(id []byte) *messageError {
	if len(id) == 0 || id[0] == '"' || string(id) == "null" {
		return nil
	}
	const safe = 1<<53 - 1
	if n, err := strconv.ParseInt(string(id), 10, 64); err != nil || n < -safe || n > safe {
		return notRequest("an id that is neither a string nor an integer of at most 53 bits")
	}
	return nil
}
