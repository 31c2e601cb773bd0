package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// vault is a toolset with one of everything that everybody may use. With hidden, it has the same
// once more for managers, with "h" in front of each name.
func vault(hidden bool) toolset.Toolset {
	g := toolset.Generated{Package: "example.com/vault",
		Server: toolset.ServerInfo{Name: "vault", Version: "1"},
		Table:  access.Table{Roles: access.DefaultRoles()}}
	both := []string{""}
	if hidden {
		both = []string{"", "h"}
	}
	complete := func(ctx context.Context, begun string) ([]string, error) {
		return []string{begun + runtime.CompletionArguments(ctx)["to"]}, nil
	}
	for _, h := range both {
		rule := access.Rule{Public: true}
		if h != "" {
			rule = access.Rule{MinRole: manager, Scopes: []string{"vault:open"}}
		}
		app := "ui://vault/" + h + "app"
		tools := []toolset.Tool{
			{Name: h + "look", Task: toolset.TaskOptional, Elicits: true, UI: app,
				Meta:  `{"ui":{"resourceUri":"` + app + `"}}`,
				Input: `{"type":"object","properties":{"at":{"type":"string","x-mcp-header":"At"}}}`},
			{Name: h + "only", Task: toolset.TaskRequired, Elicits: true, Input: anyInput},
		}
		for _, tool := range tools {
			tool.Returns = toolset.Text
			tool.Call = func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
				text, err := visit(ctx)
				return toolset.Result{Out: text, HasOut: true}, err
			}
			rule := rule
			rule.Tool = tool.Name
			g.Tools, g.Table.Rules = append(g.Tools, tool), append(g.Table.Rules, rule)
		}
		prompt := rule
		prompt.Prompt = h + "meet"
		g.Table.Prompts = append(g.Table.Prompts, prompt)
		g.Prompts = append(g.Prompts, toolset.Prompt{Name: h + "meet", Elicits: true,
			Arguments: []toolset.Argument{{Name: "from", Complete: complete}, {Name: "to"}},
			Get: func(ctx context.Context, _ toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText(visit(ctx))
			}})
		for _, uri := range []string{app, h + "meet://{from}/{to}"} {
			resource, r := rule, toolset.Resource{URI: uri, Name: uri,
				Read: func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText("a view", nil)
				}}
			if uri != app {
				r.Variables = []toolset.Variable{{Name: "from", Complete: complete}, {Name: "to"}}
				r.Subscribe, r.Elicits = true, true
				r.Read = func(ctx context.Context, _ toolset.Call) (toolset.ResourceResult, error) {
					return toolset.ResourceText(visit(ctx))
				}
			}
			resource.Resource = uri
			g.Table.Resources = append(g.Table.Resources, resource)
			g.Resources = append(g.Resources, r)
		}
	}
	slices.SortFunc(g.Table.Resources, func(a, b access.Rule) int {
		return strings.Compare(a.Resource, b.Resource)
	})
	slices.SortFunc(g.Resources, func(a, b toolset.Resource) int {
		return strings.Compare(a.URI, b.URI)
	})
	return toolset.NewToolset(g)
}

// tap is a client of one server that keeps all bytes that it receives, but for random ids and
// times. in is nil over HTTP.
type tap struct {
	t          *testing.T
	server     *runtime.Server
	url, token string
	era        string
	in         io.Writer
	lines      chan string

	session, state, task, event string // as received last
	id                          int
	sent                        map[string]bool // methods
	got                         []string        // what came, step by step
}

