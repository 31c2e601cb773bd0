package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// deepest is how deep folders of a workspace may lie in each other: counting opens all on the way
// down.
const deepest = 64

// Room returns how many bytes may be added to the directory. It returns a [*LimitError] if none
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

// full says that there is no room for bytes.
func (s *ClientWorkspace) full() *LimitError {
	return &LimitError{Limit: Quota, Bound: size(s.all.options.Bytes)}
}

// entry is what counting sees of a file or folder.
type entry struct {
	above  int // how many folders of the directory it lies in
	folder bool
	bytes  int64 // that it takes, 0 for what is no regular file
	id     inode // of a regular file
	shared bool  // the file has more than one name
}

type inode struct{ device, number uint64 }

// unlinker is a call's processes.
type unlinker interface {
	// unlinked adds the files that the processes have open or mapped and that have no name, with
	// how many bytes each takes. An error denies: some of them could not be read.
	unlinked(ctx context.Context, found map[inode]int64) error
}

// used returns how many bytes the files of the directory take, together with files without a name
// that isolated calls of the workspace have open. If that is more than the quota, or if there are
// too many files or too deep folders, over is the quota, and counting may have ended there. A
// file is counted once, by its length or what the file system has reserved for it. The context's
// end is its own.
func (s *ClientWorkspace) used(ctx context.Context) (bytes int64, over *LimitError, err error) {
	dir := s.Dir()
	if dir == nil {
		return 0, nil, fmt.Errorf("workspace: %w", os.ErrClosed)
	}
	// Files without a name come first: a file that is removed meanwhile is then not counted twice.
	unlinked := map[inode]int64{}
	for _, processes := range s.running() {
		if err := processes.unlinked(ctx, unlinked); err != nil {
			return 0, nil, err
		}
	}
	for _, taken := range unlinked {
		bytes += taken
	}
	files, seen := 0, map[inode]bool{}
	err = visitAll(ctx, dir, func(e entry) error {
		if files++; files > s.all.options.Files {
			return &LimitError{Limit: Quota, Bound: fmt.Sprintf("%d files", s.all.options.Files)}
		}
		if e.folder && e.above >= deepest {
			return &LimitError{Limit: Quota, Bound: fmt.Sprintf("folders %d deep", deepest)}
		}
		if _, open := unlinked[e.id]; open || e.shared && seen[e.id] {
			return nil
		}
		if e.shared {
			seen[e.id] = true
		}
		bytes += e.bytes
		return nil
	})
	if errors.As(err, &over) {
		err = nil
	} else if err == nil && bytes > s.all.options.Bytes {
		over = s.full()
	}
	return bytes, over, err
}

// running returns the processes of the isolated calls that work in the directory.
func (s *ClientWorkspace) running() (all []unlinker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.holdings {
		if h.processes != nil {
			all = append(all, h.processes)
		}
	}
	return all
}

// counted is used, and does not wait for a file system that does not answer: a call whose files
// cannot be counted ends.
func (s *ClientWorkspace) counted(ctx context.Context) (bytes int64, over *LimitError, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, countWithin, errUncounted)
	defer cancel()
	done := make(chan struct{})
	var counted int64
	var exceeded *LimitError
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

// A running call's directory is counted again and again: the bound on a file's size leaves how many
// there are.
const (
	countEvery = 50 * time.Millisecond
	countShare = 10 // as many times as long as counting took is the pause, at least
	// countWithin is far beyond what counting takes where the file system answers.
	countWithin = 5 * time.Second
)

var (
	errUncounted = fmt.Errorf("could not count the files of the client's workspace within %s: "+
		"check their file system", countWithin)
	errCleared = &LimitError{Limit: Quota, Bound: "cleared during the call: call again"}
)

