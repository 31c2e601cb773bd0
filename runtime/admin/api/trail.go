package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const auditPath = "/audit"

// Record is a record of the audit trail.
type Record struct {
	ID    string      `json:"id"`
	Event audit.Event `json:"event" doc:"In current words; an export has the recorded text"`
}

func recordOf(e store.Recorded) Record { return Record{textOf(e.ID), e.Event} }

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
			return store.EventFilter{}, misfit(http.StatusUnprocessableEntity, "query."+name,
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
	op.Description = "The trail also records each read. The intent of a call is omitted if its " +
		"outcome is included, unless request_id is set."
	register(a, op, auditors, func(ctx context.Context, r *request, i *listed) (*pageOutput[Record],
		error) {
		page, err := i.ids()
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
		all, more, err := a.store.SearchEvents(ctx, chosen, page)
		return paged(r, all, more, recordOf, func(e store.Recorded) string {
			return cursorOf(byID, textOf(e.ID))
		}), err
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
	by := r.by()
	by.Arguments = filters(r.URL.Query())
	return front.Reads(r.Context(), a.audit, by, action, "the audit trail")
}

// filters are the parameters of a query by name, size and digest.
func filters(query url.Values) []audit.Argument {
	var all []audit.Argument
	for name, values := range query { // of which there is one each, by now
		all = append(all, audit.Argument{Name: name[:min(len(name), 64)], Bytes: len(values[0]),
			Digest: audit.DigestOf([]byte(values[0]))})
	}
	slices.SortFunc(all, func(a, b audit.Argument) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
