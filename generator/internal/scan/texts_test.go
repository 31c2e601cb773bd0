package scan

import (
	"go/ast"
	"strings"
	"testing"
)

func TestThePackageDocIsTheServersDescription(t *testing.T) {
	for text, want := range map[string]string{
		"// Package parts serves parts. More of it.":                               "Serves parts.",
		"// Command board is a server of parts.":                                   "A server of parts.",
		"// The parts of a shop.":                                                  "The parts of a shop.",
		"// +groupName=parts\n// @title Parts API\n// Package parts serves parts.": "Serves parts.",
		"// Package parts serves\n// swagger:meta\n// parts.":                      "Serves parts.",
	} {
		group := &ast.CommentGroup{}
		for line := range strings.SplitSeq(text, "\n") {
			group.List = append(group.List, &ast.Comment{Text: line})
		}
		if got := synopsis(group, "parts", "board"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := synopsis(nil, "parts", "board"); got != "" {
		t.Errorf("without a comment it is %q", got)
	}
}
