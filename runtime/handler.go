package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/transport"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// PathMCP is the default of Options.HTTP.Path. [Server.Handler] serves the other paths too.
const (
	PathMCP     = "/mcp"
	PathHealthz = "/healthz" // the process runs
	PathReadyz  = "/readyz"  // the server accepts requests
	PathAPI     = "/api/v1/" // and below: Options.Admin
	PathConsole = "/console" // and below: Options.Admin
)

// PathResourceMetadata is where clients find the authorization servers of an identity source that
// is [identity.ResourceDescriber] (RFC 9728, section 3.1). Options.HTTP.Path may follow it.
const PathResourceMetadata = principal.PathResourceMetadata

// Handler returns the server on HTTP: every protocol version at Options.HTTP.Path, and health
// checks without authentication at [PathHealthz] and [PathReadyz]. The server is ready if a caller
// can be admitted (Options.Identity or Options.Anonymous), all of Options.Observe.Readiness pass,
// and [Server.Shutdown] was not called. If no caller can be admitted, the endpoint answers 503, and
// the log has the cure. The older HTTP+SSE transport is not offered. Behind [http.StripPrefix] the
// paths are those below the prefix; no path redirects to another form of itself.
//
// Each handler has its own sessions, so make one for all listeners. Serve it with an http.Server
// that has a ReadHeaderTimeout, an IdleTimeout, which ends unused connections, and no WriteTimeout,
// which would end streams. The handler sets a write deadline itself: a client has 30 seconds for
// each 64 KiB of a response. A user who leaves 32 MiB of responses unread for a second gets 429.
func (s *Server) Handler() http.Handler {
	endpoint := transport.NewHandler(s.transport)
	s.facts.HTTP.Store(true)
	handlers := map[string]http.Handler{
		// A path that ends with a slash is served without it too.
		s.opts.HTTP.Path: endpoint, strings.TrimSuffix(s.opts.HTTP.Path, "/"): endpoint,
		PathHealthz: probe(func(*http.Request) bool { return true }, "ok", ""),
		PathReadyz: probe(func(r *http.Request) bool {
			return !s.transport.Closed && s.active.Open() && s.transport.Ready.Holds(r.Context())
		}, "ready", "not ready"),
	}
	for _, at := range s.authenticator.Metadata.Paths(s.opts.HTTP.Path) {
		handlers[at] = s.authenticator.Metadata
	}
	var beside http.Handler
	if s.beside != nil {
		beside = endpoint.ServeAdmin(s.beside)
		handlers[PathConsole] = beside
	}
	// Not http.ServeMux: it redirects //mcp to /mcp, without a prefix that http.StripPrefix or a
	// proxy has removed. Nothing is redirected here.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, escaped := r.URL.Path, r.URL.EscapedPath()
		handler := handlers[at]
		if beside != nil && path.Clean(escaped) == strings.TrimSuffix(escaped, "/") &&
			(strings.HasPrefix(at, PathAPI) || strings.HasPrefix(at, PathConsole+"/")) {
			handler = beside // which has a ServeMux
		}
		if handler == nil {
			handler = http.HandlerFunc(s.notFound)
		}
		if handler != endpoint {
			handler = endpoint.Beside(handler)
		}
		handler.ServeHTTP(w, r)
	})
}

// notFound has the cure for clients of the transport HTTP+SSE, at the paths that its SDKs use.
func (s *Server) notFound(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimSuffix(r.URL.Path, "/") {
	case "/sse", "/message", "/messages":
		http.Error(w, "the transport HTTP+SSE is not served: set the client to Streamable HTTP, "+
			"with a URL that ends in "+s.opts.HTTP.Path, http.StatusNotFound)
	default:
		http.NotFound(w, r)
	}
}

// probe answers with 200 while a check holds, and otherwise with 503.
func probe(holds func(*http.Request) bool, yes, no string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		case holds(r):
			http.Error(w, yes, http.StatusOK)
		default:
			http.Error(w, no, http.StatusServiceUnavailable)
		}
	})
}

// StreamOption configures one run of [Server.RunStdio] or [Server.RunIO].
type StreamOption struct{ catalogs []string }

// WithCatalogs lists the tools of the named catalogs, unless a message names catalogs itself. As
// for a URL's catalogs, calls do not depend on them; see [MetaCatalog] and Options.Catalogs.Strict.
func WithCatalogs(names ...string) StreamOption { return StreamOption{names} }

// RunStdio serves one client over standard input and output. It returns nil when the client closes
// the input, and ctx's error when ctx ends. The caller is principal for the whole time. The zero
// Principal is an anonymous caller, whom Options.Anonymous must admit; it is never an admin.
//
// While RunStdio runs, os.Stdout is standard error, and on Linux file descriptor 1 too, so that
// output of handlers and their libraries does not mix with messages. Only one RunStdio can run in a
// process at a time.
func (s *Server) RunStdio(ctx context.Context, principal access.Principal,
	options ...StreamOption) error {
	if err := s.checkPrincipal(principal); err != nil {
		return err
	}
	out, restore, err := transport.TakeStdout()
	if err != nil {
		return fmt.Errorf("taking standard output for the protocol: %w", err)
	}
	defer restore()
	return s.RunIO(ctx, os.Stdin, out, principal, options...)
}

// RunIO serves one client over any pair of streams, one message a line, as [Server.RunStdio] does
// over the standard ones. It closes in if that is an io.Closer, and leaves out open. It returns nil
// also if the client leaves before its answer, and out then returns [io.ErrClosedPipe].
func (s *Server) RunIO(ctx context.Context, in io.Reader, out io.Writer, p access.Principal,
	options ...StreamOption) (err error) {
	if in, ok := in.(io.Closer); ok {
		defer func() {
			if err != nil { // a client that is not served may still write
				_ = in.Close()
			}
		}()
	}
	if err := s.checkPrincipal(p); err != nil {
		return err
	}
	if s.host != nil && !p.Anonymous() {
		resolving, cancel := context.WithTimeout(ctx, s.opts.Host.Timeout)
		err := s.host.Resolve(resolving, p)
		cancel()
		if err != nil {
			return fmt.Errorf(
				"Options.Host.Source does not support the principal %q: %w", p.Subject,
				err)
		}
	}
	if !s.active.Open() {
		return errors.New("the server is shutting down")
	}
	s.facts.Streams.Add(1)
	defer s.facts.Streams.Add(-1)
	caller := identity.Identity{Principal: s.boundaries.Program(s.table.Resolve(p)),
		ClientItself: identity.OfClientItself(p)}
	config, catalogs := s.transport, []string(nil)
	for _, option := range options {
		catalogs = append(catalogs, option.catalogs...)
	}
	config.Catalog = wire.NamedCatalogs(s.opts.Observe.Masker, catalogs...)
	return transport.ServeIO(ctx, s.closing, config, in, out, caller)
}

// checkPrincipal refuses a principal that the program cannot have meant.
func (s *Server) checkPrincipal(p access.Principal) error {
	switch {
	case p.IsZero() && !s.opts.Anonymous:
		return errors.New("no principal: pass the principal of the client, or set Options.Anonymous " +
			"to serve only the public tools")
	case p.Anonymous() && !p.IsZero():
		return errors.New("the principal has no Subject: set it, or pass the zero Principal for an " +
			"anonymous caller")
	}
	return cmp.Or(principal.CheckNames(p), principal.CheckRoles(s.table, p))
}
