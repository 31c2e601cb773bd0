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

// page is a page with its generated sections.
type page struct {
	name     string
	sections map[string]func(root string) (string, error)
}

var pages = []page{
	{"directives.md", map[string]func(string) (string, error){
		"directives": directiveTable, "keys": directiveKeys}},
	{"diagnostics.md", map[string]func(string) (string, error){"codes": diagnostics}},
	{"command-line.md", map[string]func(string) (string, error){"commands": commands}},
	{"options.md", map[string]func(string) (string, error){"options": options}},
	{"admin-api.md", map[string]func(string) (string, error){
		"operations": operations, "types": apiTypes}},
	{"metrics.md", map[string]func(string) (string, error){
		"metrics": metrics, "attributes": attributes}},
	{"audit-events.md", map[string]func(string) (string, error){
		"fields": eventFields, "arguments": argumentFields, "words": eventWords}},
	{"manifest.md", map[string]func(string) (string, error){"fields": manifestFields}},
	{"schemas.md", map[string]func(string) (string, error){
		"rules": schemaRules, "providers": providerRules}},
	{"limits.md", map[string]func(string) (string, error){"limits": limits}},
	{"errors.md", map[string]func(string) (string, error){
		"codes": errorCodes, "denials": denials, "calls": callErrors, "http": httpErrors}},
}

// files are generated as a whole.
var files = []struct {
	name  string
	write func(root string) (string, error)
}{
	{"schemas/manifest.json", manifestSchema},
}

func main() {
	check := flag.Bool("check", false, "fail if a page is stale, and write nothing")
	flag.Parse()
	root, err := os.Getwd()
	if err == nil {
		err = run(root, *check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run writes each page, or with check returns an error that names the stale ones.
func run(root string, check bool) error {
	var errs []error
	update := func(name string, write func(old string) (string, error)) {
		file := filepath.Join("docs", "reference", filepath.FromSlash(name))
		old, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			errs = append(errs, err)
			return
		}
		text, err := write(string(old))
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", file, err))
		case text == string(old):
		case check:
			errs = append(errs, fmt.Errorf("%s is stale: run make docs", file))
		default:
			errs = append(errs, os.WriteFile(filepath.Join(root, file), []byte(text), 0o666))
		}
	}
	for _, p := range pages {
		update(p.name, func(old string) (string, error) { return fill(old, root, p.sections) })
	}
	for _, f := range files {
		update(f.name, func(string) (string, error) { return f.write(root) })
	}
	return errors.Join(errs...)
}

var marker = regexp.MustCompile(`(?m)^<!-- /([a-z]+) -->$`)

// fill returns a page with the text of its sections.
func fill(page, root string, sections map[string]func(string) (string, error)) (string, error) {
	for _, m := range marker.FindAllStringSubmatch(page, -1) {
		if sections[m[1]] == nil {
			return "", fmt.Errorf("nothing writes the section %s", m[1])
		}
	}
	for name, write := range sections {
		before, rest, opened := strings.Cut(page, "<!-- "+name+" -->\n")
		_, after, closed := strings.Cut(rest, "<!-- /"+name+" -->\n")
		if !opened || !closed {
			return "", fmt.Errorf("the page has no section %s", name)
		}
		text, err := write(root)
		if err != nil {
			return "", fmt.Errorf("section %s: %w", name, err)
		}
		page = before + "<!-- " + name + " -->\n" + strings.TrimRight(text, "\n") + "\n<!-- /" +
			name + " -->\n" + after
	}
	return page, nil
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
