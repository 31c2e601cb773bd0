package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// journal is a log that tests can read while it is written.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// logger writes everything to the journal.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestStreamEndsWithItsToken(t *testing.T) {
	const life = 300 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, runtime.Options{Identity: lasting(life)}, directory(&desk{}))
		url, client := serve(t, s), mcptest.HTTPClient("abc")
		c := &raw{url: url, era: "2025-11-25", client: *client}
		c.session = c.send(t, "POST", handshake, nil).header.Get("Mcp-Session-Id")
		start := time.Now()
		// send reads to the end of the stream.
		if got := c.send(t, "GET", "", nil); got.status != http.StatusOK ||
			time.Since(start) != life {
			t.Errorf("after %s: %s", time.Since(start), got)
		}
	})
}

// lasting gives each message a credential that lasts for some time.
func lasting(life time.Duration) identity.Source {
	return identity.Bearer(func(context.Context, string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: "ada", Roles: []string{"Admin"}},
			Expires: time.Now().Add(life)}, nil
	})
}

func TestHandlersNeverSeeTheToken(t *testing.T) {
	for _, header := range []string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"} {
		for _, era := range eras {
			seen := make(chan string, 1)
			s := newServer(t, runtime.Options{},
				oneTool("look",
					func(ctx context.Context, call toolset.Call) (toolset.Result, error) {
						p, ok := runtime.Caller(ctx)
						text := fmt.Sprintf("%v %+v %+v", ok, p.Subject,
							toolset.Request[mcp.CallToolRequest](call).Extra.Header)
						if toolset.Request[mcp.CallToolRequest](call).Extra.TokenInfo != nil {
							text += fmt.Sprintf("TokenInfo %+v",
								toolset.Request[mcp.CallToolRequest](call).Extra.TokenInfo)
						}
						if info := auth.TokenInfoFromContext(ctx); info != nil {
							text += fmt.Sprintf("TokenInfo %+v", info)
						}
						seen <- text
						return toolset.Done(nil)
					}))
			c := newRaw(t, serve(t, s), tokens["Admin"], era)
			further := map[string]string{}
			if header != "Authorization" {
				further[header] = "session=" + tokens["Admin"]
			}
			if got := c.call(t, "look", "", further); !strings.Contains(got.body, `"content"`) {
				t.Fatalf("%s", got)
			}
			got := <-seen
			if strings.Contains(got, tokens["Admin"]) || strings.Contains(got, "TokenInfo") ||
				strings.Contains(got, "Bearer") {
				t.Errorf("%s in %s: a handler saw %s", header, era, got)
			}
			if !strings.HasPrefix(got, "true user-Admin") ||
				!strings.Contains(got, "Content-Type") {
				t.Errorf("a handler does not see its caller or its headers: %s", got)
			}
		}
	}
}

