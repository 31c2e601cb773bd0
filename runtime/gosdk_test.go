package runtime_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

// TestAnswersAreThoseOfGoSDK sends the same messages to a go-sdk server alone and to the same
// server behind the guard, over HTTP, with a session of its own for each message. Each difference
// is in sdkDifferences with its reason, and each of these occurs.
func TestAnswersAreThoseOfGoSDK(t *testing.T) {
	t.Parallel()
	seen := map[string]string{} // an example of each difference
	sent := 0
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		bare, guarded := sdkPeers(t, version)
		for _, m := range sdkMessages(version) {
			sent++
			a, b := bare.send(t, version, m), guarded.send(t, version, m)
			for _, d := range sdkDiffer(a, b) {
				if seen[d] == "" {
					seen[d] = fmt.Sprintf("%s %s\n%s\n  alone:   %s\n  guarded: %s", version, m.name, m.body, a, b)
				}
			}
		}
	}
	for d, example := range seen {
		if sdkDifferences[d] == "" {
			t.Errorf("%q has no reason: %s", d, example)
		}
	}
	for d := range sdkDifferences {
		if seen[d] == "" && !testing.Short() { // a quarter of the messages
			t.Errorf("%q does not occur", d)
		}
	}
	t.Logf("%d messages, %d differences", sent, len(seen))
}

// sdkServer returns the server of the probes, with subscriptions, instructions and an error of its
// own.
func sdkServer(t *testing.T) *mcp.Server {
	s := (&probing{t: t, ctx: t.Context()}).sdkServer(&mcp.ServerOptions{Instructions: "Ask.",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil }})
	s.AddTool(&mcp.Tool{Name: "code", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: 7, Message: "no", Data: json.RawMessage(`{"a":1}`)}
		})
	return s
}

// sdkPeers serves the server alone, and behind the guard with a rule for everybody.
func sdkPeers(t *testing.T, version string) (bare, guarded sdkPeer) {
	alone := sdkServer(t)
	bare = sdkPeer(memnet.Start(t, &http.Server{Handler: mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return alone },
		&mcp.StreamableHTTPOptions{Stateless: version == "2026-07-28"})}))
	rules := map[string]access.Rule{"room": {Resource: "lib://rooms/{name}", Public: true}}
	for _, name := range []string{"broken", "greet"} {
		rules["prompt "+name] = access.Rule{Prompt: name, Public: true}
	}
	for _, name := range []string{"broken", "bytes", "hall"} {
		rules["resource "+name] = access.Rule{Resource: "lib://" + name, Public: true}
	}
	for _, tool := range []string{"add", "fail", "code", "talk", "ask", "form", "lines", "link",
		"tooled", "wait"} {
		rules[tool] = access.Rule{Public: true}
	}
	s, err := runtime.Adopt(sdkServer(t), runtime.Options{Anonymous: true,
		Logger: slog.New(slog.DiscardHandler)}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return bare, sdkPeer(serve(t, s))
}

// sdkMessage is one message over HTTP.
type sdkMessage struct {
	name, verb, body string
	header           map[string]string // an empty value removes the header
	alone            bool              // without a session
}

