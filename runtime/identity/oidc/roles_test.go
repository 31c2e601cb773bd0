package oidc_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// Tokens as five providers document them, read on 2026-11-30.
func TestRolesOfProviders(t *testing.T) {
	for _, test := range []struct {
		source, claims string
		settings       oidc.Claims
		want           []string
	}{
		{"https://www.keycloak.org/docs/latest/server_admin/",
			`{"realm_access":{"roles":["offline_access","net-admin"]},` +
				`"resource_access":{"tools":{"roles":["editor"]}}}`,
			oidc.Claims{Roles: []string{"realm_access.roles", "resource_access.tools.roles"},
				RoleNames: map[string]string{"net-admin": "Admin", "editor": "Member"}},
			[]string{"Admin", "Member"}},
		{"https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference",
			`{"roles":["Task.Write"],"groups":["0760b6cf-170e-4a14-91b3-4b78e0739963"]}`,
			oidc.Claims{Roles: []string{"roles", "groups"}, RoleNames: map[string]string{
				"Task.Write": "Member", "0760b6cf-170e-4a14-91b3-4b78e0739963": "Auditor"}},
			[]string{"Member", "Auditor"}},
		{"https://developer.okta.com/docs/guides/customize-tokens-groups-claim/",
			`{"cid":"nmdP1fcyvdVO11AL7ECm","uid":"00ucpwv4l6Rbwkq5B0h7",` +
				`"groups":["Network Admin","Everyone"]}`,
			oidc.Claims{Roles: []string{"groups"}, RoleNames: map[string]string{"Network Admin": "Manager"}},
			[]string{"Manager"}},
		{"https://auth0.com/docs/secure/tokens/json-web-tokens/create-custom-claims",
			`{"https://tools.example/roles":["admin","viewer"]}`,
			oidc.Claims{Roles: []string{"/https:~1~1tools.example~1roles"},
				RoleNames: map[string]string{"admin": "Admin", "viewer": "Viewer"}},
			[]string{"Admin", "Viewer"}},
		{"https://zitadel.com/docs/apis/openidoauth/claims",
			`{"urn:zitadel:iam:org:project:roles":{"admin":{"2":"acme.zitadel.cloud"},` +
				`"user":{"1":"tools.zitadel.cloud","2":"acme.zitadel.cloud"}}}`,
			oidc.Claims{Roles: []string{"urn:zitadel:iam:org:project:roles"}, RolesOrg: "1",
				RoleNames: map[string]string{"admin": "Admin", "user": "Member"}},
			[]string{"Member"}},
	} {
		var claims map[string]any
		if err := json.Unmarshal([]byte(test.claims), &claims); err != nil {
			t.Fatal(err)
		}
		var changes []any
		for name, value := range claims {
			changes = append(changes, name, value)
		}
		if got := read(t, test.settings, changes...).Principal.Roles; !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.source, got, test.want)
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
		tokens = append(tokens, []any{"role", []string{"op", fmt.Sprint("value", i), "password=hunter22"}})
	}
	lines := logged(t, settings, tokens...)
	all := strings.Join(lines, "")
	if n := strings.Count(all, "value=value"); n != 99 || strings.Count(all, "value=\"password=") != 1 ||
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
