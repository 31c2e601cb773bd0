package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// adopted is what an adopted server serves by itself, by name, URI or URI template.
type adopted struct {
	info      *mcp.Implementation
	tools     map[string]*mcp.Tool
	prompts   map[string]*mcp.Prompt
	resources map[string]*mcp.Resource
	templates map[string]*mcp.ResourceTemplate
}

// adoptedOf asks a server for what it serves and its name, as a client would.
func adoptedOf(server *mcp.Server) (adopted, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	near, far := mcp.NewInMemoryTransports()
	session, err := server.Connect(ctx, near, nil)
	if err != nil {
		return adopted{}, err
	}
	defer session.Close()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "mcpgen", Version: "1"}, nil).
		Connect(ctx, far, &mcp.ClientSessionOptions{ProtocolVersion: newestWithSessions})
	if err != nil {
		return adopted{}, err
	}
	defer client.Close()
	own := adopted{info: client.InitializeResult().ServerInfo}
	if own.info == nil {
		own.info = &mcp.Implementation{}
	}
	has := client.InitializeResult().Capabilities
	if has.Tools != nil {
		own.tools, err = gathered(client.Tools(ctx, nil), func(t *mcp.Tool) string { return t.Name })
	}
	if has.Prompts != nil && err == nil {
		own.prompts, err = gathered(client.Prompts(ctx, nil), func(p *mcp.Prompt) string { return p.Name })
	}
	if has.Resources != nil && err == nil {
		own.resources, err = gathered(client.Resources(ctx, nil), func(r *mcp.Resource) string { return r.URI })
	}
	if has.Resources != nil && err == nil {
		own.templates, err = gathered(client.ResourceTemplates(ctx, nil), func(r *mcp.ResourceTemplate) string { return r.URITemplate })
	}
	return own, err
}

func gathered[T any](list iter.Seq2[T, error], name func(T) string) (map[string]T, error) {
	found := map[string]T{}
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		found[name(item)] = item
	}
	return found, nil
}

// names are the names of a kind, sorted; resources and templates are one kind.
func (a adopted) names(k access.Kind) []string {
	switch k {
	case access.Tools:
		return slices.Sorted(maps.Keys(a.tools))
	case access.Prompts:
		return slices.Sorted(maps.Keys(a.prompts))
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(a.resources)), maps.Keys(a.templates))
	slices.Sort(names)
	return names
}

// table checks the rules that Adopt was given and makes a table of them.
func (a adopted) table(rules map[string]access.Rule, aware bool) (access.Part, error) {
	var errs []error
	part := access.Part{Package: "(the adopted server)"}
	for _, key := range slices.Sorted(maps.Keys(rules)) {
		rule := rules[key]
		kind := access.Tools
		switch {
		case rule.Prompt != "":
			kind = access.Prompts
		case rule.Resource != "":
			kind = access.Resources
		case rule.Tool != "" && rule.Tool != key:
			errs = append(errs, fmt.Errorf("the rule of tool %q names tool %q: leave its Tool empty", key, rule.Tool))
		default:
			rule.Tool = key
		}
		name := rule.Name()
		switch {
		case !slices.Contains(a.names(kind), name):
			errs = append(errs, fmt.Errorf("the adopted server has no %s %q, which has a rule: correct the name, or remove the rule", kind, name))
		case !aware && permissionOnly(rule):
			errs = append(errs, fmt.Errorf("%s %q has no rule but %s, which only permission-aware discovery enforces: add Authenticated, MinRole or Scopes", kind, name, rule.Permission))
		}
		switch kind {
		case access.Tools:
			part.Table.Rules = append(part.Table.Rules, rule)
		case access.Prompts:
			part.Table.Prompts = append(part.Table.Prompts, rule)
		case access.Resources:
			part.Table.Resources = append(part.Table.Resources, rule)
		}
	}
	return part, errors.Join(errs...)
}

// clashes reports what both the toolsets and the adopted server have.
func (a adopted) clashes(c composed) error {
	var errs []error
	clash := func(k access.Kind, name string) {
		if slices.Contains(a.names(k), name) {
			errs = append(errs, fmt.Errorf("%s %q of a toolset is also a %s of the adopted server, which it would replace: rename one", k, name, k))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		clash(access.Tools, name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.prompts)) {
		clash(access.Prompts, name)
	}
	for _, r := range c.served {
		clash(access.Resources, r.URI)
	}
	return errors.Join(errs...)
}

// resolve adds the server's resources to those that a URI may mean, with and without a rule:
// go-sdk would take the first that matches, so that one without a rule must stand in the way here too.
func (a adopted) resolve(rs *resources) error {
	for uri := range a.resources {
		rs.add(&resource{Resource: Resource{URI: uri}, exact: true, adopted: true})
	}
	for uri := range a.templates {
		template, err := uritemplate.New(uri)
		if err != nil { // go-sdk has parsed it before
			return fmt.Errorf("resource template %q of the adopted server: %w", uri, err)
		}
		pattern := template.Regexp()
		rs.add(&resource{Resource: Resource{URI: uri}, adopted: true, match: func(uri string) (map[string]string, bool) {
			if !pattern.MatchString(uri) {
				return nil, false
			}
			return map[string]string{"uri": uri}, true
		}})
	}
	return nil
}

// list puts what has a rule into a server's lists.
func (a adopted) list(s *Server) {
	prompts, rules := s.table.Of(access.Prompts), s.table.Of(access.Resources)
	for name, t := range a.tools {
		if _, ruled := s.table.Tool(name); ruled {
			s.lists.tools.items[name] = t
		}
	}
	for name, p := range a.prompts {
		if _, ruled := prompts.Tool(name); ruled {
			s.lists.prompts.items[name] = p
		}
	}
	for uri, r := range a.resources {
		if _, ruled := rules.Tool(uri); ruled {
			s.lists.resources.items[uri] = r
		}
	}
	for uri, r := range a.templates {
		if _, ruled := rules.Tool(uri); ruled {
			s.lists.templates.items[uri] = r
		}
	}
}
