package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Adopt puts the guard around an existing go-sdk server, and adds toolsets to it. Its errors are
// like those of [New]. Connect the server to transports only through the returned [Server].
//
// rules has the rule of each of the server's own tools, prompts and resources:
//
//   - The key is the name of a tool, and Tool may stay empty. With Prompt or Resource, a rule is
//     that of this prompt, or of the resource or template with this URI, whatever the key.
//   - MinRole names roles of the toolsets' hierarchy, or else of access.DefaultRoles.
//     [access.ParseRules] reads rules from texts, and [RulesByHint] makes them of the tools' hints.
//   - A rule of what the server does not list is an error, unless Options.Adopt.Conditional has its
//     key. If a toolset has it as well, Options.Adopt.Replace is the cure.
//   - A list contains what the server lists to this client now. If the server declares listChanged,
//     clients are notified of changes of what they see, and of nothing else.
//   - A completion has the rule of its reference. Custom methods are refused.
//   - Without a rule, a tool, prompt or resource is refused, also if it is added later.
//   - A resource or template that is added later, and answers a URI in place of another, needs a
//     rule of its own.
//   - If a URI matches several resources, an exact one comes first, then a template of a toolset,
//     then the first of the server's own templates in the order of their text, as in go-sdk. They
//     need equal rules: a hidden one would conceal the others. A template matches no URI of more
//     than 8000 bytes.
//
// Your program keeps control of the server, so there are limits:
//
//   - Middleware that is added after Adopt runs behind the guard, and gets an empty result. If it
//     panics, the process ends: go-sdk calls it without recover.
//   - A tool that is replaced later runs once it is allowed; one of a toolset cannot be replaced.
//   - A tool counts as readonly by the readOnlyHint that it has when Adopt is called.
//   - Clients subscribe to its resources by its SubscribeHandler and UnsubscribeHandler. Its
//     ResourceUpdated notifies the subscribers that may read the resource, of this process only;
//     [Server.ResourceUpdated] notifies those of every replica.
//   - Its own tools, prompts and resources have no time limit but the end of the caller's
//     credential. It has 10 seconds for a handshake and for a list, and a list that fails is an
//     error for the client.
//   - The time for a long URI distinguishes a hidden template of the server from an unknown one.
//   - Its instructions are sent like Options.Texts.Instructions, which replace them. They are not
//     checked before the first handshake.
//   - A tool that asks for sampling with a nil *mcp.CreateMessageParams, or with a nil message in
//     it, ends the process if a client of before 2026-07-28 calls it: go-sdk reads it first.
func Adopt(server *mcp.Server, options Options, rules map[string]access.Rule,
	toolsets ...toolset.Toolset) (*Server, error) {
	opts, optsErr := options.withDefaults()
	if server == nil {
		err := errors.New("Adopt has no server: pass the *mcp.Server to guard")
		return nil, startError{errors.Join(optsErr, err)}
	}
	own, err := adoptedOf(server)
	if err != nil {
		return nil, startError{errors.Join(optsErr, err)}
	}
	conditionalErr := own.conditionally(opts.Adopt.Conditional, rules)
	var replaced map[access.Kind][]string
	if opts.Adopt.Replace {
		replaced = own.replace(toolsets)
	}
	part, rulesErr := own.part(rules, opts, replaced)
	part.Table.Roles = access.DefaultRoles()
	for _, set := range toolsets {
		if roles := set.Generated().Table.Roles; roles != nil {
			part.Table.Roles = roles
			break
		}
	}
	c, err := compose(opts, toolsets, part)
	c.own = own
	err = errors.Join(optsErr, conditionalErr, rulesErr, err, own.clashes(c, replaced),
		c.describe(opts.Texts.Descriptions))
	if err != nil {
		return nil, startError{err}
	}
	if err := own.resolve(c.resources); err != nil {
		return nil, startError{err}
	}
	if err := c.resources.CheckOverlaps(c.table); err != nil {
		return nil, startError{err}
	}
	own.info.Version = cmp.Or(own.info.Version, versionOf(debug.ReadBuildInfo()))
	c.info = toolset.ServerInfo{
		Name: own.info.Name, Title: own.info.Title, Version: own.info.Version}
	s, err := assemble(opts, c, server, onTerminal(options.Logger))
	if err != nil {
		return nil, err
	}
	own.remove(server, replaced)
	for _, k := range request.Kinds {
		if names := replaced[k]; len(names) > 0 {
			opts.Logger.Info("toolsets replace "+k.String()+"s of the adopted server, whose middleware "+
				"is not called for these", k.String()+"s", names)
		}
		table := s.table.Of(k)
		refused := slices.DeleteFunc(own.names(k), func(name string) bool {
			_, hasRule := table.Tool(name)
			return hasRule
		})
		if len(refused) > 0 {
			opts.Logger.Warn(k.String()+"s of the adopted server have no rule, so the server refuses "+
				"them: give each a rule in Adopt, with its name in Rule.Tool or Rule.Prompt, or its URI in "+
				"Rule.Resource", k.String()+"s", refused)
		}
	}
	return s, nil
}

