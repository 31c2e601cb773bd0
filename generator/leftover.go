package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/generator/document"
	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/load"
	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/prove"
)

// leftover returns what a run without findings removes: error files, and the generated files of a
// package that has no directive any more. Of a document that holds other text as well, the rest
// stays.
func leftover(program *load.Program, services []model.Service) (rest []emit.File, remove []string, err error) {
	for _, p := range program.Roots {
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

// present is the content of a file, nil if it does not exist.
func present(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
