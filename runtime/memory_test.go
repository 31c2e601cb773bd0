package runtime_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/memnet"
	"github.com/mcpgen/mcpgen/runtime"
)

// Clients of the tests reach the servers of [serve], which have no sockets.
func init() { http.DefaultTransport = memnet.Transport{Other: http.DefaultTransport} }

// serve serves until the test ends, and returns the endpoint. It also works in a bubble.
func serve(t testing.TB, s *runtime.Server) string {
	t.Helper()
	url := memnet.Start(t, &http.Server{Handler: s.Handler()})
	shutDown(t, s)
	return url + s.Path()
}

// shutDown shuts a server down when the test ends. A bubble needs this for its goroutines to end.
func shutDown(t testing.TB, s *runtime.Server) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutting the server down: %v", err)
		}
	})
}
