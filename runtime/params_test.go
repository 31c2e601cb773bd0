package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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
		&slog.HandlerOptions{Level: slog.LevelDebug})),
		Audit:     runtime.AuditOptions{Sink: audit.JSONLines(out)},
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
				if m.Method == "subscriptions/listen" && !runtime.Refused(message) {
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

// overStdio sends lines on one session and returns what came back, to the last of them.
func overStdio(t *testing.T, s *runtime.Server, messages []string) (answers []string) {
	t.Helper()
	p := newPipe(t, s, principalOf("Admin"), "2025-11-25")
	go func() {
		for i, message := range messages {
			if !strings.Contains(message, `"subscriptions/listen"`) || runtime.Refused(message) {
				p.write(t, strings.Replace(message, `"id":7`, fmt.Sprintf(`"id":%d`, i+1), 1))
			}
		}
		p.write(t, `{"jsonrpc":"2.0","id":"the last","method":"ping"}`)
	}()
	for _, m := range p.until(t, `"the last"`) {
		answers = append(answers, m.text)
	}
	return answers
}
