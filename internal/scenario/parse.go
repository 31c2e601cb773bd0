package scenario

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/txtar"
)

// Setup is the part of a file that configures its server.
type Setup struct {
	// Server has the lines of the section "server" by their words, such as "toolset", but for those
	// that this package reads.
	Server map[string]string
	// Sections are the other sections of the file that are no steps, by name.
	Sections map[string]string

	versions, transports []string
	client               string
	show                 []string
	choice               string // such as "Denial:forbid", if the file has several servers
}

var (
	allVersions   = []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	allTransports = []string{"http", "stdio"}
)

// file is one scenario.
type file struct {
	path    string
	archive *txtar.Archive
	setup   Setup // with the alternatives of its lines
	steps   []*step
}

// line is one line with its condition, which is empty for all runs.
type line struct{ condition, text string }

// step is one step with the lines after it.
type step struct {
	where    string
	section  int // of the archive
	from, to int // its expected lines and answers within the section
	line
	headers []line
	after   []line
	same    []line
}

func read(path string) (*file, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, archive: archive, setup: Setup{Server: map[string]string{},
		Sections: map[string]string{}, versions: allVersions, transports: allTransports,
		client: "{}"}}
	if len(strings.TrimSpace(string(archive.Comment))) == 0 {
		return nil, fmt.Errorf("%s: it does not say what it proves", path)
	}
	for i, section := range archive.Files {
		switch {
		case section.Name == "server":
			f.configure(string(section.Data))
		case strings.HasPrefix(section.Name, "steps"):
			if err := f.parse(i, strings.Split(string(section.Data), "\n")); err != nil {
				return nil, err
			}
		default:
			f.setup.Sections[section.Name] = string(section.Data)
		}
	}
	if len(f.steps) == 0 {
		return nil, fmt.Errorf("%s: it has no steps", path)
	}
	return f, nil
}

func (f *file) configure(text string) {
	for l := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(l), ":")
		value = strings.TrimSpace(value)
		switch {
		case key == "" || key[0] == '#':
		case key == "versions":
			f.setup.versions = strings.Fields(value)
		case key == "transports":
			f.setup.transports = strings.Fields(value)
		case key == "client":
			f.setup.client = value
		case key == "show":
			f.setup.show = strings.Fields(value)
		default:
			f.setup.Server[key] = value
		}
	}
}

var (
	conditionOf = regexp.MustCompile(`^\[([^\]"{]*)\] `)
	stepLine    = regexp.MustCompile(`^[^ >]+> |^let `)
)

// parse adds the steps of one section.
func (f *file) parse(section int, lines []string) error {
	var last *step
	for i := range lines {
		l := line{text: strings.TrimSpace(lines[i])}
		if m := conditionOf.FindStringSubmatch(l.text); m != nil {
			l.condition, l.text = m[1], l.text[len(m[0]):]
		}
		where := fmt.Sprintf("%s: %s:%d", f.path, f.archive.Files[section].Name, i+1)
		switch {
		case l.text == "" || l.text[0] == '#':
			continue
		case stepLine.MatchString(l.text) && !betweenQuestionAndAnswer(last, l, lines[i+1:]):
			last = &step{where: where, section: section, line: l, from: i + 1, to: i + 1}
			f.steps = append(f.steps, last)
			continue
		case last == nil:
			return fmt.Errorf("%s: %q comes before the first step", where, l.text)
		case strings.HasPrefix(l.text, "+ "):
			l.text = l.text[2:]
			last.headers = append(last.headers, l)
			last.from, last.to = i+1, i+1
			continue
		case strings.HasPrefix(l.text, "same: "):
			l.text = l.text[len("same: "):]
			last.same = append(last.same, l)
			continue
		case !isInput(l.text) && !isOutput(l.text):
			return fmt.Errorf("%s: %q is no line of a scenario", where, l.text)
		}
		last.after = append(last.after, l)
		last.to = i + 1
	}
	return nil
}

// betweenQuestionAndAnswer reports whether a line changes the server while a question waits.
func betweenQuestionAndAnswer(last *step, l line, next []string) bool {
	if last == nil || !strings.HasPrefix(l.text, "server> ") {
		return false
	}
	for _, text := range next {
		text = conditionOf.ReplaceAllString(strings.TrimSpace(text), "")
		if strings.HasPrefix(text, "> ") {
			return true
		}
		if !strings.HasPrefix(text, "server> ") {
			return false
		}
	}
	return false
}

func isInput(text string) bool {
	return strings.HasPrefix(text, "> ") || strings.HasPrefix(text, "server> ")
}

func isOutput(text string) bool {
	kinds := []string{"<", "* ", "? ", "note: ", "audit: ", "log: ", "debug: "}
	return slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(text, k) })
}

// setups returns a setup for each choice of the alternatives of the section "server".
func (f *file) setups() []Setup {
	all := []Setup{f.setup}
	for _, key := range slices.Sorted(maps.Keys(f.setup.Server)) {
		values, choices := pick(f.setup.Server[key])
		if len(values) == 1 {
			continue
		}
		var next []Setup
		for _, s := range all {
			for i, value := range values {
				one := s
				one.Server = maps.Clone(s.Server)
				one.Server[key] = value
				one.choice = strings.TrimSpace(one.choice + " " + key + ":" +
					strings.Join(choices[i].groups, ","))
				next = append(next, one)
			}
		}
		all = next
	}
	return all
}

// spares reports whether the quick run leaves a variant out: of all versions and transports it has
// each at least once.
func (s Setup) spares(v variant) bool {
	switch {
	case len(s.versions) < len(allVersions):
		return false
	case len(s.transports) == 1:
		return v.version == "2025-06-18"
	}
	return v.version == "2025-06-18" && v.transport == "http" ||
		v.version == "2025-11-25" && v.transport == "stdio"
}

// variant is a protocol version, a transport, and a choice of the server.
type variant struct{ version, transport, choice string }

func (v variant) sessions() bool { return v.version != "2026-07-28" }

// has reports whether a condition holds.
func (v variant) has(condition string) bool {
	for _, word := range strings.Fields(condition) {
		word, not := strings.CutPrefix(word, "!")
		holds := word == v.version || word == v.transport || word == "sessions" && v.sessions() ||
			slices.Contains(strings.Fields(v.choice), word)
		if holds == not {
			return false
		}
	}
	return true
}

// of returns the texts of the lines of a variant.
func (v variant) of(lines []line) (texts []string) {
	for _, l := range lines {
		if v.has(l.condition) {
			texts = append(texts, l.text)
		}
	}
	return texts
}

// write replaces what the given steps expect, and keeps all other lines.
func (f *file) write(got map[*step][]string) error {
	for i := range f.archive.Files {
		lines := strings.Split(string(f.archive.Files[i].Data), "\n")
		for _, s := range slices.Backward(f.steps) {
			if text, ok := got[s]; ok && s.section == i {
				lines = slices.Replace(lines, s.from, s.to, text...)
			}
		}
		f.archive.Files[i].Data = []byte(strings.Join(lines, "\n"))
	}
	return os.WriteFile(f.path, txtar.Format(f.archive), 0o644)
}
