package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// startTimeouts is how many times Options.CapabilityTimeout the host may take at start.
const startTimeouts = 4

// checkCapabilities refuses settings of permission-aware discovery that do not go together.
func (o Options) checkCapabilities() []error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case isNil(o.Capabilities) && o.Capabilities != nil:
		bad("Options.Capabilities is a nil %T: pass an adapter that works, or leave the option out", o.Capabilities)
	case o.Capabilities != nil && !o.PermissionAware:
		bad("Options.Capabilities is set and Options.PermissionAware is not, so that no permission would be asked for: set PermissionAware, or leave Capabilities out")
	}
	if len(o.ServiceUsers) > 0 && !o.PermissionAware {
		bad("Options.ServiceUsers is set and Options.PermissionAware is not, so that no user would be asked about: set PermissionAware, or leave ServiceUsers out")
	}
	seen := map[client]bool{}
	for i, u := range o.ServiceUsers {
		key := client{u.Client, u.Issuer}
		switch {
		case u.Client == "" || u.User == "":
			bad("Options.ServiceUsers[%d] has no Client or no User: name both, or remove it", i)
		case seen[key]:
			of := "any issuer"
			if u.Issuer != "" {
				of = fmt.Sprintf("issuer %q", u.Issuer)
			}
			bad("Options.ServiceUsers names client %q of %s twice: remove one", u.Client, of)
		}
		seen[key] = true
	}
	return errs
}

// errNoAdapter refuses to enforce permissions that nobody is there to be asked for.
func errNoAdapter(table access.Table) error {
	return fmt.Errorf("Options.PermissionAware is set and Options.Capabilities is not, so that nobody could see %s: set Capabilities to the adapter of the host, or leave PermissionAware out",
		names(askers(table)))
}

// asker is something that asks the host for a permission.
type asker struct {
	kind access.Kind
	rule access.Rule
}

func askers(table access.Table) []asker {
	var all []asker
	for _, k := range kinds {
		for _, rule := range table.Of(k).Rules {
			if rule.Permission.Asked() {
				all = append(all, asker{k, rule})
			}
		}
	}
	return all
}

// maxNamed bounds what one message names.
const maxNamed = 10

