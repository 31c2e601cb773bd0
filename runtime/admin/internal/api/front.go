package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/input"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// request is the state of one request, besides the input of its operation. One goroutine
// has it.
type request struct {
	*http.Request
	id     string // as the server calls it
	caller access.Principal
	scope  store.Scope // what the caller may look at and change; see gate
	body   []byte
}

type requestKey struct{}

func requestOf(ctx context.Context) *request { return ctx.Value(requestKey{}).(*request) }

// by is the event of a change's caller; see store.CreateOrg.
func (r *request) by() audit.Event {
	e := front.By(r.caller, r.id)
	e.Arguments = input.Arguments(r.body)
	return e
}

// ServeHTTP serves authenticated requests. For all others the status is 401 or 429, for any
// content.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	id := ""
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a.log.ErrorContext(r.Context(), "the admin API panicked", "request_id", id, "panic",
				fmt.Sprint(p), "stack", string(debug.Stack()))
			a.problems.Write(w, problem.Internal, id)
		}
	}()
	front.Await(w, r, a.patience)
	timeout := front.Timeout
	if r.URL.Path == PathAuditExport {
		timeout = exportTimeout
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	r = r.Clone(ctx)
	// A browser sends cookies by itself, for pages of others as well: here they identify nobody.
	r.Header.Del("Cookie")
	r.Header.Del("Accept") // there is one format
	caller, ctx, ok := a.identify(w, r)
	if !ok {
		return
	}
	id = runtime.RequestID(ctx)
	req := &request{id: id, caller: caller}
	req.Request = r.WithContext(context.WithValue(ctx, requestKey{}, req))
	a.route(w, req)
}

// identify finds the caller, or responds with the refusal.
func (a *API) identify(w http.ResponseWriter,
	r *http.Request) (access.Principal, context.Context, bool) {
	ctx, err := a.server.Identify(r)
	var refusal *runtime.Refusal
	switch {
	case errors.As(err, &refusal):
		if refusal.Challenge != "" {
			w.Header().Set("WWW-Authenticate", refusal.Challenge)
		}
		if refusal.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(refusal.RetryAfter))
		}
		a.problems.Write(w, problem.New(refusal.Status, "%s", refusal.Reason), "")
		return access.Principal{}, nil, false
	case err == nil:
		if caller, ok := runtime.Caller(ctx); ok && !caller.Anonymous() {
			return caller, ctx, true
		}
		err = errors.New("its context has no caller")
	}
	a.log.ErrorContext(r.Context(),
		"refused a request to the admin API: the caller is unknown", "error", err)
	a.problems.Write(w, problem.New(http.StatusServiceUnavailable, "identity is not available"), "")
	return access.Principal{}, nil, false
}

// admins is the path of the operations that only admins see.
const admins = runtime.PathAPI + "admin/"

// route passes a request to its operation.
func (a *API) route(w http.ResponseWriter, r *request) {
	if path.Clean(r.URL.Path) == r.URL.Path { // which the mux would redirect to
		handler, pattern := a.mux.Handler(r.Request)
		if pattern != "" {
			a.mux.ServeHTTP(w, r.Request)
			return
		}
		if !strings.HasPrefix(r.URL.Path, admins) || a.authority.Admin(r.caller) {
			recorded := &unwritten{header: http.Header{}}
			handler.ServeHTTP(recorded, r.Request)
			if recorded.status == http.StatusMethodNotAllowed {
				w.Header().Set("Allow", recorded.header.Get("Allow"))
				a.problems.Write(w, problem.New(http.StatusMethodNotAllowed, "only %s is allowed here",
					recorded.header.Get("Allow")), r.id)
				return
			}
		}
	}
	if strings.HasPrefix(r.URL.Path, admins) && !a.authority.Admin(r.caller) {
		a.refused(r, "unknown", store.Anywhere, problem.NoAdmin)
		a.problems.Write(w, problem.NoAdmin, r.id)
		return
	}
	a.problems.Write(w, problem.NotFound, r.id)
}

// unwritten keeps a mux's response to an unknown route.
type unwritten struct {
	header http.Header
	status int
}

func (s *unwritten) Header() http.Header         { return s.header }
func (s *unwritten) WriteHeader(status int)      { s.status = status }
func (s *unwritten) Write(b []byte) (int, error) { return len(b), nil }
