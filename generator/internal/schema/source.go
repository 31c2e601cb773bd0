// Package schema turns Go types into the JSON Schemas of tools, as invopop's Reflector would
// at run time, but fit for MCP clients: Rules lists the differences, each with a reason and a test.
// Types without a schema and mistaken tags are returned as Problems, all of a type at once.
package schema

import (
	"go/types"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Source provides the comments and const blocks of declarations, which go/types does not have.
// Objects may come from export data. A declaration without source has no comment.
type Source interface {
	// TypeDoc is the doc comment of a named type, as CommentGroup.Text returns it.
	TypeDoc(name *types.TypeName) string
	// FieldDoc is the comment of a struct field, doc comment before line comment.
	FieldDoc(field *types.Var) string
	// Enum returns the constants of a string or integer type of the same module in its largest
	// const block, in source order, and nil if none has two constants.
	Enum(name *types.TypeName) []*types.Const
	// Local reports whether a package belongs to a module of this run: its types can be
	// edited together with the handlers.
	Local(pkg *types.Package) bool
	// ConditionalMethod reports whether the file of a method is not part of every build. Such a
	// method is a finding of its own, and the schema is made without it.
	ConditionalMethod(fn *types.Func) bool
}

// Problem is a part of a type that has no static schema.
type Problem struct {
	Kind ProblemKind
	// Path names the offending part from the root type inwards: "GetByIDInput.Filter.Match".
	Path string
	// Obj is the innermost field or type name that has a position, or nil.
	Obj types.Object
	// Type is the innermost named type, or nil. Its declaration has the fault, in the field Obj if
	// Field is set.
	Type  *types.TypeName
	Field bool
	// Own is the innermost field or type name of this run's module, which its author can change, or
	// nil.
	Own     types.Object
	Message string // one line, no full stop
	Cure    string // one line
	// Panics reports a type that no decoder can fill, also by a schema that is written by hand.
	Panics bool
	// InTag reports a struct tag that is malformed at the byte Offset of its text.
	InTag  bool
	Offset int
}

// ProblemKind sorts problems into the diagnostics that report them.
type ProblemKind int

const (
	UnsupportedType ProblemKind = iota // func, chan, complex, unsafe pointer, non-string map key …
	BadTag                             // unknown key, unparsable or contradictory value
	HookedType                         // JSONSchema and friends: known at run time only
	HiddenText                         // a tag with a character that people do not see
	GuardedField                       // a field with a rule that a caller without it must send
)

var (
	listItem = regexp.MustCompile(`^[ \t]*([-*+•]|[0-9]+[.)])[ \t]`)
	ownLine  = regexp.MustCompile(`^(#+ |\[[^\]]+\]: )`) // a heading or the target of a link
)

// Description is a comment as clients read it: each paragraph and each list item is one line.
// Lists, links, headings and code stay as written. Lines for other tools are left out.
func Description(text string) string {
	return description(text, swagger.MatchString(text))
}

// SwaggerOnly reports whether go-swagger reads all of a field's comment, if it reads the struct.
func SwaggerOnly(text string) bool { return description(text, true) == "" }

// description is a comment as clients read it. go-swagger reads properties in a comment with one of
// its annotations, and in the comments of the fields of a type whose comment has one.
func description(text string, hasSwagger bool) string {
	var lines []string
	const blank, paragraph, item, code, other = 0, 1, 2, 3, 4
	before := blank
	for line := range strings.Lines(prose(text, hasSwagger)) {
		line = strings.TrimRight(line, " \t\n")
		indented := strings.TrimLeft(line, " \t") != line
		kind := paragraph
		switch {
		case line == "":
			kind = blank
		case listItem.MatchString(line):
			kind = item
		case ownLine.MatchString(line):
			kind = other
		case indented && before == item, !indented && before == paragraph:
			lines[len(lines)-1] += " " + strings.TrimLeft(line, " \t")
			continue
		case indented:
			kind = code
		}
		lines, before = append(lines, line), kind
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// WithoutName returns a comment without the Go name that it begins with, which has no meaning for
// clients: "GetByID returns one person." becomes "Returns one person.", and "Board is the page"
// becomes "The page". A text stays as it is if no verb follows the name: "Options for a page".
func WithoutName(text, name string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok {
		return text
	}
	verb, object, _ := strings.Cut(rest, " ")
	switch verb {
	case "is":
		article, _, _ := strings.Cut(object, " ")
		if article != "a" && article != "an" && article != "the" && article != "one" {
			return text
		}
		rest = object
	case "are", "was", "were", "and", "or", "can", "may", "must", "should", "will", "would",
		"about", "as", "at", "by", "for", "from", "in", "into", "like", "of", "on", "per", "that",
		"to", "under", "when", "where", "which", "while", "whose", "with", "within", "without":
		return text
	}
	first, size := utf8.DecodeRuneInString(rest)
	if !unicode.IsLower(first) {
		return text
	}
	return string(unicode.ToUpper(first)) + rest[size:]
}

var (
	// toolLine matches a line that other tools read: markers (+optional), annotations (@Summary,
	// @gotags:), swagger:model with or without the Go name in front, directives with a space behind
	// the slashes (// nolint:all, // go:embed x), and the first line of a comment for swag.
	toolLine = regexp.MustCompile(`^\+([a-z][\w.:/-]*([=(,].*)?$|build )|^[ \t]*(@[A-Za-z][\w.-]*:|` +
		`@(?i:` + annotations + `)([ \t({]|$)|` +
		`([A-Za-z_]\w* +)?swagger:[a-z]|[A-Z]\w* godoc$|` +
		`nolint($|[ \t]*//|:)|#?nosec($|[ \t])|(?i:code generated .*DO NOT EDIT\.?$)|` +
		`(` + tools + `):[A-Za-z])`)
	// toolEnd matches a directive behind the text of a line.
	toolEnd = regexp.MustCompile(`[ \t]+((//[ \t]*)?nolint:[\w,-]+([ \t]*//.*)?|//[ \t]*nolint|` +
		`(//[ \t]*)?#nosec( G\d+)*)$`)
	// swaggerLine matches the properties that go-swagger reads, which have few values.
	swaggerLine = regexp.MustCompile(`(?i)^[ \t]*(in: *(body|query|path|header|form(data)?)|` +
		`(required|unique|read ?only|discriminator|deprecated): *(true|false)|` +
		`collection ?format: *\w+)$`)
	// swaggerPart matches the first line of a part of a comment with swagger:route.
	swaggerPart = regexp.MustCompile(`(?i)^[ \t]*(consumes|produces|schemes|security|responses|` +
		`parameters|extensions|callbacks|external ?docs|securitydefinitions):[ \t]*`)
	swagger = regexp.MustCompile(`(?m)^[ \t]*([A-Za-z_]\w* +)?swagger:[a-z]`)
)

// annotations are the names that swag and comments of other languages have behind an @. Other words
// with an @ are text, as in @here.
const annotations = `summary|description(\.markdown)?|tags|accept|produce|params?|success|` +
	`failure|response|header|(deprecated)?router|security|id|title|version|host|basepath|schemes|` +
	`termsofservice|(contact|license|tag|query|externaldocs|securitydefinitions)\.[\w.]+|in|name|` +
	`x-[\w-]+|returns?|throws|see|since|author|deprecated|example|todo|ignore|inject_tag|` +
	`api\w*`

// tools are the names in directives of tools, as in go:build. Other names with a colon are text, as
// in host:port.
const tools = `go|golang|lint|golangci|revive|staticcheck|gosec|exhaustive|exhaustruct|ireturn|` +
	`wire|encore|counterfeiter|mockgen|moq|mockery|sqlc|easyjson|ffjson|gqlgen|goverter|cgo|` +
	`kubebuilder|k8s|genclient|deepcopy-gen|openapi|oapi-codegen|openapi-gen|protobuf|stringer|` +
	`enumer|gopherjs|tinygo|coverage|cspell|spell-checker|goland|gocover|gomodifytags|gotags|` +
	`apidoc|enum-gen|go-sumtype|sumtype|nosemgrep|codespell`

// ForTools reports whether a line of a comment is for other tools.
func ForTools(line string) bool {
	return toolLine.MatchString(line) || toolEnd.MatchString(line)
}

// prose is a comment without the lines for other tools.
func prose(text string, hasSwagger bool) string {
	var b strings.Builder
	continues, part := false, false // the line before is for a tool, and has this one as well
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		switch {
		case hasSwagger && strings.TrimSpace(line) == "---": // YAML up to the end
			return b.String()
		case continues, toolLine.MatchString(line):
			continues, part = strings.HasSuffix(line, `\`), false
			continue
		case hasSwagger && swaggerLine.MatchString(line):
			continue
		case hasSwagger && swaggerPart.MatchString(line):
			part = true
			continue
		case part && (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") ||
			strings.HasPrefix(line, "- ") || value.MatchString(line)):
			continue
		}
		if line == "" && (b.Len() == 0 || strings.HasSuffix(b.String(), "\n\n")) {
			continue
		} else if line != "" {
			part = false
		}
		b.WriteString(toolEnd.ReplaceAllString(line, "") + "\n")
	}
	return b.String()
}

// value matches a line of a part, as in 200: order.
var value = regexp.MustCompile(`^[\w-]+:( |$)`)
