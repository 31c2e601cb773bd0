package trail

import (
	"bytes"
	"context"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// sound reports whether a trail is sound by a key and a file of checkpoints, and not empty.
func sound(t *testing.T, key, trail []byte, checkpoints string) bool {
	t.Helper()
	file, err := os.ReadFile(checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	points, err := chain.ReadCheckpoints(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var records iter.Seq2[chain.Record, error] = chain.Lines("trail", bytes.NewReader(trail))
	report, err := chain.Verify(records, chain.VerifyOptions{Key: key, Checkpoints: points})
	if err != nil {
		t.Fatal(err)
	}
	return report.Sound()
}

// TestKeyRotation follows the steps of the page: each part verifies by its own key alone.
func TestKeyRotation(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(dir, "mcp.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := [][]byte{bytes.Repeat([]byte("a"), 32), bytes.Repeat([]byte("b"), 32)}
	var rotated time.Time
	parts := make([]string, 2)
	for i, key := range keys {
		parts[i] = filepath.Join(dir, []string{"old", "new"}[i])
		if err := os.Mkdir(parts[i], 0o700); err != nil {
			t.Fatal(err)
		}
		sink, end, err := open(t.Context(), key, []string{"web-1", "web-1-2027"}[i],
			filepath.Join(parts[i], "audit.jsonl"), s, parts[i])
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			event := audit.Event{Time: time.Now(), Type: audit.ToolCalled, Status: audit.Success}
			if err := sink.Record(t.Context(), event); err != nil {
				t.Fatal(err)
			}
		}
		if err := end(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		if i == 0 { // the store keeps microseconds, and the next chain opens files first
			rotated = time.Now().Truncate(time.Microsecond).Add(time.Microsecond)
		}
	}
	filters := []store.EventFilter{{Until: rotated}, {From: rotated}}
	for i := range parts {
		lines, err := os.ReadFile(filepath.Join(parts[i], "audit.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var rows bytes.Buffer
		if _, err := s.ExportEvents(t.Context(), &rows, filters[i]); err != nil {
			t.Fatal(err)
		}
		for j, key := range keys {
			if got := sound(t, key, lines, filepath.Join(parts[i], "files.jsonl")); got != (i == j) {
				t.Errorf("files of part %d by key %d: %v", i, j, got)
			}
			if got := sound(t, key, rows.Bytes(), filepath.Join(parts[i], "store.jsonl")); got != (i == j) {
				t.Errorf("rows of part %d by key %d: %v", i, j, got)
			}
		}
	}
	var all bytes.Buffer
	if _, err := s.ExportEvents(t.Context(), &all, store.EventFilter{}); err != nil {
		t.Fatal(err)
	}
	if sound(t, keys[1], all.Bytes(), filepath.Join(parts[1], "store.jsonl")) {
		t.Error("the whole export verifies by the new key")
	}
}
