package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"
	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/semver"

	"github.com/mcpgen/mcpgen/generator/emit"
	"github.com/mcpgen/mcpgen/generator/starter"
	"github.com/mcpgen/mcpgen/generator/writefiles"
	"github.com/mcpgen/mcpgen/internal/commandline"
	"github.com/mcpgen/mcpgen/internal/report"
)

const ownModule = "github.com/mcpgen/mcpgen"

func newInit() *cobra.Command {
	var replace string
	command := &cobra.Command{
		Use:   "init [MODULE]",
		Short: "Write a running service into an empty folder",
		Long: `init writes a service into the working directory. main.go has the roles, demo users with
tokens, HTTP and stdio. tools.go has a public tool and a tool for Members. main_test.go tests what
each caller may list and call. The Makefile and a job of GitHub Actions run the checks. .mcp.json
is the configuration of Claude Code, over stdio.

Then it runs go mod tidy and generates, so that go run . starts the server. MODULE is the path of
the module; the default is example.com/ and the name of the directory.

init does not write into a directory with Go files, and does not overwrite files. A mcpgen without
a released version needs --replace with a checkout of mcpgen. A CI job then needs the checkout too.

Exit codes: 0 done; 2 usage error or failure.`,
		Example: `  mcpgen init example.com/shop
  mcpgen init --replace ../mcpgen`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return err
			}
			modulePath := "example.com/" + filepath.Base(dir)
			if len(args) > 0 {
				modulePath = args[0]
			}
			files, err := starterFiles(dir, modulePath, replace)
			if err != nil {
				return err
			}
			if err := refuseOverwrite(dir, files); err != nil {
				return err
			}
			for _, f := range files {
				if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
					return err
				}
			}
			written, err := writefiles.Write(files, nil)
			if err != nil {
				return err
			}
			for _, file := range written {
				fmt.Fprintln(cmd.OutOrStdout(), relative(file))
			}
			tidy := exec.CommandContext(cmd.Context(), "go", "mod", "tidy")
			if text, err := tidy.CombinedOutput(); err != nil {
				return fmt.Errorf("go mod tidy: %v: run it again, and then go generate\n%s", err, text)
			}
			if err := generate(cmd, &commandline.Reporter{Format: report.Text}, nil); err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "Start the server with go run . or call a tool with\n"+
				`mcpgen call count_words text="one two" -- go run . -stdio mel`)
			return nil
		},
	}
	command.Flags().StringVar(&replace, "replace", "",
		"replace the module of mcpgen by the checkout in this `directory`")
	return command
}

// serverName matches the names that fit a directive, JSON and a comment as they are.
var serverName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// starterFiles are the files of the service, go.mod included.
func starterFiles(dir, modulePath, replace string) ([]emit.File, error) {
	name := path.Base(modulePath)
	if prefix, _, ok := modpath.SplitPathVersion(modulePath); ok {
		name = path.Base(prefix)
	}
	if err := modpath.CheckPath(modulePath); err != nil || !serverName.MatchString(name) {
		return nil, fmt.Errorf("%q is not the path of a module: write one, such as example.com/shop",
			modulePath)
	}
	contents, err := starter.Files(name)
	if err != nil {
		return nil, err
	}
	if contents["go.mod"], err = goMod(dir, modulePath, replace); err != nil {
		return nil, err
	}
	var files []emit.File
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		files = append(files, emit.File{
			Path: filepath.Join(dir, filepath.FromSlash(name)), Content: contents[name],
		})
	}
	return files, nil
}

// goMod is the go.mod of a module that requires this mcpgen.
func goMod(dir, modulePath, replace string) ([]byte, error) {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == ownModule {
		version = info.Main.Version
	}
	f := new(modfile.File)
	err := f.AddModuleStmt(modulePath)
	switch {
	case replace != "":
		version = "v0.0.0"
		own, err := checkout(dir, replace)
		if err != nil {
			return nil, err
		}
		if err := f.AddGoStmt(own.Go.Version); err != nil {
			return nil, err
		}
		if !filepath.IsAbs(replace) && !strings.HasPrefix(filepath.ToSlash(replace), "../") {
			replace = "./" + filepath.ToSlash(filepath.Clean(replace))
		}
		if err := f.AddReplace(ownModule, "", replace, ""); err != nil {
			return nil, err
		}
	case released(version):
	default:
		return nil, errors.New("this mcpgen has no released version: write --replace with a " +
			"checkout of mcpgen")
	}
	if err == nil {
		err = f.AddRequire(ownModule, version)
	}
	if err == nil {
		err = f.AddTool(ownModule + "/cmd/mcpgen")
	}
	if err != nil {
		return nil, err
	}
	f.Cleanup()
	return f.Format()
}

// released reports whether a module proxy has this version: pseudo-versions come before the first
// release, and builds of a checkout have metadata such as +dirty or no version.
func released(version string) bool {
	return semver.IsValid(version) && semver.Build(version) == "" && version != "v0.0.0" &&
		!modpath.IsPseudoVersion(version)
}

// checkout is the go.mod of a checkout of mcpgen.
func checkout(dir, replace string) (*modfile.File, error) {
	folder := replace
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(dir, folder)
	}
	name := filepath.Join(folder, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("--replace: %w", err)
	}
	f, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("--replace: %w", err)
	}
	if f.Module == nil || f.Module.Mod.Path != ownModule || f.Go == nil {
		return nil, fmt.Errorf("--replace: %s is not the go.mod of mcpgen", name)
	}
	return f, nil
}

// refuseOverwrite fails if the directory has Go files, or one of the files.
func refuseOverwrite(dir string, files []emit.File) error {
	present, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, f := range files {
		switch _, err := os.Lstat(f.Path); {
		case err == nil && !slices.Contains(present, f.Path):
			present = append(present, f.Path)
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	if len(present) == 0 {
		return nil
	}
	for i, path := range present {
		present[i] = relative(path)
	}
	return fmt.Errorf("init needs a directory without Go files and without its own files; these "+
		"exist: %s", strings.Join(present, ", "))
}
