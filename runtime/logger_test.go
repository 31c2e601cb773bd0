package runtime_test

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"log/slog"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestWhatAHandlerLogsGoesToTheServersLogAndToItsClient(t *testing.T) {
	t.Parallel()
	var log lines
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug)},
		offering(func(ctx context.Context) {
			id := runtime.RequestID(ctx)
			l := runtime.Logger(ctx)
			l.Debug("below what the client wants " + id)
			l.Info("plain "+id, "n", 7)
			l.Log(ctx, slog.LevelInfo+3, "between notice and warning "+id)
			l.With("shelf", 3, slog.Group("none")).WithGroup("").WithGroup("book").With("title",
				"Emma").Warn("grouped "+id, "page", 12, "level", "ground")
			runtime.Logger(ctx).WithGroup("g").Error("failing "+id, "error",
				errors.New("no such page"))
		}))
	everywhere(t, s, func(t *testing.T, transport string, l *listener) {
		l.wants(t, "info", traceparent)
		for _, use := range everyUse {
			got := l.ask(t, use.method, use.name, use.params)
			if answer := got.response(t); answer.Error != nil {
				t.Fatal(answer.text)
			}
			if len(got) != 5 { // the messages come before the answer
				t.Fatalf("%s: %s", use.method, got)
			}
			id, _ := got[0].Params.Data["request_id"].(string)
			if want := []string{"info plain " + id, "notice between notice and warning " + id,
				"warning grouped " + id, "error failing " + id}; !slices.Equal(got.logs(), want) {
				t.Errorf("%s: the client heard %q", use.method, got.logs())
			}
			for text, want := range map[string]map[string]any{
				"plain ": {"msg": "plain " + id, "request_id": id, "n": 7.0},
				"grouped ": {"msg": "grouped " + id, "request_id": id, "shelf": 3.0,
					"book": map[string]any{"title": "Emma", "page": 12.0, "level": "ground"}},
				"failing ": {"msg": "failing " + id, "request_id": id,
					"g": map[string]any{"error": "no such page"}},
			} {
				data := got.logData(text + id)
				if data["time"] == nil || !reflect.DeepEqual(without(data, "time"), want) {
					t.Errorf("%s: the client heard %v, want %v", use.method, data, want)
				}
				want["level"] = map[string]string{"plain ": "INFO", "grouped ": "WARN",
					"failing ": "ERROR"}[text]
				want[use.kind], want["principal"], want["trace_id"] = use.is, "user-Member",
					"4bf92f3577b34da6a3ce929d0e0e4736"
				if all := log.of(t, text+id); len(all) != 1 ||
					!reflect.DeepEqual(without(all[0], "time"), want) {
					t.Errorf("%s: the server's log has %v, want %v", use.method, all, want)
				}
			}
			if len(log.of(t, "below what the client wants "+id)) != 1 {
				t.Errorf("%s: the server's log lacks a line", use.method)
			}
			for _, m := range got[:4] {
				id := got.response(t).ID
				if len(m.Params.Meta) != 1 ||
					string(m.Params.Meta["io.github.mcpgen/requestId"]) != string(id) {
					t.Errorf("%s: _meta %s, want the id %s", use.method, m.Params.Meta, id)
				}
				if m.Params.Logger != use.is {
					t.Errorf("%s: logger %q", use.method, m.Params.Logger)
				}
			}
		}
	})
}

