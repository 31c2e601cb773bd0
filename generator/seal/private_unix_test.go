//go:build unix

package seal

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestASealIsKeptWhereNobodyElseMayWrite(t *testing.T) {
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
			set(t, dir)
			s := take(t, dir)
			change(t, filepath.Dir(s.path))
			if s.Holds() {
				t.Error("a seal in there holds")
			}
			if err := os.Remove(s.path); err != nil {
				t.Fatal(err)
			}
			s.Set(nil, nil)
			if _, err := os.Lstat(s.path); err == nil {
				t.Error("a seal was kept in there")
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

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	dir := module(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "svc", "pipe.go"), 0o600); err != nil {
		t.Skip("this system makes no named pipes here: ", err)
	}
	taken := make(chan *Seal, 1)
	go func() { taken <- Take(t.Context(), dir, []string{"./..."}) }()
	select {
	case s := <-taken:
		if s != nil {
			t.Error("a tree with a pipe was sealed")
		}
	case <-time.After(time.Minute):
		t.Error("it waits for whoever writes to the pipe")
	}
}
