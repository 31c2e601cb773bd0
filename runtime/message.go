package runtime

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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

func notJSON(why string) *messageError {
	return &messageError{jsonrpc.CodeParseError, "parse error: " + why}
}

func notRequest(why string) *messageError {
	return &messageError{jsonrpc.CodeInvalidRequest, "invalid request: " + why}
}

// checkMessage refuses what one reader could take for one thing and another for something
// else: what is not one JSON object in UTF-8, and what has a key twice where the protocol
// reads, that is in the message, in its params and in their _meta. (Arguments belong to
// their tool, whose decoder looks at them.) Batches, which later protocols dropped, are refused as well.
func checkMessage(body []byte) *messageError {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return notJSON("a byte order mark")
	case !utf8.Valid(body):
		return notJSON("not UTF-8")
	case !json.Valid(body):
		return notJSON("not one JSON value")
	}
	start := bytes.TrimLeft(body, " \t\r\n")
	if start[0] == '[' {
		return notRequest("batches are not accepted")
	}
	if start[0] != '{' {
		return notRequest("not an object")
	}
	members, twice := membersOf(start)
	if twice {
		return notRequest("a key stands twice in the message")
	}
	params := members["params"]
	if members, twice = membersOf(params); twice {
		return notRequest("a key stands twice in params")
	}
	if _, twice = membersOf(members["_meta"]); twice {
		return notRequest("a key stands twice in _meta")
	}
	return nil
}

// membersOf returns the members of a valid JSON object, and whether a key stands twice in it. Of
// anything else it returns none.
func membersOf(object []byte) (members map[string][]byte, twice bool) {
	object = bytes.TrimLeft(object, " \t\r\n")
	if len(object) == 0 || object[0] != '{' {
		return nil, false
	}
	members = map[string][]byte{}
	c := cursor{text: object, pos: 1}
	for {
		c.skipSpace()
		if c.text[c.pos] == ',' {
			c.pos++
			c.skipSpace()
		}
		if c.text[c.pos] == '}' {
			return members, false
		}
		token := c.token()
		var key string
		if json.Unmarshal(token, &key) != nil {
			return members, true
		}
		c.skipSpace()
		c.pos++ // the colon
		c.skipSpace()
		if _, ok := members[key]; ok {
			return members, true
		}
		members[key] = c.token()
	}
}

// cursor walks over JSON that is known to be valid.
type cursor struct {
	text []byte
	pos  int
}

func (c *cursor) skipSpace() {
	for c.pos < len(c.text) {
		switch c.text[c.pos] {
		case ' ', '\t', '\r', '\n':
			c.pos++
		default:
			return
		}
	}
}

// token consumes one value and returns its text.
func (c *cursor) token() []byte {
	start, depth := c.pos, 0
	for c.pos < len(c.text) {
		switch c.text[c.pos] {
		case '"':
			c.skipString()
			if depth == 0 {
				return c.text[start:c.pos]
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return c.text[start:c.pos]
			}
			if depth--; depth == 0 {
				c.pos++
				return c.text[start:c.pos]
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return c.text[start:c.pos]
			}
		}
		c.pos++
	}
	return c.text[start:c.pos]
}

func (c *cursor) skipString() {
	for c.pos++; c.pos < len(c.text); c.pos++ {
		switch c.text[c.pos] {
		case '\\':
			c.pos++
		case '"':
			c.pos++
			return
		}
	}
}
