package runtime_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/observe"
)

// refusedPair is a request whose subject is hidden from a viewer, and the same one with a name of
// the same length that does not exist.
type refusedPair struct {
	method, params, hidden, unknown string
	tool                            string // for which they are values; empty for none
}

var refusedPairs = map[string]refusedPair{
	"tool":     {"tools/call", `"name":"NAME","arguments":{"at":1}`, "hlook", "zlook", ""},
	"prompt":   {"prompts/get", `"name":"NAME","arguments":{"to":"x"}`, "hmeet", "zmeet", ""},
	"resource": {"resources/read", `"uri":"NAME"`, "ui://vault/happ", "ui://vault/zapp", ""},
	"template": {"resources/read", `"uri":"NAME"`, "hmeet://a/b", "zmeet://a/b", ""},
	"completion of a prompt": {"completion/complete",
		`"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"from","value":"a"}`,
		"hmeet", "zmeet", ""},
	"completion of a template": {"completion/complete",
		`"ref":{"type":"ref/resource","uri":"NAME"},"argument":{"name":"from","value":"a"}`,
		"hmeet://{from}/{to}", "zmeet://{from}/{to}", ""},
	"list of a catalog": {"tools/list", `"catalog":"NAME"`, "hidden", "absent", ""},
}

// hiddenCatalogs has one catalog, of managers alone. A tool is switched off.
type hiddenCatalogs struct{}

func (hiddenCatalogs) Catalog(_ context.Context, p access.Principal,
	ref catalog.Ref) (catalog.Found, error) {
	if found := p.Role == "Manager" && ref.Name == "hidden"; !found {
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

// seen is an observer that keeps nothing.
type seen struct{}

func (seen) Began(ctx context.Context, _ observe.Message) (context.Context, observe.Observation) {
	return ctx, seen{}
}
func (seen) TurnedAway(context.Context, int) {}
func (seen) Cached(string, bool)             {}
func (seen) Trace() (traceID, spanID string) { return "", "" }
func (seen) Ended(observe.Outcome)           {}

// A server allocates equally often for a hidden name and for an unknown one, whatever its options.
func TestHiddenAndUnknownAllocateAlike(t *testing.T) {
	skipWithoutPools(t)
	bare := func(_ context.Context, token string) (identity.Identity, error) {
		p := principalOf("Viewer")
		if token == tokens["Manager"] {
			p = principalOf("Manager")
			p.Scopes = []string{"vault:open"}
		}
		return identity.Identity{Principal: p}, nil
	}
	valued := identity.Bearer(bare, identity.KeepToken())
	options := map[string]func(*runtime.Options){
		"plain":     func(*runtime.Options) {},
		"value":     func(o *runtime.Options) { o.Identity = valued },
		"audit":     func(o *runtime.Options) { o.Audit = audit.JSONLines(io.Discard) },
		"no log":    func(o *runtime.Options) { o.Logger = slog.New(slog.DiscardHandler) },
		"challenge": func(o *runtime.Options) { o.Denial = access.Challenge },
		"observer":  func(o *runtime.Options) { o.Observer = seen{} },
		"masker": func(o *runtime.Options) {
			o.Masker.Values = []*regexp.Regexp{regexp.MustCompile(`acme-\d+`)}
		},
		"all": func(o *runtime.Options) {
			o.Identity, o.Audit, o.Observer = valued, audit.JSONLines(io.Discard), seen{}
			o.Catalogs, o.Denial = hiddenCatalogs{}, access.Challenge
		},
	}
	for name, set := range options {
		o := runtime.Options{Identity: identity.Bearer(bare)}
		set(&o)
		t.Run(name, func(t *testing.T) {
			s := newServer(t, o, vault(true))
			for kind, pair := range refusedPairs {
				equalAllocations(t, kind, s, pair)
			}
			equalAllocations(t, "task", s, foreignTask(t, s))
			if o.Catalogs != nil {
				equalAllocations(t, "tool that is off", s, refusedPair{"tools/call", `"name":"NAME"`,
					"look", "zook", ""})
			}
			equalAllocations(t, "value", newServer(t, o, crew()), refusedPair{"tools/call",
				`"name":"manage","arguments":{"action":"NAME","note":"x"}`, "delete", "deletx", "manage"})
			adopted := adoptedWith(t, o)
			equalAllocations(t, "adopted tool", adopted, refusedPair{"tools/call",
				`"name":"NAME","arguments":{"region":"eu"}`, "promote", "promotx", ""})
		})
	}
}

// While the permissions of a host cannot be read, what needs one is like what does not exist.
func TestHiddenAndUnknownAllocateAlikeWithoutTheHost(t *testing.T) {
	skipWithoutPools(t)
	h := newHost(map[string]capability.Set{"vera": {}})
	o := hostOptions(h, quiet())
	o.Identity = identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Issuer: "test", Subject: "vera",
			User: "vera", Role: "Viewer"}}, nil
	}, identity.NamesUsers())
	s := newServer(t, o, visitsOfHost())
	for _, fail := range []error{nil, errors.New("the host is down")} {
		h.failing(func(context.Context) error { return fail })
		for kind, pair := range map[string]refusedPair{
			"tool":     {"tools/call", `"name":"NAME"`, "meet", "zeet", ""},
			"prompt":   {"prompts/get", `"name":"NAME"`, "meet", "zeet", ""},
			"template": {"resources/read", `"uri":"NAME"`, "meet://a", "zeet://a", ""},
		} {
			equalAllocations(t, fmt.Sprintf("%s, host error %v", kind, fail), s, pair)
		}
	}
}

