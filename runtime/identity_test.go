package runtime_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
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
		return identity.Identity{Principal: access.Principal{Subject: "ada", Role: "Admin"},
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
	options.Host.Source, options.Logger = oddHost{fakeHost: h, actions: func(context.Context) ([]string, error) {
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
	highest := newServer(t, runtime.Options{}, directory(&desk{}))
	chosen := newServer(t, runtime.Options{
		Access: runtime.AccessOptions{AdminRole: "Manager"}}, directory(&desk{}))
	for _, test := range []struct {
		p               access.Principal
		highest, chosen bool
	}{
		{access.Principal{Subject: "a", Role: "Admin"}, true, true},
		{access.Principal{Subject: "a", Role: "Manager"}, false, true},
		{access.Principal{Subject: "a", Role: "Member"}, false, false},
		{access.Principal{Subject: "a", Role: "Root"}, false, false},
		{access.Principal{Subject: "a"}, false, false},
		{access.Principal{Role: "Admin"}, false, false},
		{access.Principal{}, false, false},
	} {
		if highest.IsAdmin(test.p) != test.highest || chosen.IsAdmin(test.p) != test.chosen {
			t.Errorf("%+v: %v, %v", test.p, highest.IsAdmin(test.p), chosen.IsAdmin(test.p))
		}
	}
}

// failUntilRefused sends a wrong token until its address is refused, and counts the failures.
func failUntilRefused(t *testing.T, c *raw, method string,
	further map[string]string) (failures int) {
	t.Helper()
	const challenge = `Bearer realm="team", error="invalid_token"`
	wrong := map[string]string{"Authorization": "Bearer wrong-token-value"}
	for name, value := range further {
		wrong[name] = value
	}
	for failures < 1000 {
		got := c.send(t, method, ping, wrong)
		failures++
		wait := got.header.Get("Retry-After")
		switch {
		case got.header.Get("Www-Authenticate") != challenge:
			t.Fatalf("%s: %s", method, got)
		case got.status == http.StatusTooManyRequests && wait > "0":
			return failures
		case got.status != http.StatusUnauthorized || wait != "":
			t.Fatalf("%s: %s", method, got)
		}
	}
	t.Fatalf("%s: %d failures, and no 429", method, failures)
	return 0
}

// failures returns how many failures the events of an address count.
func failures(events []audit.Event, address string) (count int) {
	for _, e := range events {
		if e.Type == audit.Authentication && e.Object == address {
			count += e.Total
		}
	}
	return count
}

// With each method and version.
func TestAddressThatFailsTooOftenIsRefusedAndAValidCredentialIsNot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log journal
		records := &keeper{}
		s := newServer(t, runtime.Options{Audit: runtime.AuditOptions{Sink: records},
			Logger: log.logger()},
			directory(&desk{}))
		url, began, sent, without := serve(t, s), time.Now(), 0, 0
		for _, era := range eras {
			c := newRaw(t, url, tokens["Admin"], era)
			for _, method := range []string{"POST", "GET", "DELETE"} {
				sent += failUntilRefused(t, c, method, nil)
				if got := c.ask(t, "tools/list", "", nil); got.status != http.StatusOK {
					t.Errorf("%s %s: a valid token: %s", era, method, got)
				}
				got := c.send(t, method, ping, map[string]string{"Authorization": ""})
				without++
				if got.status != http.StatusUnauthorized ||
					got.header.Get("Retry-After") != "" ||
					got.header.Get("Www-Authenticate") != `Bearer realm="team"` {
					t.Errorf("%s %s: no token: %s", era, method, got)
				}
			}
		}
		if sent < 20 {
			t.Errorf("refused after %d failures", sent)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		events := records.taken()
		if got := failures(events, "127.0.0.1"); got != sent {
			t.Errorf("the events count %d failures, not %d", got, sent)
		}
		reports := 0
		for _, e := range events {
			if e.Type == audit.Authentication {
				reports++
				text := fmt.Sprintf("%+v", e)
				if e.Failure != audit.Denied || e.RequestID == "" || e.Time.IsZero() ||
					strings.Contains(text, "wrong") || e.Arguments != nil || e.Principal != "" {
					t.Errorf("%s", text)
				}
			}
		}
		// The first, one a minute, and the rest at the end.
		most := 2 + int(time.Since(began)/time.Minute)
		lines := strings.Count(log.String(), " failures=")
		if reports > most || lines != reports {
			t.Errorf("%d events and %d lines, at most %d", reports, lines, most)
		}
		logged := 0
		for _, n := range regexp.MustCompile(` requests=(\d+) `).FindAllStringSubmatch(
			log.String(), -1) {
			number, _ := strconv.Atoi(n[1]) // the pattern has digits only
			logged += number
		}
		if logged != without {
			t.Errorf("the log counts %d requests without a token, not %d", logged, without)
		}
		if strings.Contains(log.String(), "wrong-token-value") {
			t.Errorf("the log holds the token: %s", log.String())
		}
	})
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
