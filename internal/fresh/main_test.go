//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// TestMain is the server of the service as well. It answers each call with its argument until it is
// interrupted, and then exits as go run does.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "serve" {
		os.Exit(m.Run())
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, os.Args[2])
	}))
	fmt.Fprintln(os.Stderr, "INFO listening url="+web.URL+"/mcp")
	<-interrupted
	os.Exit(1)
}

func TestCommandsAreThoseOfTheReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(testrepo.Root(t), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := commands(string(readme))
	text := ""
	for _, c := range all {
		text += c.part + ": " + c.text + "\n"
	}
	if err != nil || text != `clone: git clone https://github.com/mcpgen/mcpgen && cd mcpgen
demo: make demo
test: make test
init: make build && mkdir ../shop && cd ../shop
init: ../mcpgen/bin/mcpgen init --replace ../mcpgen
init: go run .
init: make test
` {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := commands("# Title\n"); err == nil {
		t.Error("a README without commands has some")
	}
}

const stub = "<!-- start -->\n```sh\ngit clone https://github.com/mcpgen/mcpgen && cd mcpgen\n" +
	"make demo # see it\nmake test\n```\n\nThen:\n\n```sh\n" +
	"make build && mkdir ../shop && cd ../shop\n../mcpgen/bin/mcpgen init\ngo run .\nmake test\n" +
	"```\n<!-- /start -->\n"

// demo needs an environment without SECRET and with a proxy, in which nothing is cached.
const makefile = `demo:
	@test -z "$$SECRET" && test "$$https_proxy" = http://proxy.example && test ! -e "$$HOME/go" -a ! -e "$$HOME/.cache"
	@mkdir -p "$$HOME/go/pkg/mod" && head -c 2000000 /dev/zero >"$$HOME/go/pkg/mod/zip"
	@chmod a-w "$$HOME/go/pkg/mod"
test:
	@test "$$(basename "$$PWD")" = mcpgen || { echo the shop has no tests; exit 1; }
build:
	@mkdir bin && printf '#!/bin/sh\nprintf "test:\\n" >Makefile\n' >bin/mcpgen && chmod a+x bin/mcpgen
`

// checkout makes a repository that begins as this one does. Its go command runs this test as the
// server, which answers a call.
func checkout(t *testing.T, answer string) (root string) {
	t.Helper()
	gocmd, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, bin := t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(root, "README.md"): stub, filepath.Join(root, "Makefile"): makefile,
		filepath.Join(bin, "go"): "#!/bin/sh\ntest \"$1\" = run || exec '" + gocmd + "' \"$@\"\nexec '" +
			own + "' serve '" + answer + "'\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	git := exec.Command("sh", "-ec", "git init --quiet; git add .; "+
		"git -c user.name=a -c user.email=a@b -c commit.gpgsign=false commit --quiet --message=a")
	git.Dir, git.Env = root, testrepo.GitEnv(t)
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("SECRET", "t0psecret")
	t.Setenv("https_proxy", "http://proxy.example")
	t.Cleanup(func() {
		if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
			t.Errorf("folders remain: %v, %v", left, err)
		}
	})
	return root
}

func TestEachCommandIsRunAndMeasured(t *testing.T) {
	root := checkout(t, `{"structuredContent":1}`)
	var out strings.Builder
	err := run(t.Context(), &out, root, []string{"demo", "test", "init"}, bounds)
	const numbers = `^ +\d+\.\d +\d+\.\d +`
	wants := []string{`^seconds  CPU s  modules MB  build cache MB  command$`,
		numbers + `0 +0  git clone https://github.com/mcpgen/mcpgen && cd mcpgen$`,
		numbers + `2 +0  make demo, at most 150 s of CPU, at most 150 MB of modules$`,
		numbers + `0 +0  make test, at most 1400 s of CPU$`,
		numbers + `0 +0  make build && mkdir ../shop && cd ../shop$`,
		numbers + `0 +0  ../mcpgen/bin/mcpgen init$`,
		numbers + `0 +0  go run \.$`, numbers + `0 +0  make test$`}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if err != nil || len(lines) != len(wants) {
		t.Fatalf("%v\n%s", err, &out)
	}
	for i, want := range wants {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("%s\nwant\n%s", lines[i], want)
		}
	}
}

func TestMoreThanABoundAndFailuresAreErrors(t *testing.T) {
	root := checkout(t, `{"error":1}`)
	for part, want := range map[string]string{
		"demo": "make demo used more than it may, at most 1 MB of modules",
		"init": `a call of the tool now returned 200 OK` + "\n" + `{"error":1}`,
	} {
		var out strings.Builder
		err := run(t.Context(), &out, root, []string{part}, map[string]usage{"demo": {modules: 1}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", part, err)
		}
		if strings.Contains(out.String(), "make test") {
			t.Errorf("-only %s runs more:\n%s", part, &out)
		}
	}
	broken := strings.Replace(makefile, "test:\n", "test:\n\t@echo it is red; exit 1\n", 1)
	if err := os.WriteFile(filepath.Join(root, "Makefile"), []byte(broken), 0o666); err != nil {
		t.Fatal(err)
	}
	commit := exec.Command("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c",
		"commit.gpgsign=false", "commit", "--quiet", "--all", "--message=b")
	commit.Dir, commit.Env = root, testrepo.GitEnv(t)
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	err := run(t.Context(), new(strings.Builder), root, []string{"test"}, nil)
	if err == nil || !regexp.MustCompile(`(?s)^make test: exit status 2\n.*\nit is red\n`).MatchString(
		err.Error()) {
		t.Error(err)
	}
	if err := run(t.Context(), new(strings.Builder), t.TempDir(), nil, nil); err == nil {
		t.Error("a folder without README.md is a checkout")
	}
}
