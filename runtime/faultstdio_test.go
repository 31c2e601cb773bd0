package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const (
	// afterInput is how long calls may go on after the end of the input.
	afterInput = 10 * time.Second
	// atOnceOnStdio is how long the end of a connection may take without calls to wait for.
	atOnceOnStdio = time.Second
)

// oneShot is a whole input of one client: requests with the ids from 1 on.
func oneShot(era string, requests ...string) string {
	c := &raw{era: era}
	var lines []string
	if era != "2026-07-28" {
		lines = []string{strings.Replace(handshake, "2025-11-25", era, 1),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	}
	for i, request := range requests {
		method, params, _ := strings.Cut(request, " ")
		lines = append(lines, strings.Replace(c.request(method, params), `"id":7`,
			fmt.Sprintf(`"id":%d`, i+1), 1))
	}
	return strings.Join(lines, "\n") + "\n"
}

// answersIn returns the responses of an output, by their ids as JSON, and fails on another line.
func answersIn(t *testing.T, output string) map[string]serverMessage {
	t.Helper()
	all := map[string]serverMessage{}
	for line := range strings.Lines(output) {
		m := parseMessage(t, line)
		if m.Method != "" {
			continue
		}
		if old, twice := all[string(m.ID)]; twice {
			t.Errorf("two responses:\n%s%s", old.text, line)
		}
		all[string(m.ID)] = m
	}
	return all
}

func TestOneShotInputOnStdioGetsItsAnswers(t *testing.T) {
	t.Parallel()
	requests := []string{"tools/list", `tools/call "name":"get_public_info","arguments":{"id":"ada"}`,
		"prompts/list", `prompts/get "name":"greet","arguments":{"a":"b"}`, "resources/list",
		`resources/read "uri":"lib://hall"`, "foo", `tools/call "name":"unknown"`}
	for _, era := range eras {
		whole := oneShot(era, requests...)
		for name, input := range map[string]string{
			"lines":             whole,
			"no end of line":    strings.TrimSuffix(whole, "\n"),
			"CRLF":              strings.ReplaceAll(whole, "\n", "\r\n"),
			"empty lines":       strings.ReplaceAll(whole, "\n", "\n\n") + "\n\n  \n",
			"half a line":       whole + `{"jsonrpc":"2.0","id":99,"method":"tools/li`,
			"half a line alone": whole + `{`,
			"no message":        whole + "nonsense\n",
			"a notification":    whole + `{"jsonrpc":"2.0","method":"notifications/unknown"}`,
		} {
			for run := range 10 {
				t.Run(fmt.Sprintf("%s, %s, %d", era, name, run), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newServer(t, runtime.Options{}, directory(&desk{}), library())
						shutDown(t, s)
						var out journal
						begun := time.Now()
						if err := s.RunIO(t.Context(), strings.NewReader(input), &out,
							principalOf("Viewer")); err != nil {
							t.Errorf("%s, %s: %v", era, name, err)
						}
						if took := time.Since(begun); took > atOnceOnStdio {
							t.Errorf("%s, %s: it ends after %v", era, name, took)
						}
						got := answersIn(t, out.String())
						for i, request := range requests {
							m, ok := got[fmt.Sprint(i+1)]
							refused := request == "foo" || strings.Contains(request, "unknown")
							if !ok || refused != (m.Error != nil) {
								t.Errorf("%s, %s: the answer to %s is %q", era, name, request, m.text)
							}
						}
						malformed := strings.HasPrefix(name, "half") || name == "no message"
						if m := got["null"]; malformed != (m.Error != nil && m.Error.Code == -32700) {
							t.Errorf("%s, %s: %q", era, name, m.text)
						}
					})
				})
			}
		}
	}
}

// An input of a message that cannot be read, or of no message, has an end as well.
func TestShortestInputsOnStdioEnd(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"", "\n", "{", "nonsense", "\r\n\r\n", oneShot("2026-07-28")} {
		t.Run(fmt.Sprintf("%.20q", input), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, directory(&desk{}))
				shutDown(t, s)
				var out journal
				begun := time.Now()
				err := s.RunIO(t.Context(), strings.NewReader(input), &out, principalOf("Viewer"))
				if took := time.Since(begun); err != nil || took > atOnceOnStdio {
					t.Errorf("%q: %v after %v", input, err, took)
				}
				if want := strings.TrimSpace(input) != ""; want != strings.Contains(out.String(),
					`"id":null`) {
					t.Errorf("%q: %s", input, out.String())
				}
			})
		})
	}
}

