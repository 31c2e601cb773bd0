package noninterference

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// A trial runs steps against both servers of a plan.
type trial struct {
	plan   plan
	caller principal // as it is now
	last   principal // as it was in the last message or check of a stream
	alone  bool      // the caller has dropped its streams
	worlds [2]*world
	steps  []string
	id     int
	sent   int // messages of the caller
}

// clients of each world
const (
	theOther = iota
	theCaller
	another // connection of the caller
)

// both does a step in both servers, and compares what the caller has received then.
func (tr *trial) both(t *rapid.T, step string, do func(*world)) {
	tr.one(t, 3, step, do)
}

// one does a step in the servers of a set.
func (tr *trial) one(t *rapid.T, which int, step string, do func(*world)) {
	switch which {
	case 1, 2:
		step = fmt.Sprintf("[server %d] %s", which, step)
	}
	tr.steps = append(tr.steps, step)
	time.Sleep(time.Microsecond) // timers of two steps never end at the same time
	var got [2]string
	for i, w := range tr.worlds {
		if which&(i+1) != 0 {
			do(w)
			synctest.Wait()
		}
	}
	tr.compare(t, &got)
}

func (tr *trial) compare(t *rapid.T, got *[2]string) {
	for i, w := range tr.worlds {
		_ = w.clients[theOther].take()
		for _, c := range w.clients[theCaller:] {
			got[i] += c.take()
		}
	}
	if got[0] != got[1] {
		panic(difference(tr.scenario(got)))
	}
	if secret := tr.secret(got[0]); secret != "" {
		panic(difference(fmt.Sprintf("The caller receives %q.\n%s", secret, tr.scenario(got))))
	}
	for _, w := range tr.worlds {
		if w.logged.Load() {
			panic(difference(fmt.Sprintf("A log has %q.\n%s", marker, tr.scenario(got))))
		}
	}
	if os.Getenv("SHOW") != "" {
		fmt.Println(">", tr.steps[len(tr.steps)-1])
		fmt.Println(got[0])
	}
}

// scenario describes a difference.
func (tr *trial) scenario(got *[2]string) string {
	return fmt.Sprintf("The caller can tell the servers apart.\n\n-- server --\n%s-- steps --\n%s\n"+
		"-- server 1 --\n%s\n-- server 2 --\n%s", tr.plan, strings.Join(tr.steps, "\n"), got[0], got[1])
}

// begin connects the clients.
func (tr *trial) begin(t *rapid.T) {
	p := tr.plan
	tr.caller, tr.last = p.Caller, p.Caller
	tr.both(t, "connect", func(w *world) {
		w.connect("other", p.Era, false)
		w.connect(p.Caller.Subject, p.Era, p.Stdio)
		w.connect(p.Caller.Subject, p.Era, false)
	})
	if p.Era == stateless {
		return
	}
	for _, who := range []int{theOther, theCaller, another} {
		m := message{verb: http.MethodPost, body: tr.initialize()}
		tr.both(t, speaker[who]+"initialize", func(w *world) { w.clients[who].send(m) })
		m = post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			tr.header("notifications/initialized", ""))
		tr.both(t, speaker[who]+"initialized", func(w *world) { w.clients[who].send(m) })
	}
}

func (tr *trial) initialize() string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` +
		tr.plan.Era + `","capabilities":{"elicitation":{},"sampling":{},"roots":{}},` +
		`"clientInfo":{"name":"c","version":"1"}}}`
}

