package store_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// recordUntilKilled records in a chain, by many goroutines, in a store and in files beside it, and says what was
// acknowledged as it comes.
func recordUntilKilled(ctx context.Context, url string) error {
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	file, err := audit.Rotating(filepath.Join(os.Getenv("STORE_DIR"), "audit.jsonl"), audit.RotateOptions{MaxBytes: 64 << 10})
	if err != nil {
		return err
	}
	inStore, err := s.LastEvent(ctx, "store")
	if err != nil {
		return err
	}
	chains := map[string]*chain.Chain{}
	for name, one := range map[string]struct {
		sink audit.Sink
		last []byte
	}{"store": {s.Audit(), inStore}, "file": {file, file.Last()}} {
		chains[name], err = chain.New(one.sink, chain.Options{
			Key: key, Replica: name, Last: one.last, Every: 50, Logger: slog.Default(),
			Checkpoints: chain.CheckpointFile(filepath.Join(os.Getenv("STORE_DIR"), name+".checkpoints")),
		})
		if err != nil {
			return err
		}
	}
	s.SealBy(chains["store"])
	errs := make(chan error, 1)
	var line sync.Mutex
	for name, c := range chains {
		for w := range 16 {
			go func() {
				for i := 0; ; i++ {
					id := fmt.Sprint(name, " ", os.Getpid(), " ", w, " ", i)
					if err := c.Record(ctx, audit.Event{RequestID: id, Type: audit.ToolCall, Status: audit.OK}); err != nil {
						errs <- err
						return
					}
					line.Lock()
					fmt.Println(id)
					line.Unlock()
				}
			}()
		}
	}
	go func() {
		for i := 0; ; i++ {
			if _, err := s.CreateOrg(ctx, fmt.Sprint(os.Getpid(), " ", i), ada); err != nil {
				errs <- err
				return
			}
		}
	}()
	return <-errs
}

// TestKilledServerHasEveryRecordThatWasAcknowledgedAndItsChainVerifies kills a process at random, some times over, and
// reads what it left, up to the newest checkpoints that it had sent.
func TestKilledServerHasEveryRecordThatWasAcknowledgedAndItsChainVerifies(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		dir := t.TempDir()
		t.Setenv("STORE_DIR", dir)
		acknowledged := map[string]bool{}
		for range 4 {
			c := newChild(t, "record", url)
			c.start()
			until := 200 + rand.IntN(800)
			n := 0
			for lines := bufio.NewScanner(c.stdout); lines.Scan(); n++ {
				acknowledged[lines.Text()] = true
				if n == until {
					if err := c.Process.Kill(); err != nil { // SIGKILL
						t.Fatal(err)
					}
				}
			}
			if n < until {
				t.Fatalf("%d records before the child ended", n)
			}
			c.Wait() // it was killed
		}
		path := filepath.Join(dir, "audit.jsonl")
		file := must(audit.Rotating(path, audit.RotateOptions{}))
		defer file.Close()
		var files []string
		for _, name := range append(file.Aside(), path) {
			files = append(files, string(must(os.ReadFile(name))))
		}
		var export bytes.Buffer
		must(open(t, url).ExportEvents(t.Context(), &export, store.EventFilter{}))
		for name, texts := range map[string][]string{"file": files, "store": {export.String()}} {
			points := must(chain.ReadCheckpoints(bytes.NewReader(must(os.ReadFile(filepath.Join(dir, name+".checkpoints"))))))
			got := must(chain.Verify(func(yield func(chain.Record, error) bool) {
				for i, text := range texts {
					for r, err := range chain.Lines(fmt.Sprint(name, i), strings.NewReader(text)) {
						if !yield(r, err) {
							return
						}
						delete(acknowledged, requestOf(string(r.Text)))
					}
				}
			}, chain.VerifyOptions{Key: key, Checkpoints: points}))
			if len(got.Findings) > 0 || got.Chains != 4 || len(points) == 0 {
				t.Errorf("%s: %d checkpoints, %d chains, %v", name, len(points), got.Chains, got.Findings)
			}
		}
		if len(acknowledged) > 0 {
			t.Errorf("lost: %v", acknowledged)
		}
	})
}

// requestOf is the request of a record's text.
func requestOf(text string) string {
	_, rest, _ := strings.Cut(text, `"request_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
