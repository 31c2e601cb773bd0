package principal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// recorder is a sink that tests can break.
type recorder struct {
	mu     sync.Mutex
	record func() error // nil succeeds
	events []audit.Event
}

func (r *recorder) Record(_ context.Context, e audit.Event) error {
	r.mu.Lock()
	record := r.record
	r.mu.Unlock()
	if record != nil {
		if err := record(); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return nil
}

func (r *recorder) breaks(record func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.record = record
}

// all returns the events that were recorded so far.
func (r *recorder) all() []audit.Event {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// take returns the addresses and counts of the events since the last call.
func (r *recorder) take() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for _, e := range r.events {
		all = append(all, fmt.Sprintf("%s %d", e.Object, e.Total))
	}
	r.events = nil
	return strings.Join(all, ", ")
}

// journal is a log that tests can read while it is written.
type journal struct {
	mu   sync.Mutex
	text []byte
}

func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text = append(j.text, text...)
	return len(text), nil
}

// take returns what was logged since the last call.
func (j *journal) take() string {
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	defer func() { j.text = nil }()
	return string(j.text)
}

// gate is an authenticator in a bubble of fake time, of which no token is valid but "good".
type gate struct {
	*Authenticator
	testing.TB
	sink *recorder
	log  *journal
}

// newGate returns a gate, for a test in a bubble.
func newGate(t *testing.T) *gate {
	pool := worker.NewPool()
	t.Cleanup(func() {
		synctest.Wait()
		pool.Close()
	})
	g := &gate{TB: t, sink: &recorder{}, log: &journal{}}
	g.Authenticator = NewAuthenticator(Config{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("good"): {Subject: "ada"}}),
		Realm: "team", Pool: pool, Table: access.Table{Roles: access.DefaultRoles()},
		Log: slog.New(slog.NewTextHandler(g.log, nil)), Audit: g.sink,
		AuditTimeout: 5 * time.Second, Active: worker.NewGroup(), TrustedProxies: proxies})
	return g
}

// send sends a token from an address. It returns the status, and Retry-After in seconds.
func (g *gate) send(peer, token string) (status, retryAfter int) {
	g.Helper()
	r := requestFrom(peer)
	r.Header.Set("Authorization", "Bearer "+token)
	began := time.Now()
	_, err := g.Authenticate(r)
	status = http.StatusOK
	if err != nil {
		refused := g.Refusal(r, "", err)
		if status, retryAfter = refused.Status, refused.RetryAfter; !strings.Contains(
			refused.Challenge, "invalid_token") || (status == 429) != (retryAfter > 0) {
			g.Errorf("%+v", refused)
		}
	}
	if held := time.Since(began); held > 0 {
		g.Errorf("%s was held for %s", peer, held)
	}
	return status, retryAfter
}

// fail fails times times at once, and returns the last Retry-After.
func (g *gate) fail(peer string, times int) (retryAfter int) {
	g.Helper()
	for range times {
		_, retryAfter = g.send(peer, "bad")
	}
	return retryAfter
}

const peer = "192.0.2.1:1234"

func TestRetryAfterGrowsByAddressAndDecays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		if got := g.fail(peer, freeFailures); got > 0 {
			g.Errorf("%d failures: refused for %d s", freeFailures, got)
		}
		for _, want := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300} {
			got := g.fail(peer, 1)
			if got != want {
				g.Errorf("Retry-After is %d, not %d", got, want)
			}
			// Failures meanwhile get the rest of the time, and do not add to it.
			time.Sleep(300 * time.Millisecond)
			if again := g.fail(peer, 50); again != got {
				g.Errorf("Retry-After after 0.3 of %d seconds is %d", got, again)
			}
			if status, _ := g.send(peer, "good"); status != http.StatusOK {
				g.Errorf("a valid credential gets %d", status)
			}
			if got := g.fail("192.0.2.2:1234", 1); got > 0 {
				g.Errorf("another address is refused for %d s", got)
			}
			time.Sleep(time.Duration(got)*time.Second - 300*time.Millisecond)
		}
		time.Sleep(5 * forgetFailure)
		if got := g.fail(peer, 1); got != 32 {
			g.Errorf("after %s without a failure Retry-After is %d", 5*forgetFailure, got)
		}
		time.Sleep(32*time.Second + (freeFailures+maxDoublings+1)*forgetFailure)
		if got := g.fail(peer, freeFailures); got > 0 {
			g.Errorf("what was long ago counts: %d", got)
		}
	})
}