// sdkBodies are the params of each method, and what their clients send else.
var sdkBodies = []struct{ method, params string }{
	{"ping", `{}`}, {"tools/list", `{}`}, {"tools/list", `{"cursor":"x"}`},
	{"tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`},
	{"tools/call", `{"name":"fail","arguments":{}}`}, {"tools/call", `{"name":"code"}`},
	{"tools/call", `{"name":"talk","_meta":{"progressToken":"t"}}`},
	{"tools/call", `{"name":"none"}`}, {"prompts/list", `{}`},
	{"prompts/get", `{"name":"greet","arguments":{"who":"you"}}`}, {"prompts/get", `{"name":"none"}`},
	{"resources/list", `{}`}, {"resources/templates/list", `{}`},
	{"resources/read", `{"uri":"lib://hall"}`}, {"resources/read", `{"uri":"lib://rooms/a"}`},
	{"resources/read", `{"uri":"lib://none"}`},
	{"resources/subscribe", `{"uri":"lib://hall"}`}, {"resources/subscribe", `{"uri":"lib://none"}`},
	{"resources/unsubscribe", `{"uri":"lib://hall"}`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},` +
		`"argument":{"name":"who","value":"a"}}`},
	{"logging/setLevel", `{"level":"info"}`}, {"logging/setLevel", `{"level":"loud"}`},
	{"server/discover", `{}`}, {"no/method", `{}`}, {"initialize", `{}`},
	{"notifications/initialized", `{}`}, {"notifications/cancelled", `{"requestId":9}`},
	{"notifications/progress", `{"progressToken":"x","progress":1}`},
	{"notifications/roots/list_changed", `{}`}, {"notifications/none", `{}`},
}

// sdkMessages returns the messages of a version: each of sdkBodies, with one member at a time that
// is missing or of another type, and faults of the transport.
func sdkMessages(version string) (all []sdkMessage) {
	random := rand.New(rand.NewPCG(1, uint64(len(version))))
	for _, b := range sdkBodies {
		text := `{"jsonrpc":"2.0","id":1,"method":"` + b.method + `","params":` + b.params + `}`
		var message map[string]any
		if err := json.Unmarshal([]byte(text), &message); err != nil {
			panic(err)
		}
		if strings.HasPrefix(b.method, "notifications/") {
			delete(message, "id")
		}
		if version == "2026-07-28" {
			params := message["params"].(map[string]any)
			meta, _ := params["_meta"].(map[string]any)
			params["_meta"] = maps.Collect(maps.All(meta))
			maps.Copy(params["_meta"].(map[string]any), map[string]any{
				mcp.MetaKeyProtocolVersion: version, mcp.MetaKeyClientCapabilities: map[string]any{},
				mcp.MetaKeyClientInfo: map[string]any{"name": "c", "version": "1"}})
		}
		add := func(name string) {
			body, err := json.Marshal(message)
			if err != nil {
				panic(err)
			}
			all = append(all, sdkMessage{name: b.method + name, verb: "POST", body: string(body)})
		}
		add("")
		sdkMutations(message, "", func(pointer string) {
			if !testing.Short() || random.IntN(4) == 0 {
				add(" with " + pointer)
			}
		})
	}
	ping := all[0].body
	transport := func(name, verb, body string, alone bool, header map[string]string) {
		all = append(all, sdkMessage{name, verb, body, header, alone})
	}
	for name, body := range map[string]string{"an empty body": "", "no JSON": "{", "a batch": "[" + ping + "]",
		"a number": "1", "a name twice": `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`,
		"a response": `{"jsonrpc":"2.0","id":77,"result":{}}`, "text after it": ping + "x",
		"an array of nothing": "[]", "no UTF-8": strings.Replace(ping, "2.0", "2.0\xff", 1)} {
		transport(name, "POST", body, false, nil)
	}
	for _, header := range []struct{ name, value string }{{"Content-Type", "text/plain"},
		{"Content-Type", ""}, {"Content-Type", "application/json; charset=utf-8"},
		{"Accept", ""}, {"Accept", "application/json"}, {"Accept", "text/event-stream"},
		{"Accept", "*/*"}, {"Accept", "text/html"}, {"Mcp-Protocol-Version", ""},
		{"Mcp-Protocol-Version", "1999-01-01"}, {"Mcp-Session-Id", "none"}, {"Mcp-Session-Id", ""},
		{"Mcp-Method", "tools/list"}, {"Mcp-Method", ""}, {"Origin", "http://evil.example"},
		{"Last-Event-Id", "x"}} {
		transport(header.name+": "+header.value, "POST", ping, false,
			map[string]string{header.name: header.value})
	}
	for _, verb := range []string{"PUT", "OPTIONS", "DELETE", "GET"} {
		transport(verb+" without a session", verb, "", true, nil)
	}
	transport("DELETE", "DELETE", "", false, nil)
	transport("PUT", "PUT", ping, false, nil)
	transport("GET of HTML", "GET", "", false, map[string]string{"Accept": "text/html"})
	return all
}

// sdkMutations changes one member of an object at a time.
func sdkMutations(object map[string]any, pointer string, changed func(string)) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		was, at := object[name], pointer+"/"+name
		delete(object, name)
		changed("no " + at)
		for _, value := range []any{nil, "x", 1.5, true, []any{}, map[string]any{}} {
			if object[name] = value; !reflect.DeepEqual(value, was) {
				changed(fmt.Sprintf("%s %T", at, value))
			}
		}
		if object[name] = was; strings.Count(at, "/") < 4 {
			if inner, ok := was.(map[string]any); ok {
				sdkMutations(inner, at, changed)
			}
		}
	}
}

// sdkPeer is the endpoint of a server.
type sdkPeer string

// sdkAnswer is an answer over HTTP.
type sdkAnswer struct {
	status   int
	kind     string // json, stream, text, or empty for no body
	messages []any
}

func (a sdkAnswer) String() string {
	text, _ := json.Marshal(a.messages)
	return fmt.Sprintf("%s: %s", a.outline(), text)
}

// outline is the form of an answer, without its contents.
func (a sdkAnswer) outline() string {
	parts := []string{fmt.Sprint(a.status)}
	if len(a.messages) == 0 {
		parts = append(parts, a.kind)
	}
	for _, m := range a.messages {
		m, _ := m.(map[string]any)
		switch failure, _ := m["error"].(map[string]any); {
		case failure != nil:
			parts = append(parts, fmt.Sprint("error ", failure["code"]))
		case m["result"] != nil:
			parts = append(parts, "result")
		case m["method"] != nil:
			parts = append(parts, fmt.Sprint(m["method"]))
		}
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// send opens a session, if the version has sessions, and sends a message in it.
func (p sdkPeer) send(t *testing.T, version string, m sdkMessage) sdkAnswer {
	t.Helper()
	header := map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream"}
	modern := version == "2026-07-28"
	var sent struct {
		Method string
		Params struct{ Name, URI any }
	}
	_ = json.Unmarshal([]byte(m.body), &sent)
	switch {
	case m.alone:
	case modern:
		header["Mcp-Protocol-Version"], header["Mcp-Method"] = version, sent.Method
		if name, _ := cmp.Or(sent.Params.Name, sent.Params.URI).(string); name != "" {
			header["Mcp-Name"] = name
		}
	default:
		_, got := p.do(t, "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{`+
			`"protocolVersion":"`+version+`","capabilities":{},`+
			`"clientInfo":{"name":"c","version":"1"}}}`, header)
		header["Mcp-Protocol-Version"] = version
		header["Mcp-Session-Id"] = got.Get("Mcp-Session-Id")
		p.do(t, "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header)
		defer p.do(t, "DELETE", "", maps.Collect(maps.All(header)))
	}
	own := maps.Collect(maps.All(header))
	for name, value := range m.header {
		if own[name] = value; value == "" {
			delete(own, name)
		}
	}
	a, _ := p.do(t, m.verb, m.body, own)
	return a
}

