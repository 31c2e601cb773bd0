package runtime_test

import (
	"context"
	"math"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
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
