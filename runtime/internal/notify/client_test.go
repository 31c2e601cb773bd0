package notify

//lint:file-ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// session records what a client is sent.
type session struct {
	request.Session
	sent  func() error // before each notification; may be nil
	level *slog.Level

	mu       sync.Mutex
	logs     []*mcp.LoggingMessageParams
	progress []*mcp.ProgressNotificationParams
	order    []string
}

func newSession() *session { return &session{} }

func (s *session) Level() (slog.Level, bool) {
	if s.level == nil {
		return 0, false
	}
	return *s.level, true
}

func (s *session) Notify(_ string, params any) error {
	if s.sent != nil {
		if err := s.sent(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch p := params.(type) {
	case *mcp.LoggingMessageParams:
		s.logs = append(s.logs, p)
		s.order = append(s.order, fmt.Sprintf("%s %s", p.Level, decoded(p.Data)["msg"]))
	case *mcp.ProgressNotificationParams:
		s.progress = append(s.progress, p)
		s.order = append(s.order, fmt.Sprintf("progress %v", p.Progress))
	}
	return nil
}

func decoded(data any) (members map[string]any) {
	if err := json.Unmarshal(data.(json.RawMessage), &members); err != nil {
		panic(err)
	}
	return members
}

// buffer is a log.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *buffer) lines() []string { return strings.Split(strings.TrimSpace(b.String()), "\n") }

const flushTimeout = time.Minute

var member = access.Principal{Issuer: "test", Subject: "user-Member", Roles: []string{"Member"}}

// message returns the facts about a call of the tool "look".
func message(log slog.Handler, s request.Session, version string) *request.Info {
	info := request.New(identity.Identity{Principal: member})
	info.Server = &request.Server{Name: "all", Log: slog.New(redact.Handler(log))}
	info.Target = request.Target{Kind: access.Tools, Name: "look"}
	info.Session, info.Notifier, info.Version = s, s, version
	return info
}

// attached returns the context of a handler for a message, and the client of that message.
func attached(
	t testing.TB, info *request.Info, meta map[string]any,
) (context.Context, *Client) {
	c := &Client{Config: Config{FlushTimeout: flushTimeout}, Info: info, Meta: meta}
	ctx := c.attach(request.With(t.Context(), info))
	return request.ForHandler(ctx, info, &info.Principal), c
}

// attach has the context of a message find c.
func (c *Client) attach(ctx context.Context) context.Context {
	c.Context = ctx
	return c
}

func withAdvice(ctx context.Context, a *Advice) context.Context {
	a.Context = ctx
	return a
}

// idle waits until the sender has nothing to send.
func (c *Client) idle() {
	c.mu.Lock()
	sent := c.sent
	c.mu.Unlock()
	if sent != nil {
		<-sent
	}
}

// everything is the _meta of a client that wants all notifications.
func everything() map[string]any {
	return map[string]any{mcp.MetaKeyLogLevel: "debug", "progressToken": "t"}
}

// A closed client takes nothing more. go-sdk would refuse it too, but not for each transport at
// the same time.
func TestClientThatIsClosedTakesNothing(t *testing.T) {
	s := newSession()
	_, c := attached(t, message(slog.DiscardHandler, s, request.Stateless), everything())
	c.Close()
	c.log(slog.LevelError, json.RawMessage(`{}`))
	c.report("t", progress{Done: 1})
	if c.pending != nil || c.progress != nil || c.sent != nil || c.dropped != 0 {
		t.Errorf("it has %d messages, progress %v, and a sender: %v",
			len(c.pending), c.progress, c.sent != nil)
	}
}

func TestNotificationsComeBeforeTheResponse(t *testing.T) {
	s := newSession()
	info := message(slog.DiscardHandler, s, request.Stateless)
	ctx, c := attached(t, info, everything())
	log, p := Logger(ctx), Progress(ctx)
	log.Info("one", "n", 7)
	p.Report(1, 2, "half")
	log.Log(ctx, slog.LevelInfo+3, "two")
	p.Report(2, 2, "whole")
	c.Close()
	log.Info("too late")
	p.Report(3, 2, "too late")
	if len(s.logs) != 2 || s.order[0] != "info one" || !slices.Contains(s.order, "notice two") {
		t.Errorf("it was sent %q", s.order)
	}
	data := decoded(s.logs[0].Data)
	if s.logs[0].Logger != "look" || s.logs[0].Meta != nil || data["request_id"] != info.ID ||
		data["n"] != 7.0 {
		t.Errorf("it was sent %+v", s.logs[0])
	}
	last := s.progress[len(s.progress)-1]
	if last.Progress != 2 || last.Total != 2 || last.Message != "whole" ||
		last.ProgressToken != "t" {
		t.Errorf("it was sent %+v", last)
	}
}

func TestClientWithoutASessionIsSentNothing(t *testing.T) {
	var log buffer
	info := message(slog.NewJSONHandler(&log, nil), nil, request.Stateless)
	ctx, c := attached(t, info, everything())
	Logger(ctx).With("a", 1).Info("m")
	Progress(ctx).Report(1, 2, "")
	if Logger(ctx).Enabled(ctx, slog.LevelDebug) || Progress(ctx) != nil || c.sent != nil {
		t.Error("a client without a session wants notifications")
	}
	c.Close()
	if !strings.Contains(log.String(), `"tool":"look","a":1}`) {
		t.Errorf("the server's log has %s", log.String())
	}
}

func TestTokensOfProgressAreStringsAndIntegers(t *testing.T) {
	for _, test := range []struct {
		token any
		want  bool
	}{
		{"a", true}, {"", true}, {0.0, true}, {-7.0, true}, {9007199254740992.0, true},
		{nil, false}, {true, false}, {map[string]any{}, false}, {[]any{"a"}, false},
		{0.5, false}, {9007199254740994.0, false}, {math.NaN(), false}, {math.Inf(1), false},
	} {
		s := newSession()
		ctx, c := attached(t, message(slog.DiscardHandler, s, request.NewestWithSessions),
			map[string]any{"progressToken": test.token})
		Progress(ctx).Report(1, 0, "")
		c.Close()
		if sent := len(s.progress) == 1; sent != test.want ||
			sent && s.progress[0].ProgressToken != test.token {
			t.Errorf("%v: it was sent %v", test.token, s.progress)
		}
	}
}

func TestClientThatDoesNotReadCannotHoldUpTheResponse(t *testing.T) {
	for _, test := range []struct {
		name string
		gone bool
		want time.Duration
	}{
		{"a client that does not read", false, flushTimeout},
		{"a client that is gone", true, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, read := newSession(), make(chan struct{})
				s.sent = func() error { <-read; return errors.New("too late") }
				info := message(slog.DiscardHandler, s, request.Stateless)
				c := &Client{Config: Config{FlushTimeout: flushTimeout}, Info: info,
					Meta: everything()}
				ctx, cancel := context.WithCancel(request.With(t.Context(), info))
				defer cancel()
				ctx = c.attach(ctx)
				Logger(ctx).Info("m")
				synctest.Wait()
				if test.gone {
					cancel()
				}
				sent, begun := c.sent, time.Now()
				c.Close()
				if took := time.Since(begun); took != test.want {
					t.Errorf("it took %s", took)
				}
				close(read)
				<-sent
				if s.order != nil {
					t.Errorf("it was sent %q", s.order)
				}
			})
		})
	}
}

