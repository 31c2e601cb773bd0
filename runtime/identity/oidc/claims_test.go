package oidc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// read is what a token becomes under a configuration of claims.
func read(t testing.TB, c oidc.Claims, changes ...any) identity.Identity {
	t.Helper()
	id, err := newProvider().source(t, issuer(func(i *oidc.Issuer) {
		i.Claims = c
	})).Verify(t.Context(), token(changes...))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestUnconfiguredClaimsAreNotRead(t *testing.T) {
	id := read(t, oidc.Claims{}, "roles", []string{"Admin"}, "role", "Admin", "groups",
		[]string{"g"}, "email", "a@b.c", "email_verified", true,
		"preferred_username", "root", "organization", "acme", "orgs", []string{"acme"}, "teams",
		[]string{"t"}, "user", "root")
	want := access.Principal{Issuer: issuerURL, Subject: "ada", Client: "cli"}
	if !reflect.DeepEqual(id.Principal, want) {
		t.Errorf("%+v", id)
	}
}

// oddRoles has the roles x and Admin between values that are no names.
var oddRoles = []any{1, "x", nil, true, "", []string{"Owner"}, map[string]any{"Owner": true},
	"Admin"}

func TestRolesAreMapped(t *testing.T) {
	names := map[string]string{"op": "Member", "boss": "Admin"}
	for name, test := range map[string]struct {
		claims  oidc.Claims
		changes []any
		want    []string
	}{
		"a string": {oidc.Claims{Roles: []string{"role"}}, []any{"role", "Member"},
			[]string{"Member"}},
		"a list": {oidc.Claims{Roles: []string{"role"}},
			[]any{"role", []string{"Member", "x"}}, []string{"Member", "x"}},
		"several claims": {oidc.Claims{Roles: []string{"a", "b"}},
			[]any{"a", "x", "b", "y"}, []string{"x", "y"}},
		"nested": {oidc.Claims{Roles: []string{"realm_access.roles"}},
			[]any{"realm_access", map[string]any{"roles": []string{"Member"}}}, []string{"Member"}},
		"by pointer": {oidc.Claims{Roles: []string{"/https:~1~1x.example~1roles"}},
			[]any{"https://x.example/roles", "Member"}, []string{"Member"}},
		"a tilde by pointer": {oidc.Claims{Roles: []string{"/a~01/b.c"}},
			[]any{"a~1", map[string]any{"b.c": "Member"}}, []string{"Member"}},
		"mapped": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", []string{"op", "Admin", "boss "}}, []string{"Member"}},
		"mapped by an empty map": {oidc.Claims{Roles: []string{"role"},
			RoleNames: map[string]string{}}, []any{"role", "Admin"}, nil},
		"the case counts": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", "BOSS"}, nil},
		"missing":  {oidc.Claims{Roles: []string{"role"}}, nil, nil},
		"a number": {oidc.Claims{Roles: []string{"role"}}, []any{"role", 1}, nil},
		"true":     {oidc.Claims{Roles: []string{"role"}}, []any{"role", true}, nil},
		"an object": {oidc.Claims{Roles: []string{"role"}},
			[]any{"role", map[string]any{"Admin": true}}, nil},
		"a list with a number": {oidc.Claims{Roles: []string{"role"}},
			[]any{"role", []any{"Admin", 1}}, []string{"Admin"}},
		"a list of everything": {oidc.Claims{Roles: []string{"role"}}, []any{"role", oddRoles},
			[]string{"x", "Admin"}},
		"such a list, mapped": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", append(oddRoles, "op")}, []string{"Member"}},
		"no names, mapped": {oidc.Claims{Roles: []string{"role"},
			RoleNames: map[string]string{"": "Admin"}}, []any{"role", []any{"", 1}}, nil},
		"beside another claim": {oidc.Claims{Roles: []string{"a", "b"}},
			[]any{"a", 7, "b", "Member"}, []string{"Member"}},
		"a list of lists": {oidc.Claims{Roles: []string{"role"}},
			[]any{"role", []any{[]string{"Admin"}}}, nil},
		"words in a string": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", "boss op"}, nil},
		"keys": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", map[string]any{"op": map[string]any{"x": 1}, "boss": true, "Admin": true}},
			[]string{"Admin", "Member"}},
		"keys without a value that counts": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", map[string]any{"op": false, "boss": map[string]any{}, "": true}}, nil},
		"keys with other values": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", map[string]any{"op": "true", "boss": []any{true}}}, nil},
		"keys with null": {oidc.Claims{Roles: []string{"role"}, RoleNames: names},
			[]any{"role", json.RawMessage(`{"op":null,"boss":1}`)}, nil},
		"keys of an organization": {oidc.Claims{Roles: []string{"role"}, RoleNames: names, RolesOrg: "7"},
			[]any{"role", map[string]any{"op": map[string]any{"7": "x", "8": "y"},
				"boss": map[string]any{"8": "y", "77": "z"}}}, []string{"Member"}},
		"values of an organization that do not count": {oidc.Claims{Roles: []string{"role"},
			RoleNames: names, RolesOrg: "7"}, []any{"role", map[string]any{
			"op": map[string]any{"7": false}, "boss": map[string]any{"7": ""},
			"x": map[string]any{"7": nil}}}, nil},
		"objects and true of an organization": {oidc.Claims{Roles: []string{"role"},
			RoleNames: names, RolesOrg: "7"}, []any{"role", map[string]any{
			"op": map[string]any{"7": true}, "boss": map[string]any{"7": map[string]any{"x": 1}}}},
			[]string{"Admin", "Member"}},
		"true, of an organization": {oidc.Claims{Roles: []string{"role"}, RoleNames: names,
			RolesOrg: "7"},
			[]any{"role", map[string]any{"op": true}}, nil},
		"a name without an organization": {oidc.Claims{Roles: []string{"role"}, RoleNames: names,
			RolesOrg: "7"}, []any{"role", "op"}, nil},
		"names without an organization": {oidc.Claims{Roles: []string{"role"}, RoleNames: names,
			RolesOrg: "7"}, []any{"role", []string{"op", "boss"}}, nil},
		"separated names without an organization": {oidc.Claims{Roles: []string{"role"},
			RoleNames: names, RolesOrg: "7", RolesSeparator: " "}, []any{"role", "op boss"}, nil},
		"separated": {oidc.Claims{Roles: []string{"role"}, RoleNames: names, RolesSeparator: ", "},
			[]any{"role", "op, boss, x, "}, []string{"Member", "Admin"}},
		"a list with separators": {oidc.Claims{Roles: []string{"role"}, RoleNames: names,
			RolesSeparator: " "}, []any{"role", []string{"op boss"}}, nil},
		"a dotted name":    {oidc.Claims{Roles: []string{"a.b"}}, []any{"a.b", "Admin"}, nil},
		"through a string": {oidc.Claims{Roles: []string{"a.b"}}, []any{"a", "Admin"}, nil},
	} {
		id := read(t, test.claims, test.changes...)
		if !slices.Equal(id.Principal.Roles, test.want) {
			t.Errorf("%s: %q", name, id.Principal.Roles)
		}
	}
}

func TestScopesAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		path    string
		changes []any
		want    []string
	}{
		"scope":             {"", []any{"scope", "a b  c"}, []string{"a", "b", "c"}},
		"scope as a list":   {"", []any{"scope", []string{"a", "b"}}, []string{"a", "b"}},
		"scp":               {"", []any{"scp", []string{"a", "b"}}, []string{"a", "b"}},
		"scp as a string":   {"", []any{"scp", "a b"}, []string{"a", "b"}},
		"scope before scp":  {"", []any{"scope", "a", "scp", "b"}, []string{"a"}},
		"a malformed scope": {"", []any{"scope", 1, "scp", "b"}, nil},
		"an empty scope":    {"", []any{"scope", "", "scp", "b"}, []string{"b"}},
		"blank":             {"", []any{"scope", "  ", "scp", []string{"b"}}, []string{"b"}},
		"an empty list":     {"", []any{"scope", []any{}, "scp", "b"}, []string{"b"}},
		"a list of nothing": {"", []any{"scope", []any{"", nil}, "scp", "b"}, []string{"b"}},
		"a null scope":      {"", []any{"scope", json.RawMessage("null"), "scp", "b"}, []string{"b"}},
		"an empty object":   {"", []any{"scope", map[string]any{}, "scp", "b"}, nil},
		"an empty path":     {"x", []any{"x", "", "scope", "a", "scp", "b"}, nil},
		"a path": {"x.y", []any{"x", map[string]any{"y": "a"}, "scope", "b"},
			[]string{"a"}},
		"what is no scope":  {"", []any{"scope", "a b\"c \\ d\u00e9 e"}, []string{"a", "e"}},
		"a word with space": {"", []any{"scope", []string{"a b"}}, nil},
		"none":              {"", nil, nil},
	} {
		if id := read(t, oidc.Claims{Scopes: test.path},
			test.changes...); !slices.Equal(id.Principal.Scopes, test.want) {
			t.Errorf("%s: %q", name, id.Principal.Scopes)
		}
	}
}

