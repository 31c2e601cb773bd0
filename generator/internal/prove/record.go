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
const recordVersion = 1

type record struct {
	Proven   int          `json:"proven"`
	Package  string       `json:"package"`
	Platform string       `json:"platform"`
	Digest   string       `json:"digest"`
	Tools    []recordTool `json:"tools"` // by name
}

type recordTool struct {
	Name    string        `json:"name"`
	Handler string        `json:"handler"`
	Reaches []recordReach `json:"reaches"`
}

type recordReach struct {
	Capability string   `json:"capability"`
	Why        string   `json:"why,omitempty"`
	Path       []string `json:"path"`
}

// Encode writes the record of a package. Equal records are equal bytes: it holds no positions,
// times or versions of tools.
func Encode(pkg string, p model.Proof) ([]byte, error) {
	r := record{
		Proven: recordVersion, Package: pkg, Platform: p.Platform, Digest: p.Digest,
		Tools: []recordTool{},
	}
	for _, row := range p.Tools {
		tool := recordTool{Name: row.Tool, Handler: row.Handler, Reaches: []recordReach{}}
		for _, reach := range row.Reaches {
			path := []string{}
			for _, step := range reach.Path {
				path = append(path, step.Func)
			}
			tool.Reaches = append(tool.Reaches, recordReach{reach.Capability, reach.Why, path})
		}
		r.Tools = append(r.Tools, tool)
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
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
	p := &model.Proof{Platform: r.Platform, Digest: r.Digest}
	for _, tool := range r.Tools {
		row := model.Proven{Tool: tool.Name, Handler: tool.Handler}
		for _, reach := range tool.Reaches {
			var path []model.Step
			for _, name := range reach.Path {
				path = append(path, model.Step{Func: name})
			}
			row.Reaches = append(row.Reaches,
				model.Reach{Capability: reach.Capability, Why: reach.Why, Path: path})
		}
		p.Tools = append(p.Tools, row)
	}
	return p, nil
}
