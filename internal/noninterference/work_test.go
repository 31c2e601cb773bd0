package noninterference

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/internal/callpath"
	"github.com/mcpgen/mcpgen/internal/callpath/trace"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// work is what the product does for one message, until every goroutine waits.
type work struct {
	functions int // entered; 0 unless the runtime is instrumented
	mallocs   int // 0 in an instrumented runtime
	queries   int // of the host and of the source of catalogs
}

func (w work) String() string {
	return fmt.Sprintf("%d functions, %d allocations, %d queries", w.functions, w.mallocs, w.queries)
}

const runs = 21 // of each message of a pair, whose medians count

// A pair has two messages, which differ in a name: a hidden one, and an unknown one as long.
type pair struct {
	name     string
	messages [2]message
}

// pairs are those of the hidden items of a server.
func (w *world) pairs() (all []pair) {
	p := w.plan
	tr := &trial{plan: p}
	add := func(what, method, hidden, unknown, params string) {
		of := pair{name: what + ", " + method}
		for i, name := range []string{hidden, unknown} {
			meta := tr.meta(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
			params := strings.ReplaceAll(params, "NAME", name)
			if m := named.FindStringSubmatch(params); m != nil {
				name = m[1]
			}
			tr.id = 6
			if method == "tools/list" {
				meta = append(meta, `"`+runtime.MetaCatalog+`":"`+name+`"`)
			}
			of.messages[i] = tr.message(method, name, meta, params)
		}
		all = append(all, of)
	}
	subscribing := "resources/subscribe"
	subscription := `"uri":"NAME"`
	if p.Era == stateless {
		subscribing, subscription = "subscriptions/listen",
			`"notifications":{"resourceSubscriptions":["NAME"]}`
	}
	add("catalog", "tools/list", "of others", "of nobody", "")
	if p.Person {
		w.fieldPairs("base", add)
	}
	for _, i := range p.Items {
		f := i.Forms[w.which]
		if f != nil && f.Takes && !i.Hidden && !w.off[i.Name] && !p.own(i) {
			w.fieldPairs(i.Name, add)
		}
		if f == nil || !i.Hidden && !w.off[i.Name] {
			if f != nil && f.Value != nil && !f.Lacks {
				add("value of "+i.Name, "tools/call", "purge", "purse",
					`"name":"`+i.Name+`","arguments":{"verb":"NAME"}`)
			}
			continue
		}
		what := i.Kind.String()
		if p.own(i) {
			what += " of an adopted server"
		}
		// One letter differs, not the first, and both are digits of hexadecimal numbers, or neither
		// is: the masker reads them alike. No template matches the URI.
		unknown := i.Name[:len(i.Name)-1] + "e"
		if i.Kind == access.Resources {
			unknown = strings.NewReplacer("doc:", "dod:", "rows:", "rovs:").Replace(i.Name)
		}
		switch i.Kind {
		case access.Tools:
			for _, arguments := range []string{`{}`, `{"at":"x"}`, `[]`} {
				add(what+" "+arguments, "tools/call", i.Name, unknown, `"name":"NAME","arguments":`+
					arguments)
			}
			if f.Alias {
				add("alias", "tools/call", i.Name+"_old", unknown+"_old", `"name":"NAME"`)
			}
		case access.Prompts:
			add(what, "prompts/get", i.Name, unknown, `"name":"NAME","arguments":{"id":"x"}`)
			add(what, "completion/complete", i.Name, unknown,
				`"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"id","value":"1"}`)
		case access.Resources:
			if slices.ContainsFunc(p.Items, func(other item) bool {
				return !other.Hidden && matches(other.Name, uri(i.Name))
			}) {
				continue // the URI is not hidden
			}
			add(what, "resources/read", uri(i.Name), uri(unknown), `"uri":"NAME"`)
			add(what, subscribing, uri(i.Name), uri(unknown), subscription)
			add(what, "completion/complete", i.Name, unknown,
				`"ref":{"type":"ref/resource","uri":"NAME"},"argument":{"name":"id","value":"1"}`)
		}
	}
	if task := w.clients[theOther].last["task"]; task != "" {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			add("task", method, task, missing["task"], `"taskId":"NAME","inputResponses":{}`)
		}
	}
	return all
}

// named is the name of a tool or prompt in params.
var named = regexp.MustCompile(`^"name":"([^"]+)"`)

// serve sends a message of the caller without a connection, and ends the request once every
// goroutine waits.
func (w *world) serve(m message, session string) (*httptest.ResponseRecorder, work) {
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, m.verb, "http://localhost"+runtime.PathMCP,
		strings.NewReader(m.body))
	r.RemoteAddr = "127.0.0.1:1"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range m.header {
		r.Header.Set(name, value)
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	if token := w.plan.Caller.Subject; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res := httptest.NewRecorder()
	trace.Take()
	w.queries.Store(0)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	go w.server.Handler().ServeHTTP(res, r)
	synctest.Wait()
	goruntime.ReadMemStats(&after)
	// In an instrumented build, the record of functions allocates too.
	counted := trace.Len() > 0
	entered := slices.DeleteFunc(trace.Take(), w.plan.excepted)
	done := work{len(entered), int(after.Mallocs - before.Mallocs), int(w.queries.Load())}
	if counted {
		done.mallocs = 0
	}
	cancel()
	synctest.Wait()
	w.entered = entered
	return res, done
}

