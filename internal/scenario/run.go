package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
)

var update = flag.Bool("update", false, "write what came back into the scenarios that fail")

// World is the server of one run of a scenario.
type World struct {
	Handler http.Handler
	Path    string // of the endpoint
	// Token is a caller's bearer token; an empty one sends no credential.
	Token func(caller string) string
	// Stdio serves a caller until the input or the context ends.
	Stdio func(ctx context.Context, in io.Reader, out io.Writer, caller string) error
	// Do does what a step "server> verb text" says.
	Do func(verb, text string) error
	// Records returns the lines "audit: …" and "log: …" since the last time.
	Records func() []string
	// Close ends the server.
	Close func(context.Context) error
}

// patience ends a run that waits for an event that does not come. Its time is that of a bubble, and
// passes at once.
const patience = 24 * time.Hour

// Run runs each scenario of a folder as a subtest. build makes the server of each run.
func Run(t *testing.T, folder string, build func(t testing.TB, s Setup) World) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scenarios in %s: %v", folder, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			f, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			f.run(t, build)
		})
	}
}

// run runs a scenario in each of its variants, and rewrites the steps that fail with -update.
func (f *file) run(t *testing.T, build func(t testing.TB, s Setup) World) {
	got := map[*step]map[variant][]string{}
	failed := map[*step]bool{}
	for _, setup := range f.setups() {
		for _, version := range setup.versions {
			for _, transport := range setup.transports {
				v := variant{version, transport, setup.choice}
				if testing.Short() && !*update && setup.spares(v) {
					continue
				}
				t.Run(strings.TrimSpace(transport+" "+version+" "+v.choice), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						defer cancel()
						r := newRunner(t, f, v, ctx, build(t, setup))
						defer r.close()
						r.run(got, failed)
					})
				})
			}
		}
	}
	if !*update || len(failed) == 0 {
		return
	}
	written := map[*step][]string{}
	for s := range failed {
		written[s] = merge(got[s])
	}
	if err := f.write(written); err != nil {
		t.Error(err)
	}
}

// run runs the steps, and notes what each got and which failed.
func (r *runner) run(got map[*step]map[variant][]string, failed map[*step]bool) {
	for _, s := range r.steps {
		if !r.has(s.condition) {
			continue
		}
		lines := r.step(s)
		if got[s] == nil {
			got[s] = map[variant][]string{}
		}
		if got[s][r.variant] = lines; !r.check(s, lines) {
			failed[s] = true
		}
	}
}

// runner is one run of a scenario.
type runner struct {
	*file
	variant
	t           testing.TB
	ctx         context.Context
	world       World
	url         string // of the server, once a client has used HTTP
	connections map[string]*connection
	streams     map[string]*exchange
	values      map[string]string
	ended       []<-chan error
}

// Pause waits for a time of the bubble that a scenario runs in.
func Pause(d time.Duration) { time.Sleep(d) }

func newRunner(t testing.TB, f *file, v variant, ctx context.Context, w World) *runner {
	return &runner{file: f, variant: v, t: t, ctx: ctx, world: w,
		connections: map[string]*connection{}, streams: map[string]*exchange{},
		values: map[string]string{}}
}

func (r *runner) close() {
	for _, x := range r.streams {
		x.drop()
	}
	for _, c := range r.connections {
		if c.in != nil {
			_ = c.in.Close()
			go func() { // what was still on its way
				for range c.stream.events {
				}
			}()
		}
	}
	for _, ended := range r.ended {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			r.t.Errorf("stdio: %v", err)
		}
	}
	if err := r.world.Close(r.ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

// check compares what a step got with what it expects.
func (r *runner) check(s *step, got []string) bool {
	want := r.of(s.after)
	equal := len(want) == len(got)
	for i := range got {
		equal = equal && (want[i] == got[i] || matches(want[i], got[i]))
	}
	if !equal && !*update {
		r.t.Errorf("%s: %s\ngot:\n\t%s\nwant:\n\t%s", s.where, s.text, strings.Join(got, "\n\t"),
			strings.Join(want, "\n\t"))
	}
	return equal
}

var (
	alternatives = regexp.MustCompile(`\(([^()]*\|[^()]*)\)`)
	reference    = regexp.MustCompile(`\$\{?\w+(\.\w+)?\}?`)
	joined       = regexp.MustCompile(` *& *`)
)

// chosen is one choice of a step's alternatives.
type chosen struct{ groups []string }

func (c chosen) in(text string) string {
	for i, group := range c.groups {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), group)
	}
	return text
}

