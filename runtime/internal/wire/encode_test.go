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
	nested := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x", Meta: mcp.Meta{"b": 1}}}}
	for _, test := range []struct {
		res        mcp.Result
		resultType string
		want       string
		typed      bool
	}{
		{&mcp.ListToolsResult{Tools: []*mcp.Tool{}}, "complete", `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`, true},
		{&mcp.CompleteResult{}, "", ``, true},
		{&mcp.InitializeResult{}, "", ``, false},
		{nested, "", `{"content":[{"type":"text","text":"x","_meta":{"b":1}}]}`, false},
		{&mcp.GetPromptResult{Meta: mcp.Meta{"a": "<"}, Messages: []*mcp.PromptMessage{}}, "", `{"_meta":{"a":"<"},"messages":[]}`, false},
		{&mcp.GetPromptResult{Meta: mcp.Meta{"a": 1}, Messages: []*mcp.PromptMessage{}}, "x", `{"_meta":{"a":1},"resultType":"x","messages":[]}`, false},
	} {
		e, err := EncodeResult(test.res)
		if err != nil {
			t.Errorf("%T: %v", test.res, err)
			continue
		}
		got, err := e.JSON(test.resultType)
		if err != nil || e.Typed != test.typed || !json.Valid(got) || test.want != "" && string(got) != test.want {
			t.Errorf("%T: %s %v %v, want %s", test.res, got, e.Typed, err, test.want)
		}
	}
	for want, e := range map[string]*Encoded{
		`{}`:                      {Body: []byte(`{}`)},
		`{"resultType":"x"}`:      {Body: []byte(`{}`)},
		`{"_meta":{"a":1}}`:       {Body: []byte(`{}`), Meta: mcp.Meta{"a": 1}},
		`{"_meta":{"a":1},"b":2}`: {Body: []byte(`{"b":2}`), Meta: mcp.Meta{"a": 1}},
	} {
		resultType := ""
		if strings.Contains(want, "resultType") {
			resultType = "x"
		}
		if got, err := e.JSON(resultType); err != nil || string(got) != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
	if _, err := (&Encoded{Body: []byte(`{}`), Meta: mcp.Meta{"a": math.NaN()}}).JSON(""); err == nil {
		t.Error("NaN is encoded")
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
	for _, test := range []struct {
		res   mcp.Result
		typed bool
	}{
		{&mcp.ListToolsResult{}, true}, {&mcp.ListPromptsResult{}, true}, {&mcp.ListResourcesResult{}, true},
		{&mcp.ListResourceTemplatesResult{}, true}, {&mcp.DiscoverResult{}, true}, {&mcp.ReadResourceResult{}, false},
	} {
		e, err := EncodeResult(test.res)
		if err != nil || !strings.Contains(string(e.Body), `"cacheScope":"private"`) || e.Typed != test.typed {
			t.Errorf("%T: %+v %v", test.res, e, err)
		}
		if before, err := json.Marshal(test.res); err != nil || strings.Contains(string(before), "private") {
			t.Errorf("%T was written to: %s %v", test.res, before, err)
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
