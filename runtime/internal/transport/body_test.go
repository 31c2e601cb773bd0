package transport

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// deadlines is a response writer that notes the read deadlines of its connection. Once its handler
// has returned, the connection belongs to the next request, as in net/http.
type deadlines struct {
	http.ResponseWriter
	set      []string
	returned bool
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	switch {
	case d.returned:
		d.set = append(d.set, "of another request")
	case at.IsZero():
		d.set = append(d.set, "none")
	default:
		d.set = append(d.set, "a time")
	}
	return nil
}

// hasty calls a func before it is read.
type hasty struct {
	io.Reader
	before func()
}

func (h hasty) Read(p []byte) (int, error) {
	if h.before != nil {
		h.before()
	}
	return h.Reader.Read(p)
}

// panicking is a body of the program's own.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("at the disco") }

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// However a body ends, its deadline does nothing once its handler has returned: net/http lets
// another request have the connection, and the writer of HTTP/2 panics then.
func TestDeadlineOfABodyDoesNotOutliveItsReading(t *testing.T) {
	for name, test := range map[string]struct {
		body   func() io.Reader
		length int64
		whole  bool
	}{
		"whole":   {text("1234567890"), 10, true},
		"chunked": {text("1234567890"), -1, true},
		"cut short": {func() io.Reader {
			return io.MultiReader(strings.NewReader("12345"), iotest.ErrReader(io.ErrUnexpectedEOF))
		}, 10, false},
		"longer by middleware":  {text("12345678901234567890"), 10, true},
		"shorter by middleware": {text("12345"), 10, true},
		"of the limit":          {text(strings.Repeat("x", 100)), 100, true},
		"broken": {func() io.Reader {
			return iotest.ErrReader(errors.New("the client has gone"))
		}, -1, false},
		"too long":  {text(strings.Repeat("x", 1000)), 1000, false},
		"panicking": {func() io.Reader { return panicking{} }, 10, false},
	} {
		for _, late := range []bool{false, true} {
			var log bytes.Buffer
			h := newHandler(&log, nil)
			d := &deadlines{ResponseWriter: httptest.NewRecorder()}
			v := &visit{w: &responseWriter{ResponseWriter: d, unread: h.unread},
				r: httptest.NewRequest(http.MethodPost, "/", nil)}
			body := hasty{Reader: test.body()}
			if late {
				body.before = v.body.Reached
			}
			v.r.Body, v.r.ContentLength = io.NopCloser(body), test.length
			var got []byte
			func() {
				defer func() { _ = recover() }()
				got, _ = h.readBody(v, 100)
			}()
			if v.body.whole != test.whole {
				t.Errorf("%s: whole %t", name, v.body.whole)
			}
			if test.whole {
				if all, _ := io.ReadAll(test.body()); string(got) != string(all) {
					t.Errorf("%s: %q, want %q", name, got, all)
				}
			}
			var want []string
			if late || !test.whole { // one that came too late has no further time for its rest
				want = append(want, "a time")
			}
			if late && test.whole {
				want = append(want, "none")
			}
			if h.limitRest(v.w, v.r, v.body.bounded()); !slices.Equal(slices.Compact(d.set), want) {
				t.Errorf("%s, late %t: the deadlines %q, want %q", name, late, d.set, want)
			}
			d.set, d.returned = nil, true
			v.body.Reached() // which may come while the wait ends
			if d.set != nil {
				t.Errorf("%s, late %t: afterwards it set %q", name, late, d.set)
			}
		}
	}
}

// fragile is a writer of the program's own.
type fragile struct{ http.ResponseWriter }

func (fragile) SetReadDeadline(time.Time) error { panic("at the disco") }

// A panic in the goroutine of a timer would end the process.
func TestPanicOfAWriterDoesNotLeaveTheDeadline(t *testing.T) {
	b := &reading{w: fragile{httptest.NewRecorder()}}
	b.Reached()
}
