package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

type cut struct {
	Size int      `json:"size"`
	Tags []string `json:"tags"`
	Deep bool     `json:"deep"`
}

func readCut(r *decode.Reader, v *cut) {
	v.Size = 3
	for o := r.Object(1, "tags", "size", "deep"); o.Next(); {
		switch o.Property {
		case 0:
			decode.Slice(r, &v.Tags, func(r *decode.Reader, v *string) { decode.String(r, v) })
		case 1:
			decode.Int(r, &v.Size, 0, 9)
		case 2:
			decode.Bool(r, &v.Deep)
		}
	}
}

// cuts has the tools lenient and strict, which say so, and plain and called, which do not.
func cuts() toolset.Toolset {
	g := toolset.Generated{Package: "example.com/cuts",
		Server: toolset.ServerInfo{Name: "cuts", Version: "1"}}
	g.Table.Roles = access.DefaultRoles()
	for _, name := range []string{"called", "lenient", "plain", "strict"} {
		t := toolset.Tool{Name: name, Lenient: name == "lenient", Strict: name == "strict",
			Input: `{"type":"object","additionalProperties":false,"required":["tags"],` +
				`"properties":{"tags":{"type":"array","items":{"type":"string"}},` +
				`"size":{"type":"integer","minimum":0,"maximum":9,"default":3},` +
				`"deep":{"type":"boolean"}}}`}
		t.Handle = func(_ context.Context, r *decode.Reader) (any, error) {
			var in cut
			readCut(r, &in)
			if err := r.Finish(); err != nil {
				return nil, err
			}
			return in, nil
		}
		if name == "called" {
			t.Handle, t.Call = nil, func(_ context.Context, c toolset.Call) (
				toolset.Result, error) {
				in, err := decode.Arguments(c.Arguments, readCut)
				if err != nil {
					return toolset.Result{}, err
				}
				return toolset.Structured(in, nil)
			}
		}
		g.Tools = append(g.Tools, t)
		g.Table.Rules = append(g.Table.Rules, access.Rule{Tool: name, Public: true})
	}
	return toolset.NewToolset(g)
}

func TestLenientArguments(t *testing.T) {
	const doc = `{"tags":"a","size":null,"deep":"true","shade":1}`
	for _, all := range []bool{false, true} {
		seen, kept := &watched{}, &keeper{}
		s := newServer(t, runtime.Options{Protocol: runtime.ProtocolOptions{LenientArguments: all},
			Observe: runtime.ObserveOptions{Observer: seen.observer()},
			Audit:   runtime.AuditOptions{Sink: kept}}, cuts())
		session := connectHTTP(t, serve(t, s), tokens["Viewer"], "2026-07-28")
		list, err := session.ListTools(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if schema, _ := json.Marshal(tool.InputSchema); !strings.Contains(string(schema),
				`"additionalProperties":false`) {
				t.Errorf("%s lists %s", tool.Name, schema)
			}
		}
		for name, lenient := range map[string]bool{
			"lenient": true, "strict": false, "plain": all, "called": all,
		} {
			seen.taken(t, 0)
			kept.taken()
			res, err := session.CallTool(context.Background(),
				&mcp.CallToolParams{Name: name, Arguments: json.RawMessage(doc)})
			if err != nil {
				t.Fatal(err)
			}
			where := fmt.Sprintf("%s, all %v", name, all)
			if res.IsError == lenient ||
				lenient && text(res) != `{"size":3,"tags":["a"],"deep":true}` {
				t.Errorf("%s: %v %s", where, res.IsError, text(res))
			}
			want := decode.Coercions{}
			if lenient {
				want = decode.Coercions{Booleans: 1, Lists: 1, Nulls: 1, Unknown: 1}
			}
			if out := seen.taken(t, 1).outcomes; out[len(out)-1].Coerced != want {
				t.Errorf("%s: %+v", where, out)
			}
			digests := map[string]audit.Digest{"tags": audit.DigestOf([]byte(`"a"`)),
				"size":  audit.DigestOf([]byte(`null`)),
				"deep":  audit.DigestOf([]byte(`"true"`)),
				"shade": audit.DigestOf([]byte(`1`))}
			for _, a := range kept.taken()[0].Arguments {
				if a.Digest != digests[a.Name] {
					t.Errorf("%s: %s is recorded by another text", where, a.Name)
				}
				delete(digests, a.Name)
			}
			if len(digests) > 0 {
				t.Errorf("%s: no record of %v", where, digests)
			}
		}
		// A coerced value meets the schema's limits; the coercion counts.
		seen.taken(t, 0)
		res, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "lenient",
			Arguments: json.RawMessage(`{"tags":[],"size":"10"}`)})
		if err != nil || !res.IsError ||
			!strings.Contains(text(res), "/size: 10 is more than the maximum 9") {
			t.Errorf("%v %s", err, text(res))
		}
		if out := seen.taken(t, 1).outcomes; out[len(out)-1].Coerced.Numbers != 1 {
			t.Errorf("%+v", out)
		}
	}
}
