package runtime_test

//lint:file-ignore SA1019 log messages to clients are deprecated in 2026-07-28, and clients of all versions may ask for them

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/notify"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// emissions are what a handler in a process of its own has sent, of which it takes as much as there
// is room for.
type emissions struct {
	mu   sync.Mutex
	all  []string
	last int
	room int
}

func (s *emissions) send(emission json.RawMessage, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last {
		s.last++
	} else if s.room == 0 {
		return false
	} else {
		s.room--
	}
	s.all = append(s.all, string(emission))
	return true
}

func (s *emissions) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// emitting is the context of a handler in a process of its own, which gets the wanted level.
func emitting(t *testing.T, room int, wanted string) (context.Context, *emissions, func()) {
	t.Helper()
	s := &emissions{room: room}
	ctx, end := notify.Emitting(context.Background(), s.send)
	ctx, err := invoke.ChildContext(ctx, json.RawMessage(wanted), nil)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, s, end
}

func TestNothingIsEmittedThatNobodyWants(t *testing.T) {
	bare, end := notify.Emitting(t.Context(), func(json.RawMessage, bool) bool {
		t.Error("it was sent")
		return true
	})
	runtime.Logger(bare).Error("before anything is known")
	runtime.Progress(bare).Report(1, 2, "")
	end()
	ctx, s, end := emitting(t, 100, `{}`)
	log := runtime.Logger(ctx)
	log.With("a", 1).WithGroup("g").Error("an error")
	if log.Enabled(ctx, slog.Level(math.MaxInt)) {
		t.Error("a level is wanted")
	}
	progress := runtime.Progress(ctx)
	if progress != nil {
		t.Error("progress is wanted")
	}
	progress.Report(1, 2, "")
	end()
	if all := s.taken(); len(all) > 0 {
		t.Errorf("it sent %q", all)
	}
	ctx, s, end = emitting(t, 100, `{"log":"WARN"}`)
	runtime.Logger(ctx).Info("too low")
	runtime.Logger(ctx).Warn("as low as is wanted")
	end()
	end() // again
	if all := s.taken(); len(all) != 1 || !strings.Contains(all[0], "as low as is wanted") {
		t.Errorf("it sent %q", all)
	}
}

// shows is a value whose methods would show more.
type shows struct{ Password, Name string }

func TestRecordsOfAProcessOfItsOwnStayWhatTheyWere(t *testing.T) {
	ctx, s, _ := emitting(t, 100, `{"log":"DEBUG"}`)
	log := runtime.Logger(ctx)
	for want, say := range map[string]func(){
		`"level":"DEBUG","msg":"m"}}`: func() { log.Debug("m") },
		`"level":"ERROR+4","msg":"m"`: func() {
			log.Log(ctx, slog.LevelError+4, "m")
		},
		`"attrs":{"a":1,"time":"x","msg":2,"level":true}`: func() {
			log.Info("m", "a", 1, "time", "x", "msg", 2, "level", true)
		},
		`"attrs":{"a":1,"g":{"b":2,"h":{"took":"1.5s"}}}`: func() {
			log.With("a", 1).WithGroup("").WithGroup("g").Info("m", "b", 2,
				slog.Group("h", "took", 1500*time.Millisecond))
		},
		`"attrs":{"f":"!ERROR`: func() { log.Info("m", "f", math.NaN()) },
		`"attrs":{"e":"no luck","b":"bytes","token":"***MASKED***"}`: func() {
			log.Info("m", "e", errors.New("no luck"), "b", []byte("bytes"), "token", "t")
		},
		`"attrs":{"v":{"Name":"n","Password":"***MASKED***"}}`: func() {
			log.Info("m", "v", shows{"p", "n"})
		},
		`"msg":"password=***MASKED***"`: func() {
			log.Info("password=hunter2")
		},
		`"msg":"long","attrs":{"note":"its attributes were dropped: `: func() {
			log.Info("long", "a", strings.Repeat("x", notify.MaxEmission))
		},
		`"msg":"` + strings.Repeat("y", 1024) + `","attrs":{"note":`: func() {
			log.Info(strings.Repeat("y", notify.MaxEmission))
		},
	} {
		say()
		all := s.taken()
		if len(all) != 1 || !strings.Contains(all[0], want) || !json.Valid([]byte(all[0])) ||
			len(all[0]) > notify.MaxEmission {
			t.Errorf("it sent %.400q, want %s", all, want)
		}
	}
}

