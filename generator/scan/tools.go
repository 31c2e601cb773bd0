package scan

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

// defaultTimeout bounds calls of tools that write no //mcp:limit timeout=.
const defaultTimeout = model.DefaultTimeout

// tools reads every func, method and interface method of the package, in the order of their names:
// a handler that moves to another place or file changes nothing that is generated.
func (s *scanner) tools() {
	served := map[string]bool{}
	for _, d := range s.decls {
		if d.recv != nil && d.serving() != nil {
			served[d.recv.Name()] = true
		}
	}
	s.workers()
	for _, d := range s.funcs() {
		found, ignore := d.serving(), d.find("ignore")
		switch {
		case found != nil && found.Name == "tool":
			s.tool(d, found)
		case found != nil && found.Name == "prompt":
			s.prompt(d, found)
		case found != nil && found.Name == "resource":
			s.resource(d, found)
		case found != nil:
			s.completion(d, found)
		case ignore != nil:
			s.ignore(d, ignore)
		case !d.attempted && s.forgotten(d.fn) && (d.recv == nil || served[d.recv.Name()]):
			s.report(diag.MissingDirective, d.name.Pos(), d.name.End(),
				`serve it with //mcp:tool and an access rule, or exclude it with //mcp:ignore reason="…"`,
				"handler %s has no //mcp:tool and no //mcp:ignore", handlerName(d))
		}
	}
	s.promoted(served)
	s.idle()
	slices.SortFunc(s.service.Tools, func(a, b model.Tool) int {
		return strings.Compare(a.Name+"\x00"+a.Handler.String(), b.Name+"\x00"+b.Handler.String())
	})
	slices.SortFunc(s.service.Prompts, func(a, b model.Prompt) int {
		return strings.Compare(a.Name+"\x00"+a.Handler.String(), b.Name+"\x00"+b.Handler.String())
	})
	slices.SortFunc(s.service.Resources, func(a, b model.Resource) int {
		return strings.Compare(a.URI+"\x00"+a.Handler.String(), b.URI+"\x00"+b.Handler.String())
	})
	slices.SortFunc(s.service.Completions, func(a, b model.Completion) int {
		return strings.Compare(a.Handler.String(), b.Handler.String())
	})
	slices.SortFunc(s.service.Ignored, func(a, b model.Ignored) int { return strings.Compare(a.Handler, b.Handler) })
	s.constantsOf()
	s.completions()
}

// forgotten reports whether a func without a directive is a finding: an exported handler that
// could be a tool, in a package that does not opt out of the check by unannotated=ignore.
func (s *scanner) forgotten(fn *types.Func) bool {
	return s.service.Server.Unannotated != "ignore" && fn.Exported() &&
		isHandler(fn.Signature()) && !neverTool(fn.Signature())
}

// funcs returns the funcs, methods and interface methods of the package, by name.
func (s *scanner) funcs() []*decl {
	var list []*decl
	for _, d := range s.decls {
		if d.fn != nil {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *decl) int {
		return strings.Compare(handlerName(a), handlerName(b))
	})
	return list
}

