package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// directiveTable has a row for each directive.
func directiveTable(*repository) string {
	var b strings.Builder
	b.WriteString(head("directive", "place", "meaning"))
	for _, s := range directive.Specs() {
		b.WriteString(row("[`//mcp:"+s.Name+"`](#mcp"+s.Name+")", cell(s.Where()), cell(s.Purpose)))
	}
	return b.String()
}

// directiveKeys has a heading for each directive, with its grammar, its keys and an example.
func directiveKeys(*repository) string {
	var b strings.Builder
	for _, s := range directive.Specs() {
		fmt.Fprintf(&b, "### //mcp:%s\n\n", s.Name)
		if s.Repeat {
			b.WriteString("A declaration can have several.\n\n")
		}
		fmt.Fprintf(&b, "```\n%s\n```\n\n", s.Synopsis())
		if len(s.Keys) > 0 {
			b.WriteString(head("key", "meaning"))
		}
		for _, k := range s.Keys {
			meaning := k.Purpose
			switch {
			case k.Must:
				meaning += " (required)"
			case k.OfTool && !s.OfTool:
				meaning += " (tools only)"
			}
			b.WriteString(row(code(k.Usage()), cell(meaning)))
		}
		if len(s.Keys) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "```go\n%s\n```\n\n", s.Example)
	}
	return b.String()
}

// diagnostics has a table of all codes, and a heading for each.
func diagnostics(*repository) string {
	var b strings.Builder
	b.WriteString(head("code", "title"))
	for _, e := range diag.Codes() {
		b.WriteString(row(fmt.Sprintf("[%s](#%s)", e.Code, strings.ToLower(string(e.Code))),
			cell(e.Title)))
	}
	for _, e := range diag.Codes() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s\n\n```go\n%s\n```\n\n**Fix:** %s\n", e.Code,
			strings.TrimSuffix(sentence(e.Title), "."), prose(e.Cause), e.Example, prose(e.Cure))
	}
	return b.String()
}

// prose is text of a terminal as Markdown.
func prose(text string) string {
	return strings.NewReplacer("<", `\<`, "*mcp.", `\*mcp.`).Replace(text)
}

// schemaRules has a row for each difference from the Reflector.
func schemaRules(*repository) string {
	var b strings.Builder
	b.WriteString("| rule | arguments | results | why |\n|---|:-:|:-:|---|\n")
	mark := map[bool]string{true: " ✓ |", false: " |"}
	for _, r := range schema.Rules {
		b.WriteString("| " + r.Name + " |" + mark[r.Inputs] + mark[r.Outputs] + " " + cell(r.Why) +
			" |\n")
	}
	return b.String()
}

// commands has the help of the command and of each command below it.
func commands(r *repository) string {
	var b strings.Builder
	dir, err := os.MkdirTemp("", "mcpgen-docs")
	defer os.RemoveAll(dir)
	for _, tool := range []struct{ name, folder string }{
		{"mcpgen", "."}, {"mcpgen-openapi", "cmd/mcpgen-openapi"},
		{"mcpgen-prove", "cmd/mcpgen-prove"},
	} {
		program := filepath.Join(dir, tool.name)
		build := exec.Command("go", "build", "-o", program,
			"github.com/mcpgen/mcpgen/cmd/"+tool.name)
		build.Dir = filepath.Join(r.root, tool.folder)
		if out, failed := build.CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("%w: %s", failed, out))
		} else {
			err = errors.Join(err, help(&b, program, tool.name))
		}
	}
	if err != nil {
		r.fault("%w", err)
	}
	return b.String()
}

// help writes the help of a command, which is the path of words, and of those below it.
func help(b *strings.Builder, program string, words ...string) error {
	out, err := exec.Command(program, append(words[1:len(words):len(words)], "--help")...).Output()
	if err != nil {
		return fmt.Errorf("%s --help: %w", strings.Join(words, " "), err)
	}
	about, usage, _ := strings.Cut(string(out), "\nUsage:\n")
	fmt.Fprintf(b, "## %s\n\n%s```\n%s\n```\n\n", strings.Join(words, " "),
		paragraphs(about, words[len(words)-1]), strings.TrimSpace(usage))
	_, list, _ := strings.Cut(usage, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for line := range strings.Lines(list) {
		name := strings.Fields(line)[0]
		if name != "help" && name != "completion" {
			err = errors.Join(err, help(b, program, append(words[:len(words):len(words)], name)...))
		}
	}
	return err
}

// paragraphs is the text of a command's help as Markdown: an indented part is code. The name of the
// command stays in lower case.
func paragraphs(text, command string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if strings.HasPrefix(part, "  ") {
			fmt.Fprintf(&b, "```\n%s\n```\n\n", part)
		} else {
			line := closed(strings.Join(strings.Fields(part), " "))
			if !strings.HasPrefix(line, command+" ") {
				line = sentence(line)
			}
			fmt.Fprintf(&b, "%s\n\n", prose(line))
		}
	}
	return b.String()
}

// manifestFields has a table for each object of the manifest.
func manifestFields(r *repository) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "### %s\n\n%s\n", o.heading, r.read("generator/internal/document").jsonFields(
			o.name, true, "field", "type", "present", "content"))
	}
	return b.String()
}

// jsonType is the JSON type of a Go type of the manifest.
func jsonType(typ string) string {
	typ = strings.TrimPrefix(typ, "*")
	if item, ok := strings.CutPrefix(typ, "[]"); ok {
		return "array of " + jsonType(item)
	}
	switch typ {
	case "string":
		return "string"
	case "bool":
		return "boolean"
	case "int":
		return "integer"
	}
	return "object"
}
