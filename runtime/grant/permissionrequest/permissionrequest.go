// Package permissionrequest serves two tools: list_permissions lists the client's permissions on
// resources and the tools that need some, and request_permission requests another one. An
// administrator approves the request in the API or the console; then the client's next call works.
//
//mcp:server name=permissions title="Permissions on resources" optional=null
//mcp:default authenticated action=none
package permissionrequest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

//go:generate go tool mcpgen .

// Store holds grants and requests. Package grant/stored has one with a database.
type Store interface {
	grant.Source
	grant.Requests
}

// Service implements the tools. It is safe for concurrent use.
type Service struct {
	store    Store
	defaults []grant.Grant
	logger   *slog.Logger
}

// New returns a service for the store in the server's Options.Grants.Source. defaults are the
// server's Options.Grants.Defaults, which list_permissions includes. Errors are logged to
// slog.Default, without secrets.
func New(keeper Store, defaults ...grant.Permission) *Service {
	return &Service{keeper, grant.Default(defaults...), slog.Default()}
}

// Input is the permission that a client requests.
type Input struct {
	// Kind of permission, as in the refusal, for example file.read.
	Type string `json:"type" jsonschema:"minLength=1,maxLength=64"`
	// Resource, or a pattern of some: docs/*.md below a root, git log * for a command,
	// example.com:443 for a host.
	Resource string `json:"resource" jsonschema:"minLength=1,maxLength=4096"`
	// As in the refusal. A restricted permission counts in isolated calls only.
	Restricted *bool `json:"restricted,omitempty" jsonschema:"default=true"`
	// Why the permission is needed. A person reads it and decides.
	Reason string `json:"reason" jsonschema:"minLength=1,maxLength=1000"`
	// Tool whose call was refused.
	Tool string `json:"tool,omitempty" jsonschema:"maxLength=128"`
}

// Request is a request for a permission.
type Request struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Resource string `json:"resource"`
	// Restricted is true if the permission would count in isolated calls only.
	Restricted bool `json:"restricted"`
	// Status is open until an administrator decides, then approved or denied.
	Status string `json:"status"`
	// Note is the text of the administrator's decision.
	Note string `json:"note,omitempty"`
}

// RequestPermission requests a permission on a resource, after a call was refused without it. An
// administrator decides. After the approval the same call works. Repeating an open request returns
// it.
//
//mcp:tool title="Request a permission"
func (s *Service) RequestPermission(ctx context.Context, in Input) (Request, error) {
	caller, ok := runtime.Caller(ctx)
	if !ok || caller.Anonymous() {
		return Request{}, errAnonymous
	}
	p := grant.Permission{Type: in.Type, Resource: in.Resource,
		Unrestricted: grant.Unrestricted(in.Restricted != nil && !*in.Restricted)}
	request, _ := runtime.RequestOf(ctx)
	if request.Masker.Text(p.Resource) != p.Resource {
		return Request{}, errSecret
	}
	if err := p.Validate(); err != nil {
		return Request{}, err
	}
	ctx = audit.Acting(ctx, audit.Event{
		Issuer: caller.Issuer, Principal: caller.Subject, Client: caller.ClientID(),
		Roles: caller.Roles, RequestID: runtime.RequestID(ctx),
	})
	r, err := s.store.Ask(ctx, grant.Request{
		Permission: p, Issuer: caller.Issuer, Client: caller.ClientID(), Principal: caller.Subject,
		Tool: request.Masker.Text(in.Tool), Reason: request.Masker.Text(in.Reason),
	})
	switch {
	case errors.Is(err, grant.ErrTooMany):
		return Request{}, errors.New("too many of your requests are open: wait until an " +
			"administrator decides on some")
	case errors.Is(err, grant.ErrInvalid):
		return Request{}, err
	case err != nil:
		return Request{}, s.unavailable(ctx, err)
	}
	return newRequest(r), nil
}

// Permission is a permission of the client.
type Permission struct {
	Type     string `json:"type"`
	Resource string `json:"resource"`
	// Restricted is true if it counts in isolated calls only.
	Restricted bool `json:"restricted"`
	// Parameters narrow the permission.
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	// Expires is when it ends. It is absent if the permission does not expire.
	Expires *time.Time `json:"expires,omitempty"`
}

