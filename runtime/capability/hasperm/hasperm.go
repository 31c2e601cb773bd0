// Package hasperm reads the permissions of a Django host that decides in Python: its has_perm, with
// all backends and user models of its own. The host serves the view of mcp_permissions.py, a file
// of this package, which tests each permission that your tools name. The docstring of the file has
// the steps.
package hasperm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/internal/hostuser"
)

// Options are the host.
type Options struct {
	// URL is the view, as in "https://netops.example/mcp/permissions". Required. Its scheme is https,
	// or http on a loopback address: the token is in each request.
	URL string
	// Token is the host's MCP_TOKEN, of at least 32 bytes. Required.
	Token string
	// Client sends the requests, and follows no redirect. Nil is [http.DefaultClient].
	Client *http.Client
}

// Source is a [capability.Source] and a [capability.Enumerator]. Each of its methods sends one
// request to the host, and it keeps nothing. It is safe for concurrent use.
//
// The user of a principal is [access.Principal.User]. An inactive user is none.
type Source struct {
	view   url.URL
	token  string
	client http.Client
}

var (
	_ capability.Source     = (*Source)(nil)
	_ capability.Enumerator = (*Source)(nil)
)

// New returns a source. It does not connect.
func New(o Options) (*Source, error) {
	view, err := url.Parse(o.URL)
	if err != nil || view.Host == "" ||
		view.Scheme != "https" && (view.Scheme != "http" || !loopback(view.Hostname())) ||
		view.User != nil || view.RawQuery != "" || view.Fragment != "" {
		return nil, errors.New("hasperm: Options.URL is not the URL of the view: write a URL of " +
			"https, or of http on a loopback address, without a user, a query and a fragment")
	}
	const shortest = 32 // as the view has it
	if len(o.Token) < shortest {
		return nil, fmt.Errorf("hasperm: Options.Token has less than %d bytes: set it to the "+
			"host's MCP_TOKEN", shortest)
	}
	s := &Source{view: *view, token: o.Token, client: *http.DefaultClient}
	if o.Client != nil {
		s.client = *o.Client
	}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return s, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// reply is what the view returns.
type reply struct {
	ID, Name    string
	Permissions []string
}

// largest bounds a reply.
const largest = 1 << 20

// read sends one request. Its error contains neither the URL nor the token.
func (s *Source) read(ctx context.Context, query url.Values) (r reply, err error) {
	view := s.view
	view.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, view.String(), nil)
	if err != nil {
		return r, fmt.Errorf("hasperm: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	response, err := s.client.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return r, fmt.Errorf("hasperm: the host cannot be reached: %w", err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		if query != nil {
			return r, fmt.Errorf("hasperm: user %q: %w", query.Get("user"), capability.ErrNoUser)
		}
		fallthrough
	default:
		return r, fmt.Errorf("hasperm: the host returned the status %d: compare Options.URL and "+
			"Options.Token with its urls.py and its MCP_TOKEN", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, largest+1))
	if err == nil && len(text) > largest {
		err = fmt.Errorf("more than %d bytes", largest)
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && query != nil && (r.ID == "" || r.Name != query.Get("user")) {
		err = errors.New("no id of the user with this name")
	}
	if err != nil {
		return reply{}, fmt.Errorf("hasperm: the reply of the host: %w", err)
	}
	return r, nil
}

func (s *Source) of(ctx context.Context, p access.Principal) (reply, error) {
	if p.User == "" {
		return reply{}, fmt.Errorf("hasperm: the principal has no user of the host: %w",
			capability.ErrNoUser)
	}
	return s.read(ctx, url.Values{"user": {p.User}})
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	r, err := s.of(ctx, p)
	if err != nil {
		return capability.User{}, err
	}
	return capability.User{ID: r.ID, Name: r.Name}, nil
}

// Capabilities returns the permissions of MCP_PERMISSIONS for which the user's has_perm is true.
func (s *Source) Capabilities(ctx context.Context, p access.Principal) (capability.Set, error) {
	var set capability.Set
	r, err := s.of(ctx, p)
	for _, permission := range r.Permissions {
		set.Add(permission)
	}
	return set, err
}

// Actions returns MCP_PERMISSIONS, so that a server with a permission that it lacks does not start.
func (s *Source) Actions(ctx context.Context) ([]string, error) {
	r, err := s.read(ctx, nil)
	return r.Permissions, err
}

// MapAction returns a permission unchanged, and an error for one that is not app.codename.
func (s *Source) MapAction(permission string) (string, error) {
	return hostuser.DjangoPermission("hasperm", permission)
}
