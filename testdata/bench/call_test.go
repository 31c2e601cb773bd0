package bench

import (
	"bytes"
	"testing"
)

// A benchmark that measures refusals would show fine figures: all peers must answer a good call
// and refuse a bad one, wherever they are called.
func TestAllPeersAnswerAndValidate(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			chain := p.chain(t)
			wire := dial(t, p.serve)
			web := visiting(t, p.web(t))
			for name, call := range map[string]func(params []byte) []byte{
				"chain": func(params []byte) []byte {
					body, err := chain("tools/call", params)
					if err != nil {
						t.Fatal(err)
					}
					return body
				},
				"wire": func(params []byte) []byte { return wire.call(t, "tools/call", params) },
				"http": func(params []byte) []byte { return web.call(t, "tools/call", params) },
			} {
				t.Run(name, func(t *testing.T) {
					checkAnswer(t, call(callParams))
					if body := call(wrongParams); !bytes.Contains(body, []byte(`"isError":true`)) {
						t.Errorf("wrong arguments got %s", body)
					}
				})
			}
		})
	}
}

// BenchmarkCall is one call of a tool with five constrained fields: decoded, validated,
// decided, audited to a sink that keeps nothing, and answered.
func BenchmarkCall(b *testing.B) {
	b.Run("through=chain", func(b *testing.B) {
		for _, p := range peers() {
			b.Run("peer="+p.name, func(b *testing.B) {
				call := p.chain(b)
				b.ReportAllocs()
				for b.Loop() {
					body, err := call("tools/call", callParams)
					if err != nil {
						b.Fatal(err)
					}
					if len(body) < 100 {
						b.Fatalf("%s", body)
					}
				}
			})
		}
	})
	b.Run("through=wire", func(b *testing.B) {
		for _, p := range peers() {
			b.Run("peer="+p.name, func(b *testing.B) {
				w := dial(b, p.serve)
				b.ReportAllocs()
				for b.Loop() {
					w.call(b, "tools/call", callParams)
				}
			})
		}
	})
	b.Run("through=http", func(b *testing.B) {
		for _, p := range peers() {
			b.Run("peer="+p.name, func(b *testing.B) {
				v := visiting(b, p.web(b))
				b.ReportAllocs()
				for b.Loop() {
					v.call(b, "tools/call", callParams)
				}
			})
		}
	})
}
