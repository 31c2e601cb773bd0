package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// bare is go-sdk without anything of ours, which answers one line by another.
func bare(t *testing.T) func(line string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{}, nil
		},
	})
	go server.Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: out})
	t.Cleanup(func() { toServer.Close() })
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	talk := func(line string) string {
		go io.WriteString(toServer, line+"\n")
		if !lines.Scan() {
			return ""
		}
		return lines.Text()
	}
	talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	return talk
}

// TestParamsAreRefusedJustWhereTheSDKWouldEchoThem holds the shapes to what go-sdk's decoder does.
func TestParamsAreRefusedJustWhereTheSDKWouldEchoThem(t *testing.T) {
	talk := bare(t)
	calls := slices.DeleteFunc(slices.Sorted(maps.Keys(ParamsTypes())), func(m string) bool {
		// The first have no answer, and the last is refused before it is decoded.
		return strings.HasPrefix(m, "notifications/") || m == "subscriptions/listen" || m == "server/discover"
	})
	compare := func(t rapid.TB, method, params string) (echoed bool) {
		got := talk(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`)
		ours := CheckParams(method, []byte(strings.TrimSpace(params)))
		if echoed = strings.Contains(got, "unmarshaling"); echoed != (ours != nil) {
			t.Fatalf("%s %s: we say %+v, go-sdk %s", method, params, ours, got)
		}
		return echoed
	}
	for _, method := range calls {
		if compare(t, method, `{}`) || !compare(t, method, `7`) {
			t.Errorf("%s: an empty object is refused, or a number is not", method)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom(calls).Draw(t, "method")
		compare(t, method, drawParams(t, ParamsTypes()[method]))
	})
}

// drawParams makes a value that nearly fits a type.
func drawParams(t *rapid.T, typ reflect.Type) string {
	if rapid.IntRange(0, 14).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{`null`, `"s"`, `7`, `-1.5e3`, `1e999`, `true`, `[]`, `{}`, `["a",1]`, `{"a":[1e400]}`, `{"type":"x"}`}).Draw(t, "value")
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return drawParams(t, reflect.TypeFor[any]())
	case reflect.TypeFor[mcp.CompleteReference]():
		return rapid.SampledFrom([]string{`{"type":"ref/prompt","name":"x"}`, `{"type":"ref/resource","uri":"x"}`, `{"type":"ref/prompt","uri":"x"}`, `{"type":1}`, `{}`}).Draw(t, "ref")
	case reflect.TypeFor[mcp.InputResponseMap]():
		return rapid.SampledFrom([]string{`{}`, `{"a":{"action":"accept","content":{"x":1}}}`, `{"a":{"action":1}}`, `{"a":{"roots":[{"uri":"x"}]}}`, `{"a":{"roots":1}}`,
			`{"a":{"role":"user","model":"m","content":{"type":"text","text":"x"}}}`, `{"a":{"role":"user","content":{"type":"x"}}}`, `{"a":1}`, `{"a":null}`}).Draw(t, "answers")
	}
	space := rapid.SampledFrom([]string{"", " ", "\t "})
	switch typ.Kind() {
	case reflect.String:
		return rapid.SampledFrom([]string{`""`, `"x"`, `"\\\"}{"`, `"\u00e9,]"`}).Draw(t, "text")
	case reflect.Bool:
		return "true"
	case reflect.Float64:
		return rapid.SampledFrom([]string{"0", "-1.5", "1e300", "1e-999"}).Draw(t, "number")
	case reflect.Slice:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, space.Draw(t, "space")+drawParams(t, typ.Elem())+space.Draw(t, "space"))
		}
		return "[" + strings.Join(items, ",") + "]"
	case reflect.Map:
		var members []string
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			members = append(members, fmt.Sprintf(`"k%d"%s:%s%s`, i, space.Draw(t, "space"), space.Draw(t, "space"), drawParams(t, typ.Elem())))
		}
		return "{" + strings.Join(members, space.Draw(t, "space")+",") + space.Draw(t, "space") + "}"
	case reflect.Struct:
		var members []string
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" || rapid.IntRange(0, 3).Draw(t, "left out") == 0 {
				continue
			}
			members = append(members, `"`+name+`":`+drawParams(t, typ.Field(i).Type))
		}
		if rapid.Bool().Draw(t, "more") {
			members = append(members, `"Other\"":[{"a":"]"},1e999]`)
		}
		return space.Draw(t, "space") + "{" + strings.Join(members, ",") + "}"
	}
	return rapid.SampledFrom([]string{`1`, `"x"`, `null`, `{"a":[true,"}"]}`, `[1,{"b":2e5}]`, `{"a":1e999}`}).Draw(t, "any")
}
