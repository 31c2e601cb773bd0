package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/visible"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const pathAudit = runtime.PathConsole + "/audit"

// What the search suggests. Other texts can be typed.
var (
	eventTypes = []audit.Type{audit.ToolCalled, audit.ToolList, audit.PromptGet, audit.PromptList,
		audit.ResourceRead, audit.ResourceList, audit.TemplateList, audit.Subscription, audit.Completion,
		audit.TaskUpdate, audit.TaskCancel, audit.TaskAsked, audit.TaskEnded, audit.Changed,
		audit.AdminRequest, audit.Authentication, audit.Refused, audit.Checkpoint, audit.Outage}
	eventStatuses = []audit.Status{audit.Success, audit.Failed, audit.Intent}
	eventFailures = []audit.Failure{audit.Denied, audit.Errored, audit.Timeout, audit.Limited,
		audit.Crashed, audit.Invalid}
)

// search is what the audit trail is searched for, as it is typed.
type search struct {
	From, Until, Client, Principal, Tool string
	Type, Status, Failure, RequestID     string
	Wrong                                faults
}

// query is the search in an address.
func (s search) query() url.Values {
	return filled("from", s.From, "until", s.Until, "client", s.Client, "principal", s.Principal,
		"tool", s.Tool, "type", s.Type, "status", s.Status, "failure", s.Failure,
		"request", s.RequestID)
}

// search reads an address. A time that cannot be read is a fault, and so is a word of earlier
// versions: a search without them would find events that the caller did not search for.
func (v *visit) search() (s search, f store.EventFilter) {
	q := v.r.URL.Query()
	s = search{
		From: q.Get("from"), Until: q.Get("until"), Client: q.Get("client"),
		Principal: q.Get("principal"), Tool: q.Get("tool"), Type: q.Get("type"),
		Status: q.Get("status"), Failure: q.Get("failure"),
		RequestID: q.Get("request"), Wrong: faults{},
	}
	f = store.EventFilter{Client: s.Client, Principal: s.Principal, Tool: s.Tool,
		Type: audit.Type(s.Type), Status: audit.Status(s.Status),
		Failure: audit.Failure(s.Failure), RequestID: s.RequestID}
	s.Wrong.replaced("type", f.Type.Replacement())
	s.Wrong.replaced("status", f.Status.Replacement())
	f.From, f.Until = s.Wrong.moment("from", s.From), s.Wrong.moment("until", s.Until)
	return s, f
}

// wholeTrail is what is read by a search, as it is recorded.
const wholeTrail = "the audit trail"

// reads records that the caller is about to read what of the trail, and what is searched for, by
// name, size and digest.
func (v *visit) reads(what string, s search) error {
	return front.Reads(v.ctx, v.audit, v.by(), s.query(), "read", what)
}

// trail is a page of the audit trail.
type trail struct {
	search
	Events       []eventRow
	Next, Export string
}

// Searched reports whether the search has a filter.
func (t trail) Searched() bool { return len(t.query()) > 0 }

func (v *visit) showTrail() error {
	s, f := v.search()
	t := trail{search: s, Export: withQuery(pathAudit+"/export", s.query())}
	if len(s.Wrong) > 0 {
		return v.showAs(http.StatusUnprocessableEntity, "audit", page{Title: "Audit", Here: "audit",
			Problem: problemBelow, Data: t})
	}
	if err := v.reads(wholeTrail, s); err != nil {
		return err
	}
	found, next, err := v.found(f)
	if err != nil {
		return err
	}
	ended := map[string]bool{} // requests whose intent is found with its outcome
	for _, e := range found {
		ended[e.RequestID] = ended[e.RequestID] || e.Intended
	}
	for _, e := range found {
		t.Events = append(t.Events, eventRow{e, ended[e.RequestID]})
	}
	if next != (store.EventPlace{}) {
		q := s.query()
		q.Set("after", next.String())
		t.Next = withQuery(pathAudit, q)
	}
	return v.show("audit", page{Title: "Audit", Here: "audit", Data: t})
}

// emptyPages is the maximum number of pages without an event that a visit passes over.
const emptyPages = 5

// found reads a page of a search. A malformed place is the start, as in other lists.
func (v *visit) found(f store.EventFilter) (found []store.Recorded, next store.EventPlace,
	err error) {
	next, _ = store.ParseEventPlace(v.r.URL.Query().Get("after"))
	for range emptyPages {
		found, next, err = v.store.SearchEvents(v.ctx, f, store.EventPage{After: next,
			Limit: pageSize})
		if err != nil || len(found) > 0 || next == (store.EventPlace{}) {
			break
		}
	}
	return found, next, err
}

// eventRow is an event in a list.
type eventRow struct {
	store.Recorded
	ended bool // its outcome is in the list
}

