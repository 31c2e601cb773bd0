// Command mutate measures the strength of tests. It changes places of the source, one at a time,
// and runs the tests that reach the place. A mutant is killed if a test fails, and survives
// otherwise.
//
//	go run ./generator/internal/mutate [-update] [-only regexp] [-sample n] [-seed s] [packages]
//
// Every place of the code that decides is changed, and a number of places of other packages. All
// mutants are switches in copies of the source, so each test binary is compiled once. A file has
// the verdicts of an earlier run. Its last column is the test that killed the mutant, or the reason
// why the mutant lives. The command runs the test first. If the test passes, it runs all tests that
// reach the mutant and are not slow. A scenario is a test of its own.
//
// The command fails if a mutant survives that was killed, if a mutant lives without a reason, and
// if less than 97 percent are killed of those that differ from the original. Without -update, it
// also fails if the places are not those of the file, and does not run mutants again that lived.
// With -update, it writes the file, and runs those again that lived without a reason. A mutant with
// the verdict "equivalent" has no difference that a test could find; a person writes this verdict
// and its reason. A second reader has checked all equivalents of 2026-11-29.
//
// With -only, the command runs the mutants whose line of the file matches, also those that lived.
// With -sample, it runs a number of those that were killed. It does not compare the other places
// with the file then.
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/packages"
)

// decisions are the files and folders of which each place is changed.
var decisions = []string{"runtime/access/", "runtime/internal/discovery/pages.go",
	"runtime/internal/discovery/policy.go", "runtime/internal/guard/authorize.go",
	"runtime/internal/guard/subject.go"}

// seed is part of the order in which other places are chosen.
const seed = "1"

// least is the percentage of the mutants that tests have to kill, without equivalent ones.
const least = 97

func main() {
	r := run{out: os.Stdout, log: os.Stderr,
		source: []string{"./runtime/access", "./runtime/audit", "./runtime/catalog",
			"./runtime/decode", "./runtime/grant", "./runtime/internal/discovery",
			"./runtime/internal/guard"},
		patterns: []string{"./runtime", "./runtime/access", "./runtime/audit",
			"./runtime/catalog", "./runtime/decode", "./runtime/grant", "./runtime/internal/..."},
		whole: decisions,
	}
	flag.IntVar(&r.mutants, "n", 400, "the number of mutants in code that decides nothing")
	flag.IntVar(&r.jobs, "j", 2, "the number of test processes at a time")
	flag.DurationVar(&r.slowest, "slowest", 500*time.Millisecond,
		"the CPU time of a test, above which it kills no further mutant")
	flag.StringVar(&r.file, "verdicts", "generator/internal/mutate/testdata/verdicts.txt",
		"the `file` of verdicts")
	flag.BoolVar(&r.update, "update", false, "write the file of verdicts")
	flag.StringVar(&r.only, "only", "", "run the mutants whose line of verdicts matches a `regexp`")
	flag.IntVar(&r.sample, "sample", 0, "run a `number` of the mutants that were killed")
	flag.StringVar(&r.seed, "seed", "1", "a `text` that chooses the sample")
	flag.Parse()
	if flag.NArg() > 0 {
		r.patterns = flag.Args()
	}
	if err := r.all(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A run of the command. The patterns are relative to the folder of the command.
type run struct {
	out, log         io.Writer
	source, patterns []string // of the packages to change, and of those with tests
	whole            []string // files and folders of which each place is changed
	mutants, jobs    int
	slowest          time.Duration
	file             string // of verdicts
	update           bool
	only, seed       string
	sample           int

	temp     string // folder
	binaries []*binary
	listed   []*test
	tests    []*test // those that are measured and reach a mutant, cheapest first

	mu  sync.Mutex
	cpu time.Duration
}

// A verdict on a mutant names the test that kills it, or the reason why it lives.
type verdict struct {
	verdict, by string
}

const killed, survived, unreached, equivalent = "killed", "survived", "unreached", "equivalent"

func (v verdict) line(c change) string { return v.verdict + "\t" + c.key() + "\t" + v.by }

func (r *run) all() (err error) {
	started := time.Now()
	before, err := readVerdicts(r.file)
	if err != nil {
		return err
	}
	sources, err := r.load()
	if err != nil {
		return err
	}
	var all []change
	for _, s := range sources {
		all = append(all, s.changes()...)
	}
	chosen := choose(all, r.mutants, r.whole, before)
	part, err := r.part(chosen, before)
	if err != nil {
		return err
	}
	if r.temp, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.temp)) }()
	overlay, err := r.writeOverlay(sources, chosen)
	if err != nil {
		return err
	}
	if err := r.build(sources, overlay); err != nil {
		return err
	}
	if err := r.list(); err != nil {
		return err
	}
	now := r.judge(part, before)
	fmt.Fprintf(r.log, "%.0f s, and %.0f s of CPU\n", time.Since(started).Seconds(),
		r.cpu.Seconds())
	return r.report(chosen, before, now)
}

// load returns the files of the packages to change, without tests and generated files.
func (r *run) load() ([]*source, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedFiles |
		packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo}, r.source...)
	if err != nil {
		return nil, err
	}
	var sources []*source
	for _, p := range loaded {
		for _, err := range p.Errors {
			return nil, err
		}
		for i, f := range p.Syntax {
			if ast.IsGenerated(f) {
				continue
			}
			text, err := os.ReadFile(p.CompiledGoFiles[i])
			if err != nil {
				return nil, err
			}
			path, err := filepath.Rel(root, p.CompiledGoFiles[i])
			if err != nil {
				return nil, err
			}
			sources = append(sources, &source{p.PkgPath, p.CompiledGoFiles[i],
				filepath.ToSlash(path), text, f, p.Fset, p.TypesInfo})
		}
	}
	slices.SortFunc(sources, func(a, b *source) int { return strings.Compare(a.path, b.path) })
	return sources, nil
}