func TestMessagesThatCannotWaitAreCounted(t *testing.T) {
	for _, test := range []struct {
		name, level, notice, filling, id string
		messages, sent                   int
	}{
		{"many messages", "debug", "warning", "x", "7", 1000, maxPending},
		{"large messages", "debug", "warning", strings.Repeat("x", 60<<10), "7", 40, 17},
		{"a client that wants little", "alert", "alert", "x", "7", 1000, maxPending},
		{"a large id", "debug", "warning", "x", `"` + strings.Repeat("x", 60<<10) + `"`, 40, 17},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, read := newSession(), make(chan struct{})
				s.sent = func() error { <-read; return nil }
				info := message(slog.DiscardHandler, s, request.Stateless)
				info.MessageID = test.id
				ctx, c := attached(t, info,
					map[string]any{mcp.MetaKeyLogLevel: test.level})
				Logger(ctx).Log(ctx, mcp.LevelEmergency, "the first is sent at once")
				synctest.Wait()
				for range test.messages {
					Logger(ctx).Log(ctx, mcp.LevelAlert, test.filling)
				}
				close(read)
				c.Close()
				want := fmt.Sprintf(
					"%s %d log messages were dropped: there were more than the server could send",
					test.notice, test.messages-test.sent)
				if len(s.order) != test.sent+2 || s.order[len(s.order)-1] != want {
					t.Errorf("it was sent %d, the last is %q", len(s.order),
						s.order[len(s.order)-1])
				}
			})
		})
	}
}

