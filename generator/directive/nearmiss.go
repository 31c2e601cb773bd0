package directive

import (
	"regexp"
	"slices"
	"strings"
)

// near matches what a person may have meant as a directive, at the start of a comment line
// without its markers. The name has to be known: prose that begins with "mcp:" is no mistake.
var near = regexp.MustCompile(`^[\s*]*(?:/[/*]+\s*)?(?i:mcp(?:gen)?)\s*:\s*([A-Za-z]+)`)

// NearMiss reports whether a comment, markers included, is nearly a directive: a space within
// it, an upper-case letter, a block comment. It returns the directive's name as it should be
// written. gofmt turns "//mcp: tool" into "// mcp: tool", so both count. Ask it for doc
// comments only: elsewhere a comment may quote anything.
func NearMiss(comment string) (name string, ok bool) {
	if is(comment) {
		return "", false
	}
	body, block := strings.CutPrefix(comment, "/*")
	lines := []string{strings.TrimPrefix(comment, "//")}
	if !block && strings.HasPrefix(strings.TrimLeft(lines[0], " \t"), "//") {
		return "", false // a directive commented out, or prose that quotes one with its slashes
	}
	if block {
		lines = strings.Split(strings.TrimSuffix(body, "*/"), "\n")
	}
	for _, line := range lines {
		m := near.FindStringSubmatchIndex(line)
		if m == nil {
			continue
		}
		name := strings.ToLower(line[m[2]:m[3]])
		if !slices.ContainsFunc(specs, func(s Spec) bool { return s.Name == name }) {
			continue
		}
		return name, true
	}
	return "", false
}