var variable = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`"taskId":"[a-z2-7]{26}"`), `"taskId":"a task"`},
	{regexp.MustCompile(`"requestState":"[^"]+"`), `"requestState":"a state"`},
	{regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`), `"a time"`},
	{regexp.MustCompile(`(?m)^id: [A-Z2-7]{26}_`), `id: a stream_`},
	{regexp.MustCompile(`Mcp-Session-Id: \S+`), `Mcp-Session-Id: a session`},
	// The time of a task ends without zeros.
	{regexp.MustCompile(`Content-Length: \S+((.*\n)+.*"createdAt")`), `Content-Length: some$1`},
}

// keep adds what came in one step, as a comparison has it.
func (c *tap) keep(step, text string) {
	text = step + "\n" + text
	for _, v := range variable {
		text = v.find.ReplaceAllString(text, v.put)
	}
	c.got = append(c.got, text)
}

// open connects, and makes the handshake of a version with sessions.
func (c *tap) open(stdio bool, p access.Principal) {
	if stdio {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		c.in, c.lines = toServer, make(chan string, 1000)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.server.RunIO(context.Background(), in, out, p) // ends with the input
			out.Close()
		}()
		go func() {
			defer close(c.lines)
			for scanner := bufio.NewScanner(fromServer); scanner.Scan(); {
				c.lines <- scanner.Text()
			}
		}()
		c.t.Cleanup(func() { toServer.Close(); <-ended })
	}
	if c.era != "2026-07-28" {
		c.ask("initialize", `"protocolVersion":"`+c.era+`","capabilities":`+abilities+
			`,"clientInfo":{"name":"tap","version":"1"}`, probe{})
	}
	c.ask("notifications/initialized", ``, probe{})
}

// probe is how to send a request.
type probe struct {
	name    string // for the header Mcp-Name
	at      string // for the header Mcp-Param-At
	tasks   bool   // the client declares the extension
	inform  func() // runs once the first line has come
	stop    string // in the line that ends the reading; empty for the end of the response
	asks    string // in place of the client's capabilities
	missing bool   // the response contains no result
}

// ask sends a request or notification, responds to requests of the server, and returns all that
// comes.
func (c *tap) ask(method, params string, p probe) string {
	c.t.Helper()
	c.sent[method] = true
	c.id++
	id := fmt.Sprintf(`"id":%d,`, 1000+c.id)
	if strings.HasPrefix(method, "notifications/") {
		id = ""
	}
	if c.era == "2026-07-28" {
		declared := abilities
		if p.tasks {
			declared = strings.TrimSuffix(abilities, "}") +
				`,"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		}
		if p.asks != "" {
			declared = p.asks
		}
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` + declared + `}`
		params = strings.TrimSuffix(meta+","+params, ",")
	}
	body := `{"jsonrpc":"2.0",` + id + `"method":"` + method + `","params":{` + params + `}}`
	header := map[string]string{"Mcp-Method": method, "Mcp-Name": p.name, "Mcp-Param-At": p.at}
	var text string
	if c.in != nil {
		text = c.exchange(body, id, p)
	} else {
		text = c.post(http.MethodPost, body, header, p)
	}
	for found, in := range map[*string]*regexp.Regexp{
		&c.state: regexp.MustCompile(`"requestState":"([^"]+)"`),
		&c.task:  regexp.MustCompile(`"taskId":"([^"]+)"`),
	} {
		if m := in.FindStringSubmatch(text); m != nil {
			*found = m[1]
		}
	}
	c.keep(body, text)
	if p.missing && strings.Contains(text, `"result":`) {
		c.t.Errorf("%s, %q: a result:\n%s\n%s", c.era, c.token, body, text)
	}
	return text
}

var answers = map[string]string{
	"elicitation/create":     `{"action":"accept","content":{"name":"Ada"}}`,
	"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`,
	"roots/list":             `{"roots":[{"uri":"file:///home"}]}`,
}

// respond returns the response to a request of the server, empty for another message.
func respond(line string) string {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil || m.Method == "" {
		return ""
	}
	result, ok := answers[m.Method]
	if !ok {
		result = `{}`
	}
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
}

func (c *tap) write(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// syncPing ends the responses to a line that has none.
const (
	syncID   = `"id":"sync"`
	syncPing = `{"jsonrpc":"2.0",` + syncID + `,"method":"ping"}`
)

func (c *tap) exchange(body, id string, p probe) string {
	c.t.Helper()
	c.write(body)
	if id == "" { // a notification
		id = syncID
		c.write(syncPing)
	}
	return c.read(id, p)
}

// read reads lines to the response with an id, or to a line that contains p.stop.
func (c *tap) read(id string, p probe) (all string) {
	c.t.Helper()
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("the output ends after\n%s", all)
			}
			all += line + "\n"
			if p.inform != nil {
				p.inform()
				p.inform = nil
			}
			if response := respond(line); response != "" {
				c.write(response)
			} else if p.stop != "" && strings.Contains(line, p.stop) ||
				p.stop == "" && strings.Contains(line, id) {
				return all
			}
		case <-time.After(20 * time.Second):
			c.t.Fatalf("no %s %s after\n%s", id, p.stop, all)
		}
	}
}

