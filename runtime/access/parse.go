package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// ParseRule returns the rule in a text, in the words of the directive //mcp:tool: public alone; or
// authenticated, minrole=Member, scopes=read,write and anyscope=repo,public_repo, of which all that
// is written must hold; and denial=conceal, forbid or challenge. minrole=Manager,Auditor holds for
// either role, scopes= for a token with all scopes, and anyscope= for a token with one of them.
// roles is the hierarchy, as in [Table]; nil is [DefaultRoles].
// The rule names no tool, and has no permission of a host.
func ParseRule(roles [][]string, text string) (Rule, error) {
	var r Rule
	var all, one []string
	t := Table{Roles: roles}
	words := strings.Fields(text)
	seen := map[string]bool{}
	bad := func(format string, args ...any) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %q: "+format, append([]any{text}, args...)...)
	}
	for _, word := range words {
		key, value, hasValue := strings.Cut(word, "=")
		if seen[key] {
			return bad("it has %s twice: remove one", key)
		}
		seen[key] = true
		switch {
		case word == "public":
			r.Public = true
		case word == "authenticated":
			r.Authenticated = true
		case key == "minrole" && hasValue:
			r.MinRole = strings.Split(value, ",")
			for _, role := range r.MinRole {
				if t.order().Bit(role) == 0 {
					return bad("unknown role %q: use one of %s", role, t.hierarchyText())
				}
			}
		case (key == "scopes" || key == "anyscope") && hasValue:
			scopes := strings.Split(value, ",")
			if slices.Contains(scopes, "") {
				return bad("it has a scope without a name: remove the comma")
			}
			if key == "scopes" {
				all = scopes
			} else {
				one = scopes
			}
		case key == "denial" && hasValue:
			for d := Conceal; d <= Challenge; d++ {
				if value == d.String() {
					r.Denial = d
				}
			}
			if r.Denial == DenialDefault {
				return bad("unknown denial mode %q: use conceal, forbid or challenge", value)
			}
		default:
			return bad("%q is not part of a rule: write public, or authenticated, minrole=ROLE, "+
				"scopes=A,B and anyscope=A,B, and denial=MODE", word)
		}
	}
	if r.Scopes = all; one != nil {
		alternatives, few := scopeorder.Order{}.Alternatives(all, one)
		if !few {
			return bad("it has more than %d alternatives of scopes: shorten anyscope=", scopeorder.Most)
		}
		r.Scopes, r.OrScopes = alternatives[0], alternatives[1:]
	}
	restricted := r.restricted()
	switch {
	case r.Public && restricted:
		return bad("public excludes the rest: remove one of them")
	case !r.Public && !restricted:
		return bad("it admits no caller: write public, authenticated, minrole=ROLE or scopes=A,B")
	}
	return r, nil
}

// ParseRules is [ParseRule] for many texts, by the names of their tools. The error has a line for
// each text that is no rule.
func ParseRules(roles [][]string, texts map[string]string) (map[string]Rule, error) {
	var errs []error
	rules := make(map[string]Rule, len(texts))
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		rule, err := ParseRule(roles, texts[name])
		if rules[name] = rule; err != nil {
			errs = append(errs, fmt.Errorf("%q: %w", name, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return rules, nil
}
