package load

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/token"
	"go/types"
	"go/version"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// constrained reports whether some build that the module supports leaves the file out, so that the
// verdict is the same on each machine: by a tag, by the system in the file's name, or without cgo.
// No build of a module has an older Go than its go.mod requires: goVersion, as in "go1.26".
func constrained(path string, file *ast.File, goVersion string) bool {
	return importsC(file) || tagged(path, file, goVersion)
}

func importsC(file *ast.File) bool {
	return slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"C"`
	})
}

// tagged reports whether a //go:build line or the name of a file leaves it out of some build.
func tagged(path string, file *ast.File, goVersion string) bool {
	var lines, older []string // older are lines of +build, which count without one of go:build
	for _, group := range file.Comments {
		if group.Pos() >= file.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				lines = append(lines, c.Text)
			} else if constraint.IsPlusBuild(c.Text) && group != file.Doc {
				older = append(older, c.Text)
			}
		}
	}
	if len(lines) == 0 {
		lines = older
	}
	for _, line := range lines {
		if expr, err := constraint.Parse(line); err != nil || !always(expr, goVersion) {
			return true
		}
	}
	// A system that does not exist: file names with a system do not match it.
	nowhere := build.Context{GOOS: "nowhere", GOARCH: "nothing", Compiler: "gc"}
	nowhere.OpenFile = openNothing
	match, err := nowhere.MatchFile(filepath.Dir(path), filepath.Base(path))
	return err == nil && !match
}

// mostTags bounds the tags of an expression whose combinations are tried.
const mostTags = 10

// always reports whether an expression holds in each build with a Go of the version or a later one.
func always(expr constraint.Expr, goVersion string) bool {
	var tags, releases []string
	visitTags(expr, func(tag string) {
		if isRelease(tag) {
			releases = append(releases, tag)
		} else if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	})
	if len(tags) > mostTags {
		return false
	}
	// A build with Go 1.N has the tags of all releases up to it: N+1 sets of tags are enough.
	slices.SortFunc(releases, version.Compare)
	for newest := range len(releases) + 1 {
		if newest < len(releases) && version.Compare(releases[newest], goVersion) <= 0 {
			continue // each build has this release
		}
		for set := range 1 << len(tags) {
			holds := expr.Eval(func(tag string) bool {
				if isRelease(tag) {
					return slices.Index(releases, tag) < newest
				}
				return set&(1<<slices.Index(tags, tag)) != 0
			})
			if !holds {
				return false
			}
		}
	}
	return true
}

// isRelease reports a tag such as go1.26.
func isRelease(tag string) bool { return version.IsValid(tag) && version.Lang(tag) == tag }

func visitTags(expr constraint.Expr, visit func(tag string)) {
	switch e := expr.(type) {
	case *constraint.TagExpr:
		visit(e.Tag)
	case *constraint.NotExpr:
		visitTags(e.X, visit)
	case *constraint.AndExpr:
		visitTags(e.X, visit)
		visitTags(e.Y, visit)
	case *constraint.OrExpr:
		visitTags(e.X, visit)
		visitTags(e.Y, visit)
	}
}

// openNothing replaces the file's text: only its name matters.
func openNothing(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("package p\n")), nil
}

// Conditional are the first places where files that some build lacks declare something about a type
// that changes its schema. A place is not valid if there is none.
type Conditional struct{ Type, Constants, Method token.Pos }

// Conditional looks also at files that this build leaves out, so that the result is the same in
// each.
func (p *Program) Conditional(of *types.TypeName) (c Conditional) {
	pkg := p.sources[of.Pkg().Path()]
	first := func(at *token.Pos, id *ast.Ident) {
		if !at.IsValid() {
			*at = id.Pos()
		}
	}
	for _, decl := range pkg.conditional() {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if receiverName(d) == of.Name() && slices.Contains(schema.Methods, d.Name.Name) {
				first(&c.Method, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.Name == of.Name() {
						first(&c.Type, spec.Name)
					}
				case *ast.ValueSpec:
					if d.Tok == token.CONST && hasType(spec, of.Name()) {
						first(&c.Constants, spec.Names[0])
					}
				}
			}
		}
	}
	return c
}

// ConditionalConst reports whether a file that some build lacks declares a constant.
func (pkg *Package) ConditionalConst(name string) bool {
	return slices.ContainsFunc(pkg.conditional(), func(decl ast.Decl) bool {
		d, ok := decl.(*ast.GenDecl)
		return ok && d.Tok == token.CONST && slices.ContainsFunc(d.Specs, func(spec ast.Spec) bool {
			value, ok := spec.(*ast.ValueSpec)
			return ok && slices.ContainsFunc(value.Names, func(id *ast.Ident) bool {
				return id.Name == name
			})
		})
	})
}

// conditional are the declarations of files that some build lacks, by the paths of the files.
func (pkg *Package) conditional() (decls []ast.Decl) {
	if pkg == nil {
		return nil
	}
	files := slices.Concat(pkg.Files, pkg.Ignored)
	slices.SortFunc(files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		if f.Constrained && f.Syntax.Name.Name == pkg.Name {
			decls = append(decls, f.Syntax.Decls...)
		}
	}
	return decls
}

// hasType reports whether constants have a type, by name or by a conversion.
func hasType(spec *ast.ValueSpec, name string) bool {
	is := func(expr ast.Expr) bool {
		id, ok := expr.(*ast.Ident)
		return ok && id.Name == name
	}
	return is(spec.Type) || slices.ContainsFunc(spec.Values, func(value ast.Expr) bool {
		call, ok := ast.Unparen(value).(*ast.CallExpr)
		return ok && is(call.Fun)
	})
}
