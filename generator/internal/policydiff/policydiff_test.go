package policydiff_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
)

var update = flag.Bool("update", false, "write the changes into the recorded pairs")

func read(t *testing.T, file string, text []byte) *policydiff.Manifest {
	t.Helper()
	m, err := policydiff.Read(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRecordedPairs compares pairs of manifests. Each has a comment with the change that it is
// about, and all lines that the comparison has.
func TestRecordedPairs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 25 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var before, after []*policydiff.Manifest
			want := &archive.Files[len(archive.Files)-1]
			for _, f := range archive.Files[:len(archive.Files)-1] {
				m := read(t, f.Name, f.Data)
				if strings.HasPrefix(f.Name, "base/") {
					before = append(before, m)
				} else {
					after = append(after, m)
				}
			}
			var got strings.Builder
			lines := map[string]bool{}
			for _, c := range policydiff.Compare(before, after) {
				if lines[c.String()] {
					t.Errorf("one line of an allow-list is for two changes: %s", c)
				}
				lines[c.String()] = true
				got.WriteString(c.String() + "\n")
			}
			if *update {
				want.Data = []byte(got.String())
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != string(want.Data) {
				t.Errorf("got\n%swant\n%s", got.String(), want.Data)
			}
			for _, set := range [][]*policydiff.Manifest{before, after} {
				if c := policydiff.Compare(set, set); len(c) > 0 {
					t.Errorf("a set differs from itself: %v", c)
				}
			}
			// A possible widening has a condition, and no reverse.
			widened := func(c policydiff.Change) bool {
				return c.Kind == policydiff.Widened && !strings.Contains(c.Message, ", now "+c.After+", ")
			}
			narrowed := func(c policydiff.Change) bool { return c.Kind == policydiff.Narrowed }
			forth, back := policydiff.Compare(before, after), policydiff.Compare(after, before)
			if slices.ContainsFunc(forth, widened) != slices.ContainsFunc(back, narrowed) {
				t.Errorf("the reverse of a widening is no narrowing: %v", back)
			}
		})
	}
}
