package annotated

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
)

// nearMiss is a comment line that is nearly a directive.
type nearMiss struct {
	directive.Miss
	directive.Span
}

// generates matches the comment that runs mcpgen in a package.
var generates = regexp.MustCompile(`^//go:generate\s.*\bmcpgen\b`)

// misses keeps the near misses of a comment, and reports whether there is one. In the body of a
// func only a line with arguments is one: no directive belongs there, and comments quote anything.
// It calls inBody for near lines alone, because inBody reads all declarations of a file.
func (r *reader) misses(comment *ast.Comment, inBody func() bool) bool {
	if generates.MatchString(comment.Text) {
		r.generates = true
	}
	found := false
	for _, m := range directive.Misses(comment.Text) {
		if !m.Arguments && inBody() {
			continue
		}
		found = true
		span := directive.Span{Pos: comment.Pos(), End: comment.End()}
		if m.Line > 0 {
			file := r.prog.Fset.File(span.Pos)
			line := file.PositionFor(span.Pos, false).Line + m.Line
			span = directive.Span{Pos: file.LineStart(line)}
		}
		r.near = append(r.near, nearMiss{m, span})
	}
	return found
}

// reportMisses reports the near misses of a package that takes part. Such a package has a
// directive, a line that runs mcpgen by go generate, or a near miss that no other program's
// directive looks like. In other packages "//tcp:server" may be another program's directive.
func (r *reader) reportMisses() {
	sure := slices.ContainsFunc(r.near, func(m nearMiss) bool { return m.Sure })
	if !r.opted && !r.generates && !sure {
		return
	}
	for _, m := range r.near {
		message := "this comment resembles a directive, and has no effect"
		if m.Odd != "" {
			message += ": it contains the character " + m.Odd
		}
		r.report(diag.NearMiss, m.Span,
			"did you mean //mcp:"+m.Name+"? Write exactly this at the start, or reword the comment",
			"%s", message)
	}
}

// bodies returns a func that reports whether a comment is in the body of a func.
func bodies(file *ast.File, comment *ast.Comment) func() bool {
	return func() bool {
		pos := comment.Pos()
		return slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
			fn, ok := d.(*ast.FuncDecl)
			return ok && fn.Body != nil && fn.Body.Pos() < pos && pos < fn.Body.End()
		})
	}
}

// Fields reports what Read reports about rules of fields: in structs, and elsewhere if it is about
// a //mcp:field. A package whose fields are guarded has no other part in a run for its importers.
func Fields(prog *load.Program, pkg *load.Package, out *diag.List) {
	type line struct {
		file string
		line int
	}
	structs := map[line]bool{}
	for _, file := range slices.Concat(pkg.Files, pkg.Ignored) {
		ast.Inspect(file.Syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.StructType); ok {
				at := prog.Position(s.Pos(), s.End())
				last := prog.Position(s.End(), s.End()).Line
				for ; at.Line <= last; at.Line++ {
					structs[line{at.File, at.Line}] = true
				}
			}
			return true
		})
	}
	var all diag.List
	Read(prog, pkg, &all)
	for _, d := range all {
		if structs[line{d.Pos.File, d.Pos.Line}] ||
			strings.Contains(d.Message+d.Suggestion, "//mcp:field") {
			*out = append(*out, d)
		}
	}
}

func always() bool { return true }
func never() bool  { return false }
