//go:build unix

// Command fresh does what a new user does with the commands at the start of the README, and
// measures each:
//
//	go run ./internal/fresh [-only demo,test,init]
//
// It runs them in a temporary folder, with the last commit of the working directory in place of the
// address of the clone. The environment has PATH, an empty HOME, and the caller's variables of
// proxies and certificates. So nothing is cached.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	only := flag.String("only", "demo,test,init", "the `parts` to run after the clone")
	flag.Parse()
	root, err := os.Getwd()
	if err == nil {
		err = run(ctx, os.Stdout, root, strings.Split(*only, ","), bounds)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fresh:", err)
		os.Exit(1)
	}
}

// A command is a line of the README. Its part is clone, demo or test, or init for all that makes a
// service.
type command struct{ part, text string }

// address is what a user clones.
const address = "https://github.com/mcpgen/mcpgen"

var (
	start = regexp.MustCompile(`(?s)<!-- start -->(.*)<!-- /start -->`)
	shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
)

// commands returns the commands of the two blocks at the start of the README.
func commands(readme string) ([]command, error) {
	blocks := shell.FindAllStringSubmatch(start.FindString(readme), -1)
	if len(blocks) != 2 || !strings.HasPrefix(blocks[0][1], "git clone "+address+" ") {
		return nil, errors.New("README.md has no two blocks of commands between its marks start, " +
			"of which the first clones " + address)
	}
	var all []command
	for i, block := range blocks {
		for line := range strings.Lines(block[1]) {
			text, _, _ := strings.Cut(line, " #")
			text = strings.TrimSpace(text)
			part := "init"
			if i == 0 {
				part = strings.TrimPrefix(text, "make ")
				if len(all) == 0 {
					part = "clone"
				}
			}
			all = append(all, command{part, text})
		}
	}
	return all, nil
}

// usage is what a command used: seconds, seconds of CPU, and megabytes by which it grew the caches.
type usage struct{ seconds, cpu, modules, build float64 }

// bounds are the most that the commands of a part may use. Zero has no bound.
var bounds = map[string]usage{"demo": {cpu: 150, modules: 150}, "test": {cpu: 1400}}

// String is empty without a bound.
func (u usage) String() string {
	text := ""
	if u.cpu > 0 {
		text += fmt.Sprintf(", at most %.0f s of CPU", u.cpu)
	}
	if u.modules > 0 {
		text += fmt.Sprintf(", at most %.0f MB of modules", u.modules)
	}
	return text
}

// run runs the commands of the README in root, and prints a line for each.
func run(ctx context.Context, out io.Writer, root string, only []string,
	bounds map[string]usage) error {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	all, err := commands(string(readme))
	if err != nil {
		return err
	}
	m, err := newMachine(ctx, root)
	if err != nil {
		return err
	}
	defer m.remove()
	fmt.Fprintln(out, "seconds  CPU s  modules MB  build cache MB  command")
	var errs []error
	for _, c := range all {
		if c.part != "clone" && !slices.Contains(only, c.part) {
			continue
		}
		used, err := m.run(ctx, c.text)
		if err != nil {
			text, _ := os.ReadFile(m.log.Name())
			lines := strings.SplitAfter(string(text), "\n")
			return fmt.Errorf("%s: %w\n%s", c.text, err, strings.Join(lines[max(0, len(lines)-60):], ""))
		}
		bound := bounds[c.part]
		fmt.Fprintf(out, "%7.1f  %5.1f  %10.0f  %14.0f  %s%s\n", used.seconds, used.cpu,
			used.modules, used.build, c.text, bound)
		if bound.cpu > 0 && used.cpu > bound.cpu ||
			bound.modules > 0 && used.modules > bound.modules {
			errs = append(errs, fmt.Errorf("%s used more than it may%s", c.text, bound))
		}
	}
	return errors.Join(errs...)
}

// A machine is a folder in which nothing is cached.
type machine struct {
	folder         string
	origin         string // in place of the address: a link, since git names the clone after it
	work           string // the working directory of the next command
	env            []string
	modules, build string // the caches of the go command
	log            *os.File
}

// passed are the variables of the caller. Settings of go env -w are in the caller's HOME, so those
// of passedGo are read from the go command.
var (
	passed = []string{"PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE",
		"SSL_CERT_DIR"}
	passedGo = []string{"GOPROXY", "GOSUMDB", "GONOSUMDB"}
)

