package writefiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

// diffLines is the number of lines in Difference.Diff. Version control shows the rest.
const diffLines = 40

// State is how a file on the disk differs from a run of mcpgen.
type State int

const (
	Changed State = iota // it has other content
	Missing              // it does not exist
	Extra                // it should not exist
)

func (s State) String() string {
	switch s {
	case Missing:
		return "missing"
	case Extra:
		return "left over"
	}
	return "stale"
}

// Difference is one file that a run of mcpgen would write or remove.
type Difference struct {
	Path  string
	State State
	// Diff is a unified diff from the disk to the generated file, with the file's base name, cut
	// after 40 lines. It is empty for a missing or extra file.
	Diff string
}

// Stale compares as Write does and writes nothing. Differences are in the order of paths.
func Stale(files []emit.File, remove []string) ([]Difference, error) {
	var found []Difference
	for _, file := range files {
		old, info, err := current(system{}, file.Path)
		switch {
		case err != nil:
			return nil, failed(file.Path, err)
		case info == nil:
			found = append(found, Difference{Path: file.Path, State: Missing})
		case !same(old, file.Content) && (file.Else == nil || !same(old, file.Else)):
			name := filepath.Base(file.Path)
			text := diff.Diff(name, unixLines(old), name+" (generated)", unixLines(file.Content))
			found = append(found, Difference{Path: file.Path, State: Changed, Diff: shorten(text)})
		}
	}
	for _, path := range remove {
		_, err := system{}.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, failed(path, err)
		default:
			found = append(found, Difference{Path: path, State: Extra})
		}
	}
	slices.SortStableFunc(found, func(a, b Difference) int { return strings.Compare(a.Path, b.Path) })
	return found, nil
}

// shorten removes the line with the diff command, and the lines after diffLines.
func shorten(text []byte) string {
	lines := bytes.SplitAfter(text, []byte("\n"))[1:]
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	if len(lines) <= diffLines {
		return string(bytes.Join(lines, nil))
	}
	return string(bytes.Join(lines[:diffLines], nil)) +
		fmt.Sprintf("… and %d more lines\n", len(lines)-diffLines)
}
