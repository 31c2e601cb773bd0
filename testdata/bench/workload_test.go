package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// workload is one request, the peers that answer it, and a check of their answers.
type workload struct {
	method string
	params json.RawMessage
	tools  int // of Job
	doors  []Job
	peers  []string
	check  func(t testing.TB, answer []byte)
}

// job is the job of a peer. The peer bare gets the answer of mcpgen.
func (w workload) job(t testing.TB, door Job, peer string) Job {
	door.Peer, door.Tools = peer, w.tools
	if peer == bare {
		mcpgen := serving(t, w.job(t, door, "mcpgen"))
		door.Answer = bytes.Clone(mcpgen.connect(t).call(t, w.method, w.params))
	}
	return door
}

// test checks the answer of every peer through every door.
func (w workload) test(t *testing.T) {
	for _, door := range w.doors {
		for _, peer := range append(w.peers, bare) {
			t.Run(door.Through+"/"+door.Version+"/"+peer, func(t *testing.T) {
				t.Parallel()
				c := serving(t, w.job(t, door, peer)).connect(t)
				for range 2 {
					w.check(t, c.call(t, w.method, w.params))
				}
			})
		}
	}
}

// benchmark measures every peer through every door: one request at a time, and 64 in parallel,
// which are in flight on the one connection of stdio, and of 64 clients over HTTP. The time is per
// request, so that in parallel its inverse is the throughput. If b.N is below 64, only b.N requests
// are in flight, which favors slow peers.
func (w workload) benchmark(b *testing.B) {
	for _, door := range w.doors {
		for _, peer := range append([]string{bare}, w.peers...) {
			if door.Through == "stdio" && slices.Contains([]string{"adopted", "shape"}, peer) {
				continue // what they add is the same over HTTP
			}
			row := fmt.Sprintf("through=%s/version=%s/peer=%s", door.Through, door.Version, peer)
			b.Run(row, func(b *testing.B) {
				p := serving(b, w.job(b, door, peer))
				first := p.connect(b)
				for _, parallel := range []int{1, 64} {
					clients, inFlight := []*client{first}, parallel
					if door.Through == "http" {
						inFlight = 1
						for len(clients) < parallel {
							clients = append(clients, p.connect(b))
						}
					}
					b.Run(fmt.Sprint("clients=", parallel), func(b *testing.B) {
						w.measure(b, p, inFlight, clients...)
					})
				}
			})
		}
	}
}

// measure sends b.N requests, with so many in flight on each client. The first answer is checked in
// full, and the others by id and length.
func (w workload) measure(b *testing.B, p *process, inFlight int, clients ...*client) {
	first := clients[0].call(b, w.method, w.params)
	w.check(b, first)
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
	p.measured(b, func() {
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				if err := c.repeat(requests[i], &left, size); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	})
}

const bare = "bare"

// barePeer parses the same JSON and writes the bytes of mcpgen's answer. It is the floor of the
// other rows: net/http or the pipes. It initializes no session: its answer is the only one.
func barePeer(answer []byte) peer {
	before, after, _ := bytes.Cut(answer, fmt.Appendf(nil, "%d", idOf(answer)))
	// reply writes the answer, if the message is a request. The client notices a missing part.
	reply := func(message []byte, out io.Writer) error {
		var m struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
			Params  struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(message, &m); err != nil || m.ID == nil {
			return err
		}
		for _, part := range [][]byte{before, m.ID, after} {
			if _, err := out.Write(part); err != nil {
				return err
			}
		}
		return nil
	}
	return peer{
		name: bare,
		serve: func(_ context.Context, in io.ReadCloser, out io.WriteCloser) error {
			lines, answers := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
			for {
				line, err := lines.ReadSlice('\n')
				if err == nil {
					err = reply(line, answers)
				}
				if err == nil {
					err = answers.Flush()
				}
				if err != nil {
					return err
				}
			}
		},
		web: func(string) (http.Handler, error) {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet { // a stream without events
					rw.Header()["Content-Type"] = []string{"text/event-stream"}
					_ = http.NewResponseController(rw).Flush()
					<-r.Context().Done()
					return
				}
				body, err := io.ReadAll(r.Body)
				rw.Header().Set("Content-Type", "application/json")
				if err == nil && len(body) > 0 {
					err = reply(body, rw)
				}
				if err != nil {
					http.Error(rw, err.Error(), http.StatusBadRequest)
				}
			}), nil
		},
	}
}

// BenchmarkProcess measures servers in processes of their own, and reports what these use.
func BenchmarkProcess(b *testing.B) {
	b.Run("of=call", calls().benchmark)
	b.Run("of=list", lists().benchmark)
	b.Run("of=record", benchmarkRecord)
	b.Run("of=handshake", benchmarkHandshake)
	b.Run("of=idle", benchmarkIdle)
	b.Run("of=start", benchmarkStart)
}
