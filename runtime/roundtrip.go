package runtime

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
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// sealer authenticates the requestState of multi-round-trip requests (SEP-2322). A handler
// that asks its caller for input gets the answers in a second, independent request, and with
// them the state that it sent; without a seal anybody could send answers to questions that nobody
// asked. A sealed state holds for one principal, tool and arguments and for the questions that
// it came with, by key and kind, for an hour. It is not encrypted: the caller can read it.
type sealer struct{ key []byte }

const sealedFor = time.Hour

func newSealer(key []byte) sealer {
	if len(key) == 0 {
		key = make([]byte, minStateKey)
		rand.Read(key) // never fails: crypto/rand, since Go 1.24
	}
	return sealer{bytes.Clone(key)}
}

var (
	errState   = errors.New("requestState is not one that this server gave for this call")
	errUnasked = errors.New("inputResponses has an answer to what was not asked, or of another kind than was asked for")
)

// round is what a sealed state says: what was asked, and the handler's own state.
type round struct {
	Asked map[string]question `json:"asked,omitempty"`
	State string              `json:"state,omitempty"`
}

// seal makes the state that leaves: MAC, end of validity, round.
func (s sealer) seal(p access.Principal, tool string, arguments json.RawMessage, r round, now time.Time) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(now.Add(sealedFor).Unix()))
	body, err := json.Marshal(r)
	if err != nil { // of maps of strings
		return ""
	}
	raw = append(raw, body...)
	return base64.RawURLEncoding.EncodeToString(append(s.mac(p, tool, arguments, raw), raw...))
}

// open returns what a sealed state says.
func (s sealer) open(p access.Principal, tool string, arguments json.RawMessage, sealed string, now time.Time) (round, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || len(raw) < sha256.Size+8 {
		return round{}, errState
	}
	mac, raw := raw[:sha256.Size], raw[sha256.Size:]
	if !hmac.Equal(mac, s.mac(p, tool, arguments, raw)) {
		return round{}, errState
	}
	if now.Unix() >= int64(binary.BigEndian.Uint64(raw)) {
		return round{}, errState
	}
	var r round
	if err := json.Unmarshal(raw[8:], &r); err != nil {
		return round{}, errState
	}
	return r, nil
}

func (s sealer) mac(p access.Principal, tool string, arguments json.RawMessage, raw []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	for _, part := range [][]byte{
		[]byte(p.Issuer), []byte(p.Subject), []byte(p.ClientID()), []byte(tool), canonical(arguments), raw,
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return h.Sum(nil)
}

// canonical spells arguments the same whatever the order of their keys and their white space:
// a client may well encode them anew for the second request.
func canonical(arguments json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return arguments
	}
	if _, err := dec.Token(); err != io.EOF {
		return arguments
	}
	out, err := marshal(v)
	if err != nil {
		return arguments
	}
	return out
}

// unsealed returns the params that a call may go on with: without the answers and the state
// that a client made up.
func (s sealer) unsealed(rec *record, req *mcp.CallToolRequest) (*mcp.CallToolParamsRaw, error) {
	if req.Params.InputResponses == nil && req.Params.RequestState == "" {
		return req.Params, nil
	}
	params := *req.Params
	if legacy(req.Session) {
		// Older clients answer on the session; what they send along with a call is made up.
		params.InputResponses, params.RequestState = nil, ""
		return &params, nil
	}
	r, err := s.open(rec.principal, params.Name, params.Arguments, params.RequestState, time.Now())
	if err != nil {
		return nil, err
	}
	for key, answer := range params.InputResponses {
		if kind, ok := r.Asked[key]; !ok || !kind.answers(answer) {
			return nil, errUnasked
		}
	}
	params.RequestState = r.State
	return &params, nil
}

// sealed seals the state of a result that asks for input, whether its handler gave one or not.
func (s sealer) sealed(rec *record, params *mcp.CallToolParamsRaw, res mcp.Result) (mcp.Result, error) {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || r == nil || r.InputRequests == nil {
		return res, nil
	}
	c := *r
	asked := map[string]question{}
	for key, q := range c.InputRequests {
		if err := checkQuestion(q); err != nil { // of middleware, or of a tool of an adopted server
			return nil, fmt.Errorf("input request %q: %w", key, err)
		}
		asked[key], _ = kindOf(q) // checked
	}
	c.RequestState = s.seal(rec.principal, params.Name, params.Arguments, round{asked, c.RequestState}, time.Now())
	return &c, nil
}

// legacy reports whether a session speaks a protocol before 2026-07-28, in which go-sdk
// itself asks the client for input.
func legacy(session *mcp.ServerSession) bool {
	if session == nil {
		return true
	}
	params := session.InitializeParams()
	return params != nil && params.ProtocolVersion < stateless
}

// stateless is the first protocol version without sessions; versions compare as text.
const stateless = "2026-07-28"

// newestWithSessions is what the initialize handshake negotiates at most.
const newestWithSessions = "2025-11-25"
