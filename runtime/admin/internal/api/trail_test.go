package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/api"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/store"
)

const (
	auditEvents = "/api/v1/admin/audit/events"
	auditExport = "/api/v1/admin/audit/export"
	auditPrune  = "/api/v1/admin/audit/prune"
)

var key = []byte("a key of the chains, for tests and for nothing else")

// chained writes events to the store by a chain, which its changes are in as well.
func (w *world) chained(events ...audit.Event) {
	w.Helper()
	c := must(chain.New(w.Audit(), chain.Options{
		Key: key, Replica: "a", Logger: slog.New(slog.DiscardHandler)}))
	w.SealBy(c)
	for _, e := range events {
		must(0, c.Record(context.Background(), e))
	}
	must(w.CreateOrg(context.Background(), "sealed", setup))
	must(0, c.Close(context.Background()))
	w.SealBy(nil)
}

func calls(n int, at time.Time) (all []audit.Event) {
	for i := range n {
		all = append(all, audit.Event{
			Time: at.Add(time.Duration(i) * time.Minute), Type: audit.ToolCalled,
			RequestID: fmt.Sprint("r", i), Issuer: issuer, Principal: []string{"ada", "bob"}[i%2],
			Client: "cli", Tool: []string{"read", "ask", "other"}[i%3],
			Arguments: []audit.Argument{{Name: "path", Bytes: 3,
				Digest: audit.DigestOf([]byte(`"a"`))}},
		})
		all[i].End([]audit.Failure{"", audit.Denied}[i/2%2])
	}
	return all
}

var longAgo = time.Date(2026, 5, 4, 3, 0, 0, 0, time.UTC)

func TestTrailIsSearchedByAllThatTheStoreKnows(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.chained(calls(12, longAgo)...)
		for query, want := range map[string]string{
			"tool=read": "[r9 r6 r3 r0]", "tool=read&principal=bob": "[r9 r3]",
			"client=cli&failure=denied":                "[r11 r10 r7 r6 r3 r2]",
			"status=failed&until=2026-05-04T04:00:00Z": "[r11 r10 r7 r6 r3 r2]",
			"request_id=r5":                            "[r5]", "client=other": "[]",
			"type=tool_called&from=2026-05-04T03:05:00Z&until=2026-05-04T05:08:00%2B02:00": "[r7 r6 r5]", "principal=%27%20OR%201=1": "[]", "tool=read&limit=3": "[r9 r6 r3]",
			"until=2026-05-04T03:00:00Z": "[]",
		} {
			var ids []string
			got := decoded[api.Page[api.Record]](
				w, w.send("root", "GET", auditEvents+"?"+query, ""))
			for _, e := range got.Items {
				ids = append(ids, e.Event.RequestID)
				if e.Event.Arguments[0].Digest == (audit.Digest{}) || e.Event.Chain == nil ||
					e.Event.Issuer != issuer {
					t.Errorf("%+v", e)
				}
			}
			if fmt.Sprint(ids) != want || (got.Next != "") != strings.Contains(query, "limit") {
				t.Errorf("%s: %v, %q", query, ids, got.Next)
			}
		}
		whole := w.walk(auditEvents, 1000, func() {})
		// The newest first, and page by page while more is recorded, each once.
		paged := w.walk(auditEvents, 3, func() {
			must(0, w.Audit().Record(t.Context(),
				audit.Event{Time: time.Now(), Type: audit.ToolList}))
		})
		if fmt.Sprint(paged) != fmt.Sprint(whole) || len(whole) < 13 {
			t.Errorf("%v, and %v", paged, whole)
		}
		for _, query := range []string{"?type=", "?status=good", "?from=yesterday",
			"?from=0001-01-01T00:00:00Z", "?until=0001-01-01T00:00:00Z", "?tool=a&tool=b",
			"?clinet=a", "?after=x", "?limit=0"} {
			for _, path := range []string{auditEvents, auditExport} {
				if got := w.send("root", "GET", path+query, ""); got.status != 422 &&
					got.status != 400 {
					t.Errorf("%s%s: %s", path, query, got)
				}
			}
		}
	})
}

// Names of callers cannot change how an export, a page or a problem is displayed.
func TestTrailHasEscapesForWhatReordersText(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const odd = "read\u202egpj\u2028\x7f\u009b\U000e0041\x1b"
		event := calls(1, longAgo)[0]
		event.Tool, event.Principal, event.Arguments[0].Name = odd, odd, odd
		w.chained(event)
		for _, path := range []string{auditEvents, auditExport,
			auditEvents + "?" + url.QueryEscape(odd) + "=" + url.QueryEscape(odd)} {
			got := w.send("root", "GET", path, "")
			if hidden := strings.IndexFunc(got.body, func(r rune) bool {
				return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
			}); hidden >= 0 {
				t.Errorf("%s: %q", path, got.body[hidden:])
			}
			if want := `read\u202egpj\u2028\u007f\u009b\udb40\udc41\u001b`; !strings.Contains(got.body, want) {
				t.Errorf("%s: %s", path, got.body)
			}
		}
	})
}

