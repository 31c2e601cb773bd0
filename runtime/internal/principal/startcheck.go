package principal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

const maxNamed = 10 // names in one error

type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

// CheckUnaware returns an error if a rule of the table needs a permission, which a server without a
// host does not enforce.
func CheckUnaware(table access.Table) error {
	rules := rulesOf(table, needsHost, access.Values, access.Fields)
	if len(rules) == 0 {
		return nil
	}
	needs := "needs"
	if len(rules) > 1 {
		needs = "need"
	}
	return fmt.Errorf("Options.Host.Source is nil, but %s %s a permission of the host: set it to "+
		"the adapter of the host, or set Options.Host.RecordOnly, which enforces none",
		list(rules), needs)
}

// CheckKnown returns an error for names and roles of an identity source that can be no caller's.
func CheckKnown(source identity.Source, table access.Table) error {
	var found problems
	if mapper, ok := source.(interface{ MappedRoles() []string }); ok {
		for _, role := range mapper.MappedRoles() {
			if err := checkRole(table, role); err != nil {
				found.add("Options.Identity: its role mapping results in %w", err)
			}
		}
	}
	if known, ok := source.(identity.PrincipalLister); ok {
		for _, p := range known.Principals() {
			if err := cmp.Or(CheckNames(p), CheckRoles(table, p)); err != nil {
				found.add("Options.Identity: principal %q: %w", p.Subject, err)
			}
		}
	}
	return errors.Join(found...)
}

// CheckNames returns an error for an issuer, subject, client or actor that is not UTF-8 or has a
// control character (C0, DEL, C1): logs, audit records and the console show these names.
func CheckNames(p access.Principal) error {
	for _, name := range [...]struct{ is, value string }{
		{"Issuer", p.Issuer}, {"Subject", p.Subject}, {"Client", p.Client},
		{"Actor.Issuer", p.Actor.Issuer}, {"Actor.Subject", p.Actor.Subject}} {
		if !utf8.ValidString(name.value) || strings.ContainsFunc(name.value, unicode.IsControl) {
			return fmt.Errorf("the principal's %s %.100q is not UTF-8 or has a control character: "+
				"rename it at its source", name.is, name.value)
		}
	}
	return nil
}

// CheckRoles returns an error for a role that the table's hierarchy does not have.
func CheckRoles(table access.Table, p access.Principal) error {
	for _, role := range p.Roles {
		if err := checkRole(table, role); err != nil {
			return fmt.Errorf("a role of the principal is %w", err)
		}
	}
	return nil
}

func checkRole(table access.Table, role string) error {
	if slices.Contains(table.Hierarchy(), role) {
		return nil
	}
	return fmt.Errorf("%q, which is not a role of %s: use one of them", role,
		roleorder.Text(table.Roles))
}

type ruleOf struct {
	kind access.Kind
	access.Rule
}

// rulesOf returns the rules of tools, prompts and resources, and of further kinds, that match.
func rulesOf(table access.Table, match func(access.Rule) bool, further ...access.Kind) []ruleOf {
	var all []ruleOf
	for _, k := range append(request.Kinds[:], further...) {
		for _, rule := range table.Of(k).Rules {
			if match(rule) {
				all = append(all, ruleOf{k, rule})
			}
		}
	}
	return all
}

func needsHost(rule access.Rule) bool { return rule.Permission.Required() }

func list(all []ruleOf) string {
	var words []string
	for _, r := range all[:min(len(all), maxNamed)] {
		words = append(words, fmt.Sprintf("%s %q", r.kind, r.Name()))
	}
	if len(all) > maxNamed {
		words = append(words, fmt.Sprintf("%d more", len(all)-maxNamed))
	}
	switch last := len(words) - 1; last {
	case -1:
		return "anything that is not public"
	case 0:
		return words[0]
	default:
		return strings.Join(words[:last], ", ") + " and " + words[last]
	}
}

func (h *Host) checkRules() error {
	undeclared := rulesOf(h.Table, func(rule access.Rule) bool {
		return !rule.Public && rule.Permission == access.Permission{}
	})
	if len(undeclared) == 0 {
		return nil
	}
	asks := "has neither a permission of the host nor action=none"
	where, rule := "it", "its rule"
	if len(undeclared) > 1 {
		asks = "have neither a permission of the host nor action=none"
		where, rule = "each", "their rules"
	}
	return fmt.Errorf("Options.Host.Source is set, and %s %s: write action= or object= on %s, "+
		"or action=none, and run go generate (in Adopt: set Permission in %s)",
		list(undeclared), asks, where, rule)
}

