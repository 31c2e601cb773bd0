package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"
)

// instance is one run of a step, for one choice of its alternatives.
type instance struct {
	*runner
	*step
	chosen
	headers []string
	input   []string // the answers that are left
	got     []string

	compared bool // as "same" says
	status   bool // each HTTP status is shown
}

func (i *instance) add(format string, args ...any) {
	i.got = append(i.got, strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// run runs the step and returns what came back.
func (i *instance) run(text string) []string {
	who, text, _ := strings.Cut(text, "> ")
	verb, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	i.world.Records() // what others have left
	if who == "server" {
		i.serverStep(text)
		i.records()
		return i.got
	}
	name, tag, _ := strings.Cut(who, "#")
	if slices.Contains([]string{"status", "next", "rest", "drop"}, verb) {
		x := i.streams[tag]
		if x == nil {
			i.t.Fatalf("%s: there is no stream %q", i.where, tag)
		}
		i.onStream(x, verb)
		i.records()
		return i.got
	}
	capabilities := ""
	if verb == "connect" {
		if capabilities = rest; rest == "" {
			capabilities = i.setup.client
		}
	}
	c, opened := i.connect(name, capabilities)
	if verb == "connect" {
		i.got = append(i.got, opened...)
		i.records()
		return i.got
	}
	if verb == "eof" {
		i.eof(c, name)
		return i.got
	}
	id := "7"
	if verb == "as" {
		id, rest, _ = strings.Cut(rest, " ")
		verb, rest, _ = strings.Cut(rest, " ")
	}
	full := verb == "full"
	if full {
		verb, rest, _ = strings.Cut(rest, " ")
	}
	if verb == "listen" {
		i.listen(c, tag, strings.Fields(rest))
		return i.got
	}
	send := func(change func(string) string) *exchange {
		httpVerb, body := http.MethodPost, ""
		switch verb {
		case "GET", "DELETE", "PUT":
			httpVerb = verb
		case "send":
			body = rest
		case "notify":
			method, params, _ := strings.Cut(rest, " ")
			body = c.message(method, members(params), "")
		default:
			params, err := parameters(verb, rest)
			if err != nil {
				i.t.Fatalf("%s: %v", i.where, err)
			}
			body = c.message(verb, params, id)
		}
		var more []string
		for _, h := range i.headers {
			more = append(more, change(h))
		}
		header := http.Header{"Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"}}
		x := i.sendWith(c, httpVerb, "", change(body), header, more)
		x.full = full
		return x
	}
	x := send(func(s string) string { return s })
	first := x.request
	if tag != "" {
		i.streams[tag] = x
		i.records()
		return i.got
	}
	i.collect(c, name, x)
	i.records()
	for _, same := range i.of(i.same) {
		from, to, two := strings.Cut(i.expand(i.in(same)), " -> ")
		if !two {
			to = strings.Repeat("x", len(from))
		}
		other := send(func(s string) string { return replaceName(s, from, to) })
		if c.equal(first, other.request) {
			i.t.Errorf("%s: the request is the same with %s and with %s", i.where, from, to)
		}
		i.sameBytes(x, other, from, to)
		i.compared = true
	}
	return i.got
}

// replaceName replaces a name, and no part of a longer word.
func replaceName(text, from, to string) string {
	pattern := regexp.QuoteMeta(from)
	if word.MatchString(from[:1]) {
		pattern = `\b` + pattern
	}
	if word.MatchString(from[len(from)-1:]) {
		pattern += `\b`
	}
	return regexp.MustCompile(pattern).ReplaceAllLiteralString(text, to)
}

var word = regexp.MustCompile(`^\w$`)

// sameBytes compares two answers to the last byte, but for a name.
func (i *instance) sameBytes(x, other *exchange, from, to string) {
	for _, each := range []*exchange{x, other} {
		for range each.events {
		}
	}
	got := replaceName(other.raw.String(), to, from)
	if x.raw.String() != got || got == "" {
		i.t.Errorf("%s: with %s:\n%s\nwith %s:\n%s", i.where, from, x.raw.String(), to,
			other.raw.String())
	}
	i.world.Records()
}

func (i *instance) serverStep(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	if verb == "wait" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			i.t.Fatalf("%s: %v", i.where, err)
		}
		Pause(d)
		return
	}
	if err := i.world.Do(verb, rest); err != nil {
		i.add("< error %v", err)
	}
}

func (i *instance) records() {
	synctest.Wait()
	for _, text := range i.world.Records() {
		kind, _, _ := strings.Cut(text, ":")
		if kind == "note" || i.shows(kind) {
			i.add("%s", text)
		}
	}
}

// members are the members of a JSON object, as text.
func members(object string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(object), "{"), "}")
}

