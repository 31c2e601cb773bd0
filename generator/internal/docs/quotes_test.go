package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// notOfTheSource match quotations that are in no string constant of the source.
var notOfTheSource = []struct{ quotation, reason string }{
	{`^no required module provides |missing go.sum entry$`, "the go command"},
	{`^cannot use .* as |^does not satisfy$|^… in argument to |^not enough arguments in call to |` +
		`^struct containing .* cannot be compared$|^too few values in |^unknown field `,
		"the compiler"},
	{`^403 Forbidden: tool "price" needs scope stock:write$`, "joined from a list of needs"},
	{`: is a number, expected a string$`, "joined from a list of types"},
	{`, if it does the same as tool purge$`, "joined from a change and the names of others"},
	{`^fix: use a type of your own instead, or write the schema by hand`, "joined from cures"},
	{`^@Summary List orders$`, "a comment for swag"},
	{`^\[(McpServerResource|Authorize)\(`, "an attribute of C#"},
	{`^the call is not cancelled on the server$`, "testdata/clients, which writes the page"},
	{`^declares an output schema but returned no structured content$`, "the Inspector"},
}

// TestDocsQuoteTheSource finds each message that a page quotes in the string constants of the
// source. Such a quotation is a code span of at least three words that is no command, no code and
// no directive, or a finding or a line of a log in a block of output. In the headings and the first
// cells of the page about troubleshooting, each code span is a message.
func TestDocsQuoteTheSource(t *testing.T) {
	root := testrepo.Root(t)
	messages, err := messagesOf(root)
	if err != nil {
		t.Fatal(err)
	}
	matched := make([]bool, len(notOfTheSource))
	found := 0
	for _, pattern := range []string{"*.md", "docs/*/*.md", "examples/*/README.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(pages) == 0 {
			t.Fatal(pattern, pages, err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range quotations(string(text), filepath.Base(page) == "troubleshooting.md") {
				if messages.contain(q.text) {
					found++
					continue
				}
				at := slices.IndexFunc(notOfTheSource, func(n struct{ quotation, reason string }) bool {
					return regexp.MustCompile(n.quotation).MatchString(q.text)
				})
				if at < 0 {
					t.Errorf("%s:%d: no message of the source has %q", page, q.line, q.text)
				} else {
					matched[at] = true
				}
			}
		}
	}
	for i, is := range matched {
		if !is {
			t.Errorf("no page has a quotation of the form %s", notOfTheSource[i].quotation)
		}
	}
	if found < 50 {
		t.Errorf("only %d quotations are in the source", found)
	}
}

