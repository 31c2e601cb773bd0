package toollist

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tap keeps the results of tools/list as they were sent: go-sdk's own type has neither the order of
// properties nor large numbers.
type tap struct {
	mcp.Transport
	mu     sync.Mutex
	bytes  int               // read
	tools  []json.RawMessage // of all pages
	bodies []*tappedBody

	structured json.RawMessage // of the last result that has it
	started    *task           // that a call became
	status     int             // of the last response over HTTP

	// Of a stdio server.
	connection mcp.Connection
	expected   jsonrpc.ID
	responses  chan *jsonrpc.Response // of the expected ID; nil if none is
	ended      chan struct{}          // closed after the last message
}

var errTooLong = fmt.Errorf("the responses have more than %d MiB", maxBytes>>20)

// List lists the tools. It is for one use, before any call.
func (s *Session) List(ctx context.Context) (List, error) {
	t, session := s.tap, s.session
	count := 0
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return List{}, fmt.Errorf("tools/list: %w", NetworkError(ctx, err))
		}
		if count++; count > maxTools {
			return List{}, fmt.Errorf("the list has more than %d tools", maxTools)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readBodies()
	var list List
	for _, tool := range t.tools {
		if err := list.add(tool); err != nil {
			return List{}, err
		}
	}
	if len(list.Tools) != count {
		return List{}, fmt.Errorf("the pages have %d tools, but the server sent %d",
			len(list.Tools), count)
	}
	if info := session.InitializeResult(); info != nil && info.ServerInfo != nil {
		list.Server, list.Version = info.ServerInfo.Name, info.ServerInfo.Version
	}
	return list, nil
}

// NetworkError is an error of a connection as one printable line: the text may be the server's own,
// such as a name in its certificate. It is the context's error if that ended the connection.
func NetworkError(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("no response in time: %w", ended)
	}
	return printable{err}
}

// printable is an error whose text may be a server's own: a terminal must not interpret it.
type printable struct{ error }

func (p printable) Error() string {
	quoted := strconv.QuoteToGraphic(short([]byte(p.error.Error())))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

func (p printable) Unwrap() error { return p.error }

// readBodies reads the results in the bodies, which a stdio server does not have.
func (t *tap) readBodies() {
	for _, body := range t.bodies {
		for _, m := range messages(body.kind, body.text) {
			var response struct{ Result json.RawMessage }
			if json.Unmarshal(m, &response) == nil {
				t.keep(response.Result)
			}
		}
	}
	t.bodies = nil
}

// keep adds the tools of a result, or keeps its structured content.
func (t *tap) keep(result json.RawMessage) {
	var p page
	if len(result) == 0 || json.Unmarshal(result, &p) != nil {
		return
	}
	t.tools = append(t.tools, p.Tools...)
	if p.StructuredContent != nil {
		t.structured = p.StructuredContent
	}
	if p.Type == "task" {
		t.started = &task{}
		_ = json.Unmarshal(result, t.started) // without an ID, tasks/get fails
	}
}

// Connect returns the connection of a stdio server with the tap in it.
func (t *tap) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	t.connection, t.ended = c, make(chan struct{})
	return &tappedConnection{Connection: c, tap: t}, err
}

type tappedConnection struct {
	mcp.Connection
	tap *tap
	end sync.Once
}

func (c *tappedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil {
			var taken bool
			taken, err = c.read(m)
			if taken {
				continue
			}
		}
		if err != nil {
			c.end.Do(func() { close(c.tap.ended) })
		}
		return m, err
	}
}

// read bounds and keeps a message, and reports whether go-sdk does not get it.
func (c *tappedConnection) read(m jsonrpc.Message) (taken bool, err error) {
	response, ok := m.(*jsonrpc.Response)
	if !ok {
		return false, nil
	}
	c.tap.mu.Lock()
	defer c.tap.mu.Unlock()
	if c.tap.bytes += len(response.Result); c.tap.bytes > maxBytes {
		return false, errTooLong
	}
	if c.tap.take(response) {
		return true, nil
	}
	c.tap.keep(response.Result)
	return false, nil
}

// httpTap adds the headers to requests, and bounds and reads the bodies of responses.
type httpTap struct {
	ctx     context.Context // of the list: go-sdk's last messages have another one
	tap     *tap
	url     *url.URL
	headers http.Header
}

func (h *httpTap) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := h.ctx.Err(); err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if r.URL.Scheme == h.url.Scheme && r.URL.Host == h.url.Host {
		for name, values := range h.headers {
			r.Header[name] = slices.Clone(values)
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := &tappedBody{ReadCloser: res.Body, tap: h.tap, kind: res.Header.Get("Content-Type")}
	h.tap.mu.Lock()
	h.tap.bodies = append(h.tap.bodies, body)
	h.tap.status = res.StatusCode
	h.tap.mu.Unlock()
	res.Body = body
	return res, nil
}

// tappedBody keeps what go-sdk reads of a body: a stream may stay open after the response.
type tappedBody struct {
	io.ReadCloser
	tap  *tap
	kind string
	text []byte
}

func (b *tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	if b.tap.bytes += n; b.tap.bytes > maxBytes {
		return 0, errTooLong
	}
	b.text = append(b.text, p[:n]...)
	return n, err
}

// messages are the JSON texts in a body: one, or one for each event of a stream.
func messages(contentType string, body []byte) [][]byte {
	if !strings.HasPrefix(contentType, "text/event-stream") {
		return [][]byte{body}
	}
	var list [][]byte
	var event []byte
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\r\n")
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			event = append(event, data...)
			event = append(event, '\n')
		} else if len(line) == 0 {
			list, event = append(list, event), nil
		}
	}
	return append(list, event)
}
