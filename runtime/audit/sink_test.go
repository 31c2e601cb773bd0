package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

func event() audit.Event {
	return audit.Event{
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Type: audit.ToolCalled, RequestID: "r1",
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
		Issuer:  "https://id.example", Principal: "ada", Client: "cli", Roles: []string{"Member"},
		Tool: "update", Prompt: "p", Resource: "a:b", Action: "update", Object: "catalog 17",
		Arguments: []audit.Argument{{Name: "id", Bytes: 5, Digest: audit.DigestOf([]byte("abc"))}},
		Status:    audit.Failed, Failure: audit.Denied, Axis: "role", Missing: "needs role Manager",
		Milliseconds: 1.5,
	}
}

func TestJSONLinesWritesOneEventALine(t *testing.T) {
	var out bytes.Buffer
	if err := audit.JSONLines(&out).Record(context.Background(), event()); err != nil {
		t.Fatal(err)
	}
	want := `{"timestamp":"2026-05-04T03:02:01Z","event_type":"tool_called","request_id":"r1","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","issuer":"https://id.example","principal":"ada","client_id":"cli","roles":["Member"],"tool_name":"update","prompt":"p","resource":"a:b","action":"update","object":"catalog 17","arguments":[{"name":"id","bytes":5,"digest":"` + abc + `"}],"status":"failed","failure":"denied","axis":"role","missing":"needs role Manager","execution_time_ms":1.5}` + "\n"
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
	var back audit.Event
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || !reflect.DeepEqual(back, event()) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestRecordOfAnEarlierVersionIsRead(t *testing.T) {
	var got audit.Event
	line := `{"timestamp":"2026-05-04T03:02:01Z","event_type":"tool_call","request_id":"r1","principal":"ada","client":"cli","tool":"update","status":"ok","execution_time_ms":1.5}`
	want := audit.Event{
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Type: audit.ToolCalled, RequestID: "r1",
		Principal: "ada",
		Client:    "cli", Tool: "update", Status: audit.Success, Milliseconds: 1.5,
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, test := range []struct{ words, want string }{
		{`"event_type":"tool_call","status":"ok"`, `tool_called success `},
		{`"event_type":"tool_call","status":"intent"`, `tool_called intent `},
		{`"event_type":"tool_call","status":"failed"`, `tool_called failed error`},
		{`"event_type":"tool_list","status":"invalid"`, `tool_list failed invalid`},
		{`"event_type":"changed","status":"denied"`, `changed failed denied`},
		{`"status":"timeout"`, ` failed timeout`}, {`"status":"limited"`, ` failed limited`},
		{`"status":"crashed"`, ` failed crashed`}, {`"status":"other"`, ` other `}, {``, `  `},
		{`"event_type":"tool_called","status":"success"`, `tool_called success `},
		{`"status":"failed","failure":"denied"`, ` failed denied`},
		{`"status":"failed","failure":"other"`, ` failed other`},
	} {
		got = audit.Event{}
		err := json.Unmarshal([]byte(`{`+test.words+`}`), &got)
		if s := fmt.Sprint(got.Type, " ", got.Status, " ", got.Failure); s != test.want ||
			err != nil {
			t.Errorf("%s: %s, %v", test.words, s, err)
		}
	}
	for _, bad := range []string{`{"client":1}`, `{"timestamp":"yesterday"}`, `[]`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// dribble writes a byte at a time, so that lines would mix if they could.
type dribble struct{ out bytes.Buffer }

func (d *dribble) Write(p []byte) (int, error) {
	for _, b := range p {
		d.out.WriteByte(b)
	}
	return len(p), nil
}

func TestLinesOfConcurrentCallsDoNotMix(t *testing.T) {
	out := &dribble{}
	sink := audit.JSONLines(out)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			e := event()
			e.RequestID = fmt.Sprint(i)
			e.Tool = strings.Repeat("line\nbreak", 20)
			if err := sink.Record(context.Background(), e); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(&out.out); lines.Scan(); {
		var e audit.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		seen[e.RequestID] = true
	}
	if len(seen) != 50 {
		t.Errorf("%d events", len(seen))
	}
}

// disk takes a number of bytes and is full then.
type disk struct {
	out  bytes.Buffer
	left int
}

func (d *disk) Write(p []byte) (int, error) {
	n := min(d.left, len(p))
	d.left -= n
	d.out.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left")
	}
	return n, nil
}

func TestErrorOfTheWriterIsReported(t *testing.T) {
	d := &disk{left: 10}
	sink := audit.JSONLines(d)
	if err := sink.Record(context.Background(), event()); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if err := sink.Record(context.Background(), event()); err == nil {
		t.Error("a full disk took an event")
	}
	d.left = math.MaxInt
	for range 2 {
		if err := sink.Record(context.Background(), event()); err != nil {
			t.Error(err)
		}
	}
	lines := strings.Split(strings.TrimSuffix(d.out.String(), "\n"), "\n")
	if len(lines) != 3 || json.Valid([]byte(lines[0])) || !json.Valid([]byte(lines[1])) ||
		!json.Valid([]byte(lines[2])) {
		t.Errorf("a torn line spoils the next one: %q", lines)
	}
}

type short struct{}

func (short) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestShortWriteIsAnError(t *testing.T) {
	if err := audit.JSONLines(short{}).Record(context.Background(), event()); !errors.Is(err,
		io.ErrShortWrite) {
		t.Errorf("%v", err)
	}
}

func TestEventThatHasNoJSONIsAnError(t *testing.T) {
	e := event()
	e.Milliseconds = math.NaN()
	if err := audit.JSONLines(io.Discard).Record(context.Background(), e); err == nil {
		t.Error("recorded")
	}
}

// TestOutcomeWordsAreThoseOfAllVersions is what a search for each status and failure finds.
func TestOutcomeWordsAreThoseOfAllVersions(t *testing.T) {
	for _, test := range []struct {
		status  audit.Status
		failure audit.Failure
		want    string
	}{
		{audit.Success, "", "success ok"}, {audit.Intent, "", "intent"},
		{audit.Failed, "", "denied timeout limited crashed invalid error failed"},
		{"", audit.Denied, "denied"}, {audit.Failed, audit.Errored, "error failed"},
		{audit.Success, audit.Denied, ""}, {"ok", "", ""}, {"", "failed", ""},
	} {
		got := strings.Join(test.status.Words(test.failure), " ")
		if got != test.want {
			t.Errorf("%s %s: %s", test.status, test.failure, got)
		}
	}
	got := []string{audit.Type("tool_call").Replacement(), audit.ToolCalled.Replacement(),
		audit.Changed.Replacement(), strings.Join(audit.Changed.Words(), " "),
		strings.Join(audit.ToolCalled.Words(), " ")}
	for _, s := range []audit.Status{"ok", "denied", "success", "failed", "intent", "other"} {
		got = append(got, s.Replacement())
	}
	want := "type=tool_called,,,changed,tool_called tool_call,status=success,failure=denied,,,,"
	if s := strings.Join(got, ","); s != want {
		t.Error(s)
	}
}

func TestSlogHasTheEventsFields(t *testing.T) {
	var out bytes.Buffer
	sink := audit.Slog(slog.New(slog.NewJSONHandler(&out, nil)))
	full := event()
	full.Intended = true
	full.Grants = []audit.Use{{Argument: "path", Kind: "file.read", Grant: "7"}}
	full.Cut = []audit.Link{{ID: "a.1", Seq: 7, MAC: audit.MAC{1}}}
	full.Chain = &audit.Link{ID: "a.2", Seq: 1, Previous: &audit.Link{ID: "a.1", Seq: 9},
		MAC: audit.MAC{2}}
	if err := sink.Record(context.Background(), full); err != nil {
		t.Fatal(err)
	}
	list := audit.Event{Type: audit.ToolList, RequestID: "r2", Status: audit.Success, Total: 6}
	if err := sink.Record(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	failed := audit.Event{Type: audit.Authentication, RequestID: "r3", Status: audit.Failed,
		Failure: audit.Denied, Object: "192.0.2.1", Total: 7}
	if err := sink.Record(context.Background(), failed); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	var logged, written map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &logged); err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(line, &written); err != nil {
		t.Fatal(err)
	}
	for key, want := range written {
		if !reflect.DeepEqual(logged[key], want) {
			t.Errorf("%s: %v, want %v", key, logged[key], want)
		}
	}
	if logged["msg"] != "audit" || logged["level"] != "INFO" {
		t.Errorf("%s", lines[0])
	}
	if !strings.Contains(lines[1], `"visible":0,"total":6`) ||
		strings.Contains(lines[1], "principal") || strings.Contains(lines[1], "grants") ||
		strings.Contains(lines[1], `"cut"`) {
		t.Errorf("%s", lines[1])
	}
	if !strings.Contains(lines[2], `"object":"192.0.2.1"`) ||
		!strings.Contains(lines[2], `"total":7`) {
		t.Errorf("%s", lines[2])
	}
}

func TestSlogWithoutALoggerIsAnError(t *testing.T) {
	if err := audit.Slog(nil).Record(context.Background(), event()); err == nil {
		t.Error("recorded")
	}
}

func TestMultiWritesToAllAndReportsAllErrors(t *testing.T) {
	var got []string
	sink := func(name string, err error) audit.Sink {
		return audit.SinkFunc(func(context.Context, audit.Event) error {
			got = append(got, name)
			return err
		})
	}
	one, two := errors.New("one"), errors.New("two")
	err := audit.Multi(sink("a", one), sink("b", nil), nil,
		sink("c", two)).Record(context.Background(), event())
	if !errors.Is(err, one) || !errors.Is(err, two) || !strings.Contains(err.Error(), "nil sink") ||
		strings.Join(got, "") != "abc" {
		t.Errorf("%v, %v", got, err)
	}
	if err := audit.Multi().Record(context.Background(), event()); err != nil {
		t.Error(err)
	}
}

// batches is a sink that takes batches.
type batches struct {
	audit.SinkFunc
	sizes []int
}

func (b *batches) RecordBatch(_ context.Context, events []audit.Event) error {
	b.sizes = append(b.sizes, len(events))
	return nil
}

func TestMultiHandsBatchesOnInOrder(t *testing.T) {
	var got []string
	full := errors.New("full")
	single := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		if e.RequestID == "c" {
			return full
		}
		got = append(got, e.RequestID)
		return nil
	})
	whole := &batches{}
	events := []audit.Event{{RequestID: "a"}, {RequestID: "b"}, {RequestID: "c"}, {RequestID: "d"}}
	if err := audit.InOrder(context.Background(), audit.Multi(single, whole),
		events); !errors.Is(err, full) {
		t.Error(err)
	}
	if strings.Join(got, "") != "ab" || !reflect.DeepEqual(whole.sizes, []int{4}) {
		t.Errorf("%v, %v", got, whole.sizes)
	}
}

func TestDegradedSinkReportsWhatIsLostAndDeniesNothing(t *testing.T) {
	var out bytes.Buffer
	var err error
	d := audit.Degrade(audit.SinkFunc(func(context.Context, audit.Event) error {
		return err
	}), slog.New(slog.NewJSONHandler(&out, nil)))
	if got := d.Record(context.Background(), event()); got != nil || out.Len() > 0 ||
		d.Lost() != 0 {
		t.Errorf("%v, %q, %d", got, &out, d.Lost())
	}
	err = errors.New("no space left")
	for range 2 {
		if got := d.Record(context.Background(), event()); got != nil {
			t.Error(got)
		}
	}
	for _, want := range []string{`"level":"ERROR"`, `"request_id":"r1"`, "no space left",
		`"lost":1`, `"lost":2`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %s", &out, want)
		}
	}
	if d.Lost() != 2 {
		t.Errorf("%d lost", d.Lost())
	}
	for _, without := range []*audit.Degraded{audit.Degrade(nil, slog.Default()),
		audit.Degrade(d, nil)} {
		if without.Record(context.Background(), event()) == nil {
			t.Error("recorded")
		}
	}
}

