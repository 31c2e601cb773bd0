package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"
	"time"
)

// WorkspaceOptions configure [Workspaces].
type WorkspaceOptions struct {
	// Bytes is the size of a client's directory. Zero is 64 MiB.
	Bytes int64
	// Files is the number of files in a client's directory. Zero is 10,000.
	Files int
	// Variables is the number of variables of a client. Zero is 100.
	Variables int
	// VariableBytes is the size of names and values of a client's variables together. Zero is
	// 1 MiB.
	VariableBytes int
	// Idle is how long a workspace is kept that is not used. Zero is 24 hours.
	Idle time.Duration
	// Clients is the number of workspaces. If all are taken, other clients get an error. Zero is
	// 10,000.
	Clients int
	// UID and GID own the directories if the server runs as root, so that helpers may use them; see
	// [Options].UID. Zero is 65534.
	UID, GID int
}

// Workspaces keeps a directory and variables for each client. Directories remain after the server
// ends, and the next start removes expired ones. Variables do not remain. It is safe for
// concurrent use, by one server on one directory.
type Workspaces struct {
	options WorkspaceOptions
	root    *os.Root

	mu     sync.Mutex
	spaces map[string]*ClientWorkspace // by the name of the directory
	swept  time.Time

	// What has expired or was cleared is moved aside, and removed while others go on.
	// Both are guarded by mu: names of directories, and what is closed when the directory of that
	// name before it was cleared is gone.
	doomed   []string
	clearing map[string]chan struct{}
	removing sync.WaitGroup
}

// ClientWorkspace is the workspace of one client. It is safe for concurrent use.
type ClientWorkspace struct {
	all  *Workspaces
	name string

	// Guarded by the mutex of all.
	dir   *os.Root
	users int
	last  time.Time

	mu        sync.Mutex
	variables map[string]string
	bytes     int               // of all variables
	holdings  map[*holding]bool // the isolated calls in it
	cleared   bool              // it takes no more of them
	calls     sync.WaitGroup    // isolated calls with processes
}

// NewWorkspaces keeps workspaces in an existing directory, which must contain nothing else. Close
// it after the last workspace was released.
func NewWorkspaces(root *os.Root, o WorkspaceOptions) (*Workspaces, error) {
	if o.Bytes < 0 || o.Files < 0 || o.Variables < 0 || o.VariableBytes < 0 || o.Idle < 0 ||
		o.Clients < 0 || o.UID < 0 || o.GID < 0 {
		return nil, errors.New("sandbox.WorkspaceOptions must not have negative numbers")
	}
	fill(&o.Bytes, 64<<20)
	fill(&o.Files, 10_000)
	fill(&o.Variables, 100)
	fill(&o.VariableBytes, 1<<20)
	fill(&o.Idle, 24*time.Hour)
	fill(&o.Clients, 10_000)
	fill(&o.UID, 65534)
	fill(&o.GID, 65534)
	w := &Workspaces{
		options: o, root: root,
		spaces: map[string]*ClientWorkspace{}, clearing: map[string]chan struct{}{},
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("workspaces: %w", err)
	}
	for _, e := range entries {
		if raw, err := hex.DecodeString(e.Name()); err != nil || len(raw) != sha256.Size ||
			!e.IsDir() {
			return nil, fmt.Errorf("workspaces: %s is not a workspace directory: use a directory "+
				"without other files", e.Name())
		}
		info, err := e.Info()
		if err != nil {
			return nil, fmt.Errorf("workspaces: %w", err)
		}
		w.spaces[e.Name()] = &ClientWorkspace{all: w, name: e.Name(), last: info.ModTime()}
	}
	w.mu.Lock()
	w.sweep(time.Now())
	w.mu.Unlock()
	w.removing.Wait()
	return w, nil
}

// Acquire returns a client's workspace, or a new one if there is none or it has expired. It does
// not expire until release is called, once or more often. Each client identifier has its own
// workspace; its form does not matter.
func (w *Workspaces) Acquire(client string) (space *ClientWorkspace, release func(), err error) {
	space, leave, err := w.acquire(client)
	return space, func() { leave(true) }, err
}

// nameOf returns the name of a client's directory: any text becomes a file name, and no other
// text's.
func nameOf(client string) string {
	sum := sha256.Sum256([]byte(client))
	return hex.EncodeToString(sum[:])
}

// acquire is Acquire. A workspace that was not used expires as if it had not been acquired.
func (w *Workspaces) acquire(client string) (
	space *ClientWorkspace, release func(used bool), err error) {
	name := nameOf(client)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.swept) > w.options.Idle/10 {
		w.sweep(now)
	}
	space, known := w.spaces[name]
	if known && space.expired(now) {
		if err := w.doom(space); err != nil {
			return nil, nil, fmt.Errorf("workspace: %w", err)
		}
		w.remove()
		known = false
	}
	if !known {
		if len(w.spaces) >= w.options.Clients {
			return nil, nil, &LimitError{Limit: Quota, Bound: fmt.Sprintf("%d clients",
				w.options.Clients)}
		}
		space = &ClientWorkspace{all: w, name: name, last: now}
	}
	if space.dir == nil {
		if space.dir, err = w.open(name); err != nil {
			return nil, nil, fmt.Errorf("workspace: %w", err)
		}
	}
	w.spaces[name] = space
	space.users++
	var once sync.Once
	return space, func(used bool) {
		once.Do(func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			space.users--
			if used {
				space.last = time.Now()
			}
			if space.users > 0 {
				return
			}
			// The time survives the server, the descriptor is not needed meanwhile.
			if w.spaces[name] == space {
				_ = w.root.Chtimes(name, space.last, space.last)
			}
			space.dir.Close()
			space.dir = nil
		})
	}, nil
}

