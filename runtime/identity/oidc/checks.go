package oidc

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// checkJWT checks the claims of a JWT whose signature holds (RFC 9068, section 4) and returns
// when it ends, leeway included.
func (i *issuer) checkJWT(c map[string]any, leeway time.Duration) (time.Time, error) {
	if iss, _ := c["iss"].(string); iss != i.settings.URL {
		return time.Time{}, refuse("its issuer is %s and not %s", quoted(iss), i.settings.URL)
	}
	if err := i.checkAudience(c); err != nil {
		return time.Time{}, err
	}
	expires, err := i.checkTimes(c, leeway)
	if err != nil {
		return time.Time{}, err
	}
	if expires.IsZero() {
		return time.Time{}, refuse("it has no expiry (exp)")
	}
	return expires, nil
}

// checkAudience checks that a token is for this server (RFC 7519, section 4.1.3).
func (i *issuer) checkAudience(c map[string]any) error {
	audience, ok := list(c["aud"])
	if !ok || len(audience) == 0 {
		return refuse("it has no audience (aud)")
	}
	for _, a := range audience {
		if slices.Contains(i.settings.Audiences, a) ||
			slices.Contains(i.settings.Audiences, i.resource.Audience(a)) {
			return nil
		}
	}
	return refuse("it is for %s and not for %s", quoted(audience[0]), i.settings.Audiences[0])
}

// checkTimes checks exp, nbf and iat where they are, and returns when the token ends with the
// leeway added, or the zero time without exp. A token with a claim cnf is refused here, since it is
// valid only with a proof that the server does not request.
func (i *issuer) checkTimes(c map[string]any, leeway time.Duration) (time.Time, error) {
	if _, bound := c["cnf"]; bound {
		return time.Time{}, refuse("it is bound to a key of its client (cnf), but was sent as a " +
			"bearer token")
	}
	now := time.Now()
	exp, hasExp, err1 := date(c, "exp")
	nbf, _, err2 := date(c, "nbf")
	iat, hasIat, err3 := date(c, "iat")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return time.Time{}, err
	}
	end := exp.Add(leeway)
	switch {
	case hasExp && !now.Before(end):
		return time.Time{}, refuse("it has expired at %s", exp.UTC().Format(time.RFC3339))
	case now.Add(leeway).Before(nbf):
		return time.Time{}, refuse("it is valid only from %s on", nbf.UTC().Format(time.RFC3339))
	case now.Add(leeway).Before(iat):
		return time.Time{}, refuse("it was issued in the future, at %s", iat.UTC().Format(time.RFC3339))
	}
	if most := i.settings.MaxLifetime; most > 0 {
		if !hasExp || !hasIat {
			return time.Time{}, refuse("it has no lifetime (iat, exp), but MaxLifetime is set")
		}
		if exp.Sub(iat) > most {
			return time.Time{}, refuse("it was issued for %s, longer than MaxLifetime", exp.Sub(iat))
		}
	}
	if !hasExp {
		end = time.Time{}
	}
	return end, nil
}

// latest is the last second of the year 9999, after which dates have no RFC 3339 form.
const latest = 253402300799

// date reads a NumericDate (RFC 7519, section 2). One that is no such number refuses the token.
func date(c map[string]any, name string) (time.Time, bool, error) {
	v, ok := c[name]
	if !ok {
		return time.Time{}, false, nil
	}
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}, false, refuse("its %s is not a number", name)
	}
	seconds, err := n.Float64()
	if err != nil || math.IsNaN(seconds) || seconds < 0 || seconds > latest {
		return time.Time{}, false, refuse("its %s is not a date", name)
	}
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*1e9)), true, nil
}
