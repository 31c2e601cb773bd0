package runtime_test

import (
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
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
