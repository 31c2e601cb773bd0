package noninterference

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A plan describes two servers and the caller whose traffic is compared.
type plan struct {
	Package           int        // of packages, from 1 on; 0 for items that the plan makes
	Roles             [][]string // chains
	Denial            access.Denial
	Era               string
	Stdio, Adopted    bool
	Aware             bool // permissions of a host are enforced
	TTL               bool // and kept
	PageSize          int
	ReadOnly, Strict  bool
	Lenient, Records  bool
	Offers            bool // people can request a missing permission
	Instructed, Value bool
	Observed, Masked  bool
	Logged, Protected bool
	Slow              bool // the sink of the audit takes some seconds
	Bounded           bool // the caller's client has a boundary
	Keeps             bool // an interceptor keeps results of all callers
	Person            bool // the tool "base" has guarded fields

	Caller principal
	Fields []field
	Items  []item
}

// A principal is a caller. Its token is its subject. An anonymous one has none.
type principal struct {
	Subject string
	Roles   []string
	Scopes  []string
	Permits []string // permissions of the host
	Within  []string // the roles of its client's boundary; nil for all
}

func (p principal) anonymous() bool { return p.Subject == "" }

// hierarchy returns all roles of the plan.
func (p plan) hierarchy() []string { return access.Table{Roles: p.Roles}.Hierarchy() }

// holds reports whether a principal has one of the roles or a role above one of them, within the
// boundary of its client.
func (p plan) holds(of principal, roles ...string) bool {
	includes := func(held []string, role string) bool {
		return access.Table{Roles: p.Roles}.Holds(access.Principal{Subject: "x", Roles: held}, role)
	}
	return slices.ContainsFunc(roles, func(role string) bool {
		return includes(of.Roles, role) && (of.Within == nil || includes(of.Within, role))
	})
}

// lowered returns a principal with a lower role, or with lower roles in its client's boundary.
func (p plan) lowered(of principal, bounded bool) principal {
	switch {
	case !bounded || !p.Bounded || of.Within != nil && len(of.Within) == 0:
		of.Roles = p.lower(of.Roles)
	case of.Within == nil:
		of.Within = p.lower(p.Roles[0])
	default:
		of.Within = p.lower(of.Within)
	}
	return of
}

// lower returns the roles with the one below the last in its place, or without the last.
func (p plan) lower(roles []string) []string {
	last := len(roles) - 1
	for _, chain := range p.Roles {
		if i := slices.Index(chain, roles[last]); i > 0 {
			return append(roles[:last:last], chain[i-1])
		}
	}
	return append([]string{}, roles[:last]...)
}

// losesField reports whether the first principal sees a field that the second does not see.
func (p plan) losesField(from, to principal) bool {
	return slices.ContainsFunc(p.Fields, func(f field) bool {
		return !p.lost(f, from) && p.lost(f, to)
	})
}

// other is a caller with every permission.
func (p plan) other() principal {
	return principal{Subject: "other", Roles: p.hierarchy(),
		Scopes:  append([]string{secretScope}, scopes...),
		Permits: append([]string{secretPermit}, permits...)}
}

// An item is one name of a server. A hidden one has a form for each server, and nil is none.
type item struct {
	Kind   access.Kind
	Name   string // or URI, or template
	Hidden bool
	Forms  [2]*form
}

// A form is what a server serves under a name.
type form struct {
	Rule        access.Rule
	Description string
	Schema      int // of schemas
	Behaviour   string
	Task        toolset.Task
	ReadOnly    bool
	Alias, Rich bool // rich forms have a title, icons, _meta and annotations
	App, Grants bool // the tool has an MCP App, or needs a grant on its argument
	Output      bool
	Catalog     bool
	Value       *access.Rule // the rule of the value "purge" of the argument "verb", or nil
	Lacks       bool         // it has no value "purge"
	Closed      bool         // all values have that rule
	Shared      bool         // its app is that of the tool "base"
	Outside     bool         // the boundary of the caller's client excludes it
	Takes       bool         // its arguments have guarded fields
	Gives       string       // the form of its result with guarded fields; empty for none
	Limited     bool         // some of these results are too long with hidden fields
}

