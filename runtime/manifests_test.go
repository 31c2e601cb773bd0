package runtime_test

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

func TestManifestsAreThoseOfTheToolsets(t *testing.T) {
	t.Parallel()
	o := runtime.Options{Identity: users(), Logger: slog.New(slog.DiscardHandler)}
	want := []runtime.Manifest{{Package: "example.com/team", Digest: "sha256:1"},
		{Package: "example.com/library"}}
	made, err := runtime.New(o, directory(&desk{}).ReadOnly(), library())
	if err != nil {
		t.Fatal(err)
	}
	server := runtime.Administer(made)
	got := server.Manifests()
	if !slices.Equal(got, want) || server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
	got[0].Digest = "sha256:2"
	if !slices.Equal(server.Manifests(), want) {
		t.Error("a change of the list changes the server")
	}
	g := directory(&desk{}).Generated()
	for i := range g.Table.Rules {
		g.Table.Rules[i].Denial = access.Forbid
	}
	if made, err = runtime.New(o, toolset.NewToolset(g)); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); len(got) != 1 || got[0].Digest != "" {
		t.Errorf("changed rules have the digest of the reviewed ones: %v", got)
	}
	own := func() *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	}
	if made, err = runtime.Adopt(own(), o, nil); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); len(got) > 0 || !server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
	if made, err = runtime.Adopt(own(), o, nil, directory(&desk{})); err != nil {
		t.Fatal(err)
	}
	server = runtime.Administer(made)
	if got := server.Manifests(); !slices.Equal(got, want[:1]) || !server.Adopted() {
		t.Errorf("%v, adopted %t", got, server.Adopted())
	}
}
