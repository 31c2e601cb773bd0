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
		"a long last line without an end": {long + long, nil, []line{{text: over}, {err: io.EOF}}},
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

func serveLines(ctx context.Context, in io.Reader, out io.Writer) error {
	var log bytes.Buffer
	h := newHandler(&log, nil)
	h.MaxBodyBytes = 1000
	return ServeIO(ctx, context.Background(), h.Config, in, out, identity.Identity{
		Principal: access.Principal{Subject: "ada"}})
}

func TestMalformedLinesAreAnsweredAndSkipped(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader("\n[]\n" +
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"x"}}` + "\n" +
		strings.Repeat("a", 2000) + "\n" +
		`{"jsonrpc":"2.0","id":2,"result":{}}` + "\n" +
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"t"}}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if err := serveLines(t.Context(), in, &out); err != nil {
		t.Error(err)
	}
	answers := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(answers) != 4 || !strings.Contains(answers[0], "batches are not accepted") ||
		!strings.Contains(answers[1], "the line is too long") ||
		!strings.Contains(answers[2], "a request without an id") ||
		answers[3] != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("%q", answers)
	}
}

func TestServingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		in := &closable{Reader: r}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- serveLines(ctx, in, io.Discard) }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || in.closed != 1 {
			t.Errorf("%v, closed %d times", err, in.closed)
		}
	})
}

// gone is an output whose reader has left.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputThatIsGoneEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		go func() { _, _ = io.WriteString(w, "[]\n") }()
		if err := serveLines(t.Context(), r, gone{}); err != nil {
			t.Error(err)
		}
	})
}
