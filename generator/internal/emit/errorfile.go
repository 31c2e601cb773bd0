package emit

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// ErrorFile returns the file that makes go build, vet and test fail and print the diagnostics of a
// package. A run of mcpgen without diagnostics removes it. dir and name are the package's.
//
// Each diagnostic is in a type error, since the compiler continues after one; after a syntax error
// it prints nothing else. The type error is a missing method of a string constant: other errors
// print the text twice, as an expression and as a constant. The compiler prints at most ten errors.
func ErrorFile(dir, name string, list diag.List) File {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n// It stops the build until you fix the errors below.\n// mcpgen removes "+
		"it in the next run without an error.\n\npackage %s\n\n", header, name)
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

// position is the position of a diagnostic, relative to the package's directory, so that the file
// is the same on every machine.
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
