package runcache

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestMain lets the quick run start the go command once for modules with the same variables.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		goEnv = remembering(goEnv)
	}
	os.Exit(m.Run())
}

// remembering returns go env that starts the go command once for all directories with a go.mod that
// have the same variables and no go.work.
func remembering(start func(context.Context, string) ([]byte, error),
) func(context.Context, string) ([]byte, error) {
	const anywhere = "@MODULE@"
	known := map[string]string{}
	return func(ctx context.Context, dir string) ([]byte, error) {
		module := filepath.Join(dir, "go.mod")
		_, missing := os.Stat(module)
		_, workspace := os.Stat(filepath.Join(dir, "go.work"))
		_, none := exec.LookPath("go")
		if none != nil || missing != nil || workspace == nil || os.Getenv("GOWORK") != "" {
			return start(ctx, dir)
		}
		var key string
		for _, variable := range os.Environ() {
			if strings.HasPrefix(variable, "GO") || strings.HasPrefix(variable, "C") {
				key += variable + "\n"
			}
		}
		if known[key] == "" {
			text, err := start(ctx, dir)
			if err != nil {
				return nil, err
			}
			if !bytes.Contains(text, []byte(module)) {
				return text, nil
			}
			known[key] = strings.Replace(string(text), module, anywhere, 1)
		}
		return []byte(strings.Replace(known[key], anywhere, module, 1)), nil
	}
}

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
	put(t, dir, "lib/lib.go", "package lib\n")
	put(t, dir, "other/other.go", "package other\n")
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

// packages are those of module: svc imports lib.
func packages(dir string) []Package {
	lib, other := filepath.Join(dir, "lib"), filepath.Join(dir, "other")
	outline := json.RawMessage(`{"Package":"p"}`)
	return []Package{
		{Dir: lib, Outline: outline},
		{Dir: other, Outline: outline},
		{Dir: filepath.Join(dir, "svc"), Uses: []string{lib}, Outline: outline},
	}
}

func storeEntry(t *testing.T, dir string) {
	t.Helper()
	find(t, dir).Store(packages(dir), nil, nil)
	if got := changed(find(t, dir)); got != "" {
		t.Fatalf("changed although nothing has changed: %s", got)
	}
}

// changed names the packages that have to run again; "all" stands for all patterns.
func changed(e *Entry) string {
	again, rest, known := e.Changed()
	if !known {
		return "all"
	}
	var names []string
	for _, p := range again {
		names = append(names, filepath.Base(p.Dir))
	}
	if n := len(e.last.Packages); len(again)+len(rest) != n {
		names = append(names, fmt.Sprint("and of ", n, " rest ", rest))
	}
	return strings.Join(names, " ")
}

func find(t *testing.T, dir string, patterns ...string) *Entry {
	t.Helper()
	e := Find(t.Context(), dir, append([]string{"./..."}, patterns...))
	if e == nil {
		t.Fatal("the inputs are unknown")
	}
	return e
}

