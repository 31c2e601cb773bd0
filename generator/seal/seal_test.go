package seal

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

func set(t *testing.T, dir string) {
	t.Helper()
	take(t, dir).Set(nil, nil)
	if !take(t, dir).Holds() {
		t.Fatal("a seal does not hold although nothing has changed")
	}
}

func take(t *testing.T, dir string, patterns ...string) *Seal {
	t.Helper()
	s := Take(t.Context(), dir, append([]string{"./..."}, patterns...))
	if s == nil {
		t.Fatal("nothing could be seen")
	}
	return s
}

func TestASealIsBrokenByEverythingThatCounts(t *testing.T) {
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
			set(t, dir)
			change(t, dir)
			if take(t, dir).Holds() {
				t.Error("the seal holds")
			}
		})
	}
}

func TestASealHoldsWhereNothingThatCountsHasChanged(t *testing.T) {
	dir := module(t)
	set(t, dir)
	put(t, dir, "notes.txt", "something\n")
	put(t, dir, ".git/hooks/x.go", "no Go\n")
	put(t, dir, "svc/svc.go", "package svc\n") // touched
	if !take(t, dir).Holds() {
		t.Error("the seal is broken")
	}
	if take(t, dir, "./svc").Holds() || Take(t.Context(), filepath.Join(dir, "svc"), []string{"./..."}).Holds() {
		t.Error("the seal holds for another question")
	}
}

func TestASealThatIsMissingOrTornIsNone(t *testing.T) {
	dir := module(t)
	set(t, dir)
	path := take(t, dir).path
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, torn := range []string{"", "{}", string(text[:len(text)/2]), "\x00", `{"digest":1}`} {
		if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if take(t, dir).Holds() {
			t.Errorf("%q holds", torn)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if take(t, dir).Holds() {
		t.Error("a missing seal holds")
	}
	set(t, dir)
}

func TestARunIsSealedAsItLeavesTheDisk(t *testing.T) {
	generated := "package svc // anew\n"
	for _, test := range []struct {
		name   string
		during map[string]string // what somebody else writes while the run goes on
		want   bool
	}{
		{"nobody interferes", nil, true},
		{"a source is edited", map[string]string{"svc/svc.go": "package svc // edited\n"}, false},
		{"a package appears", map[string]string{"new/new.go": "package new\n"}, false},
		{"a written file is edited", map[string]string{"svc/mcp_gen.go": "package svc // by hand\n"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := module(t)
			put(t, dir, "svc/aa_mcp_error.go", "package svc\n")
			s := take(t, dir)
			put(t, dir, "svc/mcp_gen.go", generated)
			poison := filepath.Join(dir, "svc", "aa_mcp_error.go")
			if err := os.Remove(poison); err != nil {
				t.Fatal(err)
			}
			for name, text := range test.during {
				put(t, dir, name, text)
			}
			s.Set(map[string][]byte{filepath.Join(dir, "svc", "mcp_gen.go"): []byte(generated)}, []string{poison})
			if got := take(t, dir).Holds(); got != test.want {
				t.Errorf("sealed: %v", got)
			}
		})
	}
}

func TestWhatCannotBeSeenIsNotSealed(t *testing.T) {
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
			s := Take(t.Context(), dir, nil)
			s.Set(nil, nil)
			if s != nil || s.Holds() {
				t.Error("it was sealed")
			}
		})
	}
}

func TestSealsThatNobodySetsGoAway(t *testing.T) {
	dir := module(t)
	set(t, dir)
	cache := filepath.Dir(take(t, dir).path)
	long := time.Now().Add(-kept - time.Hour)
	name := strings.Repeat("0af9", 8)
	gone := map[string]bool{name: true, ".seal123": true, "old": false, name + "0": false, strings.ToUpper(name): false}
	for name := range gone {
		put(t, cache, name, "{}")
		if err := os.Chtimes(filepath.Join(cache, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	put(t, cache, strings.Repeat("1", 32), "{}")
	gone[strings.Repeat("1", 32)] = false
	put(t, dir, "svc/svc.go", "package svc // edited\n")
	set(t, dir)
	for name, want := range gone {
		if _, err := os.Stat(filepath.Join(cache, name)); (err != nil) != want {
			t.Errorf("%s: gone is %t, want %t", name, err != nil, want)
		}
	}
}

func TestASealThatCannotBeKeptIsNone(t *testing.T) {
	dir := module(t)
	put(t, os.Getenv("XDG_CACHE_HOME"), "mcpgen", "a file in the way\n")
	s := take(t, dir)
	s.Set(nil, nil)
	if s.Holds() {
		t.Error("it was kept")
	}
}
