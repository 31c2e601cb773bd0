package main

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

// passed are the checks of the suite that have to pass, by protocol version. A check fails only if
// expected-failures.yaml contains it.
var passed = map[string]int{"2025-11-25": 79, "2026-07-28": 148}

// TestConformance runs the server scenarios of the official suite, which make setup installs.
// Without it the test is skipped, and fails in CI.
func TestConformance(t *testing.T) {
	modules := filepath.Join("..", "..", ".tools", "node_modules")
	node, _ := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	suite := filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	if _, err := os.Stat(suite); err != nil || len(node) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("no conformance suite: run make setup")
		}
		t.Skip("no conformance suite: run make setup, which needs npm")
	}
	server, err := newServer(runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	for version, want := range passed {
		t.Run(version, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node[0], suite, "server",
				"--url", web.URL+"/mcp", "--suite", "all", "--spec-version", version,
				"--expected-failures", "expected-failures.yaml")
			out, err := cmd.CombinedOutput()
			_, total, _ := strings.Cut(string(out), "\nTotal: ")
			total, _, _ = strings.Cut(total, "\n")
			count, _, _ := strings.Cut(total, " passed")
			if n, _ := strconv.Atoi(count); err != nil || n < want {
				t.Fatalf("%v, want %d checks passed:\n%s", err, want, out)
			}
			t.Log(total)
		})
	}
}
