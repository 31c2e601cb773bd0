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

// recordUntilKilled records in a chain, by many goroutines, in a store and in files beside it. It
// prints the name of the sink and the id of each acknowledged record, and the name alone for each
// checkpoint that was sent.
func recordUntilKilled(ctx context.Context, url string) error {
	s, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	file, err := audit.Rotating(filepath.Join(os.Getenv("STORE_DIR"), "audit.jsonl"),
		audit.RotateOptions{MaxBytes: 64 << 10})
	if err != nil {
		return err
	}
	inStore, err := s.LastEvent(ctx, "store")
	if err != nil {
		return err
	}
	var line sync.Mutex
	print := func(words ...any) {
		line.Lock()
		defer line.Unlock()
		fmt.Println(words...)
	}
	chains := map[string]*chain.Chain{}
	for name, one := range map[string]struct {
		sink audit.Sink
		last []byte
	}{"store": {s.Audit(), inStore}, "file": {file, file.Last()}} {
		keep := chain.CheckpointFile(filepath.Join(os.Getenv("STORE_DIR"), name+".checkpoints"))
		chains[name], err = chain.New(one.sink, chain.Options{
			Key: key, Replica: name, Last: one.last, Every: 50, Logger: slog.Default(),
			Checkpoints: func(ctx context.Context, p chain.Checkpoint) error {
				err := keep(ctx, p)
				if err == nil {
					print(name)
				}
				return err
			},
		})
		if err != nil {
			return err
		}
	}
	s.SealBy(chains["store"])
	errs := make(chan error, 1)
	for name, c := range chains {
		for w := range 16 {
			go func() {
				for i := 0; ; i++ {
					id := fmt.Sprint(os.Getpid(), "-", w, "-", i)
					if err := c.Record(ctx, audit.Event{RequestID: id, Type: audit.ToolCalled,
						Status: audit.Success}); err != nil {
						errs <- err
						return
					}
					print(name, id)
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

// TestKilledServerHasEveryRecordThatWasAcknowledgedAndItsChainVerifies kills a process at random,
// some times over, and reads what it left, up to the newest checkpoints that it had sent. Each
// process lives until each sink has acknowledged records and sent a checkpoint, however long that
// takes.
func TestKilledServerHasEveryRecordThatWasAcknowledgedAndItsChainVerifies(t *testing.T) {
	const processes = 4
	both(t, func(t *testing.T, url string) {
		dir := t.TempDir()
		t.Setenv("STORE_DIR", dir)
		acknowledged := map[string]map[string]bool{"store": {}, "file": {}}
		for range processes {
			c := newChild(t, "record", url)
			c.start()
			until := 100 + rand.IntN(400)
			records, checkpoints, killed := map[string]int{}, map[string]int{}, false
			for lines := bufio.NewScanner(c.stdout); lines.Scan(); {
				name, id, isRecord := strings.Cut(lines.Text(), " ")
				if isRecord {
					acknowledged[name][id] = true
					records[name]++
				} else {
					checkpoints[name]++
				}
				enough := min(records["store"], records["file"]) >= until &&
					min(checkpoints["store"], checkpoints["file"]) > 0
				if enough && !killed {
					killed = true
					do(t, c.Process.Kill()) // SIGKILL
				}
			}
			if !killed {
				t.Fatalf("%v records, %v checkpoints before the child ended", records, checkpoints)
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
			points := must(chain.ReadCheckpoints(bytes.NewReader(must(os.ReadFile(filepath.Join(dir,
				name+".checkpoints"))))))
			got := must(chain.Verify(func(yield func(chain.Record, error) bool) {
				for i, text := range texts {
					for r, err := range chain.Lines(fmt.Sprint(name, i), strings.NewReader(text)) {
						if !yield(r, err) {
							return
						}
						delete(acknowledged[name], requestOf(string(r.Text)))
					}
				}
			}, chain.VerifyOptions{Key: key, Checkpoints: points}))
			if len(got.Findings) > 0 || got.Chains != processes || len(points) < processes {
				t.Errorf("%s: %d checkpoints, %d chains, %v", name, len(points), got.Chains,
					got.Findings)
			}
			if lost := acknowledged[name]; len(lost) > 0 {
				t.Errorf("%s lost: %v", name, lost)
			}
		}
	})
}

// requestOf is the request of a record's text.
func requestOf(text string) string {
	_, rest, _ := strings.Cut(text, `"request_id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
