package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/cgroup"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/landlock"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/seccomp"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

// unsupported is an error on systems without pools.
var unsupported error

// A helper has to be warm within startWithin. After a failure to start one, the pool waits for
// retryAfter before it tries again without a waiting call. A waiting call gets the error.
const (
	startWithin = 20 * time.Second
	retryAfter  = time.Second
	// a call frees its slot a moment after its response
	slotWithin = 250 * time.Millisecond
	slotWaits  = 8 // so many times slotWithin on a busy machine
	// no helper is started ahead for this time after a call has begun
	callsFirst = 5 * time.Millisecond
)

// startsAtOnce limits the helpers that are starting: more would only slow down running calls.
var startsAtOnce = max(2, runtime.GOMAXPROCS(0))

// pool starts helpers ahead of calls and runs each call in its own helper. It is safe for
// concurrent use.
type pool struct {
	options Options
	host    host
	null    *os.File
	slots   chan struct{} // one for each call that runs
	ending  atomic.Int64  // calls with a response that still have their slots

	mu       sync.Mutex
	changed  *sync.Cond // its waiters are the keeper and tests
	shelves  [2]shelf   // for calls without a network, and with
	starting int        // on all shelves
	entering int        // calls that have just got a helper
	pause    time.Time  // no helper is started ahead before this time
	closed   bool
	closing  chan struct{}
	running  sync.WaitGroup // calls, and helpers that are starting
	kept     chan struct{}  // the keeper has ended
}

// shelf holds the helpers of one role. The pool's mutex guards it.
type shelf struct {
	pool     *pool
	role     role
	warm     int // number of helpers kept ready
	ready    []*process
	waiting  []chan got // calls without a helper, the longest waiting first
	starting int
}

// got is the result for a waiting call.
type got struct {
	process *process
	err     error
}

// startPool starts helpers. It tests one first: it must start, and none of its threads may open a
// file or a socket. It returns a [*missingError] if the system lacks a part, unless
// [Options].BestEffort is set. Call [Main] before.
func startPool(o Options) (*pool, error) {
	if err := ready(); err != nil {
		return nil, err
	}
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	found, err := inspect(o)
	if err != nil {
		return nil, err
	}
	if o.Workspaces != "" {
		if err := readable(o, found.namespaces); err != nil {
			found.blind = true
			found.missing = append(found.missing, "open files: the quota of workspaces does not "+
				"count removed files that are still open: "+err.Error())
		}
	}
	if len(found.missing) > 0 && !o.BestEffort {
		return nil, &missingError{Parts: found.missing}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	p := &pool{
		options: o,
		host:    found,
		null:    null,
		slots:   make(chan struct{}, o.Max),
		closing: make(chan struct{}),
		kept:    make(chan struct{}),
	}
	p.changed = sync.NewCond(&p.mu)
	my := role{Options: seccomp.Options{Group: found.namespaces&unix.CLONE_NEWPID == 0,
		Mounts: found.mounts, Partial: o.BestEffort}, Named: found.named}
	p.shelves[0] = shelf{pool: p, warm: o.Warm, role: my}
	my.Net = true
	p.shelves[1] = shelf{pool: p, warm: o.WarmNet, role: my}
	go p.keep()
	if err := p.try(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Missing returns the parts of isolation that the system lacks, a sentence each, or nil.
func (p *pool) Missing() []string { return slices.Concat(p.host.missing, p.host.optional) }

// Close ends all helpers and their calls, and waits for them. The calls get an error. It may be
// called more than once.
func (p *pool) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		<-p.kept
		return nil
	}
	p.closed = true
	close(p.closing)
	var ready []*process
	for i := range p.shelves {
		s := &p.shelves[i]
		s.refuse(errClosed)
		ready = append(ready, s.ready...)
		s.ready = nil
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	for _, h := range ready {
		h.end()
	}
	p.running.Wait()
	<-p.kept
	return p.null.Close()
}

// keep starts helpers until the pool is closed. It keeps its thread: helpers are killed when the
// thread that started them ends.
func (p *pool) keep() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.kept)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		s := p.short()
		for !p.closed && s == nil {
			p.changed.Wait()
			s = p.short()
		}
		if p.closed {
			p.mu.Unlock()
			p.running.Wait()
			p.mu.Lock()
			return
		}
		p.starting++
		s.starting++
		p.running.Add(1)
		p.mu.Unlock()
		h, err := start(p.options, s.role, p.host.namespaces, p.null)
		go p.admit(s, h, err)
		p.mu.Lock()
	}
}

// short returns the shelf that needs another helper now, or nil. p.mu is held.
func (p *pool) short() *shelf {
	if p.starting >= startsAtOnce {
		return nil
	}
	for i := range p.shelves {
		if s := &p.shelves[i]; s.starting < len(s.waiting) {
			return s
		}
	}
	// Starting a helper uses more processor time than a call, so calls that have just begun go
	// first.
	if p.entering > 0 || time.Now().Before(p.pause) {
		return nil
	}
	for i := range p.shelves {
		if s := &p.shelves[i]; s.starting+len(s.ready) < s.warm {
			return s
		}
	}
	return nil
}

// refuse sends an error to all waiting calls. The pool's mutex is held.
func (s *shelf) refuse(err error) {
	for _, w := range s.waiting {
		w <- got{err: err}
	}
	s.waiting = nil
}

