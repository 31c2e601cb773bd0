// Package seal lets a run of mcpgen know that nothing has changed since one that found all in
// order, without asking the go command, which takes longer than all the rest.
//
// A seal is a digest over the content of everything that a run depends on: this program, the go
// command's version and settings, and every Go file, module file and generated file of the module and
// of the modules that it replaces by directories. What lies in GOROOT and in the module cache is taken to
// be what the go command's version and go.sum say: both are read-only by convention, and an edit
// there is not noticed. Times of files count for nothing.
//
// Seals are kept in the user's cache directory. A missing, torn or old one is no more than a run in full. They
// hold no authority: the generated test and mcpgen check never look at them.
package seal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// record is what is kept of a seal.
type record struct {
	Digest string   `json:"digest"`
	More   []string `json:"more,omitempty"` // further files that count, absolute
}

// Take looks at what a run in dir, or in the working directory, on the patterns depends on. It is nil where
// that cannot be known without the go command, as in a workspace, and nil has no use and does no harm.
func Take(ctx context.Context, dir string, patterns []string) *Seal {
	cache, err := os.UserCacheDir()
	if err != nil {
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
	text, err := os.ReadFile(s.path)
	if err != nil {
		return false
	}
	var r record
	if json.Unmarshal(text, &r) != nil {
		return false
	}
	digest, err := s.digest(r.More)
	return err == nil && digest == r.Digest
}

// Set keeps the seal after a run that found all in order, unless something has changed under its hands. The
// run has written some files and removed others; more are further files that it has read. A seal that
// cannot be kept is none.
func (s *Seal) Set(written map[string][]byte, removed, more []string) {
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
	digest, err := s.digest(more)
	if err != nil {
		return
	}
	text, err := json.Marshal(record{Digest: digest, More: more})
	if err != nil {
		return
	}
	keep(s.path, text)
}

// digest is that of all inputs.
func (s *Seal) digest(more []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, s.setting)
	for _, path := range slices.Sorted(maps.Keys(s.tree.files)) {
		fmt.Fprintln(sum, s.tree.files[path].line(path))
	}
	for _, path := range more {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, regular(content).line(path))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// keep writes a seal whole, and drops those that nobody has set for long.
func keep(path string, text []byte) {
	dir := filepath.Dir(path)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return
	}
	if os.MkdirAll(dir, 0o700) != nil {
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
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > kept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
