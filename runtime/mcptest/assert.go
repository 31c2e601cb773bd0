package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Update is the environment variable that makes [AssertMatrix] write its file: MCPTEST_UPDATE=1.
// It is no flag, because tests may have a flag -update of their own.
const Update = "MCPTEST_UPDATE"

// AssertMatrix compares the rules of a toolset with a golden file: a row for each tool, prompt,
// resource, ruled value and ruled field, and a column for an anonymous caller, one without a role,
// and each role, those of the main chain first. All but the first hold the scopes of the row, which
// stand beside it with the host's permission and the denial mode; alternatives of scopes are apart
// by |. If the roles are more than one chain, a further column has the smallest sets of roles that
// open the row only together, as in "Manager+Auditor". The rules are the compiled ones, narrowing
// by Only and Without included; neither permissions of a host nor boundaries are read. The matrix
// of one client is the output of mcpgen matrix --client.
func AssertMatrix(t testing.TB, set toolset.Toolset, golden string) {
	t.Helper()
	got, err := matrix(set)
	if err != nil {
		t.Fatalf("mcptest: %v", err)
	}
	if os.Getenv(Update) != "" {
		err := os.MkdirAll(filepath.Dir(golden), 0o755)
		if err = errors.Join(err, os.WriteFile(golden, got, 0o644)); err != nil {
			t.Fatalf("mcptest: %v", err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("mcptest: %s does not exist: run the test with %s=1 to write it", golden, Update)
	} else if err != nil {
		t.Fatalf("mcptest: %v", err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
	if difference := lines(string(want), string(got)); difference != "" {
		t.Errorf("mcptest: the rules differ from %s:\n%srun the test with %s=1 if this is intended",
			golden, difference, Update)
	}
}

func matrix(set toolset.Toolset) ([]byte, error) {
	g := set.Generated()
	table, err := access.Compose(access.Part{Package: g.Package, Table: g.Table})
	if err != nil {
		return nil, err
	}
	callers := []access.Principal{{}, {Subject: "caller"}}
	head := []string{"kind", "name", "anonymous", "no role"}
	for _, role := range table.Hierarchy() {
		callers = append(callers, access.Principal{Subject: "caller", Roles: []string{role}})
		head = append(head, role)
	}
	several := len(table.Roles) > 1
	if several {
		head = append(head, "roles together")
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(append(head, "scopes", "permission", "denial"), "\t"))
	for _, k := range []access.Kind{access.Tools, access.Prompts, access.Resources, access.Values,
		access.Fields} {
		rules := table.Of(k)
		for _, rule := range rules.Rules {
			row := []string{k.String(), rule.Name()}
			for _, c := range callers {
				if !c.Anonymous() {
					c.Scopes = slices.Concat(rule.Alternatives()...)
				}
				row = append(row, map[bool]string{true: "yes", false: "-"}[rules.Decide(c,
					rule.Name()).Allowed])
			}
			if several {
				var sets []string
				for _, roles := range rules.Together(rule.Name()) {
					sets = append(sets, strings.Join(roles, "+"))
				}
				row = append(row, strings.Join(sets, " "))
			}
			permission, denial := "", ""
			if rule.Permission != (access.Permission{}) {
				permission = rule.Permission.String()
			}
			if rule.Denial != access.DenialDefault {
				denial = rule.Denial.String()
			}
			var scopes []string
			for _, alternative := range rule.Alternatives() {
				scopes = append(scopes, strings.Join(alternative, " "))
			}
			row = append(row, strings.Join(scopes, " | "), permission, denial)
			fmt.Fprintln(w, strings.Join(row, "\t"))
		}
	}
	if err := w.Flush(); err != nil {
		return nil, err
	}
	text := ""
	for line := range strings.Lines(b.String()) {
		text += strings.TrimRight(line, " \n") + "\n"
	}
	return []byte(text), nil
}

// lines returns the lines that one of the texts lacks, with - and +.
func lines(want, got string) string {
	had, has := strings.Split(want, "\n"), strings.Split(got, "\n")
	text := ""
	for _, line := range had {
		if !slices.Contains(has, line) {
			text += "- " + line + "\n"
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			text += "+ " + line + "\n"
		}
	}
	if text == "" && want != got {
		text = "the order or the number of equal lines\n"
	}
	return text
}

// concealVersion is the protocol version of [AssertConcealed]: sessions need no headers in it that
// name the tool.
const concealVersion = "2025-11-25"

// AssertConcealed checks that the principal sees no difference to a missing tool: no list has it,
// and a call gets the bytes of a call of an unknown tool, except for the name. It calls with no
// arguments, unknown arguments and malformed ones. It calls over a pipe, and also over HTTP, with
// statuses and headers, if the server's Options.Identity is [Identities].
//
// With the name of a field that has a rule, as in "example.com/directory.Person.Salary", it checks
// that no schema that the principal is listed has the field, and that a call with such an argument
// gets the bytes of a call with an unknown one. No call reaches a handler: a tool is not called if
// a lenient decoder could accept each call. A boundary of the principal's client counts.
func AssertConcealed(t testing.TB, server *runtime.Server, principal access.Principal,
	tool string) {
	t.Helper()
	table := server.Table()
	if _, ok := table.Of(access.Fields).Tool(tool); ok {
		concealsField(t, server, principal, tool)
		return
	}
	named := server.Explain(context.Background(), principal, tool).Name // of an alias, its tool
	if _, ok := table.Tool(named); !ok {
		t.Errorf("mcptest: no tool and no field with a rule has the name %s: write it as mcpgen list "+
			"prints it", tool)
		return
	}
	if slices.Contains(Tools(t, Pipe(t, server, principal, concealVersion)), tool) {
		t.Errorf("mcptest: %s is listed", tool)
		return // a call could reach the handler
	}
	over, unknown := carriers(t, server, principal), unknownName(tool)
	for _, carrier := range slices.Sorted(maps.Keys(over)) {
		for _, rest := range []string{``, `,"arguments":{}`, `,"arguments":{"mcptest_unknown":1}`,
			`,"arguments":[1]`} {
			call := func(name string) string { return over[carrier](callOf(name, rest)) }
			// The message of the error quotes the name.
			hidden, missing := call(tool), strings.ReplaceAll(call(unknown),
				`\"`+unknown+`\"`, `\"`+tool+`\"`)
			if hidden != missing {
				t.Errorf("mcptest: over %s, a call of %s with %q differs from one of an unknown tool:"+
					"\n%s\nunknown tool:\n%s", carrier, tool, rest, hidden, missing)
			}
		}
	}
}

// carriers returns funcs that send a message and return its answer, by the name of the transport.
func carriers(t testing.TB, server *runtime.Server,
	principal access.Principal) map[string]func(string) string {
	t.Helper()
	over := map[string]func(string) string{"a pipe": rawPipe(t, server, principal)}
	if send := rawHTTP(t, server, principal); send != nil {
		over["HTTP"] = send
	}
	return over
}

// unknownName returns another name of the same length.
func unknownName(name string) string {
	if unknown := strings.Repeat("x", len(name)); unknown != name {
		return unknown
	}
	return strings.Repeat("y", len(name))
}

// callOf returns the message of a call, with further members of its params.
func callOf(tool, rest string) string {
	name, _ := json.Marshal(tool)
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":` + string(name) + rest +
		`}}`
}

// initialize opens a session of [concealVersion].
const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` +
	concealVersion + `","capabilities":{},"clientInfo":{"name":"mcptest","version":"1"}}}`

// rawPipe returns a func that sends a line over a pipe and returns the next one.
func rawPipe(t testing.TB, server *runtime.Server, principal access.Principal) func(string) string {
	t.Helper()
	reader, writer := pipe(t, server, principal)
	in := bufio.NewReader(reader)
	talk := func(line string) string {
		t.Helper()
		_, err := io.WriteString(writer, line+"\n")
		if err != nil {
			t.Fatalf("mcptest: writing to the pipe: %v", err)
		}
		response, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("mcptest: reading from the pipe: %v", err)
		}
		return response
	}
	talk(initialize)
	return talk
}

// rawHTTP returns a func that posts a message and returns status, headers and body, or nil if the
// server's identities are not those of this package.
func rawHTTP(t testing.TB, server *runtime.Server, principal access.Principal) func(string) string {
	t.Helper()
	c := newCaller(principal)
	url, client := inMemory(t, server, c)
	post := func(session, body string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatalf("mcptest: %v", err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", concealVersion)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatalf("mcptest: posting: %v", err)
		}
		text, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil {
			t.Fatalf("mcptest: reading a response: %v", err)
		}
		return response, string(text)
	}
	opened, text := post("", initialize)
	if !c.known() {
		return nil
	}
	if opened.StatusCode != http.StatusOK {
		t.Fatalf("mcptest: initialize: %s\n%s", opened.Status, text)
	}
	session := opened.Header.Get("Mcp-Session-Id")
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return func(body string) string {
		response, text := post(session, body)
		response.Header.Del("Date")
		text = response.Status + "\n" + text
		for _, name := range slices.Sorted(maps.Keys(response.Header)) {
			text += fmt.Sprintf("\n%s: %q", name, response.Header[name])
		}
		return text
	}
}

// AssertSameList checks that two principals are listed the same, byte for byte: tools with their
// schemas, prompts, resources, templates, and the server's instructions.
func AssertSameList(t testing.TB, server *runtime.Server, a, b access.Principal) {
	t.Helper()
	had, has := listing(t, server, a), listing(t, server, b)
	for _, name := range slices.Sorted(maps.Keys(had)) {
		if difference := lines(had[name], has[name]); difference != "" {
			t.Errorf("mcptest: %s of %q (-) and %q (+) differ:\n%s", name, a.Subject, b.Subject,
				difference)
		}
	}
}

func listing(t testing.TB, server *runtime.Server, p access.Principal) map[string]string {
	t.Helper()
	ctx := context.Background()
	session := Pipe(t, server, p, "")
	has := session.InitializeResult().Capabilities
	all := map[string]string{"instructions": session.InitializeResult().Instructions,
		"tools": "", "prompts": "", "resources": "", "templates": ""}
	if has.Tools != nil {
		all["tools"] = listed(t, session.Tools(ctx, nil))
	}
	if has.Prompts != nil {
		all["prompts"] = listed(t, session.Prompts(ctx, nil))
	}
	if has.Resources != nil {
		all["resources"] = listed(t, session.Resources(ctx, nil))
		all["templates"] = listed(t, session.ResourceTemplates(ctx, nil))
	}
	return all
}

// listed returns a list with a line of JSON for each item.
func listed[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate](t testing.TB,
	items iter.Seq2[*T, error]) string {
	t.Helper()
	text := ""
	for item, err := range items {
		if err != nil {
			t.Fatalf("mcptest: listing: %v", err)
		}
		line, err := json.Marshal(item)
		if err != nil {
			t.Fatalf("mcptest: listing: %v", err)
		}
		text += string(line) + "\n"
	}
	return text
}