// part returns the changes to run.
func (r *run) part(chosen []change, before map[string]verdict) ([]change, error) {
	only, err := regexp.Compile(r.only)
	if err != nil {
		return nil, err
	}
	part := slices.DeleteFunc(slices.Clone(chosen), func(c change) bool {
		was := before[c.key()]
		return !only.MatchString(was.line(c)) || r.sample > 0 && was.verdict != killed
	})
	if r.sample == 0 {
		return part, nil
	}
	shuffle(part, r.seed)
	part = part[:min(len(part), r.sample)]
	r.patterns = nil
	for _, c := range part {
		pkg, _, _ := strings.Cut(before[c.key()].by, " ")
		r.patterns = append(r.patterns, pkg)
	}
	return part, nil
}

// judge returns the verdicts by key. The tests that killed mutants before are measured first: if
// they do so again, no other test runs.
func (r *run) judge(chosen []change, before map[string]verdict) map[string]verdict {
	now := map[string]verdict{}
	killers := map[string]bool{}
	for _, c := range chosen {
		killers[before[c.key()].by] = true
	}
	r.measure(func(t *test) bool { return killers[t.String()] })
	r.each(chosen, now, func(c change) (verdict, bool) {
		was := before[c.key()]
		if was.verdict == killed {
			return was, r.killedAgain(c, was.by)
		}
		return was, !r.again(was)
	})
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(c change) bool {
		return now[c.key()].verdict != ""
	})
	if len(chosen) > 0 {
		r.measure(func(t *test) bool { return !killers[t.String()] })
		r.each(chosen, now, func(c change) (verdict, bool) {
			was, is := before[c.key()], r.kill(c)
			if is.verdict != killed && was.verdict != killed && was.verdict != "" {
				is.by = was.by
				if was.verdict == equivalent {
					is.verdict = equivalent
				}
			}
			return is, true
		})
	}
	return now
}

// again reports whether a mutant runs again that no test has killed.
func (r *run) again(was verdict) bool {
	return was.verdict == "" || r.update && (was.by == "-" || r.only != "")
}

// each adds the verdicts that a function has on changes.
func (r *run) each(chosen []change, now map[string]verdict, judge func(change) (verdict, bool)) {
	parallel(r.jobs, chosen, func(c change) bool {
		v, known := judge(c)
		r.mu.Lock()
		defer r.mu.Unlock()
		if known {
			now[c.key()] = v
			fmt.Fprintf(r.log, "%s: %s in %s, %s: %s: %s\n", v.verdict, c.file, c.function, c.kind,
				c.text, v.by)
		}
		return known
	})
}

// report prints the mutants that live, and compares them with an earlier run.
func (r *run) report(chosen []change, before, now map[string]verdict) error {
	var text strings.Builder
	places, count := map[string]bool{}, map[string]int{}
	lost, unexplained, moved := 0, 0, 0
	for _, c := range chosen {
		places[c.key()] = true
		was, is := before[c.key()], now[c.key()]
		if is.verdict == "" {
			is = was
		}
		if is.verdict != "" {
			fmt.Fprintln(&text, is.line(c))
		}
		count[now[c.key()].verdict]++
		if was.verdict == "" {
			moved++
		}
		if now[c.key()].verdict == "" || is.verdict == killed {
			continue
		}
		note := is.by
		if was.verdict == killed {
			lost++
			note = was.by + " killed it"
		} else if is.by == "-" {
			unexplained++
		}
		fmt.Fprintf(r.out, "%s: %s in %s, %s: %s (%s)\n", is.verdict, c.file, c.function, c.kind,
			c.text, note)
	}
	for key := range before {
		if !places[key] {
			moved++
			fmt.Fprintln(r.out, "not in the source any more:", strings.ReplaceAll(key, "\t", " "))
		}
	}
	fmt.Fprintf(r.out, "%d mutants: %d killed, %d survived, %d unreached, %d equivalent\n",
		len(now), count[killed], count[survived], count[unreached], count[equivalent])
	if r.update {
		if err := os.WriteFile(r.file, []byte(text.String()), 0o666); err != nil {
			return err
		}
	}
	differ := len(now) - count[equivalent]
	switch {
	case lost > 0:
		return fmt.Errorf("%d mutants survive that tests killed before", lost)
	case r.only != "" || r.sample > 0:
		return nil
	case unexplained > 0:
		return fmt.Errorf("%d mutants live without a reason: write it in the last column of %s",
			unexplained, r.file)
	case moved > 0 && !r.update:
		return fmt.Errorf("%d places have changed: after a review, write the verdicts with -update",
			moved)
	case 100*count[killed] < least*differ:
		return fmt.Errorf("tests kill %d of %d mutants, less than %d percent", count[killed],
			differ, least)
	}
	return nil
}

// readVerdicts returns the verdicts of a file by key, and none without the file.
func readVerdicts(file string) (map[string]verdict, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	verdicts := map[string]verdict{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 6 {
			return nil, fmt.Errorf("%s: %q has %d fields, not 6", file, line, len(fields))
		}
		if fields[0] == equivalent && len(fields[5]) < 2 {
			return nil, fmt.Errorf("%s: %q has no reason in its last column", file, line)
		}
		verdicts[strings.Join(fields[1:5], "\t")] = verdict{fields[0], fields[5]}
	}
	return verdicts, nil
}
