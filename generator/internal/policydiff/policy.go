package policydiff

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Allowed are the changes that an allow-list permits, with the reason of each.
type Allowed map[string]string

// ReadAllowed reads an allow-list. Each line has a change as [Change.String] writes it, and after
// " # " the reason. Empty lines and lines that begin with # are comments.
func ReadAllowed(file string, r io.Reader) (Allowed, error) {
	allowed := Allowed{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line+" ", " # ")
		if at < 0 || strings.TrimSpace(line[min(at+3, len(line)):]) == "" {
			return nil, fmt.Errorf("%s:%d: this entry has no reason: write # and the reason after "+
				"the change", file, n)
		}
		allowed[strings.TrimSpace(line[:at])] = printable(strings.TrimSpace(line[at+3:]))
	}
	return allowed, lines.Err()
}

// Policy has the changes that fail, and those that are accepted nevertheless.
type Policy struct {
	FailOn  []string // of "widen", "add", "break" and "radius"
	Allowed Allowed
}

// Judged is a change with what a policy decides about it.
type Judged struct {
	Change
	Allowed string `json:"allowed,omitempty"` // the reason
	Refused bool   `json:"refused,omitempty"` // it fails
}

// Judge decides about changes. unused are the allowed changes that are none of them.
func (p Policy) Judge(changes []Change) (list []Judged, unused []string) {
	rest := maps.Clone(p.Allowed)
	list = make([]Judged, len(changes))
	for i, c := range changes {
		reason, allowed := p.Allowed[c.String()]
		delete(rest, c.String())
		list[i] = Judged{c, reason, !allowed && slices.ContainsFunc(p.FailOn, func(word string) bool {
			return word == "widen" && c.Kind == Widened || word == "add" && c.Kind == Added ||
				word == "break" && c.Breaks != "" || word == "radius" && c.Kind == Together
		})}
	}
	return list, slices.Sorted(maps.Keys(rest))
}

// Markdown returns the changes as a comment for a pull request: a table for each kind. reasons are
// the reasons of allowed changes.
func Markdown(changes []Change, reasons Allowed) string {
	var b strings.Builder
	b.WriteString("## Changes of authority\n\n")
	if len(changes) == 0 {
		b.WriteString("Nobody may do more or less, and no contract changes.\n")
		return b.String()
	}
	var kind Kind
	for _, c := range changes {
		if c.Kind != kind {
			if kind != "" {
				b.WriteByte('\n')
			}
			kind = c.Kind
			fmt.Fprintf(&b, "### %s\n\n| what | change | breaks |\n|---|---|---|\n",
				strings.ToUpper(string(kind[0]))+string(kind[1:]))
		}
		message := c.Message
		if reason, ok := reasons[c.String()]; ok {
			message += " (allowed: " + reason + ")"
		}
		fmt.Fprintf(&b, "| %s %s of %s | %s | %s |\n", c.Subject, codeSpan(c.Name),
			codeSpan(c.Package), escaped(message), c.Breaks)
	}
	return b.String()
}

// codeSpan is a text as code in a cell of a table.
func codeSpan(text string) string {
	if strings.Contains(text, `\`) {
		return escaped(text) // code has no escape of a backslash before |
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(printable(text)) + "`"
}

// escaped is a text that Markdown does not act on, without mentions of accounts.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`,
		"]", `\]`, "<", "&lt;", "&", "&amp;", "@", "@\u200b", "~", `\~`).Replace(printable(text))
}