var (
	scopes  = []string{"a:read", "a:write"}
	permits = []string{"dcim.view_device", "dcim.change_device"}
	schemas = []string{
		`{"type":"object"}`,
		`{"type":"object","properties":{"at":{"type":"string","x-mcp-header":"At"}}}`,
		`{"type":"object","properties":{"at":{"type":"string","default":"x","examples":["y"]}},` +
			`"additionalProperties":false}`,
		`{"type":"object","properties":{"at":{"type":"integer","enum":[1,2,3]}},"required":["at"]}`,
	}
	behaviours = []string{"text", "fail", "panic", "ask", "sample", "roots", "log", "progress", "wait",
		"sleep", "long"}
	eras = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", stateless, stateless,
		stateless}
	ownNames = map[access.Kind][]string{
		access.Tools:   {"get_a", "get_b", "get_c", "get_d"},
		access.Prompts: {"ask_a", "ask_b", "ask_c"},
		access.Resources: {"doc://7", "doc://b", "doc://{id}", "rows://a/{id}", "rows://b/{id}",
			"rows://{table}/{id}"},
	}
)

// stateless is the version without sessions.
const stateless = "2026-07-28"

// permitted is the kind of the permission that tools with grants need.
const permitted = "queue.push"

// A permission and a scope that the caller never has.
const (
	secretScope  = "vault:open"
	secretPermit = "vault.view_safe"
)

// uri returns the URI of a resource, or one that matches a template.
func uri(name string) string {
	return variable.ReplaceAllString(strings.ReplaceAll(name, "{table}", "a"), "7")
}

// matches reports whether a URI means a resource or a template.
func matches(template, uri string) bool {
	parts := variable.Split(template, -1)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".+") + "$").MatchString(uri)
}

var variable = regexp.MustCompile(`{[^}]*}`)

// names are the names of the items that a plan may have, in the plan's package or without one.
func (p plan) names(kind access.Kind) (names []string) {
	if p.Package == 0 {
		return ownNames[kind]
	}
	for _, i := range p.Items {
		if i.Kind == kind {
			names = append(names, i.Name)
		}
	}
	return names
}

func pick[T any](t *rapid.T, label string, from ...T) T {
	return rapid.SampledFrom(from).Draw(t, label)
}

func flip(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }

// permission is the one of the host that has a name such as "dcim.view_device".
func permission(name string) access.Permission {
	app, rest, _ := strings.Cut(name, ".")
	action, object, _ := strings.Cut(rest, "_")
	return access.Permission{App: app, Action: action, Object: object}
}

// drawRoles draws a chain, and sometimes roles beside it.
func drawRoles(t *rapid.T) [][]string {
	main := access.DefaultRoles()[0][:rapid.IntRange(1, 4).Draw(t, "roles")]
	roles := [][]string{main}
	switch highest := main[len(main)-1]; pick(t, "beside", "none", "alone", "below") {
	case "alone":
		roles = append(roles, []string{"Auditor"}, []string{"Support"})
	case "below":
		if roles = append(roles, []string{"Auditor", "Support"}); len(main) > 1 {
			roles = append(roles, []string{"Support", highest})
		}
	}
	return roles
}

// drawSome draws one or two of the names.
func drawSome(t *rapid.T, label string, names []string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, min(2, len(names)),
		rapid.ID[string]).Draw(t, label)
}

