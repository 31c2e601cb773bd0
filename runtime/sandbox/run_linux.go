package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/mounts"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/proc"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/threads"
)

// errLost reports that a helper ended before the handler began, so that another may be tried.
var errLost = errors.New("a helper ended before its handler began")

// Run runs one call in its own helper and returns when none of its processes is left. Errors are
// [*limitError], [*handlerError], [*crashError], the context's cause if that ended first, or
// report that the call did not begin.
func (p *pool) Run(ctx context.Context, r request) (response, error) {
	if _, found := handlerOf(r.Name); !found {
		return response{}, notRegistered(r.Name)
	}
	return p.run(ctx, r)
}

func (p *pool) run(ctx context.Context, r request) (response, error) {
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.running.Add(1)
	}
	p.mu.Unlock()
	if closed {
		return response{}, errClosed
	}
	defer p.running.Done()
	if err := context.Cause(ctx); err != nil {
		return response{}, err // before the random choice below
	}
	if err := r.Limits.check(); err != nil {
		return response{}, err
	}
	r.Limits = r.Limits.over(p.options.Limits)
	if err := p.slot(ctx); err != nil {
		return response{}, err
	}
	free := func() { <-p.slots }
	defer func() { free() }()

	o, descriptors, release, err := p.prepare(r)
	defer release()
	if err != nil {
		return response{}, err
	}
	frame, err := encodeRequest(o, r.Arguments, r.Caller)
	if err != nil {
		return response{}, err
	}
	shelf := &p.shelves[0]
	if r.Net {
		shelf = &p.shelves[1]
	}
	const tries = 3
	for try := 1; ; try++ {
		h, err := shelf.take(ctx.Done())
		switch {
		case err != nil:
			return response{}, err
		case h == nil:
			return response{}, fmt.Errorf("no helper was free: %w", context.Cause(ctx))
		}
		answer, err := p.once(ctx, h, r, frame, descriptors)
		if err == nil && r.soon != nil {
			free = func() {} // the helper frees it when it has ended
		}
		if !errors.Is(err, errLost) || try == tries {
			return answer, err
		}
	}
}

// slot waits a short time for a slot, and longer if one will soon be free.
func (p *pool) slot(ctx context.Context) error {
	select {
	case p.slots <- struct{}{}:
		return nil
	default:
	}
	wait := time.NewTimer(slotWithin)
	defer wait.Stop()
	for waited := 1; ; waited++ {
		select {
		case p.slots <- struct{}{}:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no helper was free: %w", context.Cause(ctx))
		case <-p.closing:
			return errClosed
		case <-wait.C:
			if p.ending.Load() == 0 || waited == slotWaits {
				return &limitError{Limit: limitCalls,
					Bound: fmt.Sprintf("%d isolated ones of all clients", p.options.Max)}
			}
			wait.Reset(slotWithin)
		}
	}
}

// prepare collects the parts of a request. release closes the descriptors that it opened.
func (p *pool) prepare(r request) (o order, descriptors []int, release func(), err error) {
	var opened []*os.File
	release = func() {
		for _, f := range opened {
			f.Close()
		}
	}
	// hand adds an open file, which a helper with mounts shows or finds by its name.
	hand := func(file *os.File, open bool, attributes uint64) (name string, err error) {
		opened = append(opened, file)
		if p.host.mounts {
			file, name, err = mounts.Show(file, open, p.host.named, attributes)
			if err != nil {
				return "", err
			}
			opened = append(opened, file)
		}
		o.Names = append(o.Names, name)
		descriptors = append(descriptors, int(file.Fd()))
		return name, nil
	}
	if len(r.Files) > maxFiles || len(r.Paths) > maxPaths-len(p.options.NetPaths) {
		return o, nil, release,
			fmt.Errorf("%d files and %d paths are more than a helper accepts (%d and %d)",
				len(r.Files), len(r.Paths), maxFiles, maxPaths-len(p.options.NetPaths))
	}
	o = order{Name: r.Name, Limits: r.Limits, Emits: r.emitted != nil}
	if r.quota != nil && r.quota.over != nil {
		o.Full = r.quota.over.Bound
	}
	if r.space != nil {
		o.Space = r.space.snapshot()
	} else if r.noSpace != nil {
		o.NoSpace = r.noSpace.Error()
		errors.As(r.noSpace, &o.NoSpaceLimit)
	}
	for name, file := range r.Files {
		if file == nil {
			return o, nil, release, fmt.Errorf("file %q is nil", name)
		}
		own, err := duplicate(file)
		if err != nil {
			return o, nil, release, fmt.Errorf("file %q: %w", name, err)
		}
		if _, err := hand(own, true, mounts.Inert); err != nil {
			return o, nil, release, fmt.Errorf("file %q: %w", name, err)
		}
		o.Files = append(o.Files, name)
	}
	if r.Dir != nil {
		dir, err := r.Dir.Open(".")
		if err != nil {
			return o, nil, release, err
		}
		if _, err := hand(dir, false, mounts.Inert); err != nil {
			return o, nil, release, err
		}
		o.Dir = true
	}
	paths := r.Paths
	if r.Net {
		for _, name := range p.options.NetPaths {
			if resolved, err := filepath.EvalSymlinks(name); err == nil {
				paths = append(slices.Clip(paths),
					granted{Name: resolved, Access: mayRead, as: name})
			}
		}
	}
	for _, path := range paths {
		var file *os.File
		if path.File != nil {
			file, err = duplicate(path.File)
		} else {
			file, err = openPath(path.Name)
		}
		if err != nil {
			return o, nil, release, err
		}
		name, err := hand(file, false, mounts.Attributes(path.Access&mayExec != 0))
		if err != nil {
			return o, nil, release, err
		}
		o.Paths = append(o.Paths, path.Access)
		for _, as := range []string{path.Name, path.as} {
			if p.host.mounts && filepath.IsAbs(as) && as != name {
				o.Links = append(o.Links, mounts.Link{Name: as, To: name})
			}
		}
	}
	return o, descriptors, release, nil
}