// A process, as a shell runs it: printf … | server.
func TestProcessAnswersOneShotInput(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for range 3 {
			cmd, stderr := command(t, "Viewer")
			cmd.Stdin = strings.NewReader(oneShot(era, "tools/list",
				`tools/call "name":"get_public_info","arguments":{"id":"ada"}`))
			output, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", era, err, stderr)
			}
			text, _ := strings.CutSuffix(string(output), "standard output is back\n")
			got := answersIn(t, text)
			for _, id := range []string{"1", "2"} {
				if m, ok := got[id]; !ok || m.Error != nil {
					t.Errorf("%s: the answer to %s is %q\n%s", era, id, m.text, stderr)
				}
			}
		}
	}
}

// longCalls are a tool "hold" and "held" in go-sdk's shape, that run for a time of the bubble. One
// that is deaf does not end with its context.
func longCalls(takes time.Duration, deaf bool) toolset.Toolset {
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		done := ctx.Done()
		if deaf {
			done = nil
		}
		select {
		case <-time.After(takes):
			return toolset.Structured(map[string]string{"all": "done"}, nil)
		case <-done:
			return toolset.Result{}, ctx.Err()
		}
	}
	var tools []toolset.Tool
	for _, name := range []string{"hold", "held"} {
		tools = append(tools, toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: call,
			SDK: name == "held", Timeout: time.Hour})
	}
	return toolsetOf(tools)
}

// A call in flight has 10 seconds from the end of the input on. Then it is answered as cancelled.
func TestCallsInFlightEndAfterTheInput(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, tool := range []string{"hold", "held"} {
			for _, test := range []struct {
				takes  time.Duration
				deaf   bool
				ends   time.Duration // at most
				result bool
			}{
				{time.Second, false, 2 * time.Second, true},
				{afterInput - time.Second, false, afterInput, true},
				{afterInput - time.Second, true, afterInput, true},
				{afterInput + 2*time.Second, false, afterInput + time.Second, false},
				{time.Minute, true, afterInput + time.Second, false},
			} {
				name := fmt.Sprintf("%s, %s, %v, deaf %v", era, tool, test.takes, test.deaf)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newServer(t, runtime.Options{}, longCalls(test.takes, test.deaf))
						shutDown(t, s)
						defer time.Sleep(time.Minute) // until a handler that ignores its context has ended
						var out journal
						begun := time.Now()
						err := s.RunIO(t.Context(), strings.NewReader(oneShot(era,
							`tools/call "name":"`+tool+`"`, "tools/list")), &out, principalOf("Member"))
						took := time.Since(begun)
						if err != nil || took > test.ends {
							t.Errorf("%s, %s, %+v: %v after %v", era, tool, test, err, took)
						}
						got := answersIn(t, out.String())
						if m := got["2"]; m.text == "" || m.Error != nil {
							t.Errorf("%s, %s, %+v: the list is %q", era, tool, test, m.text)
						}
						m := got["1"]
						result := string(m.Result.StructuredContent) == `{"all":"done"}`
						cancelled := strings.Contains(m.text, "cancel") &&
							(m.Error != nil || m.Result.IsError)
						if result != test.result || cancelled == test.result {
							t.Errorf("%s, %s, %+v: the call is %q", era, tool, test, m.text)
						}
						if !test.result && took < afterInput {
							t.Errorf("%s, %s, %+v: cancelled after %v", era, tool, test, took)
						}
					})
				})
			}
		}
	}
}