func drawPlan(t *rapid.T) plan {
	p := plan{
		Roles: drawRoles(t),
		Denial: pick(t, "denial", access.Conceal, access.Conceal, access.Forbid,
			access.Challenge),
		Era:      pick(t, "era", eras...),
		Stdio:    pick(t, "stdio", false, false, true),
		Adopted:  pick(t, "adopted", false, false, true),
		Aware:    flip(t, "aware"),
		PageSize: pick(t, "page size", 1000, 1, 2),
		ReadOnly: rapid.IntRange(0, 7).Draw(t, "read only") == 7,
		Strict:   flip(t, "strict"), Lenient: flip(t, "lenient"), Records: flip(t, "records"),
		Offers:     flip(t, "offers"),
		Instructed: flip(t, "instructed"), Value: flip(t, "value"),
		Observed: flip(t, "observed"), Masked: flip(t, "masked"), Logged: flip(t, "logged"),
		Protected: flip(t, "protected"),
	}
	if len(packages) > 0 {
		p.drawPackage(t)
	}
	p.TTL = p.Aware && flip(t, "ttl")
	p.Slow = p.Records && flip(t, "slow")
	if p.Adopted { // go-sdk's tools have no permissions
		p.Aware, p.TTL = false, false
	}
	if !pick(t, "anonymous", false, false, true) {
		p.Caller = principal{Subject: "vera"}
		if flip(t, "has roles") {
			p.Caller.Roles = drawSome(t, "role", p.hierarchy())
		}
		for _, s := range scopes {
			if flip(t, s) {
				p.Caller.Scopes = append(p.Caller.Scopes, s)
			}
		}
		for _, s := range permits {
			if flip(t, s) {
				p.Caller.Permits = append(p.Caller.Permits, s)
			}
		}
	}
	if p.Package > 0 {
		p.drawItems(t)
		return p
	}
	p.Bounded = !p.Caller.anonymous() && flip(t, "bounded")
	if p.Bounded && len(p.Caller.Roles) > 0 && flip(t, "bounded roles") {
		p.Caller.Within = drawSome(t, "role within", p.hierarchy())
	}
	if flip(t, "fields") {
		p.Fields = p.drawFields(t)
		p.Person, p.Keeps = flip(t, "fields of base"), rapid.IntRange(0, 5).Draw(t, "keeps") == 5
	}
	for _, kind := range []access.Kind{access.Tools, access.Prompts, access.Resources} {
		for _, name := range ownNames[kind] {
			switch pick(t, name, "absent", "hidden", "shown") {
			case "hidden":
				i := item{Kind: kind, Name: name, Hidden: true}
				i.Forms = p.drawForms(t, i)
				p.Items = append(p.Items, i)
			case "shown":
				i := item{Kind: kind, Name: name}
				f := p.drawForm(t, i)
				i.Forms = [2]*form{f, f}
				if f.Value != nil && flip(t, "hidden value") {
					lacks := *f
					lacks.Lacks = true
					i.Forms[1] = &lacks
				}
				p.Items = append(p.Items, i)
			}
		}
	}
	p.equalRules()
	return p
}

// equalRules gives resources outside of the boundary the rules of those inside that match a URI of
// them: others do not start.
func (p plan) equalRules() {
	for _, i := range p.Items {
		for _, other := range p.Items {
			if !i.outside() || other.outside() || !i.overlaps(other) {
				continue
			}
			for w, f := range i.Forms {
				if of := cmp.Or(other.Forms[w], other.Forms[1-w]); f != nil {
					f.Rule = of.Rule
					f.Rule.Resource = i.Name
				}
			}
		}
	}
}

func (i item) outside() bool {
	return slices.ContainsFunc(i.Forms[:], func(f *form) bool { return f != nil && f.Outside })
}

// people are the tools whose arguments or results have guarded fields.
func (p plan) people() (names []string) {
	if p.Person {
		names = append(names, "base")
	}
	for _, i := range p.Items {
		if f := cmp.Or(i.Forms[0], i.Forms[1]); f.person() && !p.own(i) {
			names = append(names, i.Name)
		}
	}
	return names
}

// person reports whether the arguments or the result have guarded fields.
func (f *form) person() bool { return f.Takes || f.Gives != "" }

