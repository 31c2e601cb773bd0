package oidc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

func TestSettingsThatCannotWorkAreNamed(t *testing.T) {
	whole := func(change func(*oidc.Options)) func(*oidc.Options) { return change }
	asking := func(change func(*oidc.Introspection)) func(*oidc.Options) {
		return issuer(func(i *oidc.Issuer) {
			i.Introspection = &oidc.Introspection{ClientID: "a", ClientSecret: "s3cret-of-ours"}
			change(i.Introspection)
		})
	}
	for want, change := range map[string]func(*oidc.Options){
		`Resource.URL is empty`: whole(func(o *oidc.Options) { o.Resource.URL = "" }),
		`Resource.URL is "/mcp": write a whole URL`: whole(
			func(o *oidc.Options) { o.Resource.URL = "/mcp" }),
		`Resource.URL is "http://mcp.example/mcp", which is not protected on the network: use https ` +
			`(http is for loopback addresses only)`: whole(
			func(o *oidc.Options) { o.Resource.URL = "http://mcp.example/mcp" }),
		`remove query and fragment`: whole(
			func(o *oidc.Options) { o.Resource.URL = "https://mcp.example/mcp?x" }),
		`Resource.URL is not a URL`: whole(func(o *oidc.Options) { o.Resource.URL = "https://%zz" }),
		`Resource.Scopes has "a b"`: whole(func(o *oidc.Options) { o.Resource.Scopes = []string{"a b"} }),
		`Resource.AuthorizationServers[0] is "x"`: whole(
			func(o *oidc.Options) { o.Resource.AuthorizationServers = []string{"x"} }),
		`Leeway is -1s`:                    whole(func(o *oidc.Options) { o.Leeway = -time.Second }),
		`Leeway is 6m0s: use at most 5m0s`: whole(func(o *oidc.Options) { o.Leeway = 6 * time.Minute }),
		`Issuers is empty`:                 whole(func(o *oidc.Options) { o.Issuers = nil }),
		`Issuers[1].URL is "https://login.example", as that of another issuer: merge the two`: whole(
			func(o *oidc.Options) { o.Issuers = append(o.Issuers, o.Issuers[0]) }),
		`Issuers[0].URL is "http://login.example", which is not protected on the network: use https ` +
			`(http is for loopback addresses only)`: issuer(
			func(i *oidc.Issuer) { i.URL = "http://login.example" }),
		`Issuers[0].URL has a user or password: remove it`: issuer(
			func(i *oidc.Issuer) { i.URL = "https://a:s3cret-of-ours@login.example" }),
		`Issuers[0].KeysURL is "keys"`: issuer(func(i *oidc.Issuer) { i.KeysURL = "keys" }),
		`Issuers[0].Audiences has an empty element: remove it`: issuer(
			func(i *oidc.Issuer) { i.Audiences = []string{""} }),
		`Issuers[0].Algorithms has "HS256"`: issuer(
			func(i *oidc.Issuer) { i.Algorithms = []string{"RS256", "HS256"} }),
		`Issuers[0].Algorithms has "none"`: issuer(
			func(i *oidc.Issuer) { i.Algorithms = []string{"none"} }),
		`Issuers[0].MaxLifetime is -1ns`: issuer(func(i *oidc.Issuer) { i.MaxLifetime = -1 }),
		`Issuers[0].KeyPeriod is -1ns`:   issuer(func(i *oidc.Issuer) { i.KeyPeriod = -1 }),
		`Issuers[0].StalePeriod is -1ns`: issuer(func(i *oidc.Issuer) { i.StalePeriod = -1 }),
		`Introspection.URL is "x"`:       asking(func(n *oidc.Introspection) { n.URL = "x" }),
		`Introspection has no ClientID or no ClientSecret`: asking(
			func(n *oidc.Introspection) { n.ClientID = "" }),
		`Introspection.Method is 7`:   asking(func(n *oidc.Introspection) { n.Method = 7 }),
		`Introspection.Cache is 6m0s`: asking(func(n *oidc.Introspection) { n.Cache = 6 * time.Minute }),
		`2 issuers have Introspection`: whole(func(o *oidc.Options) {
			asking(func(*oidc.Introspection) {})(o)
			o.Issuers = append(o.Issuers, oidc.Issuer{URL: "https://b.example", Introspection: o.Issuers[0].Introspection})
		}),
		`Claims.Roles[0] is empty`: issuer(func(i *oidc.Issuer) { i.Claims.Roles = []string{""} }),
		`Claims.Roles[0] is "https://x.y/r", whose dots separate names: write ` +
			`"/https:~1~1x.y~1r"`: issuer(
			func(i *oidc.Issuer) { i.Claims.Roles = []string{"https://x.y/r"} }),
		`Claims.User is "a..b", in which a name is empty`: issuer(
			func(i *oidc.Issuer) { i.Claims.User = "a..b" }),
		`Claims.Client is the subject`: issuer(func(i *oidc.Issuer) { i.Claims.Client = "/sub" }),
		`Claims.RoleNames has no effect without Claims.Roles: write the claims there`: issuer(
			func(i *oidc.Issuer) { i.Claims.RoleNames = map[string]string{"a": "b"} }),
		`Claims.RolesSeparator is set without Claims.RoleNames: write the role of each value there`: issuer(
			func(i *oidc.Issuer) { i.Claims.Roles, i.Claims.RolesSeparator = []string{"r"}, " " }),
		`Claims.RolesOrg is set without Claims.RoleNames`: issuer(
			func(i *oidc.Issuer) { i.Claims.Roles, i.Claims.RolesOrg = []string{"r"}, "7" }),
		`Claims.RoleNames maps "a" to no role`: issuer(
			func(i *oidc.Issuer) {
				i.Claims.Roles, i.Claims.RoleNames = []string{"r"}, map[string]string{"a": ""}
			}),
		`Claims.Orgs.Claim is empty`: issuer(func(i *oidc.Issuer) { i.Claims.Orgs.Standing = "x" }),
		`Claims.Teams.Standings maps "a" to "king"`: issuer(func(i *oidc.Issuer) {
			i.Claims.Teams = oidc.Memberships{Claim: "t", Standings: map[string]access.Standing{"a": "king"}}
		}),
	} {
		p := newProvider()
		s := oidc.New(p.options(change))
		err := s.Check()
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "oidc: ") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
		// Who does not ask Check admits nobody all the same.
		if id, err := s.Verify(t.Context(), token()); err == nil || errors.Is(err, identity.ErrInvalidToken) || id.Principal.Subject != "" || s.Fetch(t.Context()) == nil {
			t.Errorf("%s: %+v, %v", want, id, err)
		}
	}
}

