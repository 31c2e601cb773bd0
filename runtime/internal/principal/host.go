package principal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Host gives principals their permissions in the host. A nil Host leaves principals as they are.
type Host struct {
	HostConfig
	native map[access.Permission]string // the host's names
	users  map[client]access.ServiceUser
	cache  *loader.Loader[access.Principal, *permissions]
	equal  equalPermits

	pending atomic.Pointer[error] // why the checks at start have not passed; nil after
	running atomic.Int32          // running calls of the adapter by the checks at start
	misfit  atomic.Bool           // a later check returned a [capability.ConfigurationError]
}

// HostConfig is what a [Host] needs.
type HostConfig struct {
	Source       capability.Source
	Timeout      time.Duration // of one query
	TTL          time.Duration // how long permissions are kept; 0 reads them for each message
	Max          int           // principals whose permissions are kept
	ServiceUsers []access.ServiceUser
	Identity     identity.Source
	Table        access.Table // aware; in a Host, with the actions that the adapter maps verbs to
	Anonymous    bool         // anonymous callers are admitted
	Pool         *worker.Pool
	Log          *slog.Logger
	Masker       redact.Masker
	Looked       func(cache string, hit bool) // for each message; may be nil
	// Loaded, if not nil, is called after a query by a message. With a TTL, the principal has no
	// Permits, and a query whose result is not kept does not count.
	Loaded func(access.Principal)
}

type client struct{ name, issuer string } // issuer is empty for any

// ErrUnknownUser reports a caller without a user of the host, if it cannot be anonymous.
var ErrUnknownUser = errors.New("the identity has no user of the host")