// promoted reports handlers that a served type has by embedding another type of the package, each
// once: they belong to the type as its own methods do, and the same question is open.
func (s *scanner) promoted(served map[string]bool) {
	decls := map[*types.Func]*decl{}
	for _, d := range s.decls {
		if d.fn != nil {
			decls[d.fn] = d
		}
	}
	owners := map[*types.Func][]string{} // the served types that have the method
	for _, name := range slices.Sorted(maps.Keys(served)) {
		object := s.pkg.Types.Scope().Lookup(name)
		if object == nil {
			continue // a type without a name, which is a finding
		}
		t := object.Type()
		s.embedded(t, map[*types.TypeName]bool{})
		if !types.IsInterface(t) {
			t = types.NewPointer(t)
		}
		for method := range types.NewMethodSet(t).Methods() {
			fn := method.Obj().(*types.Func).Origin()
			recv, d := receiver(fn), decls[fn]
			if fn.Pkg() == s.pkg.Types && s.forgotten(fn) &&
				(recv == nil || !served[recv.Name()]) && (d == nil || !d.attempted) {
				owners[fn] = append(owners[fn], name)
			}
		}
	}
	for fn, names := range owners {
		of, has := names[0], "has"
		switch n := len(names) - 1; {
		case n == 1:
			of, has = names[0]+" and "+names[1], "have"
		case n > 1:
			of, has = fmt.Sprintf("%s and %d other types", names[0], n), "have"
		}
		name := fn.Name()
		fix := "declare " + name + " in " + names[0] + " itself, with //mcp:tool or //mcp:ignore"
		if recv := receiver(fn); recv != nil {
			name = recv.Name() + "." + name
			fix = fmt.Sprintf(`write //mcp:ignore reason="…" on %s, or `+
				`//mcp:tool and an access rule on it or on a method %s of %s`,
				name, fn.Name(), names[0])
		}
		s.report(diag.MissingDirective, fn.Pos(), fn.Pos()+token.Pos(len(fn.Name())), fix,
			"handler %s, which %s %s by embedding, has no //mcp:tool and no //mcp:ignore",
			name, of, has)
	}
}

// embedded lists the types of the package that a served type embeds, for the source hash.
func (s *scanner) embedded(t types.Type, seen map[*types.TypeName]bool) {
	add := func(t types.Type) {
		n, ok := types.Unalias(pointee(t)).(*types.Named)
		if ok && n.Obj().Pkg() == s.pkg.Types && !seen[n.Obj()] {
			seen[n.Obj()] = true
			s.bases = append(s.bases, n.Obj().Name())
			s.embedded(n, seen)
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Embedded() {
				add(f.Type())
			}
		}
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			add(e)
		}
	}
}

func handlerName(d *decl) string {
	h := model.Handler{Name: d.fn.Name()}
	if d.recv != nil {
		h.Recv = d.recv.Name()
	}
	return h.String()
}

func (s *scanner) ignore(d *decl, ignore *directive.Directive) {
	if !isHandler(d.fn.Signature()) {
		if !invalid(d.fn.Signature()) {
			s.report(diag.Misplaced, ignore.Pos, ignore.End, "remove it",
				"%s is not a handler, so //mcp:ignore has no effect", handlerName(d))
		}
		return
	}
	if d.file.Constrained {
		return // what is not in every build is in no manifest
	}
	s.service.Ignored = append(s.service.Ignored, model.Ignored{
		Handler: handlerName(d), Reason: ignore.Text("reason"), Pos: s.at(ignore.Pos, ignore.End),
	})
}

func (s *scanner) tool(d *decl, written *directive.Directive) {
	t := s.served(d, written)
	t.Hints = model.Hints{
		ReadOnly: written.Hint("readonly"), Destructive: written.Hint("destructive"),
		Idempotent: written.Hint("idempotent"), OpenWorld: written.Hint("openworld"),
	}
	t.Catalogs = slices.Sorted(slices.Values(written.List("catalog")))
	s.metadata(d, written, &t)
	s.checkName(d, written, t.Name)
	s.hand = s.byHand(d)
	s.signature(d, &t)
	s.allows(d, &t)
	s.values(d, &t)
	s.capable(d, &t)
	s.isolated(d, &t)
	if written.Broken {
		return
	}
	s.handlers = append(s.handlers, d.fn)
	s.service.Tools = append(s.service.Tools, t)
}