// A client whose token ends each hour, or a slow one, is never refused.
func TestFewFailuresAreNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for range 500 {
			if got := g.fail(peer, 1); got > 0 {
				g.Fatalf("refused for %d s", got)
			}
			time.Sleep(forgetFailure)
		}
	})
}

func TestIPv6NetworkIsOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for i := range freeFailures {
			g.fail(fmt.Sprintf("[2001:db8:0:1::%x]:1", i), 1)
		}
		if got := g.fail("[2001:db8:0:1:ffff::]:1", 1); got != 1 {
			g.Errorf("another address of the network is refused for %d s", got)
		}
		if got := g.fail("[2001:db8:0:2::]:1", 1); got > 0 {
			g.Errorf("another network is refused for %d s", got)
		}
	})
}

// without sends a request without a credential.
func (g *gate) without(peer string) {
	g.Helper()
	r := requestFrom(peer)
	_, err := g.Authenticate(r)
	refused := g.Refusal(r, "", err)
	if refused.Status != 401 || refused.RetryAfter != 0 ||
		refused.Challenge != `Bearer realm="team"` {
		g.Fatalf("%+v", refused)
	}
}

func TestRequestWithoutACredentialIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for range 100 {
			g.without(peer)
		}
		time.Sleep(5 * reportInterval)
		if events := g.sink.take(); events != "" {
			g.Errorf("events %s", events)
		}
		if got := g.fail(peer, freeFailures); got > 0 {
			g.Errorf("they count as failures: refused for %d s", got)
		}
		g.fail(peer, 1)
		g.without(peer) // an address that is refused can start OAuth
	})
}

// Anybody can send tokens that the identity source cannot decide, for example with unknown keys.
func TestRequestsThatIdentityCannotDecideAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.Identity = identity.Bearer(func(context.Context, string) (identity.Identity, error) {
			return identity.Identity{}, errors.New("the provider is down")
		})
		for range 500 {
			r := requestFrom(peer)
			r.Header.Set("Authorization", "Bearer x")
			_, err := g.Authenticate(r)
			if got := g.Refusal(r, "", err); got.Status != 503 || got.RetryAfter != retryIdentity ||
				got.Challenge != "" {
				t.Fatalf("%+v", got)
			}
		}
		time.Sleep(5 * reportInterval)
		log := g.log.take()
		if strings.Count(log, "level=ERROR") != 2 || !strings.Contains(log, "requests=499") ||
			!strings.Contains(log, "the provider is down") {
			t.Errorf("the log:\n%.2000s", log)
		}
		if events := g.sink.take(); events != "" {
			t.Errorf("events %s", events)
		}
	})
}

// Without it, the log would not show a client that never sends its token.
func TestRequestsWithoutACredentialAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		expect := func(when string, lines ...string) {
			g.Helper()
			log := g.log.take()
			if got := strings.Count(log, "\n"); got != len(lines) {
				g.Errorf("%s: %d lines, not %d:\n%s", when, got, len(lines), log)
			}
			for _, line := range lines {
				if !strings.Contains(log, "level=INFO msg="+line) {
					g.Errorf("%s: no %s in\n%s", when, line, log)
				}
			}
		}
		g.without(peer)
		expect("at once",
			`"request without a credential refused" remote=192.0.2.1 path=/mcp requests=1 request_id=`)
		for range 1000 {
			g.without(peer)
		}
		g.without("[2001:db8::1]:1")
		expect("of another address",
			`"request without a credential refused" remote=2001:db8::1 path=/mcp requests=1 `)
		time.Sleep(2 * time.Minute)
		expect("after a minute",
			`"requests without a credential refused" remote=192.0.2.1 requests=1000 request_id=`)
		g.without(peer)
		expect("later", `"request without a credential refused" remote=192.0.2.1 `)
		g.without(peer)
		g.ReportFailures()
		expect("at the end", `"requests without a credential refused" remote=192.0.2.1 requests=1 `)
		for n := range 10 * maxAddresses {
			g.without(fmt.Sprintf("10.%d.%d.1:1", n>>8, n&255))
		}
		// The address above has an entry too; all without one share a line.
		if got := strings.Count(g.log.take(), "\n"); got > maxAddresses+1 {
			g.Errorf("%d lines at once", got)
		}
		if got := len(g.Authenticator.missing.byName); got != maxAddresses {
			g.Errorf("%d entries", got)
		}
		if got := g.fail(peer, 1); got > 0 || len(g.failures.byName) != 1 {
			g.Error("they push out failures")
		}
	})
}

func TestFailuresAreReportedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		expect := func(when, events string, lines int) {
			g.Helper()
			if got := g.sink.take(); got != events {
				g.Errorf("%s: events %q, not %q", when, got, events)
			}
			log := g.log.take()
			if got := strings.Count(log, "refused"); got != lines {
				g.Errorf("%s: %d lines, not %d:\n%s", when, got, lines, log)
			}
		}
		g.fail(peer, 1)
		expect("at once", "192.0.2.1 1", 1)
		for range 10 {
			g.fail(peer, 100)
			time.Sleep(time.Second)
		}
		expect("within the minute", "", 0)
		g.fail("[2001:db8::1]:1", 3)
		g.fail("[2001:db8::2]:1", 3)
		expect("of another address", "2001:db8::/64 1", 1)
		time.Sleep(50 * time.Second)
		expect("after a minute", "192.0.2.1 1000", 1)
		time.Sleep(time.Minute)
		expect("after a minute of another address", "2001:db8::/64 5", 1)
		time.Sleep(time.Minute)
		expect("without failures", "", 0)
		time.Sleep(time.Hour)
		expect("an hour later", "", 0)
		g.fail("@", 1)
		expect("without an address", "unknown address 1", 1)
		g.fail(peer, 5)
		expect("before the end", "192.0.2.1 1", 1)
		g.ReportFailures()
		expect("at the end", "192.0.2.1 4", 1)
		time.Sleep(time.Hour)
		expect("afterwards", "", 0)
	})
}

func TestEventOfFailuresHoldsNoCredential(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.send(peer, "t0psecret")
		e := g.sink.all()[0]
		e.RequestID, e.Time = "", time.Time{}
		want := audit.Event{Type: audit.Authentication, Action: "authenticate", Object: "192.0.2.1",
			Status: audit.Failed, Failure: audit.Denied, Axis: "authentication",
			Missing: "a valid credential", Total: 1}
		if fmt.Sprint(e) != fmt.Sprint(want) {
			g.Errorf("%+v", e)
		}
		id, log := g.sink.all()[0].RequestID, g.log.take()
		if id == "" || !strings.Contains(log, id) || strings.Contains(log, "t0psecret") {
			g.Errorf("request %q, log %s", id, log)
		}
	})
}

// The sink fails in every way, and the answers stay as they are.
func TestSinkThatFailsChangesNoAnswerAndLosesNoCount(t *testing.T) {
	for name, record := range map[string]func(stop <-chan struct{}) error{
		"an error": func(<-chan struct{}) error { return errors.New("the disk is full") },
		"panics":   func(<-chan struct{}) error { panic("boom") },
		"ends":     func(<-chan struct{}) error { runtime.Goexit(); return nil },
		"hangs":    func(stop <-chan struct{}) error { <-stop; return errors.New("too late") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(t)
				stop := make(chan struct{})
				g.sink.breaks(func() error { return record(stop) })
				for i := range freeFailures {
					if status, _ := g.send(peer, "bad"); status != 401 {
						g.Fatalf("failure %d: %d", i, status)
					}
				}
				time.Sleep(5 * reportInterval)
				goroutines := runtime.NumGoroutine()
				time.Sleep(50 * reportInterval)
				if now := runtime.NumGoroutine(); now > goroutines+10 {
					g.Errorf("%d goroutines, and then %d", goroutines, now)
				}
				if got := g.fail(peer, freeFailures+1); got != 1 {
					g.Errorf("refused for %d s", got)
				}
				if log := g.log.take(); !strings.Contains(
					log, "failed authentications could not be recorded") {
					g.Errorf("the log: %s", log)
				}
				g.sink.breaks(nil)
				close(stop)
				time.Sleep(3 * reportInterval)
				if got := g.sink.take(); got != fmt.Sprintf("192.0.2.1 %d", 2*freeFailures+1) {
					g.Errorf("events %q", got)
				}
			})
		})
	}
}

