package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/internal/mutant"
)

// environment makes property tests short, and alike in each run.
var environment = []string{"RAPID_CHECKS=125", "RAPID_SEED=1", "RAPID_NOFAILFILE=1",
	"RAPID_SHRINKTIME=1ms"}

// scenarios is the test that has a subtest for each file of a folder.
const scenarios = "TestScenarios"

// A test is one top-level test of a package, or one scenario.
type test struct {
	binary  *binary
	name    string
	cpu     time.Duration // its process, without a mutant
	wall    time.Duration
	reaches []int // numbers of mutants
}

func (t test) String() string { return t.binary.pkg + " " + t.name }

// A binary has the tests of one package, and all mutants.
type binary struct {
	pkg, dir, file string
	scenarios      bool // its tests are scenarios
}

// build compiles the tests of the packages that can reach a mutant.
func (r *run) build(sources []*source, overlay string) error {
	const format = "{{.ImportPath}}\t{{.Dir}}\t{{range .Deps}}{{.}} {{end}}"
	listed, err := r.goCommand(append([]string{"list", "-test", "-f", format}, r.patterns...)...)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, s := range sources {
		changed[s.pkg] = true
	}
	var packages []string
	for line := range strings.Lines(listed) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		of, isTest := strings.CutSuffix(fields[0], ".test")
		if !isTest || !slices.ContainsFunc(strings.Fields(fields[2]),
			func(name string) bool { return changed[name] }) {
			continue
		}
		packages = append(packages, of)
		r.binaries = append(r.binaries,
			&binary{pkg: of, dir: fields[1], file: filepath.Join(r.temp, path.Base(of)+".test")})
	}
	fmt.Fprintln(r.log, "compile the tests of", len(packages), "packages")
	_, err = r.goCommand(append([]string{"test", "-c", "-vet=off", "-overlay", overlay,
		"-o", r.temp + "/"}, packages...)...)
	return err
}

func (r *run) goCommand(args ...string) (string, error) {
	c := exec.Command("go", args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	r.count(c)
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", strings.Join(c.Args[:2], " "), err, out, &stderr)
	}
	return string(out), err
}

// count adds the CPU time of a command and of its children.
func (r *run) count(c *exec.Cmd) time.Duration {
	if c.ProcessState == nil {
		return 0
	}
	took := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cpu += took
	return took
}

// start runs tests of one binary in one process, which the first failure ends. Its CPU time is
// bounded, so that a mutant that loops ends soon on a busy machine and not early. So is its memory.
func (r *run) start(tests []*test, number int, reached string) (string, time.Duration, error) {
	b := tests[0].binary
	var names []string
	var cpu, wall time.Duration
	for _, t := range tests {
		names = append(names, t.name)
		cpu, wall = cpu+t.cpu, wall+t.wall
	}
	run := "^(" + strings.Join(names, "|") + ")$"
	if b.scenarios {
		run = "^" + scenarios + "$/" + strings.ReplaceAll(run, scenarios+"/", "")
	}
	limit := 30*time.Second + 5*wall
	ctx, cancel := context.WithTimeout(context.Background(), 2*limit)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", `ulimit -t "$0"; ulimit -v 4000000; exec "$@"`,
		strconv.Itoa(int(5+10*cpu.Seconds())), b.file, "-test.short", "-test.failfast", "-test.v",
		"-test.timeout", limit.String(), "-test.run", run)
	c.Dir = b.dir
	c.WaitDelay = time.Second
	c.Env = append(os.Environ(), environment...)
	c.Env = append(c.Env, "TMPDIR="+r.temp, mutant.Number+"="+strconv.Itoa(number),
		mutant.Reached+"="+reached)
	out, err := c.CombinedOutput()
	return string(out), r.count(c), err
}

// list finds the tests of the binaries.
func (r *run) list() error {
	for _, b := range r.binaries {
		c := exec.Command(b.file, "-test.list", ".")
		c.Dir = b.dir
		names, err := c.Output()
		r.count(c)
		if err != nil {
			return fmt.Errorf("list the tests of %s: %w", b.pkg, err)
		}
		for name := range strings.Lines(string(names)) {
			switch name = strings.TrimSpace(name); {
			case name == scenarios:
				if err := r.listScenarios(*b); err != nil {
					return err
				}
			case !strings.HasPrefix(name, "Benchmark"):
				r.listed = append(r.listed, &test{binary: b, name: name})
			}
		}
	}
	return nil
}

func (r *run) listScenarios(b binary) error {
	b.scenarios = true
	files, err := filepath.Glob(filepath.Join(b.dir, "testdata", "scenario", "*.txtar"))
	for _, file := range files {
		name := scenarios + "/" + strings.TrimSuffix(filepath.Base(file), ".txtar")
		r.listed = append(r.listed, &test{binary: &b, name: name})
	}
	return err
}

