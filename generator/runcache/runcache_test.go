package runcache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module is a module with one that it replaces.
func module(t *testing.T) string {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "")
	t.Setenv("CI", "")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "m")
	put(t, dir, "go.mod", "module example.com/m\n\ngo 1.26\n\nreplace example.com/dep => ../dep\n")
	put(t, dir, "svc/svc.go", "package svc\n")
	put(t, dir, "svc/mcp_gen.go", "package svc // generated\n")
	put(t, dir, "svc/MCP.md", "# svc\n")
	put(t, dir, "testdata/t.go", "package t\n")
	put(t, dir, "notes.txt", "nothing\n")
	put(t, dir, "../dep/go.mod", "module example.com/dep\n")
	put(t, dir, "../dep/dep.go", "package dep\n")
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func storeEntry(t *testing.T, dir string) {
	t.Helper()
	find(t, dir).Store(nil, nil)
	if !find(t, dir).Current() {
		t.Fatal("the entry is not current although nothing has changed")
	}
}

func find(t *testing.T, dir string, patterns ...string) *Entry {
	t.Helper()
	e := Find(t.Context(), dir, append([]string{"./..."}, patterns...))
	if e == nil {
		t.Fatal("the inputs are unknown")
	}
	return e
}

func TestEveryInputInvalidatesTheEntry(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"an edited source":           func(t *testing.T, dir string) { put(t, dir, "svc/svc.go", "package svc \n") },
		"an edited generated file":   func(t *testing.T, dir string) { put(t, dir, "svc/mcp_gen.go", "package svc // by hand\n") },
		"edited documents":           func(t *testing.T, dir string) { put(t, dir, "svc/MCP.md", "# mine\n") },
		"a new manifest":             func(t *testing.T, dir string) { put(t, dir, "svc/mcp.manifest.json", "{}\n") },
		"a new package":              func(t *testing.T, dir string) { put(t, dir, "new/new.go", "package new\n") },
		"a new test":                 func(t *testing.T, dir string) { put(t, dir, "svc/svc_test.go", "package svc\n") },
		"an edited testdata package": func(t *testing.T, dir string) { put(t, dir, "testdata/t.go", "package u\n") },
		"an edited go.mod":           func(t *testing.T, dir string) { put(t, dir, "go.mod", "module example.com/m\n\ngo 1.25\n") },
		"a new go.sum":               func(t *testing.T, dir string) { put(t, dir, "go.sum", "\n") },
		"a vendor directory":         func(t *testing.T, dir string) { put(t, dir, "vendor/modules.txt", "\n") },
		"a replaced module":          func(t *testing.T, dir string) { put(t, dir, "../dep/dep.go", "package dep // edited\n") },
		"build tags":                 func(t *testing.T, dir string) { t.Setenv("GOFLAGS", "-tags=x") },
		"another system":             func(t *testing.T, dir string) { t.Setenv("GOOS", "plan9") },
		"a nested module": func(t *testing.T, dir string) {
			put(t, dir, "svc/go.mod", "module example.com/m/svc\n")
		},
		"a removed file": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "svc", "mcp_gen.go")); err != nil {
				t.Fatal(err)
			}
		},
		"a renamed package": func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "svc"), filepath.Join(dir, "service")); err != nil {
				t.Fatal(err)
			}
		},
		"a link with the same content": func(t *testing.T, dir string) {
			path := filepath.Join(dir, "svc", "mcp_gen.go")
			if err := os.Rename(path, filepath.Join(dir, "notes.old")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../notes.old", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t)
			storeEntry(t, dir)
			change(t, dir)
			if find(t, dir).Current() {
				t.Error("the entry is current")
			}
		})
	}
}

func TestEntryStaysCurrentWhenNoInputChanges(t *testing.T) {
	dir := module(t)
	storeEntry(t, dir)
	put(t, dir, "notes.txt", "something\n")
	put(t, dir, ".git/hooks/x.go", "no Go\n")
	put(t, dir, "svc/svc.go", "package svc\n") // touched
	if !find(t, dir).Current() {
		t.Error("the entry is not current")
	}
	if find(t, dir, "./svc").Current() || Find(t.Context(), filepath.Join(dir, "svc"), []string{"./..."}).Current() {
		t.Error("the entry is current for other patterns or another directory")
	}
}

