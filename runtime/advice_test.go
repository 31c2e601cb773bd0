package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestContentIsAddressedToTheModelOrThePerson(t *testing.T) {
	t.Parallel()
	type named string
	text := &mcp.TextContent{Text: "b", Annotations: &mcp.Annotations{
		LastModified: "2026-01-01T00:00:00Z"}}
	for _, test := range []struct {
		content mcp.Content
		want    string
	}{
		{runtime.ForModel(0.5, "a"),
			`{"type":"text","text":"a","annotations":{"audience":["assistant"],"priority":0.5}}`},
		{runtime.ForPerson(1, "a"),
			`{"type":"text","text":"a","annotations":{"audience":["user"],"priority":1}}`},
		{runtime.ForModel(7, ""),
			`{"type":"text","text":"","annotations":{"audience":["assistant"],"priority":1}}`},
		{runtime.ForPerson(math.Inf(1), "a"),
			`{"type":"text","text":"a","annotations":{"audience":["user"],"priority":1}}`},
		// 0 is the protocol's word for entirely optional, and go-sdk's for none.
		{runtime.ForModel(-1, "a"),
			`{"type":"text","text":"a","annotations":{"audience":["assistant"]}}`},
		{runtime.ForModel(math.NaN(), "a"),
			`{"type":"text","text":"a","annotations":{"audience":["assistant"]}}`},
		{runtime.ForPerson(1, named("a")),
			`{"type":"text","text":"a","annotations":{"audience":["user"],"priority":1}}`},
		{runtime.ForModel(1, text),
			`{"type":"text","text":"b","annotations":{"audience":["assistant"],` +
				`"lastModified":"2026-01-01T00:00:00Z","priority":1}}`},
		{runtime.ForModel(1, &mcp.ImageContent{Data: []byte("a"), MIMEType: "image/png"}),
			`{"type":"image","mimeType":"image/png","data":"YQ==",` + toModel + `}`},
		{runtime.ForModel(1, &mcp.AudioContent{Data: []byte("a"), MIMEType: "audio/wav"}),
			`{"type":"audio","mimeType":"audio/wav","data":"YQ==",` + toModel + `}`},
		{runtime.ForModel(1, &mcp.ResourceLink{URI: "a:b", Name: "b"}),
			`{"type":"resource_link","uri":"a:b","name":"b",` + toModel + `}`},
		{runtime.ForModel(1, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a:b",
			Text: "c"}}),
			`{"type":"resource","resource":{"uri":"a:b","text":"c"},` + toModel + `}`},
	} {
		if got := marshalled(t, test.content); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

// A shared content keeps its own audience, and a nil one stays nil.
func TestAContentForAnAudienceIsACopy(t *testing.T) {
	t.Parallel()
	shared := &mcp.ImageContent{Annotations: &mcp.Annotations{}}
	if c := runtime.ForPerson(1, shared); c == mcp.Content(shared) ||
		len(shared.Annotations.Audience) > 0 {
		t.Errorf("%+v", shared.Annotations)
	}
	if c := runtime.ForPerson(1, (*mcp.ImageContent)(nil)); c != nil {
		t.Errorf("%+v", c)
	}
}

const (
	toModel = `"annotations":{"audience":["assistant"],"priority":1}`
	advice  = `{"type":"text","text":"look there","annotations":{"audience":["assistant"],"priority":0.5}}`
)

// contents are those of an answer.
func contents(m serverMessage) (all []string) {
	for _, c := range m.Result.Content {
		all = append(all, string(c))
	}
	return all
}

func TestAdviceStandsInTheResult(t *testing.T) {
	t.Parallel()
	advise := func(ctx context.Context) {
		if !runtime.Advise(ctx, 0.5, "look %s", "there") {
			t.Error("it was not taken")
		}
	}
	handlers := map[string]func(context.Context, toolset.Call) (toolset.Result, error){
		"structured": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			advise(ctx)
			return toolset.Structured(map[string]any{"n": 1}, nil)
		},
		"silent": func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Structured(map[string]any{"n": 1}, nil)
		},
		"nothing": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			advise(ctx)
			return toolset.Done(nil)
		},
		"native": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			advise(ctx)
			return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{runtime.ForPerson(1,
				"own")}}, nil, nil)
		},
		"failing": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			advise(ctx)
			return toolset.Done(errors.New("no such thing"))
		},
		"percent": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			runtime.Advise(ctx, 1, "100 %% done, password=%s", "t0psecret")
			return toolset.Done(nil)
		},
		"many": func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			for i := range 20 {
				if got := runtime.Advise(ctx, 1, "%d", i); got != (i < 16) {
					t.Errorf("%d: %v", i, got)
				}
			}
			return toolset.Done(nil)
		},
	}
	var tools []toolset.Tool
	for name, call := range handlers {
		tools = append(tools, toolset.Tool{Name: name, Input: `{"type":"object"}`, Call: call})
	}
	s := newServer(t, runtime.Options{}, toolsetOf(tools))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		for name, want := range map[string][]string{
			"structured": {`{"type":"text","text":"{\"n\":1}"}`, advice},
			"silent":     {`{"type":"text","text":"{\"n\":1}"}`},
			"nothing":    {advice},
			"native":     {`{"type":"text","text":"own","annotations":{"audience":["user"],"priority":1}}`, advice},
			"failing":    {`{"type":"text","text":"no such thing"}`, advice},
			"percent": {`{"type":"text","text":"100 % done, password=***MASKED***",` + toModel +
				`}`},
		} {
			got := l.call(t, name, `{}`).response(t)
			if !reflect.DeepEqual(contents(got), want) ||
				got.Result.IsError != (name == "failing") {
				t.Errorf("%s: %s", name, got.text)
			}
			if structured := name == "structured" || name == "silent"; structured &&
				string(got.Result.StructuredContent) != `{"n":1}` || !structured &&
				got.Result.StructuredContent != nil {
				t.Errorf("%s: structured content %s", name, got.Result.StructuredContent)
			}
		}
		if got := l.call(t, "many", `{}`).response(t); len(got.Result.Content) != 16 {
			t.Errorf("%s", got.text)
		}
	})
}

