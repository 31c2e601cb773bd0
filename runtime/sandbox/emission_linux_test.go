package sandbox

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// emission is a frame with what a handler could have said.
func emission(text string) []byte {
	return append(appendFrame(nil, frameEmission, len(text)), text...)
}

const password = "hunter2-in-plain-sight"

func init() {
	for name, run := range map[string]func(ctx context.Context) error{
		"speak": func(ctx context.Context) error {
			log := runtime.Logger(ctx).With("step", 1)
			log.Debug("only for the debug level")
			log.Info("looking", slog.Group("rows", "read", 3, "took", time.Second), "password",
				password, "url", "https://u:"+password+"@example.com/")
			log.WithGroup("deep").Warn("password="+password, "principal", "admin", "list",
				[]string{"a", "b"}, "error", errors.New("no luck"))
			progress := runtime.Progress(ctx)
			for i := range 100 {
				progress.Report(float64(i+1), 100, "row "+fmt.Sprint(i+1)+" password="+password)
			}
			runtime.Advise(ctx, 0.5, "ask for less, and not with password=%s", password)
			return nil
		},
		"speak with many voices": func(ctx context.Context) error {
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					for j := range 4 {
						// more than one write
						runtime.Logger(ctx).Info(
							fmt.Sprintf("voice %d.%d", i, j), "long",
							strings.Repeat("x", 5000*(j%2)))
					}
				})
			}
			all.Wait()
			return nil
		},
		"speak too much": func(ctx context.Context) error {
			runtime.Logger(ctx).Info("more than at once", "much", strings.Repeat("z", 70<<10))
			for range 200 {
				runtime.Logger(ctx).Info("much", "much", strings.Repeat("y", 60<<10))
			}
			return nil
		},
		"speak on": func(ctx context.Context) error {
			log, begun := runtime.Logger(ctx), make(chan struct{})
			go func() {
				for i := 0; ; i++ {
					log.Info("on and on")
					if i == 10 {
						close(begun)
					}
				}
			}()
			<-begun
			return nil
		},
		"speak and wait": func(ctx context.Context) error {
			runtime.Logger(ctx).Info("what was said before")
			forever()
			return nil
		},
		"speak and explode": func(ctx context.Context) error {
			runtime.Logger(ctx).Info("what was said before")
			panic("on purpose")
		},
		"speak and fail": func(ctx context.Context) error {
			runtime.Advise(ctx, 1, "try another name")
			return errors.New("no such customer")
		},
		"flood with emissions": func(context.Context) error {
			frame := emission(`{"log":{"level":"INFO","msg":"flood"}}`)
			for {
				if _, err := unix.Write(responseFD, frame); err != nil {
					return err
				}
			}
		},
		"forge emissions": func(context.Context) error {
			for _, text := range []string{
				"", "null", "[]", "{", "\xff\xfe", `{"log":{"level":"LOUD","msg":"x"}}`,
				`{"log":{"level":"INFO","msg":"x","attrs":[1]}}`,
				`{"log":{"level":"INFO","msg":"x","attrs":{"a":` + strings.Repeat("[", 20000) +
					`}}}`,
				`{"progress":{"done":1e999}}`, `{"advice":{"priority":"high"}}`,
				`{"log":{"level":"ERROR","msg":"still here","time":"9999-01-01T00:00:00Z","attrs":{"principal":"root","request_id":"forged"}}}`,
			} {
				if _, err := unix.Write(responseFD, emission(text)); err != nil {
					return err
				}
			}
			return nil
		},
		"emit too long": func(context.Context) error {
			_, _ = unix.Write(responseFD, appendFrame(nil, frameEmission, notify.MaxEmission+1))
			forever()
			return nil
		},
		"emit half": func(context.Context) error {
			unix.Write(responseFD, append(appendFrame(nil, frameEmission, 100), '{'))
			os.Exit(0)
			return nil
		},
		"emit after its journal": func(context.Context) error {
			unix.Write(responseFD, slices.Concat(
				appendFrame(nil, frameJournal, 2), []byte("{}"), emission("{}")))
			forever()
			return nil
		},
		"emit after its result": func(context.Context) error {
			unix.Write(responseFD, slices.Concat(
				appendFrame(nil, frameResult, 4), []byte("null"),
				emission(`{"log":{"level":"INFO","msg":"too late"}}`)))
			forever()
			return nil
		},
	} {
		Register(name, func(ctx context.Context, _ Job) ([]byte, error) {
			return isolate.Encoded(nil, run(ctx))
		})
	}
}

