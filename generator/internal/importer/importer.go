// Package importer writes the start of a package from the tools of a foreign server: schema files,
// and handlers with directives whose access rule the author has to fill in.
//
// The tools are input of others. Their names and descriptions become identifiers, file names,
// string literals and comments; no text of theirs can become code or a directive.
package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/writefiles"
)

// FillIn is [directive.FillIn]. A //mcp:default does not replace it.
const FillIn = directive.FillIn

// File is the name of the Go file that Import writes.
const File = "tools.go"

// Tool is one tool to import.
type Tool struct {
	Name, Title, Description string
	Input, Output            json.RawMessage // schemas; Output is nil without one
	// The hints are nil if they are not written.
	ReadOnly, Destructive, Idempotent, OpenWorld *bool
}

// Options are what Import writes, and where.
type Options struct {
	Dir             string // must exist
	Package         string // empty: the package of Dir, or a name from its path
	Server, Version string // of the foreign server, if known
	Tools           []Tool
	Force           bool // overwrite files
}

// Result is what Import did.
type Result struct {
	Changed []string // paths of written files, sorted
	Notes   []string // what is not as in the foreign list, one line each, ASCII
}

// ExistError reports files that Import would have to overwrite.
type ExistError struct{ Paths []string }

func (e *ExistError) Error() string {
	return "these files exist with different content: " + strings.Join(e.Paths, ", ")
}

// Import writes the schema files and the Go file. It writes all of them or none.
func Import(o Options) (Result, error) {
	p, err := Open(o.Dir, o.Package)
	if err != nil {
		return Result{}, err
	}
	w := &writer{Package: p, files: map[string]bool{}}
	for _, t := range o.Tools {
		w.tool(t)
	}
	if w.body.Len() == 0 {
		return Result{Notes: w.notes}, errors.New("the list has no tools")
	}
	source, err := w.source(o)
	if err != nil {
		return Result{}, err
	}
	files := append(w.schemas, emit.File{Path: File, Content: source})
	var exist []string
	for i := range files {
		files[i].Path = filepath.Join(o.Dir, filepath.FromSlash(files[i].Path))
		_, err := os.Stat(files[i].Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return Result{}, err
		case !writefiles.Unchanged(files[i]):
			exist = append(exist, files[i].Path)
		}
	}
	if len(exist) > 0 && !o.Force {
		return Result{}, &ExistError{exist}
	}
	changed, err := write(filepath.Join(o.Dir, schemaDir), files)
	return Result{Changed: changed, Notes: w.notes}, err
}

// write writes the files. It makes the directory of the schemas, and removes it after an error if
// it was not there.
func write(schemas string, files []emit.File) ([]string, error) {
	made := false
	switch err := os.Mkdir(schemas, 0o755); {
	case err == nil:
		made = true
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	changed, err := writefiles.Write(files, nil)
	if err != nil && made {
		err = errors.Join(err, os.Remove(schemas))
	}
	return changed, err
}

// writer collects the files.
type writer struct {
	Package
	body    bytes.Buffer // of the Go file
	schemas []emit.File  // with paths relative to the directory
	files   map[string]bool
	notes   []string
	imports struct{ bytes, json, sdk bool }
	met     map[string]bool
}

func (w *writer) note(format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf(format, args...))
}

// source is the whole Go file.
func (w *writer) source(o Options) ([]byte, error) {
	var b bytes.Buffer
	if !w.Server {
		fmt.Fprintf(&b, "// Package %s serves tools that mcpgen imported.\n", w.Name)
		b.WriteString("// mcpgen imports no access rules: the author of this file writes one for " +
			"each tool.\n//\n//mcp:server" + Key("name", Visible(o.Server)) +
			Key("version", Visible(o.Version)) + "\n")
	}
	fmt.Fprintf(&b, "package %s\n\n", w.Name)
	if !w.Server {
		b.WriteString("//go:generate go tool mcpgen\n\n")
	}
	b.WriteString("import (\n")
	for _, i := range []struct {
		used bool
		path string
	}{
		{w.imports.bytes, "bytes"}, {true, "context"}, {w.imports.json, "encoding/json"},
		{true, "errors"},
	} {
		if i.used {
			fmt.Fprintf(&b, "%q\n", i.path)
		}
	}
	if w.imports.sdk {
		b.WriteString("\n\"github.com/modelcontextprotocol/go-sdk/mcp\"\n")
	}
	b.WriteString(")\n")
	b.Write(w.body.Bytes())
	return format.Source(b.Bytes())
}
