//go:build unix

package runcache

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestCacheDirectoryMustBePrivate(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, cache string){
		"a link": func(t *testing.T, cache string) {
			if err := os.Rename(cache, cache+".real"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(cache+".real", cache); err != nil {
				t.Fatal(err)
			}
		},
		"others may write":    func(t *testing.T, cache string) { mode(t, cache, 0o707) },
		"the group may write": func(t *testing.T, cache string) { mode(t, cache, 0o770) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := module(t)
			storeEntry(t, dir)
			e := find(t, dir)
			change(t, filepath.Dir(e.path))
			if changed(find(t, dir)) != "all" {
				t.Error("the entry is current")
			}
			if err := os.Remove(e.path); err != nil {
				t.Fatal(err)
			}
			e.Store(nil, nil, nil)
			if _, err := os.Lstat(e.path); err == nil {
				t.Error("an entry was written")
			}
		})
	}
}

func mode(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestSpecialFilesAreNotOpened(t *testing.T) {
	dir := module(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "svc", "pipe.go"), 0o600); err != nil {
		t.Skip("this system makes no named pipes here: ", err)
	}
	found := make(chan *Entry, 1)
	go func() { found <- Find(t.Context(), dir, []string{"./..."}) }()
	select {
	case e := <-found:
		if e != nil {
			t.Error("a tree with a pipe has an entry")
		}
	case <-time.After(time.Minute):
		t.Error("it waits for a writer of the pipe")
	}
}