// listener is a client that keeps what it is sent besides answers.
type listener struct {
	session *mcp.ClientSession

	mu       sync.Mutex
	more     sync.Cond // with mu
	logs     []*mcp.LoggingMessageParams
	progress []*mcp.ProgressNotificationParams
}

func listen(t *testing.T, url, token string) *listener {
	t.Helper()
	l := &listener{}
	l.more.L = &l.mu
	client := mcp.NewClient(&mcp.Implementation{Name: "listener", Version: "1"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.logs = append(l.logs, r.Params)
			l.more.Signal()
		},
		ProgressNotificationHandler: func(_ context.Context,
			r *mcp.ProgressNotificationClientRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.progress = append(l.progress, r.Params)
			l.more.Signal()
		},
	})
	var err error
	l.session, err = client.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: mcptest.HTTPClient(token),
			MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.session.Close() })
	return l
}

func (l *listener) call(t *testing.T, tool string, token any) *mcp.CallToolResult {
	t.Helper()
	params := &mcp.CallToolParams{Name: strings.ReplaceAll(tool, " ", "_"),
		Arguments: map[string]any{}}
	if token != nil {
		params.SetProgressToken(token)
	}
	res, err := l.session.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return res
}

// received returns what was sent once that is so many log messages and a progress of 100. Log
// messages have their levels before them. go-sdk's client hands them over beside the answer.
func (l *listener) received(t *testing.T, messages int) (logs []string,
	progress []*mcp.ProgressNotificationParams) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.logs) < messages || len(l.progress) == 0 ||
		l.progress[len(l.progress)-1].Progress < 100 {
		l.more.Wait()
	}
	for _, m := range l.logs {
		data, err := json.Marshal(m.Data)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, string(m.Level)+" "+string(data))
	}
	return logs, slices.Clone(l.progress)
}

// lines returns the lines of a log that hold a text, and forgets all.
func (l *logged) lines(with string) (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.text.Bytes()) {
		if strings.Contains(string(line), with) {
			all = append(all, strings.TrimSuffix(string(line), "\n"))
		}
	}
	l.text.Reset()
	return all
}

