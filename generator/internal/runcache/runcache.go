// Package runcache names the packages whose inputs have changed since a run without findings, so
// that mcpgen runs for those alone.
//
// It earns its place by one figure: of 200 packages with 4,000 tools, a run for one edited package
// takes 0.3 s, and a run for all of them 3 s. Without digests of the other packages, mcpgen would
// have to scan and print them, which takes most of this time. A check of 50 unchanged packages with
// 3 tools each takes less than 0.3 s without the cache, and never reads it.
//
// An entry holds digests of everything that a run depends on: the mcpgen program, the version and
// settings of the go command, and every Go file, C file, module file and generated file of the
// module and of the modules that it replaces by directories. Files in GOROOT and in the module
// cache are not read: the version of the go command and go.sum identify them. Both are read-only by
// convention. An edit there, or of a C header of the system, goes unnoticed. File times do not
// count.
//
// A package depends on its own directory and on those of the packages of the main module below it,
// each of which has a digest of its own. All other files share one: if it differs, every package
// runs again.
//
// Entries are in the user's cache directory, which only the user may write to. With CI set there
// are none: every run in CI is a full one. If an entry is missing, truncated or old, the run is a
// full one. Entries have no authority: the generated test and mcpgen check never read them.
package runcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// maxAge is how long an entry stays in the cache after it was last stored.
const maxAge = 30 * 24 * time.Hour

// Entry is the state of one run's inputs at the time of Find. It is not safe for concurrent use.
type Entry struct {
	path    string // of the cache file
	setting string // a digest of the program, the go command, the directory and the patterns
	tree    tree
	last    *record // of the last run without findings; nil if there is none to compare with
}

// record is what an entry keeps on the disk.
type record struct {
	Setting  string
	Packages []Package
	// Digests are those of the directories that Packages names. The empty name stands for all other
	// files, and for module files and C files in these directories: they decide about every
	// package.
	Digests map[string]string
}

// Package is one package of a run without findings.
type Package struct {
	Dir string // absolute
	// Uses are the directories of other packages that it depends on, as those that it imports.
	Uses []string
	// Unseen reports that the run has read other files as well, such as a schema by hand, which may
	// have any name, or that each run prints warnings. Such a package counts as changed.
	Unseen bool
	// Outline is the caller's: what checks across packages need.
	Outline json.RawMessage
}

// Find reads the inputs of a run in dir on the patterns; an empty dir is the working directory. It
// returns nil if this package cannot see all inputs, as in a workspace. The methods of a nil Entry
// do nothing.
func Find(ctx context.Context, dir string, patterns []string) *Entry {
	cache, err := os.UserCacheDir()
	if err != nil || os.Getenv("CI") != "" {
		return nil
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil
	}
	program := make(chan string, 1)
	go func() { program <- ownDigest() }()
	env, err := environment(ctx, dir)
	if err != nil {
		return nil
	}
	e := &Entry{}
	e.tree, err = modules(env["GOMOD"])
	own := <-program
	if err != nil || own == "" {
		return nil
	}
	e.setting = digest(fmt.Appendf(nil, "%q %q %q %q", own, dir, patterns, env))
	e.path = filepath.Join(cache, "mcpgen", digest(fmt.Appendf(nil, "%q %q", dir, patterns))[:32])
	e.last = e.read()
	return e
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// read returns what was stored for this setting, or nil.
func (e *Entry) read() *record {
	if !owned(filepath.Dir(e.path)) {
		return nil
	}
	text, err := readRegular(e.path)
	if err != nil {
		return nil
	}
	sum, content, _ := bytes.Cut(text, []byte("\n"))
	var r record
	if string(sum) != digest(content) || json.Unmarshal(content, &r) != nil ||
		r.Setting != e.setting {
		return nil
	}
	return &r
}

// Changed divides the packages of the last run without findings into those that have to run again
// and the others. It returns false if all patterns have to run again.
func (e *Entry) Changed() (again, rest []Package, known bool) {
	if e == nil || e.last == nil {
		return nil, nil, false
	}
	now := e.tree.record(e.last.Packages)
	differs := func(dir string) bool { return now.Digests[dir] != e.last.Digests[dir] }
	if differs("") {
		return nil, nil, false
	}
	for _, p := range e.last.Packages {
		if p.Unseen || differs(p.Dir) || slices.ContainsFunc(p.Uses, differs) {
			again = append(again, p)
		} else {
			rest = append(rest, p)
		}
	}
	return again, rest, true
}

// Store writes the entry after a run without findings, which has written some files and removed
// others. It writes nothing if anything else has changed during the run. An entry that cannot be
// written is dropped.
func (e *Entry) Store(packages []Package, written map[string][]byte, removed []string) {
	if e == nil {
		return
	}
	now, err := e.tree.again()
	if err != nil {
		return
	}
	for path, content := range written {
		e.tree.files[path] = regular(content)
	}
	for _, path := range removed {
		delete(e.tree.files, path)
	}
	if !maps.Equal(e.tree.files, now.files) {
		return
	}
	r := now.record(packages)
	r.Setting = e.setting
	content, err := json.Marshal(r)
	if err != nil {
		return
	}
	writeEntry(e.path, slices.Concat([]byte(digest(content)), []byte("\n"), content))
}

// record divides the tree by the directories of the packages.
func (t tree) record(packages []Package) record {
	sums := map[string]hash.Hash{"": sha256.New()}
	for _, p := range packages {
		sums[p.Dir] = sha256.New()
		for _, dir := range p.Uses {
			sums[dir] = sha256.New()
		}
	}
	for _, path := range slices.Sorted(maps.Keys(t.files)) {
		sum := sums[filepath.Dir(path)]
		if name := filepath.Base(path); sum == nil || ofModule(name) || isC(name) {
			sum = sums[""]
		}
		fmt.Fprintln(sum, t.files[path].line(path))
	}
	r := record{Packages: packages, Digests: map[string]string{}}
	for dir, sum := range sums {
		r.Digests[dir] = hex.EncodeToString(sum.Sum(nil))
	}
	return r
}

// entryName matches the file of an entry and the temporary file of one that is being written.
var entryName = regexp.MustCompile(`^([0-9a-f]{32}|\.entry[0-9]+)$`)

// owned reports whether dir is a directory, not a link to one, that only the user may write to.
func owned(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && private(info)
}

// writeEntry replaces the file of an entry atomically, and removes entries older than maxAge.
func writeEntry(path string, text []byte) {
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil || !owned(dir) {
		return
	}
	if old, err := readRegular(path); err == nil && bytes.Equal(old, text) {
		return
	}
	file, err := os.CreateTemp(dir, ".entry")
	if err != nil {
		return
	}
	_, err = file.Write(text)
	if file.Close() != nil || err != nil || os.Rename(file.Name(), path) != nil {
		_ = os.Remove(file.Name())
		return
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && entryName.MatchString(e.Name()) && info.Mode().IsRegular() &&
			time.Since(info.ModTime()) > maxAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
