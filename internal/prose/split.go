package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	code = regexp.MustCompile("(``+)[^`](?s:.*?)``+|`[^`]*`")
	link = regexp.MustCompile(
		`!?\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^)\s]*(?:\s"[^"]*")?\)|\[[^\]]*\])`)
	tag     = regexp.MustCompile(`<[/!a-zA-Z][^>]*>`)
	note    = regexp.MustCompile(`(?s)<!--.*?-->`)
	item    = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+`)
	fence   = regexp.MustCompile("^\\s*(```|~~~)")
	define  = regexp.MustCompile(`^\[[^\]]+\]:\s`)
	action  = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	foreign = regexp.MustCompile(`(?s)<(script|style)\b.*?</(script|style)>`)
	inline  = regexp.MustCompile(`</?(?:a|abbr|b|code|em|i|kbd|span|strong|time)\b[^>]*>`)
	newline = regexp.MustCompile(`[^\n]+`)
)

// plain replaces inline code by a word, a link by its text, and removes tags.
func plain(s string) string {
	s = code.ReplaceAllStringFunc(s, func(m string) string { return "code" + lines(m) })
	for range 2 { // a link may contain an image
		s = link.ReplaceAllString(s, "$1")
	}
	return tag.ReplaceAllStringFunc(s, lines)
}

// lines keeps the line ends of a text that is removed.
func lines(s string) string { return newline.ReplaceAllString(s, "") }

// markdown splits a page into paragraphs, headings, list items and table cells. It leaves out
// blocks of code and comments.
func markdown(file string, first int, page string) []text {
	page = note.ReplaceAllStringFunc(page, lines)
	var all []text
	var rows []string
	begins := 0
	end := func() {
		if len(rows) > 0 {
			all = append(all, text{file, begins, strings.Join(rows, "\n")})
		}
		rows = nil
	}
	var fenced string
	blank, listed := true, false
	for n, row := range strings.Split(page, "\n") {
		line := first + n
		mark := fence.FindStringSubmatch(row)
		switch {
		case fenced != "":
			if mark != nil && mark[1] == fenced {
				fenced = ""
			}
			continue
		case mark != nil:
			end()
			fenced = mark[1]
			continue
		}
		trimmed := strings.TrimLeft(strings.TrimSpace(row), "> ")
		switch indented := strings.HasPrefix(row, "    ") || strings.HasPrefix(row, "\t"); {
		case trimmed == "":
			end()
			blank = true
			continue
		case indented && blank && !listed:
			continue
		case strings.HasPrefix(trimmed, "|"):
			end()
			escaped := strings.ReplaceAll(trimmed, `\|`, "¦")
			for cell := range strings.SplitSeq(strings.Trim(escaped, "|"), "|") {
				all = append(all, text{file, line, cell})
			}
		case strings.HasPrefix(trimmed, "#"):
			end()
			all = append(all, text{file, line, strings.TrimLeft(trimmed, "# ")})
			listed = false
		case define.MatchString(trimmed):
			end()
		default:
			if at := item.FindString(row); at != "" {
				end()
				listed = true
				trimmed = row[len(at):]
			} else if !indented && blank && !strings.HasPrefix(row, "  ") {
				listed = false
			}
			if len(rows) == 0 {
				begins = line
			}
			rows = append(rows, trimmed)
		}
		blank = false
	}
	end()
	return all
}

// template splits an HTML template at its block elements. An action is one word.
func template(file, page string) []text {
	page = foreign.ReplaceAllStringFunc(note.ReplaceAllStringFunc(page, lines), lines)
	page = action.ReplaceAllStringFunc(page, func(m string) string {
		switch word := strings.Fields(strings.Trim(m, "{}- ") + " .")[0]; word {
		case "if", "with", "range", "else", "end", "define", "block", "template":
			return "<p>" + lines(m)
		}
		return " value" + lines(m)
	})
	page = inline.ReplaceAllStringFunc(page, lines)
	var all []text
	line := 1
	for {
		at := tag.FindStringIndex(page)
		if at == nil {
			break
		}
		all = append(all, text{file, line, page[:at[0]]})
		line += strings.Count(page[:at[1]], "\n")
		page = page[at[1]:]
	}
	return append(all, text{file, line, page})
}

// source checks a Go file: sentences of its literals, words of literals and comments, and the
// width of comments. The emitter is checked instead of the code that it generates.
func (r *report) source(path string, content []byte) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.ParseComments)
	if err != nil {
		return nil // a test's input
	}
	if ast.IsGenerated(file) {
		return nil
	}
	rows := bytes.Split(content, []byte("\n"))
	for _, group := range file.Comments {
		first := files.Position(group.Pos()).Line
		r.words(text{path, first, group.Text()})
		if output.MatchString(group.Text()) {
			continue
		}
		for line := first; line <= files.Position(group.End()).Line; line++ {
			row := rows[line-1]
			comment := string(bytes.TrimSpace(row))
			if n := utf8.RuneCount(row); n > widest && !unbroken.MatchString(comment) {
				r.find(path, line, "comment of %d columns: break the line, at most %d", n, widest)
			}
		}
	}
	kind := ""
	switch {
	case strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/"):
	case strings.HasPrefix(path, "generator/internal/diag/"):
		kind = "explain"
	case strings.HasPrefix(path, "cmd/") || strings.HasPrefix(path, "generator/command/"),
		strings.HasPrefix(path, "generator/internal/commandline/"):
		kind = "help"
	case strings.HasPrefix(path, "generator/") || strings.HasPrefix(path, "runtime/"):
		kind = "messages"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return n.Tag == nil
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Example" {
				return false
			}
		case ast.Expr:
			if value, ok := literal(n); ok {
				at := text{path, files.Position(n.Pos()).Line, value}
				switch {
				case kind == "":
					r.words(at)
				case !statement.MatchString(value) && strings.Count(strings.TrimSpace(value), " ") > 1:
					r.prose(kind, markdown(path, at.line, value))
				}
				return false
			}
		}
		return true
	})
	return nil
}

// output matches the output of an example, whose lines are compared.
var output = regexp.MustCompile(`^(?:Unordered o|O)utput:`)

// unbroken matches comments of one line by their nature: directives, and a single address.
var unbroken = regexp.MustCompile(`^//(?:[a-z]+:\S| \S+$)`)

// statement matches SQL and source code, which are no sentences.
var statement = regexp.MustCompile(
	`\b(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE|ALTER|DROP)\b|[;{]\n|:= `)

// literal is the value of a string literal, or of a sum of them. A part that is no literal counts
// as one word.
func literal(n ast.Expr) (string, bool) {
	switch n := n.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(n.Value)
		return value, n.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		x, left := literal(n.X)
		y, right := literal(n.Y)
		if n.Op != token.ADD || !left && !right {
			return "", false
		}
		if !left {
			x = "value"
		}
		if !right {
			y = "value"
		}
		return x + y, true
	}
	return "", false
}
