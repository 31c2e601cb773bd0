package schema

import (
	"regexp"
	"strings"
)

var (
	// toolLine matches a line that other tools read: markers (+optional), annotations (@Summary,
	// @gotags:), swagger:model with or without the Go name in front, directives with a space behind
	// the slashes (// nolint:all, // go:embed x), and the first line of a comment for swag.
	toolLine = regexp.MustCompile(`^[ \t]*(\+[A-Za-z]|@[A-Za-z][\w.-]*([ \t:({]|$)|` +
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

// tools are the names in directives of tools, as in go:build. Other names with a colon are text, as
// in host:port.
const tools = `go|golang|lint|golangci|revive|staticcheck|gosec|exhaustive|exhaustruct|ireturn|` +
	`wire|encore|counterfeiter|mockgen|moq|mockery|sqlc|easyjson|ffjson|gqlgen|goverter|cgo|` +
	`kubebuilder|k8s|genclient|deepcopy-gen|openapi|oapi-codegen|openapi-gen|protobuf|stringer|` +
	`enumer|gopherjs|tinygo|coverage|cspell|spell-checker|goland|gocover|gomodifytags|gotags|` +
	`apidoc|enum-gen|go-sumtype|sumtype|nosemgrep|codespell`

// ForTools reports whether a line of a comment is for other tools.
func ForTools(line string) bool {
	return toolLine.MatchString(line) || swaggerLine.MatchString(line) || toolEnd.MatchString(line)
}

// prose is a comment without the lines for other tools.
func prose(text string) string {
	var b strings.Builder
	hasSwagger := swagger.MatchString(text)
	continues, part := false, false // the line before is for a tool, and has this one as well
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\n")
		switch {
		case hasSwagger && strings.TrimSpace(line) == "---": // YAML up to the end
			return b.String()
		case continues, toolLine.MatchString(line):
			continues, part = strings.HasSuffix(line, `\`), false
			continue
		case swaggerLine.MatchString(line):
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
