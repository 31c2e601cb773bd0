package notify

//lint:file-ignore SA1019 clients of all versions may request log messages, deprecated in 2026-07-28

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

	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// emissions are the events of an isolated handler. It has room for so many.
type emissions struct {
	mu   sync.Mutex
	all  []string
	last int
	room int
}

func (s *emissions) emit(event json.RawMessage, last bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last {
		s.last++
	} else if s.room == 0 {
		return false
	} else {
		s.room--
	}
	s.all = append(s.all, string(event))
	return true
}

func (s *emissions) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}

// emitting returns the context of an isolated handler, which is to send what is wanted.
func emitting(t *testing.T, room int, wanted string) (context.Context, *emissions, func()) {
	t.Helper()
	s := &emissions{room: room}
	ctx, end := Emitting(t.Context(), s.emit)
	var wants Wants
	if err := json.Unmarshal([]byte(wanted), &wants); err != nil {
		t.Fatal(err)
	}
	Inherit(ctx, wants)
	return ctx, s, end
}

func TestNothingIsEmittedThatNobodyWants(t *testing.T) {
	bare, end := Emitting(t.Context(), func(json.RawMessage, bool) bool {
		t.Error("it was sent")
		return true
	})
	Logger(bare).Error("before anything is known")
	Progress(bare).Report(1, 2, "")
	end()
	Inherit(t.Context(), Wants{Progress: true}) // outside of an isolated call
	ctx, s, end := emitting(t, 100, `{}`)
	log := Logger(ctx)
	log.With("a", 1).WithGroup("g").Error("an error")
	if log.Enabled(ctx, slog.Level(math.MaxInt)) {
		t.Error("a level is wanted")
	}
	progress := Progress(ctx)
	if progress != nil {
		t.Error("progress is wanted")
	}
	progress.Report(1, 2, "")
	end()
	if all := s.taken(); len(all) > 0 {
		t.Errorf("it sent %q", all)
	}
	ctx, s, end = emitting(t, 100, `{"log":"WARN"}`)
	Logger(ctx).Info("too low")
	Logger(ctx).Warn("as low as is wanted")
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
	log := Logger(ctx)
	long := strings.Repeat("y", MaxEmission)
	for want, write := range map[string]func(){
		`"level":"DEBUG","msg":"m"}}`: func() { log.Debug("m") },
		`"level":"ERROR+4","msg":"m"`: func() { log.Log(ctx, slog.LevelError+4, "m") },
		`"attrs":{"a":1,"time":"x","msg":2,"level":true}`: func() {
			log.Info("m", "a", 1, "time", "x", "msg", 2, "level", true)
		},
		`"attrs":{"a":1,"g":{"b":2,"h":{"took":"1.5s"}}}`: func() {
			log.With("a", 1).WithGroup("").WithGroup("g").
				Info("m", "b", 2, slog.Group("h", "took", 1500*time.Millisecond))
		},
		`"attrs":{"f":"!ERROR`: func() { log.Info("m", "f", math.NaN()) },
		`"attrs":{"e":"no luck","b":"bytes","token":"***MASKED***"}`: func() {
			log.Info("m", "e", errors.New("no luck"), "b", []byte("bytes"), "token", "t")
		},
		`"attrs":{"v":{"Name":"n","Password":"***MASKED***"}}`: func() {
			log.Info("m", "v", shows{"p", "n"})
		},
		`"msg":"password=***MASKED***"`: func() { log.Info("password=hunter2") },
		`"msg":"long","attrs":{"note":"its attributes were dropped: `: func() {
			log.Info("long", "a", long)
		},
		`"msg":"` + long[:1024] + `","attrs":{"note":`: func() { log.Info(long) },
	} {
		write()
		all := s.taken()
		if len(all) != 1 || !strings.Contains(all[0], want) || !json.Valid([]byte(all[0])) ||
			len(all[0]) > MaxEmission {
			t.Errorf("it sent %.400q, want %s", all, want)
		}
	}
	for n := MaxEmission - 120; n <= MaxEmission; n++ {
		log.Info("", "a", long[:n])
		if all := s.taken(); len(all) != 1 || len(all[0]) > MaxEmission {
			t.Errorf("it sent %.400q", all)
		}
		s.room = 100
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
		{math.Inf(1), "password=hunter2", `{"advice":{"priority":1,"text":"password=***MASKED***"}}`},
		{-1, strings.Repeat("\x01", MaxEmission), `…"}}`},
	} {
		if !Advise(ctx, advice.priority, advice.text) {
			t.Errorf("%d was not taken", i)
		}
		if all := s.taken(); len(all) != 1 || !strings.HasSuffix(all[0], advice.want) ||
			len(all[0]) > MaxEmission {
			t.Errorf("%d: it sent %.200q", i, all)
		}
	}
	for i := range 12 {
		if !Advise(ctx, 0, "more") {
			t.Errorf("%d more were too many", i)
		}
	}
	if Advise(ctx, 0, "one too many") {
		t.Error("17 were not too many")
	}
	end()
	full, s, end := emitting(t, 0, `{}`)
	if Advise(full, 1, "no room") {
		t.Error("it was taken without room")
	}
	end()
	if len(s.taken()) > 0 || Advise(full, 1, "too late") {
		t.Error("it was taken after the end")
	}
}

