package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/authority"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// trail records some events: a call an hour from noon on, by turns allowed and denied.
func (w *world) trail(t *testing.T, n int) {
	t.Helper()
	events := make([]audit.Event, n)
	for i := range events {
		events[i] = audit.Event{
			Time: noon.Add(time.Duration(i) * time.Hour), Type: audit.ToolCalled,
			Tool: fmt.Sprintf("tool_%03d", i), Issuer: issuer, Principal: "vera", Client: "desk",
			Roles: []string{"Viewer"}, RequestID: fmt.Sprint("R", i),
			Status: audit.Success, Axis: "role", Milliseconds: 1.25,
		}
		if i%2 == 1 {
			events[i].Status, events[i].Failure = audit.Failed, audit.Denied
			events[i].Client, events[i].Missing = "other", "needs role Manager"
		}
	}
	if err := audit.InOrder(t.Context(), w.store.Audit(), events); err != nil {
		t.Fatal(err)
	}
}

func TestTrailIsSearched(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			w.trail(t, 6)
			must(0, w.store.Audit().Record(t.Context(),
				audit.Event{Time: noon, Type: audit.PromptGet, Prompt: "greet",
					Status: audit.Failed, Failure: audit.Errored}))
			must(0, w.store.Audit().Record(t.Context(),
				audit.Event{Time: noon, Type: audit.ResourceRead, Resource: "team://people/{id}",
					Status: audit.Failed, Failure: audit.Limited, Axis: "limit", Missing: "rate"}))
			for query, want := range map[string][]string{
				"client=desk": {"tool_004", "tool_002",
					"tool_000"},
				"principal=vera&failure=denied": {"tool_005", "tool_003",
					"tool_001"},
				"tool=tool_003":                                   {"tool_003"},
				"type=prompt_get":                                 {"greet"},
				"type=resource_read":                              {"team://people/{id}"},
				"from=2026-05-04T16:00&client=desk":               {"tool_004"},
				"from=2026-05-04T14:00&until=2026-05-04+16:00:00": {"tool_003", "tool_002"},
				"request=R1":                                      {"tool_001"},
				"client=nobody":                                   nil,
				"type=changed&principal=seed&from=2001-01-01&until=2001-01-02": nil,
			} {
				var got []string
				for _, row := range rows(t, page(t, w.get("token-admin", "/console/audit?"+query),
					http.StatusOK)) {
					if cells := strings.Split(row, "|"); cells[0] != "Time" {
						got = append(got, cells[3])
					}
				}
				equal(t, got, want)
			}
			body := page(t, w.get("token-admin",
				"/console/audit?client=other&tool=tool_005&until=2026-06-01"), http.StatusOK,
				`value="2026-06-01"`, `value="other"`,
				`href="/console/audit/export?client=other&amp;tool=tool_005&amp;until=2026-06-01"`,
				"Download the matches", "Show all")
			equal(t, rows(t, body)[1:],
				[]string{
					"2026-05-04 17:00:00 UTC|tool_called|vera by other|tool_005|failed: " +
						"denied|needs role Manager"})
			page(t, w.get("token-admin", "/console/audit?client=nobody"), http.StatusOK,
				"No event matches")
			page(t, w.get("token-admin", "/console/audit"), http.StatusOK, "Download all",
				"changed", "create catalog: ")
			for _, at := range []string{"/console/audit", "/console/audit/export"} {
				page(t, w.get("token-admin", at+"?from=soon&client=desk"),
					http.StatusUnprocessableEntity,
					"This is not a time. Write it in UTC, for example 2026-05-04 16:00.", `value="desk"`)
			}
		})
	}
}

