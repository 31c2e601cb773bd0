package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// repeatable are messages with a text of the client in each place that has one, as a method and its
// params.
var repeatable = [][2]string{
	{"tools/call", `"name":"X"`}, {"prompts/get", `"name":"X"`}, {"resources/read", `"uri":"X"`},
	{"resources/read", `"uri":"meet://X/X"`}, {"resources/subscribe", `"uri":"X"`},
	{"resources/unsubscribe", `"uri":"X"`},
	{"tools/call", `"name":"get_by_id","arguments":{"X":"X"}`},
	{"tools/call", `"name":"get_by_id","requestState":"X","inputResponses":{"X":{}}`},
	{"prompts/get", `"name":"meet","arguments":{"X":"X"}`},
	{"prompts/get", `"name":"meet","arguments":{"X":7}`},
	{"completion/complete", `"ref":{"type":"X"},"argument":{"name":"X","value":"X"}`},
	{"completion/complete",
		`"ref":{"type":"ref/prompt","name":"X"},"argument":{"name":"X","value":"X"}`},
	{"completion/complete",
		`"ref":{"type":"ref/resource","uri":"X"},"argument":{"name":"X","value":"X"}`},
	{"completion/complete",
		`"ref":{"type":"ref/prompt","name":"meet"},"argument":{"name":"X","value":"a"}`},
	{"tools/list", `"cursor":"X"`}, {"tools/list", `"catalog":"X"`},
	{"tools/list", `"catalog_id":["X","X"]`}, {"tools/list", `"X":"X"`},
	{"tasks/get", `"taskId":"X"`}, {"tasks/cancel", `"taskId":"X"`},
	{"logging/setLevel", `"level":"X"`}, {"X", `"X":"X"`}, {"notifications/X", `"X":"X"`},
	{"initialize", `"protocolVersion":"X","capabilities":{"X":{}},` +
		`"clientInfo":{"name":"X","version":"X"}`},
	{"server/discover", `"X":"X"`},
}

// repeated returns messages of an era whose texts have 18,000 bytes or more.
func repeated(era string) (all []string) {
	c := &raw{era: era}
	for _, text := range []string{strings.Repeat("a", 18_000), strings.Repeat("é€𝄞", 2_000),
		strings.Repeat(`\u0000`, 3_000), strings.Repeat(`\u202e`, 3_000)} {
		for _, m := range repeatable {
			body := c.request(m[0], m[1])
			version := strings.Replace(body, `{"_meta":{`, `{"_meta":{"x":1,`, 1)
			version = strings.Replace(version, `"2026-07-28"`, `"`+text+`"`, 1)
			for _, body := range []string{body, version,
				strings.Replace(body, `"params":{`, `"params":{"_meta":{"progressToken":"X"},`, 1),
				strings.Replace(body, `"id":7`, `"id":"X"`, 1),
			} {
				n := fmt.Sprintf(`"id":%d`, len(all))
				body = strings.Replace(strings.ReplaceAll(body, "X", text), `"id":7`, n, 1)
				all = append(all, body)
			}
		}
	}
	return all
}

// A server repeats a bounded part of each text of a client, wherever the text is: in its answer, in
// a line of its log and in an event of its audit.
func TestServerRepeatsLittleOfARequest(t *testing.T) {
	t.Parallel()
	var log, events, out longest
	s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: audit.JSONLines(&events)},
		Catalogs: runtime.CatalogOptions{Source: hiddenCatalogs{}},
		Logger:   slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			p := principalOf("Viewer")
			p.Subject = token // or one caller would send too much that is refused
			return identity.Identity{Principal: p}, nil
		})}, directory(&desk{}), vault(true))
	for _, era := range eras {
		hello := `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` +
			era + `","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}` + "\n"
		if era == "2026-07-28" {
			hello = ""
		}
		lines := hello + strings.Join(repeated(era), "\n") + "\n"
		if err := s.RunIO(t.Context(), strings.NewReader(lines), &out, principalOf("Viewer")); err != nil {
			t.Error(err)
		}
		out.within(t, "an answer on stdio "+era)
		log.within(t, "a line of the log of stdio "+era)
		events.within(t, "an event of stdio "+era)
	}
	c := newRaw(t, serve(t, s), "", "2026-07-28")
	for i, body := range repeated(c.era) {
		c.token = fmt.Sprint("token-", i)
		got := c.send(t, "POST", body, headersOf(t, body))
		fmt.Fprint(&out, got.body)
		fmt.Fprint(&out, got.header)
		out.within(t, fmt.Sprintf("an answer to %.200s", body))
		log.within(t, fmt.Sprintf("a line of the log about %.200s", body))
		events.within(t, fmt.Sprintf("an event about %.200s", body))
	}
}

// headersOf returns the headers that repeat the method and the name of a message in 2026-07-28.
func headersOf(t *testing.T, body string) map[string]string {
	t.Helper()
	var m struct {
		Method string
		Params struct{ Name, URI, TaskID string }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(m.Method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		m.Method = "another"
	}
	name := []byte(m.Params.Name + m.Params.URI + m.Params.TaskID)
	return map[string]string{"Mcp-Method": m.Method,
		"Mcp-Name": "=?base64?" + base64.StdEncoding.EncodeToString(name) + "?="}
}

// longest keeps the longest text that was written at once.
type longest struct {
	mu   sync.Mutex
	text []byte
}

func (l *longest) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > len(l.text) {
		l.text = slices.Clone(p)
	}
	return len(p), nil
}

// within fails for a text above 8 KiB or not in UTF-8, and forgets it.
func (l *longest) within(t *testing.T, what string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) > 8<<10 || !utf8.Valid(l.text) {
		t.Errorf("%s has %d bytes: %.200s", what, len(l.text), l.text)
	}
	l.text = nil
}

// hiddenCatalogs has one catalog, of managers alone. A tool is switched off.
type hiddenCatalogs struct{}

func (hiddenCatalogs) Catalog(_ context.Context, p access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	if found := slices.Contains(p.Roles, "Manager") && ref.Name == "hidden"; !found {
		return catalog.Found{}, catalog.ErrUnknown
	}
	return catalog.Found{ID: "1", Name: "hidden"}, nil
}

func (hiddenCatalogs) ToolsOff(context.Context) ([]string, error) { return []string{"look"}, nil }

func (hiddenCatalogs) Changes(ctx context.Context) <-chan catalog.Change {
	changes := make(chan catalog.Change)
	context.AfterFunc(ctx, func() { close(changes) })
	return changes
}