// TestClaimOfAnUnreadTypeIsLoggedOnce sends each value twice in each claim.
func TestClaimOfAnUnreadTypeIsLoggedOnce(t *testing.T) {
	type values map[string]bool // JSON, and whether it is logged
	texts := values{`"Admin"`: false, `""`: false, `["a","b"]`: false, `[]`: false, `null`: false,
		`1e99`: true, `true`: true, `{"Admin":true}`: true, `["a",1e99]`: true, `[["a"]]`: true,
		`["a",null]`: true, `[{"name":"a"}]`: true}
	memberships := values{`"a"`: false, `["a",{"name":"b","standing":["lead"]}]`: false,
		`{"a":"lead","b":{}}`: false, `[{"name":"a"}]`: false, `{}`: false, `null`: false,
		`1e99`: true, `[1e99]`: true, `[null]`: true, `[{}]`: true, `[{"name":["a"]}]`: true,
		`[{"name":"a","standing":{}}]`: true, `{"a":1e99}`: true, `{"a":null}`: true,
		`{"a":{"standing":[1]}}`: true, `[["a"]]`: true}
	keys := maps.Clone(texts) // with RoleNames, keys are read
	maps.Copy(keys, values{`{"Admin":true}`: false, `{}`: false, `{"a":false,"b":{"c":1}}`: false,
		`{"a":1e99}`: true, `{"a":true,"b":"true"}`: true, `{"a":null}`: true})
	organized := values{`{"Admin":{"7":"x"}}`: false, `{}`: false, `null`: false, `[]`: false,
		`""`: false, `"a"`: true, `["a"]`: true, `1e99`: true}
	configured := oidc.Claims{Roles: []string{"realm.roles", "r"}, Groups: "g",
		Orgs: oidc.Memberships{Claim: "o"}, Teams: oidc.Memberships{Claim: "t"}}
	for claim, test := range map[string]struct {
		path   string
		values values
	}{
		"realm": {"realm.roles", texts}, "r": {"r", texts}, "g": {"g", texts}, "scope": {"scope", texts},
		"scp": {"scp", texts}, "o": {"o", memberships}, "t": {"t", memberships},
		"other": {"other", values{`1e99`: false, `{}`: false}}, "k": {"k", keys},
		"one": {"one", organized},
	} {
		for value, logged := range test.values {
			var log strings.Builder
			configured := configured
			if claim == "k" || claim == "one" {
				configured.Roles, configured.RoleNames = []string{claim}, map[string]string{"Admin": "Admin",
					"a": "a", "b": "b"}
			}
			if claim == "one" {
				configured.RolesOrg = "7"
			}
			source := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims = configured }),
				func(o *oidc.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			var sent any = json.RawMessage(value)
			if claim == "realm" {
				sent = map[string]any{"roles": sent}
			}
			for range 2 {
				if _, err := source.Verify(t.Context(), token("client_id", nil, claim, sent)); err != nil {
					t.Fatal(err)
				}
			}
			got := strings.Count(log.String(), "claim="+test.path+"\n")
			if (got == 1) != logged || got > 1 ||
				strings.Contains(log.String(), "Admin") || strings.Contains(log.String(), "1e99") {
				t.Errorf("%s %s: %d lines:\n%s", claim, value, got, log.String())
			}
		}
	}
}

