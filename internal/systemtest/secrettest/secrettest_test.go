package secrettest_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/systemtest/secrettest"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// plant puts secrets into the environment of the process.
func (s *scene) plant() {
	for i, secret := range s.of(secrettest.Environment) {
		name := secret.Name
		if name == "" {
			name = fmt.Sprintf("PLAIN_%d", i)
		}
		s.t.Setenv(name, secret.Value)
	}
}

// around are headers and a query with secrets.
func (s *scene) around() (http.Header, string) {
	header, query := http.Header{}, url.Values{}
	for i, secret := range s.of(secrettest.Header) {
		if name := secret.Name; name != "" {
			header.Add(name, secret.Value)
		} else {
			header.Add(fmt.Sprintf("X-Plain-%d", i), secret.Value)
		}
	}
	// What a caller sends of a trace is exported with it.
	header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	first := secrettest.At(s.secrets, secrettest.Header)[0]
	header.Set("Tracestate", "token="+first.Core+",vendor=1")
	header.Set("Baggage", "password="+first.Core)
	for i, secret := range s.of(secrettest.Query) {
		if name := secret.Name; name != "" {
			query.Add(name, secret.Value)
		} else {
			query.Add(fmt.Sprintf("plain%d", i), secret.Value)
		}
	}
	return header, "?" + query.Encode()
}

// play asks for everything that a client can, with a secret in each of its words and in each of the
// answers. turn is of the connection, so that each has other secrets in other ways.
func (s *scene) play(c connection, turn int) {
	call := func(tool, arguments string) string {
		if h, ok := c.(*overHTTP); ok {
			h.name = tool
			defer func() { h.name = "" }()
		}
		return c.ask("tools/call", `"name":`+quoted(tool)+`,"arguments":`+arguments)
	}
	get := func(method, name, params string) {
		if h, ok := c.(*overHTTP); ok {
			h.name = name
			defer func() { h.name = "" }()
		}
		c.ask(method, params)
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list",
		"resources/templates/list"} {
		c.ask(method, "")
	}
	if h, ok := c.(*overHTTP); ok {
		plain, bare := h.header, h.url
		var query string
		h.header, query = s.around()
		h.url += query
		defer func() { h.header, h.url = plain, bare }()
	}
	for _, tool := range []string{debugtools.ToolPrintEnv, debugtools.ToolGetServerInfo,
		debugtools.ToolGetHTTPHeaders, debugtools.ToolGetUserClaims} {
		call(tool, `{}`)
	}
	for i, secret := range s.of(secrettest.Error) {
		do := []string{ways[(i+turn)%len(ways)]}
		if secret.Core == canary(secrettest.Error).Core {
			do = ways
		}
		for _, do := range do {
			call("act", fmt.Sprintf(`{"do":%q,"at":%d}`, do, i))
		}
		switch (i + turn) % 3 {
		case 0:
			get("prompts/get", "fail", fmt.Sprintf(`"name":"fail","arguments":{"at":"%d"}`, i))
		case 1:
			uri := fmt.Sprintf("planted://fail/%d", i)
			get("resources/read", uri, `"uri":`+quoted(uri))
		default:
			c.ask("completion/complete", fmt.Sprintf(
				`"ref":{"type":"ref/resource","uri":"planted://fail/{at}"},`+
					`"argument":{"name":"at","value":"%d"}`, i))
		}
	}
	if s.deep {
		s.cut(call, get, turn)
	}
	if c.tasks() != nil {
		s.asTasks(c, call, get, turn)
	}
	for i := range s.of(secrettest.Panic) {
		call("act", fmt.Sprintf(`{"do":"panic","at":%d}`, i))
	}
	for i := range s.of(secrettest.Log) {
		level := levels[0]
		if i < 2*len(levels) && turn > 1 {
			level = levels[i%len(levels)]
		}
		if i == len(s.of(secrettest.Log))-1 {
			level = levels[0]
		}
		s.listen(c, level)
		call("act", fmt.Sprintf(`{"do":"log","at":%d}`, i))
	}
	for _, secret := range s.of(secrettest.Argument) {
		if secret.Name != "" {
			call("check", `{`+quoted(secret.Name)+`:`+quoted(secret.Value)+`,"count":`+
				quoted(secret.Text())+`}`)
			continue
		}
		call("check", `{"color":`+quoted(secret.Value)+`,"count":[`+quoted(secret.Value)+`]}`)
	}
	for _, secret := range s.of(secrettest.ArgumentName) {
		call("check", `{`+quoted(secret.Text())+`:1}`)
		// which is no text
		get("prompts/get", "fail", `"name":"fail","arguments":{`+quoted(secret.Text())+`:7}`)
	}
	for i, secret := range s.of(secrettest.UnknownName) {
		name := secret.Text()
		for j, ask := range []func(){
			func() { call(name, `{}`) },
			func() { get("prompts/get", name, `"name":`+quoted(name)) },
			func() { get("resources/read", "x://"+name, `"uri":`+quoted("x://"+name)) },
			func() {
				c.ask("completion/complete", `"ref":{"type":"ref/prompt","name":`+quoted(name)+
					`},"argument":{"name":`+quoted(name)+`,"value":`+quoted(name)+`}`)
			},
			func() { c.ask("resources/subscribe", `"uri":`+quoted("planted://"+name)) },
			func() { c.ask("resources/unsubscribe", `"uri":`+quoted("planted://"+name)) },
			func() {
				c.ask("subscriptions/listen", `"notifications":{"resourceSubscriptions":[`+
					quoted("planted://"+name)+`]}`)
			},
			func() { c.ask("tools/list", `"catalog":`+quoted(name)) },
			func() { c.ask("logging/setLevel", `"level":`+quoted(name)) },
			func() { c.ask("tools/list", `"cursor":`+quoted(name)) },
		} {
			if (i+j+turn)%2 == 0 || secret.Core == canary(secrettest.UnknownName).Core {
				ask()
			}
		}
		c.ask(name, "") // which go-sdk answers
	}
}