// Path is the page of the event.
func (e eventRow) Path() string { return fmt.Sprintf("%s/%d", pathAudit, e.ID) }

// Outcome is the status, with the failure if there is one. Of a call without an outcome the list
// has the intent.
func (e eventRow) Outcome() string {
	if e.Waits() && !e.ended {
		return "no outcome"
	}
	if e.Failure != "" {
		return fmt.Sprintf("%s: %s", e.Status, e.Failure)
	}
	return string(e.Status)
}

// Waits reports whether the event is an intent, which has no outcome.
func (e eventRow) Waits() bool { return e.Status == audit.Intent }

// Why is why the event ended as it did. The words of a handler's error are in the log alone: they
// may hold values.
func (e eventRow) Why() string {
	const handler = "the handler "
	switch {
	case e.Waits():
		return ""
	case e.Failure == audit.Timeout:
		return handler + "did not end within its time limit"
	case e.Failure == audit.Crashed:
		return handler + "panicked, or its result could not be sent"
	case e.Failure == audit.Limited:
		return "a limit: " + cmp.Or(e.Missing, "unknown")
	case e.Axis == audit.AxisArguments:
		return "the arguments do not fit the schema"
	case e.Failure == audit.Invalid:
		return "the request is not valid, as with an old cursor or state"
	case e.Failure != audit.Errored || e.Missing != "":
		return cmp.Or(e.Missing, e.Axis)
	case e.Axis == audit.AxisCancelled:
		return "the client cancelled it, or the server stopped"
	}
	return handler + "returned an error"
}

// About is what the event is about.
func (e eventRow) About() string {
	switch {
	case e.Tool != "":
		return e.Tool
	case e.Prompt != "":
		return e.Prompt
	case e.Action != "" && e.Object != "":
		return e.Action + ": " + e.Object
	case e.Action != "":
		return e.Action
	}
	return e.Resource
}

// Facts are the fields of an event, in the words of the record.
func (e eventRow) Facts() (all []fact) {
	took := strconv.FormatFloat(e.Milliseconds, 'f', -1, 64) + " ms"
	shown, failures, chained, intended, why := "", "", "", "", e.Why()
	if why == e.Missing || why == e.Axis {
		why = "" // it stands below
	}
	if e.Waits() {
		took = ""
	}
	if e.Intended {
		intended = "recorded before the call"
	}
	if e.Type == audit.Authentication {
		failures = strconv.Itoa(e.Total)
	} else if e.Total > 0 {
		shown = fmt.Sprintf("%d of %d", e.Visible, e.Total)
	}
	if e.Chain != nil {
		chained = fmt.Sprintf("number %d of %s", e.Chain.Seq, e.Chain.ID)
	}
	for _, f := range []fact{
		{"Time", e.Time.UTC().Format("2006-01-02 15:04:05.000 UTC")}, {"Type", string(e.Type)},
		{"Status", string(e.Status)}, {"Failure", string(e.Failure)}, {"Intent", intended},
		{"Why", why}, {"Decided by", e.Axis}, {"Missing", e.Missing},
		{"Issuer", e.Issuer}, {"Principal", e.Principal}, {"Client", e.Client},
		{"Roles", strings.Join(e.Roles, ", ")},
		{"Tool", e.Tool}, {"Prompt", e.Prompt}, {"Resource", e.Resource}, {"Action", e.Action},
		{"Object", e.Object}, {"Catalog", e.Catalog}, {"Shown", shown}, {"Failures", failures},
		{"Took", took}, {"Request", e.RequestID}, {"Trace", e.TraceID}, {"In its chain", chained},
	} {
		if f.Value != "" {
			all = append(all, fact{f.Name, visible.Text(f.Value)})
		}
	}
	return all
}

// showEvent shows one event, all of it.
func (v *visit) showEvent() error {
	id := v.id()
	if id == 0 {
		return store.ErrNotFound
	}
	if err := v.reads(fmt.Sprintf("event %d of %s", id, wholeTrail), search{}); err != nil {
		return err
	}
	found, _, err := v.store.Events(v.ctx, store.Page[int64]{After: id - 1, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(found) == 0 || found[0].ID != id:
		return store.ErrNotFound
	}
	return v.show("event", page{Title: fmt.Sprint("Event ", id), Here: "audit",
		Data: eventRow{Recorded: found[0]}})
}

const exportPattern = "GET " + pathAudit + "/export"

const (
	// exportTimeout bounds what an export may take, and stallTimeout how long a reader may take for a
	// part of it: who stops reading has its place no longer.
	exportTimeout = 10 * time.Minute
	stallTimeout  = 30 * time.Second
)

// exportTrail sends the events that a search finds as lines of JSON.
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
	return front.SendExport(v.w, v.r.WithContext(v.ctx), v.store, f, stallTimeout, v.log)
}