// pick returns a text for each choice of its alternatives.
func pick(text string) (texts []string, choices []chosen) {
	at := alternatives.FindStringSubmatchIndex(text)
	if at == nil {
		return []string{text}, []chosen{{}}
	}
	rest, tails := pick(text[at[1]:])
	for option := range strings.SplitSeq(text[at[2]:at[3]], "|") {
		for i := range rest {
			texts = append(texts, text[:at[0]]+option+rest[i])
			choices = append(choices, chosen{append([]string{option}, tails[i].groups...)})
		}
	}
	return texts, choices
}

// step runs a step for each of its alternatives. They have to get equal lines, with $1 for the
// choice; the lines of the first are returned.
func (r *runner) step(s *step) (lines []string) {
	if name, value, ok := strings.Cut(s.text, " = "); ok && strings.HasPrefix(name, "let ") {
		r.values[name[len("let "):]] = r.expand(value)
		return nil
	}
	texts, choices := pick(strings.Join(append([]string{s.text}, r.of(s.headers)...), "\n"))
	for i, text := range texts {
		one := &instance{runner: r, step: s, chosen: choices[i], input: r.inputs(s)}
		text, further, _ := strings.Cut(r.expand(choices[i].in(text)), "\n")
		if further != "" {
			one.headers = strings.Split(further, "\n")
		}
		got := one.run(text)
		if len(r.of(s.same)) > 0 && !one.compared {
			r.t.Errorf("%s: %s has nothing to compare", s.where, text)
		}
		for j := range got {
			got[j] = s.written(got[j], choices[i])
		}
		switch {
		case i == 0:
			lines = got
		case slices.Equal(got, lines):
		case *update && len(got) == len(lines):
			for j := range got {
				lines[j] = common(lines[j], got[j])
			}
		default:
			r.t.Errorf("%s: %s\ngot:\n\t%s\nand the first alternative:\n\t%s", s.where, text,
				strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
		}
	}
	return lines
}

// common is a pattern for two lines.
func common(a, b string) string {
	if a == b {
		return a
	}
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	m := 0
	for m < min(len(a), len(b))-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	// Whole words only.
	head, tail := a[:strings.LastIndex(a[:n], " ")+1], a[len(a)-m:]
	if at := strings.Index(tail, " "); at >= 0 {
		tail = tail[at:]
	} else {
		tail = ""
	}
	return head + "…" + tail
}

// written is a line as the scenario has it, or could have it.
func (s *step) written(got string, c chosen) string {
	for _, l := range s.after {
		if matches(c.in(l.text), got) {
			return l.text
		}
	}
	for n, group := range slices.Backward(c.groups) {
		if len(group) > 1 {
			got = strings.ReplaceAll(got, group, "$"+strconv.Itoa(n+1))
		}
	}
	return got
}

func (r *runner) inputs(s *step) (texts []string) {
	for _, text := range r.of(s.after) {
		if isInput(text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// expand puts values in the place of their names.
func (r *runner) expand(text string) string {
	return reference.ReplaceAllStringFunc(text, func(name string) string {
		plain := strings.Trim(name, "${}")
		if value, ok := r.values[plain]; ok {
			return value
		}
		if owner, member, ok := strings.Cut(plain, "."); ok {
			if c := r.connections[owner]; c != nil && member == "session" {
				return c.session
			}
			if x := r.streams[owner]; x != nil {
				switch member {
				case "event":
					return x.last
				case "first":
					return x.first
				case "stream":
					return x.first[:max(0, strings.LastIndex(x.first, "_"))]
				}
			}
		}
		return name
	})
}

// connect returns the connection of a caller, and opens it at its first use. It returns the lines
// of the answer to the handshake.
func (r *runner) connect(name, capabilities string) (*connection, []string) {
	if c := r.connections[name]; c != nil && capabilities == "" {
		return c, nil
	}
	caller, _, _ := strings.Cut(name, "@")
	c := &connection{variant: r.variant, capabilities: capabilities}
	if capabilities == "" {
		c.capabilities = r.setup.client
	}
	r.connections[name] = c
	switch {
	case r.transport == "stdio":
		r.ended = append(r.ended, c.dial(r.ctx, func(ctx context.Context, in io.Reader,
			out io.Writer) error {
			return r.world.Stdio(ctx, in, out, caller)
		}))
	default:
		if r.url == "" {
			r.url = memnet.Start(r.t, &http.Server{Handler: r.world.Handler}) + r.world.Path
		}
		c.url, c.token = r.url, r.world.Token(caller)
	}
	if !r.sessions() {
		return c, nil
	}
	opened := r.send(c, "", c.message("initialize", `"protocolVersion":"`+r.version+
		`","capabilities":`+c.capabilities+`,"clientInfo":{"name":"scenario","version":"1"}`, "0"))
	opened.full = true
	handshake := &instance{runner: r}
	for e := range opened.events {
		if c.session == "" {
			c.session = e.header.Get("Mcp-Session-Id")
		}
		handshake.event(c, name, opened, e)
	}
	for range r.send(c, "", c.message("notifications/initialized", "", "")).events {
	}
	return c, handshake.got
}

// message is the text of a request or, without an id, of a notification.
func (c *connection) message(method, params, id string) string {
	if !c.sessions() {
		own := `"io.modelcontextprotocol/protocolVersion":"` + c.version +
			`","io.modelcontextprotocol/clientCapabilities":` + c.capabilities
		if before, after, ok := strings.Cut(params, `"_meta":{`); ok {
			if after[0] != '}' {
				own += ","
			}
			params = before + `"_meta":{` + own + after
		} else if own = `"_meta":{` + own + `}`; params == "" {
			params = own
		} else {
			params = own + "," + params
		}
	}
	if id != "" {
		id = `"id":` + id + `,`
	}
	return `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":{` + params + `}}`
}

// send sends a message with the headers of its version; more sets or removes some.
func (r *runner) send(c *connection, query, body string, more ...string) *exchange {
	header := http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}}
	return r.sendWith(c, http.MethodPost, query, body, header, more)
}

func (r *runner) sendWith(c *connection, verb, query, body string, header http.Header,
	more []string) *exchange {
	var m message
	// A body that is no message has no name, and is answered without an id.
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Method == "" && m.Result == nil &&
		m.Error == nil {
		m.ID = json.RawMessage("null")
	} else if m.Method == "" {
		m.ID = nil // a response
	}
	if c.token != "" {
		header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		header.Set("Mcp-Session-Id", c.session)
	}
	if c.session != "" || !c.sessions() {
		header.Set("Mcp-Protocol-Version", c.version)
	}
	var params struct{ Name, URI, TaskID any }
	_ = json.Unmarshal(m.Params, &params) // params of another type have no name
	name, _ := params.Name.(string)
	uri, _ := params.URI.(string)
	task, _ := params.TaskID.(string)
	target := name + uri + task
	if !c.sessions() && m.Method != "" {
		header.Set("Mcp-Method", m.Method)
		if target != "" && named.MatchString(m.Method) && printable.MatchString(target) {
			header.Set("Mcp-Name", target)
		}
	}
	for _, text := range more {
		name, value, _ := strings.Cut(text, ":")
		if value = strings.TrimSpace(value); strings.HasPrefix(text, "?") {
			query = text
		} else if header.Del(name); value != "" {
			header[http.CanonicalHeaderKey(name)] = joined.Split(value, -1)
		}
	}
	x, err := c.start(r.ctx, request{verb, body, maps.Clone(header), query}, string(m.ID))
	if err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	x.method, x.target = m.Method, target
	return x
}

var (
	named     = regexp.MustCompile(`^(tools/call|prompts/get|resources/read|tasks/.*)$`)
	printable = regexp.MustCompile(`^[!-~]+$`)
)
