package document

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Docs returns the content of MCP.md: present, the file as it is or nil, with the generated part
// between the markers. It returns [ErrMarkers] if these do not match.
func Docs(s model.Service, present []byte) ([]byte, error) { return merge(present, body(s)) }

// body is the generated part of MCP.md.
func body(s model.Service) string {
	var b strings.Builder
	title := cmp.Or(s.Server.Title, s.Server.Name)
	if len(s.Tools) > 0 || len(s.Prompts)+len(s.Resources) == 0 {
		writeHead(&b, s, "Tools", title)
		writeMatrix(&b, s, "tool")
		writeCatalogs(&b, s)
		for _, tool := range s.Tools {
			writeTool(&b, tool)
		}
	}
	if len(s.Prompts) > 0 {
		writeHead(&b, s, "Prompts", title)
		writeMatrix(&b, s, "prompt")
		for _, prompt := range s.Prompts {
			writePrompt(&b, prompt)
		}
	}
	if len(s.Resources) > 0 {
		writeHead(&b, s, "Resources", title)
		writeMatrix(&b, s, "resource")
		for _, r := range s.Resources {
			writeResource(&b, r)
		}
	}
	return b.String()
}

// writeHead writes the heading of one kind; the first one describes the document.
func writeHead(b *strings.Builder, s model.Service, kind, title string) {
	first := b.Len() == 0
	if !first {
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "## %s of %s\n\n", kind, prose(title))
	if first {
		fmt.Fprintf(b, "The tools, prompts and resources of package `%s`, and who may use them.\n\n",
			s.Package)
		if s.Server.Unannotated == "ignore" {
			b.WriteString("The package has `unannotated=ignore`: mcpgen does not report handlers " +
				"without a directive.\n\n")
		}
	}
}

func writeMatrix(b *strings.Builder, s model.Service, kind string) {
	m := matrixOf(s)
	m.rows = slices.DeleteFunc(m.rows, func(r matrixRow) bool { return r.kind != kind })
	if len(m.rows) == 0 {
		return
	}
	also := slices.ContainsFunc(m.rows, func(r matrixRow) bool { return len(r.also) > 0 })
	head, rule := "| "+kind+" |", "|---|"
	for _, caller := range m.callers {
		head += " " + cell(caller) + " |"
		rule += ":-:|"
	}
	if also {
		head += " and needs |"
		rule += "---|"
	}
	proven := m.rows[0].proven != ""
	if proven {
		head += " proven capabilities |"
		rule += "---|"
	}
	b.WriteString(head + "\n" + rule + "\n")
	for _, row := range m.rows {
		fmt.Fprintf(b, "| %s |", cell(code(row.tool)))
		for _, may := range row.may {
			if may {
				b.WriteString(" ✓ |")
			} else {
				b.WriteString(" |")
			}
		}
		if also {
			b.WriteString(strings.TrimRight(" "+strings.Join(row.also, ", "), " ") + " |")
		}
		if proven {
			b.WriteString(" " + row.proven + " |")
		}
		b.WriteByte('\n')
	}
}

// writeCatalogs lists the catalogs that code declares, with their tools.
func writeCatalogs(b *strings.Builder, s model.Service) {
	for i, c := range s.Catalogs() {
		if i == 0 {
			b.WriteString("\nA client can request the list of one catalog. The list contains the tools " +
				"that the caller may use:\n\n")
		}
		fmt.Fprintf(b, "- %s: %s\n", code(c.Name), strings.Join(codes(c.Tools), ", "))
	}
}

// codes are texts in backquotes.
func codes(texts []string) []string {
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = code(text)
	}
	return list
}

func writeTool(b *strings.Builder, tool model.Tool) {
	writeServed(b, tool.Name, tool)
	writeToolFacts(b, tool)
	if tool.Input.File != "" {
		fmt.Fprintf(b, "\nThe schema of its arguments is in %s.\n",
			code(tool.Input.File))
	}
	if tool.Input.File == "" || tool.Input.Schema != nil && tool.Input.Schema.Properties != nil {
		writeArguments(b, tool.Input.Schema)
	}
	fmt.Fprintf(b, "\n%s\n", resultWords(tool.Output))
}

