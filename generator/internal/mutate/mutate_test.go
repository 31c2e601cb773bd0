package main

import (
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
	"time"
)

// shop returns a run on the package of testdata.
func shop(t *testing.T) (*run, *strings.Builder) {
	var out strings.Builder
	patterns := []string{"./testdata/shop"}
	return &run{out: &out, log: t.Output(), source: patterns, patterns: patterns, mutants: 100,
		jobs: 2, slowest: time.Minute, file: filepath.Join(t.TempDir(), "verdicts")}, &out
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
	chosen := choose(all, 0, []string{""}, nil)
	text := s.withSwitches(chosen)
	if _, err := check(text, importer{mutant}); err != nil {
		t.Errorf("all: %v\n%s", err, text)
	}
	for _, c := range chosen {
		if n := strings.Count(text, fmt.Sprintf("(%d", c.number)); n == 0 {
			t.Errorf("%s: no switch in\n%s", c.key(), text)
		}
		c.number = 7
		text := s.withSwitches([]change{c})
		if _, err := check(text, importer{mutant}); err != nil {
			t.Errorf("%s: %v\n%s", c.key(), err, text)
		}
		if strings.Count(text, "\n") != strings.Count(string(s.text), "\n") ||
			!strings.Contains(text, "(7") {
			t.Errorf("%s:\n%s", c.key(), text)
		}
	}
}

// made returns changes of a package.
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
	all := slices.Concat(made("a", 100), made("b", 100), made("c", 4), made("whole", 30))
	chosen := choose(all, 44, []string{"whole/"}, nil)
	count := map[string]int{}
	for _, c := range chosen {
		count[c.pkg]++
		if c.pkg < "c" {
			count[c.kind]++
		}
	}
	want := map[string]int{"a": 20, "b": 20, "c": 4, "whole": 30, "drop": 20, "never": 20}
	if !maps.Equal(count, want) {
		t.Errorf("%v", count)
	}
	slices.Reverse(all)
	if again := choose(all, 44, []string{"whole/"}, nil); !slices.Equal(
		slices.Sorted(slices.Values(keys(again))), slices.Sorted(slices.Values(keys(chosen)))) {
		t.Error("the choice depends on the order")
	}
	judged := all[slices.IndexFunc(all, func(c change) bool {
		return c.pkg == "a" && !slices.Contains(keys(chosen), c.key())
	})]
	before := map[string]verdict{judged.key(): {}}
	if again := keys(choose(all, 44, nil, before)); !slices.Contains(again, judged.key()) {
		t.Error("a mutant with a verdict is not chosen again")
	}
}

