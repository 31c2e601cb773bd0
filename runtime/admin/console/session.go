package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// The session is the token itself, in cookies that the browser forgets when it is closed. The
// server keeps nothing, and verifies the token with every request: it ends with the credential.
//
// The cookies go to the console's path alone, so that no other handler of the host, its logs or
// what it echoes, ever has the token. That rules the prefix __Host- out, which demands Path=/ (RFC
// 6265bis, section 4.1.3.2). What it would have added, that no other host of the domain can set the
// cookie, is made up for: a cookie that comes twice is nobody's, and every page names who is signed
// in.
const (
	cookieName   = "__Secure-mcpgen-console"
	loopbackName = "mcpgen-console" // over plain HTTP, where browsers refuse the prefix
	cookiePath   = runtime.PathConsole
)

// Browsers keep 4,096 bytes of a cookie's name and value (RFC 6265bis, section 5.6). Tokens with
// many groups in them are longer, and are cut in parts.
const (
	partBytes = 3800
	maxParts  = 4
	maxToken  = partBytes * maxParts
)

// near reports whether a request came over plain HTTP on this machine: from a browser, which is as
// good as TLS, or from a proxy that ends TLS and does not forward the host name that the browser
// requested.
func near(r *http.Request) bool {
	return r.TLS == nil && loopback(r.Host) && loopback(r.RemoteAddr)
}

// insecure reports whether a form came over plain HTTP from a browser on this machine. Only the
// browser's own word for where it is tells it from one before a proxy; browsers say it with every
// form.
func insecure(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 || !near(r) {
		return false
	}
	u, err := url.Parse(origins[0])
	return err == nil && u.Scheme == "http" && loopback(u.Host)
}

func loopback(hostPort string) bool {
	u := url.URL{Host: hostPort}
	if strings.EqualFold(u.Hostname(), "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback()
}

// partName is the name of a part of a token under a cookie's name.
func partName(name string, part int) string {
	if part > 0 {
		name += "-" + strconv.Itoa(part+1)
	}
	return name
}

// keep gives the browser a token, or takes it away where it is empty. Parts of a longer one before
// it go too, and so does one under the other name. A cookie is Secure unless the browser says that
// it is where none would be kept.
func keep(w http.ResponseWriter, r *http.Request, token string) {
	if insecure(r) {
		set(w, loopbackName, token, false)
		set(w, cookieName, "", true)
		return
	}
	set(w, cookieName, token, true)
	if near(r) {
		set(w, loopbackName, "", false)
	}
}

func set(w http.ResponseWriter, name, token string, secure bool) {
	for part := range maxParts {
		value := token[:min(len(token), partBytes)]
		token = token[len(value):]
		c := &http.Cookie{Name: partName(name, part), Value: value, Path: cookiePath,
			HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
		if value == "" {
			c.MaxAge = -1
		}
		http.SetCookie(w, c)
	}
}

// kept is the token that a browser brings, or "". The one in Secure cookies counts before another,
// which anybody on the way could have set, and which is looked at on this machine alone.
func kept(r *http.Request) string {
	if len(r.CookiesNamed(cookieName)) > 0 || !near(r) {
		return under(cookieName, r)
	}
	return under(loopbackName, r)
}

func under(name string, r *http.Request) string {
	var token strings.Builder
	for part := range maxParts {
		switch all := r.CookiesNamed(partName(name, part)); len(all) {
		case 0:
			return token.String()
		case 1:
			token.WriteString(all[0].Value)
		default:
			return "" // one of them is somebody else's
		}
	}
	return token.String()
}

// wellFormed reports whether a token can be a bearer token (RFC 6750, section 2.1), all of whose
// characters a cookie can hold as they are.
func wellFormed(token string) bool {
	token = strings.TrimRight(token, "=")
	return token != "" && !strings.ContainsFunc(token, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("-._~+/", c)
	})
}

// identify asks the server whose token it is, as if the request had come with it.
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
	foreign string        // what was requested and is none of the caller's, for the audit
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
		v := &visit{console: c, w: w, r: r, ctx: ctx}
		// The form comes first, so that the caller is identified when all of it is there. Whether it
		// can be read is said to who may send it.
		unread := v.parsed()
		if to.who != everybody {
			token := kept(r)
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

// denied records, where an error says so, that somebody has requested what they may not do. What
// never was is recorded as what is another's: the answer is the same, and so is the time it takes.
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
	front.Refused(v.ctx, v.audit, v.log, v.by(), cmp.Or(pattern, "unknown"), object, needs)
}

// notIdentified answers who has a token that does not do.
func (v *visit) notIdentified(err error) {
	var refused *runtime.Refusal
	if !errors.As(err, &refused) {
		v.log.ErrorContext(v.r.Context(), "the caller could not be identified", "error", err)
		refused = &runtime.Refusal{Status: http.StatusServiceUnavailable}
	}
	switch refused.Status {
	case http.StatusUnauthorized:
		keep(v.w, v.r, "")
		v.toSignIn("ended")
	case http.StatusTooManyRequests:
		keep(v.w, v.r, "")
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

// toSignIn leads to the form, and from there back to what was requested. What was sent by a form
// is not sent again.
func (v *visit) toSignIn(problem string) {
	q := url.Values{}
	if next := v.next(); next != runtime.PathConsole {
		q.Set("next", next)
	}
	if problem != "" {
		q.Set("problem", problem)
	}
	v.seeOther(withQuery(pathSignIn, q))
}

// next is where a sign-in leads to.
func (v *visit) next() string {
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		return within(v.r.URL.RequestURI())
	}
	return runtime.PathConsole
}

const pathSignIn = runtime.PathConsole + "/sign-in"

// within is an address of the console's own, and the console's start in the place of any other, so
// that nobody is led away from it. Of what is written, a path in its simplest form and a query are
// kept.
func within(next string) string {
	u, err := url.Parse(next)
	switch {
	case err != nil, u.Scheme != "", u.Host != "", u.User != nil, u.Opaque != "",
		strings.ContainsFunc(next, func(c rune) bool { return c <= ' ' || c == '\\' || c == 0x7f }),
		strings.ContainsAny(u.Path, "\\"), path.Clean(u.Path) != u.Path,
		u.Path != runtime.PathConsole && !strings.HasPrefix(u.Path, runtime.PathConsole+"/"),
		slices.Contains([]string{pathSignIn, runtime.PathConsole + "/sign-out"}, u.Path):
		return runtime.PathConsole
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
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

// What the console keeps is not longer than what the server takes, or this does not compile.
var _ = [identity.MaxTokenBytes - maxToken]struct{}{}
