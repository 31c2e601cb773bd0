package starter

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"golang.org/x/mod/modfile"
	modpath "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

const (
	ownModule = "github.com/mcpgen/mcpgen"
	tool      = ownModule + "/cmd/mcpgen"
)

// ownModules are the modules of mcpgen that a service is built with, below ownModule.
var ownModules = []string{"", "/generator", "/cmd/mcpgen"}

// Edit is the command that adds a mcpgen without a released version to the go.mod of a module. It
// replaces the modules of mcpgen by those of a checkout.
func Edit(checkout string) string {
	command := "go mod edit -tool " + tool
	for _, folder := range ownModules {
		command += " -replace " + ownModule + folder + "=" + filepath.ToSlash(checkout) + folder
	}
	return command
}

// goMod is the go.mod of a module that requires this mcpgen.
func goMod(dir, modulePath, replace string) ([]byte, error) {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == tool {
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
		for _, folder := range ownModules {
			if err := f.AddReplace(ownModule+folder, "", replace+folder, ""); err != nil {
				return nil, err
			}
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
		err = f.AddRequire(tool, version)
	}
	if err == nil {
		err = f.AddTool(tool)
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
	name := filepath.Join(folderOf(dir, replace), "go.mod")
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

// mainBranch is what the CI job clones if no commit is known.
const mainBranch = "main"

// commitOf returns the commit of a checkout of mcpgen: its main branch if git knows no commit of
// the folder itself, and empty without a folder.
func commitOf(dir, replace string) string {
	if replace == "" {
		return ""
	}
	git := exec.Command("git", "rev-parse", "--show-prefix", "HEAD")
	git.Dir = folderOf(dir, replace)
	out, err := git.Output()
	prefix, commit, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || prefix != "" {
		return mainBranch
	}
	return commit
}

// folderOf returns the folder of a checkout that may be relative to a directory.
func folderOf(dir, replace string) string {
	if filepath.IsAbs(replace) {
		return replace
	}
	return filepath.Join(dir, replace)
}
