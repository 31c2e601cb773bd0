package runtime_test

import (
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

func TestListsAreKeptAsLongAsTheOptionAllows(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]int{0: 0, 1500 * time.Millisecond: 1500} {
		s := newServer(t, runtime.Options{
			Lists: runtime.ListOptions{TTL: ttl}}, directory(&desk{}), library())
		session := connectHTTP(t, serve(t, s), tokens["Admin"], "2026-07-28")
		tools, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		prompts, err := session.ListPrompts(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		resources, err := session.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		templates, err := session.ListResourceTemplates(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []mcp.CacheableResult{tools, prompts, resources, templates} {
			if list.GetTTLMs() != want || list.GetCacheScope() != "private" {
				t.Errorf("%T: ttlMs %d, %s, want %d", list, list.GetTTLMs(), list.GetCacheScope(),
					want)
			}
		}
	}
	for _, ttl := range []time.Duration{-1, 25 * time.Hour} {
		_, err := runtime.New(runtime.Options{
			Lists: runtime.ListOptions{TTL: ttl}}, directory(&desk{}))
		if err == nil || !strings.Contains(err.Error(), "Options.Lists.TTL is") {
			t.Errorf("%v: %v", ttl, err)
		}
	}
}
