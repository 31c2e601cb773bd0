package bench

import (
	"bytes"
	"testing"
)

// calls is one call of a tool with five constrained fields: decoded, validated, decided and
// answered.
func calls() workload {
	w := workload{method: "tools/call", params: callParams, check: checkResponse,
		doors: []Job{
			{Through: "http", Version: sessions}, {Through: "http", Version: stateless},
			{Through: "stdio", Version: sessions}, {Through: "stdio", Version: stateless},
		}}
	for _, p := range callPeers() {
		w.peers = append(w.peers, p.name)
	}
	return w
}

// A benchmark of refusals would show low figures: all peers must answer a good call and refuse a
// bad one, on every transport.
func TestAllPeersAnswerAndValidate(t *testing.T) {
	calls().test(t)
	bad := calls()
	bad.params = wrongParams
	bad.check = func(t testing.TB, body []byte) {
		if !bytes.Contains(body, []byte(`"isError":true`)) {
			t.Errorf("wrong arguments got %s", body)
		}
	}
	bad.test(t)
}