// allAbilities are the MCP capabilities of a client of 2026-07-28 that has all.
const allAbilities = `{"elicitation":{},"sampling":{},"roots":{},` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// opening draws the beginning of a trace, which reaches a deep state: open streams with
// subscriptions, a task, a question and a page.
func (tr *trial) opening(t *rapid.T) {
	p := tr.plan
	catalog := pick(t, "catalog", "", "stored", "declared")
	send := func(who int, method, name, params string) {
		meta := tr.meta(allAbilities)
		if catalog != "" && (method == "tools/list" || method == "subscriptions/listen") {
			meta = append(meta, `"`+runtime.MetaCatalog+`":"`+catalog+`"`)
		}
		m := tr.message(method, name, meta, params)
		tr.sent++
		tr.both(t, fmt.Sprint(speaker[who], m), func(w *world) { w.clients[who].send(m) })
	}
	var uris []string // of the plan, so that a small one has few
	for _, i := range p.Items {
		uri := `"` + uri(i.Name) + `"`
		if i.Kind == access.Resources && !slices.Contains(uris, uri) {
			uris = append(uris, uri)
		}
	}
	get := func(last string) {
		m := message{verb: http.MethodGet, header: tr.header("", "")}
		m.header["Last-Event-Id"] = last
		tr.both(t, fmt.Sprint("caller> ", m), func(w *world) { w.clients[theCaller].send(m) })
	}
	updated := func(uri string, which int) {
		tr.one(t, which, "update "+uri, func(w *world) {
			_ = w.server.ResourceUpdated(w.clients[theOther].ctx, uri) // or nobody is subscribed
		})
	}
	if flip(t, "begin with a stream") {
		if p.Era == stateless {
			send(theCaller, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true,`+
				`"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":[`+
				strings.Join(uris, ",")+`]}`)
		} else {
			for _, uri := range uris {
				send(theCaller, "resources/subscribe", "", `"uri":`+uri)
			}
			get("")
		}
	}
	if !p.Stdio && p.Era != stateless && flip(t, "begin with a kept event") {
		for _, uri := range append(uris, `"base://1"`) {
			send(theCaller, "resources/subscribe", "", `"uri":`+uri)
		}
		get("")
		updated("base://1", 3)
		tr.both(t, "drop the streams of the caller", func(w *world) {
			for _, s := range w.clients[theCaller].streams {
				s.cancel()
			}
		})
		tr.alone = true
		if tr.lowers() {
			tr.lower(t)
			if lost := tr.lost(); len(lost) > 0 {
				updated(uri(pick(t, "lost", lost...)), pick(t, "servers", 1, 2, 3))
				get("<event>")
			}
		}
	}
	if tr.lowers() && flip(t, "begin with a loss") {
		lower := p.lowered(tr.caller, flip(t, "boundary"))
		if names := tr.losing(lower); len(names) > 0 {
			tr.lowerDuring(t, pick(t, "lost tool", names...), lower, flip(t, "resumes early"))
		}
	}
	if flip(t, "begin with a task") {
		send(theCaller, "tools/call", "base", `"name":"base"`)
	}
	if people := p.people(); len(people) > 0 && flip(t, "begin with a person") {
		name := pick(t, "person", people...)
		send(theCaller, "tools/call", name, `"name":"`+name+`","arguments":{}`)
	}
	if flip(t, "begin with a page") {
		if tr.alone {
			tr.ping(t, theCaller)
		}
		send(theCaller, "tools/list", "", "")
	}
}

var speaker = map[int]string{theOther: "other> ", theCaller: "caller> ", another: "caller@2> "}

func (tr *trial) header(method, name string) map[string]string {
	h := map[string]string{"Mcp-Protocol-Version": tr.plan.Era}
	if tr.plan.Era == stateless && method != "" {
		h["Mcp-Method"] = method
		if name != "" {
			h["Mcp-Name"] = name
		}
	}
	return h
}

// meta returns the members of _meta that a version needs.
func (tr *trial) meta(capabilities string) []string {
	if tr.plan.Era != stateless {
		return nil
	}
	return []string{`"io.modelcontextprotocol/protocolVersion":"` + tr.plan.Era + `"`,
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities}
}

// message makes the message of a method.
func (tr *trial) message(method, name string, meta []string, params string) message {
	tr.id++
	id := fmt.Sprintf(`"id":%d,`, tr.id)
	if strings.HasPrefix(method, "notifications/") {
		id = ""
	}
	if len(meta) > 0 {
		params = strings.TrimSuffix(`"_meta":{`+strings.Join(meta, ",")+`},`+params, ",")
	}
	return post(`{"jsonrpc":"2.0",`+id+`"method":"`+method+`","params":{`+params+`}}`,
		tr.header(method, name))
}

// request draws the message of a method.
func (tr *trial) request(t *rapid.T, method, name, params string) message {
	meta := tr.meta(pick(t, "capabilities", `{"elicitation":{}}`, `{}`, allAbilities))
	if len(meta) > 0 && flip(t, "log") {
		meta = append(meta, `"io.modelcontextprotocol/logLevel":"debug"`)
	}
	if flip(t, "progress token") {
		meta = append(meta, `"progressToken":"p"`)
	}
	if method == "tools/list" {
		if c := pick(t, "catalog", "", "stored", "declared", "unknown"); c != "" {
			meta = append(meta, `"`+runtime.MetaCatalog+`":"`+c+`"`)
		}
	}
	return tr.message(method, name, meta, params)
}

// ask sends a message of the caller.
func (tr *trial) ask(t *rapid.T, m message) {
	who := theCaller
	if rapid.IntRange(0, 9).Draw(t, "connection") == 9 {
		who = another
	}
	if !tr.plan.Stdio || who == another {
		switch rapid.IntRange(0, 19).Draw(t, "header") {
		case 19:
			delete(m.header, "Mcp-Name")
		case 18:
			m.header["Mcp-Name"] = "get_a"
		case 17:
			m.header["Mcp-Param-At"] = "x"
		case 16:
			m.header["Accept"] = "application/json"
		case 15:
			m.path = cmp.Or(m.path, runtime.PathMCP+"?readonly=true")
		}
	}
	if tr.plan.Era != stateless && (strings.Contains(m.body, `"method":"tools/list"`) ||
		m.verb == http.MethodGet) {
		tr.ping(t, who)
	}
	tr.sent++
	if who == theCaller && m.path == "" {
		tr.last = tr.caller
	}
	tr.both(t, fmt.Sprint(speaker[who], m),
		func(w *world) { w.clients[who].send(m) })
}

// ping lets a session find another caller. It is notified before a list or after it, by its last
// stream or by the new one. The list of another catalog can make the notification needless.
func (tr *trial) ping(t *rapid.T, who int) {
	ping := post(`{"jsonrpc":"2.0","id":"p","method":"ping"}`, tr.header("ping", ""))
	tr.both(t, fmt.Sprint(speaker[who], ping), func(w *world) { w.clients[who].send(ping) })
}

func (tr *trial) name(t *rapid.T, kind access.Kind) string {
	name := pick(t, "name", append([]string{"base", "none"}, tr.plan.names(kind)...)...)
	if kind == access.Resources {
		switch name {
		case "base":
			return pick(t, "base", "base://1", "adopted://base")
		case "none":
			return "ui://" + pick(t, "app", append([]string{"base"}, tr.plan.names(access.Tools)...)...)
		}
		return uri(name)
	}
	if kind == access.Tools && rapid.IntRange(0, 5).Draw(t, "alias") == 5 {
		name += "_old"
	}
	return name
}

// asks are the messages of a caller.
func (tr *trial) asks() map[string]func(*rapid.T) {
	ask := func(t *rapid.T, method, name, params string) {
		tr.ask(t, tr.request(t, method, name, params))
	}
	answered := func(t *rapid.T) string {
		return pick(t, "answers", "", "", `,"inputResponses":{"who":{"action":"accept","content":`+
			`{"name":"Ada"}}},"requestState":"<state>"`,
			`,"inputResponses":{},"requestState":"<other state>"`)
	}
	call := func(t *rapid.T) {
		name := tr.name(t, access.Tools)
		rest := pick(t, "arguments", "", `,"arguments":{}`, `,"arguments":{"at":"x"}`,
			`,"arguments":{"at":7}`, `,"arguments":{"verb":"purge"}`, `,"arguments":{"verb":"list"}`,
			`,"arguments":{"verb":"none"}`, `,"arguments":[]`)
		ask(t, "tools/call", name, `"name":"`+name+`"`+rest+answered(t))
	}
	fitting := func(t *rapid.T) {
		name := tr.name(t, access.Tools)
		ask(t, "tools/call", name, `"name":"`+name+`"`+tr.plan.drawArguments(t, name))
	}
	get := func(t *rapid.T) {
		name := tr.name(t, access.Prompts)
		ask(t, "prompts/get", name, `"name":"`+name+`"`+
			pick(t, "arguments", "", `,"arguments":{"id":"x"}`, `,"arguments":{"none":"x"}`,
				`,"arguments":{`+tr.plan.promptArguments(name)+`}`)+answered(t))
	}
	read := func(t *rapid.T) {
		name := tr.name(t, access.Resources)
		ask(t, "resources/read", name, `"uri":"`+name+`"`+answered(t))
	}
	return map[string]func(*rapid.T){
		"call": call, "call again": call, "call with fitting arguments": fitting,
		"call again with fitting arguments": fitting,
		"get":                               get, "read": read,
		"call with fields": func(t *rapid.T) {
			name := pick(t, "person", tr.plan.people()...)
			ask(t, "tools/call", name, `"name":"`+name+`","arguments":`+drawPerson(t, 2)+answered(t))
		},
		"without a record": func(t *rapid.T) {
			down := func(is bool) {
				tr.both(t, fmt.Sprint("the audit sink is down: ", is),
					func(w *world) { w.lost.Store(is) })
			}
			down(true)
			[]func(*rapid.T){call, get, read}[rapid.IntRange(0, 2).Draw(t, "which")](t)
			down(false)
			tr.wait(t, 10*time.Second) // a probe finds out
		},
		"metadata": func(t *rapid.T) {
			tr.ask(t, message{verb: http.MethodGet, path: runtime.PathResourceMetadata,
				header: map[string]string{}})
		},
		"complete": func(t *rapid.T) {
			ref := `"type":"ref/prompt","name":"` + tr.name(t, access.Prompts) + `"`
			if flip(t, "of a resource") {
				ref = `"type":"ref/resource","uri":"` +
					pick(t, "template", append([]string{"base://{id}"},
						tr.plan.names(access.Resources)...)...) + `"`
			}
			ask(t, "completion/complete", "", `"ref":{`+ref+`},"argument":{"name":"`+
				pick(t, "argument", append([]string{"id", "table", "to"},
					tr.plan.completed()...)...)+`","value":"`+pick(t, "begun", "1", "")+`"}`+
				pick(t, "context", "", `,"context":{"arguments":{"to":"b","of":"c"}}`))
		},
		"list": func(t *rapid.T) {
			ask(t, pick(t, "method", "tools/list", "prompts/list", "resources/list",
				"resources/templates/list"), "", pick(t, "cursor", "", `"cursor":"<cursor>"`))
		},
		"subscribe": func(t *rapid.T) {
			name := tr.name(t, access.Resources)
			if tr.plan.Era == stateless {
				ask(t, "subscriptions/listen", "", `"notifications":{"toolsListChanged":true,`+
					`"promptsListChanged":true,"resourcesListChanged":true,`+
					`"resourceSubscriptions":["base://1","`+name+`"],"taskIds":["<task>"]}`)
				return
			}
			ask(t, pick(t, "method", "resources/subscribe", "resources/unsubscribe"), "",
				`"uri":"`+name+`"`)
		},
		"task": func(t *rapid.T) {
			id := pick(t, "task", "<task>", "<other task>")
			ask(t, pick(t, "method", "tasks/get", "tasks/cancel", "tasks/update"), id,
				`"taskId":"`+id+`","inputResponses":{"1.who":{"action":"accept","content":`+
					`{"name":"Ada"}}}`)
		},
		"other method": func(t *rapid.T) {
			method := pick(t, "method", "ping", "server/discover", "notifications/cancelled",
				"notifications/progress", "notifications/roots/list_changed", "logging/setLevel",
				"Tools/call", "tools/call ", "initialize", "roots/list", "elicitation/create")
			params := map[string]string{
				"notifications/cancelled": fmt.Sprintf(`"requestId":%d`,
					max(0, tr.id-rapid.IntRange(0, 2).Draw(t, "cancelled"))),
				"notifications/progress": `"progressToken":"p","progress":1`,
				"logging/setLevel":       `"level":"debug"`,
				"Tools/call":             `"name":"get_a"`,
				"initialize": `"protocolVersion":"` + tr.plan.Era +
					`","capabilities":{},"clientInfo":{"name":"c","version":"1"}`,
			}[method]
			ask(t, method, "", params)
		},
		"answer": func(t *rapid.T) {
			tr.ask(t, post(`{"jsonrpc":"2.0","id":<question>,"result":`+
				pick(t, "answer", `{"action":"accept","content":{"name":"Ada"}}`,
					`{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}`,
					`{"roots":[{"uri":"file:///home"}]}`, `{"action":"decline"}`,
					`{"action":"accept","content":{"name":7}}`)+`}`,
				tr.header("", "")))
		},
		"malformed": func(t *rapid.T) {
			name := tr.name(t, access.Tools)
			m := tr.request(t, "tools/call", name, `"name":"`+name+`"`)
			m.body = pick(t, "malformed", m.body[:len(m.body)-1], "["+m.body+"]", "",
				strings.Replace(m.body, `"name"`, `"name":"base","name"`, 1),
				strings.Replace(m.body, `"name"`, `"Name"`, 1),
				strings.Replace(m.body, `"name":"`+name+`"`, `"name":7`, 1),
				strings.Replace(m.body, `"method"`, `"method":"ping","Method"`, 1),
				strings.Replace(m.body, `"params"`, `"params":{},"x"`, 1),
				m.body+m.body, "\ufeff"+m.body, strings.Replace(m.body, "2.0", "1.0", 1))
			if strings.Contains(m.body, "\n") {
				m.body = ""
			}
			tr.ask(t, m)
		},
		"open stream": func(t *rapid.T) {
			h := tr.header("", "")
			h["Last-Event-Id"] = pick(t, "last event", "", "<event>", "<other event>")
			h["Mcp-Session-Id"] = pick(t, "session", "<session>", "<other session>")
			verb := http.MethodGet
			if rapid.IntRange(0, 9).Draw(t, "delete") == 9 {
				verb = http.MethodDelete
			}
			tr.ask(t, message{verb: verb, header: h})
		},
		"drop": func(t *rapid.T) {
			c := tr.worlds[0].clients[theCaller]
			if len(c.streams) == 0 {
				t.Skip("no stream")
			}
			at := len(c.streams) - 1 - rapid.IntRange(0, min(3, len(c.streams)-1)).Draw(t, "stream")
			tr.alone = true
			tr.both(t, fmt.Sprint("drop stream ", at), func(w *world) {
				w.clients[theCaller].streams[at].cancel()
			})
		},
	}
}

