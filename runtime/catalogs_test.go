package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// listedIn is what a list on the wire has: the names of its tools, and its note.
func listedIn(t testing.TB, body string) (names []string, note string) {
	t.Helper()
	if _, data, ok := strings.Cut(body, "data: "); ok {
		body = data
	}
	var answer struct {
		Result struct {
			Tools []struct{ Name string }
			Meta  map[string]any `json:"_meta"`
		}
		Error any
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Error != nil {
		t.Fatalf("%s: %v", body, err)
	}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	note, _ = answer.Result.Meta[runtime.MetaCatalogNote].(string)
	return names, note
}

// all is what an admin of the directory sees.
var all = []string{"create", "get_all", "get_by_id", "get_public_info", "promote_to_manager",
	"update"}

func kits() *shelf {
	s := &shelf{}
	s.put("1", shelved{name: "reading", tools: []string{"get_all", "get_by_id", "no_such_tool"}})
	s.put("2", shelved{name: "writing", tools: []string{"create", "update"}})
	s.put("3", shelved{name: "of ada", owner: "mara", tools: []string{"update"}})
	s.put("4", shelved{name: "empty"})
	s.put("5", shelved{name: "100% Käse/Ø", tools: []string{"create"},
		note: "there are two of this name"})
	return s
}

// kitTools are those of the kits "reading" and "writing".
var kitTools = []string{"create", "get_all", "get_by_id", "update"}

// askings are the ways to ask for a catalog, each with what it lists to an admin.
var askings = []struct {
	name    string
	params  string // of tools/list
	header  string
	query   string
	want    []string
	unknown bool
	note    string // of a list of some of the catalogs
}{
	{name: "nothing", want: all},
	{name: "a name in params", params: `"catalog":"reading"`, want: []string{"get_all",
		"get_by_id"}},
	{name: "an id in params", params: `"catalog_id":"2"`, want: []string{"create", "update"}},
	{name: "a number for an id", params: `"catalog_id":2`, want: []string{"create", "update"}},
	{name: "both in params: the id counts", params: `"catalog":"reading","catalog_id":"2"`,
		want: []string{"create", "update"}},
	{name: "an unknown id counts before a name", params: `"catalog":"reading","catalog_id":"9"`,
		want: all, unknown: true},
	{name: "null is not said", params: `"catalog":null,"catalog_id":null`, want: all},
	{name: "an escaped name", params: `"catalog":"r\u0065ading"`, want: []string{"get_all",
		"get_by_id"}},
	{name: "a name in _meta", params: `"_meta":{"io.github.mcpgen/catalog":"reading"}`,
		want: []string{"get_all", "get_by_id"}},
	{name: "an id in _meta", params: `"_meta":{"io.github.mcpgen/catalog-id":2}`,
		want: []string{"create", "update"}},
	{name: "params before _meta",
		params: `"_meta":{"io.github.mcpgen/catalog-id":2},"catalog":"reading"`,
		want:   []string{"get_all", "get_by_id"}},
	{name: "an empty name in params asks for all",
		params: `"_meta":{"io.github.mcpgen/catalog-id":2},"catalog":""`, header: "reading",
		want: all},
	{name: "_meta before the header", params: `"_meta":{"io.github.mcpgen/catalog":"reading"}`,
		header: "writing", want: []string{"get_all", "get_by_id"}},
	{name: "a header", header: "writing", want: []string{"create", "update"}},
	{name: "an encoded header", header: "100%25%20K%C3%A4se%2F%C3%98", want: []string{"create"}},
	{name: "a header that does not decode", header: "100%", want: all, unknown: true},
	{name: "the header before the query", header: "writing", query: "catalog=reading",
		want: []string{"create", "update"}},
	{name: "a query", query: "catalog=reading", want: []string{"get_all", "get_by_id"}},
	{name: "an id in the query", query: "catalog_id=2&catalog=reading", want: []string{"create",
		"update"}},
	{name: "an encoded query", query: "catalog=100%25+K%C3%A4se%2F%C3%98",
		want: []string{"create"}},
	{name: "an empty query", query: "catalog=", want: all},
	{name: "a catalog with nothing in it", query: "catalog=empty", want: nil},
	{name: "a name of another case", query: "catalog=Reading", want: all, unknown: true},
	{name: "somebody else's", query: "catalog=of+ada", want: all, unknown: true},
	{name: "somebody else's id", query: "catalog_id=3", want: all, unknown: true},
	{name: "an id that never was", query: "catalog_id=999", want: all, unknown: true},
	{name: "two names in the query", query: "catalog=reading,writing", want: kitTools},
	{name: "the parameter twice", query: "catalog=reading&catalog=writing", want: kitTools},
	{name: "two ids in the query", query: "catalog_id=1,2", want: kitTools},
	{name: "two names in a header", header: "writing, reading", want: kitTools},
	{name: "two names in params", params: `"catalog":["reading","writing"]`, want: kitTools},
	{name: "two ids in _meta", params: `"_meta":{"io.github.mcpgen/catalog-id":[1,"2"]}`,
		want: kitTools},
	{name: "two names before the query", params: `"catalog":["reading","writing"]`,
		query: "catalog=empty", want: kitTools},
	{name: "one of two is unknown", query: "catalog=nonsense,reading",
		want: []string{"get_all", "get_by_id"}, note: "the catalog does not exist: nonsense"},
	{name: "one of two is somebody else's", params: `"catalog":["of ada","reading"]`,
		want: []string{"get_all", "get_by_id"}, note: "the catalog does not exist: of ada"},
	{name: "both are unknown", query: "catalog=nonsense,of+ada", want: all, unknown: true},
	{name: "a name that is none", params: `"catalog":"\u0000"`, want: all, unknown: true},
}

func TestCatalogShortensTheListHoweverItIsRequested(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := newServer(t, runtime.Options{Catalogs: kits(), CatalogStrict: strict},
			directory(&desk{}))
		endpoint := serve(t, s)
		for _, era := range eras {
			for _, test := range askings {
				c := newRaw(t, endpoint, tokens["Admin"], era)
				c.url += "?" + test.query
				params := test.params
				if era == "2026-07-28" {
					// The era's own _meta, joined with the test's.
					params = strings.Replace(params, `"_meta":{`, "", 1)
					meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
					switch {
					case params == test.params && params != "":
						params = meta + "}," + params
					case params == "":
						params = meta + "}"
					default:
						params = meta + "," + params
					}
				}
				headers := map[string]string{"Mcpgen-Catalog": test.header}
				if era == "2026-07-28" {
					headers["Mcp-Method"] = "tools/list"
				}
				got := c.send(t, "POST", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+
					params+`}}`, headers)
				if strict && test.unknown {
					if !strings.Contains(got.body, `"code":-32602`) ||
						!strings.Contains(got.body, "unknown catalog") {
						t.Errorf("%s, %s: %s", era, test.name, got)
					}
					continue
				}
				names, note := listedIn(t, got.body)
				known := note == test.note
				if test.note == "" {
					known = test.unknown == strings.Contains(note, "the catalog does not exist")
				}
				if !slices.Equal(names, test.want) || !known {
					t.Errorf("%s, %s: %v, note %q", era, test.name, names, note)
				}
				if encoded := strings.Contains(test.name,
					"encoded"); encoded != (note == "there are two of this name") {
					t.Errorf("%s, %s: note %q", era, test.name, note)
				}
			}
		}
	}
}