// tasks returns where a client keeps what comes of tasks, nil in versions without them.
func (c *overHTTP) tasks() *string  { return map[string]*string{"2026-07-28": &c.where}[c.era] }
func (c *overPipes) tasks() *string { return map[string]*string{"2026-07-28": &c.where}[c.era] }

// asTasks has handlers fail, panic and report as tasks, and sends ids and keys with secrets.
func (s *scene) asTasks(c connection, call func(tool, arguments string) string,
	get func(method, name, params string), turn int) {
	s.tasks = true
	*c.tasks() += ", tasks"
	defer func() {
		s.tasks = false
		*c.tasks() = strings.TrimSuffix(*c.tasks(), ", tasks")
	}()
	task := regexp.MustCompile(`"taskId":"([a-z2-7]+)"`)
	ended := func(arguments string) {
		found := task.FindStringSubmatch(call("act", arguments))
		if found == nil {
			s.t.Fatalf("%s does not run as a task", arguments)
		}
		if h, ok := c.(*overHTTP); ok {
			h.name = found[1]
			defer func() { h.name = "" }()
		}
		for text := ""; !strings.Contains(text, `"status":"completed"`) &&
			!strings.Contains(text, `"status":"failed"`); {
			text = c.ask("tasks/get", `"taskId":"`+found[1]+`"`)
		}
		get("tasks/update", found[1], `"taskId":"`+found[1]+`","inputResponses":{}`)
		get("tasks/cancel", found[1], `"taskId":"`+found[1]+`"`)
	}
	for i, secret := range s.of(secrettest.Error) {
		do := []string{ways[(i+turn)%len(ways)]}
		if secret.Core == canary(secrettest.Error).Core {
			do = ways
		}
		for _, do := range do {
			ended(fmt.Sprintf(`{"do":%q,"at":%d}`, do, i))
		}
	}
	for i := range s.of(secrettest.Panic) {
		ended(fmt.Sprintf(`{"do":"panic","at":%d}`, i))
	}
	for i := range s.of(secrettest.Log) {
		ended(fmt.Sprintf(`{"do":"log","at":%d}`, i))
	}
	for _, secret := range s.of(secrettest.UnknownName) {
		name := secret.Text()
		get("tasks/get", name, `"taskId":`+quoted(name))
		get("tasks/cancel", name, `"taskId":`+quoted(name))
		get("tasks/update", name,
			`"taskId":`+quoted(name)+`,"inputResponses":{`+quoted(name)+`:{"action":`+quoted(name)+`}}`)
		get("subscriptions/listen", "", `"notifications":{"taskIds":[`+quoted(name)+`]}`)
	}
}

// cut has secrets stand where texts are cut.
func (s *scene) cut(call func(tool, arguments string) string,
	get func(method, name, params string), turn int) {
	for i, n := range cuts {
		at := func(place secrettest.Place) int {
			return (i + turn) % len(secrettest.At(s.secrets, place))
		}
		text := func(place secrettest.Place) string {
			return secrettest.At(s.secrets, place)[at(place)].Before(n).Text()
		}
		for j := range 2 {
			call("act", fmt.Sprintf(`{"do":%q,"at":%d,"cut":%d}`, ways[(i+turn+j*3)%len(ways)],
				at(secrettest.Error), n))
		}
		call("act", fmt.Sprintf(`{"do":"panic","at":%d,"cut":%d}`, at(secrettest.Panic), n))
		call("act", fmt.Sprintf(`{"do":"log","at":%d,"cut":%d}`, at(secrettest.Log), n))
		call("check", `{`+quoted(text(secrettest.ArgumentName))+`:1,"color":`+
			quoted(text(secrettest.Argument))+`}`)
		name := text(secrettest.UnknownName)
		call(name, `{}`)
		get("resources/read", "x://"+name, `"uri":`+quoted("x://"+name))
		get("tools/list", "", `"catalog":`+quoted(name))
		get(name, "", "")
	}
}