// gate is a writer whose writes wait until it is opened.
type gate struct {
	open    chan struct{}
	entered chan struct{}
	out     bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	g.entered <- struct{}{}
	<-g.open
	return g.out.Write(p)
}

func TestWriterThatHangsHoldsOneEventOnly(t *testing.T) {
	synctest.Test(t, writerThatHangsHoldsOneEventOnly)
}

func writerThatHangsHoldsOneEventOnly(t *testing.T) {
	g := &gate{open: make(chan struct{}), entered: make(chan struct{}, 4)}
	sink := audit.JSONLines(g)
	first := make(chan error, 1)
	go func() { first <- sink.Record(context.Background(), event()) }()
	<-g.entered
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := sink.Record(ctx, event()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(g.open)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if err := sink.Record(context.Background(), event()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(g.out.String(), "\n"); n != 2 {
		t.Errorf("%d lines", n)
	}
}

func TestSlogSinkHasEscapesForWhatReordersText(t *testing.T) {
	const odd = "a\u202eb\u009bc"
	var out bytes.Buffer
	sink := audit.Slog(slog.New(slog.NewJSONHandler(&out, nil)))
	e := audit.Event{Type: audit.ToolCalled, Principal: odd, Tool: odd, Prompt: odd, Missing: odd,
		Arguments: []audit.Argument{{Name: odd}}}
	if err := sink.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.ContainsAny(got, odd[1:4]+"\u009b") ||
		strings.Count(got, `a\\u202eb\\u009bc`) != 5 || e.Arguments[0].Name != odd {
		t.Error(got)
	}
}