// parameters are the members of a request's params.
func parameters(method, text string) (string, error) {
	text, further, _ := strings.Cut(text, " with {")
	further = strings.TrimSuffix(further, "}")
	var own string
	switch name, rest, _ := strings.Cut(strings.TrimSpace(text), " "); {
	case strings.HasPrefix(text, "{"), name == "":
		own = members(text)
	case method == "tools/call" || method == "prompts/get":
		own = `"name":` + quote(name)
		if rest != "" {
			own += `,"arguments":` + rest
		}
	case strings.HasPrefix(method, "resources/") && rest == "":
		own = `"uri":` + quote(name)
	case strings.HasPrefix(method, "tasks/") && rest == "":
		own = `"taskId":` + quote(name)
	case method == "completion/complete":
		words := strings.Fields(rest)
		key := map[string]string{"prompt": "name", "resource": "uri"}[name]
		if key == "" || len(words) < 2 {
			return "", fmt.Errorf("write: %s prompt NAME ARGUMENT VALUE", method)
		}
		words = append(words, "")
		own = fmt.Sprintf(`"ref":{"type":"ref/%s","%s":%s},"argument":{"name":%s,"value":%s}`, name,
			key, quote(words[0]), quote(words[1]), quote(words[2]))
	default:
		return "", fmt.Errorf("%s has the parameters %s: write a JSON object", method, text)
	}
	if own != "" && further != "" {
		further = "," + further
	}
	return own + further, nil
}

func quote(text string) string { return compact(text) }

// collect reads an answer to its end, and answers the questions of the server.
func (i *instance) collect(c *connection, name string, x *exchange) {
	for {
		requests, state, more := i.read(c, name, x)
		if !more {
			return
		}
		responses := object{}
		for _, key := range slices.Sorted(maps.Keys(requests)) {
			q, _ := requests[key].(object)
			params, _ := json.Marshal(q["params"])
			method, _ := q["method"].(string)
			i.got = append(i.got, x.noted("? ", message{Method: method, Params: params}))
			answer, ok := i.answer()
			if !ok {
				return // the client leaves it at that
			}
			v, _ := decode([]byte(answer))
			responses[key] = v
		}
		i.again(c, x, responses, state)
	}
}

// again sends a request once more, with answers.
func (i *instance) again(c *connection, x *exchange, responses object, state any) {
	v, _ := decode([]byte(x.request.body))
	body := v.(object)
	params := body["params"].(object)
	params["inputResponses"] = responses
	delete(params, "requestState")
	if state != nil {
		params["requestState"] = state
	}
	next, err := c.start(i.ctx, request{x.request.verb, compact(body),
		maps.Clone(x.request.header), x.request.query}, x.id)
	if err != nil {
		i.t.Fatal(err)
	}
	next.full, next.method, next.target = x.full, x.method, x.target
	*x = *next
}

// answer takes the next answer, after the changes of the server before it.
func (i *instance) answer() (string, bool) {
	for len(i.input) > 0 {
		text := i.input[0]
		i.input = i.input[1:]
		i.got = append(i.got, text)
		if rest, ok := strings.CutPrefix(text, "> "); ok {
			return i.expand(i.in(rest)), true
		}
		i.serverStep(strings.TrimPrefix(i.in(text), "server> "))
	}
	return "", false
}

