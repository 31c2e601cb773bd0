package request

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
)

type infoKey struct{}

// InfoKey is where [From] finds the facts about the message, an *[Info].
var InfoKey any = infoKey{}

type callerKey struct{} // of the principal that a handler runs for

// With returns the context of a message.
func With(ctx context.Context, info *Info) context.Context {
	return context.WithValue(info.WithCredential(ctx), infoKey{}, info)
}

// WithCredential returns a context with the message's credential, and without another one.
func (i *Info) WithCredential(ctx context.Context) context.Context {
	if i.Credential != nil || ctx.Value(credential.Key) != nil {
		ctx = credential.With(ctx, i.Credential)
	}
	return ctx
}

// From returns the facts about the message that a context belongs to, nil for none.
func From(ctx context.Context) *Info {
	info, _ := ctx.Value(infoKey{}).(*Info)
	return info
}

// Caller returns the principal that a handler or another function of the program acts for, with the
// roles within its boundary. It reports false outside of a message.
func Caller(ctx context.Context) (access.Principal, bool) {
	if p, _ := ctx.Value(callerKey{}).(*access.Principal); p != nil {
		return *p, true
	}
	if info := From(ctx); info != nil {
		return info.Principal.Within(), true
	}
	return access.Principal{}, false
}

// ForHandler returns a [Handling].
func ForHandler(ctx context.Context, info *Info, caller *access.Principal) context.Context {
	return &Handling{ctx, info, caller}
}

// Handling is a handler's context, without go-sdk's TokenInfo of the session's creator.
type Handling struct {
	context.Context
	Info   *Info
	Caller *access.Principal // for [Caller]; nil for that of Info
}

// Value implements [context.Context].
func (c *Handling) Value(key any) any {
	switch key.(type) {
	case infoKey:
		return c.Info
	case callerKey:
		return c.Caller
	}
	v := c.Context.Value(key)
	if _, ok := v.(*auth.TokenInfo); ok {
		return nil
	}
	return v
}
