package directive

import (
	"fmt"
	"strings"
)

// Synopsis is the directive with all its keys, on one line:
// "//mcp:server [name=TEXT] [title=TEXT] …".
func (s Spec) Synopsis() string {
	var b strings.Builder
	b.WriteString("//mcp:" + s.Name)
	switch s.Form {
	case Chain:
		b.WriteString(" [A < B < C]")
	case Included:
		b.WriteString(" SCOPE > A, B")
	case Named:
		b.WriteString(" NAME")
	case Bindings:
		b.WriteString(" KIND={ARGUMENT}[:PATTERN] …")
	case Valued:
		b.WriteString(" ARGUMENT=VALUE,…")
	case Qualified:
		b.WriteString(" [PACKAGE.TYPE.FIELD]")
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

// Where describes the places where the directive is allowed.
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
	case s.OfTool && s.AllowedOn(PackageDoc): // //mcp:meta
		where = PackageDoc.String() + ", or beside //mcp:tool"
	case s.OfTool:
		where += ", beside //mcp:tool"
	}
	return where
}

// Explain is the text of `mcpgen explain DIRECTIVE`. The name may be written with or without
// "//mcp:". ok is false if this version has no such directive.
func Explain(name string) (text string, ok bool) {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "//"), "mcp:")
	s, ok := Lookup(name)
	if !ok {
		return "", false
	}
	var b strings.Builder
	fmt.Fprintf(&b, "//mcp:%s %s.\n\nAllowed on %s.\n", s.Name, s.Purpose, s.Where())
	width := 0
	for _, k := range s.Keys {
		width = max(width, len(k.Usage()))
	}
	if width > 0 {
		b.WriteString("\n")
	}
	for _, k := range s.Keys {
		fmt.Fprintf(&b, "    %-*s  %s\n", width, k.Usage(), purpose(k))
	}
	fmt.Fprintf(&b, "\nExample\n\n    %s\n", s.Example)
	return b.String(), true
}

// ExplainKey is the text of `mcpgen explain KEY`: the directives that have the key, and what it
// means there. ok is false for an unknown key.
func ExplainKey(name string) (text string, ok bool) {
	if name == FillIn {
		return "minrole=" + FillIn + " stands for a rule that you choose: replace minrole=" + FillIn +
			" by an access rule.\nmcpgen explain tool lists the rules.\n", true
	}
	name, _, _ = strings.Cut(name, "=")
	var b strings.Builder
	for _, s := range specs {
		if k, found := s.key(name); found {
			fmt.Fprintf(&b, "//mcp:%s %s\n    %s\n", s.Name, k.Usage(), purpose(k))
		}
	}
	return b.String(), b.Len() > 0
}

// purpose is the key's purpose, with a note if only tools have the key.
func purpose(k Key) string {
	if k.OfTool {
		return k.Purpose + " (tools only)"
	}
	return k.Purpose
}