// ofOther draws the servers in which the rights of the other caller change. They change in both if
// an interceptor returns the results of one caller to another.
func (tr *trial) ofOther(t *rapid.T) int {
	if tr.plan.Keeps {
		return 3
	}
	return pick(t, "servers", 1, 2, 3)
}

// which draws the servers in which an event about an item happens.
func (tr *trial) which(t *rapid.T, kind access.Kind, name string) int {
	// A session without a stream is decided by its last message.
	seen := []principal{tr.caller, tr.last}
	if tr.asked() || len(tr.worlds[0].waiting) > 0 {
		seen = append(seen, tr.plan.Caller) // a call that goes on belongs to the caller who began it
	}
	for _, i := range tr.plan.Items {
		if i.Kind == kind && i.Name == name && slices.ContainsFunc(seen, func(p principal) bool {
			p.Permits = permits // which the caller can get, and the effects of an event may last
			return !tr.plan.secret(i, p)
		}) {
			return 3
		}
	}
	return pick(t, "servers", 1, 2, 3)
}

// asked reports whether a call of the caller has asked its client, and may go on.
func (tr *trial) asked() bool {
	of := tr.worlds[0].clients
	return of[theCaller].last["question"] != "" || of[another].last["question"] != ""
}

// item draws an item of a kind.
func (tr *trial) item(t *rapid.T, kind access.Kind) (name string, which int) {
	of := tr.plan.names(kind)
	if len(of) == 0 {
		of = []string{"none"}
	}
	name = pick(t, "item", of...)
	return name, tr.which(t, kind, name)
}