// duplicate returns another descriptor of an open file, which stays valid until it is sent. Fd of
// the file itself would remove it from the runtime's poller.
func duplicate(file *os.File) (*os.File, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var failed error
	err = raw.Control(func(old uintptr) {
		fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), file.Name()), nil
}

// openPath opens a path only to identify its file. It refuses a symbolic link, whose target may not
// be the file that was decided on.
func openPath(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	file := os.NewFile(uintptr(fd), name)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, errors.Join(os.NewSyscallError("fstat", err), file.Close())
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil, errors.Join(fmt.Errorf("%s is a symbolic link: grant its target", name),
			file.Close())
	}
	return file, nil
}

// once runs a call in a helper, and ends the helper.
func (p *pool) once(ctx context.Context, h *process, r request, frame []byte,
	descriptors []int) (answer response, err error) {
	stopped := make(chan struct{}) // by the context or the pool's end
	stop := func() {
		close(stopped)
		now := time.Now()
		_ = h.request.SetWriteDeadline(now)
		_ = h.response.SetReadDeadline(now)
	}
	deadline := time.Now().Add(r.Limits.Timeout + p.options.Grace)
	_ = h.request.SetWriteDeadline(deadline)
	_ = h.response.SetReadDeadline(deadline)
	unwatch := watch(ctx, p.closing, stop)

	var begun bool
	// Start helpers again when the call is over, or runs for long.
	entered := sync.OnceFunc(p.entered)
	begins := func() { time.AfterFunc(callsFirst, entered) }
	large := false
	most := h.data + r.Limits.Memory + threads.Stacks
	unhold := proc.HoldMemory(h.proc.Pid, most, func() {
		large = true
		_ = h.response.SetReadDeadline(time.Now())
	})
	if r.quota != nil && !p.host.blind {
		var files *proc.OpenFiles
		if files, err = proc.FilesOf(h.proc.Pid, descriptors); err == nil {
			r.quota.has(files)
		}
	}
	if err == nil {
		begun, err = p.converse(h, r, frame, descriptors, begins, &answer)
		answer.begun = begun
	}
	unhold()
	if err == nil {
		if err = r.quota.check(); err != nil {
			answer.Result = nil
		}
	}
	if err != nil && large {
		err = &limitError{Limit: limitMemory}
	}
	if err == nil && r.soon != nil {
		unwatch()
		h.kill()
		p.running.Add(1)
		p.ending.Add(1)
		go func(answer response) {
			defer p.running.Done()
			h.gone()
			entered()
			<-p.slots
			p.ending.Add(-1)
			answer.Printed, answer.CPU = h.printed.bytes(), h.cpu()
			r.soon(answer)
		}(answer)
		return answer, nil
	}
	answer.MaxRSS = proc.PeakMemory(h.proc.Pid)
	unwatch()
	r.quota.has(nil)
	starved := h.cgroup != nil && h.cgroup.KilledForMemory()
	h.end()
	entered()
	answer.Printed, answer.CPU = h.printed.bytes(), h.cpu()
	if err == nil {
		return answer, nil
	}
	select {
	case <-stopped:
		if err := context.Cause(ctx); err != nil {
			return answer, err
		}
		return answer, errClosed
	default:
	}
	var limit *limitError
	switch {
	case errors.As(err, &limit):
		if limit.Bound == "" {
			limit.Bound = bound(limit.Limit, r.Limits)
		}
		return answer, limit
	case errors.Is(err, os.ErrDeadlineExceeded):
		return answer, &limitError{Limit: limitTime, Bound: bound(limitTime, r.Limits)}
	case !errors.Is(err, io.EOF) && !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET):
		return answer, err
	}
	// The helper ended by itself.
	if limit := causeOf(h.ended, answer, r.Limits, starved); limit != "" {
		return answer, &limitError{Limit: limit, Bound: bound(limit, r.Limits)}
	}
	if !begun {
		return answer, fmt.Errorf("%w: %w, %s%s", errLost, err, state(h.ended),
			printedText(answer.Printed))
	}
	crash := &crashError{State: state(h.ended), Panic: h.ended.ExitCode() == 2 &&
		strings.Contains(string(answer.Printed), "panic: ")}
	p.options.Log(r.Name, crash.Error()+printedText(answer.Printed))
	return answer, crash
}