// measure runs tests alone and without a mutant, and notes which mutants each test reaches, and its
// CPU time. Tests that fail twice are left out.
func (r *run) measure(which func(*test) bool) {
	tests := slices.DeleteFunc(slices.Clone(r.listed), func(t *test) bool { return !which(t) })
	fmt.Fprintln(r.log, "measure", len(tests), "tests")
	results := parallel(r.jobs, tests, r.measureOne)
	for i, t := range tests {
		if results[i] != nil {
			fmt.Fprintf(r.out, "%s fails without a mutant, and is left out: %v\n", t, results[i])
		} else if len(t.reaches) > 0 {
			r.tests = append(r.tests, t)
		}
	}
	slices.SortStableFunc(r.tests, func(a, b *test) int { return cmp.Compare(a.cpu, b.cpu) })
}

func (r *run) measureOne(t *test) error {
	var out string
	var err error
	for range 2 {
		reached := filepath.Join(r.temp, fmt.Sprintf("%s-%s", path.Base(t.binary.pkg),
			path.Base(t.name)))
		started := time.Now()
		out, t.cpu, err = r.start([]*test{t}, 0, reached)
		t.wall = time.Since(started)
		text, _ := os.ReadFile(reached) // without mutants there is no file
		_ = os.Remove(reached)
		for line := range strings.Lines(string(text)) {
			if number, _ := strconv.Atoi(strings.TrimSpace(line)); number > 0 {
				t.reaches = append(t.reaches, number)
			}
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w\n%s", err, out)
}

// parallel calls a function for each element, a number of calls at a time.
func parallel[T, R any](jobs int, all []T, do func(T) R) []R {
	results := make([]R, len(all))
	next := make(chan int)
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			for i := range next {
				results[i] = do(all[i])
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	group.Wait()
	return results
}

// killedAgain reports whether the test that killed a mutant before does so again.
func (r *run) killedAgain(c change, by string) bool {
	return slices.ContainsFunc(r.tests, func(t *test) bool {
		return t.String() == by && slices.Contains(t.reaches, c.number) && r.fails(t, c.number)
	})
}

// kill runs the tests that reach a mutant until one fails. The tests of its package come first.
// Groups grow, and begin with the cheapest, because each process costs time.
func (r *run) kill(c change) verdict {
	var own, others []*test
	for _, t := range r.tests {
		switch {
		case !slices.Contains(t.reaches, c.number), t.cpu > r.slowest:
		case t.binary.pkg == c.pkg:
			own = append(own, t)
		default:
			others = append(others, t)
		}
	}
	if others = append(own, others...); len(others) == 0 {
		return verdict{unreached, "-"}
	}
	for budget := 100 * time.Millisecond; len(others) > 0; budget *= 2 {
		var group []*test
		group, others = cheapest(others, budget)
		out, _, err := r.start(group, c.number, "")
		if err == nil {
			continue
		}
		// A test that fails by chance is no proof, so it has to fail twice.
		i := max(0, slices.IndexFunc(group, func(t *test) bool {
			return t.name == failed(out, group[0].name)
		}))
		if r.fails(group[i], c.number) {
			return verdict{killed, group[i].String()}
		}
		others = append(slices.Delete(group, i, i+1), others...)
	}
	return verdict{survived, "-"}
}

func (r *run) fails(t *test, number int) bool {
	out, _, err := r.start([]*test{t}, number, "")
	return proves(out, err)
}

// proves reports whether a test process found a mutant: a test failed, or the process crashed or
// reached a limit. A process that did not start proves nothing.
func proves(out string, err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && (exit.ExitCode() < 0 || // by a signal
		slices.ContainsFunc([]string{"--- FAIL: ", "panic: ", "fatal error: ", "SIGXCPU: "},
			func(words string) bool { return strings.Contains(out, words) }))
}

// cheapest takes tests of the package that has the cheapest, at least one and within the budget,
// from tests in the order of their cost.
func cheapest(tests []*test, budget time.Duration) (group, others []*test) {
	for _, t := range tests {
		if len(group) == 0 || t.binary == group[0].binary && t.cpu <= budget {
			group = append(group, t)
			budget -= t.cpu
		} else {
			others = append(others, t)
		}
	}
	return group, others
}

// failed returns the test that an output of go test names as failed. If it names none, the process
// has ended in the test that began last.
func failed(out, otherwise string) string {
	name := otherwise
	for line := range strings.Lines(out) {
		if failed, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(failed, " ")
			if name != scenarios { // its subtests come next
				return name
			}
		}
		if begun, ok := strings.CutPrefix(line, "=== RUN "); ok && !strings.Contains(line, "/") {
			name = strings.TrimSpace(begun)
		}
	}
	return name
}