// lost are the resources that the caller could read, and may not read any more.
func (tr *trial) lost() (names []string) {
	for _, i := range tr.plan.Items {
		if i.Kind == access.Resources && tr.plan.secret(i, tr.caller) &&
			!tr.plan.secret(i, tr.plan.Caller) {
			names = append(names, i.Name)
		}
	}
	return names
}

// events are what happens outside.
func (tr *trial) events() map[string]func(*rapid.T) {
	update := func(t *rapid.T) {
		name, which := tr.item(t, access.Resources)
		if lost := tr.lost(); len(lost) > 0 && flip(t, "lost") {
			name, which = pick(t, "item", lost...), pick(t, "servers", 1, 2, 3)
		}
		for _, i := range tr.plan.Items { // a URI may match several
			if i.Kind == access.Resources && matches(i.Name, uri(name)) &&
				!tr.plan.secret(i, tr.caller) {
				which = 3
			}
		}
		if rapid.IntRange(0, 4).Draw(t, "base") == 4 {
			name, which = "base://1", 3
		}
		tr.one(t, which, "update "+uri(name), func(w *world) {
			_ = w.server.ResourceUpdated(w.clients[theOther].ctx, uri(name)) // may be unknown
		})
	}
	permission := func(t *rapid.T, quietly bool) {
		which, token := 3, tr.plan.Caller.Subject
		if token == "" || !quietly && flip(t, "of the other") {
			which, token = tr.ofOther(t), "other"
		}
		name, has := pick(t, "permission", permits...), flip(t, "has")
		invalidates := !quietly && flip(t, "invalidates")
		tr.one(t, which, fmt.Sprintf("permission %s of %s: %v, invalidates: %v", name, token, has,
			invalidates), func(w *world) {
			w.change(catalog.Change{}, func() {
				u := w.users[token]
				u.Permits = without(u.Permits, name)
				if has {
					u.Permits = append(u.Permits, name)
				}
				w.users[token] = u
			})
			if invalidates {
				w.server.InvalidateCapabilities(runtime.OfUser(token))
			}
		})
		if token != "other" {
			now := tr.worlds[0].users[token]
			if tr.plan.TTL && !invalidates { // what is kept may count for the rest of the trace
				now.Permits = slices.Concat(now.Permits, tr.caller.Permits)
			}
			tr.caller = now
		}
	}
	all := map[string]func(*rapid.T){
		"update": update, "update again": update,
		"other calls": func(t *rapid.T) {
			name, which := tr.item(t, access.Tools)
			m := tr.request(t, "tools/call", name, `"name":"`+name+`","arguments":`+tr.fitting(name))
			tr.one(t, which, fmt.Sprint("other> ", m), func(w *world) { w.clients[theOther].send(m) })
		},
		"other lists": func(t *rapid.T) {
			m := tr.request(t, "tools/list", "", "")
			tr.both(t, fmt.Sprint("other> ", m), func(w *world) { w.clients[theOther].send(m) })
		},
		"other subscribes": func(t *rapid.T) {
			name, which := tr.item(t, access.Resources)
			m := tr.request(t, "resources/subscribe", "", `"uri":"`+uri(name)+`"`)
			tr.one(t, which, fmt.Sprint("other> ", m), func(w *world) { w.clients[theOther].send(m) })
		},
		"switch": func(t *rapid.T) {
			name, which := tr.item(t, access.Tools)
			if rapid.IntRange(0, 5).Draw(t, "base") == 5 {
				name, which = "base", 3
			}
			off := flip(t, "off")
			tr.one(t, which, fmt.Sprintf("switch off %s: %v", name, off), func(w *world) {
				w.change(catalog.Change{Tools: true}, func() { w.off[name] = off })
			})
		},
		"adopted": func(t *rapid.T) {
			kind := pick(t, "kind", access.Tools, access.Prompts, access.Resources)
			name, which := tr.item(t, kind)
			i := item{Kind: kind, Name: name, Hidden: true}
			for _, other := range tr.plan.Items {
				if other.Kind == kind && other.Name == name {
					i = other
				}
			}
			if !tr.plan.own(i) {
				t.Skip("not an item of an adopted server")
			}
			description := pick(t, "description", "Other.", "Another.")
			tr.one(t, which, fmt.Sprintf("the adopted server has another %s %s", kind, name),
				func(w *world) { w.serveAdopted(i, &form{Description: description, Behaviour: "text"}) })
		},
		"catalog": func(t *rapid.T) {
			name, which := tr.item(t, access.Tools)
			tr.one(t, which, "add to the catalog "+name, func(w *world) {
				w.change(catalog.Change{Catalogs: true}, func() {
					w.catalogs["stored"] = append(w.catalogs["stored"], name)
				})
			})
		},
		"boundary": func(t *rapid.T) {
			kind := pick(t, "kind", access.Tools, access.Prompts, access.Resources)
			name, which := tr.item(t, kind)
			item, excludes := kind.String()+":"+name, flip(t, "excludes")
			tr.one(t, which, fmt.Sprintf("the boundary excludes %s: %v", item, excludes),
				func(w *world) { w.exclude(item, excludes) })
		},
		"lower": func(t *rapid.T) {
			if !tr.lowers() {
				t.Skip("no role")
			}
			tr.lower(t)
		},
		"lower while a call waits": func(t *rapid.T) {
			if !tr.lowers() {
				t.Skip("no role")
			}
			lower := tr.plan.lowered(tr.caller, flip(t, "boundary"))
			names := tr.losing(lower)
			if len(names) == 0 {
				t.Skip("no tool and no field of a result is lost")
			}
			tr.lowerDuring(t, pick(t, "lost tool", names...), lower, flip(t, "resumes early"))
		},
		"permission": func(t *rapid.T) { permission(t, false) },
		"host": func(t *rapid.T) {
			down := flip(t, "down")
			tr.both(t, fmt.Sprint("the host is down: ", down), func(w *world) {
				w.change(catalog.Change{}, func() { w.down = down })
			})
		},
		"time": func(t *rapid.T) {
			d := pick(t, "time", time.Second, 5*time.Second, time.Minute,
				31*time.Minute)
			tr.wait(t, d)
		},
		"grant": func(t *rapid.T) {
			which, token := 3, tr.plan.Caller.Subject
			if token == "" || flip(t, "of the other") {
				which, token = tr.ofOther(t), "other"
			}
			revoked := flip(t, "revoked")
			tr.one(t, which, fmt.Sprintf("a grant of %s, revoked: %v", token, revoked),
				func(w *world) { w.grant(token, revoked) })
		},
		"proceed": func(t *rapid.T) { tr.both(t, "the oldest waiting call goes on", (*world).proceed) },
	}
	// Nothing hidden may show early what the host has changed.
	all["permission and an event"] = func(t *rapid.T) {
		permission(t, true)
		events := []string{"catalog", "switch", "update"}
		if tr.plan.Bounded {
			events = append(events, "boundary")
		}
		all[pick(t, "event", events...)](t)
		tr.wait(t, time.Second) // for a tick, and not until the host is read
	}
	return all
}