func TestClientsGroupsAndUsersAreRead(t *testing.T) {
	for name, test := range map[string]struct {
		claims               oidc.Claims
		changes              []any
		client, user, groups string
	}{
		"client_id":          {oidc.Claims{}, nil, "cli", "", "[]"},
		"azp":                {oidc.Claims{}, []any{"client_id", nil, "azp", "x"}, "x", "", "[]"},
		"cid":                {oidc.Claims{}, []any{"client_id", nil, "cid", "x"}, "x", "", "[]"},
		"appid":              {oidc.Claims{}, []any{"client_id", nil, "appid", "x"}, "x", "", "[]"},
		"no client":          {oidc.Claims{}, []any{"client_id", nil}, "", "", "[]"},
		"an empty client_id": {oidc.Claims{}, []any{"client_id", "", "azp", "x"}, "x", "", "[]"},
		"a claim of its own": {oidc.Claims{Client: "app.id"},
			[]any{"app", map[string]any{"id": "x"}}, "x", "", "[]"},
		"such a claim missing": {oidc.Claims{Client: "app"}, nil, "", "", "[]"},
		"user": {oidc.Claims{User: "name"}, []any{"name", "ada7"}, "cli", "ada7",
			"[]"},
		"no user": {oidc.Claims{User: "name"}, nil, "cli", "", "[]"},
		"a verified address": {oidc.Claims{User: "email"},
			[]any{"email", "a@b.c", "email_verified", true}, "cli", "a@b.c", "[]"},
		"no address": {oidc.Claims{User: "email"}, []any{"email_verified", true}, "cli",
			"", "[]"},
		"groups": {oidc.Claims{Groups: "g"}, []any{"g", []string{"a", "b"}}, "cli",
			"", "[a b]"},
		"one group":      {oidc.Claims{Groups: "g"}, []any{"g", "a"}, "cli", "", "[a]"},
		"an empty group": {oidc.Claims{Groups: "g"}, []any{"g", ""}, "cli", "", "[]"},
		"malformed groups": {oidc.Claims{Groups: "g"}, []any{"g", []any{"a", nil}}, "cli", "",
			"[]"},
	} {
		p := read(t, test.claims, test.changes...).Principal
		if p.Client != test.client || p.User != test.user || fmt.Sprint(p.Groups) != test.groups ||
			len(p.Groups) == 1 && p.Groups[0] == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A token that names two clients could choose between two boundaries, so it is refused, unless the
// configuration names the claim of the client.
func TestTokenThatNamesTwoClientsIsRefused(t *testing.T) {
	claims := []string{"client_id", "azp", "cid", "appid"}
	for _, first := range claims {
		for _, second := range claims {
			if first == second {
				continue
			}
			of := func(settings oidc.Claims, second string, value any) (identity.Identity, error) {
				return newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims = settings })).Verify(
					t.Context(), token("client_id", nil, first, "cli", second, value))
			}
			for _, other := range []string{"cl", "CLI", "cli "} {
				if id, err := of(oidc.Claims{}, second, other); !isInvalid(err) ||
					!reflect.DeepEqual(id, identity.Identity{}) ||
					!strings.Contains(err.Error(), "set oidc.Claims.Client") {
					t.Errorf("%s and %s=%q: %+v, %v", first, second, other, id.Principal, err)
				}
				if id, err := of(oidc.Claims{Client: first}, second, other); err != nil ||
					id.Principal.Client != "cli" {
					t.Errorf("%s is configured, %s=%q: %+v, %v", first, second, other, id.Principal, err)
				}
			}
			for _, other := range []any{"cli", "", " ", json.RawMessage("null")} {
				if id, err := of(oidc.Claims{}, second, other); err != nil || id.Principal.Client != "cli" {
					t.Errorf("%s and %s=%q: %+v, %v", first, second, other, id.Principal, err)
				}
			}
		}
	}
}

// A token whose client cannot be read could avoid the boundary of its client, so it is refused.
func TestClientClaimsThatAreNoStringRefuseTheToken(t *testing.T) {
	for _, claim := range []string{"client_id", "azp", "cid", "appid", "app"} {
		for _, value := range []string{`1`, `1e99`, `true`, `[]`, `["cli"]`, `{}`, `{"cli":true}`} {
			of := func(settings oidc.Claims) (identity.Identity, error) {
				return newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims = settings })).Verify(
					t.Context(), token("name", "cli", claim, json.RawMessage(value)))
			}
			id, err := of(oidc.Claims{Client: claim})
			if claim != "app" && isInvalid(err) {
				id, err = of(oidc.Claims{})
			}
			if !isInvalid(err) || !reflect.DeepEqual(id, identity.Identity{}) ||
				!strings.Contains(err.Error(), "its claim "+claim+" is not a string") {
				t.Errorf("%s %s: %+v, %v", claim, value, id.Principal, err)
			}
			if id, err := of(oidc.Claims{Client: "name"}); err != nil || id.Principal.Client != "cli" {
				t.Errorf("%s %s, which is not read: %+v, %v", claim, value, id.Principal, err)
			}
		}
	}
}

