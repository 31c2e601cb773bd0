package writefiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

func TestStaleReportsWhatWriteWouldDo(t *testing.T) {
	dir, files, remove := scene(t)
	before := tree(t, dir)
	found, err := Stale(files, append(remove, filepath.Join(dir, "never-there")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range found {
		got = append(got, fmt.Sprintf("%s %s", filepath.Base(d.Path), d.State))
	}
	expect(t, "differences", got, []string{"a stale", "b stale", "gone left over", "n missing"})
	expect(t, "tree", tree(t, dir), before)

	want := "--- a\n+++ a (generated)\n@@ -1,1 +1,1 @@\n-old a\n\\ No newline at end of file\n+new a\n\\ No newline at end of file\n"
	expect(t, "diff", found[0].Diff, want)

	if _, err := Write(files, remove); err != nil {
		t.Fatal(err)
	}
	if found, err = Stale(files, remove); err != nil || len(found) != 0 {
		t.Errorf("after Write: %v, %v", found, err)
	}
}

func TestALongDifferenceIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, strings.Repeat("old\n", 100))
	found, err := Stale([]emit.File{{Path: path, Content: []byte(strings.Repeat("new\n", 100))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(found[0].Diff, "\n"), "\n")
	if len(lines) != diffLines+1 || lines[diffLines] != "… and 163 more lines" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

func TestStaleReportsWhatItCannotCompare(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, "f")
	if err := os.Mkdir(blocked, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Stale([]emit.File{{Path: blocked}}, nil); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory in the way: %v", err)
	}
	file := filepath.Join(dir, "file")
	put(t, file, "")
	if _, err := Stale(nil, []string{filepath.Join(file, "below")}); err == nil {
		t.Error("a path below a file was compared")
	}
}

func TestContentThatIsAsGoodIsNotStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "MCP.md")
	for text, stale := range map[string]bool{"not proven\n": false, "files\n": false, "files\r\n": false, "network\n": true} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		found, err := Stale([]emit.File{{Path: path, Content: []byte("not proven\n"), Else: []byte("files\n")}}, nil)
		if err != nil || (len(found) > 0) != stale {
			t.Errorf("%q: %v, %v", text, found, err)
		}
	}
}