// overlaps reports whether one URI may mean two resources.
func (i item) overlaps(other item) bool {
	return i.Kind == access.Resources && other.Kind == i.Kind &&
		(matches(i.Name, uri(other.Name)) || matches(other.Name, uri(i.Name)))
}

// shadowsOutside reports whether an adopted server has a resource outside of the boundary and one
// inside that match the same URI: the server itself chooses between them.
func (p plan) shadowsOutside() bool {
	for _, i := range p.Items {
		for _, other := range p.Items {
			if p.own(i) && p.own(other) && i.outside() && !other.outside() && i.overlaps(other) {
				return true
			}
		}
	}
	return false
}

// drawForms draws the forms of a hidden item. At least one server has the item.
func (p plan) drawForms(t *rapid.T, i item) (forms [2]*form) {
	which := pick(t, "servers", 1, 2, 3)
	for w := range forms {
		if which&(w+1) != 0 {
			forms[w] = p.drawForm(t, i)
		}
	}
	return forms
}

func (p plan) drawForm(t *rapid.T, i item) *form {
	f := &form{Description: pick(t, "description", "", "It gets.", strings.Repeat("Long. ", 50)),
		Behaviour: pick(t, "behaviour", behaviours...), Rich: flip(t, "rich"),
		ReadOnly: flip(t, "readonly")}
	if i.Kind == access.Tools {
		f.Schema = rapid.IntRange(0, len(schemas)-1).Draw(t, "schema")
		f.Task = pick(t, "task", "", toolset.TaskOptional, toolset.TaskRequired)
		f.Alias, f.Output, f.Catalog = flip(t, "alias"), flip(t, "output"), flip(t, "in catalog")
		f.App, f.Grants = flip(t, "app"), f.Schema > 0 && f.Schema < 3 && flip(t, "grants")
		if len(p.Fields) > 0 && flip(t, "person") {
			f.Takes, f.Gives, f.Grants = flip(t, "takes"), pick(t, "gives", gives...), false
			f.Limited = flip(t, "limited") && !p.Keeps // the result may be that of another caller
		}
	}
	if i.Hidden {
		if i.Kind == access.Tools {
			f.Rule.Tool = i.Name
		}
		f.Rule = p.drawHiding(t, f)
	} else {
		f.Rule = p.drawRule(t)
		if i.Kind == access.Tools && !f.Rule.Public && !p.Adopted && !f.person() &&
			flip(t, "value rule") {
			f.Value = p.stricter(f.Rule)
		}
	}
	switch i.Kind {
	case access.Tools:
		f.Rule.Tool = i.Name
	case access.Prompts:
		f.Rule.Prompt = i.Name
	case access.Resources:
		f.Rule.Resource = i.Name
	}
	if f.Value != nil {
		f.Value.Tool, f.Value.Argument, f.Value.Value = i.Name, "verb", "purge"
	}
	return f
}

// drawRule draws any rule. The caller may be admitted or not: both servers have the item.
func (p plan) drawRule(t *rapid.T) access.Rule {
	var r access.Rule
	if flip(t, "public") {
		return access.Rule{Public: true}
	}
	r.Denial = pick(t, "denial", access.DenialDefault, access.DenialDefault, access.Conceal,
		access.Forbid, access.Challenge)
	r.Authenticated = true
	// A caller often has just the role that it needs.
	own, all := p.Caller.Roles, p.hierarchy()
	if roles := pick(t, "minrole", nil, own, own, all[:1], drawSome(t, "roles", all)); len(roles) > 0 {
		r.Authenticated, r.MinRole = false, roles
	}
	if flip(t, "scoped") {
		r.Authenticated, r.Scopes = false, []string{pick(t, "scope", scopes...)}
		if other := pick(t, "other scope", scopes...); other != r.Scopes[0] {
			r.OrScopes = [][]string{{other}}
		}
	}
	if r.Denial == access.Challenge && r.Scopes == nil {
		r.Denial = access.Conceal
	}
	if p.Aware {
		r.Permission = access.NoPermission()
		if flip(t, "permission") {
			r.Permission = permission(pick(t, "permission of the host", permits...))
		}
	}
	return r
}

