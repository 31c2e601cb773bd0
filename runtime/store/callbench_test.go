package store_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	goruntime "runtime"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// BenchmarkCall calls a tool over HTTP, with the records of a store: without an intent and with
// one, and without an audit.
func BenchmarkCall(b *testing.B) {
	tools := toolset.NewToolset(toolset.Generated{
		Package: "example.com/bench", Server: toolset.ServerInfo{Name: "bench", Version: "1"},
		Table: access.Table{Rules: []access.Rule{{Tool: "pay", Authenticated: true}}},
		Tools: []toolset.Tool{{Name: "pay", Input: `{"type":"object"}`,
			Call: func(context.Context, toolset.Call) (toolset.Result, error) {
				return toolset.Done(nil)
			}}},
	})
	call := func(b *testing.B, base string) {
		const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + meta +
			`,"name":"pay","arguments":{"id":"12345"}}}`)
		r := must(http.NewRequest("POST", base+runtime.PathMCP, bytes.NewReader(body)))
		r.Header = http.Header{"Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer t"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
			"Mcp-Name": {"pay"}}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		text, err := io.ReadAll(w.Body)
		if w.Body.Close(); err != nil || !bytes.Contains(text, []byte(`"result"`)) {
			b.Error(string(text), err)
		}
	}
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	for _, clients := range []int{1, 64} {
		for _, engine := range []string{"no audit", "sqlite", "postgresql"} {
			for _, policy := range []audit.IntentPolicy{audit.IntentNone, audit.IntentNonReadonly} {
				options := runtime.Options{
					Audit:    runtime.AuditOptions{Intent: policy},
					Logger:   slog.New(slog.DiscardHandler),
					Identity: identity.Static(map[string]access.Principal{identity.HashToken("t"): {Issuer: "i", Subject: "ada"}}),
				}
				if engine != "no audit" {
					options.Audit.Sink = open(b, engines[engine](b)).Audit()
				} else if policy != audit.IntentNone {
					continue
				}
				s := must(runtime.New(options, tools))
				web := httptest.NewServer(s.Handler())
				b.Run(fmt.Sprintf("%s/%s/%d", engine, policy, clients), func(b *testing.B) {
					if clients == 1 {
						for b.Loop() {
							call(b, web.URL)
						}
						return
					}
					b.SetParallelism(clients / goruntime.GOMAXPROCS(0))
					b.RunParallel(func(pb *testing.PB) {
						for pb.Next() {
							call(b, web.URL)
						}
					})
				})
				web.Close()
				must(0, s.Shutdown(context.Background()))
			}
		}
	}
}
