package runtime

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// messageError says why a message is not looked at, in JSON-RPC's terms.
type messageError struct {
	code int64
	text string
}

// response is the answer on the wire. The message's id is not known: nothing of it was read.
func (e *messageError) response() []byte {
	out, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": e.code, "message": e.text},
	})
	if err != nil { // of strings and a number
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`)
	}
	return out
}

func notRequest(why string) *messageError {
	return &messageError{jsonrpc.CodeInvalidRequest, "invalid request: " + why}
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
// which later protocols dropped and which hide a message among others, are refused as well.
func checkMessage(body []byte) *messageError {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return &messageError{jsonrpc.CodeParseError, "parse error: a byte order mark"}
	}
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 || text[0] != '{' {
		if err := decode.Scan(body, messageLimits); err != nil {
			return &messageError{jsonrpc.CodeParseError, "parse error: " + err.Error()}
		}
		if text[0] == '[' {
			return notRequest("batches are not accepted")
		}
		return notRequest("not an object")
	}
	var id []byte
	err := decode.Members(body, messageLimits, func(name, value []byte) {
		if string(name) == "id" { // and not "ID", which is another
			id = value
		}
	})
	if err != nil {
		return &messageError{jsonrpc.CodeParseError, "parse error: " + err.Error()}
	}
	return checkID(id)
}

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