// drawHiding draws a rule that conceals from the caller, whatever happens.
func (p plan) drawHiding(t *rapid.T, f *form) access.Rule {
	r := p.drawRule(t)
	r.Public = false
	ways := []string{"scope"}
	lacking := p.lacking()
	if len(lacking) > 0 {
		ways = append(ways, "role")
	}
	if p.Aware {
		ways = append(ways, "permission")
		if r.Permission == (access.Permission{}) {
			r.Permission = access.NoPermission()
		}
	}
	if p.Caller.anonymous() {
		ways = append(ways, "identity")
	}
	if f.Rule.Tool != "" && !p.Adopted && p.Package == 0 && !f.person() {
		ways = append(ways, "values")
	}
	if p.Bounded {
		ways = append(ways, "boundary", "boundary")
	}
	way := pick(t, "way", ways...)
	// What is outside a boundary is concealed in every denial mode.
	if way == "boundary" {
		f.Outside = true
		return r
	}
	// A caller who lacks scopes alone is listed a challenged item.
	switch p.denial(r) {
	case access.Forbid:
		r.Denial = access.Conceal
	case access.Challenge:
		if way == "scope" || way == "identity" {
			r.Denial = access.Conceal
		}
	}
	switch way {
	case "scope":
		r = withSecretScope(r)
		r.Authenticated = false
	case "role":
		r.Authenticated = false
		r.MinRole = drawSome(t, "lacking", lacking)
	case "permission":
		r.Permission = permission(secretPermit)
	case "values":
		if r.Denial = access.Conceal; p.Denial == access.Conceal && flip(t, "public") {
			r = access.Rule{Public: true}
			f.Shared = f.App
		}
		f.Value, f.Closed = p.stricter(r), true
	case "identity":
		r.Authenticated = len(r.MinRole) == 0 && len(r.Scopes) == 0
	}
	return r
}

func (p plan) denial(r access.Rule) access.Denial {
	if r.Denial == access.DenialDefault {
		return p.Denial
	}
	return r.Denial
}

// withSecretScope returns a rule of which each alternative needs the secret scope.
func withSecretScope(r access.Rule) access.Rule {
	r = r.Clone()
	r.Scopes = append(r.Scopes, secretScope)
	for i := range r.OrScopes {
		r.OrScopes[i] = append(r.OrScopes[i], secretScope)
	}
	return r
}

// stricter is the rule of a value that the caller may not send.
func (p plan) stricter(r access.Rule) *access.Rule {
	r.Public, r.Authenticated, r.Denial = false, false, access.DenialDefault
	r = withSecretScope(r)
	if p.Aware && r.Permission == (access.Permission{}) {
		r.Permission = access.NoPermission()
	}
	return &r
}

// admits reports whether a rule admits a principal, as its parts state.
func (p plan) admits(r access.Rule, to principal) bool {
	if r.Public {
		return true
	}
	if len(r.Scopes) > 0 && !slices.ContainsFunc(r.Alternatives(), func(alternative []string) bool {
		return !slices.ContainsFunc(alternative, func(s string) bool {
			return !slices.Contains(to.Scopes, s)
		})
	}) {
		return false
	}
	if p.Aware && r.Permission != access.NoPermission() &&
		!slices.Contains(to.Permits, r.Permission.String()) {
		return false
	}
	return !to.anonymous() && (len(r.MinRole) == 0 || p.holds(to, r.MinRole...))
}

// secret reports whether an item is concealed from a principal in both servers.
func (p plan) secret(i item, from principal) bool {
	if i.Hidden {
		return true
	}
	f := i.Forms[0]
	return !p.admits(f.Rule, from) && p.denial(f.Rule) == access.Conceal
}

