package oidc

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// roles returns the names of roles in a token. Another value counts for nothing, and the names
// beside it count: roles only add rights.
func (i *issuer) roles(c map[string]any) []string {
	m := i.settings.Claims
	var roles []string
	for _, path := range m.Roles {
		for _, name := range m.roleNames(at(c, path)) {
			role := name
			if m.RoleNames != nil {
				if role = m.RoleNames[name]; role == "" {
					i.noteUnmapped(path, name)
				}
			}
			if role != "" {
				roles = append(roles, role)
			}
		}
	}
	i.noteOverage(c)
	return roles
}

// roleNames returns the names in a claim of roles.
func (m Claims) roleNames(claim any) (names []string) {
	if m.RolesOrg != "" && !isObject(claim) {
		return nil // of any organization
	}
	switch v := claim.(type) {
	case string:
		names = []string{v}
		if m.RolesSeparator != "" {
			names = strings.Split(v, m.RolesSeparator)
		}
	case []any:
		for _, item := range v {
			name, _ := item.(string)
			names = append(names, name)
		}
	case map[string]any:
		if m.RoleNames == nil {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if m.counts(v[name]) {
				names = append(names, name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// counts reports whether a key of an object with this value names a role of the caller.
func (m Claims) counts(value any) bool {
	o, ok := value.(map[string]any)
	if m.RolesOrg == "" {
		return len(o) > 0 || value == true
	}
	of := o[m.RolesOrg] // the domain of the organization in tokens of Zitadel
	name, isText := of.(string)
	inner, _ := of.(map[string]any)
	return ok && (of == true || isText && name != "" || len(inner) > 0)
}

// readsRoles reports whether roleNames takes all of a claim's value.
func (m Claims) readsRoles(v any) bool {
	o, ok := v.(map[string]any)
	if !ok {
		texts, _ := list(v)
		return areTexts(v) && (m.RolesOrg == "" || len(texts) == 0)
	}
	return len(o) == 0 || m.RoleNames != nil && !slices.ContainsFunc(slices.Collect(maps.Values(o)),
		func(value any) bool {
			_, isBool := value.(bool)
			return !isObject(value) && !isBool
		})
}

func isObject(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

const (
	maxUnmapped     = 100 // lines about values without a mapping, for each issuer
	maxUnmappedText = 100 // bytes of a value
)

// unmapped counts the values of roles that have no mapping.
type unmapped struct {
	mu     sync.Mutex
	values map[string]bool // those that were logged
	count  int
}

// noteUnmapped counts a value of a claim that RoleNames does not have. It logs the first values,
// each once, and afterwards the count each time that it has doubled.
func (i *issuer) noteUnmapped(path, value string) {
	u := &i.unmapped
	u.mu.Lock()
	u.count++
	count, logs := u.count, len(u.values) < maxUnmapped && !u.values[value]
	if logs {
		if u.values == nil {
			u.values = map[string]bool{}
		}
		u.values[value] = true
	}
	doubled := len(u.values) == maxUnmapped && count&(count-1) == 0
	u.mu.Unlock()
	switch attrs := []any{"issuer", i.settings.URL, "claim", path, "count", count}; {
	case logs:
		i.log.Info("a value of a token's roles has no mapping: see oidc.Claims.RoleNames",
			append(attrs, "value", redact.Masker{}.TextWithin(value, maxUnmappedText))...)
	case doubled:
		i.log.Info("further values of tokens' roles have no mapping: see oidc.Claims.RoleNames",
			attrs...)
	}
}

// noteOverage logs, once for each issuer, that a token leaves out groups because its subject has
// too many: Microsoft Entra then sends hasgroups, or names the claim in _claim_names (OpenID
// Connect Core 1.0, section 5.6.2).
func (i *issuer) noteOverage(c map[string]any) {
	named, _ := c["_claim_names"].(map[string]any)
	m := i.settings.Claims
	for _, path := range append([]string{m.Groups}, m.Roles...) {
		if path == "" {
			continue
		}
		name := names(path)[0]
		_, sent := c[name]
		_, elsewhere := named[name]
		if sent || !elsewhere && !(c["hasgroups"] == true && name == "groups") {
			continue
		}
		if _, logged := i.unread.LoadOrStore("overage of "+name, true); !logged {
			i.log.Warn("a token leaves out a claim because its list is too long (_claim_names or "+
				"hasgroups), so its caller lacks rights: assign app roles, or send only the groups "+
				"that are assigned to the application", "issuer", i.settings.URL, "claim", name)
		}
	}
}
