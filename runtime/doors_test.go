package runtime_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// TestDoorsAgree sends the same random traffic to two servers. One has SDKOnly, and otherwise their
// options are equal. Responses, audit events, denials and notifications must be equal.
//
// DOORS_MESSAGES is the number of messages and DOORS_SEED the seed. An episode is one client with
// its messages; DOORS_EPISODE runs one episode alone.
func TestDoorsAgree(t *testing.T) {
	t.Parallel()
	run := newDoorRun(t, uint64(doorSetting(t, "DOORS_SEED", 1)), nil)
	messages, only := doorSetting(t, "DOORS_MESSAGES", 1500), doorSetting(t, "DOORS_EPISODE", -1)
	if only >= 0 {
		run.episode(only)
	}
	for number := 0; only < 0 && run.messages < messages; number++ {
		run.episode(number)
	}
	t.Logf("%d messages\n%s%s", run.messages, run.sent, run.received)
	for _, d := range run.differences {
		t.Error(d)
	}
	if len(run.different) > 0 {
		t.Errorf("messages that differ:\n%s", run.different)
	}
}

// TestDoorsTestFindsADifference gives one server another denial mode, and expects differences.
func TestDoorsTestFindsADifference(t *testing.T) {
	t.Parallel()
	run := newDoorRun(t, 1, func(o *runtime.Options) { o.Denial = access.Forbid })
	for number := 0; run.messages < 1000 && len(run.differences) == 0; number++ {
		run.episode(number)
	}
	if len(run.differences) == 0 {
		t.Error("a server with access.Forbid and one with access.Conceal agree")
	}
}

func doorSetting(t *testing.T, name string, value int) int {
	if text := os.Getenv(name); text != "" {
		var err error
		if value, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	return value
}

// tally counts by name.
type tally map[string]int

func (c tally) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%7d %s\n", c[name], name)
	}
	return b.String()
}

// doorRun is one run of the test: pairs of servers, and the results so far.
type doorRun struct {
	t           testing.TB
	seed        uint64
	pairs       []doorPair
	messages    int
	sent        tally // by kind of message and by alteration
	received    tally // by status and JSON-RPC code
	different   tally // by kind of message
	differences []string
}

// doorPair is two servers of one world.
type doorPair struct {
	doorWorld
	doors [2]*door
}

func newDoorRun(t testing.TB, seed uint64, adjust func(*runtime.Options)) *doorRun {
	run := &doorRun{t: t, seed: seed, sent: tally{}, received: tally{}, different: tally{}}
	for _, world := range doorWorlds(t) {
		pair := doorPair{doorWorld: world}
		for i := range pair.doors {
			d := &door{entered: make(chan struct{}, 1), release: make(chan struct{}, 1),
				ended: make(chan struct{})}
			d.client = http.Client{Transport: &http.Transport{}, Timeout: 5 * time.Second}
			t.Cleanup(d.client.CloseIdleConnections)
			options, sets := world.build(d)
			options.Audit, options.Observer, options.Logger = d, d.observer(), d.logger()
			options.StateKey = bytes.Repeat([]byte("k"), 32)
			options.MaxSessions, options.MaxUserSessions = 1<<20, 1<<20
			options.SDKOnly = i == 0
			options.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			if i == 1 && adjust != nil {
				adjust(&options)
			}
			d.server = newServer(t, options, sets...)
			d.server.Linger()
			d.url = serve(t, d.server)
			t.Cleanup(func() { close(d.ended) }) // before the server is shut down
			pair.doors[i] = d
		}
		run.pairs = append(run.pairs, pair)
	}
	return run
}

// episode opens one client at both doors and sends its messages.
func (run *doorRun) episode(number int) {
	random := rand.New(rand.NewPCG(run.seed, uint64(number)))
	e := &episode{doorRun: run, Rand: random, number: number,
		pair: run.pairs[random.IntN(len(run.pairs))]}
	e.play()
}

// door is one of two servers, and what it records.
type door struct {
	server           *runtime.Server
	url              string
	client           http.Client
	entered, release chan struct{} // of the tool "hold"
	ended            chan struct{} // of the test, and so of the tool "stubborn"

	mu      sync.Mutex
	records []string
}

func (d *door) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records = append(d.records, fmt.Sprintf(format, args...))
}