// lowers reports whether the caller can get a lower role.
func (tr *trial) lowers() bool {
	return !tr.plan.Caller.anonymous() && !tr.plan.Stdio && len(tr.caller.Roles) > 0
}

func (tr *trial) lower(t *rapid.T) {
	tr.settle(t)
	tr.become(t, tr.plan.lowered(tr.caller, flip(t, "boundary")))
	if tr.settle(t); !tr.alone { // open streams are authenticated again
		tr.last = tr.caller
	}
}

// losing returns the tools whose answers wait for a later request, and are hidden from a lowered
// caller, or have a field that is hidden from it. Such an answer is an event of a stream, or the
// result of a task.
func (tr *trial) losing(lower principal) (names []string) {
	p := tr.plan
	if p.Era != "2025-11-25" && p.Era != stateless || len(tr.worlds[0].waiting) > 0 {
		return nil // no event and no task, or another call waits
	}
	losesField := p.losesField(tr.caller, lower)
	add := func(name string, f *form, lost bool) {
		if (lost || losesField && f.Gives != "") && (p.Era != stateless || f.Task != "") &&
			!tr.worlds[0].off[name] {
			names = append(names, name)
		}
	}
	for _, i := range p.Items {
		if i.Kind == access.Tools && !p.secret(i, tr.caller) {
			add(i.Name, i.Forms[0], p.secret(i, lower))
		}
	}
	if p.Person {
		add("base", baseWithFields(), false)
	}
	return names
}