// TestLogMessagesNameTheirRequest calls tools of each shape and of an adopted server. One of these
// sends log messages by go-sdk's session.
func TestLogMessagesNameTheirRequest(t *testing.T) {
	t.Parallel()
	call := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		runtime.Logger(ctx).Info("m")
		return toolset.Structured(map[string]any{"done": true}, nil)
	}
	own := toolsetOf([]toolset.Tool{
		{Name: "direct", Input: `{"type":"object"}`, Call: call},
		{Name: "by_sdk", Input: `{"type":"object"}`, Call: call, SDK: true}})
	old := existing()
	for name, logger := range map[string]string{"adopted": "", "adopted_with_logger": "its own"} {
		old.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: logger,
					Data: map[string]any{"msg": "m"}, Meta: mcp.Meta{"example.org/kept": true}})
				return &mcp.CallToolResult{Content: []mcp.Content{}}, err
			})
	}
	anybody := access.Rule{Authenticated: true}
	s := newServer(t, runtime.Options{}, own)
	adopting := adopt(t, old, runtime.Options{},
		map[string]access.Rule{"adopted": anybody, "adopted_with_logger": anybody}, own)
	ids := []string{`7`, `"7"`, `0`, `-1`, `9007199254740991`, `""`, `"a\"bé"`,
		`"` + strings.Repeat("x", 1022) + `"`} // the longest
	for name, test := range map[string]struct {
		server *runtime.Server
		tools  map[string]string // and their loggers
	}{
		"of toolsets": {s, map[string]string{"direct": "direct", "by_sdk": "by_sdk"}},
		"adopted": {adopting, map[string]string{"direct": "direct", "by_sdk": "by_sdk",
			"adopted": "adopted", "adopted_with_logger": "its own"}},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, test.server, func(t *testing.T, _ string, l *listener) {
				l.wants(t, "debug")
				for tool, logger := range test.tools {
					for _, id := range ids {
						got := l.askAs(t, id, "tools/call", tool,
							fmt.Sprintf(`"name":%q,"arguments":{}`, tool))
						if len(got) != 2 || string(got.response(t).ID) != id {
							t.Fatalf("%s, %s: %s", tool, id, got)
						}
						m := got[0].Params
						if m.Data["msg"] != "m" || m.Logger != logger ||
							string(m.Meta["io.github.mcpgen/requestId"]) != id ||
							strings.HasPrefix(tool, "adopted") !=
								(m.Meta["example.org/kept"] != nil) {
							t.Errorf("%s, %s: %s", tool, id, got)
						}
					}
				}
			})
		})
	}
}

// TestLogMessagesToOtherSessionsNameNoTool has a handler of an adopted server that logs to every
// session. A session that may not use its tool receives neither its name nor the id of its call.
func TestLogMessagesToOtherSessionsNameNoTool(t *testing.T) {
	t.Parallel()
	old := existing()
	old.AddTool(&mcp.Tool{Name: "broadcast", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for session := range old.Sessions() {
				err := session.Log(ctx, &mcp.LoggingMessageParams{Level: "info",
					Data: map[string]any{"msg": "to all"}})
				if err != nil {
					return nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	s := adopt(t, old, runtime.Options{},
		map[string]access.Rule{"broadcast": {MinRole: 4}}, directory(&desk{}))
	admin := overPipe(t, s, principalOf("Admin"), "2025-11-25").wants(t, "debug")
	viewer := newPipe(t, s, principalOf("Viewer"), "2025-11-25")
	viewer.write(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	viewer.write(t, `{"jsonrpc":"2.0","id":1,"method":"logging/setLevel",`+
		`"params":{"level":"debug"}}`)
	viewer.until(t, 1)
	received := make(chan serverMessages)
	go func() { received <- viewer.until(t, "") }() // until the first notification
	own := admin.askAs(t, `"mine"`, "tools/call", "broadcast", `"name":"broadcast","arguments":{}`)
	got := <-received
	if len(own) != 2 || own[0].Params.Logger != "broadcast" {
		t.Errorf("the caller's own session: %s", own)
	}
	if text := fmt.Sprint(got); len(got) != 1 || got[0].Params.Data["msg"] != "to all" ||
		strings.Contains(text, "broadcast") || strings.Contains(text, "mine") {
		t.Errorf("another session: %s", text)
	}
}

// TestLogMessagesOfARefusedCallNameNoTool has an audit sink that logs to the caller. For a hidden
// tool, the caller receives what it receives for an unknown one, in every denial mode.
func TestLogMessagesOfARefusedCallNameNoTool(t *testing.T) {
	t.Parallel()
	sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		runtime.Logger(ctx).Info("recorded")
		return nil
	})
	for _, denial := range []access.Denial{access.Conceal, access.Forbid, access.Challenge} {
		for _, listAll := range []bool{false, true} {
			s := newServer(t, runtime.Options{Anonymous: true,
				Access: runtime.AccessOptions{Denial: denial},
				Lists:  runtime.ListOptions{ListAll: listAll},
				Audit:  runtime.AuditOptions{Sink: sink}}, directory(&desk{}))
			for column, user := range callers {
				p := principalOf(user)
				if user == "Roleless" {
					p.Role = ""
				}
				l := overPipe(t, s, p, "2026-07-28").wants(t, "debug")
				for tool, who := range expected {
					want := "team"
					if who[column] == 'y' {
						want = tool
					}
					got := l.call(t, tool, `{"id":"ada"}`)
					if got.logs() == nil {
						t.Fatalf("%v, %q, %s: %s", denial, user, tool, got)
					}
					for _, m := range got[:len(got)-1] {
						if m.Method == "notifications/message" && m.Params.Logger != want {
							t.Errorf("%v, %q, %s: %s", denial, user, tool, got)
						}
					}
				}
				got := l.call(t, "no_such_tool", `{}`)
				if got[0].Params.Logger != "team" {
					t.Errorf("%v, %q: %s", denial, user, got)
				}
			}
		}
	}
}

func TestClientReceivesFromTheLevelOnThatItHasSet(t *testing.T) {
	t.Parallel()
	// At any level: those below and above the protocol's own as well.
	all := []slog.Level{slog.LevelDebug - 10, slog.LevelDebug, slog.LevelDebug + 1, slog.LevelInfo,
		mcp.LevelNotice, slog.LevelWarn, slog.LevelError,
		mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency, mcp.LevelEmergency + 50}
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		for _, level := range all {
			runtime.Logger(ctx).Log(ctx, level, "m")
		}
	}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		for _, test := range []struct{ level, want string }{
			{"", ""},
			{"debug", "debug debug info notice warning error critical alert emergency emergency"},
			{"emergency", "emergency emergency"},
			{"notice", "notice warning error critical alert emergency emergency"},
			{"warning", "warning error critical alert emergency emergency"},
			{"info", "info notice warning error critical alert emergency emergency"},
		} {
			got := l.wants(t, test.level).call(t, "work", `{}`)
			var levels []string
			for _, line := range got.logs() {
				level, _, _ := strings.Cut(line, " ")
				levels = append(levels, level)
			}
			if got := strings.Join(levels, " "); got != test.want {
				t.Errorf("from %q on: %q, want %q", test.level, got, test.want)
			}
		}
	})
}

func TestLevelThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		runtime.Logger(ctx).Error("m")
	}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		if l.era == "2026-07-28" {
			for _, level := range []string{`"loud"`, `""`, `7`, `null`, `{}`} {
				l.meta = `"io.modelcontextprotocol/logLevel":` + level
				if got := l.call(t, "work", `{}`).logs(); got != nil {
					t.Errorf("%s: heard %q", level, got)
				}
			}
			return
		}
		for _, level := range []string{"loud", "", "Error", "WARN"} {
			if got := l.ask(t, "logging/setLevel", "", `"level":"`+level+
				`"`).response(t); got.Error == nil || got.Error.Code != -32602 {
				t.Errorf("%q: %s", level, got.text)
			}
			if got := l.call(t, "work", `{}`).logs(); got != nil {
				t.Errorf("%q: heard %q", level, got)
			}
		}
		// What it has set before stands; what 2026-07-28 says with each request is nothing to it.
		l.wants(t, "critical")
		l.ask(t, "logging/setLevel", "", `"level":"loud"`)
		l.meta = `"io.modelcontextprotocol/logLevel":"debug"`
		if got := l.call(t, "work", `{}`).logs(); got != nil {
			t.Errorf("heard %q", got)
		}
	})
}

// With 2026-07-28 there is no level of a session: a client that sets one gets an error, and not
// left to wait for messages.
func TestLevelCannotBeSetWhereEachRequestNamesIts(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		runtime.Logger(ctx).Error("m")
	}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		got := l.ask(t, "logging/setLevel", "", `"level":"debug"`).response(t)
		if refused := got.Error != nil &&
			got.Error.Code == -32601; refused != (l.era == "2026-07-28") {
			t.Error(got.text)
		}
	})
	session := connectIO(t, s, principalOf("Member"), "2026-07-28")
	err := session.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "debug"})
	if err == nil || !strings.Contains(err.Error(), "missing or invalid params._meta") {
		t.Errorf("go-sdk's own client, which names no protocol in such a request: %v", err)
	}
}

