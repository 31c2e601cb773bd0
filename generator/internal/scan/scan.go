// Package scan reads annotated packages into the model: which handlers are served, under which
// names and rules, with which inputs and outputs. It is the last stage that uses go/ast and
// go/types.
package scan

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/generator/internal/codec"
	"github.com/mcpgen/mcpgen/generator/internal/compileguard"
	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
	"github.com/mcpgen/mcpgen/generator/internal/scan/faults"
	"github.com/mcpgen/mcpgen/generator/internal/scan/grantuse"
	"github.com/mcpgen/mcpgen/generator/internal/scan/loguse"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// Services returns the packages among the program's roots that have directives, by import
// path, and their findings. A tool whose own directive could not be read is left out, so that no
// later stage judges half a rule.
//
// A package without any directive has no service. Its findings are near misses and syntax errors.
func Services(prog *load.Program) ([]model.Service, diag.List) {
	var (
		services []model.Service
		findings diag.List
		scanned  []*Package
	)
	for _, pkg := range prog.Roots {
		p := One(prog, pkg)
		scanned = append(scanned, p)
		findings = append(findings, p.Findings...)
		if p.Serves {
			services = append(services, p.Service)
		}
	}
	findings = append(findings, SharedFindings(prog, scanned)...)
	findings.Sort()
	return services, findings
}

// Package is what the source of one package declares.
type Package struct {
	Service  model.Service // if Serves
	Serves   bool          // the package has a directive
	Findings diag.List     // about the package, without those of SharedFindings
	Warnings diag.List     // they stop nothing

	pkg    *load.Package
	faults faults.Set
	unread []unread
	lacks  map[string]bool // the names that scanner.lacking reports: some builds lack them
}

// unread is a tool whose signature holds a type that could not be read.
type unread struct {
	handler string
	pos     model.Position
}

// One reads one root of the program.
func One(prog *load.Program, pkg *load.Package) *Package {
	p := &Package{pkg: pkg}
	if len(pkg.Syntax) > 0 {
		// A file that was read in part may lack directives: its other findings would mislead.
		p.Findings = pkg.Syntax
		return p
	}
	p.faults, p.lacks = faults.Set{}, map[string]bool{}
	decls, opted := annotated.Read(prog, pkg, &p.Findings)
	if !opted {
		return p
	}
	if endless := prog.Endless(pkg); len(endless) > 0 {
		p.Findings = append(p.Findings, endless...)
		return p
	}
	p.Serves = true
	s := &scanner{
		Package: p, prog: prog, decls: decls, partial: map[string]bool{},
		uis: map[string]directive.Span{}, ruledURIs: map[string]bool{},
		edited:    map[*types.Var]directive.Span{},
		grantUses: sync.OnceValue(func() *grantuse.Funcs { return grantuse.Read(pkg) }),
	}
	s.scan()
	return p
}

// Sound reports whether neither the package nor the packages of the main module that it imports
// have a finding or a type error. SharedFindings has no finding about a sound package.
func (p *Package) Sound(prog *load.Program) bool {
	return len(p.Findings)+len(p.faults)+len(p.unread) == 0 &&
		!slices.ContainsFunc(prog.Imports(p.pkg), func(i *load.Package) bool {
			return i.Local && len(i.Syntax)+len(i.TypeErrors) > 0
		})
}

// Elsewhere returns the findings of this package whose positions may be in other packages. These
// are its part of SharedFindings, which must have run before, and findings about fields that other
// packages declare.
func (p *Package) Elsewhere() diag.List {
	list := p.faults.List()
	for _, d := range p.Findings {
		if d.Code != diag.DoesNotParse && filepath.Dir(d.Pos.File) != p.pkg.Dir {
			list = append(list, d)
		}
	}
	return list
}

