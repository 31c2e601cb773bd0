// Package trailread reads the audit trail for the admin API and the console: it records each read,
// and sends exports.
package trailread

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Record records that a caller is about to read the trail, with the filters of the query by name,
// size and digest. If that fails, the trail must not be read.
func Record(ctx context.Context, sink audit.Sink, by audit.Event, query url.Values,
	action, object string) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(name)
		by.Arguments = append(by.Arguments, audit.Argument{Name: name[:min(len(name), 64)],
			Bytes: len(value), Digest: audit.DigestOf([]byte(value))})
	}
	return front.Reads(ctx, sink, by, action, object)
}

// Media is the media type of lines of JSON.
const Media = "application/x-ndjson"

// Send sends the records that a filter chooses, oldest first, each part within patience. It returns
// an error if nothing was sent. An export that fails later is cut off, so that its part is not
// taken for the whole: Send logs the error and panics with [http.ErrAbortHandler].
func Send(w http.ResponseWriter, r *http.Request, s *store.Store, chosen store.EventFilter,
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
	l.w.Header().Set("Content-Type", Media)
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
