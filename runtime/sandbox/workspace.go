package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
)

// WorkspaceOptions configure the workspaces of clients.
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

// workspaces keeps a directory and variables for each client. Directories remain after the server
// ends, and the next start removes expired ones. Variables do not remain. It is safe for
// concurrent use, by one server on one directory.
type workspaces struct {
	options WorkspaceOptions
	root    *os.Root

	mu     sync.Mutex
	spaces map[string]*ClientWorkspace // by the name of the directory
	swept  time.Time

	// Expired and cleared workspaces are moved aside, and removed in the background. mu guards
	// both: the directories' names, and channels that are closed when a client's cleared directory
	// is gone.
	doomed   []string
	clearing map[string]chan struct{}
	removing sync.WaitGroup
}

// ClientWorkspace is the workspace of one client. It is safe for concurrent use.
type ClientWorkspace struct {
	all  *workspaces
	name string

	// Guarded by the mutex of all.
	dir   *os.Root
	users int
	last  time.Time

	mu           sync.Mutex
	variables    map[string]string
	bytes        int                  // of all variables
	quotaWatches map[*quotaWatch]bool // the isolated calls in it
	cleared      bool                 // it accepts no more of them
	calls        sync.WaitGroup       // isolated calls with processes
}

// openSpaces keeps workspaces in an existing directory, which must contain nothing else. Close
// it after the last workspace was released.
func openSpaces(root *os.Root, o WorkspaceOptions) (*workspaces, error) {
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
	w := &workspaces{
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

// nameOf returns a directory's name that is valid for any client and unique.
func nameOf(client string) string {
	sum := sha256.Sum256([]byte(client))
	return hex.EncodeToString(sum[:])
}

// acquire returns a client's workspace, or a new one if there is none or it has expired. It does
// not expire until release is called, once or more often. A workspace that was not used expires as
// if it had not been acquired. Each client identifier has its own workspace; its form does not
// matter.
func (w *workspaces) acquire(client string) (
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
		if err := w.moveAside(space); err != nil {
			return nil, nil, fmt.Errorf("workspace: %w", err)
		}
		w.remove()
		known = false
	}
	if !known {
		if len(w.spaces) >= w.options.Clients {
			return nil, nil, &limitError{Limit: limitQuota, Bound: fmt.Sprintf("%d clients",
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
			// The time outlives the server. The descriptor is not needed until the next use.
			if w.spaces[name] == space {
				_ = w.root.Chtimes(name, space.last, space.last)
			}
			space.dir.Close()
			space.dir = nil
		})
	}, nil
}

// open opens or creates a directory.
func (w *workspaces) open(name string) (*os.Root, error) {
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

// sweep begins to remove expired workspaces. w.mu is held. The next sweep retries failures.
func (w *workspaces) sweep(now time.Time) {
	w.swept = now
	for _, space := range w.spaces {
		if space.expired(now) {
			_ = w.moveAside(space)
		}
	}
	w.remove()
}

func (s *ClientWorkspace) expired(now time.Time) bool {
	return s.users == 0 && now.Sub(s.last) >= s.all.options.Idle
}

// moveAside renames a workspace, so that its client can have another one. w.mu is held. If the
// server is killed before the removal, the directory expires like a workspace.
func (w *workspaces) moveAside(s *ClientWorkspace) error {
	aside := folder.SpareName()
	if err := w.root.Rename(s.name, aside); err == nil {
		w.doomed = append(w.doomed, aside)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(w.spaces, s.name)
	return nil
}

// remove begins to remove the directories that were moved aside. w.mu is held, but not during the
// removal, which may take long.
func (w *workspaces) remove() {
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
func (w *workspaces) removeOne(name string) error {
	dir, err := w.root.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := folder.RemoveContents(dir); err != nil {
		return err
	}
	return w.root.Remove(name)
}

// clear gives a client with a workspace a new one, ends the isolated calls in the old one, and
// waits for its removal. Handlers in the server keep the old one, but cannot create files in it. A
// client's workspaces are cleared one at a time, so that it never has more than two. If the context
// ends before, the removal goes on.
func (w *workspaces) clear(ctx context.Context, client string) (found bool, err error) {
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
	aside := folder.SpareName()
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

// evict ends the isolated calls in the workspace, and refuses new ones.
func (s *ClientWorkspace) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleared = true
	s.variables, s.bytes = nil, 0
	for h := range s.quotaWatches {
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
	return folder.RemoveContents(dir)
}

// Reasons of a missing workspace.
var (
	errKeepsNone = errors.New("this server has no workspaces: set sandbox.Options.Workspaces, " +
		"pass this sandbox as runtime.Options.Sandbox, and use the context of the handler")
	errAnonymous = errors.New("an anonymous caller has no workspace: make the tool authenticated, " +
		"or use no workspace")
	errLeft = errors.New("the call has ended and has no workspace any more: use the " +
		"workspace before the handler returns")
)

// Workspace returns the client's workspace, a directory and variables, for the call of a handler.
// ctx is the context of the handler, or derived from it. In an isolated call (isolate=process)
// the directory is also the working directory. Changes of variables reach the server when the
// handler has returned, also with an error. Calls that run at the same time share files, but not
// variables.
//
// The workspace is valid until the handler returns. Workspace returns an error if the server
// keeps no workspaces, for anonymous callers, and after the call. The error is a [*limitError] if
// the server has the maximum number of workspaces.
func Workspace(ctx context.Context) (*ClientWorkspace, error) {
	if from, found := ctx.Value(workspaceKey{}).(workspaceSource); found {
		return from()
	}
	return nil, errKeepsNone
}

func withWorkspace(ctx context.Context, space *ClientWorkspace, err error) context.Context {
	return context.WithValue(ctx, workspaceKey{},
		workspaceSource(func() (*ClientWorkspace, error) { return space, err }))
}

// workspaceKey is the key of a context's workspaceSource.
type workspaceKey struct{}

type workspaceSource func() (*ClientWorkspace, error)

// visit is a call in the server and its handler's context: one value, because each call pays for it
// and few use a workspace.
type visit struct {
	context.Context
	spaces *workspaces // nil without workspaces
	client isolate.Client

	mu      sync.Mutex
	space   *ClientWorkspace // nil until it is requested
	release func(used bool)
	refused bool // the call did not begin
	left    bool
}

func (v *visit) Value(key any) any {
	switch key.(type) {
	case workspaceKey:
		return workspaceSource(v.workspace)
	case clientKey:
		return v
	}
	return v.Context.Value(key)
}

// clientKey is the key of a context's visit.
type clientKey struct{}

// clientOf returns the client of a context's call, or the zero Client.
func clientOf(ctx context.Context) isolate.Client {
	if v, found := ctx.Value(clientKey{}).(*visit); found {
		return v.client
	}
	return isolate.Client{}
}

// refuse reports that a call did not begin: it does not keep its client's workspace from expiring.
func refuse(ctx context.Context) {
	if v, found := ctx.Value(clientKey{}).(*visit); found {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.refused = true
	}
}

func (v *visit) workspace() (*ClientWorkspace, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.spaces == nil:
		return nil, errKeepsNone
	case v.left:
		return nil, errLeft
	case v.space != nil:
		return v.space, nil
	case v.client.ID == "":
		return nil, errAnonymous // anonymous callers would share one
	}
	var err error
	v.space, v.release, err = v.spaces.acquire(clientID(v.client))
	return v.space, err
}

// leave ends the call. It releases the workspace first, so that the next admitted call does not
// find it in use.
func (v *visit) leave() {
	v.mu.Lock()
	release, used := v.release, !v.refused
	v.left, v.space, v.release = true, nil, nil
	v.mu.Unlock()
	if release != nil {
		release(used)
	}
}
