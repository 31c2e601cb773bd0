package writefiles

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree is what a directory holds, hidden files included: "link -> target" for a symbolic link.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			found[e.Name()] = "directory"
		case e.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				t.Fatal(err)
			}
			found[e.Name()] = "-> " + target
		default:
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found[e.Name()] = string(content)
		}
	}
	return found
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestWriteChangesOnlyWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("same"), "a\n")
	put(t, at("stale"), "old\n")
	put(t, at("crlf"), "one\r\ntwo\r\n")
	put(t, at("unwanted"), "x")
	before, err := os.Stat(at("same"))
	if err != nil {
		t.Fatal(err)
	}
	files := []emit.File{
		{Path: at("stale"), Content: []byte("new\n")},
		{Path: at("same"), Content: []byte("a\n")},
		{Path: at("new"), Content: []byte("f\n")},
		{Path: at("crlf"), Content: []byte("one\ntwo\n")},
	}
	remove := []string{at("unwanted"), at("never-there")}
	changed, err := Write(files, remove)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "changed", changed, []string{at("new"), at("stale"), at("unwanted")})
	expect(t, "tree", tree(t, dir), map[string]string{"same": "a\n", "stale": "new\n", "crlf": "one\r\ntwo\r\n", "new": "f\n"})
	after, err := os.Stat(at("same"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("a file that already had its content was written again")
	}
	if changed, err = Write(files, remove); err != nil || len(changed) != 0 {
		t.Errorf("a second run changed %q, %v", changed, err)
	}
}

func TestWriteKeepsLineEndsAndByteOrderMarks(t *testing.T) {
	const mark = "\ufeff"
	for _, tt := range []struct{ name, old, content, want string }{
		{"f", "a\n", "b\nc\n", "b\nc\n"},
		{"f", "a\r\nb\r\n", "b\nc\n", "b\r\nc\r\n"},
		{"f", "a\r\n", "b\r\nc\n", "b\r\nc\r\n"},
		{"f", "a\r\nb\n", "b\r\nc\n", "b\r\nc\n"},
		{"f", "a", "b\n", "b\n"},
		{"f", mark + "a\n", "b\n", mark + "b\n"},
		{"f", mark + "a\r\n", mark + "b\n", mark + "b\r\n"},
		{"f.json", mark + "{}\r\n", "[]\n", "[]\r\n"},
		{"f", mark + "a\r\n", "a\n", mark + "a\r\n"},
	} {
		path := filepath.Join(t.TempDir(), tt.name)
		put(t, path, tt.old)
		for range 2 {
			if _, err := Write([]emit.File{{Path: path, Content: []byte(tt.content)}}, nil); err != nil {
				t.Fatal(err)
			}
			expect(t, fmt.Sprintf("%q after %q", tt.content, tt.old),
				tree(t, filepath.Dir(path))[tt.name], tt.want)
		}
		if stale, err := Stale([]emit.File{{Path: path, Content: []byte(tt.content)}}, nil); err != nil ||
			len(stale) > 0 {
			t.Errorf("%q after %q is stale: %v, %v", tt.content, tt.old, stale, err)
		}
	}
}

func TestWriteKeepsPermissions(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put(t, path, "old")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Write([]emit.File{{Path: path, Content: []byte("new")}}, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("permissions became %v", got)
	}
}

func TestSpecialFilesAreNotTouched(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "target")
	for _, tc := range []struct {
		name    string
		place   func(t *testing.T, path string)
		message string
	}{
		{"directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		}, "it is a directory"},
		{"link", func(t *testing.T, path string) {
			put(t, outside, "precious")
			if err := os.Symlink(outside, path); err != nil {
				t.Fatal(err)
			}
		}, "it is a symbolic link"},
		{"dangling link", func(t *testing.T, path string) {
			if err := os.Symlink(filepath.Join(filepath.Dir(outside), "gone"), path); err != nil {
				t.Fatal(err)
			}
		}, "it is a symbolic link"},
		{"socket", func(t *testing.T, path string) {
			listener, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { listener.Close() })
		}, "it is a device, a pipe or a socket"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			first, path := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			put(t, first, "old")
			tc.place(t, path)
			for what, run := range map[string]func() error{
				"write": func() error {
					_, err := Write([]emit.File{{Path: first, Content: []byte("new")}, {Path: path, Content: []byte("new")}}, nil)
					return err
				},
				"remove": func() error {
					_, err := Write([]emit.File{{Path: first, Content: []byte("new")}}, []string{path})
					return err
				},
			} {
				err := run()
				var where *Error
				if !errors.Is(err, ErrNotRegular) || !errors.As(err, &where) || where.Path != path || !strings.Contains(err.Error(), tc.message) {
					t.Errorf("%s: %v", what, err)
				}
				entries, err := os.ReadDir(dir)
				if err != nil {
					t.Fatal(err)
				}
				if len(entries) != 2 {
					t.Errorf("%s left %v", what, entries)
				}
				if content, err := os.ReadFile(first); err != nil || string(content) != "old" {
					t.Errorf("%s: the other file holds %q, %v", what, content, err)
				}
			}
		})
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != "precious" {
		t.Errorf("the target of the link holds %q, %v", content, err)
	}
}

// failingDisk is the real file system, but one operation fails.
type failingDisk struct {
	system
	operation string // as in "rename"
	at        int    // the how-manieth of its kind fails, from 1
	cause     error
	after     bool // every later operation of any kind fails too
	done      map[string]int
	failed    bool
}