// served reads what tools, prompts and resources have in common.
func (s *scanner) served(d *decl, written *directive.Directive) model.Tool {
	s.hand = &byHand{}
	t := model.Tool{
		Name: written.Text("name"), Title: written.Text("title"),
		Description: s.describe(d, written),
		Denial:      written.Text("denial"),
		Limits:      s.limits(d),
		Handler:     s.handler(d),
		Pos:         s.at(written.Pos, written.End),
	}
	if t.Name == "" {
		t.Name = snake(d.fn.Name())
	}
	if written.Name != "resource" {
		t.Name = s.service.Server.Prefix + t.Name
	}
	t.Access = s.rule(written).over(s.inherited(d)).access(d.fn.Name(), s.service.Server.App)
	t.Access.Constrained = written.Has("constrained")
	return t
}

func (s *scanner) handler(d *decl) model.Handler {
	h := model.Handler{Name: d.fn.Name(), Pos: s.at(d.name.Pos(), d.name.End())}
	if d.recv != nil {
		h.Recv = d.recv.Name()
		h.PointerRecv = isPointer(d.fn.Signature().Recv().Type())
	}
	return h
}

// checkName holds the name of a tool or a prompt to the rule of tools: the specification asks
// nothing of prompts' names, and what every client can show serves there as well.
func (s *scanner) checkName(d *decl, written *directive.Directive, name string) {
	if !toolName.MatchString(name) && d.fn.Name() != "_" {
		s.report(diag.BadToolName, written.Pos, written.End, "write another name=, of ASCII letters, digits, underscore, hyphen and dot",
			"%q is not an MCP %s name", name, written.Name)
	}
}

// constantsOf names the constants of the names of tools and prompts and of the URIs of
// resources: ToolGet, PromptWelcome, ResourcePerson, and with the receiver type inserted where
// two handlers would share one, ToolSitesGet.
func (s *scanner) constantsOf() {
	owner := map[string]string{}
	var tools, prompts, resources []*model.Tool
	for i := range s.service.Tools {
		tools = append(tools, &s.service.Tools[i])
	}
	for i := range s.service.Prompts {
		prompts = append(prompts, &s.service.Prompts[i].Tool)
	}
	for i := range s.service.Resources {
		resources = append(resources, &s.service.Resources[i].Tool)
	}
	s.nameConstants("Tool", tools, owner)
	s.nameConstants("Prompt", prompts, owner)
	s.nameConstants("Resource", resources, owner)
}

func (s *scanner) nameConstants(prefix string, served []*model.Tool, owner map[string]string) {
	count := map[string]int{}
	for _, t := range served {
		count[upperFirst(t.Handler.Name)]++
	}
	for _, t := range served {
		h := t.Handler
		name := prefix + upperFirst(h.Name)
		if h.Recv != "" && count[upperFirst(h.Name)] > 1 {
			name = prefix + upperFirst(h.Recv) + upperFirst(h.Name)
		}
		t.Const = name
		if other, taken := owner[name]; taken {
			s.out.Add(diag.NameTaken, h.Pos, "rename one of the two",
				"%s and %s would both have the constant %s", other, h, name)
			continue
		}
		owner[name] = h.String()
	}
}

// params returns the //mcp:param directives of a handler by parameter name, and reports those
// that name none of the parameters.
func (s *scanner) params(d *decl, known []string) map[string]*directive.Directive {
	list := map[string]*directive.Directive{}
	for _, found := range d.directives {
		if found.Name != "param" || found.Subject.Text == "" {
			continue
		}
		name := found.Subject
		switch {
		case len(known) == 0:
			s.report(diag.UnknownParameter, name.Pos, name.End, "put a jsonschema tag on the field of the input type instead",
				"//mcp:param is for plain parameters, and %s has none", handlerName(d))
		case !slices.Contains(known, name.Text):
			s.report(diag.UnknownParameter, name.Pos, name.End, directive.Nearest("", name.Text, known),
				"%s has no parameter %s", handlerName(d), name.Text)
		case list[name.Text] != nil:
			s.report(diag.Duplicate, found.Pos, token.NoPos, "remove one of the two",
				"//mcp:param %s is written twice", name.Text)
		default:
			list[name.Text] = found
		}
	}
	return list
}
