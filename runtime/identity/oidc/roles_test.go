package oidc_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// Tokens as five providers document them, read on 2026-11-30. The first source of a token documents
// its roles, and the others its client and its actor.
func TestRolesClientsAndActorsOfProviders(t *testing.T) {
	const (
		entra = "https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference"
		auth0 = "https://auth0.com/docs/secure/tokens/"
	)
	roles := func(names ...string) map[string]string {
		byValue := map[string]string{}
		for i := 0; i < len(names); i += 2 {
			byValue[names[i]] = names[i+1]
		}
		return byValue
	}
	for _, test := range []struct {
		sources  string
		claims   string
		settings oidc.Claims
		roles    string
		client   string
		actor    access.Actor
	}{
		{"https://www.keycloak.org/docs/latest/server_admin/ " +
			"https://www.keycloak.org/securing-apps/token-exchange",
			`{"realm_access":{"roles":["offline_access","net-admin"]},"azp":"requester-client",` +
				`"resource_access":{"target-client1":{"roles":["target-client1-role"]}}}`,
			oidc.Claims{Roles: []string{"realm_access.roles", "resource_access.target-client1.roles"},
				RoleNames: roles("net-admin", "Admin", "target-client1-role", "Member")},
			"[Admin Member]", "requester-client", access.Actor{}},
		{entra + " (version 2)",
			`{"roles":["Task.Write"],"groups":["0760b6cf-170e-4a14-91b3-4b78e0739963"],` +
				`"azp":"00001111-aaaa-2222-bbbb-3333cccc4444","azpacr":"0"}`,
			oidc.Claims{Roles: []string{"roles", "groups"}, RoleNames: roles("Task.Write", "Member",
				"0760b6cf-170e-4a14-91b3-4b78e0739963", "Auditor")},
			"[Member Auditor]", "00001111-aaaa-2222-bbbb-3333cccc4444", access.Actor{}},
		{entra + " (version 1)",
			`{"roles":["Task.Write"],"appid":"00001111-aaaa-2222-bbbb-3333cccc4444","appidacr":"1"}`,
			oidc.Claims{Roles: []string{"roles"}, RoleNames: roles("Task.Write", "Member")},
			"[Member]", "00001111-aaaa-2222-bbbb-3333cccc4444", access.Actor{}},
		{"https://developer.okta.com/docs/guides/customize-tokens-groups-claim/ " +
			"https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/",
			`{"cid":"nmdP1fcyvdVO11AL7ECm","uid":"00ucpwv4l6Rbwkq5B0h7",` +
				`"groups":["Network Admin","Everyone"]}`,
			oidc.Claims{Roles: []string{"groups"}, RoleNames: roles("Network Admin", "Manager")},
			"[Manager]", "nmdP1fcyvdVO11AL7ECm", access.Actor{}},
		{auth0 + "json-web-tokens/create-custom-claims " + auth0 + "access-tokens/access-token-profiles",
			`{"https://tools.example/roles":["admin","viewer"],"azp":"my_client_id"}`,
			oidc.Claims{Roles: []string{"/https:~1~1tools.example~1roles"},
				RoleNames: roles("admin", "Admin", "viewer", "Viewer")},
			"[Admin Viewer]", "my_client_id", access.Actor{}},
		{auth0 + "access-tokens/access-token-profiles (RFC 9068) " +
			"https://auth0.com/docs/secure/call-apis-on-users-behalf/on-behalf-of-token-exchange",
			`{"client_id":"my_client_id","act":{"sub":"my_client_id","act":{"sub":"first"}}}`,
			oidc.Claims{}, "[]", "my_client_id", access.Actor{Issuer: issuerURL, Subject: "my_client_id"}},
		{"https://zitadel.com/docs/apis/openidoauth/claims " +
			"https://zitadel.com/docs/guides/integrate/token-exchange",
			`{"urn:zitadel:iam:org:project:roles":{"admin":{"2":"acme.zitadel.cloud"},` +
				`"user":{"1":"tools.zitadel.cloud","2":"acme.zitadel.cloud"}},` +
				`"azp":"259254409320529922@portal","client_id":"259254409320529922@portal",` +
				`"act":{"iss":"http://localhost:9000","sub":"259241944654282754"}}`,
			oidc.Claims{Roles: []string{"urn:zitadel:iam:org:project:roles"}, RolesOrg: "1",
				RoleNames: roles("admin", "Admin", "user", "Member")}, "[Member]",
			"259254409320529922@portal",
			access.Actor{Issuer: "http://localhost:9000", Subject: "259241944654282754"}},
	} {
		var claims map[string]any
		if err := json.Unmarshal([]byte(test.claims), &claims); err != nil {
			t.Fatal(err)
		}
		changes := []any{"client_id", nil}
		for name, value := range claims {
			changes = append(changes, name, value)
		}
		p := read(t, test.settings, changes...).Principal
		if fmt.Sprint(p.Roles) != test.roles || p.Client != test.client || p.Actor != test.actor {
			t.Errorf("%s: roles %q, client %q, actor %+v", test.sources, p.Roles, p.Client, p.Actor)
		}
	}
}

