package providers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Rule is a rule of a provider's API. The API refuses each request with a tool that breaks the
// rule, whatever the mode and whichever tool the model calls.
type Rule struct {
	Provider string
	Text     string // Markdown, one sentence
	Source   string // the URL of its evidence
	Seen     string // the date at which the source was read
	// Warns is whether mcpgen prints a warning at each generation. A client offers all tools of all
	// its servers in one request, so one such tool ends a session.
	Warns bool
}

// SourceName is the site of the source.
func (r Rule) SourceName() string {
	rest, _ := strings.CutPrefix(r.Source, "https://")
	site, _, _ := strings.Cut(rest, "/")
	return site
}

// seen is the date of all sources.
const seen = "2026-11-29"

// The rules.
var (
	anthropicKeys = &Rule{"anthropic", "The names of properties match `^[a-zA-Z0-9_.-]{1,64}$`. " +
		"Reports are about the root, and mcpgen checks every level.",
		"https://github.com/anthropics/claude-code/issues/79418", seen, true}
	anthropicRoot = &Rule{"anthropic", "The root has no `anyOf`, `oneOf` and `allOf`.",
		"https://github.com/anthropics/claude-code/issues/5319", seen, true}
	anthropicName = &Rule{"anthropic", "The name of a tool matches `^[a-zA-Z0-9_-]{1,64}$`.",
		"https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools", seen, false}
	openAIRoot = &Rule{"openai", "The root has no `anyOf`, `oneOf`, `allOf`, `enum` and `not`.",
		"https://github.com/langchain-ai/langchainjs/issues/9804", seen, true}
	openAIName = &Rule{"openai", "The name of a tool matches `^[a-zA-Z0-9_-]{1,64}$`.",
		"https://portkey.ai/error-library/input-validation-error-10046", seen, false}
	geminiName = &Rule{"gemini", "The name of a tool begins with a letter or `_`, and has letters, " +
		"digits, `_`, `.` and `-`, at most 64 characters.",
		"https://github.com/google-gemini/gemini-cli/issues/7869", seen, false}
	geminiEnum = &Rule{"gemini", "No value of an `enum` is the empty string.",
		"https://github.com/apify/apify-mcp-server/issues/353", seen, false}
	geminiItems = &Rule{"gemini", "A schema of type `array` has `items`.",
		"https://github.com/cline/cline/issues/7339", seen, false}
)

// Rules returns the rules of the APIs, by provider.
func Rules() []Rule {
	return []Rule{*anthropicKeys, *anthropicRoot, *anthropicName, *geminiName, *geminiEnum,
		*geminiItems, *openAIRoot, *openAIName}
}

// roots are the rules about the root of a schema, with their keywords.
var roots = map[string]struct {
	rule     *Rule
	keywords []string
}{
	"anthropic": {anthropicRoot, []string{"anyOf", "oneOf", "allOf"}},
	"openai":    {openAIRoot, []string{"anyOf", "oneOf", "allOf", "enum", "not"}},
}

// names are the rules about the name of a tool.
var names = map[string]struct {
	rule    *Rule
	pattern *regexp.Regexp
	cure    string
}{
	"anthropic": {anthropicName, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		"letters, digits, _ and -, at most 64 characters"},
	"openai": {openAIName, regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`),
		"letters, digits, _ and -, at most 64 characters"},
	"gemini": {geminiName, regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`),
		"a letter or _ first, then letters, digits, _, . and -, at most 64 characters"},
}

// rootCure is the cure of a choice at the root of a schema.
const rootCure = "remove %s from the root, or oneof_required= and anyof_required= from the " +
	"tags: write the condition into the description, and check " +
	"the arguments in the handler"

// toolName reports a name that the provider refuses.
func (d *document) toolName(provider, name string) {
	n := names[provider]
	if n.pattern.MatchString(name) {
		return
	}
	message := "its name does not match " + n.pattern.String()
	if length := len([]rune(name)); length > 64 {
		message = fmt.Sprintf("its name has %d characters, and may have 64", length)
	}
	d.problems = append(d.problems, Problem{Message: message, Rule: n.rule, aboutName: true,
		Cure: "write name= and prefix= with " + n.cure})
}

// api returns the check of one schema for the rules of the provider's API.
func api(provider string) func(*document, node) {
	return func(d *document, n node) {
		if root := roots[provider]; n.pointer == "" && root.rule != nil {
			for _, keyword := range root.keywords {
				if n.object[keyword] != nil {
					d.refused(root.rule, n, fmt.Sprintf(rootCure, keyword), "the schema has "+keyword)
				}
			}
		}
		switch provider {
		case "anthropic":
			for _, key := range sortedKeys(asObject(n.object["properties"])) {
				if !propertyKey.MatchString(key) {
					at := n
					at.pointer += "/properties/" + escapePointer(key)
					d.refused(anthropicKeys, at, keyCure(key), "the name does not match "+
						propertyKey.String())
				}
			}
		case "gemini":
			if slices.Contains(asList(n.object["enum"]), any("")) {
				d.refused(geminiEnum, n, "remove the empty value and make the argument optional, or "+
					"give the value a text such as none", "the enum has an empty string")
			}
			if slices.Contains(types(n.object), "array") && n.object["items"] == nil {
				d.refused(geminiItems, n, "write items", "the list has no items")
			}
		}
	}
}

func (d *document) refused(rule *Rule, n node, cure, message string) {
	d.problems = append(d.problems, Problem{Pointer: n.pointer, Message: message, Cure: cure,
		Rule: rule})
}

var (
	propertyKey = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	notKey      = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)
)

// TakesProperty reports whether each provider takes a property of this name.
func TakesProperty(name string) bool { return propertyKey.MatchString(name) }

// keyCure proposes a name for a property, if one is near.
func keyCure(key string) string {
	near := strings.Trim(notKey.ReplaceAllString(key, "_"), "_.-")
	foreign := strings.ContainsFunc(key, func(c rune) bool { return c > unicode.MaxASCII })
	if foreign || !propertyKey.MatchString(near) {
		return "name it with letters, digits, _, . and -, at most 64 characters"
	}
	return "name it with letters, digits, _, . and -, for example " + near
}

// Warning is a problem with a tool, and the providers that have it.
type Warning struct {
	Problem
	Providers []string
}

// Warnings returns the broken rules of a tool that have Warns, by its input schema.
func Warnings(schema []byte) (list []Warning, err error) {
	d, err := read(schema)
	if err != nil {
		return nil, err
	}
	for _, provider := range Names() {
		d.problems = nil
		d.walk(node{value: d.root}, api(provider))
		for _, p := range d.problems {
			if !p.Rule.Warns {
				continue
			}
			same := func(w Warning) bool { return w.Pointer == p.Pointer && w.Message == p.Message }
			if i := slices.IndexFunc(list, same); i >= 0 {
				list[i].Providers = append(list[i].Providers, provider)
			} else {
				list = append(list, Warning{p, []string{provider}})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Warning) int {
		return strings.Compare(a.Pointer, b.Pointer)
	})
	return list, nil
}
