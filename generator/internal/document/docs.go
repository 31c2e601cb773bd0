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
	all := entriesOf(s)
	for _, kind := range []string{"tool", "prompt", "resource", "field"} {
		entries := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return e.Kind != kind })
		if len(entries) == 0 && (kind != "tool" || len(all) > 0) {
			continue
		}
		first := b.Len() == 0
		if !first {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "## %s%ss of %s\n\n", strings.ToUpper(kind[:1]), kind[1:],
			prose(cmp.Or(s.Server.Title, s.Server.Name)))
		if first {
			fmt.Fprintf(&b, "The tools, prompts and resources of package `%s`, and who may use "+
				"them.\n\n", s.Package)
		}
		if first && s.Server.Unannotated == "ignore" {
			b.WriteString("The package has `unannotated=ignore`: mcpgen does not report handlers " +
				"without a directive.\n\n")
		}
		writeMatrix(&b, s, kind)
		if first {
			writeScopes(&b, s)
		}
		if kind == "tool" {
			writeCatalogs(&b, s)
		}
		if kind == "field" {
			b.WriteString("\nFor other callers, a field does not exist in arguments and results.\n")
		}
		for _, e := range entries {
			e.write(&b)
		}
	}
	writeRadius(&b, s)
	return b.String()
}