func TestAdviceOfAProcessOfItsOwnIsBoundedThereAlready(t *testing.T) {
	ctx, s, end := emitting(t, 20, `{}`)
	for i, advice := range []struct {
		priority float64
		text     string
		want     string
	}{
		{0.5, "a", `{"advice":{"priority":0.5,"text":"a"}}`},
		{math.NaN(), "b", `{"advice":{"priority":0,"text":"b"}}`},
		{math.Inf(1), "password=hunter2",
			`{"advice":{"priority":1,"text":"password=***MASKED***"}}`},
		{-1, strings.Repeat("\x01", notify.MaxEmission), `…"}}`},
	} {
		if !runtime.Advise(ctx, advice.priority, "%s", advice.text) {
			t.Errorf("%d was not taken", i)
		}
		if all := s.taken(); len(all) != 1 || !strings.HasSuffix(all[0], advice.want) ||
			len(all[0]) > notify.MaxEmission {
			t.Errorf("%d: it sent %.200q", i, all)
		}
	}
	for i := range 12 {
		if !runtime.Advise(ctx, 0, "more") {
			t.Errorf("%d more were too many", i)
		}
	}
	if runtime.Advise(ctx, 0, "one too many") {
		t.Error("17 were not too many")
	}
	end()
	full, s, end := emitting(t, 0, `{}`)
	if runtime.Advise(full, 1, "no room") {
		t.Error("it was taken without room")
	}
	end()
	if len(s.taken()) > 0 || runtime.Advise(full, 1, "too late") {
		t.Error("it was taken after the end")
	}
}

func TestWhatThereIsNoRoomForIsCounted(t *testing.T) {
	ctx, s, end := emitting(t, 2, `{"log":"INFO","progress":true}`)
	for i := range 10 {
		runtime.Logger(ctx).Info(fmt.Sprint(i))
	}
	runtime.Progress(ctx).Report(1, 0, "")
	runtime.Progress(ctx).Report(2, 0, "")
	end()
	runtime.Logger(ctx).Info("too late")
	runtime.Progress(ctx).Report(3, 0, "")
	if all := s.taken(); len(all) != 4 || all[2] != `{"progress":{"done":2}}` ||
		all[3] != `{"dropped":8}` || s.last != 2 {
		t.Errorf("it sent %q", all)
	}
}

func TestProgressOfAProcessOfItsOwnIsSentAsOftenAsAnybodyCanSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, end := emitting(t, 1000, `{"progress":true}`)
		p := runtime.Progress(ctx)
		begun := time.Now()
		for i := range 1000 {
			p.Report(float64(i), 1000, "")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		all, took := s.taken(), time.Since(begun)
		if len(all) > int(took/(50*time.Millisecond))+1 || len(all) < 10 {
			t.Fatalf("it sent %d reports in %s", len(all), took)
		}
		if last := all[len(all)-1]; last != `{"progress":{"done":999,"total":1000}}` {
			t.Errorf("the handler rests, and it sent last %q", last)
		}
		p.Report(1000, 1000, "password=hunter2")
		p.Report(1001, 1000, "left out")
		p.Report(1002, 1000, "the last")
		end()
		time.Sleep(time.Second)
		if all := s.taken(); len(all) != 2 ||
			!strings.Contains(all[0], `"password=***MASKED***"`) ||
			!strings.Contains(all[1], "the last") {
			t.Errorf("it sent %q", all)
		}
	})
}

