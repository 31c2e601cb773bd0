package runtime_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

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
