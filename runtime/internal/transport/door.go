package transport

import (
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// A message takes one of two doors. The direct door is the guard's chain, called by the transport
// itself; the other one is go-sdk's server, whose middleware is the chain. The door is chosen
// before the handler runs, and never by what it returns.
//
// The direct door takes a message only if every check that go-sdk makes before its middleware would
// pass. Anything else goes to go-sdk, which words the refusal.

// candidate is a message that may take the direct door.
type candidate struct {
	wire.Checked
	info    *request.Info
	header  http.Header     // nil on stdio
	session request.Session // nil without one
}

// doorChecks are go-sdk's checks, in the order in which they are made here.
var doorChecks = []struct {
	name  string
	holds func(*candidate) bool
}{
	{"params and id", func(c *candidate) bool { return c.Call != nil }},
	{"accept", (*candidate).accepts},
	{"last event", (*candidate).resumesNothing},
	{"version", (*candidate).hasVersion},
	{"client", func(c *candidate) bool { return !c.Call.Odd }},
	{"method header", (*candidate).hasMethodHeader},
	{"name header", (*candidate).hasNameHeader},
}

// passes reports whether a message may take the direct door.
func (c *candidate) passes() bool {
	for _, check := range doorChecks {
		if !check.holds(c) {
			return false
		}
	}
	return true
}

// accepts reports whether the client takes JSON and event streams.
func (c *candidate) accepts() bool {
	if c.header == nil {
		return true
	}
	json, stream := c.accepted()
	return json && stream
}

// accepted reports which content types of responses the client takes.
func (c *candidate) accepted() (json, stream bool) {
	for _, value := range c.header["Accept"] {
		for part := range strings.SplitSeq(value, ",") {
			base, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(base)) {
			case "application/json", "application/*":
				json = true
			case "text/event-stream", "text/*":
				stream = true
			case "*/*":
				json, stream = true, true
			}
		}
	}
	return json, stream
}

// prefersStream reports whether the client lists event streams first, and as good as JSON.
func (c *candidate) prefersStream() bool {
	return strings.HasPrefix(c.header.Get("Accept"), "text/event-stream,")
}

func (c *candidate) resumesNothing() bool { return len(c.header["Last-Event-Id"]) == 0 }

// hasVersion reports whether the message names 2026-07-28 itself, in the header too, or belongs to
// a session of an older version that has made its handshake.
func (c *candidate) hasVersion() bool {
	sent := c.header.Get(request.HeaderProtocolVersion)
	switch {
	case c.Call.Version == request.Stateless:
		return c.session == nil && (c.header == nil || sent == c.Call.Version)
	case c.Call.Version != "", c.session == nil:
		return false
	}
	params := c.session.InitializeParams()
	return params != nil && params.ProtocolVersion < request.Stateless &&
		(sent == "" || sent < request.Stateless && request.KnownVersion(sent) != "")
}

func (c *candidate) hasMethodHeader() bool {
	return c.Call.Version == "" || c.header == nil || c.header.Get("Mcp-Method") == c.Method
}

func (c *candidate) hasNameHeader() bool {
	if c.Call.Version == "" || c.header == nil {
		return true
	}
	var name string
	switch params := c.Call.Params.(type) {
	case *mcp.CallToolParamsRaw:
		name = params.Name
	case *mcp.GetPromptParams:
		name = params.Name
	case *mcp.ReadResourceParams:
		name = params.URI
	default:
		return true
	}
	return name != "" && c.header.Get("Mcp-Name") == name
}

// message returns a message that has passed the checks, as the guard takes it.
func (c *candidate) message(facts *request.Server) *guard.Message {
	c.info.Server = facts
	if c.session != nil {
		c.info.InSession(c.session, "")
	} else {
		c.info.Version, c.info.Protocol, c.info.Itself = c.Call.Version, c.Call.Version, true
		c.info.Inputs = request.InputsIn(c.Call.Meta)
	}
	return &guard.Message{Info: c.info, Method: c.Method, Params: c.Call.Params, Meta: c.Call.Meta,
		Responds: c.Call.Responds}
}

// needsSDK reports whether go-sdk has to answer a message, or to refuse it as an unknown method.
func needsSDK(g *guard.Guard, m *guard.Message) bool {
	if _, task := m.Params.(*wire.TaskParams); task {
		return !g.ServesTask(m)
	}
	return g.SomeNeedSDK && g.NeedsSDK(m)
}

// response returns the response to a message.
func (c *candidate) response(a guard.Answer, err error) []byte {
	if err == nil && a.Encoded == nil {
		err = wire.InternalError() // middleware has returned nothing
	}
	if err != nil {
		return wire.ErrorResponse(c.ID, err)
	}
	return wire.ResultResponse(c.ID, a.Encoded)
}
