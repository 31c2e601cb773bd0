// Command prose checks the language of the repository.
//
//	go run ./internal/prose [ROOT]
//
// It fails on a sentence of more than 35 words, on a word of the list below and on a Go comment
// of more than 100 columns. The text of README, docs, diagnostics, errors, help and console is
// checked for all of it. Tests are checked for words and columns. It also counts the sentences.
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

const (
	longest = 35  // words in a sentence
	widest  = 100 // columns of a comment, a tab is one
)

// instead maps each word to avoid to what to write for it.
var instead = []struct{ word, write string }{
	{"mend(?:s|ed|ing)?", "fix or remove"},
	{"errs", "fails, or reports an error"},
	{"stands? on", "depends on, or the place"},
	{"whoever", "the caller, or another noun"},
	{"hears", "receives"},
	{"(?:is|are) told", "gets, or receives"},
	{"spelt", "written"},
	{"lent", "given, or shared"},
	{"of all that", "of these, or nothing"},
	{"what it takes", "the requirement"},
	{"where there (?:is|are) none", "without, and the noun"},
}

var avoided = regexp.MustCompile(`(?i)\b(?:` + words() + `)\b`)

func words() string {
	var all []string
	for _, i := range instead {
		all = append(all, "("+strings.ReplaceAll(i.word, " ", `\s+`)+")")
	}
	return strings.Join(all, "|")
}

// A text is a paragraph, a list item, a table cell, a literal or a comment of a file.
type text struct {
	file  string
	line  int    // of its first word
	words string // its lines, inline code and links included
}

// A report collects findings, and counts sentences by kind of text.
type report struct {
	findings []string
	kinds    []string
	counts   map[string]*count
}

type count struct{ sentences, words, over25, over35 int }

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	findings, err := check(os.Stdout, os.DirFS(root))
	if err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

// check reports on the files of a repository and returns the number of findings.
func check(w io.Writer, root fs.FS) (int, error) {
	r := report{counts: map[string]*count{}}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || path != "." && name[0] == '.' ||
			path == "internal/prose"): // this package contains the words
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		kind := kindOf(path)
		if kind == "" {
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		switch kind {
		case "console":
			r.prose(kind, template(path, string(content)))
		case "Go":
			return r.source(path, content)
		default:
			r.prose(kind, markdown(path, 1, string(content)))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	r.print(w)
	return len(r.findings), nil
}

// kindOf is the kind of text that a file contains, and empty for a file that is not checked.
func kindOf(path string) string {
	dir, name := filepath.Split(path)
	switch {
	case strings.HasSuffix(name, ".go"):
		return "Go"
	case strings.HasPrefix(dir, "runtime/admin/internal/console/templates/"):
		return "console"
	case !strings.HasSuffix(name, ".md"):
		return ""
	case dir == "" && name == "README.md":
		return "README"
	case dir == "" || strings.HasPrefix(dir, "docs/"):
		return "docs"
	case strings.HasPrefix(dir, "examples/") && name == "README.md":
		return "examples"
	}
	return ""
}

// prose checks sentences and words.
func (r *report) prose(kind string, texts []text) {
	c := r.counts[kind]
	if c == nil {
		c = &count{}
		r.counts[kind] = c
		r.kinds = append(r.kinds, kind)
	}
	for _, t := range texts {
		r.words(t)
		for _, s := range sentences(t) {
			n := len(strings.Fields(s.words))
			c.sentences++
			c.words += n
			if n > 25 {
				c.over25++
			}
			if n > longest {
				c.over35++
				r.find(s.file, s.line, "sentence of %d words: split it, at most %d (%s …)", n, longest,
					strings.Join(strings.Fields(s.words)[:6], " "))
			}
		}
	}
}

// words checks the words of a text.
func (r *report) words(t text) {
	for _, at := range avoided.FindAllStringSubmatchIndex(t.words, -1) {
		group := slices.IndexFunc(instead, func(i struct{ word, write string }) bool {
			n := 2 * (1 + slices.Index(instead, i))
			return at[n] >= 0
		})
		r.find(t.file, t.line+strings.Count(t.words[:at[0]], "\n"), "%q: write %s",
			strings.Join(strings.Fields(t.words[at[0]:at[1]]), " "), instead[group].write)
	}
}

func (r *report) find(file string, line int, format string, args ...any) {
	r.findings = append(r.findings, fmt.Sprintf("%s:%d: ", file, line)+fmt.Sprintf(format, args...))
}

func (r *report) print(w io.Writer) {
	for _, f := range r.findings {
		fmt.Fprintln(w, f)
	}
	fmt.Fprintf(w, "%-10s %9s %7s %7s %7s\n", "", "sentences", "words", "over 25", "over 35")
	slices.Sort(r.kinds)
	for _, kind := range r.kinds {
		c := r.counts[kind]
		fmt.Fprintf(w, "%-10s %9d %7d %7d %7d\n", kind, c.sentences, c.words, c.over25, c.over35)
	}
}

// shortened are words that end with a full stop inside a sentence.
var shortened = regexp.MustCompile(`^\W*(?:e\.g|i\.e|vs|cf|etc|No)\.$`)

// sentences splits a text. Inline code is one word, and so is a number; a link is its text.
func sentences(t text) []text {
	line, begins := t.line, t.line
	var all []text
	var words []string
	end := func() {
		if len(words) > 0 {
			all = append(all, text{t.file, begins, strings.Join(words, " ")})
			words = nil
		}
	}
	for row := range strings.SplitSeq(plain(t.words), "\n") {
		for word := range strings.FieldsSeq(row) {
			if !strings.ContainsFunc(word,
				func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
				continue
			}
			if len(words) == 0 {
				begins = line
			}
			words = append(words, word)
			bare := strings.TrimRight(word, `"'”’*_)]`)
			if bare != "" && strings.IndexByte(".!?", bare[len(bare)-1]) >= 0 &&
				!shortened.MatchString(bare) {
				end()
			}
		}
		line++
	}
	end()
	return all
}
