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

// Record is one of the audit trail.
type Record struct {
	ID    string      `json:"id"`
	Event audit.Event `json:"event" doc:"In current words; an export has the recorded text"`
}

func recordOf(e store.Recorded) Record { return Record{textOf(e.ID), e.Event} }

// EventFilter chooses records of the audit trail.
type EventFilter struct {
	Principal string    `query:"principal" maxLength:"512" doc:"The subject who asked"`
	Client    string    `query:"client" maxLength:"512"`
	Tool      string    `query:"tool" maxLength:"128"`
	Type      string    `query:"type" maxLength:"64" doc:"What kind of request or change it is about: tool_called, changed, admin_request"`
	Status    string    `query:"status" enum:"success,failed,intent" doc:"How it ended; intent finds calls without an outcome"`
	Failure   string    `query:"failure" enum:"denied,timeout,limited,crashed,invalid,error" doc:"Why it failed; error is an error of the handler"`
	RequestID string    `query:"request_id" maxLength:"128"`
	From      time.Time `query:"from" doc:"The first moment"`
	Until     time.Time `query:"until" doc:"The first moment that is too late"`
}

// Resolve implements [huma.Resolver]. It refuses the words of earlier versions.
func (f *EventFilter) Resolve(huma.Context) (wrong []error) {
	for name, word := range map[string]struct{ value, replacement string }{
		"type":   {f.Type, audit.Type(f.Type).Replacement()},
		"status": {f.Status, audit.Status(f.Status).Replacement()},
	} {
		if word.replacement != "" {
			wrong = append(wrong, &huma.ErrorDetail{Location: "query." + name, Value: word.value,
				Message: "a word of earlier versions: use " + word.replacement +
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
				"it is before all times: leave it out")
		}
	}
	return store.EventFilter{
		Principal: f.Principal, Client: f.Client, Tool: f.Tool, Type: audit.Type(f.Type),
		Status: audit.Status(f.Status), Failure: audit.Failure(f.Failure), RequestID: f.RequestID,
		From: f.From, Until: f.Until,
	}, nil
}

// Pruning says up to when the trail is deleted.
type Pruning struct {
	Before time.Time `json:"before" doc:"The first moment that stays: an hour ago at the latest"`
}

// Pruned says how much was deleted.
type Pruned struct {
	Deleted int64 `json:"deleted" doc:"How many records"`
}

// trail registers the operations on the audit trail.
func (a *API) trail() {
	in := everywhere
	type listed struct {
		Paging
		EventFilter
	}
	op := in.operation(http.MethodGet, "list-audit-events", auditPath+"/events",
		"List what was recorded, the newest first")
	op.Description = "That the trail is read is recorded in it. The intent of a call is left out " +
		"if its outcome is there, unless request_id is given."
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
	op.Description = "What goes is recorded before anything is deleted, so that the rest still " +
		"verifies. Where it ends early, send it again: it goes on."
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
