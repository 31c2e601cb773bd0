// Package reflection compares the walker's schemas, read from source, with those that invopop's
// Reflector makes when the program runs, on the types of a service itself.
//
// The Reflector needs the types, so it has to run in a program that is linked with them. That
// program is a test of the service's own package, which can name its unexported types and those of
// internal packages and of packages main. Its file exists only in the go command's overlay: nothing
// is written into the module, and the package's own tests are left out. The packages'
// initialisation runs, as in any test.
package reflection

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// The Reflector's module, and the version that the walker equals.
const (
	module  = "github.com/invopop/jsonschema"
	version = "v0.14.0"
)

// Package is one package to compare.
type Package struct {
	Path, Name, Dir string
	Types           []Reflected
	// RequiredFromTags sets the Reflector's RequiredFromJSONSchemaTags.
	RequiredFromTags bool
	// Files are the current generated files; those on disk may be stale.
	Files []emit.File
}

// Difference is a type on which the two disagree.
type Difference struct {
	Pos     model.Position
	Type    string
	Pointer string // JSON Pointer into the schema, empty for all of it
	Message string
}

// Result is the result of a comparison.
type Result struct {
	Compared    int // types
	Differences []Difference
}

// Error reports that the comparison failed, because of the machine or the module, not of a type.
type Error struct{ Message string }

// Error is the message, with the go command's own words.
func (e *Error) Error() string { return "cannot compare with the Reflector: " + e.Message }

// Comments returns the Reflector's CommentMap of packages, which are given by import path with
// their files. AddGoComments makes it, with WithFullComment. AddGoComments reads trees of
// directories and has no import paths, so Comments copies the files to directories with these
// names.
func Comments(files map[string][]string) (map[string]string, error) {
	scratch, err := os.MkdirTemp("", "mcpgen-comments-")
	if err != nil {
		return nil, &Error{err.Error()}
	}
	defer os.RemoveAll(scratch)
	for pkg, paths := range files {
		dir := filepath.Join(scratch, filepath.FromSlash(pkg))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, &Error{err.Error()}
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, &Error{err.Error()}
			}
			stand := filepath.Join(dir, filepath.Base(path))
			if err := os.WriteFile(stand, text, 0o600); err != nil {
				return nil, &Error{err.Error()}
			}
		}
	}
	var reflector jsonschema.Reflector
	if err := reflector.AddGoComments("", scratch, jsonschema.WithFullComment()); err != nil {
		return nil, &Error{err.Error()}
	}
	comments := map[string]string{}
	for key, text := range reflector.CommentMap {
		comments[strings.TrimPrefix(filepath.ToSlash(key), filepath.ToSlash(scratch)+"/")] = text
	}
	return comments, nil
}

// Compare runs the Reflector with this CommentMap on the types of all packages, which are of one
// module or workspace. dir is where the go command runs; empty is the working directory. Where the
// module does not have the Reflector, a copy of its go.mod gets it, possibly from the module proxy.
func Compare(
	ctx context.Context, dir string, packages []Package, comments map[string]string,
) (Result, error) {
	scratch, err := os.MkdirTemp("", "mcpgen-reflect-")
	if err != nil {
		return Result{}, &Error{err.Error()}
	}
	defer os.RemoveAll(scratch)
	args := []string{"test", "-count=1", "-vet=off", "-run", "^" + testName + "$"}
	flags, err := reachable(ctx, dir, scratch)
	if err != nil {
		return Result{}, err
	}
	text, err := json.Marshal(comments)
	if err != nil {
		return Result{}, &Error{err.Error()}
	}
	commentFile := filepath.Join(scratch, "comments.json")
	if err := os.WriteFile(commentFile, text, 0o600); err != nil {
		return Result{}, &Error{err.Error()}
	}
	overlay := map[string]string{}
	var run []Package
	for i, p := range packages {
		var exprs []model.Expr
		for i := range p.Types {
			p.Types[i].Reflect(comments)
			exprs = append(exprs, p.Types[i].Type)
		}
		if len(exprs) == 0 {
			continue
		}
		err := overlayPackage(overlay, p, exprs, commentFile, filepath.Join(scratch, fmt.Sprint(i)))
		if err != nil {
			return Result{}, &Error{err.Error()}
		}
		run = append(run, p)
	}
	if len(run) == 0 {
		return Result{}, nil
	}
	if text, err = json.Marshal(map[string]any{"Replace": overlay}); err != nil {
		return Result{}, &Error{err.Error()}
	}
	table := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(table, text, 0o600); err != nil {
		return Result{}, &Error{err.Error()}
	}
	args = append(append(args, flags...), "-overlay="+table)
	for _, p := range run {
		args = append(args, p.Path)
	}
	output, failed := goCommand(ctx, dir, args...)
	if ctx.Err() != nil {
		return Result{}, &Error{ctx.Err().Error()}
	}
	var r Result
	for i, p := range packages {
		if len(p.Types) == 0 {
			continue
		}
		if err := r.read(p, filepath.Join(scratch, fmt.Sprint(i), "out")); err != nil {
			if failed != nil {
				return Result{}, &Error{fmt.Sprintf("the program for package %s does not run: %s",
					p.Path, output)}
			}
			return Result{}, &Error{err.Error()}
		}
	}
	return r, nil
}

