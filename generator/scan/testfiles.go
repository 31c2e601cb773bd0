package scan

import (
	"bytes"
	"go/parser"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/load"
)

// testFiles reports directives in the package's test files: nothing is served from there, and
// whoever wrote one believes otherwise. //mcp:ignore may stand there, as nothing is what it asks for. Only
// files that hold the letters of a directive are parsed; what does not parse is the compiler's to tell.
func (s *scanner) testFiles() {
	entries, _ := os.ReadDir(s.pkg.Dir)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), "_test.go") || entry.Name() == load.TestFile {
			continue
		}
		path := filepath.Join(s.pkg.Dir, entry.Name())
		// Of what is no file, such as a named pipe, opening alone may wait for ever.
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(text, []byte("//mcp:")) {
			continue
		}
		file, _ := parser.ParseFile(s.prog.Fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if file == nil {
			continue
		}
		for _, group := range file.Comments {
			for _, comment := range group.List {
				if !directive.Is(comment) {
					continue
				}
				if d, _ := directive.Parse(comment); d.Name != "ignore" {
					s.report(diag.Misplaced, d.Pos, d.End, "move it, with what it stands on, to a file without _test in its name, or remove it",
						"//mcp:%s stands in a test file, from which nothing is served", d.Name)
				}
			}
		}
	}
}
