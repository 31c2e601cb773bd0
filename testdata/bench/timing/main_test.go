package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestEveryRowIsPrinted(t *testing.T) {
	rows, err := measure(regexp.MustCompile(""), 10, 0.2, 1)
	if err != nil {
		t.Fatal(err)
	}
	var table, markdown strings.Builder
	if err := print(&table, rows, 0.2); err != nil {
		t.Fatal(err)
	}
	printMarkdown(&markdown, rows)
	for _, s := range append(subjects(""), decided) {
		for _, out := range []string{table.String(), markdown.String()} {
			if !strings.Contains(out, s.name) {
				t.Errorf("%q is missing:\n%s", s.name, out)
			}
		}
	}
	for _, want := range []string{"in process", "TCP", "stdio", "2025-11-25", modern, "control"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing:\n%s", want, table.String())
		}
	}
}
