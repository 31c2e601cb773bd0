package console

import (
	"errors"
	"net/http"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
)

const exportPattern = "GET " + pathAudit + "/export"

const (
	// exportTimeout bounds what an export may take, and stallTimeout how long a reader may take for a
	// part of it: who stops reading has its place no longer.
	exportTimeout = 10 * time.Minute
	stallTimeout  = 30 * time.Second
)

// exportTrail sends the events that a search finds as lines of JSON, oldest first. Where it fails
// half way the connection is cut, so that a part of it does not pass for the whole.
func (v *visit) exportTrail() error {
	s, f := v.search()
	if len(s.Wrong) > 0 {
		return v.showTrail()
	}
	if err := v.reads(wholeTrail, s); err != nil {
		return err
	}
	end, ok := v.exports.Begin()
	if !ok {
		return v.showAs(http.StatusTooManyRequests, "message", page{Title: "Not now",
			Data: message{Text: "The maximum number of downloads is running. Try again when one " +
				"has ended."}})
	}
	defer end()
	out := &download{w: v.w, control: http.NewResponseController(v.w)}
	if v.r.Method != http.MethodHead {
		if _, err := v.store.ExportEvents(v.ctx, out, f); err != nil {
			if !out.begun {
				return err
			}
			v.log.ErrorContext(v.ctx, "an export of the audit trail was cut off", "request_id", runtime.RequestID(v.ctx), "error", err)
			panic(http.ErrAbortHandler)
		}
	}
	out.end()
	return nil
}

// download is an answer that begins with its first byte: until then there can be another one.
type download struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (d *download) begin() {
	if d.begun {
		return
	}
	d.begun = true
	d.w.Header().Set("Content-Type", "application/x-ndjson")
	d.w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	d.w.WriteHeader(http.StatusOK)
}

func (d *download) Write(b []byte) (int, error) {
	d.begin()
	// Not all writers have a deadline; the bound is then the http.Server's.
	_ = d.control.SetWriteDeadline(time.Now().Add(stallTimeout))
	return d.w.Write(b)
}

// end sends what is left, and has the connection as it was for the next request.
func (d *download) end() {
	d.begin() // where there is nothing
	if err := d.control.Flush(); err == nil || errors.Is(err, http.ErrNotSupported) {
		_ = d.control.SetWriteDeadline(time.Time{})
	}
}
