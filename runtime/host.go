package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// ServiceUser makes an OAuth client a user of the host. It counts for principals that name no user
// themselves, and by access.Principal.Client alone: a subject that is called as a client is
// not that client. An entry that names the issuer stands before one that does not.
type ServiceUser struct {
	Client string
	Issuer string // whose client it is; empty is any issuer's
	User   string // as in access.Principal.User
	// Delegated makes everybody who comes by the client that user, and not only the client itself
	// (identity.Identity.ClientItself): whoever is without a user in the host acts as the service
	// user then. Leave it out wherever people sign in by the same client.
	Delegated bool
}

// host is permission-aware discovery: what the host lets callers do, projected onto the table.
type host struct {
	source capability.Source
	table  access.Table                 // aware
	spelt  map[access.Permission]string // as the host spells them
	users  map[client]ServiceUser
	cache  *permitCache
	masker redact.Masker
}

// client is an OAuth client of one issuer, or of any.
type client struct{ name, issuer string }

// errStranger says that an identity has no user of the host, where anonymous callers are not admitted.
var errStranger = errors.New("the identity has no user of the host")

// ask asks the host for all that it lets a principal do, and compiles the answer.
func (h *host) ask(ctx context.Context, p access.Principal) (*said, error) {
	set, err := h.source.Capabilities(ctx, p)
	if err != nil {
		return nil, err
	}
	return &said{set, h.table.Permits(func(_ access.Kind, rule access.Rule) access.Permit {
		return permitOf(set, rule.Permission, h.spelt[rule.Permission])
	})}, nil
}

// permitOf reads one permission from a host's answer.
func permitOf(set capability.Set, p access.Permission, spelt string) access.Permit {
	if set.Unrestricted(p.Type(), p.Action) {
		return access.PermitAll
	}
	switch constraints, held := set.Constraints(spelt); {
	case !held:
		return access.PermitNone
	case len(constraints) > 0:
		return access.PermitConstrained
	}
	return access.PermitAll
}

// named fills in the user of an OAuth client that a principal names none for. itself says that the
// principal is the client. One that is not may be a person whose user is not known, or does not
// count: it is nobody's service user, unless the mapping is for people as well.
func (h *host) named(p access.Principal, itself bool) access.Principal {
	p.Permits = nil // nobody else's count
	if p.User != "" || p.Client == "" || p.Anonymous() {
		return p
	}
	if u, _ := h.serviceUser(p); itself || u.Delegated {
		p.User = u.User
	}
	return p
}

// project lays what the host lets the caller do over a record, once for each message. It fails
// with errStranger where the caller has no user of the host and anonymous ones are not admitted.
// Where the host cannot be asked the caller keeps its name and is let do nothing but what is public.
func (s *Server) project(ctx context.Context, rec *record) error {
	if s.host == nil || rec.projected || rec.principal.Anonymous() {
		return nil
	}
	rec.projected = true
	p := s.host.named(rec.principal, rec.itself)
	e, err := s.host.cache.get(ctx, p)
	rec.principal, rec.answer, rec.unanswered = p, nil, false
	switch {
	case err == nil:
		rec.principal.Permits, rec.answer = e.said.permits, e
	case errors.Is(err, capability.ErrNoUser):
		s.log.WarnContext(ctx, "an identity has no user of the host; "+s.stranger(),
			"principal", p.Subject, "issuer", p.Issuer, "client", p.ClientID(), "client_itself", rec.itself, "user", p.User, rec.ids(), "reason", s.host.noUser(p, rec.itself, err))
		if !s.opts.Anonymous {
			return errStranger
		}
		rec.principal = access.Principal{}
	default:
		rec.unanswered = true
		s.log.ErrorContext(ctx, "the host's permissions could not be read; the caller is let do nothing that is not public",
			"principal", p.Subject, "issuer", p.Issuer, "client", p.ClientID(), "user", p.User, rec.ids(), "error", err)
	}
	return nil
}

