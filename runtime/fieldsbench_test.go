package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// entry is the result of a usual tool. Its salary has a rule in guarded servers.
type entry struct {
	ID     int64     `json:"id"`
	Name   string    `json:"name"`
	Email  string    `json:"email"`
	Rank   string    `json:"rank"`
	Joined time.Time `json:"joined"`
	Salary *int64    `json:"salary,omitempty"`
}

const entryField = "github.com/mcpgen/mcpgen/runtime_test.entry.Salary"

var entryNames = []string{"id", "name", "email", "rank", "joined", "salary"}

// takeEntry decodes an entry as generated code does.
func takeEntry(r *decode.Reader, o *decode.Object) (any, error) {
	var in entry
	joined := ""
	for o.Next() {
		switch o.Property {
		case 0:
			decode.Int(r, &in.ID, 0, 1e9)
		case 1:
			decode.String(r, &in.Name)
		case 2:
			decode.String(r, &in.Email)
		case 3:
			decode.String(r, &in.Rank)
		case 4:
			decode.String(r, &joined)
		case 5:
			decode.Int(r, decode.New(&in.Salary), 0, 1e9)
		}
	}
	return in.Name, r.Finish()
}

// entries has a tool that returns one entry, one that returns twenty, and one that takes an entry.
func entries(guarded bool) toolset.Toolset {
	keyword, fields := "", []access.Rule(nil)
	if guarded {
		keyword = `,"x-mcpgen-field":"` + entryField + `"`
		fields = []access.Rule{{Field: entryField, MinRole: []string{"Manager"}}}
	}
	schema := `{"properties":{"id":{"type":"integer"},"name":{"type":"string"},` +
		`"email":{"type":"string"},"rank":{"type":"string"},"joined":{"type":"string"},` +
		`"salary":{"type":"integer"` + keyword + `}},"additionalProperties":false,"type":"object",` +
		`"required":["id","name","email","rank","joined"]}`
	one := entry{7, "Ada Lovelace", "ada@example.org", "manager", time.Unix(1e9, 0).UTC(),
		new(int64(70000))}
	twenty := make([]entry, 20)
	for i := range twenty {
		twenty[i] = one
	}
	take := func(_ context.Context, r *decode.Reader) (any, error) {
		o := r.Object(5, entryNames...)
		return takeEntry(r, &o)
	}
	if guarded {
		take = func(_ context.Context, r *decode.Reader) (any, error) {
			o := r.Object(5, entryNames...)
			o.Guard(5, entryField)
			return takeEntry(r, &o)
		}
	}
	returning := func(out any) func(context.Context, *decode.Reader) (any, error) {
		return func(_ context.Context, r *decode.Reader) (any, error) { return out, r.Nothing() }
	}
	g := toolsetOf([]toolset.Tool{
		{Name: "one", Input: anyInput, Output: schema, Handle: returning(one)},
		{Name: "take", Input: schema, Returns: toolset.Text, Handle: take},
		{Name: "twenty", Input: anyInput, Output: `{"items":` + schema + `,"type":"array"}`,
			Returns: toolset.Value, Handle: returning(twenty)},
	}).Generated()
	g.Table.Fields = fields
	return toolset.NewToolset(g)
}

// BenchmarkGuardedFields measures a message without a network. "without" is a server without rules
// of fields, and "all" and "cut" are callers of a server with one: of all fields, and of those
// without the salary.
func BenchmarkGuardedFields(b *testing.B) {
	const version = "2026-07-28"
	guarded, without := newServer(b, runtime.Options{}, entries(true)).Handler(),
		newServer(b, runtime.Options{}, entries(false)).Handler()
	for _, message := range []struct{ name, method, params string }{
		{"list", "tools/list", ``},
		{"one", "tools/call", `"name":"one","arguments":{},`},
		{"take", "tools/call", `"name":"take","arguments":{"id":7,"name":"Ada Lovelace",` +
			`"email":"ada@example.org","rank":"manager","joined":"2001-09-09T01:46:40Z"},`},
		{"twenty", "tools/call", `"name":"twenty","arguments":{},`},
	} {
		for _, caller := range []struct {
			name, role string
			server     http.Handler
		}{{"without", "Member", without}, {"all", "Manager", guarded}, {"cut", "Member", guarded}} {
			b.Run(message.name+"/"+caller.name, func(b *testing.B) {
				body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{`+
					`"io.modelcontextprotocol/protocolVersion":%q,`+
					`"io.modelcontextprotocol/clientCapabilities":{}}}}`, message.method, message.params,
					version)
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest(http.MethodPost, "http://localhost"+runtime.PathMCP,
						strings.NewReader(body))
					r.Header = http.Header{"Content-Type": {"application/json"},
						"Accept":               {"application/json, text/event-stream"},
						"Mcp-Protocol-Version": {version}, "Mcp-Method": {message.method},
						"Authorization": {"Bearer " + tokens[caller.role]}}
					if message.method == "tools/call" {
						r.Header.Set("Mcp-Name", message.name)
					}
					w := httptest.NewRecorder()
					caller.server.ServeHTTP(w, r)
					text := w.Body.String()
					salary := message.name != "take" && caller.name != "cut"
					if w.Code != http.StatusOK || strings.Contains(text, "salary") != salary ||
						strings.Contains(text, "isError") {
						b.Fatal(w.Code, text)
					}
				}
			})
		}
	}
}
