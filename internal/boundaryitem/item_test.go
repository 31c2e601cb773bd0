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
		"":        "has no kind that exists: write tool:NAME,",
		"a":       "has no kind that exists: write tool:NAME,",
		"*":       "must be the only one",
		"Tool:a":  "did you mean tool:a?",
		"value:a": "has no kind that exists: write tool:NAME,",
		"tool:":   "has no name, or spaces around the name: write tool:NAME",
		"tool: a": "has no name, or spaces",
		"tool:a b": "has something else than ARGUMENT=VALUE after the name of its tool: " +
			"write tool:a ARGUMENT=VALUE",
		"tool:a =b":   "has something else than ARGUMENT=VALUE",
		"tool:a  b=c": "has something else than ARGUMENT=VALUE",
	} {
		if _, err := boundaryitem.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestSetsHaveTheirItems(t *testing.T) {
	set, bad := boundaryitem.NewSet([]string{"tool:whole", "tool:some a=1", "tool:some a=2",
		"tool:some b=1", "tool:both", "tool:both a=1", "prompt:p", "resource:r", "skill:s", "catalog:c",
		"resource:doc://{+path}", "skill:doc://{id}",
		"catalog:none", "tool:", "tool:lost a=1", "tool:lost z=1", "tool:whole z=1"},
		map[string][]string{"c": {"listed"}}, func(_, argument string) bool { return argument != "z" })
	if len(bad) != 3 || !strings.Contains(bad[0].Error(), `the item "tool:" has no name`) {
		t.Error(bad)
	}
	all, bad := boundaryitem.NewSet([]string{"*"}, nil, nil)
	if bad != nil {
		t.Error(bad)
	}
	var none boundaryitem.Set
	for item, want := range map[string]bool{"tool:whole": true, "tool:some": true, "tool:both": true,
		"resource:doc://{+path}": true, "resource:doc://{id}": true, "resource:doc://7": false,
		"resource:doc://{id}/text": false, "resource:doc://{a}": false, "tool:listed": true,
		"tool:p": false, "tool:c": false, "prompt:p": true, "prompt:whole": false,
		"resource:r": true, "resource:s": true, "resource:p": false, "tool:other": false,
		"tool:some a=1": true, "tool:some a=2": true, "tool:some a=3": false, "tool:some b=1": true,
		"tool:some b=2": false, "tool:some c=3": true, "tool:both a=2": true, "tool:listed a=1": true,
		"tool:other a=1": false, "tool:lost": false, "tool:lost a=1": false, "tool:lost z=1": false,
		"tool:whole a=1": true} {
		i, err := boundaryitem.Parse(item)
		if err != nil {
			t.Fatal(err)
		}
		has := func(s boundaryitem.Set) bool {
			if i.Argument != "" {
				return s.HasValue(i.Name, i.Argument, i.Value)
			}
			return s.Has(i.Kind, i.Name)
		}
		if has(set) != want || !has(all) || has(none) {
			t.Errorf("%s: %t, of all %t, of none %t", item, has(set), has(all), has(none))
		}
	}
}
