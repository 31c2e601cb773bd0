// Command docs writes the generated parts of docs/reference.
//
// A page is Markdown by hand. Generated parts are between markers, <!-- name --> and
// <!-- /name -->, and is written by the section of that name. A section of a page without these
// markers is an error, and so is a marker without a section.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// section writes a generated part of a page.
type section = func(*repository) string

// page is a page with its generated sections.
type page struct {
	name     string
	sections map[string]section
}

var pages = []page{
	{"directives.md", map[string]section{"directives": directiveTable, "keys": directiveKeys}},
	{"diagnostics.md", map[string]section{"codes": diagnostics}},
	{"command-line.md", map[string]section{"commands": commands}},
	{"options.md", map[string]section{"options": options}},
	{"admin-api.md", map[string]section{"operations": operations, "types": apiTypes}},
	{"metrics.md", map[string]section{"metrics": metrics, "attributes": attributes}},
	{"audit-events.md", map[string]section{
		"fields": eventFields, "arguments": argumentFields, "words": eventWords}},
	{"manifest.md", map[string]section{"fields": manifestFields}},
	{"schemas.md", map[string]section{"rules": schemaRules, "providers": providerRules}},
	{"limits.md", map[string]section{"limits": limits}},
	{"errors.md", map[string]section{
		"codes": errorCodes, "denials": denials, "calls": callErrors, "http": httpErrors}},
	{"start.md", map[string]section{
		"new": refusals("new", false), "generated": refusals("new", true),
		"adopt": refusals("adopt", false), "serve": refusals("serve", false)}},
}

func main() {
	check := flag.Bool("check", false, "fail if a page is stale, and write nothing")
	flag.Parse()
	r, err := open(".")
	if err == nil {
		err = run(r, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes each page, or with check returns an error that names the stale ones.
func run(r *repository, check bool) error {
	update := func(name string, write func(old string) string) {
		r.page = filepath.Join("docs", "reference", filepath.FromSlash(name))
		file, faults := filepath.Join(r.root, r.page), len(r.faults)
		old, err := os.ReadFile(file)
		switch text := write(string(old)); {
		case err != nil:
			r.fault("%w", err)
		case len(r.faults) > faults || text == string(old):
		case check:
			r.fault("the page is stale: run make docs")
		default:
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				r.fault("%w", err)
			}
		}
	}
	for _, p := range pages {
		update(p.name, func(old string) string { return fill(old, r, p.sections) })
	}
	update("schemas/manifest.json", func(string) string { return manifestSchema(r) })
	return errors.Join(r.faults...)
}

var marker = regexp.MustCompile(`(?m)^<!-- /([a-z]+) -->$`)

// fill returns a page with the text of its sections.
func fill(page string, r *repository, sections map[string]section) string {
	for _, m := range marker.FindAllStringSubmatch(page, -1) {
		if sections[m[1]] == nil {
			r.fault("nothing writes the section %s", m[1])
		}
	}
	for name, write := range sections {
		before, rest, opened := strings.Cut(page, "<!-- "+name+" -->\n")
		_, after, closed := strings.Cut(rest, "<!-- /"+name+" -->\n")
		if !opened || !closed {
			r.fault("the page has no section %s", name)
			continue
		}
		page = before + "<!-- " + name + " -->\n" + strings.TrimRight(write(r), "\n") + "\n<!-- /" +
			name + " -->\n" + after
	}
	return page
}

// cell is text in a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(strings.Join(strings.Fields(text), " "))
}

// code is text as a code span in a cell of a table; nothing for no text.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}

// row is one row of a table.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// head is the head of a table.
func head(cells ...string) string {
	return row(cells...) + "|" + strings.Repeat("---|", len(cells)) + "\n"
}

// sentence begins with an upper-case letter and ends with a full stop or a colon.
func sentence(text string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	if c := text[0]; 'a' <= c && c <= 'z' && !strings.HasPrefix(text, "mcpgen") {
		text = string(c-'a'+'A') + text[1:]
	}
	return closed(text)
}

// closed ends with a full stop, or with the colon that it has.
func closed(text string) string {
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":") {
		return text
	}
	return text + "."
}
