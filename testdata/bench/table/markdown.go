package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// name is a benchmark or a peer, and how the page names it.
type name struct{ key, says string }

// block is what stands between the markers of its name.
type block struct {
	name   string
	tables []table
}

// table has a row for each benchmark. Its cells are medians and, over several runs, the least and
// the greatest value.
type table struct {
	head    string
	units   []string // of a cell
	rows    []name
	columns []name // peers
	// ratios are the peers to which the first column is compared: each run of it with the same run
	// of theirs. If inverse is set, they are compared to the first column.
	ratios  []name
	inverse bool
	// adds are the peers of which the first column is subtracted, run by run.
	adds []name
}

var requests = []name{
	{"Process/of=call/http/version=2025-11-25/clients=1", "call, HTTP, 2025-11-25"},
	{"Process/of=call/http/version=2025-11-25/clients=64", "call, HTTP, 2025-11-25, 64 clients"},
	{"Process/of=call/http/version=2026-07-28/clients=1", "call, HTTP, 2026-07-28"},
	{"Process/of=call/http/version=2026-07-28/clients=64", "call, HTTP, 2026-07-28, 64 clients"},
	{"Process/of=call/stdio/version=2025-11-25/clients=1", "call, stdio, 2025-11-25"},
	{"Process/of=call/stdio/version=2025-11-25/clients=64", "call, stdio, 2025-11-25, 64 in flight"},
	{"Process/of=call/stdio/version=2026-07-28/clients=1", "call, stdio, 2026-07-28"},
	{"Process/of=call/stdio/version=2026-07-28/clients=64", "call, stdio, 2026-07-28, 64 in flight"},
	{"Process/of=list/http/version=2025-11-25/clients=1", "list, HTTP"},
	{"Process/of=list/http/version=2025-11-25/clients=64", "list, HTTP, 64 clients"},
	{"Process/of=list/stdio/version=2025-11-25/clients=1", "list, stdio"},
	{"Process/of=list/stdio/version=2025-11-25/clients=64", "list, stdio, 64 in flight"},
	{"Process/of=handshake/clients=1", "handshake, HTTP"},
}

var starts = []name{
	{"Process/of=start/tools=10", "start with 10 tools"},
	{"Process/of=start/tools=1000", "start with 1,000 tools"},
	{"Process/of=start/tools=10000", "start with 10,000 tools"},
}

var (
	mcpgen = name{"mcpgen", "mcpgen"}
	mcpGo  = name{"mcp-go", "mcp-go"}
	raw    = name{"raw", "`Server.AddTool`"}
	bare   = name{"bare", "bare"}
	adopt  = name{"adopted", "adopted"}
	peers  = []name{mcpgen, bare, mcpGo, raw, {"generic", "`mcp.AddTool`"}}
)

