package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/intercept"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// cursorOf returns the cursor after the first page of a user's list.
func cursorOf(t *testing.T, s *runtime.Server, user string) string {
	t.Helper()
	res, err := connectIO(t, s, principalOf(user), "2025-11-25").ListTools(context.Background(),
		nil)
	if err != nil || res.NextCursor == "" {
		t.Fatalf("%v, %v", res, err)
	}
	return res.NextCursor
}

func listWith(t *testing.T, s *runtime.Server, user, cursor string) ([]string, error) {
	t.Helper()
	res, err := connectIO(t, s, principalOf(user), "2025-11-25").ListTools(context.Background(),
		&mcp.ListToolsParams{Cursor: cursor})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, tool := range res.Tools {
		names = append(names, tool.Name)
	}
	return names, nil
}

func isInvalidParams(err error) bool {
	var rpc *jsonrpc.Error
	return errors.As(err, &rpc) && rpc.Code == jsonrpc.CodeInvalidParams
}

func TestStaleCursorIsInvalidParams(t *testing.T) {
	old := newServer(t, runtime.Options{
		Lists: runtime.ListOptions{PageSize: 1}}, directory(&desk{}))
	now := newServer(t, runtime.Options{
		Lists: runtime.ListOptions{PageSize: 1}}, directory(&desk{}), oneTool("added", nothing))
	if names, err := listWith(t, now, "Admin", cursorOf(t, old, "Admin")); !isInvalidParams(err) {
		t.Errorf("%v, %v", names, err)
	}
	same := newServer(t, runtime.Options{
		Lists: runtime.ListOptions{PageSize: 1}}, directory(&desk{}))
	if names, err := listWith(t, same, "Admin", cursorOf(t, old, "Admin")); err != nil ||
		len(names) != 1 {
		t.Errorf("another replica does not read the cursor: %v, %v", names, err)
	}
}

func nothing(context.Context, toolset.Call) (toolset.Result, error) { return toolset.Done(nil) }

func TestMalformedCursorIsInvalidParams(t *testing.T) {
	s := newServer(t, runtime.Options{Lists: runtime.ListOptions{PageSize: 1}}, directory(&desk{}))
	good := cursorOf(t, s, "Viewer")
	raw, err := base64.RawURLEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	digest := raw[:len(raw)-1]
	encode := func(b ...byte) string {
		return base64.RawURLEncoding.EncodeToString(append(slices.Clone(digest), b...))
	}
	for _, cursor := range []string{
		"x", "!", good + "A", good[1:], good[:len(good)-1], " " + good, good + "=",
		strings.ToUpper(good), "\x00", "null",
		encode(), encode(0), encode(3), encode(200), encode(0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0x01),
		encode(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01), encode(1, 1),
		encode(0x80),
		base64.RawURLEncoding.EncodeToString([]byte("get_by_id")), strings.Repeat("A", 10000),
		"Gv-BAwEBCXBhZ2VUb2tlbgH_ggABAQEHTGFzdFVJRAEMAAAADv-CAQl1cGRhdGU=",
	} {
		if names, err := listWith(t, s, "Viewer", cursor); !isInvalidParams(err) {
			t.Errorf("%q: %v, %v", cursor, names, err)
		}
	}
}

func TestAlteredOffsetPagesTheCallersOwnSetOnly(t *testing.T) {
	s := newServer(t, runtime.Options{Lists: runtime.ListOptions{PageSize: 1}}, directory(&desk{}))
	raw, err := base64.RawURLEncoding.DecodeString(cursorOf(t, s, "Viewer"))
	if err != nil {
		t.Fatal(err)
	}
	for tool := range expected {
		if strings.Contains(string(raw), tool) {
			t.Errorf("the cursor names %s", tool)
		}
	}
	seen := map[string]bool{}
	for offset := range 256 {
		raw := append(slices.Clone(raw[:len(raw)-1]), byte(offset))
		names, _ := listWith(t, s, "Viewer", base64.RawURLEncoding.EncodeToString(raw))
		for _, name := range names {
			seen[name] = true
			if expected[name][2] != 'y' {
				t.Errorf("offset %d shows %s", offset, name)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("seen: %v", seen)
	}
}

func TestListedToolsCannotBeChangedForOthers(t *testing.T) {
	shout := func(next intercept.Next) intercept.Next {
		return func(ctx context.Context, m intercept.Message) (mcp.Result, error) {
			res, err := next(ctx, m)
			if r, ok := res.(*mcp.ListToolsResult); ok {
				for _, tool := range r.Tools {
					tool.Description += "!"
					tool.InputSchema.(json.RawMessage)[2] = 'T'
					if tool.OutputSchema != nil {
						tool.OutputSchema.(json.RawMessage)[2] = 'T'
					}
					if tool.Annotations != nil {
						tool.Annotations.Title += "!"
					}
				}
				r.Tools = append(r.Tools[:0], r.Tools...)
			}
			return res, err
		}
	}
	plain := toolset.Tool{Name: "annotated", Input: `{"type":"object"}`,
		Annotations: toolset.Annotations{ReadOnlyHint: true}, Call: nothing}
	s := newServer(t, runtime.Options{Interceptors: []intercept.Middleware{shout}},
		directory(&desk{}), toolsetOf([]toolset.Tool{plain}))
	c := newRaw(t, serve(t, s), tokens["Admin"], "2026-07-28")
	first := c.ask(t, "tools/list", "", nil)
	if second := c.ask(t, "tools/list", "", nil); first.String() != second.String() ||
		!strings.Contains(first.body, `a person.!"`) {
		t.Errorf("first %s\nsecond %s", first, second)
	}
}

func BenchmarkList(b *testing.B) {
	var tools []toolset.Tool
	var rules []access.Rule
	for i := range 1000 {
		name := fmt.Sprintf("tool_%04d", i)
		tools = append(tools, toolset.Tool{Name: name, Description: "does something",
			Input: anyInput, Call: nothing})
		rules = append(rules, access.Rule{Tool: name, MinRole: access.Role(1 + 3*(i%2))})
	}
	s := newServer(b, runtime.Options{}, toolsetOf(tools, rules...))
	c := newRaw(b, serve(b, s), tokens["Viewer"], "2026-07-28")
	b.ResetTimer()
	for range b.N {
		if got := c.ask(b, "tools/list", "", nil); got.status != 200 {
			b.Fatal(got)
		}
	}
}
