// Command timing measures whether response times distinguish a hidden tool from an unknown tool,
// and a hidden resource from an unknown one.
//
// The caller has the lowest role, and what is hidden needs the highest. Each pair of calls has one
// hidden and one unknown name of the same length, in random order. Each row has a control, in which
// both names are unknown. The rows take turns in random order, block by block, and the garbage
// collector runs between blocks only.
//
// For each row the table has the trimmed mean of the paired differences with Yuen's standard error
// (of the winsorized differences), and its 99 percent interval after Holm's correction over all
// rows. The command exits with 0 whatever it measures.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	goruntime "runtime"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func main() {
	pairs := flag.Int("n", 6000, "pairs of calls of each row")
	trim := flag.Float64("trim", 0.2, "share of the differences that is trimmed at each end")
	seed := flag.Uint64("seed", 1, "of the order of rows and of the calls of a pair")
	names := flag.String("names", strings.Join(hidden, ",")+","+strings.Join(hiddenURIs, ","),
		"the hidden tools to call, and the hidden URIs to read")
	flag.Parse()
	if *pairs < 2 || *trim < 0 || *trim >= 0.5 {
		log.Fatal("timing: -n is at least 2, and -trim at least 0 and less than 0.5")
	}
	if err := run(os.Stdout, strings.Split(*names, ","), *pairs, *trim, *seed); err != nil {
		log.Fatal("timing: ", err)
	}
}

const (
	block  = 100 // pairs between two garbage collections
	warmup = 3   // blocks that are not counted
	level  = 0.99
	stdio  = "stdio"
	modern = "2026-07-28"
)

// caller sends a call of a tool, or a read of a URI, and returns its duration and its response.
type caller func(name string) (time.Duration, []byte, error)

type row struct {
	name          string
	call          caller
	hidden        []string                   // names to call
	first, second func(hidden string) string // the names of a pair
	differences   []float64                  // first minus second, in microseconds
	durations     []float64                  // of both

	mean, se, p, low, high float64
}