// A level is the session's own.
func TestLevelOfASessionIsNoOthers(t *testing.T) {
	t.Parallel()
	url := serve(t, newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		runtime.Logger(ctx).Info("m")
	})))
	one := overHTTP(t, url, tokens["Member"], "2025-11-25").wants(t, "debug")
	other := overHTTP(t, url, tokens["Member"], "2025-11-25")
	if got := other.call(t, "work", `{}`).logs(); got != nil {
		t.Errorf("the other session of the same user received %q", got)
	}
	if got := one.call(t, "work", `{}`).logs(); len(got) != 1 {
		t.Errorf("the session received %q", got)
	}
}

const strayToken = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

func TestSecretsAreMaskedOnBothWaysOfALog(t *testing.T) {
	t.Parallel()
	var log lines
	filler := strings.Repeat("a ", 508)
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelDebug)},
		working(func(ctx context.Context) {
			l := runtime.Logger(ctx)
			l.Info("in the message: "+strayToken, "token", "t0psecret", "error",
				errors.New("password=t0psecret"), "nested", map[string]any{"api_key": "t0psecret",
					"ok": 1})
			l.With("url", "https://u:t0psecret@host/").WithGroup("credentials").Info("m", "any",
				"t0psecret")
			// Too large, so that it is cut: in the middle of a secret.
			l.Info(filler+strayToken, "filling", strings.Repeat("x", 100<<10), "token", "t0psecret")
			runtime.Progress(ctx).Report(1, 2, filler+strayToken)
		}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		got := l.wants(t, "debug", `"progressToken":1`).call(t, "work", `{}`)
		if len(got) != 5 {
			t.Fatalf("%s", got)
		}
		for _, secret := range []string{"t0psecret", strayToken[:8]} {
			if strings.Contains(got.String(), secret) {
				t.Errorf("the client reads %s: %s", secret, got)
			}
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log has %s: %s", secret, log.String())
			}
		}
		if !strings.Contains(got.String(), "***MASKED***") || !strings.Contains(got.String(),
			`"ok":1`) {
			t.Errorf("%s", got)
		}
	})
}

func TestMessageThatIsTooLargeIsSentWithoutItsAttributes(t *testing.T) {
	t.Parallel()
	var log lines
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo)},
		working(func(ctx context.Context) {
			l := runtime.Logger(ctx)
			l.Info("fits", "a", strings.Repeat("x", 60<<10))
			l.With("of the logger", strings.Repeat("x", 70<<10)).WithGroup("g").Warn("too large",
				"a",
				1)
			l.Info(strings.Repeat("é", 40<<10))
			l.Info("after it", "a", 1)
		}))
	got := overHTTP(t, serve(t, s), tokens["Member"], "2025-11-25").wants(t, "info").call(t, "work",
		`{}`)
	said := got.logs()
	if len(said) != 4 || len(fmt.Sprint(got[0].Params.Data["a"])) != 60<<10 {
		t.Fatalf("%.300q", said)
	}
	if d := without(got[1].Params.Data, "time", "request_id",
		"note"); said[1] != "warning too large" || len(d) != 1 ||
		!strings.Contains(fmt.Sprint(got[1].Params.Data["note"]), "were dropped") {
		t.Errorf("%.300v", got[1].text)
	}
	if said[2] != "info "+strings.Repeat("é", 512) {
		t.Errorf("%.300q", said[2])
	}
	if said[3] != "info after it" || got[3].Params.Data["a"] != 1.0 {
		t.Errorf("%v", got[3].text)
	}
	if all := log.of(t, "too large"); len(all) != 1 ||
		len(fmt.Sprint(all[0]["of the logger"])) != 70<<10 {
		t.Errorf("the server's log has not all of it")
	}
}

// talkative is a value that logs when it is first asked what it shows, and waits until what others
// log meanwhile is logged.
type talkative struct {
	log   *slog.Logger
	asked atomic.Bool
}

func (v *talkative) Error() string {
	if !v.asked.Swap(true) {
		v.log.Info("within")
		var other sync.WaitGroup
		other.Go(func() { v.log.With("a", 1).WithGroup("g").Info("beside") })
		other.Wait()
	}
	return "shown"
}

