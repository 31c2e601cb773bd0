package runtime

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/internal/guardedtype"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// composed is what a server serves: the toolsets joined, checked and indexed.
type composed struct {
	info      toolset.ServerInfo
	packages  []string // of the toolsets
	manifests []Manifest
	table     access.Table
	tools     map[string]*invoke.Tool   // of the toolsets, by name
	aliases   map[string]string         // of tools of the toolsets, to their names
	prompts   map[string]*invoke.Prompt // of the toolsets, by name
	served    []*invoke.Resource        // of the toolsets
	resources *invoke.Resources         // all that a URI can mean
	own       adopted                   // of the go-sdk server itself
	catalogs  map[string][]string       // by tool, and by "" those of removed tools
	apps      map[string][]string       // the tools of each MCP App, by the URI of its resource
	declared  declared                  // MCP capabilities by options
	removed   []string                  // names and aliases of tools that narrowing has removed
	logs      bool                      // a toolset has handlers that may log to clients
}

// ownPackages begin the paths of packages that add tools to those of others, and name no server.
const ownPackages = "github.com/mcpgen/mcpgen/runtime/"

// compose joins the toolsets of a server with the rules of an adopted server, and reports all
// problems.
func compose(opts Options, toolsets []toolset.Toolset, further ...access.Part) (composed, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c := composed{
		tools: map[string]*invoke.Tool{}, aliases: map[string]string{},
		prompts: map[string]*invoke.Prompt{}, resources: &invoke.Resources{},
		catalogs: map[string][]string{}, apps: map[string][]string{}}
	var parts []access.Part
	schemas := invoke.Schemas{}
	named := false // by one of the runtime's own packages
	if len(toolsets) == 0 && len(further) == 0 {
		bad("no toolset: pass the results of generated Toolset functions")
	}
	for i, set := range opts.serves(toolsets) {
		g := set.Generated()
		if g.Package == "" && len(g.Tools) == 0 {
			bad("toolset %d is empty: pass the result of a generated Toolset function", i+1)
			continue
		} else if slices.Contains(c.packages, g.Package) {
			bad("package %s: its Toolset is passed twice: pass it once", g.Package)
			continue
		}
		var names []string // of all tools of the package
		for _, t := range g.Tools {
			names = append(names, t.Name)
		}
		for _, t := range set.Removed() {
			names = append(names, t.Name)
			c.catalogs[""] = append(c.catalogs[""], t.Catalogs...)
			c.removed = append(append(c.removed, t.Name), t.Aliases...)
			if t.UI != "" {
				c.apps[t.UI] = append(c.apps[t.UI], nil...) // that of removed tools alone is hidden
			}
		}
		for _, name := range set.Unknown() {
			hint := ""
			if near := editdistance.Nearest(name, names, 2); near != "" {
				hint = "; did you mean " + near + "?"
			}
			bad("package %s: Only or Without of its Toolset has %q, which is not one of its tools%s",
				g.Package, name, hint)
		}
		own := strings.HasPrefix(g.Package, ownPackages)
		if c.info.Name == "" || named && !own {
			c.info, named = g.Server, own
		}
		c.logs = c.logs || !g.Quiet
		parts = append(parts, access.Part{Package: g.Package, Table: g.Table})
		c.packages = append(c.packages, g.Package)
		c.manifests = append(c.manifests, Manifest{g.Package, set.Manifest()})
		for i, receiver := range g.Receivers {
			if request.IsNil(receiver) {
				bad("package %s: argument %d of Toolset is nil: pass a value that handles the calls",
					g.Package, i+1)
			}
		}
		errs = append(append(errs, g.Check(!opts.Host.RecordOnly)), c.add(g, schemas)...)
	}
	errs = append(errs, c.addAliases()...)
	var declareErrs []error
	c.declared, declareErrs = opts.Protocol.declares()
	errs = append(errs, declareErrs...)
	for _, tools := range c.apps {
		if len(tools) > 0 && c.declared.extensions[extensionApps] == nil {
			c.declared.extensions[extensionApps] = struct{}{}
		}
	}
	table, err := access.Compose(append(parts, further...)...)
	if err != nil {
		return composed{}, errors.Join(append(errs, err)...)
	}
	c.table = table
	if len(table.Fields) > 0 {
		errs = append(errs, guardedtype.Supported(json.Marshal))
	}
	values := map[string][]access.Rule{} // by tool
	for _, rule := range table.Values {
		values[rule.Tool] = append(values[rule.Tool], rule)
	}
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		errs = append(errs, c.tools[name].BindValues(values[name]),
			c.tools[name].BindLenient(opts.Protocol.LenientArguments))
	}
	return c, errors.Join(append(errs, c.resources.CheckOverlaps(table))...)
}

