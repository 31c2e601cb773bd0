package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

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

// stdioTalk opens a session over lines and returns what sends one and reads the next.
func stdioTalk(t testing.TB, s *runtime.Server, p access.Principal,
	options ...runtime.StreamOption) func(string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.RunIO(context.Background(), in, out, p, options...) }()
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<22)
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

// For random catalogs, callers and switches: a list with a catalog is the list without, and nothing
// but what is in the catalog.
func TestCatalogNarrowsAndNeverWidens(t *testing.T) {
	for _, options := range []runtime.Options{{Anonymous: true},
		{Anonymous: true, Access: runtime.AccessOptions{Denial: access.Forbid}}, {Anonymous: true,
			Lists: runtime.ListOptions{ListAll: true}}} {
		source := &shelf{}
		options.Catalogs.Source = source
		options.Lists.PageSize = 2
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

// declaring is a toolset whose code puts its tools into catalogs.
func declaring() toolset.Toolset {
	return toolsetOf([]toolset.Tool{
		{Name: "alpha", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek",
			"reading"}},
		{Name: "beta", Input: `{"type":"object"}`, Call: nothing, Catalogs: []string{"greek"}},
		{Name: "gamma", Input: `{"type":"object"}`, Call: nothing},
	})
}

func TestServerReturnsTheCatalogsOfItsCode(t *testing.T) {
	s := newServer(t, runtime.Options{}, declaring(), directory(&desk{}))
	if got := fmt.Sprint(s.DeclaredCatalogs()); got !=
		"[{code:greek greek true [alpha beta] } {code:reading reading true [alpha] }]" {
		t.Error(got)
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
			s := newServer(t, runtime.Options{
				Catalogs: runtime.CatalogOptions{Source: source, Strict: strict},
				Logger:   log.logger()}, directory(&desk{}))
			source.failing(fail)
			got := stdioTalk(t, s,
				principalOf("Admin"))(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"catalog":"reading"}}`)
			if strict {
				if !strings.Contains(got, `"code":503`) || strings.Contains(got, "hunter2") {
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
	s := newServer(t, runtime.Options{
		Catalogs: runtime.CatalogOptions{Source: source}}, directory(&desk{}))
	source.failing(func(context.Context) error { <-stuck; return nil })
	talk := stdioTalk(t, s, principalOf("Admin"))
	if names, note := listedIn(t,
		talk(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"catalog":"reading"}}`)); !slices.Equal(names, all) || !strings.Contains(note, "not available") {
		t.Errorf("%v, %s", names, note)
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
		"Options.Catalogs.Source is a nil *runtime_test.shelf": {
			Catalogs: runtime.CatalogOptions{Source: none}},
		"Options.Catalogs.Source: cannot read which tools are switched off: no such table": {
			Catalogs: runtime.CatalogOptions{Source: broken}},
	} {
		options.Identity, options.Logger = users(), quiet()
		if _, err := runtime.New(options, directory(&desk{})); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

var _ catalog.Source = (*shelf)(nil)

// soon waits for something that is about to be so. The test's own time limit bounds it.
func soon(t testing.TB, _ string, so func() bool) {
	t.Helper()
	for !so() {
		goruntime.Gosched()
	}
}
