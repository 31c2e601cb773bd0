package starter

import (
	"bytes"
	"encoding/json"
	"go/format"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"golang.org/x/mod/modfile"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

func TestFilesAreValidInTheirFormats(t *testing.T) {
	files, err := Files("shop", "0123abc")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		".github/workflows/ci.yml", ".gitignore", ".mcp.json", "Makefile", "main.go", "main_test.go",
		"tools.go",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	for name, text := range files {
		var value any
		switch {
		case strings.HasSuffix(name, ".go"):
			formatted, err := format.Source(text)
			if err != nil || !bytes.Equal(formatted, text) {
				t.Errorf("gofmt would change %s: %v", name, err)
			}
		case strings.HasSuffix(name, ".json"):
			err = json.Unmarshal(text, &value)
		case strings.HasSuffix(name, ".yml"):
			err = yaml.Unmarshal(text, &value)
		}
		if err != nil || bytes.Contains(text, []byte("{{")) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if !bytes.Contains(files["main.go"], []byte("//mcp:server name=shop version=0.1.0\n")) {
		t.Errorf("main.go does not have the name:\n%s", files["main.go"])
	}
}

func TestWriteLeavesFilesAsTheyAre(t *testing.T) {
	checkout := t.TempDir()
	text := "module " + ownModule + "\n\ngo 1.26.0\n"
	if err := os.WriteFile(filepath.Join(checkout, "go.mod"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, module := range []string{"a b", "", "/shop", "example.com/../shop"} {
		_, err := Write(dir, module, checkout)
		if err == nil || !strings.Contains(err.Error(), "is not the path of a module") {
			t.Errorf("%s: %v", module, err)
		}
	}
	if _, err := Write(dir, "example.com/shop", dir); err == nil {
		t.Error("a directory without go.mod is a checkout")
	}
	written, err := Write(dir, "example.com/shop/v2", checkout)
	if err != nil || len(written) != 8 {
		t.Fatal(written, err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	for _, folder := range ownModules {
		replaced := "replace " + ownModule + folder + " => " + modfile.AutoQuote(checkout+folder) + "\n"
		if err != nil || !strings.Contains(string(mod), replaced) {
			t.Errorf("%s%v, want %s", mod, err, replaced)
		}
	}
	_, err = Write(dir, "example.com/shop/v2", checkout)
	if err == nil || !strings.HasSuffix(err.Error(), "these exist: main.go, main_test.go, tools.go, "+
		filepath.FromSlash(".github/workflows/ci.yml, .mcp.json, Makefile, go.mod")+
		"\nTo use mcpgen in this module, run\n"+Edit(checkout)) {
		t.Error(err)
	}
}

func TestWriteKeepsGitignore(t *testing.T) {
	checkout, dir := t.TempDir(), t.TempDir()
	ignored := filepath.Join(dir, ".gitignore")
	for name, text := range map[string]string{
		filepath.Join(checkout, "go.mod"): "module " + ownModule + "\n\ngo 1.26.0\n", ignored: "own\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	written, err := Write(dir, "shop", checkout)
	if err != nil || len(written) != 7 {
		t.Error(written, err)
	}
	if text, err := os.ReadFile(ignored); string(text) != "own\n" {
		t.Error(string(text), err)
	}
}

func TestServerIsNamedAfterItsModule(t *testing.T) {
	for module, want := range map[string]string{"shop": "shop", "example.com/shop/v2": "shop",
		"gopkg.in/shop.v3": "shop", "github.com/Some/Shop": "Shop", "example.com/my_shop": "my_shop",
		"example.com/my.shop": "my-shop", "example.com/2026-shop": "shop", "example.com/9": "service",
	} {
		if got := serverName(module); got != want {
			t.Errorf("%s: the server is %q, want %q", module, got, want)
		}
	}
}

func TestProgramIsIgnored(t *testing.T) {
	for module, program := range map[string]string{"shop": "shop", "example.com/shop/v2": "shop",
		"gopkg.in/shop.v3": "shop.v3", "example.com/my.shop": "my.shop",
		"example.com/2026-shop": "2026-shop",
	} {
		files, err := Files(module, "")
		want := "\n/" + program + "\n!/" + program + "/\n"
		if text := string(files[".gitignore"]); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: %v\n%s", module, err, text)
		}
	}
}

// TestJobMakesTheCheckoutItNeeds runs the commands of the CI job up to make: without a release,
// they make the checkout by which go.mod replaces mcpgen, with the commit that the service was made
// with.
func TestJobMakesTheCheckoutItNeeds(t *testing.T) {
	work := t.TempDir()
	run := func(dir, command string) string {
		t.Helper()
		cmd := exec.Command("sh", "-ec", command)
		cmd.Dir, cmd.Env = dir, testrepo.GitEnv(t)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	published, service := filepath.Join(work, "published"), filepath.Join(work, "mcpgen", "mcpgen")
	temporary := filepath.Join(work, "temporary")
	t.Setenv("RUNNER_TEMP", temporary)
	run(work, "mkdir -p published/below mcpgen/mcpgen temporary; cd published; git init --quiet; "+
		"echo module "+ownModule+" > go.mod; echo go 1.26.0 >> go.mod; cp go.mod below; "+
		"git add .; git -c user.name=a -c user.email=a@b commit --quiet --message=a")
	if got := commitOf(work, "published/below"); got != "main" {
		t.Errorf("a folder of another repository has the commit %s", got)
	}
	head := strings.TrimSpace(run(published, "git rev-parse HEAD"))
	if got := commitOf(work, "published"); got != head {
		t.Errorf("the commit is %s, want %s", got, head)
	}
	if got := commitOf(work, ""); got != "" {
		t.Errorf("without a checkout, the commit is %s", got)
	}
	if _, err := Write(service, "shop", published); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(service, ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var job struct {
		Jobs struct {
			Test struct{ Steps []struct{ Run string } }
		}
	}
	if err := yaml.Unmarshal(text, &job); err != nil {
		t.Fatal(err)
	}
	var commands []string
	for _, step := range job.Jobs.Test.Steps {
		if step.Run != "" {
			commands = append(commands, step.Run)
		}
	}
	if len(commands) != 2 || commands[1] != "make check test" ||
		strings.Count(commands[0], "https://"+ownModule) != 1 {
		t.Fatalf("%q", commands)
	}
	run(service, strings.ReplaceAll(commands[0], "https://"+ownModule, "'"+published+"'"))
	mod, err := os.ReadFile(filepath.Join(service, "go.mod"))
	want := "replace " + ownModule + " => " + modfile.AutoQuote(temporary+"/mcpgen") + "\n"
	if err != nil || !strings.Contains(string(mod), want) {
		t.Errorf("%s%v", mod, err)
	}
	if _, err := checkout(service, temporary+"/mcpgen"); err != nil {
		t.Error(err)
	}
}

func TestJobNamesAMovingBranch(t *testing.T) {
	for commit, want := range map[string]bool{"0123abc": false, mainBranch: true} {
		files, err := Files("shop", commit)
		job := string(files[".github/workflows/ci.yml"])
		if err != nil || strings.Contains(job, "instead of main") != want {
			t.Errorf("%s: %v\n%s", commit, err, job)
		}
	}
}

func TestJobOfAReleaseNeedsNoCheckout(t *testing.T) {
	files, err := Files("shop", "")
	if err != nil {
		t.Fatal(err)
	}
	job := string(files[".github/workflows/ci.yml"])
	if strings.Contains(job, "git ") || !strings.Contains(job, "      - run: make check test\n") {
		t.Error(job)
	}
}
