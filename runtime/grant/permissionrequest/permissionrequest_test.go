package permissionrequest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/permissionrequest"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// session is one of a caller over pipes.
func session(t *testing.T, store permissionrequest.Store,
	caller access.Principal) *mcp.ClientSession {
	t.Helper()
	server, err := runtime.New(runtime.Options{
		Anonymous: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
		permissionrequest.Toolset(permissionrequest.New(
			store, grant.Permission{Type: grant.FileRead, Resource: "public/**",
				Unrestricted: true})))
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Pipe(t, server, caller, "")
}

func caller(issuer, client string) access.Principal {
	return access.Principal{Issuer: issuer, Subject: "ann", Client: client}
}

// call returns the text of a call's result, after "!" if it is an error.
func call(t *testing.T, s *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "!!" + err.Error()
	}
	if res.IsError {
		return "!" + mcptest.Text(res)
	}
	return mcptest.Text(res)
}

const input = `{"type":"file.read","resource":"files/*.md","reason":"for the report","tool":"read_file"}`

func TestOnlyItsClientListsARequest(t *testing.T) {
	kept := grant.NewMemory(
		grant.Grant{Permission: grant.Permission{Type: grant.SystemCommand, Resource: "ls **"},
			Issuer: "a", Client: "desk"},
		grant.Grant{Permission: grant.Permission{Type: "queue.push", Resource: "mail",
			Unrestricted: true}, Issuer: "a", Client: "desk", Expires: time.Now().Add(-time.Hour)},
		grant.Grant{Permission: grant.Permission{Type: "db.read", Resource: "t",
			Parameters: map[string]json.RawMessage{"rows": []byte("100"),
				"columns": []byte(`[ "a" ]`)}}, Issuer: "a", Client: "desk"},
	)
	desk := session(t, kept, caller("a", "desk"))
	if got := call(t, desk, "request_permission",
		input); got != `{"id":"1","type":"file.read","resource":"files/*.md","restricted":true,"status":"open"}` {
		t.Fatal(got)
	}
	if got := call(t, desk, "request_permission", input); !strings.Contains(got, `"id":"1"`) {
		t.Errorf("repeated: %s", got)
	}
	r, err := kept.Request(t.Context(), "1")
	if err != nil || r.Issuer != "a" || r.Client != "desk" || r.Principal != "ann" ||
		r.Tool != "read_file" || r.Reason != "for the report" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := kept.Deny(t.Context(), "1", grant.Verdict{
		By: "olga", Note: "ask for one file"}); err != nil {
		t.Fatal(err)
	}
	if got := call(t, desk, "list_permissions",
		`{}`); got != `{"granted":[{"type":"file.read","resource":"public/**","restricted":false},{"type":"system.command","resource":"ls **","restricted":true},{"type":"db.read","resource":"t","restricted":true,"parameters":{"columns":["a"],"rows":100}}],"requests":[{"id":"1","type":"file.read","resource":"files/*.md","restricted":true,"status":"denied","note":"ask for one file"}],"tools":[]}` {
		t.Error(got)
	}
	for _, other := range []access.Principal{
		caller("b", "desk"), caller("", "desk"), caller("a", "other")} {
		if got := call(t, session(t, kept, other), "list_permissions",
			`{}`); got != `{"granted":[{"type":"file.read","resource":"public/**","restricted":false}],"requests":[],"tools":[]}` {
			t.Errorf("%+v: %s", other, got)
		}
	}
}

func TestRequestsAreRestrictedUnlessTheySayOtherwise(t *testing.T) {
	kept := grant.NewMemory()
	desk := session(t, kept, caller("a", "desk"))
	for i, c := range []struct {
		more string
		want grant.Unrestricted
	}{{``, false}, {`,"restricted":true`, false}, {`,"restricted":false`, true}} {
		got := call(t, desk, "request_permission",
			fmt.Sprintf(`{"type":"file.read","resource":"files/%d","reason":"x"%s}`, i, c.more))
		r, err := kept.Request(t.Context(), fmt.Sprint(i+1))
		if err != nil || r.Unrestricted != c.want ||
			!strings.Contains(got, fmt.Sprintf(`"restricted":%t`, !c.want)) {
			t.Errorf("%s: %s, %+v, %v", c.more, got, r, err)
		}
	}
}