// Record implements audit.Sink. It fails for a call with an argument "unrecorded".
func (d *door) Record(_ context.Context, e audit.Event) error {
	if slices.ContainsFunc(e.Arguments, func(a audit.Argument) bool {
		return a.Name == "unrecorded"
	}) {
		return errors.New("the disk is full")
	}
	e.Time, e.RequestID, e.Milliseconds = time.Time{}, "", 0
	text, err := json.Marshal(e)
	d.note("audit %s", text)
	return err
}

// Write takes a line of the log. Lines about notifications are left out for the reason at observer.
func (d *door) Write(line []byte) (int, error) {
	if !bytes.Contains(line, []byte("method=notifications/")) {
		d.note("log %s", bytes.TrimSpace(line))
	}
	return len(line), nil
}

func (d *door) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(d, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if slices.Contains([]string{"time", "request_id", "stack", "host"}, a.Key) {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// observer notes messages. It leaves out notifications over HTTP: go-sdk responds first, and drops
// a notification if the session ends before its turn. In 2026-07-28 the session ends at once.
func (d *door) observer() observe.Observer {
	return watchers{
		began: func(ctx context.Context, m observe.Message) (context.Context, observe.Observation) {
			if m.Transport == observe.TransportHTTP &&
				strings.HasPrefix(m.Method, "notifications/") {
				return ctx, nil
			}
			d.note("began %q %s %s %v %v", m.Method, m.Transport, m.Protocol, m.Meta, m.Header)
			return ctx, observation{ended: func(o observe.Outcome) {
				d.note("ended %q %s", m.Method, outcome(o))
			}}
		},
		away: func(status int) { d.note("turned away %d", status) },
	}
}

// taken returns the sorted records.
func (d *door) taken() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.records)
	return slices.Clone(d.records)
}

// settle waits until both doors have equal records, and returns them if they stay different.
// Records of notifications and of the end of a message come after the response.
func (p doorPair) settle() (records [2][]string) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		records = [2][]string{p.doors[0].taken(), p.doors[1].taken()}
		if slices.Equal(records[0], records[1]) || time.Now().After(deadline) {
			break
		}
	}
	for _, d := range p.doors {
		d.mu.Lock()
		d.records = nil
		d.mu.Unlock()
	}
	if slices.Equal(records[0], records[1]) {
		return [2][]string{}
	}
	return records
}

// link is one client's connection to one door.
type link struct {
	*door
	session       string // over HTTP
	foreign       string // the session of another user
	state         string // the last requestState
	cursor        string // the last nextCursor
	inputResponse string // the response to requests of the server

	in    *io.PipeWriter // on stdio
	lines chan string
	done  chan error
}

// doorResponse is the response to one message, with the messages before it.
type doorResponse struct {
	Status   int
	Header   http.Header
	Messages []any
	Text     string // a body that is no message
	Fault    string
	stream   bool
}

func (a doorResponse) String() string {
	text := fmt.Sprintf("%d %v %s%s", a.Status, a.Header, a.Text, a.Fault)
	for _, m := range a.Messages {
		line, err := json.Marshal(m)
		text += fmt.Sprintf("\n%s", cmp.Or(string(line), fmt.Sprint(err)))
	}
	return text
}

// class is the kind of a response, for the count.
func (a doorResponse) class() string {
	last := map[string]any{}
	if n := len(a.Messages); n > 0 {
		last, _ = a.Messages[n-1].(map[string]any)
	}
	result, _ := last["result"].(map[string]any)
	failure, _ := last["error"].(map[string]any)
	word := "other"
	switch {
	case a.Fault != "":
		word = a.Fault
	case failure != nil:
		word = fmt.Sprint("error ", failure["code"])
	case result["isError"] == true:
		word = "result, isError"
	case result["inputRequests"] != nil:
		word = "result, input required"
	case result != nil:
		word = "result"
	}
	if len(a.Messages) > 1 {
		word += ", after other messages"
	}
	return fmt.Sprintf("response: %d %s", a.Status, word)
}

// agree reports whether both doors gave equal responses.
func agree(a, b doorResponse) bool {
	upgraded := func(a doorResponse) bool { return a.stream && len(a.Messages) > 1 }
	return a.Fault == b.Fault && a.Text == b.Text && reflect.DeepEqual(a.Messages, b.Messages) &&
		reflect.DeepEqual(a.Header, b.Header) &&
		(a.Status == b.Status || upgraded(a) || upgraded(b))
}