// do sends one request.
func (p sdkPeer) do(t *testing.T, verb, body string, header map[string]string) (a sdkAnswer,
	got http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), verb, string(p), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a.status = res.StatusCode
	add := func(text []byte) bool {
		var m any
		if json.Unmarshal(text, &m) == nil {
			a.messages = append(a.messages, m)
			return true
		}
		return false
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		a.kind = "stream"
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				add([]byte(data))
			}
		}
		return a, res.Header
	}
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		t.Fatal(err)
	case len(text) == 0:
	case add(text):
		a.kind = "json"
	default:
		a.kind = "text"
	}
	return a, res.Header
}

// sdkDiffer returns how two answers differ: by their outlines, or by the pointers of their
// contents.
func sdkDiffer(bare, guarded sdkAnswer) (differences []string) {
	if a, b := bare.outline(), guarded.outline(); a != b {
		return []string{a + " → " + b}
	}
	if bare.kind != guarded.kind {
		differences = append(differences, bare.kind+" → "+guarded.kind)
	}
	var compare func(pointer string, a, b any)
	compare = func(pointer string, a, b any) {
		inA, isA := a.(map[string]any)
		inB, isB := b.(map[string]any)
		switch {
		case isA && isB:
			names := slices.Sorted(maps.Keys(inA))
			for name := range inB {
				if _, has := inA[name]; !has {
					names = append(names, name)
				}
			}
			for _, name := range names {
				compare(pointer+"/"+name, inA[name], inB[name])
			}
		case !reflect.DeepEqual(a, b):
			differences = append(differences, pointer)
		}
	}
	for i := range bare.messages {
		compare("", bare.messages[i], guarded.messages[i])
	}
	return differences
}