func TestAProcessOfItsOwnGetsWhatIsWanted(t *testing.T) {
	at := func(level slog.Level) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level}))
	}
	for name, test := range map[string]struct {
		logger *slog.Logger
		meta   mcp.Meta
		want   string
	}{
		"nothing":        {slog.New(slog.DiscardHandler), nil, ""},
		"by the log":     {at(slog.LevelWarn), nil, `"log":"WARN"`},
		"between levels": {at(slog.LevelWarn - 1), nil, `"log":"INFO+3"`},
		"all by the log": {at(slog.LevelDebug - 40), nil, `"log":"DEBUG-60"`},
		"by the client": {slog.New(slog.DiscardHandler),
			mcp.Meta{mcp.MetaKeyLogLevel: "error"}, `"log":"ERROR"`},
		"by both, the log lower": {at(slog.LevelInfo), mcp.Meta{mcp.MetaKeyLogLevel: "error"},
			`"log":"INFO"`},
		"by both, the log above": {at(slog.LevelError), mcp.Meta{mcp.MetaKeyLogLevel: "debug"},
			`"log":"DEBUG"`},
		"by neither up to error": {at(slog.LevelError + 1),
			mcp.Meta{mcp.MetaKeyLogLevel: "critical"}, ""},
		"no level that there is": {slog.New(slog.DiscardHandler),
			mcp.Meta{mcp.MetaKeyLogLevel: "loud"}, ""},
		"progress": {slog.New(slog.DiscardHandler), mcp.Meta{"progressToken": "p"},
			`"progress":true`},
	} {
		var told string
		b := &box{isolate: func(_ context.Context, call isolate.Call) (json.RawMessage, error) {
			told = string(call.Caller)
			return json.RawMessage(`1`), nil
		}}
		s := newServer(t, runtime.Options{Sandbox: b, Logger: test.logger},
			apart(toolset.Tool{Name: "look"}))
		session := connectHTTP(t, serve(t, s), tokens["Member"], "2026-07-28")
		if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "look",
			Arguments: map[string]any{}, Meta: test.meta}); err != nil {
			t.Fatal(err)
		}
		if test.want == "" && (strings.Contains(told, `"log"`) ||
			strings.Contains(told, `"progress"`)) || !strings.Contains(told, test.want) {
			t.Errorf("%s: it was told %s", name, told)
		}
	}
}

