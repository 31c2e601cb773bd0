package pattern

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"
)

// Command is a pattern of an argv, never of a line: no character of a pattern or an argument has a
// meaning to a shell.
type Command struct {
	text  string // canonical
	words []glob
	rest  bool // any further arguments
}

// shellSigns are the characters with a meaning to a shell. In a pattern they would be part of a
// word, which the author of the pattern does not mean.
const shellSigns = ";|&$<>()`\"'\n\r"

// ParseCommand reads a pattern of commands. Its error is an [*Error].
func ParseCommand(text string) (*Command, error) {
	if err := checkText(text); err != nil {
		return nil, err
	}
	fail := func(at int, problem, cure string) (*Command, error) {
		return nil, &Error{text, at, problem, cure}
	}
	var words []string
	var offsets []int
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &words); err != nil {
			return fail(0, "it begins like a JSON array, but is not an array of strings: "+err.Error(),
				`write ["git","log","*"], or only the words: git log *`)
		}
		// a decoded string may differ from the text: errors point to its beginning
		offsets = make([]int, len(words))
	} else {
		if at := strings.IndexAny(text, shellSigns); at >= 0 {
			return fail(at, "a command does not run in a shell, so "+string(text[at])+
				" has no special meaning",
				"grant each command separately; if an argument contains the character, write a JSON array "+
					"of strings")
		}
		for at := 0; at < len(text); {
			if text[at] == ' ' || text[at] == '\t' {
				at++
				continue
			}
			end := len(text)
			if i := strings.IndexAny(text[at:], " \t"); i >= 0 {
				end = at + i
			}
			words, offsets = append(words, text[at:end]), append(offsets, at)
			at = end
		}
	}
	p := &Command{}
	for i, word := range words {
		if word == "**" {
			if i < len(words)-1 {
				return fail(offsets[i], `"**" matches all further arguments`, "write it last")
			}
			p.rest = true
			break
		}
		g, err := parseGlob(text, offsets[i], word, i == 0)
		if err != nil {
			return nil, err
		}
		if i == 0 && g.exact && !ProgramName(g.lit) {
			return fail(offsets[i], "what "+word+" is depends on the working directory",
				`write the program as a bare name, or as an absolute path without ".." and extra "/"`)
		}
		p.words = append(p.words, g)
	}
	if len(words) == 0 {
		return fail(0, "the program is missing", "write the words of the command, for example git log *")
	}
	p.text = CommandText(words)
	return p, nil
}

// ProgramName reports whether a program is named so that it is the same one wherever the command
// runs: by a bare name, which is looked up, or by an absolute path in its shortest form. A sign
// that matches a name must not match "..".
func ProgramName(name string) bool {
	if name == "" || name == "." || name == ".." || strings.IndexByte(name, 0) >= 0 {
		return false
	}
	return !strings.Contains(name, "/") || strings.HasPrefix(name, "/") && path.Clean(name) == name
}

// CommandText returns the canonical text of a command: its words if spaces separate them clearly,
// else a JSON array.
func CommandText(words []string) string {
	plain := !strings.HasPrefix(words[0], "[")
	for _, w := range words {
		plain = plain && w != "" && !strings.ContainsAny(w, shellSigns+" \t")
	}
	if plain {
		return strings.Join(words, " ")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(words) // strings in memory: there is nothing that could fail
	return strings.TrimSpace(b.String())
}

// Canonical returns the text of the pattern as it is stored and compared.
func (p *Command) Canonical() string { return p.text }

// Match reports whether the pattern holds argv, which has a program.
func (p *Command) Match(argv []string) bool {
	if len(argv) < len(p.words) || len(argv) > len(p.words) && !p.rest {
		return false
	}
	for i := range p.words {
		if !p.words[i].match(argv[i]) {
			return false
		}
	}
	return true
}

// Covers reports whether p holds everything that other holds.
func (p *Command) Covers(other Pattern) bool {
	o, ok := other.(*Command)
	if !ok || len(o.words) < len(p.words) || !p.rest && (o.rest || len(o.words) > len(p.words)) {
		return false
	}
	for i := range p.words {
		if !p.words[i].covers(&o.words[i]) {
			return false
		}
	}
	return true
}