// writeToolFacts writes a list item for each fact of a tool, apart from its access rule.
func writeToolFacts(b *strings.Builder, tool model.Tool) {
	for _, v := range tool.Ruled() {
		access := accessWords(model.Tool{Access: v.Access})
		fmt.Fprintf(b, "- Value %s: %s\n", code(v.Name()), access)
	}
	if words := hintWords(tool.Hints); words != "" {
		fmt.Fprintf(b, "- Hints: %s.\n", words)
	}
	if words := permissionWords(tool); len(words) > 0 {
		fmt.Fprintf(b, "- Grants: the client needs %s.\n", sentenceList(words))
	}
	writeTime(b, tool.Limits, " for each call")
	writeLimits(b, tool.Limits)
	if len(tool.Catalogs) > 0 {
		fmt.Fprintf(b, "- Catalogs: %s.\n", sentenceList(codes(tool.Catalogs)))
	}
	if len(tool.Aliases) > 0 {
		fmt.Fprintf(b, "- Deprecated names: %s.\n", sentenceList(codes(tool.Aliases)))
	}
	if tool.Lenient != nil && *tool.Lenient {
		b.WriteString("- Its arguments are lenient.\n")
	}
	writeElicits(b, tool)
	switch tool.Task {
	case "optional":
		b.WriteString("- It runs as a task for clients that support tasks.\n")
	case "required":
		b.WriteString("- It runs as a task only: a client needs the extension of tasks.\n")
	case "answered":
		b.WriteString("- It runs as a task from the answer to its first question on, for clients " +
			"that support tasks.\n")
	}
}

// writeTime writes the time limit.
func writeTime(b *strings.Builder, l model.Limits, of string) {
	if l.NonBlocking {
		b.WriteString("- Time: no limit, because it only computes.\n")
		return
	}
	fmt.Fprintf(b, "- Time: at most %s%s.\n", l.Timeout, of)
}

// writeLimits writes the limits of a tool's calls, except the time limit.
func writeLimits(b *strings.Builder, l model.Limits) {
	var most []string
	if l.Memory > 0 {
		most = append(most, l.Memory.String()+" of memory")
	}
	if l.Output > 0 {
		most = append(most, l.Output.String()+" of result")
	}
	if len(most) > 0 {
		fmt.Fprintf(b, "- Size: at most %s a call.\n", sentenceList(most))
	}
	var each []string
	if l.Concurrency > 0 {
		each = append(each, fmt.Sprintf("%d at a time", l.Concurrency))
	}
	if l.Rate.Calls > 0 {
		each = append(each, fmt.Sprintf("%d %s", l.Rate.Calls, map[time.Duration]string{
			time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour",
		}[l.Rate.Per]))
	}
	if len(each) > 0 {
		fmt.Fprintf(b, "- Calls: each client at most %s.\n", sentenceList(each))
	}
	if l.Isolate != "" {
		b.WriteString("- Isolation: each call runs in a process of its own.\n")
	}
	switch {
	case slices.Equal(l.Capabilities, []string{"none"}):
		b.WriteString("- Capabilities: its code may not use files, network or programs.\n")
	case len(l.Capabilities) > 0:
		words := map[string]string{"files": "files", "network": "the network",
			"exec": "other programs"}
		var reach []string
		for _, c := range l.Capabilities {
			reach = append(reach, words[c])
		}
		fmt.Fprintf(b, "- Capabilities: of files, network and programs, its code may use only %s.\n",
			sentenceList(reach))
	}
}

func writePrompt(b *strings.Builder, p model.Prompt) {
	writeServed(b, p.Name, p.Tool)
	writeFacts(b, p.Tool, "")
	writeArguments(b, p.Input.Schema)
	writeCompletions(b, p.Arguments)
}

func writeResource(b *strings.Builder, r model.Resource) {
	writeServed(b, r.URI, r.Tool)
	writeFacts(b, r.Tool, r.MIMEType)
	writeSubscribe(b, r)
	if len(r.Variables) > 0 {
		writeArguments(b, r.Input.Schema)
	}
	writeCompletions(b, r.Variables)
}

// writeFacts writes a list item for each fact of a prompt or resource, apart from its access rule.
func writeFacts(b *strings.Builder, served model.Tool, mimeType string) {
	if mimeType != "" {
		fmt.Fprintf(b, "- Content: %s.\n", code(mimeType))
	}
	writeTime(b, served.Limits, "")
	writeElicits(b, served)
}

func writeElicits(b *strings.Builder, served model.Tool) {
	if served.Elicits {
		b.WriteString("- It may ask the client for input: elicitation, sampling or roots.\n")
	}
}

// writeSubscribe writes whether clients can subscribe to updates of a resource.
func writeSubscribe(b *strings.Builder, r model.Resource) {
	if r.Subscribe {
		b.WriteString("- Updates: clients can subscribe to them.\n")
	}
}