func (c *tap) post(method, body string, header map[string]string, p probe) string {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		header["Authorization"] = "Bearer " + c.token
	}
	if c.session != "" || c.era == "2026-07-28" {
		header["Mcp-Protocol-Version"] = c.era
	}
	header["Mcp-Session-Id"], header["Content-Type"] = c.session, "application/json"
	header["Accept"] = "application/json, text/event-stream"
	for name, value := range header {
		if value != "" && (c.era == "2026-07-28" || name != "Mcp-Method" && name != "Mcp-Name") {
			req.Header.Set(name, value)
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatalf("%s: %v", body, err)
	}
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	res.Header.Del("Date")
	all := reply{res.StatusCode, res.Header, ""}.String()
	if p.inform != nil && p.stop != "" && method == http.MethodGet {
		p.inform()
		p.inform = nil
	}
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		all += line
		if p.inform != nil && strings.HasPrefix(line, "data:") {
			p.inform()
			p.inform = nil
		}
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			c.event = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if response := respond(data); response != "" {
				all += c.post(http.MethodPost, response, map[string]string{}, probe{})
			}
		}
		if err == io.EOF || p.stop != "" && strings.Contains(line, p.stop) {
			return all
		}
		if err != nil {
			c.t.Fatalf("%s: %v\n%s", body, err, all)
		}
	}
}

// get opens a stream of the session, which ends with a line that contains stop.
func (c *tap) get(step, session, lastEvent, stop string, inform func()) {
	c.t.Helper()
	own := c.session
	c.session = session
	defer func() { c.session = own }()
	synctest.Wait() // until the server has noticed the end of the last stream
	c.keep(step, c.post(http.MethodGet, "", map[string]string{"Last-Event-Id": lastEvent},
		probe{stop: stop, inform: inform}))
}

// play sends every method, with hidden names, unknown ones and those that everybody may use. other
// is a client with all permissions, with ids that belong to it.
func (c *tap) play(other *tap) {
	none := c.era == "2026-07-28"
	for _, method := range []string{"ping", "server/discover", "tools/list", "prompts/list",
		"resources/list", "resources/templates/list", "notifications/roots/list_changed"} {
		c.ask(method, ``, probe{})
	}
	c.ask("tools/list", `"cursor":"eyJvIjoxfQ"`, probe{missing: true})
	c.ask("notifications/cancelled", `"requestId":77`, probe{})
	c.ask("notifications/progress", `"progressToken":"x","progress":1`, probe{})
	c.ask("logging/setLevel", `"level":"debug"`, probe{})
	state := `,"requestState":"` + other.state + `"`
	for _, name := range []string{"hlook", "honly", "xlook", "look", "only"} {
		for _, rest := range []string{``, `,"arguments":{"at":"x"}`, `,"arguments":{"at":7}`,
			`,"inputResponses":{"who":{"action":"accept"}}`, `,"inputResponses":{}` + state} {
			for _, p := range []probe{{}, {tasks: true}, {at: "x"}, {at: "y"}, {asks: `{}`}} {
				if p.at != "" && c.in != nil {
					continue
				}
				p.name, p.missing = name, name[0] == 'h' || name[0] == 'x'
				// Tasks that run would count against the limit.
				if p.tasks && !p.missing && rest != `,"arguments":{"at":7}` {
					continue
				}
				c.ask("tools/call", `"name":"`+name+`"`+rest, p)
			}
		}
	}
	for _, h := range []string{"h", "x", ""} {
		for _, rest := range []string{``, `,"arguments":{"from":"a"}`, state,
			`,"inputResponses":{"who":{"action":"accept"}}` + state} {
			for _, p := range []probe{{}, {asks: `{}`}} {
				p.missing = h != ""
				p.name = h + "meet"
				c.ask("prompts/get", `"name":"`+p.name+`"`+rest, p)
				p.name += "://a/b"
				c.ask("resources/read", `"uri":"`+p.name+`"`+strings.ReplaceAll(rest,
					`,"arguments":{"from":"a"}`, ``), p)
				p.name = "ui://vault/" + h + "app"
				c.ask("resources/read", `"uri":"`+p.name+`"`, p)
			}
		}
		for _, ref := range []string{`"type":"ref/prompt","name":"` + h + `meet"`,
			`"type":"ref/resource","uri":"` + h + `meet://{from}/{to}"`} {
			for _, context := range []string{``, `,"context":{"arguments":{"to":"b","of":"c"}}`} {
				c.ask("completion/complete", `"ref":{`+ref+`},"argument":{"name":"from","value":"a"}`+
					context, probe{missing: h != ""})
			}
		}
	}
	if none { // one more round
		c.ask("prompts/get", `"name":"meet"`, probe{name: "meet"})
		c.ask("prompts/get", `"name":"meet","inputResponses":{"who":`+answers["elicitation/create"]+
			`},"requestState":"`+c.state+`"`, probe{name: "meet"})
	}
	c.subscriptions()
	if none {
		c.tasks(other)
	} else {
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			c.ask(method, `"taskId":"x"`, probe{name: "x", tasks: true, missing: true})
		}
	}
	if c.in == nil && !none {
		c.streams(other)
	}
	if none && c.in == nil {
		// Only versions with sessions have these.
		c.get("GET without a session", "", "", "", nil)
		c.get("GET with an event", "", other.event, "", nil)
	}
}