func TestChangedInputsNameTheirPackages(t *testing.T) {
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { put(t, dir, name, text) }
	}
	set := func(name, value string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { t.Setenv(name, value) }
	}
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"an edited source":           {write("svc/svc.go", "package svc \n"), "svc"},
		"an edited import":           {write("lib/lib.go", "package lib \n"), "lib svc"},
		"an edited generated file":   {write("svc/mcp_gen.go", "package svc // by hand\n"), "svc"},
		"edited documents":           {write("svc/MCP.md", "# mine\n"), "svc"},
		"a new manifest":             {write("other/mcp.manifest.json", "{}\n"), "other"},
		"a new proof":                {write("lib/mcp.proven.json", "{}\n"), "lib svc"},
		"a new file":                 {write("svc/new.go", "package svc\n"), "svc"},
		"a new test":                 {write("svc/svc_test.go", "package svc\n"), "svc"},
		"a new package":              {write("new/new.go", "package new\n"), "all"},
		"a new package below":        {write("svc/new/new.go", "package new\n"), "all"},
		"an edited testdata package": {write("testdata/t.go", "package u\n"), "all"},
		"an edited go.mod":           {write("go.mod", "module example.com/m\n\ngo 1.25\n"), "all"},
		"a new go.sum":               {write("go.sum", "\n"), "all"},
		"a vendor directory":         {write("vendor/modules.txt", "\n"), "all"},
		"a replaced module":          {write("../dep/dep.go", "package dep // edited\n"), "all"},
		"a C header":                 {write("svc/s.h", "#define SIZE 2\n"), "all"},
		"a C header of a module":     {write("../dep/s.h", "#define SIZE 2\n"), "all"},
		"a nested module":            {write("svc/go.mod", "module example.com/m/svc\n"), "all"},
		"build tags":                 {set("GOFLAGS", "-tags=x"), "all"},
		"another system":             {set("GOOS", "plan9"), "all"},
		"a removed file": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "svc", "mcp_gen.go")); err != nil {
				t.Fatal(err)
			}
		}, "svc"},
		"a removed package": {func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "lib")); err != nil {
				t.Fatal(err)
			}
		}, "lib svc"},
		"a renamed package": {func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, "svc"), filepath.Join(dir, "service")); err != nil {
				t.Fatal(err)
			}
		}, "all"},
		"a link with the same content": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "svc", "mcp_gen.go")
			if err := os.Rename(path, filepath.Join(dir, "notes.old")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../notes.old", path); err != nil {
				t.Fatal(err)
			}
		}, "svc"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t)
			storeEntry(t, dir)
			test.change(t, dir)
			if got := changed(find(t, dir)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestPackageWithUnseenInputsIsAlwaysChanged(t *testing.T) {
	dir := module(t)
	list := packages(dir)
	list[0].Unseen = true
	find(t, dir).Store(list, nil, nil)
	again, rest, known := find(t, dir).Changed()
	same := reflect.DeepEqual(again, list[:1]) && reflect.DeepEqual(rest, list[1:])
	if !known || !same {
		t.Errorf("%v %v %t", again, rest, known)
	}
}

func TestEntryStaysCurrentWhenNoInputChanges(t *testing.T) {
	dir := module(t)
	storeEntry(t, dir)
	put(t, dir, "notes.txt", "something\n")
	put(t, dir, ".git/hooks/x.go", "no Go\n")
	put(t, dir, "svc/svc.go", "package svc\n") // touched
	if got := changed(find(t, dir)); got != "" {
		t.Errorf("changed: %s", got)
	}
	elsewhere := Find(t.Context(), filepath.Join(dir, "svc"), []string{"./..."})
	if changed(find(t, dir, "./svc")) != "all" || changed(elsewhere) != "all" {
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
	flipped := bytes.Replace(text, []byte("svc"), []byte("svd"), 1)
	for _, torn := range []string{
		"", "{}", string(text[:len(text)/2]), "\x00", `{"digest":1}`, string(flipped),
	} {
		if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		if changed(find(t, dir)) != "all" {
			t.Errorf("%q is current", torn)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed(find(t, dir)) != "all" {
		t.Error("a missing entry is current")
	}
	storeEntry(t, dir)
}

func TestEntryDescribesTheFilesAfterTheRun(t *testing.T) {
	generated := "package svc // anew\n"
	for _, test := range []struct {
		name   string
		during map[string]string // what another program writes during the run
		want   string
	}{
		{"no other change", nil, ""},
		{"a source is edited", map[string]string{"svc/svc.go": "package svc // edited\n"}, "all"},
		{"a package appears", map[string]string{"new/new.go": "package new\n"}, "all"},
		{"a written file is edited", map[string]string{"svc/mcp_gen.go": "package svc\n"}, "all"},
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
			e.Store(packages(dir), written, []string{errorFile})
			if got := changed(find(t, dir)); got != test.want {
				t.Errorf("changed: %q", got)
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
			e.Store(nil, nil, nil)
			if e != nil || changed(e) != "all" {
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
	e.Store(nil, nil, nil)
	if changed(find(t, dir)) != "all" {
		t.Error("it is current")
	}
}