func TestEventIsShownWithAllOfIt(t *testing.T) {
	w := onSQLite(t)
	mac := audit.MAC{1}
	must(0, w.store.Audit().Record(t.Context(), audit.Event{
		Time: noon, Type: audit.ToolCalled, RequestID: "R1", TraceID: "T1", Issuer: issuer,
		Principal: "vera", Client: "desk", Roles: []string{"Viewer"}, Tool: "read\u202efile",
		Status: audit.Success,
		Axis:   "role", Milliseconds: 1.25, Visible: 2, Total: 3,
		Arguments: []audit.Argument{{Name: "path", Bytes: 12, Digest: audit.DigestOf([]byte("x"))}},
		Grants:    []audit.Use{{Argument: "path", Kind: "file.read", Grant: "7"}},
		Chain:     &audit.Link{ID: "replica.1", Seq: 17, MAC: mac},
	}))
	e := must2(w.store.SearchEvents(t.Context(), store.EventFilter{RequestID: "R1"},
		store.EventPage{}))[0]
	body := page(t, w.get("token-admin", fmt.Sprint("/console/audit/", e.ID)), http.StatusOK,
		"2026-05-04 12:00:00.000 UTC", "tool_called", "vera", "desk", "Viewer", `read\u202efile`,
		"2 of 3", "1.25 ms", "T1", "number 17 of replica.1", `href="/console/audit?request=R1"`)
	equal(t, rows(t, body), []string{"Argument|Type|Grant", "path|file.read|7", "Name|Bytes|Digest",
		"path|12|" + audit.DigestOf([]byte("x")).String()})
	must(0, w.store.Audit().Record(t.Context(), audit.Event{Time: noon, Type: audit.Authentication,
		RequestID: "R2", Status: audit.Failed, Failure: audit.Denied, Action: "authenticate",
		Object: "192.0.2.1", Total: 7}))
	e = must2(w.store.SearchEvents(t.Context(), store.EventFilter{RequestID: "R2"},
		store.EventPage{}))[0]
	body = page(t, w.get("token-admin", fmt.Sprint("/console/audit/", e.ID)), http.StatusOK,
		">failed<", ">denied<", "192.0.2.1", "Failures", ">7<")
	if strings.Contains(body, "0 of 7") {
		t.Errorf("failures are shown as a list: %s", body)
	}
	for _, id := range []string{"0", "x", "+1", fmt.Sprint(e.ID + 1), "99999999999999999999"} {
		page(t, w.get("token-admin", "/console/audit/"+id), http.StatusNotFound)
	}
}

// TestSearchForAWordOfEarlierVersionsNamesTheCurrentOne instead of finding nothing.
func TestSearchForAWordOfEarlierVersionsNamesTheCurrentOne(t *testing.T) {
	w := onSQLite(t)
	for query, cure := range map[string]string{
		"type=tool_call": "type tool_called", "status=ok": "status success",
		"status=denied": "failure denied", "status=timeout": "failure timeout",
	} {
		page(t, w.get("token-admin", "/console/audit?"+query), http.StatusUnprocessableEntity,
			"This is a value of earlier versions. Search for the "+cure+", which also finds")
	}
}

// TestCallWithoutAnOutcomeIsShownAsSuch: a call is one row, and an intent is one alone where its
// outcome is not there.
func TestCallWithoutAnOutcomeIsShownAsSuch(t *testing.T) {
	w := onSQLite(t)
	event := func(request string, status audit.Status) audit.Event {
		return audit.Event{Time: noon, Type: audit.ToolCalled, RequestID: request,
			Principal: "vera",
			Tool:      "pay-" + request, Status: status, Intended: status == audit.Success,
			Arguments: []audit.Argument{{Bytes: 7}}}
	}
	if err := audit.InOrder(t.Context(), w.store.Audit(), []audit.Event{event("1", audit.Intent),
		event("1", audit.Success), event("2", audit.Intent)}); err != nil {
		t.Fatal(err)
	}
	const at = "2026-05-04 12:00:00 UTC|tool_called|vera|"
	equal(t, rows(t, page(t, w.get("token-admin", "/console/audit?principal=vera"),
		http.StatusOK))[1:], []string{at + "pay-2|no outcome|", at + "pay-1|success|"})
	equal(t, rows(t, page(t, w.get("token-admin", "/console/audit?status=intent"),
		http.StatusOK))[1:], []string{at + "pay-2|no outcome|"})
	equal(t, rows(t, page(t, w.get("token-admin", "/console/audit?request=1"), http.StatusOK))[1:],
		[]string{at + "pay-1|success|", at + "pay-1|intent|"})
	found := must2(w.store.SearchEvents(t.Context(), store.EventFilter{Principal: "vera"},
		store.EventPage{}))
	page(t, w.get("token-admin", fmt.Sprint("/console/audit/", found[0].ID)), http.StatusOK,
		"This is an intent", "the call is still running",
		`href="/console/audit?request=2"`, "all of them")
	body := page(t, w.get("token-admin", fmt.Sprint("/console/audit/", found[1].ID)), http.StatusOK,
		"recorded before the call")
	if strings.Contains(body, "This is an intent") {
		t.Error("an outcome is shown as an intent")
	}
}

