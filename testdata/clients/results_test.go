package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// result is what a client gets of a tool of testdata/results: structured content as JSON, and a
// text, which is the same JSON if Text is empty. InSession is the content in versions before
// 2026-07-28; empty for an error of the tool.
type result struct{ Tool, Content, InSession, Text string }

// typed and adopted are the results of a toolset and of a go-sdk server, in the order of calls.
var (
	typed = []result{
		{Tool: "list", Content: `["a"]`, InSession: `{"result":["a"]}`},
		{Tool: "text", Content: `"a"`, InSession: `{"result":"a"}`},
		{Tool: "number", Content: `1.5`, InSession: `{"result":1.5}`},
		{Tool: "anything", Content: `{"name":"a"}`, InSession: `{"result":{"name":"a"}}`},
		{Tool: "pointer", Content: `{"name":"a"}`, InSession: `{"name":"a"}`},
		{Tool: "nil_pointer", Content: `null`},
		{Tool: "native_list", Content: `["a"]`, InSession: `{"result":["a"]}`},
		{Tool: "types_by_hand", Content: `null`, InSession: `{"result":null}`},
	}
	adopted = []result{
		{"slice", `["a"]`, `{"result":["a"]}`, `["a"]`},
		{"object_or_null", `{"name":"a"}`, `{"name":"a"}`, "own text"},
		{"null_of_object", `null`, ``, "own text"},
		{"untyped", `[1]`, `{"result":[1]}`, "own text"},
		{"without_schema", `[1]`, `{"result":[1]}`, "own text"},
	}
)

// in returns the content and the text in a version; the text alone for an error.
func (r result) in(version string) (content, text string) {
	content = r.Content
	if version != stateless {
		content = r.InSession
	}
	switch {
	case content == "":
		return "", "tool " + r.Tool + " returned a nil result"
	case r.Text != "":
		return content, r.Text
	}
	return content, content
}

const stateless = "2026-07-28"

// check compares what a client got with what it should get.
func (r result) check(version string, content any, text string, err error) error {
	want, wantText := r.in(version)
	if want == "" {
		if err == nil || !strings.Contains(err.Error(), wantText) {
			return fmt.Errorf("%s: %v and the text %s, %v; want an error", r.Tool, content, text, err)
		}
		return nil
	}
	got, encodeErr := json.Marshal(content)
	if err = errors.Join(err, encodeErr); err != nil {
		return fmt.Errorf("%s: %w", r.Tool, err)
	}
	if string(got) != want || text != wantText {
		return fmt.Errorf("%s: %s and the text %s, want %s and %s", r.Tool, got, text, want, wantText)
	}
	return nil
}

// of returns the results of a feature: "results", or "null" for those that are null.
func of(feature string, all []result) (some []result) {
	for _, r := range all {
		if (r.Content == "null") == (feature == "null") {
			some = append(some, r)
		}
	}
	return some
}

// callsAll lists and calls the tools with some results.
func callsAll(ctx context.Context, s *session, all []result) error {
	for _, r := range all {
		if err := lists(ctx, s, r.Tool); err != nil {
			return err
		}
		content, text, err := s.result(ctx, r.Tool)
		if err := r.check(s.version, content, text, err); err != nil {
			return err
		}
	}
	return nil
}

// inspectsAll lists and calls the tools with the Inspector, which makes a connection for each.
func inspectsAll(
	version string, server []string, all []result,
	inspect func(server []string, user string, args ...string) (string, error),
) error {
	list, err := inspect(server, "", "tools/list", "--strict")
	for _, r := range all {
		if err != nil || !strings.Contains(list, fmt.Sprintf("%q", r.Tool)) {
			return fmt.Errorf("%s is not in %s, %v", r.Tool, list, err)
		}
		out, err := inspect(server, "", "tools/call", "--tool-name", r.Tool)
		var got struct {
			StructuredContent any
			Content           []struct{ Text string }
		}
		if err == nil {
			err = json.Unmarshal([]byte(out), &got)
		}
		text := ""
		if len(got.Content) > 0 {
			text = got.Content[0].Text
		}
		if err := r.check(version, got.StructuredContent, text, err); err != nil {
			return err
		}
	}
	return nil
}
