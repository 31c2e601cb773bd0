package annotated

import (
	"go/ast"
	lexer "go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/load"
)

// testFiles reports directives in the package's test files, and near misses with arguments. Nothing
// is served from test files. //mcp:ignore may be there, because it serves nothing. The files need
// not parse.
func (r *reader) testFiles() {
	entries, _ := os.ReadDir(r.pkg.Dir)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") || entry.Name() == load.TestFile {
			continue
		}
		path := filepath.Join(r.pkg.Dir, entry.Name())
		// Of what is no file, such as a named pipe, opening alone may wait for ever.
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var tokens lexer.Scanner
		tokens.Init(r.prog.Fset.AddFile(path, -1, len(text)), text, nil, lexer.ScanComments)
		for pos, tok, lit := tokens.Scan(); tok != token.EOF; pos, tok, lit = tokens.Scan() {
			if tok != token.COMMENT {
				continue
			}
			comment := &ast.Comment{Slash: pos, Text: lit}
			if !directive.Is(comment) {
				r.misses(comment, always)
				continue
			}
			if d, _ := directive.Parse(comment); d.Name != "ignore" {
				r.report(diag.Misplaced, d.Span,
					"move it and its declaration to a file without _test in its name, or remove it",
					"//mcp:%s is in a test file, and mcpgen ignores test files", d.Name)
			}
		}
	}
}