// blocks are those of the page.
var blocks = []block{
	{"servers", []table{
		{
			head: "CPU time of the server", units: []string{"cpu-ns/op"},
			rows: slices.Concat(requests, starts), columns: peers,
			ratios: []name{{"bare", "of bare"}, {"mcp-go", "of mcp-go"}, {"raw", "of `Server.AddTool`"}},
		},
		{
			head: "Time of the client", units: []string{"ns/op"},
			rows: slices.Concat(requests, starts), columns: peers,
			ratios: []name{{"bare", "of bare"}, {"mcp-go", "of mcp-go"}, {"raw", "of `Server.AddTool`"}},
		},
		{
			head: "Allocations of the server", units: []string{"allocs/op", "B/op"},
			rows: requests, columns: peers,
		},
		{
			head: "Memory and goroutines of an idle session", units: []string{"RSS-B/session", "goroutines/session"},
			rows: []name{
				{"Process/of=idle/kind=session", "session"},
				{"Process/of=idle/kind=session-and-stream", "session with its stream"},
				{"Process/of=idle/kind=session-after-a-call", "session after a call"},
				{"Process/of=idle/kind=listen", "`subscriptions/listen`"},
			},
			columns: []name{mcpgen, {"mcpgen-changing", "mcpgen, lists can change"}, adopt, bare,
				mcpGo, raw},
		},
		{
			head: "CPU time of mcpgen by the kind of handler", units: []string{"cpu-ns/op"},
			rows:    requests[:4],
			columns: []name{{"nonblocking", "`nonblocking`"}, mcpgen, {"shape", "in go-sdk's shape"}, adopt},
			ratios:  []name{{"bare", "`nonblocking` of bare"}, {"mcp-go", "of mcp-go"}},
		},
		{
			head: "CPU time that a record adds", units: []string{"cpu-ns/op"},
			rows: []name{{"Process/of=record/http/clients=64",
				"call, HTTP, 2026-07-28, 64 clients"}},
			columns: []name{{"none", "without a record"}},
			adds: []name{{"chain", "chain in a file"}, {"postgresql", "PostgreSQL"},
				{"sqlite", "SQLite"}, {"postgresql-and-intent", "PostgreSQL, with intent"},
				{"sqlite-and-intent", "SQLite, with intent"}},
		},
	}},
	{"growth", []table{
		{
			head: "Time of the server", units: []string{"ns/op"},
			rows: []name{
				{"Growth/of=list/by=tools", "list by tools, of which half are visible; a page has 1,000"},
				{"Growth/of=call/by=tools", "call by tools"},
				{"Growth/of=list/by=principals", "list of 1,000 tools by principals with permissions of a host"},
				{"Growth/of=call/by=principals", "call by these principals"},
				{"Growth/of=list/by=catalogs", "list by catalogs in SQLite, of which one is asked for"},
				{"Growth/of=call/by=catalogs", "call by catalogs"},
				{"Growth/of=list/by=grants", "list of 1,000 tools by grants of the client"},
				{"Growth/of=call/by=grants", "call by grants of the client"},
			},
			columns: []name{{"10", "10"}, {"100", "100"}, {"1000", "1,000"}, {"10000", "10,000"}},
		},
		{
			head: "Memory of the permissions of principals", units: []string{"heap-B"},
			rows: []name{
				{"Growth/of=memory/tools=1000", "1,000 tools"},
				{"Growth/of=memory/tools=10000", "10,000 tools"},
			},
			columns: []name{{"1000", "1,000 principals"}, {"4096", "4,096"}, {"20000", "20,000"}},
		},
	}},
	{"others", []table{
		{
			head: "What a catalog costs, of 10,000 in SQLite", units: []string{"ns/op", "p99-us"},
			rows: []name{
				{"Catalog/on=list", "lists 1,000 tools over a pipe, by a catalog that has all of them"},
				{"Catalog/on=find", "finds the catalog"},
			},
			columns: []name{mcpgen},
			ratios:  []name{{"none", "no catalog asked for"}, {"changed", "after each change to the store"}}, inverse: true,
		},
		{
			head: "What is decided, on one policy of 1,000 tools", units: []string{"ns/op", "allocs/op"},
			rows: []name{
				{"Decide/of=call/by=role", "whether a tool may be called, by role"},
				{"Decide/of=call/by=capability", "the same, by role and the host's permissions"},
				{"Decide/of=list/by=role", "which tools are visible, by role"},
				{"Decide/of=list/by=capability", "the same, by role and the host's permissions"},
				{"Decide/of=first-list/by=capability", "the same for the first time after the host has answered"},
			},
			columns: []name{mcpgen},
			ratios: []name{{"map", "Go maps"}, {"casbin-cached", "casbin, all answers kept"},
				{"cedar-go", "cedar-go"}, {"casbin", "casbin"}, {"opa", "OPA"}}, inverse: true,
		},
		{
			head: "What `mcpgen` does", units: []string{"ns/op", "peak-MB"},
			rows: []name{
				{"Generate/edited=50", "generates for 50 edited packages"},
				{"Generate/edited=1", "generates for one edited package"},
				{"Generate/edited=0", "finds that nothing has changed in 50"},
				{"Build", "builds, after an edit, a package of 500 tools over 100 types"},
			},
			columns: []name{mcpgen},
			ratios: []name{{"golist", "`go list -export`"}, {"controller-gen", "controller-gen"},
				{"generic", "`mcp.AddTool`"}}, inverse: true,
		},
	}},
}

// markdown writes the tables of a block, and where and when they were measured. It is empty if
// nothing of the block was measured.
func (m measurement) markdown(b block) string {
	var text strings.Builder
	for _, t := range b.tables {
		text.WriteString(t.markdown(m.found))
	}
	if text.Len() == 0 {
		return ""
	}
	return text.String() + "Measured on " + m.conditions() + ".\n"
}

