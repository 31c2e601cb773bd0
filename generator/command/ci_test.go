package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// action is the part of action.yml that tests read.
type action struct {
	Inputs map[string]struct{ Description, Default string }
	Runs   struct {
		Using string
		Steps []struct {
			Name, Shell, Run string
			Env              map[string]string
		}
	}
}

func readYAML(root, name string, into any) error {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

// TestActionPassesItsInputs checks that each step of action.yml has a shell, that it gets inputs by
// its environment alone, and that each input has a description and is used.
func TestActionPassesItsInputs(t *testing.T) {
	var a action
	if err := readYAML(testrepo.Root(t), "action.yml", &a); err != nil {
		t.Fatal(err)
	}
	if a.Runs.Using != "composite" || len(a.Runs.Steps) != 2 {
		t.Fatalf("%+v", a.Runs)
	}
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)
	used := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if s.Shell != "bash" || strings.Contains(s.Run, "${{") {
			t.Errorf("step %s: shell %q, %s", s.Name, s.Shell, s.Run)
		}
		for name, value := range s.Env {
			m := input.FindStringSubmatch(value)
			if m == nil || strings.ReplaceAll(strings.ToUpper(m[1]), "-", "_") != name ||
				!strings.Contains(s.Run, "$"+name) {
				t.Errorf("step %s: %s is %s, or unused", s.Name, name, value)
				continue
			}
			used[m[1]] = true
		}
	}
	for name, in := range a.Inputs {
		if in.Description == "" || !used[name] {
			t.Errorf("input %s has no description or no use", name)
		}
	}
	if len(used) != len(a.Inputs) {
		t.Errorf("used %v of %d inputs", used, len(a.Inputs))
	}
}

// hook is an item of .pre-commit-hooks.yaml.
type hook struct {
	ID, Name, Entry, Language, Files string
	PassFilenames                    *bool `yaml:"pass_filenames"`
}

func TestHooksRunForFilesOfMcpgen(t *testing.T) {
	var hooks []hook
	if err := readYAML(testrepo.Root(t), ".pre-commit-hooks.yaml", &hooks); err != nil {
		t.Fatal(err)
	}
	if len(hooks) != 2 {
		t.Fatalf("%+v", hooks)
	}
	for _, h := range hooks {
		files, err := regexp.Compile(h.Files)
		if err != nil || h.ID == "" || h.Name == "" || h.Language != "system" ||
			h.PassFilenames == nil || *h.PassFilenames {
			t.Errorf("%+v, %v", h, err)
			continue
		}
		for file, want := range map[string]bool{"a/b.go": true, "go.mod": true, "MCP.md": true,
			"x/mcp.manifest.json": true, "README.md": false} {
			if files.MatchString(file) != want {
				t.Errorf("%s: %s", h.ID, file)
			}
		}
	}
}

// TestCIBeginsWithTheTestsOfTheReadme holds that what a reader of the README runs is what CI runs
// first. TestReadmeStartsWithThreeCommands holds that the README names make test.
func TestCIBeginsWithTheTestsOfTheReadme(t *testing.T) {
	root := testrepo.Root(t)
	script, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	if got := regexp.MustCompile(`(?m)^make .*`).FindString(string(script)); got != "make ci" {
		t.Errorf("the first target of .ci/run is %q, want make ci", got)
	}
	// With -n, make prints recipes, and runs those that contain $(MAKE): here, echo.
	out, err := exec.Command("make", "-C", root, "-n", "MAKE=echo", "GO=true", "ci").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	targets := regexp.MustCompile(`(?m)^--no-print-directory (\S+)`).FindAllSubmatch(out, -1)
	if len(targets) == 0 || string(targets[0][1]) != "test" {
		t.Errorf("make ci does not begin with make test:\n%s", out)
	}
}

// ciScripts writes commands of CI files as shell scripts: check.sh and compare.sh of action.yml,
// hooks.sh of .pre-commit-hooks.yaml, and gitlab.sh of docs/howto/ci.md. The scripts run mcpgen
// itself in place of "go tool mcpgen".
func ciScripts(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: ciscripts")
	}
	root := ts.Getenv("REPOSITORY")
	write := func(name string, lines ...string) {
		text := strings.ReplaceAll(strings.Join(lines, "\n"), "go tool mcpgen", "mcpgen")
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text+"\n"), 0o666))
	}
	var a action
	ts.Check(readYAML(root, "action.yml", &a))
	write("check.sh", a.Runs.Steps[0].Run)
	write("compare.sh", a.Runs.Steps[1].Run)
	var hooks []hook
	ts.Check(readYAML(root, ".pre-commit-hooks.yaml", &hooks))
	write("hooks.sh", hooks[0].Entry, hooks[1].Entry)

	page, err := os.ReadFile(filepath.Join(root, "docs", "howto", "ci.md"))
	ts.Check(err)
	var jobs map[string]struct{ Script []string }
	_, after, _ := strings.Cut(string(page), "## GitLab\n\n```yaml\n")
	block, _, _ := strings.Cut(after, "```")
	ts.Check(yaml.Unmarshal([]byte(block), &jobs))
	own := func(line string) bool { return !strings.Contains(line, "mcpgen") }
	write("gitlab.sh", slices.DeleteFunc(slices.Concat(jobs["test"].Script,
		jobs["authority"].Script), own)...)
}
