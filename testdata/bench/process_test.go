package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// serverEnv makes the test binary a server of one peer. Its value is the directory of profiles.
const serverEnv = "MCPGEN_BENCH_SERVER"

var profiles = flag.String("profile", "",
	"write CPU and allocation profiles of each server process into this `directory`")

func TestMain(m *testing.M) {
	if dir, server := os.LookupEnv(serverEnv); server {
		if dir != "" {
			if os.Getenv("NOMEM") == "" {
				runtime.MemProfileRate = 4 << 10
			}
		}
		control := rpc.NewServer()
		if err := control.RegisterName("Control", &Control{dir: dir}); err != nil {
			panic(err)
		}
		control.ServeConn(pipes{os.NewFile(3, "requests"), os.NewFile(4, "replies")})
		return
	}
	os.Exit(m.Run())
}

// pipes are a connection of two files.
type pipes struct {
	io.Reader
	io.WriteCloser
}

// Job is a server to start.
type Job struct {
	Peer    string
	Tools   int    // many tools, or 0 for the package freight
	Through string // http or stdio
	Version string // of the protocol
	Answer  []byte // of the peer bare
	Place   string // of a trail
}

// Usage has what a process has used until now.
type Usage struct {
	CPU            time.Duration // user and system, by the operating system
	Objects, Bytes uint64        // allocated
	Resident       int64         // bytes in memory, after a collection
	Goroutines     int
}

// Control has the methods that the parent calls over the pipes 3 and 4, so that stdio is the
// protocol's.
type Control struct {
	dir, name string // of profiles
	file      *os.File
}

// Serve starts the server. Over HTTP the reply is its host and port.
func (c *Control) Serve(job Job, host *string) error {
	peers := append(peersOf(job.Tools), barePeer(job.Answer))
	peers = append(peers, trailPeers(job.Place)...)
	i := slices.IndexFunc(peers, func(p peer) bool { return p.name == job.Peer })
	if i < 0 {
		return fmt.Errorf("there is no peer %s", job.Peer)
	}
	if job.Through == "stdio" {
		go func() { _ = peers[i].serve(context.Background(), os.Stdin, os.Stdout) }()
		return nil
	}
	handler, err := peers[i].web(job.Version)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, handler) }()
	*host = l.Addr().String()
	return nil
}

// Usage replies what the process has used. With collect, unused memory is freed before.
func (c *Control) Usage(collect bool, u *Usage) error {
	if collect {
		runtime.GC() // moves the content of pools to their second generation
		debug.FreeOSMemory()
		rollup, err := os.ReadFile("/proc/self/smaps_rollup")
		if err != nil {
			return err
		}
		_, rest, _ := strings.Cut(string(rollup), "\nRss:")
		kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return err
		}
		u.Resident = kilobytes << 10
		u.Goroutines = runtime.NumGoroutine()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	u.Objects, u.Bytes = m.Mallocs, m.TotalAlloc
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return err
	}
	u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano())
	return nil
}

// Profile starts a CPU profile in the file name.server.cpu.
func (c *Control) Profile(name string, _ *struct{}) (err error) {
	c.name = filepath.Join(c.dir, name+".server")
	if c.file, err = os.Create(c.name + ".cpu"); err != nil {
		return err
	}
	return pprof.StartCPUProfile(c.file)
}

// Profiled ends the profile, and writes all allocations to name.server.allocs.
func (c *Control) Profiled(struct{}, *struct{}) error {
	pprof.StopCPUProfile()
	allocs, err := os.Create(c.name + ".allocs")
	if err != nil {
		return err
	}
	return errors.Join(c.file.Close(), pprof.Lookup("allocs").WriteTo(allocs, 0), allocs.Close())
}

// process is the test binary as a server of one peer.
type process struct {
	control *rpc.Client
	job     Job
	host    string // empty on stdio
	stdio   pipes
	end     func()
}