// markdown leaves out rows that were not measured, and a table without rows.
func (t table) markdown(found results) string {
	var rows strings.Builder
	for _, r := range t.rows {
		if !t.measured(found, r) {
			continue
		}
		fmt.Fprintf(&rows, "| %s |", r.says)
		for _, c := range t.columns {
			var cell []string
			for _, unit := range t.units {
				if values := found.in(r.key, c.key, unit); len(values) > 0 {
					cell = append(cell, spread(values, formats[unit]))
				}
			}
			rows.WriteString(strings.TrimRight(" "+strings.Join(cell, ", "), " ") + " |")
		}
		own := found.in(r.key, t.columns[0].key, t.units[0])
		for _, peer := range t.ratios {
			values := ratios(own, found.in(r.key, peer.key, t.units[0]), t.inverse)
			format := digits
			if t.inverse {
				format = func(v float64) string { return digits(v) + " ×" }
			}
			if len(values) > 0 {
				rows.WriteString(" " + spread(values, format))
			}
			rows.WriteString(" |")
		}
		for _, peer := range t.adds {
			values := differences(found.in(r.key, peer.key, t.units[0]), own)
			if len(values) > 0 {
				rows.WriteString(" " + spread(values, formats[t.units[0]]))
			}
			rows.WriteString(" |")
		}
		rows.WriteByte('\n')
	}
	if rows.Len() == 0 {
		return ""
	}
	var head strings.Builder
	for _, c := range slices.Concat(t.columns, t.ratios, t.adds) {
		head.WriteString(" " + c.says + " |")
	}
	return fmt.Sprintf("| %s |%s\n|---|%s\n%s\n", t.head, &head,
		strings.Repeat("--:|", len(t.columns)+len(t.ratios)+len(t.adds)), &rows)
}

// measured reports whether a row has a figure.
func (t table) measured(found results, r name) bool {
	return slices.ContainsFunc(t.columns, func(c name) bool {
		return len(found.in(r.key, c.key, t.units[0])) > 0
	})
}

// ratios has a ratio for each run, because the runs of both peers are interleaved.
func ratios(a, b []float64, inverse bool) (all []float64) {
	if inverse {
		a, b = b, a
	}
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]/b[i])
	}
	return all
}

// differences has a difference for each run, as ratios.
func differences(a, b []float64) (all []float64) {
	for i := range min(len(a), len(b)) {
		all = append(all, a[i]-b[i])
	}
	return all
}

// spread is the median and, if the values differ as they are written, the range.
func spread(values []float64, format func(float64) string) string {
	middle, least, greatest := format(median(values)), format(slices.Min(values)), format(slices.Max(values))
	if least == greatest {
		return middle
	}
	number, unit, _ := strings.Cut(least, " ")
	if strings.HasSuffix(middle, " "+unit) && strings.HasSuffix(greatest, " "+unit) {
		least = number
		greatest = strings.TrimSuffix(greatest, " "+unit)
	}
	return fmt.Sprintf("%s (%s to %s)", middle, least, greatest)
}

var formats = map[string]func(float64) string{
	"ns/op": duration, "cpu-ns/op": duration,
	"p99-us": func(v float64) string { return duration(v*1000) + " at the 99th percentile" },
	"B/op":   kilobytes, "RSS-B/session": kilobytes,
	"heap-B":             func(v float64) string { return digits(v/1e6) + " MB" },
	"allocs/op":          whole("allocations"),
	"goroutines/session": whole("goroutines"),
	"peak-MB":            whole("MB"),
}

func whole(unit string) func(float64) string {
	return func(v float64) string {
		n := fmt.Sprintf("%.0f", v)
		if n == "1" {
			return n + " " + strings.TrimSuffix(unit, "s")
		}
		return n + " " + unit
	}
}

func kilobytes(v float64) string { return digits(v/1000) + " KB" }

// duration keeps three digits, which is more than a busy machine means.
func duration(ns float64) string {
	d := time.Duration(ns)
	for unit := time.Nanosecond; ; unit *= 10 {
		if d < 1000*unit {
			return strings.NewReplacer("µs", " µs", "ms", " ms", "ns", " ns", "s", " s").Replace(d.Round(unit).String())
		}
	}
}

// digits is a number in as many digits as a busy machine means.
func digits(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// write writes the blocks that were measured between their markers in a file. Figures of one run
// and of all its benchmarks stand in a block, or those of an earlier one.
func (m measurement) write(file string) error {
	for _, key := range []string{"cpu", "cores", "goos", "goarch", "go", "date", "runs"} {
		if m.said[key] == "" {
			return fmt.Errorf("it does not say %q: measure again with make bench", key)
		}
	}
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	page, written := string(old), 0
	for _, b := range blocks {
		text := m.markdown(b)
		if text == "" {
			continue
		}
		for _, t := range b.tables {
			for _, r := range t.rows {
				if !t.measured(m.found, r) {
					return fmt.Errorf("it has no %s: measure all %s with make bench", r.key, b.name)
				}
			}
		}
		opening, closing := "<!-- bench: "+b.name+" -->\n", "<!-- /bench: "+b.name+" -->"
		before, rest, found := strings.Cut(page, opening)
		_, after, closed := strings.Cut(rest, closing)
		if !found || !closed {
			return fmt.Errorf("%s has no lines %q and %q to write between", file, strings.TrimSpace(opening), closing)
		}
		page = before + opening + text + closing + after
		written++
	}
	if written == 0 {
		return fmt.Errorf("it has no benchmark of a table")
	}
	return os.WriteFile(file, []byte(page), 0o666)
}
