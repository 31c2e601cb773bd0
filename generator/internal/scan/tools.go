package scan

import (
	"cmp"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
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
		t := &reading{scanner: s, decl: d, written: found}
		switch {
		case found != nil && found.Name == "tool":
			s.walker.NullOptional = s.nullOptional // not in prompts: their arguments are strings
			t.tool()
			s.walker.NullOptional = false
		case found != nil && found.Name == "prompt":
			t.prompt()
		case found != nil && found.Name == "resource":
			t.resource()
		case found != nil:
			t.completion()
		case ignore != nil:
			s.ignore(d, ignore)
		case !d.Attempted && d.Token() != "":
			t.reject(diag.MissingDirective,
				"serve it with //mcp:tool and an access rule, or remove the parameter",
				"handler %s takes the token %s, but no directive serves it", d, d.Token())
		case !d.Attempted && s.forgotten(d.Func) && (d.Recv == nil || served[d.Recv.Name()]):
			t.reject(diag.MissingDirective,
				`serve it with //mcp:tool and an access rule, or exclude it with //mcp:ignore reason="…"`,
				"handler %s has no //mcp:tool and no //mcp:ignore", d)
		}
	}
	s.promoted(served)
	s.idle()
	sortBy(s.Service.Tools, func(t model.Tool) string { return t.Name + "\x00" + t.Handler.String() })
	sortBy(s.Service.Prompts, func(p model.Prompt) string {
		return p.Name + "\x00" + p.Handler.String()
	})
	sortBy(s.Service.Resources, func(r model.Resource) string {
		return r.URI + "\x00" + r.Handler.String()
	})
	sortBy(s.Service.Completions, func(c model.Completion) string { return c.Handler.String() })
	sortBy(s.Service.Ignored, func(i model.Ignored) string { return i.Handler })
	s.constantsOf()
	s.completions()
	s.apps()
}

// forgotten reports whether a func without a directive is a finding: an exported handler that
// could be a tool, in a package that does not opt out of the check by unannotated=ignore.
func (s *scanner) forgotten(fn *types.Func) bool {
	return s.Service.Server.Unannotated != "ignore" && fn.Exported() &&
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
			if fn.Pkg() == s.pkg.Types && s.forgotten(fn) && s.inEveryBuild(fn) &&
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
		s.Findings.Add(diag.MissingDirective, s.declared(fn), fix,
			"handler %s, which %s %s by embedding, has no //mcp:tool and no //mcp:ignore",
			name, of, has)
	}
}

// inEveryBuild reports whether every build has the declaration.
func (s *scanner) inEveryBuild(fn *types.Func) bool {
	f := s.pkg.FileOf(s.prog.Fset, fn.Pos())
	return f != nil && !f.Constrained
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
			s.report(diag.Misplaced, ignore.Span, "remove it",
				"%s is not a handler, so //mcp:ignore has no effect", d)
		}
		return
	}
	if name := d.Token(); name != "" {
		s.report(diag.NoToken, ignore.Span, "remove the parameter, or serve the handler",
			"%s has a parameter %s, but //mcp:ignore takes no token", d, name)
	}
	s.Service.Ignored = append(s.Service.Ignored, model.Ignored{
		Handler: d.String(), Reason: ignore.Text("reason"), Pos: s.at(ignore.Span),
	})
}

// reading is the reading of one handler, with the tool, prompt or resource that it becomes.
type reading struct {
	*scanner
	model.Tool
	decl    *annotated.Decl
	written *directive.Directive // that serves it
	hand    byHand
	edits   map[*types.Var]schema.Edit
	fields  map[*directive.Directive]bool // //mcp:param of fields
}

func (t *reading) String() string { return t.decl.String() }

// reject reports a finding at the name of the handler.
func (t *reading) reject(code diag.Code, fix, format string, args ...any) {
	t.report(code, spanOf(t.decl.Name), fix, format, args...)
}

