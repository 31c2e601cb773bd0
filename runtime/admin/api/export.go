package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// PathAuditExport is the path of the export of the audit trail as lines of JSON.
const PathAuditExport = runtime.PathAPI + "admin" + auditPath + "/export"

// exportTimeout bounds an export, which takes as long as the trail is.
const exportTimeout = 15 * time.Minute

const ndjson = "application/x-ndjson"

var errExporting = problem(http.StatusTooManyRequests,
	"%d exports are running, which is the maximum: wait until one has ended", front.MaxExports)

// export registers the export of the audit trail. Its lines are sent as they are read: an export
// that fails on the way is cut off, and what came of it is no whole answer.
func (a *API) export() {
	op := everywhere.operation(http.MethodGet, "export-audit-events", auditPath+"/export",
		"Export the audit trail as lines of JSON, in the order of the records",
		http.StatusTooManyRequests)
	op.Description = "mcpgen audit verify can verify a complete export with the key of its " +
		"chains; a partial export has gaps. A response without its last chunk is incomplete: discard " +
		"it. The trail also records each export."
	op.Responses = map[string]*huma.Response{"200": {Description: "The records, one on each line",
		Content: map[string]*huma.MediaType{ndjson: {}}}}
	type output struct{ Body func(huma.Context) }
	register(a, op, auditors, func(ctx context.Context, r *request, i *EventFilter) (*output, error) {
		chosen, err := i.of(r)
		if err != nil {
			return nil, err
		}
		end, ok := a.exports.Begin()
		if !ok {
			return nil, errExporting
		}
		if err := a.reads(r, op.OperationID); err != nil {
			end()
			return nil, err
		}
		return &output{func(c huma.Context) {
			defer end()
			_, w := humago.Unwrap(c)
			a.sendTrail(w, r, chosen)
		}}, nil
	})
}

// sendTrail answers with the records that a filter chooses, or with what went wrong before the
// first of them left.
func (a *API) sendTrail(w http.ResponseWriter, r *request, chosen store.EventFilter) {
	// Twice as long as a body may take to come: net/http waits for one that the request has, before
	// the first part leaves.
	out := &lines{w: w, control: http.NewResponseController(w), patience: 2 * a.patience}
	var err error
	if r.Method != http.MethodHead {
		_, err = a.store.ExportEvents(r.Context(), out, chosen)
	}
	switch {
	case err == nil:
		out.begin()
		out.end()
	case !out.begun:
		a.write(w, a.problemOf(r.Context(), r, err), r.id)
	default:
		a.log.ErrorContext(r.Context(), "an export of the audit trail was cut off", "request_id", r.id, "error", err)
		panic(http.ErrAbortHandler) // nobody takes what came for all of it
	}
}

// lines are sent as they come, each part within patience. Nothing is sent before the first part is
// there.
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
	l.w.Header().Set("Content-Type", ndjson)
	l.w.Header().Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	l.w.WriteHeader(http.StatusOK)
}

func (l *lines) Write(part []byte) (int, error) {
	l.begin()
	// Not all writers have a deadline; the bound is then the http.Server's.
	_ = l.control.SetWriteDeadline(time.Now().Add(l.patience))
	return l.w.Write(part)
}

// end sends what is left, and has the connection as it was for the next request.
func (l *lines) end() {
	if err := l.control.Flush(); err == nil || errors.Is(err, http.ErrNotSupported) {
		_ = l.control.SetWriteDeadline(time.Time{})
	}
}
