package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/asset"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/cookie"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// policy lets pages load the console's own style and icon, send their forms to it, and nothing
// else: no script, no frame, no other host.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'"

// guarded is what holds for every response to every caller.
func (c *console) guarded(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.log.InfoContext(r.Context(), "refused a form of another origin", "path", r.URL.Path)
		c.render(w, nil, http.StatusForbidden, "message", page{Title: "Request from another site",
			Data: message{Text: "This form was sent by another site. Nothing was changed. Open the " +
				"console itself and try again."}})
	}))
	next = cross.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY") // frame-ancestors for browsers that do not know it
		// Other sites learn nothing. With no-referrer browsers would send "Origin: null" with the
		// console's own forms (Fetch standard, "append a request Origin header"), which is what a
		// stranger's look like.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler {
					panic(p)
				}
				c.log.ErrorContext(r.Context(), "the console panicked", "panic", fmt.Sprint(p), "stack",
					string(debug.Stack()))
				c.render(w, nil, http.StatusInternalServerError, "message", broken)
			}
		}()
		front.Await(w, r, c.patience)
		next.ServeHTTP(w, r)
	})
}

// identify identifies the caller of a token, as if it were in the request.
func (c *console) identify(r *http.Request,
	token string) (context.Context, access.Principal, error) {
	request := r.Clone(r.Context())
	request.Body = http.NoBody
	request.Header.Del("Cookie")
	request.Header.Set("Authorization", "Bearer "+token)
	return c.server.Identify(request)
}

// visit is one request.
type visit struct {
	*console
	w       http.ResponseWriter
	r       *http.Request
	ctx     context.Context
	caller  access.Principal // zero where everybody is let in
	admin   bool
	managed []store.Scope // by one who is no admin
	names   map[store.Scope]place
	foreign string // what was requested and is none of the caller's, for the audit
}

var (
	errNotAdmin = errors.New("not an admin")
	errNothing  = errors.New("nothing to manage")
)

// handler lets in whom a route is for.
func (c *console) handler(to route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), to.timeout())
		defer cancel()
		r = r.WithContext(ctx)
		v := &visit{console: c, w: w, r: r, ctx: ctx, names: map[store.Scope]place{}}
		// The form is read first, so that the caller is identified after all of it has arrived.
		// Only a permitted caller gets its error.
		unread := v.parsed()
		if to.who != everybody {
			token := cookie.Kept(r)
			if token == "" {
				v.toSignIn("")
				return
			}
			var err error
			if v.ctx, v.caller, err = c.identify(r, token); err != nil {
				v.notIdentified(err)
				return
			}
			if err := v.allow(to.who); err != nil {
				v.denied(to.pattern, err)
				v.fail(err)
				return
			}
		}
		err := unread
		if err == nil {
			err = to.serve(v)
		}
		if err != nil {
			v.denied(to.pattern, err)
			v.fail(err)
		}
	})
}

// allow finds out what the caller manages, and refuses who is not let in.
func (v *visit) allow(who who) (err error) {
	if v.admin = v.who.Admin(v.caller); v.admin {
		return nil
	}
	if v.managed, err = v.who.Managed(v.ctx, v.caller); err != nil {
		return err
	}
	switch {
	case len(v.managed) == 0:
		return errNothing
	case who == admins:
		return errNotAdmin
	}
	return nil
}

// denied records a refused request, if the error is a refusal. A missing thing is recorded like
// another's: the response is the same, and so is its time.
func (v *visit) denied(pattern string, err error) {
	object, needs := store.Anywhere.String(), ""
	switch {
	case errors.Is(err, errNotAdmin):
		needs = front.NeedsAdmin
	case errors.Is(err, errNothing):
		needs = front.NeedsManager
	case errors.Is(err, store.ErrNotFound) && v.foreign != "" && !v.admin:
		object, needs = v.foreign, front.NeedsManager
	default:
		return
	}
	if !v.server.MayManage(v.caller) {
		needs = front.NeedsClient
	}
	front.Refused(v.ctx, v.audit, v.log, v.by(), cmp.Or(pattern, "unknown"), object, needs)
}

// notIdentified responds to an insufficient token.
func (v *visit) notIdentified(err error) {
	var refused *runtime.Refusal
	if !errors.As(err, &refused) {
		v.log.ErrorContext(v.r.Context(), "the caller could not be identified", "error", err)
		refused = &runtime.Refusal{Status: http.StatusServiceUnavailable}
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		cookie.Keep(v.w, v.r, "")
		v.toSignIn("ended")
	case http.StatusTooManyRequests:
		cookie.Keep(v.w, v.r, "")
		v.tooOften(v.next(), refused.RetryAfter)
	case http.StatusForbidden:
		v.render(v.w, nil, http.StatusForbidden, "message", page{Title: "Not let in", Leave: true,
			Data: message{Text: "Your token is valid, but this server does not know you as a user. Ask " +
				"its operator."}})
	default:
		v.render(v.w, nil, http.StatusServiceUnavailable, "message",
			page{Title: "Not now", Leave: true,
				Data: message{Text: "The server could not identify you. Nothing was changed. Try again in " +
					"a moment."}})
	}
}

// seeOther is the answer to a form that was taken: reloading what comes then sends nothing again.
func (v *visit) seeOther(to string) {
	v.w.Header().Set("Location", to)
	v.w.WriteHeader(http.StatusSeeOther)
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// asset serves a file of the pages, to those who sign in as well as to those who have.
func (v *visit) asset() error {
	asset.Serve(v.w, v.r, v.r.PathValue("file"))
	return nil
}
