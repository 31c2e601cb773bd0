package runtime_test

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime/access"
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