type panicking struct{ slog.Handler }

func (panicking) Handle(context.Context, slog.Record) error { panic("boom") }

func TestLogHandlerThatPanicsInTheBackgroundIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		g.fail(peer, 2)
		synctest.Wait()
		g.failures.mu.Lock()
		g.failures.Log = slog.New(panicking{g.failures.Log.Handler()})
		g.failures.mu.Unlock()
		g.sink.breaks(func() error { return errors.New("the disk is full") })
		time.Sleep(2 * reportInterval)
		g.sink.breaks(nil)
		time.Sleep(2 * reportInterval)
		if got := g.sink.take(); got != "192.0.2.1 1, 192.0.2.1 1" {
			g.Errorf("events %q", got)
		}
	})
}

func TestTableOfAddressesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		others := func(n int) string { return fmt.Sprintf("10.%d.%d.1:1", n>>8, n&255) }
		g.fail(peer, freeFailures+maxDoublings)
		time.Sleep(time.Second)
		last := g.fail(peer, 1) // it was refused for one second
		for n := range 10 * maxAddresses {
			g.fail(others(n), 1)
		}
		if got := len(g.failures.byName); got != maxAddresses || g.failures.order.Len() != got {
			g.Errorf("%d entries in order %d", got, g.failures.order.Len())
		}
		if got := g.fail(peer, 1); got != last {
			g.Errorf("others have flushed an address: it is refused for %d s, not %d", got, last)
		}
		// Each address has at most one event, and those without an entry one together.
		counted, events := 0, len(g.sink.all())
		for _, e := range g.sink.all() {
			counted += e.Total
		}
		if events != maxAddresses+1 {
			g.Errorf("%d events", events)
		}
		time.Sleep(3 * reportInterval)
		for _, e := range g.sink.all()[events:] {
			counted += e.Total
		}
		if want := freeFailures + maxDoublings + 2 + 10*maxAddresses; counted != want {
			g.Errorf("the events count %d failures, not %d", counted, want)
		}
		// Later the address that failed least recently is given up for a new one.
		g.fail(others(100*256), 1)
		if _, kept := g.failures.byName["10.100.0.1"]; !kept ||
			len(g.failures.byName) != maxAddresses || g.failures.byName["10.0.0.1"] != nil {
			g.Errorf("%d entries, with the new one %v", len(g.failures.byName), kept)
		}
	})
}

// Addresses in excess share one entry, and no valid credential is refused for it.
func TestAddressesWithoutAnEntryShareOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t)
		for n := range maxAddresses + freeFailures {
			g.fail(fmt.Sprintf("10.%d.%d.1:1", n>>8, n&255), 1)
		}
		const late = "10.200.0.1:1"
		if got := g.fail(late, 1); got != 1 {
			g.Errorf("refused for %d s", got)
		}
		if status, _ := g.send(late, "good"); status != http.StatusOK {
			g.Errorf("a valid credential gets %d", status)
		}
	})
}

func TestConcurrentFailuresAreAllCounted(t *testing.T) {
	pool := worker.NewPool()
	defer pool.Close()
	sink, active := &recorder{}, worker.NewGroup()
	f := newFailures(Config{Pool: pool, Audit: sink, AuditTimeout: time.Minute, Active: active,
		Log: slog.New(slog.DiscardHandler)}, wrong)
	const goroutines, each = 16, 500
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				f.add(fmt.Sprint((g*each + i) % 1500))
				if i%100 == 0 {
					f.reportAll(0)
				}
			}
		})
	}
	all.Wait()
	f.reportAll(0)
	<-active.Drain()
	counted := 0
	for _, e := range sink.events {
		counted += e.Total
	}
	if counted != goroutines*each {
		t.Errorf("%d of %d", counted, goroutines*each)
	}
}
