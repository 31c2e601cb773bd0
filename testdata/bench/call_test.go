package bench

import (
	"bytes"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/testdata/bench/freight"
)

// calls is one call of a tool with five constrained fields: decoded, validated, decided and
// answered.
func calls() workload {
	return workload{
		method: "tools/call", params: callParams, check: checkResponse,
		peers: []peer{
			mcpgenPeer(freight.Toolset), sdkPeer("raw", bookRaw), sdkPeer("generic", bookGeneric),
			mcpgoPeer("mcp-go", bookMCPGo), serverPeer("adopted", adopted),
			serverPeer("shape", func() (*runtime.Server, error) {
				return runtime.New(options(), shapeToolset())
			}),
		},
	}
}

// A benchmark of refusals would show low figures: all peers must answer a good call and refuse a
// bad one, on every transport.
func TestAllPeersAnswerAndValidate(t *testing.T) {
	calls().test(t)
	bad := calls()
	bad.params = wrongParams
	bad.check = func(t testing.TB, _ peer, body []byte) {
		if !bytes.Contains(body, []byte(`"isError":true`)) {
			t.Errorf("wrong arguments got %s", body)
		}
	}
	bad.test(t)
}

func BenchmarkCall(b *testing.B) { calls().benchmark(b) }
