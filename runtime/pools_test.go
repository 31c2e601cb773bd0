package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// poisoned counts the memory that tests have overwritten; unpoisoned switches this off.
var (
	poisoned   atomic.Int64
	unpoisoned atomic.Bool
)

const poison = "<a text of another caller>"

// All tests of this package run with memory that is overwritten between two messages. Those that
// compare answers see an answer, an event or a record that shares memory with a later message.
func init() {
	wire.Freed = func(memory []byte) {
		if unpoisoned.Load() {
			return
		}
		memory = memory[:cap(memory)]
		for n := copy(memory, poison); 0 < n && n < len(memory); n *= 2 {
			copy(memory[n:], memory[:n])
		}
		poisoned.Add(1)
	}
}

// echo is a toolset whose tools return what they get: by itself, in a stream, in an error, large,
// and by way of a panic. It has so many tools that a list takes a large part of the pools.
func echo() toolset.Toolset {
	type in struct{ Text string }
	do := func(f func(context.Context, string) (toolset.Result, error)) func(context.Context,
		toolset.Call) (toolset.Result, error) {
		return func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
			var arguments in
			if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
				return toolset.Result{}, err
			}
			return f(ctx, arguments.Text)
		}
	}
	tools := []toolset.Tool{
		{Name: "say", Call: do(func(_ context.Context, text string) (toolset.Result, error) {
			return toolset.Structured(map[string]string{"said": text}, nil)
		})},
		{Name: "compute", NonBlocking: true,
			Call: do(func(_ context.Context, text string) (toolset.Result, error) {
				return toolset.Structured(map[string]string{"computed": text}, nil)
			})},
		{Name: "large", Call: do(func(_ context.Context, text string) (toolset.Result, error) {
			return toolset.Structured(map[string]string{"said": strings.Repeat(text, 5000)}, nil)
		})},
		{Name: "work", Call: do(func(ctx context.Context, text string) (toolset.Result, error) {
			for i := range 3 {
				runtime.Progress(ctx).Report(float64(i), 3, text)
			}
			return toolset.Structured(map[string]string{"worked": text}, nil)
		})},
		{Name: "fail", Call: do(func(_ context.Context, text string) (toolset.Result, error) {
			return toolset.Result{}, errors.New("no " + text)
		})},
		{Name: "crash", Call: do(func(_ context.Context, text string) (toolset.Result, error) {
			panic(text)
		})},
	}
	for i := range 994 {
		tools = append(tools, toolset.Tool{Name: fmt.Sprintf("other_%03d", i),
			Description: "one of many", Call: tools[0].Call})
	}
	for i := range tools {
		tools[i].Input = `{"type":"object","properties":{"text":{"type":"string"}}}`
	}
	return toolsetOf(tools)
}

// record keeps all events, without their times.
type record struct {
	mu  sync.Mutex
	all []audit.Event
}

func (r *record) Record(_ context.Context, e audit.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.Time, e.Milliseconds = time.Time{}, 0
	r.all = append(r.all, e)
	return nil
}

func (r *record) taken() []audit.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// talked are the answers to many clients at once, by client and request, and the audit's events.
func talked(t *testing.T) (answers map[string]string, events []string) {
	t.Helper()
	sink := &record{}
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: sink},
		Lists: runtime.ListOptions{PageSize: 1000}}, echo())
	url := serve(t, s)
	var mu sync.Mutex
	answers = map[string]string{}
	note := func(who, what string, answer any) {
		mu.Lock()
		defer mu.Unlock()
		answers[who+", "+what] += fmt.Sprintf("%v\n", answer)
	}
	var all sync.WaitGroup
	for i, era := range slices.Concat(eras, eras, eras) {
		who := fmt.Sprintf("client %d of %s", i, era)
		c := newRaw(t, url, tokens["Member"], era)
		talk := stdioTalk(t, s, principalOf("Member"))
		all.Go(func() { converse(t, c, who, note) })
		all.Go(func() {
			for round := range 3 {
				for _, tool := range []string{"say", "compute", "large", "fail", "crash", "none"} {
					note(who, "stdio "+tool, talk((&raw{era: era}).request("tools/call",
						fmt.Sprintf(`"name":%q,"arguments":{"text":"%s, %d"}`, tool, who, round))))
				}
				note(who, "stdio list", talk((&raw{era: era}).request("tools/list", "")))
			}
		})
	}
	all.Wait()
	for _, e := range sink.taken() {
		events = append(events, requestIDs.ReplaceAllString(fmt.Sprintf("%+v", e), "ID"))
	}
	slices.Sort(events)
	return answers, events
}

