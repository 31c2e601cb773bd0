package bench

import (
	"bufio"
	"bytes"
	"io"
	"runtime"
	"testing"
)

// inSession opens a session over HTTP and ends it: initialize, initialized and DELETE. Between
// them, stream opens the session's own stream on a connection, until its status has arrived.
func (c *client) inSession(t testing.TB, stream bool) {
	t.Helper()
	c.initialize(t)
	if stream {
		defer c.stream(t).close()
	}
	c.end(t)
}

// stream opens the stream of the session on a connection of its own.
func (c *client) stream(t testing.TB) *client {
	t.Helper()
	s := open(t, c.host, sessions)
	s.in = bufio.NewReaderSize(s.out.(io.Reader), 1<<10) // streams are many
	s.session = c.session
	s.send(t, s.without("GET"))
	if status, err := s.in.ReadSlice('\n'); err != nil || !bytes.Contains(status, []byte(" 200 ")) {
		t.Fatalf("%s %v", status, err)
	}
	return s
}

func TestAllPeersOpenSessionsAndStreams(t *testing.T) {
	for _, p := range calls().peers {
		t.Run(p.name, func(t *testing.T) {
			c := open(t, listen(t, p.web(t, sessions)), sessions)
			defer c.close()
			for range 2 {
				c.inSession(t, false)
				c.inSession(t, true)
			}
		})
	}
}

func BenchmarkHandshake(b *testing.B) { benchmarkSessions(b, false) }
func BenchmarkStream(b *testing.B)    { benchmarkSessions(b, true) }

func benchmarkSessions(b *testing.B, stream bool) {
	for _, p := range calls().peers {
		b.Run("through=http/peer="+p.name, func(b *testing.B) {
			c := open(b, listen(b, p.web(b, sessions)), sessions)
			defer c.close()
			b.ReportAllocs()
			for b.Loop() {
				c.inSession(b, stream)
			}
		})
	}
}

// BenchmarkIdle opens sessions, with and without their streams, and reports what an idle one keeps
// in memory, and its goroutines. The client's own part of a stream is in the figures of all peers.
func BenchmarkIdle(b *testing.B) {
	const many = 500
	for _, stream := range []bool{false, true} {
		name := "stream=none"
		if stream {
			name = "stream=open"
		}
		for _, p := range calls().peers {
			b.Run(name+"/through=http/peer="+p.name, func(b *testing.B) {
				host := listen(b, p.web(b, sessions))
				var bytes, goroutines float64
				for b.Loop() {
					c := open(b, host, sessions)
					c.initialize(b) // what the first session alone costs
					before, running := inUse()
					var ids []string
					var streams []*client
					for range many {
						ids = append(ids, c.session)
						c.session = ""
						c.initialize(b)
						if stream {
							streams = append(streams, c.stream(b))
						}
					}
					after, runs := inUse()
					bytes = float64(after-before) / many
					goroutines = float64(runs-running) / many
					for _, s := range streams {
						s.close()
					}
					for _, c.session = range append(ids, c.session) {
						c.end(b)
					}
					c.close()
				}
				b.ReportMetric(bytes, "B/session")
				b.ReportMetric(goroutines, "goroutines/session")
			})
		}
	}
}

// inUse returns the memory in use, and the number of goroutines.
func inUse() (bytes int64, goroutines int) {
	runtime.GC()
	runtime.GC() // what the first one has freed of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()
}