func TestWhatThereIsNoRoomForIsCounted(t *testing.T) {
	ctx, s, end := emitting(t, 2, `{"log":"INFO","progress":true}`)
	for i := range 10 {
		Logger(ctx).Info(fmt.Sprint(i))
	}
	Progress(ctx).Report(1, 0, "")
	Progress(ctx).Report(2, 0, "")
	end()
	Logger(ctx).Info("too late")
	Progress(ctx).Report(3, 0, "")
	all := s.taken()
	if len(all) != 4 || all[2] != `{"progress":{"done":2}}` || all[3] != `{"dropped":8}` ||
		s.last != 2 {
		t.Errorf("it sent %q", all)
	}
}

func TestProgressOfAProcessOfItsOwnIsSentAsOftenAsAnybodyCanSee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s, end := emitting(t, 1000, `{"progress":true}`)
		p := Progress(ctx)
		begun := time.Now()
		for i := range 1000 {
			p.Report(float64(i), 1000, "")
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		all, took := s.taken(), time.Since(begun)
		if len(all) > int(took/(50*time.Millisecond))+progressBurst || len(all) < 10 {
			t.Fatalf("it sent %d reports in %s", len(all), took)
		}
		if last := all[len(all)-1]; last != `{"progress":{"done":999,"total":1000}}` {
			t.Errorf("the handler rests, and it sent last %q", last)
		}
		p.Report(1000, 1000, "password=hunter2")
		for i := range progressBurst {
			p.Report(1001+float64(i), 1000, "after it")
		}
		p.Report(2000, 1000, "the last")
		end()
		time.Sleep(time.Second)
		if all := s.taken(); len(all) != progressBurst+1 ||
			!strings.Contains(all[0], `"password=***MASKED***"`) ||
			!strings.Contains(all[progressBurst], "the last") {
			t.Errorf("it sent %q", all)
		}
	})
}

func TestAProcessOfItsOwnGetsWhatIsWanted(t *testing.T) {
	at := func(level slog.Level) slog.Handler {
		return slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level})
	}
	token := map[string]any{"progressToken": "p"}
	level := func(name string) map[string]any { return map[string]any{mcp.MetaKeyLogLevel: name} }
	for name, test := range map[string]struct {
		log  slog.Handler
		meta map[string]any
		want string
	}{
		"nothing":                {slog.DiscardHandler, nil, `{}`},
		"by the log":             {at(slog.LevelWarn), nil, `{"log":"WARN"}`},
		"between levels":         {at(slog.LevelWarn - 1), nil, `{"log":"INFO+3"}`},
		"all by the log":         {at(slog.LevelDebug - 40), nil, `{"log":"DEBUG-60"}`},
		"by the client":          {slog.DiscardHandler, level("error"), `{"log":"ERROR"}`},
		"by both, the log lower": {at(slog.LevelInfo), level("error"), `{"log":"INFO"}`},
		"by both, the log above": {at(slog.LevelError), level("debug"), `{"log":"DEBUG"}`},
		"by neither up to error": {at(slog.LevelError + 1), level("critical"), `{}`},
		"no level that there is": {slog.DiscardHandler, level("loud"), `{}`},
		"progress":               {slog.DiscardHandler, token, `{"progress":true}`},
	} {
		info := message(test.log, newSession(), request.Stateless)
		ctx, _ := attached(t, info, test.meta)
		wants, err := json.Marshal(NewChildOutput(ctx, new(Advice)).Wants(ctx))
		if err != nil || string(wants) != test.want {
			t.Errorf("%s: %s, %v", name, wants, err)
		}
	}
}

