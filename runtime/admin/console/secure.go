package console

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
)

// policy lets pages load the console's own style and icon, send their forms to it, and nothing
// else: no script, no frame, no other host.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// maxForm bounds a form: a token or a description at their largest, every byte written as three.
const maxForm = 64 << 10

// guarded is what holds for every response to every caller.
func (c *console) guarded(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.log.InfoContext(r.Context(), "refused a form of another origin", "path", r.URL.Path)
		c.render(w, nil, http.StatusForbidden, "message", page{Title: "Request from another site",
			Data: message{Text: "This form was sent by another site. Nothing was changed. Open the console itself and try again."}})
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
				c.log.ErrorContext(r.Context(), "the console panicked", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				c.render(w, nil, http.StatusInternalServerError, "message", broken)
			}
		}()
		front.Await(w, r, c.patience)
		next.ServeHTTP(w, r)
	})
}
