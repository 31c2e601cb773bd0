package front

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// MaxExports is the number of exports of the audit trail that may run at a time, in the API and
// the console together.
const MaxExports = 2

// Exports counts the running exports of all handlers that share it. It is safe for concurrent
// use.
type Exports struct{ places chan struct{} }

// NewExports returns a counter with [MaxExports] places.
func NewExports() *Exports { return &Exports{make(chan struct{}, MaxExports)} }

// Begin takes a place if one is free. end gives it back.
func (e *Exports) Begin() (end func(), ok bool) {
	select {
	case e.places <- struct{}{}:
		return func() { <-e.places }, true
	default:
		return nil, false
	}
}

// UnderWay returns the number of running exports.
func (e *Exports) UnderWay() int { return len(e.places) }

// ExportMedia is the media type of lines of JSON.
const ExportMedia = "application/x-ndjson"

// SendExport sends the records of the trail that a filter chooses, oldest first, each part within
// patience. It returns an error if nothing was sent. An export that fails later is cut off, so that
// its part is not taken for the whole: SendExport logs the error and panics with
// [http.ErrAbortHandler].
func SendExport(w http.ResponseWriter, r *http.Request, s *store.Store, chosen store.EventFilter,
	patience time.Duration, log *slog.Logger) error {
	out := &lines{w: w, control: http.NewResponseController(w), patience: patience}
	if r.Method != http.MethodHead {
		_, err := s.ExportEvents(r.Context(), out, chosen)
		switch {
		case err == nil:
		case !out.begun:
			return err
		default:
			log.ErrorContext(r.Context(), "an export of the audit trail was cut off",
				"request_id", runtime.RequestID(r.Context()), "error", err)
			panic(http.ErrAbortHandler)
		}
	}
	out.end()
	return nil
}

// lines is a response that begins with its first part. Until then, there can be another response.
type lines struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	begun    bool
}

func (l *lines) begin() {
	if l.begun {
		return
	}
	l.begun = true
	l.w.Header().Set("Content-Type", ExportMedia)
	l.w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	l.w.WriteHeader(http.StatusOK)
}

func (l *lines) Write(part []byte) (int, error) {
	l.begin()
	// Not all writers have a deadline; the bound is then the http.Server's.
	_ = l.control.SetWriteDeadline(time.Now().Add(l.patience))
	return l.w.Write(part)
}

// end sends the rest, and resets the connection for the next request.
func (l *lines) end() {
	l.begin() // without any record
	if err := l.control.Flush(); err == nil || errors.Is(err, http.ErrNotSupported) {
		_ = l.control.SetWriteDeadline(time.Time{})
	}
}