func TestCatalogIsRequestedOverStdioAsWell(t *testing.T) {
	s := newServer(t, runtime.Options{Catalogs: kits()}, directory(&desk{}))
	talk := stdioTalk(t, s, principalOf("Admin"))
	for _, test := range askings {
		if test.header != "" || test.query != "" {
			continue
		}
		names, note := listedIn(t, talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{`+
			test.params+`}}`))
		if !slices.Equal(names, test.want) || (test.unknown || test.note != "") != (note != "") {
			t.Errorf("%s: %v, note %q", test.name, names, note)
		}
	}
}

// stdioTalk opens a session over lines and returns what sends one and reads the next.
func stdioTalk(t testing.TB, s *runtime.Server, p access.Principal,
	options ...runtime.StreamOption) func(string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, p, options...) }()
	lines := bufio.NewScanner(fromServer)
	talk := func(line string) string {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatalf("no answer to %s", line)
		}
		return lines.Text()
	}
	t.Cleanup(func() {
		toServer.Close()
		go func() {
			for lines.Scan() { // what was still on its way
			}
		}()
		if err := <-done; err != nil {
			t.Errorf("RunIO: %v", err)
		}
	})
	talk(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	return talk
}

func TestCatalogThatIsNoNameIsInvalidParams(t *testing.T) {
	s := newServer(t, runtime.Options{Catalogs: kits()}, directory(&desk{}))
	endpoint := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, endpoint, tokens["Admin"], era)
		for params, pointer := range map[string]string{
			`"catalog":7`: "/catalog", `"catalog":{"secret":"hunter2"}`: "/catalog",
			`"catalog":["hunter2",7]`: "/catalog/1", `"catalog":true`: "/catalog",
			`"catalog_id":1.5`: "/catalog_id", `"catalog_id":1e3`: "/catalog_id",
			`"catalog_id":{}`: "/catalog_id", `"catalog_id":false`: "/catalog_id",
			`"catalog_id":99999999999999999999`: "/catalog_id",
		} {
			got := c.ask(t, "tools/list", params, nil)
			if !strings.Contains(got.body, `"code":-32602`) ||
				!strings.Contains(got.body, pointer) || strings.Contains(got.body, "hunter2") {
				t.Errorf("%s, %s: %s", era, params, got)
			}
			// It means nothing to other methods, and they do not look at it.
			if got := c.ask(t, "prompts/list", params, nil); strings.Contains(got.body, "error") {
				t.Errorf("%s, prompts/list, %s: %s", era, params, got)
			}
		}
	}
	talk := stdioTalk(t, s, principalOf("Admin"))
	if got := talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.github.mcpgen/catalog":7}}}`); !strings.Contains(got, "-32602") || !strings.Contains(got, "io.github.mcpgen~1catalog") {
		t.Error(got)
	}
}

