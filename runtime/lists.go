package runtime

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// lists are the four lists of a server.
type lists struct {
	tools     *discovery[*mcp.Tool]
	prompts   *discovery[*mcp.Prompt]
	resources *discovery[*mcp.Resource]
	templates *discovery[*mcp.ResourceTemplate]
}

func newLists(table access.Table, opts Options, off func() *access.Set, looked func(cache string, hit bool)) lists {
	l := lists{
		tools:     newDiscovery(table.Of(access.Tools), opts, 0, cloneTool),
		prompts:   newDiscovery(table.Of(access.Prompts), opts, 1, clonePrompt),
		resources: newDiscovery(table.Of(access.Resources), opts, 2, cloneResource),
		templates: newDiscovery(table.Of(access.Resources), opts, 3, cloneTemplate),
	}
	l.tools.off = off
	l.tools.looked, l.prompts.looked, l.resources.looked, l.templates.looked = looked, looked, looked, looked
	return l
}

func newDiscovery[T any](table access.Table, opts Options, mark byte, clone func(T) T) *discovery[T] {
	d := &discovery[T]{
		table: table, items: map[string]T{}, mark: mark, pageSize: opts.PageSize, all: opts.ListAll, denial: opts.Denial, views: map[string]*view[T]{},
	}
	if len(opts.Middleware) > 0 {
		d.clone = clone
	}
	return d
}

// counts says of a list how much of it a caller is shown, and how much there is.
func (l lists) counts(method string, rec *record) (kind audit.Type, visible, total int) {
	p := rec.principal
	switch method {
	case "prompts/list":
		return audit.PromptList, len(l.prompts.visible(p, nil).items), len(l.prompts.items)
	case "resources/list":
		return audit.ResourceList, len(l.resources.visible(p, nil).items), len(l.resources.items)
	case "resources/templates/list":
		return audit.TemplateList, len(l.templates.visible(p, nil).items), len(l.templates.items)
	}
	return audit.ToolList, len(l.tools.visible(p, rec.narrowing.in).items), len(l.tools.items)
}

// answer answers a list, in a result of its own, as go-sdk writes into it. ok is false for what
// is no list.
func (l lists) answer(req mcp.Request) (res mcp.Result, ok bool, err error) {
	var rec *record
	switch req.(type) {
	case *mcp.ListToolsRequest, *mcp.ListPromptsRequest, *mcp.ListResourcesRequest, *mcp.ListResourceTemplatesRequest:
		if rec = recordOf(req.GetExtra()); rec == nil {
			return nil, true, internalError()
		}
	}
	cursor, next := "", ""
	switch r := req.(type) {
	case *mcp.ListToolsRequest:
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		list := &mcp.ListToolsResult{}
		list.Tools, next, err = l.tools.list(rec.principal, rec.narrowing.in, cursor)
		if rec.narrowing.note != "" {
			list.Meta = mcp.Meta{MetaCatalogNote: rec.narrowing.note}
		}
		list.NextCursor, res = next, list
	case *mcp.ListPromptsRequest:
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		list := &mcp.ListPromptsResult{}
		list.Prompts, next, err = l.prompts.list(rec.principal, nil, cursor)
		list.NextCursor, res = next, list
	case *mcp.ListResourcesRequest:
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		list := &mcp.ListResourcesResult{}
		list.Resources, next, err = l.resources.list(rec.principal, nil, cursor)
		list.NextCursor, res = next, list
	case *mcp.ListResourceTemplatesRequest:
		if r.Params != nil {
			cursor = r.Params.Cursor
		}
		list := &mcp.ListResourceTemplatesResult{}
		list.ResourceTemplates, next, err = l.templates.list(rec.principal, nil, cursor)
		list.NextCursor, res = next, list
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	return res, true, nil
}

// cloneTool copies what is listed as far down as it can be written to.
func cloneTool(t *mcp.Tool) *mcp.Tool {
	c := *t
	if t.Annotations != nil {
		a := *t.Annotations
		c.Annotations = &a
	}
	if raw, ok := t.InputSchema.(json.RawMessage); ok {
		c.InputSchema = slices.Clone(raw)
	}
	if raw, ok := t.OutputSchema.(json.RawMessage); ok {
		c.OutputSchema = slices.Clone(raw)
	}
	return &c
}

func clonePrompt(p *mcp.Prompt) *mcp.Prompt {
	c := *p
	c.Arguments = make([]*mcp.PromptArgument, len(p.Arguments))
	for i, a := range p.Arguments {
		argument := *a
		c.Arguments[i] = &argument
	}
	return &c
}

func cloneResource(r *mcp.Resource) *mcp.Resource {
	c := *r
	return &c
}

func cloneTemplate(r *mcp.ResourceTemplate) *mcp.ResourceTemplate {
	c := *r
	return &c
}
