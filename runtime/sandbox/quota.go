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

// deepest is how deep folders of a workspace may lie in each other: counting opens all on the way down.
const deepest = 64

// Room returns how many bytes may be added to the directory, or a [*LimitError] where none may, or too many files are
// in it, or folders lie deeper than 64 in each other. It reads the directory: ask before much is written. Isolated calls are held to it while they run; what a
// handler in the server writes too much keeps the client's next isolated calls from writing.
func (s *ClientWorkspace) Room() (int64, error) {
	bytes, err := s.used(context.Background())
	if err != nil {
		return 0, err
	}
	left := s.all.options.Bytes - bytes
	if left <= 0 {
		return 0, s.full()
	}
	return left, nil
}

// full says that there is no room for bytes.
func (s *ClientWorkspace) full() error {
	return &LimitError{Limit: Quota, Bound: size(s.all.options.Bytes)}
}

// entry is what counting sees of a file or folder.
type entry struct {
	above  int // how many folders of the directory it lies in
	folder bool
	bytes  int64 // that it takes, 0 for what is no regular file
	linked inode // where it has more than one name
}

type inode struct{ device, number uint64 }

// used returns how many bytes the directory holds, or a [*LimitError] where it has too many files. A file with several names
// is counted once, by its length or what the file system has reserved for it. The context's end is its own.
func (s *ClientWorkspace) used(ctx context.Context) (bytes int64, err error) {
	dir := s.Dir()
	if dir == nil {
		return 0, fmt.Errorf("workspace: %w", os.ErrClosed)
	}
	files, seen := 0, map[inode]bool{}
	err = visitAll(ctx, dir, func(e entry) error {
		if files++; files > s.all.options.Files {
			return &LimitError{Limit: Quota, Bound: fmt.Sprintf("%d files", s.all.options.Files)}
		}
		if e.folder && e.above >= deepest {
			return &LimitError{Limit: Quota, Bound: fmt.Sprintf("folders %d deep", deepest)}
		}
		if e.linked != (inode{}) {
			if seen[e.linked] {
				return nil
			}
			seen[e.linked] = true
		}
		bytes += e.bytes
		return nil
	})
	return bytes, err
}

// counted is used, and does not wait for a file system that does not answer: a call whose files cannot be counted ends.
func (s *ClientWorkspace) counted(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, countWithin, errUncounted)
	defer cancel()
	type count struct {
		bytes int64
		err   error
	}
	done := make(chan count, 1)
	go func() {
		bytes, err := s.used(ctx)
		done <- count{bytes, err}
	}()
	select {
	case c := <-done:
		return c.bytes, c.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// A running call's directory is counted again and again: the bound on a file's size leaves how many there are.
const (
	countEvery = 50 * time.Millisecond
	countShare = 10 // as many times as long as counting took is the pause, at least
	// countWithin is far beyond what counting takes where the file system answers.
	countWithin = 5 * time.Second
)

var errUncounted = fmt.Errorf("the files of the client's workspace could not be counted within %s: look at the file system that they lie on", countWithin)

// hold holds an isolated call to the quota. Files that it writes may be as long as it returns, at most as long as one
// that is given and never 0, which would be no bound: a client without any room left may still remove files, and write some of one byte. The
// context ends with a [*LimitError] as its cause when the directory holds more than it may, or than it did
// already, and with another error when that cannot be found out. stop has to be called when the call is over.
func (s *ClientWorkspace) hold(ctx context.Context, longest int64) (held context.Context, fileSize int64, stop func(), err error) {
	used, err := s.counted(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	fileSize = max(1, min(longest, s.all.options.Bytes-used))
	most := max(s.all.options.Bytes, used+int64(s.all.options.Files))
	held, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex
	var timer *time.Timer
	over := false
	count := func() {
		begin := time.Now()
		bytes, err := s.counted(held)
		if err == nil && bytes > most {
			err = s.full()
		}
		if err != nil {
			cancel(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !over {
			timer.Reset(max(countEvery, countShare*time.Since(begin)))
		}
	}
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(countEvery, count)
	return held, fileSize, func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
		cancel(nil)
	}, nil
}

// removeAll removes a folder and all in it, however deep folders lie in each other there, and whatever their modes are: the
// standard library's way of doing so holds a descriptor for each level.
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

// lift removes a file, or a folder that has no folders in it that hold something. Those it moves to the top, and returns
// their new names.
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

// spareName is a name like a workspace's that none has: what a server that is killed leaves behind expires like one.
func spareName() string {
	b := make([]byte, sha256.Size)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
