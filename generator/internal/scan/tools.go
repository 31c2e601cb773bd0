package scan

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
)

// tools reads every func, method and interface method of the package, in the order of their names:
// a handler that moves to another place or file changes nothing that is generated.
func (s *scanner) tools() {
	served := map[string]bool{}
	for _, d := range s.decls {
		if d.Recv != nil && d.Serving() != nil {
			served[d.Recv.Name()] = true
		}
	}
	s.workers()
	for _, d := range s.funcs() {
		found, ignore := d.Serving(), d.Find("ignore")
		switch {
		case found != nil && found.Name == "tool":
			s.walker.NullOptional = s.nullOptional // not in prompts: their arguments are strings
			s.tool(d, found)
			s.walker.NullOptional = false
		case found != nil && found.Name == "prompt":
			s.prompt(d, found)
		case found != nil && found.Name == "resource":
			s.resource(d, found)
		case found != nil:
			s.completion(d, found)
		case ignore != nil:
			s.ignore(d, ignore)
		case !d.Attempted && d.Token() != "":
			s.reject(d, diag.MissingDirective,
				"serve it with //mcp:tool and an access rule, or remove the parameter",
				"handler %s takes the token %s, but no directive serves it", d, d.Token())
		case !d.Attempted && s.forgotten(d.Func) && (d.Recv == nil || served[d.Recv.Name()]):
			s.reject(d, diag.MissingDirective,
				`serve it with //mcp:tool and an access rule, or exclude it with //mcp:ignore reason="…"`,
				"handler %s has no //mcp:tool and no //mcp:ignore", d)
		}
	}
	s.promoted(served)
	s.idle()
	sortBy(s.service.Tools, func(t model.Tool) string { return t.Name + "\x00" + t.Handler.String() })
	sortBy(s.service.Prompts, func(p model.Prompt) string {
		return p.Name + "\x00" + p.Handler.String()
	})
	sortBy(s.service.Resources, func(r model.Resource) string {
		return r.URI + "\x00" + r.Handler.String()
	})
	sortBy(s.service.Completions, func(c model.Completion) string { return c.Handler.String() })
	sortBy(s.service.Ignored, func(i model.Ignored) string { return i.Handler })
	s.constantsOf()
	s.completions()
	s.apps()
}

// forgotten reports whether a func without a directive is a finding: an exported handler that
// could be a tool, in a package that does not opt out of the check by unannotated=ignore.
func (s *scanner) forgotten(fn *types.Func) bool {
	return s.service.Server.Unannotated != "ignore" && fn.Exported() &&
		isHandler(fn.Signature()) && !neverTool(fn.Signature())
}

// funcs returns the funcs, methods and interface methods of the package, by name.
func (s *scanner) funcs() []*annotated.Decl {
	var list []*annotated.Decl
	for _, d := range s.decls {
		if d.Func != nil {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *annotated.Decl) int {
		return strings.Compare(a.String(), b.String())
	})
	return list
}

// promoted reports handlers that a served type has by embedding another type of the package, each
// once: they belong to the type as its own methods do, and the same question is open.
func (s *scanner) promoted(served map[string]bool) {
	decls := map[*types.Func]*annotated.Decl{}
	for _, d := range s.decls {
		if d.Func != nil {
			decls[d.Func] = d
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
			recv, d := annotated.Receiver(fn), decls[fn]
			if fn.Pkg() == s.pkg.Types && s.forgotten(fn) &&
				(recv == nil || !served[recv.Name()]) && (d == nil || !d.Attempted) {
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
		if recv := annotated.Receiver(fn); recv != nil {
			name = recv.Name() + "." + name
			fix = fmt.Sprintf(`write //mcp:ignore reason="…" on %s, or `+
				`//mcp:tool and an access rule on it or on a method %s of %s`,
				name, fn.Name(), names[0])
		}
		s.out.Add(diag.MissingDirective, s.declared(fn), fix,
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

func (s *scanner) ignore(d *annotated.Decl, ignore *directive.Directive) {
	if !isHandler(d.Func.Signature()) {
		if !invalid(d.Func.Signature()) {
			s.report(diag.Misplaced, ignore.Pos, ignore.End, "remove it",
				"%s is not a handler, so //mcp:ignore has no effect", d)
		}
		return
	}
	if name := d.Token(); name != "" {
		s.report(diag.NoToken, ignore.Pos, ignore.End, "remove the parameter, or serve the handler",
			"%s has a parameter %s, but //mcp:ignore takes no token", d, name)
	}
	if d.File.Constrained {
		return // what is not in every build is in no manifest
	}
	s.service.Ignored = append(s.service.Ignored, model.Ignored{
		Handler: d.String(), Reason: ignore.Text("reason"), Pos: s.at(ignore.Pos, ignore.End),
	})
}

func (s *scanner) tool(d *annotated.Decl, written *directive.Directive) {
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
	s.shows(d, t)
	s.capable(d, &t)
	s.isolated(d, &t)
	s.onlyComputes(d, &t)
	if written.Broken {
		return
	}
	s.handlers = append(s.handlers, d.Func)
	s.service.Tools = append(s.service.Tools, t)
}

// served reads what tools, prompts and resources have in common.
func (s *scanner) served(d *annotated.Decl, written *directive.Directive) model.Tool {
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
		t.Name = naming.Snake(d.Func.Name())
	}
	if written.Name != "resource" {
		t.Name = s.service.Server.Prefix + t.Name
	}
	t.Access = s.rule(written).over(s.inherited(d)).access(d.Func.Name(), s.service.Server.App)
	t.Access.Constrained = written.Has("constrained")
	s.needsToken(d)
	t.Elicits = written.Has("elicits")
	return t
}

func (s *scanner) handler(d *annotated.Decl) model.Handler {
	h := d.Handler()
	h.Token, h.Pos = d.Token(), s.at(d.Name.Pos(), d.Name.End())
	if d.Recv != nil {
		h.PointerRecv = isPointer(d.Func.Signature().Recv().Type())
	}
	return h
}

// params returns the //mcp:param directives of a handler by parameter name, and reports those
// that name none of the parameters.
func (s *scanner) params(d *annotated.Decl, known []string) map[string]*directive.Directive {
	list := map[string]*directive.Directive{}
	for _, found := range d.Directives {
		if found.Name != "param" || found.Subject.Text == "" {
			continue
		}
		name := found.Subject
		switch {
		case len(known) == 0:
			s.report(diag.UnknownParameter, name.Pos, name.End,
				"put a jsonschema tag on the field of the input type instead",
				"//mcp:param is for plain parameters, and %s has none", d)
		case !slices.Contains(known, name.Text):
			s.report(diag.UnknownParameter, name.Pos, name.End, directive.Nearest("", name.Text, known),
				"%s has no parameter %s", d, name.Text)
		case list[name.Text] != nil:
			s.report(diag.Duplicate, found.Pos, token.NoPos, "remove one of the two",
				"//mcp:param %s is written twice", name.Text)
		default:
			list[name.Text] = found
		}
	}
	return list
}

// needsToken reports a handler of a strict package without its token.
func (s *scanner) needsToken(d *annotated.Decl) {
	if d.Token() != "" || s.service.Server.Unannotated != "strict" || d.Name.Name == "_" ||
		!isHandler(d.Func.Signature()) || s.unreadable(d) {
		return
	}
	h := s.handler(d)
	s.reject(d, diag.NoToken,
		"add the parameter _ "+h.TokenName()+" as the last one",
		"package %s is strict, and %s has no token", s.pkg.Name, h)
}