// String writes the plan as the section "server" of a scenario.
func (p plan) String() string {
	var b strings.Builder
	transport := map[bool]string{false: "http", true: "stdio"}[p.Stdio]
	fmt.Fprintf(&b, "versions: %s\ntransports: %s\nroles: %s\n", p.Era, transport,
		roleorder.Text(p.Roles))
	fmt.Fprintf(&b, "Denial: %s\nPageSize: %d\n", p.Denial, p.PageSize)
	for _, option := range []struct {
		name string
		set  bool
	}{{"Adopt", p.Adopted}, {"PermissionAware", p.Aware}, {"CapabilityTTL", p.TTL},
		{"ReadOnly", p.ReadOnly}, {"CatalogStrict", p.Strict}, {"LenientArguments", p.Lenient},
		{"Audit", p.Records},
		{"OfferRequests", p.Offers}, {"InstructionsFor", p.Instructed}, {"identity.Value", p.Value},
		{"Observer", p.Observed}, {"Masker", p.Masked}, {"Logger", p.Logged},
		{"identity.Resource", p.Protected},
		{"Audit of 7 s", p.Slow}, {"Boundaries", p.Bounded},
		{"Interceptors", p.Keeps}, {"base has fields", p.Person}} {
		if option.set {
			fmt.Fprintf(&b, "%s: true\n", option.name)
		}
	}
	if p.Package > 0 {
		fmt.Fprintf(&b, "package: %s\n", packages[p.Package-1]().Generated().Package)
	}
	caller := "anonymous"
	if !p.Caller.anonymous() {
		caller = fmt.Sprintf("roles %q, scopes %q, permissions %q", p.Caller.Roles, p.Caller.Scopes,
			p.Caller.Permits)
		if p.Caller.Within != nil {
			caller += fmt.Sprintf(", within the roles %q", p.Caller.Within)
		}
	}
	fmt.Fprintf(&b, "caller: %s\n", caller)
	for _, f := range p.Fields {
		server := ""
		if f.Hidden {
			server = "[server 1] "
		}
		fmt.Fprintf(&b, "%sfield %s: %s\n", server, f.Name, &form{Rule: f.Rule})
	}
	for _, i := range p.Items {
		switch f := i.Forms; {
		case !i.Hidden && f[0] == f[1]:
			fmt.Fprintf(&b, "%s %s: %s\n", i.Kind, i.Name, f[0])
		default:
			for w := range f {
				if f[w] != nil {
					fmt.Fprintf(&b, "[server %d] %s %s: %s\n", w+1, i.Kind, i.Name, f[w])
				}
			}
		}
	}
	return b.String()
}

// String writes a form as a directive, and what else it has.
func (f *form) String() string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	r := f.Rule
	add(r.Public, "public")
	add(r.Authenticated, "authenticated")
	add(len(r.MinRole) > 0, "minrole=%s", strings.Join(r.MinRole, ","))
	add(r.Scopes != nil, "scopes=%s %q", strings.Join(r.Scopes, ","), r.OrScopes)
	add(r.Permission != access.Permission{}, "action=%s", r.Permission)
	add(r.Denial != 0, "denial=%s", r.Denial)
	add(f.Value != nil && !f.Lacks, "verb=purge scopes=%s", secretScope)
	add(f.Lacks, "(without verb=purge)")
	add(f.Closed, "verb=list scopes=%s", secretScope)
	add(f.Shared, "(app of base)")
	add(f.Task != "", "task=%s", f.Task)
	add(f.ReadOnly, "readonly")
	add(f.Alias, "alias")
	add(f.Catalog, "catalog")
	add(f.Rich, "title")
	add(f.App, "ui")
	add(f.Grants, "allow=%s:at", permitted)
	add(f.Output, "output")
	add(f.Takes, "takes fields")
	add(f.Gives != "", "gives fields=%s", f.Gives)
	add(f.Limited, "limit output")
	add(f.Schema > 0, "schema=%d", f.Schema)
	add(f.Description != "", "%.9q", f.Description)
	return strings.Join(append(parts, f.Behaviour), " ")
}
