// Package runcache lets mcpgen skip a run if no input has changed since a run without findings. It
// does not load packages, which takes longer than everything else.
//
// An entry is a digest of everything that a run depends on: the mcpgen program, the version and
// settings of the go command, and every Go file, module file and generated file of the module and
// of the modules that it replaces by directories. Files in GOROOT and in the module cache are not
// read: the version of the go command and go.sum identify them. Both are read-only by convention,
// and an edit there goes unnoticed. File times do not count.
//
// Entries are in the user's cache directory, which only the user may write to. With CI set there
// are none: every run in CI is a full one. If an entry is missing, truncated or old, the run is a
// full one. Entries have no authority: the generated test and mcpgen check never read them. A run
// that reads schemas by hand must not be stored: such a file may have any name, so that this
// package does not see it.
package runcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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
	setting string // the program, the go command, the directory and the patterns
	tree    tree
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
	e.setting = fmt.Sprintf("%q %q %q %q", own, dir, patterns, env)
	name := sha256.Sum256(fmt.Appendf(nil, "%q %q", dir, patterns))
	e.path = filepath.Join(cache, "mcpgen", hex.EncodeToString(name[:16]))
	return e
}

// Current reports whether a run without findings was stored for exactly these inputs.
func (e *Entry) Current() bool {
	if e == nil {
		return false
	}
	if !owned(filepath.Dir(e.path)) {
		return false
	}
	text, err := readRegular(e.path)
	return err == nil && string(text) == e.digest()
}

// Store writes the entry after a run without findings, which has written some files and removed
// others. It writes nothing if anything else has changed during the run. An entry that cannot be
// written is dropped.
func (e *Entry) Store(written map[string][]byte, removed []string) {
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
	writeEntry(e.path, []byte(e.digest()))
}

// digest is that of all inputs.
func (e *Entry) digest() string {
	sum := sha256.New()
	fmt.Fprintln(sum, e.setting)
	for _, path := range slices.Sorted(maps.Keys(e.tree.files)) {
		fmt.Fprintln(sum, e.tree.files[path].line(path))
	}
	return hex.EncodeToString(sum.Sum(nil))
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
