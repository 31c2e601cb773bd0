//go:build unix

package grant

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The second processes of tests are this binary, with their roles in the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("GRANT_TEST_AS") {
	case "swapper":
		swap(os.Args[1])
	case "printer":
		_ = json.NewEncoder(os.Stdout).Encode(os.Args)
	case "sleeper":
		fmt.Println("asleep")
		<-time.After(time.Hour)
	default:
		os.Exit(m.Run())
	}
}

// swap exchanges top/pub/d, and then top/pub/d/f, with one thing after another, as fast as it can:
// links to what is in the root and not granted, links out, FIFOs. In between each stands in its own
// place again. It ends with its standard input.
func swap(top string) {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	at := func(path string) string { return filepath.Join(top, path) }
	decoys := map[string][]string{
		"pub/d":   {"secret", "../outside", at("outside"), ""},
		"pub/d/f": {"g", "../secret/f", "../../outside/f", at("outside/f"), ""},
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		for place, targets := range decoys {
			decoy := at("spare/decoy")
			_ = os.Remove(decoy)
			if target := targets[i%len(targets)]; target != "" {
				_ = os.Symlink(target, decoy)
			} else {
				_ = syscall.Mkfifo(decoy, 0o600)
			}
			for range 500 {
				exchange(at(place), decoy)
				exchange(at(place), decoy)
			}
		}
	}
}

// races is how many times a file is opened in the race: GRANT_RACE, else 50,000, or 5,000 if short.
// It goes on until each outcome has been there.
func races() int {
	if n, err := strconv.Atoi(os.Getenv("GRANT_RACE")); err == nil {
		return n
	}
	if testing.Short() {
		return 5_000
	}
	return 50_000
}

func TestNothingOutsideIsOpenedWhileASecondProcessSwapsLinks(t *testing.T) {
	top := t.TempDir()
	for path, text := range map[string]string{"pub/d/f": "granted", "pub/d/g": "secret beside it",
		"pub/secret/f": "secret", "outside/f": "outside", "spare/x": ""} {
		path = filepath.Join(top, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := OpenRoots(map[string]string{"pub": filepath.Join(top, "pub")})
	if err != nil {
		t.Fatal(err)
	}
	defer roots.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	swapper := exec.Command(exe, top)
	swapper.Env = append(os.Environ(), "GRANT_TEST_AS=swapper", "GORACE=atexit_sleep_ms=0")
	stdin, err1 := swapper.StdinPipe()
	stdout, err2 := swapper.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if err := swapper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stdin.Close()
		_ = swapper.Wait()
	}()
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	d := &Decider{Set: mustSet(t, "file.read pub/d", "file.read pub/d/f", "file.write pub/d/f",
		"file.write pub/d/n*"), Roots: roots}
	var opened, created, refused, missing int
	for i, most := 0, races(); i < most || opened == 0 || created == 0 || refused == 0; i++ {
		path, want := "pub/d/f", openMode{Read: true}
		switch i % 4 {
		case 1:
			want = openMode{Read: true, Write: true}
		case 2:
			path, want = "pub/d/n"+strconv.Itoa(i), openMode{Write: true}
		case 3:
			path = "pub/d"
		}
		o, err := d.Open(t.Context(), path, want)
		var denied *Denied
		switch {
		case errors.As(err, &denied):
			refused++
			continue
		case err != nil:
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errChanging) &&
				!errors.Is(err, errKind) && !errors.Is(err, syscall.ENOTDIR) &&
				!errors.Is(err, syscall.EISDIR) {
				t.Fatalf("%s: %v", path, err)
			}
			missing++
			continue
		}
		switch {
		case o.Dir:
			names, err := o.File.Readdirnames(-1)
			for _, name := range names {
				if err != nil || name != "f" && name != "g" && !strings.HasPrefix(name, "n") {
					t.Fatalf("%q, %v in %s", names, err, o.Path)
				}
			}
			o.File.Close()
		case o.Created:
			created++
			if _, err := o.File.WriteString("new"); err != nil {
				t.Fatal(err)
			}
			o.File.Close()
			if path != "pub/d/f" { // which would be that of another folder, through a link
				_ = os.Remove(filepath.Join(top, path))
			}
		case want.Write && path != "pub/d/f":
			o.File.Close()
		default:
			opened++
			// one is made where f is away for a moment
			if text := content(t, o); text != "granted" && text != "new" && text != "" {
				t.Fatalf("%q was read as %s", text, o.Path)
			}
		}
	}
	t.Logf("opened %d, created %d, refused %d, not found %d", opened, created, refused, missing)
	for _, dir := range []string{"outside", "pub/secret"} {
		entries, err := os.ReadDir(filepath.Join(top, dir))
		if err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
	for path, want := range map[string]string{"outside/f": "outside", "pub/secret/f": "secret"} {
		if text, err := os.ReadFile(filepath.Join(top, path)); err != nil || string(text) != want {
			t.Errorf("%s holds %q, %v", path, text, err)
		}
	}
}