// TestWhatIsolatedHandlersSay reaches the server's log, the client and the result, whatever else
// the handlers do.
func TestWhatIsolatedHandlersSay(t *testing.T) {
	names := map[string]string{}
	for _, name := range []string{"speak", "speak with many voices", "speak too much", "speak on",
		"speak and wait", "speak and explode", "speak and fail",
		"flood with emissions", "forge emissions", "emit too long", "emit half",
		"emit after its journal", "emit after its result"} {
		names[strings.ReplaceAll(name, " ", "_")] = name
	}
	box := newSandbox(t, Options{Warm: 2})
	var log logged
	server, err := runtime.New(runtime.Options{
		Sandbox: box, Logger: slog.New(slog.NewTextHandler(&log, nil)), // from info on
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("ann"): {Subject: "ann"}}),
	}, isolated(names, toolset.Limits{}, map[string]time.Duration{
		"speak_and_wait": 5 * time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	ann := listen(t, mcptest.Serve(t, server), "ann")

	t.Run("to nobody but the server", func(t *testing.T) {
		if res := ann.call(t, "speak", nil); res.IsError {
			t.Error(mcptest.Text(res))
		}
		if lines := log.lines("isolated"); len(lines) != 2 {
			t.Errorf("the log says %q", lines)
		}
	})
	t.Run("to a client that listens", func(t *testing.T) {
		//lint:ignore SA1019 clients of this version may ask for log messages
		if err := ann.session.SetLoggingLevel(
			t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
			t.Fatal(err)
		}
		res := ann.call(t, "speak", "p1")
		advice, _ := res.Content[len(res.Content)-1].(*mcp.TextContent)
		if advice == nil || advice.Text != "ask for less, and not with password=***MASKED***" ||
			advice.Annotations == nil || advice.Annotations.Priority != 0.5 ||
			advice.Annotations.Audience[0] != "assistant" {
			t.Errorf("the advice: %+v", advice)
		}
		logs, progress := ann.received(t, 3)
		lines := log.lines("isolated")
		if len(lines) != 2 || len(logs) != 3 {
			t.Fatalf("the log says %q, the client was told %q", lines, logs)
		}
		for _, part := range []string{"level=INFO", "msg=looking", "request_id=", "principal=ann",
			"tool=speak", "isolated.step=1", "isolated.rows.read=3", "isolated.rows.took=1s",
			"isolated.password=***MASKED***", "example.com"} {
			if !strings.Contains(lines[0], part) {
				t.Errorf("%s is not in %s", part, lines[0])
			}
		}
		for _, part := range []string{"level=WARN", "isolated.deep.principal=admin",
			"isolated.deep.list=\"[a b]\"", "no luck"} {
			if !strings.Contains(lines[1], part) {
				t.Errorf("%s is not in %s", part, lines[1])
			}
		}
		ann.mu.Lock()
		for _, m := range ann.logs {
			if m.Logger != "speak" || m.Meta["io.github.mcpgen/requestId"] == nil {
				t.Errorf("logger %q, _meta %v", m.Logger, m.Meta)
			}
		}
		ann.mu.Unlock()
		for i, part := range []string{`debug {"msg":"only for the debug level"`, `info {`,
			`warning {"deep":{`} {
			if !strings.HasPrefix(logs[i], part) || !strings.Contains(logs[i], `"step":1`) ||
				!strings.Contains(logs[i], `"request_id":"`) {
				t.Errorf("the client was told %s", logs[i])
			}
		}
		if len(progress) > 50 {
			t.Errorf("%d reports", len(progress))
		}
		if last := progress[len(progress)-1]; last.Progress != 100 || last.Total != 100 ||
			last.ProgressToken != "p1" || last.Message != "row 100 password=***MASKED***" {
			t.Errorf("%+v", last)
		}
		told, err := json.Marshal([]any{lines, logs, progress, res})
		if err != nil || strings.Contains(string(told), password) {
			t.Errorf("%v, a secret was told: %s", err, told)
		}
	})
	//lint:ignore SA1019 clients of this version may ask for log messages
	if err := ann.session.SetLoggingLevel(t.Context(),
		&mcp.SetLoggingLevelParams{Level: "error"}); err != nil {
		t.Fatal(err)
	}
	type lines map[string]int // how many of the log hold a text, 0 for some
	for _, test := range []struct {
		tool, result string
		logged       lines
	}{
		{"speak with many voices", "null", lines{"msg=\"voice ": 200}},
		{"speak too much", "null", lines{"msg=much ": 0,
			"dropped log messages of an isolated call: it sent more than allowed": 1,
			"its attributes were dropped":                                         1}},
		{"speak on", "null", lines{"on and on": 0}},
		{"speak and wait", "timed out after 5s", lines{"what was said before": 1}},
		{"speak and explode", "internal error", lines{"what was said before": 1}},
		{"speak and fail", "no such customer\ntry another name", nil},
		{"flood with emissions", "internal error",
			lines{"the helper sent more than allowed: a handler forged it": 1}},
		{"forge emissions", "null", lines{
			"cannot read a message of an isolated call: its handler forged it, or logged a value without " +
				"a JSON representation": 1,
			" principal=ann tool=forge_emissions isolated.principal=root isolated.request_id=forged": 1,
		}},
		{"emit too long", "reached its limit on output", nil},
		{"emit half", "internal error", lines{"an isolated call returned no result": 1}},
		{"emit after its journal", "internal error",
			lines{"the helper sent an unexpected frame of kind": 1}},
		{"emit after its result", "null", nil},
	} {
		t.Run(test.tool, func(t *testing.T) {
			if res := ann.call(t, test.tool, nil); !strings.Contains(
				mcptest.Text(res), test.result) {
				t.Errorf("it came to %q", mcptest.Text(res))
			}
			all := log.lines("")
			for text, want := range test.logged {
				got := 0
				for _, line := range all {
					if strings.Contains(line, text) {
						got++
					}
				}
				if got == 0 || want > 0 && got != want {
					t.Errorf("%d lines with %q, want %d: %.3000q", got, text, want, all)
				}
			}
			for _, line := range all {
				if strings.Contains(line, "a handler returned after the response to its call") {
					continue // of an earlier call, which timed out
				}
				whose := strings.Contains(line, " request_id=") &&
					strings.Contains(line, " tool="+strings.ReplaceAll(test.tool, " ", "_"))
				if !whose && !strings.Contains(line, "msg=\"sandbox: ") { // which knows the handler
					t.Errorf("whose it is: %.300s", line)
				}
				if strings.Contains(line, "too late") || strings.Contains(line, "time=9999") {
					t.Errorf("it was said at another time: %s", line)
				}
			}
		})
	}
}

// FuzzAnswersAreReadOrRefused: whatever a handler writes to the pipe, the server takes no more than
// it bounds, and nothing out of order.
func FuzzAnswersAreReadOrRefused(f *testing.F) {
	begun, result := appendFrame(nil, frameBegun, 0),
		append(appendFrame(nil, frameResult, 2), "{}"...)
	said := emission(`{"log":{"level":"INFO","msg":"x"}}`)
	for _, frames := range [][]byte{
		nil, slices.Concat(begun, result), slices.Concat(begun, said, said, result),
		slices.Concat(said, begun, result), slices.Concat(begun, result, said),
		slices.Concat(begun, appendFrame(nil, frameEmission, notify.MaxEmission+1)),
		slices.Concat(begun, said[:9]), slices.Concat(begun, forged(failure{Panic: true})),
		slices.Concat(begun, appendFrame(nil, frameJournal, 2), []byte("{}"), result),
		slices.Concat(begun, bytes.Repeat(emission(""), emittedAtOnce/emittedEach+1)),
	} {
		f.Add(frames, true)
		f.Add(frames, false)
	}
	p := &pool{options: Options{Log: func(string, string) {}}}
	f.Fuzz(func(t *testing.T, frames []byte, wanted bool) {
		taken, times := 0, 0
		r := request{Limits: Limits{Output: 100}}
		if wanted {
			r.emitted = func(emission json.RawMessage) {
				taken += len(emission) + emittedEach
				times++
				if len(emission) > notify.MaxEmission {
					t.Errorf("an emission has %d bytes", len(emission))
				}
				if len(emission)%7 == 3 {
					panic("on purpose")
				}
			}
		}
		var answer response
		began := false
		ok, err := p.readOutput(bytes.NewReader(frames), allowance{since: time.Now()}, r,
			func() { began = true }, &answer)
		switch {
		case ok != began, times > 0 && !began:
			t.Errorf("begun %v, told %v, %d emissions", ok, began, times)
		case taken > emittedAtOnce+60*emittedASecond:
			t.Errorf("it said %d bytes", taken)
		case err == nil && (!began || len(answer.Result) > 100), err != nil && answer.Result != nil:
			t.Errorf("%d bytes, %v", len(answer.Result), err)
		}
	})
}

func TestAnEmitterSendsWhatThereIsRoomFor(t *testing.T) {
	var sent bytes.Buffer
	s := newEmitter(&sent)
	if s.emit(make([]byte, notify.MaxEmission+1), false) || sent.Len() > 0 {
		t.Error("an emission was sent that no server takes")
	}
	long := make([]byte, notify.MaxEmission)
	times := 0
	for s.emit(long, false) {
		times++
	}
	if most := emittedAtOnce/notify.MaxEmission + 10; times < 50 || times > most {
		t.Errorf("it said so much %d times, at most %d", times, most)
	}
	if !s.emit(long, true) || !s.emit([]byte("{}"), true) {
		t.Error("there is no room for last words")
	}
	s.room.since = s.room.since.Add(-10 * time.Second)
	if !s.emit(long, false) {
		t.Error("time makes no room")
	}
	r := request{Limits: Limits{Output: 1}, emitted: func(json.RawMessage) { times-- }}
	p := &pool{}
	all := slices.Concat(appendFrame(nil, frameBegun, 0), sent.Bytes(),
		appendFrame(nil, frameResult, 0))
	if _, err := p.readOutput(bytes.NewReader(all), allowance{since: s.room.since}, r, func() {},
		&response{}); err != nil || times != -3 {
		t.Errorf("the server took %d less, %v", -times, err)
	}
	s.stop()
	if s.emit([]byte("{}"), true) {
		t.Error("it says something after its end")
	}
	broken := newEmitter(failing{})
	if broken.emit([]byte("{}"), false) || !broken.quiet {
		t.Error("it goes on after a frame that was not written")
	}
}

func TestFramesOfManyVoicesDoNotMix(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	s := newEmitter(write)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range 14 {
				s.emit(bytes.Repeat([]byte("x"), 5000), false) // in two writes
			}
		})
	}
	go func() {
		all.Wait()
		_ = writeFrame(write, frameResult, nil)
		write.Close()
	}()
	times := 0
	r := request{Limits: Limits{Output: 1}, emitted: func(json.RawMessage) { times++ }}
	begun := bytes.NewReader(appendFrame(nil, frameBegun, 0))
	if _, err := (&pool{}).readOutput(io.MultiReader(begun, read), allowance{since: time.Now()}, r,
		func() {}, &response{}); err != nil || times != 700 {
		t.Errorf("%d emissions, %v", times, err)
	}
}

// failing is a pipe that nobody reads.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, unix.EPIPE }