// emitted returns what is logged of an isolated handler's events, and the advice in them.
func emitted(t *testing.T, log *buffer, events ...string) ([]map[string]any, []mcp.Content) {
	t.Helper()
	log.mu.Lock()
	log.b.Reset()
	log.mu.Unlock()
	info := message(slog.NewJSONHandler(log, nil), nil, request.Stateless)
	ctx, _ := attached(t, info, nil)
	collected := new(Advice)
	output := NewChildOutput(ctx, collected)
	for _, event := range events {
		output.Take(ctx, []byte(event))
	}
	output.Close(ctx)
	ended := time.Now()
	var lines []map[string]any
	for line := range strings.Lines(log.String()) {
		var fields map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatalf("the log has a line %q: %v", line, err)
		}
		// fields has the last of two members with one name.
		own, _, _ := strings.Cut(line, `,"isolated":`)
		for _, name := range []string{"time", "level", "msg", "request_id", "principal", "tool"} {
			if strings.Count(own, `"`+name+`":`) > 1 {
				t.Errorf("%s stands twice in %s", name, line)
			}
		}
		forged := strings.Contains(line, "its handler forged it")
		if fields["principal"] != "user-Member" && !forged || fields["tool"] != "look" ||
			fields["request_id"] == "" {
			t.Errorf("whose line it is: %s", line)
		}
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(fields["time"]))
		if err != nil || at.Before(info.Started) || ended.Before(at) {
			t.Errorf("the time of %s: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines, collected.Take()
}

func TestNothingThatAProcessOfItsOwnSendsIsTrusted(t *testing.T) {
	const (
		unread = "cannot read a message of an isolated call: its handler forged it, or logged a value " +
			"without a JSON representation"
		begin  = `{"log":{"level":"WARN","msg":"m"`
		plain  = `{"level":"WARN","msg":"m"}`
		failed = `{"level":"ERROR","msg":"m"}`
	)
	attrs := func(attrs string) string { return begin + `,"attrs":` + attrs + `}}` }
	isolated := func(attrs string) string {
		return `{"isolated":` + attrs + `,"level":"WARN","msg":"m"}`
	}
	log := &buffer{}
	for name, test := range map[string]struct{ event, want string }{
		"a record": {
			attrs(`{"a":1,"b":{"c":2.5,"d":null},"e":["x",1]}`),
			isolated(`{"a":1,"b":{"c":2.5,"d":null},"e":["x",1]}`),
		},
		"a level that is low":   {`{"log":{"level":"DEBUG-1000000","msg":"m"}}`, ``},
		"a level that is high":  {`{"log":{"level":"ERROR+1000000","msg":"m"}}`, failed},
		"a level just too high": {`{"log":{"level":"ERROR+1","msg":"m"}}`, failed},
		"a level that is none":  {`{"log":{"level":"ERROR+99999999999999999999","msg":"m"}}`, unread},
		"a time to come":        {begin + `,"time":"9999-12-31T23:59:59Z"}}`, plain},
		"a time long ago":       {begin + `,"time":"0001-01-01T00:00:00Z"}}`, plain},
		"a time that is none":   {begin + `,"time":"10000-12-31T23:59:59Z"}}`, unread},
		"ids": {
			attrs(`{"principal":"root","request_id":"x","time":"then","level":"ERROR","msg":"n"}`),
			isolated(`{"level":"ERROR","msg":"n","principal":"root","request_id":"x","time":"then"}`),
		},
		"secrets": {
			`{"log":{"level":"WARN","msg":"password=hunter2","attrs":` +
				`{"token":"x","auth":{"n":1},"u":["https://u:p@example.com"]}}}`,
			`{"isolated":{"auth":{"n":"***MASKED***"},"token":"***MASKED***",` +
				`"u":["https://u:***MASKED***@example.com"]},` +
				`"level":"WARN","msg":"password=***MASKED***"}`,
		},
		"control characters": {
			`{"log":{"level":"WARN","msg":"a\u001b[2Jb\u0000\n",` +
				`"attrs":{"k\u0007":"v\u202e","l":["\u0085"],"m":{"n":{"\r":"\r"}}}}}`,
			`{"isolated":{"k�":"v�","l":["�"],"m":{"n":{"�":"�"}}},` +
				`"level":"WARN","msg":"a�[2Jb�\n"}`,
		},
		"invalid UTF-8": {
			`{"log":{"level":"WARN","msg":"` + "\xff" + `"}}`, `{"level":"WARN","msg":"�"}`,
		},
		"large numbers": {
			attrs(`{"a":1e999,"b":-9223372036854775808,"c":1e300,"d":[9223372036854775808,1.0]}`),
			isolated(`{"a":"1e999","b":-9223372036854775808,"c":1e+300,"d":[9223372036854775808,1.0]}`),
		},
		"two of a name": {
			attrs(`{"a":1,"a":2,"l":[{"b":1,"b":2}]}`), isolated(`{"a":2,"l":[{"b":2}]}`),
		},
		"true, false and null": {
			attrs(`{"a":true,"b":false,"c":null,"d":[true,null,{}]}`),
			isolated(`{"a":true,"b":false,"c":null,"d":[true,null,{}]}`),
		},
		"a long name": {
			attrs(`{"` + strings.Repeat("n", 300) + `":1}`),
			isolated(`{"` + strings.Repeat("n", 200) + `":1}`),
		},
		"groups without end": {
			attrs(strings.Repeat(`{"g":`, 2000) + `1` + strings.Repeat(`}`, 2000)), `"***MASKED***"`,
		},
		"attributes of no kind":  {attrs(`"x"`), unread},
		"attributes in a list":   {attrs(`[{"a":1}]`), unread},
		"no attributes":          {attrs(`null`), plain},
		"attributes without end": {attrs(`{"a":`), unread},
		"no JSON":                {`{"log":`, unread},
		"nothing":                {``, unread},
		"null":                   {`null`, ``},
		"no number":              {`{"progress":{"done":NaN}}`, unread},
		"more than was said": {
			`{"dropped":3}`, `{"isolated":{"messages":3},"level":"WARN",` +
				`"msg":"dropped log messages of an isolated call: it sent more than allowed"}`,
		},
		"less than nothing": {`{"dropped":-3}`, ``},
	} {
		lines, _ := emitted(t, log, test.event)
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
			t.Errorf("%s: the log has %.600s, want %s", name, got, test.want)
		}
	}
	var events []string
	for i := range 40 {
		events = append(events, fmt.Sprintf(
			`{"advice":{"priority":%d,"text":"advice %d with password=hunter2 and \u001b"}}`, 1000*i-1, i))
	}
	_, advice := emitted(t, log, events...)
	if len(advice) != 16 {
		t.Fatalf("there are %d contents", len(advice))
	}
	for i, content := range advice {
		c := content.(*mcp.TextContent)
		if c.Annotations.Priority != float64(min(i, 1)) ||
			c.Text != fmt.Sprintf("advice %d with password=***MASKED*** and �", i) {
			t.Errorf("%+v %+v", c, c.Annotations)
		}
	}
}

