package scan

import (
	"go/ast"
	"testing"
)

func TestDescriptionsBeginWithoutTheGoName(t *testing.T) {
	for text, want := range map[string]string{
		"GetByID returns one person.":         "Returns one person.",
		"GetByID returns one.\n\nMore of it.": "Returns one.\n\nMore of it.",
		"GetByID is the page of a person.":    "The page of a person.",
		"GetByID is listed last.":             "GetByID is listed last.",
		"GetByID and Get return a person.":    "GetByID and Get return a person.",
		"GetByID IDs are numbers.":            "GetByID IDs are numbers.",
		"GetByID öffnet eine Person.":         "Öffnet eine Person.",
		"GetByIDs returns people.":            "GetByIDs returns people.",
		"GetByID's result is a person.":       "GetByID's result is a person.",
		"Returns what GetByID returns.":       "Returns what GetByID returns.",
		"GetByID":                             "GetByID",
		"GetByID ":                            "GetByID ",
		"":                                    "",
		"GetByID is":                          "GetByID is",
		"GetByID \xff":                        "GetByID \xff",
	} {
		if got := withoutName(text, "GetByID"); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

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
