// Command table runs the benchmarks of the peers and prints tables of them: medians over several
// runs, so that one busy moment does not count. The raw lines are kept for benchstat, and for
// writing the tables of docs/explanation/performance.md:
//
//	table                            measure, keep bench.out, print the tables of what was measured
//	table -from bench.out -page PAGE write them from what was kept into a page
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	pattern := flag.String("bench", "^Benchmark(Process|Catalog|Decide|Generate|Build)$", "benchmarks to run, as go test takes it")
	count := flag.Int("count", 5, "runs of each")
	duration := flag.String("benchtime", "300ms", "time or times of each run, as go test takes it")
	keep := flag.String("o", "bench.out", "`file` for the raw lines, which benchstat reads")
	profile := flag.String("profile", "", "`directory` for CPU and allocation profiles of the server processes")
	from := flag.String("from", "", "measure nothing and read this `file` of raw lines")
	page := flag.String("page", "", "write the tables into this `file`, between the markers of each block that was measured")
	flag.Parse()
	if err := run(*pattern, *count, *duration, *keep, *profile, *from, *page, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}

func run(pattern string, count int, duration, keep, profile, from, page string,
	out io.Writer) error {
	if from == "" {
		if err := measure(pattern, count, duration, keep, profile); err != nil {
			return err
		}
		from = keep
	}
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	m, err := read(file)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if page != "" {
		return m.write(page)
	}
	for _, block := range blocks {
		_, err = io.WriteString(out, m.markdown(block))
	}
	return err
}

// measure runs the benchmarks and keeps what they print, below lines in the same format that say
// what they do not. All of them run once, and then all of them again: what slows the machine down
// for a while then slows all peers down, and not one.
func measure(pattern string, count int, duration, keep, profile string) (err error) {
	file, err := os.Create(keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err := fmt.Fprintf(file, "runs: %d\ncores: %d\ngo: %s\ndate: %s\n", count, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format(time.DateOnly)); err != nil {
		return err
	}
	if profile != "" {
		if err := os.MkdirAll(profile, 0o777); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "bench.test")
	build := exec.Command("go", "test", "-c", "-o", program, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("go test -c: %w", err)
	}
	for i := range count {
		fmt.Fprintf(os.Stderr, "run %d of %d\n", i+1, count)
		cmd := exec.Command(program, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", duration, "-test.timeout", "30m", "-profile", profile)
		cmd.Stdout, cmd.Stderr = file, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("the benchmarks: %w; their output is in %s", err, keep)
		}
	}
	load, err := os.ReadFile("/proc/loadavg")
	if fields := strings.Fields(string(load)); err == nil && len(fields) > 2 {
		_, err = fmt.Fprintf(file, "load: %s\n", fields[2]) // of 15 minutes
	}
	return err
}

// measurement is one file of raw lines.
type measurement struct {
	said  map[string]string // by the key of a line: cpu, cores, goos, goarch, go, date, runs, load
	found results
}

// said are the lines that stand before the benchmarks (golang.org/design/14313-benchmark-format).
var said = regexp.MustCompile(`^([a-z]+): (.+)$`)

func read(lines io.Reader) (measurement, error) {
	m := measurement{said: map[string]string{}, found: results{}}
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		if s := said.FindStringSubmatch(scanner.Text()); s != nil {
			m.said[s[1]] = strings.TrimSpace(s[2])
		}
		m.found.add(scanner.Text())
	}
	return m, scanner.Err()
}

// conditions say where and when it was measured; what the file does not say is left out.
func (m measurement) conditions() string {
	var parts []string
	add := func(format string, keys ...string) {
		values := make([]any, len(keys))
		for i, key := range keys {
			if m.said[key] == "" {
				return
			}
			values[i] = m.said[key]
		}
		parts = append(parts, fmt.Sprintf(format, values...))
	}
	add("%s", "cpu")
	add("%s cores", "cores")
	add("%s/%s", "goos", "goarch")
	add("%s", "go")
	add("%s", "date")
	add("%s interleaved runs", "runs")
	add("load average %s", "load")
	return strings.Join(parts, ", ")
}

// results are the values of every measurement: by benchmark without its peer, by peer, by unit.
type results map[string]map[string]map[string][]float64

var (
	benchmark = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	ofPeer    = regexp.MustCompile(`/peer=([^/]+)`)
)

// in returns the values of a peer's measurement.
func (r results) in(row, peer, unit string) []float64 { return r[row][peer][unit] }

// add reads one line of go test's output; other lines are passed over.
func (r results) add(line string) {
	m := benchmark.FindStringSubmatch(line)
	if m == nil {
		return
	}
	peer := ofPeer.FindStringSubmatch(m[1])
	if peer == nil {
		return
	}
	name := strings.ReplaceAll(ofPeer.ReplaceAllString(m[1], ""), "through=", "")
	if r[name] == nil {
		r[name] = map[string]map[string][]float64{}
	}
	units := r[name][peer[1]]
	if units == nil {
		units = map[string][]float64{}
		r[name][peer[1]] = units
	}
	fields := strings.Fields(m[2])
	for i := 0; i+1 < len(fields); i += 2 {
		if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
			units[fields[i+1]] = append(units[fields[i+1]], v)
		}
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
