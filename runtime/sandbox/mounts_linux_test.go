package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime/isolate"
)

func init() {
	// look returns what a process learns of files by their names, of its own accord and of that of
	// a program, and by way of the folder that it was handed.
	Register("look", func(_ context.Context, job Job) ([]byte, error) {
		var in struct {
			Names  []string
			Script bool
		}
		if err := json.Unmarshal(job.Arguments, &in); err != nil {
			return nil, err
		}
		var seen []string
		for _, name := range in.Names {
			var stat unix.Stat_t
			var system unix.Statfs_t
			_, linked := os.Readlink(name)
			tried := []error{
				unix.Lstat(name, &stat), unix.Access(name, unix.F_OK), unix.Statfs(name, &system),
				linked,
			}
			if slices.Contains(tried, nil) {
				seen = append(seen, name)
			}
			if folder := job.Files["folder"]; folder != nil {
				up := strings.Repeat("../", 20) + name
				if err := unix.Fstatat(int(folder.Fd()), up, &stat, 0); err == nil {
					seen = append(seen, "from a folder: "+name)
				}
			}
			if in.Script && exec.Command("/bin/sh", "-c", `test -e "$0"`, name).Run() == nil {
				seen = append(seen, "by a program: "+name)
			}
		}
		return json.Marshal(seen)
	})
	Register("list a folder", func(_ context.Context, job Job) ([]byte, error) {
		names, err := job.Files["folder"].Readdirnames(-1)
		return []byte(strings.Join(names, ",")), err
	})
	Register("make privileged files", func(_ context.Context, job Job) ([]byte, error) {
		var made []string
		try := func(name string, err error) {
			if !errors.Is(err, unix.EPERM) {
				made = append(made, fmt.Sprintf("%s: %v", name, err))
			}
		}
		for name, bits := range map[string]uint32{"user": unix.S_ISUID, "group": unix.S_ISGID,
			"both": unix.S_ISUID | unix.S_ISGID} {
			_, err := unix.Open("open-"+name, unix.O_CREAT|unix.O_WRONLY, bits|0o755)
			try("openat "+name, err)
			_, err = os.OpenFile("os-"+name, os.O_CREATE|os.O_RDWR,
				0o755|os.ModeSetuid|os.ModeSetgid)
			try("os.OpenFile "+name, err)
			try("mkdirat "+name, unix.Mkdirat(unix.AT_FDCWD, "folder-"+name, bits|0o755))
			for call, path := range madeByCall {
				text, flags := []byte(path+name+"\x00"), call.flags
				if flags == modeHere {
					flags = uintptr(bits | 0o755)
				}
				_, _, errno := unix.Syscall(call.number,
					uintptr(unsafe.Pointer(&text[0])), flags, uintptr(bits|0o755))
				try(path+name, errno)
			}
			f, err := os.Create("own-" + name)
			if err != nil {
				return nil, err
			}
			try("fchmod "+name, unix.Fchmod(int(f.Fd()), bits|0o755))
			try("fchmodat "+name, unix.Fchmodat(unix.AT_FDCWD, f.Name(), bits|0o755, 0))
			try("mknodat "+name, unix.Mknodat(unix.AT_FDCWD, "node-"+name, unix.S_IFREG|bits|0o755,
				0))
			f.Close()
		}
		// The bits mean nothing where no file is made.
		if fd, err := unix.Open("own-user", unix.O_RDONLY, unix.S_ISUID|0o755); err != nil {
			made = append(made, "a file that exists cannot be opened: "+err.Error())
		} else {
			unix.Close(fd)
		}
		return json.Marshal(made)
	})
	Register("make nameless files", func(_ context.Context, job Job) ([]byte, error) {
		var made []string
		try := func(name string, err, want error) {
			if !errors.Is(err, want) {
				made = append(made, fmt.Sprintf("%s: %v", name, err))
			}
		}
		for _, flags := range []int{unix.O_RDWR, unix.O_WRONLY, unix.O_EXCL | unix.O_RDWR} {
			_, err := unix.Open(".", unix.O_TMPFILE|flags, 0o600)
			try(fmt.Sprintf("O_TMPFILE with %x", flags), err, unix.EOPNOTSUPP)
		}
		for call := range madeByCall {
			if call.flags != modeHere {
				dot := []byte(".\x00")
				_, _, errno := unix.Syscall(call.number,
					uintptr(unsafe.Pointer(&dot[0])), unix.O_TMPFILE|unix.O_RDWR, 0o600)
				try("open", errno, unix.EOPNOTSUPP)
			}
		}
		how := unix.OpenHow{Flags: unix.O_TMPFILE | unix.O_RDWR, Mode: 0o600}
		_, err := unix.Openat2(unix.AT_FDCWD, ".", &how)
		try("openat2", err, unix.ENOSYS)
		for _, number := range []uintptr{
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		} {
			_, _, errno := unix.Syscall(number, 0, 0, 0)
			try(fmt.Sprint("io_uring ", number), errno, unix.ENOSYS)
		}
		// A rule of Landlock keeps the blocks of a file that is removed and closed.
		for _, number := range []uintptr{unix.SYS_LANDLOCK_CREATE_RULESET,
			unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF} {
			_, _, errno := unix.Syscall6(number, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION, 0, 0,
				0)
			try(fmt.Sprint("landlock ", number), errno, unix.ENOSYS)
		}
		if err := os.WriteFile("whole", nil, 0o600); err != nil {
			return nil, err
		}
		err = unix.Renameat2(unix.AT_FDCWD, "whole", unix.AT_FDCWD, "moved", unix.RENAME_WHITEOUT)
		try("a whiteout", err, unix.EPERM)
		return json.Marshal(made)
	})
	Register("use a root", func(_ context.Context, job Job) ([]byte, error) {
		r := job.Dir
		err := errors.Join(r.MkdirAll("a/b", 0o700), r.WriteFile("a/b/c", []byte("text"), 0o600),
			r.Symlink("b/c", "a/link"), r.Rename("a/b/c", "a/b/d"), r.Rename("a/b/d", "a/b/c"),
			r.Link("a/b/c", "a/b/e"), r.RemoveAll("a/b/e"))
		if err != nil {
			return nil, err
		}
		if f, err := os.CreateTemp(".", ""); err != nil {
			return nil, err
		} else if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return nil, err
		}
		return r.ReadFile("a/link")
	})
	Register("work here", func(context.Context, Job) ([]byte, error) {
		at, err := os.Getwd()
		return []byte(at), err
	})
}

