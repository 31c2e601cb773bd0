package testrepo

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// NewProxy starts a module proxy that says "not found" of mcpgen, which is not published, and
// sends everything else to the proxy of this machine. Some proxies refuse to answer for what
// they do not have, and `go get` then gives up where it should look on.
func NewProxy(t testing.TB) (url string) {
	upstream, _, _ := strings.Cut(GoEnv(t, "GOPROXY"), ",")
	upstream, _, _ = strings.Cut(upstream, "|")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/"+Module) || !strings.HasPrefix(upstream, "http") {
			http.NotFound(w, r)
			return
		}
		http.Redirect(w, r, strings.TrimSuffix(upstream, "/")+r.URL.EscapedPath(), http.StatusFound)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
