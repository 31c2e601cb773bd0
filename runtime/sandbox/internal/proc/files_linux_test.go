package proc

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/folder"
)

func TestOpenFilesAreFoundOnce(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	create := func(name string, bytes int) (int, folder.Inode) {
		t.Helper()
		fd, err := unix.Open(name, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		var stat unix.Stat_t
		if err := errors.Join(err, unix.Unlink(name), unix.Ftruncate(fd, int64(bytes)),
			unix.Fstat(fd, &stat)); err != nil {
			t.Fatal(err)
		}
		return fd, folder.InodeOf(&stat)
	}
	page := os.Getpagesize()
	mapOne := func(fd int) {
		t.Helper()
		b, err := unix.Mmap(fd, 0, page, unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(b) })
	}
	before, mappedBefore := create("mapped before", page)
	mapOne(before)
	unix.Close(before)
	given, lent := create("handed over", 1<<20)
	defer unix.Close(given)
	o, err := FilesOf(os.Getpid(), []int{given})
	if err != nil {
		t.Fatal(err)
	}

	twice, openTwice := create("open twice and mapped", 2<<20)
	defer unix.Close(twice)
	again, err := unix.Dup(twice)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(again)
	mapOne(twice)
	shut, mappedAlone := create("mapped and closed", 3<<20)
	mapOne(shut)
	unix.Close(shut)
	named, err := os.Create("linked")
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	if err := errors.Join(os.Link("linked", "other"), os.Remove("linked")); err != nil {
		t.Fatal(err)
	}
	// A thread can have descriptors of its own.
	var apart folder.Inode
	ready, done := sync.WaitGroup{}, sync.WaitGroup{}
	release, end := context.WithCancel(t.Context())
	ready.Add(1)
	var leave func()
	leave = func() {
		runtime.LockOSThread()            // and never unlock: the thread ends
		if unix.Gettid() == os.Getpid() { // the first one would be found in any case
			done.Go(leave)
			<-release.Done()
			return
		}
		if err := unix.Unshare(unix.CLONE_FILES); err != nil {
			t.Error(err)
		}
		_, apart = create("of a thread", 4<<20)
		ready.Done()
		<-release.Done()
	}
	done.Go(leave)
	ready.Wait()
	defer done.Wait()
	defer end()

	found := map[folder.Inode]int64{}
	if err := o.Unlinked(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[folder.Inode]int64{mappedBefore: 0, lent: 0, openTwice: 2 << 20,
		mappedAlone: 3 << 20, apart: 4 << 20} {
		if found[id] != want {
			t.Errorf("%v takes %d, want %d", id, found[id], want)
		}
	}
	var stat unix.Stat_t
	if err := unix.Stat("other", &stat); err != nil {
		t.Fatal(err)
	}
	if _, there := found[folder.InodeOf(&stat)]; there {
		t.Error("a file with a name was found")
	}
}
