package runtime

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// composed is what a server serves: the toolsets joined, checked and indexed.
type composed struct {
	info  ServerInfo
	table access.Table
	tools map[string]*tool

	prompts   map[string]*prompt
	served    []*resource // of the toolsets
	resources resources
	packages  []string // of the toolsets
	// permissions name what has an action= that is recorded and not enforced.
	permissions []string
}

// ownPackages begin the paths of packages that serve tools beside those of others. Were a server named by one of them, all who come would
// be told that it is there.
const ownPackages = "github.com/mcpgen/mcpgen/runtime/"

// compose joins toolsets with the rules of an adopted server and reports all that is wrong with them.
func compose(toolsets []Toolset, aware bool, further ...access.Part) (composed, error) {
	var errs []error
	var parts []access.Part
	c := composed{tools: map[string]*tool{}, prompts: map[string]*prompt{}}
	named := false // by one of the runtime's own
	schemas := newSchemas()
	if len(toolsets) == 0 && len(further) == 0 {
		errs = append(errs, errors.New("no toolset: pass what the generated Toolset functions return"))
	}
	for i, set := range toolsets {
		g := set.Generated()
		if g.Package == "" && len(g.Tools) == 0 {
			errs = append(errs, fmt.Errorf("toolset %d is empty: pass what a generated Toolset function returns", i+1))
			continue
		}
		if slices.ContainsFunc(parts, func(p access.Part) bool { return p.Package == g.Package }) {
			errs = append(errs, fmt.Errorf("package %s: its Toolset is passed twice: pass it once", g.Package))
			continue
		}
		if own := strings.HasPrefix(g.Package, ownPackages); c.info == (ServerInfo{}) || named && !own {
			c.info, named = g.Server, own
		}
		parts = append(parts, access.Part{Package: g.Package, Table: g.Table})
		c.packages = append(c.packages, g.Package)
		errs = append(errs, checkGenerated(g, aware)...)
		for _, t := range g.Tools {
			built, err := newTool(t, schemas)
			if err != nil {
				errs = append(errs, fmt.Errorf("package %s: tool %q: %w", g.Package, t.Name, err))
			}
			c.tools[t.Name] = built
		}
		for _, p := range g.Prompts {
			built, err := newPrompt(p)
			if err != nil {
				errs = append(errs, fmt.Errorf("package %s: prompt %q: %w", g.Package, p.Name, err))
			}
			c.prompts[p.Name] = built
		}
		for _, r := range g.Resources {
			built, err := newResource(r)
			if err != nil {
				errs = append(errs, fmt.Errorf("package %s: resource %q: %w", g.Package, r.URI, err))
				continue
			}
			c.served = append(c.served, built)
			c.resources.add(built)
		}
	}
	table, err := access.Compose(append(parts, further...)...)
	if err != nil {
		return composed{}, errors.Join(append(errs, err)...)
	}
	c.table = table
	for _, k := range kinds {
		for _, rule := range table.Of(k).Rules {
			if rule.Permission.Asked() {
				c.permissions = append(c.permissions, rule.Name())
			}
		}
	}
	return c, errors.Join(append(errs, checkOverlaps(c.served, table)...)...)
}

