package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// The protocol versions: one with sessions, and one without them.
const (
	sessions  = "2025-11-25"
	stateless = "2026-07-28"
)

// client is the one client of all peers. It sends prepared bytes over a connection of its own, and
// reads each answer into a buffer that it keeps. It does not allocate while it measures, so that
// nearly all of the time is the server's.
type client struct {
	out     io.Writer
	in      *bufio.Reader
	host    string // empty on stdio
	version string
	session string
	body    []byte // of the last HTTP answer
	calls   int
}

// dial connects a client to a server in this process, on two pipes of the operating system.
func dial(t testing.TB, serve func(context.Context, io.ReadCloser, io.WriteCloser) error) *client {
	t.Helper()
	fromClient, toServer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromServer, toClient, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(ctx, fromClient, toClient) // some servers report closed pipes as an error
	}()
	t.Cleanup(func() {
		cancel()
		_ = toServer.Close()
		_ = fromServer.Close()
		<-done
		_ = fromClient.Close()
		_ = toClient.Close()
	})
	return overPipes(t, fromServer, toServer, sessions)
}

// overPipes returns a client on stdio, which initializes if the version has sessions.
func overPipes(t testing.TB, in io.Reader, out io.Writer, version string) *client {
	t.Helper()
	c := &client{out: out, in: bufio.NewReaderSize(in, 4<<20), version: version}
	if version == sessions {
		c.initialize(t)
	}
	return c
}

// connect opens a connection to a listening server, and a session if the version has sessions.
func connect(t testing.TB, host, version string) *client {
	t.Helper()
	c := open(t, host, version)
	t.Cleanup(func() {
		c.end(t) // an abandoned session would cost the next benchmarks memory
		c.close()
	})
	if version == sessions {
		c.initialize(t)
	}
	return c
}

// open opens a connection to a listening server.
func open(t testing.TB, host, version string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	return &client{out: conn, in: bufio.NewReader(conn), host: host, version: version}
}

func (c *client) close() { _ = c.out.(io.Closer).Close() }

// end ends the session, if there is one.
func (c *client) end(t testing.TB) {
	t.Helper()
	if c.session != "" {
		c.exchange(t, c.without("DELETE"))
		c.session = ""
	}
}

// without returns a request of another HTTP method, without a message.
func (c *client) without(method string) []byte {
	return bytes.Replace(c.frame("", "", nil), []byte("POST"), []byte(method), 1)
}

func (c *client) initialize(t testing.TB) {
	t.Helper()
	c.call(t, "initialize", initializeParams)
	c.send(t, c.frame("", "", []byte(initialized)))
	if c.host != "" {
		if _, err := c.receive(); err != nil {
			t.Fatal(err)
		}
	}
}

// call sends one request and returns its answer, which the next call overwrites.
func (c *client) call(t testing.TB, method string, params json.RawMessage) []byte {
	t.Helper()
	c.calls++
	return c.exchange(t, c.prepare(t, firstID-c.calls, method, params).bytes)
}

func (c *client) exchange(t testing.TB, request []byte) []byte {
	t.Helper()
	c.send(t, request)
	answer, err := c.receive()
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func (c *client) send(t testing.TB, message []byte) {
	t.Helper()
	if _, err := c.out.Write(message); err != nil {
		t.Fatal(err)
	}
}

// prepared is a request that is sent many times. Its id changes in place, and keeps its length.
type prepared struct {
	bytes, digits []byte
	id            int
}

// firstID is the first id of measured requests, and a multiple of the number of those in flight.
const firstID = 1 << 30

func (r *prepared) renumber(id int) {
	r.id = id
	strconv.AppendInt(r.digits[:0], int64(id), 10)
}

// prepare makes a request for the transport and the version.
func (c *client) prepare(t testing.TB, id int, method string, params json.RawMessage) *prepared {
	t.Helper()
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(params, &members); err != nil {
		t.Fatal(err)
	}
	if c.version == stateless {
		members["_meta"] = json.RawMessage(statelessMeta)
	}
	params, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	r := &prepared{id: id}
	name, _ := strconv.Unquote(string(members["name"]))
	r.bytes = c.frame(method, name, line(r.id, method, params))
	at := bytes.Index(r.bytes, idKey) + len(idKey)
	r.digits = r.bytes[at : at+len(strconv.Itoa(firstID))]
	return r
}

// frame adds the HTTP headers to a message; on stdio it adds nothing.
func (c *client) frame(method, name string, message []byte) []byte {
	if c.host == "" {
		return message
	}
	headers := []string{
		"POST /mcp HTTP/1.1", "Host: " + c.host, "Authorization: Bearer " + token,
		"Content-Type: application/json", "Accept: application/json, text/event-stream",
		"Mcp-Protocol-Version: " + c.version, "Content-Length: " + strconv.Itoa(len(message)),
	}
	if c.session != "" {
		headers = append(headers, "Mcp-Session-Id: "+c.session)
	}
	if c.version == stateless {
		headers = append(headers, "Mcp-Method: "+method)
		if name != "" {
			headers = append(headers, "Mcp-Name: "+name)
		}
	}
	return fmt.Appendf(nil, "%s\r\n\r\n%s", strings.Join(headers, "\r\n"), message)
}

// repeat keeps all requests in flight until left is used up. Each answer needs the id of a request
// in flight, and as many bytes as the answer that was checked.
func (c *client) repeat(requests []*prepared, left *atomic.Int64, size int) error {
	flying := 0
	for i, r := range requests {
		if left.Add(-1) < 0 {
			break
		}
		r.renumber(firstID + i)
		if _, err := c.out.Write(r.bytes); err != nil {
			return err
		}
		flying++
	}
	for flying > 0 {
		answer, err := c.receive()
		if err != nil {
			return err
		}
		id := idOf(answer)
		r := requests[id%len(requests)]
		if id != r.id || len(answer) != size {
			return fmt.Errorf("%d bytes answer request %d, not %d: %.1000s", len(answer), r.id, size, answer)
		}
		if left.Add(-1) < 0 {
			r.renumber(0) // a second answer to it is wrong
			flying--
			continue
		}
		r.renumber(id + len(requests))
		if _, err := c.out.Write(r.bytes); err != nil {
			return err
		}
	}
	return nil
}

var idKey = []byte(`"id":`)

// idOf returns the id of a message, or 0.
func idOf(message []byte) (id int) {
	_, rest, _ := bytes.Cut(message, idKey)
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int(c-'0')
	}
	return id
}

