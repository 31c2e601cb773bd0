package runtime_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// asServer makes the test binary a stdio server: it is run again with this variable set.
const asServer = "MCPGEN_TEST_STDIO_ROLE"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(asServer); ok {
		os.Exit(stdioServer(role))
	}
	if trail, ok := os.LookupEnv(asKilled); ok {
		os.Exit(killedServer(trail))
	}
	os.Exit(m.Run())
}

// stdioServer serves the directory and a tool that prints wherever it can.
func stdioServer(role string) int {
	early := os.Stdout // somebody who kept it from before
	noisy := oneTool("noisy", func(context.Context, toolset.Call) (toolset.Result, error) {
		fmt.Println("printed by fmt")
		fmt.Fprintln(early, "printed by one who kept os.Stdout")
		log.New(early, "", 0).Println("printed by a logger")
		println("printed by println")
		return toolset.Structured(map[string]string{"said": "enough"}, nil)
	})
	s, err := runtime.New(runtime.Options{Logger: quiet(), Anonymous: role == ""},
		directory(&desk{}), noisy)
	if err == nil {
		err = s.RunStdio(context.Background(), principalOf(role))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("standard output is back")
	return 0
}

func command(t *testing.T, role string) (*exec.Cmd, *journal) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr journal
	cmd := exec.Command(exe)
	// The race detector otherwise makes each process wait for a second at its end.
	cmd.Env = append(os.Environ(), asServer+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = &stderr
	return cmd, &stderr
}

func TestProcessOverStdioServesItsPrincipal(t *testing.T) {
	for column, role := range callers {
		if role == "Roleless" {
			continue // an error at start, tested below
		}
		for _, era := range eras {
			cmd, stderr := command(t, role)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
				Connect(context.Background(), &mcp.CommandTransport{Command: cmd},
					&mcp.ClientSessionOptions{ProtocolVersion: era})
			if err != nil {
				t.Fatalf("%q, %s: %v\n%s", role, era, err, stderr)
			}
			list, err := session.ListTools(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			for _, who := range expected {
				if who[column] == 'y' {
					want++
				}
			}
			if role != "" {
				want++ // noisy, for authenticated callers
			}
			if len(list.Tools) != want {
				t.Errorf("%q, %s: %d tools, want %d", role, era, len(list.Tools), want)
			}
			session.Close()
		}
	}
}

func TestWhatHandlersPrintDoesNotCorruptTheStream(t *testing.T) {
	cmd, stderr := command(t, "Admin")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noisy"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	} {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), `{"jsonrpc":"2.0"`) {
			t.Fatalf("%s was answered with %q\n%s", message, lines.Text(), stderr)
		}
	}
	in.Close()
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("closing the input ends the server with %v\n%s", err, stderr)
	}
	if len(rest) != 1 || rest[0] != "standard output is back" {
		t.Errorf("on standard output after the end: %q", rest)
	}
	for _, want := range []string{"printed by fmt", "printed by one who kept os.Stdout",
		"printed by a logger", "printed by println"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is lost:\n%s", want, stderr)
		}
	}
}

func TestStdioPrincipalIsExplicit(t *testing.T) {
	closed := newServer(t, runtime.Options{}, directory(&desk{}))
	open := newServer(t, runtime.Options{Anonymous: true}, directory(&desk{}))
	h := newHost(nil)
	h.set("svc")
	hosted := aware(t, h, runtime.Options{Host: runtime.HostOptions{
		ServiceUsers: []runtime.ServiceUser{{Client: "ci", User: "svc"}}}})
	for _, test := range []struct {
		name string
		s    *runtime.Server
		p    access.Principal
		want string // empty: served
	}{
		{"nobody where anonymous callers are not admitted", closed, access.Principal{},
			"no principal"},
		{"nobody where they are", open, access.Principal{}, ""},
		{"a role without a subject", open, access.Principal{Roles: []string{"Admin"}}, "has no Subject"},
		{"scopes without a subject", open, access.Principal{Scopes: []string{"all"}},
			"has no Subject"},
		{"a misspelt role", closed, access.Principal{Subject: "x", Roles: []string{"admin"}},
			`a role of the principal is "admin", which is not a role of Viewer < Member < Manager < Admin`},
		{"a subject with an escape sequence", closed, access.Principal{Subject: "x\x1b[2J"},
			`the principal's Subject "x\x1b[2J" is not UTF-8 or has a control character: rename it`},
		{"a client with a control character", closed, access.Principal{Subject: "x",
			Client: "a\u0085b"}, `Client "a\u0085b" is not`},
		{"a user that the host does not have", hosted, access.Principal{Subject: "eve", User: "eve"},
			`Options.Host.Source does not support the principal "eve": the host has no active user`},
		{"a person by a client", hosted, access.Principal{Subject: "eve", Client: "ci"}, "not support"},
		{"a client itself", hosted, access.Principal{Subject: "ci", Client: "ci"}, ""},
		{"a principal without a role", closed, access.Principal{Subject: "x"}, ""},
	} {
		for how, run := range map[string]func(context.Context) error{
			"RunIO": func(ctx context.Context) error {
				return test.s.RunIO(ctx, strings.NewReader(""), io.Discard, test.p)
			},
			"RunStdio": func(ctx context.Context) error {
				if test.want == "" {
					return nil // it would serve the test's own standard input
				}
				return test.s.RunStdio(ctx, test.p)
			},
		} {
			err := run(context.Background())
			if test.want == "" && err != nil || test.want != "" &&
				(err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%s, %s: %v", test.name, how, err)
			}
		}
	}
}

func TestStdioEndsIfNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, runtime.Options{}, directory(&desk{}))
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.RunIO(t.Context(), in, out, principalOf("Admin")) }()
		answers := bufio.NewScanner(fromServer)
		io.WriteString(toServer, handshake+"\n")
		answers.Scan()
		io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		io.WriteString(toServer, `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`+"\n")
		synctest.Wait()
		begun := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-done; err != nil || time.Since(begun) > 5*time.Second {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		fromServer.Close()
		toServer.Close()
	})
}

func TestStdioEndsWithItsContextAndWithTheServer(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}))
	for name, end := range map[string]func(context.CancelFunc){
		"its context": func(cancel context.CancelFunc) { cancel() },
		"the server": func(context.CancelFunc) {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Errorf("shutdown: %v", err)
			}
		},
	} {
		if name == "its context" {
			s = newServer(t, runtime.Options{}, directory(&desk{}))
		}
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.RunIO(ctx, in, out, principalOf("Admin")) }()
		go io.WriteString(toServer, ping+"\n")
		if lines := bufio.NewScanner(fromServer); !lines.Scan() {
			t.Fatal("no answer")
		}
		end(cancel)
		err := <-done
		if name == "its context" && !errors.Is(err, context.Canceled) || name == "the server" &&
			err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
}

// asKilled makes the test binary a server whose call kills it, with a trail in this file.
const asKilled = "MCPGEN_TEST_KILLED"

var trailKey = []byte(strings.Repeat("k", chain.MinKey))

func killedServer(trail string) int {
	file, err := audit.Rotating(trail, audit.RotateOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	sealed, err := chain.New(file, chain.Options{Key: trailKey, Replica: "a"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	self, _ := os.FindProcess(os.Getpid())
	s, err := runtime.New(runtime.Options{Audit: runtime.AuditOptions{Sink: sealed},
		Logger: quiet(), Identity: users()},
		oneTool("pay", func(_ context.Context, c toolset.Call) (toolset.Result, error) {
			if strings.Contains(string(c.Arguments), "last") {
				_ = self.Kill()
				select {}
			}
			return toolset.Done(nil)
		}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, arguments := range []string{`{}`, `{"last":true}`} {
		r := httptest.NewRequest(http.MethodPost, runtime.PathMCP,
			strings.NewReader((&raw{era: "2026-07-28"}).request("tools/call",
				`"name":"pay","arguments":`+arguments)))
		r.Header = http.Header{"Content-Type": {"application/json"},
			"Accept":               {"application/json, text/event-stream"},
			"Authorization":        {"Bearer " + tokens["Member"]},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
			"Mcp-Name": {"pay"}}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		fmt.Fprintln(os.Stderr, w.Code, w.Body)
	}
	return 1
}

func TestKilledServerLeavesTheIntentOfItsCall(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	trail := filepath.Join(t.TempDir(), "audit.jsonl")
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), asKilled+"="+trail)
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.Exited() {
		t.Fatalf("it was not killed: %s", out)
	}
	file, err := os.Open(trail)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, err := chain.Verify(chain.Lines("trail", file), chain.VerifyOptions{Key: trailKey})
	if err != nil || !got.Sound() || got.Records != 3 || got.NoOutcome != 1 ||
		len(got.Findings) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if f := got.Findings[0]; f.Kind != "no outcome" || f.Line != 3 ||
		!strings.Contains(f.String(), `called "pay"`) {
		t.Error(f)
	}
}