// The sender waits for the client during all reports but the first.
func TestProgressForASlowClientIsBoundedAndEndsWithTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, goOn := newSession(), make(chan struct{})
		s.sent = func() error { <-goOn; return nil }
		ctx, c := attached(t, message(slog.DiscardHandler, s, request.Stateless), everything())
		for i := range 100 {
			Progress(ctx).Report(float64(i), 0, "")
			time.Sleep(progressInterval)
			synctest.Wait()
		}
		close(goOn)
		c.Close()
		var done []float64
		for _, p := range s.progress {
			done = append(done, p.Progress)
		}
		if n := len(done); n != progressBurst+1 || done[n-2] != progressBurst-1 || done[n-1] != 99 {
			t.Errorf("it was sent %v", done)
		}
	})
}

func TestProgressIsSentAsOftenAsAClientCanShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession()
		info := message(slog.DiscardHandler, s, request.Stateless)
		ctx, c := attached(t, info, everything())
		p := Progress(ctx)
		if p != Progress(ctx) {
			t.Error("a message has two reporters")
		}
		for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p.Report(none, 1, "no number")
			p.Report(1, none, "no number")
		}
		for i := range 1000 {
			p.Report(float64(i), 1000, "")
			p.Report(float64(i), 1000, "not above the one before")
			p.Report(float64(i)-0.5, 1000, "below the one before")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(progressInterval)
		synctest.Wait()
		if n := len(s.progress); n > 20+progressBurst || n < 20 || s.progress[n-1].Progress != 999 {
			t.Errorf("%d reports, the last is %+v", n, s.progress[n-1])
		}
		p.Report(1000, 1000, "password=t0psecret "+strings.Repeat("é", 2000))
		c.Close()
		last := s.progress[len(s.progress)-1].Message
		if !strings.HasPrefix(last, "password=***MASKED*** é") || len(last) > 1024 ||
			len(last) < 1020 {
			t.Errorf("the last is %q", last)
		}
		for _, p := range s.progress[:len(s.progress)-1] {
			if p.Message != "" {
				t.Errorf("it was sent %+v", p)
			}
		}
	})
}

// The owner of an adopted server may have middleware around what is sent.
func TestNotificationThatFailsEndsTheRestAndIsLoggedOnce(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errors.New("broken pipe") },
		"panic": func() error { panic("broken pipe") },
	} {
		t.Run(name, func(t *testing.T) {
			var log buffer
			s, times := newSession(), 0
			s.sent = func() error { times++; return fail() }
			options := &slog.HandlerOptions{Level: slog.LevelDebug}
			info := message(slog.NewTextHandler(&log, options), s, request.Stateless)
			ctx, c := attached(t, info, everything())
			progress := Progress(ctx)
			c.log(slog.LevelInfo, json.RawMessage(`{}`))
			c.idle()
			c.log(slog.LevelInfo, json.RawMessage(`{}`))
			progress.Report(1, 0, "")
			c.Close()
			lines := log.lines()
			if times != 1 || len(lines) != 1 || !strings.Contains(lines[0], "level=DEBUG") ||
				!strings.Contains(lines[0], "could not be sent to the client") ||
				!strings.Contains(lines[0], "broken pipe") {
				t.Errorf("%d times, the log has %q", times, lines)
			}
		})
	}
	s := newSession()
	s.sent = func() error { return errors.New("broken pipe") }
	info := message(slog.DiscardHandler, s, request.Stateless)
	info.Server.Log = slog.New(panicking{slog.DiscardHandler})
	_, c := attached(t, info, everything())
	c.log(slog.LevelInfo, json.RawMessage(`{}`))
	c.Close()
}

// panicking is a log handler that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool { panic("no log") }

