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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Sealer authenticates the requestState of multi-round-trip requests (SEP-2322), so that clients
// cannot respond to input requests that no handler made. A sealed state is valid for an hour, for
// one principal, tool and arguments, and for its input requests, whose schemas the answers have to
// fit. It is not encrypted.
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

// stateVersion is a part of each MAC: states of a version without schemas are not accepted.
const stateVersion = "2"

// state is the content of a sealed state.
type state struct {
	// Of the input requests, by key. Schemas are those of elicitation.
	Kinds   map[string]string          `json:"asked,omitempty"`
	Schemas map[string]json.RawMessage `json:"schemas,omitempty"`
	State   string                     `json:"state,omitempty"` // of the handler
}

// Open returns params without input responses and state that the client invented. It fails if a
// client of 2026-07-28 sends such.
func (s Sealer) Open(info *request.Info,
	params *mcp.CallToolParamsRaw) (*mcp.CallToolParamsRaw, error) {
	if params.InputResponses == nil && params.RequestState == "" {
		return params, nil
	}
	opened := *params
	if info.HasSessions() {
		// Older clients respond on the session: what they send with a call is invented.
		opened.InputResponses, opened.RequestState = nil, ""
		return &opened, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(params.RequestState)
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
	for key, response := range params.InputResponses {
		if kind := sealed.Kinds[key]; kind == "" || kind != wire.InputKind(response) {
			return nil, errors.New("inputResponses has a response without a request, or of another kind " +
				"than the request")
		}
		if err := wire.CheckInputResponse(sealed.Schemas[key], response); err != nil {
			return nil, fmt.Errorf("inputResponses has a response to %q, but %w", key, err)
		}
	}
	opened.RequestState = sealed.State
	return &opened, nil
}

// Seal returns res with a sealed state if it asks for input, also if its handler gave no state.
func (s Sealer) Seal(info *request.Info, params *mcp.CallToolParamsRaw,
	res *mcp.CallToolResult) (*mcp.CallToolResult, error) {
	if res == nil || res.InputRequests == nil {
		return res, nil
	}
	kinds, schemas := map[string]string{}, map[string]json.RawMessage{}
	for key, req := range res.InputRequests {
		var err error
		if kinds[key], err = wire.CheckInputRequest(req); err == nil { // of an adopted tool
			schemas[key], err = wire.ElicitSchema(req)
		}
		if err != nil {
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		if schemas[key] == nil {
			delete(schemas, key)
		}
	}
	body, err := json.Marshal(state{kinds, schemas, res.RequestState})
	if err != nil {
		return nil, err
	}
	raw := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(time.Hour).Unix()))
	raw = append(raw, body...)
	raw = append(s.mac(info, params, raw), raw...)
	sealed := *res
	sealed.RequestState = base64.RawURLEncoding.EncodeToString(raw)
	return &sealed, nil
}

// mac authenticates raw, which is the end of its validity and a state, for one call.
func (s Sealer) mac(info *request.Info, params *mcp.CallToolParamsRaw, raw []byte) []byte {
	h, p := hmac.New(sha256.New, s.key), info.Principal
	for _, part := range [][]byte{
		[]byte(stateVersion), []byte(p.Issuer), []byte(p.Subject), []byte(p.ClientID()),
		[]byte(params.Name), decode.Canonical(params.Arguments), raw,
	} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	return h.Sum(nil)
}