func newMachine(ctx context.Context, root string) (*machine, error) {
	folder, err := os.MkdirTemp("", "fresh")
	if err != nil {
		return nil, err
	}
	m := &machine{folder: folder, origin: filepath.Join(folder, "origin", path.Base(address)),
		work: filepath.Join(folder, "work")}
	home := filepath.Join(folder, "home")
	m.env = []string{"HOME=" + home}
	for _, name := range passed {
		for _, name := range []string{name, strings.ToLower(name)} {
			if value, ok := os.LookupEnv(name); ok {
				m.env = append(m.env, name+"="+value)
			}
		}
	}
	err = errors.Join(os.Mkdir(home, 0o777), os.Mkdir(m.work, 0o777),
		os.Mkdir(filepath.Dir(m.origin), 0o777), os.Symlink(root, m.origin))
	if err == nil {
		m.log, err = os.Create(filepath.Join(folder, "log"))
	}
	var settings []string
	if err == nil {
		settings, err = goEnv(ctx, nil, passedGo...)
	}
	for i, value := range settings {
		m.env = append(m.env, passedGo[i]+"="+value)
	}
	var caches []string
	if err == nil {
		caches, err = goEnv(ctx, m.env, "GOMODCACHE", "GOCACHE")
	}
	if err != nil {
		m.remove()
		return nil, err
	}
	m.modules, m.build = caches[0], caches[1]
	return m, nil
}

// goEnv returns settings of the go command. Without env, they are the caller's.
func goEnv(ctx context.Context, env []string, names ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...)
	cmd.Env = env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return strings.Split(string(out), "\n")[:len(names)], nil
}

// remove removes the folder. Folders of the module cache are readonly.
func (m *machine) remove() {
	_ = filepath.WalkDir(m.folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	_ = m.log.Close()
	_ = os.RemoveAll(m.folder)
}

// run runs a command, and keeps the directory in which it ends for the next one.
func (m *machine) run(ctx context.Context, text string) (used usage, err error) {
	modules, build := size(m.modules), size(m.build)
	began := time.Now()
	fmt.Fprintln(m.log, "$", text)
	text = strings.Replace(text, address, `"$ORIGIN"`, 1)
	serves := text == "go run ."
	if serves {
		text = "exec " + text
	} else {
		text += ` && pwd -P >"$FOLDER/pwd"`
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.work, m.log, m.log
	cmd.Env = append(slices.Clip(m.env), "ORIGIN="+m.origin, "FOLDER="+m.folder)
	if serves {
		err = m.serve(ctx, cmd)
	} else {
		err = cmd.Run()
	}
	if err != nil {
		return usage{}, err
	}
	used.seconds = time.Since(began).Seconds()
	used.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	used.modules, used.build = size(m.modules)-modules, size(m.build)-build
	if !serves {
		var work []byte
		work, err = os.ReadFile(filepath.Join(m.folder, "pwd"))
		m.work = strings.TrimSpace(string(work))
	}
	return used, err
}

// serve starts a server, and stops it after its first successful call.
func (m *machine) serve(ctx context.Context, cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run starts a process of its own
	interrupt := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.Cancel, cmd.Stderr = interrupt, nil
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	called := errors.New("it ended before it was listening")
	for lines := bufio.NewScanner(log); lines.Scan(); {
		fmt.Fprintln(m.log, lines.Text())
		if _, url, ok := strings.Cut(lines.Text(), " listening url="); ok {
			called = call(ctx, url)
			_ = interrupt()
		}
	}
	ended := cmd.Wait()
	if called == nil && errors.As(ended, new(*exec.ExitError)) {
		return nil // an interrupted go run exits with 1
	}
	return errors.Join(called, ended)
}

// call calls the public tool of the service.
func call(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now","_meta":{`+
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method": "tools/call", "Mcp-Name": "now"} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && !bytes.Contains(body, []byte(`"structuredContent"`)) {
		err = fmt.Errorf("a call of the tool now returned %s\n%s", response.Status, body)
	}
	return err
}

// size returns how many megabytes of the disk a folder uses, 0 for a missing one.
func size(folder string) float64 {
	out, err := exec.Command("du", "-sk", folder).Output()
	kilobytes, _, _ := strings.Cut(string(out), "\t")
	number, errNumber := strconv.ParseFloat(kilobytes, 64)
	if errors.Join(err, errNumber) != nil {
		return 0
	}
	return number / 1024
}
