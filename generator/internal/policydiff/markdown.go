package policydiff

import (
	"fmt"
	"strings"
)

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
