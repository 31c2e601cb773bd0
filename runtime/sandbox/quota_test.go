package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestACallIsHeldToTheQuotaWhileItRuns(t *testing.T) {
	for name, write := range map[string]func(dir *os.Root) error{
		"bytes": func(dir *os.Root) error {
			for i := range 3 {
				if err := dir.WriteFile(fmt.Sprint(i), make([]byte, 400), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"files": func(dir *os.Root) error {
			for i := range 11 {
				if err := dir.WriteFile(fmt.Sprint(i), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newWorkspaces(t, WorkspaceOptions{Bytes: 1000, Files: 10})
			space, _ := acquire(t, w, "a")
			h, err := space.watchQuota(t.Context(), 1<<20)
			if err != nil || h.fileSize != 1000 || h.over != nil {
				t.Fatalf("%+v, %v", h, err)
			}
			defer h.gone()
			defer h.stop()
			if err := write(space.Dir()); err != nil {
				t.Fatal(err)
			}
			<-h.ctx.Done()
			if cause := context.Cause(h.ctx); limitOfErr(cause) != limitQuota {
				t.Errorf("it ended with %v", cause)
			}
		})
	}
}

func TestAFullWorkspaceCanBeTidied(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{Bytes: 1000, Files: 100})
	space, _ := acquire(t, w, "a")
	if err := space.Dir().WriteFile("big", make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	held := func(bound string) {
		t.Helper()
		h, err := space.watchQuota(t.Context(), 1<<20)
		if err != nil || h.fileSize != 1 || h.over == nil || h.over.Bound != bound {
			t.Fatalf("%+v, %v", h, err)
		}
		h.count() // nobody counts for a call that may only remove
		if h.ctx.Err() != nil {
			t.Errorf("a call that writes nothing ended: %v", context.Cause(h.ctx))
		}
		h.stop()
		h.gone()
		if err := space.Clear(); err != nil {
			t.Fatal(err)
		}
	}
	held("1000 bytes")
	for i := range 101 {
		if err := space.Dir().WriteFile(fmt.Sprint(i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	held("100 files")
	dig(t, root, space.name, 70)
	held("folders 64 deep")
}

// dig makes folders in each other.
func dig(t *testing.T, root *os.Root, name string, depth int) {
	t.Helper()
	at, err := root.OpenRoot(name)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := at.Mkdir("d", 0o700); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = below
	}
	if err := at.WriteFile("f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at.Close()
}

func TestFoldersThatLieDeepAreRefusedAndRemoved(t *testing.T) {
	w, root := newWorkspaces(t, WorkspaceOptions{})
	space, release := acquire(t, w, "a")
	dig(t, root, space.name, 5000)
	for i := range 3 {
		if err := space.Dir().MkdirAll(fmt.Sprintf("side/%d", i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := space.Room(); limitOfErr(err) != limitQuota || !strings.Contains(err.Error(), "deep") {
		t.Errorf("deep folders: %v", err)
	}
	if err := space.Clear(); err != nil {
		t.Fatal(err)
	}
	if entries, err := fs.ReadDir(space.Dir().FS(), "."); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
	dig(t, root, space.name, 200)
	if err := space.Dir().Mkdir("shut", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(space.Dir().Mkdir("shut/in", 0), space.Dir().Chmod("shut",
		0)); err != nil {
		t.Fatal(err)
	}
	release()
	w.mu.Lock()
	err := w.moveAside(space)
	w.remove()
	w.mu.Unlock()
	if err != nil {
		t.Error(err)
	}
	w.removing.Wait()
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}