// writeCompletions lists the arguments that a func of the author completes.
func writeCompletions(b *strings.Builder, arguments []model.Argument) {
	var names []string
	for _, a := range arguments {
		if a.Complete != nil {
			names = append(names, code(a.Name))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\nCompleted as they are written: %s.\n", sentenceList(names))
	}
}

// writeServed writes what tools, prompts and resources have in common.
func writeServed(b *strings.Builder, name string, tool model.Tool) {
	fmt.Fprintf(b, "\n### `%s`\n", name)
	if tool.Title != "" {
		fmt.Fprintf(b, "\n**%s**\n", prose(tool.Title))
	}
	if tool.Description != "" {
		fmt.Fprintf(b, "\n%s\n", prose(tool.Description))
	}
	fmt.Fprintf(b, "\n- Access: %s\n", accessWords(tool))
}

// accessWords describes who may call a tool.
func accessWords(tool model.Tool) string {
	a := tool.Access
	var needs []string
	switch {
	case a.Public:
		return "public; every caller may use it, anonymous callers included." +
			denialWords(tool.Denial)
	case a.MinRole == model.Lowest:
		needs = append(needs, "the server's lowest role or higher")
	case a.MinRole == model.Highest:
		needs = append(needs, "the server's highest role")
	case a.MinRole != "":
		needs = append(needs, fmt.Sprintf("role %s or higher", a.MinRole))
	case a.Authenticated:
		needs = append(needs, "an authenticated caller")
	}
	for _, scope := range a.Scopes {
		needs = append(needs, fmt.Sprintf("scope `%s`", scope))
	}
	if a.Permission != "" {
		needs = append(needs, fmt.Sprintf("permission `%s` (%s)", a.Permission,
			withHostSource))
	}
	if a.Permission != "" && a.Constrained {
		needs[len(needs)-1] += ", with object constraints"
	}
	if len(needs) == 0 {
		return "nobody may call it."
	}
	host := ""
	if a.Action == model.NoAction {
		host = "; no permission of the host"
	}
	return "needs " + sentenceList(needs) + host + "." + denialWords(tool.Denial)
}

func denialWords(denial string) string {
	switch denial {
	case "conceal":
		return " For others it does not exist."
	case "forbid":
		return " A refusal lists the missing rights."
	case "challenge":
		return " If only scopes are missing, the refusal lists them; for other callers it does not " +
			"exist."
	}
	return ""
}

// hintWords describes a tool by the author's hints.
func hintWords(h model.Hints) string {
	var words []string
	hint := func(value *bool, is, isNot string) {
		switch {
		case value == nil:
		case *value:
			words = append(words, is)
		default:
			words = append(words, isNot)
		}
	}
	hint(h.ReadOnly, "changes nothing", "changes something")
	hint(h.Destructive, "may destroy", "destroys nothing")
	hint(h.Idempotent, "repeating it has no further effect",
		"repeating it has a further effect")
	hint(h.OpenWorld, "interacts with external systems", "stays within this system")
	return strings.Join(words, ", ")
}

func resultWords(out model.Output) string {
	switch {
	case out.Kind == model.NoOutput:
		return "The result is empty."
	case out.File != "":
		return fmt.Sprintf("The schema of the result is in %s.", code(out.File))
	case out.Kind == model.TextOutput:
		return "The result is plain text."
	case out.Kind == model.JSONOutput:
		return "The result is text without a schema."
	case out.Kind == model.BytesOutput:
		return fmt.Sprintf("The result is %s.", code(out.MIMEType))
	case out.Kind == model.ContentOutput:
		return "The result is content that the handler makes."
	case out.Kind == model.SDKOutput:
		return "The handler makes the whole result."
	case out.Schema == nil:
		return "The result may be anything."
	}
	words := article(typeWords(out.Schema))
	if out.Kind == model.ObjectOutput {
		words = "an object"
	}
	if fields := fieldWords(out.Schema); len(fields) > 0 {
		words += " with " + sentenceList(fields)
	}
	if out.Kind == model.ObjectOutput && len(out.Schema.AnyOf) > 0 {
		words += ", or null"
	}
	return "The result is " + words + "."
}

// fieldWords names the properties of an object, at any depth, with their types.
func fieldWords(s *jsonschema.Schema) []string {
	var fields []string
	each(s, func(name string, _ bool, p *jsonschema.Schema) {
		fields = append(fields, fmt.Sprintf("%s (%s)", code(name), typeWords(p)))
	})
	return fields
}

// sentenceList joins parts as a sentence does.
func sentenceList(parts []string) string {
	last := len(parts) - 1
	if last == 0 {
		return parts[0]
	}
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

func article(words string) string {
	switch {
	case strings.HasPrefix(words, "any"), strings.HasPrefix(words, "one of"),
		strings.HasPrefix(words, "always"):
		return words
	case strings.ContainsAny(words[:1], "aeio"):
		return "an " + words
	}
	return "a " + words
}

// prose keeps what an author wrote in plain text from being read as markup: as HTML, as a
// heading, or as one of our markers. Indented lines are code, where nothing is markup.
func prose(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		switch {
		case strings.HasPrefix(line, "\t"), strings.HasPrefix(line, "    "):
		case strings.HasPrefix(line, "#"):
			line = `\` + plainTags(line)
		default:
			line = plainTags(line)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

// plainTags puts a backslash before each < that has none. A second backslash would take away the
// meaning of the first one.
func plainTags(line string) string {
	var b strings.Builder
	escaped := false
	for _, c := range line {
		if c == '<' && !escaped {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
		escaped = c == '\\' && !escaped
	}
	return b.String()
}