// adopted is what an adopted server serves by itself, by name, URI or URI template.
type adopted struct {
	info         *mcp.Implementation // nil without an adopted server
	has          *mcp.ServerCapabilities
	instructions string
	tools        map[string]*mcp.Tool
	prompts      map[string]*mcp.Prompt
	resources    map[string]*mcp.Resource
	templates    map[string]*mcp.ResourceTemplate

	listed map[access.Kind][]string // names of all of these at adoption, and of conditional ones
	// conditional are the names that Options.Adopt.Conditional means, apart from replaced ones.
	conditional map[access.Kind][]string
}

// RulesByHint returns the rules of the tools that a go-sdk server lists, for [Adopt]: readOnly is
// that of tools whose annotations have readOnlyHint, and others is that of all other tools. Give
// single tools, prompts and resources their rules in the returned map. A rule cannot be public: the
// hint is the server's own statement. Tools get no rule by a rule that requires nothing, and Adopt
// refuses them.
func RulesByHint(server *mcp.Server, readOnly, others access.Rule) (map[string]access.Rule, error) {
	if server == nil {
		return nil, errors.New("RulesByHint has no server: pass the one to adopt")
	}
	for name, rule := range map[string]access.Rule{"readOnly": readOnly, "others": others} {
		switch {
		case rule.Public:
			return nil, fmt.Errorf("RulesByHint: the rule %s is public, but a hint cannot make a tool "+
				"public: set Authenticated, and write a public rule for each tool name", name)
		case rule.Name() != "":
			return nil, fmt.Errorf("RulesByHint: the rule %s has the %s %q: remove the name",
				name, rule.Kind(), rule.Name())
		}
	}
	own, err := adoptedOf(server)
	if err != nil {
		return nil, err
	}
	rules := map[string]access.Rule{}
	for name, t := range own.tools {
		rule := others
		if hintsReadOnly(t) {
			rule = readOnly
		}
		if !rule.Same(access.Rule{Denial: rule.Denial}) {
			rules[name] = rule.Clone()
		}
	}
	return rules, nil
}

// hintsReadOnly reports whether a tool has readOnlyHint.
func hintsReadOnly(t *mcp.Tool) bool {
	return t != nil && t.Annotations != nil && t.Annotations.ReadOnlyHint
}

// adoptedOf lists what a server serves, and its name, as a client does.
func adoptedOf(server *mcp.Server) (own adopted, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("cannot list what the adopted server serves: %w; adopt it before you add "+
				"middleware that refuses callers", err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	near, far := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, near, nil)
	if err != nil {
		return own, err
	}
	defer session.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "mcpgen", Version: "1"}, nil).
		Connect(ctx, far, &mcp.ClientSessionOptions{ProtocolVersion: request.NewestWithSessions})
	if err != nil {
		return own, err
	}
	defer client.Close()
	if own.info = client.InitializeResult().ServerInfo; own.info == nil {
		own.info = &mcp.Implementation{}
	}
	own.instructions = client.InitializeResult().Instructions
	has := client.InitializeResult().Capabilities
	own.has = has
	own.tools = collect(&err, has.Tools != nil, client.Tools(ctx, nil),
		func(t *mcp.Tool) string { return t.Name })
	own.prompts = collect(&err, has.Prompts != nil, client.Prompts(ctx, nil),
		func(p *mcp.Prompt) string { return p.Name })
	own.resources = collect(&err, has.Resources != nil, client.Resources(ctx, nil),
		func(r *mcp.Resource) string { return r.URI })
	own.templates = collect(&err, has.Resources != nil, client.ResourceTemplates(ctx, nil),
		func(r *mcp.ResourceTemplate) string { return r.URITemplate })
	own.listed = map[access.Kind][]string{}
	for _, k := range request.Kinds {
		own.listed[k] = own.names(k)
	}
	return own, err
}

// collect reads a list by the names of its items, if the server has it and nothing has failed.
func collect[T any](failed *error, has bool, list iter.Seq2[T, error],
	name func(T) string) map[string]T {
	found := map[string]T{}
	if !has || *failed != nil {
		return found
	}
	for item, err := range list {
		if *failed = err; err != nil {
			break
		}
		found[name(item)] = item
	}
	return found
}

