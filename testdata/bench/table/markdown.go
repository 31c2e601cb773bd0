package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// row is one measurement as the page names it; its key is that of results.
type row struct{ key, says string }

// The rows and columns of the tables, and the markers that they stand between.
var (
	serving = table{
		head: "What the server does",
		rows: []row{
			{"Call/http/version=2025-11-25/parallel=1", "answers a call over HTTP, with a token"},
			{"Call/http/version=2025-11-25/parallel=64", "the same over HTTP, 64 clients at a time"},
			{"Call/http/version=2026-07-28/parallel=1", "the same over HTTP, protocol 2026-07-28"},
			{"Call/stdio/parallel=1", "the same over stdio"},
			{"Call/stdio/parallel=64", "the same over stdio, 64 calls in flight"},
			{"Handshake/http", "opens a session over HTTP, and ends it"},
			{"Stream/http", "the same, with the session's stream on a connection of its own"},
			{"Start", "starts with 1,000 tools"},
			{"List/http/version=2025-11-25/parallel=1", "lists the half of 1,000 tools that the caller may use, over HTTP"},
			{"List/http/version=2025-11-25/parallel=64", "the same over HTTP, 64 clients at a time"},
			{"List/stdio/parallel=1", "the same over stdio"},
			{"Build", "builds, after an edit, a package of 500 tools over 100 types"},
		},
		columns: []row{{"generic", "`mcp.AddTool`"}, {"raw", "`Server.AddTool` and code by hand"}, {"mcp-go", "mcp-go"}, {"bare", "bare `net/http`"}},
	}
	deciding = table{
		head: "What is decided, on one policy of 1,000 tools",
		rows: []row{
			{"Decide/of=call/by=role", "whether a tool may be called, by role"},
			{"Decide/of=call/by=capability", "the same, by role and the host's permissions"},
			{"Decide/of=list/by=role", "which tools are visible, by role"},
			{"Decide/of=list/by=capability", "the same, by role and the host's permissions"},
			{"Decide/of=first-list/by=capability", "the same for the first time after the host has answered"},
		},
		columns: []row{{"map", "Go maps"}, {"casbin-cached", "casbin, all answers kept"}, {"cedar-go", "cedar-go"}, {"casbin", "casbin"}, {"opa", "OPA"}},
	}
	narrowing = table{
		head: "What a catalog costs, of 10,000 in SQLite",
		rows: []row{
			{"Catalog/on=list", "lists 1,000 tools over a pipe, by a catalog that has all of them"},
			{"Catalog/on=find", "finds the catalog"},
		},
		columns: []row{{"none", "no catalog asked for"}, {"changed", "after each change to the store"}},
	}
	generating = table{
		head: "What `mcpgen` does",
		rows: []row{
			{"Generate/edited=50", "generates for 50 edited packages"},
			{"Generate/edited=1", "generates for one edited package"},
			{"Generate/edited=0", "finds that nothing has changed in 50"},
		},
		columns: []row{{"golist", "`go list -export`"}, {"controller-gen", "controller-gen"}},
	}
)

const opening, closing = "<!-- bench -->\n", "<!-- /bench -->"

type table struct {
	head          string
	rows, columns []row
}

// tables are all of them, in the order of the page.
func tables() []table { return []table{serving, narrowing, deciding, generating} }

// markdown writes all tables, and where and when they were measured.
func (m measurement) markdown() string {
	var b strings.Builder
	for _, t := range tables() {
		b.WriteString(t.markdown(m.found))
	}
	return b.String() + "Measured on " + m.conditions() + ".\n"
}

// markdown writes mcpgen's own time, and how many times that each of the others takes. What was
// not measured has no row, and a table without rows is left out.
func (t table) markdown(found results) string {
	if !slices.ContainsFunc(t.rows, func(r row) bool { return found[r.key]["mcpgen"] != nil }) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | mcpgen |", t.head)
	for _, c := range t.columns {
		fmt.Fprintf(&b, " %s |", c.says)
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("--:|", len(t.columns)) + "\n")
	for _, r := range t.rows {
		units := found[r.key]["mcpgen"]
		own := median(units["ns/op"])
		if own == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %v", r.says, rounded(time.Duration(own)))
		for _, also := range []struct{ unit, says string }{{"allocs/op", "allocations"}, {"peak-MB", "MB"}, {"p99-us", "µs at the 99th percentile"}} {
			if len(units[also.unit]) > 0 {
				fmt.Fprintf(&b, ", %s %s", whole(units[also.unit]), also.says)
			}
		}
		b.WriteString(" |")
		for _, c := range t.columns {
			if ns := median(found[r.key][c.key]["ns/op"]); ns > 0 {
				fmt.Fprintf(&b, " %s× |", times(ns/own))
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return b.String()
}

// times is a ratio in as many digits as a busy machine means.
func times(ratio float64) string {
	if ratio < 10 {
		return fmt.Sprintf("%.2f", ratio)
	}
	return fmt.Sprintf("%.0f", ratio)
}

// complete says what the tables lack: figures of one run and of all benchmarks stand
// there, or none.
func (m measurement) complete() error {
	for _, key := range []string{"cpu", "cores", "goos", "goarch", "go", "date"} {
		if m.said[key] == "" {
			return fmt.Errorf("it does not say %q: measure again with make bench", key)
		}
	}
	for _, t := range tables() {
		for _, r := range t.rows {
			if median(m.found[r.key]["mcpgen"]["ns/op"]) == 0 {
				return fmt.Errorf("it has no %s of mcpgen: measure everything with make bench", r.key)
			}
		}
	}
	return nil
}

// write puts a text between the markers of a file.
func write(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), opening)
	_, after, closed := strings.Cut(rest, closing)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q to write between", file, strings.TrimSpace(opening), closing)
	}
	return os.WriteFile(file, []byte(before+opening+text+closing+after), 0o666)
}