// stranger says what becomes of an identity that has no user of the host.
func (s *Server) stranger() string {
	if s.opts.Anonymous {
		return "it is treated as an anonymous caller"
	}
	return "it is refused (403 over HTTP), since Options.Anonymous admits nobody without one"
}

// renew is what is decided again by: what the host lets the caller do now, where the answer
// that the message came with counts no longer.
func (s *Server) renew(ctx context.Context, rec *record) {
	if s.host == nil || rec.answer == nil || s.host.cache.current(rec.answer) {
		return
	}
	rec.projected = false
	if err := s.project(ctx, rec); err != nil {
		rec.principal = access.Principal{}
	}
}

// constrained is the context of a handler: one that is marked constrained finds in it the
// constraints under which its caller holds the permission.
func (s *Server) constrained(ctx context.Context, rec *record, k access.Kind, name string) context.Context {
	if s.host == nil || rec.answer == nil {
		return ctx
	}
	rule, ok := s.table.Of(k).Tool(name)
	if !ok || !rule.Constrained || !rule.Permission.Asked() {
		return ctx
	}
	set := rec.answer.said.set
	if set.Unrestricted(rule.Permission.Type(), rule.Permission.Action) {
		return ctx
	}
	held, _ := set.Constraints(s.host.spelt[rule.Permission])
	own := make([]capability.Constraint, len(held))
	for i, c := range held {
		own[i] = slices.Clone(c) // the handler may write to it
	}
	return capability.WithConstraints(ctx, own)
}

// missing is what the audit and the log say that a caller lacked.
func (s *Server) missing(rec *record, d access.Decision) string {
	if rec.unanswered && !d.Allowed && d.Axis != access.AxisUnknown {
		return d.Missing() + "; the host's permissions could not be read"
	}
	return d.Missing()
}

// InvalidateCapabilities forgets what the host said of the principals that match, all of them
// where match is nil: their next requests ask it again, and an answer that is on its way is not
// taken. Call it when a permission, a role or a user has changed in the host. It is safe for
// concurrent use. Without Options.PermissionAware it does nothing.
func (s *Server) InvalidateCapabilities(match func(access.Principal) bool) {
	if s.host == nil {
		return
	}
	s.host.cache.invalidate(match)
	s.watch.recheck(match)
}

// OfUser matches the principals of one user of the host, for [Server.InvalidateCapabilities].
func OfUser(user string) func(access.Principal) bool {
	return func(p access.Principal) bool { return p.User == user }
}

// newHost makes what projects the host's permissions, or says why it could not work. The table
// is aware.
func newHost(opts Options, table access.Table) (*host, error) {
	h := &host{source: opts.Capabilities, table: table, spelt: map[access.Permission]string{}, users: map[client]ServiceUser{}, masker: opts.Masker}
	for _, u := range opts.ServiceUsers {
		h.users[client{u.Client, u.Issuer}] = u
	}
	h.cache = newPermitCache(opts.CapabilityTimeout, opts.CapabilityTTL, opts.MaxCapabilities, h.ask)
	h.cache.masker = opts.Masker
	ctx, cancel := context.WithTimeout(context.Background(), startTimeouts*opts.CapabilityTimeout)
	defer cancel()
	if err := errors.Join(h.checkParts(), h.spell(ctx), h.checkIdentity(ctx, opts)); err != nil {
		return nil, err
	}
	return h, nil
}

// supervised calls an adapter, which may panic, end its goroutine or not come back. Of its error there
// remain the words, without secrets: what a host's driver says may hold how it is reached, and ends in logs,
// at start and in explanations.
func supervised[T any](ctx context.Context, mask redact.Masker, call func() (T, error)) (T, error) {
	type outcome struct {
		res T
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errGoexit}
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: errors.New(mask.Text(fmt.Sprintf("it panicked: %v", p)))}
			}
			done <- o
		}()
		res, err := call()
		if err != nil {
			// Asked for its words here, where a panic of them is recovered.
			err = worded(mask, err)
		}
		o = outcome{res, err}
	}()
	select {
	case o := <-done:
		return o.res, o.err
	case <-ctx.Done():
		var none T
		return none, errNoAnswer
	}
}