// checkGenerated reports what is wrong between one package's tools and its rules.
func checkGenerated(g Generated, aware bool) []error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("package %s: "+format, append([]any{g.Package}, args...)...))
	}
	for i, receiver := range g.Receivers {
		if isNil(receiver) {
			bad("argument %d of Toolset is nil: pass a value that answers the calls", i+1)
		}
	}
	names := map[access.Kind][]string{}
	for _, t := range g.Tools {
		names[access.Tools] = append(names[access.Tools], t.Name)
	}
	for _, p := range g.Prompts {
		names[access.Prompts] = append(names[access.Prompts], p.Name)
	}
	for _, r := range g.Resources {
		names[access.Resources] = append(names[access.Resources], r.URI)
	}
	for _, k := range kinds {
		rules := map[string]bool{}
		table := g.Table.Of(k)
		for _, rule := range table.Rules {
			rules[rule.Name()] = true
			if !aware && permissionOnly(rule) {
				bad("%s %q has no rule but %s, which only permission-aware discovery enforces: add authenticated, minrole= or scopes= to its //mcp:%s, and run go generate",
					k, rule.Name(), rule.Permission, k)
			}
		}
		served := map[string]bool{}
		for _, name := range names[k] {
			if served[name] {
				bad("%s %q stands twice: run go generate", k, name)
			}
			served[name] = true
			if !rules[name] {
				bad("%s %q has no rule in the table: run go generate", k, name)
			}
		}
		for _, rule := range table.Rules {
			if !served[rule.Name()] {
				bad("the rule of %q has no %s: run go generate", rule.Name(), k)
			}
		}
	}
	if g.Server.Name == "" {
		bad("the server has no name: write //mcp:server name= and run go generate")
	}
	return errs
}

var kinds = []access.Kind{access.Tools, access.Prompts, access.Resources}

// checkOverlaps refuses resources that one URI may mean and that have different rules: which
// of them decides would hang on the order of their text. The generator has refused this within
// what it saw at once.
func checkOverlaps(served []*resource, table access.Table) []error {
	var errs []error
	rules := table.Of(access.Resources)
	for i, a := range served {
		for _, b := range served[:i] {
			ruleA, _ := rules.Tool(a.URI)
			ruleB, _ := rules.Tool(b.URI)
			if a.URI != b.URI && !ruleA.Same(ruleB) && uritemplate.Overlap(a.template, b.template) {
				errs = append(errs, fmt.Errorf("one URI may be both %s and %s, which have different access: give them equal rules, or another uri=", b.URI, a.URI))
			}
		}
	}
	return errs
}

// permissionOnly reports whether a rule asks for nothing but a permission, which is recorded and not
// enforced without permission-aware discovery.
func permissionOnly(rule access.Rule) bool {
	return rule.Permission.Asked() && !rule.Public && !rule.Authenticated && rule.MinRole == 0 && len(rule.Scopes) == 0
}

func checkTool(t Tool) error {
	var errs []error
	if err := checkName(t.Name); err != nil {
		errs = append(errs, err)
	}
	if t.Answer == nil && t.Call == nil {
		errs = append(errs, errors.New("nothing answers its calls: run go generate"))
	}
	if t.Timeout < 0 {
		errs = append(errs, fmt.Errorf("its timeout is %s: use a positive one, or 0 for %s", t.Timeout, DefaultTimeout))
	}
	for i, name := range t.Catalogs {
		switch {
		case name == "":
			errs = append(errs, errors.New("it is in a catalog without a name: run go generate"))
		case slices.Contains(t.Catalogs[:i], name):
			errs = append(errs, fmt.Errorf("it is in the catalog %q twice: run go generate", name))
		}
	}
	return errors.Join(errs...)
}

var errNotAName = errors.New("not a tool name: use 1 to 128 of the letters A to Z, digits, dot, underscore and hyphen")

// checkName holds a name against the rule of the protocol for tool names (specification
// 2025-11-25, server/tools: 1 to 128 of A-Z a-z 0-9 _ - and the dot).
func checkName(name string) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
	if name == "" || len(name) > 128 {
		return errNotAName
	}
	for _, r := range name {
		if !strings.ContainsRune(letters, r) {
			return errNotAName
		}
	}
	return nil
}

// isNil reports whether v is nil or an interface that holds a nil pointer, map, func or the like.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Slice, reflect.Chan, reflect.Interface:
		return r.IsNil()
	}
	return false
}

func toolTimeout(t Tool) time.Duration {
	if t.Timeout == 0 {
		return DefaultTimeout
	}
	return t.Timeout
}