// listen has a client hear from a level on.
func (s *scene) listen(c connection, level string) {
	switch c := c.(type) {
	case *overHTTP:
		c.level = level
	case *overPipes:
		c.level = level
	}
	c.ask("logging/setLevel", `"level":"`+level+`"`)
}

// outside has all fail that a server asks, and the checks of HTTP refuse. Each request has an
// address of its own, since a log line reports the failures of an address once a minute.
func (s *scene) outside(url string) {
	address := netip.MustParseAddr("192.0.2.1")
	ask := func(token, params string, header http.Header) {
		address = address.Next()
		header.Set("X-Forwarded-For", address.String())
		c := &overHTTP{scene: s, url: url, token: token, era: "2026-07-28", where: "refusals",
			level: "debug", header: header}
		c.ask("tools/list", params)
	}
	for prefix, place := range map[string]secrettest.Place{
		"sink-": secrettest.SinkError, "bad-": secrettest.SourceError,
		"badly-": secrettest.SourceError, "host-": secrettest.HostError,
	} {
		for i := range s.of(place) {
			ask(fmt.Sprint(prefix, i), "", http.Header{})
		}
		for i, n := range cuts {
			ask(fmt.Sprintf("%s%d-%d", prefix, i%len(secrettest.At(s.secrets, place)), n), "", http.Header{})
		}
	}
	for i := range s.of(secrettest.CatalogError) {
		ask("boss", fmt.Sprintf(`"catalog":"down-%d"`, i), http.Header{})
	}
	for _, secret := range s.of(secrettest.UnknownName) {
		for _, header := range []http.Header{{"Origin": {"https://" + secret.Text()}},
			{runtime.HeaderCatalog: {secret.Text()}}, {"Last-Event-Id": {secret.Text()}}} {
			ask("boss", "", header)
		}
	}
	res, err := http.Get(strings.TrimSuffix(url, runtime.PathMCP) + runtime.PathReadyz)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(s.at("readiness"), res.Body); err != nil {
		s.t.Fatal(err)
	}
}

// adopted is a server of somebody else's, whose tools fail in go-sdk's own ways.
func (s *scene) adopted(o runtime.Options) *runtime.Server {
	s.t.Helper()
	inner := mcp.NewServer(&mcp.Implementation{Name: "inner", Version: "1"}, nil)
	type nothing struct{ At int }
	mcp.AddTool(inner, &mcp.Tool{Name: "fail"}, func(_ context.Context, _ *mcp.CallToolRequest,
		in nothing) (*mcp.CallToolResult, any, error) {
		secret := s.of(secrettest.Error)[in.At]
		if in.At%2 == 0 {
			return &mcp.CallToolResult{IsError: true,
				Content: []mcp.Content{&mcp.TextContent{Text: secret.Text()}},
			}, map[string]any{named(secret): secret.Value}, nil
		}
		return nil, nil, errors.New(secret.Text())
	})
	o.Host.Source, o.Catalogs.Source = nil, nil
	server, err := runtime.Adopt(inner, o, map[string]access.Rule{"fail": {Authenticated: true}})
	if err != nil {
		s.t.Fatal(err)
	}
	return server
}

// run plays everything, and returns once all has come out that is going to.
func run(t *testing.T, s *scene, mask redact.Masker) {
	t.Run("play", func(t *testing.T) {
		s.t = t
		s.aside()
		s.plant()
		o := s.options(mask)
		server, err := runtime.New(o, s.toolset(),
			debugtools.Toolset(debugtools.New(debugtools.Options{})))
		if err != nil {
			t.Fatal(err)
		}
		all := s.connections(server, "")
		for turn, c := range all {
			s.play(c, turn)
		}
		s.outside(all[0].(*overHTTP).url)
		s.administered(o)
		for _, c := range s.connections(s.adopted(o), "adopted, ") {
			for i := range s.of(secrettest.Error) {
				if h, ok := c.(*overHTTP); ok {
					h.name = "fail"
				}
				c.ask("tools/call", fmt.Sprintf(`"name":"fail","arguments":{"At":%d}`, i))
			}
		}
	})
	s.t = t
}

