package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func newWorkspaces(t *testing.T, o WorkspaceOptions) (*workspaces, *os.Root) {
	t.Helper()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	w, err := openSpaces(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return w, root
}

func acquire(t *testing.T, w *workspaces, client string) (*ClientWorkspace, func()) {
	t.Helper()
	space, leave, err := w.acquire(client)
	if err != nil {
		t.Fatal(err)
	}
	release := func() { leave(true) }
	t.Cleanup(release)
	return space, release
}

func TestClientsDoNotShareAWorkspace(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{})
	clients := []string{"a", "A", "", ".", "..", "../a", "/", "a/b", "a\x00b", "a\nb"}
	for _, client := range clients {
		space, _ := acquire(t, w, client)
		if err := space.Dir().WriteFile("name", []byte(client), 0o600); err != nil {
			t.Fatalf("%q: %v", client, err)
		}
		if err := space.Set("name", client); err != nil {
			t.Fatal(err)
		}
	}
	for _, client := range clients {
		space, release := acquire(t, w, client)
		b, err := space.Dir().ReadFile("name")
		if v, _ := space.Get("name"); err != nil || string(b) != client || v != client {
			t.Errorf("%q has %q and %q, %v", client, b, v, err)
		}
		if _, err := space.Dir().Open("../" + space.name); err == nil {
			t.Error("a path leads out of a workspace")
		}
		release()
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil || len(entries) != len(clients) {
		t.Errorf("%d directories for %d clients, %v", len(entries), len(clients), err)
	}
}

func TestAWorkspaceExpiresWhenNobodyUsesIt(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Idle: time.Hour})
	space, release := acquire(t, w, "a")
	if err := space.Dir().WriteFile("f", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	// As if it had been long ago.
	space.last = time.Now().Add(-2 * time.Hour)
	w.mu.Lock()
	w.sweep(time.Now())
	w.mu.Unlock()
	if _, err := space.Dir().ReadFile("f"); err != nil {
		t.Errorf("it expired while it was used: %v", err)
	}
	release()
	again, release := acquire(t, w, "a")
	if _, err := again.Dir().ReadFile("f"); err != nil {
		t.Errorf("it expired right after it was used: %v", err)
	}
	release()
	if _, err := again.Room(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a released workspace has room: %v", err)
	}
	w.mu.Lock()
	again.last = time.Now().Add(-2 * time.Hour)
	w.mu.Unlock()
	fresh, release := acquire(t, w, "a")
	if _, err := fresh.Dir().ReadFile("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it did not expire: %v", err)
	}
	if err := fresh.Dir().WriteFile("g", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release()

	// A server that starts removes what expired, by the time on disk. The one before it has ended.
	w.removing.Wait()
	if err := root.Chtimes(fresh.name, time.Now(), time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpaces(root, WorkspaceOptions{Idle: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 0 {
		t.Errorf("%d directories are left, %v", len(entries), err)
	}
}

func TestQuotaOfADirectory(t *testing.T) {
	w, _ := newWorkspaces(t, WorkspaceOptions{Bytes: 1000, Files: 3})
	space, _ := acquire(t, w, "a")
	if left, err := space.Room(); err != nil || left != 1000 {
		t.Errorf("%d, %v", left, err)
	}
	if err := space.Dir().Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := space.Dir().WriteFile("sub/f", make([]byte, 400), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := space.Dir().Symlink("/etc", "link"); err != nil { // counts itself, not what it points to
		t.Fatal(err)
	}
	if left, err := space.Room(); err != nil || left != 600 {
		t.Errorf("%d, %v", left, err)
	}
	if err := space.Dir().WriteFile("g", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := space.Room(); limitOfErr(err) != limitQuota {
		t.Errorf("too many files: %v", err)
	}
	if err := space.Clear(); err != nil {
		t.Fatal(err)
	}
	if err := space.Dir().WriteFile("f", make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := space.Room(); limitOfErr(err) != limitQuota {
		t.Errorf("too many bytes: %v", err)
	}
}

func TestVariablesStayWithinTheirQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := &workspaces{options: WorkspaceOptions{Variables: 3, VariableBytes: 20}}
		space := &ClientWorkspace{all: all}
		model := map[string]string{}
		total := func() (n int) {
			for k, v := range model {
				n += len(k) + len(v)
			}
			return n
		}
		for range rapid.IntRange(0, 50).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "bb", "ccc", "dddd"}).Draw(t, "name")
			if rapid.Bool().Draw(t, "unset") {
				space.Unset(name)
				delete(model, name)
				continue
			}
			value := rapid.StringN(0, 12, 12).Draw(t, "value")
			old, known := model[name]
			model[name] = value
			fits := len(model) <= 3 && total() <= 20
			if !fits {
				delete(model, name)
				if known {
					model[name] = old
				}
			}
			if err := space.Set(name, value); (err == nil) != fits ||
				err != nil && limitOfErr(err) != limitQuota {
				t.Fatalf("set %s to %q with %v: %v", name, value, model, err)
			}
			if space.bytes != total() || len(space.Variables()) != len(model) {
				t.Fatalf("%d bytes, want %d", space.bytes, total())
			}
		}
	})
}

