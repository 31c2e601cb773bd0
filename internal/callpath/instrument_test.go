package callpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const served = "examples/quickstart"

// measured reports whether the functions of a package count. The packages request and
// worker do not count: all others use their values and goroutines, and they are no steps of the
// chain.
func measured(pkg string) bool {
	switch pkg {
	case "runtime/internal/request", "runtime/internal/worker":
		return false
	}
	return pkg == "runtime" || strings.HasPrefix(pkg, "runtime/internal/")
}

// entry is one entered function, as package trace records it.
type entry struct {
	File string
	Line int
}

// record builds the instrumented server of the checkout at root, runs it, and returns by
// method the functions that each message entered.
//
// The build reads the changed files through an overlay. The checkout itself stays as it is, and
// the build cache keeps the packages, because their paths are the same in every run.
func record(t *testing.T, root string) map[string][][]entry {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{
		filepath.Join(root, served, "main.go"): testdata(t, "serve/main.go"),
	}
	overlay, err := Overlay(root, dir, slices.DeleteFunc(packagesOf(t, root),
		func(pkg string) bool { return !measured(pkg) }), replace)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "serve")
	output(t, root, "go", "build", "-overlay", overlay, "-o", program, "./"+served)
	var traces map[string][][]entry
	if err := json.Unmarshal(output(t, root, program), &traces); err != nil {
		t.Fatal(err)
	}
	return traces
}

// packagesOf returns the module's packages that the server links, as paths from the module's root.
func packagesOf(t *testing.T, root string) []string {
	t.Helper()
	var own []string
	list := output(t, root, "go", "list", "-deps", "-json=ImportPath", "./"+served)
	for decoder := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct{ ImportPath string }
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return own
		} else if err != nil {
			t.Fatal(err)
		}
		if pkg, ok := strings.CutPrefix(p.ImportPath, modulePath+"/"); ok {
			own = append(own, pkg)
		}
	}
}

// output runs a command in dir and returns its standard output.
func output(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var problems bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, problems.String())
	}
	return out
}

// testdata returns the absolute path of a file of testdata, and fails if it does not exist.
func testdata(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestInstrumentAddsOneCallToEveryFunction(t *testing.T) {
	const source = `package p // a comment

import "sort"

type T struct{}

func (T) empty() {}

func named(x []int) bool { // sorts
	sort.Slice(x, func(i, j int) bool { return x[i] < x[j] })
	return len(x) > 0
}

func elsewhere()
`
	const want = `package p; import callpathTrace "` + modulePath + "/" + tracePath + `" // a comment

import "sort"

type T struct{}

func (T) empty() {callpathTrace.Enter("p/a.go", 7);}

func named(x []int) bool {callpathTrace.Enter("p/a.go", 9); // sorts
	sort.Slice(x, func(i, j int) bool {callpathTrace.Enter("p/a.go", 10); return x[i] < x[j] })
	return len(x) > 0
}

func elsewhere()
`
	got, err := instrument("p/a.go", []byte(source))
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	const types = "package p\n\ntype T struct{}\n"
	if got, err := instrument("p/a.go", []byte(types)); err != nil || string(got) != types {
		t.Errorf("a file without functions was changed: %v\n%s", err, got)
	}
}
