package runtime_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// updating is the library whose resources have updates, but for the pages.
func updating() toolset.Toolset {
	g := library().Generated()
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		g.Resources[i].Subscribe = g.Resources[i].URI != "lib://pages/{n}"
	}
	return toolset.NewToolset(g)
}

func update(t testing.TB, s *runtime.Server, uri string) {
	t.Helper()
	if err := s.ResourceUpdated(t.Context(), uri); err != nil {
		t.Fatal(err)
	}
}

// rawListener is a raw subscriptions/listen request.
type rawListener struct {
	acknowledged []string
	updated      chan string
	close        context.CancelFunc
}

func listenTo(t testing.TB, url, token string, uris ...string) *rawListener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	text, err := json.Marshal(uris)
	if err != nil {
		t.Fatal(err)
	}
	c := &raw{url: url, token: token, era: "2026-07-28"}
	body := c.request("subscriptions/listen",
		`"notifications":{"resourceSubscriptions":`+string(text)+`}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	l := &rawListener{updated: make(chan string, 1000), close: cancel}
	acknowledged := make(chan []string, 1)
	go func() {
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			var m struct {
				Method string
				Params struct {
					URI           string
					Notifications mcp.NotificationSubscriptions
					Meta          map[string]any `json:"_meta"`
				}
			}
			if json.Unmarshal([]byte(data), &m) != nil {
				continue
			}
			switch m.Method {
			case "notifications/subscriptions/acknowledged":
				acknowledged <- m.Params.Notifications.ResourceSubscriptions
			case "notifications/resources/updated":
				l.updated <- fmt.Sprint(m.Params.URI, " ", m.Params.Meta[mcp.MetaKeySubscriptionID])
			}
		}
	}()
	select {
	case l.acknowledged = <-acknowledged:
	case <-time.After(20 * time.Second):
		t.Fatal("the request is not acknowledged")
	}
	return l
}

// relay is a ResourceUpdates between servers of one process.
type relay struct {
	mu        sync.Mutex
	followers []chan string
	following int
	fail      error
}

func (r *relay) PublishUpdate(_ context.Context, uri string) error {
	if r.fail == nil {
		for _, f := range r.followers {
			f <- uri
		}
	}
	return r.fail
}

func (r *relay) FollowUpdates(context.Context) <-chan string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.following++
	return r.followers[r.following-1]
}

func TestUpdatesReachTheClientsOfAllReplicas(t *testing.T) {
	relayed := &relay{followers: []chan string{make(chan string, 9), make(chan string, 9)}}
	options := runtime.Options{Protocol: runtime.ProtocolOptions{ResourceUpdates: relayed}}
	one := newServer(t, options, updating())
	other := newServer(t, options, updating())
	waitFor(t, func() bool {
		relayed.mu.Lock()
		defer relayed.mu.Unlock()
		return relayed.following == 2
	})
	near := listenTo(t, serve(t, one), tokens["Member"], "lib://books/1", "lib://hall")
	far := listenTo(t, serve(t, other), tokens["Member"], "lib://books/1", "lib://hall")
	update(t, one, "lib://books/1")
	for _, l := range []*rawListener{near, far} {
		if got := <-l.updated; got != "lib://books/1 7" {
			t.Errorf("%s", got)
		}
	}
	relayed.followers[0] <- "" // whatever has changed
	relayed.followers[1] <- ""
	for _, l := range []*rawListener{near, far} {
		got := []string{<-l.updated, <-l.updated}
		if slices.Sort(got); !slices.Equal(got, []string{"lib://books/1 7", "lib://hall 7"}) {
			t.Errorf("%q", got)
		}
	}
	relayed.fail = errors.New("down")
	if err := one.ResourceUpdated(t.Context(), "lib://hall"); err == nil ||
		!errors.Is(err, relayed.fail) {
		t.Error(err)
	}
	if got := <-near.updated; got != "lib://hall 7" {
		t.Error(got)
	}
	for _, uri := range []string{"", "lib://pages/1", "lib://unknown", "bil://books/1"} {
		if err := one.ResourceUpdated(t.Context(), uri); err == nil {
			t.Errorf("%q has an update", uri)
		}
	}
	if err := newServer(t, runtime.Options{}, library()).ResourceUpdated(t.Context(),
		"lib://hall"); err == nil {
		t.Error("a server without subscriptions has an update")
	}
}

func waitFor(t testing.TB, holds func() bool) {
	t.Helper()
	soon(t, "it holds", holds)
}