func run(out io.Writer, names []string, pairs int, trim float64, seed uint64) error {
	folder, err := os.MkdirTemp("", "timing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	server, err := newServer(folder)
	if err != nil {
		return err
	}
	defer server.Shutdown(context.Background())
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	rows, err := newRows(server, web, names)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for done := -warmup * block; done < pairs; done += block {
		for _, i := range random.Perm(len(rows)) {
			r := rows[i]
			goruntime.GC()
			for i := range min(block, pairs-done) {
				if err := r.pair(r.hidden[i%len(r.hidden)], random.IntN(2) == 0, done >= 0); err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
			}
		}
	}
	for _, r := range rows {
		r.estimate(trim)
	}
	correct(rows)
	return print(out, rows, pairs, trim)
}

// pair makes one pair of calls.
func (r *row) pair(hidden string, swap, counts bool) error {
	names := [2]string{r.first(hidden), r.second(hidden)}
	unknown := "unknown tool"
	if isURI(hidden) {
		unknown = "Resource not found"
	}
	if swap {
		names[0], names[1] = names[1], names[0]
	}
	var took [2]float64
	var bodies [2][]byte
	for i, name := range names {
		duration, body, err := r.call(name)
		if err != nil {
			return err
		}
		took[i] = float64(duration.Nanoseconds()) / 1e3
		if bodies[i] = bytes.ReplaceAll(body, []byte(name), nil); !bytes.Contains(
			body, []byte(unknown)) {
			return fmt.Errorf("the call of %s has the response %s", name, body)
		}
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		return fmt.Errorf("the responses differ: %s and %s", bodies[0], bodies[1])
	}
	if swap {
		took[0], took[1] = took[1], took[0]
	}
	if counts {
		r.differences = append(r.differences, took[0]-took[1])
		r.durations = append(r.durations, took[0], took[1])
	}
	return nil
}

// estimate computes the trimmed mean, its standard error and the p-value.
func (r *row) estimate(trim float64) {
	slices.Sort(r.differences)
	slices.Sort(r.durations)
	n := len(r.differences)
	cut := int(trim * float64(n))
	kept := r.differences[cut : n-cut]
	for _, d := range kept {
		r.mean += d / float64(len(kept))
	}
	// The winsorized differences have the last kept value in place of each trimmed one.
	winsorized, squares := 0.0, 0.0
	at := func(i int) float64 { return r.differences[min(max(i, cut), n-cut-1)] }
	for i := range n {
		winsorized += at(i) / float64(n)
	}
	for i := range n {
		squares += (at(i) - winsorized) * (at(i) - winsorized)
	}
	r.se = math.Sqrt(squares/float64(n-1)) / ((1 - 2*trim) * math.Sqrt(float64(n)))
	r.p = math.Erfc(math.Abs(r.mean/r.se) / math.Sqrt2)
}

// correct sets the intervals. Holm's method takes the smallest p-value at the level of all rows,
// the next one at the level of one row less, and so on up to the first that is not significant.
func correct(rows []*row) {
	ordered := slices.SortedFunc(slices.Values(rows),
		func(a, b *row) int { return cmp.Compare(a.p, b.p) })
	tests := len(ordered)
	for _, r := range ordered {
		alpha := (1 - level) / float64(tests)
		z := math.Sqrt2 * math.Erfinv(1-alpha)
		r.low, r.high = r.mean-z*r.se, r.mean+z*r.se
		if r.p <= alpha {
			tests--
		}
	}
}

func print(out io.Writer, rows []*row, pairs int, trim float64) error {
	fmt.Fprintf(
		out, "%d pairs a row, %g%% of the differences trimmed at each end; times in microseconds\n",
		pairs, 100*trim)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(
		w, "row\tmedian call\tdifference\tstd. error\tt\t99% interval\twidth\tcontains 0\t")
	for _, r := range rows {
		contains := "no"
		if r.low <= 0 && 0 <= r.high {
			contains = "yes"
		}
		fmt.Fprintf(w, "%s\t%.1f\t%+.2f\t%.2f\t%+.2f\t%+.2f to %+.2f\t%.2f\t%s\t\n", r.name,
			r.durations[len(r.durations)/2], r.mean, r.se, r.mean/r.se, r.low, r.high, r.high-r.low,
			contains)
	}
	return w.Flush()
}

func isURI(name string) bool { return strings.Contains(name, "://") }

// newRows opens a client of each kind. The names of one kind, tools or resources, share rows.
func newRows(server *runtime.Server, web *httptest.Server, names []string) (rows []*row,
	err error) {
	uris := slices.Clone(names)
	tools := slices.DeleteFunc(slices.Clone(names), isURI)
	uris = slices.DeleteFunc(uris, func(name string) bool { return !isURI(name) })
	for _, version := range []string{"2025-11-25", modern} {
		for _, transport := range []string{"in process", "TCP", stdio} {
			var send func(*http.Request) ([]byte, http.Header, time.Duration, error)
			switch transport {
			case "in process":
				send = inProcess(server.Handler())
			case "TCP":
				send = overTCP(web.Client())
			}
			call := overStdio(server, version)
			if send != nil {
				call, err = overHTTP(send, web.URL+runtime.PathMCP, version)
			}
			if err != nil {
				return nil, err
			}
			name := transport + ", " + version
			same := func(hidden string) string { return hidden }
			other := func(last string) func(string) string {
				return func(hidden string) string { return hidden[:len(hidden)-1] + last }
			}
			for _, names := range [][]string{tools, uris} {
				if len(names) == 0 {
					continue
				}
				kind := "tool"
				if isURI(names[0]) {
					kind = "resource"
				}
				rows = append(rows, &row{name: name + ", hidden " + kind, call: call, hidden: names,
					first: same, second: other("x")},
					&row{name: name + ", control of it", call: call, hidden: names, first: other("q"),
						second: other("x")})
			}
		}
	}
	return rows, nil
}

func body(version, method, params string) string {
	if version == modern {
		params = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},` + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
}

func method(name string) string {
	if isURI(name) {
		return "resources/read"
	}
	return "tools/call"
}

func callBody(version, name string) string {
	if isURI(name) {
		return body(version, method(name), `"uri":"`+name+`"`)
	}
	return body(version, method(name), `"name":"`+name+`","arguments":{"id":"ada"}`)
}

func initialize(version string) string {
	return body(version, "initialize", `"protocolVersion":"`+version+
		`","capabilities":{},"clientInfo":{"name":"timing","version":"1"}`)
}