func TestCallsDoNotLookAtCatalogs(t *testing.T) {
	s := newServer(t, runtime.Options{Catalogs: kits(), CatalogStrict: true}, directory(&desk{}))
	endpoint := serve(t, s)
	for _, era := range eras {
		c := newRaw(t, endpoint, tokens["Admin"], era)
		c.url += "?catalog=reading"
		if got := c.call(t, "create", `,"catalog":"reading","arguments":{"name":"x","email":"x@y"}`,
			nil); !strings.Contains(got.body, "structuredContent") {
			t.Errorf("%s: a tool outside of the catalog: %s", era, got)
		}
		c.url = endpoint + "?catalog=nonsense"
		if got := c.call(t, "get_all", `,"arguments":{}`, nil); !strings.Contains(got.body,
			"structuredContent") {
			t.Errorf("%s: beside an unknown catalog: %s", era, got)
		}
	}
}

// For random catalogs, callers and switches: a list with a catalog is the list without, and nothing
// but what is in the catalog.
func TestCatalogNarrowsAndNeverWidens(t *testing.T) {
	for _, options := range []runtime.Options{{Anonymous: true},
		{Anonymous: true, Denial: access.Forbid}, {Anonymous: true, ListAll: true}} {
		source := &shelf{}
		options.Catalogs = source
		options.PageSize = 2
		s := newServer(t, options, directory(&desk{}), headerTool())
		endpoint := serve(t, s)
		rapid.Check(t, func(rt *rapid.T) {
			source.put("7", shelved{name: "kit",
				tools: rapid.SliceOfDistinct(rapid.SampledFrom(append(slices.Clone(all), "route",
					"none", "")), rapid.ID[string]).Draw(rt, "tools")})
			user := rapid.SampledFrom(callers).Draw(rt, "user")
			whole, kit := pagesOf(t, endpoint, tokens[user], ""), pagesOf(t, endpoint, tokens[user],
				"kit")
			source.mu.Lock()
			in := source.catalogs["7"].tools
			source.mu.Unlock()
			want := slices.DeleteFunc(slices.Clone(whole), func(tool string) bool {
				return !slices.Contains(in, tool)
			})
			if !slices.Equal(kit, want) {
				rt.Fatalf("%q is listed %v of %v, which is %v without", user, kit, in, whole)
			}
		})
	}
}

