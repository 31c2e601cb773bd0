package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog/stored"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// BenchmarkGrowth measures requests of 2026-07-28 in the process of the server, without a network:
// by the number of tools, of principals with permissions of a host, of catalogs in SQLite, and of
// grants. It also measures the memory of kept permissions. A peer is a number.
func BenchmarkGrowth(b *testing.B) {
	for _, by := range []struct {
		name    string
		numbers []int
		server  func(b *testing.B, n int) growing
	}{
		{"tools", []int{10, 100, 1_000, 10_000}, growingTools},
		{"principals", []int{10, 100, 1_000, 10_000}, growingPrincipals},
		{"catalogs", []int{10, 100, 1_000, 10_000}, growingCatalogs},
		{"grants", []int{10, 100, 1_000}, growingGrants},
	} {
		for _, n := range by.numbers {
			var s growing // made once for both rows
			for _, of := range []string{"list", "call"} {
				b.Run(fmt.Sprintf("of=%s/by=%s/peer=%d", of, by.name, n), func(b *testing.B) {
					if s.server == nil {
						s = by.server(b, n)
					}
					s.measure(b, of)
				})
			}
		}
	}
	for _, tools := range []int{1_000, 10_000} {
		for _, n := range []int{1_000, 4_096, 20_000} {
			b.Run(fmt.Sprintf("of=memory/tools=%d/peer=%d", tools, n), func(b *testing.B) {
				measureMemory(b, tools, n)
			})
		}
	}
}

// growing is a server and the requests that it gets: the token and the tool of the i-th one, and
// the further members of the params of a list.
type growing struct {
	server *runtime.Server
	token  func(i int) string
	tool   func(i int) string
	list   func(i int) string
}

func newGrowing(b *testing.B, o runtime.Options, tools toolset.Toolset) growing {
	server, err := runtime.New(o, tools)
	if err != nil {
		b.Fatal(err)
	}
	return growing{server: server, token: func(int) string { return token },
		tool: func(i int) string { return manyName(2 * (i % 5)) }, // which a member may call
		list: func(int) string { return "" }}
}

// discard is a response that keeps nothing but its status.
type discard struct {
	header http.Header
	status int
	failed string
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }

func (d *discard) Write(p []byte) (int, error) {
	if d.failed == "" && len(p) < 4096 && bytes.Contains(p, []byte(`"isError":true`)) {
		d.failed = string(p)
	}
	return len(p), nil
}

// ask sends the i-th request of a method.
func (s growing) ask(b *testing.B, handler http.Handler, of string, i int) {
	method, name, params := "tools/list", "", s.list(i)
	if of == "call" {
		name = s.tool(i)
		method, params = "tools/call", fmt.Sprintf(`,"name":%q,"arguments":%s`, name, arguments)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":%s%s}}`, method,
		statelessMeta, params)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, runtime.PathMCP,
		strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Authorization": {"Bearer " + s.token(i)},
		"Mcp-Protocol-Version": {stateless}, "Mcp-Method": {method}}
	if name != "" {
		r.Header["Mcp-Name"] = []string{name}
	}
	d := discard{header: http.Header{}, status: http.StatusOK}
	if handler.ServeHTTP(&d, r); d.status != http.StatusOK || d.failed != "" {
		b.Fatalf("%s: status %d %s", body, d.status, d.failed)
	}
}

func (s growing) measure(b *testing.B, of string) {
	handler := s.server.Handler()
	for i := range 20 {
		s.ask(b, handler, of, i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.ask(b, handler, of, i)
	}
}

func growingTools(b *testing.B, n int) growing { return newGrowing(b, options(), manyToolset(n)) }

// numbered is a host in which no two of 4,096 principals have the same permissions. Each has
// those of the first ten tools.
type numbered struct{ tools int }

func (h numbered) Resolve(context.Context, access.Principal) (capability.User, error) {
	return capability.User{ID: "1"}, nil
}

func (h numbered) Capabilities(_ context.Context, p access.Principal) (set capability.Set, _ error) {
	n, err := strconv.Atoi(p.User)
	if err != nil { // the check at start
		return set, capability.ErrNoUser
	}
	for i := range h.tools {
		if i < 10 || n>>(i%12)&1 != 0 {
			set.Add("app.view_" + manyName(i))
		}
	}
	return set, nil
}

func (h numbered) MapAction(permission string) (string, error) { return permission, nil }

func growingPrincipals(b *testing.B, n int) growing {
	s := newGrowing(b, hosted(many), permissionToolset(many))
	s.token = func(i int) string { return strconv.Itoa(i % n) }
	return s
}

// hosted are the options of a server whose host has so many permissions. A token is the number of
// its principal.
func hosted(tools int) runtime.Options {
	o := options()
	o.Host.Source, o.Host.TTL = numbered{tools}, time.Hour
	o.Identity = identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
		p := member
		p.Subject, p.User = token, token
		return identity.Identity{Principal: p}, nil
	}, identity.NamesUsers())
	return o
}

// permissionToolset is manyToolset with a permission of the host for each tool.
func permissionToolset(tools int) toolset.Toolset {
	g := manyToolset(tools).Generated()
	for i := range g.Table.Rules {
		g.Table.Rules[i].MinRole = []string{access.Lowest}
		g.Table.Rules[i].Permission = access.Permission{App: "app", Action: "view", Object: manyName(i)}
	}
	return toolset.NewToolset(g)
}

// measureMemory reports the memory of the permissions of so many principals, which it measures
// once, whatever b.N. The bound of the number of principals is the default one.
func measureMemory(b *testing.B, tools, principals int) {
	s := newGrowing(b, hosted(tools), permissionToolset(tools))
	s.token = strconv.Itoa
	handler := s.server.Handler()
	before := heap()
	for i := range principals {
		s.ask(b, handler, "call", i)
	}
	b.ReportMetric(heap()-before, "heap-B")
	goruntime.KeepAlive(handler)
}

// heap is the number of bytes that are in use after a collection.
func heap() float64 {
	var m goruntime.MemStats
	for range 2 { // the first one runs cleanups
		goruntime.GC()
	}
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func growingCatalogs(b *testing.B, n int) growing {
	o := options()
	o.Catalogs.Source, o.Catalogs.Strict = stored.New(shelvesOf(b, n), stored.Stored), true
	s := newGrowing(b, o, manyToolset(many))
	s.list = func(i int) string { return fmt.Sprintf(`,"catalog":"kit %d"`, i%(n-1)) }
	return s
}

func growingGrants(b *testing.B, n int) growing {
	g := manyToolset(many).Generated()
	const kind = "depot.book"
	for i := range g.Tools {
		book := g.Tools[i].Call
		g.Tools[i].Allow = []toolset.Allow{{Kind: kind, Argument: "parcel"}}
		g.Tools[i].Call = func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
			ctx, err := call.Allow(ctx, toolset.Named{Argument: "parcel", Kinds: []string{kind},
				Values: []string{"ABC-123456"}})
			if err != nil {
				return toolset.Result{}, err
			}
			return book(ctx, call)
		}
	}
	grants := []grant.Grant{{Issuer: member.Issuer, Client: member.ClientID(),
		Permission: grant.Permission{Type: kind, Resource: "ABC-*", Unrestricted: true}}}
	for i := range n - 1 {
		other := grants[0]
		other.Permission.Resource = fmt.Sprintf("DEPOT-%d-*", i)
		grants = append(grants, other)
	}
	o := options()
	o.Grants.Source = grant.NewMemory(grants...)
	return newGrowing(b, o, toolset.NewToolset(g))
}