// holding holds an isolated call to the quota. Its methods may be called on nil.
type holding struct {
	space *ClientWorkspace
	// ctx ends with a [*LimitError] as its cause when the quota is exceeded, and with another error
	// when that cannot be found out.
	ctx context.Context
	end context.CancelCauseFunc
	// fileSize is how long files may be that the call writes, and never 0, which would be no bound.
	fileSize int64
	// over is the quota that was exceeded before the call. The call may then remove files, and
	// neither make nor write any, so that nobody counts for it.
	over *LimitError

	processes unlinker // guarded by the workspace's mutex; nil while the call has none

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// hold begins to hold a call to the quota. longest is how long files may be at most. The caller
// calls stop when the call was answered, and gone when it has no processes left.
func (s *ClientWorkspace) hold(ctx context.Context, longest int64) (*holding, error) {
	used, over, err := s.counted(ctx)
	if err != nil {
		return nil, err
	}
	h := &holding{space: s, over: over, fileSize: max(1, min(longest, s.all.options.Bytes-used))}
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
	if s.holdings == nil {
		s.holdings = map[*holding]bool{}
	}
	s.holdings[h] = true
	s.calls.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(countEvery, h.count)
	return h, nil
}

// count ends the call if it exceeds the quota, and else counts again after a pause.
func (h *holding) count() {
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

// check returns why the call may not go on, nil if it may.
func (h *holding) check() error {
	if h == nil || h.over != nil {
		return nil
	}
	_, over, err := h.space.counted(h.ctx)
	if over != nil {
		return over
	}
	return err
}

// has says which processes the call has. nil are those that were killed.
func (h *holding) has(processes unlinker) {
	if h == nil {
		return
	}
	h.space.mu.Lock()
	defer h.space.mu.Unlock()
	h.processes = processes
}

// stop ends counting.
func (h *holding) stop() {
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

// gone says that no process of the call is left.
func (h *holding) gone() {
	if h == nil {
		return
	}
	h.space.mu.Lock()
	defer h.space.mu.Unlock()
	delete(h.space.holdings, h)
	h.space.calls.Done()
}

// removeContents removes all that is in a folder. It leaves no root: links are removed and not
// followed, and what is mounted in the folder is an error.
func removeContents(dir *os.Root) error {
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, e := range entries {
		err = errors.Join(err, removeAll(dir, e.Name()))
	}
	return err
}

// removeAll removes a folder and all in it, however deep folders lie in each other there, and
// whatever their modes are: the standard library's way of doing so holds a descriptor for each
// level.
func removeAll(root *os.Root, name string) error {
	pending := []string{name}
	for len(pending) > 0 {
		last := pending[len(pending)-1]
		below, err := lift(root, last)
		if err != nil {
			return err
		}
		if below == nil {
			pending = pending[:len(pending)-1]
		}
		pending = append(pending, below...)
	}
	return nil
}

// lift removes a file, or a folder that has no folders in it that hold something. Those it moves
// to the top, where it may, and returns their new names.
func lift(root *os.Root, name string) (moved []string, err error) {
	if err := root.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	open := func() (*os.File, error) { return root.OpenFile(name, os.O_RDONLY|asFolder, 0) }
	dir, err := open()
	if errors.Is(err, fs.ErrPermission) {
		if err = root.Chmod(name, 0o700); err == nil {
			dir, err = open()
		}
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if err := sameMount(root, dir); err != nil {
		return nil, err
	}
	for {
		entries, err := dir.ReadDir(1000)
		for _, e := range entries {
			below := name + "/" + e.Name()
			if err := root.Remove(below); err == nil || errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !e.IsDir() {
				return nil, &fs.PathError{Op: "remove", Path: below, Err: err}
			}
			top := spareName()
			err := root.Rename(below, top)
			if errors.Is(err, fs.ErrPermission) { // a folder takes writing in it to be moved
				if err = root.Chmod(below, 0o700); err == nil {
					err = root.Rename(below, top)
				}
			}
			if errors.Is(err, fs.ErrPermission) { // nor is it moved by a call that may only remove
				top, err = below, nil
			}
			if err != nil {
				return nil, err
			}
			moved = append(moved, top)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if moved == nil {
		return nil, root.Remove(name)
	}
	return moved, nil
}

// spareName is a name like a workspace's that none has: what a server that is killed leaves behind
// expires like one.
func spareName() string {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