func TestUserClaimsThatDoNotCountRefuseTheToken(t *testing.T) {
	for name, test := range map[string]struct {
		path    string
		changes []any
	}{
		"an unverified address": {"email", []any{"email", "a@b.c"}},
		"denied to be verified": {"email", []any{"email", "a@b.c", "email_verified", false}},
		"verified by a word":    {"email", []any{"email", "a@b.c", "email_verified", "true"}},
		"verified by a number":  {"email", []any{"email", "a@b.c", "email_verified", 1}},
		"a list":                {"name", []any{"name", []string{"ada7"}}},
		"a number":              {"name", []any{"name", 7}},
		"true":                  {"name", []any{"name", true}},
		"null":                  {"name", []any{"name", json.RawMessage("null")}},
		"an empty name":         {"name", []any{"name", ""}},
		"an object": {"host.name",
			[]any{"host", map[string]any{"name": map[string]any{}}}},
		"no object on the way": {"host.name", []any{"host", "ada7"}},
	} {
		s := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims.User = test.path }))
		// Neither as a person's nor as the client's own.
		for _, sub := range []string{"ada", "cli"} {
			if id, err := s.Verify(t.Context(),
				token(append(test.changes, "sub", sub)...)); !isInvalid(err) ||
				!reflect.DeepEqual(id, identity.Identity{}) {
				t.Errorf("%s, by %s: %+v, %v", name, sub, id, err)
			}
		}
	}
}

// However the path of an address is written, it counts only where it is said to be verified beside
// it.
func TestAddressesCountWhereTheyAreVerifiedHoweverTheirPathIsWritten(t *testing.T) {
	const address = "root@corp.example"
	holder := func(verified any) map[string]any {
		return map[string]any{"email": address, "email_verified": verified}
	}
	for _, test := range []struct {
		path    string
		changes []any
		counts  bool
	}{
		{"email", []any{"email", address, "email_verified", true}, true},
		{"/email", []any{"email", address, "email_verified", true}, true},
		{"/email", []any{"email", address, "email_verified", false}, false},
		{"/email", []any{"email", address}, false},
		{"profile.email", []any{"profile", holder(true)}, true},
		{"/profile/email", []any{"profile", holder(true)}, true},
		{"profile.email", []any{"profile", holder(false)}, false},
		{"/profile/email", []any{"profile", holder(false)}, false},
		{"profile.email", []any{"profile", holder("true")}, false},
		// which is another's
		{"profile.email", []any{"profile", holder(nil), "email_verified", true}, false},
		{"email.name", []any{"email", map[string]any{"name": address}}, true},
		{"/https:~1~1corp.example~1email", []any{"https://corp.example/email", address}, true},
	} {
		s := newProvider().source(t, issuer(func(i *oidc.Issuer) { i.Claims.User = test.path }))
		id, err := s.Verify(t.Context(), token(test.changes...))
		if test.counts && (err != nil || id.Principal.User != address) || !test.counts &&
			!isInvalid(err) {
			t.Errorf("%s of %v: %+v, %v", test.path, test.changes, id.Principal, err)
		}
	}
}

func TestOnlyTokensOfTheClientAreItsOwn(t *testing.T) {
	for name, test := range map[string]struct {
		claims  oidc.Claims
		changes []any
		own     bool
	}{
		"a person's":   {oidc.Claims{}, nil, false},
		"the client's": {oidc.Claims{}, []any{"sub", "cli"}, true},
		"by azp": {oidc.Claims{}, []any{"sub", "cli", "client_id", nil, "azp",
			"cli"}, true},
		"by a claim of its own": {oidc.Claims{Client: "cid"}, []any{"sub", "robot", "cid",
			"robot"}, true},
		"not by the others then": {oidc.Claims{Client: "cid"}, []any{"sub", "cli", "cid", "robot"},
			false},
		"by cid":           {oidc.Claims{}, []any{"sub", "cli", "client_id", nil, "cid", "cli"}, true},
		"without a client": {oidc.Claims{}, []any{"client_id", nil}, false},
		"another case":     {oidc.Claims{}, []any{"sub", "CLI"}, false},
		"by somebody for it": {oidc.Claims{}, []any{"sub", "cli", "act",
			map[string]any{"sub": "ada"}}, false},
		"a person's with a user": {oidc.Claims{User: "name"}, []any{"name", "ada7"}, false},
	} {
		if id := read(t, test.claims, test.changes...); id.ClientItself != test.own {
			t.Errorf("%s: %+v", name, id)
		}
	}
}

