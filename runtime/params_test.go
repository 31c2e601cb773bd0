package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// planted stands in every message below, and may stand in nothing that comes of them.
const planted = "hunter2"

// misfits are values of every kind that JSON has, secrets in them.
var misfits = []string{
	`"hunter2"`, `7`, `1.5`, `1e999`, `true`, `["hunter2"]`, `{"password":"hunter2","pin":1234}`,
	`{"a":{"b":"hunter2"}}`, `[{"a":"hunter2"}]`, `[[1,"hunter2"]]`,
}

// plantings are params that hold secrets and do not fit, for one method: each field of its type, at
// any depth, holds a value of each kind, beside the fields that let go-sdk read on.
func plantings(method string) []string {
	var all []string
	var plant func(t reflect.Type, before, after string)
	plant = func(t reflect.Type, before, after string) {
		for _, v := range misfits {
			all = append(all, before+v+after)
		}
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			if t.Kind() == reflect.Slice {
				before, after = before+"[", "]"+after
			}
			t = t.Elem()
		}
		switch t.Kind() {
		case reflect.Map:
			for _, v := range misfits {
				all = append(all, before+`{"x":`+v+`}`+after)
			}
		case reflect.Struct:
			for i := range t.NumField() {
				name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
				if name != "" && name != "-" {
					plant(t.Field(i).Type, before+`{"`+name+`":`, `,"password":"hunter2"}`+after)
				}
			}
		}
	}
	plant(runtime.ParamsTypes[method], "", "")
	return all
}

// handPlanted are messages whose misfit no type tells of.
var handPlanted = []string{
	`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"join","arguments":{"password":"hunter2-secret","pin":1234}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"rule","arguments":{"password":"hunter2-secret","pin":1234}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"hunter2"},"argument":{"name":"a","value":"hunter2"}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"join","uri":"hunter2://"},"argument":{"name":"a","value":"hunter2"}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_all","inputResponses":{"a":{"role":"user","content":{"type":"hunter2"}}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_all","inputResponses":{"a":{"action":5,"content":{"password":"hunter2"}}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_all","inputResponses":{"a":{"roots":["hunter2"]}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_all","inputResponses":{"a":null,"b":{"content":null,"model":"hunter2"}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_all","_meta":{"x":[1e999],"password":"hunter2"}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":["hunter2"]}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":"hunter2"}`,
	`{"jsonrpc":"2.0","id":7,"method":{"password":"hunter2"}}`,
	`{"jsonrpc":"2.0","id":7,"method":["hunter2"],"params":{}}`,
	`{"jsonrpc":"hunter2","id":7,"method":"ping"}`,
	`{"jsonrpc":["hunter2"],"id":7,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":{"password":"hunter2"},"method":"ping"}`,
	`{"jsonrpc":"2.0","id":7,"error":"hunter2"}`,
	`{"jsonrpc":"2.0","id":7,"error":{"code":"hunter2","message":"hunter2"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"ping","error":{"code":1,"message":["hunter2"]}}`,
	`{"jsonrpc":"2.0","id":7,"method":"no/such","params":["hunter2"]}`,
	`{"jsonrpc":"2.0","id":7,"method":"no/such","params":{"_meta":"hunter2","pin":{"a":"hunter2"}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"custom/greet","params":{"name":["hunter2"]}}`,
	`{"jsonrpc":"2.0","id":7,"method":"custom/greet","params":["hunter2"]}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":"hunter2"},"reason":["hunter2"]}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"hunter2"}}`,
}