// NewHost returns a host after the checks at start. If the host cannot be queried, it is returned
// all the same, and is [Host.Pending].
func NewHost(c HostConfig) (*Host, error) {
	h := &Host{HostConfig: c, native: map[access.Permission]string{}}
	h.users = make(map[client]access.ServiceUser, len(c.ServiceUsers))
	for _, u := range c.ServiceUsers {
		h.users[client{u.Client, u.Issuer}] = u
	}
	h.cache = h.newCache()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeouts*c.Timeout)
	defer cancel()
	err := errors.Join(h.mapVerbs(ctx), h.checkRules(), h.checkIdentity(), h.loadNames(ctx))
	if queried := h.Start(ctx); !Unreachable(queried) {
		err = errors.Join(err, queried)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Attach sets the permissions of a message's caller and its user of the host. The first Attach of a
// message reads the host. A caller without a user of the host becomes anonymous, or the error is
// [ErrUnknownUser].
func (h *Host) Attach(ctx context.Context, info *request.Info) (err error) {
	switch {
	case h == nil || info.Principal.Anonymous():
		return nil
	case info.Permissions == nil:
		before := info.Principal
		info.Principal, info.Permissions, err = h.permit(ctx, info, before)
		if info.Principal.Anonymous() {
			info.Userless = before
		}
	case info.Permissions.UnknownUser:
		err = ErrUnknownUser
	}
	return err
}

// Refresh returns the caller and the permissions for one run of a handler. now is the caller of the
// message with the present boundary. Without a TTL, the first run of a message has the permissions
// of the message, unless its roles within the boundary have changed: items of a boundary may be
// hidden. A later run reads them again: go-sdk runs a handler once more when the client's person
// has replied.
func (h *Host) Refresh(ctx context.Context, info *request.Info,
	now access.Principal) (access.Principal, *request.Permissions) {
	held := info.Permissions
	if held == nil || held.Unavailable ||
		slices.Equal(now.Within().Roles, info.Principal.Within().Roles) && held.Current() {
		return now, held
	}
	p, held, err := h.permit(ctx, info, now)
	if err != nil {
		return nobody(now), nil // a refused caller counts as anonymous
	}
	return p, held
}

func (h *Host) permit(ctx context.Context, info *request.Info,
	p access.Principal) (access.Principal, *request.Permissions, error) {
	p = h.WithUser(p, info.ClientItself)
	e, err := h.cached(ctx, &p, h.cache.Get)
	if err == nil {
		if h.TTL == 0 && h.Loaded != nil {
			h.Loaded(p)
		}
		var used atomic.Bool
		current := func() bool {
			return h.cache.Current(e) && (h.TTL > 0 || !used.Swap(true))
		}
		return p, &request.Permissions{Constraints: e.Value.constraints, Current: current}, nil
	}
	caller := []any{"principal", p.Subject, "issuer", p.Issuer, "client", p.ClientID(),
		"client_itself", info.ClientItself, "user", p.User, info.IDs()}
	if !errors.Is(err, capability.ErrNoUser) {
		level := slog.LevelError
		if ctx.Err() != nil { // the message has ended: a client can have this at will
			level = slog.LevelDebug
		}
		h.Log.Log(ctx, level, "the host's permissions could not be read; "+
			"the caller may use only what is public", append(caller, "error", err)...)
		return p, &request.Permissions{Unavailable: true, Current: func() bool { return false }},
			nil
	}
	h.Log.WarnContext(ctx, "an identity has no user of the host; "+h.withoutUser(),
		append(caller, "reason", h.noUser(p, info.ClientItself, err))...)
	if !h.Anonymous {
		return p, &request.Permissions{UnknownUser: true}, ErrUnknownUser
	}
	return nobody(p), nil, nil
}

// nobody returns an anonymous caller with the boundary of a principal: it holds for public items.
func nobody(p access.Principal) access.Principal { return access.Principal{Bounds: p.Bounds} }

// WithUser sets the user of an OAuth client, and of a person by its client if that is Delegated. A
// nil Host has no users.
func (h *Host) WithUser(p access.Principal, itself bool) access.Principal {
	p.Permits = nil // those of an identity source do not count
	if h == nil || p.User != "" || p.Client == "" || p.Anonymous() {
		return p
	}
	if u, _ := h.serviceUser(p); itself || u.Delegated {
		p.User = u.User
	}
	return p
}

// Constrain gives the handler of a constrained rule the constraints of the caller's permission.
func (h *Host) Constrain(ctx context.Context, held *request.Permissions,
	rule access.Rule) context.Context {
	if held == nil || !rule.Constrained {
		return ctx
	}
	shared := held.Constraints[rule.Permission]
	if shared == nil {
		return ctx
	}
	own := make([]capability.Constraint, len(shared))
	for i, c := range shared {
		own[i] = slices.Clone(c) // the handler may write to it
	}
	return capability.WithConstraints(ctx, own)
}

// Peek returns a subscriber with its present permissions, or an error, and never calls Loaded.
func (h *Host) Peek(ctx context.Context, p access.Principal) (access.Principal, error) {
	_, err := h.cached(ctx, &p, h.cache.Peek)
	return p, err
}

// Invalidate discards kept and loading permissions of principals that match; nil matches all.
func (h *Host) Invalidate(match func(access.Principal) bool) { h.cache.Invalidate(match) }

// View is a principal as its messages would be seen.
type View struct {
	Principal access.Principal
	Why       string // its permissions are not known, or it is not admitted
	Refused   bool   // it is not admitted, not even to what is public
}

// View returns a principal's view. anonymous reports whether anonymous callers are admitted.
func (h *Host) View(ctx context.Context, p access.Principal, anonymous bool) View {
	p.Permits = nil
	switch {
	case p.Anonymous() && !anonymous:
		return View{p, "the server refuses a caller without an identity (401 over HTTP), because " +
			"Options.Anonymous is not set", true}
	case h == nil || p.Anonymous():
		return View{Principal: p}
	}
	itself := identity.OfClientItself(p)
	p = h.WithUser(p, itself)
	_, err := h.cached(ctx, &p, h.cache.Get)
	switch {
	case err == nil:
		return View{Principal: p}
	case errors.Is(err, capability.ErrNoUser):
		return View{p, h.noUser(p, itself, err) + "; " + h.withoutUser(), !anonymous}
	}
	return View{Principal: p, Why: "the host is not available: " + err.Error()}
}

// Missing returns what a refused caller lacks, for the audit and the log; "" for an allowed one.
// A name that does not exist costs the allocation of a hidden one.
func Missing(held *request.Permissions, d access.Decision) string {
	missing := d.Missing()
	if d.Axis == access.AxisUnknown {
		missing = strings.Clone("does not exist")
	}
	if held != nil && held.Unavailable && !d.Allowed {
		return missing + "; the host's permissions could not be read"
	}
	return missing
}
