package directive

import (
	"fmt"
	"strings"
)

// Synopsis is the directive with all it can say, on one line: "//mcp:server [name=TEXT] [title=TEXT] …".
func (s Spec) Synopsis() string {
	var b strings.Builder
	b.WriteString("//mcp:" + s.Name)
	switch s.Form {
	case Chain:
		b.WriteString(" [A < B < C]")
	case Named:
		b.WriteString(" NAME")
	case Bindings:
		b.WriteString(" KIND={ARGUMENT} …")
	case Valued:
		b.WriteString(" ARGUMENT=VALUE,…")
	}
	for _, k := range s.Keys {
		if k.Must {
			b.WriteString(" " + k.Usage())
		} else {
			b.WriteString(" [" + k.Usage() + "]")
		}
	}
	return b.String()
}

// Where says in words where the directive may stand.
func (s Spec) Where() string {
	names := make([]string, len(s.Places))
	for i, p := range s.Places {
		names[i] = p.String()
	}
	where := strings.Join(names, ", ")
	if i := strings.LastIndex(where, ", "); i >= 0 {
		where = where[:i] + " or " + where[i+2:]
	}
	switch {
	case s.Below:
		where += ", beside //mcp:tool, //mcp:prompt or //mcp:resource"
	case s.OfTool && s.Stands(PackageDoc): // //mcp:icon
		where = PackageDoc.String() + ", or beside //mcp:tool"
	case s.OfTool:
		where += ", beside //mcp:tool"
	}
	return where
}

// Explain is the text of `mcpgen explain DIRECTIVE`. The name may be written with or without
// "//mcp:". ok is false for what is no directive of this version.
func Explain(name string) (text string, ok bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "//"), "mcp:")
	s, ok := Lookup(name)
	if !ok {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "//mcp:%s %s.\n\nStands on %s.\n", s.Name, s.Says, s.Where())
	width := 0
	for _, k := range s.Keys {
		width = max(width, len(k.Usage()))
	}
	if width > 0 {
		b.WriteString("\n")
	}
	for _, k := range s.Keys {
		fmt.Fprintf(&b, "    %-*s  %s\n", width, k.Usage(), says(k))
	}
	fmt.Fprintf(&b, "\nExample\n\n    %s\n", s.Example)
	return b.String(), true
}

// says is what a key says, and that it is of tools alone where the directive is not.
func says(k Key) string {
	if k.OfTool {
		return k.Says + " (tools alone)"
	}
	return k.Says
}