// scanner makes the service of one package.
type scanner struct {
	*Package
	prog  *load.Program
	decls []*annotated.Decl

	walker   *schema.Walker
	codecs   *codec.Planner
	names    names
	defaults map[string]defaults // by type; those of the package by ""
	inherits map[string]bool     // types of which a tool has looked at the default
	handlers []*types.Func
	bases    []string // types of the package that served types embed
	// nullOptional is optional=null of //mcp:server.
	nullOptional bool
	files        []string                      // schemas by hand, relative to the package
	edited       map[*types.Var]directive.Span // //mcp:param of fields, of one handler
	texts        []*types.Const                // constants that directives name
	// prompts and resources whose arguments are not all known, by name and URI
	partial   map[string]bool
	uis       map[string]directive.Span // the first ui= of each URI
	ruledURIs map[string]bool           // resources with a rule of their own, by URI
	makers    map[string]*maker         // of //mcp:worker, by the types that they make
	// a //mcp:worker could not be read: which type lacks one is not known
	unmade     bool
	grantUses  func() *grantuse.Funcs
	shown      []shown // the handlers whose schemas have named string types
	order      roleorder.Order
	scopes     scopeorder.Order
	roleType   *types.TypeName
	roleVals   []*types.Const
	fieldRules fieldRules
}

func (s *scanner) scan() {
	s.walker = schema.New(s.pkg.Types, comments{s.prog, s})
	s.walker.Guard = s.guardOf
	s.codecs = codec.New(s.pkg.Types, s.walker)
	s.Service = model.Service{
		Package: s.pkg.Path, Name: s.pkg.Name, Dir: s.pkg.Dir, Module: s.pkg.Module,
	}
	for _, name := range s.pkg.Foreign {
		lacks := fmt.Sprintf("the line %q", load.Header)
		if name == load.ManifestFile {
			lacks = "the number of a manifest's format"
		}
		place := model.Position{File: filepath.Join(s.pkg.Dir, name), Line: 1, Col: 1}
		s.Findings.Add(diag.NotOurs, place,
			"rename the file, or delete it if it was generated", "%s is not a file of mcpgen: it lacks %s",
			name, lacks)
	}
	s.header()
	s.hierarchy()
	s.inclusions()
	s.readDefaults()
	s.types()
	s.namedFields()
	s.tools()
	s.secrets()
	s.enums()
	s.strays()
	s.unused()
	s.unexported()
	s.fields()
	s.Service.Objects = s.codecs.Objects()
	s.receivers()
	s.Service.Quiet = loguse.Quiet(s.prog, s.pkg, s.Service.Handlers())
	s.scope()
	s.watch()
}

// header reads //mcp:server.
func (s *scanner) header() {
	for _, d := range s.decls {
		if d.Place == directive.PackageDoc {
			s.visible(d.Doc)
			s.Service.Server.Description = cmp.Or(s.Service.Server.Description,
				synopsis(d.Doc, s.pkg.Name, path.Base(s.pkg.Path)))
			icons, _ := s.meta(d, "")
			s.Service.Server.Icons = append(s.Service.Server.Icons, icons...)
		}
	}
	s.Service.Server.Name = s.pkg.Name
	if s.pkg.Name == "main" {
		s.Service.Server.Name = path.Base(s.pkg.Path)
	}
	d := s.single("server")
	if d == nil {
		return
	}
	s.nullOptional, s.walker.NotNull = d.Has("optional"), s.ruled()
	s.walker.RequiredByTags = d.Has("required")
	s.Service.Server = model.Server{
		Name:  cmp.Or(d.Text("name"), s.Service.Server.Name),
		Title: d.Text("title"), Version: d.Text("version"), App: d.Text("app"), Prefix: d.Text("prefix"),
		Description: s.Service.Server.Description,
		Website:     s.website(d), Icons: s.Service.Server.Icons, Client: s.client(d),
		Named: d.Has("name"), Pos: s.at(d.Span),
	}
	if kind := d.Text("unannotated"); kind != "error" {
		s.Service.Server.Unannotated = kind
	}
}

// ruled returns the names of arguments whose values have rules, which cannot cover null.
func (s *scanner) ruled() map[string]bool {
	names := map[string]bool{}
	for _, d := range s.decls {
		for _, found := range d.Directives {
			if found.Name == "rule" {
				names[found.Subject.Text] = true
			}
		}
	}
	return names
}

