package mcptest_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// postOffice has a tool with a guarded argument and result, or with further properties. Without
// guard, its decoder accepts the argument from every caller.
func postOffice(t *testing.T, source identity.Source, properties string, names []string, guard,
	lenient bool) (s *runtime.Server, ran *atomic.Bool) {
	t.Helper()
	const field = "example.com/post.Letter.Postage"
	ran = &atomic.Bool{}
	postage := `"postage":{"type":"integer","x-mcpgen-field":"` + field + `"}`
	tool := toolset.Tool{Name: "send", Lenient: lenient, Input: `{"type":"object",` +
		`"additionalProperties":false,"properties":{` + postage + properties + `}}`,
		Output: `{"type":"object","properties":{"all":{"type":"array","items":{"type":"object",` +
			`"properties":{` + postage + `}}}}}`,
		Handle: func(_ context.Context, r *decode.Reader) (any, error) {
			o := r.Object(0, append([]string{"postage"}, names...)...)
			if guard {
				o.Guard(0, field)
			}
			for o.Next() {
				var n int
				decode.Int(r, &n, 0, 9)
			}
			err := r.Finish()
			ran.Store(ran.Load() || err == nil)
			return struct{}{}, err
		}}
	s, err := runtime.New(runtime.Options{Identity: source, Anonymous: true,
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

func TestFieldsAreConcealed(t *testing.T) {
	const field = "example.com/post.Letter.Postage"
	weight := `,"weight":{"type":"integer"}`
	for name, test := range map[string]struct {
		caller         access.Principal
		properties     string
		names          []string
		guard, lenient bool
		want           []string // nothing if the field is concealed
	}{
		"hidden":               {guest, weight, []string{"weight"}, true, false, nil},
		"without a scope":      {clerk, weight, []string{"weight"}, true, false, nil},
		"anonymous":            {access.Principal{}, weight, []string{"weight"}, true, false, nil},
		"lenient arguments":    {guest, weight, []string{"weight"}, true, true, nil},
		"a required argument":  {guest, `},"required":["weight"],"$defs":{"a":{}`, nil, true, false, nil},
		"no way to be refused": {guest, ``, nil, true, true, nil},
		"a decoder without it": {guest, weight, []string{"weight"}, false, false, []string{"over HTTP", "over a pipe", "postage"}},
		"a caller who may": {access.Principal{Subject: "p", Roles: []string{"Clerk"},
			Scopes: []string{"post"}}, weight, nil, true, false, []string{`holds for "p"`}},
	} {
		t.Run(name, func(t *testing.T) {
			s, ran := postOffice(t, mcptest.Identities{}, test.properties, test.names, test.guard, test.lenient)
			f := run(t, func(f testing.TB) { mcptest.AssertConcealed(f, s, test.caller, field) })
			if (f.text == "") != (len(test.want) == 0) {
				t.Error(f.text)
			}
			for _, want := range test.want {
				if !strings.Contains(f.text, want) {
					t.Errorf("no %q in %s", want, f.text)
				}
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
