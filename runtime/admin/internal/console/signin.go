package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/cookie"
)

const pathSignIn = runtime.PathConsole + "/sign-in"

// signInProblems are the problems of a sign-in, by their codes in addresses: so a browser never
// sends a refused token again.
var signInProblems = map[string]string{
	"ended": "You were signed out because your token has expired or is no longer valid. Sign " +
		"in with a new one. If you sent a form, nothing was changed.",
	"empty": "Paste a token.",
	"refused": "The server rejects this token: it has expired, is for another server, or is " +
		"incomplete. Copy the whole token again, without \"Bearer\" in front, or get a new one.",
	"malformed": "This is not a bearer token: it has characters that a token cannot have, such as " +
		"spaces or quotes. Copy only the token, without \"Bearer\" or quotes.",
	"long": fmt.Sprintf("This token is longer than the %d bytes that browsers store. Get one "+
		"with fewer claims, such as groups, or use the admin API, which accepts longer ones.",
		cookie.MaxToken),
	"plain": "This page was sent over plain HTTP, where others could read your token, so " +
		"nothing was stored. Open it over HTTPS, or on the server's own machine as localhost.",
	"stranger": "The token is valid, but this server does not know you as a user. Ask its operator.",
	"often": "The server rejects this token, after too many invalid ones from your address. Wait " +
		"before you try another. A valid token is accepted at once.",
	"unavailable": "The server could not identify you. Try again in a moment.",
}

type signInForm struct {
	Next, Problem string
	// From is whether a link of another site led here. Browsers send no SameSite=Strict cookie with
	// those, and do with the next request: a signed-in person need not sign in again.
	From bool
}

func (v *visit) showSignIn() error {
	q := v.r.URL.Query()
	form := signInForm{Next: within(q.Get("next")), Problem: signInProblems[q.Get("problem")]}
	form.From = form.Problem == "" && slices.Contains([]string{"cross-site", "same-site"},
		v.r.Header.Get("Sec-Fetch-Site"))
	v.render(v.w, nil, http.StatusOK, "sign-in", page{Title: "Sign in", Done: q.Get("done"),
		Data: form})
	return nil
}

func (v *visit) signIn() error {
	token, next := strings.TrimSpace(v.r.PostFormValue("token")), within(v.r.PostFormValue("next"))
	code, retryAfter := v.tryToken(token)
	if retryAfter > 0 {
		v.tooOften(next, retryAfter)
		return nil
	}
	if code != "" {
		q := url.Values{"problem": {code}}
		if next != runtime.PathConsole {
			q.Set("next", next)
		}
		v.seeOther(withQuery(pathSignIn, q))
		return nil
	}
	cookie.Keep(v.w, v.r, token)
	v.seeOther(next)
	return nil
}

// tooOften shows the form with status 429, for an address whose tokens failed too often.
func (v *visit) tooOften(next string, retryAfter int) {
	v.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	form := signInForm{Next: next, Problem: signInProblems["often"]}
	v.render(v.w, nil, http.StatusTooManyRequests, "sign-in", page{Title: "Sign in", Data: form})
}

// tryToken is the problem of a token, or "". retryAfter is in seconds, and not zero if tokens of
// the address failed too often.
func (v *visit) tryToken(token string) (problem string, retryAfter int) {
	origin, err := url.Parse(v.r.Header.Get("Origin"))
	switch {
	case err == nil && origin.Scheme == "http" && !cookie.Insecure(v.r):
		// A Secure cookie would not be kept there, and the next page would be this one again.
		return "plain", 0
	case token == "":
		return "empty", 0
	case !cookie.WellFormed(token):
		return "malformed", 0
	case len(token) > cookie.MaxToken:
		return "long", 0
	}
	_, _, err = v.identify(v.r, token)
	var refused *runtime.Refusal
	switch {
	case err == nil:
		return "", 0
	case errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests:
		return "often", refused.RetryAfter
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		return "refused", 0
	case errors.As(err, &refused) && refused.Status == http.StatusForbidden:
		return "stranger", 0
	}
	v.log.ErrorContext(v.ctx, "the caller who signs in could not be identified", "error", err)
	return "unavailable", 0
}

func (v *visit) signOut() error {
	cookie.Keep(v.w, v.r, "")
	v.seeOther(withQuery(pathSignIn, url.Values{"done": {"signed-out"}}))
	return nil
}

// toSignIn redirects to the form, and from there back to the requested page. The values of a form
// are not sent again.
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
