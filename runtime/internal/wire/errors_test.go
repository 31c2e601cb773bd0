package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

func TestErrorsThatClientsRead(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{UnknownTool("a\x00"), `{"code":-32602,"message":"unknown tool \"a\\x00\""}`},
		{UnknownPrompt("a"), `{"code":-32602,"message":"unknown prompt \"a\""}`},
		{UnknownResource("a\x00"), `{"code":-32602,"message":"Resource not found","data":{"uri":"a\u0000"}}`},
		{MethodNotFound("a"), `{"code":-32601,"message":"method not found: \"a\""}`},
		{InvalidParams("%v", errors.New("50%")), `{"code":-32602,"message":"50%"}`},
		{InternalError(), `{"code":-32603,"message":"internal error"}`},
		{Expired(), `{"code":-32600,"message":"the credential has expired"}`},
		{Refused(), `{"code":403,"message":"403 Forbidden"}`},
		{TooManyListeners(429),
			`{"code":429,"message":"too many sessions and subscriptions of this caller: end one, or try again later"}`},
		{TooManyListeners(503),
			`{"code":429,"message":"too many open subscriptions on this server: try again later"}`},
		{Unavailable("tasks"), `{"code":503,"message":"tasks are not available now: try again later"}`},
		{WireError(errors.New("password=x")), `{"code":-32603,"message":"internal error"}`},
		{WireError(fmt.Errorf("a: %w", context.Canceled)), `{"code":-32603,"message":"the request was cancelled"}`},
		{WireError(fmt.Errorf("a: %w", &jsonrpc.Error{Code: 7, Message: "b", Data: json.RawMessage(`{`)})), `{"code":7,"message":"a: b"}`},
		{WireError(&jsonrpc.Error{Code: 7, Message: "b", Data: json.RawMessage(`{}`)}), `{"code":7,"message":"b","data":{}}`},
		{MaskedError{&jsonrpc.Error{Code: 7, Message: "b"}}.Unwrap(), `{"code":7,"message":"b"}`},
	} {
		var rpc *jsonrpc.Error
		errors.As(test.err, &rpc)
		if got, err := json.Marshal(rpc); err != nil || string(got) != test.want {
			t.Errorf("%s %v, want %s", got, err, test.want)
		}
	}
	d := access.Decision{Axis: access.AxisRole}
	if got := Forbidden(access.Prompts, "p", d).Error(); !strings.Contains(got, `403 Forbidden: prompt "p" `+d.Missing()) {
		t.Error(got)
	}
	if got := FailureOf(nil, ForbiddenTool("t", d)); got == nil || got.Error() != `403 Forbidden: tool "t" `+d.Missing() {
		t.Error(got)
	}
	if MaskedError.Error(MaskedError{&jsonrpc.Error{Message: "b"}}) != "b" {
		t.Error("a masked error has other words")
	}
}

func TestFailuresOfResults(t *testing.T) {
	failure := errors.New("x")
	for _, test := range []struct {
		err  error
		res  *mcp.CallToolResult
		want string
	}{
		{failure, nil, "x"}, {failure, ErrorResult("y"), "x"}, {nil, nil, "<nil>"}, {nil, &mcp.CallToolResult{}, "<nil>"}, {nil, ErrorResult("y"), "y"},
		{nil, &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "a"}, &mcp.ImageContent{}, (*mcp.TextContent)(nil), &mcp.TextContent{Text: "b"}}}, "a\nb"},
	} {
		if got := fmt.Sprint(FailureOf(test.err, test.res)); got != test.want {
			t.Errorf("%v, %+v: %s, want %s", test.err, test.res, got, test.want)
		}
	}
}

type unreadable struct{ error }

func (unreadable) Error() string   { return "pin 4711" }
func (u unreadable) Unwrap() error { return u.error }

