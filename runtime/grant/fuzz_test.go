//go:build unix

package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// forest is a random tree in the real file system: "pub" is the root, "outside" beside it. Each
// file holds its true path.
type forest struct {
	top   string
	roots *Roots
}

var forestNames = []string{"a", "b", "ab", "c", "A", "é", "a b", "b.", "*", "~1"}

// name is one of the names, the first ones more often.
func name(r *rand.Rand) string {
	return forestNames[min(r.IntN(len(forestNames)), r.IntN(len(forestNames)))]
}

func plant(t testing.TB, dir string, seed uint64) *forest {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	f := &forest{top: dir}
	folders := []string{"pub", "outside"}
	must := func(err error) {
		t.Helper()
		if err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(dir, "pub"), 0o755))
	must(os.Mkdir(filepath.Join(dir, "outside"), 0o755))
	for range 60 {
		path := folders[r.IntN(len(folders))] + "/" + name(r)
		full := filepath.Join(dir, path)
		if _, err := os.Lstat(full); err == nil {
			continue
		}
		switch r.IntN(6) {
		case 0, 1:
			must(os.Mkdir(full, 0o755))
			folders = append(folders, path)
		case 2, 3:
			must(os.WriteFile(full, []byte(path), 0o644))
		default:
			must(os.Symlink(target(r, dir), full))
		}
	}
	roots, err := OpenRoots(map[string]string{"pub": filepath.Join(dir, "pub")})
	must(err)
	f.roots = roots
	t.Cleanup(func() { roots.Close() })
	return f
}

func target(r *rand.Rand, dir string) string {
	switch r.IntN(12) {
	case 0:
		return filepath.Join(dir, "outside", name(r))
	case 1:
		return strings.Repeat("../", 1+r.IntN(4)) + "outside"
	case 2:
		return "/"
	}
	var names []string
	for range 1 + r.IntN(3) {
		names = append(names, append(forestNames, "..", "..", ".", "")[r.IntN(len(forestNames)+4)])
	}
	if out := strings.TrimLeft(strings.Join(names, "/"), "/"); out != "" {
		return out
	}
	return "."
}

// request is a path of a client, likely to name something.
func request(r *rand.Rand) string {
	if r.IntN(50) == 0 {
		return []string{"/pub/a", "..", "pub/../outside", "", ".", "pub/a\x00", "/",
			"pub/\xff"}[r.IntN(8)]
	}
	out := "pub"
	for range r.IntN(5) {
		out += "/" + name(r)
		switch r.IntN(30) {
		case 0:
			out += "/.."
		case 1:
			out += "/"
		case 2:
			out += "/."
		}
	}
	return out
}

func randomPattern(r *rand.Rand) string {
	signs := []string{"*", "?", "a*", "*b", "[ab]", "[^a]", "[a-c]*", "??", "**", "**", "a", "b",
		"ab", "é", "a b", "c", "A", "b.", `\*`, "pub", "?*"}
	if r.IntN(4) == 0 {
		return "pub/**"
	}
	out := []string{"pub"}
	if r.IntN(4) == 0 {
		out = []string{signs[r.IntN(len(signs))]}
	}
	for range r.IntN(4) {
		if s := signs[r.IntN(len(signs))]; s != "**" || out[len(out)-1] != "**" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "/")
}