// more returns the functions that one message enters more often than the other.
func (w *world) more(of pair, session string) string {
	counts := map[trace.Entry]int{}
	for side, m := range of.messages {
		w.serve(m, session)
		for _, e := range w.entered {
			counts[e] += 1 - 2*side
		}
	}
	var all []string
	for e, n := range counts {
		if n != 0 {
			all = append(all, fmt.Sprintf("%s:%d %+d", e.File, e.Line, n))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// measure returns the medians of the work for both messages of a pair.
func (w *world) measure(of pair, session string) (medians [2]work) {
	var all [2][]work
	for run := range runs + 2 {
		for side := range 2 {
			// Each comes first as often as the other.
			if run%2 == 1 {
				side = 1 - side
			}
			if _, done := w.serve(of.messages[side], session); run > 1 { // pools are full
				all[side] = append(all[side], done)
			}
		}
	}
	for side, of := range all {
		median := func(of []work, figure func(work) int) int {
			return figure(slices.SortedFunc(slices.Values(of), func(a, b work) int {
				return cmp.Compare(figure(a), figure(b))
			})[runs/2])
		}
		medians[side] = work{median(of, func(w work) int { return w.functions }),
			median(of, func(w work) int { return w.mallocs }),
			median(of, func(w work) int { return w.queries })}
	}
	return medians
}

// exceptions are the functions that do not count, by the beginning of their files, with the reason.
// The page about threats has their sizes.
var exceptions = map[string]string{
	"runtime/access/":                      "the rule of a hidden name is evaluated, and an unknown name has none",
	"runtime/internal/discovery/policy.go": "the same",
	"runtime/audit/":                       "the event of a refusal has other words for a hidden name",
}

// excepted reports whether a function does not count. None counts with a log, whose line of a
// refusal has other words for a hidden name, each of which is masked.
func (p plan) excepted(e trace.Entry) bool {
	for begin := range exceptions {
		if strings.HasPrefix(e.File, begin) {
			return true
		}
	}
	return p.Logged
}

// TestHiddenAndUnknownDoEqualWork compares the work for a hidden name and for an unknown one.
func TestHiddenAndUnknownDoEqualWork(t *testing.T) {
	var pool sync.Pool
	for range 100 {
		if pool.Put(t); pool.Get() == nil {
			t.Skip("pools drop items under the race detector, so that allocations differ")
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	pairs, functions := 0, 0
	property(t, func(t *testing.T, rt *rapid.T, p plan) {
		p.Stdio = false
		goruntime.GC() // and not during a measurement: it empties pools
		w := newWorld(t, p, 0)
		if w == nil {
			rt.Skip("overlapping templates")
		}
		defer w.end()
		w.connect("other", p.Era, false)
		off := pick(rt, "switched off", append([]string{"none"}, p.names(access.Tools)...)...)
		w.change(catalog.Change{Tools: true}, func() { w.off[off] = true })
		w.down = p.Aware && flip(rt, "the host is down")
		synctest.Wait()
		tr := &trial{plan: p}
		session := ""
		if p.Era == stateless {
			w.clients[theOther].send(tr.message("tools/call", "base",
				tr.meta(allAbilities), `"name":"base"`))
			synctest.Wait()
			w.clients[theOther].take()
		} else {
			res, _ := w.serve(message{verb: http.MethodPost, body: tr.initialize()}, "")
			session = res.Header().Get("Mcp-Session-Id")
		}
		for _, of := range w.pairs() {
			medians := w.measure(of, session)
			for more := 0; medians[0] != medians[1] && more < 3; more++ {
				medians = w.measure(of, session) // a busy machine moves goroutines between pools
			}
			pairs++
			functions += medians[0].functions
			if medians[0] != medians[1] {
				panic(difference(fmt.Sprintf("%s\n%s\n%s\nhidden: %v\nunknown: %v\n%s", p, of.name,
					of.messages[0], medians[0], medians[1], w.more(of, session))))
			}
		}
	})
	t.Logf("%d pairs, %d functions", pairs, functions)
}

// instrumentedPackages are those whose functions count: all that the kernel calls.
var instrumentedPackages = []string{"runtime", "runtime/access", "runtime/audit", "runtime/decode",
	"runtime/identity", "runtime/redact", "runtime/internal/*", "internal/loader",
	"internal/uritemplate"}

// The same in a build that counts the functions which the runtime enters.
func TestInstrumentedWorkIsEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the runtime with counters")
	}
	root := rootOf(t)
	var instrumented []string
	for _, pattern := range instrumentedPackages {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			instrumented = append(instrumented, strings.TrimPrefix(dir, root+"/"))
		}
	}
	dir := t.TempDir()
	overlay, err := callpath.Overlay(root, dir, instrumented, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", command(t, "", nil, compile(t, overlay),
		flagsOf("TestHiddenAndUnknownDoEqualWork")...))
}