func TestErrorsForTheLogHaveNoValues(t *testing.T) {
	err := json.Unmarshal([]byte(`{"pin":4711471147}`), &struct {
		Pin int8 `json:"pin"`
	}{})
	const words = `a value that does not fit a int8 (field "pin")`
	for want, err := range map[string]error{
		words:                      err,
		"upstream: " + words + "!": fmt.Errorf("upstream: %w!", err),
		"x":                        errors.New("x"),
	} {
		if got := WithoutValues(err).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := WithoutValues(unreadable{err}).Error(); got != words {
		t.Errorf("%s, want %s", got, words)
	}
	if WithoutValues(nil) != nil {
		t.Error("nil is an error")
	}
}

type limit struct{ error }

func (limit) Reached() string { return "rate" }

func TestFailuresThatTheModelCanCorrectAreForTheModel(t *testing.T) {
	malformed := decode.NewError([]decode.Problem{{Pointer: "/" + ghp, Message: "is not a property"}})
	for want, err := range map[string]error{
		"no " + redact.Mask:                       errors.New("no " + ghp),
		"/" + redact.Mask + ": is not a property": malformed,
		"slow":                 limit{errors.New("slow")},
		"token=" + redact.Mask: errors.New("token=x1"),
		"a: /" + redact.Mask + ": is not a property": fmt.Errorf("a: %w", malformed),
	} {
		res := FailureResult(redact.Masker{}, err)
		text := res.Content[0].(*mcp.TextContent)
		forModel := text.Annotations != nil && text.Annotations.Audience[0] == "assistant" && text.Annotations.Priority == 1
		if text.Text != want || !res.IsError || forModel != strings.Contains(want, "property") && forModel != (want == "slow") {
			t.Errorf("%v: %q %+v", err, text.Text, text.Annotations)
		}
	}
	person := For("user", 2, &mcp.TextContent{Text: "x"}).(*mcp.TextContent)
	if person.Annotations.Audience[0] != "user" || person.Annotations.Priority != 1 || Priority(math.NaN()) != 0 || Priority(-1) != 0 || Priority(0.5) != 0.5 {
		t.Errorf("%+v", person.Annotations)
	}
}

func TestErrorsAndResultsAreMasked(t *testing.T) {
	mask := redact.Masker{}
	if err := errors.New(ghp); MaskError(mask, err) != err {
		t.Error("an error of another kind is changed")
	}
	fine := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: ghp}}}
	if got, err := MaskResult(mask, fine); err != nil || got != mcp.Result(fine) {
		t.Errorf("%v %v", got, err)
	}
	failed := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{(*mcp.TextContent)(nil), &mcp.EmbeddedResource{}, &mcp.TextContent{Text: ghp}}}
	got, err := MaskResult(mask, failed)
	if err != nil || got.(*mcp.CallToolResult).Content[2].(*mcp.TextContent).Text != redact.Mask || failed.Content[2].(*mcp.TextContent).Text != ghp {
		t.Errorf("%v %v", got, err)
	}
	if got, err := MaskResult(mask, &mcp.CallToolResult{IsError: true}); err != nil || got.(*mcp.CallToolResult).Content != nil {
		t.Errorf("%v %v", got, err)
	}
	for want, value := range map[string]any{"panic while masking": angry{}, "unsupported type": func() {}} {
		_, err := MaskResult(mask, &mcp.CallToolResult{IsError: true, StructuredContent: value})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestContentsOfFailuresAreMasked(t *testing.T) {
	meta := func() mcp.Meta { return mcp.Meta{"of/key": "x1", "about": []any{ghp}} }
	failed := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{
		&mcp.TextContent{Text: "a " + ghp, Meta: meta()},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://" + ghp, Text: "b " + ghp, MIMEType: "a/" + ghp, Meta: meta()}, Meta: meta()},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://1", Blob: []byte("e " + ghp)}},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "x://2", Blob: []byte{0xff, 1}}},
		&mcp.ResourceLink{URI: "y://" + ghp, Name: ghp, Title: ghp, Description: "c " + ghp, MIMEType: "b/" + ghp, Meta: meta()},
		&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}, Meta: meta()}, &mcp.AudioContent{MIMEType: "audio/wav", Data: []byte{1}, Meta: meta()},
	}, StructuredContent: map[string]any{"token": "x1", "n": 7, "text": "d " + ghp}, Meta: meta()}
	before, err := json.Marshal(failed)
	if err != nil {
		t.Fatal(err)
	}
	res, err := MaskResult(redact.Masker{}, failed)
	if err != nil {
		t.Fatal(err)
	}
	masked := res.(*mcp.CallToolResult)
	masked.Content[2].(*mcp.EmbeddedResource).Resource.Text = string(masked.Content[2].(*mcp.EmbeddedResource).Resource.Blob)
	got, err := json.Marshal(masked)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(got), redact.Mask); strings.Contains(string(got), ghp) || n != 12+2*7 || !strings.Contains(string(got), `"n":7`) || !strings.Contains(string(got), `"/wE="`) {
		t.Errorf("%d masks: %s", n, got)
	}
	if after, err := json.Marshal(failed); err != nil || string(after) != string(before) {
		t.Errorf("the result was written to: %s", after)
	}
}

// A text of the client is masked before it is cut, at the edge of a character. The cut is visible.
func TestEchoIsMaskedAndThenCut(t *testing.T) {
	const secret = "a-secret-of-the-caller"
	mask := redact.Masker{Texts: func() []string { return []string{secret} }}
	for text, want := range map[string]string{
		"":                               "",
		strings.Repeat("a", maxEcho):     strings.Repeat("a", maxEcho),
		strings.Repeat("a", maxEcho+1):   strings.Repeat("a", maxEcho) + "…",
		strings.Repeat("€", 2*maxEcho):   strings.Repeat("€", maxEcho/3) + "…",
		"b" + strings.Repeat("a", 9<<20): "b" + strings.Repeat("a", maxEcho-1) + "…",
		"a " + secret:                    "a " + redact.Mask,
		strings.Repeat("-", maxEcho-20) + secret + "-": strings.Repeat("-", maxEcho-20) +
			redact.Mask + "-…",
		strings.Repeat("-", maxEcho-5) + secret: strings.Repeat("-", maxEcho-5) + redact.Mask[:5] + "…",
	} {
		if got := Echo(mask, text); got != want {
			t.Errorf("%.50s… (%d bytes): %q", text, len(text), got)
		}
	}
	rpc := MaskError(mask, WireError(UnknownTool(secret)))
	if want := UnknownTool(redact.Mask).Error(); rpc.Error() != want {
		t.Errorf("%v, want %s", rpc, want)
	}
}
