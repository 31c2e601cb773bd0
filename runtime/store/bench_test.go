package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var key = bytes.Repeat([]byte("k"), chain.MinKey)

// BenchmarkRecord keeps events by as many goroutines as there are in one, and beside it writes the
// same records, as many at once, to a file of the same disk that is synced for all of them: the
// bare rate, and its yardstick.
func BenchmarkRecord(b *testing.B) {
	e := audit.Event{
		Time: time.Now(), Type: audit.ToolCalled, RequestID: "r", Issuer: "https://id.example",
		Principal: "ada", Client: "cli", Tool: "tool", Status: audit.Success,
		Arguments: []audit.Argument{{Name: "id", Bytes: 5,
			Digest: audit.DigestOf([]byte("12345"))}},
	}
	for _, writers := range []int{1, 64, 256} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			run := func(name string, sink audit.Sink) {
				b.Run(name, func(b *testing.B) {
					b.SetParallelism(max(writers/runtime.GOMAXPROCS(0), 1))
					if writers == 1 {
						for b.Loop() {
							if err := sink.Record(context.Background(), e); err != nil {
								b.Fatal(err)
							}
						}
					} else {
						b.RunParallel(func(pb *testing.PB) {
							for pb.Next() {
								if err := sink.Record(context.Background(), e); err != nil {
									b.Error(err)
								}
							}
						})
					}
					b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
				})
			}
			run("bare", bare(b))
			file := must(audit.Rotating(filepath.Join(b.TempDir(), "audit.jsonl"),
				audit.RotateOptions{}))
			run("rotating", file)
			run("rotating+chain", chained(b, file))
			for name, engine := range engines {
				s := open(b, engine(b))
				run(name, s.Audit())
				run(name+"+intent", intended(s.Audit()))
				run(name+"+chain", chained(b, s.Audit()))
			}
		})
	}
}

// intended keeps two events of each call, one after the other: its intent and its outcome.
func intended(sink audit.Sink) audit.Sink {
	return audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		intent := e
		intent.Status = audit.Intent
		if err := sink.Record(ctx, intent); err != nil {
			return err
		}
		return sink.Record(ctx, e)
	})
}

func chained(b *testing.B, sink audit.Sink) *chain.Chain {
	c := must(chain.New(sink, chain.Options{Key: key, Replica: "bench"}))
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return c
}

// bare writes lines to a file, and syncs it once for all that wait.
func bare(b *testing.B) audit.Sink {
	file := must(os.Create(filepath.Join(b.TempDir(), "bare")))
	b.Cleanup(func() { file.Close() })
	group := groupcommit.New(256, func(_ context.Context, lines [][]byte) error {
		if _, err := file.Write(slices.Concat(lines...)); err != nil {
			return err
		}
		return file.Sync()
	})
	return audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return group.Do(ctx, append(line, '\n'))
	})
}

// BenchmarkResolve looks a name up among 10,000 catalogs of which many have it.
func BenchmarkResolve(b *testing.B) {
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			url := engine(b)
			s := hasty(b, open(b, url), url)
			var scopes []store.Scope
			for i := range 100 {
				org := must(s.CreateOrg(b.Context(), fmt.Sprint("org ", i), ada))
				scopes = append(scopes, store.InOrg(org.ID))
				for k := range 100 {
					must(s.CreateCatalog(b.Context(), store.InOrg(org.ID), fmt.Sprint("kit ", k),
						"", true, ada))
				}
			}
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				found := must(s.ActiveCatalogs(b.Context(), fmt.Sprint("kit ", i%100), store.Global,
					scopes[i%100]))
				if len(found) != 1 {
					b.Fatal(found)
				}
			}
		})
	}
}
