// Command mutate measures what tests prove. It changes a number of places of the source, one at a
// time, and runs the tests that reach the place. A mutant is killed if a test fails, and survives
// otherwise.
//
//	go run ./internal/mutate [-update]
//
// All mutants are switches in copies of the source, so each test binary is compiled once. A file
// has the verdicts of an earlier run, and the test that killed each mutant. The command runs that
// test first, and all tests that reach the mutant if it passes. It fails if a mutant that was
// killed survives. Without -update, it also fails if the source lacks a place of the file, and does
// not run mutants again that survived. With -update, it writes the file.
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
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/go/packages"
)

// seed is part of the order in which mutants are chosen.
const seed = "1"

func main() {
	r := run{out: os.Stdout, log: os.Stderr,
		source: []string{"./runtime/access", "./runtime/internal/discovery",
			"./runtime/internal/guard", "./runtime/internal/invoke",
			"./runtime/internal/transport"},
		patterns: []string{"./runtime", "./runtime/access", "./runtime/internal/..."},
	}
	flag.IntVar(&r.mutants, "n", 100, "the number of mutants")
	flag.IntVar(&r.jobs, "j", 2, "the number of test processes at a time")
	flag.StringVar(&r.file, "verdicts", "internal/mutate/testdata/verdicts.txt",
		"the `file` of verdicts")
	flag.BoolVar(&r.update, "update", false, "write the file of verdicts")
	flag.Parse()
	if err := r.all(); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// A run of the command. The patterns are relative to the folder of the command.
type run struct {
	out, log         io.Writer
	source, patterns []string // of the packages to change, and of those with tests
	mutants, jobs    int
	file             string // of verdicts
	update           bool

	temp     string // folder
	binaries []*binary
	listed   []*test
	tests    []*test // those that are measured and reach a mutant, cheapest first

	mu  sync.Mutex
	cpu time.Duration
}

// A verdict on a mutant names the test that kills it.
type verdict struct {
	verdict, by string
}

const killed, survived, unreached = "killed", "survived", "unreached"

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
	chosen := choose(all, r.mutants, before)
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
	now := r.judge(chosen, before)
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
		return was, was.verdict != "" && !r.update
	})
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(c change) bool {
		return now[c.key()].verdict != ""
	})
	if len(chosen) > 0 {
		r.measure(func(t *test) bool { return !killers[t.String()] })
		r.each(chosen, now, func(c change) (verdict, bool) { return r.kill(c), true })
	}
	return now
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
	lost, count := 0, map[string]int{}
	for _, c := range chosen {
		was, is := before[c.key()], now[c.key()]
		fmt.Fprintf(&text, "%s\t%s\t%s\n", is.verdict, c.key(), is.by)
		count[is.verdict]++
		if is.verdict == killed {
			continue
		}
		note := ""
		if was.verdict == killed {
			lost++
			note = " (" + was.by + " killed it)"
		}
		fmt.Fprintf(r.out, "%s: %s in %s, %s: %s%s\n", is.verdict, c.file, c.function, c.kind,
			c.text, note)
	}
	gone := 0
	for key := range before {
		if _, ok := now[key]; !ok {
			gone++
			fmt.Fprintln(r.out, "not in the source any more:", strings.ReplaceAll(key, "\t", " "))
		}
	}
	fmt.Fprintf(r.out, "%d mutants: %d killed, %d survived, %d unreached\n", len(chosen),
		count[killed], count[survived], count[unreached])
	if r.update {
		if err := os.WriteFile(r.file, []byte(text.String()), 0o666); err != nil {
			return err
		}
	}
	if lost > 0 {
		return fmt.Errorf("%d mutants survive that tests killed before", lost)
	}
	if gone > 0 && !r.update {
		return fmt.Errorf("%d places have changed: after a review, write the verdicts with -update",
			gone)
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
		verdicts[strings.Join(fields[1:5], "\t")] = verdict{fields[0], fields[5]}
	}
	return verdicts, nil
}