// emitted returns what is logged of what a process says, and the advice in it.
func emitted(t *testing.T, s *runtime.Server, log *lockedBuffer,
	say ...string) (lines []map[string]any, advice []mcp.Content) {
	t.Helper()
	log.mu.Lock()
	log.b.Reset()
	log.mu.Unlock()
	advice = runtime.ChildAdvice(t.Context(), s, principalOf("Member"), "look", say...)
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("the log has a line %q: %v", line, err)
		}
		// Of a name that stands there twice only the last is in fields.
		own, _, _ := strings.Cut(line, `,"isolated":`)
		for _, name := range []string{"time", "level", "msg", "request_id", "principal", "tool"} {
			if strings.Count(own, `"`+name+`":`) > 1 {
				t.Errorf("%s stands twice in %s", name, line)
			}
		}
		if forged := strings.Contains(line,
			"its handler forged it"); fields["principal"] != "user-Member" && !forged ||
			fields["tool"] != "look" || fields["request_id"] == "" {
			t.Errorf("whose line it is: %s", line)
		}
		if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(fields["time"])); err != nil ||
			time.Since(at).Abs() > time.Hour {
			t.Errorf("the time of %s: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines, advice
}

// journaled is a server that logs as JSON.
func journaled(t testing.TB) (*runtime.Server, *lockedBuffer) {
	log := &lockedBuffer{}
	return newServer(t, runtime.Options{Logger: slog.New(slog.NewJSONHandler(log, nil)),
		Sandbox: &box{}}, apart(toolset.Tool{Name: "look"})), log
}

func TestNothingThatAProcessOfItsOwnSendsIsTrusted(t *testing.T) {
	const unread = "cannot read a message of an isolated call: its handler forged it, or logged " +
		"a value without a JSON representation"
	s, log := journaled(t)
	for name, test := range map[string]struct{ say, want string }{
		"a record":            {`{"log":{"level":"WARN","msg":"m","attrs":{"a":1,"b":{"c":2.5,"d":null},"e":["x",1]}}}`, `{"isolated":{"a":1,"b":{"c":2.5,"d":null},"e":["x",1]},"level":"WARN","msg":"m"}`},
		"a level that is low": {`{"log":{"level":"DEBUG-1000000","msg":"m"}}`, ``},
		"a level that is high": {`{"log":{"level":"ERROR+1000000","msg":"m"}}`,
			`{"level":"ERROR","msg":"m"}`},
		"a level just too high": {`{"log":{"level":"ERROR+1","msg":"m"}}`,
			`{"level":"ERROR","msg":"m"}`},
		"a level that is none": {`{"log":{"level":"ERROR+99999999999999999999","msg":"m"}}`,
			unread},
		"a time to come": {`{"log":{"time":"9999-12-31T23:59:59Z","level":"WARN","msg":"m"}}`,
			`{"level":"WARN","msg":"m"}`},
		"a time long ago": {`{"log":{"time":"0001-01-01T00:00:00Z","level":"WARN","msg":"m"}}`,
			`{"level":"WARN","msg":"m"}`},
		"a time that is none": {`{"log":{"time":"10000-12-31T23:59:59Z","level":"WARN","msg":"m"}}`,
			unread},
		"ids":                {`{"log":{"level":"WARN","msg":"m","attrs":{"principal":"root","request_id":"x","time":"then","level":"ERROR","msg":"n"}}}`, `{"isolated":{"level":"ERROR","msg":"n","principal":"root","request_id":"x","time":"then"},"level":"WARN","msg":"m"}`},
		"secrets":            {`{"log":{"level":"WARN","msg":"password=hunter2","attrs":{"token":"x","auth":{"n":1},"u":["https://u:p@example.com"]}}}`, `{"isolated":{"auth":{"n":"***MASKED***"},"token":"***MASKED***","u":["https://u:***MASKED***@example.com"]},"level":"WARN","msg":"password=***MASKED***"}`},
		"control characters": {`{"log":{"level":"WARN","msg":"a\u001b[2Jb\u0000\n","attrs":{"k\u0007":"v\u202e","l":["\u0085"],"m":{"n":{"\r":"\r"}}}}}`, `{"isolated":{"k�":"v�","l":["�"],"m":{"n":{"�":"�"}}},"level":"WARN","msg":"a�[2Jb�\n"}`},
		"invalid UTF-8": {"{\"log\":{\"level\":\"WARN\",\"msg\":\"\xff\"}}",
			`{"level":"WARN","msg":"�"}`},
		"large numbers": {`{"log":{"level":"WARN","msg":"m","attrs":{"a":1e999,"b":-9223372036854775808,"c":1e300}}}`, `{"isolated":{"a":"1e999","b":-9223372036854775808,"c":1e+300},"level":"WARN","msg":"m"}`},
		"a long name": {`{"log":{"level":"WARN","msg":"m","attrs":{"` +
			strings.Repeat("n", 300) + `":1}}}`, `{"isolated":{"` + strings.Repeat("n", 200) +
			`":1},"level":"WARN","msg":"m"}`},
		"groups without end": {`{"log":{"level":"WARN","msg":"m","attrs":` +
			strings.Repeat(`{"g":`, 2000) + `1` + strings.Repeat(`}`, 2000) + `}}`,
			`"***MASKED***"`},
		"attributes of no kind": {`{"log":{"level":"WARN","msg":"m","attrs":"x"}}`, unread},
		"no attributes": {`{"log":{"level":"WARN","msg":"m","attrs":null}}`,
			`{"level":"WARN","msg":"m"}`},
		"no JSON":   {`{"log":`, unread},
		"nothing":   {``, unread},
		"null":      {`null`, ``},
		"no number": {`{"progress":{"done":NaN}}`, unread},
		"more than was said": {`{"dropped":3}`,
			`{"isolated":{"messages":3},"level":"WARN","msg":"dropped log messages of an isolated call: it sent more than allowed"}`},
		"less than nothing": {`{"dropped":-3}`, ``},
	} {
		lines, _ := emitted(t, s, log, test.say)
		got := ""
		for _, fields := range lines {
			for _, own := range []string{"time", "request_id", "principal", "tool"} {
				delete(fields, own)
			}
			text, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			got += string(text)
		}
		if test.want == "" && got != "" || !strings.Contains(got, test.want) || len(lines) > 1 {
			t.Errorf("%s: the log says %.600s, want %s", name, got, test.want)
		}
	}
	var say []string
	for i := range 40 {
		say = append(say, fmt.Sprintf(`{"advice":{"priority":%d,"text":"advice %d with password=hunter2 and \u001b"}}`, 1000*i-1, i))
	}
	_, advice := emitted(t, s, log, say...)
	if len(advice) != 16 {
		t.Fatalf("there are %d contents", len(advice))
	}
	for i, content := range advice {
		if c := content.(*mcp.TextContent); c.Annotations.Priority != float64(min(i, 1)) ||
			c.Text != fmt.Sprintf("advice %d with password=***MASKED*** and �", i) {
			t.Errorf("%+v %+v", c, c.Annotations)
		}
	}
}

// Masking and writing costs more for each of what an emission holds than sending it does, so that
// has a bound.
func TestAnEmissionHoldsSoMuchAndNoMore(t *testing.T) {
	const most = 1024
	s, log := journaled(t)
	times := func(n int, item func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = item(i)
		}
		return strings.Join(all, ",")
	}
	member := func(i int) string { return fmt.Sprintf(`"%x":1`, i) }
	nested := func(attrs string) string {
		return strings.Repeat(`{"g":`, 15) + attrs + strings.Repeat(`}`, 15)
	}
	for name, test := range map[string]struct {
		attrs string
		left  bool   // some are left out
		holds string // as often as it may be
		times int
	}{
		"as many as there may be": {`{` + times(most, member) + `}`, false, `:1`, most},
		"one more":                {`{` + times(most+1, member) + `}`, true, `:1`, most},
		"far more":                {`{` + times(6000, member) + `}`, true, `:1`, most},
		"in groups":               {nested(`{` + times(6000, member) + `}`), true, `:1`, most - 15},
		"deeper than groups are": {nested(nested(`{` + times(6000, member) + `}`)), true, `:1`,
			most - 30},
		"items of lists": {`{"a":[` + times(30_000, func(int) string {
			return "7"
		}) + `],"b":1}`, true, `7,`, most - 2},
		"as many items": {`{"a":[` + times(most-2, func(int) string {
			return "7"
		}) + `],"b":1}`, false, `7,`, most - 3},
		"objects in lists": {nested(`{"a":[` + times(8000, func(int) string {
			return `{"":0}`
		}) + `]}`), true, `{"":0}`, (most - 16) / 2},
		"after what is left out": {`{"a":[[` + times(6000, func(int) string {
			return "7"
		}) + `]],"last":{"b":1}}`, true, `last`, 0},
	} {
		say := `{"log":{"level":"WARN","msg":"m","attrs":` + test.attrs + `}}`
		if len(say) > notify.MaxEmission {
			t.Fatalf("%s is too large to be sent: %d bytes", name, len(say))
		}
		lines, _ := emitted(t, s, log, say)
		_, got, _ := strings.Cut(log.String(), `"isolated":`) // times hold what is counted, too
		if len(lines) != 1 || strings.Count(got, test.holds) != test.times ||
			strings.Contains(got, "attributes and list items after the first") != test.left {
			t.Errorf("%s: %s stands there %d times, want %d: %.300s … %.200s", name, test.holds,
				strings.Count(got, test.holds), test.times, got, got[max(0, len(got)-200):])
		}
	}
}

// FuzzEmissionsNeverPassForTheServersOwnWords: whatever an emission holds, each line of the log is
// one, and says whose it is.
func FuzzEmissionsNeverPassForTheServersOwnWords(f *testing.F) {
	f.Add(`{"log":{"level":"WARN","msg":"m","attrs":{"principal":"root","a":{"b":[1,{"c":"x"}]}}},"progress":{"done":1},"advice":{"priority":2,"text":"x"},"dropped":1}`)
	f.Add(`{"log":{"level":"ERROR+3","msg":"\n{\"level\":\"x\"}","time":"2026-01-01T00:00:00Z","attrs":{"":{"":{}},"a.b":1e400}}}`)
	f.Add("\xff")
	s, log := journaled(f)
	f.Fuzz(func(t *testing.T, say string) {
		lines, advice := emitted(t, s, log, say)
		for _, fields := range lines {
			if strings.ContainsFunc(fmt.Sprint(fields), func(r rune) bool {
				return unicode.IsControl(r) && r != '\n' && r != '\t'
			}) {
				t.Errorf("%q", fields)
			}
		}
		if len(lines) > 2 || len(advice) > 1 {
			t.Errorf("%d lines and %d contents of one emission", len(lines), len(advice))
		}
	})
}
