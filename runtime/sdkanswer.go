package runtime

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// sdkAnswer is what go-sdk answers an HTTP request with, mended where it would tell too much, or where nobody could read it.
//
// For a session of somebody else it is what is answered for one that does not exist: go-sdk says 403 for the first and 404 for the second,
// and says 403 for nothing else.
//
// Where go-sdk refuses a request before the guard sees it, its words repeat headers and names that the client made up; they are masked.
//
// An error that has an HTTP status of its own in 2026-07-28 (as unknown methods and invalid params have) is written by go-sdk as a body of its own,
// with the stream of events begun or not. Where a log message or progress came before it, the status has left, and the error
// becomes an event like any other.
type sdkAnswer struct {
	http.ResponseWriter
	record   *record
	masker   redact.Masker
	patience time.Duration

	foreign bool
	refused bool
	events  bool // a stream of events has begun
	late    bool // and what is written now belongs to none of them
}

// WriteHeader implements http.ResponseWriter.
func (w *sdkAnswer) WriteHeader(status int) {
	switch {
	case w.events:
		w.late = status >= http.StatusBadRequest
		return
	case status == http.StatusForbidden:
		w.foreign = true
		http.Error(w.ResponseWriter, "session not found", http.StatusNotFound)
		return
	}
	if w.refused = status >= http.StatusBadRequest && !w.record.begun.Load(); w.refused {
		w.Header().Del("Content-Length")
	}
	w.begins(status)
	w.ResponseWriter.WriteHeader(status)
}

// begins notes that a stream of events begins, if one does.
func (w *sdkAnswer) begins(status int) {
	w.events = status == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
}

// Write implements http.ResponseWriter.
func (w *sdkAnswer) Write(b []byte) (int, error) {
	switch {
	case w.foreign:
		return len(b), nil
	case w.refused:
		if _, err := w.ResponseWriter.Write([]byte(w.masker.Text(string(b)))); err != nil {
			return 0, err
		}
		return len(b), nil
	case w.late:
		event := append([]byte("event: message\ndata: "), bytes.TrimSpace(b)...) // go-sdk writes the whole of it at once, on one line
		if _, err := w.ResponseWriter.Write(append(event, "\n\n"...)); err != nil {
			return 0, err
		}
		return len(b), nil
	case !w.events:
		w.begins(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// hurry lets a client that does not read what it is sent keep the answer no longer than it may take to send a body.
func (w *sdkAnswer) hurry() {
	if w != nil {
		// Not all writers have a deadline; the bound is then the http.Server's.
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *sdkAnswer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