// A listen has no end of its own, and the answer to a question cannot come any more. Neither keeps
// the server for longer than a call.
func TestWaitingRequestsEndWithTheInput(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		request := `tools/call "name":"meet"`
		if era == "2026-07-28" {
			request = `subscriptions/listen "notifications":{"resourceSubscriptions":["lib://hall"]}`
		}
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, visits(visit), updating())
				shutDown(t, s)
				input := strings.Replace(oneShot(era, request, "tools/list"), `"capabilities":{}`,
					`"capabilities":`+abilities, 1)
				var out journal
				begun := time.Now()
				err := s.RunIO(t.Context(), strings.NewReader(input), &out, principalOf("Viewer"))
				if took := time.Since(begun); err != nil || took > afterInput+time.Second {
					t.Errorf("%s: %v after %v", era, err, took)
				}
				got := answersIn(t, out.String())
				if m := got["2"]; m.text == "" || m.Error != nil {
					t.Errorf("%s: the list is %q", era, m.text)
				}
				if m := got["1"]; era != "2026-07-28" && m.Error == nil && !m.Result.IsError {
					t.Errorf("%s: the call is %q", era, m.text)
				}
			})
		})
	}
}

// leaving is an output whose reader goes away after some lines. Its error is that of a pipe.
type leaving struct {
	lines int
	err   error
}

func (l *leaving) Write(p []byte) (int, error) {
	if l.lines--; l.lines < 0 {
		return 0, l.err
	}
	return len(p), nil
}

// The server ends within a second once its reader has gone: the input may go on, and so may calls.
func TestServerEndsWithTheReaderOfItsOutput(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, tool := range []string{"hold", "held"} {
			for _, deaf := range []bool{false, true} {
				for _, open := range []bool{false, true} {
					for _, gone := range []error{io.ErrClosedPipe, errors.New("broken pipe")} {
						name := fmt.Sprintf("%s, %s, deaf %v, input open %v, %v", era, tool, deaf,
							open, gone)
						t.Run(name, func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								s := newServer(t, runtime.Options{}, longCalls(time.Minute, deaf))
								shutDown(t, s)
								defer time.Sleep(time.Minute) // until a handler that ignores its context has ended
								text := oneShot(era, `tools/call "name":"`+tool+`"`, "tools/list",
									"tools/list")
								lines := 1 // of the first list
								if era != "2026-07-28" {
									lines++ // of the handshake
								}
								in, toServer := io.Pipe()
								go func() {
									_, _ = io.WriteString(toServer, text)
									if !open {
										toServer.Close()
									}
								}()
								begun := time.Now()
								err := s.RunIO(t.Context(), in, &leaving{lines, gone},
									principalOf("Member"))
								if took := time.Since(begun); took > time.Second {
									t.Errorf("%s, %s, deaf %v, input open %v: it ends after %v", era,
										tool, deaf, open, took)
								}
								// Another error than that of a pipe may be reported.
								if err != nil && !errors.Is(err, gone) || err != nil &&
									errors.Is(gone, io.ErrClosedPipe) {
									t.Errorf("%s, %s: %v", era, tool, err)
								}
								toServer.Close()
							})
						})
					}
				}
			}
		}
	}
}

// A line that cannot be read has an answer, so that no client waits for ever.
func TestEveryLineOfARequestIsAnswered(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		var lines []string
		c := &raw{era: era}
		for _, id := range []string{"1.5", "1e400", "9223372036854775808", "null", "[1]", "{}"} {
			lines = append(lines, strings.Replace(c.request("tools/list", ""), ":7", ":"+id, 1))
		}
		lines = append(lines, "nonsense", `{"jsonrpc":"2.0"}`, "[]", "7")
		t.Run(era, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, runtime.Options{}, directory(&desk{}))
				shutDown(t, s)
				in, toServer := io.Pipe()
				var out journal
				done := make(chan error, 1)
				go func() { done <- s.RunIO(t.Context(), in, &out, principalOf("Viewer")) }()
				io.WriteString(toServer, oneShot(era, "tools/list"))
				synctest.Wait()
				for _, line := range lines {
					before := len(out.String())
					io.WriteString(toServer, line+"\n")
					synctest.Wait()
					var m struct {
						ID    any
						Error *struct{ Code int }
					}
					got := out.String()[before:]
					if err := json.Unmarshal([]byte(got), &m); err != nil || m.Error == nil ||
						!strings.Contains(got, `"id":null`) {
						t.Errorf("%s: the answer to %s is %q", era, line, got)
					}
				}
				toServer.Close()
				if err := <-done; err != nil {
					t.Errorf("%s: %v", era, err)
				}
			})
		})
	}
}
