package systemtest

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/store"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// board is a toolset with one resource for each role.
func board() toolset.Toolset {
	read := func(context.Context, toolset.Call) (toolset.ResourceResult, error) {
		return toolset.ResourceText("", nil)
	}
	return toolset.NewToolset(toolset.Generated{
		Package: "example.com/board", Server: toolset.ServerInfo{Name: "board", Version: "1"},
		Table: access.Table{Roles: access.DefaultRoles(), Resources: []access.Rule{
			{Resource: "board://admins", MinRole: []string{"Admin"}}, {Resource: "board://all",
				Authenticated: true}}},
		Resources: []toolset.Resource{
			{URI: "board://admins", Name: "admins", Read: read, Subscribe: true},
			{URI: "board://all", Name: "all", Read: read, Subscribe: true}},
	})
}

var _ runtime.ResourceUpdates = (*store.Store)(nil)

// An update that one replica reports reaches the clients of the other, each by its own rights.
func TestUpdatesReachTheClientsOfAnotherReplica(t *testing.T) {
	for name, database := range testdb.Stores {
		t.Run(name, func(t *testing.T) { updatesReachAnotherReplica(t, database(t)) })
	}
}

func updatesReachAnotherReplica(t *testing.T, url string) {
	replica := func() (*runtime.Server, string) {
		shared, err := store.Open(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = shared.Close() })
		s, err := runtime.New(runtime.Options{
			Protocol: runtime.ProtocolOptions{ResourceUpdates: shared},
			Logger:   slog.New(slog.DiscardHandler),
			Identity: identity.Bearer(func(_ context.Context, role string) (identity.Identity, error) {
				return identity.Identity{Principal: access.Principal{Subject: role, Roles: []string{role}}}, nil
			})}, board())
		if err != nil {
			t.Fatal(err)
		}
		return s, mcptest.Serve(t, s)
	}
	one, near := replica()
	_, far := replica()
	clients, streams := map[string]chan string{}, make(chan struct{}, 3)
	for name, at := range map[string][2]string{"near": {near, "Admin"}, "far": {far, "Admin"},
		"viewer": {far, "Viewer"}} {
		updated := make(chan string, 1000)
		clients[name] = updated
		client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
				updated <- r.Params.URI
			}})
		web := mcptest.HTTPClient(at[1])
		web.Transport = opening{web.Transport, streams}
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at[0],
			HTTPClient: web},
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		for _, uri := range []string{"board://all", "board://admins"} {
			err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri})
			if (err == nil) != (uri == "board://all" || name != "viewer") {
				t.Errorf("%s, %s: %v", name, uri, err)
			}
		}
	}
	publish := func(uri string) {
		if err := one.ResourceUpdated(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
	}
	for range clients { // their streams open some time after the sessions
		<-streams
	}
	publish("board://admins")
	publish("board://all")
	for name, updated := range clients {
		want := []string{"board://admins", "board://all"}
		if name == "viewer" {
			want = want[1:]
		}
		var got []string
		for range want { // in no order: a replica that begins to follow reports all resources
			got = append(got, <-updated)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: updates of %q, want %q", name, got, want)
		}
	}
}

// opening notes each stream that a client has opened with GET: the server has it then.
type opening struct {
	http.RoundTripper
	streams chan<- struct{}
}

func (o opening) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && res.StatusCode == http.StatusOK {
		o.streams <- struct{}{}
	}
	return res, err
}
