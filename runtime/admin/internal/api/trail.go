package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const auditPath = "/audit"

// Record is a record of the audit trail.
type Record struct {
	ID    string      `json:"id"`
	Event audit.Event `json:"event" doc:"In current words; an export has the recorded text"`
}

func recordOf(e store.Recorded) Record { return Record{ids.Text(e.ID), e.Event} }

// EventFilter selects records of the audit trail.
type EventFilter struct {
	Principal string    `query:"principal" maxLength:"512" doc:"The subject of the request"`
	Client    string    `query:"client" maxLength:"512"`
	Tool      string    `query:"tool" maxLength:"128"`
	Type      string    `query:"type" maxLength:"64" doc:"The kind of request or change: tool_called, changed, admin_request"`
	Status    string    `query:"status" enum:"success,failed,intent" doc:"The outcome; intent finds calls without an outcome"`
	Failure   string    `query:"failure" enum:"denied,timeout,limited,crashed,invalid,error" doc:"The cause of the failure; error is an error of the handler"`
	RequestID string    `query:"request_id" maxLength:"128"`
	From      time.Time `query:"from" doc:"The start of the time range"`
	Until     time.Time `query:"until" doc:"The end of the time range, exclusive"`
}

// Resolve implements [huma.Resolver]. It refuses the values of earlier versions.
func (f *EventFilter) Resolve(huma.Context) (wrong []error) {
	for name, word := range map[string]struct{ value, replacement string }{
		"type":   {f.Type, audit.Type(f.Type).Replacement()},
		"status": {f.Status, audit.Status(f.Status).Replacement()},
	} {
		if word.replacement != "" {
			wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Value: word.value,
				Message: "a value of earlier versions: use " + word.replacement +
					", which also finds their records"})
		}
	}
	return wrong
}

// of is the filter as the store takes it. A time that is none would choose everything.
func (f EventFilter) of(r *request) (store.EventFilter, error) {
	for name, t := range map[string]time.Time{"from": f.From, "until": f.Until} {
		if t.IsZero() && r.URL.Query().Has(name) {
			return store.EventFilter{}, problem.At(http.StatusUnprocessableEntity, "query."+name,
				"it is too early: omit it")
		}
	}
	return store.EventFilter{
		Principal: f.Principal, Client: f.Client, Tool: f.Tool, Type: audit.Type(f.Type),
		Status: audit.Status(f.Status), Failure: audit.Failure(f.Failure), RequestID: f.RequestID,
		From: f.From, Until: f.Until,
	}, nil
}

// Pruning contains the time up to which the trail is deleted.
type Pruning struct {
	Before time.Time `json:"before" doc:"Events from this time on stay; at least an hour ago"`
}

// Pruned contains the number of deleted records.
type Pruned struct {
	Deleted int64 `json:"deleted" doc:"The number of records"`
}

// trail registers the operations on the audit trail.
func (a *API) trail() {
	in := everywhere
	type listed struct {
		Paging
		EventFilter
	}
	op := in.operation(http.MethodGet, "list-audit-events", auditPath+"/events",
		"List audit events, newest first")
	op.Description = "The order is by time. A page reads a limited number of events: it may have " +
		"fewer events than limit, or none, although more follow. Continue until next is " +
		"missing. The trail also records each read. The intent of a call is omitted if its outcome " +
		"is included, unless request_id is set."
	register(a, op, auditors, func(ctx context.Context, r *request, i *listed) (*pageOutput[Record],
		error) {
		page, err := i.events()
		if err != nil {
			return nil, err
		}
		chosen, err := i.of(r)
		if err == nil {
			err = a.reads(r, "list-audit-events")
		}
		if err != nil {
			return nil, err
		}
		all, next, err := a.store.SearchEvents(ctx, chosen, page)
		out := paged(r, all, false, recordOf, nil)
		if next != (store.EventPlace{}) {
			out.follow(r, cursorOf(byPlace, next.String()))
		}
		return out, err
	})

	a.export()

	op = in.operation(http.MethodPost, "prune-audit-events", auditPath+"/prune",
		"Delete the oldest part of the audit trail")
	op.DefaultStatus = http.StatusOK
	op.Description = "The trail records the deletion first, so that the rest still verifies. If " +
		"the deletion ends early, send the request again to continue."
	register(a, op, auditors, func(ctx context.Context, r *request,
		i *struct{ Body Pruning }) (*struct{ Body Pruned }, error) {
		n, err := a.store.PruneEvents(ctx, i.Body.Before, r.by())
		return &struct{ Body Pruned }{Pruned{n}}, err
	})
}

// reads records that the caller is about to read the trail, and by which filters.
func (a *API) reads(r *request, action string) error {
	return front.Reads(r.Context(), a.audit, r.by(), r.URL.Query(), action, "the audit trail")
}

// PathAuditExport is the path of the export of the audit trail as lines of JSON.
const PathAuditExport = runtime.PathAPI + "admin" + auditPath + "/export"

// exportTimeout bounds an export, which takes as long as the trail is.
const exportTimeout = 15 * time.Minute

var errExporting = problem.New(http.StatusTooManyRequests,
	"%d exports are running, which is the maximum: wait until one has ended", front.MaxExports)

// export registers the export of the audit trail. Its lines are sent as they are read: an export
// that fails midway is cut off, which the client sees.
func (a *API) export() {
	op := everywhere.operation(http.MethodGet, "export-audit-events", auditPath+"/export",
		"Export the audit trail as lines of JSON, in the order of the records",
		http.StatusTooManyRequests)
	op.Description = "mcpgen audit verify can verify a complete export with the key of its " +
		"chains; a partial export has gaps. A response without its last chunk is incomplete: discard " +
		"it. The trail also records each export."
	op.Responses = map[string]*huma.Response{"200": {Description: "The records, one on each line",
		Content: map[string]*huma.MediaType{front.ExportMedia: {}}}}
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
			// Twice the time of a body: net/http waits for the request's body before it sends the
			// first part.
			if err := front.SendExport(w, r.Request, a.store, chosen, 2*a.patience,
				a.log); err != nil {
				a.problems.Write(w, a.problems.Of(r.Context(), r.Method, r.id, err), r.id)
			}
		}}, nil
	})
}