// planted messages for an era, which the methods of 2026-07-28 must name in _meta.
func plantedMessages(era string) []string {
	messages := slices.Clone(handPlanted)
	for _, method := range slices.Sorted(maps.Keys(runtime.ParamsTypes)) {
		id := `"id":7,`
		if strings.HasPrefix(method, "notifications/") {
			id = ""
		}
		for _, params := range plantings(method) {
			messages = append(messages, `{"jsonrpc":"2.0",`+id+`"method":"`+method+`","params":`+
				params+`}`)
		}
	}
	if era == "2026-07-28" {
		for i, m := range messages {
			messages[i] = strings.Replace(m, `"params":{`,
				`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`, 1)
			if strings.Count(messages[i], `"_meta"`) > 1 {
				messages[i] = strings.Replace(m, `"_meta":{`,
					`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},`, 1)
			}
			messages[i] = strings.ReplaceAll(messages[i], ",}", "}")
		}
	}
	return messages
}

// greeting are params of a method that the owner of an adopted server added.
type greeting struct {
	mcp.ParamsBase
	Name string `json:"name"`
}

// servers with everything that secrets could be sent to, whose records and logs go to out.
func plantedServers(t *testing.T, out io.Writer) map[string]*runtime.Server {
	options := runtime.Options{Logger: slog.New(slog.NewTextHandler(out,
		&slog.HandlerOptions{Level: slog.LevelDebug})), Audit: audit.JSONLines(out),
		Anonymous: true}
	own := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	err := mcp.AddReceivingCustomMethod(own, "custom/greet",
		func(context.Context, *mcp.ServerSession, *greeting) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	options.Identity = users()
	adopted, err := runtime.Adopt(own, options, nil, directory(&desk{}))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*runtime.Server{"new": newServer(t, options, directory(&desk{}), library()),
		"adopted": adopted}
}

func TestSecretsInParamsThatDoNotFitStayOutOfAnswersAndLogs(t *testing.T) {
	var logged journal
	echoes := func(text string) bool {
		return strings.Contains(text, planted) || strings.Contains(text, "unmarshal") ||
			strings.Contains(text, "mcp.")
	}
	for name, s := range plantedServers(t, &logged) {
		url := serve(t, s)
		for _, era := range eras {
			c := newRaw(t, url, tokens["Admin"], era)
			for _, message := range plantedMessages(era) {
				var m struct {
					Method any
					Params any
				}
				_ = json.Unmarshal([]byte(message), &m)
				headers := map[string]string{}
				if era == "2026-07-28" {
					headers["Mcp-Method"], _ = m.Method.(string)
					params, _ := m.Params.(map[string]any)
					for _, key := range []string{"name", "uri"} {
						if v, ok := params[key].(string); ok && !strings.Contains(v, planted) {
							headers["Mcp-Name"] = v
						}
					}
				}
				if m.Method == "subscriptions/listen" && runtime.CheckParams("subscriptions/listen",
					paramsOf(message)) == "" {
					continue // it would stay open
				}
				got := c.send(t, "POST", message, headers)
				if text := strings.ReplaceAll(got.String(), `unknown tool \"`+planted,
					""); echoes(dropNames(text)) {
					t.Errorf("%s, HTTP, %s: %s: %s", name, era, message, got)
				}
			}
		}
		for _, answer := range overStdio(t, s, plantedMessages("2025-11-25")) {
			if echoes(dropNames(answer)) {
				t.Errorf("%s, stdio: %s", name, answer)
			}
		}
	}
	if text := dropNames(logged.String()); echoes(text) {
		i := strings.Index(text, planted)
		t.Errorf("in the log: %s", text[max(0, i-300):min(len(text), max(i, 0)+300)])
	}
}

// dropNames takes out the names that answers and records repeat by design: of what was asked for.
func dropNames(text string) string {
	for _, name := range []string{`unknown tool \"hunter2\"`, `unknown prompt \"hunter2\"`,
		`tool=hunter2`, `"tool_name":"hunter2"`, `"prompt":"hunter2"`, `"resource":"hunter2"`,
		`{"uri":"hunter2"}`, `prompt=hunter2`, `resource=hunter2`, `name=hunter2`} {
		text = strings.ReplaceAll(text, name, "")
	}
	return text
}

func paramsOf(message string) []byte {
	var m struct{ Params json.RawMessage }
	_ = json.Unmarshal([]byte(message), &m)
	return m.Params
}

// overStdio sends lines on one session and returns what came back, to the last of them.
func overStdio(t *testing.T, s *runtime.Server, messages []string) []string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, principalOf("Admin")) }()
	go func() {
		_, _ = io.WriteString(toServer,
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`+"\n")
		for i, message := range messages {
			if strings.Contains(message, `"subscriptions/listen"`) &&
				runtime.CheckParams("subscriptions/listen", paramsOf(message)) == "" {
				continue
			}
			_, _ = io.WriteString(toServer, strings.Replace(message, `"id":7`,
				fmt.Sprintf(`"id":%d`, i+1), 1)+"\n")
		}
		_, _ = io.WriteString(toServer, `{"jsonrpc":"2.0","id":"the last","method":"ping"}`+"\n")
	}()
	var answers []string
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		answers = append(answers, lines.Text())
		if strings.Contains(lines.Text(), `"the last"`) {
			break
		}
	}
	go io.Copy(io.Discard, fromServer)
	toServer.Close()
	if err := <-done; err != nil {
		t.Errorf("RunIO: %v", err)
	}
	return answers
}

func TestSecretsInAnswersToQuestionsThatDoNotFitStayOutOfAnswersAndLogs(t *testing.T) {
	for _, result := range []string{
		`"result":{"action":"accept","content":"hunter2"}`, `"result":{"action":["hunter2"]}`,
		`"result":"hunter2"`,
		`"result":{"_meta":"hunter2"}`,
	} {
		var logged journal
		var runs atomic.Int32
		s := newServer(t, runtime.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil)),
			Audit: audit.JSONLines(&logged)}, asker(&runs))
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.RunIO(context.Background(), in, out, principalOf("Manager")) }()
		lines := bufio.NewScanner(fromServer)
		talk := func(line string) string {
			go io.WriteString(toServer, line+"\n")
			lines.Scan()
			return lines.Text()
		}
		talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
		var question struct {
			ID     json.RawMessage
			Method string
		}
		if asked := talk(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{}}}`); json.Unmarshal([]byte(asked), &question) != nil || question.Method != "elicitation/create" {
			t.Fatalf("no question: %s", asked)
		}
		got := talk(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,` + result + `}`)
		if !strings.Contains(got, `"id":1`) || strings.Contains(got, planted) ||
			strings.Contains(logged.String(), planted) {
			t.Errorf("%s: %s\n%s", result, got, logged.String())
		}
		toServer.Close()
		<-done
	}
}

func TestParamsThatDoNotFitAreReportedByPlaceAndKind(t *testing.T) {
	s := newServer(t, runtime.Options{}, directory(&desk{}), library())
	url := serve(t, s)
	for _, test := range []struct{ method, params, want string }{
		{"prompts/get", `"name":"join","arguments":{"password":"x","pin":1234}`,
			"/arguments/pin: is a number, expected a string"},
		{"prompts/get", `"name":"rule","arguments":{"a":[],"b":{}}`,
			"/arguments/a: is an array, expected a string; /arguments/b: is an object, expected a string"},
		{"prompts/get", `"name":"no_such","arguments":{"pin":1234}`,
			"/arguments/pin: is a number, expected a string"},
		{"resources/read", `"uri":7`, "/uri: is a number, expected a string"},
		{"tools/call", `"name":{}`, "/name: is an object, expected a string"},
		{"completion/complete", `"ref":{"type":"x"},"argument":{"name":"a","value":1}`,
			`/argument/value: is a number, expected a string; /ref: is not a reference: {"type": "ref/prompt", "name": …} or {"type": "ref/resource", "uri": …}`},
		{"tools/list", `"cursor":1e3`, "/cursor: is a number, expected a string"},
	} {
		for _, era := range eras {
			for _, user := range []string{"Viewer", "Admin"} {
				got := newRaw(t, url, tokens[user], era).ask(t, test.method, test.params,
					map[string]string{"Mcp-Name": "x"})
				status := 200
				if era == "2026-07-28" {
					status = 400
				}
				want, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7,
					"error": map[string]any{"code": jsonrpc.CodeInvalidParams,
						"message": "invalid params: " + test.want}})
				if got.status != status || got.body != string(want) {
					t.Errorf("%s, %s %s: %s, want %s", era, test.method, test.params, got, want)
				}
			}
		}
	}
}

// bare is go-sdk without anything of ours, which answers one line by another.
func bare(t *testing.T) func(line string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	server := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult,
			error) {
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
	calls := slices.DeleteFunc(slices.Sorted(maps.Keys(runtime.ParamsTypes)), func(m string) bool {
		// The first have no answer, and the last is refused before it is decoded.
		return strings.HasPrefix(m, "notifications/") || m == "subscriptions/listen" ||
			m == "server/discover"
	})
	refused, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom(calls).Draw(t, "method")
		params := drawParams(t, runtime.ParamsTypes[method])
		got := talk(`{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`)
		ours := runtime.CheckParams(method, []byte(strings.TrimSpace(params)))
		if echoed := strings.Contains(got, "unmarshaling"); echoed != (ours != "") {
			t.Fatalf("%s %s: we say %q, go-sdk %s", method, params, ours, got)
		} else if echoed {
			refused++
		} else {
			accepted++
		}
	})
	if refused == 0 || accepted == 0 {
		t.Errorf("%d refused, %d accepted", refused, accepted)
	}
}

// drawParams makes a value that nearly fits a type.
func drawParams(t *rapid.T, typ reflect.Type) string {
	if rapid.IntRange(0, 14).Draw(t, "odd") == 0 {
		return rapid.SampledFrom([]string{`null`, `"s"`, `7`, `-1.5e3`, `1e999`, `true`, `[]`, `{}`,
			`["a",1]`, `{"a":[1e400]}`, `{"type":"x"}`}).Draw(t, "value")
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ {
	case reflect.TypeFor[json.RawMessage]():
		return drawParams(t, reflect.TypeFor[any]())
	case reflect.TypeFor[mcp.CompleteReference]():
		return rapid.SampledFrom([]string{`{"type":"ref/prompt","name":"x"}`,
			`{"type":"ref/resource","uri":"x"}`, `{"type":"ref/prompt","uri":"x"}`, `{"type":1}`,
			`{}`}).Draw(t, "ref")
	case reflect.TypeFor[mcp.InputResponseMap]():
		return rapid.SampledFrom([]string{`{}`, `{"a":{"action":"accept","content":{"x":1}}}`,
			`{"a":{"action":1}}`, `{"a":{"roots":[{"uri":"x"}]}}`, `{"a":{"roots":1}}`,
			`{"a":{"role":"user","model":"m","content":{"type":"text","text":"x"}}}`,
			`{"a":{"role":"user","content":{"type":"x"}}}`, `{"a":1}`, `{"a":null}`}).Draw(t,
			"answers")
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
			items = append(items, space.Draw(t, "space")+drawParams(t, typ.Elem())+
				space.Draw(t, "space"))
		}
		return "[" + strings.Join(items, ",") + "]"
	case reflect.Map:
		var members []string
		for i := range rapid.IntRange(0, 3).Draw(t, "members") {
			members = append(members, fmt.Sprintf(`"k%d"%s:%s%s`, i, space.Draw(t, "space"),
				space.Draw(t, "space"), drawParams(t, typ.Elem())))
		}
		return "{" + strings.Join(members, space.Draw(t, "space")+",") + space.Draw(t, "space") +
			"}"
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
	return rapid.SampledFrom([]string{`1`, `"x"`, `null`, `{"a":[true,"}"]}`, `[1,{"b":2e5}]`,
		`{"a":1e999}`}).Draw(t, "any")
}