// overHTTP opens a session if the version has sessions.
func overHTTP(send func(*http.Request) ([]byte, http.Header, time.Duration, error), url,
	version string) (caller, error) {
	session := ""
	request := func(body, tool string) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer viewer")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		switch {
		case version == modern:
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Method", method(tool))
			r.Header.Set("Mcp-Name", tool)
		case session != "":
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Session-Id", session)
		}
		return r, nil
	}
	if version != modern {
		for _, body := range []string{initialize(version),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
			r, err := request(body, "")
			if err != nil {
				return nil, err
			}
			_, header, _, err := send(r)
			if err != nil {
				return nil, err
			}
			session = cmp.Or(header.Get("Mcp-Session-Id"), session)
		}
	}
	return func(tool string) (time.Duration, []byte, error) {
		r, err := request(callBody(version, tool), tool)
		if err != nil {
			return 0, nil, err
		}
		text, _, took, err := send(r)
		return took, text, err
	}, nil
}

// recorder is a ResponseWriter that is used again.
type recorder struct {
	header http.Header
	bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func inProcess(handler http.Handler) func(*http.Request) (
	[]byte, http.Header, time.Duration, error) {
	w := &recorder{header: http.Header{}}
	return func(r *http.Request) ([]byte, http.Header, time.Duration, error) {
		w.Reset()
		clear(w.header)
		r.RemoteAddr = "127.0.0.1:1"
		began := time.Now()
		handler.ServeHTTP(w, r)
		took := time.Since(began)
		return w.Bytes(), w.header, took, nil
	}
}

func overTCP(client *http.Client) func(*http.Request) ([]byte, http.Header, time.Duration, error) {
	return func(r *http.Request) ([]byte, http.Header, time.Duration, error) {
		began := time.Now()
		res, err := client.Do(r)
		if err != nil {
			return nil, nil, 0, err
		}
		text, err := io.ReadAll(res.Body)
		took := time.Since(began)
		return text, res.Header, took, errors.Join(err, res.Body.Close())
	}
}

// overStdio serves on a pair of pipes.
func overStdio(server *runtime.Server, version string) caller {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() {
		out.CloseWithError(server.RunIO(
			context.Background(), in, out, principal("Viewer")))
	}()
	lines := bufio.NewReader(fromServer)
	exchange := func(line string) (time.Duration, []byte, error) {
		text := []byte(line + "\n")
		began := time.Now()
		if _, err := toServer.Write(text); err != nil {
			return 0, nil, err
		}
		response, err := lines.ReadBytes('\n')
		return time.Since(began), response, err
	}
	opened := version == modern
	return func(tool string) (time.Duration, []byte, error) {
		if !opened {
			if _, _, err := exchange(initialize(version)); err != nil {
				return 0, nil, err
			}
			opened = true
		}
		return exchange(callBody(version, tool))
	}
}

func principal(role string) access.Principal {
	return access.Principal{Issuer: "test", Subject: "user", Role: role}
}

// hidden are the tools that the caller's role hides. Their handlers and schemas are of all kinds.
// The last one is that of an adopted server.
var hidden = []string{"read_salaries", "drop_customers", "open_document", "route_traffic",
	"plan_everything", "adopted_routing"}

// hiddenURIs are resources that the caller's role hides: an exact one, and one of a template.
var hiddenURIs = []string{"staff://all/salaries", "staff://ada/salary"}

// newServer makes a server that records and logs each refusal, as servers do by default.
func newServer(folder string) (*runtime.Server, error) {
	folders, err := grant.OpenRoots(map[string]string{"docs": folder})
	if err != nil {
		return nil, err
	}
	call := func(context.Context, toolset.Call) (toolset.Result, error) {
		return toolset.Structured(map[string]string{"a": "b"}, nil)
	}
	tools := []toolset.Tool{
		{Name: hidden[0], Input: `{"type":"object"}`, Output: `{"type":"object"}`, Call: call},
		{Name: hidden[1], SDK: true, Input: `{"type":"object"}`,
			Call: func(_ context.Context, call toolset.Call) (toolset.Result, error) {
				text := &mcp.TextContent{Text: toolset.Request[mcp.CallToolRequest](
					call).Params.Name}
				return toolset.Native(&mcp.CallToolResult{Content: []mcp.Content{text}}, nil, nil)
			}},
		{Name: hidden[2], Input: `{"type":"object","properties":{"id":{"type":"string"}}}`,
			Allow: []toolset.Allow{{Kind: grant.FileRead, Argument: "id"}},
			Call: func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
				named := toolset.Named{Argument: "id", Kinds: []string{grant.FileRead},
					Values: []string{"docs/a"}}
				_, err := call.Allow(ctx, named)
				return toolset.Done(err)
			}},
		{Name: hidden[3],
			Input: `{"type":"object","properties":{"id":{"type":"string","x-mcp-header":"Id"}}}`,
			Call:  call},
		{Name: hidden[4], Input: bigSchema(), Call: call},
		{Name: "visible", Input: `{"type":"object"}`, Call: call},
	}
	slices.SortFunc(tools, func(a, b toolset.Tool) int { return strings.Compare(a.Name, b.Name) })
	table := access.Table{Roles: access.DefaultRoles()}
	for _, t := range tools {
		rule := access.Rule{Tool: t.Name, MinRole: access.Role(len(table.Roles))}
		if t.Name == "visible" {
			rule.MinRole = 1
		}
		table.Rules = append(table.Rules, rule)
	}
	var resources []toolset.Resource
	for _, r := range []toolset.Resource{{URI: hiddenURIs[0]}, {URI: "staff://{name}/salary",
		Variables: []toolset.Variable{{Name: "name"}}}} {
		r.Name = r.URI
		r.Read = func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
			return toolset.ResourceText("100", nil)
		}
		resources = append(resources, r)
		table.Resources = append(table.Resources,
			access.Rule{Resource: r.URI, MinRole: access.Role(len(table.Roles))})
	}
	old := mcp.NewServer(&mcp.Implementation{Name: "timing", Version: "1"}, nil)
	old.AddTool(&mcp.Tool{Name: hidden[5], InputSchema: json.RawMessage(strings.Replace(bigSchema(),
		`"property_0":{`, `"property_0":{"x-mcp-header":"Zero",`, 1))},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	highest := access.Rule{MinRole: access.Role(len(table.Roles))}
	return runtime.Adopt(old, runtime.Options{
		Identity: identity.Static(map[string]access.Principal{
			identity.HashToken("viewer"): principal("Viewer")}),
		Roots: folders, GrantDefaults: []grant.Permission{
			{Type: grant.FileRead, Resource: "docs/**", Unrestricted: true}},
		Audit:  audit.SinkFunc(func(context.Context, audit.Event) error { return nil }),
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, map[string]access.Rule{hidden[5]: highest}, toolset.NewToolset(toolset.Generated{
		Package: "example.com/timing", Server: toolset.ServerInfo{Name: "timing", Version: "1"},
		Table: table, Tools: tools, Resources: resources}))
}

func bigSchema() string {
	properties := map[string]any{}
	for i := range 200 {
		properties[fmt.Sprintf("property_%d", i)] = map[string]any{
			"type": "string", "description": strings.Repeat("x", 80)}
	}
	text, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		panic(err) // of strings
	}
	return string(text)
}
