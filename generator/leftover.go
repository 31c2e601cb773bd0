package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/prove"
)

// leftover returns what a run without findings removes: error files, and the generated files of a
// package that has no directive any more. Of a document that holds other text as well, the rest
// stays.
func leftover(program *load.Program, services []model.Service) (
	rest []emit.File, remove []string, err error,
) {
	for _, p := range program.Roots {
		client, err := oldClient(p, services)
		if err != nil {
			return nil, nil, err
		} else if client != "" {
			remove = append(remove, client)
		}
		serves := slices.ContainsFunc(services, func(s model.Service) bool { return s.Dir == p.Dir })
		for _, name := range p.Owned {
			if !serves || name == load.ErrorFile {
				remove = append(remove, filepath.Join(p.Dir, name))
			}
		}
		if serves || !slices.Contains(p.Owned, load.GeneratedFile) {
			continue
		}
		if proof, err := prove.Read(p.Dir, p.Path); err == nil && proof != nil && proof.Digest != "" {
			remove = append(remove, filepath.Join(p.Dir, prove.File))
		}
		docs := filepath.Join(p.Dir, emit.Docs)
		text, err := present(docs)
		if err != nil {
			return nil, nil, err
		}
		switch others, err := document.WithoutDocs(text); {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", docs, err)
		case text != nil && others == nil:
			remove = append(remove, docs)
		case !bytes.Equal(text, others):
			rest = append(rest, emit.File{Path: docs, Content: others})
		}
	}
	return rest, remove, nil
}

// oldClient returns the path of the typed client that the old manifest of a package records, unless
// the package still has it; "" if there is no such file of mcpgen.
func oldClient(p *load.Package, services []model.Service) (string, error) {
	if !slices.Contains(p.Owned, load.ManifestFile) {
		return "", nil
	}
	text, err := present(filepath.Join(p.Dir, load.ManifestFile))
	if err != nil {
		return "", err
	}
	dir := document.ClientOf(text)
	if dir == "" || slices.ContainsFunc(services, func(s model.Service) bool {
		return s.Dir == p.Dir && s.Server.Client == dir
	}) {
		return "", nil
	}
	path := filepath.Join(p.Dir, filepath.FromSlash(dir), emit.Client)
	if text, err = present(path); err != nil || !bytes.Contains(text, []byte(load.Header)) {
		return "", err
	}
	return path, nil
}

// present is the content of a file, nil if it does not exist.
func present(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
