package annotated

import (
	"go/ast"
	"testing"
)

// TestDeclarationsAreReadForNearLinesAlone bounds the time for large files: a search of the
// declarations for each comment takes quadratic time.
func TestDeclarationsAreReadForNearLinesAlone(t *testing.T) {
	for text, want := range map[string]int{
		"// a comment of the code":    0,
		"//mcp.limit timeout=1s":      0, // it has arguments: its place does not matter
		"// mcp:limits are in a body": 1,
	} {
		read := 0
		new(reader).misses(&ast.Comment{Slash: 1, Text: text}, func() bool { read++; return true })
		if read != want {
			t.Errorf("%s: the declarations were read %d times, want %d", text, read, want)
		}
	}
}
