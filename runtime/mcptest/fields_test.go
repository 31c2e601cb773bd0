package mcptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// parcel is what the tool of a post office takes beside the guarded argument postage.
type parcel struct {
	properties string   // of the input schema, each with a comma before it
	required   []string // the first of names
	names      []string
	read       func(r *decode.Reader) // a value of one of names
	lenient    bool
}

// agents are boundaries in which the client "agent" counts as a Guest.
type agents struct{}

func (agents) Boundary(_ context.Context, p boundary.Party) (boundary.Boundary, bool, error) {
	return boundary.Boundary{Roles: []string{"Guest"}, Items: []string{"*"}}, p.Client == "agent", nil
}

// postOffice has a tool with a guarded argument and result. Without guard, its decoder accepts the
// argument from every caller.
func postOffice(t *testing.T, source identity.Source, p parcel,
	guard bool) (s *runtime.Server, ran *atomic.Bool) {
	t.Helper()
	const field = "example.com/post.Letter.Postage"
	ran = &atomic.Bool{}
	postage := `"postage":{"type":"integer","x-mcpgen-field":"` + field + `"}`
	required, _ := json.Marshal(p.required)
	if p.required == nil {
		required = []byte("[]")
	}
	tool := toolset.Tool{Name: "send", Lenient: p.lenient, Input: `{"type":"object",` +
		`"$defs":{"box":{"type":"object"}},"additionalProperties":false,"required":` +
		string(required) + `,"properties":{` + postage + p.properties + `}}`,
		Output: `{"type":"object","properties":{"all":{"type":"array","items":{"type":"object",` +
			`"properties":{` + postage + `}}}}}`,
		Handle: func(_ context.Context, r *decode.Reader) (any, error) {
			o := r.Object(len(p.required), append(slices.Clone(p.names), "postage")...)
			if guard {
				o.Guard(len(p.names), field)
			}
			for o.Next() {
				if o.Property == len(p.names) {
					var n int
					decode.Int(r, &n, 0, 9)
				} else {
					p.read(r)
				}
			}
			err := r.Finish()
			ran.Store(ran.Load() || err == nil)
			return struct{}{}, err
		}}
	s, err := runtime.New(runtime.Options{Identity: source, Anonymous: true,
		Access: runtime.AccessOptions{Boundaries: agents{}, BoundariesOptional: true},
		Logger: slog.New(slog.DiscardHandler)}, toolset.NewToolset(toolset.Generated{
		Package: "example.com/post", Server: toolset.ServerInfo{Name: "post"},
		Tools: []toolset.Tool{tool}, Table: access.Table{Roles: [][]string{{"Guest", "Clerk"}},
			Rules:  []access.Rule{{Tool: "send", Public: true}},
			Fields: []access.Rule{{Field: field, MinRole: []string{"Clerk"}, Scopes: []string{"post"}}}}}))
	if err != nil {
		t.Fatal(err)
	}
	return s, ran
}

// parcels are the arguments of a tool, by their kind.
var parcels = func() map[string]parcel {
	scalar := func(r *decode.Reader) { decode.Int(r, new(int), 0, 9) }
	null := func(r *decode.Reader) {
		if !r.Null() {
			scalar(r)
		}
	}
	list := func(r *decode.Reader) {
		decode.Slice(r, new([]int), func(r *decode.Reader, v *int) { decode.Int(r, v, 0, 9) })
	}
	object := func(r *decode.Reader) {
		for o := r.Object(0); o.Next(); {
		}
	}
	const number = `{"type":"integer"}`
	const numbers = `{"type":"array","items":` + number + `}`
	const box = `{"$ref":"#/$defs/box"}`
	one := func(schema string, read func(*decode.Reader)) parcel {
		return parcel{`,"weight":` + schema, nil, []string{"weight"}, read, false}
	}
	must := func(p parcel) parcel { p.required = p.names; return p }
	named := func(name string) parcel {
		return parcel{`,"` + name + `":` + number, nil, []string{name}, scalar, false}
	}
	return map[string]parcel{
		"scalar": one(number, scalar), "required scalar": must(one(number, scalar)),
		"list": one(numbers, list), "required list": must(one(numbers, list)),
		"object": one(`{"type":"object"}`, object), "required object": must(one(box, object)),
		"nullable":          one(`{"anyOf":[`+number+`,{"type":"null"}]}`, null),
		"similar name":      named("postages"),
		"neighboring names": must(named("postal")),
	}
}()

func TestFieldsAreConcealed(t *testing.T) {
	const field = "example.com/post.Letter.Postage"
	for name, p := range parcels {
		for _, guard := range []bool{true, false} {
			for _, lenient := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s guarded=%t lenient=%t", name, guard, lenient), func(t *testing.T) {
					p.lenient = lenient
					s, ran := postOffice(t, mcptest.Identities{}, p, guard)
					f := run(t, func(f testing.TB) { mcptest.AssertConcealed(f, s, guest, field) })
					if (f.text == "") != (guard || lenient) { // lenient arguments lose the hidden one first
						t.Error(f.text)
					}
					for _, want := range []string{"over HTTP", "over a pipe", "postage"} {
						if !guard && !lenient && !strings.Contains(f.text, want) {
							t.Errorf("no %q in %s", want, f.text)
						}
					}
					if ran.Load() {
						t.Error("a call has reached the handler")
					}
				})
			}
		}
	}
	for name, test := range map[string]struct {
		caller access.Principal
		p      parcel
		want   string // nothing if the field is concealed
	}{
		"without a scope":      {clerk, parcels["scalar"], ""},
		"anonymous":            {access.Principal{}, parcels["scalar"], ""},
		"no way to be refused": {guest, parcel{lenient: true}, ""},
		"an agent of a caller who may": {access.Principal{Subject: "p", Client: "agent",
			Roles: []string{"Clerk"}, Scopes: []string{"post"}}, parcels["scalar"], ""},
		"a caller who may": {access.Principal{Subject: "p", Roles: []string{"Clerk"},
			Scopes: []string{"post"}}, parcels["scalar"], `holds for "p"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, ran := postOffice(t, mcptest.Identities{}, test.p, true)
			f := run(t, func(f testing.TB) { mcptest.AssertConcealed(f, s, test.caller, field) })
			if (f.text == "") != (test.want == "") || !strings.Contains(f.text, test.want) {
				t.Error(f.text)
			}
			if ran.Load() {
				t.Error("a call has reached the handler")
			}
		})
	}
	// A field of results without a schema is in no list.
	s := officeServer(t, nil)
	f := run(t, func(f testing.TB) {
		mcptest.AssertConcealed(f, s, guest, "example.com/office.Letter.Postage")
	})
	if !strings.Contains(f.text, "is not checked") {
		t.Error(f.text)
	}
}
