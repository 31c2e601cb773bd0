// Package desk serves files, commands and web pages to agents: to each what it has been granted, and nothing else.
//
//mcp:server name=workspace title="Workspace" version=1.0.0
//mcp:roles Agent < Operator
//mcp:default minrole=Agent
package desk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

//go:generate go tool mcpgen .

// ReadFile returns the text of a file.
//
//mcp:tool readonly
//mcp:allow file.read={path}
//mcp:limit timeout=5s output=1MiB concurrency=8 rate=100/s capabilities=files
func ReadFile(ctx context.Context, path grant.Path) (string, error) {
	f, err := grant.File(ctx, "path")
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	return string(text), err
}

// Written says what has been written.
type Written struct {
	// Path is the true path of the file.
	Path  string `json:"path"`
	Bytes int    `json:"bytes"`
}

// WriteFile replaces what is in a file by a text, and creates the file where there is none.
//
//mcp:tool idempotent destructive
//mcp:allow file.write={path}
//mcp:limit timeout=5s concurrency=2 rate=20/s capabilities=files
//mcp:param text maxLength=1048576
func WriteFile(ctx context.Context, path grant.Path, text string) (Written, error) {
	f, err := grant.File(ctx, "path")
	if err != nil {
		return Written{}, err
	}
	if err := f.Truncate(0); err != nil {
		return Written{}, err
	}
	n, err := f.WriteString(text)
	if err != nil {
		return Written{}, err
	}
	name, err := grant.TruePath(ctx, "path")
	return Written{name, n}, err
}

// Entry is a file or a directory in another.
type Entry struct {
	Name string `json:"name"`
	Dir  bool   `json:"dir,omitempty"`
}

// ListFiles returns what is in a directory, in the order of names.
//
//mcp:tool readonly
//mcp:allow file.read={path}
//mcp:limit timeout=5s output=1MiB concurrency=8 rate=100/s capabilities=files
func ListFiles(ctx context.Context, path grant.Path) ([]Entry, error) {
	dir, err := grant.Dir(ctx, "path")
	if err != nil {
		return nil, err
	}
	found, err := dir.ReadDir(10_000)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	entries := []Entry{}
	for _, e := range found {
		entries = append(entries, Entry{e.Name(), e.IsDir()})
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// Ran is what a command has done.
type Ran struct {
	// Output is what it wrote to standard output and standard error.
	Output string `json:"output"`
	// Code is its exit code.
	Code int `json:"code"`
}

// RunCommand runs a program with arguments, without a shell, in a process of its own and in a directory that is yours alone.
//
//mcp:tool
//mcp:allow system.command={argv}
//mcp:limit timeout=10s memory=256MiB output=256KiB concurrency=2 rate=10/s isolate=process capabilities=exec,files
func RunCommand(ctx context.Context, argv grant.Argv) (Ran, error) {
	cmd, err := grant.Command(ctx, "argv")
	if err != nil {
		return Ran{}, err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	runtime.Logger(ctx).InfoContext(ctx, "the command has ended", "program", cmd.Path, "bytes", out.Len())
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Ran{}, err
	}
	if ctx.Err() != nil {
		return Ran{}, ctx.Err()
	}
	return Ran{strings.ToValidUTF8(out.String(), "\uFFFD"), cmd.ProcessState.ExitCode()}, nil
}

// Page is what a server has answered.
type Page struct {
	Status int    `json:"status"`
	Type   string `json:"type"`
	// Text is the beginning of it, of 256 KiB at most.
	Text string `json:"text"`
}

// FetchURL returns what a web server has under a URL, in a process of its own, following redirects as far as their hosts are granted.
//
//mcp:tool readonly openworld name=fetch_url
//mcp:allow net.connect={url}
//mcp:limit timeout=10s memory=256MiB output=1MiB concurrency=4 rate=5/s isolate=process capabilities=network
func FetchURL(ctx context.Context, url grant.Host) (Page, error) {
	client, err := grant.HTTP(ctx, "url")
	if err != nil {
		return Page{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, string(url), nil)
	if err != nil {
		return Page{}, fmt.Errorf("%q is not a URL: write one as https://example.com/", string(url))
	}
	res, err := client.Do(req)
	if err != nil {
		return Page{}, err
	}
	defer res.Body.Close()
	progress := &reading{runtime.Progress(ctx), res.Body, 0, float64(max(res.ContentLength, 0))}
	text, err := io.ReadAll(io.LimitReader(progress, 256<<10))
	if err != nil {
		return Page{}, err
	}
	return Page{res.StatusCode, res.Header.Get("Content-Type"), strings.ToValidUTF8(string(text), "\uFFFD")}, nil
}

// reading tells the client how much of a page has come.
type reading struct {
	progress *runtime.ProgressReporter
	body     io.Reader
	bytes    float64
	of       float64 // 0 where the page does not say
}

func (r *reading) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	r.bytes += float64(n)
	r.progress.Report(r.bytes, r.of, "bytes read")
	return n, err
}
