package emit

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/model"
)

// Poison returns the file that makes go build, vet and test fail and print the diagnostics of a
// package, until a run of mcpgen without one removes it. dir and name are the package's.
//
// The text stands in a type error, since the compiler prints those and goes on; after a syntax
// error it would print nothing else. It is that of a method which no text has: others print the text
// twice, as an expression and as a constant. The compiler prints ten errors of a package at most.
func Poison(dir, name string, list diag.List) File {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n// It goes away when mcpgen has run without an error.\n\npackage %s\n\n", header, name)
	for _, d := range list {
		text := "mcpgen: " + position(dir, d.Pos) + d.Message
		if d.Code != "" {
			text += " (" + string(d.Code) + ")"
		}
		if d.Suggestion != "" {
			text += "; " + d.Suggestion
		}
		text += "; then run go generate"
		fmt.Fprintf(&b, "var _ = %s.mcpgen\n", strconv.Quote(text))
	}
	return File{Path: filepath.Join(dir, Error), Content: []byte(b.String())}
}

// position is where a diagnostic stands, as seen from the package's directory, so that the file is the
// same on every machine.
func position(dir string, pos model.Position) string {
	if pos.File == "" {
		return ""
	}
	file := pos.File
	if rel, err := filepath.Rel(dir, file); err == nil {
		file = rel
	} else {
		file = filepath.Base(file)
	}
	if pos.Line == 0 {
		return filepath.ToSlash(file) + ": "
	}
	return fmt.Sprintf("%s:%d: ", filepath.ToSlash(file), pos.Line)
}