// try opens one path under one pattern, and holds it against the file system and the slow matcher.
func (f *forest) try(t testing.TB, pattern, path string, slow *regexp.Regexp,
	set *Set) (opened bool) {
	d := &Decider{Set: set, Roots: f.roots}
	o, err := d.Open(t.Context(), path, openMode{Read: true})
	if err == nil {
		defer o.File.Close()
		if !slow.MatchString(o.Path + "/") {
			t.Fatalf("%q under %s opened %s, which does not match", path, pattern, o.Path)
		}
		is, err := o.File.Stat()
		if err != nil || !is.Mode().IsRegular() && !is.IsDir() || is.IsDir() != o.Dir {
			t.Fatalf("%q under %s opened %v, %v", path, pattern, is, err)
		}
		at, err := os.Lstat(filepath.Join(f.top, o.Path))
		if err != nil || !os.SameFile(at, is) {
			t.Fatalf("%q under %s opened something else than %s: %v", path, pattern, o.Path, err)
		}
		if real, err := filepath.EvalSymlinks(filepath.Join(f.top, o.Path)); err != nil ||
			real != filepath.Join(f.top, o.Path) {
			t.Fatalf("%s is no true path: %s, %v", o.Path, real, err)
		}
		if !o.Dir {
			text := make([]byte, 256)
			n, _ := o.File.Read(text)
			if string(text[:n]) != o.Path {
				t.Fatalf("%q under %s read %q as %s", path, pattern, text[:n], o.Path)
			}
		}
	}
	// The other way round: what leads to something granted, without "..", is opened.
	if err != nil && utf8.ValidString(path) && !strings.ContainsRune(path, 0) &&
		strings.HasPrefix(path, "pub") && !strings.Contains(path, "..") {
		real, evalErr := filepath.EvalSymlinks(filepath.Join(f.top, path))
		inside, relErr := filepath.Rel(f.top, real)
		if evalErr == nil && relErr == nil && strings.HasPrefix(inside+"/", "pub/") &&
			slow.MatchString(inside+"/") {
			if is, statErr := os.Stat(real); statErr != nil || !strings.HasSuffix(path, "/") &&
				!strings.HasSuffix(path, "/.") || is.IsDir() {
				if !f.leaves(path) {
					t.Fatalf("%q under %s leads to %s and was not opened: %v", path, pattern,
						inside, err)
				}
			}
		}
	}
	return err == nil
}

// leaves reports whether a way goes through something outside the root, if only to come back.
func (f *forest) leaves(path string) bool {
	root, err := os.OpenRoot(filepath.Join(f.top, "pub"))
	if err != nil {
		return true
	}
	defer root.Close()
	_, err = root.Stat(strings.TrimPrefix(strings.TrimPrefix(path, "pub"), "/") + "/.")
	return err != nil && strings.Contains(err.Error(), "escapes")
}

func tries(t testing.TB, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("GRANT_TRIES")); err == nil {
		return n
	}
	if testing.Short() {
		return usual / 10
	}
	return usual
}

// TestNothingIsOpenedButWhatMatches tries random paths under random patterns in random trees.
// GRANT_TRIES is their number; GRANT_SEED is the first one.
func TestNothingIsOpenedButWhatMatches(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("GRANT_SEED"), 10, 64)
	r := rand.New(rand.NewPCG(seed, 2))
	var f *forest
	opened := 0
	n := tries(t, 10_000)
	for i := 0; i < n; {
		if i%20_000 == 0 || r.IntN(200) == 0 {
			if f != nil {
				f.roots.Close()
				os.RemoveAll(f.top)
			}
			dir, err := os.MkdirTemp(t.TempDir(), "")
			if err != nil {
				t.Fatal(err)
			}
			f = plant(t, dir, r.Uint64())
		}
		pattern := randomPattern(r)
		slow := slowPath(pattern)
		set := mustSet(t, Permission{Type: FileRead, Resource: pattern,
			Unrestricted: true}.String())
		for range 50 {
			if f.try(t, pattern, request(r), slow, set) {
				opened++
			}
			i++
		}
	}
	t.Logf("%d of %d were opened", opened, n)
	if opened == 0 {
		t.Error("nothing was opened")
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(uint8(0), "pub/**", "pub/a/../b")
	f.Add(uint8(1), "pub/[^a]/*", "pub//b/./c")
	f.Add(uint8(2), "**/a*", "pub/b/a b/")
	var forests [16]*forest
	for i := range forests {
		forests[i] = plant(f, f.TempDir(), uint64(i))
	}
	f.Fuzz(func(t *testing.T, tree uint8, pattern, path string) {
		p := Permission{Type: FileRead, Resource: pattern}
		set, err := NewSet(Grant{Permission: p})
		if err != nil {
			return
		}
		tree %= 16
		o, err := (&Decider{Set: set, Roots: forests[tree].roots}).Open(t.Context(), path,
			openMode{Read: true})
		if err != nil {
			return
		}
		defer o.File.Close()
		is, err1 := o.File.Stat()
		at, err2 := os.Lstat(filepath.Join(forests[tree].top, o.Path))
		if err1 != nil || err2 != nil || !os.SameFile(is, at) || !strings.HasPrefix(o.Path+"/",
			"pub/") || !matches(t, p, o.Path, nil) {
			t.Fatalf("%q under %q opened %+v: %v, %v", path, pattern, o, err1, err2)
		}
	})
}