func TestClientsAreBounded(t *testing.T) {
	w, _ := newWorkspaces(t, WorkspaceOptions{Clients: 2})
	acquire(t, w, "a")
	acquire(t, w, "b")
	acquire(t, w, "a")
	if _, _, err := w.acquire("c"); limitOfErr(err) != limitQuota {
		t.Errorf("a third client: %v", err)
	}
}

func TestWorkspaceOfAContext(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{})
	space, _ := acquire(t, w, "a")
	if got, err := Workspace(withWorkspace(context.Background(), space, nil)); got != space || err != nil {
		t.Errorf("another workspace: %v, %v", got, err)
	}
	if got, err := Workspace(context.Background()); got != nil || !errors.Is(err, errKeepsNone) {
		t.Errorf("a workspace from nowhere: %v, %v", got, err)
	}
	if err := root.WriteFile("stray", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openSpaces(root, WorkspaceOptions{}); err == nil {
		t.Error("a directory with other things in it was taken")
	}
	if _, err := openSpaces(root, WorkspaceOptions{Files: -1}); err == nil {
		t.Error("a quota below zero was taken")
	}
}

func TestNobodyWaitsWhileAWorkspaceIsRemoved(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Idle: time.Hour})
	space, release := acquire(t, w, "a")
	if err := space.Dir().WriteFile("f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release()
	w.mu.Lock()
	space.last = time.Now().Add(-2 * time.Hour)
	if err := w.moveAside(space); err != nil {
		t.Fatal(err)
	}
	w.mu.Unlock()
	// It is all there still, and its client has a new one.
	again, _ := acquire(t, w, "a")
	if _, err := again.Dir().Stat("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the new workspace has the old one's file: %v", err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 2 {
		t.Fatalf("%d directories, %v", len(entries), err)
	}
	w.mu.Lock()
	w.remove()
	w.mu.Unlock()
	w.removing.Wait()
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 1 ||
		entries[0].Name() != again.name {
		t.Errorf("%d directories, %v", len(entries), err)
	}
}

func TestAFolderThatCannotBeUsedIsAnError(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Idle: time.Hour})
	space, release := acquire(t, w, "a")
	release()
	if err := space.Clear(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a released workspace was cleared: %v", err)
	}
	// What has expired is looked for again after a while, by the next caller.
	w.mu.Lock()
	space.last, w.swept = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	w.mu.Unlock()
	_, release = acquire(t, w, "b")
	release()
	w.removing.Wait()
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) != 1 {
		t.Errorf("%d directories, %v", len(entries), err)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.acquire("b"); err == nil {
		t.Error("a workspace opened in a folder that is closed")
	}
	w.mu.Lock()
	for _, space := range w.spaces {
		space.last = time.Now().Add(-2 * time.Hour)
	}
	w.mu.Unlock()
	if _, _, err := w.acquire("b"); err == nil {
		t.Error("an expired workspace was made anew without removing the old one")
	}
	if _, err := openSpaces(root, WorkspaceOptions{}); err == nil {
		t.Error("workspaces in a folder that is closed")
	}
}
