package identity

import "strings"

// tokenShown stands in claims for a text that held the token. All of it goes: what is left of one
// could be no less secret, and would look less like it.
const tokenShown = "(the token)"

// withoutToken returns claims that do not contain the token: some authorization servers repeat it
// in introspection responses, as its id or as a member of their own. Claims may be shared, and are
// copied if they contain it.
func withoutToken(claims map[string]any, token string) map[string]any {
	if !holds(claims, token) {
		return claims
	}
	return replaced(claims, token).(map[string]any)
}

// holds reports whether a value of JSON has a string in it that holds the token. It runs for each
// request, and costs little where no string is as long.
func holds(v any, token string) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, token)
	case map[string]any:
		for name, member := range v {
			if strings.Contains(name, token) || holds(member, token) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if holds(item, token) {
				return true
			}
		}
	case []string:
		for _, item := range v {
			if strings.Contains(item, token) {
				return true
			}
		}
	}
	return false
}

// replaced is a copy of a value without the token.
func replaced(v any, token string) any {
	switch v := v.(type) {
	case string:
		return replacedText(v, token)
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[replacedText(name, token)] = replaced(member, token)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = replaced(item, token)
		}
		return all
	case []string:
		all := make([]string, len(v))
		for i, item := range v {
			all[i] = replacedText(item, token)
		}
		return all
	}
	return v
}

func replacedText(s, token string) string {
	if strings.Contains(s, token) {
		return tokenShown
	}
	return s
}
