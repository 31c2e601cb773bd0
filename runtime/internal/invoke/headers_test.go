package invoke

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestBoundHeadersAreThoseOfTheArguments(t *testing.T) {
	tool, err := NewTool(toolset.Tool{Name: "t", Input: `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
		"deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}}}`,
		Call: returns(toolset.Done(nil)),
	}, Schemas{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		arguments, header string
		values            []string
		want              string // of the message, after "header mismatch: "
	}{
		{`{"region":"eu"}`, "Region", []string{"eu"}, ""},
		{`{"region":"é"}`, "Region", []string{"=?base64?w6k=?="}, ""},
		{`{"region":"é"}`, "Region", []string{"=?base64?!?="}, "does not match the argument region"},
		{`{"region":"eu"}`, "Region", nil,
			"the argument region is sent without the header Mcp-Param-Region"},
		{`{"region":"eu"}`, "Region", []string{"eu", "eu"}, "Mcp-Param-Region is sent more than once"},
		{`{"region":"eu"}`, "Region", []string{"", "eu"}, "Mcp-Param-Region is sent more than once"},
		{`{"region":["eu"]}`, "Region", []string{"eu"}, "does not match the argument region"},
		{`{}`, "Region", []string{"eu"}, "Mcp-Param-Region is sent without the argument region"},
		{`{"region":null}`, "Region", nil, ""},
		{`{"region":""}`, "Region", []string{""}, ""},
		{`{"region":""}`, "Region", nil, "is sent without the header"},
		{`{"region":"eu"}`, "Region", []string{""}, "does not match the argument region"},
		{`{}`, "Region", []string{""}, ""},
		{`{"n":5}`, "N", []string{"5.0"}, ""},
		{`{"n":-5}`, "N", []string{"-5"}, ""},
		{`{"n":16}`, "N", []string{"0x10"}, "Mcp-Param-N does not match the argument n"},
		{`{"n":10}`, "N", []string{"1_0"}, "does not match"},
		{`{"n":5}`, "N", []string{"+5"}, "does not match"},
		{`{"n":5.5}`, "N", []string{"5.5"}, "does not match"},
		{`{"n":9007199254740991}`, "N", []string{"9007199254740991"}, ""},
		{`{"n":9007199254740993}`, "N", []string{"9007199254740993"}, "does not match"},
		{`{"deep":{"on":true}}`, "On", []string{"true"}, ""},
		{`{"deep":{"on":true}}`, "On", []string{"false"},
			"Mcp-Param-On does not match the argument deep.on"},
		{`{"deep":7}`, "On", nil, ""},
	} {
		headers := http.Header{}
		if test.values != nil {
			headers["Mcp-Param-"+test.header] = test.values
		}
		info := request.NewHTTP(&http.Request{URL: &url.URL{}, Header: headers}, identity.Identity{})
		info.Version = request.Stateless
		err := tool.Headers.Check(info, json.RawMessage(test.arguments))
		var rpc *jsonrpc.Error
		switch {
		case test.want == "" && err == nil:
		case !errors.As(err, &rpc) || rpc.Code != mcp.CodeHeaderMismatch || test.want == "" ||
			!strings.HasPrefix(rpc.Message, "header mismatch: ") ||
			!strings.Contains(rpc.Message, test.want):
			t.Errorf("%s with %q: %v", test.arguments, test.values, err)
		}
		info.Version = request.NewestWithSessions
		if err := tool.Headers.Check(info, json.RawMessage(test.arguments)); err != nil {
			t.Errorf("in a session: %v", err)
		}
		if err := tool.Headers.Check(&request.Info{Version: request.Stateless},
			json.RawMessage(test.arguments)); err != nil {
			t.Errorf("over stdio: %v", err)
		}
	}
}