// slowCommand is the matcher of commands as a regular expression for each word, made by another
// reading of the pattern.
func slowCommand(words []string) func(argv []string) bool {
	rest := len(words) > 0 && words[len(words)-1] == "**"
	if rest {
		words = words[:len(words)-1]
	}
	var slow []*regexp.Regexp
	for i, w := range words {
		pattern := slowGlob(w, `[^/]`)
		if i > 0 {
			pattern = strings.ReplaceAll(slowGlob(w, `.`), `[^/`, `[^`)
		}
		slow = append(slow, regexp.MustCompile(`(?s)^`+pattern+`$`))
	}
	return func(argv []string) bool {
		if len(argv) < len(slow) || len(argv) > len(slow) && !rest {
			return false
		}
		for i := range slow {
			if !slow[i].MatchString(argv[i]) {
				return false
			}
		}
		return true
	}
}

var (
	commandWords = []string{"*", "a", "a*", "?", "[ab]*", "**", "a b", "", ";", "$(id)", "[^-]*",
		`\*`, "--x=*", "é"}
	commandArgs = []string{"a", "ab", "", "a b", ";", "rm", "-rf", "$(id)", "`id`", "|", "*",
		"--x=1", "é", "a\nb", "'", `"`, "b", "&&"}
)

// TestCommandsAreRunAsTheyWereDecidedOn matches random argvs with random patterns, and runs a
// sample of those that are allowed, by a program that prints what it was given.
func TestCommandsAreRunAsTheyWereDecidedOn(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(exe)+":"+os.Getenv("PATH"))
	seed, _ := strconv.ParseUint(os.Getenv("GRANT_SEED"), 10, 64)
	r := rand.New(rand.NewPCG(seed, 3))
	programs := []string{exe, filepath.Base(exe), "git", "/bin/git"}
	allowed, run := 0, 0
	n := tries(t, 20_000)
	for i := 0; i < n; {
		words := []string{append(programs, "*", filepath.Dir(exe)+"/*")[r.IntN(len(programs)+2)]}
		for range r.IntN(4) {
			words = append(words, commandWords[r.IntN(len(commandWords))])
		}
		text, err := json.Marshal(words)
		if err != nil {
			t.Fatal(err)
		}
		p := Permission{Type: SystemCommand, Resource: string(text), Unrestricted: true}
		set, err := NewSet(Grant{ID: "1", Permission: p})
		if err != nil {
			i++
			continue
		}
		slow := slowCommand(words)
		for range 50 {
			i++
			argv := []string{programs[r.IntN(len(programs))]}
			for range r.IntN(4) {
				argv = append(argv, commandArgs[r.IntN(len(commandArgs))])
			}
			d := &Decider{Set: set}
			b, err := d.Argv(argv)
			if want := slow(argv); (err == nil) != want {
				t.Fatalf("%q under %s: %v", argv, text, err)
			}
			if err != nil {
				continue
			}
			allowed++
			if !strings.HasSuffix(argv[0], filepath.Base(exe)) || run >= 50 {
				continue
			}
			run++
			cmd, err := Command(With(t.Context(), called("argv", b)), "argv")
			if err != nil {
				t.Fatal(err)
			}
			cmd.Env = append(cmd.Env, "GRANT_TEST_AS=printer", "GORACE=atexit_sleep_ms=0")
			out, err := cmd.Output()
			var got []string
			if err := errors.Join(err, json.Unmarshal(out, &got)); err != nil ||
				fmt.Sprintf("%q", got) != fmt.Sprintf("%q", argv) {
				t.Fatalf("%q ran as %q, %v", argv, got, err)
			}
		}
	}
	t.Logf("%d of %d were allowed, %d run", allowed, n, run)
	if allowed == 0 || run == 0 {
		t.Error("nothing was run")
	}
}