// converse sends the request and reads the response: the result, and changes of variables.
func (p *pool) converse(h *process, r request, frame []byte, descriptors []int, begins func(),
	answer *response) (begun bool, err error) {
	if h.cgroup != nil {
		if err := h.cgroup.Bound(r.Limits.Memory, r.Limits.Processes); err != nil {
			return false, err
		}
	}
	budget := allowance{since: time.Now()}
	if err := h.send(frame, descriptors); err != nil {
		return false, err
	}
	return p.readOutput(h.response, budget, r, begins, answer)
}

// readOutput reads the response.
func (p *pool) readOutput(from io.Reader, budget allowance, r request, begins func(),
	answer *response) (begun bool, err error) {
	// Each kind except emissions comes once, and in this order: the handler can write anything to
	// the pipe.
	var changed *journal
	for {
		kind, length, err := readPrefix(from)
		if err != nil {
			return begun, err
		}
		bound := int64(0)
		switch {
		case kind == frameBegun && !begun:
		case kind == frameResult && begun:
			bound = r.Limits.Output
		case kind == frameFailure:
			bound = maxFailure
		case kind == frameEmission && begun && changed == nil && r.emitted != nil:
			bound = notify.MaxEmission
		case kind == frameJournal && begun && changed == nil && r.space != nil:
			bound = r.space.journalBound()
		default:
			return begun, fmt.Errorf("the helper sent an unexpected frame of kind %q", kind)
		}
		if length > bound {
			return begun, &limitError{Limit: limitOutput}
		}
		if kind == frameEmission && !budget.take(int(length), 0) {
			return begun, errors.New("the helper sent more than allowed: a handler forged it")
		}
		payload := make([]byte, length)
		if _, err := io.ReadFull(from, payload); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return begun, err
		}
		switch kind {
		case frameBegun:
			begun = true
			begins()
		case frameEmission:
			p.deliver(r, payload)
		case frameJournal:
			if changed, err = readJournal(payload, r.space.all.options.Variables); err != nil {
				return begun, fmt.Errorf("the helper sent malformed variables: %w", err)
			}
		case frameResult:
			answer.Result, answer.journal = payload, changed
			return begun, nil
		case frameFailure:
			answer.journal = changed
			return begun, p.failed(r, payload, begun)
		}
	}
}

// deliver passes on a message of the handler. A panic in it must not end this goroutine, which has
// to end a helper.
func (p *pool) deliver(r request, emission []byte) {
	defer func() {
		if value := recover(); value != nil {
			p.options.Log(r.Name, fmt.Sprintf("panic while reading messages of a handler: %v\n%s",
				value, debug.Stack()))
		}
	}()
	r.emitted(emission)
}

// failed converts a failure frame to an error. Its texts are limited as in a helper.
func (p *pool) failed(r request, payload []byte, begun bool) error {
	var f failure
	if err := json.Unmarshal(payload, &f); err != nil {
		return fmt.Errorf("the helper sent a malformed failure: %w", err)
	}
	f.Message = cut(f.Message, maxMessage)
	switch {
	case f.Setup == begun:
		return errors.New("the helper sent a failure of another phase: a handler forged it")
	case f.Setup:
		return fmt.Errorf("the call could not be isolated: %s", f.Message)
	case f.Panic:
		p.options.Log(r.Name, "panic: "+f.Message+"\n"+cut(f.Stack, maxStack))
		return &crashError{Panic: true}
	case f.Limit != "" && !slices.Contains(limitNames, f.Limit):
		return errors.New("the helper sent a failure with an unknown limit: a handler forged it")
	case f.Limit != "":
		return &limitError{Limit: f.Limit, Bound: cut(f.Bound, maxBound)}
	}
	return &handlerError{Message: f.Message}
}

// watch calls stop once when the context or the pool ends. After unwatch has returned, stop has
// been called or never will be.
func watch(ctx context.Context, closing <-chan struct{}, stop func()) (unwatch func()) {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		select {
		case <-ctx.Done():
		case <-closing:
		case <-done:
			return
		}
		stop()
	}()
	return func() {
		close(done)
		<-finished
	}
}
