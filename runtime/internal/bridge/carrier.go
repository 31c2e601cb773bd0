package bridge

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// carrier takes one message through go-sdk: from the transport to the guard, and from the end of
// the chain to the handler. It travels in TokenInfo.Extra, on HTTP and stdio alike. Its type is
// not exported, so that nothing else can make one.
type carrier struct {
	info     *request.Info
	request  mcp.Request // as go-sdk has decoded it
	message  guard.Message
	inside   *guard.Message // at the end of the chain
	report   *invoke.Report // of the handler; nil until a toolset's handler has run
	mismatch atomic.Bool    // the answer is that a bound header differs from its argument
}

// CarrierKey is where the carrier travels.
const CarrierKey = "github.com/mcpgen/mcpgen/runtime.carrier"

// carrierKey is the key of the carrier in the context of its message.
type carrierKey struct{}

// TokenInfo returns the facts about a message in the form that go-sdk carries.
func TokenInfo(info *request.Info) *auth.TokenInfo { return (&carrier{info: info}).token() }

func (c *carrier) token() *auth.TokenInfo {
	extra := map[string]any{CarrierKey: c}
	return &auth.TokenInfo{UserID: sessionUser(c.info.Principal), Extra: extra}
}

// verified is the verifier for go-sdk's middleware of a request that is verified already.
func verified(c *carrier) auth.TokenVerifier {
	token := c.token()
	return func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return token, nil
	}
}

// carrierOf returns the carrier that came with a message, or nil. Without one nothing is served.
func carrierOf(extra *mcp.RequestExtra) *carrier {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	c, _ := extra.TokenInfo.Extra[CarrierKey].(*carrier)
	if c == nil || c.info == nil {
		return nil
	}
	return c
}

// complete adds to the facts about a message what go-sdk's session knows.
func (c *carrier) complete(server *request.Server) {
	c.info.Server = server
	c.info.Version = request.NewestWithSessions
	if session, _ := c.request.GetSession().(*mcp.ServerSession); session != nil {
		named, _ := c.message.Meta[mcp.MetaKeyProtocolVersion].(string)
		c.info.InSession(session, named)
	}
	if c.info.Itself {
		c.info.Inputs = request.InputsIn(c.message.Meta)
	}
}

// metaOf returns the _meta of params, which may be a typed nil, or panic in an adopted server.
func metaOf(params mcp.Params) (meta map[string]any) {
	defer func() { _ = recover() }()
	return params.GetMeta()
}

// NilCarrier is a carrier that is none, for tests.
var NilCarrier = (*carrier)(nil)
