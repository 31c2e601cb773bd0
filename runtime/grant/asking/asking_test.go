package asking_test

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
	"github.com/mcpgen/mcpgen/runtime/grant/asking"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// session is one of a caller over pipes.
func session(t *testing.T, keeper asking.Keeper, caller access.Principal) *mcp.ClientSession {
	t.Helper()
	server, err := runtime.New(runtime.Options{Anonymous: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))},
		asking.Toolset(asking.New(keeper, grant.Permission{Type: grant.FileRead, Resource: "public/**"})))
	if err != nil {
		t.Fatal(err)
	}
	return mcptest.Pipe(t, server, caller, "")
}

func caller(issuer, client string) access.Principal {
	return access.Principal{Issuer: issuer, Subject: "ann", Client: client}
}

// said is what a call came to, and "!" before it where it is an error.
func said(t *testing.T, s *mcp.ClientSession, tool, arguments string) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "!!" + err.Error()
	}
	if res.IsError {
		return "!" + mcptest.Text(res)
	}
	return mcptest.Text(res)
}

const wish = `{"type":"file.read","resource":"files/*.md","reason":"for the report","tool":"read_file"}`

func TestPermissionIsAskedForAndSeenByItsClientAlone(t *testing.T) {
	kept := grant.NewMemory(
		grant.Grant{Permission: grant.Permission{Type: grant.SystemCommand, Resource: "ls **", Restricted: true}, Issuer: "a", Client: "desk"},
		grant.Grant{Permission: grant.Permission{Type: "queue.push", Resource: "mail"}, Issuer: "a", Client: "desk", Expires: time.Now().Add(-time.Hour)},
	)
	desk := session(t, kept, caller("a", "desk"))
	if got := said(t, desk, "request_permission", wish); got != `{"id":"1","type":"file.read","resource":"files/*.md","status":"open"}` {
		t.Fatal(got)
	}
	if got := said(t, desk, "request_permission", wish); !strings.Contains(got, `"id":"1"`) {
		t.Errorf("asked again: %s", got)
	}
	r, err := kept.Request(t.Context(), "1")
	if err != nil || r.Issuer != "a" || r.Client != "desk" || r.Principal != "ann" || r.Tool != "read_file" || r.Reason != "for the report" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := kept.Deny(t.Context(), "1", grant.Verdict{By: "olga", Note: "ask for one file"}); err != nil {
		t.Fatal(err)
	}
	if got := said(t, desk, "list_permissions", `{}`); got != `{"granted":[{"type":"file.read","resource":"public/**"},{"type":"system.command","resource":"ls **","restricted":true}],"requests":[{"id":"1","type":"file.read","resource":"files/*.md","status":"denied","note":"ask for one file"}]}` {
		t.Error(got)
	}
	for _, other := range []access.Principal{caller("b", "desk"), caller("", "desk"), caller("a", "other")} {
		if got := said(t, session(t, kept, other), "list_permissions", `{}`); got != `{"granted":[{"type":"file.read","resource":"public/**"}],"requests":[]}` {
			t.Errorf("%+v: %s", other, got)
		}
	}
}

func TestPermissionOfNoKindIsNotAskedFor(t *testing.T) {
	kept := grant.NewMemory()
	got := said(t, session(t, kept, caller("a", "desk")), "request_permission", strings.Replace(wish, "file.read", "file.raed", 1))
	if !strings.HasPrefix(got, "!") || !strings.Contains(got, "of file. there are file.read and file.write alone") {
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
	if got := said(t, nobody, "request_permission", wish); !strings.Contains(got, `unknown tool "request_permission"`) {
		t.Error(got)
	}
	// The handlers refuse them as well.
	if _, err := asking.New(grant.NewMemory()).RequestPermission(t.Context(), asking.Wish{}); err == nil {
		t.Error("somebody unknown asks")
	}
	if _, err := asking.New(grant.NewMemory()).ListPermissions(t.Context()); err == nil {
		t.Error("somebody unknown is told")
	}
}

func TestWishThatCannotBeGrantedTeaches(t *testing.T) {
	desk := session(t, grant.NewMemory(), caller("a", "desk"))
	for arguments, want := range map[string]string{
		`{"type":"file.read","resource":"files/{a,b}","reason":"x"}`: "braces are no alternatives here",
		`{"type":"file.read","resource":"/etc/passwd","reason":"x"}`: "!",
		`{"type":"file","resource":"a","reason":"x"}`:                "!",
		`{"type":"file.read","resource":"files/a","reason":""}`:      "/reason",
	} {
		if got := said(t, desk, "request_permission", arguments); !strings.HasPrefix(got, "!") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	for i := range grant.MaxOpen {
		if got := said(t, desk, "request_permission", fmt.Sprintf(`{"type":"file.read","resource":"files/%d","reason":"x"}`, i)); strings.HasPrefix(got, "!") {
			t.Fatal(got)
		}
	}
	if got := said(t, desk, "request_permission", wish); got != "!too many of your requests are open: wait until an administrator has decided on some" {
		t.Error(got)
	}
}

// away is a keeper whose database is.
type away struct{ *grant.Memory }

var errAway = errors.New("the database is away")

func (a away) Grants(context.Context, string, string) ([]grant.Grant, uint64, error) {
	return nil, 0, errAway
}

func (a away) Ask(ctx context.Context, _ grant.Request) (grant.Request, error) {
	if by, ok := audit.WhoActs(ctx); !ok || by.Principal != "ann" || by.Client != "desk" || by.RequestID == "" {
		return grant.Request{}, fmt.Errorf("who asks is %+v", by)
	}
	return grant.Request{}, errAway
}

func TestKeeperThatFailsIsAnError(t *testing.T) {
	desk := session(t, away{grant.NewMemory()}, caller("a", "desk"))
	for tool, arguments := range map[string]string{"request_permission": wish, "list_permissions": `{}`} {
		if got := said(t, desk, tool, arguments); got != "!permissions are not available now: try again later" {
			t.Errorf("%s: %s", tool, got)
		}
	}
}