func TestReportComparesVerdicts(t *testing.T) {
	all := made("a", 3)
	as := func(verdicts ...verdict) map[string]verdict {
		m := map[string]verdict{}
		for i, v := range verdicts {
			m[all[i].key()] = v
		}
		return m
	}
	kill, live := verdict{killed, "a TestX"}, verdict{survived, "no difference of results"}
	same, blank := verdict{equivalent, "a cache"}, verdict{survived, "-"}
	for name, test := range map[string]struct {
		before, now  map[string]verdict
		update, part bool
		want         string // of the error
	}{
		"killed again": {as(kill, kill, same), as(kill, kill, same), false, false, ""},
		"killed before": {as(kill, kill, kill), as(blank, kill, kill), true, false,
			"1 mutants survive that"},
		"without a reason": {as(blank, kill, kill), as(blank, kill, kill), true, false,
			"1 mutants live without"},
		"of part of them": {as(blank, kill), as(blank), false, true, ""},
		"too few": {as(live, kill, kill), as(live, kill, kill), false, false,
			"tests kill 2 of 3"},
		"a new place": {as(kill, kill), as(kill, kill, same), false, false,
			"1 places have changed"},
		"a new killed one": {as(kill, kill), as(kill, kill, kill), false, false,
			"1 places have changed"},
		"a new one written": {as(kill, kill), as(kill, kill, kill), true, false, ""},
	} {
		r, out := shop(t)
		if r.update = test.update; test.part {
			r.sample = 1
		}
		err := r.report(all, test.before, test.now)
		if err == nil && test.want != "" || err != nil && (test.want == "" ||
			!strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		written, err := readVerdicts(r.file)
		if err != nil || test.update != maps.Equal(written, test.now) {
			t.Errorf("%s: written: %v, %v", name, written, err)
		}
	}
	r, out := shop(t)
	gone := as(kill, live, same)
	gone["gone"] = kill
	if err := r.report(all, gone, as(blank, live, same)); err == nil {
		t.Error(err)
	}
	const want = `survived: a/x.go in f0, drop:  (a TestX killed it)
survived: a/x.go in f1, drop:  (no difference of results)
equivalent: a/x.go in f2, drop:  (a cache)
not in the source any more: gone
3 mutants: 0 killed, 2 survived, 0 unreached, 1 equivalent
`
	if out.String() != want {
		t.Errorf("%s", out)
	}
}

func TestVerdictsWithoutFieldsOrReasonsAreRefused(t *testing.T) {
	for _, text := range []string{"killed\n", "equivalent\ta.go\tf\tdrop\tx++\t-\n"} {
		file := filepath.Join(t.TempDir(), "verdicts")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := readVerdicts(file); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestPartOfTheMutants(t *testing.T) {
	all, before := made("a", 20), map[string]verdict{}
	for i, c := range all {
		before[c.key()] = verdict{[]string{killed, survived}[i%2], "a TestX"}
	}
	r, _ := shop(t)
	r.only = "^survived\ta/x"
	if part, err := r.part(all, before); err != nil || len(part) != 10 {
		t.Errorf("%q, %v", keys(part), err)
	}
	samples := map[string]bool{}
	for _, r.seed = range []string{"1", "2", "1"} {
		r.only, r.sample = "", 4
		part, err := r.part(all, before)
		if err != nil || len(part) != 4 || slices.ContainsFunc(part, func(c change) bool {
			return before[c.key()].verdict != killed
		}) {
			t.Errorf("%q, %v", keys(part), err)
		}
		samples[fmt.Sprint(keys(part))] = true
	}
	if len(samples) != 2 || !slices.Contains(r.patterns, "a") {
		t.Errorf("%v, %v", samples, r.patterns)
	}
}

func TestMutantsThatLivedRunAgainIfTheyAreNamed(t *testing.T) {
	explained, blank := verdict{equivalent, "a cache"}, verdict{survived, "-"}
	for _, test := range []struct {
		was    verdict
		update bool
		only   string
		again  bool
	}{
		{verdict{}, false, "", true}, {verdict{}, true, "", true}, {blank, false, "", false},
		{blank, true, "", true}, {explained, false, "", false}, {explained, true, "", false},
		{explained, true, "cache", true}, {explained, false, "cache", false},
	} {
		r := run{update: test.update, only: test.only}
		if r.again(test.was) != test.again {
			t.Errorf("%+v", test)
		}
	}
}

func TestTheFailedTestIsNamed(t *testing.T) {
	for out, want := range map[string]string{
		"=== RUN   TestA\n=== RUN   TestB\n--- FAIL: TestA (0.1s)\n":             "TestA",
		"=== RUN   TestA\n=== RUN   TestB\n=== RUN   TestB/x\npanic: boom\n":     "TestB",
		"--- FAIL: TestScenarios (0.1s)\n    --- FAIL: TestScenarios/a (0.1s)\n": "TestScenarios/a",
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
	if err := r.all(); err == nil || !strings.HasPrefix(err.Error(), "4 mutants live") {
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
	if !strings.Contains(out.String(), "14 mutants: 10 killed, 3 survived, 1 unreached") {
		t.Error(out)
	}
	explained := strings.ReplaceAll(string(text), "\t-\n", "\tno test\n")
	const untested = "\ttestdata/shop/shop.go\tUntested\tnegate\tlimit != 1<<3\t"
	lost := strings.ReplaceAll(explained, "survived"+untested+"no test",
		"killed"+untested+"TestX")
	for before, want := range map[string]string{
		explained: "tests kill 10 of 14 mutants, less than 97 percent",
		lost:      "1 mutants survive that tests killed before",
	} {
		r, _ := shop(t)
		if err := os.WriteFile(r.file, []byte(before), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := r.all(); err == nil || err.Error() != want {
			t.Error(err)
		}
		if before == explained {
			r.sample, r.binaries, r.listed, r.tests = 3, nil, nil, nil
			if err := r.all(); err != nil {
				t.Error(err)
			}
		}
	}
}
