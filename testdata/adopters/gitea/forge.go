// Package gitea serves the API of a Gitea forge as tools, by the forge's Go client. Each call is
// made with the Gitea token of the caller.
//
//mcp:server name=gitea title="Gitea"
//mcp:default output=none
package gitea

//go:generate go tool mcpgen

import (
	"context"
	"errors"

	"code.gitea.io/sdk/gitea"

	"github.com/mcpgen/mcpgen/runtime"
)

// Token is a Gitea access token, which the identity source gives to the handlers of a caller.
type Token string

// Forge is a Gitea server.
type Forge struct {
	URL     string
	Version string // of the server; the client asks for it if it is empty
}

// client returns the client of a call.
func (f *Forge) client(ctx context.Context) (*gitea.Client, error) {
	token, ok := runtime.CallerValue[Token](ctx)
	if !ok {
		return nil, errors.New("this caller has no Gitea token")
	}
	options := []gitea.ClientOption{gitea.SetContext(ctx), gitea.SetToken(string(token))}
	if f.Version != "" {
		options = append(options, gitea.SetGiteaVersion(f.Version))
	}
	return gitea.NewClient(f.URL, options...)
}

// get calls the API and returns its result alone.
func get[T any](ctx context.Context, f *Forge,
	call func(*gitea.Client) (T, *gitea.Response, error)) (result T, err error) {
	client, err := f.client(ctx)
	if err != nil {
		return result, err
	}
	result, _, err = call(client)
	return result, err
}

// do calls an API without a result.
func do(ctx context.Context, f *Forge, call func(*gitea.Client) (*gitea.Response, error)) error {
	client, err := f.client(ctx)
	if err != nil {
		return err
	}
	_, err = call(client)
	return err
}