// exemptHeaders may differ.
var exemptHeaders = []string{"Content-Type", "Content-Length", "Connection", "Date",
	"Transfer-Encoding"}

// fill puts the values of this connection into the text of a message.
func (l *link) fill(text string) string {
	return strings.NewReplacer("@session@", l.session, "@foreign@", l.foreign, "@state@", l.state,
		"@cursor@", l.cursor).Replace(text)
}

// post sends a message over HTTP and reads its response.
func (l *link) post(ctx context.Context, m message) (a doorResponse) {
	req, err := http.NewRequestWithContext(ctx, m.verb, l.url+m.query,
		strings.NewReader(l.fill(m.body)))
	if err != nil {
		return doorResponse{Fault: err.Error()}
	}
	for name, values := range m.header {
		for _, value := range values {
			req.Header[name] = append(req.Header[name], l.fill(value))
		}
	}
	res, err := l.client.Do(req)
	if err != nil {
		return doorResponse{Fault: "no response"}
	}
	defer res.Body.Close()
	a.Status, a.Header = res.StatusCode, res.Header
	a.stream = strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream")
	for _, name := range exemptHeaders {
		a.Header.Del(name)
	}
	if id := a.Header.Get("Mcp-Session-Id"); id != "" {
		a.Header["Mcp-Session-Id"] = []string{"a session"}
		if m.opens {
			l.session = id
		}
	}
	if !a.stream {
		text, err := io.ReadAll(res.Body)
		if err != nil {
			a.Fault = "a body without an end"
		}
		if a.Text = l.take(&a, string(text), m.header); a.Text != "" && json.Valid(text) {
			a.Fault = "JSON that is no object"
		}
		return a
	}
	for r := bufio.NewReader(res.Body); ; {
		line, err := r.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data:"); ok && strings.TrimSpace(data) != "" {
			if rest := l.take(&a, data, m.header); rest != "" {
				a.Fault = "an event that is no message: " + rest
			}
			if m.firstOnly {
				return a
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			a.Fault = "a stream without an end"
		}
		if err != nil {
			return a
		}
	}
}

// take adds a message to a response, and responds to a request of the server with the headers of
// the client's message. It returns text that is no message.
func (l *link) take(a *doorResponse, text string, header http.Header) (rest string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var m map[string]any
	if err := decoder.Decode(&m); err != nil || decoder.More() {
		return text
	}
	if _, ok := m["method"]; ok && m["id"] != nil {
		l.respond(m, header)
		m["id"] = "of the server"
	}
	a.Messages = append(a.Messages, l.normalize(m))
	return ""
}

// normalize keeps state and cursors, and removes values that differ between any two responses.
func (l *link) normalize(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if code, ok := v["code"].(json.Number); ok && code == "-32601" {
			// go-sdk has words of its own for each error with this code, also of a handler.
			return map[string]any{"code": code}
		}
		for name, value := range v {
			text, isText := value.(string)
			switch {
			case name == "requestState" && isText:
				l.state, v[name] = text, "a state"
			case name == "nextCursor" && isText:
				l.cursor = text
			case name == "request_id" || name == "time":
				v[name] = "normalized"
			default:
				v[name] = l.normalize(value)
			}
		}
	case []any:
		for i := range v {
			v[i] = l.normalize(v[i])
		}
	}
	return v
}

// respond responds to a request of the server.
func (l *link) respond(m map[string]any, header http.Header) {
	id, err := json.Marshal(m["id"])
	if err != nil {
		panic(err) // it was decoded
	}
	result := map[any]string{
		"elicitation/create":     `{"action":"accept","content":{"reason":"because"}}`,
		"roots/list":             `{"roots":[]}`,
		"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`,
	}[m["method"]]
	body := `"result":` + cmp.Or(result, "{}")
	if l.inputResponse != "" {
		body = l.inputResponse
	}
	body = `{"jsonrpc":"2.0","id":` + string(id) + `,` + body + `}`
	if l.in != nil {
		l.writeLine(body)
		return
	}
	l.post(context.Background(), message{verb: "POST", body: body, header: header})
}

// dial starts the server on a pair of pipes.
func (l *link) dial(p access.Principal) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	l.in, l.lines, l.done = toServer, make(chan string, 64), make(chan error, 1)
	go func() {
		err := l.server.RunIO(context.Background(), in, out, p)
		in.Close()
		out.Close()
		l.done <- err
	}()
	go func() {
		defer close(l.lines)
		scanner := bufio.NewScanner(fromServer)
		for scanner.Buffer(nil, 1<<22); scanner.Scan(); {
			l.lines <- scanner.Text()
		}
	}()
}

