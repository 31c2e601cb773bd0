package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
)

// signInProblems are what can be wrong with a sign-in, by the codes that addresses name them with:
// a token that was refused is nowhere in what a browser would send again.
var signInProblems = map[string]string{
	"ended": "You were signed out because your token has expired or is no longer valid. Sign " +
		"in with a new one. If you sent a form, nothing was changed.",
	"empty": "Paste a token.",
	"refused": "The server rejects this token: it has expired, is for another server, or is " +
		"incomplete. Copy the whole token again, without \"Bearer\" in front, or get a new one.",
	"malformed": "This is not a bearer token: it has characters that a token cannot have, such as " +
		"spaces or quotes. Copy only the token, without \"Bearer\" or quotes.",
	"long": fmt.Sprintf("This token is longer than the %d bytes that browsers store. Get one "+
		"with fewer claims, such as groups, or use the admin API, which accepts longer ones.", maxToken),
	"plain": "This page was sent over plain HTTP, where others could read your token, so " +
		"nothing was stored. Open it over HTTPS, or on the server's own machine as localhost.",
	"stranger": "The token is valid, but this server does not know you as a user. Ask its operator.",
	"often": "The server rejects this token, after too many invalid ones from your address. Wait " +
		"before you try another. A valid token is accepted at once.",
	"unavailable": "The server could not identify you. Try again in a moment.",
}

type signInForm struct {
	Next, Problem string
	// From says that a link of another site led here. Browsers send no SameSite=Strict cookie with
	// those, and do with the next one: who is signed in need not do so again.
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
	keep(v.w, v.r, token)
	v.seeOther(next)
	return nil
}

// tooOften shows the form with status 429, for an address whose tokens failed too often.
func (v *visit) tooOften(next string, retryAfter int) {
	v.w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
	form := signInForm{Next: next, Problem: signInProblems["often"]}
	v.render(v.w, nil, http.StatusTooManyRequests, "sign-in", page{Title: "Sign in", Data: form})
}

// tryToken is what is wrong with a token, or "". retryAfter is in seconds, and not zero if tokens
// of the address failed too often.
func (v *visit) tryToken(token string) (problem string, retryAfter int) {
	origin, err := url.Parse(v.r.Header.Get("Origin"))
	switch {
	case err == nil && origin.Scheme == "http" && !insecure(v.r):
		// A Secure cookie would not be kept there, and the next page would be this one again.
		return "plain", 0
	case token == "":
		return "empty", 0
	case !wellFormed(token):
		return "malformed", 0
	case len(token) > maxToken:
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
	keep(v.w, v.r, "")
	v.seeOther(withQuery(pathSignIn, url.Values{"done": {"signed-out"}}))
	return nil
}
