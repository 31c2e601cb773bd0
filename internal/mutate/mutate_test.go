package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shop returns a run on the package of testdata.
func shop(t *testing.T) (*run, *strings.Builder) {
	var out strings.Builder
	patterns := []string{"./testdata/shop"}
	return &run{out: &out, log: t.Output(), source: patterns, patterns: patterns, mutants: 100,
		jobs: 2, file: filepath.Join(t.TempDir(), "verdicts")}, &out
}

func changesOfShop(t *testing.T) (*source, []change) {
	t.Helper()
	r, _ := shop(t)
	sources, err := r.load()
	if err != nil || len(sources) != 1 {
		t.Fatalf("%d files, %v", len(sources), err)
	}
	return sources[0], sources[0].changes()
}

func TestChangesAreOfEachKind(t *testing.T) {
	_, all := changesOfShop(t)
	var got []string
	for _, c := range all {
		got = append(got, c.function+" "+c.kind+": "+c.text)
	}
	want := []string{
		"Total never: err != nil", "Total constant: 0", "Total negate: false",
		"Total constant: 0 #2", "Total boundary: i < len(prices)",
		"Total drop: sum += prices[i]", "Total connective: sum > 100 && !member",
		"Total boundary: sum > 100", "Total negate: false #2", "Total negate: true",
		"check negate: len(prices) == 0", "check constant: 0", "Unused boundary: i > most",
		"Untested negate: limit != 1<<3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// stub is the package of switches without its imports.
const stub = `package mutant
func On(int) bool { return false }
func Pick[T any](_ int, _, original T) T { return original }`

type importer struct{ mutant *types.Package }

func (i importer) Import(string) (*types.Package, error) { return i.mutant, nil }

func TestEachCopyCompilesAndKeepsItsLines(t *testing.T) {
	s, all := changesOfShop(t)
	check := func(text string, i types.Importer) (*types.Package, error) {
		f, err := parser.ParseFile(s.files, "x.go", text, 0)
		if err != nil {
			return nil, err
		}
		return (&types.Config{Importer: i}).Check("x", s.files, []*ast.File{f}, nil)
	}
	mutant, err := check(stub, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		c.number = 7
		text := string(s.withSwitches([]change{c}))
		if _, err := check(text, importer{mutant}); err != nil {
			t.Errorf("%s: %v\n%s", c.key(), err, text)
		}
		if strings.Count(text, "\n") != strings.Count(string(s.text), "\n") ||
			!strings.Contains(text, "(7") {
			t.Errorf("%s:\n%s", c.key(), text)
		}
	}
}

// made returns changes of functions with one change each.
func made(pkg string, n int) []change {
	var all []change
	for i := range n {
		all = append(all, change{pkg: pkg, file: pkg + "/x.go", function: fmt.Sprint("f", i),
			kind: []string{"drop", "drop", "drop", "never"}[i%4]})
	}
	return all
}

func keys(all []change) []string {
	var keys []string
	for _, c := range all {
		keys = append(keys, c.key())
	}
	return keys
}

func TestChoiceIsSpreadAndStable(t *testing.T) {
	all := append(made("a", 100), made("b", 100)...)
	twice := all[0]
	twice.kind = "negate"
	chosen := choose(append(all, twice), 40, nil)
	count := map[string]int{}
	for _, c := range chosen {
		count[c.pkg]++
		count[c.kind]++
		count[c.file+c.function]++
	}
	if count["a"] != 20 || count["b"] != 20 || count["never"] < 18 || count["drop"] < 18 {
		t.Errorf("%v", count)
	}
	for name, n := range count {
		if strings.Contains(name, ".go") && n != 1 {
			t.Errorf("%s is changed %d times", name, n)
		}
	}
	slices.Reverse(all)
	if again := choose(all, 40, nil); !slices.Equal(keys(again), keys(choose(all, 40, nil))) {
		t.Error("the choice depends on the order")
	}
	judged := all[0]
	for _, c := range all {
		if !slices.Contains(keys(chosen), c.key()) {
			judged = c
		}
	}
	before := map[string]verdict{judged.key(): {}}
	if again := keys(choose(all, 40, before)); !slices.Contains(again, judged.key()) {
		t.Error("a mutant with a verdict is not chosen again")
	}
}

func TestKilledMutantThatSurvivesFails(t *testing.T) {
	r, out := shop(t)
	all := made("a", 3)
	before := map[string]verdict{all[0].key(): {killed, "a TestX"},
		all[1].key(): {survived, "-"}, "gone": {killed, "a TestY"}}
	now := map[string]verdict{all[0].key(): {survived, "-"}, all[1].key(): {killed, "a TestX"},
		all[2].key(): {unreached, "-"}}
	r.update = true
	if err := r.report(all, before, now); err == nil ||
		err.Error() != "1 mutants survive that tests killed before" {
		t.Error(err)
	}
	const want = `survived: a/x.go in f0, drop:  (a TestX killed it)
unreached: a/x.go in f2, drop: 
not in the source any more: gone
3 mutants: 1 killed, 1 survived, 1 unreached
`
	if out.String() != want {
		t.Errorf("%s", out)
	}
	written, err := readVerdicts(r.file)
	if err != nil || !maps.Equal(written, now) {
		t.Errorf("%v, %v", written, err)
	}
	r, out = shop(t)
	if err := r.report(all, now, now); err != nil {
		t.Error(err)
	}
	delete(before, all[0].key())
	if err := r.report(all, before, now); err == nil ||
		!strings.Contains(err.Error(), "1 places have changed: after a review") {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := os.Stat(r.file); err == nil {
		t.Error("the verdicts are written without -update")
	}
	if err := os.WriteFile(r.file, []byte("killed\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := readVerdicts(r.file); err == nil {
		t.Error("a line without fields is read")
	}
}

func TestTheFailedTestIsNamed(t *testing.T) {
	for out, want := range map[string]string{
		"=== RUN   TestA\n=== RUN   TestB\n--- FAIL: TestA (0.1s)\n":         "TestA",
		"=== RUN   TestA\n=== RUN   TestB\n=== RUN   TestB/x\npanic: boom\n": "TestB",
		"": "TestFirst",
	} {
		if got := failed(out, "TestFirst"); got != want {
			t.Errorf("%s of %q", got, out)
		}
	}
}

func TestCheapestTestsOfAPackageRunTogether(t *testing.T) {
	a, b := &binary{pkg: "a"}, &binary{pkg: "b"}
	tests := []*test{{binary: a, name: "1", cpu: 1}, {binary: b, name: "2", cpu: 2},
		{binary: a, name: "3", cpu: 3}, {binary: a, name: "4", cpu: 4}}
	group, others := cheapest(tests, 5)
	if fmt.Sprint(group, others) != "[a 1 a 3] [b 2 a 4]" {
		t.Error(group, others)
	}
}

func TestOnlyAFailureOrACrashProves(t *testing.T) {
	for command, want := range map[string]bool{
		"echo '--- FAIL: TestX (0.00s)'; exit 1": true, "echo '    --- FAIL: TestX/a'; exit 1": true,
		"echo 'panic: none'; exit 2": true, "echo 'fatal error: all asleep'; exit 2": true,
		"echo 'SIGXCPU: cpu limit exceeded'; exit 2": true, "kill -KILL $$": true,
		"echo '--- FAIL: TestX'": false, "exec /none": false, "exit 1": false,
	} {
		out, err := exec.Command("sh", "-c", command).CombinedOutput()
		if got := proves(string(out), err); got != want {
			t.Errorf("%s: %t: %v, %s", command, got, err, out)
		}
	}
	if proves("--- FAIL: TestX", exec.Command("/none").Run()) {
		t.Error("a process that did not start is a proof")
	}
}

// TestMutantsOfAPackage compiles and runs the package of testdata.
func TestMutantsOfAPackage(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles a test binary")
	}
	r, out := shop(t)
	r.update = true
	if err := r.all(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"killed\ttestdata/shop/shop.go\tTotal\t", "killed\ttestdata/shop/shop.go\tcheck\t",
		"survived\ttestdata/shop/shop.go\tUntested\tnegate\tlimit != 1<<3\t-\n",
		"unreached\ttestdata/shop/shop.go\tUnused\tboundary\ti > most\t-\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(out.String(), "4 mutants: 2 killed, 1 survived, 1 unreached") {
		t.Error(out)
	}
	// A mutant that survived is not run again, and one that was killed is an error if it survives.
	const untested = "\ttestdata/shop/shop.go\tUntested\tnegate\tlimit != 1<<3\t"
	for before, want := range map[string]error{
		string(text):                    nil,
		"survived" + untested + "-\n":   nil,
		"killed" + untested + "TestX\n": errors.New("1 mutants survive that tests killed before"),
	} {
		r, _ := shop(t)
		if err := os.WriteFile(r.file, []byte(before), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := r.all(); fmt.Sprint(err) != fmt.Sprint(want) {
			t.Error(err)
		}
	}
}