// receive reads the next message with an id on stdio, and the next response over HTTP.
func (c *client) receive() ([]byte, error) {
	if c.host != "" {
		return c.response()
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil || bytes.Contains(line, idKey) {
			return line, err
		}
	}
}

// response reads an HTTP response and returns the message in it: the body, or the event that has an
// id. It reads no more of HTTP than Go's server sends.
func (c *client) response() ([]byte, error) {
	status, err := c.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	failed := !bytes.HasPrefix(status, []byte("HTTP/1.1 2"))
	size, chunked, events := 0, false, false
	for {
		header, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		name, value, more := bytes.Cut(header[:len(header)-2], []byte(": "))
		if !more {
			break
		}
		switch string(name) {
		case "Content-Length":
			size, err = strconv.Atoi(string(value))
		case "Transfer-Encoding":
			chunked = true
		case "Content-Type":
			events = bytes.HasPrefix(value, []byte("text/event-stream"))
		case "Mcp-Session-Id":
			if c.session == "" {
				c.session = string(value)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	c.body = c.body[:0]
	if err := c.read(size, chunked); err != nil {
		return nil, err
	}
	if failed {
		return nil, fmt.Errorf("the status is not 2xx: %.1000s", c.body)
	}
	if !events {
		return c.body, nil
	}
	for line, rest := []byte(nil), c.body; len(rest) > 0; {
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && bytes.Contains(data, idKey) {
			return data, nil
		}
	}
	return nil, fmt.Errorf("no event has an id: %.1000s", c.body)
}

// read reads a body of so many bytes, or in chunks.
func (c *client) read(size int, chunked bool) error {
	for {
		if chunked {
			line, err := c.in.ReadSlice('\n')
			if err != nil {
				return err
			}
			length, err := strconv.ParseInt(string(line[:len(line)-2]), 16, 0)
			if err != nil {
				return err
			}
			size = int(length)
		}
		from := len(c.body)
		c.body = slices.Grow(c.body, size)[:from+size]
		if _, err := io.ReadFull(c.in, c.body[from:]); err != nil {
			return err
		}
		if !chunked {
			return nil
		}
		if _, err := c.in.Discard(len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}

// All figures depend on this client: it reads the framing of every server, notices a wrong answer,
// and does not allocate.
func TestClientReadsAndChecksAnswers(t *testing.T) {
	message := string(line(firstID, "m", noParams))
	message = message[:len(message)-1]
	length := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
	}
	chunks := func(kind string, bodies ...string) string {
		text := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: " + kind + "\r\n\r\n"
		for _, body := range append(bodies, "") {
			text += fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
		}
		return text
	}
	const events = "text/event-stream"
	notice := "data: {\"method\":\"n\"}\n\n"
	other := strings.Replace(message, "10", "11", 1)
	for _, test := range []struct {
		name, host, text string
		wrong            bool
	}{
		{"a line", "", initialized + message + "\n", false},
		{"a line of another id", "", other + "\n", true},
		{"a body", "h", length("200 OK", message), false},
		{"a longer body", "h", length("200 OK", message+" "), true},
		{"another id", "h", length("200 OK", other), true},
		{"an error", "h", length("500 Internal Server Error", message), true},
		{"no body", "h", length("202 Accepted", ""), true},
		{"chunks", "h", chunks("application/json", message[:20], message[20:]), false},
		{"events", "h", chunks(events, notice+"event: message\ndata: "+message[:9], message[9:]+"\n\n"), false},
		{"no answer in the events", "h", chunks(events, notice), true},
	} {
		text := strings.NewReader(test.text)
		c := &client{host: test.host, out: io.Discard, in: bufio.NewReader(text), version: sessions}
		requests := []*prepared{c.prepare(t, firstID, "m", noParams)}
		size := len(message)
		if test.host == "" {
			size++ // with the line's end
		}
		var left atomic.Int64
		var err error
		allocations := testing.AllocsPerRun(10, func() {
			text.Reset(test.text)
			c.in.Reset(text)
			left.Store(1)
			err = c.repeat(requests, &left, size)
		})
		if (err != nil) != test.wrong || err == nil && allocations > 0 {
			t.Errorf("%s: %v, %v allocations", test.name, err, allocations)
		}
	}
}