// pagesOf lists all pages over HTTP by the URL alone, as a stock client does.
func pagesOf(t testing.TB, endpoint, token, name string) []string {
	t.Helper()
	session := connectHTTP(t, endpoint+"?catalog="+url.QueryEscape(name), token, "2026-07-28")
	defer session.Close()
	var names []string
	for tool, err := range session.Tools(context.Background(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func TestCursorOfACatalogIsNoCursorOfTheWholeList(t *testing.T) {
	s := newServer(t, runtime.Options{Catalogs: kits(), PageSize: 1}, directory(&desk{}))
	endpoint := serve(t, s)
	first := func(query, cursor string) (*mcp.ListToolsResult, error) {
		return connectHTTP(t, endpoint+query, tokens["Admin"],
			"2026-07-28").ListTools(context.Background(), &mcp.ListToolsParams{Cursor: cursor})
	}
	kit, err := first("?catalog=reading", "")
	if err != nil {
		t.Fatal(err)
	}
	if next, err := first("?catalog=reading", kit.NextCursor); err != nil || len(next.Tools) != 1 ||
		next.Tools[0].Name != "get_by_id" || next.NextCursor != "" {
		t.Errorf("%+v, %v", next, err)
	}
	for _, query := range []string{"", "?catalog=writing"} {
		if _, err := first(query, kit.NextCursor); !isInvalidParams(err) {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// declaring is a toolset whose code puts its tools into catalogs.
func declaring() toolset.Toolset {
	return toolsetOf([]toolset.Tool{
		{Name: "alpha", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek",
			"reading"}},
		{Name: "beta", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek"}},
		{Name: "gamma", Input: `{"type":"object"}`, Call: nothing},
	})
}

func TestCodeDeclaresGlobalCatalogs(t *testing.T) {
	source := kits()
	source.put("8", shelved{name: "greek", owner: principalOf("Manager").Subject,
		tools: []string{"gamma"}})
	for _, with := range []*shelf{nil, source} {
		options := runtime.Options{CatalogStrict: true}
		if with != nil {
			options.Catalogs = with
		}
		s := newServer(t, options, declaring(), directory(&desk{}))
		if got := fmt.Sprint(s.DeclaredCatalogs()); got != "[{code:greek greek true [alpha beta] } {code:reading reading true [alpha] }]" {
			t.Error(got)
		}
		for _, test := range []struct {
			user, params string
			want         []string
		}{
			{"Viewer", `"catalog":"greek"`, []string{"alpha", "beta"}},
			{"Viewer", `"catalog_id":"code:greek"`, []string{"alpha", "beta"}},
			// before a global one of the source, which is still there by its id
			{"Viewer", `"catalog":"reading"`, []string{"alpha"}},
			{"Viewer", `"catalog_id":"code:no"`, nil},
			// one's own comes first
			{"Manager", `"catalog":"greek"`, map[bool][]string{true: {"alpha", "beta"},
				false: {"gamma"}}[with == nil]},
			{"Manager", `"catalog":"reading","catalog_id":"1"`,
				map[bool][]string{false: {"get_all", "get_by_id"}}[with == nil]},
		} {
			got := stdioTalk(t, s,
				principalOf(test.user))(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` +
				test.params + `}}`)
			if test.want == nil {
				if !strings.Contains(got, "unknown catalog") {
					t.Errorf("%s, %s: %s", test.user, test.params, got)
				}
				continue
			}
			if names, note := listedIn(t, got); !slices.Equal(names, test.want) || note != "" {
				t.Errorf("%s, %s: %v, %s", test.user, test.params, names, note)
			}
		}
	}
}

func TestSourceOfCatalogsThatFailsShortensNothingOrRefuses(t *testing.T) {
	for name, fail := range map[string]func(context.Context) error{
		"an error": func(context.Context) error {
			return errors.New("postgres://mcp:hunter2@db is away")
		},
		"panics": func(context.Context) error { panic("postgres://mcp:hunter2@db") },
		"exits": func(context.Context) error {
			return fmt.Errorf("gone: %w", context.DeadlineExceeded)
		},
	} {
		for _, strict := range []bool{false, true} {
			source, log := kits(), &journal{}
			s := newServer(t, runtime.Options{Catalogs: source, CatalogStrict: strict,
				Logger: log.logger()}, directory(&desk{}))
			source.failing(fail)
			got := stdioTalk(t, s,
				principalOf("Admin"))(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"catalog":"reading"}}`)
			if strict {
				if !strings.Contains(got, `"code":-32603`) || strings.Contains(got, "hunter2") {
					t.Errorf("%s: %s", name, got)
				}
			} else if names, note := listedIn(t, got); !slices.Equal(names, all) ||
				!strings.Contains(note, "not available") || strings.Contains(got, "hunter2") {
				t.Errorf("%s: %v, %s", name, names, note)
			}
			if text := log.String(); strings.Contains(text, "hunter2") ||
				!strings.Contains(text, "the catalog lookup failed") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

func TestSourceOfCatalogsThatHangsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	source := kits()
	s := newServer(t, runtime.Options{Catalogs: source}, directory(&desk{}))
	source.failing(func(context.Context) error { <-stuck; return nil })
	talk := stdioTalk(t, s, principalOf("Admin"))
	if names, note := listedIn(t,
		talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"catalog":"reading"}}`)); !slices.Equal(names, all) || !strings.Contains(note, "not available") {
		t.Errorf("%v, %s", names, note)
	}
}

func TestUnknownCatalogIsLoggedAndRecorded(t *testing.T) {
	log, sink := &journal{}, &kept{}
	s := newServer(t, runtime.Options{Catalogs: kits(), Logger: log.logger(), Audit: sink},
		directory(&desk{}))
	talk := stdioTalk(t, s, principalOf("Admin"))
	for _, name := range []string{"reading", "ghp_" + strings.Repeat("a", 36),
		strings.Repeat("n", 5000)} {
		talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"catalog":"` + name + `"}}`)
	}
	events := sink.events()
	if len(events) != 3 || events[0].Catalog != "reading" || events[0].Visible != 2 ||
		events[0].Total != 6 || events[1].Visible != 6 {
		t.Errorf("%+v", events)
	}
	for _, e := range events {
		if len(e.Catalog) > 64 || strings.Contains(e.Catalog, "ghp_a") {
			t.Errorf("%q is recorded", e.Catalog)
		}
	}
	if text := log.String(); strings.Contains(text, "ghp_a") ||
		strings.Count(text, "the catalog does not exist for the caller") != 2 {
		t.Error(text)
	}
}

// kept is a sink that keeps.
type kept struct{ c chan audit.Event }

func (k *kept) Record(_ context.Context, e audit.Event) error {
	if k.c == nil {
		k.c = make(chan audit.Event, 1000)
	}
	k.c <- e
	return nil
}

func (k *kept) events() (all []audit.Event) {
	for {
		select {
		case e := <-k.c:
			all = append(all, e)
		default:
			return all
		}
	}
}

func TestServersWhoseCatalogsCannotWorkDoNotStart(t *testing.T) {
	var none *shelf
	broken := kits()
	broken.failing(func(context.Context) error { return errors.New("no such table") })
	for want, options := range map[string]runtime.Options{
		"Options.Catalogs is a nil *runtime_test.shelf":                             {Catalogs: none},
		"Options.Catalogs: cannot read which tools are switched off: no such table": {Catalogs: broken},
	} {
		options.Identity, options.Logger = users(), quiet()
		if _, err := runtime.New(options, directory(&desk{})); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

var _ catalog.Source = (*shelf)(nil)

// soon waits for something that is about to be so.
func soon(t testing.TB, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come about that " + what)
		}
	}
}