// TestPageWithoutAnEventHasACursorIfTheSearchIsNotAtItsEnd: by two filters whose events are many,
// and none has both.
func TestPageWithoutAnEventHasACursorIfTheSearchIsNotAtItsEnd(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	events := make([]audit.Event, 10_000)
	for i := range events {
		events[i] = audit.Event{Time: longAgo, Type: audit.ToolCalled, Status: audit.Success,
			Principal: []string{"ada", "bob"}[i%2], Client: []string{"cli", "web"}[i%2]}
	}
	must(0, audit.InOrder(t.Context(), w.Audit(), events))
	pages, next := 0, "?principal=ada&client=web"
	for after := ""; ; pages++ {
		got := decoded[api.Page[api.Record]](w, w.send("root", "GET", auditEvents+next+after, ""))
		if len(got.Items) > 0 || pages > 10 {
			t.Fatalf("%+v", got)
		}
		if got.Next == "" {
			break
		}
		after = "&after=" + got.Next
	}
	if pages == 0 {
		t.Error("one page reads the whole trail")
	}
}

func TestFilterOfEarlierVersionsNamesTheCurrentOne(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for query, cure := range map[string]string{
		"type=tool_call": "type=tool_called", "status=ok": "status=success",
		"status=denied": "failure=denied", "status=invalid": "failure=invalid",
	} {
		for _, path := range []string{auditEvents, auditExport} {
			got := w.send("root", "GET", path+"?"+query, "")
			if got.status != 422 ||
				!strings.Contains(got.body, "a value of earlier versions: use "+cure) {
				t.Errorf("%s?%s: %s", path, query, got)
			}
		}
	}
}

func TestReadingTheTrailIsRecordedByItsFiltersDigests(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	for _, path := range []string{auditEvents, auditExport} {
		w.refusals.take()
		if got := w.send("root", "GET", path+"?client=cli&tool=a%20secret", ""); got.status != 200 {
			t.Error(got)
		}
		all := w.refusals.take()
		if len(all) != 1 || len(all[0].Arguments) != 2 || all[0].Arguments[0].Name != "client" ||
			all[0].Arguments[1].Digest != audit.DigestOf([]byte("a secret")) ||
			strings.Contains(fmt.Sprint(all), "secret") {
			t.Errorf("%+v", all)
		}
		w.refusals.err = errors.New("the disk is full")
		if got := w.send("root", "GET", path, ""); got.status != 500 ||
			strings.Contains(got.body, "disk") {
			t.Error(got)
		}
		w.refusals.err = nil
	}
}

func TestExportIsTheTrailAsItWasWrittenAndVerifies(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		w.chained(calls(2000, longAgo)...)
		got := w.send("root", "GET", auditExport, "")
		if got.status != 200 || got.header.Get("Content-Type") != "application/x-ndjson" ||
			!strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
			t.Fatal(got.status, got.header)
		}
		var kept strings.Builder
		n := must(w.ExportEvents(t.Context(), &kept, store.EventFilter{}))
		if got.body != kept.String() || n < 2000 {
			t.Errorf("%d bytes, not the %d of the store", len(got.body), kept.Len())
		}
		verified := must(chain.Verify(chain.Lines("export", strings.NewReader(got.body)),
			chain.VerifyOptions{Key: key, Unchained: true}))
		if !verified.Sound() || verified.Records < 2001 {
			t.Errorf("%+v", verified)
		}
		altered := strings.Replace(got.body, `"tool_name":"other"`, `"tool_name":"read"`, 1)
		if report := must(chain.Verify(chain.Lines("export", strings.NewReader(altered)),
			chain.VerifyOptions{Key: key, Unchained: true})); report.Sound() {
			t.Error("one that was altered verifies")
		}
		some := w.send("root", "GET", auditExport+"?principal=ada&status=success", "")
		if n := strings.Count(some.body, "\n"); n != 500 || strings.Contains(some.body, `"bob"`) {
			t.Errorf("%d lines", n)
		}
		for method, path := range map[string]string{
			"GET": auditExport + "?client=nobody", "HEAD": auditExport} {
			if none := w.send("root", method, path, ""); none.status != 200 || none.body != "" ||
				none.header.Get("Content-Type") != "application/x-ndjson" {
				t.Error(none)
			}
		}
	})
}