// skipWithoutPools skips a test of allocations under the race detector, where a pool drops each
// fourth item.
func skipWithoutPools(t *testing.T) {
	t.Helper()
	var pool sync.Pool
	for range 100 {
		if pool.Put(t); pool.Get() == nil {
			t.Skip("pools drop items")
		}
	}
}

// foreignTask returns the ids of a manager's task, and of none.
func foreignTask(t *testing.T, s *runtime.Server) refusedPair {
	t.Helper()
	created := sending(s, refusedPair{method: "tools/call", params: `"name":"NAME"`}, "honly",
		"Manager")().Body.String()
	_, id, _ := strings.Cut(created, `"taskId":"`)
	id, _, ok := strings.Cut(id, `"`)
	if !ok {
		t.Fatalf("no task was created: %s", created)
	}
	return refusedPair{"tasks/get", `"taskId":"NAME"`, id, strings.Repeat("a", len(id)), ""}
}

// equalAllocations compares the least allocations of a number of requests: the garbage collector
// empties pools, which adds some.
func equalAllocations(t *testing.T, kind string, s *runtime.Server, p refusedPair) {
	t.Helper()
	hidden, unknown := refusal(t, s, p, p.hidden), refusal(t, s, p, p.unknown)
	least := [2]float64{math.MaxFloat64, math.MaxFloat64}
	for range 100 {
		least[0] = min(least[0], testing.AllocsPerRun(1, hidden))
		least[1] = min(least[1], testing.AllocsPerRun(1, unknown))
		if least[0] == least[1] {
			return
		}
	}
	t.Errorf("%s: %v allocations for hidden, %v for unknown", kind, least[0], least[1])
}

// refusal returns what sends a request of 2026-07-28 with a name.
func refusal(t *testing.T, s *runtime.Server, p refusedPair, name string) func() {
	t.Helper()
	send := sending(s, p, name, "Viewer")
	if w := send(); !bytes.Contains(w.Body.Bytes(), []byte(`rror`)) && p.method != "tools/list" {
		t.Fatalf("%s of %s is not refused: %s", p.method, name, w.Body)
	}
	return func() { _ = send() }
}

// sending returns what sends a request of a user with a name.
func sending(s *runtime.Server, p refusedPair, name, user string) func() *httptest.ResponseRecorder {
	handler, body := s.Handler(), `{"jsonrpc":"2.0","id":1,"method":"`+p.method+`","params":{`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},`+
		`"elicitation":{}}},`+
		strings.ReplaceAll(p.params, "NAME", name)+`}}`
	header := http.Header{"Content-Type": {"application/json"},
		"Accept":        {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + tokens[user]}, "Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method": {p.method}}
	if !strings.HasPrefix(p.method, "completion") && !strings.HasSuffix(p.method, "list") {
		header.Set("Mcp-Name", cmp.Or(p.tool, name))
	}
	return func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		r.Host, r.Header = "127.0.0.1", header.Clone()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
}
