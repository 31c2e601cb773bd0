package toollist

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
)

const (
	one = `{"name":"a","inputSchema":{"type":"object"}}`
	two = `{"name":"b","inputSchema":{"type":"object"}}`
)

func TestReadTakesEveryForm(t *testing.T) {
	for _, form := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[` + one + `,` + two + `]}}`,
		`{"tools":[` + one + `,` + two + `]}`,
		`[` + one + `,` + two + `]`,
		`[{"tools":[` + one + `],"nextCursor":"x"},{"tools":[` + two + `]}]`,
		`{"result":{"tools":[` + one + `],"nextCursor":"x"}}` + "\n" +
			`{"result":{"tools":[` + two + `]}}`,
		`[` + one + `] [` + two + `]`,
		"\xef\xbb\xbf[" + one + `,` + two + `]`,
	} {
		list, err := Read(strings.NewReader(form))
		if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != "a" ||
			list.Tools[1].Name != "b" {
			t.Errorf("%s\n%+v, %v", form, list, err)
		}
	}
	for _, form := range []string{`{"tools":[]}`, `{"tools":null}`, `{"result":{"tools":null}}`} {
		if list, err := Read(strings.NewReader(form)); err != nil || len(list.Tools) != 0 {
			t.Errorf("%s: %+v, %v", form, list, err)
		}
	}
}

func TestReadSkipsABadTool(t *testing.T) {
	for bad, want := range map[string]string{
		`{}`:                            "tool 2 is skipped: it has no name",
		`{"name":null}`:                 "tool 2 is skipped: it has no name",
		`null`:                          "tool 2 is skipped: it has no name",
		`7`:                             "tool 2 is skipped: json: cannot unmarshal number",
		`{"name":7}`:                    "tool 2 is skipped: json: cannot unmarshal number",
		`{"name":"x","description":[]}`: "tool 2 is skipped: json: cannot unmarshal array",
		`{"name":"x","inputSchema":"` + strings.Repeat("x", maxSchema) + `"}`: "tool 2 is skipped: " +
			"a schema has more than 1 MiB",
		`{"name":"x","outputSchema":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) +
			`}`: "tool 2 is skipped: a schema is nested too deeply",
	} {
		for _, form := range []string{`{"tools":[%s]}`, `[%s]`} {
			list, err := Read(strings.NewReader(fmt.Sprintf(form, one+","+bad+","+two)))
			if err != nil || len(list.Tools) != 2 || len(list.Skipped) != 1 ||
				!strings.HasPrefix(list.Skipped[0], want) {
				t.Errorf("%.80s: %q, %v, want %s", bad, list.Skipped, err, want)
			}
		}
	}
}

func TestReadRefusesOtherInput(t *testing.T) {
	for form, want := range map[string]string{
		``:                "the input is empty",
		one:               "a single tool",
		`{`:               "not JSON",
		"\xff\xfe[\x00":   "not JSON: the text is UTF-16 and not UTF-8",
		`"tools"`:         "not a result of tools/list",
		`{"x":1}`:         "it has no tools",
		`[[` + one + `]]`: "a nested list",
		`{"tools":[` + one + `],"nextCursor":"x\u001b"}`: "incomplete: the last page has the " +
			`nextCursor "x\x1b"`,
		`{"error":{"code":-1,"message":"\u001b[2J"}}`: "the response is an error",
	} {
		_, err := Read(strings.NewReader(form))
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%.80s: %v, want %s", form, err, want)
		}
	}
}

