package noninterference

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
)

// A client keeps all bytes that it receives. It has a place for the last value of each kind that
// the server made, such as the id of a task, so that steps can send that value.
type client struct {
	w          *world
	token, era string
	in         chan string // lines; nil over HTTP
	streams    []*stream   // over stdio there is one
	last       map[string]string
	known      map[string]string // names of values that the server made
	ctx        context.Context
	cancel     context.CancelFunc
	ended      sync.WaitGroup
	session    string
}

// A stream is the response of one request, or the output of stdio.
type stream struct {
	mu     sync.Mutex
	text   bytes.Buffer
	cancel context.CancelFunc
}

// Write implements io.Writer.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// take returns the bytes that have come since the last call.
func (s *stream) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.text.Reset()
	return s.text.String()
}

func (w *world) connect(token, era string, stdio bool) *client {
	c := &client{w: w, token: token, era: era, last: map[string]string{}, known: map[string]string{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	w.clients = append(w.clients, c)
	if stdio {
		in, toServer := io.Pipe()
		c.in = make(chan string, 1000)
		c.ended.Go(func() {
			defer toServer.Close()
			for line := range c.in {
				_, _ = io.WriteString(toServer, line+"\n") // the server may read no more
			}
		})
		out := c.open()
		p, _ := w.principalOf(token) // the zero principal is an anonymous caller
		c.ended.Go(func() {
			defer in.Close()
			if err := w.server.RunIO(c.ctx, in, out, p); err != nil {
				fmt.Fprintln(out, "stdio ends:", err)
			}
		})
	}
	return c
}

func (c *client) open() *stream {
	s := &stream{}
	c.streams = append(c.streams, s)
	return s
}

// close ends the connections, and waits until they have ended.
func (c *client) close() {
	if c.in != nil {
		close(c.in)
	}
	c.cancel()
	c.ended.Wait()
}

// made are values that differ from run to run. The first group is the value.
var made = []struct {
	name string
	find *regexp.Regexp
}{
	{"task", regexp.MustCompile(`"taskId":"([a-z2-7]{26})"`)},
	{"state", regexp.MustCompile(`"requestState":"([^"]+)"`)},
	{"stream", regexp.MustCompile(`(?m)^id: ([A-Z2-7]{26})_`)},
	{"session", regexp.MustCompile(`Mcp-Session-Id: (\S+)`)},
	{"request", regexp.MustCompile(`"request_id":"([a-z2-7]{26})"`)},
	{"cursor", regexp.MustCompile(`"nextCursor":"([^"]+)"`)},
	{"question", regexp.MustCompile(`"id":([^,{}]+),"method":"(?:elicitation/create|` +
		`sampling/createMessage|roots/list)"`)},
}

var event = regexp.MustCompile(`(?m)^id: (\S+)$`)

// take returns what has come since the last call, stream by stream, with a name in place of each
// value that differs from run to run.
func (c *client) take() string {
	var all strings.Builder
	for i, s := range c.streams {
		if text := s.take(); text != "" {
			text = changesInOrder(text, c.in != nil)
			fmt.Fprintf(&all, "stream %d:\n%s\n", i, text)
		}
	}
	text := all.String()
	if m := event.FindAllStringSubmatch(text, -1); m != nil {
		c.last["event"] = m[len(m)-1][1]
	}
	for _, kind := range made {
		for _, m := range kind.find.FindAllStringSubmatch(text, -1) {
			c.last[kind.name] = m[1]
			if kind.name != "cursor" && kind.name != "question" && c.known[m[1]] == "" {
				c.known[m[1]] = fmt.Sprintf("<%s %d>", kind.name, len(c.known))
			}
		}
	}
	c.session = c.last["session"]
	for value, name := range c.known {
		text = strings.ReplaceAll(text, value, name)
	}
	return text
}

// changesInOrder sorts the notifications of changes, each of which has a place on a stream of HTTP.
// On stdio they follow the other lines. Each subscription, and each kind of change, has a goroutine
// of its own, which may send before another one or after it.
func changesInOrder(text string, stdio bool) string {
	lines := strings.SplitAfter(text, "\n")
	var changes []string
	var places []int
	for i, line := range lines {
		if strings.Contains(line, "/list_changed\"") || strings.Contains(line, "/updated\"") {
			changes, places = append(changes, line), append(places, i)
		}
	}
	slices.Sort(changes)
	for i, place := range places {
		if lines[place] = changes[i]; stdio {
			lines[place] = ""
		}
	}
	if stdio {
		lines = append(lines, changes...)
	}
	return strings.Join(lines, "")
}

// missing are the values in place of those that the server has not made.
var missing = map[string]string{"task": strings.Repeat("a", 26), "state": "none",
	"event": strings.Repeat("A", 26) + "_0", "cursor": "eyJvIjoxfQ", "question": "9",
	"session": strings.Repeat("A", 26)}

// fill puts the last values of a client in place of "<task>" and the like. Those of another one
// are "<other task>".
func (c *client) fill(text string) string {
	for i, from := range c.w.clients {
		for name, none := range missing {
			value := from.last[name]
			if value == "" {
				value = none
			}
			if from == c {
				text = strings.ReplaceAll(text, "<"+name+">", value)
			} else if i == 0 {
				text = strings.ReplaceAll(text, "<other "+name+">", value)
			}
		}
	}
	return text
}

// A message is one request of HTTP, or one line of stdio.
type message struct {
	verb, body string
	header     map[string]string
	path       string // empty for that of MCP
}

func post(body string, header map[string]string) message {
	return message{verb: http.MethodPost, body: body, header: header}
}

func (m message) String() string {
	header := ""
	for _, name := range slices.Sorted(maps.Keys(m.header)) {
		header += "\n+ " + name + ": " + m.header[name]
	}
	return m.verb + " " + m.path + m.body + header
}

// send sends a message, and does not wait.
func (c *client) send(m message) {
	body := c.fill(m.body)
	if c.in != nil {
		if m.verb == http.MethodPost {
			c.in <- body
		}
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	r, err := http.NewRequestWithContext(ctx, m.verb, c.w.url+cmp.Or(m.path, runtime.PathMCP),
		strings.NewReader(body))
	if err != nil {
		panic(err) // of a constant URL
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range m.header {
		if value == "" {
			r.Header.Del(name)
		} else {
			r.Header.Set(name, c.fill(value))
		}
	}
	s := c.open()
	s.cancel = cancel
	c.ended.Go(func() {
		defer cancel()
		res, err := memnet.Transport{}.RoundTrip(r)
		if err != nil {
			fmt.Fprintln(s, "no response")
			return
		}
		defer res.Body.Close()
		res.Header.Del("Date")
		fmt.Fprintln(s, res.StatusCode)
		_ = res.Header.Write(s) // never fails
		fmt.Fprintln(s)
		_, err = io.Copy(s, res.Body)
		fmt.Fprintf(s, "\nends, %v\n", err != nil)
	})
}
