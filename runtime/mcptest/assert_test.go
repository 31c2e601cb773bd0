package mcptest_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

const slow = time.Hour

// office has a tool, a prompt, a resource and a value for each form of rule.
func office() toolset.Toolset {
	who := func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
		p, _ := runtime.Caller(ctx)
		return toolset.Structured(map[string]string{"who": p.Subject}, nil)
	}
	tool := func(name string) toolset.Tool {
		return toolset.Tool{Name: name, Input: `{"type":"object","properties":{"mode":{` +
			`"type":"string","enum":["read","purge"],"default":"read"}}}`, Call: who}
	}
	wait := tool("wait")
	wait.Timeout = 2 * slow
	wait.Guarded = `{"properties":{"postage":{"x-mcpgen-field":"example.com/office.Letter.Postage"}}}`
	wait.Call = func(ctx context.Context, c toolset.Call) (toolset.Result, error) {
		<-time.After(slow)
		return who(ctx, c)
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/office", Server: toolset.ServerInfo{Name: "office"},
		Table: access.Table{
			Roles: [][]string{{"Guest", "Clerk"}},
			Rules: []access.Rule{
				{Tool: "close", MinRole: []string{"Clerk"}, Denial: access.Forbid},
				{Tool: "file", MinRole: []string{"Clerk"}, Permission: access.Permission{Action: "file"}},
				{Tool: "hello", Public: true},
				{Tool: "post", Authenticated: true, Scopes: []string{"post"},
					OrScopes: [][]string{{"all", "send"}}, Denial: access.Challenge},
				{Tool: "wait", MinRole: []string{"Guest"}},
			},
			Prompts:   []access.Rule{{Prompt: "letter", MinRole: []string{"Clerk"}}},
			Resources: []access.Rule{{Resource: "office://rules", Authenticated: true}},
			Values: []access.Rule{
				{Tool: "hello", Argument: "mode", Value: "purge", MinRole: []string{"Clerk"}},
				{Tool: "hello", Argument: "mode", Value: "read", Public: true},
			},
			Fields: []access.Rule{{Field: "example.com/office.Letter.Postage", MinRole: []string{"Clerk"},
				Scopes: []string{"post"}}},
		},
		Tools: []toolset.Tool{tool("close"), tool("file"), tool("hello"), tool("post"), wait},
		Prompts: []toolset.Prompt{{Name: "letter",
			Get: func(context.Context, toolset.Call) (toolset.PromptResult, error) {
				return toolset.PromptText("", nil)
			}}},
		Resources: []toolset.Resource{{URI: "office://rules", Name: "rules",
			Read: func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
				return toolset.ResourceText("", nil)
			}}},
	})
}

func officeServer(t *testing.T, source identity.Source, hosts ...string) *runtime.Server {
	t.Helper()
	s, err := runtime.New(runtime.Options{Identity: source, Anonymous: true,
		HTTP: runtime.HTTPOptions{Hosts: hosts}, Host: runtime.HostOptions{RecordOnly: true},
		Logger: slog.New(slog.DiscardHandler)}, office())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	guest = access.Principal{Subject: "gus", Roles: []string{"Guest"}}
	clerk = access.Principal{Subject: "cleo", Roles: []string{"Clerk"}}
)

func TestPrincipalsCallOverHTTPWithoutASocket(t *testing.T) {
	s := officeServer(t, mcptest.Identities{}, "localhost")
	for _, version := range []string{"", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for want, p := range map[string]access.Principal{
			"hello":                 {},
			"hello wait":            guest,
			"close file hello wait": clerk,
		} {
			session := mcptest.As(t, s, p, version)
			got := mcptest.Tools(t, session)
			// post is listed to those who lack its scope alone.
			got = slices.DeleteFunc(got, func(name string) bool { return name == "post" })
			if strings.Join(got, " ") != want {
				t.Errorf("%q %s: %q, want %q", p.Subject, version, got, want)
			}
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello"})
			if err != nil || mcptest.Text(res) != `{"who":"`+p.Subject+`"}` {
				t.Errorf("%q %s: %q, %v", p.Subject, version, mcptest.Text(res), err)
			}
		}
	}
}

