// Package sourcehash detects changes of the source that generated code depends on and the compiler
// does not check: directives, comments, parameter names, added constants, new handlers.
//
// The generator records hashes in a generated test of each package, and the test compares them
// with the source. Both use this package, which imports the standard library only.
package sourcehash

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// version is the version of both hashes, as their prefix. A change of what they cover increments
// it.
const version = "2:"

// Code is the name of the file with the generated code.
const Code = "mcp_gen.go"

// Generated is what mcpgen recorded when it generated the code of a package. mcpgen writes it.
type Generated struct {
	Source string // of Hash
	Code   string // of Digest

	// Declarations are the declarations that Source covers, by directory relative to the package,
	// with slashes.
	Declarations map[string][]string
	// Files are the files that Source covers, relative to the package, with slashes.
	Files []string

	// Client is the file of the typed client, relative to the package, with slashes. It is empty
	// without one.
	Client     string
	ClientCode string // of Digest
}

// Check compares the package in dir with the record. The error has a line for each cause, with what
// to do.
func (g Generated) Check(dir string) error {
	for _, hash := range []string{g.Source, g.Code} {
		if !strings.HasPrefix(hash, version) {
			return errors.New("go.mod requires another version of mcpgen than the one that wrote this " +
				"test: run go generate")
		}
	}
	source, err := Hash(dir, g.Declarations, g.Files...)
	if err != nil {
		return fmt.Errorf("%w: run go generate", err)
	}
	code, err := os.ReadFile(filepath.Join(dir, Code))
	if err != nil {
		return fmt.Errorf("%w: run go generate", err)
	}
	var errs []error
	if source != g.Source {
		errs = append(errs, errors.New("the source of "+Code+
			" has changed (a directive, a comment, a parameter's name, a constant, a handler or a "+
			"schema file): run go generate, review the difference and commit it"))
	}
	if Digest(code) != g.Code {
		errs = append(errs, errors.New(Code+
			" was edited by hand: run go generate, and change the directives instead"))
	}
	if g.Client != "" {
		client, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(g.Client)))
		if err != nil {
			errs = append(errs, fmt.Errorf("%w: run go generate", err))
		} else if Digest(client) != g.ClientCode {
			errs = append(errs, errors.New(g.Client+
				" was edited by hand: run go generate, and change the handlers instead"))
		}
	}
	return errors.Join(errs...)
}
