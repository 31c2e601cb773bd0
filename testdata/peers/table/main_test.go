package main

import (
	"strings"
	"testing"
)

func TestTableIsOfMediansAndRatios(t *testing.T) {
	r := results{}
	for _, line := range []string{
		"cpu: a processor",
		"BenchmarkCall/through=chain/peer=mcpgen-2 \t 100 \t 2000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=chain/peer=mcpgen-2 \t 100 \t 9000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=chain/peer=mcpgen-2 \t 100 \t 1000 ns/op \t 10 B/op \t 3 allocs/op",
		"BenchmarkCall/through=chain/peer=raw \t 100 \t 3000 ns/op",
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
	want := "benchmark peer time allocations bytes peak times mcpgen\nCall/chain mcpgen 2µs 3 10 1.00\nCall/chain raw 3µs 1.50"
	if got := strings.Join(rows, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
