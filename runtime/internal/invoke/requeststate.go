package invoke

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Sealer authenticates the requestState of multi-round-trip requests (SEP-2322), so that clients
// cannot respond to input requests that no handler made. A sealed state is valid for an hour, for
// one principal with its client and its actor, and for one tool or prompt with its arguments or one
// URI of a resource. It has the input requests, whose schemas the answers have to fit. It is not
// encrypted.
type Sealer struct{ key []byte }

// MinStateKey is the key size that HMAC-SHA-256 makes full use of, in bytes.
const MinStateKey = 32

// NewSealer returns a sealer with a key, or with a random one if key is empty.
func NewSealer(key []byte) Sealer {
	if len(key) == 0 {
		key = make([]byte, MinStateKey)
		rand.Read(key) // never fails: crypto/rand, since Go 1.24
	}
	return Sealer{bytes.Clone(key)}
}

var errState = errors.New("requestState is not from this server and this call")

// stateVersion is a part of each MAC: states of other versions are not accepted.
const stateVersion = "4"

// state is the content of a sealed state.
type state struct {
	// Of the input requests, by key. Schemas are those of elicitation.
	Kinds   map[string]string          `json:"asked,omitempty"`
	Schemas map[string]json.RawMessage `json:"schemas,omitempty"`
	State   string                     `json:"state,omitempty"` // of the handler
}

// Open returns params with the state of the handler and the responses to its input requests. It
// removes others, and all if there is no state: the handler runs as on a first call, and asks again
// for what is missing (SEP-2322). It fails if a client of 2026-07-28 sends a state that is not the
// server's, or a response that does not fit its request.
func (s Sealer) Open(info *request.Info, params mcp.Params) (mcp.Params, error) {
	responses, sealedState := wire.ResponsesOf(params)
	switch {
	case responses == nil && sealedState == "":
		return params, nil
	case info.HasSessions(), sealedState == "":
		// Clients of older versions respond on the session.
		return wire.WithResponses(params, nil, ""), nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealedState)
	if err != nil || len(raw) < sha256.Size+8 {
		return nil, errState
	}
	mac, raw := raw[:sha256.Size], raw[sha256.Size:]
	var sealed state
	if !hmac.Equal(mac, s.mac(info, params, raw)) ||
		time.Now().Unix() >= int64(binary.BigEndian.Uint64(raw)) ||
		json.Unmarshal(raw[8:], &sealed) != nil {
		return nil, errState
	}
	responses = maps.Clone(responses)
	maps.DeleteFunc(responses, func(key string, _ mcp.InputResponse) bool {
		return sealed.Kinds[key] == ""
	})
	for key, response := range responses {
		if sealed.Kinds[key] != wire.InputKind(response) {
			return nil, fmt.Errorf(
				"inputResponses has a response to %q of another kind than the request", key)
		}
		if err := wire.CheckInputResponse(sealed.Schemas[key], response); err != nil {
			return nil, fmt.Errorf("inputResponses has a response to %q, but %w", key, err)
		}
	}
	return wire.WithResponses(params, responses, sealed.State), nil
}

// Seal returns res with a sealed state if it asks for input, also if its handler gave no state.
func (s Sealer) Seal(info *request.Info, params mcp.Params, res mcp.Result) (mcp.Result, error) {
	requests, handlers := wire.InputOf(res)
	if requests == nil {
		return res, nil
	}
	kinds, schemas := map[string]string{}, map[string]json.RawMessage{}
	for key, req := range requests {
		var err error
		if kinds[key], err = wire.CheckInputRequest(req); err == nil { // of an adopted server
			schemas[key], err = wire.ElicitSchema(req)
		}
		if err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		if schemas[key] == nil {
			delete(schemas, key)
		}
	}
	body, err := json.Marshal(state{kinds, schemas, handlers})
	if err != nil {
		return nil, err
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(time.Hour).Unix()))
	raw = append(raw, body...)
	raw = append(s.mac(info, params, raw), raw...)
	return wire.WithState(res, base64.RawURLEncoding.EncodeToString(raw)), nil
}

// mac authenticates raw, which is the end of its validity and a state, for one call.
func (s Sealer) mac(info *request.Info, params mcp.Params, raw []byte) []byte {
	h, p := hmac.New(sha256.New, s.key), info.Principal
	var kind, name string
	var arguments []byte
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		kind, name, arguments = "tool", p.Name, decode.Canonical(p.Arguments)
	case *mcp.GetPromptParams:
		kind, name = "prompt", p.Name
		for _, argument := range slices.Sorted(maps.Keys(p.Arguments)) {
			arguments = fmt.Appendf(arguments, "%q=%q,", argument, p.Arguments[argument])
		}
	case *mcp.ReadResourceParams:
		kind, name = "resource", p.URI
	}
	for _, part := range [][]byte{
		[]byte(stateVersion), []byte(p.Issuer), []byte(p.Subject), []byte(p.ClientID()),
		[]byte(p.Actor.Issuer), []byte(p.Actor.Subject),
		[]byte(kind), []byte(name), arguments, raw,
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}