func TestEveryProblemIsReportedAtOnce(t *testing.T) {
	err := oidc.New(oidc.Options{Leeway: -1}).Check()
	for _, want := range []string{"Resource.URL", "Leeway", "Issuers"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not in %v", want, err)
		}
	}
}

func TestSourceHasWhatRunNeeds(t *testing.T) {
	p := newProvider()
	if p.source(t).NamesUsers() {
		t.Error("it names users without a claim of them")
	}
	scopes := []string{"dns:read"}
	s := p.source(t, issuer(func(i *oidc.Issuer) {
		i.Claims.User, i.Claims.Roles, i.Claims.RoleNames = "u", []string{"groups"}, map[string]string{"netops": "Manger", "ops": "Admin", "root": "Admin"}
	}), func(o *oidc.Options) {
		o.Resource = identity.Resource{URL: "http://localhost:8080/mcp", Scopes: scopes, AuthorizationServers: []string{"https://front.example"}, Name: "n", Documentation: "d"}
	})
	scopes[0] = "changed"
	r := s.Resource()
	if !s.NamesUsers() || r.URL != "http://localhost:8080/mcp" || r.AuthorizationServers[0] != "https://front.example" || len(r.AuthorizationServers) != 1 || r.Scopes[0] != "dns:read" || r.Name != "n" {
		t.Errorf("%+v", r)
	}
	if got := fmt.Sprint(s.Issuers(), s.MappedRoles()); got != fmt.Sprint([]string{issuerURL}, []string{"Admin", "Manger"}) {
		t.Errorf("%s", got)
	}
	// A client of the package's own, and the default logger.
	nothing := httptest.NewServer(http.NotFoundHandler())
	defer nothing.Close()
	if err := oidc.New(oidc.Options{Resource: identity.Resource{URL: resource},
		Issuers: []oidc.Issuer{{URL: nothing.URL}}}).Fetch(context.Background()); err == nil {
		t.Error("there is no issuer there")
	}
}
