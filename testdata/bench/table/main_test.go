package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTableIsOfMediansAndRatios(t *testing.T) {
	r := results{}
	for _, line := range []string{
		"cpu: a processor",
		"BenchmarkCall/through=stdio/peer=mcpgen-2 \t 100 \t 2000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=stdio/peer=mcpgen-2 \t 100 \t 9000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=stdio/peer=mcpgen-2 \t 100 \t 1000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=stdio/peer=raw \t 100 \t 4000 ns/op",
		"BenchmarkCall/through=stdio/peer=bare \t 100 \t 1000 ns/op \t 6 B/op \t 2 allocs/op",
		"BenchmarkOther-2 \t 100 \t 3000 ns/op",
		"PASS",
	} {
		r.add(line)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := "benchmark peer time allocations above bare bytes above bare peak times mcpgen mcpgen/peer\n" +
		"Call/stdio bare 1µs 2 0 6 0 0.50 2.00\nCall/stdio mcpgen 2µs 3 1 10 4 1.00 1.00\nCall/stdio raw 4µs 2.00 0.50"
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// kept is a file of raw lines that has every row of the tables but those left out.
func kept(without ...string) string {
	var b strings.Builder
	for _, line := range []string{"cores: 2", "go: go1.26.8", "date: 2026-01-02", "goos: linux", "goarch: amd64", "cpu: A Processor @ 2 GHz"} {
		b.WriteString(line + "\n")
	}
	for _, t := range tables() {
		for _, r := range t.rows {
			fmt.Fprintf(&b, "Benchmark%s/peer=mcpgen-2 \t 100 \t 2000 ns/op \t 3 allocs/op\n", r.key)
			fmt.Fprintf(&b, "Benchmark%s/peer=generic-2 \t 100 \t 31000 ns/op\n", r.key)
			fmt.Fprintf(&b, "Benchmark%s/peer=golist-2 \t 100 \t 2500 ns/op\n", r.key)
			fmt.Fprintf(&b, "Benchmark%s/peer=map-2 \t 100 \t 1000 ns/op\n", r.key)
			fmt.Fprintf(&b, "Benchmark%s/peer=casbin-cached-2 \t 100 \t 20000 ns/op\n", r.key)
		}
	}
	text := b.String()
	for _, w := range without {
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.Contains(line, w) {
				lines = append(lines, line)
			}
		}
		text = strings.Join(lines, "")
	}
	return text
}

func keep(t *testing.T, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMarkdownHasRatiosAndConditions(t *testing.T) {
	from := keep(t, "bench.out", kept())
	var out strings.Builder
	if err := run("", 0, "", "", "", from, true, "", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| answers a call over HTTP, with a token | 2µs, 3 allocations | 16× | | | |\n",
		"| whether a tool may be called, by role | 2µs, 3 allocations | 0.50× | 10× | | | |\n",
		"| which tools are visible, by role | 2µs, 3 allocations | 0.50× | 10× | | | |\n",
		"| generates for one edited package | 2µs, 3 allocations | 1.25× | |\n",
		"\nMeasured on A Processor @ 2 GHz, 2 cores, linux/amd64, go1.26.8, 2026-01-02.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestMarkdownIsWrittenBetweenTheMarkers(t *testing.T) {
	from, page := keep(t, "bench.out", kept()),
		keep(t, "performance.md", "# a\n\n<!-- bench -->\nold\n<!-- /bench -->\n\nb\n")
	for range 2 {
		if err := run("", 0, "", "", "", from, false, page, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(got); !strings.HasPrefix(s, "# a\n\n<!-- bench -->\n| What") || !strings.HasSuffix(s, "2026-01-02.\n<!-- /bench -->\n\nb\n") || strings.Contains(s, "old") {
		t.Errorf("%s", s)
	}
}

func TestPageGetsAllFiguresOrNone(t *testing.T) {
	const marked = "<!-- bench -->\n<!-- /bench -->\n"
	for _, test := range []struct{ name, from, page, want string }{
		{"a benchmark that was not run", kept("BenchmarkStart"), marked, "it has no Start of mcpgen: measure everything"},
		{"a decision that was not measured", kept("Decide/of=list/by=capability"), marked, "it has no Decide/of=list/by=capability of mcpgen: measure everything"},
		{"no date", kept("date:"), marked, `it does not say "date"`},
		{"no markers", kept(), "# a\n", "has no lines"},
	} {
		page := keep(t, "performance.md", test.page)
		err := run("", 0, "", "", "", keep(t, "bench.out", test.from), false, page, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != test.page {
			t.Errorf("%s: %q %v", test.name, got, err)
		}
	}
	if err := run("", 0, "", "", "", filepath.Join(t.TempDir(), "none"), true, "", nil); err == nil {
		t.Error("a file that is missing was read")
	}
}
