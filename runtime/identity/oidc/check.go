package oidc

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// check names every setting that cannot work, and where it stands.
func (o Options) check() error {
	var p problems
	p.place("Resource.URL", checkURL(o.Resource.URL))
	for _, scope := range o.Resource.Scopes {
		if !isScope(scope) {
			p.add("Resource.Scopes has %q, which is not a scope: use visible ASCII without quotes and "+
				"backslashes", scope)
		}
	}
	for i, server := range o.Resource.AuthorizationServers {
		p.place(fmt.Sprintf("Resource.AuthorizationServers[%d]", i), checkURL(server))
	}
	if o.Leeway < 0 || o.Leeway > maxLeeway {
		p.add("Leeway is %s: use at most %s, or 0 for %s", o.Leeway, maxLeeway, DefaultLeeway)
	}
	if len(o.Issuers) == 0 {
		p.add("Issuers is empty, so no caller is admitted: add the authorization server")
	}
	seen, introspecting := map[string]bool{}, 0
	for n, i := range o.Issuers {
		p.within = fmt.Sprintf("Issuers[%d].", n)
		if seen[i.URL] {
			p.add("URL is %q, as that of another issuer: merge the two", i.URL)
		}
		seen[i.URL] = true
		i.check(&p)
		if i.Introspection != nil {
			introspecting++
		}
	}
	p.within = ""
	if introspecting > 1 {
		p.add("%d issuers have Introspection: an opaque token has no issuer, and must not be sent to "+
			"another issuer's server; keep it for one issuer", introspecting)
	}
	return errors.Join(p.all...)
}

func (i Issuer) check(p *problems) {
	p.place("URL", checkURL(i.URL))
	if i.KeysURL != "" {
		p.place("KeysURL", checkEndpoint(i.KeysURL))
	}
	if slices.Contains(i.Audiences, "") {
		p.add("Audiences has an empty element: remove it")
	}
	for _, alg := range i.Algorithms {
		if !slices.Contains(acceptable(), alg) {
			p.add("Algorithms has %q: use some of %s", alg, strings.Join(acceptable(), ", "))
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"MaxLifetime", i.MaxLifetime}, {"KeyPeriod", i.KeyPeriod}, {"StalePeriod", i.StalePeriod}} {
		if d.value < 0 {
			p.add("%s is %s: use a positive duration, or 0", d.name, d.value)
		}
	}
	if n := i.Introspection; n != nil {
		if n.URL != "" {
			p.place("Introspection.URL", checkEndpoint(n.URL))
		}
		if n.ClientID == "" || n.ClientSecret == "" {
			p.add("Introspection has no ClientID or no ClientSecret: register this server with the " +
				"issuer, because only its clients may introspect tokens")
		}
		if n.Method != Basic && n.Method != Post {
			p.add("Introspection.Method is %d: use oidc.Basic or oidc.Post", int(n.Method))
		}
		if n.Cache < 0 || n.Cache > maxCache {
			p.add("Introspection.Cache is %s: use at most %s, because the server accepts a revoked "+
				"token for that time", n.Cache, maxCache)
		}
	}
	i.Claims.check(p)
}

func (c Claims) check(p *problems) {
	paths := map[string]string{
		"Claims.Scopes":         c.Scopes,
		"Claims.Groups":         c.Groups,
		"Claims.Client":         c.Client,
		"Claims.User":           c.User,
		"Claims.Orgs.Claim":     c.Orgs.Claim,
		"Claims.Orgs.Name":      c.Orgs.Name,
		"Claims.Orgs.Standing":  c.Orgs.Standing,
		"Claims.Teams.Claim":    c.Teams.Claim,
		"Claims.Teams.Name":     c.Teams.Name,
		"Claims.Teams.Standing": c.Teams.Standing,
	}
	for i, path := range c.Roles {
		paths[fmt.Sprintf("Claims.Roles[%d]", i)] = path
		if path == "" {
			p.add("Claims.Roles[%d] is empty: write the name of the claim", i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		p.place(name, checkPath(paths[name]))
	}
	if c.Client != "" && slices.Equal(names(c.Client), []string{"sub"}) {
		p.add("Claims.Client is the subject, so every token would count as the client's own: write " +
			"the claim of the OAuth client, or leave it empty")
	}
	if len(c.RoleNames) > 0 && len(c.Roles) == 0 {
		p.add("Claims.RoleNames has no effect without Claims.Roles: write the claims there")
	}
	for _, s := range []struct{ name, value string }{
		{"RolesSeparator", c.RolesSeparator}, {"RolesOrg", c.RolesOrg},
	} {
		if s.value != "" && c.RoleNames == nil {
			p.add("Claims.%s is set without Claims.RoleNames: write the role of each value there", s.name)
		}
	}
	for _, value := range slices.Sorted(maps.Keys(c.RoleNames)) {
		if c.RoleNames[value] == "" {
			p.add("Claims.RoleNames maps %q to no role: write a role, or remove it", value)
		}
	}
	for _, m := range []struct {
		name string
		Memberships
	}{{"Claims.Orgs", c.Orgs}, {"Claims.Teams", c.Teams}} {
		if m.Claim == "" && (m.Name != "" || m.Standing != "" || m.Standings != nil) {
			p.add("%s.Claim is empty: write the name of the claim", m.name)
		}
		for _, value := range slices.Sorted(maps.Keys(m.Standings)) {
			if s := m.Standings[value]; rank(s) == 0 {
				p.add("%s.Standings maps %q to %q: use access.Owner, access.Admin, access.Lead or "+
					"access.Member", m.name, value, s)
			}
		}
	}
}

// checkPath refuses a path that could never be found.
func checkPath(path string) error {
	switch {
	case path == "":
		return nil
	case !strings.HasPrefix(path, "/") && strings.Contains(path, "://"):
		whole := strings.NewReplacer("~", "~0", "/", "~1").Replace(path)
		return fmt.Errorf("is %q, whose dots separate names: write %q", path, "/"+whole)
	case slices.Contains(names(path), ""):
		return fmt.Errorf("is %q, in which a name is empty", path)
	}
	return nil
}

// checkURL checks an identifier of an issuer or a resource (RFC 8414, section 2; RFC 9728, section
// 1.2).
func checkURL(s string) error {
	if err := checkEndpoint(s); err != nil {
		return err
	}
	if strings.ContainsAny(s, "?#") {
		return fmt.Errorf("is %q: remove query and fragment", s)
	}
	return nil
}

// checkEndpoint checks a URL that is called. What has a password in it is not shown.
func checkEndpoint(s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New("is empty: write the URL")
	case err != nil:
		return errors.New("is not a URL")
	case u.User != nil:
		return errors.New("has a user or password: remove it")
	case u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("is %q: write a whole URL, for example https://login.example", s)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("is %q, which is not protected on the network: use https (http is for "+
			"loopback addresses only)", s)
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// problems gathers what is wrong.
type problems struct {
	within string
	all    []error
}

func (p *problems) add(format string, args ...any) {
	p.all = append(p.all, fmt.Errorf("oidc: "+p.within+format, args...))
}

func (p *problems) place(name string, err error) {
	if err != nil {
		p.add("%s %w", name, err)
	}
}