// names lists things in a message.
func names(all []asker) string {
	var words []string
	for i, a := range all {
		if i == maxNamed {
			words = append(words, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		words = append(words, fmt.Sprintf("%s %q", a.kind, a.rule.Name()))
	}
	switch n := len(words); n {
	case 0:
		return "anything that is not public"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}

// checkParts refuses rules that do not say what they ask the host for.
func (h *host) checkParts() error {
	var silent []asker
	for _, k := range kinds {
		for _, rule := range h.table.Of(k).Rules {
			if !rule.Public && (rule.Permission == access.Permission{}) {
				silent = append(silent, asker{k, rule})
			}
		}
	}
	if len(silent) == 0 {
		return nil
	}
	if len(silent) == 1 {
		return fmt.Errorf("Options.PermissionAware is set, and %s neither asks the host for a permission nor says that it asks for none: write action= or object= on it, or action=none, and run go generate (in Adopt: set Permission in its rule)",
			names(silent))
	}
	return fmt.Errorf("Options.PermissionAware is set, and %s neither ask the host for a permission nor say that they ask for none: write action= or object= on each, or action=none, and run go generate (in Adopt: set Permission in their rules)",
		names(silent))
}

// spell has the host spell every permission, and looks for those that it does not have.
func (h *host) spell(ctx context.Context) error {
	var errs []error
	all := askers(h.table)
	for _, a := range all {
		p := a.rule.Permission
		if _, done := h.spelt[p]; done {
			continue
		}
		spelt, err := supervised(ctx, h.masker, func() (string, error) { return spelling(h.source, p) })
		if errors.Is(err, errNoAnswer) {
			return unread(err) // which says nothing about the permission
		}
		if err == nil && spelt == "" {
			err = errors.New("it is spelt as nothing")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("Options.Capabilities cannot have permission %s, which %s: %w; correct action= or object=, and run go generate",
				p, ask(of(all, p)), err))
		}
		h.spelt[p] = spelt
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	enumerator, ok := h.source.(capability.Enumerator)
	if !ok {
		return nil
	}
	actions, err := supervised(ctx, h.masker, func() ([]string, error) { return enumerator.Actions(ctx) })
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return unread(err)
	}
	known := map[string]bool{}
	for _, action := range actions {
		known[action] = true
	}
	told := map[access.Permission]bool{}
	for _, a := range all {
		p := a.rule.Permission
		if known[h.spelt[p]] || told[p] {
			continue
		}
		told[p] = true
		suggestion := ""
		if near := nearest(h.spelt[p], actions, max(len(p.Action), len(p.Object))/3); near != "" {
			suggestion = fmt.Sprintf(" (did you mean %s?)", near)
		}
		errs = append(errs, fmt.Errorf("Options.Capabilities: the host has no permission %s, which %s%s: correct action=, object= or app= and run go generate, or add the permission to the host",
			h.spelt[p], ask(of(all, p)), suggestion))
	}
	return errors.Join(errs...)
}

// spelling is how a host spells a permission: by its parts, where it asks for them.
func spelling(source capability.Source, p access.Permission) (string, error) {
	if s, ok := source.(capability.PartSpeller); ok {
		return s.MapPermission(p)
	}
	return source.MapAction(p.String())
}

func of(all []asker, p access.Permission) []asker {
	var some []asker
	for _, a := range all {
		if a.rule.Permission == p {
			some = append(some, a)
		}
	}
	return some
}

// ask is who asks, with the verb.
func ask(all []asker) string {
	if len(all) == 1 {
		return names(all) + " asks for"
	}
	return names(all) + " ask for"
}

// unread says that the host's permissions could not be read.
func unread(err error) error {
	return fmt.Errorf("Options.Capabilities cannot say which permissions the host has: %w; %s", err, unasked(err))
}

// unasked is the cure where a host could not be asked.
func unasked(err error) string {
	if errors.Is(err, errNoAnswer) {
		return "make it reachable before the server starts"
	}
	return "check that it can be reached, that it is the host's database, and that the account may read it"
}

// nearest is the one of some names that a misspelt one was meant for, or "": at most so many letters differ.
// A third of the longer one of action and object is a slip; more, and it is another action on the same objects.
func nearest(name string, names []string, most int) string {
	best, found := most+1, ""
	for _, candidate := range names {
		if d := distance(name, candidate, best); d < best || d == best && found != "" && candidate < found {
			best, found = d, candidate
		}
	}
	return found
}

// distance is how many letters of a have to be added, removed or replaced to make b of it, or
// anything above limit where it is more than that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// checkIdentity refuses identities that could never be users of the host.
func (h *host) checkIdentity(ctx context.Context, opts Options) error {
	var errs []error
	known, isKnown := opts.Identity.(identity.Known)
	namer, isNamer := opts.Identity.(identity.UserNamer)
	if opts.Identity != nil && !isKnown && (!isNamer || !namer.NamesUsers()) && len(opts.ServiceUsers) == 0 {
		errs = append(errs, fmt.Errorf("Options.PermissionAware is set, and neither Options.Identity nor Options.ServiceUsers names a user of the host, so that nobody could see %s: fill access.Principal.User and say so (identity.Bearer with identity.NamesUsers(), or the source's setting for its user claim), or map clients in ServiceUsers",
			names(askers(h.table))))
	}
	if isKnown {
		for _, p := range known.Principals() {
			if err := h.resolve(ctx, p); err != nil {
				errs = append(errs, fmt.Errorf("Options.Identity: principal %q: %w", p.Subject, err))
			}
		}
	}
	if source, ok := opts.Identity.(identity.Issued); ok {
		issuers := source.Issuers()
		for _, u := range opts.ServiceUsers {
			if u.Issuer != "" && !slices.Contains(issuers, u.Issuer) {
				errs = append(errs, fmt.Errorf("Options.ServiceUsers: client %q is of issuer %q, whose tokens Options.Identity does not take: use %s, or leave Issuer out for any",
					u.Client, u.Issuer, strings.Join(issuers, " or ")))
			}
		}
	}
	for _, u := range opts.ServiceUsers {
		p := access.Principal{Issuer: u.Issuer, Subject: u.Client, Client: u.Client, User: u.User}
		if err := h.resolve(ctx, p); err != nil {
			errs = append(errs, fmt.Errorf("Options.ServiceUsers: client %q: %w", u.Client, err))
		}
	}
	return errors.Join(errs...)
}

// resolve looks for the user of an identity that is known beforehand.
func (h *host) resolve(ctx context.Context, p access.Principal) error {
	itself := identity.OfClientItself(p)
	p = h.named(p, itself)
	_, err := supervised(ctx, h.masker, func() (capability.User, error) { return h.source.Resolve(ctx, p) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, capability.ErrNoUser):
		return h.noUserError(p, itself, err)
	}
	return fmt.Errorf("the host could not say whether it has user %q: %w; %s", p.User, err, unasked(err))
}