// sdkDifferences are the reasons of all differences: from the answer of the server alone to the one
// behind the guard, or the pointer of what differs in it.
var sdkDifferences = sdkReasons(map[string][]string{
	"a response without notifications is JSON, which every client accepts": {"stream → json"},
	"the words say what the client should send":                            {"/error/message"},
	"a list is the caller's own":                                           {"/result/cacheScope"},
	"a refusal of the transport is a JSON-RPC error": {"400 text → 400 error -32600",
		"400 text → 400 error -32602", "400 text → 400 error -32700", "404 text → 404 error -32600",
		"405 text → 405 error -32600", "405 text → 400 error -32600", "415 text → 415 error -32600"},
	"an unknown method of a session is -32601": {"400 text → 200 error -32601"},
	"params that are missing are -32602, as others that do not fit": {"400 text → 200 error -32602",
		"200 error -32600 → 200 error -32602", "200 error 0 → 200 error -32602"},
	"params are checked before the method, and before headers that repeat them": {
		"200 error -32601 → 200 error -32602", "404 error -32601 → 400 error -32602",
		"400 error -32020 → 400 error -32602"},
	"a member that decides must be there": {"200 result → 200 error -32602",
		"200 result → 400 error -32602"},
	"an unknown notification is ignored, and so is the _meta of one": {"400 text → 202",
		"400 error -32020 → 202"},
	"a notification whose params do not fit is refused": {"202 → 400 error -32602"},
	"a message without a method is no response without a result too": {"202 → 400 error -32600",
		"404 error -32601 → 400 error -32600"},
	"a second initialize is no valid request": {"200 error 0 → 400 error -32600"},
	"an id is a string or an integer; go-sdk responds to 1.5 as 1": {"200 result → 400 error -32600",
		"200 error -32601 → 400 error -32600", "200 error -32602 → 400 error -32600",
		"200 error 7 → 400 error -32600", "400 error -32602 → 400 error -32600",
		"200 notifications/progress result → 400 error -32600"},
	"two readers could understand the text differently": {"200 result → 400 error -32700",
		"400 error -32020 → 400 error -32700", "400 error -32602 → 400 error -32700"},
	"Accept may be absent, or name JSON or streams alone": {"400 text → 200 result",
		"400 text → 404 error -32601"},
	"406 is the status of an Accept that names neither": {"400 text → 406 error -32600"},
	"pages of other origins are refused": {"200 result → 403 text",
		"404 error -32601 → 403 text"},
	"a version unlike the one in _meta is a header mismatch": {"400 text → 400 error -32020",
		"404 error -32601 → 400 error -32020"},
})

func sdkReasons(of map[string][]string) map[string]string {
	reasons := map[string]string{}
	for reason, differences := range of {
		for _, d := range differences {
			reasons[d] = reason
		}
	}
	return reasons
}

// go-sdk's client repeats arguments in headers, in base64 where it has to.
func TestArgumentsInHeadersOfTheSDKsClientFit(t *testing.T) {
	t.Parallel()
	session := connectHTTP(t, serve(t, newServer(t, runtime.Options{}, headerTool())),
		tokens["Admin"], "2026-07-28")
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err) // the client knows headers from the list
	}
	for _, region := range []string{"eu", "", " padded ", "\tx", "é", "世界", "a\nb", "=?base64?YQ==?=",
		"=?base64??=", "=?base64?", "?="} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "route",
			Arguments: map[string]any{"region": region, "n": -7, "deep": map[string]any{"on": false}}})
		if err != nil || res.IsError {
			t.Errorf("%q: %+v, %v", region, res, err)
		}
	}
}