func writeMatrix(b *strings.Builder, s model.Service, kind string) {
	m := matrixOf(s)
	m.rows = slices.DeleteFunc(m.rows, func(r matrixRow) bool { return r.kind != kind })
	if len(m.rows) == 0 {
		return
	}
	also := slices.ContainsFunc(m.rows, func(r matrixRow) bool { return len(r.needs()) > 0 })
	b.WriteString("| " + kind + " |")
	for _, caller := range m.callers {
		b.WriteString(" " + cell(caller) + " |")
	}
	rule := "|---|" + strings.Repeat(":-:|", len(m.callers))
	if also {
		b.WriteString(" and needs |")
		rule += "---|"
	}
	proven := m.rows[0].proven != ""
	if proven {
		b.WriteString(" proven capabilities |")
		rule += "---|"
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range m.rows {
		fmt.Fprintf(b, "| %s |", cell(code(row.name)))
		for _, may := range row.may {
			b.WriteString(map[bool]string{true: " ✓ |", false: " |"}[may])
		}
		if also {
			b.WriteString(strings.TrimRight(" "+cell(strings.Join(row.needs(), ", ")), " ") + " |")
		}
		if proven {
			b.WriteString(" " + row.proven + " |")
		}
		b.WriteByte('\n')
	}
}

// writeScopes lists the scopes that include others.
func writeScopes(b *strings.Builder, s model.Service) {
	for i, line := range s.Scopes.Lines {
		if i == 0 {
			b.WriteString("\nA token with one of these scopes has others too:\n\n")
		}
		fmt.Fprintf(b, "- %s: %s\n", code(line[0]), strings.Join(codes(line[1:]), ", "))
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

// entry is what the documents say of a tool, prompt, resource or field.
type entry struct {
	model.Served
	name   string            // of the heading
	fields map[string]string // of fieldNames
	facts  words             // the access rule first
	file   string            // where the schema of the arguments is, in words
	table  bool              // the arguments have one
	notes  []string          // after it
}

// entriesOf describes what a service serves.
func entriesOf(s model.Service) (list []entry) {
	prompts, resources, order := s.Prompts, s.Resources, s.Roles.Order()
	stated, names := statesFacts(s), fieldNames(s)
	for _, t := range s.Served() {
		e := entry{Served: t, name: t.ID, fields: names}
		var r model.Resource
		var arguments []model.Argument
		takes, per := true, ""
		switch t.Kind {
		case "tool":
			per = " for each call"
		case "prompt":
			arguments, prompts = prompts[0].Arguments, prompts[1:]
		case "resource":
			r, resources = resources[0], resources[1:]
			arguments, takes = r.Variables, len(r.Variables) > 0
		}
		e.facts.add(true, "Access: "+accessWords(*t.Tool, nil))
		e.facts.add(r.MIMEType != "", "Content: "+code(r.MIMEType)+".")
		var fields []string
		for _, f := range slices.Concat(t.Input.Fields, t.Output.Fields) {
			fields = append(fields, names[f])
		}
		slices.Sort(fields)
		for _, v := range t.Ruled() {
			base := t.Access.MinRole // needed as well, unless the value's roles imply them
			if order.Implies(order.Resolve(v.Access.MinRole), order.Resolve(base)) {
				base = nil
			}
			e.facts.add(true, "Value "+code(v.Name())+": "+
				accessWords(model.Tool{Access: v.Access}, base))
		}
		e.facts.list("Fields with rules of their own: %s.", codes(slices.Compact(fields)))
		hints := hintWords(t.Hints)
		e.facts.add(hints != "", "Hints: "+hints+".")
		e.facts.add(stated, factWords(*t.Tool))
		e.facts.list("Grants: the client needs %s.", permissionWords(*t.Tool))
		if t.Limits.NonBlocking {
			e.facts.add(true, "Time: no limit, because it only computes.")
		} else {
			e.facts.add(true, "Time: at most "+t.Limits.Timeout.String()+per+".")
		}
		e.limits()
		e.facts.list("Catalogs: %s.", codes(t.Catalogs))
		e.facts.list("Deprecated names: %s.", codes(t.Aliases))
		e.facts.add(t.Lenient != nil && *t.Lenient, "Its arguments are lenient.")
		e.facts.add(t.Elicits, "It may ask the client for input: elicitation, sampling or roots.")
		e.facts.add(t.Task != "", map[string]string{
			"optional": "It runs as a task for clients that support tasks.",
			"required": "It runs as a task only: a client needs the extension of tasks.",
			"answered": "It runs as a task from the answer to its first question on, for clients " +
				"that support tasks.",
		}[t.Task])
		e.facts.add(r.Subscribe, "Updates: clients can subscribe to them.")
		schema := t.Input.Schema
		if t.Input.File != "" {
			e.file = "The schema of its arguments is in " + code(t.Input.File) + "."
			takes = schema != nil && schema.Properties != nil
		}
		e.table = takes && schema != nil && schema.Properties.Len() > 0
		if takes && !e.table {
			e.notes = append(e.notes, "It takes no arguments.")
		}
		var completed []string
		for _, a := range arguments {
			if a.Complete != nil {
				completed = append(completed, code(a.Name))
			}
		}
		if t.Kind == "tool" {
			e.notes = append(e.notes, resultWords(t.Output))
		} else if len(completed) > 0 {
			e.notes = append(e.notes, "Completed as they are written: "+sentenceList(completed)+".")
		}
		list = append(list, e)
	}
	for _, f := range s.Fields {
		if len(f.Tools) == 0 {
			continue // no caller has the field
		}
		e := entry{Served: model.Served{Tool: &model.Tool{}, Kind: "field", ID: f.Name},
			name: names[f.Name]}
		e.facts.add(true, "Access: "+accessWords(model.Tool{Access: f.Access}, nil)+
			" The rule of the tool holds too.")
		e.facts.list("Tools: %s.", codes(f.Tools))
		list = append(list, e)
	}
	return list
}

// words are parts of a sentence or a row, or sentences.
type words []string

// add adds a part if it holds.
func (w *words) add(holds bool, part string) {
	if holds {
		*w = append(*w, part)
	}
}

// list adds a part with a list, unless that is empty.
func (w *words) list(format string, list []string) {
	if len(list) > 0 {
		*w = append(*w, fmt.Sprintf(format, sentenceList(list)))
	}
}

// limits adds the limits of a tool's calls, except the time limit.
func (e *entry) limits() {
	l := e.Limits
	var most, each, reach words
	most.add(l.Memory > 0, l.Memory.String()+" of memory")
	most.add(l.Output > 0, l.Output.String()+" of result")
	e.facts.list("Size: at most %s a call.", most)
	each.add(l.Concurrency > 0, fmt.Sprintf("%d at a time", l.Concurrency))
	each.add(l.Rate.Calls > 0, fmt.Sprintf("%d %s", l.Rate.Calls, map[time.Duration]string{
		time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour",
	}[l.Rate.Per]))
	e.facts.list("Calls: each client at most %s.", each)
	e.facts.add(l.Isolate != "", "Isolation: each call runs in a process of its own.")
	if slices.Equal(l.Capabilities, []string{"none"}) {
		e.facts.add(true, "Capabilities: its code may not use files, network or programs.")
		return
	}
	for _, c := range l.Capabilities {
		reach = append(reach, map[string]string{"files": "files", "network": "the network",
			"exec": "other programs"}[c])
	}
	e.facts.list("Capabilities: of files, network and programs, its code may use only %s.", reach)
}

// write writes the section of MCP.md.
func (e entry) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n### `%s`\n", e.name)
	if e.Title != "" {
		fmt.Fprintf(b, "\n**%s**\n", prose(e.Title))
	}
	if e.Description != "" {
		fmt.Fprintf(b, "\n%s\n", prose(e.Description))
	}
	fmt.Fprintf(b, "\n- %s\n", strings.Join(e.facts, "\n- "))
	if e.file != "" {
		fmt.Fprintf(b, "\n%s\n", e.file)
	}
	if e.table {
		writeArguments(b, e.Input.Schema, e.fields)
	}
	for _, note := range e.notes {
		fmt.Fprintf(b, "\n%s\n", note)
	}
}

// accessWords describes who may call a tool, or send a value of a tool with roles of its own.
func accessWords(tool model.Tool, base []string) string {
	a := tool.Access
	var needs []string
	switch {
	case a.Public:
		return "public; every caller may use it, anonymous callers included." +
			denialWords(tool.Denial)
	case len(a.MinRole) > 0:
		needs = append(needs, roleWords(a.MinRole))
		if len(base) > 0 {
			needs = append(needs, roleWords(base))
		}
	case a.Authenticated:
		needs = append(needs, "an authenticated caller")
	}
	needs = append(needs, conditions(a)...)
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

// roleWords describes callers with one of the roles of a rule.
func roleWords(roles []string) string {
	switch {
	case len(roles) > 1:
		return "one of the roles " + sentenceList(roles) + " or higher"
	case roles[0] == model.Lowest:
		return "the server's lowest role or higher"
	case roles[0] == model.Highest:
		return "the server's highest role"
	}
	return "role " + roles[0] + " or higher"
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
	var all words
	hint := func(value *bool, is, isNot string) {
		all.add(value != nil && *value, is)
		all.add(value != nil && !*value, isNot)
	}
	hint(h.ReadOnly, "changes nothing", "changes something")
	hint(h.Destructive, "may destroy", "destroys nothing")
	hint(h.Idempotent, "repeating it has no further effect",
		"repeating it has a further effect")
	hint(h.OpenWorld, "interacts with external systems", "stays within this system")
	return strings.Join(all, ", ")
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
