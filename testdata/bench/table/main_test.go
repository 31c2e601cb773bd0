package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const conditions = "runs: 3\nload: 1.5\ncores: 2\ngo: go1.26.8\ndate: 2026-01-02\n" +
	"goos: linux\ngoarch: amd64\ncpu: A Processor @ 2 GHz   \n"

// kept is a file of raw lines that has every row of these blocks.
func kept(these ...block) string {
	var b strings.Builder
	b.WriteString(conditions)
	for _, block := range these {
		for _, t := range block.tables {
			for _, r := range t.rows {
				for _, peer := range slices.Concat(t.columns, t.ratios, t.adds) {
					fmt.Fprintf(&b, "Benchmark%s/peer=%s-2 \t 100 \t 2000 %s\n", r.key, peer.key, t.units[0])
				}
			}
		}
	}
	return b.String()
}

// without leaves out the lines that contain a text.
func without(text, lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		if !strings.Contains(line, text) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func keep(t *testing.T, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The ratio is that of each run: a busy run of both peers does not change it.
func TestTablesHaveMediansAndRanges(t *testing.T) {
	const call = "BenchmarkProcess/of=call/through=http/version=2025-11-25/peer=%s/clients=64-2 100 %s\n"
	text := conditions
	for _, run := range []struct{ mcpgen, mcpgo string }{
		{"70000 ns/op 90000 cpu-ns/op 3000 B/op 95 allocs/op", "150000 cpu-ns/op"},
		{"10000000 ns/op 120000 cpu-ns/op 3000 B/op 95 allocs/op", "240000 cpu-ns/op"},
		{"80000 ns/op 100000 cpu-ns/op 4000 B/op 96 allocs/op", "200000 cpu-ns/op"},
	} {
		text += fmt.Sprintf(call, "mcpgen", run.mcpgen) + fmt.Sprintf(call, "mcp-go", run.mcpgo)
	}
	const record = "BenchmarkProcess/of=record/through=http/peer=%s/clients=64-2 100 %d cpu-ns/op\n"
	for _, run := range []struct{ none, chain int }{{70_000, 120_000}, {170_000, 200_000}} {
		text += fmt.Sprintf(record, "none", run.none) + fmt.Sprintf(record, "chain", run.chain)
	}
	text += "BenchmarkProcess/of=idle/kind=listen/peer=raw-2 1 52000 RSS-B/session 4.000 goroutines/session\n" +
		"BenchmarkProcess/of=start/tools=10000/peer=mcpgen 1 1193000000 cpu-ns/op\n" +
		"BenchmarkDecide/of=call/by=role/peer=mcpgen-2 100 47.2 ns/op 0 B/op 0 allocs/op\n" +
		"BenchmarkDecide/of=call/by=role/peer=map-2 100 23.6 ns/op\nPASS\n"
	var out strings.Builder
	if err := run("", 0, "", "", "", keep(t, "bench.out", text), "", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| CPU time of the server | mcpgen | bare | mcp-go | `Server.AddTool` | `mcp.AddTool` | of bare | of mcp-go |",
		"| call, HTTP, 2025-11-25, 64 clients | 100 µs (90 to 120) | | 200 µs (150 to 240) | | | | 0.50 (0.50 to 0.60) | |\n",
		"| call, HTTP, 2025-11-25, 64 clients | 80 µs (70 µs to 10 ms) | | | | | | | |\n",
		"| call, HTTP, 2025-11-25, 64 clients | 95 allocations (95 to 96), 3.00 KB (3.00 to 4.00) |",
		"| start with 10,000 tools | 1.19 s |",
		"| 120 µs (70 to 170) | 40 µs (30 to 50) | | | | |\n",
		"| `subscriptions/listen` | | | | | | 52 KB, 4 goroutines |\n",
		"| whether a tool may be called, by role | 47 ns, 0 allocations | 0.50 × | | | | |\n",
		"\nMeasured on A Processor @ 2 GHz, 2 cores, linux/amd64, go1.26.8, 2026-01-02, 3 interleaved runs, load average 1.5.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "catalog") {
		t.Errorf("a table without a figure:\n%s", &out)
	}
}

const marked = "# a\n\n<!-- bench: servers -->\nold 1\n<!-- /bench: servers -->\n\nb\n" +
	"<!-- bench: others -->\nold 2\n<!-- /bench: others -->\n\nc\n"

func TestPageGetsTheBlocksThatWereMeasured(t *testing.T) {
	for _, test := range []struct {
		name, from string
		stay       []bool // the old blocks
	}{
		{"all", kept(blocks...), []bool{false, false}},
		{"servers alone", kept(blocks[0]), []bool{false, true}},
		{"the others alone", kept(blocks[1]), []bool{true, false}},
	} {
		from, page := keep(t, "bench.out", test.from), keep(t, "performance.md", marked)
		for range 2 {
			if err := run("", 0, "", "", "", from, page, nil); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, stays := range test.stay {
			text, _, _ := strings.Cut(string(got), "<!-- /bench: "+blocks[i].name)
			_, text, _ = strings.Cut(text, "<!-- bench: "+blocks[i].name+" -->\n")
			if old := fmt.Sprintf("old %d\n", i+1); stays != (text == old) ||
				!stays && (!strings.HasPrefix(text, "| ") || !strings.HasSuffix(text, " 1.5.\n")) {
				t.Errorf("%s: %q", test.name, text)
			}
		}
		if s := string(got); !strings.HasPrefix(s, "# a\n") || !strings.Contains(s, "\nb\n") || !strings.HasSuffix(s, "\nc\n") {
			t.Errorf("%s: %s", test.name, s)
		}
	}
}

func TestBlockOfAPageGetsAllFiguresOrNone(t *testing.T) {
	for _, test := range []struct{ name, from, page, want string }{
		{"a benchmark that was not run", without("start/tools=10/", kept(blocks...)), marked, "it has no Process/of=start/tools=10: measure all servers"},
		{"a decision that was not measured", without("Decide/of=list/by=capability", kept(blocks...)), marked, "it has no Decide/of=list/by=capability: measure all others"},
		{"no date", without("date:", kept(blocks...)), marked, `it does not say "date"`},
		{"nothing", conditions, marked, "it has no benchmark"},
		{"no markers", kept(blocks...), "# a\n", "has no lines"},
	} {
		page := keep(t, "performance.md", test.page)
		err := run("", 0, "", "", "", keep(t, "bench.out", test.from), page, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		if got, err := os.ReadFile(page); err != nil || string(got) != test.page {
			t.Errorf("%s: %q %v", test.name, got, err)
		}
	}
	if err := run("", 0, "", "", "", filepath.Join(t.TempDir(), "none"), "", nil); err == nil {
		t.Error("a file that is missing was read")
	}
}
