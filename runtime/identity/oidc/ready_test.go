package oidc_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/identity/oidc"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// readyz returns a func that requests the readiness of a server with this source.
func readyz(t *testing.T, s *oidc.Source) func() int {
	t.Helper()
	server, err := runtime.New(runtime.Options{Identity: s, Logger: slog.New(slog.DiscardHandler)},
		toolset.NewToolset(toolset.Generated{
			Package: "example.com/none", Server: toolset.ServerInfo{Name: "none", Version: "1"}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
	handler := server.Handler()
	return func() int {
		time.Sleep(2 * time.Second) // the last answer is kept for one
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, runtime.PathReadyz, nil))
		return rec.Code
	}
}

func TestServerIsReadyWhileItHasKeys(t *testing.T) {
	for name, fault := range map[string]func(*provider){
		"refuses": func(p *provider) { p.down = true },
		"hangs":   func(p *provider) { p.gate = make(chan struct{}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProvider()
				p.change(func() { fault(p) })
				ready := readyz(t, p.source(t))
				expect := func(want int) {
					t.Helper()
					if got := ready(); got != want {
						t.Errorf("%d, want %d", got, want)
					}
				}
				expect(503) // there are no keys yet
				p.change(func() { p.down, p.gate = false, nil })
				time.Sleep(time.Minute)
				expect(200)
				p.change(func() { fault(p) })
				time.Sleep(oidc.DefaultKeyPeriod)
				expect(200)
				time.Sleep(oidc.DefaultStalePeriod - time.Minute)
				expect(200)
				time.Sleep(time.Minute)
				expect(503)
				p.change(func() { p.down, p.gate = false, nil })
				time.Sleep(time.Minute)
				expect(200)
			})
		})
	}
}

// TestServerIsReadyWithTheKeysOfOneIssuer has another one without keys, and one that introspects.
func TestServerIsReadyWithTheKeysOfOneIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProvider()
		p.answers["/others"] = http.NotFound
		away := oidc.Issuer{URL: "https://second.example", KeysURL: "https://second.example/others"}
		ready := readyz(t, p.source(t, func(o *oidc.Options) {
			o.Issuers = append(o.Issuers, away)
		}))
		if got := ready(); got != 200 {
			t.Errorf("%d with the keys of one issuer", got)
		}
		ready = readyz(t, p.source(t, func(o *oidc.Options) { o.Issuers[0] = away }))
		if got := ready(); got != 503 {
			t.Errorf("%d without keys", got)
		}
		away.Introspection = &oidc.Introspection{
			URL: issuerURL + "/introspect", ClientID: "mcp", ClientSecret: "x"}
		ready = readyz(t, p.source(t, func(o *oidc.Options) { o.Issuers[0] = away }))
		if got := ready(); got != 200 {
			t.Errorf("%d with introspection", got)
		}
	})
}