const visibleUpdate = `"uri":"meet://a/b"`

// updated reports updates of a hidden resource, and then of one that everybody may read.
func (c *tap) updated() {
	for _, uri := range []string{"hmeet://a/b", "ui://vault/happ", "hmeet://a/c"} {
		_ = c.server.ResourceUpdated(c.t.Context(), uri) // an error where it is not compiled
	}
	update(c.t, c.server, "meet://a/b")
}

func (c *tap) subscriptions() {
	uris := []string{"hmeet://a/b", "hmeet://a/c", "xmeet://a/b", "ui://vault/happ", "meet://a/b"}
	if c.era == "2026-07-28" {
		text, err := json.Marshal(uris)
		if err != nil {
			c.t.Fatal(err)
		}
		lists := `"toolsListChanged":true,"resourcesListChanged":true,`
		c.ask("subscriptions/listen", `"notifications":{`+lists+`"resourceSubscriptions":`+string(text)+
			`}`, probe{stop: "notifications/resources/updated", inform: c.updated})
		c.ask("subscriptions/listen",
			`"notifications":{"resourceSubscriptions":["hmeet://a/b","xmeet://a/b"]}`, probe{})
		for _, p := range []probe{{}, {tasks: true}} {
			c.ask("subscriptions/listen", `"notifications":{"taskIds":["x"]}`, p)
		}
		for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
			c.ask(method, `"uri":"hmeet://a/b"`, probe{missing: true})
		}
		return
	}
	c.ask("subscriptions/listen", `"notifications":{"resourceSubscriptions":["hmeet://a/b"]}`, probe{})
	for _, uri := range uris {
		c.ask("resources/subscribe", `"uri":"`+uri+`"`, probe{missing: uri[0] != 'm'})
	}
	if c.in != nil {
		c.updated()
		c.keep("notifications", c.read("", probe{stop: visibleUpdate}))
	} else {
		c.get("notifications", c.session, "", visibleUpdate, c.updated)
		c.get("notifications, resumed", c.session, c.event, visibleUpdate, c.updated)
	}
	for _, uri := range uris {
		c.ask("resources/unsubscribe", `"uri":"`+uri+`"`, probe{})
	}
}

// until reads a task in which a text stands.
func (c *tap) until(id, text string) {
	c.t.Helper()
	synctest.Wait()
	got := c.ask("tasks/get", `"taskId":"`+id+`"`, probe{name: id, tasks: true})
	if !strings.Contains(got, text) {
		c.t.Errorf("the task lacks %s: %s", text, got)
	}
}

func (c *tap) tasks(other *tap) {
	for _, id := range []string{other.task, strings.Repeat("a", 26)} {
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			for _, declared := range []bool{true, false} {
				c.ask(method, `"taskId":"`+id+`","inputResponses":{"1.who":{"action":"accept"}}`,
					probe{name: id, tasks: declared, missing: true})
			}
		}
	}
	c.ask("tools/call", `"name":"only","arguments":{}`, probe{name: "only", tasks: true})
	id := c.task
	c.until(id, `"1.who"`)
	c.ask("tasks/update", `"taskId":"`+id+`","inputResponses":{"1.who":`+
		answers["elicitation/create"]+`}`, probe{name: id, tasks: true})
	c.until(id, `"2.greeting"`)
	c.ask("tasks/cancel", `"taskId":"`+id+`"`, probe{name: id, tasks: true})
	c.until(id, `"cancelled"`)
}

