package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/edge"
	"golang.org/x/tools/go/ast/inspector"
)

// A change replaces one place of the source by an expression or statement that has both: the
// original, and the mutant.
type change struct {
	pkg            string // import path
	file, function string // file is the path below the root
	kind, text     string // text is the original source, shortened
	start, end     int    // offsets in the file
	number         int    // in this run
	both           func(number int, original string) string
}

// key identifies a change in later commits as well: neither lines nor numbers are part of it.
func (c change) key() string {
	return strings.Join([]string{c.file, c.function, c.kind, c.text}, "\t")
}

const longestText = 90

// A source is one file of a package, with the types of its expressions.
type source struct {
	pkg, file string // the import path, and the path of the file
	path      string // of the file below the root, with slashes
	text      []byte
	syntax    *ast.File
	files     *token.FileSet
	types     *types.Info
}

// changes returns the changes of a file. All of them compile, because they keep the types.
func (s *source) changes() []change {
	c := collector{source: s}
	for at := range inspector.New([]*ast.File{s.syntax}).Root().Preorder() {
		c.visit(at)
	}
	times := map[string]int{}
	for i, found := range c.found {
		if times[found.key()]++; times[found.key()] > 1 {
			c.found[i].text += fmt.Sprint(" #", times[found.key()])
		}
	}
	return c.found
}

type collector struct {
	*source
	found []change
}

func (c *collector) offset(p token.Pos) int { return c.files.Position(p).Offset }

func (c *collector) textOf(n ast.Node) string {
	return string(c.text[c.offset(n.Pos()):c.offset(n.End())])
}

func (c *collector) add(at inspector.Cursor, kind string, both func(int, string) string) {
	function := "-"
	for outer := range at.Enclosing((*ast.FuncDecl)(nil)) {
		f := outer.Node().(*ast.FuncDecl)
		if function = f.Name.Name; f.Recv != nil {
			function = c.textOf(f.Recv.List[0].Type) + "." + function
		}
	}
	text := strings.Join(strings.Fields(c.textOf(at.Node())), " ")
	if runes := []rune(text); len(runes) > longestText {
		text = string(runes[:longestText]) + "…"
	}
	c.found = append(c.found, change{
		pkg: c.pkg, file: c.path, function: function, kind: kind, text: text,
		start: c.offset(at.Node().Pos()), end: c.offset(at.Node().End()), both: both})
}

// replaced is the operator of the mutant.
var replaced = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&",
}

func (c *collector) visit(at inspector.Cursor) {
	place, _ := at.ParentEdge()
	switch n := at.Node().(type) {
	case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt:
		inBlock := place == edge.BlockStmt_List || place == edge.CaseClause_Body ||
			place == edge.CommClause_Body
		if inBlock && c.canDrop(n) {
			c.add(at, "drop", func(number int, original string) string {
				return fmt.Sprintf("if !_mutant.On(%d) { %s }", number, original)
			})
		}
	case *ast.BasicLit:
		c.zeroOrOne(at, n)
	case ast.Expr:
		if !c.isBool(n) || inConstant(at) {
			break
		}
		binary, _ := n.(*ast.BinaryExpr)
		switch {
		case c.isGuard(at):
			c.add(at, "never", func(number int, original string) string {
				return fmt.Sprintf("(!_mutant.On(%d) && (%s))", number, original)
			})
		case binary != nil && (binary.Op == token.LAND || binary.Op == token.LOR):
			c.operator(at, "connective", binary)
		case binary != nil && replaced[binary.Op] != "":
			c.operator(at, "boundary", binary)
		case binary != nil, place == edge.IfStmt_Cond, place == edge.ForStmt_Cond,
			place == edge.ReturnStmt_Results, c.isTruth(n):
			c.add(at, "negate", func(number int, original string) string {
				return fmt.Sprintf("(_mutant.On(%d) != (%s))", number, original)
			})
		}
	}
}

