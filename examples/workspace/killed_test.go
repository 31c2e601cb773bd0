package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// TestKilledServerHasRecordedEveryResultThatLeft kills the server with -9 under load, again and
// again, and holds its trail against what its clients have received.
func TestKilledServerHasRecordedEveryResultThatLeft(t *testing.T) {
	for engine, database := range testdb.Stores {
		t.Run(engine, func(t *testing.T) {
			kept := database(t)
			key := strings.Repeat("k", 32)
			keyFile := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(keyFile, []byte(key), 0o600); err != nil {
				t.Fatal(err)
			}
			received := map[audit.Digest]bool{}
			var points []chain.Checkpoint
			const lives = 3
			for life := range lives {
				p := start(t, "-store", kept, "-trail-key", keyFile)
				for name := range p.load(t, life, 100+rand.IntN(300)) {
					received[audit.DigestOf([]byte(name))] = true
				}
				if text, err := os.ReadFile(filepath.Join(p.data,
					"checkpoints.jsonl")); err == nil {
					sent, err := chain.ReadCheckpoints(bytes.NewReader(text))
					if err != nil {
						t.Fatal(err)
					}
					points = append(points, sent...)
				}
			}
			p := start(t, "-store", kept, "-trail-key", keyFile)
			trail := p.export(t)
			got, err := chain.Verify(chain.Lines("trail", bytes.NewReader(trail)),
				chain.VerifyOptions{Key: []byte(key), Checkpoints: points})
			if err != nil || len(got.Findings) > 0 || got.Chains < lives {
				t.Errorf("%d chains, %v, %v", got.Chains, got.Findings, err)
			}
			of := len(received)
			for line := range bytes.Lines(trail) {
				var e audit.Event
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				for _, a := range e.Arguments {
					delete(received, a.Digest)
				}
			}
			if len(received) > 0 {
				t.Errorf("of %d results that were received %d are not in the trail", of,
					len(received))
			}
			t.Logf("%d results received in %d lives, %d chains, %d records", of, lives, got.Chains,
				bytes.Count(trail, []byte("\n")))
		})
	}
}

// load calls the server by many clients until so many results have come, kills it, and returns the
// arguments whose results were received.
func (p process) load(t testing.TB, life, results int) map[string]bool {
	t.Helper()
	var (
		mu       sync.Mutex
		received = map[string]bool{}
		count    atomic.Int64
		clients  sync.WaitGroup
	)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for n := range 8 {
		session := mcptest.Connect(t, p.Base+"/mcp", "demo-"+[]string{"robin", "kim"}[n%2], "")
		clients.Go(func() {
			for i := 0; ; i++ {
				// Half of them answer with an error, since there is no such file.
				name := fmt.Sprintf("public/%d-%d-%d", life, n, i)
				if i%2 == 0 {
					name = strings.Repeat("./", i%50) + "public/" + strings.Repeat("./", life*8+n) +
						strings.Repeat("/", i/2) + "hello.txt"
				}
				if _, err := session.CallTool(ctx,
					&mcp.CallToolParams{Name: "read_file",
						Arguments: arguments{"path": name}}); err != nil {
					return
				}
				text, _ := json.Marshal(name)
				mu.Lock()
				received[string(text)] = true
				mu.Unlock()
				if count.Add(1) == int64(results) {
					p.Kill()
				}
			}
		})
	}
	clients.Wait()
	if got := count.Load(); got < int64(results) {
		t.Fatalf("%d results before the server ended", got)
	}
	return received
}

// export is the trail as an administrator gets it.
func (p process) export(t testing.TB) []byte {
	t.Helper()
	res, err := mcptest.HTTPClient("demo-olga").Get(p.Base + "/api/v1/admin/audit/export")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.Status, err)
	}
	return text
}