// admit waits until a helper is warm and gives it to the longest waiting call, or keeps it.
func (p *pool) admit(s *shelf, h *process, err error) {
	defer p.running.Done()
	if err == nil {
		if err = h.warm(startWithin); err != nil {
			h.end()
		}
	}
	p.mu.Lock()
	p.starting--
	s.starting--
	closed := p.closed
	switch {
	case err != nil:
		p.pause = time.Now().Add(retryAfter)
		s.refuse(err)
		time.AfterFunc(retryAfter+time.Millisecond, p.wake)
	case closed:
	case len(s.waiting) > 0:
		p.entering++
		s.waiting[0] <- got{process: h}
		s.waiting = s.waiting[1:]
	default:
		s.ready = append(s.ready, h)
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	if err != nil && !closed {
		p.options.Log("", err.Error())
	}
	if err == nil && closed {
		h.end()
	}
}

func (p *pool) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// take returns a warm helper, or waits for one until done is closed: then it returns neither a
// helper nor an error. A caller that gets one must call entered.
func (s *shelf) take(done <-chan struct{}) (*process, error) {
	p := s.pool
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	if len(s.ready) > 0 {
		h := s.ready[0]
		s.ready[0] = nil
		s.ready = s.ready[1:]
		p.entering++
		p.mu.Unlock()
		return h, nil
	}
	wait := make(chan got, 1)
	s.waiting = append(s.waiting, wait)
	p.changed.Broadcast()
	p.mu.Unlock()
	select {
	case g := <-wait:
		return g.process, g.err
	case <-done:
	}
	p.mu.Lock()
	if i := slices.Index(s.waiting, wait); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
		p.mu.Unlock()
		return nil, nil
	}
	g := <-wait // one was assigned at the same moment, and is unused
	switch {
	case g.process == nil:
		p.mu.Unlock()
		return nil, g.err
	case p.closed:
		p.mu.Unlock()
		g.process.end()
	default:
		s.ready = append(s.ready, g.process)
		p.mu.Unlock()
	}
	p.entered()
	return nil, nil
}

// entered reports that a call with a helper needs no precedence any more.
func (p *pool) entered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entering--
	p.changed.Broadcast()
}

// try runs the probe.
func (p *pool) try() error {
	arguments, err := json.Marshal(map[string]bool{
		"Landlock": p.host.landlock > 0, "Seccomp": p.host.seccomp, "Mounts": p.host.mounts,
	})
	if err != nil {
		return err
	}
	if _, err := p.run(context.Background(), request{Name: probeName,
		Arguments: arguments}); err != nil {
		return fmt.Errorf("the first helper is not fully isolated: %w", err)
	}
	return nil
}

// host is the system's support for isolation.
type host struct {
	namespaces uintptr // of helpers
	landlock   int
	seccomp    bool
	mounts     bool     // helpers have mount namespaces
	named      bool     // see role.Named
	blind      bool     // the open files of helpers cannot be read
	missing    []string // parts that an option must accept
	optional   []string // other parts
}

// inspect determines the system's support.
func inspect(o Options) (host, error) {
	if o.Cgroup != "" {
		if err := cgroup.Check(o.Cgroup); err != nil {
			return host{}, err // explicitly configured, so also required with BestEffort
		}
	}
	h := judge(landlock.Version(), seccomp.Available(), namespacesOf(o), threads.OwnPIDs)
	var err error
	if h.named, err = mountable(o, h.namespaces); err != nil {
		part := "mount namespaces: without them handlers see names and attributes of files that they " +
			"cannot open, and programs run files of a workspace through ld.so: " + err.Error()
		if o.RequireMountNamespace {
			h.missing = append(h.missing, part)
		} else {
			h.optional = append(h.optional, part)
		}
		return h, nil
	}
	h.mounts = true
	h.namespaces |= unix.CLONE_NEWNS
	return h, nil
}

// judge lists the missing parts of a system. pids reports whether helpers should have a pid
// namespace.
func judge(version int, filters error, namespaces uintptr, pids bool) host {
	h := host{landlock: version, seccomp: filters == nil, namespaces: namespaces}
	if version < landlock.Least {
		h.missing = append(h.missing, fmt.Sprintf("Landlock: version %d of it or later is needed, "+
			"this kernel has %d (0 is none, or not enabled at boot)", landlock.Least, version))
	}
	if filters != nil {
		h.missing = append(h.missing, "seccomp: "+filters.Error())
	}
	if namespaces&unix.CLONE_NEWUSER == 0 {
		h.missing = append(h.missing,
			"user namespaces: without them the limit on processes counts those of all helpers together")
	}
	switch {
	case namespaces&unix.CLONE_NEWPID != 0:
	case pids:
		h.missing = append(h.missing,
			"pid namespaces: without them handlers see the numbers of other processes")
	case version < landlock.Scoped:
		h.missing = append(h.missing, fmt.Sprintf("signals: in a program with cgo only Landlock "+
			"from version %d on keeps a handler from signalling others of its user, this kernel "+
			"has %d", landlock.Scoped, version))
	}
	return h
}

// programs returns the paths that most programs need to start: the folders of programs, libraries
// and time zones. It allows starting all of them.
func programs() []granted {
	var all []granted
	for _, name := range []string{"/bin", "/usr/bin", "/usr/local/bin", "/lib", "/lib64",
		"/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/alternatives",
		"/usr/share/zoneinfo"} {
		resolved, err := filepath.EvalSymlinks(name)
		has := func(p granted) bool { return p.Name == resolved }
		if err != nil || name == resolved && slices.ContainsFunc(all, has) {
			continue
		}
		all = append(all, granted{Name: resolved, Access: mayRead | mayExec, as: name})
	}
	return all
}