// launch starts a process, which does not serve yet.
func launch(t testing.TB) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pipe := func() (r, w *os.File) {
		if r, w, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return r, w
	}
	requests, toServer := pipe()
	fromServer, replies := pipe()
	in, stdin := pipe()
	stdout, out := pipe()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), serverEnv+"="+*profiles)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, os.Stderr
	cmd.ExtraFiles = []*os.File{requests, replies}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, file := range cmd.ExtraFiles {
		file.Close() // the process has it
	}
	in.Close()
	out.Close()
	p := &process{control: rpc.NewClient(pipes{fromServer, toServer}), stdio: pipes{stdout, stdin}}
	p.end = sync.OnceFunc(func() {
		p.control.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(p.end)
	return p
}

// serving starts a process that serves.
func serving(t testing.TB, job Job) *process {
	t.Helper()
	p := launch(t)
	p.serve(t, job)
	return p
}

func (p *process) serve(t testing.TB, job Job) {
	t.Helper()
	p.job = job
	p.do(t, "Serve", job, &p.host)
}

func (p *process) do(t testing.TB, method string, args, reply any) {
	t.Helper()
	if err := p.control.Call("Control."+method, args, reply); err != nil {
		t.Fatal(err)
	}
}

func (p *process) usage(t testing.TB, collect bool) (u Usage) {
	t.Helper()
	p.do(t, "Usage", collect, &u)
	return u
}

// connect returns a client that is ready to send requests.
func (p *process) connect(t testing.TB) *client {
	t.Helper()
	if p.host != "" {
		return connect(t, p.host, p.job.Version)
	}
	return overPipes(t, p.stdio.Reader, p.stdio.WriteCloser, p.job.Version)
}

// measured reports what the process uses for each of b.N operations.
func (p *process) measured(b *testing.B, operate func()) {
	b.Helper()
	if *profiles != "" {
		p.do(b, "Profile", strings.ReplaceAll(b.Name(), "/", "."), new(struct{}))
		defer p.do(b, "Profiled", struct{}{}, new(struct{}))
	}
	before := p.usage(b, false)
	b.ReportAllocs()
	b.ResetTimer()
	operate()
	b.StopTimer()
	after := p.usage(b, false)
	per := func(n float64, unit string) { b.ReportMetric(n/float64(b.N), unit) }
	per(float64(after.CPU-before.CPU), "cpu-ns/op")
	per(float64(after.Objects-before.Objects), "allocs/op")
	per(float64(after.Bytes-before.Bytes), "B/op")
}

// The figures are those of the server process: the work of this one is in none of them.
func TestUsageAndProfilesAreOfTheServer(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value
	before, dir := benchtime.String(), *profiles
	defer func() { *profiles = dir; _ = benchtime.Set(before) }()
	*profiles = t.TempDir()
	if err := benchtime.Set("100x"); err != nil {
		t.Fatal(err)
	}
	var work []byte // of the client
	r := testing.Benchmark(func(b *testing.B) {
		p := serving(b, Job{Peer: "mcpgen", Through: "http", Version: sessions})
		c := p.connect(b)
		p.measured(b, func() {
			for range b.N {
				checkResponse(b, c.call(b, "tools/call", callParams))
				work = append(work, make([]byte, 1<<20)...)[:0:0]
			}
		})
		if u := p.usage(b, true); u.Resident < 1<<20 || u.Goroutines < 2 {
			b.Errorf("%+v", u)
		}
	})
	if r.N != 100 || r.Extra["cpu-ns/op"] < 1000 || r.Extra["allocs/op"] < 10 || r.Extra["B/op"] > 1<<20 {
		t.Errorf("%+v", r)
	}
	for _, kind := range []string{"cpu", "allocs"} {
		files, err := filepath.Glob(filepath.Join(*profiles, "*.server."+kind))
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %q %v", kind, files, err)
		}
	}
}
