package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is the root of this checkout.
func repository(t testing.TB) string {
	t.Helper()
	return filepath.Dir(goEnv(t, "GOMOD"))
}

func goEnv(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// writeModule writes a go.mod and a go.sum for a scratch module that uses the checkout at root.
// What the checkout requires is required there as well, so that nothing is left to resolve.
func writeModule(root, path, dir string) error {
	own, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		return err
	}
	_, requires, _ := strings.Cut(string(own), "require (")
	mod := "module " + path + "\n\ngo 1.26.0\n\n" +
		"require github.com/mcpgen/mcpgen v0.0.0\n\n" +
		"replace github.com/mcpgen/mcpgen => " + root + "\n\n" +
		"tool github.com/mcpgen/mcpgen/cmd/mcpgen\n\n" +
		"require (" + requires
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666)
}
