package directive

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// former are the keys of earlier versions, by directive and key: the text in their place, and the
// cure. A text that ends in = renames the key. [Renewed] rewrites the keys whose cure names it.
var former = map[string]map[string]struct{ now, cure string }{
	"server": {"strict": {"unannotated=strict", "write unannotated=strict" + orFix}},
	"tool": {
		"annotationtitle": {"title=", "write title=" + orFix},
		"unsolicited": {"", "remove it" + orFix + "; handlers in go-sdk's shape take answers " +
			"that come with the first call"},
	},
	"param": {
		"example": {cure: inTag}, "exclusiveMinimum": {cure: inTag}, "exclusiveMaximum": {cure: inTag},
		"multipleOf": {cure: inTag}, "uniqueItems": {cure: inTag},
	},
}

const (
	orFix = ", or run mcpgen vet --fix"
	inTag = "remove it, or take a struct, whose jsonschema tag has this key"
)

// Renewed returns the text of a directive with the forms of earlier versions rewritten. A text that
// no earlier version took, or that admits more in one reading than in another, stays for a person.
func Renewed(text string) string {
	name := lowerWord.FindString(strings.TrimPrefix(text, "//mcp:"))
	l := &lexer{text: text, at: len("//mcp:") + len(name), d: &Directive{Name: name}}
	words := map[string]word{}
	var order []word
	for w, done := l.next(); !done; w, done = l.next() {
		words[w.key] = w
		order = append(order, w)
	}
	if len(l.bad) > 0 || len(words) < len(order) {
		return text
	}
	if name == "icon" {
		return renewedIcon(text, words)
	}
	var out strings.Builder
	at := 0
	for _, w := range order {
		f, ok := former[name][w.key]
		if !ok || !strings.Contains(f.cure, orFix) {
			continue
		}
		now, renames := strings.CutSuffix(f.now, "=")
		if w.assigned != renames {
			return text
		}
		if renames {
			now += text[w.start+len(w.key) : w.end]
		}
		key, _, _ := strings.Cut(f.now, "=")
		if _, written := words[key]; written && name == "server" { // strict unannotated=ignore
			return text
		} else if written {
			now = ""
		}
		before := text[at:w.start]
		if now == "" {
			before = strings.TrimRight(before, " \t")
		}
		out.WriteString(before + now)
		at = w.end
	}
	return out.String() + text[at:]
}

// renewedIcon rewrites //mcp:icon, which had keys for the members of an icon.
func renewedIcon(text string, words map[string]word) string {
	src := words["src"]
	known := 0
	for _, key := range []string{"src", "mimetype", "sizes", "theme"} {
		if words[key].assigned {
			known++
		}
	}
	if len(src.parts) == 0 || known < len(words) {
		return text
	}
	const now = "//mcp:meta icon "
	if len(words) == 1 {
		return now + "value" + text[src.start+len(src.key):src.end]
	}
	list := func(key string) (values []string) {
		for _, p := range words[key].parts {
			values = append(values, p.text)
		}
		return values
	}
	icon := struct {
		Source   string   `json:"src"`
		MIMEType string   `json:"mimeType,omitempty"`
		Sizes    []string `json:"sizes,omitempty"`
		Theme    string   `json:"theme,omitempty"`
	}{
		strings.Join(list("src"), ","), strings.Join(list("mimetype"), ","), list("sizes"),
		strings.Join(list("theme"), ","),
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(icon) // texts always encode
	literal := strings.TrimSpace(out.String())
	if strconv.CanBackquote(literal) {
		literal = "`" + literal + "`"
	} else {
		literal = strconv.Quote(literal)
	}
	return now + "json=" + literal
}
