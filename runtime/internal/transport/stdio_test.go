package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

func TestLinesAreReadWithinTheLimit(t *testing.T) {
	const limit = 100_000 // more than the reader's buffer
	long := strings.Repeat("a", limit)
	over := []byte(long + "\n")
	for name, test := range map[string]struct {
		in   string
		err  error // behind in; nil is io.EOF
		want []line
	}{
		"nothing": {"", nil, []line{{err: io.EOF}}},
		"lines": {"a\n\nb\r\n", nil, []line{
			{text: []byte("a\n")}, {text: []byte("\n")}, {text: []byte("b\r\n")}, {err: io.EOF},
		}},
		"a last line without an end": {"a\nb", nil, []line{
			{text: []byte("a\n")}, {text: []byte("b")}, {err: io.EOF},
		}},
		"a last line without text": {"a\n \t", nil, []line{
			{text: []byte("a\n")}, {text: []byte(" \t"), err: io.EOF},
		}},
		"a line of the limit": {long[1:] + "\nb\n", nil, []line{
			{text: []byte(long[1:] + "\n")}, {text: []byte("b\n")}, {err: io.EOF},
		}},
		"a line over the limit": {long + "\nb\n", nil, []line{
			{text: over}, {text: []byte("b\n")}, {err: io.EOF},
		}},
		"a line far over the limit": {long + long + long + "\nb\n", nil, []line{
			{text: over}, {text: []byte("b\n")}, {err: io.EOF},
		}},
		"a long last line without an end": {long + long, nil, []line{{text: over, err: io.EOF}}},
		"a broken stream": {"a\nb", io.ErrUnexpectedEOF, []line{
			{text: []byte("a\n")}, {text: []byte("b"), err: io.ErrUnexpectedEOF},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			end := io.Reader(strings.NewReader(""))
			if test.err != nil {
				end = iotest.ErrReader(test.err)
			}
			r := bufio.NewReaderSize(io.MultiReader(strings.NewReader(test.in), end), 64<<10)
			for i, want := range test.want {
				got := readLine(r, limit)
				if len(got.text) > limit+64<<10 || got.longer(limit) != (len(want.text) > limit) ||
					!got.longer(limit) && !bytes.Equal(got.text, want.text) ||
					!errors.Is(got.err, want.err) {
					t.Errorf("%d: %d bytes %.40q, %v", i, len(got.text), got.text, got.err)
				}
			}
		})
	}
}

// closable counts how often it is closed.
type closable struct {
	io.Reader
	closed int
}

func (c *closable) Close() error { c.closed++; return nil }

func testLineConn(in io.Reader, out io.Writer) *lineConn {
	caller := identity.Identity{Principal: access.Principal{Subject: "ada"}}
	return newLineConn(context.Background(), Config{MaxBodyBytes: 1000}, in, out, caller)
}

func TestMalformedLinesAreAnsweredAndSkipped(t *testing.T) {
	var out bytes.Buffer
	c := testLineConn(strings.NewReader("\n[]\n"+
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"x"}}`+"\n"+
		strings.Repeat("a", 2000)+"\n"+
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"+
		`{"jsonrpc":"2.0","id":2,"result":{}}`), &out)
	if _, err := c.Connect(t.Context()); err != nil || c.SessionID() != "" {
		t.Fatal(err)
	}
	msg, err := c.Read(t.Context())
	req, ok := msg.(*jsonrpc.Request)
	if err != nil || !ok || req.Method != "ping" || req.Extra == nil {
		t.Fatalf("%+v, %v", msg, err)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != 2 || !strings.Contains(answers[0], "batches are not accepted") ||
		!strings.Contains(answers[1], "the line is too long") {
		t.Errorf("%q", answers)
	}
	if msg, err = c.Read(t.Context()); err != nil {
		t.Error(err)
	} else if _, ok := msg.(*jsonrpc.Response); !ok {
		t.Errorf("%T", msg)
	}
	if msg, err = c.Read(t.Context()); msg != nil || !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", msg, err)
	}
}

func TestReadEndsWithItsContextAndItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		in := &closable{Reader: r}
		c := testLineConn(in, io.Discard)
		if _, err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Read(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if err := c.Write(ctx, &jsonrpc.Request{Method: "ping"}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		ended := make(chan error)
		go func() {
			_, err := c.Read(t.Context())
			ended <- err
		}()
		synctest.Wait()
		for range 2 {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := <-ended; !errors.Is(err, io.EOF) || in.closed != 1 {
			t.Errorf("%v, closed %d times", err, in.closed)
		}
	})
}

// gone is an output whose reader has left.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputThatIsGoneEndsRead(t *testing.T) {
	c := testLineConn(strings.NewReader("[]\n"), gone{})
	if _, err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%v", err)
	}
}