// add adds what one package serves, and reports what is wrong with it.
func (c *composed) add(g toolset.Generated, schemas invoke.Schemas) []error {
	var errs []error
	check := func(kind access.Kind, name string, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("package %s: %s %q: %w", g.Package, kind, name, err))
		}
	}
	for _, t := range g.Tools {
		built, err := invoke.NewTool(t, schemas)
		check(access.Tools, t.Name, err)
		c.tools[t.Name], c.catalogs[t.Name] = built, t.Catalogs
		if t.UI != "" {
			c.apps[t.UI] = append(c.apps[t.UI], t.Name)
		}
	}
	for _, p := range g.Prompts {
		built, err := invoke.NewPrompt(p)
		check(access.Prompts, p.Name, err)
		c.prompts[p.Name] = built
	}
	for _, r := range g.Resources {
		built, err := invoke.NewResource(r)
		if check(access.Resources, r.URI, err); err == nil {
			c.served = append(c.served, built)
			c.resources.Add(built)
		}
	}
	return errs
}

// addAliases indexes the deprecated names of tools. None may be the name or alias of another tool.
func (c *composed) addAliases() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(c.tools)) {
		for _, alias := range c.tools[name].Aliases {
			other, taken := c.aliases[alias]
			if c.tools[alias] != nil {
				other, taken = alias, true
			}
			if taken {
				errs = append(errs, fmt.Errorf(
					"the alias %q of tool %q is also a name of tool %q: remove it from alias=",
					alias, name, other))
			}
			c.aliases[alias] = name
		}
	}
	return errs
}

// describe replaces descriptions of tools by those of Options.Texts.Descriptions.
func (c *composed) describe(texts map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		switch own := c.own.tools[name]; {
		case c.tools[name] != nil:
			c.tools[name].Public.Description = texts[name]
		case own != nil:
			c.own.tools[name] = new(*own)
			c.own.tools[name].Description = texts[name]
		default:
			hint := "correct the name, or remove the entry"
			names := slices.Concat(slices.Collect(maps.Keys(c.tools)), c.own.names(access.Tools))
			if near := editdistance.Nearest(name, names, 2); near != "" {
				hint = "did you mean " + near + "?"
			}
			errs = append(errs, fmt.Errorf(
				"Options.Texts.Descriptions has %q, which is not the name of a tool: %s", name, hint))
		}
	}
	return errors.Join(errs...)
}

// capabilities returns the MCP capabilities of the server. They follow what the code serves, and
// are equal for every caller. An adopted server's lists change if it declares that. Interceptors
// may log to clients by [Logger], as handlers may that are not quiet.
func (c *composed) capabilities(opts Options) *mcp.ServerCapabilities {
	has, listChanged := c.own.has, opts.listsChange()
	if has == nil {
		has = &mcp.ServerCapabilities{}
	}
	declared := &mcp.ServerCapabilities{}
	//lint:ignore SA1019 clients of the versions with sessions ask for log messages by it
	declared.Logging = has.Logging
	if c.logs || len(opts.Interceptors) > 0 {
		//lint:ignore SA1019 as above
		declared.Logging = &mcp.LoggingCapabilities{}
	}
	if len(c.tools) > 0 || has.Tools != nil {
		declared.Tools = &mcp.ToolCapabilities{
			ListChanged: listChanged || c.own.changes(access.Tools)}
	}
	if len(c.prompts) > 0 || has.Prompts != nil {
		declared.Prompts = &mcp.PromptCapabilities{
			ListChanged: listChanged || c.own.changes(access.Prompts)}
	}
	if len(c.served) > 0 || has.Resources != nil {
		declared.Resources = &mcp.ResourceCapabilities{
			ListChanged: listChanged || c.own.changes(access.Resources), Subscribe: c.haveUpdates()}
	}
	completes := has.Completions != nil
	for _, p := range c.prompts {
		for _, a := range p.Arguments {
			completes = completes || a.Complete != nil || len(a.Values) > 0
		}
	}
	for _, r := range c.served {
		for _, v := range r.Variables {
			completes = completes || v.Complete != nil || len(v.Values) > 0
		}
	}
	if completes {
		declared.Completions = &mcp.CompletionCapabilities{}
	}
	declared.Extensions = joined(has.Extensions, c.declared.extensions)
	declared.Experimental = joined(has.Experimental, c.declared.experimental)
	return declared
}

// haveUpdates reports whether there is a resource whose updates clients can subscribe to.
func (c *composed) haveUpdates() bool {
	return c.own.updates() ||
		slices.ContainsFunc(c.served, func(r *invoke.Resource) bool { return r.Subscribe })
}

func (c *composed) list(to *discovery.Lists) {
	c.own.list(to)
	for _, t := range c.tools {
		to.AddTool(t.Public)
	}
	for _, p := range c.prompts {
		to.AddPrompt(p.Public)
	}
	for _, r := range c.served {
		if r.Exact {
			to.AddResource(&mcp.Resource{
				URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType})
		} else {
			to.AddTemplate(&mcp.ResourceTemplate{
				URITemplate: r.URI, Name: r.Name, Title: r.Title,
				Description: r.Description, MIMEType: r.MIMEType})
		}
	}
}
