// Package asking serves the tools by which clients see what resources they may use, and ask for more. An
// administrator decides in the API or the console, and the client's next call works.
//
//mcp:server name=permissions title="Permissions on resources"
//mcp:default authenticated action=none
package asking

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

//go:generate go tool mcpgen .

// Keeper is where grants and requests are: grant/stored has one over a database.
type Keeper interface {
	grant.Source
	grant.Requests
}

// Desk answers the calls. It may be used by many goroutines at once.
type Desk struct {
	keeper   Keeper
	defaults []grant.Grant
	logger   *slog.Logger
}

// New returns a desk over what the server's Options.Grants is. Defaults are its Options.GrantDefaults, for
// clients to see. What goes wrong is logged to slog.Default, without secrets.
func New(keeper Keeper, defaults ...grant.Permission) *Desk {
	return &Desk{keeper, grant.Default(defaults...), slog.Default()}
}

// Wish is a permission that a client asks for.
type Wish struct {
	// Kind of permission, as the refusal named it.
	Type string `json:"type" jsonschema:"minLength=1,maxLength=64,example=file.read"`
	// Resource, or a pattern of some: docs/*.md below a root, git log * for a command, example.com:443 for a host.
	Resource string `json:"resource" jsonschema:"minLength=1,maxLength=4096,example=docs/*.md"`
	// What it is needed for. A person reads it and decides.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=1000"`
	// Tool whose call was refused.
	Tool string `json:"tool,omitempty" jsonschema:"maxLength=128"`
}

// Asked is a request for a permission.
type Asked struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Resource string `json:"resource"`
	// Status is open until somebody has decided, then approved or denied.
	Status string `json:"status"`
	// Note is what who decided wrote.
	Note string `json:"note,omitempty"`
}

// RequestPermission asks an administrator for a permission on a resource that a call was refused for. Nothing changes until one
// approves; then the same call works. Asking again for the same returns the request that is open.
//
//mcp:tool title="Ask for a permission"
func (d *Desk) RequestPermission(ctx context.Context, wish Wish) (Asked, error) {
	caller, ok := runtime.Caller(ctx)
	if !ok || caller.Anonymous() {
		return Asked{}, errNobody
	}
	p := grant.Permission{Type: wish.Type, Resource: wish.Resource}
	request, _ := runtime.RequestOf(ctx)
	if request.Masker.Text(p.Resource) != p.Resource {
		return Asked{}, errSecret
	}
	if err := p.Validate(); err != nil {
		return Asked{}, err
	}
	ctx = audit.Acting(ctx, audit.Event{
		Issuer: caller.Issuer, Principal: caller.Subject, Client: caller.ClientID(), Role: caller.Role, RequestID: runtime.RequestID(ctx),
	})
	r, err := d.keeper.Ask(ctx, grant.Request{
		Permission: p, Issuer: caller.Issuer, Client: caller.ClientID(), Principal: caller.Subject, Tool: request.Masker.Text(wish.Tool), Reason: request.Masker.Text(wish.Reason),
	})
	switch {
	case errors.Is(err, grant.ErrTooMany):
		return Asked{}, errors.New("too many of your requests are open: wait until an administrator has decided on some")
	case errors.Is(err, grant.ErrInvalid):
		return Asked{}, err
	case err != nil:
		return Asked{}, d.unavailable(ctx, err)
	}
	return asked(r), nil
}

// Held is a permission that the client has.
type Held struct {
	Type     string `json:"type"`
	Resource string `json:"resource"`
	// Restricted says that it counts for tools in a process of their own alone.
	Restricted bool `json:"restricted,omitempty"`
	// Expires is when it ends. Without it, it does not by itself.
	Expires *time.Time `json:"expires,omitempty"`
}

// Permissions are what a client has, and what it has asked for.
type Permissions struct {
	Granted  []Held  `json:"granted"`
	Requests []Asked `json:"requests"`
}

// ListPermissions returns the permissions on resources that you have now, and your newest requests for more.
//
//mcp:tool readonly title="Your permissions"
func (d *Desk) ListPermissions(ctx context.Context) (Permissions, error) {
	list := Permissions{Granted: []Held{}, Requests: []Asked{}}
	caller, ok := runtime.Caller(ctx)
	if !ok || caller.Anonymous() {
		return list, errNobody
	}
	grants, _, err := d.keeper.Grants(ctx, caller.Issuer, caller.ClientID())
	if err != nil {
		return list, d.unavailable(ctx, err)
	}
	now := time.Now()
	for _, all := range [][]grant.Grant{d.defaults, grants} {
		for _, g := range all {
			if g.Expired(now) {
				continue
			}
			h := Held{Type: g.Type, Resource: g.Resource, Restricted: g.Restricted}
			if !g.Expires.IsZero() {
				h.Expires = &g.Expires
			}
			list.Granted = append(list.Granted, h)
		}
	}
	requests, err := d.keeper.Requests(ctx, grant.Filter{Issuer: caller.Issuer, Client: caller.ClientID(), Exact: true, Limit: 20})
	if err != nil {
		return list, d.unavailable(ctx, err)
	}
	for _, r := range requests {
		list.Requests = append(list.Requests, asked(r))
	}
	return list, nil
}

// errNobody says that anonymous callers have no permissions of their own. The rule of the tools lets none in.
var errNobody = errors.New("permissions belong to clients, and you are not known as one: sign in")

// errSecret keeps secrets out of what administrators are shown, and of the trail.
var errSecret = errors.New("the resource holds what looks like a password, a token or a key: ask for a pattern without it, with * in its place")

// unavailable is what a client is told where the keeper has failed: what that says may name a database, and is for
// the log.
func (d *Desk) unavailable(ctx context.Context, err error) error {
	request, _ := runtime.RequestOf(ctx)
	slog.New(request.Masker.Handler(d.logger.Handler())).ErrorContext(ctx, "grants or requests could not be read or kept", "request_id", runtime.RequestID(ctx), "error", err)
	return errors.New("permissions are not available now: try again later")
}

func asked(r grant.Request) Asked {
	return Asked{ID: r.ID, Type: r.Type, Resource: r.Resource, Status: string(r.Status), Note: r.Note}
}
