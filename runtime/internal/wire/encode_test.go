package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// angry panics when it is marshalled.
type angry struct{}

func (angry) MarshalJSON() ([]byte, error) { panic("angry") }

// odd is a result that is not a JSON object.
type odd struct{ mcp.ResultBase }

func (*odd) MarshalJSON() ([]byte, error) { return []byte("7"), nil }

func TestEncodedResults(t *testing.T) {
	server, err := ServerInfo(&mcp.Implementation{Name: "s", Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	const name = `"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}`
	nested := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x", Meta: mcp.Meta{"b": 1}}}}
	asking := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}, RequestState: "s"}
	for _, test := range []struct {
		res              mcp.Result
		before, inItself string
	}{
		{&mcp.ListToolsResult{Tools: []*mcp.Tool{}}, `{"ttlMs":0,"cacheScope":"private","tools":[]}`,
			`{"_meta":{` + name + `},"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`},
		{&mcp.SubscriptionsListenResult{}, `{}`, `{"_meta":{` + name + `},"resultType":"complete"}`},
		{nested, `{"content":[{"type":"text","text":"x","_meta":{"b":1}}]}`,
			`{"_meta":{` + name + `},"content":[{"type":"text","text":"x","_meta":{"b":1}}],"resultType":"complete"}`},
		{asking, `{"content":null,"requestState":"s","inputRequests":{}}`,
			`{"_meta":{` + name + `},"content":null,"requestState":"s","inputRequests":{},"resultType":"input_required"}`},
		{&mcp.GetPromptResult{Meta: mcp.Meta{"a": "<"}, Messages: []*mcp.PromptMessage{}}, `{"_meta":{"a":"<"},"messages":[]}`,
			`{"_meta":{` + name + `,"a":"<"},"messages":[],"resultType":"complete"}`},
		{&mcp.GetPromptResult{Meta: mcp.Meta{mcp.MetaKeyServerInfo: 1}, Messages: []*mcp.PromptMessage{}},
			`{"_meta":{"io.modelcontextprotocol/serverInfo":1},"messages":[]}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":1},"messages":[],"resultType":"complete"}`},
		{encoded(t, 7).Result(true), `{"content":[{"type":"text","text":"{\"result\":7}"}],"structuredContent":{"result":7}}`,
			`{"_meta":{` + name + `},"content":[{"type":"text","text":"{\"result\":7}"}],"structuredContent":{"result":7},"resultType":"complete"}`},
	} {
		for _, itself := range []bool{false, true} {
			e, err := EncodeResult(test.res)
			if err != nil {
				t.Fatalf("%T: %v", test.res, err)
			}
			want := test.before
			if itself {
				e.Identify(server)
				want = test.inItself
			} else {
				e.ResultType = ""
			}
			if got := string(e.Append(nil)); got != want || !json.Valid([]byte(got)) {
				t.Errorf("%T:\ngot  %s\nwant %s", test.res, got, want)
			}
		}
	}
	e, err := EncodeResult(&mcp.InitializeResult{})
	if err != nil || e.ResultType != "" {
		t.Errorf("a handshake has the resultType %q: %v", e.ResultType, err)
	}
}

func TestResultsThatCannotBeEncoded(t *testing.T) {
	for want, res := range map[string]mcp.Result{
		"a nil result": nil,
		"panic while marshalling a *mcp.CallToolResult: angry": &mcp.CallToolResult{StructuredContent: angry{}},
		"a *wire.odd that is not a JSON object":                &odd{},
		"json: unsupported value: NaN":                         &mcp.CallToolResult{Meta: mcp.Meta{"a": math.NaN()}},
		"unsupported type: func()":                             &mcp.CallToolResult{StructuredContent: func() {}},
	} {
		if e, err := EncodeResult(res); err == nil || !strings.Contains(err.Error(), want) || e != nil {
			t.Errorf("%v %v, want %s", e, err, want)
		}
	}
	if _, err := EncodeResult((*mcp.CallToolResult)(nil)); err != ErrNilResult {
		t.Error(err)
	}
}

// A result that depends on the caller must not be shared by caches.
func TestResultsThatDependOnTheCallerArePrivate(t *testing.T) {
	for _, res := range []mcp.Result{
		&mcp.ListToolsResult{}, &mcp.ListPromptsResult{}, &mcp.ListResourcesResult{},
		&mcp.ListResourceTemplatesResult{}, &mcp.DiscoverResult{}, &mcp.ReadResourceResult{},
	} {
		e, err := EncodeResult(res)
		if err != nil || !strings.Contains(string(e.Body), `"cacheScope":"private"`) {
			t.Errorf("%T: %+v %v", res, e, err)
		}
		if before, err := json.Marshal(res); err != nil || strings.Contains(string(before), "private") {
			t.Errorf("%T was written to: %s %v", res, before, err)
		}
	}
}

func TestEncodersAreUsedAgain(t *testing.T) {
	e, text, err := encode(map[string]string{"a": "<&>"})
	if err != nil || string(text) != `{"a":"<&>"}` {
		t.Errorf("%s %v", text, err)
	}
	e.free()
	long := strings.Repeat("x", 1<<20)
	if text, err := Marshal(long); err != nil || string(text) != `"`+long+`"` {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