// names returns the names of a kind in order. Resources and templates are one kind.
func (a adopted) names(k access.Kind) []string {
	switch k {
	case access.Tools:
		return slices.Sorted(maps.Keys(a.tools))
	case access.Prompts:
		return slices.Sorted(maps.Keys(a.prompts))
	}
	uris := slices.AppendSeq(slices.Collect(maps.Keys(a.resources)), maps.Keys(a.templates))
	slices.Sort(uris)
	return uris
}

// replace removes what toolsets have as well, by the tools that they had before they were narrowed:
// narrowing one does not bring the server's tool back, nor one that it lists to some clients only.
// It returns the removed names.
func (a adopted) replace(toolsets []toolset.Toolset) map[access.Kind][]string {
	replaced := map[access.Kind][]string{}
	replace := func(k access.Kind, name string, listed bool) {
		if listed || slices.Contains(a.conditional[k], name) {
			replaced[k] = append(replaced[k], name)
		}
		a.conditional[k] = slices.DeleteFunc(a.conditional[k],
			func(c string) bool { return c == name })
	}
	for _, set := range toolsets {
		g := set.Generated()
		for _, t := range append(g.Tools, set.Removed()...) {
			replace(access.Tools, t.Name, a.tools[t.Name] != nil)
			delete(a.tools, t.Name)
		}
		for _, p := range g.Prompts {
			replace(access.Prompts, p.Name, a.prompts[p.Name] != nil)
			delete(a.prompts, p.Name)
		}
		for _, r := range g.Resources {
			replace(access.Resources, r.URI, a.resources[r.URI] != nil || a.templates[r.URI] != nil)
			delete(a.resources, r.URI)
			delete(a.templates, r.URI)
		}
	}
	return replaced
}

// conditionally notes the names that Options.Adopt.Conditional means by keys of rules. A tool of
// them counts as not listed, so that its hints do not.
func (a *adopted) conditionally(keys []string, rules map[string]access.Rule) error {
	var errs []error
	a.conditional = map[access.Kind][]string{}
	for _, key := range keys {
		rule, ok := rules[key]
		k, name := rule.Kind(), rule.Name()
		if k == access.Tools {
			name = key
			delete(a.tools, key)
		}
		if !ok {
			errs = append(errs, fmt.Errorf("Options.Adopt.Conditional has %q, which is not a key of the "+
				"rules: correct it, or give it a rule", key))
		}
		a.conditional[k] = append(a.conditional[k], name)
		a.listed[k] = append(a.listed[k], name)
	}
	return errors.Join(errs...)
}

// part checks the rules of Adopt and makes a table of them. With Options.ReadOnly it removes the
// tools that may write.
func (a adopted) part(rules map[string]access.Rule, o Options,
	replaced map[access.Kind][]string) (access.Part, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var all []access.Rule
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		rule := rules[key]
		kind := rule.Kind()
		if kind == access.Tools && rule.Tool != "" && rule.Tool != key {
			bad("the rule of tool %q has Tool %q: leave Tool empty", key, rule.Tool)
		} else if kind == access.Tools {
			rule.Tool = key
		}
		name := rule.Name()
		conditional := slices.Contains(a.conditional[kind], name)
		switch {
		case slices.Contains(replaced[kind], name):
			continue
		case !conditional && !slices.Contains(a.names(kind), name):
			bad("the adopted server has no %s %q, which has a rule: correct the name, or remove the "+
				"rule; if the server lists it later, or to some clients only, add %q to "+
				"Options.Adopt.Conditional", kind, name, key)
		case o.Host.RecordOnly && rule.PermissionOnly():
			bad("%s %q has only the rule %s, which only permission-aware discovery enforces: add "+
				"Authenticated, MinRole or Scopes", kind, name, rule.Permission)
		}
		if kind == access.Tools && o.ReadOnly && (conditional || !hintsReadOnly(a.tools[name])) {
			continue
		}
		all = append(all, rule)
	}
	if o.ReadOnly {
		maps.DeleteFunc(a.tools, func(_ string, t *mcp.Tool) bool { return !hintsReadOnly(t) })
	}
	table := access.NewTable(all...)
	return access.Part{Package: "(the adopted server)", Table: table}, errors.Join(errs...)
}