func (d *failingDisk) step(operation string) error {
	d.done[operation]++
	if d.operation == operation && d.done[operation] == d.at || d.after && d.failed {
		d.failed = true
		return &fs.PathError{Op: operation, Path: "somewhere", Err: d.cause}
	}
	return nil
}

func (d *failingDisk) Lstat(path string) (fs.FileInfo, error) {
	if err := d.step("lstat"); err != nil {
		return nil, err
	}
	return d.system.Lstat(path)
}

func (d *failingDisk) ReadFile(path string) ([]byte, error) {
	if err := d.step("read"); err != nil {
		return nil, err
	}
	return d.system.ReadFile(path)
}

func (d *failingDisk) WriteBeside(path string, content []byte, old fs.FileInfo) (string, error) {
	if err := d.step("write"); err != nil {
		return "", err
	}
	return d.system.WriteBeside(path, content, old)
}

func (d *failingDisk) Backup(path, backup string) error {
	if err := d.step("backup"); err != nil {
		return err
	}
	return d.system.Backup(path, backup)
}

func (d *failingDisk) Rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	return d.system.Rename(from, to)
}

func (d *failingDisk) Remove(path string) error {
	if err := d.step("remove"); err != nil {
		return err
	}
	return d.system.Remove(path)
}

// scene is a directory with a file of every fate, and the run that decides them.
func scene(t *testing.T) (dir string, files []emit.File, remove []string) {
	t.Helper()
	dir = t.TempDir()
	for name, content := range map[string]string{"a": "old a", "b": "old b", "same": "same", "gone": "unwanted"} {
		put(t, filepath.Join(dir, name), content)
	}
	for _, name := range []string{"a", "n", "b", "same"} {
		content := "new " + name
		if name == "same" {
			content = name
		}
		files = append(files, emit.File{Path: filepath.Join(dir, name), Content: []byte(content)})
	}
	return dir, files, []string{filepath.Join(dir, "gone")}
}

// TestAFailedRunChangesNothing fails every operation of a run in turn.
func TestAFailedRunChangesNothing(t *testing.T) {
	causes := []struct {
		err  error
		want error
	}{
		{syscall.ENOSPC, ErrFull}, {syscall.EDQUOT, ErrFull},
		{syscall.EACCES, ErrPermission}, {syscall.EPERM, ErrPermission}, {syscall.EROFS, ErrPermission},
		{syscall.EIO, syscall.EIO},
	}
	for operation, times := range map[string]int{"lstat": 5, "read": 3, "write": 3, "backup": 3, "rename": 3, "remove": 1} {
		for at := 1; at <= times; at++ {
			for _, cause := range causes {
				t.Run(fmt.Sprintf("%s %d %v", operation, at, cause.err), func(t *testing.T) {
					dir, files, remove := scene(t)
					before := tree(t, dir)
					disk := &failingDisk{operation: operation, at: at, cause: cause.err, done: map[string]int{}}
					changed, err := writeTo(disk, files, remove)
					if !disk.failed {
						t.Fatal("the run has fewer operations of this kind")
					}
					var where *Error
					if !errors.Is(err, cause.want) || !errors.Is(err, cause.err) || !errors.As(err, &where) {
						t.Errorf("the error is %v", err)
					}
					if len(changed) != 0 {
						t.Errorf("a failed run says that it changed %q", changed)
					}
					expect(t, "tree", tree(t, dir), before)
				})
			}
		}
	}
}

func TestFilesThatCannotBeRestoredAreReported(t *testing.T) {
	dir, files, remove := scene(t)
	disk := &failingDisk{operation: "rename", at: 3, cause: syscall.EIO, after: true, done: map[string]int{}}
	_, err := writeTo(disk, files, remove)
	if err == nil || !strings.Contains(err.Error(), "restoring the old file") {
		t.Errorf("the error is %v", err)
	}
	held := tree(t, dir)
	var olds int
	for _, content := range held {
		if content == "old a" || content == "old b" {
			olds++
		}
	}
	if olds < 2 {
		t.Errorf("an old file is lost: %q", held)
	}
}

func TestMissingDirectoryIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "f")
	_, err := Write([]emit.File{{Path: path, Content: []byte("x")}}, nil)
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("the error is %v", err)
	}
}

func TestDirectoryOfATypedClientIsMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "deep", emit.Client)
	if _, err := Write([]emit.File{{Path: path, Content: []byte("x")}}, nil); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
	blocked := filepath.Join(path, emit.Client)
	if _, err := Write([]emit.File{{Path: blocked, Content: []byte("x")}}, nil); err == nil {
		t.Error("a file is a directory")
	}
}

func TestFileOfAKilledRunIsReplaced(t *testing.T) {
	dir, files, remove := scene(t)
	for _, what := range []string{"new", "old"} {
		put(t, beside(filepath.Join(dir, "a"), what), "half")
	}
	if _, err := Write(files, remove); err != nil {
		t.Fatal(err)
	}
	expect(t, "tree", tree(t, dir), map[string]string{"a": "new a", "b": "new b", "n": "new n", "same": "same"})
}

// TestBackupIsACopyWithoutLinks takes the second way of Backup by itself: no
// file system without links can be mounted here.
func TestBackupIsACopyWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "f"), filepath.Join(dir, ".f.old")
	put(t, path, "precious")
	if err := (system{}).copyTo(backup, path); err != nil {
		t.Fatal(err)
	}
	expect(t, "tree", tree(t, dir), map[string]string{"f": "precious", ".f.old": "precious"})
	if err := (system{}).Backup(filepath.Join(dir, "none"), backup); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup of nothing: %v", err)
	}
}
