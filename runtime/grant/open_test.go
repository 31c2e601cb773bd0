//go:build unix

package grant

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tree is a folder with a root "pub", a root "box" and what no root holds, "outside".
func tree(t testing.TB) (string, *Roots) {
	t.Helper()
	top := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(top, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("pub/a.txt", "pub/a.txt")
	write("pub/docs/b.md", "pub/docs/b.md")
	write("pub/docs/dot.", "pub/docs/dot.")
	write("pub/caf\u00e9", "pub/caf\u00e9")
	write("pub/secret/key", "pub/secret/key")
	write("box/c.txt", "box/c.txt")
	write("outside/password", "outside/password")
	for link, target := range map[string]string{
		"pub/in": "docs/b.md", "pub/docs/up": "../a.txt", "pub/folder": "docs",
		"pub/key": "secret/key", "pub/docs/slash": "../docs/",
		"pub/out": "../outside/password", "pub/outdir": "../outside", "pub/abs": filepath.Join(top,
			"outside/password"),
		"pub/absin": filepath.Join(top, "pub/a.txt"), "pub/dangling": "docs/new",
		"pub/gone": "secret/gone", "pub/over": "docs/../../outside/password",
		"pub/back": "docs/../a.txt", "pub/loop": "loop", "pub/other": "../box/c.txt",
		"pub/top": ".", "pub/gonedir": "gone/../a.txt", "pub/up": "docs/..",
	} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(top, "pub/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	roots, err := OpenRoots(map[string]string{"pub": filepath.Join(top, "pub"),
		"box": filepath.Join(top, "box")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := roots.Close(); err != nil {
			t.Error(err)
		}
	})
	return top, roots
}

