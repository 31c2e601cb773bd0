package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func BenchmarkRecord(b *testing.B) {
	for name, engine := range engines {
		b.Run(name, func(b *testing.B) {
			s := open(b, engine(b))
			sink := s.Audit()
			e := audit.Event{Type: audit.ToolCall, RequestID: "r", Issuer: "https://id.example", Principal: "ada", Tool: "tool", Status: audit.OK}
			b.Run("one", func(b *testing.B) {
				for b.Loop() {
					if err := sink.Record(context.Background(), e); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("many", func(b *testing.B) {
				b.SetParallelism(16)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := sink.Record(context.Background(), e); err != nil {
							b.Error(err)
						}
					}
				})
			})
		})
	}
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
					must(s.CreateCatalog(b.Context(), store.InOrg(org.ID), fmt.Sprint("kit ", k), "", true, ada))
				}
			}
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				found := must(s.ActiveCatalogs(b.Context(), fmt.Sprint("kit ", i%100), store.Global, scopes[i%100]))
				if len(found) != 1 {
					b.Fatal(found)
				}
			}
		})
	}
}