// A secret in an input is in no output: not in responses, logs, the audit, traces, metrics or the
// admin API. The digest of the manifest is in the logs alone.
// Handlers in processes of their own are tested in package sandbox.
func TestNoPlantedSecretComesOut(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newScene(t, seed)
	if len(s.secrets) != 200 {
		t.Fatalf("%d secrets", len(s.secrets))
	}
	s.deep = true
	run(t, s, redact.Masker{})

	var http, clients []string
	for _, era := range eras {
		http = append(http, "http "+era)
		clients = append(clients, "http "+era, "stdio "+era)
	}
	for where, word := range map[string]string{"traces": "tools/call act",
		"metrics": "mcp.server.operation.duration"} {
		if b := s.out[where]; b == nil || !strings.Contains(b.String(), word) {
			t.Errorf("the %s do not tell of %s", where, word)
		}
	}
	logs := []string{"log as text", "log as JSON"}
	audits := []string{"audit in a log", "audit in JSON lines", "audit in files",
		"audit in a database"}
	s.check(map[secrettest.Place][]string{
		secrettest.Environment: clients, secrettest.Header: http, secrettest.Query: http,
		secrettest.Claim: http, secrettest.Argument: clients,
		secrettest.ArgumentName: slices.Concat(clients, audits),
		secrettest.UnknownName:  slices.Concat(clients, audits, logs, []string{"admin"}),
		secrettest.Error: slices.Concat(clients, everywhere(s.out, "adopted, "),
			[]string{"http 2026-07-28, tasks", "stdio 2026-07-28, tasks"}),
		secrettest.Panic: logs, secrettest.Log: slices.Concat(clients, logs),
		secrettest.SinkError: logs, secrettest.SourceError: logs, secrettest.HostError: logs,
		secrettest.CatalogError: logs, secrettest.Readiness: logs,
	})
	s.noDigest()
}

// noDigest reports the digest of the manifest in messages. It changes when a concealed tool
// changes.
func (s *scene) noDigest() {
	s.t.Helper()
	_, digits, _ := strings.Cut(manifest, ":")
	messages := 0
	for where, text := range s.out {
		switch clients := strings.Contains(where, "http ") || strings.Contains(where, "stdio "); {
		case strings.HasPrefix(where, "log as "):
			if !strings.Contains(text.String(), manifest) {
				s.t.Errorf("the %s does not contain the digest", where)
			}
			continue
		case clients:
			messages += text.Len()
		}
		// Any part of it would tell a client that something has changed. Shorter parts are in ids of
		// requests by chance.
		for i := 0; i+12 <= len(digits); i++ {
			if strings.Contains(text.String(), digits[i:i+12]) {
				s.t.Errorf("%s contains the digest of the manifest", where)
				break
			}
		}
	}
	if messages < 1<<16 {
		s.t.Errorf("clients got %d bytes", messages)
	}
}

// What a server's own masker knows comes out nowhere either: here it knows what else would be seen
// of each place.
func TestServersOwnMaskerIsHonouredEverywhere(t *testing.T) {
	s := newScene(t, 1)
	run(t, s, redact.Masker{Values: []*regexp.Regexp{regexp.MustCompile(canaries + `[a-zA-Z-]+`)}})
	s.check(nil)
	for where, text := range s.out {
		if at := strings.Index(text.String(), canaries); at >= 0 {
			t.Errorf("%s shows what the server's masker masks: …%s…", where,
				text.String()[max(0, at-200):min(text.Len(), at+100)])
		}
	}
}

func TestPlantedSecretsAreFoundWhereTheyAre(t *testing.T) {
	for seed := range uint64(3) {
		all := secrettest.All(seed)
		finder := secrettest.NewFinder(all)
		names, forms := map[string]bool{}, map[string]bool{}
		for _, s := range all {
			for _, text := range []string{s.Text(), quoted(s.Text()), url.QueryEscape(s.Text()),
				s.Core[5:15], strings.Repeat("x", 9) + s.Core[22:],
				fmt.Sprintf("%x", s.Text()), fmt.Sprintf("%X", s.Core[7:17]),
				base64.StdEncoding.EncodeToString([]byte("a" + s.Text())),
				base64.RawURLEncoding.EncodeToString([]byte(s.Core[3:14])),
				s.Before(256).Text()} {
				if found := finder.In("a " + text + " b"); len(found) != 1 || found[0] != s {
					t.Errorf("%s in %q: found %v", s, text, found)
				}
			}
			names[s.Name], forms[strings.Replace(s.Value, s.Core, "%s", 1)] = true, true
		}
		if found := finder.In("a b " + all[0].Core[:9]); found != nil {
			t.Error(found)
		}
		if len(names)-1 < len(secrettest.Names) || len(forms) < len(secrettest.Forms) {
			t.Errorf("seed %d: %d of %d names, %d of %d forms", seed, len(names)-1,
				len(secrettest.Names), len(forms), len(secrettest.Forms))
		}
	}
	if slices.Equal(secrettest.All(1), secrettest.All(2)) ||
		!slices.Equal(secrettest.All(1), secrettest.All(1)) {
		t.Error("the secrets are not those of the seed")
	}
}
