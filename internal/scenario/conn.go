package scenario

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/internal/memnet"
)

// request is one request of a client: an HTTP request, or a line of stdio.
type request struct {
	verb, body string
	header     http.Header
	query      string
}

// exchange is what comes back for one request, or on one stream.
type exchange struct {
	request request
	id      string // of the JSON-RPC request; empty for others
	full    bool
	method  string
	target  string // of the request: a name or a URI
	*flow

	first, last string // event ids
	status      int
	header      http.Header
}

// flow is what a connection gives an exchange. raw is complete at the end of events.
type flow struct {
	events chan event // closed at the end
	drop   func()
	raw    strings.Builder
}

func newFlow() *flow { return &flow{events: make(chan event, 10_000), drop: func() {}} }

// event is one message, or a text that is none.
type event struct {
	data, id string
	comment  bool
	status   int
	header   http.Header
}

// connection is one client's: over HTTP with a session in versions that have them, or on stdio.
type connection struct {
	variant
	url, token   string
	session      string
	capabilities string

	// on stdio
	in      *io.PipeWriter
	mu      sync.Mutex
	waiting []*exchange
	stream  *exchange
	over    chan struct{} // closed when the server has ended its output
}

// eventIDs are the ids of events, which differ from stream to stream.
var eventIDs = regexp.MustCompile(`(?m)^id: \S+$`)

// dial opens a stdio connection that serve answers until the context ends.
func (c *connection) dial(ctx context.Context, serve func(context.Context, io.Reader,
	io.Writer) error) (ended <-chan error) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	c.in, c.stream, c.over = toServer, &exchange{flow: newFlow()}, make(chan struct{})
	go func() {
		err := serve(ctx, in, out)
		_ = in.CloseWithError(io.EOF)
		_ = out.Close()
		done <- err
	}()
	go func() {
		r := bufio.NewReader(fromServer)
		for {
			text, err := r.ReadString('\n')
			if err != nil {
				break
			}
			c.take(strings.TrimSuffix(text, "\n"))
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, x := range append(c.waiting, c.stream) {
			close(x.events)
		}
		c.waiting = nil
		close(c.over)
	}()
	return done
}

// message is what a reader of a line has to know.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// take gives a line of stdio to the request that it belongs to.
func (c *connection) take(text string) {
	var m message
	_ = json.Unmarshal([]byte(text), &m) // a text that is no message answers the last request
	c.mu.Lock()
	defer c.mu.Unlock()
	area, _, _ := strings.Cut(strings.TrimPrefix(m.Method, "notifications/"), "/")
	if strings.HasPrefix(m.Method, "notifications/") &&
		slices.Contains([]string{"tools", "prompts", "resources", "subscriptions"}, area) {
		c.stream.events <- event{data: text}
		return
	}
	var progress struct{ ProgressToken json.RawMessage }
	_ = json.Unmarshal(m.Params, &progress) // other params have no token
	token := `"progressToken":` + string(progress.ProgressToken)
	at := len(c.waiting) - 1
	for i, x := range c.waiting {
		if m.Method == "" && x.id == string(m.ID) ||
			progress.ProgressToken != nil && strings.Contains(x.request.body, token) {
			at = i
		}
	}
	if at < 0 {
		c.stream.events <- event{data: text}
		return
	}
	x := c.waiting[at]
	x.raw.WriteString(text + "\n")
	x.events <- event{data: text}
	if m.Method == "" {
		close(x.events)
		c.waiting = slices.Delete(c.waiting, at, at+1)
	}
}

// start sends a request.
func (c *connection) start(ctx context.Context, r request, id string) (*exchange, error) {
	x := &exchange{request: r, id: id, flow: newFlow()}
	if c.in == nil {
		ctx, x.drop = context.WithCancel(ctx)
		go c.post(ctx, r, x.flow)
		return x, nil
	}
	c.mu.Lock()
	if id != "" {
		c.waiting = append(c.waiting, x)
	}
	c.mu.Unlock()
	if id == "" {
		close(x.events)
	}
	_, err := io.WriteString(c.in, strings.ReplaceAll(r.body, "\n", " ")+"\n")
	return x, err
}

// equal reports whether the server gets the same bytes; stdio has no headers.
func (c *connection) equal(a, b request) bool {
	return a.body == b.body && (c.in != nil || reflect.DeepEqual(a, b))
}

// post runs an HTTP request to the end of its response.
func (c *connection) post(ctx context.Context, r request, f *flow) {
	defer close(f.events)
	fail := func(err error) {
		if ctx.Err() == nil {
			f.events <- event{data: fmt.Sprint("connection: ", err)}
		}
	}
	req, err := http.NewRequestWithContext(ctx, r.verb, c.url+r.query,
		strings.NewReader(r.body))
	if err != nil {
		fail(err)
		return
	}
	req.Header = r.header
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	res, err := memnet.Transport{}.RoundTrip(req)
	if err != nil {
		fail(err)
		return
	}
	defer res.Body.Close()
	res.Header.Del("Date")
	head := event{status: res.StatusCode, header: res.Header}
	fmt.Fprintln(&f.raw, res.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		fmt.Fprintln(&f.raw, name, res.Header[name])
	}
	f.events <- head
	var body bytes.Buffer
	defer func() { f.raw.WriteString(eventIDs.ReplaceAllString(body.String(), "id: ID")) }()
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		if _, err := io.Copy(&body, res.Body); err != nil {
			fail(err)
		}
		if text := strings.TrimSpace(body.String()); text != "" {
			f.events <- event{data: text}
		}
		return
	}
	var e event
	lines := bufio.NewReader(res.Body)
	for {
		text, err := lines.ReadString('\n')
		body.WriteString(text)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fail(err)
			}
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "data":
			e.data = value
		case "":
			if value != "" {
				e.comment = true
			}
			f.events <- e
			e = event{}
		}
	}
}