// Allow is a permission that a tool needs on the resource that an argument names.
type Allow struct {
	// Kind is the type of the permission.
	Kind     string `json:"kind"`
	Argument string `json:"argument"`
	// Within is a pattern that the resource must match, too. No permission changes it.
	Within string `json:"within,omitempty"`
	// Granted is true if you have a permission of this type, on any resource, that the tool can
	// use.
	Granted bool `json:"granted"`
}

// Tool is a tool whose calls need permissions.
type Tool struct {
	Name  string  `json:"name"`
	Allow []Allow `json:"allow"`
}

// Permissions are the permissions and the requests of a client.
type Permissions struct {
	Granted  []Permission `json:"granted"`
	Requests []Request    `json:"requests"`
	// Tools are those that you may use and that need permissions.
	Tools []Tool `json:"tools"`
	// Next is present if there are more tools: call again with it as after.
	Next string `json:"next,omitempty"`
}

// ListInput selects the tools to list.
type ListInput struct {
	// The value of next in the result before. Without it, the list begins with the first tool.
	After string `json:"after,omitempty" jsonschema:"maxLength=128"`
}

const maxTools = 100 // in one result

// ListPermissions returns the permissions on resources that you have now, your newest requests for
// more, and the permissions that your tools need.
//
//mcp:tool readonly title="Your permissions"
func (s *Service) ListPermissions(ctx context.Context, in ListInput) (Permissions, error) {
	list := Permissions{Granted: []Permission{}, Requests: []Request{}, Tools: []Tool{}}
	caller, ok := runtime.Caller(ctx)
	if !ok || caller.Anonymous() {
		return list, errAnonymous
	}
	grants, _, err := s.store.Grants(ctx, caller.Issuer, caller.ClientID())
	if err != nil {
		return list, s.unavailable(ctx, err)
	}
	now := time.Now()
	for _, all := range [][]grant.Grant{s.defaults, grants} {
		for _, g := range all {
			if g.Expired(now) {
				continue
			}
			h := Permission{Type: g.Type, Resource: g.Resource, Restricted: !bool(g.Unrestricted),
				Parameters: g.Parameters}
			if !g.Expires.IsZero() {
				h.Expires = &g.Expires
			}
			list.Granted = append(list.Granted, h)
		}
	}
	requests, err := s.store.Requests(ctx, grant.Filter{
		Issuer: caller.Issuer, Client: caller.ClientID(), Exact: true, Limit: 20,
	})
	if err != nil {
		return list, s.unavailable(ctx, err)
	}
	for _, r := range requests {
		list.Requests = append(list.Requests, newRequest(r))
	}
	for _, t := range runtime.GuardedTools(ctx) {
		if t.Name <= in.After {
			continue
		}
		if len(list.Tools) == maxTools {
			list.Next = list.Tools[maxTools-1].Name
			break
		}
		list.Tools = append(list.Tools, list.newTool(t))
	}
	return list, nil
}

// newTool decides as a call does: a restricted grant counts for an isolated tool only.
func (list *Permissions) newTool(t toolset.GuardedTool) Tool {
	tool := Tool{Name: t.Name}
	for _, a := range t.Allow {
		granted := slices.ContainsFunc(list.Granted, func(p Permission) bool {
			return p.Type == a.Kind && (t.Isolated || !p.Restricted)
		})
		tool.Allow = append(tool.Allow, Allow{a.Kind, a.Argument, a.Within, granted})
	}
	return tool
}

// errAnonymous refuses anonymous callers, which the rule of the tools refuses already.
var errAnonymous = errors.New("permissions belong to a client: sign in")

// errSecret keeps secrets out of the console and of the audit trail.
var errSecret = errors.New("the resource contains text that looks like a password, a token or " +
	"a key: request a pattern with * instead")

// unavailable logs an error of the store, which may name a database, and returns the error for the
// client.
func (s *Service) unavailable(ctx context.Context, err error) error {
	request, _ := runtime.RequestOf(ctx)
	log := slog.New(request.Masker.Handler(s.logger.Handler()))
	log.ErrorContext(ctx, "grants or requests could not be read or written",
		"request_id", runtime.RequestID(ctx), "error", err)
	return errors.New("permissions are not available now: try again later")
}

func newRequest(r grant.Request) Request {
	return Request{
		ID: r.ID, Type: r.Type, Resource: r.Resource, Restricted: !bool(r.Unrestricted),
		Status: string(r.Status), Note: r.Note,
	}
}
