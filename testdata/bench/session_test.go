package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// stream opens the stream of the session on a connection of its own.
func (c *client) stream(t testing.TB) *client {
	t.Helper()
	s := open(t, c.host, sessions)
	s.session = c.session
	s.send(t, s.without("GET"))
	s.begun(t)
	return s
}

// listen opens subscriptions/listen on a connection of its own, until it is acknowledged.
func (c *client) listen(t testing.TB) *client {
	t.Helper()
	s := open(t, c.host, stateless)
	s.send(t, s.prepare(t, firstID, "subscriptions/listen", listenParams).bytes)
	s.begun(t)
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(line, []byte("notifications/subscriptions/acknowledged")) {
			return s
		}
	}
}

var listenParams = json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)

// begun reads the status of a stream.
func (c *client) begun(t testing.TB) {
	t.Helper()
	if status, err := c.in.ReadSlice('\n'); err != nil || !bytes.Contains(status, []byte(" 200 ")) {
		t.Fatalf("%s %v", status, err)
	}
}

// idle is a kind of session that nobody uses for the moment.
type idle struct {
	name, version string
	peers         []string
	// open opens one. The client that it returns has a connection that stays open, or is nil.
	open func(t testing.TB, c *client) *client
}

// idles are the kinds. After a call, an adopted server has an upstream for the session.
func idles() []idle {
	all := []string{"mcpgen", changing, "raw", "mcp-go", "adopted"}
	session := func(t testing.TB, c *client) {
		c.session = ""
		c.initialize(t)
	}
	return []idle{
		{"session", sessions, all, func(t testing.TB, c *client) *client {
			session(t, c)
			return nil
		}},
		{"session-and-stream", sessions, append(slices.Clone(all), bare), func(t testing.TB, c *client) *client {
			session(t, c)
			return c.stream(t)
		}},
		{"session-after-a-call", sessions, []string{"adopted"}, func(t testing.TB, c *client) *client {
			session(t, c)
			checkResponse(t, c.call(t, "tools/call", callParams))
			return nil
		}},
		{"listen", stateless, []string{changing, "raw"}, func(t testing.TB, c *client) *client {
			return c.listen(t)
		}},
	}
}

// run opens so many sessions and returns a function that closes their connections.
func (i idle) run(t testing.TB, c *client, many int) (end func()) {
	t.Helper()
	var streams []*client
	first := ""
	for range many {
		if s := i.open(t, c); s != nil {
			streams = append(streams, s)
		}
		first = cmp.Or(first, c.session)
	}
	return func() {
		for _, s := range streams {
			s.lasts(t)
			s.close()
		}
		c.session = first
		c.end(t) // fails if the session is not there any more
	}
}

// lasts fails if the server has ended the stream: its figures would be those of a connection.
func (c *client) lasts(t testing.TB) {
	t.Helper()
	raw, err := c.out.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	unread, _ := c.in.Peek(c.in.Buffered())
	rest := make([]byte, 4<<10)
	err = raw.Read(func(fd uintptr) bool {
		n, _, receiving := syscall.Recvfrom(int(fd), rest, syscall.MSG_DONTWAIT)
		rest = rest[:max(n, 0)]
		if n == 0 || bytes.HasSuffix(append(unread, rest...), []byte("0\r\n\r\n")) {
			t.Fatalf("the stream has ended: %q %q %v", unread, rest, receiving)
		}
		return true
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAllPeersOpenSessionsAndStreams(t *testing.T) {
	for _, kind := range idles() {
		for _, peer := range kind.peers {
			t.Run(kind.name+"/"+peer, func(t *testing.T) {
				p := serving(t, Job{Peer: peer, Through: "http", Version: kind.version})
				kind.run(t, open(t, p.host, kind.version), 3)()
			})
		}
	}
}

// benchmarkHandshake opens and ends sessions: initialize, initialized and DELETE.
func benchmarkHandshake(b *testing.B) {
	for _, peer := range []string{"mcpgen", "raw", "mcp-go", "adopted"} {
		b.Run("peer="+peer, func(b *testing.B) {
			p := serving(b, Job{Peer: peer, Through: "http", Version: sessions})
			c := open(b, p.host, sessions)
			b.Cleanup(c.close)
			b.Run("clients=1", func(b *testing.B) {
				p.measured(b, func() {
					for range b.N {
						c.initialize(b)
						c.end(b)
					}
				})
			})
		})
	}
}

// benchmarkIdle reports what a server process keeps for an idle session.
func benchmarkIdle(b *testing.B) {
	const many = 2000
	for _, kind := range idles() {
		for _, peer := range kind.peers {
			b.Run(fmt.Sprintf("kind=%s/peer=%s", kind.name, peer), func(b *testing.B) {
				var bytes, goroutines, n float64
				for b.Loop() {
					p := serving(b, Job{Peer: peer, Through: "http", Version: kind.version})
					c := open(b, p.host, kind.version)
					warm := kind.run(b, c, 10) // what the first session alone costs
					before := p.usage(b, true)
					end := kind.run(b, c, many)
					after := p.usage(b, true)
					end()
					warm()
					c.close()
					p.end()
					bytes += float64(after.Resident - before.Resident)
					goroutines += float64(after.Goroutines - before.Goroutines)
					n += many
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(bytes/n, "RSS-B/session")
				b.ReportMetric(goroutines/n, "goroutines/session")
			})
		}
	}
}

// benchmarkStart starts servers, and sends each one its first message. The process itself is
// there already: it is as large for all peers.
func benchmarkStart(b *testing.B) {
	for _, tools := range []int{10, 1000, 10000} {
		for _, peer := range []string{"mcpgen", "raw", "mcp-go"} {
			b.Run(fmt.Sprintf("tools=%d/peer=%s", tools, peer), func(b *testing.B) {
				var wall, cpu time.Duration
				for b.Loop() {
					p := launch(b)
					before, start := p.usage(b, false), b.Elapsed()
					p.serve(b, Job{Peer: peer, Tools: tools, Through: "http", Version: sessions})
					c := open(b, p.host, sessions)
					c.call(b, "initialize", initializeParams)
					wall += b.Elapsed() - start
					cpu += p.usage(b, false).CPU - before.CPU
					c.close()
					p.end()
				}
				b.ReportMetric(float64(wall.Nanoseconds())/float64(b.N), "ns/op")
				b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