func TestTrailGoesOnOnTheNextPage(t *testing.T) {
	w := onSQLite(t)
	w.trail(t, 250)
	at, seen := "/console/audit?principal=vera", 0
	for at != "" {
		body := page(t, w.get("token-admin", at), http.StatusOK)
		for _, row := range rows(t, body)[1:] {
			if want := fmt.Sprintf("tool_%03d", 249-seen); !strings.Contains(row, want) {
				t.Fatalf("%d is %s, want %s", seen, row, want)
			}
			seen++
		}
		_, next, _ := strings.Cut(body, `<p class="more"><a href="`)
		next, _, _ = strings.Cut(next, `"`)
		at = html.UnescapeString(next)
	}
	if seen != 250 {
		t.Errorf("%d events", seen)
	}
}

// TestSearchThatFindsNothingInItsPartGoesOnWithALink: by two filters whose events are many, and
// none has both.
func TestSearchThatFindsNothingInItsPartGoesOnWithALink(t *testing.T) {
	w := onSQLite(t)
	events := make([]audit.Event, 16_000) // more than a visit reads
	for i := range events {
		events[i] = audit.Event{Time: noon, Type: audit.ToolCalled, Status: audit.Success,
			Principal: []string{"vera", "paul"}[i%2], Client: []string{"desk", "other"}[i%2]}
	}
	for part := range slices.Chunk(events, 2000) {
		must(0, audit.InOrder(t.Context(), w.store.Audit(), part))
	}
	at, pages, body := "/console/audit?principal=vera&client=other", 0, ""
	for ; at != ""; pages++ {
		body = page(t, w.get("token-admin", at), http.StatusOK)
		_, next, _ := strings.Cut(body, `<p class="more"><a href="`)
		next, _, _ = strings.Cut(next, `"`)
		at = html.UnescapeString(next)
		if at != "" && !strings.Contains(body, "No event of the searched part matches.") {
			t.Fatal(body)
		}
	}
	if pages < 2 || !strings.Contains(body, "No event matches.") {
		t.Errorf("%d pages, the last of which is %s", pages, body)
	}
}

func TestTrailIsDownloaded(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, engine(t))
			w.trail(t, 1000)
			rec := w.get("token-admin", "/console/audit/export?principal=vera&client=desk")
			if h := rec.Header(); rec.Code != http.StatusOK ||
				h.Get("Content-Type") != "application/x-ndjson" ||
				h.Get("Content-Disposition") != `attachment; filename="audit.jsonl"` {
				t.Errorf("%d %v", rec.Code, h)
			}
			var tools []string
			for lines := bufio.NewScanner(rec.Body); lines.Scan(); {
				var e audit.Event
				if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Client != "desk" {
					t.Fatalf("%s: %v", lines.Text(), err)
				}
				tools = append(tools, e.Tool)
			}
			if len(tools) != 500 || !slices.IsSorted(tools) {
				t.Errorf("%d lines", len(tools))
			}
			if rec := w.get("token-admin",
				"/console/audit/export?client=nobody"); rec.Code != http.StatusOK ||
				rec.Body.Len() > 0 || rec.Header().Get("Content-Disposition") == "" {
				t.Errorf("nothing is %d %v %s", rec.Code, rec.Header(), rec.Body)
			}
			if rec := w.do(request(http.MethodHead, "/console/audit/export", "token-admin",
				nil)); rec.Code != http.StatusOK || rec.Body.Len() > 0 {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
}

// brittle is an answer whose reader goes away.
type brittle struct{ *httptest.ResponseRecorder }

func (b brittle) Write(p []byte) (int, error) {
	if b.Body.Len() > 0 {
		return 0, errBroken
	}
	return b.ResponseRecorder.Write(p)
}