// What a value does when it is asked what it shows holds up nobody but who logs it: nothing is
// locked then.
func TestValuesMayLogWhenTheyAreLogged(t *testing.T) {
	t.Parallel()
	want := []string{"within", "beside", "asked", "within", "beside", "derived"}
	says := func(t *testing.T, log *slog.Logger) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			log.Info("asked", "value", &talkative{log: log})
			log.With("value", &talkative{log: log}).Info("derived")
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("a value that logs holds up its own logger")
		}
	}
	t.Run("in the server", func(t *testing.T) {
		s := newServer(t, runtime.Options{Logger: slog.New(slog.DiscardHandler)},
			working(func(ctx context.Context) {
				says(t, runtime.Logger(ctx))
			}))
		got := overHTTP(t, serve(t, s), tokens["Member"], "2026-07-28").wants(t, "debug").call(t,
			"work", `{}`)
		if said := strings.ReplaceAll(strings.Join(got.logs(), ","), "info ",
			""); said != strings.Join(want, ",") || !strings.Contains(got.String(),
			`"value":"shown"`) {
			t.Errorf("%s", got)
		}
	})
	t.Run("in a process of its own", func(t *testing.T) {
		ctx, sent := emitting(t)
		says(t, runtime.Logger(ctx))
		all := *sent
		if len(all) != len(want) {
			t.Fatalf("it sent %q", all)
		}
		for i := range all {
			if !strings.Contains(all[i], `"msg":"`+want[i]+`"`) ||
				strings.Contains(all[i], `"value"`) != strings.Contains(all[i],
					`"attrs":{"value":"shown"}`) {
				t.Errorf("it sent %s where %s is due", all[i], want[i])
			}
		}
	})
}

// Of two members with one name most readers take the last, and some, encoding/json among them, take
// those for one that differ in capitals.
func TestNoAttributePassesForWhatStandsBesideIt(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{Logger: slog.New(slog.DiscardHandler)},
		working(func(ctx context.Context) {
			l := runtime.Logger(ctx)
			l.Info("real", "request_id", "forged", "msg", "forged", "time", "forged", "Request_ID",
				"forged", "reque\u017ft_id", "forged", "requests", 1)
			l.With("msg", "forged", slog.Group("", "time", "forged", slog.Group("", "request_id",
				"forged"))).Info("real")
			l.Info("real", slog.Group("msg", "time", 1), slog.Group("g", "time", 2))
			l.WithGroup("request_id").WithGroup("msg").Info("real", "msg", "own")
			l.Handler().WithGroup("").WithAttrs([]slog.Attr{slog.String("TIME",
				"forged")}).Handle(ctx,
				slog.NewRecord(time.Time{}, slog.LevelInfo, "real", 0))
		}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		got := l.wants(t, "debug").call(t, "work", `{}`)
		id := fmt.Sprint(got[0].Params.Data["request_id"])
		for i, want := range []map[string]any{
			{"attr_request_id": "forged", "attr_msg": "forged", "attr_time": "forged",
				"attr_Request_ID": "forged", "attr_reque\u017ft_id": "forged", "requests": 1.0},
			{"attr_msg": "forged", "attr_time": "forged", "attr_request_id": "forged"},
			{"attr_msg": map[string]any{"time": 1.0}, "g": map[string]any{"time": 2.0}},
			{"attr_request_id": map[string]any{"msg": map[string]any{"msg": "own"}}},
			{"attr_TIME": "forged"},
		} {
			data := got[i].Params.Data
			if data["msg"] != "real" || data["request_id"] != id || len(id) < 20 ||
				data["time"] == "forged" ||
				!reflect.DeepEqual(without(data, "time", "msg", "request_id"), want) {
				t.Errorf("%d: the client heard %v, want %v", i, data, want)
			}
		}
	})
}