func TestSessionsWithoutASocketWorkInABubbleOfSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := officeServer(t, mcptest.Identities{})
		t.Cleanup(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
		start := time.Now()
		for _, session := range []*mcp.ClientSession{mcptest.As(t, s, guest, "2026-07-28"),
			mcptest.Pipe(t, s, guest, "")} {
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "wait"})
			if err != nil || mcptest.Text(res) != `{"who":"gus"}` {
				t.Errorf("%q, %v", mcptest.Text(res), err)
			}
		}
		if took := time.Since(start); took < 2*slow || took > 2*slow+time.Minute {
			t.Errorf("the fake clock went %v on", took)
		}
	})
}

func TestIdentities(t *testing.T) {
	ids := mcptest.Roles("Guest", "Clerk", "Guest+Clerk")
	ids["ada"] = access.Principal{Issuer: "i", Subject: "s", Roles: []string{"Clerk"}}
	for token, want := range map[string]access.Principal{
		"Guest": {Issuer: "mcptest", Subject: "Guest", Roles: []string{"Guest"}},
		"Clerk": {Issuer: "mcptest", Subject: "Clerk", Roles: []string{"Clerk"}},
		"Guest+Clerk": {Issuer: "mcptest", Subject: "Guest+Clerk",
			Roles: []string{"Guest", "Clerk"}},
		"ada": {Issuer: "i", Subject: "s", Roles: []string{"Clerk"}},
	} {
		r, _ := http.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		got, err := ids.Identify(r)
		if err != nil || got.Principal.Compare(want) != 0 {
			t.Errorf("%s: %v, %v", token, got, err)
		}
		r.Header.Set("Authorization", "Bearer x"+token)
		if _, err := ids.Identify(r); !errors.Is(err, identity.ErrInvalidToken) {
			t.Errorf("x%s: %v", token, err)
		}
		r.Header.Del("Authorization")
		if _, err := ids.Identify(r); !errors.Is(err, identity.ErrNoCredentials) {
			t.Errorf("no token: %v", err)
		}
	}
	if got := ids.Principals(); len(got) != 4 || !ids.NamesUsers() {
		t.Errorf("%v", got)
	}
	// A role that the server does not have is an error at start.
	_, err := runtime.New(runtime.Options{Identity: mcptest.Roles("Clark")}, office())
	if err == nil || !strings.Contains(err.Error(), "Clark") {
		t.Errorf("%v", err)
	}
	s := officeServer(t, ids)
	url := mcptest.Serve(t, s)
	if got := mcptest.Tools(t, mcptest.Connect(t, url, "Guest", "")); !slices.Contains(got, "wait") {
		t.Errorf("a guest sees %q", got)
	}
}

func TestMatrixIsComparedWithItsFile(t *testing.T) {
	golden := filepath.Join("testdata", "office.matrix")
	if f := run(t, func(f testing.TB) { mcptest.AssertMatrix(f, office(), golden) }); f.text != "" {
		t.Error(f.text)
	}
	if os.Getenv(mcptest.Update) != "" {
		return
	}
	without := run(t, func(f testing.TB) {
		mcptest.AssertMatrix(f, office().Without("wait"), golden)
	})
	if !strings.Contains(without.text, "- tool      wait") || without.fatal {
		t.Errorf("a removed tool: %s", without.text)
	}
	path := filepath.Join(t.TempDir(), "new", "office.matrix")
	check := func(f testing.TB) { mcptest.AssertMatrix(f, office(), path) }
	if f := run(t, check); !f.fatal || !strings.Contains(f.text, mcptest.Update+"=1") {
		t.Errorf("no file: %s", f.text)
	}
	t.Setenv(mcptest.Update, "1")
	if f := run(t, check); f.text != "" {
		t.Error(f.text)
	}
	t.Setenv(mcptest.Update, "")
	if f := run(t, check); f.text != "" {
		t.Error(f.text)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Line ends of Windows are no difference; the order of rows is one.
	rows := strings.SplitAfter(string(text), "\n")
	rows[1], rows[2] = rows[2], rows[1]
	for content, fails := range map[string]bool{
		strings.ReplaceAll(string(text), "\n", "\r\n"): false, strings.Join(rows, ""): true} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if f := run(t, check); (f.text != "") != fails {
			t.Errorf("fails: %v\n%s", !fails, f.text)
		}
	}
	broken := toolset.NewToolset(toolset.Generated{Package: "p", Table: access.Table{
		Roles: [][]string{{"A", "A"}}, Rules: []access.Rule{{Tool: "a"}}}})
	if f := run(t, func(f testing.TB) { mcptest.AssertMatrix(f, broken, path) }); !f.fatal {
		t.Error("a table that does not compose has a matrix")
	}
}