// lowerDuring lowers the caller while a call of it waits. The stream of the answer is open then, or
// resumed later.
func (tr *trial) lowerDuring(t *rapid.T, name string, lower principal, early bool) {
	send := func(m message) {
		tr.sent++
		tr.both(t, fmt.Sprint("caller> ", m), func(w *world) { w.clients[theCaller].send(m) })
	}
	resume := func() {
		m := message{verb: http.MethodGet, header: tr.header("", "")}
		m.header["Last-Event-Id"] = "<event>"
		send(m)
	}
	tr.settle(t)
	tr.both(t, "calls wait of "+name, hold(name))
	send(tr.message("tools/call", name, tr.meta(allAbilities), `"name":"`+name+
		`","arguments":`+tr.fitting(name)))
	task := tr.plan.Era == stateless
	if !task {
		tr.wait(t, 7*time.Second) // the answer becomes a stream
		tr.both(t, "drop the last stream", func(w *world) {
			of := w.clients[theCaller].streams
			of[len(of)-1].cancel()
		})
		if early {
			resume()
		}
	}
	if tr.become(t, lower); early {
		tr.settle(t) // the stream is authenticated again
	}
	tr.both(t, "the call goes on, whose result has less for its reader", (*world).proceed)
	tr.both(t, "no calls wait", hold(""))
	switch {
	case task:
		send(tr.message("tasks/get", "<task>", tr.meta(allAbilities), `"taskId":"<task>"`))
	case !early:
		resume()
	}
	tr.settle(t)
}

