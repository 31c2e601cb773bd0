package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Refusal says why a request is not let in, in HTTP's terms.
type Refusal struct {
	Status    int    // 401, 403 or 503
	Challenge string // what to send as WWW-Authenticate, with 401
	Reason    string // fit for whoever asks
}

func (r *Refusal) Error() string { return r.Reason }

// Identify tells who sends an HTTP request, as the MCP endpoint would: by Options.Identity, and with
// Options.PermissionAware by the host as well. [Caller] finds the principal in the context that it returns, which
// ends with the request's, and with the credential. A caller without credentials is refused, whether Options.Anonymous admits such to
// MCP or not. Its error is a *[Refusal].
//
// It is for handlers beside MCP; see Options.Admin. Those see the whole request, credentials included.
func (s *Server) Identify(r *http.Request) (context.Context, error) {
	id, err := s.verified(r)
	if err != nil {
		return nil, s.refusalOf(r, err)
	}
	rec := newRecord(id, nil)
	if err := s.project(r.Context(), rec); err != nil || rec.principal.Anonymous() {
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden"}
	}
	if rec.unanswered {
		// The host may not know the caller any more, and a role alone lets nobody in where the host has a say.
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Reason: "the host's permissions are not available"}
	}
	rec.caller = rec.principal
	ctx := context.WithValue(r.Context(), recordKey{}, rec)
	if !rec.expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, rec.expires)
		context.AfterFunc(r.Context(), cancel)
	}
	return ctx, nil
}

// RequestID is what the server calls the request that a context belongs to, in its log and in the audit: that of a
// handler of a tool, or one that [Server.Identify] returned. It is empty for others.
func RequestID(ctx context.Context) string {
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		return r.requestID
	}
	return ""
}

// verified asks the identity source, and holds what it answers to what every identity must be.
func (s *Server) verified(r *http.Request) (identity.Identity, error) {
	id, err := s.askIdentity(r)
	switch {
	case err != nil:
		return identity.Identity{}, err
	case id.Principal.Anonymous():
		return identity.Identity{}, errNoSubject
	case !id.Expires.IsZero() && !time.Now().Before(id.Expires):
		return identity.Identity{}, fmt.Errorf("%w: it has expired", identity.ErrInvalidToken)
	}
	id.Principal.Role = s.table.HighestOf(append([]string{id.Principal.Role}, id.Roles...)...)
	return id, nil
}

var errNoSubject = errors.New("the identity source returned a principal without a Subject")

// refusalOf is how a request is refused whose sender could not be verified. The log says where it came from, without the port.
func (s *Server) refusalOf(r *http.Request, err error) *Refusal {
	remote, _, split := net.SplitHostPort(r.RemoteAddr)
	if split != nil { // it is of another network, or a server's own
		remote = r.RemoteAddr
	}
	from := []slog.Attr{slog.String("remote", s.recordedText(remote, 256)), slog.String("path", s.recordedText(r.URL.Path, 256))}
	switch {
	case errors.Is(err, identity.ErrNoCredentials):
		// RFC 6750, section 3.1: no error code where no credential was sent.
		return &Refusal{Status: http.StatusUnauthorized, Challenge: s.challenge(""), Reason: "authentication required"}
	case errors.Is(err, identity.ErrInvalidToken):
		s.log.LogAttrs(r.Context(), slog.LevelInfo, "credential refused", append(from, slog.Any("reason", err))...)
		return &Refusal{Status: http.StatusUnauthorized, Challenge: s.challenge("invalid_token"), Reason: "the credential does not hold: it has ended, or it is not for this server"}
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "the identity source failed; the request is refused", append(from, slog.Any("error", err))...)
	return &Refusal{Status: http.StatusServiceUnavailable, Reason: "identity is not available"}
}
