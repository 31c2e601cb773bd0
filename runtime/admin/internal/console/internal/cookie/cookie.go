// Package cookie keeps the bearer token of a session in the cookies of a browser.
package cookie

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// The session is the token itself, in cookies that the browser forgets when it is closed. The
// server keeps nothing, and verifies the token with every request: it ends with the credential.
//
// The cookies go to the console's path alone, so that no other handler of the host, no log and no
// echo has the token. That excludes the prefix __Host-, which demands Path=/ (RFC 6265bis, section
// 4.1.3.2) and would prevent other hosts of the domain from setting the cookie. Instead, a cookie
// that comes twice is ignored, and every page names the signed-in person.
const (
	cookieName   = "__Secure-mcpgen-console"
	loopbackName = "mcpgen-console" // over plain HTTP, where browsers refuse the prefix
	cookiePath   = runtime.PathConsole
)

// Browsers keep 4,096 bytes of a cookie's name and value (RFC 6265bis, section 5.6). Tokens with
// many groups in them are longer, and are cut in parts.
const (
	PartBytes = 3800
	maxParts  = 4
	MaxToken  = PartBytes * maxParts
)

// It does not compile if the console keeps longer tokens than the server takes.
var _ = [identity.MaxTokenBytes - MaxToken]struct{}{}

// near reports whether a request came over plain HTTP on this machine: from a browser, which is as
// good as TLS, or from a proxy that ends TLS and does not forward the host name that the browser
// requested.
func near(r *http.Request) bool {
	return r.TLS == nil && loopback(r.Host) && loopback(r.RemoteAddr)
}

// Insecure reports whether a form came over plain HTTP from a browser on this machine. Only the
// browser's Origin header, sent with every form, distinguishes it from one before a proxy.
func Insecure(r *http.Request) bool {
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

// Keep sets the cookie of a token, or deletes it if the token is empty. It also deletes the parts
// of a longer token before, and the cookie with the other name. A cookie is Secure unless the
// browser's origin would not keep such a cookie.
func Keep(w http.ResponseWriter, r *http.Request, token string) {
	if Insecure(r) {
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
		value := token[:min(len(token), PartBytes)]
		token = token[len(value):]
		c := &http.Cookie{Name: partName(name, part), Value: value, Path: cookiePath,
			HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
		if value == "" {
			c.MaxAge = -1
		}
		http.SetCookie(w, c)
	}
}

// Kept is the token that a browser sends, or "". The one in Secure cookies counts before another,
// which an attacker on the network could have set, and which counts on this machine only.
func Kept(r *http.Request) string {
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

// WellFormed reports whether a token can be a bearer token (RFC 6750, section 2.1), all of whose
// characters a cookie can hold as they are.
func WellFormed(token string) bool {
	token = strings.TrimRight(token, "=")
	return token != "" && !strings.ContainsFunc(token, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("-._~+/", c)
	})
}
