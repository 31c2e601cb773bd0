package toolset

import (
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Only returns a copy with the named tools, and with all prompts and resources. Without names it
// has no tools. The server does not know removed tools: a call gets the error of an unknown tool.
// A name that the package does not have is an error of runtime.New; see [Toolset.Unknown].
func (t Toolset) Only(tools ...string) Toolset {
	return t.check(tools).narrow(func(tool Tool) bool { return slices.Contains(tools, tool.Name) })
}

// Without returns a copy without the named tools. It is otherwise like [Toolset.Only].
func (t Toolset) Without(tools ...string) Toolset {
	return t.check(tools).narrow(func(tool Tool) bool { return !slices.Contains(tools, tool.Name) })
}

// ReadOnly returns a copy without the tools that are not marked readonly. Prompts and resources
// stay, because the protocol has them for reading only. The mark is the author's statement:
// mcpgen prove compares it with the code.
func (t Toolset) ReadOnly() Toolset {
	return t.narrow(func(tool Tool) bool { return tool.Annotations.ReadOnlyHint })
}

// Removed returns the tools that narrowing has removed, in its order. Their catalogs still exist.
func (t Toolset) Removed() []Tool { return Generated{Tools: t.removed}.clone().Tools }

// Unknown returns the names that [Toolset.Only] and [Toolset.Without] got and the package does not
// have. The name of a tool that was removed before is not among them.
func (t Toolset) Unknown() []string { return slices.Clone(t.unknown) }

func (t Toolset) check(names []string) Toolset {
	t.unknown = slices.Clone(t.unknown)
	for _, name := range names {
		if named := func(tool Tool) bool { return tool.Name == name }; !slices.ContainsFunc(
			t.generated.Tools, named) && !slices.ContainsFunc(t.removed, named) {
			t.unknown = append(t.unknown, name)
		}
	}
	return t
}

// narrow removes the tools that keep refuses, with their rules. Rules of fields stay: another tool
// may return the type of the field below an interface.
func (t Toolset) narrow(keep func(Tool) bool) Toolset {
	t.generated, t.removed = t.generated.clone(), slices.Clone(t.removed)
	t.generated.Tools = slices.DeleteFunc(t.generated.Tools, func(tool Tool) bool {
		if keep(tool) {
			return false
		}
		t.removed = append(t.removed, tool)
		of := func(rule access.Rule) bool { return rule.Tool == tool.Name }
		t.generated.Table.Rules = slices.DeleteFunc(t.generated.Table.Rules, of)
		t.generated.Table.Values = slices.DeleteFunc(t.generated.Table.Values, of)
		return true
	})
	return t
}
