package importer

import (
	"fmt"
	"go/ast"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/ettle/strcase"

	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Key is a key of a directive with its value, or nothing.
func Key(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + "=" + strconv.QuoteToASCII(value)
}

// Visible is a text on one line without hidden characters.
func Visible(text string) string {
	return strings.Join(strings.Fields(printable(text)), " ")
}

// printable replaces invalid UTF-8 and removes all characters that a reader does not see, except
// line feeds and spaces.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n",
		"\t", "    ").Replace(text)
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf,
			unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return r
		}
		return -1
	}, text)
}

// obeyed matches comments that change what tools report or review.
var obeyed = regexp.MustCompile(`(?i)^// *(nolint|#?nosec|code generated|lint:|revive:)`)

// Comment is a foreign text as the lines of a doc comment that holds no directive, nothing near to
// one, and no comment that other tools obey.
func Comment(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(printable(text)) + "\n") {
		line = strings.TrimRight("// "+strings.TrimRight(line, " \n"), " ")
		if len(directive.Misses(line)) > 0 || strings.HasPrefix(line, "// +") ||
			strings.HasPrefix(line, "// //") || obeyed.MatchString(line) ||
			schema.ForTools(strings.TrimPrefix(line, "// ")) {
			line = "// The line: " + strings.TrimPrefix(line, "// ")
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// Doc is a foreign description of a func: its doc comment; or, if a comment would change it, a
// constant with this name, which a directive has to name. Lines of a paragraph may be joined.
func Doc(constant, text string) (doc, declaration string) {
	text = strings.TrimSpace(printable(text))
	doc = Comment(text)
	same := strings.Join(strings.Fields(text), " ") ==
		strings.Join(strings.Fields(described(doc)), " ")
	if same && !strings.Contains(text, "```") && !strings.Contains(text, "\n|") {
		return doc, ""
	}
	return "", declared(constant, text)
}

// described is the description that a doc comment gives to a tool.
func described(comment string) string {
	group := &ast.CommentGroup{}
	for line := range strings.Lines(comment) {
		group.List = append(group.List, &ast.Comment{Text: strings.TrimSuffix(line, "\n")})
	}
	return schema.Description(group.Text())
}

// declared is a constant with a text, which a comment would change.
func declared(name, text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strconv.Quote(line))
	}
	return fmt.Sprintf("const %s = %s\n\n", name, strings.Join(lines, " +\n"))
}

// Identifier makes an exported Go name from a foreign one. other stands before a name that begins
// with no letter.
func Identifier(foreign, other string) string {
	words := strings.FieldsFunc(foreign, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	name := strcase.ToGoPascal(strings.Join(words, "_"))
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		name = other + name
	}
	return name
}

// Unique adds a number to a name that is taken.
func Unique(name string, taken func(string) bool) string {
	for i, base := 2, name; taken(name); i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}