// operator adds a change of an operator. The copy has the operands twice, the second time in one
// line, so that operands of many lines must have no comments and no functions.
func (c *collector) operator(at inspector.Cursor, kind string, n *ast.BinaryExpr) {
	text := c.textOf(n)
	if strings.Contains(text, "\n") &&
		(strings.Contains(text, "//") || strings.Contains(text, "func(")) {
		return
	}
	x := strings.ReplaceAll(c.textOf(n.X), "\n", " ")
	y := strings.ReplaceAll(c.textOf(n.Y), "\n", " ")
	with := replaced[n.Op]
	c.add(at, kind, func(number int, original string) string {
		return fmt.Sprintf("(_mutant.On(%d) && ((%s) %s (%s)) || !_mutant.On(%[1]d) && (%[5]s))",
			number, x, with, y, original)
	})
}

// zeroOrOne adds a change of 0 to 1 or of 1 to 0, unless a larger constant contains the number.
func (c *collector) zeroOrOne(at inspector.Cursor, n *ast.BasicLit) {
	other := map[string]string{"0": "1", "1": "0"}[n.Value]
	basic, isBasic := c.types.Types[n].Type.(*types.Basic)
	if other == "" || !isBasic || basic.Info()&types.IsInteger == 0 || inConstant(at) {
		return
	}
	if outer, ok := at.Parent().Node().(ast.Expr); ok && c.types.Types[outer].Value != nil {
		return
	}
	c.add(at, "constant", func(number int, original string) string {
		return fmt.Sprintf("_mutant.Pick[%s](%d, %s, %s)",
			types.Default(basic), number, other, original)
	})
}

// isBool reports whether an expression has the type bool, which the switches have.
func (c *collector) isBool(e ast.Expr) bool {
	of := c.types.Types[e]
	return of.IsValue() && types.Identical(types.Default(of.Type), types.Typ[types.Bool]) &&
		(of.Value == nil || c.isTruth(e))
}

// isTruth reports whether an expression is true or false.
func (c *collector) isTruth(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && (name.Name == "true" || name.Name == "false") &&
		c.types.Uses[name] == types.Universe.Lookup(name.Name)
}

// isGuard reports whether an expression is the condition of `if err != nil { …; return }`.
func (c *collector) isGuard(at inspector.Cursor) bool {
	place, _ := at.ParentEdge()
	n, ok := at.Node().(*ast.BinaryExpr)
	if place != edge.IfStmt_Cond || !ok || n.Op != token.NEQ || !c.types.Types[n.Y].IsNil() {
		return false
	}
	body := at.Parent().Node().(*ast.IfStmt).Body.List
	if len(body) == 0 {
		return false
	}
	_, returns := body[len(body)-1].(*ast.ReturnStmt)
	return returns
}

// inConstant reports whether an expression has to be a constant, or is a key of a literal.
func inConstant(at inspector.Cursor) bool {
	for outer := range at.Enclosing((*ast.GenDecl)(nil), (*ast.ArrayType)(nil),
		(*ast.KeyValueExpr)(nil), (*ast.FuncDecl)(nil), (*ast.FuncLit)(nil)) {
		switch n := outer.Node().(type) {
		case *ast.GenDecl:
			return n.Tok == token.CONST
		case *ast.ArrayType:
			return true
		case *ast.KeyValueExpr:
			if n.Key.Pos() <= at.Node().Pos() && at.Node().End() <= n.Key.End() {
				return true
			}
		default:
			return false
		}
	}
	return false
}

// kept are calls without which nothing but a log line, a lock or a resource differs, and those at
// which a function may end.
var kept = []string{"Log", "log", "slog", "Lock", "Unlock", "RLock", "RUnlock", "Close", "Stop",
	"cancel", "panic", "KeepAlive"}

// canDrop reports whether a program without a statement compiles, and can differ.
func (c *collector) canDrop(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		return n.Tok != token.DEFINE && !slices.ContainsFunc(n.Lhs, func(e ast.Expr) bool {
			name, ok := e.(*ast.Ident)
			return ok && name.Name == "_"
		})
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if !ok {
			return false // receives from a channel
		}
		called := strings.FieldsFunc(c.textOf(call.Fun), func(r rune) bool {
			return r == '.' || r == '('
		})
		return !slices.ContainsFunc(called, func(name string) bool {
			return slices.Contains(kept, name)
		})
	}
	return true
}
