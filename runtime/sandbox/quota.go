package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
)

// deepest is the maximum nesting of folders in a workspace: counting opens all on the way down.
const deepest = 64

// Room returns how many bytes may be added to the directory. It returns a [*limitError] if none
// may, if there are too many files, or if folders are nested deeper than 64. It reads the
// directory: call it before you write much. Isolated calls are held to the quota while they run.
// If a handler in the server writes more, the client's next isolated calls cannot write.
func (s *ClientWorkspace) Room() (int64, error) {
	bytes, over, err := s.used(context.Background())
	left := s.all.options.Bytes - bytes
	switch {
	case err != nil:
		return 0, err
	case over != nil:
		return 0, over
	case left == 0:
		return 0, s.full()
	}
	return left, nil
}

// full is the error of a full workspace.
func (s *ClientWorkspace) full() *limitError {
	return &limitError{Limit: limitQuota, Bound: size(s.all.options.Bytes)}
}

// unlinker finds the removed files of a call's processes.
type unlinker interface {
	// Unlinked adds the open or mapped files without a name of the processes, with their sizes. An
	// error denies: some files could not be read.
	Unlinked(ctx context.Context, found map[folder.Inode]int64) error
}

// used returns the bytes of the directory's files, and of files without a name that isolated calls
// of the workspace have open. If that exceeds the quota, or if there are too many files or too deep
// folders, over is the quota, and counting may have stopped there. A file is counted once, by its
// length or the space that the file system reserved for it. The end of the context is an error of
// its own.
func (s *ClientWorkspace) used(ctx context.Context) (bytes int64, over *limitError, err error) {
	dir := s.Dir()
	if dir == nil {
		return 0, nil, fmt.Errorf("workspace: %w", os.ErrClosed)
	}
	// Files without a name first, so that a file that is removed meanwhile is not counted twice.
	unlinked := map[folder.Inode]int64{}
	for _, processes := range s.running() {
		if err := processes.Unlinked(ctx, unlinked); err != nil {
			return 0, nil, err
		}
	}
	for _, taken := range unlinked {
		bytes += taken
	}
	files, seen := 0, map[folder.Inode]bool{}
	err = folder.Visit(ctx, dir, func(e folder.Entry) error {
		if files++; files > s.all.options.Files {
			return &limitError{
				Limit: limitQuota, Bound: fmt.Sprintf("%d files", s.all.options.Files),
			}
		}
		if e.Folder && e.Above >= deepest {
			return &limitError{Limit: limitQuota, Bound: fmt.Sprintf("folders %d deep", deepest)}
		}
		if _, open := unlinked[e.ID]; open || e.Shared && seen[e.ID] {
			return nil
		}
		if e.Shared {
			seen[e.ID] = true
		}
		bytes += e.Bytes
		return nil
	})
	if errors.As(err, &over) {
		err = nil
	} else if err == nil && bytes > s.all.options.Bytes {
		over = s.full()
	}
	return bytes, over, err
}

// running returns the processes of the isolated calls in the directory.
func (s *ClientWorkspace) running() (all []unlinker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.quotaWatches {
		if h.processes != nil {
			all = append(all, h.processes)
		}
	}
	return all
}

// counted is used with a time limit: a call whose files cannot be counted ends.
func (s *ClientWorkspace) counted(ctx context.Context) (bytes int64, over *limitError, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, countWithin, errUncounted)
	defer cancel()
	done := make(chan struct{})
	var counted int64
	var exceeded *limitError
	var failed error
	go func() {
		defer close(done)
		counted, exceeded, failed = s.used(ctx)
	}()
	select {
	case <-done:
		return counted, exceeded, failed
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
}

// A running call's directory is counted repeatedly, because the limit on a file's size does not
// limit their number.
const (
	countEvery = 50 * time.Millisecond
	countShare = 10 // minimum pause, as a multiple of the time of a count
	// countWithin is far more than a count takes on a responsive file system.
	countWithin = 5 * time.Second
)

var (
	errUncounted = fmt.Errorf("could not count the files of the client's workspace within %s: "+
		"check their file system", countWithin)
	errCleared = &limitError{Limit: limitQuota, Bound: "cleared during the call: call again"}
)

// quotaWatch enforces the quota on an isolated call. Its methods accept nil.
type quotaWatch struct {
	space *ClientWorkspace
	// ctx ends with a [*limitError] as its cause when the quota is exceeded, and with another error
	// when counting fails.
	ctx context.Context
	end context.CancelCauseFunc
	// fileSize is the maximum size of a written file. It is never 0, which would be no limit.
	fileSize int64
	// over is the quota that was exceeded before the call. The call may then only remove files, so
	// they are not counted.
	over *limitError

	processes unlinker // guarded by the workspace's mutex; nil while the call has none

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// watchQuota begins to enforce the quota on a call. longest is the maximum size of a file. The
// caller calls stop after the response, and gone when the call has no processes left.
func (s *ClientWorkspace) watchQuota(ctx context.Context, longest int64) (*quotaWatch, error) {
	used, over, err := s.counted(ctx)
	if err != nil {
		return nil, err
	}
	h := &quotaWatch{space: s, over: over, fileSize: max(1, min(longest, s.all.options.Bytes-used))}
	if over != nil {
		h.fileSize = 1
	}
	h.ctx, h.end = context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cleared {
		h.end(errCleared)
		return nil, errCleared
	}
	if s.quotaWatches == nil {
		s.quotaWatches = map[*quotaWatch]bool{}
	}
	s.quotaWatches[h] = true
	s.calls.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(countEvery, h.count)
	return h, nil
}

// count ends the call if it exceeds the quota, and otherwise counts again after a pause.
func (h *quotaWatch) count() {
	begin := time.Now()
	if err := h.check(); err != nil {
		h.end(err)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.stopped {
		h.timer.Reset(max(countEvery, countShare*time.Since(begin)))
	}
}

// check returns an error if the call must end.
func (h *quotaWatch) check() error {
	if h == nil || h.over != nil {
		return nil
	}
	_, over, err := h.space.counted(h.ctx)
	if over != nil {
		return over
	}
	return err
}

// has sets the processes of the call, nil after they were killed.
func (h *quotaWatch) has(processes unlinker) {
	if h == nil {
		return
	}
	h.space.mu.Lock()
	defer h.space.mu.Unlock()
	h.processes = processes
}

// stop ends counting.
func (h *quotaWatch) stop() {
	if h == nil {
		return
	}
	h.has(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
	h.end(nil)
}

// gone reports that no process of the call is left.
func (h *quotaWatch) gone() {
	if h == nil {
		return
	}
	h.space.mu.Lock()
	defer h.space.mu.Unlock()
	delete(h.space.quotaWatches, h)
	h.space.calls.Done()
}
