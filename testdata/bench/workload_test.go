package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// workload is one request, the peers that answer it, and a check of their answers.
type workload struct {
	method string
	params json.RawMessage
	peers  []peer // mcpgen is the first
	check  func(t testing.TB, p peer, answer []byte)
}

// test checks the answer of every peer on every transport.
func (w workload) test(t *testing.T) {
	for _, p := range w.peers {
		t.Run(p.name, func(t *testing.T) {
			w.check(t, p, dial(t, p.serve).call(t, w.method, w.params))
			for _, version := range []string{sessions, stateless} {
				w.check(t, p, connect(t, listen(t, p.web(t, version)), version).call(t, w.method, w.params))
			}
		})
	}
}

// benchmark measures every peer on stdio and over HTTP: one request at a time,
// and 64 in parallel, which are in flight on the one connection of stdio, and of 64 clients over
// HTTP. The time is per request, so that in parallel its inverse is the throughput. If b.N is below
// 64, only b.N requests are in flight, which favors slow peers.
func (w workload) benchmark(b *testing.B) {
	for _, parallel := range []int{1, 64} {
		for _, p := range w.peers {
			b.Run(fmt.Sprintf("through=stdio/parallel=%d/peer=%s", parallel, p.name), func(b *testing.B) {
				w.measure(b, p, parallel, dial(b, p.serve))
			})
		}
	}
	for _, version := range []string{sessions, stateless} {
		for _, parallel := range []int{1, 64} {
			row := fmt.Sprintf("through=http/version=%s/parallel=%d/peer=", version, parallel)
			for _, p := range append([]peer{w.bare()}, w.peers...) {
				b.Run(row+p.name, func(b *testing.B) {
					host := listen(b, p.web(b, version))
					clients := make([]*client, parallel)
					for i := range clients {
						clients[i] = connect(b, host, version)
					}
					w.measure(b, p, 1, clients...)
				})
			}
		}
	}
}

// measure sends b.N requests, with so many in flight on each client. The first answer is checked in
// full, and the others by id and length.
func (w workload) measure(b *testing.B, p peer, inFlight int, clients ...*client) {
	first := clients[0].call(b, w.method, w.params)
	w.check(b, p, first)
	size := len(first)
	requests := make([][]*prepared, len(clients))
	for i, c := range clients {
		c.body = make([]byte, 0, size+1<<10) // with the framing of events
		for range inFlight {
			requests[i] = append(requests[i], c.prepare(b, firstID, w.method, w.params))
		}
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i, c := range clients {
		all.Go(func() {
			if err := c.repeat(requests[i], &left, size); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	b.StopTimer()
}

// bare is a net/http handler that parses the same JSON and writes the bytes of mcpgen's answer. It
// is the floor of the other HTTP rows: net/http itself, and the client.
func (w workload) bare() peer {
	return peer{name: "bare", web: func(t testing.TB, version string) http.Handler {
		mcpgen := connect(t, listen(t, w.peers[0].web(t, version)), version)
		answer := bytes.Clone(mcpgen.call(t, w.method, w.params))
		before, after, _ := bytes.Cut(answer, fmt.Appendf(nil, "%d", idOf(answer)))
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			var m struct {
				JSONRPC string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Method  string          `json:"method"`
				Params  struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				} `json:"params"`
			}
			if err == nil {
				err = json.Unmarshal(body, &m)
			}
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadRequest)
				return
			}
			rw.Header().Set("Content-Type", "application/json")
			for _, part := range [][]byte{before, m.ID, after} {
				_, _ = rw.Write(part) // the client notices a missing part
			}
		})
	}}
}
