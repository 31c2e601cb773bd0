package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryRowIsPrinted(t *testing.T) {
	var out strings.Builder
	if err := run(&out, slices.Concat(hidden, hiddenURIs), 10, 0.2, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"in process", "TCP", "stdio", "2025-11-25", modern, "hidden tool", "hidden resource",
		"control"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}