// single returns the package's only directive of that name, in the package doc of any file; further
// ones are reported.
func (s *scanner) single(name string) (first *directive.Directive) {
	for _, d := range s.decls {
		if d.Place != directive.PackageDoc {
			continue
		}
		for _, found := range d.Directives {
			if found.Name != name {
				continue
			}
			if first != nil {
				s.report(diag.Duplicate, found.Span, "remove one of the two",
					"the package has another //mcp:%s at %s", name, s.short(first.Pos))
				continue
			}
			first = found
		}
	}
	return first
}

// receivers fills the parameters of Toolset: one per type with handlers. Methods whose calls run in
// processes of their own do not count: their receivers are made there.
func (s *scanner) receivers() {
	byType := map[string]*model.Receiver{}
	elsewhere := map[string]bool{}
	for _, t := range s.Service.Tools {
		if t.Limits.Isolate != "" {
			elsewhere[t.Handler.String()] = true
		}
	}
	for _, h := range s.Service.Handlers() {
		if h.Recv == "" || elsewhere[h.String()] {
			continue
		}
		r := byType[h.Recv]
		if r == nil {
			object := s.pkg.Types.Scope().Lookup(h.Recv)
			r = &model.Receiver{Type: h.Recv, Interface: object != nil && types.IsInterface(object.Type())}
			byType[h.Recv] = r
		}
		r.Pointer = r.Pointer || h.PointerRecv
	}
	for _, r := range byType {
		s.Service.Receivers = append(s.Service.Receivers, *r)
	}
	sortBy(s.Service.Receivers, func(r model.Receiver) string { return r.Type })
	taken := map[string]bool{}
	for i := range s.Service.Receivers {
		r := &s.Service.Receivers[i]
		r.Param = s.parameter(r.Type, taken)
		taken[r.Param] = true
	}
}

// scope lists the package-level names of the author's own files.
func (s *scanner) scope() {
	scope := s.prog.Scope(s.pkg)
	s.Service.Imports = scope.Imports
	s.Service.Scope = slices.Sorted(maps.Keys(scope.Names))
	for _, name := range s.Service.Scope {
		s.Service.Declared = append(s.Service.Declared, scope.Names[name])
	}
}

// watch lists what the compiler and the generated test watch over.
func (s *scanner) watch() {
	if s.roleType != nil {
		s.Service.Roles.Type = s.roleType.Name()
	}
	named := s.walker.Named()
	s.Service.CompileGuards = compileguard.For(compileguard.Facts{
		Package: s.pkg.Types, Handlers: s.handlers, Types: named,
		Consts: slices.Concat(s.walker.Enums(), s.roleVals, s.texts), Local: s.prog.Local,
	})
	decls := map[string]map[string]bool{}
	add := func(pkg *load.Package, name string) {
		rel, err := filepath.Rel(s.pkg.Dir, pkg.Dir)
		if err != nil {
			return // another volume: not the same module
		}
		rel = filepath.ToSlash(rel)
		if decls[rel] == nil {
			decls[rel] = map[string]bool{}
		}
		decls[rel][name] = true
	}
	for _, h := range s.Service.Handlers() {
		add(s.pkg, h.String())
	}
	for _, t := range s.Service.Tools {
		if t.Worker != nil {
			add(s.pkg, t.Worker.Name)
		}
	}
	for _, base := range s.bases {
		add(s.pkg, base+".") // a handler of the type would be one of a served type
	}
	if s.roleType != nil {
		named = append(slices.Clone(named), s.roleType)
	}
	for _, c := range s.walker.Enums() {
		if n, ok := types.Unalias(c.Type()).(*types.Named); ok {
			named = append(named, n.Obj())
		}
		if pkg := s.prog.Package(c.Pkg().Path()); pkg != nil {
			s.lacking(s.prog.ConditionalConst(pkg, c.Name()), "the schema of a tool")
		}
	}
	for _, d := range s.decls {
		if d.Func != nil && d.Serving() != nil {
			s.lacking(d.Conditional(s.prog, s.pkg, invalid(d.Func.Signature())), "the schema of a tool")
		}
	}
	for _, n := range named {
		if n.Pkg() == nil {
			continue
		}
		pkg := s.prog.Package(n.Pkg().Path())
		if pkg == nil || !pkg.Local || pkg.Module != s.pkg.Module {
			continue
		}
		f := pkg.FileOf(s.prog.Fset, n.Pos())
		if f != nil && f.TypedClient() {
			continue // the file may not exist yet; compile guards watch its types
		}
		add(pkg, n.Name())
		s.conditional(n)
	}
	for path, names := range s.fieldRules.structs {
		for name := range names {
			if pkg := s.prog.Package(path); pkg.Module == s.pkg.Module && name != "" {
				add(pkg, name)
			}
		}
	}
	slices.Sort(s.files)
	s.Service.HashInputs.Files = slices.Compact(s.files)
	s.Service.HashInputs.Decls = map[string][]string{}
	for dir, set := range decls {
		s.Service.HashInputs.Decls[dir] = slices.Sorted(maps.Keys(set))
	}
}