// TestQuotationsAreFound checks the rules themselves.
func TestQuotationsAreFound(t *testing.T) {
	const page = "# `one`\n\nThe log has `the sink is down`, and ``a `b` c``.\n\n" +
		"| `two` | `three` |\n|---|---|\n\n" +
		"Run `go build ./... now`, write `//mcp:tool a b`, `x.Y(a, b, c)` or `a = b + c`.\n\n" +
		"<!-- calls -->\n`this is generated`\n<!-- /calls -->\n\n" +
		"```text\n$ mcpgen check\na.go:1:2: MCP002: no rule\nfix: write one\n```\n\n" +
		"```go\n// MCP002: code\n```\n"
	for all, want := range map[bool][]string{
		false: {"the sink is down", "a `b` c", "a.go:1:2: MCP002: no rule", "fix: write one"},
		true: {"one", "the sink is down", "a `b` c", "two", "a.go:1:2: MCP002: no rule",
			"fix: write one"},
	} {
		var got []string
		for _, q := range quotations(page, all) {
			got = append(got, q.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the quotations are %q, want %q", got, want)
		}
	}
	f, err := parser.ParseFile(token.NewFileSet(), "", `package p
var a = fmt.Errorf("cannot read " + "table %q of %s: %w", a, b, c)
var b = "Options." + name + " is not set: set it"
var c = fmt.Sprint("the port ", port, " is in use")
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	messages := newMessages()
	messages.add(f)
	for text, want := range map[string]bool{
		"cannot read table": true, `cannot read table "x" of y`: true, "read … of": true,
		"cannot read a table of x": false, "cannot read the table": false,
		"cannot read table x of y: no such table": false, "not read table": false,
		"Options.Store is not set: …": true, "Options.Store is not set: set it": true,
		"Options.Store is not used": false, "the port 80 is in use": true,
		"the port 80 was in use": false, "the ports 80 is in use": false,
		"80 is in use; the port": true, "80 is in use; the ports": false,
	} {
		if messages.contain(text) != want {
			t.Errorf("contain(%q) is %v", text, !want)
		}
	}
}

type quotation struct {
	line int
	text string
}

var (
	generated = regexp.MustCompile(`(?ms)^<!-- \w+ -->$.*?^<!-- /\w+ -->$`)
	fence     = regexp.MustCompile("^ *```(.*)")
	span      = regexp.MustCompile("``(.+?)``|`([^`]+)`")
	output    = regexp.MustCompile(`\bMCP\d{3}\b|^\s*fix: |\bmsg="([^"]+)"`)
)

// quotations returns the messages that a page quotes, without those of generated sections, which
// are the output of the program. With all, each code span of a heading and of the first cell of a
// table is a message.
func quotations(page string, all bool) (found []quotation) {
	page = generated.ReplaceAllStringFunc(page, func(section string) string {
		return strings.Repeat("\n", strings.Count(section, "\n"))
	})
	inside, language := false, ""
	for i, row := range strings.Split(page, "\n") {
		if m := fence.FindStringSubmatch(row); m != nil {
			inside, language = !inside, m[1]
			continue
		}
		if inside {
			if m := output.FindStringSubmatch(row); m != nil && (language == "" || language == "text") {
				found = append(found, quotation{i + 1, cmp.Or(m[1], strings.TrimSpace(row))})
			}
			continue
		}
		for _, at := range span.FindAllStringIndex(row, -1) {
			quoted := row[at[0]:at[1]]
			text := strings.TrimSpace(strings.Trim(quoted, "`"))
			if strings.HasPrefix(quoted, "``") {
				text = strings.TrimSpace(quoted[2 : len(quoted)-2])
			}
			first := all && (row[0] == '#' || row[0] == '|' && !strings.Contains(row[1:at[0]], "|"))
			if first || len(strings.Fields(text)) > 2 && !isCode(text) {
				found = append(found, quotation{i + 1, text})
			}
		}
	}
	return found
}

// commandLine matches the beginning of a command of a shell, of a Dockerfile and of SQL.
var commandLine = regexp.MustCompile(`^(?:[A-Z_]+=\S* )?(?:bin/\w+|claude|curl|docker|git|go|` +
	`kubectl|make|mcpgen|openssl|pg_dump|pg_restore|sha256sum|ssh-keygen|sudo|umask|` +
	`ATTACH|CAST|RUN|SET|VACUUM)\b`)

// notation matches directives, SQL, YAML and JSON.
var notation = regexp.MustCompile(`^//|^func[ (]|^import |^\w+: \{| IN \(|[a-z]+:?=["…\w]|^\{?"|` +
	`= \?`)

func isCode(text string) bool {
	if commandLine.MatchString(text) || notation.MatchString(text) &&
		!output.MatchString(text) {
		return true
	}
	body := strings.ReplaceAll(text, "…", "x")
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+body+"\n}", 0)
	return err == nil
}

// gap stands for any text, in a quotation and in a string of the source.
const gap = '…'

// messages are the strings of the source. In place of each verb of a format, and of each operand
// that is no constant, is a gap.
type messages struct {
	texts map[string]int // the index of each
	all   [][]rune
	words map[string][]int // the texts with a word
}

func newMessages() *messages {
	return &messages{texts: map[string]int{}, words: map[string][]int{}}
}

// messagesOf reads the strings of the packages that print messages.
func messagesOf(root string) (*messages, error) {
	m := newMessages()
	for _, dir := range []string{"cmd", "examples", "generator", "internal", "runtime"} {
		err := filepath.WalkDir(filepath.Join(root, dir),
			func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir() && d.Name() == "testdata":
					return fs.SkipDir
				case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"),
					strings.HasSuffix(path, "mcp_gen.go"):
					return nil
				}
				f, err := parser.ParseFile(token.NewFileSet(), path, nil,
					parser.SkipObjectResolution)
				if err == nil {
					m.add(f)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *messages) add(f *ast.File) {
	ast.Inspect(f, func(n ast.Node) bool {
		e, is := n.(ast.Expr)
		if !is {
			return true
		}
		text, found := folded(e)
		if _, known := m.texts[text]; found && !known {
			at := len(m.all)
			m.texts[text] = at
			m.all = append(m.all, []rune(text))
			for word := range letters(text) {
				m.words[word] = append(m.words[word], at)
			}
		}
		return !found
	})
}

var verb = regexp.MustCompile(`%[-+# 0]*(?:\d+|\*)?(?:\.\d+)?(?:\[\d+\])?[a-zA-Z]`)

// folded joins the literals of a string, which may be a sum, and those of a call of fmt.Sprint.
func folded(e ast.Expr) (text string, found bool) {
	var parts []ast.Expr
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return verb.ReplaceAllString(text, string(gap)), e.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		parts = []ast.Expr{e.X, e.Y}
	case *ast.CallExpr:
		f, is := e.Fun.(*ast.SelectorExpr)
		if !is || f.Sel.Name != "Sprint" && f.Sel.Name != "Fprint" {
			return "", false
		}
		parts = e.Args
	}
	for _, part := range parts {
		if literal, is := folded(part); is {
			text, found = text+literal, true
		} else {
			text += string(gap)
		}
	}
	return text, found
}

// value matches what a message takes from its arguments: names in quotes, numbers, paths, places.
var value = regexp.MustCompile(`"[^"]*"|\S*[\d/.…]\S*`)

// letters returns the words of a text with the number of their letters.
func letters(text string) map[string]int {
	words := map[string]int{}
	for _, word := range strings.FieldsFunc(text,
		func(r rune) bool { return !unicode.IsLetter(r) }) {
		words[word] += len([]rune(word))
	}
	return words
}

// contain reports whether a string of the source, or one for each part of a quotation, contains the
// quotation. At least three fifths of the letters must be those of the string itself.
func (m *messages) contain(text string) bool {
	all, known := 0, map[int]int{}
	for word, n := range letters(value.ReplaceAllString(text, " ")) {
		all += n
		for _, at := range m.words[word] {
			known[at] += n
		}
	}
	if all == 0 {
		return true
	}
	trimmed := []rune(trim(text))
	for at, n := range known {
		if 5*n >= 3*all && 5*common(trimmed, m.all[at]) >= 3*all {
			return true
		}
	}
	for _, separator := range []string{"; ", ": "} {
		if before, after, found := strings.Cut(text, separator); found {
			return m.contain(before) && m.contain(after)
		}
	}
	return false
}

// trim removes the values and gaps at both ends of a quotation.
func trim(text string) string {
	for {
		text = strings.Trim(text, " ")
		all := value.FindAllStringIndex(text, -1)
		switch {
		case len(all) == 0:
			return strings.Trim(text, `"`)
		case all[0][0] == 0:
			text = text[all[0][1]:]
		case all[len(all)-1][1] == len(text):
			text = text[:all[len(all)-1][0]]
		default:
			return text
		}
	}
}

// common returns how many letters of a quotation a string contains, if it contains the quotation
// from the beginning of a word to the end of one, and -1 otherwise.
func common(quotation, text []rune) int {
	// best[j] is the number for the quotation so far, if it ends before text[j].
	best, next := make([]int, len(text)+1), make([]int, len(text)+1)
	for j := range best {
		best[j] = -1
		if boundary(text, j) {
			best[j] = 0
		}
	}
	skip := func(r rune) { // what a gap of either side may match
		for j := range text {
			if r == gap || text[j] == gap {
				best[j+1] = max(best[j+1], best[j])
			}
		}
	}
	for _, r := range quotation {
		skip(r)
		if r == gap {
			continue
		}
		for j := range next {
			next[j] = -1
			if j < len(text) && text[j] == gap {
				next[j] = best[j]
			}
			if j > 0 && text[j-1] == r && best[j-1] >= 0 {
				n := best[j-1]
				if unicode.IsLetter(r) {
					n++
				}
				next[j] = max(next[j], n)
			}
		}
		best, next = next, best
	}
	skip(0)
	most := -1
	for j, n := range best {
		if boundary(text, j) {
			most = max(most, n)
		}
	}
	return most
}

// boundary reports whether no word of a text goes on at an index.
func boundary(text []rune, at int) bool {
	return at == 0 || at == len(text) || !unicode.IsLetter(text[at-1]) || !unicode.IsLetter(text[at])
}