// call is a system call that a processor has for making files.
type call struct{ number, flags uintptr }

// modeHere says that the mode comes in the place of the flags.
const modeHere = ^uintptr(0)

// owned gives a file to the user that helpers have.
func owned(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if os.Geteuid() == 0 {
			if err := os.Lchown(name, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// passable lets every user into a folder of the test, and into those of the test above it. It skips
// a test of root where others cannot enter the folders above.
func passable(t testing.TB, folder string) {
	t.Helper()
	temporary := filepath.Dir(filepath.Dir(t.TempDir()))
	up := folder
	for ; up != temporary && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for ; up != "/" && os.Geteuid() == 0; up = filepath.Dir(up) {
		if info, err := os.Stat(up); err != nil || info.Mode()&1 == 0 {
			t.Skipf("helpers of root cannot enter %s", up)
		}
	}
}

// TestNothingOutsideIsSeen: a process sees no name but of what it was granted, whether by stat, a
// program or "..".
func TestNothingOutsideIsSeen(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	beside := filepath.Join(filepath.Dir(dir.Name()), "beside")
	given := filepath.Join(t.TempDir(), "granted")
	err := errors.Join(os.WriteFile(beside, nil, 0o644), os.Mkdir(given, 0o755),
		os.WriteFile(given+"/one", nil, 0o644))
	if err != nil {
		t.Fatal(err)
	}
	passable(t, given) // ".." is for the helper's user too
	folder, err := os.Open(given)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pid := fmt.Sprint(os.Getpid())
	names := []string{
		"/etc/passwd", "/etc/shadow", "/etc/hostname", "/etc", "/root", "/home", "/var/lib", "/sys",
		"/sys/kernel", "/dev/zero", "/dev/shm", "/proc/1", "/proc/self", "/proc/version",
		"/proc/" + pid, "/proc/" + pid + "/root/etc/passwd", binary, beside, "../beside",
		"../../../../../../etc/passwd", "/old", "/old/etc/passwd",
	}
	files := map[string]*os.File{"folder": folder}
	look := func(r request, script bool) string {
		t.Helper()
		r.Name, r.Dir, r.Files = "look", dir, files
		r.Arguments = arguments(t, map[string]any{"Names": names, "Script": script})
		a, err := p.Run(context.Background(), r)
		if err != nil {
			t.Fatalf("%v, printed %s", err, a.Printed)
		}
		return string(a.Result)
	}
	if seen := look(request{}, false); seen != "null" {
		t.Errorf("it sees %s", seen)
	}
	// With programs, there is what they need.
	names = append(names, "/usr/sbin", "/usr/share/doc", "/boot", "/etc/os-release", "/usr/include")
	names = slices.DeleteFunc(names, func(name string) bool { return name == "/etc" })
	if seen := look(request{Paths: programs()}, true); seen != "null" {
		t.Errorf("with programs it sees %s", seen)
	}
	if seen := look(request{Net: true}, false); seen != "null" {
		t.Errorf("with a network it sees %s", seen)
	}
	names = []string{"/bin/sh", "/dev/null", dir.Name(), beside}
	all := request{Paths: append(programs(), granted{Name: beside, Access: mayRead})}
	if seen := look(all, true); strings.Count(seen, ",") < 5 {
		t.Errorf("of what was granted it sees %s alone", seen)
	}
	// All can be granted, devices too, and then ".." leads nowhere else.
	names = []string{"/etc/passwd", "/proc/self", beside}
	all = request{Paths: []granted{{Name: "/", Access: mayRead | mayExec}}}
	if seen := look(all, true); strings.Count(seen, ",") < 5 {
		t.Errorf("of all files it sees %s alone", seen)
	}
	for _, path := range []granted{{Name: "/", Access: mayRead | mayWrite},
		{Name: "/dev/zero", Access: mayRead}} {
		a, err := p.Run(context.Background(), request{
			Name: "open", Arguments: arguments(t, []string{"/dev/zero"}), Paths: []granted{path},
		})
		if err != nil || !strings.Contains(string(a.Result), `"/dev/zero"`) {
			t.Errorf("a device that was granted: %s, %v", a.Result, err)
		}
	}
	a, err := p.Run(context.Background(), request{Name: "list a folder", Files: files})
	if err != nil || string(a.Result) != "one" {
		t.Errorf("a folder that was handed over holds %q, %v", a.Result, err)
	}
	a, err = p.Run(context.Background(), request{Name: "work here", Dir: dir})
	if err != nil || string(a.Result) != dir.Name() {
		t.Errorf("it works in %q, %v", a.Result, err)
	}
}

// TestFilesOfAWorkspaceDoNotRun: neither by themselves nor by the program that loads others.
func TestFilesOfAWorkspaceDoNotRun(t *testing.T) {
	loaders, err := filepath.Glob("/lib*/ld-linux*.so.*")
	if err != nil || len(loaders) == 0 {
		t.Fatalf("this system has no loader of programs: %v", err)
	}
	program, err := filepath.EvalSymlinks("/bin/echo")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(t, Options{})
	dir := workspace(t)
	passable(t, filepath.Dir(dir.Name()))
	tools := filepath.Join(dir.Name(), "tools")
	err = errors.Join(dir.Mkdir("tools", 0o755), dir.WriteFile("own", code, 0o755),
		dir.WriteFile("tools/given", code, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	owned(t, tools, filepath.Join(dir.Name(), "own"), filepath.Join(tools, "given"))
	for _, test := range []struct {
		script string
		paths  []granted
		runs   bool
	}{
		{loaders[0] + " " + program + " ran", nil, true},
		{"./own ran", nil, false},
		{loaders[0] + " ./own ran", nil, false},
		// it goes on without
		{loaders[0] + " --preload ./own " + program + " || echo refused", nil, true},
		{"cp own another; ./another ran", nil, false},
		{"cp own another; " + loaders[0] + " ./another ran", nil, false},
		{"tools/given ran", nil, false},
		{loaders[0] + " tools/given ran", nil, false},
		{"tools/given ran", []granted{{Name: tools, Access: mayRead | mayExec}}, true},
		{loaders[0] + " tools/given ran", []granted{{Name: tools, Access: mayRead | mayExec}}, true},
		{loaders[0] + " ./own ran", []granted{{Name: tools, Access: mayRead | mayExec}}, false},
	} {
		a, err := p.Run(context.Background(), request{
			Name: "sh", Dir: dir, Arguments: arguments(t, test.script), Paths: append(programs(),
				test.paths...),
		})
		if ran := err == nil; ran != test.runs {
			t.Errorf("%s with %+v: %q, %v", test.script, test.paths, a.Result, err)
		}
	}
}

func TestNoPrivilegedFileIsLeft(t *testing.T) {
	p := newPool(t, Options{})
	dir := workspace(t)
	a, err := p.Run(context.Background(), request{Name: "make privileged files", Dir: dir})
	if err != nil || string(a.Result) != "null" {
		t.Errorf("it did %s, %v", a.Result, err)
	}
	files := 0
	err = fs.WalkDir(dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files != 4 {
		t.Errorf("there are %d files, %v", files, err)
	}
}

func TestFilesWithoutANameAreRefused(t *testing.T) {
	p := newPool(t, Options{})
	a, err := p.Run(context.Background(), request{Name: "make nameless files", Dir: workspace(t)})
	if err != nil || string(a.Result) != "null" {
		t.Errorf("it did %s, %v", a.Result, err)
	}
	a, err = p.Run(context.Background(), request{Name: "use a root", Dir: workspace(t)})
	if err != nil || string(a.Result) != "text" {
		t.Errorf("os.Root: %q, %v", a.Result, err)
	}
}

// TestAServerWithoutPrivilegesIsolates runs the tests of this file as a user that may make no
// mounts itself, so that helpers find folders by their names.
func TestAServerWithoutPrivilegesIsolates(t *testing.T) {
	if os.Geteuid() != 0 || testing.Short() {
		t.Skip("for root without -short: others run the tests without privileges already")
	}
	dir, err := os.MkdirTemp("/tmp", "sandbox")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const user = 65533 // not that of the helpers of a server that is root
	if err := os.Chown(dir, user, user); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^("+strings.Join([]string{
		"TestNothingOutsideIsSeen", "TestFilesOfAWorkspaceDoNotRun", "TestNoPrivilegedFileIsLeft",
		"TestFilesWithoutANameAreRefused", "TestGrantsAreHandedOver",
		"TestNetworkIsOnlyForWhoHasIt",
		"TestIsolatedCallsWorkInTheWorkspace", "TestHelpersFindFoldersByName",
		"TestEveryThreadIsConfined",
	}, "|")+")$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "GOTMPDIR=", "SANDBOX_TEST_NAMED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n--- PASS") != 9 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestHelpersFindFoldersByName(t *testing.T) {
	p := newPool(t, Options{Warm: 1, RequireMountNamespace: true})
	want := os.Getenv("SANDBOX_TEST_NAMED") != "" || os.Geteuid() != 0
	if !p.host.mounts || p.host.named != want {
		t.Errorf("the system is taken for %+v", p.host)
	}
}

// withoutMounts is the tag of a server that is started where there are no mount namespaces.
const withoutMounts = "without mounts"

func serveWithoutMounts() {
	fail := func(err error) {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	if err := os.WriteFile("/proc/sys/user/max_mnt_namespaces", []byte("0"), 0); err != nil {
		fail(err)
	}
	var missing *missingError
	p, err := startPool(Options{RequireMountNamespace: true})
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "mount namespaces: ") {
		fail(fmt.Errorf("a pool that requires them: %v, %w", p, err))
	}
	s, err := New(Options{Warm: 1, Workspaces: "workspaces"})
	if err != nil {
		fail(err)
	}
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	if err := s.Start(isolate.Start{Isolated: []string{"use a root"}, Logger: log}); err != nil {
		fail(err)
	}
	defer s.Close()
	for name, want := range map[string]string{
		"use a root": "text", "make privileged files": "null", "make nameless files": "null",
	} {
		call := func() (string, error) {
			client := isolate.Client{ID: name}
			ctx, leave := s.Enter(context.Background(), client)
			defer leave()
			result, err := s.Isolate(ctx, isolate.Call{Name: name})
			return string(result), err
		}
		if got, err := call(); err != nil || got != want {
			fail(fmt.Errorf("%s: %s, %w", name, got, err))
		}
	}
	fmt.Println("served")
}

// TestASystemWithoutMountNamespacesIsNamed starts a server in a user namespace that may have none.
func TestASystemWithoutMountNamespacesIsNamed(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SANDBOX_TEST_SERVER="+withoutMounts)
	const all = 65535
	uid, gid, size := os.Getuid(), os.Getgid(), 1
	if uid == 0 {
		size = all
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, Pdeathsig: syscall.SIGKILL,
		AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE}, GidMappingsEnableSetgroups: uid == 0,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: size}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: size}},
	}
	out, err := cmd.CombinedOutput()
	said := string(out)
	if err != nil || !strings.Contains(said, "served\n") ||
		!strings.Contains(said, "level=WARN") || !strings.Contains(said, "mount namespaces: ") {
		t.Errorf("%v\n%s", err, out)
	}
}
