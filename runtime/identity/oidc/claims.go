package oidc

import (
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// Claims configure the meaning of an issuer's claims. Other claims are not read, except the
// standard claims of scopes, client and actor.
//
// A claim is named by its path: the name of a claim, or names joined by dots, as in
// "realm_access.roles". A name that itself holds a dot or a slash is written as a JSON Pointer
// (RFC 6901): "/https:~1~1example.com~1roles".
type Claims struct {
	// Roles are claims that name roles: a string, a list of strings, or an object whose keys are
	// names. A key counts only if its value is true or a non-empty object, and needs RoleNames. A
	// value of another type counts as nothing. Empty reads no roles.
	Roles []string
	// RoleNames maps the values of Roles to roles of the server; other values count as nothing, and
	// the first 100 of them are logged. Nil takes the values themselves as names of roles, which is
	// right only if the issuer's roles are meant for this server.
	RoleNames map[string]string
	// RolesSeparator separates the names in a claim of Roles that is a string, and needs RoleNames.
	// Empty takes the string as one name: "Network Admin" does not name Admin.
	RolesSeparator string
	// RolesOrg is the organization whose roles count: a key of a claim of Roles counts only if its
	// value is an object with this key, as in {"admin": {"ORGANIZATION": "domain"}} of Zitadel. A
	// string or a list has no organization, and counts as nothing. RolesOrg needs RoleNames. Empty
	// takes the roles of every organization.
	RolesOrg string
	// Scopes is the claim of scopes: a string with spaces between them, or a list. Empty is
	// "scope" (RFC 8693, section 4.2), or "scp" if that is missing or empty.
	Scopes string
	// Groups is the claim of groups: a string or a list of strings. Empty reads no groups.
	Groups string
	// Client is the claim of the OAuth client. Empty is the first that is not empty of "client_id"
	// (RFC 8693, section 4.3), "azp", "cid" and "appid". A token in which two of them name different
	// clients is then refused, because the two may have different boundaries. So is a token in which
	// one of the read claims is not a string.
	Client string
	// User is the claim that names the host's user. It must be one that users cannot set for
	// themselves. A token without the claim names no user. A token whose claim is not a name is
	// refused. So is one with the claim "email", at any depth and in any notation, unless
	// "email_verified" beside it is true. Empty names no user of the host.
	User string
	// Orgs and Teams are the claims of memberships. Zero reads none.
	Orgs, Teams Memberships
}

// identity is whom a token's claims name. They have been verified, in the way of a scheme.
func (i *issuer) identity(c map[string]any, expires time.Time,
	scheme string) (identity.Identity, error) {
	sub, _ := c["sub"].(string)
	if sub == "" {
		return identity.Identity{}, refuse("it has no subject (sub)")
	}
	m := i.settings.Claims
	user, err := m.user(c)
	if err != nil {
		return identity.Identity{}, err
	}
	i.noteUnread(c)
	client, err := m.client(c)
	if err != nil {
		return identity.Identity{}, err
	}
	actor, err := i.actor(c)
	if err != nil {
		return identity.Identity{}, err
	}
	return identity.Identity{
		Principal: access.Principal{
			Issuer:  i.settings.URL,
			Subject: sub,
			Client:  client,
			Actor:   actor,
			User:    user,
			Roles:   i.roles(c),
			Scopes:  scopes(at(c, m.scopes(c))),
			Groups:  valuesAt(c, m.Groups),
			Orgs:    m.Orgs.read(c),
			Teams:   m.Teams.read(c),
		},
		// RFC 9068, section 2.2: where no resource owner is involved, the subject is the client.
		ClientItself: sub == client && actor.Subject == "",
		Expires:      expires,
		Scheme:       scheme,
		Claims:       c,
	}, nil
}

// clientClaims are the claims of the OAuth client: by RFC 8693 and RFC 9068, by OpenID Connect, of
// Okta, and of Microsoft Entra in tokens of version 1.
var clientClaims = [...]string{"client_id", "azp", "cid", "appid"}

func (m Claims) clientClaim(c map[string]any) string {
	return filled(c, m.Client, clientClaims[:]...)
}

// client is the OAuth client, "" if the token has none.
func (m Claims) client(c map[string]any) (string, error) {
	const cure = ": set oidc.Claims.Client to the claim that names the client"
	path, claims := m.clientClaim(c), clientClaims[:]
	if m.Client != "" {
		claims = []string{m.Client}
	}
	client, _ := at(c, path).(string)
	for _, claim := range claims {
		value := at(c, claim)
		switch {
		case !isText(value):
			return "", refuse("its claim %s is not a string, so it names no client"+cure, claim)
		case !blank(value) && value != client:
			return "", refuse("its claims %s and %s name different clients"+cure, path, claim)
		}
	}
	return client, nil
}

// actor is the party that acts for the subject (RFC 8693, section 4.1): that of the outermost claim
// act. The actors within it acted before, and decide nothing.
func (i *issuer) actor(c map[string]any) (access.Actor, error) {
	act, delegated := c["act"]
	if !delegated {
		return access.Actor{}, nil
	}
	claims, _ := act.(map[string]any)
	actor := access.Actor{Issuer: i.settings.URL}
	actor.Subject, _ = claims["sub"].(string)
	issuer, has := claims["iss"]
	if has {
		actor.Issuer, _ = issuer.(string)
	}
	if actor.Subject == "" || actor.Issuer == "" {
		return access.Actor{}, refuse("its claim act does not name the actor (sub, and perhaps iss)")
	}
	return actor, nil
}

// user is the host's user, "" if the token has none. OpenID Connect Core 1.0, section 5.7 warns of
// addresses that are not verified: a user who may enter one could become any user.
func (m Claims) user(c map[string]any) (string, error) {
	if m.User == "" {
		return "", nil
	}
	value, present := find(c, m.User)
	if !present {
		return "", nil
	}
	user, _ := value.(string)
	if user == "" {
		return "", refuse("its claim %s is not the name of a user", m.User)
	}
	if !m.verified(c) {
		return "", refuse("its address is not verified (email_verified), so it is not a user name")
	}
	return user, nil
}

// verified reports whether the claim of users is no standard address, or a verified one, by the
// claim beside it. Only its issuer can verify a claim with another name that ends in "email".
func (m Claims) verified(c map[string]any) bool {
	steps := names(m.User)
	last := len(steps) - 1
	if steps[last] != "email" {
		return true
	}
	beside, _ := along(c, append(steps[:last:last], "email_verified"))
	verified, _ := beside.(bool)
	return verified
}

// filled is the path of a claim: the configured one, or else the first of some claims that is
// neither missing nor empty, or else the last of them.
func filled(c map[string]any, path string, claims ...string) string {
	if path != "" {
		return path
	}
	for _, claim := range claims {
		list, isList := c[claim].([]any)
		if !blank(c[claim]) &&
			(!isList || slices.ContainsFunc(list, func(v any) bool { return !blank(v) })) {
			return claim
		}
	}
	return claims[len(claims)-1]
}

// blank reports whether a value is missing, or a string of spaces.
func blank(v any) bool {
	s, isText := v.(string)
	return v == nil || isText && strings.Trim(s, " ") == ""
}

func (m Claims) scopes(c map[string]any) string { return filled(c, m.Scopes, "scope", "scp") }

// noteUnread logs each claim that is not read because of its JSON type, once and without its value.
// Otherwise nobody would find out why callers lack rights.
func (i *issuer) noteUnread(c map[string]any) {
	m := i.settings.Claims
	note := func(path string, read func(any) bool) {
		if path == "" || read(at(c, path)) {
			return
		}
		if _, logged := i.unread.LoadOrStore(path, true); !logged {
			i.log.Warn("the server does not read a claim of a token, or a part of it, because of its "+
				"JSON type: see oidc.Claims", "issuer", i.settings.URL, "claim", path)
		}
	}
	for _, path := range []string{m.Groups, m.scopes(c)} {
		note(path, areTexts)
	}
	for _, path := range m.Roles {
		note(path, m.readsRoles)
	}
	note(m.Orgs.Claim, m.Orgs.reads)
	note(m.Teams.Claim, m.Teams.reads)
}

// isText reports whether a value is a string, or missing.
func isText(v any) bool {
	_, ok := v.(string)
	return ok || v == nil
}

// areTexts reports whether list reads a value, or there is nothing to read.
func areTexts(v any) bool {
	_, read := list(v)
	return read || v == nil || v == ""
}

// scopes are the scope tokens of RFC 6749, section 3.3; what is none of them is left out.
func scopes(v any) []string {
	var named []string
	if s, ok := v.(string); ok {
		named = strings.Split(s, " ")
	} else {
		named, _ = list(v)
	}
	var held []string
	for _, s := range named {
		if isScope(s) {
			held = append(held, s)
		}
	}
	return held
}

func isScope(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return s != ""
}

// valuesAt are the strings of a claim, none where no path is configured.
func valuesAt(c map[string]any, path string) []string {
	if path == "" {
		return nil
	}
	held, _ := list(at(c, path))
	return held
}

// list reads a string or a list of strings. A list with anything else in it is none, and so is
// an empty string.
func list(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}, true
		}
	case []any:
		all := make([]string, 0, len(v))
		for _, item := range v {
			s, ok := item.(string)
			if !ok || s == "" {
				return nil, false
			}
			all = append(all, s)
		}
		return all, true
	}
	return nil, false
}

// at returns what stands at a path, or nil.
func at(c map[string]any, path string) any {
	v, _ := find(c, path)
	return v
}

// find returns what stands at a path and whether anything does. Where something else than an object
// is on the path to it, the result is nil.
func find(c map[string]any, path string) (any, bool) { return along(c, names(path)) }

// along is find for the steps of a path.
func along(c map[string]any, steps []string) (any, bool) {
	var v any = c
	for _, name := range steps {
		o, ok := v.(map[string]any)
		if !ok {
			return nil, true
		}
		if v, ok = o[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

var pointer = strings.NewReplacer("~1", "/", "~0", "~")

// names are the steps of a path.
func names(path string) []string {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return strings.Split(path, ".")
	}
	steps := strings.Split(rest, "/")
	for i, step := range steps {
		steps[i] = pointer.Replace(step)
	}
	return steps
}