func TestLevelsOfMessagesAndOfSessions(t *testing.T) {
	for _, test := range []struct {
		version, meta, session string
		want                   string // the least level that is wanted; "" for none
	}{
		{request.Stateless, "error", "", "error"},
		{request.Stateless, "", "", ""},
		{request.Stateless, "loud", "", ""},
		{request.NewestWithSessions, "debug", "", ""},
		{request.NewestWithSessions, "", "info", "info"},
		{request.NewestWithSessions, "debug", "critical", "critical"},
	} {
		s := newSession()
		if level, ok := ParseLevel(mcp.LoggingLevel(test.session)); ok {
			s.level = &level
		}
		info := message(slog.DiscardHandler, s, test.version)
		ctx, _ := attached(t, info, map[string]any{mcp.MetaKeyLogLevel: test.meta})
		log := Logger(ctx)
		least, wanted := ParseLevel(mcp.LoggingLevel(test.want))
		if log.Enabled(ctx, mcp.LevelEmergency+50) != wanted ||
			wanted && (!log.Enabled(ctx, least) || log.Enabled(ctx, least-1)) {
			t.Errorf("%+v", test)
		}
	}
}

func TestLevelsHaveTheNamesOfTheProtocol(t *testing.T) {
	for level, want := range map[slog.Level]mcp.LoggingLevel{
		slog.LevelDebug - 10: "debug", slog.LevelDebug: "debug", slog.LevelDebug + 1: "debug",
		slog.LevelInfo: "info", mcp.LevelNotice: "notice", slog.LevelInfo + 3: "notice",
		slog.LevelWarn: "warning", slog.LevelError: "error", mcp.LevelCritical: "critical",
		mcp.LevelAlert: "alert", mcp.LevelEmergency: "emergency", math.MaxInt: "emergency",
	} {
		if got := LevelName(level); got != want {
			t.Errorf("%d is called %s, want %s", level, got, want)
		}
	}
	for _, name := range []mcp.LoggingLevel{"loud", "", "Error", "WARN"} {
		if level, known := ParseLevel(name); known {
			t.Errorf("%q is %s", name, level)
		}
	}
}

// publicReporter is how package runtime wraps a reporter.
type publicReporter Reporter