func (t *reading) tool() {
	t.served()
	t.Hints = model.Hints{
		ReadOnly: t.written.Hint("readonly"), Destructive: t.written.Hint("destructive"),
		Idempotent: t.written.Hint("idempotent"), OpenWorld: t.written.Hint("openworld"),
	}
	t.Catalogs = slices.Sorted(slices.Values(t.written.List("catalog")))
	t.metadata()
	t.staysWithin()
	t.checkName(t.Name)
	t.hand = t.byHand()
	t.signature()
	t.allows()
	t.values()
	t.shows()
	t.capable()
	t.isolated()
	t.onlyComputes()
	if t.written.Broken {
		return
	}
	t.handlers = append(t.handlers, t.decl.Func)
	t.Service.Tools = append(t.Service.Tools, t.Tool)
}

// served reads what tools, prompts and resources have in common.
func (t *reading) served() {
	t.visible(t.decl.Doc)
	comment := schema.WithoutName(schema.Description(t.decl.Doc.Text()), t.decl.Func.Name())
	t.Tool = model.Tool{
		Name: t.written.Text("name"), Title: t.written.Text("title"),
		Description: cmp.Or(t.text(t.written, "description"), comment),
		Denial:      t.written.Text("denial"),
		Limits:      t.limits(),
		Handler:     t.handler(),
		Pos:         t.at(t.written.Span),
	}
	if t.Name == "" {
		t.Name = naming.Snake(t.decl.Func.Name())
	}
	if t.written.Name != "resource" {
		t.Name = t.Service.Server.Prefix + t.Name
	}
	t.Access = t.rule(t.written).over(t.inherited()).access(t.decl.Func.Name(), t.Service.Server.App)
	t.Access.Constrained = t.written.Has("constrained")
	t.needsToken()
	t.Elicits = t.written.Has("elicits")
	for _, facts := range [][]string{slices.Sorted(slices.Values(t.written.List("facts"))),
		t.defaultsOf().facts, t.defaults[""].facts} {
		if t.Facts == nil {
			t.Facts = facts
		}
	}
}

// staysWithin removes the fact egress of a tool that stays within this system.
func (t *reading) staysWithin() {
	if t.Facts == nil || t.Hints.OpenWorld == nil || *t.Hints.OpenWorld {
		return
	}
	if slices.Contains(t.written.List("facts"), model.Egress) {
		arg, _ := t.written.Arg("facts")
		t.report(diag.Contradiction, arg.Span, "remove egress, or openworld=false",
			"%s has the fact egress beside openworld=false", t)
	}
	t.Facts = slices.DeleteFunc(slices.Clone(t.Facts), func(fact string) bool {
		return fact == model.Egress
	})
	if len(t.Facts) == 0 {
		t.Facts = []string{"none"}
	}
}

func (t *reading) handler() model.Handler {
	h := t.decl.Handler()
	h.Token, h.Pos = t.decl.Token(), t.at(spanOf(t.decl.Name))
	if t.decl.Recv != nil {
		h.PointerRecv = isPointer(t.decl.Func.Signature().Recv().Type())
	}
	return h
}

// params returns the //mcp:param directives of a handler by parameter name, and reports those
// that name neither a parameter nor a field.
func (t *reading) params(known []string) map[string]*directive.Directive {
	list := map[string]*directive.Directive{}
	for _, found := range t.decl.Directives {
		if found.Name != "param" || found.Subject.Text == "" || t.fields[found] {
			continue
		}
		name := found.Subject
		switch {
		case len(known) == 0:
			t.report(diag.UnknownParameter, name.Span,
				"put a jsonschema tag on the field of the input type instead",
				"//mcp:param is for plain parameters, and %s has none", t)
		case !slices.Contains(known, name.Text):
			t.report(diag.UnknownParameter, name.Span, directive.Nearest("", name.Text, known),
				"%s has no parameter %s", t, name.Text)
		case list[name.Text] != nil:
			t.report(diag.Duplicate, directive.Span{Pos: found.Pos}, "remove one of the two",
				"//mcp:param %s is written twice", name.Text)
		default:
			list[name.Text] = found
		}
	}
	return list
}

// needsToken reports a handler of a strict package without its token.
func (t *reading) needsToken() {
	if t.decl.Token() != "" || t.Service.Server.Unannotated != "strict" || t.decl.Name.Name == "_" ||
		!isHandler(t.decl.Func.Signature()) || t.unreadable() {
		return
	}
	h := t.handler()
	t.reject(diag.NoToken,
		"add the parameter _ "+h.TokenName()+" as the last one",
		"package %s is strict, and %s has no token", t.pkg.Name, h)
}
