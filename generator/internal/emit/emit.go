// Package emit writes a service's model as Go code, and lists all files of the service.
//
// It is pure: equal models give equal bytes, on every machine, and nothing is read or written.
// Package document writes the files that are not Go; package writefiles writes all to the disk.
package emit

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/sourcehash"
)

// The names of the files that mcpgen owns in a package's directory. Of Docs it owns what
// stands between the markers, and the whole file only where nothing else is in it.
const (
	Code     = sourcehash.Code
	Test     = "mcp_gen_test.go"
	Error    = "aa_mcp_error.go" // sorts early, so that the compiler reports it first
	Manifest = "mcp.manifest.json"
	Docs     = "MCP.md"
)

// File is one file to be written.
type File struct {
	Path    string // absolute
	Content []byte
	// Else is other content that is as good on the disk, and is not written; nil for none. It is that
	// of MCP.md from before a change of the source that leaves it as it was but for what is proven.
	Else []byte
}

// Present is what emission needs to know of the package's directory as it is.
type Present struct {
	// Hash is sourcehash.Hash of the directory and of the model's HashInputs.
	Hash string
	// Docs is the content of MCP.md, or nil without the file.
	Docs []byte
}

// TypedClient returns the file of the typed client of a service with one.
func TypedClient(s model.Service) (File, error) {
	content, err := client(s)
	return File{
		Path: filepath.Join(s.Dir, filepath.FromSlash(s.Server.Client), Client), Content: content,
	}, err
}

// Files returns the files of one service. It fails where MCP.md
// has markers that do not match, and where a schema cannot be marshalled.
func Files(s model.Service, present Present) ([]File, error) {
	p, err := newPlan(s)
	if err != nil {
		return nil, fmt.Errorf("package %s: %w", s.Package, err)
	}
	var (
		files       []File
		code, typed []byte
	)
	type part struct {
		name  string
		write func() ([]byte, error)
	}
	parts := []part{
		{Docs, func() ([]byte, error) { return document.Docs(s, present.Docs) }},
		{Manifest, func() (text []byte, err error) {
			if text, err = document.Manifest(s); err == nil {
				p.manifest, err = document.Digest(text)
			}
			return text, err
		}},
		{Code, func() (_ []byte, err error) { code, err = p.code(); return code, err }},
		{Test, func() ([]byte, error) { return p.test(present.Hash, code, typed) }},
	}
	if dir := s.Server.Client; dir != "" {
		name := filepath.Join(filepath.FromSlash(dir), Client)
		parts = slices.Insert(parts, 2, part{name,
			func() (_ []byte, err error) { typed, err = client(s); return typed, err }})
	}
	for _, part := range parts {
		content, err := part.write()
		if err != nil {
			return nil, fmt.Errorf("package %s: %s: %w", s.Package, part.name, err)
		}
		files = append(files, File{Path: filepath.Join(s.Dir, part.name), Content: content})
	}
	if s.Proof != nil && !s.Proof.Current {
		held := *s.Proof
		held.Current = true
		s.Proof = &held
		if files[0].Else, err = document.Docs(s, present.Docs); err != nil {
			return nil, fmt.Errorf("package %s: %s: %w", s.Package, Docs, err)
		}
	}
	return files, nil
}