func TestMissingOrTruncatedEntryIsNotCurrent(t *testing.T) {
	dir := module(t)
	storeEntry(t, dir)
	path := find(t, dir).path
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range []string{"", "{}", string(text[:len(text)/2]), "\x00", `{"digest":1}`} {
		if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if find(t, dir).Current() {
			t.Errorf("%q is current", torn)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if find(t, dir).Current() {
		t.Error("a missing entry is current")
	}
	storeEntry(t, dir)
}

func TestEntryDescribesTheFilesAfterTheRun(t *testing.T) {
	generated := "package svc // anew\n"
	for _, test := range []struct {
		name   string
		during map[string]string // what another program writes during the run
		want   bool
	}{
		{"no other change", nil, true},
		{"a source is edited", map[string]string{"svc/svc.go": "package svc // edited\n"}, false},
		{"a package appears", map[string]string{"new/new.go": "package new\n"}, false},
		{"a written file is edited", map[string]string{"svc/mcp_gen.go": "package svc // by hand\n"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := module(t)
			put(t, dir, "svc/aa_mcp_error.go", "package svc\n")
			e := find(t, dir)
			put(t, dir, "svc/mcp_gen.go", generated)
			errorFile := filepath.Join(dir, "svc", "aa_mcp_error.go")
			if err := os.Remove(errorFile); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.during {
				put(t, dir, name, text)
			}
			written := map[string][]byte{filepath.Join(dir, "svc", "mcp_gen.go"): []byte(generated)}
			e.Store(written, []string{errorFile})
			if got := find(t, dir).Current(); got != test.want {
				t.Errorf("current: %v", got)
			}
		})
	}
}

func TestUnknownInputsDisableTheCache(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a workspace":              func(t *testing.T, dir string) { put(t, dir, "go.work", "go 1.26\n\nuse .\n") },
		"an overlay":               func(t *testing.T, dir string) { t.Setenv("GOFLAGS", "-overlay=/some/file.json") },
		"another go.mod":           func(t *testing.T, dir string) { t.Setenv("GOFLAGS", "-modfile=/some/go.mod") },
		"CI":                       func(t *testing.T, dir string) { t.Setenv("CI", "true") },
		"a driver of packages":     func(t *testing.T, dir string) { t.Setenv("GOPACKAGESDRIVER", "some") },
		"no go command":            func(t *testing.T, dir string) { t.Setenv("PATH", "") },
		"a go.mod with an error":   func(t *testing.T, dir string) { put(t, dir, "go.mod", "modul x\n") },
		"a replacement that is no": func(t *testing.T, dir string) { _ = os.RemoveAll(filepath.Join(dir, "../dep")) },
		"a link to a directory": func(t *testing.T, dir string) {
			if err := os.Symlink("svc", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
		},
		"a file that cannot be read": func(t *testing.T, dir string) {
			if err := os.Symlink("nowhere.go", filepath.Join(dir, "x.go")); err != nil {
				t.Fatal(err)
			}
		},
		"no module": func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "go.mod")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t)
			change(t, dir)
			e := Find(t.Context(), dir, nil)
			e.Store(nil, nil)
			if e != nil || e.Current() {
				t.Error("it was stored")
			}
		})
	}
}

func TestOldEntriesAreRemoved(t *testing.T) {
	dir := module(t)
	storeEntry(t, dir)
	cache := filepath.Dir(find(t, dir).path)
	long := time.Now().Add(-maxAge - time.Hour)
	name := strings.Repeat("0af9", 8)
	gone := map[string]bool{name: true, ".entry123": true, "old": false, name + "0": false, strings.ToUpper(name): false}
	for name := range gone {
		put(t, cache, name, "{}")
		if err := os.Chtimes(filepath.Join(cache, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	put(t, cache, strings.Repeat("1", 32), "{}")
	gone[strings.Repeat("1", 32)] = false
	put(t, dir, "svc/svc.go", "package svc // edited\n")
	storeEntry(t, dir)
	for name, want := range gone {
		if _, err := os.Stat(filepath.Join(cache, name)); (err != nil) != want {
			t.Errorf("%s: gone is %t, want %t", name, err != nil, want)
		}
	}
}

func TestEntryThatCannotBeWrittenIsNotCurrent(t *testing.T) {
	dir := module(t)
	put(t, os.Getenv("XDG_CACHE_HOME"), "mcpgen", "a file in the way\n")
	e := find(t, dir)
	e.Store(nil, nil)
	if e.Current() {
		t.Error("it is current")
	}
}