// open opens a directory, or makes it.
func (w *Workspaces) open(name string) (*os.Root, error) {
	dir, err := w.root.OpenRoot(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	err = w.root.Mkdir(name, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err == nil && os.Geteuid() == 0 {
		if err := w.root.Lchown(name, w.options.UID, w.options.GID); err != nil {
			return nil, errors.Join(err, w.root.Remove(name))
		}
	}
	return w.root.OpenRoot(name)
}

// sweep begins to remove what has expired. w.mu is held. What cannot be removed is tried again by
// the next one.
func (w *Workspaces) sweep(now time.Time) {
	w.swept = now
	for _, space := range w.spaces {
		if space.expired(now) {
			_ = w.doom(space)
		}
	}
	w.remove()
}

func (s *ClientWorkspace) expired(now time.Time) bool {
	return s.users == 0 && now.Sub(s.last) >= s.all.options.Idle
}

// doom moves a workspace aside, so that its client can have another one. w.mu is held. A server
// that is killed before it is removed leaves what looks like a workspace, and expires like one.
func (w *Workspaces) doom(s *ClientWorkspace) error {
	aside := spareName()
	if err := w.root.Rename(s.name, aside); err == nil {
		w.doomed = append(w.doomed, aside)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(w.spaces, s.name)
	return nil
}

// remove begins to remove what was moved aside. w.mu is held, but not while files are removed:
// there may be many, and each call needs it.
func (w *Workspaces) remove() {
	names := w.doomed
	w.doomed = nil
	if len(names) == 0 {
		return
	}
	w.removing.Go(func() {
		var left []string
		for _, name := range names {
			if err := w.removeOne(name); err != nil {
				left = append(left, name)
			}
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.doomed = append(w.doomed, left...)
	})
}

// removeOne removes a directory that was moved aside.
func (w *Workspaces) removeOne(name string) error {
	dir, err := w.root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := removeContents(dir); err != nil {
		return err
	}
	return w.root.Remove(name)
}

// clear gives a client that has a workspace a new one, and returns when the old one is removed: its
// isolated calls end before. Handlers in the server keep the old one, in which files cannot be made
// any more. One workspace of a client is cleared at a time, so that a client that clears again and
// again has no more than two. Where the context ends before, removing goes on.
func (w *Workspaces) clear(ctx context.Context, client string) (found bool, err error) {
	name := nameOf(client)
	w.mu.Lock()
	for w.clearing[name] != nil {
		under := w.clearing[name]
		w.mu.Unlock()
		select {
		case <-under:
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		w.mu.Lock()
	}
	space := w.spaces[name]
	if space == nil {
		w.mu.Unlock()
		return false, nil
	}
	aside := spareName()
	if err := w.root.Rename(name, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.mu.Unlock()
		return true, fmt.Errorf("workspace: %w", err)
	}
	delete(w.spaces, name)
	space.evict()
	done := make(chan struct{})
	w.clearing[name] = done
	var failed error
	w.removing.Go(func() {
		space.calls.Wait()
		failed = w.removeOne(aside)
		w.mu.Lock()
		defer w.mu.Unlock()
		if failed != nil {
			w.doomed = append(w.doomed, aside)
		}
		delete(w.clearing, name)
		close(done)
	})
	w.mu.Unlock()
	select {
	case <-done:
		return true, failed
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
}

// evict ends the isolated calls in the workspace, and lets no more in.
func (s *ClientWorkspace) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleared = true
	s.variables, s.bytes = nil, 0
	for h := range s.holdings {
		h.end(errCleared)
	}
}

// Dir returns the client's directory. It is closed at release, when the call ends. After that Dir
// returns nil.
func (s *ClientWorkspace) Dir() *os.Root {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return s.dir
}

// Clear removes all files in the directory, and all variables.
func (s *ClientWorkspace) Clear() error {
	s.mu.Lock()
	s.variables, s.bytes = nil, 0
	s.mu.Unlock()
	dir := s.Dir()
	if dir == nil {
		return fmt.Errorf("workspace: %w", os.ErrClosed)
	}
	return removeContents(dir)
}

// Get returns a variable, and whether it exists.
func (s *ClientWorkspace) Get(name string) (value string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, found = s.variables[name]
	return value, found
}

// Set sets a variable. If that would exceed the quota, it returns a [*LimitError] and keeps the
// old value.
func (s *ClientWorkspace) Set(name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.all.options
	old, known := s.variables[name]
	bytes := s.bytes + len(value) - len(old)
	if !known {
		bytes += len(name)
		if len(s.variables) >= o.Variables {
			return &LimitError{Limit: Quota, Bound: fmt.Sprintf("%d variables", o.Variables)}
		}
	}
	if bytes > o.VariableBytes {
		return &LimitError{Limit: Quota, Bound: size(int64(o.VariableBytes)) + " of variables"}
	}
	if s.variables == nil {
		s.variables = map[string]string{}
	}
	s.variables[name] = value
	s.bytes = bytes
	return nil
}

// Unset removes a variable.
func (s *ClientWorkspace) Unset(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, known := s.variables[name]; known {
		s.bytes -= len(name) + len(old)
		delete(s.variables, name)
	}
}

// Variables returns a copy of all variables, never nil.
func (s *ClientWorkspace) Variables() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]string, len(s.variables))
	maps.Copy(all, s.variables)
	return all
}
