// Package seal lets a run of mcpgen know that nothing has changed since one that found all in
// order, without asking the go command, which takes longer than all the rest.
//
// A seal is a digest over the content of everything that a run depends on: this program, the go
// command's version and settings, and every Go file, module file and generated file of the module and
// of the modules that it replaces by directories. What lies in GOROOT and in the module cache is taken to
// be what the go command's version and go.sum say: both are read-only by convention, and an edit
// there is not noticed. Times of files count for nothing.
//
// Seals are kept in the user's cache directory, where nobody else may write, and not in CI, which is to look for
// itself. A missing, torn or old one is no more than a run in full. They hold no authority: the generated test
// and mcpgen check never look at them. A run that reads schemas by hand is not to be sealed: their files may have
// any name, and are not seen here.
package seal

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

// kept is how long a seal is kept that nobody sets again.
const kept = 30 * 24 * time.Hour

// Seal is the state of one run's inputs as they were when it was taken. It is not safe for concurrent use.
type Seal struct {
	path    string // where it is kept
	setting string // the program, the go command and the question
	tree    tree
}

// Take looks at what a run in dir, or in the working directory, on the patterns depends on. It is nil where
// that cannot be known without the go command, as in a workspace, and nil has no use and does no harm.
func Take(ctx context.Context, dir string, patterns []string) *Seal {
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
	s := &Seal{}
	s.tree, err = modules(env["GOMOD"])
	own := <-program
	if err != nil || own == "" {
		return nil
	}
	s.setting = fmt.Sprintf("%q %q %q %q", own, dir, patterns, env)
	name := sha256.Sum256(fmt.Appendf(nil, "%q %q", dir, patterns))
	s.path = filepath.Join(cache, "mcpgen", hex.EncodeToString(name[:16]))
	return s
}

// Holds reports whether a run that found all in order saw what there is now, byte for byte.
func (s *Seal) Holds() bool {
	if s == nil {
		return false
	}
	if !owned(filepath.Dir(s.path)) {
		return false
	}
	text, err := readRegular(s.path)
	return err == nil && string(text) == s.digest()
}

// Set keeps the seal after a run that found all in order, unless something has changed under its hands. The
// run has written some files and removed others. A seal that cannot be kept is none.
func (s *Seal) Set(written map[string][]byte, removed []string) {
	if s == nil {
		return
	}
	now, err := s.tree.again()
	if err != nil {
		return
	}
	for path, content := range written {
		s.tree.files[path] = regular(content)
	}
	for _, path := range removed {
		delete(s.tree.files, path)
	}
	if !maps.Equal(s.tree.files, now.files) {
		return
	}
	keep(s.path, []byte(s.digest()))
}

// digest is that of all inputs.
func (s *Seal) digest() string {
	sum := sha256.New()
	fmt.Fprintln(sum, s.setting)
	for _, path := range slices.Sorted(maps.Keys(s.tree.files)) {
		fmt.Fprintln(sum, s.tree.files[path].line(path))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// ownName is that of a seal, and of one that is being written.
var ownName = regexp.MustCompile(`^([0-9a-f]{32}|\.seal[0-9]+)$`)

// owned reports whether dir is a directory, not a link to one, in which nobody but the user may write.
func owned(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.IsDir() && private(info)
}

// keep writes a seal whole, and drops those that nobody has set for long.
func keep(path string, text []byte) {
	dir := filepath.Dir(path)
	if os.MkdirAll(dir, 0o700) != nil || !owned(dir) {
		return
	}
	if old, err := readRegular(path); err == nil && bytes.Equal(old, text) {
		return
	}
	file, err := os.CreateTemp(dir, ".seal")
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
		if info, err := e.Info(); err == nil && ownName.MatchString(e.Name()) && info.Mode().IsRegular() && time.Since(info.ModTime()) > kept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
