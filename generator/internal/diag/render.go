package diag

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Style is how a list is printed. The zero value prints plain text with absolute paths.
type Style struct {
	// Base is the directory that file names are printed relative to. Files that are not
	// below it keep their absolute name. Empty keeps all absolute.
	Base string
	// Snippets prints the source line with a caret below it: for people at a terminal.
	Snippets bool
	// Color marks code and caret with ANSI colours: for terminals that show them.
	Color bool
	// Source reads a file for snippets; nil is os.ReadFile.
	Source func(file string) ([]byte, error)
}

const (
	red   = "\x1b[1;31m"
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

// Render prints one finding a line, "file:line:col: CODE: message", and what to do about it
// on an indented line below. The format is fixed: editors and scripts read it. The list is
// printed in its own order; Sort it first.
func (l List) Render(w io.Writer, style Style) error {
	out := bufio.NewWriter(w)
	source := style.Source
	if source == nil {
		source = os.ReadFile
	}
	files := map[string][]byte{}
	for _, d := range l {
		code := paint(string(d.Code), red, style.Color)
		fmt.Fprintf(out, "%s%s: %s\n", place(d.Pos, style.Base), code, d.Message)
		if style.Snippets && d.Pos.File != "" {
			text, seen := files[d.Pos.File]
			if !seen {
				// A file that cannot be read any more has no snippet; the finding remains.
				text, _ = source(d.Pos.File)
				files[d.Pos.File] = text
			}
			snippet(out, text, d.Pos, style.Color)
		}
		if d.Suggestion != "" {
			fmt.Fprintf(out, "\t%s %s\n", paint("fix:", cyan, style.Color), d.Suggestion)
		}
	}
	return out.Flush()
}

// place is "file:line:col: ", or nothing for a finding without a place.
func place(p model.Position, base string) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d:%d: ", Relative(p.File, base), p.Line, p.Col)
}

// Relative is file as it is printed for a reader in the directory base: relative with forward
// slashes if file is below base, and unchanged otherwise.
func Relative(file, base string) string {
	if base == "" {
		return file
	}
	rel, err := filepath.Rel(base, file)
	if err != nil || !filepath.IsLocal(rel) {
		return file
	}
	return filepath.ToSlash(rel)
}

func snippet(out *bufio.Writer, text []byte, p model.Position, color bool) {
	line, ok := lineOf(text, p.Line)
	if !ok || p.Col < 1 || p.Col > len(line)+1 {
		return
	}
	width := 1
	if p.EndCol > p.Col && p.EndCol <= len(line)+1 {
		width = utf8.RuneCountInString(line[p.Col-1 : p.EndCol-1])
	}
	// Tabs stay tabs, so that the caret is below its column at any tab width.
	lead := strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, line[:p.Col-1])
	fmt.Fprintf(out, "\t%s\n\t%s%s\n", line, lead, paint(strings.Repeat("^", width), red, color))
}

func lineOf(text []byte, number int) (string, bool) {
	for n := 1; ; n++ {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		if n == number {
			return strings.TrimSuffix(string(line), "\r"), len(text) > 0
		}
		if !more {
			return "", false
		}
		text = rest
	}
}

func paint(text, color string, on bool) string {
	if !on {
		return text
	}
	return color + text + reset
}