// overlayPackage replaces the tests of a package by the program, and its generated files by new
// ones.
func overlayPackage(
	overlay map[string]string, p Package, exprs []model.Expr, comments, scratch string,
) error {
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return err
	}
	source, err := program(p.Name, exprs, p.RequiredFromTags, comments,
		filepath.Join(scratch, "out"))
	if err != nil {
		return err
	}
	tests, err := filepath.Glob(filepath.Join(p.Dir, "*_test.go"))
	if err != nil {
		return err
	}
	for _, path := range append(tests, filepath.Join(p.Dir, emit.Error)) {
		overlay[path] = ""
	}
	files := map[string][]byte{filepath.Join(p.Dir, "mcpgen_reflect_test.go"): source}
	for _, f := range p.Files {
		if filepath.Base(f.Path) == emit.Code {
			files[f.Path] = f.Content
		}
	}
	for path, content := range files {
		stand := filepath.Join(scratch, filepath.Base(path))
		if err := os.WriteFile(stand, content, 0o600); err != nil {
			return err
		}
		overlay[path] = stand
	}
	return nil
}

// reachable returns the flags under which the go command finds the Reflector.
func reachable(ctx context.Context, dir, scratch string) ([]string, error) {
	if _, err := goCommand(ctx, dir, "list", "-deps", module); err == nil {
		return nil, nil
	}
	mod, err := goEnv(ctx, dir, "GOMOD")
	if err != nil {
		return nil, err
	}
	if work, err := goEnv(ctx, dir, "GOWORK"); err != nil || work != "" && work != "off" {
		return nil, &Error{"the workspace " + work + " does not have " + module +
			", and a workspace does not support another go.mod: run go get -tool " +
			"github.com/mcpgen/mcpgen/cmd/mcpgen in one of its modules, or set GOWORK=off"}
	}
	stand := filepath.Join(scratch, "go.mod")
	for from, to := range map[string]string{mod: stand, strings.TrimSuffix(mod, "mod") +
		"sum": filepath.Join(scratch, "go.sum")} {
		content, err := os.ReadFile(from)
		if err != nil && !(errors.Is(err, os.ErrNotExist) && from != mod) {
			return nil, &Error{err.Error()}
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			return nil, &Error{err.Error()}
		}
	}
	if output, err := goCommand(ctx, dir, "get", "-modfile="+stand, module+"@"+version); err != nil {
		return nil, &Error{"the module does not have " + module + " " + version +
			", and the download failed: " + output}
	}
	return []string{"-mod=mod", "-modfile=" + stand}, nil
}

func goEnv(ctx context.Context, dir, name string) (string, error) {
	output, err := goCommand(ctx, dir, "env", name)
	if err != nil {
		return "", &Error{output}
	}
	return strings.TrimSpace(output), nil
}

// goCommand runs the go command and returns its output, on both streams.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err := cmd.Run()
	output := strings.TrimSpace(b.String())
	if output == "" && err != nil {
		output = err.Error()
	}
	const enough = 2000
	if len(output) > enough {
		output = output[:enough] + " …"
	}
	return output, err
}

// read compares the program's output for one package.
func (r *Result) read(p Package, out string) error {
	file, err := os.Open(out)
	if err != nil {
		return err
	}
	defer file.Close()
	finished := make([]bool, len(p.Types))
	last := -1
	lines := bufio.NewReader(file)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break // the end, or half a line of a program that crashed
		}
		var line struct {
			Index   int
			Done    bool
			Schema  json.RawMessage
			Refused string
		}
		if err := json.Unmarshal(text, &line); err != nil || line.Index < 0 ||
			line.Index >= len(p.Types) {
			return fmt.Errorf("the program for package %s wrote %q", p.Path, text)
		}
		last = line.Index
		if line.Done {
			finished[line.Index] = true
			r.one(p.Types[line.Index], line.Schema, line.Refused)
		}
	}
	if last < len(p.Types)-1 || last >= 0 && !finished[last] {
		t := p.Types[max(last, 0)]
		r.Differences = append(r.Differences, Difference{Pos: t.Pos, Type: t.Type.String(),
			Message: fmt.Sprintf(
				"the Reflector crashes the process on it; %d types were not compared",
				len(p.Types)-max(last, 0))})
	}
	return nil
}

func (r *Result) one(t Reflected, schema json.RawMessage, refused string) {
	r.Compared++
	differ := func(pointer, format string, args ...any) {
		r.Differences = append(r.Differences, Difference{Pos: t.Pos, Type: t.Type.String(),
			Pointer: pointer, Message: fmt.Sprintf(format, args...)})
	}
	for _, pointer := range t.Required {
		differ(pointer, "mcpgen requires the argument, the Reflector does not: "+
			"add omitempty, or the tag jsonschema:\"required\"")
	}
	switch {
	case t.Apart != "" && refused != "":
		return // in both it has no schema
	case t.Apart != "":
		differ("", "mcpgen reads no schema: %s; the Reflector makes %s", t.Apart, shown(schema))
	case refused != "":
		differ("", "the Reflector refuses it: %s", refused)
	default:
		for _, place := range compare(t.Schema, schema) {
			differ(place.pointer, "mcpgen reads %s, the Reflector makes %s", place.walker,
				place.reflector)
		}
	}
}