// RFC 3339 has no form for such times, and what is no JSON is not sent, nor is what comes after it.
func TestMessagesOfAnyTimeAreSent(t *testing.T) {
	t.Parallel()
	late := time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(log *slog.Logger) {
		log.Info("late", "at", late, "in a list", []time.Time{late})
		_ = log.Handler().Handle(context.Background(), slog.NewRecord(late, slog.LevelInfo,
			"from then", 0))
		log.Info("after it")
	}
	s := newServer(t, runtime.Options{Logger: slog.New(slog.DiscardHandler)},
		working(func(ctx context.Context) {
			say(runtime.Logger(ctx))
		}))
	got := overHTTP(t, serve(t, s), tokens["Member"], "2025-11-25").wants(t, "debug").call(t,
		"work", `{}`)
	if want := []string{"info late", "info from then", "info after it"}; !slices.Equal(got.logs(),
		want) || !strings.HasPrefix(fmt.Sprint(got[0].Params.Data["at"]), "12000-01-01") {
		t.Errorf("the client heard %s", got)
	}
	ctx, sent := emitting(t)
	say(runtime.Logger(ctx))
	if all := *sent; len(all) != 3 || !strings.Contains(all[0], `"at":"12000-01-01`) ||
		!json.Valid([]byte(all[0])) || !json.Valid([]byte(all[1])) {
		t.Errorf("it sent %q", all)
	}
}

func TestLoggerThatIsKeptBeyondItsCallSendsNothing(t *testing.T) {
	t.Parallel()
	var log lines
	var kept *slog.Logger
	var reporter *runtime.ProgressReporter
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo)},
		working(func(ctx context.Context) {
			if kept == nil {
				kept, reporter = runtime.Logger(ctx), runtime.Progress(ctx)
				return
			}
			kept.Warn("of the call before")
			reporter.Report(1, 0, "of the call before")
		}))
	everywhere(t, s, func(t *testing.T, transport string, l *listener) {
		kept = nil
		l.wants(t, "debug", `"progressToken":1`).call(t, "work", `{}`)
		before := len(log.of(t, "of the call before"))
		if got := l.call(t, "work", `{}`); len(got) != 1 {
			t.Errorf("heard %s", got)
		}
		if all := log.of(t, "of the call before"); len(all) != before+1 ||
			all[before]["tool"] != "work" {
			t.Errorf("the server's log has %v", all)
		}
	})
}

func TestLoggerOutsideOfACallIsTheDefaultButForSecrets(t *testing.T) {
	// slog.SetDefault also changes the flags and the output of package log.
	standard, flags, out := slog.Default(), stdlog.Flags(), stdlog.Writer()
	defer func() {
		slog.SetDefault(standard)
		stdlog.SetFlags(flags)
		stdlog.SetOutput(out)
	}()
	var log strings.Builder
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	runtime.Logger(context.Background()).Info("outside "+ghp, "password", "x1", "n", 7)
	if got := log.String(); !strings.Contains(got, `msg="outside `+redact.Mask+`" password=`+
		redact.Mask+" n=7") {
		t.Error(got)
	}
	if p := runtime.Progress(context.Background()); p != nil {
		t.Error(p)
	}
	if runtime.Advise(context.Background(), 1, "no client receives it") {
		t.Error("advice was taken outside of a call")
	}
	if _, ok := runtime.RequestOf(context.Background()); ok {
		t.Error("there is a request outside of a call")
	}
}

func TestLogOfAnAnonymousCallerNamesNobody(t *testing.T) {
	t.Parallel()
	var log lines
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo), Anonymous: true},
		toolsetOf([]toolset.Tool{{Name: "work", Input: `{"type":"object"}`,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				runtime.Logger(ctx).Info("m")
				return toolset.Done(nil)
			}}}, access.Rule{Tool: "work", Public: true}))
	overHTTP(t, serve(t, s), "", "2026-07-28").call(t, "work", `{}`)
	all := log.of(t, "m")
	if len(all) != 1 || all[0]["tool"] != "work" ||
		len(without(all[0], "time", "level", "msg", "tool", "request_id")) != 0 {
		t.Errorf("%v", all)
	}
}

