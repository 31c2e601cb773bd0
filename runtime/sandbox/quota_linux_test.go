package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/internal/testdisk"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/proc"
)

// unlinked makes a file without a name in the working directory.
func unlinked(name string) (fd int, err error) {
	fd, err = unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, err
	}
	return fd, unix.Unlink(name)
}

// fillUnlinked fills 32 MiB of files without a name, 4 MiB each.
func fillUnlinked(fill func(fd int) error, keep func(fd int) error) error {
	for i := range 8 {
		fd, err := unlinked(fmt.Sprint("gone", i))
		if err != nil {
			return err
		}
		if err := errors.Join(fill(fd), keep(fd)); err != nil {
			return err
		}
	}
	return nil
}

func init() {
	write := func(fd int) error {
		_, err := unix.Write(fd, make([]byte, 4<<20))
		return err
	}
	open := func(int) error { return nil }
	mapped := func(fd int) error {
		_, err := unix.Mmap(fd, 0, os.Getpagesize(), unix.PROT_READ, unix.MAP_SHARED)
		return errors.Join(err, unix.Close(fd))
	}
	for name, keep := range map[string]func(int) error{"open": open, "mapped": mapped} {
		Register("fill unlinked "+name, func(context.Context, Job) ([]byte, error) {
			// Most often it has ended before it is counted.
			return nil, fillUnlinked(func(fd int) error { return unix.Ftruncate(fd, 4<<20) }, keep)
		})
		Register("fill unlinked "+name+" and stay",
			func(ctx context.Context, job Job) ([]byte, error) {
				if err := fillUnlinked(write, keep); err != nil {
					return nil, err
				}
				tell(job)
				<-ctx.Done()
				return nil, ctx.Err()
			})
	}
	Register("fill unlinked in a program", func(ctx context.Context, _ Job) ([]byte, error) {
		// Its parent ends, so that it is below the helper only if that adopts it.
		const script = `exec 3>gone; rm gone; (yes | head -c 6000000 >&3; exec 4>more; rm more
			yes | head -c 6000000 >&4; sleep 3600) & exit 0`
		if err := exec.Command("/bin/sh", "-c", script).Run(); err != nil {
			return nil, err
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	Register("be a good user", func(_ context.Context, job Job) ([]byte, error) {
		fd, err := unlinked("scratch")
		if err != nil {
			return nil, err
		}
		linked, err := unix.Open("linked", unix.O_RDWR|unix.O_CREAT, 0o600)
		if err != nil {
			return nil, err
		}
		for _, to := range []int{fd, linked} { // 6 MiB of 8
			if _, err := unix.Write(to, make([]byte, 3<<20)); err != nil {
				return nil, err
			}
			for range 3 { // the same file
				if _, err := unix.FcntlInt(uintptr(to), unix.F_DUPFD, 0); err != nil {
					return nil, err
				}
			}
			if _, err := unix.Mmap(to, 0, 3<<20, unix.PROT_READ, unix.MAP_SHARED); err != nil {
				return nil, err
			}
		}
		tell(job)
		return []byte(`"done"`), nil
	})
	Register("make files until it ends", func(_ context.Context, job Job) ([]byte, error) {
		for i := 0; ; i++ {
			if i == 50 {
				tell(job)
			}
			if err := os.MkdirAll(fmt.Sprint("new/", i%50), 0o700); err != nil {
				return nil, err
			}
			if err := os.WriteFile(fmt.Sprintf("new/%d/f", i%50), nil, 0o600); err != nil {
				return nil, err
			}
		}
	})
	Register("clear", func(ctx context.Context, _ Job) ([]byte, error) {
		space, err := Workspace(ctx)
		if err != nil {
			return nil, err
		}
		return nil, space.Clear()
	})
	for name, do := range map[string]func() error{
		"make a file":     func() error { return os.WriteFile("new", nil, 0o600) },
		"make a folder":   func() error { return os.Mkdir("new", 0o700) },
		"make a link":     func() error { return os.Symlink("x", "new") },
		"rename a file":   func() error { return os.Rename("old", "new") },
		"write to a file": func() error { return os.WriteFile("old", []byte("much"), 0o600) },
	} {
		Register(name, func(context.Context, Job) ([]byte, error) { return nil, do() })
	}
}

func TestFilesWithoutANameAreInTheQuota(t *testing.T) {
	handlers := []string{"fill unlinked open", "fill unlinked mapped and stay",
		"fill unlinked in a program", "fill unlinked open and stay", "fill unlinked mapped"}
	if testing.Short() {
		handlers = handlers[:3]
	}
	for _, handler := range handlers {
		t.Run(handler, func(t *testing.T) {
			s, _ := started(t, Options{Warm: 1, Workspaces: t.TempDir(),
				Workspace: WorkspaceOptions{Bytes: 8 << 20}})
			_, err := runIsolated(t, s, ann, isolate.Call{Name: handler, Timeout: time.Minute,
				Programs: true})
			if os.Geteuid() != 0 && strings.HasPrefix(handler, "fill unlinked mapped") {
				if err == nil || !strings.Contains(err.Error(), "CAP_CHECKPOINT_RESTORE") {
					t.Errorf("without the capability, it ended with %v", err)
				}
				return
			}
			if limitOfErr(err) != limitQuota || !strings.Contains(err.Error(), "8 MiB") {
				t.Fatalf("it ended with %v", err)
			}
			// They are gone with the call.
			ctx, leave := enter(t, s, ann)
			defer leave()
			space := workspaceOf(t, ctx)
			got, err := s.Isolate(ctx, isolate.Call{Name: "be a good user", Arguments: telling,
				Emitted: func(json.RawMessage) {
					if bytes, over, err := space.used(ctx); bytes != 6<<20 || over != nil || err != nil {
						t.Errorf("while the next call runs: %d bytes, %v, %v", bytes, over, err)
					}
				}})
			if err != nil || string(got) != `"done"` {
				t.Errorf("the next call: %q, %v", got, err)
			}
		})
	}
}

func TestFilesWithoutANameOfAllCallsAreInTheQuota(t *testing.T) {
	s, _ := started(t, Options{Warm: 1, Workspaces: t.TempDir(),
		Workspace: WorkspaceOptions{Bytes: 40 << 20}})
	ctx, leave := enter(t, s, ann)
	defer leave()
	first, filled := make(chan error, 1), make(chan struct{})
	inside, end := context.WithCancel(ctx)
	go func() {
		_, err := s.Isolate(inside, isolate.Call{Name: "fill unlinked open and stay",
			Arguments: telling, Emitted: func(json.RawMessage) { close(filled) },
			Timeout: time.Minute})
		first <- err
	}()
	<-filled
	if bytes, _, err := workspaceOf(t, ctx).used(t.Context()); err != nil || bytes != 32<<20 {
		t.Errorf("the files of the first call are %d bytes, %v", bytes, err)
	}
	_, second := runIsolated(t, s, ann, isolate.Call{Name: "fill unlinked open",
		Timeout: time.Minute})
	end()
	// whichever was counted for first
	if one := <-first; limitOfErr(one) != limitQuota && limitOfErr(second) != limitQuota {
		t.Errorf("two calls of the client: %v and %v", one, second)
	}
}

func TestOpenFilesThatCannotBeReadDeny(t *testing.T) {
	testdisk.NeedsRoot(t)
	sleep := exec.Command("/bin/sleep", "3600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	files, err := proc.FilesOf(sleep.Process.Pid, nil)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // and never unlock: the thread ends
		if err := unix.Setfsuid(12345); err != nil {
			t.Error(err)
			return
		}
		if err := files.Unlinked(t.Context(), map[folder.Inode]int64{}); err == nil ||
			!strings.Contains(err.Error(), "CAP_SYS_PTRACE") || !strings.Contains(err.Error(),
			"hidepid") {
			t.Errorf("of another user's process: %v", err)
		}
		var missing *missingError
		_, err := startPool(Options{Warm: 1, Workspaces: "some"})
		if !errors.As(err, &missing) || !strings.Contains(err.Error(), "open files: ") {
			t.Errorf("a pool for workspaces whose quota cannot be held: %v", err)
		}
	})
	done.Wait()
	// A process that has ended has none.
	sleep.Process.Kill()
	if err := unix.Waitid(unix.P_PID, sleep.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT,
		nil); err != nil {
		t.Fatal(err)
	}
	found := map[folder.Inode]int64{}
	if err := files.Unlinked(t.Context(), found); err != nil || len(found) > 0 {
		t.Errorf("of a process that has ended: %v, %v", found, err)
	}
}

func TestAClientCannotLockItselfOut(t *testing.T) {
	files := 10_000 // the default
	if testing.Short() {
		files = 1_000
	}
	for bound, fill := range map[string]func(*testing.T, *os.Root){
		"1000 bytes": func(t *testing.T, dir *os.Root) {
			if err := dir.WriteFile("big", make([]byte, 2000), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		fmt.Sprint(files, " files"): func(t *testing.T, dir *os.Root) {
			for i := range files + 1 {
				if err := dir.WriteFile(fmt.Sprint(i), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"folders 64 deep": func(t *testing.T, dir *os.Root) { dig(t, dir, ".", 70) },
	} {
		t.Run(bound, func(t *testing.T) {
			s, _ := started(t, Options{Workspaces: t.TempDir(),
				Workspace: WorkspaceOptions{Bytes: 1000, Files: files}})
			ctx, leave := enter(t, s, ann)
			space := workspaceOf(t, ctx)
			if err := space.Dir().WriteFile("old", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			fill(t, space.Dir())
			ownAll(t, s, space)
			leave()
			handlers := []string{"make a file", "write to a file", "make a folder", "make a link",
				"rename a file"}
			if testing.Short() {
				handlers = handlers[:2]
			}
			for _, handler := range handlers {
				if _, err := runIsolated(t, s, ann,
					isolate.Call{Name: handler}); limitOfErr(err) != limitQuota ||
					!strings.Contains(err.Error(), bound) {
					t.Errorf("%s: %v", handler, err)
				}
			}
			echoes(t, s, ann, "a call that needs no workspace")
			if _, err := runIsolated(t, s, ann, isolate.Call{Name: "clear"}); err != nil {
				t.Errorf("a call that removes: %v", err)
			}
			if _, err := runIsolated(t, s, ann, isolate.Call{Name: "make a folder"}); err != nil {
				t.Errorf("there is room again: %v", err)
			}
		})
	}
}

// ownAll gives a workspace's files to the helpers' user.
func ownAll(t *testing.T, s *Sandbox, space *ClientWorkspace) {
	t.Helper()
	top := filepath.Join(s.options.Workspaces, space.name)
	err := filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
		owned(t, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestARefusedCallDoesNotKeepAWorkspace(t *testing.T) {
	s, _ := started(t, Options{Warm: 1, Max: 1, Workspaces: t.TempDir()})
	if _, err := runIsolated(t, s, ann, isolate.Call{Name: "keep a file",
		Arguments: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	idle(s.pool.Load())
	long := time.Now().Add(-23 * time.Hour)
	space := s.spaces.spaces[nameOf(clientID(ann))]
	s.spaces.mu.Lock()
	space.last = long
	s.spaces.mu.Unlock()
	if err := s.root.Chtimes(space.name, long, long); err != nil {
		t.Fatal(err)
	}
	last := func() (inMemory, onDisk time.Time) {
		t.Helper()
		info, err := s.root.Stat(space.name)
		if err != nil {
			t.Fatal(err)
		}
		s.spaces.mu.Lock()
		defer s.spaces.mu.Unlock()
		return space.last, info.ModTime()
	}

	ctx, end := context.WithCancel(t.Context())
	begun := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		inside, leave := s.Enter(ctx, bob)
		defer leave()
		_, _ = s.Isolate(inside, isolate.Call{Name: "wait", Timeout: time.Minute,
			Arguments: telling, Emitted: func(json.RawMessage) { close(begun) }})
	})
	<-begun
	if _, err := runIsolated(t, s, ann,
		isolate.Call{Name: "echo"}); limitOfErr(err) != limitCalls {
		t.Errorf("a call without a place: %v", err)
	}
	end()
	running.Wait()
	idle(s.pool.Load())
	if memory, disk := last(); !memory.Equal(long) ||
		!disk.Equal(long.Truncate(time.Microsecond)) && disk.Sub(long).Abs() > time.Second {
		t.Errorf("a refused call renewed the workspace: %s and %s", memory, disk)
	}
	if _, err := runIsolated(t, s, ann, isolate.Call{Name: "echo",
		Arguments: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	if memory, disk := last(); !memory.After(long.Add(time.Hour)) ||
		!disk.After(long.Add(time.Hour)) {
		t.Errorf("a call did not renew the workspace: %s and %s", memory, disk)
	}
}

func TestClearingAWorkspace(t *testing.T) {
	for name, test := range map[string]struct {
		depth, files int
		running      string
	}{
		"full, with a call":        {70, 1001, "wait"},
		"with a call that uses it": {60, 800, "make files until it ends"},
	} {
		t.Run(name, func(t *testing.T) {
			clearOne(t, test.depth, test.files, test.running)
		})
	}
	s, _ := started(t, Options{Warm: 1, Workspaces: t.TempDir()})
	if found, err := s.ClearWorkspace(t.Context(), ann); found || err != nil {
		t.Errorf("a workspace that is not there was cleared: %v, %v", found, err)
	}
	if _, err := s.ClearWorkspace(t.Context(), isolate.Client{}); !errors.Is(err, errAnonymous) {
		t.Errorf("of anonymous callers: %v", err)
	}
	if _, err := newSandbox(t, Options{}).ClearWorkspace(t.Context(), ann); !errors.Is(err,
		errKeepsNone) {
		t.Errorf("of a sandbox without workspaces: %v", err)
	}
}

// clearOne clears a workspace with all that is in the way: files, deep folders, links to elsewhere,
// a call that runs, and a handler in the server that holds it.
func clearOne(t *testing.T, depth, files int, running string) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("stays"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := started(t, Options{Workspaces: folder, Workspace: WorkspaceOptions{Files: 1000}})
	if _, err := runIsolated(t, s, bob, isolate.Call{Name: "keep a file",
		Arguments: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := enter(t, s, ann)
	defer leave()
	space := workspaceOf(t, ctx)
	dir := space.Dir()
	dig(t, dir, ".", depth)
	for i := range files {
		if err := dir.WriteFile(fmt.Sprint(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bobs := filepath.Join("..", nameOf(clientID(bob)))
	for name, target := range map[string]string{
		"file": outside, "folder": filepath.Dir(outside), "above": "..", "other": bobs,
		"d/other": "../" + bobs, "round": ".",
	} {
		if err := dir.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := space.Set("name", "value"); err != nil {
		t.Fatal(err)
	}
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.Isolate(ctx, isolate.Call{Name: running, Timeout: time.Minute,
			Arguments: telling, Emitted: func(json.RawMessage) { close(begun) }})
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	found, err := s.ClearWorkspace(t.Context(), ann)
	if !found || err != nil {
		t.Fatalf("%v, %v", found, err)
	}
	if err := <-ended; limitOfErr(err) != limitQuota || !strings.Contains(err.Error(), "cleared") {
		t.Errorf("the call that ran ended with %v", err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 ||
		entries[0].Name() != filepath.Base(bobs) {
		t.Errorf("%v are left, %v", entries, err)
	}
	if err := dir.WriteFile("late", nil, 0o600); err == nil {
		t.Error("a handler that held the workspace wrote to it")
	}
	leave()
	if b, err := os.ReadFile(outside); err != nil || string(b) != "stays" {
		t.Errorf("outside there is %q, %v", b, err)
	}
	if got, err := runIsolated(t, s, bob, isolate.Call{Name: "keep a file",
		Arguments: []byte("2")}); err != nil || got != "1" {
		t.Errorf("another client's workspace is %q, %v", got, err)
	}
	got, err := runIsolated(t, s, ann, isolate.Call{Name: "variables", Arguments: []byte("{}")})
	if err != nil || strings.Contains(got, "value") {
		t.Errorf("the new workspace has %q, %v", got, err)
	}
}

func TestClearingLeavesWhatIsMountedInAWorkspace(t *testing.T) {
	testdisk.NeedsRoot(t)
	w, root := newWorkspaces(t, WorkspaceOptions{})
	space, release := acquire(t, w, "a")
	if err := errors.Join(space.Dir().Mkdir("mounted", 0o700), space.Dir().MkdirAll("sub/mounted",
		0o700)); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "file"), []byte("stays"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"mounted", "sub/mounted"} {
		if err := unix.Mount(elsewhere, filepath.Join(root.Name(), space.name, at), "",
			unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	unmount := sync.OnceFunc(func() {
		for _, pattern := range []string{"*/mounted", "*/sub/mounted", "*/*/mounted"} {
			mounted, _ := filepath.Glob(filepath.Join(root.Name(), pattern))
			for _, at := range mounted {
				_ = unix.Unmount(at, unix.MNT_DETACH)
			}
		}
	})
	defer unmount()
	release()
	if found, err := w.clear(t.Context(), "a"); !found || err == nil ||
		!strings.Contains(err.Error(), "unmount it") {
		t.Errorf("%v, %v", found, err)
	}
	if b, err := os.ReadFile(filepath.Join(elsewhere, "file")); err != nil || string(b) != "stays" {
		t.Errorf("what was mounted has %q, %v", b, err)
	}
	// The client has a new workspace all the same, and what is left goes once it can.
	if again, _ := acquire(t, w, "a"); again == space {
		t.Error("the client has the old workspace")
	}
	unmount()
	w.mu.Lock()
	w.remove()
	w.mu.Unlock()
	w.removing.Wait()
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 1 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

func TestOneWorkspaceOfAClientIsClearedAtATime(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{})
	space, release := acquire(t, w, "a")
	h, err := space.watchQuota(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if found, err := w.clear(ended, "a"); !found || !errors.Is(err, context.Canceled) {
		t.Errorf("while a call's processes end: %v, %v", found, err)
	}
	if cause := context.Cause(h.ctx); cause != errCleared {
		t.Errorf("the call ends with %v", cause)
	}
	if _, err := space.watchQuota(t.Context(), 1<<20); err != errCleared {
		t.Errorf("a call that was let in before: %v", err)
	}
	_, releaseNew := acquire(t, w, "a")
	if _, err := w.clear(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("the next workspace was cleared before the first was gone: %v", err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	h.stop()
	h.gone()
	release()
	releaseNew()
	if found, err := w.clear(t.Context(), "a"); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