// clashes reports names that both the toolsets and the adopted server have, apart from those that
// the toolsets replace. Tools that do not count as the server's are among them.
func (a adopted) clashes(c composed, replaced map[access.Kind][]string) error {
	var errs []error
	clash := func(k access.Kind, name string) {
		if slices.Contains(a.listed[k], name) && !slices.Contains(replaced[k], name) {
			errs = append(errs, fmt.Errorf("%s %q of a toolset is also a %s of the adopted server, "+
				"which it would replace: rename one, or set Options.Adopt.Replace", k, name, k))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		clash(access.Tools, name)
	}
	for _, alias := range slices.Sorted(maps.Keys(c.aliases)) {
		clash(access.Tools, alias)
	}
	for _, name := range slices.Sorted(maps.Keys(c.prompts)) {
		clash(access.Prompts, name)
	}
	for _, r := range c.served {
		clash(access.Resources, r.URI)
	}
	return errors.Join(errs...)
}

// updates reports whether the server lets clients subscribe to its resources.
func (a adopted) updates() bool {
	return a.has != nil && a.has.Resources != nil && a.has.Resources.Subscribe
}

// changes reports whether the server declares that its list of a kind may change.
func (a adopted) changes(k access.Kind) bool {
	has := a.has
	if has == nil {
		return false
	}
	switch k {
	case access.Tools:
		return has.Tools != nil && has.Tools.ListChanged
	case access.Prompts:
		return has.Prompts != nil && has.Prompts.ListChanged
	}
	return has.Resources != nil && has.Resources.ListChanged
}

// isAdopted returns the func of [discovery.ListsConfig].
func (s *Server) isAdopted() func(access.Kind, string) bool {
	if s.own.info == nil {
		return nil
	}
	return func(k access.Kind, name string) bool {
		switch k {
		case access.Tools:
			return s.tools[name] == nil
		case access.Prompts:
			return s.prompts[name] == nil
		}
		r := s.resources.Named(name)
		return r != nil && r.Adopted
	}
}

// listedByAdopted returns the func of [discovery.ListChangedConfig] for some kinds.
func (s *Server) listedByAdopted(kinds []access.Kind) func(context.Context, request.Session,
	map[string]any) (*discovery.Items, error) {
	if len(kinds) == 0 {
		return nil
	}
	return func(ctx context.Context, to request.Session, meta map[string]any) (*discovery.Items,
		error) {
		return s.sessions.Listed(ctx, to, meta, kinds)
	}
}

// ownChanges returns the kinds whose lists an adopted server changes.
func (s *Server) ownChanges() (kinds []access.Kind) {
	for _, k := range request.Kinds {
		if s.own.changes(k) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// resolve adds the resources of the server. go-sdk takes the first match, so that one without a
// rule has to be found here too.
func (a adopted) resolve(rs *invoke.Resources) error {
	add := func(r *invoke.Resource) {
		r.Subscribe = a.updates()
		rs.Add(r)
	}
	for uri := range a.resources {
		add(invoke.NewAdoptedResource(uri, nil))
	}
	templates := slices.Collect(maps.Keys(a.templates))
	for _, uri := range a.conditional[access.Resources] {
		if a.resources[uri] == nil && a.templates[uri] == nil {
			templates = append(templates, uri)
		}
	}
	for _, uri := range templates {
		template, err := uritemplate.New(uri)
		if err != nil { // of a conditional one, as go-sdk has parsed the others before
			return fmt.Errorf("resource template %q of the adopted server: %w", uri, err)
		}
		if len(template.Varnames()) == 0 && a.templates[uri] == nil {
			add(invoke.NewAdoptedResource(uri, nil))
			continue
		}
		add(invoke.NewAdoptedResource(uri, template.Regexp()))
	}
	return nil
}

// remove removes from the server what toolsets replace. go-sdk reads schemas of its own tools.
func (a adopted) remove(server *mcp.Server, replaced map[access.Kind][]string) {
	server.RemoveTools(replaced[access.Tools]...)
	server.RemovePrompts(replaced[access.Prompts]...)
	server.RemoveResources(replaced[access.Resources]...)
	server.RemoveResourceTemplates(replaced[access.Resources]...)
}

// readOnly returns the names of the tools that have readOnlyHint.
func (a adopted) readOnly() (names []string) {
	for name, t := range a.tools {
		if hintsReadOnly(t) {
			names = append(names, name)
		}
	}
	return names
}

// list adds what the server serves to the lists of the guard, which show what has a rule.
func (a adopted) list(to *discovery.Lists) {
	for _, t := range a.tools {
		to.AddTool(t)
	}
	for _, p := range a.prompts {
		to.AddPrompt(p)
	}
	for _, r := range a.resources {
		to.AddResource(r)
	}
	for _, t := range a.templates {
		to.AddTemplate(t)
	}
}