// converse is one client over HTTP.
func converse(t *testing.T, c *raw, who string, note func(who, what string, answer any)) {
	for round := range 3 {
		text := fmt.Sprintf("%s, %d", who, round)
		arguments := fmt.Sprintf(`,"arguments":{"text":%q}`, text)
		for accept, name := range map[string]string{"application/json": "JSON",
			"text/event-stream, application/json": "SSE"} {
			further := map[string]string{"Accept": accept}
			for _, tool := range []string{"say", "compute", "large", "fail", "crash", "none"} {
				note(who, name+" "+tool, c.call(t, tool, arguments, further))
			}
			note(who, name+" list", c.ask(t, "tools/list", "", further))
			note(who, name+" malformed", c.send(t, "POST", `{"jsonrpc":"2.0","id":"`+text, further))
		}
		body := strings.Replace(c.wantingProgress(), `"name":"work"`, `"name":"work"`+arguments, 1)
		stream := c.stream(t, "POST", body, "")
		var ids []string
		for _, e := range stream.rest(t) {
			note(who, "stream", e.name+" "+e.data)
			ids = append(ids, e.id)
		}
		if c.session == "" {
			continue
		}
		note(who, "say in between", c.call(t, "say", arguments, nil))
		for i, id := range ids { // the same events again, from each place
			for _, e := range c.stream(t, "GET", "", id).rest(t) {
				note(who, fmt.Sprintf("resumed after %d", i), e.name+" "+e.data)
			}
		}
	}
}

// It is not parallel, since other tests poison memory.
func TestAnswersShareNoMemoryWithLaterMessages(t *testing.T) {
	unpoisoned.Store(true)
	want, wantEvents := talked(t)
	unpoisoned.Store(false)
	before := poisoned.Load()
	got, gotEvents := talked(t)
	if n := poisoned.Load() - before; n < 1000 {
		t.Errorf("memory was overwritten %d times", n)
	}
	if len(want) < 100 || !slices.Equal(slices.Sorted(maps.Keys(got)),
		slices.Sorted(maps.Keys(want))) {
		t.Errorf("%d answers, want %d", len(got), len(want))
	}
	for what := range want {
		if got[what] != want[what] {
			t.Errorf("%s: %.2000q\nwant %.2000q", what, got[what], want[what])
		}
	}
	if len(wantEvents) < 100 || len(gotEvents) != len(wantEvents) {
		t.Fatalf("%d events, want %d", len(gotEvents), len(wantEvents))
	}
	for i := range wantEvents {
		if gotEvents[i] != wantEvents[i] {
			t.Errorf("the event %s\nwant %s", gotEvents[i], wantEvents[i])
		}
	}
}

// An event that a client may resume keeps its own bytes, and not memory that a list needed before.
func TestEventsGiveTheirMemoryBack(t *testing.T) {
	s := newServer(t, runtime.Options{}, echo())
	c := newRaw(t, serve(t, s), tokens["Member"], "2025-11-25")
	unread := map[string]string{"Accept": "text/event-stream, application/json"}
	before := poisoned.Load()
	for range 20 {
		if got := c.call(t, "say", `,"arguments":{"text":"a"}`, unread); !strings.Contains(got.body,
			"event: message") {
			t.Fatal(got)
		}
	}
	if n := poisoned.Load() - before; n < 40 { // of the content, and of the response
		t.Errorf("memory was given back %d times", n)
	}
}

func TestPoisonFillsAllMemory(t *testing.T) {
	memory := make([]byte, 100)
	wire.Freed(memory[:0])
	if !bytes.HasPrefix(memory, []byte(poison+poison)) || bytes.IndexByte(memory, 0) >= 0 {
		t.Errorf("%q", memory)
	}
}
