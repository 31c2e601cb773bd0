package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() {
	Register("echo", func(_ context.Context, job Job) ([]byte, error) { return job.Arguments, nil })
	Register("caller", func(_ context.Context, job Job) ([]byte, error) { return job.Caller, nil })
	Register("fail", func(context.Context, Job) ([]byte, error) { return nil, errors.New("no such customer") })
	Register("panic", func(context.Context, Job) ([]byte, error) { panic("secret of the handler") })
	Register("exit", func(context.Context, Job) ([]byte, error) { os.Exit(0); return nil, nil })
	Register("pid", func(context.Context, Job) ([]byte, error) { return []byte(strconv.Itoa(os.Getpid())), nil })
}

// newPool returns a pool that ends with the test, which then has left no descriptor behind.
func newPool(t testing.TB, o Options) *Pool {
	t.Helper()
	before := openDescriptors(t)
	if o.Log == nil {
		o.Log = func(name, message string) { t.Logf("log of %q: %s", name, message) }
	}
	p, err := NewPool(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if after := openDescriptors(t); after > before {
			t.Errorf("there are %d descriptors, %d before", after, before)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("there are processes left: %v", left)
		}
	})
	return p
}

func openDescriptors(t testing.TB) int {
	t.Helper()
	r, w, err := os.Pipe() // the runtime opens its poller with the first one, for good
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// children returns the processes that this one has, those that ended and were not waited for
// included.
func children(t testing.TB) (all []string) {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%s/children", task.Name()))
		if err == nil {
			all = append(all, strings.Fields(string(b))...)
		}
	}
	return all
}

func TestAnswersCrossTheProcess(t *testing.T) {
	p := newPool(t, Options{})
	long := json.RawMessage(`"` + strings.Repeat("x", 900_000) + `"`)
	for _, test := range []struct {
		name              string
		arguments, caller json.RawMessage
		want              string
	}{
		{"echo", json.RawMessage(`{"a":1}`), nil, `{"a":1}`},
		{"echo", nil, nil, ""},
		{"echo", long, json.RawMessage(`{}`), string(long)},
		{"caller", json.RawMessage(`{"a":1}`), json.RawMessage(`{"role":"admin"}`), `{"role":"admin"}`},
	} {
		a, err := p.Run(context.Background(), Request{Name: test.name, Arguments: test.arguments, Caller: test.caller})
		if err != nil || string(a.Result) != test.want {
			t.Errorf("%s: %d bytes, %v", test.name, len(a.Result), err)
		}
		if a.MaxRSS == 0 {
			t.Error("there is no peak of memory")
		}
	}
}

func TestFailuresOfHandlers(t *testing.T) {
	var mu sync.Mutex
	var log strings.Builder
	p := newPool(t, Options{Log: func(name, message string) {
		mu.Lock()
		defer mu.Unlock()
		log.WriteString(name + ": " + message + "\n")
	}})
	_, err := p.Run(context.Background(), Request{Name: "fail"})
	var failed *HandlerError
	if !errors.As(err, &failed) || failed.Message != "no such customer" {
		t.Errorf("error of a handler: %v", err)
	}
	for _, test := range []struct {
		name  string
		panic bool
	}{{"panic", true}, {"exit", false}} {
		_, err := p.Run(context.Background(), Request{Name: test.name})
		var crash *CrashError
		if !errors.As(err, &crash) || crash.Panic != test.panic {
			t.Errorf("%s: %v", test.name, err)
		}
		if strings.Contains(fmt.Sprint(err), "secret") || strings.Contains(fmt.Sprint(err), ".go:") {
			t.Errorf("%s tells the client: %v", test.name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(log.String(), "panic: secret of the handler") || !strings.Contains(log.String(), "pool_linux_test.go") {
		t.Errorf("the log has no stack:\n%s", log.String())
	}
	if _, err := p.Run(context.Background(), Request{Name: "unknown"}); err == nil {
		t.Error("an unknown handler ran")
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	p := newPool(t, Options{Warm: 1})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(context.Background(), Request{Name: "echo"}); !errors.Is(err, errClosed) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkWarm(b *testing.B) {
	p := newPool(b, Options{Warm: 8})
	for b.Loop() {
		b.StopTimer()
		for {
			p.mu.Lock()
			ready := len(p.shelves[0].ready)
			p.mu.Unlock()
			if ready == 8 {
				break
			}
			time.Sleep(time.Millisecond)
		}
		b.StartTimer()
		if _, err := p.Run(context.Background(), Request{Name: "echo"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSustained(b *testing.B) {
	p := newPool(b, Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := p.Run(context.Background(), Request{Name: "echo"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "helpers/s")
}