func (l *link) writeLine(line string) {
	// The error is that of an ended server, and then there is no response.
	_, _ = io.WriteString(l.in, strings.ReplaceAll(line, "\n", " ")+"\n")
}

// syncPing ends the responses to a line that may have none.
const (
	syncID   = `"id":"sync"`
	syncPing = `{"jsonrpc":"2.0",` + syncID + `,"method":"ping"}`
)

// exchange writes a message on stdio and reads lines to its response. A message without a usable id
// may have no response, so a ping follows it.
func (l *link) exchange(m message) (a doorResponse) {
	body := l.fill(m.body)
	l.writeLine(body)
	if hasResponse(body) {
		l.collect(&a, 1)
	} else {
		l.writeLine(syncPing)
		l.collect(&a, -1)
	}
	return a
}

func hasResponse(body string) bool {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		return false
	}
	id := string(m["id"])
	return id != "" && id != "null" && len(m["method"]) > 0
}

// collect reads lines until it has a number of responses, or the response to the ping if it is -1.
func (l *link) collect(a *doorResponse, responses int) {
	for responses != 0 {
		select {
		case line, ok := <-l.lines:
			if !ok {
				a.Fault = "the end of the output"
				return
			}
			if strings.Contains(line, syncID) {
				if responses < 0 {
					return
				}
				continue
			}
			if rest := l.take(a, line, nil); rest != "" {
				a.Fault = "a line that is no message: " + rest
				return
			}
			if m, _ := a.Messages[len(a.Messages)-1].(map[string]any); m["method"] == nil &&
				responses > 0 {
				responses--
			}
		case <-time.After(5 * time.Second):
			a.Fault = "no response"
			return
		}
	}
}

// hangUp ends the input and returns the rest of the output.
func (l *link) hangUp() (a doorResponse) {
	l.in.Close()
	for line := range l.lines {
		l.take(&a, line, nil)
	}
	if err := <-l.done; err != nil {
		a.Fault = err.Error()
	}
	return a
}

// both does the same at both doors, at the same time.
func (e *episode) both(do func(*link) doorResponse) (responses [2]doorResponse) {
	var group sync.WaitGroup
	for i, l := range e.links {
		group.Go(func() { responses[i] = do(l) })
	}
	group.Wait()
	return responses
}

// send sends a message through both doors and compares.
func (e *episode) send(m message) {
	e.compare(m, e.both(func(l *link) doorResponse {
		if e.stdio {
			return l.exchange(m)
		}
		return l.post(context.Background(), m)
	}))
}

// compare compares the responses and the records of both doors.
func (e *episode) compare(m message, responses [2]doorResponse) {
	records := e.pair.settle()
	transport := "HTTP"
	if e.stdio {
		transport = "stdio"
	}
	e.messages++
	e.sent["message: "+m.kind]++
	for _, alteration := range m.altered {
		e.sent["altered: "+alteration]++
	}
	e.sent[fmt.Sprintf("client: %s %s", e.era, transport)]++
	e.sent["server: "+e.pair.name]++
	e.received[responses[0].class()]++
	// go-sdk drops the response of a call whose session is deleted; the direct door answers it.
	deleted := !e.stdio && strings.HasSuffix(m.kind, ", deleted")
	if len(records[0])+len(records[1]) == 0 && (deleted || agree(responses[0], responses[1])) {
		return
	}
	e.over = true
	kind := fmt.Sprintf("%s %s: %s %s", transport, e.era, m.kind, strings.Join(m.altered, ", "))
	if e.different[kind]++; len(e.differences) >= 20 || e.different[kind] > 1 {
		return
	}
	const form = "%s (DOORS_SEED=%d DOORS_EPISODE=%d), server %s, caller %q, message %d\n%s %v\n%s\n" +
		"go-sdk: %s\n%s\ndirect: %s\n%s"
	e.differences = append(e.differences, fmt.Sprintf(form, kind, e.seed, e.number, e.pair.name,
		e.caller,
		e.count, m.verb+m.query, m.header, m.body, responses[0], strings.Join(records[0], "\n"),
		responses[1], strings.Join(records[1], "\n")))
}
