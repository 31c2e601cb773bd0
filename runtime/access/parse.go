package access

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParseRule returns the rule in a text, in the words of the directive //mcp:tool: public alone; or
// authenticated, minrole=Member and scopes=read,write, of which all that is written must hold; and
// denial=conceal, forbid or challenge. minrole=Manager,Auditor holds for either role. roles is the
// hierarchy, as in [Table]; nil is [DefaultRoles].
// The rule names no tool, and has no permission of a host.
func ParseRule(roles [][]string, text string) (Rule, error) {
	var r Rule
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
		case key == "scopes" && hasValue:
			if r.Scopes = strings.Split(value, ","); slices.Contains(r.Scopes, "") {
				return bad("it has a scope without a name: remove the comma")
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
			return bad("%q is not part of a rule: write public, or authenticated, minrole=ROLE and "+
				"scopes=A,B, and denial=MODE", word)
		}
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