// become gives the caller other roles, or its client another boundary.
func (tr *trial) become(t *rapid.T, now principal) {
	text := "the caller's role is lowered"
	bounded := (now.Within == nil) != (tr.caller.Within == nil) ||
		!slices.Equal(now.Within, tr.caller.Within)
	if bounded {
		text = "the roles of the boundary are lowered"
	}
	tr.caller = now
	tr.both(t, text, func(w *world) {
		w.change(catalog.Change{}, func() { w.users[now.Subject] = now })
		if bounded {
			w.bounds <- boundary.Party{Issuer: "test", Client: agent}
		}
	})
}

// hold lets the calls of a tool wait, or of none.
func hold(name string) func(w *world) {
	return func(w *world) { w.change(catalog.Change{}, func() { w.held = name }) }
}

// fitting are arguments of a tool that the plan makes.
func (tr *trial) fitting(name string) string {
	if slices.Contains(tr.plan.people(), name) {
		return `{}`
	}
	return `{"at":"x"}`
}

// settle waits until streams are authenticated and the host is read. Both are due at one time, so
// that a change which waits for the host must not meet one of the caller.
func (tr *trial) settle(t *rapid.T) { tr.wait(t, 2*time.Minute) }

func (tr *trial) wait(t *rapid.T, d time.Duration) {
	tr.both(t, fmt.Sprint("time passes: ", d), func(w *world) {
		if w.which == 1 {
			time.Sleep(d + 1)
		}
	})
}