// The actor of a delegated token is that of the outermost claim act. The actors within it decide
// nothing. A token whose actor cannot be read is refused, because the actor may have a boundary.
func TestActorIsThatOfTheOutermostClaim(t *testing.T) {
	of := func(pairs ...any) map[string]any {
		claim := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			claim[pairs[i].(string)] = pairs[i+1]
		}
		return claim
	}
	for name, test := range map[string]struct {
		act  any
		want access.Actor
	}{
		"by sub":  {of("sub", "agent"), access.Actor{Issuer: issuerURL, Subject: "agent"}},
		"by both": {of("sub", "agent", "iss", "i"), access.Actor{Issuer: "i", Subject: "agent"}},
		"nested": {of("sub", "agent", "act", of("sub", "first", "iss", "i")),
			access.Actor{Issuer: issuerURL, Subject: "agent"}},
		"nested and odd": {of("sub", "agent", "act", 1), access.Actor{Issuer: issuerURL,
			Subject: "agent"}},
		"null": {act: json.RawMessage("null")}, "text": {act: "agent"}, "empty": {act: of()},
		"a number": {act: of("sub", 1)}, "no name": {act: of("sub", "")},
		"nested only": {act: of("act", of("sub", "agent"))}, "an issuer": {act: of("iss", "i")},
		"an odd issuer": {act: of("sub", "agent", "iss", 1)}, "a list": {act: []any{of("sub", "agent")}},
	} {
		id, err := newProvider().source(t, issuer(func(*oidc.Issuer) {})).Verify(t.Context(),
			token("act", test.act))
		if refused := test.want == (access.Actor{}); refused != errors.Is(err,
			identity.ErrInvalidToken) ||
			id.Principal.Actor != test.want {
			t.Errorf("%s: %+v, %v", name, id.Principal, err)
		}
	}
}

func TestMembershipsAreRead(t *testing.T) {
	written := func(all []access.Membership) string {
		var each []string
		for _, m := range all {
			each = append(each, m.Name+" "+string(m.Standing))
		}
		return strings.Join(each, ", ")
	}
	for name, test := range map[string]struct {
		from  oidc.Memberships
		claim any
		want  string
	}{
		"a name": {oidc.Memberships{}, "acme", "acme member"},
		"names":  {oidc.Memberships{}, []string{"b", "a", "b"}, "b member, a member"},
		"objects": {oidc.Memberships{},
			[]any{map[string]any{"name": "a", "standing": "owner"}, map[string]any{"name": "b"}},
			"a owner, b member"},
		"the highest": {oidc.Memberships{},
			[]any{map[string]any{"name": "a", "standing": []string{"lead", "admin", "x"}}, "a"},
			"a admin"},
		"raised later": {oidc.Memberships{},
			[]any{"a", map[string]any{"name": "a", "standing": "lead"}}, "a lead"},
		"unknown standing": {oidc.Memberships{},
			[]any{map[string]any{"name": "a", "standing": "suspended"}, map[string]any{"name": "b",
				"standing": nil}, map[string]any{"name": "c", "standing": 1}}, ""},
		"standing's case": {oidc.Memberships{},
			[]any{map[string]any{"name": "a", "standing": "Owner"}}, ""},
		"an object of words": {oidc.Memberships{}, map[string]any{"b": "admin",
			"a": []string{"lead"}, "c": "x", "d": nil}, "a lead, b admin"},
		"an object of such": {oidc.Memberships{}, map[string]any{"a": map[string]any{"id": 1},
			"b": map[string]any{"standing": "lead"}}, "a member, b lead"},
		"paths": {oidc.Memberships{Name: "org.slug", Standing: "my.role"},
			[]any{map[string]any{"org": map[string]any{"slug": "a"},
				"my": map[string]any{"role": "lead"}},
				map[string]any{"org": map[string]any{"slug": "b"}, "my": map[string]any{}},
				map[string]any{"org": map[string]any{"slug": "c"}, "my": "suspended"}},
			"a lead, b member"},
		"mapped": {oidc.Memberships{Standings: map[string]access.Standing{"boss": access.Owner}},
			[]any{map[string]any{"name": "a", "standing": "boss"}, map[string]any{"name": "b",
				"standing": "owner"}}, "a owner"},
		"without a name": {oidc.Memberships{}, []any{map[string]any{"standing": "owner"},
			map[string]any{"name": 1}, "", 7, nil}, ""},
		"a number": {oidc.Memberships{}, 7, ""},
	} {
		test.from.Claim = "o"
		id := read(t, oidc.Claims{Orgs: test.from}, "o", test.claim)
		if written(id.Principal.Orgs) != test.want {
			t.Errorf("%s: %v", name, id.Principal.Orgs)
		}
		id = read(t, oidc.Claims{Teams: test.from}, "o", test.claim)
		if written(id.Principal.Teams) != test.want || id.Principal.Orgs != nil {
			t.Errorf("%s as teams: %v", name, id.Principal.Teams)
		}
	}
}