func content(t testing.TB, o *Opened) string {
	t.Helper()
	defer o.File.Close()
	text, err := io.ReadAll(o.File)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFilesAreDecidedOnByWhatIsOpened(t *testing.T) {
	_, roots := tree(t)
	const allowed, denied, missing, other = "", "denied", "missing", "other"
	for _, c := range []struct {
		grant, path string
		want        string // what is opened, or an outcome
	}{
		{"pub/**", "pub/a.txt", "pub/a.txt"},
		{"pub/**", "pub//a.txt", "pub/a.txt"},
		{"pub/**", "./pub/./a.txt", "pub/a.txt"},
		{"pub/*.txt", "pub/docs/up", "pub/a.txt"}, // the link is no folder of its own
		{"pub/docs/up", "pub/docs/up", denied},
		{"pub/docs/**", "pub/in", "pub/docs/b.md"},
		{"pub/in", "pub/in", denied},
		{"pub/docs/**", "pub/folder/b.md", "pub/docs/b.md"},
		{"pub/folder/**", "pub/folder/b.md", denied},
		{"pub/**", "pub/key", "pub/secret/key"},
		{"pub/*", "pub/key", denied},
		{"pub/**", "pub/back", "pub/a.txt"},
		{"pub/**", "pub/docs/slash/b.md", "pub/docs/b.md"},
		{"**", "pub/out", denied},
		{"**", "pub/outdir/password", denied},
		{"**", "pub/outdir/nothing", denied},
		{"**", "pub/abs", denied},
		{"**", "pub/absin", denied},
		{"**", "pub/over", denied},
		{"**", "pub/other", denied}, // out of one root into another is out
		{"**", "pub/loop", other},
		{"pub/*", "pub/loop", other},
		{"pub/docs", "pub/loop", denied},
		{"**", "pub/gonedir", denied},
		{"**", "pub/../outside/password", denied},
		{"**", "pub/docs/../a.txt", denied},
		{"**", "..", denied},
		{"**", "../outside/password", denied},
		{"**", "/etc/passwd", denied},
		{"**", "/pub/a.txt", denied},
		{"**", "", denied},
		{"**", "pub/a.txt\x00", denied},
		{"**", "pub/\x00/a.txt", denied},
		{"**", "pub/\xff", denied},
		{"**", strings.Repeat("a/", 3000), denied},
		{"**", `pub\a.txt`, missing},
		{"**", "pub/A.TXT", missing},
		{"**", "Pub/a.txt", missing},
		{"pub/*.txt", "pub/A.TXT", denied},
		{"**", "pub/a.txt.", missing},
		{"**", "pub/a.txt ", missing},
		{"**", "pub/docs/dot.", "pub/docs/dot."},
		{"**", "pub/docs/dot", missing},
		{"**", "pub/caf\u00e9", "pub/caf\u00e9"},
		{"**", "pub/cafe\u0301", missing},
		{"pub/caf\u00e9", "pub/cafe\u0301", denied},
		{"**", "pub/a.txt/", other},
		{"**", "pub/a.txt/.", other},
		{"**", "pub/a.txt/x", other},
		{"**", "pub/in/", other},
		{"pub/*", "pub/a.txt/x", denied},
		{"**", "pub/fifo", denied},
		{"**", "pub/fifo/x", other},
		{"pub/docs/**", "pub/a.txt", denied},
		{"pub/docs/**", "pub/nothing", denied}, // as one that exists
		{"pub/docs/**", "pub/docs/nothing", missing},
		{"pub/*", "pub/gone", denied}, // as if the link led to something
		{"pub/secret/*", "pub/gone", missing},
		{"pub/**", "box/c.txt", denied},
		{"**", "nothing/c.txt", missing},
		{"pub/**", "nothing/c.txt", denied},
		{"**", ".", missing},
		{"pub/**", ".", denied},
	} {
		set := mustSet(t, Permission{Type: FileRead, Resource: c.grant,
			Unrestricted: true}.String())
		d := &Decider{Set: set, Roots: roots}
		opened, err := d.Open(t.Context(), c.path, openMode{Read: true})
		var refused *Denied
		switch {
		case err == nil:
			if text := content(t, opened); text != c.want || opened.Path != text || opened.Dir ||
				opened.Created || opened.Grants[0].ID != "1" {
				t.Errorf("%s by %s: opened %q as %+v, want %q", c.path, c.grant, text, opened,
					c.want)
			}
			continue
		case errors.As(err, &refused):
			if c.want != denied || refused.Resource != c.path || refused.Kind != FileRead {
				t.Errorf("%q by %s: %v, want %q", c.path, c.grant, err, c.want)
			}
		case errors.Is(err, fs.ErrNotExist):
			if c.want != missing {
				t.Errorf("%q by %s: %v, want %q", c.path, c.grant, err, c.want)
			}
		default:
			if c.want != other {
				t.Errorf("%q by %s: %v, want %q", c.path, c.grant, err, c.want)
			}
		}
	}
}

func TestErrorsNameThePathAsTheClientDidAndNothingOfTheServer(t *testing.T) {
	top, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.read **", "file.write **"), Roots: roots}
	for _, path := range []string{"pub/nothing", "pub/out", "pub/abs", "pub/a.txt/x", "pub/loop",
		"pub/fifo", "pub/docs"} {
		_, err := d.Open(t.Context(), path, openMode{Read: true, Write: true})
		if err == nil {
			if path != "pub/nothing" {
				t.Errorf("%s was opened", path)
			}
			continue
		}
		if text := err.Error(); !strings.Contains(text, path) || strings.Contains(text, top) ||
			strings.Contains(text, "outside") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestDirectoriesAreOpenedForReadingOnly(t *testing.T) {
	_, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.read pub/**", "file.write pub/**"), Roots: roots}
	for path, want := range map[string]string{"pub": "pub", "pub/": "pub", "pub/docs": "pub/docs",
		"pub/folder/": "pub/docs", "pub/docs/slash": "pub/docs", "pub/top": "pub",
		"pub/top/top/docs": "pub/docs", "pub/up": "pub"} {
		opened, err := d.Open(t.Context(), path, openMode{Read: true})
		if err != nil {
			t.Error(err)
			continue
		}
		names, err := opened.File.Readdirnames(-1)
		if err != nil || len(names) == 0 || !opened.Dir || opened.Path != want {
			t.Errorf("%s: %+v, %v, %v", path, opened, names, err)
		}
		opened.File.Close()
		if _, err := d.Open(t.Context(), path, openMode{Read: true, Write: true}); !errors.Is(err,
			syscall.EISDIR) {
			t.Errorf("%s for writing: %v", path, err)
		}
	}
}

func TestTheTopMayBeARoot(t *testing.T) {
	top, _ := tree(t)
	roots, err := OpenRoots(map[string]string{".": filepath.Join(top, "pub")})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	d := &Decider{Set: mustSet(t, "file.read **"), Roots: roots}
	for path, want := range map[string]string{".": ".", "./": ".", "docs": "docs",
		"docs/b.md": "docs/b.md", "top": "."} {
		opened, err := d.Open(t.Context(), path, openMode{Read: true})
		if err != nil || opened.Path != want {
			t.Errorf("%s: %+v, %v", path, opened, err)
			continue
		}
		opened.File.Close()
	}
	if _, err := d.Open(t.Context(), "out", openMode{Read: true}); err == nil {
		t.Error("a link out was followed")
	}
}

func TestFilesForWritingKeepWhatIsInThemAndAreCreatedInTheDecidedFolder(t *testing.T) {
	top, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.write pub/docs/*", "file.write pub/a.txt",
		"file.read pub/docs/both"), Roots: roots}
	for _, c := range []struct {
		path, want string
		created    bool
		read       bool
	}{
		{"pub/a.txt", "pub/a.txt", false, false},
		{"pub/docs/fresh", "pub/docs/fresh", true, false},
		{"pub/docs/fresh", "pub/docs/fresh", false, false},
		{"pub/dangling", "pub/docs/new", true, false},
		{"pub/folder/more", "pub/docs/more", true, false},
		{"pub/docs/both", "pub/docs/both", true, true},
	} {
		opened, err := d.Open(t.Context(), c.path, openMode{Write: true, Read: c.read})
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if opened.Path != c.want || opened.Created != c.created || len(opened.Grants) != 1+
			map[bool]int{true: 1}[c.read] {
			t.Errorf("%s: %+v", c.path, opened)
		}
		if _, err := opened.File.Read(make([]byte, 1)); (err == nil || err == io.EOF) != c.read {
			t.Errorf("%s: reading what was opened for writing: %v", c.path, err)
		}
		if _, err := opened.File.WriteAt([]byte("X"), 0); err != nil {
			t.Error(err)
		}
		opened.File.Close()
		text, err := os.ReadFile(filepath.Join(top, c.want))
		if want := map[bool]string{true: "X",
			false: "Xub/a.txt"}[c.want != "pub/a.txt"]; err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", c.want, text, err)
		}
	}
	info, err := os.Stat(filepath.Join(top, "pub/docs/fresh"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("created as %v, %v", info.Mode(), err)
	}
	for _, path := range []string{
		"pub/fresh", "pub/secret/x", "pub/gone", "pub/outdir/x", "pub/out", "box/x", "nothing/x",
		"pub/docs/x/y", "pub/docs/x/", "pub/docs/x.", "pub/docs/x ", "pub/gone/x", "pub/docs",
		"pub", ".",
		"pub/docs/only-written",
	} {
		want := openMode{Write: true, Read: path == "pub/docs/only-written"}
		if opened, err := d.Open(t.Context(), path, want); err == nil {
			t.Errorf("%s was opened: %+v", path, opened)
		}
	}
	for _, path := range []string{"pub/fresh", "pub/secret/x", "pub/secret/gone", "outside/x",
		"box/x", "pub/docs/x", "pub/docs/x.", "pub/docs/only-written"} {
		if _, err := os.Lstat(filepath.Join(top, path)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", path, err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(top, "outside/password")); err != nil ||
		string(text) != "outside/password" {
		t.Errorf("what is outside was written: %q, %v", text, err)
	}
}

func TestWhatCannotBeWrittenOrIsNotWantedErrs(t *testing.T) {
	top, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.read **", "file.write **"), Roots: roots}
	if _, err := d.Open(t.Context(), "pub/a.txt", openMode{}); err == nil ||
		!strings.Contains(err.Error(), "grant: no access requested for") {
		t.Errorf("nothing wanted: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Open(ctx, "pub/a.txt", openMode{Read: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if _, err := (&Decider{Set: d.Set}).Open(t.Context(), "pub/a.txt",
		openMode{Read: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without roots: %v", err)
	}
	long := "pub/" + strings.Repeat("n", 300)
	for _, want := range []openMode{{Read: true}, {Write: true}} {
		if _, err := d.Open(t.Context(), long, want); !errors.Is(err, syscall.ENAMETOOLONG) {
			t.Errorf("a name that is too long: %v", err)
		}
	}
	if os.Geteuid() == 0 {
		t.Log("root may read everything: what others may not is not tried")
		return
	}
	for _, path := range []string{"pub/a.txt", "pub/docs"} {
		if err := os.Chmod(filepath.Join(top, path), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(filepath.Join(top, "pub/docs"), 0o755)
	for _, path := range []string{"pub/a.txt", "pub/docs/b.md", "pub/docs"} {
		if _, err := d.Open(t.Context(), path, openMode{Read: true}); !errors.Is(err,
			fs.ErrPermission) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestExpiredGrantsOfFilesSaySoWhetherTheFileExistsOrNot(t *testing.T) {
	_, roots := tree(t)
	set, err := NewSet(Grant{ID: "1", Permission: Permission{Type: FileRead, Resource: "pub/**"},
		Expires: noon})
	if err != nil {
		t.Fatal(err)
	}
	d := &Decider{Set: set, Roots: roots, Now: func() time.Time { return noon }}
	for _, path := range []string{"pub/a.txt", "pub/nothing", "pub/docs", "pub/fifo", "pub/gone",
		"pub/key"} {
		var denied *Denied
		if _, err := d.Open(t.Context(), path, openMode{Read: true}); !errors.As(err, &denied) ||
			denied.Cause != HasExpired {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSpellingsThatADirectoryDoesNotHaveAreFound(t *testing.T) {
	top, _ := tree(t)
	root, err := os.OpenRoot(filepath.Join(top, "pub"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.Link(filepath.Join(top, "pub/a.txt"),
		filepath.Join(top, "pub/A.TXT")); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]string{"zZ": "Zz", "aA": "Aa"} {
		err := os.WriteFile(filepath.Join(top, "pub", name), nil, 0o600)
		if err := errors.Join(err, os.Link(filepath.Join(top, "pub", name),
			filepath.Join(top, "pub", other))); err != nil {
			t.Fatal(err)
		}
	}
	info := func(name string) os.FileInfo {
		is, err := root.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, c := range []struct {
		name, is string
		goos     string
		want     bool
	}{
		{"a.txt", "a.txt", "linux", true}, // the other case is the same file, here by a hard link
		{"docs", "docs", "linux", false},
		{"1.2", "docs", "linux", false},
		{"zZ", "zZ", "linux", true}, {"aA", "aA", "linux", true},
		{"docs", "docs", "darwin", true},
		{"docs", "docs", "windows", true},
		{"DOCUME~1", "docs", "linux", true},
		{"docs.", "docs", "linux", true},
		{"docs ", "docs", "linux", true},
		{"caf\u00e9", "caf\u00e9", "linux", true},
	} {
		if got := needsListing(root, c.name, info(c.is), c.goos); got != c.want {
			t.Errorf("%s on %s: %v", c.name, c.goos, got)
		}
	}
	for name, want := range map[string]error{"a.txt": nil, "A.TXT": nil, "A.txt": errSpelling,
		"caf\u00e9": nil, "cafe\u0301": errSpelling} {
		if err := listed(root, name); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := sameName(root, "a.txt", info("docs")); !errors.Is(err, errSwapped) {
		t.Errorf("another file: %v", err)
	}
	if err := sameName(root, "in", info("in")); !errors.Is(err, errSwapped) {
		t.Errorf("a link to the file: %v", err)
	}
	if err := sameName(root, "nothing", info("docs")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	root.Close()
	if err := listed(root, "a.txt"); err == nil {
		t.Error("a closed root was listed")
	}
	if runtime.GOOS == "linux" && nonblock == 0 {
		t.Error("a FIFO would block")
	}
}

func TestPermissionsThatNameNoRootAreFound(t *testing.T) {
	names := []string{"files", "public"}
	for line, want := range map[string]string{
		"file.read pubic/**": "pubic", "file.write pubic": "pubic", `file.read p\u*/a`: "",
		"file.read public/**": "", "file.read public": "", `file.read \public/x`: "",
		"file.read **": "", "file.read */x": "", "file.read p*/x": "", "file.read .": "",
		"queue.push pubic/x": "", "net.connect pubic": "",
	} {
		p, err := Parse(line + " restricted")
		if err != nil {
			t.Fatal(err)
		}
		if got := p.MissingRoot(names); got != want {
			t.Errorf("%s: %q", line, got)
		}
		if got := p.MissingRoot(nil) + p.MissingRoot([]string{"."}); got != "" {
			t.Errorf("%s: %q", line, got)
		}
	}
	if got := (Permission{Type: FileRead, Resource: "/etc"}).MissingRoot(names); got != "" {
		t.Errorf("what is no pattern needs %q", got)
	}
}

func TestRootsAreNamedPlainly(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []map[string]string{
		{"": dir}, {".x": dir}, {"..": dir}, {"a/b": dir}, {"a*": dir}, {"é": dir}, {"a b": dir},
		{".": dir, "a": dir}, {"a": filepath.Join(dir, "nothing")},
	} {
		if _, err := OpenRoots(bad); err == nil || !strings.Contains(err.Error(), "root ") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	roots, err := OpenRoots(map[string]string{"b": dir, "a": dir})
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	more, err := roots.With("work", own)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(more.Names(), " "); got != "a b work" ||
		strings.Join(roots.Names(), " ") != "a b" || (*Roots)(nil).Names() != nil {
		t.Errorf("names %s", got)
	}
	for _, name := range []string{"a", ".", "x/y"} {
		if _, err := roots.With(name, own); err == nil {
			t.Errorf("%q was added", name)
		}
	}
	if _, err := (*Roots)(nil).With(".", own); err != nil {
		t.Error(err)
	}
	if err := more.Close(); err != nil {
		t.Error(err)
	}
	d := &Decider{Set: mustSet(t, "file.write **"), Roots: more}
	opened, err := d.Open(t.Context(), "work/x", openMode{Write: true, Mode: 0o644})
	if err != nil {
		t.Fatal(err)
	}
	opened.File.Close()
	for range 2 {
		if err := roots.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "nothing")} {
		if _, found, err := roots.Holding(path); found || err == nil {
			t.Errorf("%s is found in closed roots: %v", path, err)
		}
	}
	if _, err := d.Open(t.Context(), "a/x", openMode{Write: true}); err == nil {
		t.Error("a closed root was opened")
	}
}

// TestNoDescriptorIsLeft counts the open descriptors before and after.
func TestNoDescriptorIsLeft(t *testing.T) {
	_, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.read pub/**", "file.write pub/docs/*"), Roots: roots}
	open := func() (n int) {
		for fd := range 1024 {
			if syscall.Fstat(fd, new(syscall.Stat_t)) == nil {
				n++
			}
		}
		return n
	}
	before := open()
	for range 20 {
		for _, path := range []string{"pub/a.txt", "pub/in", "pub/up", "pub/docs/slash", "pub/out",
			"pub/fifo", "pub/nothing", "box/c.txt", "pub/docs/b.md", "pub/a.txt/x",
			"pub/secret/x"} {
			for _, want := range []openMode{{Read: true}, {Write: true}, {Read: true, Write: true}} {
				if opened, err := d.Open(t.Context(), path, want); err == nil {
					opened.File.Close()
				}
			}
		}
	}
	if after := open(); after > before {
		t.Errorf("%d descriptors were open, and %d are", before, after)
	}
}

// TestWhatWasSwappedSinceTheLastLookIsNotOpened takes each step on something else than the look
// before it saw.
func TestWhatWasSwappedSinceTheLastLookIsNotOpened(t *testing.T) {
	top, roots := tree(t)
	if err := os.Symlink("secret", filepath.Join(top, "pub/linked")); err != nil {
		t.Fatal(err)
	}
	root, _ := roots.at("pub")
	d := &Decider{Set: mustSet(t, "file.read **", "file.write **"), Roots: roots}
	for _, c := range []struct {
		step string
		name string
		want openMode
	}{
		{"enter", "fifo", openMode{Read: true}}, {"enter", "a.txt", openMode{Read: true}},
		{"enter", "linked", openMode{Read: true}}, {"enter", "outdir", openMode{Read: true}},
		{"enter", "nothing", openMode{Read: true}},
		{"openFile", "fifo", openMode{Read: true}}, {"openFile", "fifo", openMode{Write: true}},
		{"openFile", "fifo", openMode{Read: true, Write: true}},
		{"openFile", "in", openMode{Read: true}}, {"openFile", "key", openMode{Write: true}},
		{"openFile", "out", openMode{Read: true}}, {"openFile", "docs", openMode{Read: true}},
		{"openFile", "nothing", openMode{Write: true}},
		{"create", "fifo", openMode{Write: true}}, {"create", "dangling", openMode{Write: true}},
		{"create", "out", openMode{Write: true}}, {"create", "a.txt", openMode{Write: true}},
		{"create", "docs", openMode{Write: true}},
		{"follow", "a.txt", openMode{Read: true}}, {"follow", "nothing", openMode{Read: true}},
	} {
		w := &walk{decider: d, want: c.want, named: "pub/" + c.name, top: []string{"pub"},
			pending: []string{c.name}, dirs: []*os.Root{root}}
		step := map[string]func() (*Opened, error){
			"enter":    func() (*Opened, error) { return nil, w.enter(root, c.name) },
			"openFile": func() (*Opened, error) { return w.openFile(root, c.name) },
			"create":   func() (*Opened, error) { return w.create(root, c.name) },
			"follow":   func() (*Opened, error) { return nil, w.follow(root, c.name) },
		}[c.step]
		// The first looks again; the one that is one too many gives up.
		if opened, err := step(); opened != nil || err != nil || w.tries != 1 || len(w.names) > 0 ||
			len(w.pending) != 1 {
			t.Errorf("%s %s: %+v, %v, at %q after %d tries", c.step, c.name, opened, err, w.names,
				w.tries)
		}
		w.tries = maxTries
		if opened, err := step(); opened != nil || err == nil {
			t.Errorf("%s %s: %+v, %v after too many tries", c.step, c.name, opened, err)
		}
		w.close()
	}
	for _, name := range []string{"dangling", "docs/new"} {
		if _, err := os.Stat(filepath.Join(top, "pub", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s was made: %v", name, err)
		}
	}
	w := &walk{decider: d, want: openMode{Read: true}, named: "pub/a.txt", top: []string{"pub"},
		pending: []string{"a.txt"}, dirs: []*os.Root{root}}
	if err := w.again(errSpelling); !errors.Is(err, errSpelling) || w.tries != 0 {
		t.Errorf("another spelling is looked for again: %v", err)
	}
	w.tries = maxTries
	_, noLink := os.Readlink(filepath.Join(top, "pub", "a.txt"))
	for _, swapped := range []error{errSwapped, errKind, escaping(t), noLink, syscall.ELOOP} {
		if err := w.again(swapped); !errors.Is(err, errChanging) {
			t.Errorf("what kept changing: %v", err)
		}
	}
	if err := w.again(&fs.PathError{Op: "openat", Path: "a.txt",
		Err: syscall.EMFILE}); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("what the system says: %v", err)
	}
}

// escaping is the error of os.Root for a link that leads out of it.
func escaping(t *testing.T) error {
	dir := t.TempDir()
	if err := os.Symlink("..", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, err = root.Open("out")
	if err == nil {
		t.Fatal("it led out")
	}
	return err
}

func TestHardLinksAreRefusedIfRootsSaySo(t *testing.T) {
	top, roots := tree(t)
	for name, of := range map[string]string{"pub/second": "outside/password",
		"pub/docs/twin.md": "pub/docs/b.md"} {
		if err := os.Link(filepath.Join(top, of), filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	set := mustSet(t, "file.read pub/**", "file.write pub/**")
	open := func(path string, want openMode) error {
		own, err := os.OpenRoot(filepath.Join(top, "box"))
		if err != nil {
			t.Fatal(err)
		}
		defer own.Close()
		more, err := roots.With("own", own)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := (&Decider{Set: set, Roots: more}).Open(t.Context(), path, want)
		if err == nil {
			opened.File.Close()
		}
		return err
	}
	linked := []string{"pub/second", "pub/docs/twin.md", "pub/docs/b.md", "pub/in",
		"pub/folder/twin.md"}
	for _, path := range linked {
		if err := open(path, openMode{Read: true}); err != nil {
			t.Errorf("%s without the option: %v", path, err)
		}
	}
	roots.RefuseHardLinks = true
	for _, want := range []openMode{{Read: true}, {Write: true}, {Read: true, Write: true}} {
		for _, path := range linked {
			err := open(path, want)
			refused, ok := errors.AsType[*Denied](err)
			if !ok || refused.Cause != Special || refused.Resource != path ||
				!strings.Contains(err.Error(), "hard link") {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, path := range []string{"pub/a.txt", "pub/secret/key", "pub/new"} {
			if err := open(path, want); err != nil && path != "pub/new" {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	// each folder below it is a link to it
	if err := open("pub/docs", openMode{Read: true}); err != nil {
		t.Errorf("a folder: %v", err)
	}
	if err := open("box/c.txt", openMode{Read: true}); err == nil {
		t.Error("what no grant holds was opened")
	}
}