// SharedFindings reports what several packages may have in common: a type without a schema, and
// type errors of packages with directives and of all packages of the main module that they import.
// What merely follows from a file that does not parse is not reported.
func SharedFindings(prog *load.Program, scanned []*Package) diag.List {
	var list diag.List
	all := faults.Set{}
	for _, p := range scanned {
		if !p.Serves {
			all.Merge(p.faults)
			continue
		}
		before := len(list)
		for _, pkg := range prog.Imports(p.pkg) {
			if !pkg.Local {
				continue
			}
			list = append(list, pkg.Syntax...)
			if slices.ContainsFunc(prog.Imports(pkg), func(p *load.Package) bool {
				return len(p.Syntax) > 0 && p.Local
			}) {
				continue
			}
			for _, e := range pkg.TypeErrors {
				if p.lacks[e.Undefined] {
					continue // other builds have it: MCP022 is reported
				}
				list.Add(diag.DoesNotCheck, e.Pos, "", "%s", e.Message)
			}
		}
		if len(list) == before {
			p.noteUnread(prog)
		}
		all.Merge(p.faults)
	}
	return append(list, all.List()...)
}

// noteUnread notes tools whose types could not be read although nothing of the main module
// is in error: they must not be lost in silence. Either a package of another module does not
// compile, or the type is C's, which only the go command can resolve.
func (p *Package) noteUnread(prog *load.Program) {
	if len(p.unread) == 0 || len(p.lacks) > 0 {
		return
	}
	name, why := "C types", "uses a C type, whose size and fields differ from system to system"
	fix := "use a Go type, and convert it in the handler"
	for _, pkg := range prog.Imports(p.pkg) {
		if pkg.Ungenerated {
			return // the type may depend on a constant that does not exist yet
		}
		if len(pkg.TypeErrors) > 0 && !pkg.Local {
			e := pkg.TypeErrors[0]
			why = fmt.Sprintf("uses a type that needs package %s, which does not compile: %s: %s",
				pkg.Path, load.Short(e.Pos), e.Message)
			fix, name = "use another version of its module", "types of package "+pkg.Path
			break
		}
	}
	for _, u := range p.unread {
		p.faults.AddPackage(name, diag.Diagnostic{
			Code: diag.UnsupportedType, Pos: u.pos,
			Message: u.handler + " " + why, Suggestion: fix,
		})
	}
}

func (s *scanner) report(code diag.Code, span directive.Span, fix, format string, args ...any) {
	s.Findings.Add(code, s.at(span), fix, format, args...)
}

// reported reports whether there is a finding with this code and position.
func (s *scanner) reported(code diag.Code, place model.Position) bool {
	return slices.ContainsFunc(s.Findings, func(d diag.Diagnostic) bool {
		return d.Code == code && d.Pos == place
	})
}

func (s *scanner) at(span directive.Span) model.Position {
	return s.prog.Position(span.Pos, span.End)
}

func spanOf(n ast.Node) directive.Span { return directive.Span{Pos: n.Pos(), End: n.End()} }

// short is a place as one message names another: file name and line.
func (s *scanner) short(pos token.Pos) string { return load.Short(s.prog.Position(pos, pos)) }

func sortBy[T any](list []T, key func(T) string) {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(key(a), key(b)) })
}