// served is a server of three tools in pages of two, which requires a header.
func served(t *testing.T, options *mcp.StreamableHTTPOptions) *httptest.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "old", Version: "3"},
		&mcp.ServerOptions{PageSize: 2})
	for _, name := range []string{"a", "b", "c"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(
			`{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return nil, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server }, options)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// listOf lists the tools of a new session.
func listOf(s *Session, err error) (List, error) {
	if err != nil {
		return List{}, err
	}
	defer s.Close()
	return s.List(context.Background())
}

func TestURLKeepsWhatTheServerSends(t *testing.T) {
	headers := http.Header{"Authorization": {"Bearer secret"}}
	for _, options := range []*mcp.StreamableHTTPOptions{
		nil, {JSONResponse: true}, {Stateless: true},
	} {
		s := served(t, options)
		list, err := listOf(Dial(t.Context(), s.URL, headers))
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != 3 || list.Server != "old" || list.Version != "3" {
			t.Errorf("%+v", list)
		}
		const want = `{"type":"object","properties":{"z":{"maximum":9007199254740993},"a":{}}}`
		if got := string(list.Tools[2].InputSchema); got != want {
			t.Errorf("schema %s", got)
		}
		if _, err := listOf(Dial(t.Context(), s.URL, nil)); err == nil ||
			!strings.HasSuffix(err.Error(),
				`: send a valid token, for example by --header "Authorization: Bearer …"`) {
			t.Errorf("without the header: %v", err)
		}
	}
}

func TestURLWithoutThePath(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	const hint = ": servers of mcpgen serve at /mcp, so add it to the URL"
	for path, hinted := range map[string]bool{"": true, "/": true, "/mcp": false} {
		_, err := listOf(Dial(t.Context(), s.URL+path, nil))
		if err == nil || strings.HasSuffix(err.Error(), hint) != hinted {
			t.Errorf("%q: %v", path, err)
		}
	}
}

func TestHeadersStayWithTheHost(t *testing.T) {
	leaked := make(chan string, 100)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("Authorization") + r.Header.Get("X-Key")
		http.NotFound(w, r)
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	_, err := listOf(Dial(t.Context(), s.URL,
		http.Header{"Authorization": {"Bearer secret"}, "X-Key": {"key"}}))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	close(leaked)
	for sent := range leaked {
		if sent != "" {
			t.Errorf("the other host got %s", sent)
		}
	}
}

// onWrite is a function that a write calls.
type onWrite func()

func (f onWrite) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestAServerThatDoesNotAnswerEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		<-end
	}))
	defer s.Close()
	defer close(end)
	if _, err := listOf(Dial(ctx, s.URL, nil)); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	_, err := listOf(Start(ctx, onWrite(cancel), "sh", "-c", "echo started >&2; exec sleep 1000"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Start: %v", err)
	}
	for _, endpoint := range []string{"file:///etc/passwd", "ftp://x/", "http://", "x", "http:x"} {
		if _, err := listOf(Dial(t.Context(), endpoint, nil)); err == nil {
			t.Errorf("%s: no error", endpoint)
		}
	}
}

func TestDiffComparesContracts(t *testing.T) {
	list := func(schema string) List {
		l, err := Read(strings.NewReader(`[{"name":"a","inputSchema":` + schema + `}]`))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const base = `{"type":"object","required":["a"],"properties":{"a":{"type":"string"},` +
		`"b":{"enum":[1,2]}}}`
	for schema, want := range map[string]string{
		base: "",
		`{"$schema":"x","required":["a"],"properties":{"b":{"enum":[1,2]},"a":{"type":"string"}},` +
			`"type":"object"}`: "",
		strings.Replace(base, "[1,2]", "[1,3]", 1): "changed a: input /b: enum: [1,2], now [1,3]\n",
		strings.Replace(base, `["a"]`, `["b"]`, 1): "changed a: input /a: no longer required\n" +
			"changed a: input /b: now required\n",
		strings.Replace(base, `"string"`, `"string","description":"\u202ex"`, 1): "changed a: " +
			"input /a: description: none, now \"\\u202ex\"\n",
		strings.Replace(base, `"b":{`, `"c":{"type":"array"},"b":{`, 1): "changed a: input /c: " +
			"added, \"array\"\n",
		strings.Replace(base, `,"b":{"enum":[1,2]}`, "", 1): "changed a: input /b: removed, " +
			"any type\n",
		strings.Replace(base, `"object"`, `"object","additionalProperties":false`, 1): "" +
			"changed a: input: additionalProperties: none, now false\n",
		strings.Replace(base, `"string"`, `"string","properties":{"x":{"type":"null"}}`, 1): "" +
			"changed a: input /a/x: added, \"null\"\n",
	} {
		var got strings.Builder
		differ, err := Diff(&got, list(base), list(schema))
		if err != nil || differ != (want != "") {
			t.Errorf("%s: %v, %v", schema, differ, err)
		}
		lines := strings.SplitAfter(got.String(), "\n")
		lines = lines[:len(lines)-2] // the sizes
		if n := len(lines); n > 0 && strings.Contains(lines[n-1], ": bytes: ") {
			lines = lines[:n-1]
		}
		if strings.Join(lines, "") != want {
			t.Errorf("%s: got %q, want %q", schema, lines, want)
		}
	}
}

// go-sdk allows null by a list of types, and mcpgen by an anyOf.
func TestDiffComparesNullableSchemas(t *testing.T) {
	list := func(property string) List {
		l, err := Read(strings.NewReader(`[{"name":"a","inputSchema":{"type":"object",` +
			`"properties":{"p":` + property + `}}}]`))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const before = `{"description":"d","type":["null","array"],"items":{"type":["integer","null"]}}`
	for after, equal := range map[string]bool{
		`{"description":"d","anyOf":[{"type":"array","items":` +
			`{"anyOf":[{"type":"null"},{"type":"integer"}]}},{"type":"null"}]}`: true,
		`{"description":"d","type":["array","null"],"items":{"type":["null","integer"]}}`: true,
		`{"description":"d","anyOf":[{"type":"array","items":` +
			`{"anyOf":[{"type":"null"},{"type":"string"}]}},{"type":"null"}]}`: false,
		`{"description":"d","type":"array","items":{"type":["null","integer"]}}`: false,
		`{"description":"d","anyOf":[{"type":"array","items":` +
			`{"type":["integer","null"]}},{"type":"null"},{"type":"string"}]}`: false,
	} {
		differ, err := Diff(io.Discard, list(before), list(after))
		if err != nil || differ == equal {
			t.Errorf("%s: %v, %v", after, differ, err)
		}
	}
	// The enum of the one refuses null, and that of the other does not.
	differ, err := Diff(io.Discard, list(`{"type":["null","string"],"enum":["x"]}`),
		list(`{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]}`))
	if err != nil || !differ {
		t.Errorf("an enum without null: %v, %v", differ, err)
	}
}

// Lists of two versions of MCP have two schemas for one result. Within a version, each difference
// is reported.
func TestDiffComparesResultsOfOneVersionAsTheyAre(t *testing.T) {
	list := func(input, output string) List {
		l, err := Read(strings.NewReader(`[{"name":"a","inputSchema":` + input + `,"outputSchema":` +
			output + `},{"name":"list","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}]`))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const object, args = `{"type":"object","properties":{"x":{}}}`, `{"type":"object"}`
	inResult := string(structured.New([]byte(`{"type":"array"}`)).InSessions)
	sessions := func(output string) List {
		l := list(args, output)
		l.Tools[1].OutputSchema = json.RawMessage(inResult)
		return l
	}
	for _, test := range []struct {
		before, after List
		want          string
	}{
		{list(args, object), list(args, `{"anyOf":[`+object+`,{"type":"null"}]}`),
			"changed a: output: type: \"object\", now [\"null\",\"object\"]"},
		{list(args, inResult), list(args, `{"type":"array"}`), "changed a: output: "},
		{list(`{"properties":{"x":{}}}`, object), list(object, object),
			"changed a: input: type: none, now \"object\""},
		{sessions(object), list(args, `{"anyOf":[`+object+`,{"type":"null"}]}`), ""},
		{list(args, `{"type":"array"}`), sessions(inResult), ""},
	} {
		lines, err := Differences(test.before, test.after)
		if err != nil || !strings.Contains(strings.Join(lines, "\n"), test.want) ||
			len(lines) > 0 && test.want == "" {
			t.Errorf("%s, %s: %q, %v, want %q", test.before.Tools[0].OutputSchema,
				test.after.Tools[0].OutputSchema, lines, err, test.want)
		}
	}
}