// TestExportThatFailsOnItsWayIsCutOff: by a reader that stops reading, and by one that has left.
// The server can be shut down.
func TestExportThatFailsOnItsWayIsCutOff(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.direct.Hurry(200 * time.Millisecond)
	big := calls(1, longAgo)[0]
	big.Object = strings.Repeat("x", 1<<20)
	for range 24 {
		must(0, w.Audit().Record(t.Context(), big))
	}
	ended := make(chan struct{}, 10)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		w.direct.ServeHTTP(rw, r)
	}))
	defer web.Close()
	ask := func(ctx context.Context) *http.Response {
		r := must(http.NewRequestWithContext(ctx, "GET", web.URL+auditExport, nil))
		r.Header.Set("Authorization", "Bearer root")
		return must(http.DefaultClient.Do(r))
	}
	// Both places are taken by readers that do not read, and come free by themselves.
	slow := []*http.Response{ask(t.Context()), ask(t.Context())}
	for _, res := range slow {
		if res.StatusCode != 200 {
			t.Fatal(res.Status)
		}
	}
	if got := w.send("root", "GET", auditExport+"?client=nobody", ""); w.direct.Exporting() == 2 &&
		(got.status != 429 || !strings.Contains(got.field("detail"), "2 exports")) {
		t.Error(got)
	}
	<-ended
	<-ended
	if got := w.send("root", "GET", auditExport+"?client=nobody", ""); got.status != 200 {
		t.Error(got)
	}
	for _, res := range slow {
		if n, err := io.Copy(io.Discard, res.Body); err == nil || n >= 24<<20 {
			t.Errorf("%d bytes passed for the whole", n)
		}
		res.Body.Close()
	}
	ctx, leave := context.WithCancel(t.Context())
	res := ask(ctx)
	must(bufio.NewReader(res.Body).ReadByte())
	leave()
	res.Body.Close()
	must(0, web.Config.Shutdown(t.Context()))
	if !strings.Contains(w.log.String(), "was cut off") {
		t.Error(w.log)
	}
}

// deadlines is a response that notes the deadlines of its connection.
type deadlines struct {
	*httptest.ResponseRecorder
	write []time.Time
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.write = append(d.write, at)
	return nil
}

// TestExportLeavesTheConnectionAsItWas: its deadline ends nothing that comes later.
func TestExportLeavesTheConnectionAsItWas(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	w.chained(calls(20, longAgo)...)
	r := httptest.NewRequest("GET", auditExport, nil)
	r.Header.Set("Authorization", "Bearer root")
	res := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	w.direct.ServeHTTP(res, r)
	if !must(chain.Verify(chain.Lines("export", res.Body),
		chain.VerifyOptions{Key: key, Unchained: true})).Sound() {
		t.Error("it does not verify")
	}
	if n := len(res.write); n < 2 || res.write[0].IsZero() || !res.write[n-1].IsZero() {
		t.Errorf("the connection has the deadlines %v", res.write)
	}
}

func TestOldestPartOfTheTrailIsPrunedAndTheRestVerifies(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			url, recent := engine(t), time.Now().Add(-2*time.Hour).Truncate(time.Second)
			older := must(store.Open(t.Context(), url))
			(&world{Store: older, TB: t}).chained(append(calls(5, longAgo), calls(3, recent)...)...)
			must(0, older.Close())
			w := newWorld(t, url, runtime.Options{})
			sealed := must(chain.New(w.Audit(),
				chain.Options{Key: key, Replica: "b", Logger: slog.New(slog.DiscardHandler)}))
			w.SealBy(sealed)
			defer sealed.Close(t.Context())
			w.recorded()
			for _, body := range []string{`{}`, `{"before":"soon"}`, `{"before":null}`,
				fmt.Sprintf(`{"before":%q}`, time.Now().Format(time.RFC3339)),
				`{"before":"9999-01-01T00:00:00Z"}`} {
				if got := w.send("root", "POST", auditPrune, body); got.status != 422 {
					t.Errorf("%s: %s", body, got)
				}
			}
			body := fmt.Sprintf(`{"before":%q}`, recent.Format(time.RFC3339))
			if got := w.send("root", "POST", auditPrune, body); got.status != 200 ||
				got.field("deleted") != "5" {
				t.Error(got)
			}
			changed := w.recorded()
			if len(changed) != 1 || changed[0].Event.Principal != "root" ||
				changed[0].Event.Action != "prune audit events" ||
				len(changed[0].Event.Arguments) != 1 {
				t.Errorf("%+v", changed)
			}
			if again := w.send("root", "POST", auditPrune, body); again.field("deleted") != "0" ||
				len(w.recorded()) != 0 {
				t.Error(again)
			}
			left := w.send("root", "GET", auditExport, "").body
			if strings.Contains(left, "2026-05-04") || strings.Count(left, `"tool_called"`) != 3 {
				t.Error(left)
			}
			if report := must(chain.Verify(chain.Lines("export", strings.NewReader(left)),
				chain.VerifyOptions{Key: key, Unchained: true})); !report.Sound() {
				t.Errorf("%+v", report)
			}
		})
	}
}
