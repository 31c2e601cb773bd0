package prove

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// File is the name of the record, a file beside the package's source.
const File = "mcp.proven.json"

// recordVersion is the version of the record's format, and of the rules by which it is made.
const recordVersion = 2

type record struct {
	Proven  int    `json:"proven"`
	Package string `json:"package"`
	model.Proof
}

// Encode writes the record of a package. Equal records are equal bytes: it holds no positions,
// times or versions of tools.
func Encode(pkg string, p model.Proof) ([]byte, error) {
	p.Tools = append([]model.Proven{}, p.Tools...) // no list is null
	for i := range p.Tools {
		p.Tools[i].Reaches = append([]model.Reach{}, p.Tools[i].Reaches...)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(record{recordVersion, pkg, p}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Read reads the record in a directory: nil if it does not exist. One that cannot be read, or is of
// another version or package, proves nothing: it is a proof of no tool.
func Read(dir, pkg string) (*model.Proof, error) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading mcp.proven.json: %w", err)
	}
	var r record
	if json.Unmarshal(text, &r) != nil || r.Proven != recordVersion || r.Package != pkg {
		return &model.Proof{}, nil
	}
	return &r.Proof, nil
}