// What a host, a source and a caller say may hold a secret. None of it is written down.
func TestSecretsOfHostsAndSourcesAreMasked(t *testing.T) {
	const secret = "hunter2hunter2"
	fault := fmt.Errorf("dial postgres://mcp:%s@db.example/netbox: refused", secret)
	jwt := "eyJhbGciOiJIUzI1NiJ9." + strings.Repeat("c2VjcmV0", 30) + ".c2lnbmF0dXJl"
	var log, records journal
	options := runtime.Options{
		Logger: log.logger(), Audit: runtime.AuditOptions{Sink: audit.JSONLines(&records)},
		Identity: identity.Bearer(func(_ context.Context, token string) (identity.Identity, error) {
			if token == "bad" {
				return identity.Identity{}, fault
			}
			return identity.Identity{Principal: access.Principal{Subject: "ada", User: "ada"}}, nil
		}, identity.NamesUsers()),
	}
	h := newHost(nil)
	h.set("ada", "dcim.view_device")
	s := aware(t, h, options)
	h.failing(func(context.Context) error { return fault })
	url := serve(t, s)
	(&raw{url: url, token: "bad"}).send(t, "POST", ping, nil)
	c := newRaw(t, url, "good", "2026-07-28")
	c.call(t, "device_get", "", nil)
	c.call(t, jwt, "", nil)
	c.ask(t, "prompts/get", `"name":"`+jwt+`"`, nameOf("2026-07-28", jwt))
	c.ask(t, "completion/complete", `"ref":{"type":"ref/resource","uri":"x://`+jwt+
		`"},"argument":{"name":"a","value":""}`, nil)
	h.failing(func(context.Context) error { panic(fault) })
	ctx := context.Background()
	said := map[string]string{
		"explanation": s.Explain(ctx, access.Principal{Subject: "ada", User: "ada"},
			"device_get").String(),
		"doctor": s.Doctor(ctx, access.Principal{Subject: "ada", User: "ada"}).String(),
		"log":    log.String(), "audit": records.String(),
	}
	options.Host.Source, options.Logger = oddHost{fakeHost: h,
		actions: func(context.Context) ([]string, error) {
			return nil, fault
		}}, quiet()
	_, err := runtime.New(options, stock())
	said["start"] = fmt.Sprint(err)
	for where, text := range said {
		if strings.Contains(text, secret) || strings.Contains(text, "c2VjcmV0c2VjcmV0") ||
			!strings.Contains(text, redact.Mask) {
			t.Errorf("%s: %s", where, text)
		}
	}
	for _, want := range []string{"the host's permissions could not be read",
		"the identity source failed"} {
		if !strings.Contains(said["log"], want) {
			t.Errorf("the log does not say %q:\n%s", want, said["log"])
		}
	}
}

func TestIsAdmin(t *testing.T) {
	highest := runtime.Administer(newServer(t, runtime.Options{}, directory(&desk{})))
	chosen := runtime.Administer(newServer(t, runtime.Options{
		Access: runtime.AccessOptions{AdminRole: "Manager"}}, directory(&desk{})))
	for _, test := range []struct {
		p               access.Principal
		highest, chosen bool
	}{
		{access.Principal{Subject: "a", Roles: []string{"Admin"}}, true, true},
		{access.Principal{Subject: "a", Roles: []string{"Manager"}}, false, true},
		{access.Principal{Subject: "a", Roles: []string{"Member"}}, false, false},
		{access.Principal{Subject: "a", Roles: []string{"Root"}}, false, false},
		{access.Principal{Subject: "a"}, false, false},
		{access.Principal{Roles: []string{"Admin"}}, false, false},
		{access.Principal{}, false, false},
	} {
		if highest.IsAdmin(test.p) != test.highest || chosen.IsAdmin(test.p) != test.chosen {
			t.Errorf("%+v: %v, %v", test.p, highest.IsAdmin(test.p), chosen.IsAdmin(test.p))
		}
	}
}

// The answer to an unknown user is that to a wrong token, refused or not.
func TestUnknownUserIsByteForByteAWrongToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		verify := func(_ context.Context, token string) (identity.Identity, error) {
			switch token {
			case "unknown":
				return identity.Identity{}, fmt.Errorf("%w: no user of that name",
					identity.ErrInvalidToken)
			case "expired":
				return identity.Identity{Principal: access.Principal{Subject: "ada"},
					Expires: time.Now().Add(-time.Hour)}, nil
			}
			return identity.Identity{}, identity.ErrInvalidToken
		}
		s := newServer(t, runtime.Options{Identity: identity.Bearer(verify)}, directory(&desk{}))
		c := &raw{url: serve(t, s)}
		statuses := map[int]bool{}
		for n := 0; !statuses[429] && n < 1000; n++ {
			byStatus := map[int]string{} // the answers may be those of before and after a limit
			for _, authorization := range []string{"Bearer unknown", "Bearer expired", "Bearer wrong",
				"Bearer \x80", "Basic YTpi", "Bearer"} {
				got := c.send(t, "POST", ping, map[string]string{"Authorization": authorization})
				got.header.Del("Retry-After")
				if before, ok := byStatus[got.status]; ok && before != got.String() {
					t.Errorf("%q:\n%s\nand before\n%s", authorization, got, before)
				}
				byStatus[got.status] = got.String()
				statuses[got.status] = true
			}
		}
		if len(statuses) != 2 || !statuses[401] || !statuses[429] {
			t.Errorf("statuses %v", statuses)
		}
	})
}
