package oidc_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
)

// prepare does steps before a token is sent.
func prepare(t *testing.T, p *provider, s *oidc.Source, steps string) {
	publish := func() { p.keys = append(p.keys, jwk("new", otherRSA())) }
	for step := range strings.FieldsSeq(steps) {
		switch step {
		case "known":
			verified(t, s, token())
			time.Sleep(100 * time.Millisecond)
		case "unknown":
			verified(t, s, other())
		case "minute":
			time.Sleep(time.Minute)
		case "publish":
			p.change(publish)
		case "down":
			p.change(func() { p.down = true })
		case "up":
			p.change(func() { p.down = false })
		case "slow":
			gate := make(chan struct{})
			p.change(func() { p.gate = gate })
			time.AfterFunc(3*time.Second, func() { close(gate) })
		case "busy": // the pause between two fetches is as long as it gets
			for start := time.Now(); time.Since(start) < 26*time.Second; {
				verified(t, s, signWith(otherRSA(), `{"alg":"RS256","kid":"x"}`, encode(claims())))
				time.Sleep(100 * time.Millisecond)
			}
		case "pause":
			time.Sleep(oidc.RefreshInterval)
		case "fetching": // the older keys
			old := encode(map[string]any{"keys": p.keys})
			p.answers["/keys"] = func(w http.ResponseWriter, _ *http.Request) {
				p.change(func() { delete(p.answers, "/keys") })
				time.Sleep(2 * time.Second)
				fmt.Fprint(w, old)
			}
			go verified(t, s, other())
			time.Sleep(time.Second)
		default:
			t.Fatal(step)
		}
	}
}

// A token is invalid for its key only if a fetch after it, or long after it was issued, brought no
// such key. Clients give up a token for which the response is 401.
func TestTokenIsInvalidForItsKeyOnlyAfterAFetch(t *testing.T) {
	withdrawn := func() string {
		return signWith(otherRSA(), `{"alg":"RS256","kid":"old"}`,
			encode(claims("iat", claims()["iat"].(int64)-3600)))
	}
	forged := func() string {
		return signWith(otherRSA(), `{"alg":"RS256","kid":"rsa"}`, encode(claims()))
	}
	held := func() string { return token() }
	for steps, test := range map[string]struct {
		token   func() string
		want    string
		seconds int // that the request takes, at most
	}{
		"down":                                 {held, "unavailable", 0},
		"slow":                                 {held, "holds", 3},
		"known minute publish slow":            {other, "holds", 3},
		"known minute publish down":            {other, "unavailable", 0},
		"known minute publish down unknown":    {other, "unavailable", 1},
		"known minute down unknown publish up": {other, "holds", 1},
		"known publish":                        {other, "holds", 1},
		"known busy publish":                   {other, "unavailable", 0},
		"known busy publish pause":             {other, "holds", 0},
		"known minute fetching publish":        {other, "holds", 2},
		"":                                     {other, "invalid", 0},
		"known minute":                         {other, "invalid", 0},
		"known busy":                           {withdrawn, "invalid", 0},
		"known busy down":                      {forged, "invalid", 0},
	} {
		t.Run(steps, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider()
				s := p.source(t)
				prepare(t, p, s, steps)
				start := time.Now()
				got := verified(t, s, test.token())
				if took := int(time.Since(start) / time.Second); got != test.want ||
					took > test.seconds {
					t.Errorf("%s after %d s; want %s after %d s", got, took, test.want, test.seconds)
				}
			})
		})
	}
}

// A stranger needs no key to send tokens with unknown keys. The requests that wait are few, and
// tokens with known keys wait for none of them.
func TestTokensWithUnknownKeysHoldFewRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		s := p.source(t)
		if got := verified(t, s, token()); got != "holds" {
			t.Fatal(got)
		}
		time.Sleep(time.Minute)
		p.change(func() { p.gate = make(chan struct{}) })
		unknown := other()
		var waiting atomic.Int32
		var all sync.WaitGroup
		for range 4 * oidc.MaxUnknown {
			all.Go(func() {
				waiting.Add(1)
				if got := verified(t, s, unknown); got != "unavailable" {
					t.Error(got)
				}
				waiting.Add(-1)
			})
		}
		synctest.Wait()
		if n := waiting.Load(); n != oidc.MaxUnknown {
			t.Errorf("%d requests wait, want %d", n, oidc.MaxUnknown)
		}
		start := time.Now()
		if got := verified(t, s, token()); got != "holds" || time.Since(start) > 0 {
			t.Errorf("a known key: %s after %s", got, time.Since(start))
		}
		all.Wait()
		if n := p.count("/keys"); n != 2 {
			t.Errorf("%d fetches", n)
		}
		p.change(func() { p.gate, p.keys = nil, append(p.keys, jwk("new", otherRSA())) })
		time.Sleep(time.Minute)
		if got := verified(t, s, unknown); got != "holds" {
			t.Errorf("afterwards: %s", got)
		}
	})
}
