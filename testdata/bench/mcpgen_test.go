package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

var member = access.Principal{Issuer: "bench", Subject: "mel", Role: "Member"}

func options() runtime.Options {
	return runtime.Options{
		Identity: identity.Static(map[string]access.Principal{identity.HashToken(token): member}),
		Logger:   slog.New(slog.DiscardHandler),
	}
}

func mcpgenPeer(tools func() toolset.Toolset) peer {
	return peer{
		name: "mcpgen",
		serve: func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			server, err := runtime.New(options(), tools())
			if err != nil {
				return err
			}
			defer server.Shutdown(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is under way
			return server.RunIO(ctx, in, out, member)
		},
		web: func(t testing.TB, _ string) http.Handler {
			server, err := runtime.New(options(), tools())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = server.Shutdown(context.Background()) })
			return server.Handler()
		},
	}
}

var errRefused = errors.New("refused")