// streams resumes streams of this session and of others.
func (c *tap) streams(other *tap) {
	c.get("a stream of another user", other.session, other.event, "", nil)
	c.get("an event of another user", c.session, other.event, "", nil)
	c.get("an unknown stream", c.session, strings.Repeat("A", 26)+"_0", "", nil)
	c.ask("prompts/get", `"name":"meet"`, probe{name: "meet"})
	c.get("the last answer", c.session, c.event, "", nil)
}

// play of a client with all permissions: it has a session, a stream, a state and a task of the
// hidden names.
func (c *tap) prepare(h string) {
	c.ask("prompts/get", `"name":"`+h+`meet"`, probe{name: h + "meet"})
	if c.era == "2026-07-28" {
		c.ask("tools/call", `"name":"`+h+`only"`, probe{name: h + "only", tasks: true})
		c.until(c.task, `"1.who"`)
	}
}

// TestHiddenIsAsIfItWereNotCompiled compares a server that hides things with one without them, for
// every method, notification and stream. All bytes and their order are equal.
func TestHiddenIsAsIfItWereNotCompiled(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("internal/guard/methods.go")
	if err != nil {
		t.Fatal(err)
	}
	var methods []string
	for _, m := range regexp.MustCompile(`(?m)^\t"([a-zA-Z/_]+)":`).FindAllStringSubmatch(
		string(source), -1) {
		methods = append(methods, m[1])
	}
	if slices.Sort(methods); len(methods) < 22 {
		t.Fatalf("the guard's methods: %q", methods)
	}
	for e, era := range eras {
		for u, user := range []string{"", "Viewer", "Manager"} {
			for stdio := range 2 {
				if testing.Short() && (e+u+stdio)%2 != 0 { // all pairs are left
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/stdio=%v", era, user, stdio == 1), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						sent := compareVaults(t, stdio == 1, era, user)
						if era == "2026-07-28" { // has no handshake
							sent = slices.Sorted(slices.Values(append(sent, "initialize")))
						}
						if !slices.Equal(sent, methods) {
							t.Errorf("sent %q\nthe guard's methods are %q", sent, methods)
						}
					})
				})
			}
		}
	}
}

// compareVaults compares what a caller gets of a server that hides things and of one without them.
// It returns the methods that were sent.
func compareVaults(t *testing.T, stdio bool, era, user string) []string {
	t.Helper()
	var taps [2]*tap
	for i := range taps {
		s := newServer(t, runtime.Options{Anonymous: true, PageSize: 2,
			ListTTL: time.Minute, StateKey: []byte(strings.Repeat("k", 32)),
			Extensions:   map[string]map[string]any{"com.example/x": nil},
			Experimental: map[string]map[string]any{"y": nil},
			Identity: guarded{scopedUsers(), identity.Resource{URL: "https://mcp.example/mcp",
				AuthorizationServers: []string{"https://id.example"}}}},
			vault(i == 0))
		s.Linger()
		url := serve(t, s)
		other := &tap{t: t, server: s, url: url, era: era, token: tokens["Admin"],
			sent: map[string]bool{}}
		other.open(false, access.Principal{})
		other.prepare([]string{"h", ""}[i])
		c := &tap{t: t, server: s, url: url, era: era, token: tokens[user],
			sent: map[string]bool{}}
		if taps[i] = c; stdio {
			other.event, other.session = "", ""
		}
		c.open(stdio, principalOf(user))
		c.play(other)
		document := &raw{url: strings.TrimSuffix(url, runtime.PathMCP) +
			runtime.PathResourceMetadata}
		c.keep("metadata", document.send(t, http.MethodGet, "", nil).String())
	}
	compareTaps(t, taps)
	return slices.Sorted(maps.Keys(taps[0].sent))
}

// scopedUsers are users whose admins have the scope of the vault; managers lack it.
func scopedUsers() identity.Source {
	return identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		for user, known := range tokens {
			if token == known {
				p := principalOf(user)
				if user == "Admin" {
					p.Scopes = []string{"vault:open"}
				}
				return identity.Identity{Principal: p}, nil
			}
		}
		return identity.Identity{}, identity.ErrInvalidToken
	})
}

func compareTaps(t *testing.T, taps [2]*tap) {
	t.Helper()
	hides, without := taps[0].got, taps[1].got
	for i := range min(len(hides), len(without)) {
		a, b := hides[i], without[i]
		if a != b {
			t.Errorf("hidden:\n%s\nnot compiled:\n%s", a, b)
		}
	}
	if len(hides) != len(without) || len(hides) < 100 {
		t.Errorf("%d steps, %d without", len(hides), len(without))
	}
}