// Loggers work with every context of a request: in interceptors, and in the handlers of an adopted
// server.
func TestMiddlewareAndAdoptedToolsHaveLoggers(t *testing.T) {
	t.Parallel()
	var log lines
	speaking := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			if m.Method == "tools/call" {
				runtime.Logger(ctx).Info("interceptor")
				runtime.Progress(ctx).Report(1, 2, "interceptor")
				if runtime.Advise(ctx, 1, "no client receives it") {
					t.Error("an interceptor may advise")
				}
			}
			return next(ctx, m)
		}
	}
	old := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "1"}, nil)
	old.AddTool(&mcp.Tool{Name: "old", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runtime.Logger(ctx).Info("adopted")
			runtime.Progress(ctx).Report(2, 2, "adopted")
			return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
		})
	s := adopt(t, old, runtime.Options{Logger: log.at(slog.LevelInfo),
		Interceptors: []intercept.Middleware{speaking}},
		map[string]access.Rule{"old": {Authenticated: true}})
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		got := l.wants(t, "debug", `"progressToken":1`).call(t, "old", `{}`)
		if want := []string{"info interceptor", "info adopted"}; !slices.Equal(got.logs(), want) {
			t.Errorf("heard %s", got)
		}
		if p := got.progress(); len(p) == 0 || p[len(p)-1].Params.Message != "adopted" {
			t.Errorf("heard %s", got)
		}
		for _, text := range []string{"interceptor", "adopted"} {
			all := log.of(t, text)
			if last := all[len(all)-1]; last["tool"] != "old" ||
				last["principal"] != "user-Member" ||
				last["request_id"] != got[0].Params.Data["request_id"] {
				t.Errorf("%v", last)
			}
		}
	})
}

// Middleware of an adopted server may panic when a handler sends a log message. The call fails, and
// the server goes on.
func TestSendingMiddlewareThatPanicsIsACrashOfItsCall(t *testing.T) {
	t.Parallel()
	old := existing("works")
	old.AddTool(&mcp.Tool{Name: "speaks", InputSchema: map[string]any{"type": "object"}},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{}}, r.Session.Log(ctx,
				&mcp.LoggingMessageParams{Level: "info", Data: "m"})
		})
	s := adopt(t, old, runtime.Options{}, map[string]access.Rule{
		"speaks": {Authenticated: true}, "works": {Authenticated: true}})
	old.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/message" {
				panic("hunter2")
			}
			return next(ctx, method, req)
		}
	})
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		l.wants(t, "debug")
		if got := l.call(t, "speaks", `{}`); !strings.Contains(got.response(t).text,
			"internal error") || strings.Contains(got.String(), "hunter2") {
			t.Errorf("%s", got)
		}
		if got := l.call(t, "works", `{}`); !strings.Contains(got.response(t).text,
			"works answered") {
			t.Errorf("%s", got)
		}
	})
}

// What nobody wants to hear is not even put together.
func TestLogThatNobodyWantsCostsNothing(t *testing.T) {
	type sizes struct{ logger, log, derived, progress float64 }
	measured := make(chan sizes, 1)
	s := newServer(t, runtime.Options{Logger: slog.New(slog.NewTextHandler(&journal{},
		&slog.HandlerOptions{Level: slog.LevelWarn}))}, working(func(ctx context.Context) {
		var m sizes
		l := runtime.Logger(ctx)
		d := l.With("a", 1)
		m.logger = testing.AllocsPerRun(100, func() { runtime.Logger(ctx) })
		m.log = testing.AllocsPerRun(100, func() { l.Info("m", "a", "b") })
		m.derived = testing.AllocsPerRun(100, func() { d.InfoContext(ctx, "m", "a", "b") })
		m.progress = testing.AllocsPerRun(100, func() { runtime.Progress(ctx).Report(1, 2, "m") })
		measured <- m
	}))
	l := overPipe(t, s, principalOf("Member"), "2025-11-25")
	for _, level := range []string{"", "warning"} {
		l.wants(t, level).call(t, "work", `{}`)
		if got := <-measured; got != (sizes{logger: 2}) {
			t.Errorf("from %q on: %+v allocations", level, got)
		}
	}
}

// A handler may log from many goroutines, and each message is whole.
func TestLogsOfOneHandlersGoroutinesAreWhole(t *testing.T) {
	t.Parallel()
	const goroutines, messages = 8, 25
	var log lines
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo)},
		working(func(ctx context.Context) {
			var all sync.WaitGroup
			l := runtime.Logger(ctx)
			for g := range goroutines {
				all.Go(func() {
					for i := range messages {
						l.With("g", g).Info("m", "i", i, "filling", strings.Repeat(fmt.Sprint(g),
							500))
					}
				})
			}
			all.Wait()
		}))
	s.Linger()
	got := overHTTP(t, serve(t, s), tokens["Member"], "2026-07-28").wants(t, "info").call(t, "work",
		`{}`)
	for name, heard := range map[string][]map[string]any{"the log": log.of(t, "m"),
		"the client": nil} {
		for _, m := range got[:len(got)-1] {
			if name == "the client" {
				heard = append(heard, m.Params.Data)
			}
		}
		seen := map[string]bool{}
		for _, m := range heard {
			if m["filling"] != strings.Repeat(fmt.Sprint(m["g"]), 500) {
				t.Errorf("%s: %v", name, m)
			}
			seen[fmt.Sprint(m["g"], " ", m["i"])] = true
		}
		if len(seen) != goroutines*messages || len(heard) != len(seen) {
			t.Errorf("%s has %d of %d", name, len(heard), goroutines*messages)
		}
	}
}