func TestUnknownKindIsRefused(t *testing.T) {
	kept := grant.NewMemory()
	got := call(t, session(t, kept, caller("a", "desk")), "request_permission",
		strings.Replace(input, "file.read", "file.raed", 1))
	if !strings.HasPrefix(got, "!") || !strings.Contains(
		got, "the only kinds of file. are file.read and file.write") {
		t.Error(got)
	}
	if all, err := kept.Requests(t.Context(), grant.Filter{}); err != nil || len(all) > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAnonymousCallersHaveNoSuchTools(t *testing.T) {
	nobody := session(t, grant.NewMemory(), access.Principal{})
	if got := mcptest.Tools(t, nobody); len(got) != 0 {
		t.Error(got)
	}
	if got := call(t, nobody, "request_permission", input); !strings.Contains(
		got, `unknown tool "request_permission"`) {
		t.Error(got)
	}
	// The handlers refuse them as well.
	if _, err := permissionrequest.New(grant.NewMemory()).RequestPermission(
		t.Context(), permissionrequest.Input{}); err == nil {
		t.Error("an anonymous caller requests a permission")
	}
	if _, err := permissionrequest.New(grant.NewMemory()).ListPermissions(t.Context(),
		permissionrequest.ListInput{}); err == nil {
		t.Error("an anonymous caller lists permissions")
	}
}

func TestRefusalsOfInputNameTheProblem(t *testing.T) {
	desk := session(t, grant.NewMemory(), caller("a", "desk"))
	for arguments, want := range map[string]string{
		`{"type":"file.read","resource":"files/{a,b}","reason":"x"}`: "braces do not mean " +
			"alternatives here",
		`{"type":"file.read","resource":"/etc/passwd","reason":"x"}`: "!",
		`{"type":"file","resource":"a","reason":"x"}`:                "!",
		`{"type":"file.read","resource":"files/a","reason":""}`:      "/reason",
	} {
		if got := call(t, desk, "request_permission", arguments); !strings.HasPrefix(got, "!") ||
			!strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	for i := range grant.MaxOpen {
		if got := call(t, desk, "request_permission",
			fmt.Sprintf(`{"type":"file.read","resource":"files/%d","reason":"x"}`,
				i)); strings.HasPrefix(got, "!") {
			t.Fatal(got)
		}
	}
	if got := call(t, desk, "request_permission",
		input); got != "!too many of your requests are open: wait until an administrator "+
		"decides on some" {
		t.Error(got)
	}
}

// failingStore is a store whose database fails.
type failingStore struct{ *grant.Memory }

var errDatabase = errors.New("the database fails")

func (a failingStore) Grants(context.Context, string, string) ([]grant.Grant, uint64, error) {
	return nil, 0, errDatabase
}

func (a failingStore) Ask(ctx context.Context, _ grant.Request) (grant.Request, error) {
	if by, ok := audit.WhoActs(ctx); !ok || by.Principal != "ann" || by.Client != "desk" ||
		by.RequestID == "" {
		return grant.Request{}, fmt.Errorf("the caller is %+v", by)
	}
	return grant.Request{}, errDatabase
}

func TestStoreThatFailsIsAnError(t *testing.T) {
	desk := session(t, failingStore{grant.NewMemory()}, caller("a", "desk"))
	for tool, arguments := range map[string]string{
		"request_permission": input, "list_permissions": `{}`} {
		if got := call(
			t, desk, tool,
			arguments); got != "!permissions are not available now: try again later" {
			t.Errorf("%s: %s", tool, got)
		}
	}
}