// actionForm is the form of action= in a directive.
var actionForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mapVerbs replaces the actions of CRUD verbs in the table by those of the adapter.
func (h *Host) mapVerbs(ctx context.Context) error {
	mapper, ok := h.Source.(capability.VerbMapper)
	if !ok {
		return nil
	}
	var found problems
	actions := map[string]string{} // by verb; empty for the table's own
	rules := rulesOf(h.Table, func(rule access.Rule) bool { return rule.Verb != "" }, access.Fields)
	for _, r := range rules {
		if _, mapped := actions[r.Verb]; mapped {
			continue
		}
		action, err := callHost(ctx, h, func() (string, error) {
			switch action, ok := mapper.MapVerb(r.Verb); {
			case !ok:
				return "", nil
			case !actionForm.MatchString(action) || action == access.NoPermission().Action:
				return "", fmt.Errorf("it returns %.100q, which is not an action: return letters, digits "+
					"and underscores, and not none", action)
			default:
				return action, nil
			}
		})
		if errors.Is(err, worker.ErrNoResponse) {
			return fmt.Errorf("Options.Host.Source: MapVerb of %q: %w", r.Verb, err)
		} else if err != nil {
			found.add("Options.Host.Source: MapVerb of %q, which %s: %w", r.Verb,
				requiredBy(rules, func(other ruleOf) bool { return other.Verb == r.Verb }), err)
		}
		actions[r.Verb] = action
	}
	h.Table = h.Table.Clone()
	for _, k := range append(request.Kinds[:], access.Values, access.Fields) {
		for i, rule := range h.Table.Of(k).Rules {
			if action := actions[rule.Verb]; action != "" {
				h.Table.Of(k).Rules[i].Permission.Action = action
			}
		}
	}
	return errors.Join(found...)
}

// loadNames translates the permissions of the table into the host's names.
func (h *Host) loadNames(ctx context.Context) error {
	var found problems
	rules := rulesOf(h.Table, needsHost, access.Fields)
	for _, r := range rules {
		p := r.Permission
		if _, loaded := h.native[p]; loaded {
			continue
		}
		name, err := callHost(ctx, h, func() (string, error) {
			if s, ok := h.Source.(interface {
				MapPermission(p access.Permission) (string, error)
			}); ok {
				return s.MapPermission(p)
			}
			return h.Source.MapAction(p.String())
		})
		if errors.Is(err, worker.ErrNoResponse) { // which is no error of the permission
			return fmt.Errorf("Options.Host.Source: MapAction of %s: %w", p, err)
		} else if err == nil && name == "" {
			err = errors.New("the adapter returns no name for it")
		}
		if err != nil {
			found.add("Options.Host.Source does not support permission %s, which %s: %w; correct "+
				"action=, object= or app=, and run go generate",
				p, requiredBy(rules, permission(p)), err)
		}
		h.native[p] = name
	}
	return errors.Join(found...)
}

// unknownNames returns an error for permissions that a host without them certainly refuses.
func (h *Host) unknownNames(known []string) error {
	var found problems
	rules := rulesOf(h.Table, needsHost, access.Fields)
	checked := map[access.Permission]bool{}
	for _, r := range rules {
		p, name := r.Permission, h.native[r.Permission]
		if name == "" || checked[p] || slices.Contains(known, name) {
			continue
		}
		checked[p] = true
		suggestion := ""
		// A third of the longer of action and object is a slip. With more, it is another action.
		if near := editdistance.Nearest(name, known,
			max(len(p.Action), len(p.Object))/3); near != "" {
			suggestion = fmt.Sprintf(" (did you mean %s?)", near)
		}
		found.add("Options.Host.Source: the host has no permission %s, "+
			"which %s%s: correct action=, object= or app= and run go generate, "+
			"or add the permission to the host", name, requiredBy(rules, permission(p)), suggestion)
	}
	return errors.Join(found...)
}

func permission(p access.Permission) func(ruleOf) bool {
	return func(r ruleOf) bool { return r.Permission == p }
}

func requiredBy(rules []ruleOf, match func(ruleOf) bool) string {
	some := slices.DeleteFunc(slices.Clone(rules), func(r ruleOf) bool { return !match(r) })
	if len(some) == 1 {
		return list(some) + " asks for"
	}
	return list(some) + " ask for"
}

// checkIdentity returns an error for settings by which no identity can be a user of the host.
func (h *Host) checkIdentity() error {
	var found problems
	_, isKnown := h.Identity.(identity.PrincipalLister)
	namer, isNamer := h.Identity.(identity.UserNamer)
	namesUsers := isKnown || isNamer && namer.NamesUsers() || len(h.ServiceUsers) > 0
	if h.Identity != nil && !namesUsers {
		found.add("Options.Host.Source is set, but neither Options.Identity nor "+
			"Options.Host.ServiceUsers provides a user of the host, so no caller could use %s. Set "+
			"access.Principal.User and declare it (identity.Bearer with identity.NamesUsers(), or the "+
			"source's setting for its user claim), or map clients in ServiceUsers",
			list(rulesOf(h.Table, needsHost)))
	}
	source, isIssued := h.Identity.(identity.IssuerLister)
	if !isIssued {
		return errors.Join(found...)
	}
	issuers := source.Issuers()
	for _, u := range h.ServiceUsers {
		if u.Issuer != "" && !slices.Contains(issuers, u.Issuer) {
			found.add("Options.Host.ServiceUsers: client %q has issuer %q, whose tokens Options.Identity "+
				"does not accept: use %s, or leave Issuer empty for any",
				u.Client, u.Issuer, strings.Join(issuers, " or "))
		}
	}
	return errors.Join(found...)
}