// crowd is an identity source of any number of people: the token is the name.
func crowd() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: token,
			Role: "Member"}}, nil
	})
}

// Each of a hundred clients receives the messages of its own calls, on the answer to each, and
// nothing of any other's; and the server's log has each line under the right ids.
func TestLogsOfConcurrentCallersNeverCross(t *testing.T) {
	t.Parallel()
	const clients, calls, says = 100, 3, 4
	var log lines
	var all sync.WaitGroup // of handlers: they run at once, some of each client
	s := newServer(t, runtime.Options{Logger: log.at(slog.LevelInfo), Identity: crowd(),
		HTTP: runtime.HTTPOptions{MaxSessions: 2 * clients}},
		oneTool("work", func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			marker := strings.Trim(string(call.Arguments), `{}"m:`)
			l := runtime.Logger(ctx)
			for i := range says {
				l.Info("m", "marker", marker, "i", i, "id", runtime.RequestID(ctx))
				runtime.Progress(ctx).Report(float64(i+1), says, marker)
				goruntime.Gosched()
			}
			return toolset.Structured(map[string]any{"marker": marker,
				"id": runtime.RequestID(ctx)}, nil)
		}))
	s.Linger()
	url := serve(t, s)
	for client := range clients {
		all.Go(func() {
			who, era := fmt.Sprintf("user-%d", client), eras[client%len(eras)]
			var l *listener
			if client%10 == 9 {
				l = overPipe(t, s, access.Principal{Issuer: "test", Subject: who, Role: "Member"},
					era)
			} else {
				l = overHTTP(t, url, who, era)
			}
			l.wants(t, "info")
			var own sync.WaitGroup
			for call := range calls {
				own.Go(func() {
					marker := fmt.Sprintf("%s-%d", who, call)
					mine := *l
					mine.meta = strings.TrimPrefix(mine.meta+fmt.Sprintf(`,"progressToken":%q`,
						marker), ",")
					got := mine.call(t, "work", `{"m":"`+marker+`"}`)
					id := ""
					for i, m := range got {
						if m.Method == "notifications/message" &&
							(m.Params.Data["marker"] != marker ||
								m.Params.Data["id"] != m.Params.Data["request_id"]) ||
							m.Method == "notifications/progress" && (m.Params.Message != marker ||
								string(m.Params.ProgressToken) != fmt.Sprintf("%q", marker)) {
							t.Errorf("%s received %s", marker, m.text)
						}
						if last := i == len(got)-1; last != (m.ID != nil) || last &&
							!strings.Contains(string(m.Result.StructuredContent), `"`+marker+`"`) {
							t.Errorf("%s is answered %s", marker, m.text)
						}
						if m.Method == "notifications/message" {
							id, _ = m.Params.Data["id"].(string)
						}
					}
					p := got.progress()
					if len(got.logs()) != says || len(p) == 0 ||
						p[len(p)-1].Params.Progress != says ||
						!strings.Contains(got[len(got)-1].text, id) {
						t.Errorf("%s received %s", marker, got)
					}
				})
			}
			own.Wait()
		})
	}
	all.Wait()
	written := log.of(t, "m")
	for _, line := range written {
		marker, _ := line["marker"].(string)
		if line["id"] != line["request_id"] || line["tool"] != "work" ||
			!strings.HasPrefix(marker, fmt.Sprint(line["principal"])+"-") {
			t.Errorf("the server's log has %v", line)
		}
	}
	if want := clients * calls * says; len(written) != want {
		t.Errorf("the server's log has %d lines, want %d", len(written), want)
	}
}
