package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

const writeElicits = "write elicits in its directive"

// asking reports handlers without elicits whose bodies ask the client.
func asking(prog *load.Program, pkg *load.Package, service model.Service) (list diag.List) {
	handlers := map[model.Position]*model.Tool{} // by the place of the name
	for _, t := range service.Served() {
		if !t.Elicits {
			handlers[t.Handler.Pos] = t.Tool
		}
	}
	for _, f := range pkg.Files {
		for _, d := range f.Syntax.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			t, ok := handlers[prog.Position(fn.Name.Pos(), fn.Name.End())]
			if !ok {
				continue
			}
			call := asks(pkg.Info, fn.Body)
			if call == nil {
				continue
			}
			cure := writeElicits
			if t.Limits.Isolate != "" {
				cure = "remove the call, or isolate=process: that process cannot reach a client"
			} else if t.Limits.NonBlocking {
				cure = "remove the call, or remove nonblocking and " + writeElicits
			}
			list.Add(diag.CannotAsk, prog.Position(call.Fun.Pos(), call.Fun.End()), cure,
				"the handler %s asks its client without elicits, so the call fails", t.Handler)
		}
	}
	return list
}

// asks returns the first call of a body that asks the client, or nil.
func asks(info *types.Info, body *ast.BlockStmt) (first *ast.CallExpr) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && first == nil {
			fn := typeutil.StaticCallee(info, call)
			if fn != nil && slices.ContainsFunc([]string{"Elicit", "ElicitForm", "Sample", "Roots"},
				func(name string) bool { return is(fn, runtimePath, name) }) {
				first = call
			}
		}
		return first == nil
	})
	return first
}

// elicits inserts the key into the directive of the handler whose body contains pos.
func elicits(file *source, pos token.Pos) []analysis.SuggestedFix {
	for _, d := range file.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil || pos < fn.Pos() || fn.End() <= pos {
			continue
		}
		for _, comment := range fn.Doc.List {
			word, _, _ := strings.Cut(comment.Text, " ")
			switch word {
			case "//mcp:tool", "//mcp:prompt", "//mcp:resource":
				end := comment.Pos() + token.Pos(len(strings.TrimRight(file.line(comment.Pos()), " \t")))
				return fix("Write elicits", analysis.TextEdit{
					Pos: end, End: end, NewText: []byte(" elicits"),
				})
			}
		}
	}
	return nil
}
