package scan

import (
	"go/ast"
	"testing"
)

func TestThePackageDocIsTheServersDescription(t *testing.T) {
	for text, want := range map[string]string{
		"// Package parts serves parts. More of it.": "Serves parts.",
		"// Command board is a server of parts.":     "A server of parts.",
		"// The parts of a shop.":                    "The parts of a shop.",
	} {
		group := &ast.CommentGroup{List: []*ast.Comment{{Text: text}}}
		if got := synopsis(group, "parts", "board"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := synopsis(nil, "parts", "board"); got != "" {
		t.Errorf("without a comment it is %q", got)
	}
}
