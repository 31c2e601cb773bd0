//go:build unix

package testrepo

import (
	"bytes"
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// CodeBlock is a fenced block of a page. Info is its first line: a language, and what [Walk.Follow]
// reads after it.
type CodeBlock struct{ Info, Text string }

var fenced = regexp.MustCompile("(?ms)^```(\\S[^\n]*)\n(.*?)^```$")

// CodeBlocks returns the fenced blocks of a Markdown text that name a language.
func CodeBlocks(text string) []CodeBlock {
	var all []CodeBlock
	for _, match := range fenced.FindAllStringSubmatch(text, -1) {
		all = append(all, CodeBlock{match[1], match[2]})
	}
	return all
}

// server matches the command that starts a server, with variables before it and arguments after it.
var server = regexp.MustCompile(`^([A-Z]+=\S+ )*go run \.( |$)`)

// listening is the address on which servers of pages listen. A walk uses a free one in its place.
const listening = "127.0.0.1:8080"

// Walk does what a page describes, as a reader would: in an empty folder.
type Walk struct {
	t       testing.TB
	Dir     string
	address string
	output  string // of the last commands
	stop    func() // the server that runs
	again   bool   // the address was another's once
}

// checkout is the checkout in pages. A walk uses its absolute path: the go command compiles mcpgen
// anew, as a tool, for each path.
const checkout = "=../mcpgen"

// NewWalk returns a walk in a new folder.
func NewWalk(t testing.TB) *Walk {
	t.Helper()
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	w := &Walk{t: t, Dir: dir, address: listener.Addr().String(), stop: func() {}}
	t.Cleanup(func() { w.stop() })
	return w
}

// Follow does each code block of a page in its order:
//
//   - "go FILE", and any other language with the name of a file, is written to that file;
//   - "sh" is run and must succeed, and "sh fails" must fail. A last line "go run ."
//     starts a server, which runs until the next one starts;
//   - "text" and "json" must be in the output of the last commands;
//   - "go" alone is a fragment, which the page's own files or another page use.
//
// Blocks of other forms are an error, so that nothing on the page is left out.
func (w *Walk) Follow(blocks []CodeBlock) {
	w.t.Helper()
	for _, block := range blocks {
		language, argument, _ := strings.Cut(block.Info, " ")
		switch {
		case language == "sh" && (argument == "" || argument == "fails"):
			w.output = w.Run(block.Text, argument == "fails")
		case argument != "":
			w.write(argument, block.Text)
		case language == "text" || language == "json":
			if !strings.Contains(w.output, block.Text) {
				w.t.Errorf("the page has the output\n%sbut it is\n%s", block.Text, w.output)
			}
		case language == "go":
		default:
			w.t.Fatalf("a block %q has neither a file nor commands:\n%s", block.Info, block.Text)
		}
	}
}

func (w *Walk) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		w.t.Fatal(err)
	}
	text = strings.ReplaceAll(text, listening, w.address)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		w.t.Fatal(err)
	}
}

// Run runs commands of a page, and returns what they print.
func (w *Walk) Run(commands string, fails bool) string {
	w.t.Helper()
	commands = strings.TrimSuffix(commands, "\n")
	first, last, several := cutLast(commands)
	serves := server.MatchString(last)
	if serves {
		w.stop()
		commands = first
	}
	var out []byte
	if !serves || several {
		cmd := w.command(commands)
		var err error
		if out, err = cmd.CombinedOutput(); (err != nil) != fails {
			w.t.Fatalf("%s: %v\n%s", commands, err, out)
		}
	}
	if serves {
		w.serve(last)
	}
	text := strings.TrimSuffix(strings.ReplaceAll(string(out), w.address, listening), "\n")
	return text + "\n"
}

func cutLast(text string) (first, last string, several bool) {
	i := strings.LastIndexByte(text, '\n')
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], true
}

func (w *Walk) command(text string) *exec.Cmd {
	actual := strings.NewReplacer(listening, w.address, checkout, `="$CHECKOUT"`)
	cmd := exec.Command("sh", "-ec", actual.Replace(text))
	direct := "127.0.0.1," + cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))
	cmd.Dir, cmd.Env = w.Dir, append(os.Environ(), "CHECKOUT="+Root(w.t), "NO_PROXY="+direct,
		"no_proxy="+direct, "CI=true") // CI is without mcpgen's run cache
	return cmd
}

// serve starts a server, and returns once it listens.
func (w *Walk) serve(command string) {
	w.t.Helper()
	cmd := w.command(command)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go run starts a process of its own
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	w.stop = func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		<-ended
		w.stop = func() {}
	}
	again, late := time.NewTicker(20*time.Millisecond), time.After(5*time.Minute)
	defer again.Stop()
	for {
		if conn, err := net.Dial("tcp", w.address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-again.C:
		case <-ended:
			if !w.again && strings.Contains(log.String(), "address already in use") {
				w.again = true
				w.serve(command)
				return
			}
			w.t.Fatalf("%s ended:\n%s", command, &log)
		case <-late:
			w.t.Fatalf("%s does not listen", command)
		}
	}
}
