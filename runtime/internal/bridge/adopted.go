package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// listed returns what the adopted server lists to the client of a list request now. If the server
// does not list, nothing does: it may refuse the client, or list fewer items than it did before.
func (b *Bridge) listed(ctx context.Context, next mcp.MethodHandler, method string,
	req mcp.Request) (*discovery.Items, error) {
	session, _ := req.GetSession().(*mcp.ServerSession)
	l := lister{next: next, session: session, extra: req.GetExtra(),
		meta: mcp.Meta(metaOf(req.GetParams()))}
	items, err := b.inTime(ctx, func(ctx context.Context) (items discovery.Items, err error) {
		switch method {
		case "tools/list":
			items.Tools, err = l.tools(ctx)
			b.describe(items.Tools)
		case "prompts/list":
			items.Prompts, err = l.prompts(ctx)
		case "resources/list":
			items.Resources, err = l.resources(ctx)
		case "resources/templates/list":
			items.Templates, err = l.templates(ctx)
		}
		return items, err
	})
	if err != nil && !errors.As(err, new(*jsonrpc.Error)) {
		err = fmt.Errorf("the adopted server did not list: %w", err)
	}
	return items, err
}

// describe replaces descriptions by those of Options.Descriptions.
func (b *Bridge) describe(tools map[string]*mcp.Tool) {
	for name, text := range b.Descriptions {
		if tools[name] != nil {
			tools[name] = new(*tools[name])
			tools[name].Description = text
		}
	}
}

// maxListing bounds how long the adopted server may take to list.
const maxListing = 10 * time.Second

// inTime calls the adopted server for at most maxListing.
func (b *Bridge) inTime(ctx context.Context,
	list func(context.Context) (discovery.Items, error)) (*discovery.Items, error) {
	type result struct {
		items discovery.Items
		err   error
	}
	o := worker.Run(b.Guard.Pool, worker.Job[result]{
		Context: ctx, Deadline: time.Now().Add(maxListing), Grace: worker.Grace,
		Do: func(ctx context.Context) result {
			items, err := list(ctx)
			return result{items, err}
		}})
	if err := o.Err(); err != nil {
		return nil, err
	}
	return &o.Value.items, o.Value.err
}

// Listed returns what the adopted server lists to a client now, of some kinds. It reports false if
// the server does not list all of them, or before the handshake of a session.
func (b *Bridge) Listed(ctx context.Context, to request.Session, meta map[string]any,
	kinds []access.Kind) (*discovery.Items, bool) {
	session, ok := to.(*mcp.ServerSession)
	if !ok || session.InitializeParams() == nil {
		return nil, false
	}
	l := lister{next: b.next, session: session, extra: &mcp.RequestExtra{}, meta: mcp.Meta(meta)}
	items, err := b.inTime(ctx, func(ctx context.Context) (items discovery.Items, err error) {
		for _, k := range kinds {
			switch k {
			case access.Tools:
				items.Tools, err = l.tools(ctx)
			case access.Prompts:
				items.Prompts, err = l.prompts(ctx)
			case access.Resources:
				if items.Resources, err = l.resources(ctx); err == nil {
					items.Templates, err = l.templates(ctx)
				}
			}
			if err != nil {
				return items, err
			}
		}
		return items, nil
	})
	if err != nil {
		b.Guard.Log.DebugContext(ctx, "the adopted server did not list for a notification",
			"error", err)
		return nil, false
	}
	return items, true
}

// lister lists what an adopted server has for one client. It reads all pages of the server, because
// the client's page is one of the guard's list.
type lister struct {
	next    mcp.MethodHandler
	session *mcp.ServerSession
	extra   *mcp.RequestExtra
	meta    mcp.Meta
}

func (l lister) tools(ctx context.Context) (map[string]*mcp.Tool, error) {
	return pages(ctx, l, "tools/list",
		func(meta mcp.Meta, cursor string) *mcp.ListToolsParams {
			return &mcp.ListToolsParams{Meta: meta, Cursor: cursor}
		},
		func(r *mcp.ListToolsResult) ([]*mcp.Tool, string) { return r.Tools, r.NextCursor },
		func(t *mcp.Tool) string { return t.Name })
}

func (l lister) prompts(ctx context.Context) (map[string]*mcp.Prompt, error) {
	return pages(ctx, l, "prompts/list",
		func(meta mcp.Meta, cursor string) *mcp.ListPromptsParams {
			return &mcp.ListPromptsParams{Meta: meta, Cursor: cursor}
		},
		func(r *mcp.ListPromptsResult) ([]*mcp.Prompt, string) { return r.Prompts, r.NextCursor },
		func(p *mcp.Prompt) string { return p.Name })
}

func (l lister) resources(ctx context.Context) (map[string]*mcp.Resource, error) {
	return pages(ctx, l, "resources/list",
		func(meta mcp.Meta, cursor string) *mcp.ListResourcesParams {
			return &mcp.ListResourcesParams{Meta: meta, Cursor: cursor}
		},
		func(r *mcp.ListResourcesResult) ([]*mcp.Resource, string) { return r.Resources, r.NextCursor },
		func(r *mcp.Resource) string { return r.URI })
}

func (l lister) templates(ctx context.Context) (map[string]*mcp.ResourceTemplate, error) {
	return pages(ctx, l, "resources/templates/list",
		func(meta mcp.Meta, cursor string) *mcp.ListResourceTemplatesParams {
			return &mcp.ListResourceTemplatesParams{Meta: meta, Cursor: cursor}
		},
		func(r *mcp.ListResourceTemplatesResult) ([]*mcp.ResourceTemplate, string) {
			return r.ResourceTemplates, r.NextCursor
		},
		func(t *mcp.ResourceTemplate) string { return t.URITemplate })
}

const maxPages = 1000

// pages returns the items of all pages by name. R is the type of the result.
func pages[P mcp.Params, R any, T any](ctx context.Context, l lister, method string,
	params func(mcp.Meta, string) P, of func(*R) ([]*T, string),
	name func(*T) string) (map[string]*T, error) {
	found, cursor := map[string]*T{}, ""
	for range maxPages {
		res, err := l.next(ctx, method, &mcp.ServerRequest[P]{Session: l.session,
			Params: params(maps.Clone(l.meta), cursor), Extra: l.extra})
		list, ok := any(res).(*R)
		if err != nil {
			return nil, err
		} else if !ok || list == nil {
			return nil, fmt.Errorf("the result is a %T", res)
		}
		items, next := of(list)
		for _, item := range items {
			if item != nil {
				found[name(item)] = item
			}
		}
		if cursor = next; cursor == "" {
			return found, nil
		}
	}
	return nil, fmt.Errorf("the list has more than %d pages", maxPages)
}