// TestDownloadThatFailsIsCutOff: what came of it does not pass for all of it; and one that never
// began is answered.
func TestDownloadThatFailsIsCutOff(t *testing.T) {
	w := onSQLite(t)
	w.trail(t, 1000)
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("it ends with %v", p)
			}
		}()
		w.ServeHTTP(brittle{httptest.NewRecorder()},
			request(http.MethodGet, "/console/audit/export", "token-admin", nil))
		t.Error("it ends as if it were whole")
	}()
	if !strings.Contains(w.log.String(), "an export of the audit trail was cut off") {
		t.Errorf("the log: %s", w.log)
	}
	// Over a real connection the client notices, and its place is free again.
	web := httptest.NewServer(w)
	defer web.Close()
	for range 3 {
		r := must(http.NewRequest(http.MethodGet, web.URL+"/console/audit/export", nil))
		r.AddCookie(&http.Cookie{Name: "mcpgen-console", Value: "token-admin"})
		res := must(web.Client().Do(r))
		lines := 0
		for scanner := bufio.NewScanner(res.Body); scanner.Scan(); {
			lines++
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || lines < 1000 {
			t.Errorf("%d, %d lines", res.StatusCode, lines)
		}
	}
	must(0, w.store.Close())
	for _, at := range []string{"/console/audit", "/console/audit/1", "/console/audit/export"} {
		rec := w.get("token-admin", at)
		page(t, rec, http.StatusServiceUnavailable, "The database does not respond")
		if rec.Header().Get("Content-Disposition") != "" {
			t.Errorf("%s is a download", at)
		}
	}
}

// pausing is an answer whose reader takes its time.
type pausing struct {
	*httptest.ResponseRecorder
	begun, end chan struct{}
}

func (p *pausing) Write(b []byte) (int, error) {
	if p.begun != nil {
		close(p.begun)
		p.begun = nil
	}
	<-p.end
	return p.ResponseRecorder.Write(b)
}

func TestDownloadsAreFewAtATime(t *testing.T) {
	w := onSQLite(t)
	w.trail(t, 10)
	end, all := make(chan struct{}), make(chan int)
	for range front.MaxExports {
		begun := make(chan struct{})
		go func() {
			p := &pausing{httptest.NewRecorder(), begun, end}
			w.ServeHTTP(p, request(http.MethodGet, "/console/audit/export", "token-admin", nil))
			all <- p.Code
		}()
		<-begun
	}
	page(t, w.get("token-admin", "/console/audit/export"), http.StatusTooManyRequests,
		"The maximum number of downloads is running. Try again when one has ended.")
	close(end)
	for range front.MaxExports {
		if code := <-all; code != http.StatusOK {
			t.Error(code)
		}
	}
	if rec := w.get("token-admin", "/console/audit/export"); rec.Code != http.StatusOK {
		t.Error(rec.Code)
	}
}

// Readers of the trail are recorded in it, and a trail that cannot record them is not shown.
func TestWhoReadsTheTrailIsInIt(t *testing.T) {
	w := onSQLite(t)
	events := recorded(w)
	for i, read := range []struct{ at, what string }{
		{"/console/audit?client=desk&from=2026-05-04", "the audit trail"},
		{"/console/audit/1", "event 1 of the audit trail"}, {"/console/audit/export?tool=view",
			"the audit trail"},
	} {
		at := read.at
		if rec := w.get("token-admin", at); rec.Code != http.StatusOK || len(*events) != i+1 {
			t.Fatalf("%s: %d, %d events", at, rec.Code, len(*events))
		}
		if e := (*events)[i]; e.Type != audit.AdminRequest || e.Status != audit.Success ||
			e.Principal != "ada" || e.Action != "read" || e.Object != read.what {
			t.Errorf("%s: %+v", at, e)
		}
	}
	if e := (*events)[0]; len(e.Arguments) != 2 || e.Arguments[0].Name != "client" ||
		e.Arguments[0].Bytes != 4 || e.Arguments[0].Digest != audit.DigestOf([]byte("desk")) {
		t.Errorf("%+v", e.Arguments)
	}
	failing := audit.SinkFunc(func(context.Context, audit.Event) error { return errBroken })
	w.Handler = console.NewOf(w.machine, w.store, authority.New(w.machine, w.store, stored.Stored),
		console.Options{Audit: failing})
	for _, at := range []string{"/console/audit", "/console/audit/1", "/console/audit/export"} {
		page(t, w.get("token-admin", at), http.StatusInternalServerError, "Something failed")
	}
}

// What package audit can write, the search suggests.
func TestSearchKnowsWhatIsRecorded(t *testing.T) {
	w := onSQLite(t)
	body := page(t, w.get("token-admin", "/console/audit"), http.StatusOK)
	source := string(must(os.ReadFile("../../../audit/event.go")))
	found := regexp.MustCompile(`(?m)^\t\w+ +(?:Type|Status) += ("\w+")`).FindAllStringSubmatch(
		source, -1)
	for _, m := range found {
		if !strings.Contains(body, "<option value="+m[1]+">") {
			t.Errorf("%s is not suggested", m[1])
		}
	}
	if len(found) < 15 {
		t.Errorf("%d words of package audit", len(found))
	}
}