// The model can fix invalid arguments and act on limits. The error of a
// handler is for anybody.
func TestErrorsThatTheModelCanFixAreAddressedToIt(t *testing.T) {
	t.Parallel()
	full := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]any{"text": strings.Repeat("x", 90)}, nil)
	}
	tools := []toolset.Tool{
		{Name: "arguments", Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(decode.NewError([]decode.Problem{{Pointer: "/id",
				Message: "is missing"}}))
		}},
		{Name: "timeout", Timeout: time.Minute,
			Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				runtime.Advise(ctx, 0.5, "look there")
				<-ctx.Done()
				if runtime.Advise(ctx, 1, "too late") {
					t.Error("advice was taken after the end of the call")
				}
				return toolset.Done(ctx.Err())
			}},
		{Name: "output", Limits: toolset.Limits{Output: 64}, Call: full},
		{Name: "fits", Limits: toolset.Limits{Output: 200}, Call: full},
		{Name: "advised", Limits: toolset.Limits{Output: 200},
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				runtime.Advise(ctx, 0.5, "look there")
				return full(ctx, call)
			}},
		{Name: "rate", Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(reached("rate"))
		}},
		{Name: "handler", Call: func(context.Context, toolset.Call) (toolset.Result, error) {
			return toolset.Done(errors.New("no such thing"))
		}},
		{Name: "panic", Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
			runtime.Advise(ctx, 0.5, "look there")
			panic("hunter2")
		}},
	}
	for i := range tools {
		tools[i].Input = `{"type":"object"}`
	}
	onEveryTransport(t, func(t *testing.T, era string, http bool) {
		synctest.Test(t, func(t *testing.T) {
			l := over(t, newServer(t, runtime.Options{}, toolsetOf(tools)), era, http)
			for name, test := range map[string]struct {
				text    string
				toModel bool
				more    []string
			}{
				"arguments": {"is missing", true, nil},
				"timeout":   {"timed out after 1m0s", true, []string{advice}},
				"output":    {"its limit on output", true, nil},
				"advised":   {"its limit on output", true, []string{advice}},
				"rate":      {"its limit on rate", true, nil},
				"handler":   {"no such thing", false, nil},
				"panic":     {"internal error", false, nil},
			} {
				got := l.call(t, name, `{}`).response(t)
				all := contents(got)
				if !got.Result.IsError || len(all) == 0 || !strings.Contains(all[0], test.text) ||
					strings.Contains(all[0], toModel) != test.toModel {
					t.Errorf("%s: %s", name, got.text)
				} else if !reflect.DeepEqual(append([]string(nil), all[1:]...), test.more) {
					t.Errorf("%s: %s", name, got.text)
				}
			}
			if got := l.call(t, "fits", `{}`).response(t); got.Result.IsError {
				t.Error(got.text)
			}
		})
	})
}

// A handler that asks the caller first is run twice for one message of an older client. What it
// advised before it asked is not said twice, and an answer that asks holds none.
func TestAdviceOfAHandlerThatAsksIsSentOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{},
		toolsetOf([]toolset.Tool{{Name: "drop", SDK: true, Input: `{"type":"object"}`,
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				runtime.Advise(ctx, 0.5, "look there")
				if toolset.Request[mcp.CallToolRequest](call).Params.InputResponses["sure"] == nil {
					return toolset.Native(&mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
						"sure": &mcp.ElicitParams{Message: "Sure?",
							RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}},
						nil, nil)
				}
				return toolset.Done(nil)
			}}}))
	url := serve(t, s)
	for _, era := range eras {
		asked := 0
		session := eliciting(t, url, "Member", era, func(string) *mcp.ElicitResult {
			asked++
			return &mcp.ElicitResult{Action: "accept"}
		})
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "drop"})
		if err != nil || res.IsError || asked != 1 || len(res.Content) != 1 ||
			marshalled(t, res.Content[0]) != advice {
			t.Errorf("%s: %v %s, asked %d times", era, err, marshalled(t, res), asked)
		}
	}
}

func TestAdviceIsTakenByToolsAndWhileTheyRun(t *testing.T) {
	t.Parallel()
	var kept context.Context
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) { kept = ctx }))
	overHTTP(t, serve(t, s), tokens["Member"], "2025-11-25").call(t, "work", `{}`)
	if runtime.Advise(kept, 1, "too late") {
		t.Error("advice was taken after the call")
	}
	others := newServer(t, runtime.Options{}, offering(func(ctx context.Context) {
		if runtime.Advise(ctx, 1, "who reads it") {
			t.Error("advice was taken where there is no result of a tool")
		}
	}))
	l := overHTTP(t, serve(t, others), tokens["Member"], "2025-11-25")
	for _, use := range everyUse[1:] {
		l.ask(t, use.method, use.name, use.params)
	}
}