func without(all []string, name string) (left []string) {
	for _, a := range all {
		if a != name {
			left = append(left, a)
		}
	}
	return left
}

// counts of a run
var traces, messages atomic.Int64

// A difference is the scenario of one.
type difference string

// inBubble runs a function in a bubble of its own, and returns its panic.
func inBubble(t *testing.T, do func(*testing.T)) (panicked any) {
	synctest.Test(t, func(t *testing.T) {
		defer func() { panicked = recover() }()
		do(t)
	})
	return panicked
}

// property checks plans, each in a bubble of its own.
func property(t *testing.T, run func(*testing.T, *rapid.T, plan)) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		switch failure := inBubble(t, func(t *testing.T) { run(t, rt, p) }).(type) {
		case nil:
		case difference:
			rt.Fatal(string(failure))
		default:
			panic(failure) // among them those of rapid
		}
	})
}

// TestHiddenItemsDoNotInterfere compares all that a caller receives of two servers.
func TestHiddenItemsDoNotInterfere(t *testing.T) {
	property(t, run)
	t.Logf("%d traces, %d messages", traces.Load(), messages.Load())
}

// run draws and runs a trace of a plan.
func run(t *testing.T, rt *rapid.T, p plan) {
	tr := &trial{plan: p}
	defer tr.end()
	for i := range tr.worlds {
		if tr.worlds[i] = newWorld(t, p, i); tr.worlds[i] == nil {
			rt.Skip("overlapping templates")
		}
	}
	tr.begin(rt)
	tr.opening(rt)
	actions := tr.asks()
	maps.Copy(actions, tr.events())
	maps.DeleteFunc(actions, p.lacks)
	rt.Repeat(actions)
	traces.Add(1)
	messages.Add(int64(tr.sent))
}

// lacks reports whether an action needs what no server of the plan has.
func (p plan) lacks(action string, _ func(*rapid.T)) bool {
	switch action {
	case "call with fitting arguments", "call again with fitting arguments":
		return p.Package == 0
	case "call with fields":
		return len(p.people()) == 0
	case "without a record":
		return !p.Records
	case "permission", "permission and an event", "host":
		return !p.Aware
	case "adopted":
		return !p.Adopted
	case "boundary":
		return !p.Bounded
	case "drop":
		return p.Stdio
	}
	return false
}

// end closes the clients and the servers.
func (tr *trial) end() {
	for _, w := range tr.worlds {
		if w != nil {
			w.end()
		}
	}
}

// TestEveryMethodIsSent compares the methods that traces have with those that the guard decides.
func TestEveryMethodIsSent(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	traced := read("trace_test.go")
	decided := regexp.MustCompile(`(?m)^\t"([a-zA-Z/_]+)":`).FindAllStringSubmatch(
		read("../../runtime/internal/guard/methods.go"), -1)
	for _, m := range decided {
		if !strings.Contains(traced, `"`+m[1]+`"`) {
			t.Errorf("no trace has the method %s", m[1])
		}
	}
	if len(decided) < 22 {
		t.Errorf("the guard has %d methods", len(decided))
	}
}