func TestReporterThatIsNilDoesNothing(t *testing.T) {
	p := (*publicReporter)(Progress(t.Context()))
	if p != nil {
		t.Error("there is progress outside of a message")
	}
	if n := testing.AllocsPerRun(100, func() { (*Reporter)(p).Report(1, 2, "m") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAdviceIsForTheModelAndBounded(t *testing.T) {
	info := message(slog.DiscardHandler, nil, request.Stateless)
	outside := request.With(t.Context(), info)
	if Advise(outside, 1, "outside of a tool's call") {
		t.Error("advice was taken without a result")
	}
	advice := new(Advice)
	ctx := withAdvice(outside, advice)
	for i := range 20 {
		if got := Advise(ctx, float64(i), "password=t0psecret"); got != (i < 16) {
			t.Errorf("%d: %v", i, got)
		}
	}
	if before := (&Advice{}); !before.Add(&mcp.TextContent{}) || len(before.Take()) != 1 {
		t.Error("the zero value takes nothing")
	}
	all := advice.Take()
	want := `{"type":"text","text":"password=***MASKED***",` +
		`"annotations":{"audience":["assistant"],"priority":1}}`
	if text, _ := json.Marshal(all[1]); len(all) != 16 || string(text) != want {
		t.Errorf("%d contents, %s", len(all), text)
	}
	for name, end := range map[string]func(*Advice, context.CancelFunc){
		"taken": func(a *Advice, _ context.CancelFunc) { a.Take() },
		"ended": func(_ *Advice, cancel context.CancelFunc) { cancel() },
	} {
		a := new(Advice)
		ctx, cancel := context.WithCancel(outside)
		ctx = withAdvice(ctx, a)
		if !Advise(ctx, 1, "in time") {
			t.Errorf("%s: it was not taken", name)
		}
		end(a, cancel)
		if Advise(context.WithoutCancel(ctx), 1, "too late") || len(a.Take()) != 1 {
			t.Errorf("%s: it was taken after the end", name)
		}
		cancel()
	}
}

func TestLoggerWritesToTheServersLogAndToTheClient(t *testing.T) {
	var log buffer
	s := newSession()
	info := message(slog.NewJSONHandler(&log, nil), s, request.Stateless)
	info.TraceID, info.SpanID = "trace", "span"
	ctx, c := attached(t, info, everything())
	Logger(ctx).With("shelf", 3, slog.Group("none")).WithGroup("").WithGroup("book").
		With("title", "Emma").Warn("grouped", "page", 12, "level", "ground")
	Logger(ctx).Handler().WithGroup("").WithAttrs([]slog.Attr{slog.Duration("took", time.Second)}).
		Handle(ctx, slog.NewRecord(time.Time{}, slog.LevelInfo, "plain", 0))
	c.Close()
	grouped := `"shelf":3,"book":{"title":"Emma","page":12,"level":"ground"}}`
	own := `"trace_id":"trace","span_id":"span","principal":"user-Member","tool":"look",`
	lines := log.lines()
	if len(lines) != 2 || !strings.HasSuffix(lines[0], own+grouped) {
		t.Errorf("the server's log has %q", lines)
	}
	for i, want := range []string{grouped, `"request_id":"` + info.ID + `","took":1000000000}`} {
		if got := string(s.logs[i].Data.(json.RawMessage)); !strings.HasSuffix(got, want) {
			t.Errorf("the client was sent %s", got)
		}
	}
}

func TestNoAttributePassesForWhatStandsBesideIt(t *testing.T) {
	s := newSession()
	info := message(slog.DiscardHandler, s, request.Stateless)
	ctx, c := attached(t, info, everything())
	l := Logger(ctx)
	l.Info("real", "request_id", "forged", "msg", "forged", "reque\u017ft_id", "forged", "level", 1)
	l.With("msg", "forged", slog.Group("", "TIME", "forged")).Info("real")
	l.WithGroup("request_id").WithGroup("msg").Info("real", "msg", "own")
	c.Close()
	for i, want := range []string{
		`{"attr_msg":"forged","attr_request_id":"forged","attr_reque` + "\u017f" +
			`t_id":"forged","level":1}`,
		`{"attr_TIME":"forged","attr_msg":"forged"}`,
		`{"attr_request_id":{"msg":{"msg":"own"}}}`,
	} {
		data := decoded(s.logs[i].Data)
		if data["msg"] != "real" || data["request_id"] != info.ID || data["time"] == "forged" {
			t.Errorf("it was sent %v", data)
		}
		maps.DeleteFunc(data, func(name string, _ any) bool {
			return name == "msg" || name == "request_id" || name == "time"
		})
		if got, _ := json.Marshal(data); string(got) != want {
			t.Errorf("it was sent %s, want %s", got, want)
		}
	}
}

func TestMessageThatIsTooLargeIsSentWithoutItsAttributes(t *testing.T) {
	s := newSession()
	info := message(slog.DiscardHandler, s, request.Stateless)
	ctx, c := attached(t, info, everything())
	l := Logger(ctx)
	l.Info("fits", "a", strings.Repeat("x", 60<<10))
	l.With("of the logger", strings.Repeat("x", 70<<10)).WithGroup("g").Warn("too large", "a", 1)
	l.Info(strings.Repeat("é", 40<<10))
	l.Info("after it", "a", 1)
	c.Close()
	for i, want := range []struct{ text, note string }{
		{"fits", ""}, {"too large", "were dropped: 7"},
		{strings.Repeat("é", 512), "were dropped: 8"}, {"after it", ""},
	} {
		data := decoded(s.logs[i].Data)
		note, _ := data["note"].(string)
		if data["msg"] != want.text || !strings.Contains(note, want.note) ||
			(note == "") != (want.note == "") {
			t.Errorf("it was sent %.300v", data)
		}
	}
}

// talkative is a value that logs when it is resolved first, and waits for other logs meanwhile.
type talkative struct {
	log  *slog.Logger
	once sync.Once
}

func (v *talkative) Error() string {
	v.once.Do(func() {
		v.log.Info("within")
		var other sync.WaitGroup
		other.Go(func() { v.log.With("a", 1).WithGroup("g").Info("beside") })
		other.Wait()
	})
	return "shown"
}

// No lock is held while a value is resolved.
func TestValuesMayLogWhenTheyAreLogged(t *testing.T) {
	want := []string{"within", "beside", "asked", "within", "beside", "derived"}
	write := func(log *slog.Logger) {
		log.Info("asked", "value", &talkative{log: log})
		log.With("value", &talkative{log: log}).Info("derived")
	}
	s := newSession()
	info := message(slog.DiscardHandler, s, request.Stateless)
	ctx, c := attached(t, info, everything())
	write(Logger(ctx))
	c.Close()
	if strings.ReplaceAll(strings.Join(s.order, ","), "info ", "") != strings.Join(want, ",") {
		t.Errorf("the client was sent %q", s.order)
	}
	ctx, sent, _ := emitting(t, 100, `{"log":"INFO"}`)
	write(Logger(ctx))
	all := sent.taken()
	if len(all) != len(want) {
		t.Fatalf("it sent %q", all)
	}
	for i, text := range all {
		if !strings.Contains(text, `"msg":"`+want[i]+`"`) ||
			strings.Contains(text, `"value"`) != strings.Contains(text,
				`"attrs":{"value":"shown"}`) {
			t.Errorf("it sent %s, want %s", text, want[i])
		}
	}
}

// RFC 3339 has no form for such times. Invalid JSON would not be sent, nor what comes after it.
func TestMessagesOfAnyTimeAreSent(t *testing.T) {
	late := time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(log *slog.Logger) {
		log.Info("late", "at", late, "in a list", []time.Time{late})
		_ = log.Handler().Handle(t.Context(), slog.NewRecord(late, slog.LevelInfo, "from then", 0))
		log.Info("after it")
	}
	s := newSession()
	info := message(slog.DiscardHandler, s, request.Stateless)
	ctx, c := attached(t, info, everything())
	write(Logger(ctx))
	c.Close()
	want := []string{"info late", "info from then", "info after it"}
	if !slices.Equal(s.order, want) ||
		!strings.HasPrefix(fmt.Sprint(decoded(s.logs[0].Data)["at"]), "12000-01-01") {
		t.Errorf("the client was sent %q", s.order)
	}
	ctx, sent, _ := emitting(t, 100, `{"log":"INFO"}`)
	write(Logger(ctx))
	if all := sent.taken(); len(all) != 3 || !strings.Contains(all[0], `"at":"12000-01-01`) ||
		!json.Valid([]byte(all[0])) || !json.Valid([]byte(all[1])) {
		t.Errorf("it sent %q", all)
	}
}

func TestLoggerOutsideOfACallIsTheDefaultButForSecrets(t *testing.T) {
	// slog.SetDefault also changes the flags and the output of package log.
	standard, flags, out := slog.Default(), stdlog.Flags(), stdlog.Writer()
	defer func() {
		slog.SetDefault(standard)
		stdlog.SetFlags(flags)
		stdlog.SetOutput(out)
	}()
	var log buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	Logger(t.Context()).Info("outside", "password", "x1", "n", 7)
	// The handler of an isolated call knows its request, and no server.
	inChild := request.With(t.Context(), &request.Info{Principal: member})
	Logger(inChild).Info("outside", "password", "x1", "n", 7)
	if got := strings.Count(log.String(), `msg=outside password=***MASKED*** n=7`); got != 2 {
		t.Error(log.String())
	}
}

// Nothing is encoded that nobody wants.
func TestLogThatNobodyWantsCostsNothing(t *testing.T) {
	type sizes struct{ logger, log, derived, progress float64 }
	for _, level := range []string{"", "warning"} {
		log := slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelWarn})
		info := message(log, newSession(), request.Stateless)
		ctx, _ := attached(t, info, map[string]any{mcp.MetaKeyLogLevel: level})
		l := Logger(ctx)
		d := l.With("a", 1)
		got := sizes{
			logger:   testing.AllocsPerRun(100, func() { Logger(ctx) }),
			log:      testing.AllocsPerRun(100, func() { l.Info("m", "a", "b") }),
			derived:  testing.AllocsPerRun(100, func() { d.InfoContext(ctx, "m", "a", "b") }),
			progress: testing.AllocsPerRun(100, func() { Progress(ctx).Report(1, 2, "m") }),
		}
		if got != (sizes{logger: 2}) {
			t.Errorf("from %q on: %+v allocations", level, got)
		}
	}
}