// logged verifies tokens and returns the lines of the log.
func logged(t *testing.T, settings oidc.Claims, tokens ...[]any) []string {
	t.Helper()
	var log strings.Builder
	source := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims = settings }),
		func(o *oidc.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, changes := range tokens {
		if _, err := source.Verify(t.Context(), token(changes...)); err != nil {
			t.Fatal(err)
		}
	}
	return slices.Collect(strings.Lines(log.String()))
}

// The first 100 values without a mapping are logged, each once and masked. All are counted.
func TestValuesWithoutAMappingAreCounted(t *testing.T) {
	settings := oidc.Claims{Roles: []string{"role"}, RoleNames: map[string]string{"op": "Member"}}
	var tokens [][]any
	for i := range 150 {
		tokens = append(tokens, []any{"role", []string{"op", fmt.Sprint("value", i),
			"password=hunter22"}})
	}
	lines := logged(t, settings, tokens...)
	all := strings.Join(lines, "")
	if n := strings.Count(all, "value=value"); n != 99 || strings.Count(all,
		"value=\"password=") != 1 ||
		strings.Contains(all, "hunter22") || strings.Contains(all, "value=op") {
		t.Errorf("%d values are logged: %s", n, all)
	}
	if last := lines[len(lines)-1]; len(lines) != 101 || !strings.Contains(last, "count=256") {
		t.Errorf("%d lines, the last: %s", len(lines), last)
	}
	settings.RoleNames = nil
	if lines := logged(t, settings, tokens...); lines != nil {
		t.Errorf("without a mapping: %q", lines)
	}
}

func TestClaimThatIsLeftOutForItsLengthIsLogged(t *testing.T) {
	overage := []any{"_claim_names", map[string]any{"groups": "src1"}, "_claim_sources",
		map[string]any{"src1": map[string]any{"endpoint": "https://graph.windows.net/"}}}
	settings := oidc.Claims{Roles: []string{"roles"}, Groups: "groups"}
	for name, test := range map[string]struct {
		settings oidc.Claims
		token    []any
		want     int
	}{
		"groups":              {settings, overage, 1},
		"groups as roles":     {oidc.Claims{Roles: []string{"groups"}}, overage, 1},
		"hasgroups":           {settings, []any{"hasgroups", true}, 1},
		"no groups":           {settings, []any{"hasgroups", false}, 0},
		"a word":              {settings, []any{"hasgroups", "true"}, 0},
		"groups are not read": {oidc.Claims{Roles: []string{"roles"}}, overage, 0},
		"groups are sent":     {settings, append(overage, "groups", []string{"a"}), 0},
		"of another form":     {settings, []any{"_claim_names", "groups"}, 0},
		"no claims":           {oidc.Claims{}, overage, 0},
	} {
		lines := logged(t, test.settings, test.token, test.token)
		if len(lines) != test.want || test.want == 1 && (!strings.Contains(lines[0], "claim=groups") ||
			!strings.Contains(lines[0], "assign app roles")) {
			t.Errorf("%s: %q", name, lines)
		}
	}
}
