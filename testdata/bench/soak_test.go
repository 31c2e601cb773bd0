package bench

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var soak = flag.Duration("soak", 0, "how long BenchmarkSoak holds sessions, and loads servers")

// BenchmarkSoak logs every half minute what server processes use: with 10,000 sessions and their
// streams, and with 200 clients. A session of these has 300 calls, one in each second, whose
// responses are streams that the client can resume. It is measured with -soak alone.
func BenchmarkSoak(b *testing.B) {
	if *soak == 0 {
		b.Skip("without -soak")
	}
	b.Run("of=streams", func(b *testing.B) {
		p := serving(b, Job{Peer: "mcpgen", Through: "http", Version: sessions})
		c := open(b, p.host, sessions)
		kinds := idles()
		kind := kinds[slices.IndexFunc(kinds, func(i idle) bool {
			return i.name == "session-and-stream"
		})]
		end := kind.run(b, c, 10_000)
		watch(b, []*process{p})
		end()
	})
	b.Run("of=clients", func(b *testing.B) {
		var servers []*process
		for _, peer := range []string{"mcpgen", "raw"} {
			servers = append(servers, serving(b, Job{Peer: peer, Through: "http", Version: sessions}))
		}
		var mu sync.Mutex
		took := map[string][]time.Duration{}
		var all sync.WaitGroup
		until := time.Now().Add(*soak)
		for _, p := range servers {
			for n := range 200 {
				all.Go(func() {
					own := p.load(b, n, until)
					mu.Lock()
					defer mu.Unlock()
					took[p.job.Peer] = append(took[p.job.Peer], own...)
				})
			}
		}
		watch(b, servers)
		all.Wait()
		for peer, durations := range took {
			slices.Sort(durations)
			at := func(part float64) time.Duration {
				return durations[int(part*float64(len(durations)-1))]
			}
			b.Logf("%-8s %d calls, p50 %v, p99 %v, p99.9 %v, at most %v", peer, len(durations),
				at(0.5), at(0.99), at(0.999), at(1))
		}
	})
}

// watch logs what the servers use, until the soak is over.
func watch(b *testing.B, servers []*process) {
	b.Helper()
	start := time.Now()
	for tick := time.NewTicker(min(30*time.Second, *soak)); ; <-tick.C {
		for _, p := range servers {
			u := p.usage(b, true)
			b.Logf("%-8s %5.0f s: %.1f MB resident, %d goroutines, %.1f s of CPU", p.job.Peer,
				time.Since(start).Seconds(), float64(u.Resident)/1e6, u.Goroutines, u.CPU.Seconds())
		}
		if time.Since(start) >= *soak {
			tick.Stop()
			return
		}
	}
}

// load makes a call each second, and returns how long each took.
func (p *process) load(b *testing.B, n int, until time.Time) (took []time.Duration) {
	c := open(b, p.host, sessions)
	defer c.close()
	begin := time.NewTimer(time.Duration(n) * time.Second / 200)
	<-begin.C
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var request *prepared
	for i := 0; time.Now().Before(until); i++ {
		if i%300 == 0 {
			c.end(b)
			c.initialize(b)
			request = c.prepare(b, firstID, "tools/call", callParams)
			request.bytes = bytes.Replace(request.bytes, []byte("application/json, text/event-stream"),
				[]byte("text/event-stream, application/json"), 1)
		}
		start := time.Now()
		answer := c.exchange(b, request.bytes)
		took = append(took, time.Since(start))
		if !strings.Contains(string(answer), `"structuredContent"`) {
			b.Errorf("not the answer: %s", answer)
		}
		<-tick.C
	}
	c.end(b)
	return took
}