// A hierarchy of several chains has a column with the roles that open a row only together.
func TestMatrixHasTheRolesThatOpenARowTogether(t *testing.T) {
	set := toolset.NewToolset(toolset.Generated{Package: "p", Table: access.Table{
		Roles: [][]string{{"Clerk", "Boss"}, {"Auditor"}, {"Night", "Boss"}},
		Rules: []access.Rule{{Tool: "export", MinRole: []string{"Clerk", "Night"}},
			{Tool: "look", MinRole: []string{"Clerk"}}},
		Values: []access.Rule{
			{Tool: "export", Argument: "of", Value: "pay", MinRole: []string{"Auditor"}},
			{Tool: "export", Argument: "to", Value: "mail", MinRole: []string{"Clerk"}}}}})
	golden := filepath.Join("testdata", "together.matrix")
	if f := run(t, func(f testing.TB) { mcptest.AssertMatrix(f, set, golden) }); f.text != "" {
		t.Error(f.text)
	}
}

func TestConcealedToolIsMarked(t *testing.T) {
	for name, test := range map[string]struct {
		source identity.Source
		caller access.Principal
		tool   string
		want   []string // in the failure; none for success
	}{
		"hidden":            {mcptest.Identities{}, guest, "file", nil},
		"hidden, anonymous": {mcptest.Identities{}, access.Principal{}, "wait", nil},
		"of no such name":   {mcptest.Identities{}, guest, "x", []string{"the name x"}},
		"of no such field": {mcptest.Identities{}, guest, "example.com/office.Letter.Weight",
			[]string{"no field with a rule"}},
		"over a pipe alone":            {nil, guest, "file", nil},
		"usable":                       {mcptest.Identities{}, clerk, "file", []string{"file is listed"}},
		"challenged":                   {mcptest.Identities{}, guest, "post", []string{"post is listed"}},
		"forbidden, over a pipe alone": {nil, guest, "close", []string{"over a pipe"}},
		"forbidden": {mcptest.Identities{}, guest, "close",
			[]string{"over HTTP", "over a pipe"}},
	} {
		s := officeServer(t, test.source)
		f := run(t, func(f testing.TB) { mcptest.AssertConcealed(f, s, test.caller, test.tool) })
		if (f.text == "") != (len(test.want) == 0) {
			t.Errorf("%s: %q", name, f.text)
		}
		for _, want := range test.want {
			if !strings.Contains(f.text, want) {
				t.Errorf("%s: no %q in %s", name, want, f.text)
			}
		}
		if test.source == nil && strings.Contains(f.text, "over HTTP") {
			t.Errorf("%s: compared over HTTP: %s", name, f.text)
		}
	}
}

func TestListsAreCompared(t *testing.T) {
	s := officeServer(t, nil)
	other := clerk
	other.Subject = "carl"
	if f := run(t, func(f testing.TB) { mcptest.AssertSameList(f, s, clerk, other) }); f.text != "" {
		t.Error(f.text)
	}
	f := run(t, func(f testing.TB) { mcptest.AssertSameList(f, s, guest, clerk) })
	for _, want := range []string{"tools of", "prompts of", `+ {`, `"purge"`} {
		if !strings.Contains(f.text, want) {
			t.Errorf("no %q in %s", want, f.text)
		}
	}
	if strings.Contains(f.text, "resources of") {
		t.Errorf("equal resources differ: %s", f.text)
	}
	f = run(t, func(f testing.TB) { mcptest.AssertSameList(f, s, access.Principal{}, guest) })
	if !strings.Contains(f.text, "resources of") {
		t.Errorf("resources are not compared: %s", f.text)
	}
}

func TestAsNeedsIdentities(t *testing.T) {
	for _, source := range []identity.Source{nil, identity.Static(nil)} {
		s := officeServer(t, source)
		f := run(t, func(f testing.TB) { mcptest.As(f, s, guest, "") })
		if !f.fatal || !strings.Contains(f.text, "mcptest.Identities") {
			t.Errorf("%T: %s", source, f.text)
		}
	}
}
