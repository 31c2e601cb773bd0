package boundaryitem_test

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
)

func TestItemsAreParsed(t *testing.T) {
	for text, want := range map[string]boundaryitem.Item{
		"tool:a":                    {Kind: boundaryitem.Tool, Name: "a"},
		"tool:a b=":                 {Kind: boundaryitem.Tool, Name: "a", Argument: "b"},
		"tool:a b=c d=e":            {Kind: boundaryitem.Tool, Name: "a", Argument: "b", Value: "c d=e"},
		"prompt:a":                  {Kind: boundaryitem.Prompt, Name: "a"},
		"resource:doc://a/{id}?b=c": {Kind: boundaryitem.Resource, Name: "doc://a/{id}?b=c"},
		"skill:skill://a/SKILL.md":  {Kind: boundaryitem.Skill, Name: "skill://a/SKILL.md"},
		"catalog:my tools":          {Kind: boundaryitem.Catalog, Name: "my tools"},
	} {
		got, err := boundaryitem.Parse(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":            "has no kind that exists: write tool:NAME,",
		"a":           "has no kind that exists: write tool:NAME,",
		"*":           "must be the only one",
		"Tool:a":      "did you mean tool:a?",
		"value:a":     "has no kind that exists: write tool:NAME,",
		"tool:":       "has no name, or spaces around the name: write tool:NAME",
		"tool: a":     "has no name, or spaces",
		"tool:a b":    "has something else than ARGUMENT=VALUE after the name of its tool: write tool:a ARGUMENT=VALUE",
		"tool:a =b":   "has something else than ARGUMENT=VALUE",
		"tool:a  b=c": "has something else than ARGUMENT=VALUE",
	} {
		if _, err := boundaryitem.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