// read reads an answer, and reports whether it has questions in place of a result.
func (i *instance) read(c *connection, name string, x *exchange) (requests object, state any,
	more bool) {
	for e := range x.events {
		result, done := i.event(c, name, x, e)
		if result != nil {
			requests, _ := result["inputRequests"].(object)
			return requests, result["requestState"], true
		}
		if done {
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// event shows one event. It returns a result with questions, and reports whether the client waits
// for no more.
func (i *instance) event(c *connection, name string, x *exchange, e event) (result object,
	done bool) {
	if e.id != "" {
		if x.last = e.id; x.first == "" {
			x.first = e.id
		}
	}
	if e.status != 0 {
		x.status, x.header = e.status, e.header
		usual := e.status == http.StatusOK || e.status == http.StatusAccepted
		if !usual || i.status || i.shows("status") {
			i.add("< %d", e.status)
		}
		shown := append(slices.Clone(headers), i.setup.show...)
		if i.shows("headers") {
			shown = slices.Sorted(maps.Keys(e.header))
		}
		for _, h := range shown {
			if value := e.header.Values(h); len(value) > 0 {
				i.add("< %s: %s", h, strings.Join(value, ", "))
			}
		}
		return nil, false
	}
	if e.comment && i.shows("comments") {
		i.add("* a comment")
	}
	if e.data == "" {
		return nil, false
	}
	var m message
	if err := json.Unmarshal([]byte(e.data), &m); err != nil || m.Method == "" && m.Result == nil &&
		m.Error == nil {
		i.add("< %s", oneLine(e.data))
		return nil, false
	}
	switch {
	case m.Method != "" && m.ID == nil:
		i.got = append(i.got, x.noted("* ", m))
	case m.Method != "":
		i.got = append(i.got, x.noted("? ", m))
		answer, ok := i.answer()
		if !ok {
			return nil, true
		}
		i.respond(c, m, answer)
	default:
		v, _ := decode(m.Result)
		o, _ := v.(object)
		i.remember(name, o)
		if o["resultType"] == "input_required" && len(i.input) > 0 {
			return o, false
		}
		text := x.answered(m, i.variant)
		if i.shows("ids") {
			text = cmp.Or(string(m.ID), "none") + ": " + text
		}
		i.add("< %s", text)
	}
	return nil, false
}

// shows reports whether "show" has a word.
func (i *instance) shows(word string) bool { return slices.Contains(i.setup.show, word) }

// remember keeps the last state and cursor of a connection.
func (i *instance) remember(name string, result object) {
	for member, key := range map[string]string{"requestState": "state", "nextCursor": "cursor",
		"taskId": "task"} {
		if text, ok := result[member].(string); ok {
			i.values[name+"."+key] = text
		}
	}
}

// respond answers a question of the server.
func (i *instance) respond(c *connection, m message, answer string) {
	member := `"result":` + answer
	if rest, ok := strings.CutPrefix(answer, "error "); ok {
		member = `"error":` + rest
	}
	x := i.send(c, "", `{"jsonrpc":"2.0","id":`+string(m.ID)+`,`+member+`}`)
	for e := range x.events {
		if e.status != 0 && e.status != http.StatusAccepted {
			i.add("< %s to the answer", strconv.Itoa(e.status))
		}
	}
}

// listen opens a stream for notifications: GET with subscriptions in versions with sessions, and
// subscriptions/listen in later ones. On stdio the connection is the stream.
func (i *instance) listen(c *connection, tag string, what []string) {
	kinds := map[string]string{"tools": "toolsListChanged", "prompts": "promptsListChanged",
		"resources": "resourcesListChanged"}
	wanted, uris := object{}, []string{}
	for _, w := range what {
		if kinds[w] != "" {
			wanted[kinds[w]] = true
		} else {
			uris = append(uris, w)
		}
	}
	if i.sessions() {
		for _, uri := range uris {
			x := i.send(c, "", c.message("resources/subscribe", `"uri":`+quote(uri), "7"))
			before := len(i.got)
			i.collect(c, "", x)
			if i.got = slices.DeleteFunc(i.got, func(s string) bool { return s == "< {}" }); len(
				i.got) > before {
				i.got[len(i.got)-1] += " (" + uri + ")"
			}
		}
		if i.records(); i.transport == "stdio" {
			i.streams[tag] = c.stream
			return
		}
		i.streams[tag] = i.sendWith(c, http.MethodGet, "", "", http.Header{
			"Accept": {"text/event-stream"}}, nil)
		return
	}
	if len(uris) > 0 {
		wanted["resourceSubscriptions"] = uris
	}
	x := i.send(c, "", c.message("subscriptions/listen", `"notifications":`+compact(wanted), "7"))
	if i.streams[tag] = x; i.transport == "stdio" {
		c.stream.id = x.id
		i.streams[tag] = c.stream
	}
	i.onStream(i.streams[tag], "next")
	i.records()
}

// eof ends the input of a connection on stdio, and waits until the server has ended its output. It
// shows the messages that belong to no request, unless the connection is a stream of another step.
func (i *instance) eof(c *connection, name string) {
	if c.in == nil {
		i.t.Fatalf("%s: HTTP has no end of input", i.where)
	}
	_ = c.in.Close() // it never fails
	select {
	case <-c.over:
	case <-i.ctx.Done():
		i.t.Fatalf("%s: the server does not end", i.where)
	}
	for _, x := range i.streams {
		if x == c.stream {
			return
		}
	}
	for e := range c.stream.events {
		i.event(c, name, c.stream, e)
	}
}

// onStream waits for the status of a stream, for its next event, or for all until its end, or ends
// it.
func (i *instance) onStream(x *exchange, verb string) {
	switch verb {
	case "status":
		if i.transport == "stdio" {
			i.t.Fatalf("%s: stdio has no status", i.where)
		}
		i.status = true
		i.onStream(x, "next")
	case "drop":
		x.drop()
	case "rest":
		for e := range x.events {
			i.event(nil, "", x, e)
		}
	case "next":
		for before := len(i.got); before == len(i.got); {
			select {
			case e, open := <-x.events:
				if !open {
					i.add("< end")
					return
				}
				i.event(nil, "", x, e)
			case <-i.ctx.Done():
				i.t.Fatalf("%s: no event has come", i.where)
			}
		}
	default:
		i.t.Fatalf("%s: a stream does not know %q", i.where, verb)
	}
}