// Whatever a claim holds, what comes of it was written there as a string.
func TestClaimsNeverWiden(t *testing.T) {
	p := newProvider()
	naming := p.source(t, issuer(func(i *oidc.Issuer) { i.Claims.User = "c" }))
	clients := p.source(t, issuer(func(i *oidc.Issuer) { i.Claims.Client = "c" }))
	s := p.source(t, issuer(func(i *oidc.Issuer) {
		i.Claims = oidc.Claims{
			Roles: []string{"c"}, RoleNames: map[string]string{"a": "Admin"}, Groups: "c",
			Scopes: "c",
			Orgs:   oidc.Memberships{Claim: "c"}, Teams: oidc.Memberships{Claim: "c.c"},
		}
	}))
	word := rapid.SampledFrom([]string{"a", "b", "owner", "Admin", "", "a b"})
	leaf := rapid.OneOf(word.AsAny(), rapid.Bool().AsAny(), rapid.Int32().AsAny(),
		rapid.Just[any](nil))
	inner := rapid.OneOf(leaf, rapid.SliceOf(leaf).AsAny(),
		rapid.MapOf(rapid.SampledFrom([]string{"c", "name", "standing", "a"}), leaf).AsAny())
	value := rapid.OneOf(inner, rapid.SliceOf(inner).AsAny(),
		rapid.MapOf(rapid.SampledFrom([]string{"c", "name", "standing", "a"}), inner).AsAny())
	rapid.Check(t, func(t *rapid.T) {
		claim := value.Draw(t, "claim")
		saying := claims("sub", "a")
		saying["c"] = claim
		signed := signWith(edKey(), `{"alg":"EdDSA","kid":"ed"}`, encode(saying))
		id, err := s.Verify(t.Context(), signed)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := claim.(string)
		if named, err := naming.Verify(t.Context(), signed); named.Principal.User != text ||
			(text == "") != isInvalid(err) {
			t.Fatalf("the user %q of %v, %v", named.Principal.User, claim, err)
		}
		held := []any{claim}
		if list, ok := claim.([]any); ok {
			held = list
		}
		keys, _ := claim.(map[string]any)
		of, _ := keys["a"].(map[string]any)
		named := keys["a"] == true || len(of) > 0 || slices.Contains(held, any("a"))
		for _, role := range id.Principal.Roles {
			if role != "Admin" || !named {
				t.Fatalf("role %q of %v", role, claim)
			}
		}
		for _, group := range id.Principal.Groups {
			if group == "" || !slices.Contains(held, any(group)) {
				t.Fatalf("group %q of %v", group, claim)
			}
		}
		if id.Principal.User != "" {
			t.Fatalf("%+v of %v", id.Principal, claim)
		}
		_, isText := claim.(string)
		if id, err := clients.Verify(t.Context(), signed); id.Principal.Client != text ||
			id.ClientItself != (text == "a") || isInvalid(err) != (claim != nil && !isText) {
			t.Fatalf("the client %q of %v, %v", id.Principal.Client, claim, err)
		}
		for _, o := range append(id.Principal.Orgs, id.Principal.Teams...) {
			if o.Name == "" || !slices.Contains([]access.Standing{access.Owner, access.Member},
				o.Standing) {
				t.Fatalf("%+v of %v", o, claim)
			}
		}
	})
}