func TestEventsOfAProcessOfItsOwnReachTheClient(t *testing.T) {
	var log buffer
	s := newSession()
	info := message(slog.NewTextHandler(&log, nil), s, request.Stateless)
	ctx, c := attached(t, info, everything())
	output := NewChildOutput(ctx, new(Advice))
	output.Take(ctx, []byte(`{"progress":{"done":1,"total":2,"message":"half\u001b"}}`))
	output.Take(ctx, []byte(`{"log":{"level":"DEBUG","msg":"m","attrs":{"a":1,"msg":"forged"}}}`))
	output.Close(ctx)
	c.Close()
	if len(s.progress) != 1 || s.progress[0].Message != "half�" || s.progress[0].Total != 2 {
		t.Errorf("it was sent %+v", s.progress)
	}
	// The client of the call knows where the record comes from.
	data := decoded(s.logs[0].Data)
	if s.logs[0].Level != "debug" || data["a"] != 1.0 || data["attr_msg"] != "forged" {
		t.Errorf("it was sent %v", data)
	}
	if log.String() != "" {
		t.Errorf("the server's log has %s", log.String())
	}
}

// Masking and writing costs more for each value of an event than sending it.
func TestAnEmissionHoldsSoMuchAndNoMore(t *testing.T) {
	const most = 1024
	log := &buffer{}
	times := func(n int, item func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = item(i)
		}
		return strings.Join(all, ",")
	}
	member := func(i int) string { return fmt.Sprintf(`"%x":1`, i) }
	seven := func(int) string { return "7" }
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
		"deeper than groups are": {
			nested(nested(`{` + times(6000, member) + `}`)), true, `:1`, most - 30,
		},
		"items of lists": {`{"a":[` + times(30_000, seven) + `],"b":1}`, true, `7,`, most - 2},
		"as many items":  {`{"a":[` + times(most-2, seven) + `],"b":1}`, false, `7,`, most - 3},
		"objects in lists": {
			nested(`{"a":[` + times(8000, func(int) string { return `{"":0}` }) + `]}`), true,
			`{"":0}`, (most - 16) / 2,
		},
		"after what is left out": {
			`{"a":[[` + times(6000, seven) + `]],"last":{"b":1}}`, true, `last`, 0,
		},
	} {
		event := `{"log":{"level":"WARN","msg":"m","attrs":` + test.attrs + `}}`
		if len(event) > MaxEmission {
			t.Fatalf("%s is too large to be sent: %d bytes", name, len(event))
		}
		lines, _ := emitted(t, log, event)
		_, got, _ := strings.Cut(log.String(), `"isolated":`) // times hold what is counted, too
		held := strings.Count(got, test.holds)
		left := strings.Contains(got, "attributes and list items after the first")
		if len(lines) != 1 || held != test.times || left != test.left {
			t.Errorf("%s: %s stands there %d times, want %d: %.300s … %.200s",
				name, test.holds, held, test.times, got, got[max(0, len(got)-200):])
		}
	}
}

// FuzzEmissionsNeverPassForTheServersOwnWords: each line of the log is one line and has the ids of
// the call, whatever an event holds.
func FuzzEmissionsNeverPassForTheServersOwnWords(f *testing.F) {
	f.Add(`{"log":{"level":"WARN","msg":"m","attrs":{"principal":"root","a":{"b":[1,{"c":"x"}]}}},` +
		`"progress":{"done":1},"advice":{"priority":2,"text":"x"},"dropped":1}`)
	f.Add(`{"log":{"level":"ERROR+3","msg":"\n{\"level\":\"x\"}","time":"2026-01-01T00:00:00Z",` +
		`"attrs":{"":{"":{}},"a.b":1e400}}}`)
	f.Add("\xff")
	log := &buffer{}
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	f.Fuzz(func(t *testing.T, event string) {
		lines, advice := emitted(t, log, event)
		for _, fields := range lines {
			if strings.ContainsFunc(fmt.Sprint(fields), control) {
				t.Errorf("%q", fields)
			}
		}
		if len(lines) > 2 || len(advice) > 1 {
			t.Errorf("%d lines and %d contents of one event", len(lines), len(advice))
		}
	})
}
