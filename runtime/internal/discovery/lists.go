package discovery

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Lists are the four lists of a server. Items are added before the first request.
type Lists struct {
	ListsConfig
	tools     *list[mcp.Tool]
	prompts   *list[mcp.Prompt]
	resources *list[mcp.Resource]
	templates *list[mcp.ResourceTemplate]
}

// ListsConfig is what lists read.
type ListsConfig struct {
	Policy   *Policy
	PageSize int
	Clone    bool                         // something behind the guard could change the items
	Looked   func(cache string, hit bool) // after each look into the cache of views; may be nil
}

// NewLists returns empty lists.
func NewLists(c ListsConfig) *Lists {
	l := &Lists{ListsConfig: c}
	l.tools = newList(l, access.Tools, 0, ownTool)
	if len(c.Policy.Table.Values) > 0 {
		l.tools.narrow = narrow
	}
	l.prompts = newList(l, access.Prompts, 1, func(p *mcp.Prompt) {
		p.Arguments = slices.Clone(p.Arguments)
		for i, a := range p.Arguments {
			p.Arguments[i] = new(*a)
		}
		ownMetadata(&p.Meta, &p.Icons)
	})
	l.resources = newList(l, access.Resources, 2, func(r *mcp.Resource) {
		ownMetadata(&r.Meta, &r.Icons)
	})
	l.templates = newList(l, access.Resources, 3, func(r *mcp.ResourceTemplate) {
		ownMetadata(&r.Meta, &r.Icons)
	})
	return l
}

// AddTool adds a tool if it has a rule. So do the other methods for their items.
func (l *Lists) AddTool(t *mcp.Tool)                 { l.tools.add(t.Name, t) }
func (l *Lists) AddPrompt(p *mcp.Prompt)             { l.prompts.add(p.Name, p) }
func (l *Lists) AddResource(r *mcp.Resource)         { l.resources.add(r.URI, r) }
func (l *Lists) AddTemplate(t *mcp.ResourceTemplate) { l.templates.add(t.URITemplate, t) }

// Answer answers a list request with a result of its own. ok is false for another request.
func (l *Lists) Answer(p access.Principal, f Filter,
	params mcp.Params) (res mcp.Result, ok bool, err error) {
	switch r := params.(type) {
	case *mcp.ListToolsParams:
		list, r := &mcp.ListToolsResult{}, cmp.Or(r, &mcp.ListToolsParams{})
		list.Tools, list.NextCursor, err = l.tools.page(p, f.In, f.More, r.Cursor)
		if f.Note != "" {
			list.Meta = mcp.Meta{wire.MetaCatalogNote: f.Note}
		}
		res = list
	case *mcp.ListPromptsParams:
		list, r := &mcp.ListPromptsResult{}, cmp.Or(r, &mcp.ListPromptsParams{})
		list.Prompts, list.NextCursor, err = l.prompts.page(p, nil, nil, r.Cursor)
		res = list
	case *mcp.ListResourcesParams:
		list, r := &mcp.ListResourcesResult{}, cmp.Or(r, &mcp.ListResourcesParams{})
		list.Resources, list.NextCursor, err = l.resources.page(p, nil, nil, r.Cursor)
		res = list
	case *mcp.ListResourceTemplatesParams:
		list, r := &mcp.ListResourceTemplatesResult{}, cmp.Or(r, &mcp.ListResourceTemplatesParams{})
		list.ResourceTemplates, list.NextCursor, err = l.templates.page(p, nil, nil, r.Cursor)
		res = list
	default:
		return nil, false, nil
	}
	if err != nil {
		res = nil
	}
	return res, true, err
}

// Encode is [Lists.Answer], encoded. ok is false if something could change the items, or if one of
// them cannot be encoded.
func (l *Lists) Encode(p access.Principal, f Filter,
	params mcp.Params) (e *wire.Encoded, ok bool, err error) {
	switch r := params.(type) {
	case *mcp.ListToolsParams:
		var meta mcp.Meta
		if f.Note != "" {
			meta = mcp.Meta{wire.MetaCatalogNote: f.Note}
		}
		return l.tools.encode("tools", p, f.In, f.More,
			cmp.Or(r, &mcp.ListToolsParams{}).Cursor, meta)
	case *mcp.ListPromptsParams:
		cursor := cmp.Or(r, &mcp.ListPromptsParams{}).Cursor
		return l.prompts.encode("prompts", p, nil, nil, cursor, nil)
	case *mcp.ListResourcesParams:
		cursor := cmp.Or(r, &mcp.ListResourcesParams{}).Cursor
		return l.resources.encode("resources", p, nil, nil, cursor, nil)
	case *mcp.ListResourceTemplatesParams:
		cursor := cmp.Or(r, &mcp.ListResourceTemplatesParams{}).Cursor
		return l.templates.encode("resourceTemplates", p, nil, nil, cursor, nil)
	}
	return nil, false, nil
}

// Counts returns how many items the caller of a list method sees, and how many there are.
func (l *Lists) Counts(method string, p access.Principal, f Filter) (audit.Type, int, int) {
	switch method {
	case "prompts/list":
		return audit.PromptList, len(l.prompts.visible(p, nil, nil).items), len(l.prompts.items)
	case "resources/list":
		shown := l.resources.visible(p, nil, nil)
		return audit.ResourceList, len(shown.items), len(l.resources.items)
	case "resources/templates/list":
		shown := l.templates.visible(p, nil, nil)
		return audit.TemplateList, len(shown.items), len(l.templates.items)
	}
	return audit.ToolList, len(l.tools.visible(p, f.In, f.More).items), len(l.tools.items)
}

// Totals returns how many tools, prompts, and resources with templates there are.
func (l *Lists) Totals() (tools, prompts, resources int) {
	return len(l.tools.items), len(l.prompts.items), len(l.resources.items) + len(l.templates.items)
}

// Entry is a tool in a list beside MCP, which also contains tools that are refused.
type Entry struct {
	Tool       *mcp.Tool // shared and read-only
	CanExecute bool      // a call would be allowed
	Off        bool      // switched off
	Missing    string    // what the caller lacks, as access.Decision.Missing words it
}

// Entries lists the filter's tools that are not concealed from a principal, for an admin all.
func (l *Lists) Entries(p access.Principal, admin bool, f Filter) []Entry {
	var entries []Entry
	for _, rule := range l.Policy.Table.Rules {
		name := rule.Name()
		tool, ok := l.tools.items[name]
		if !ok || f.In != nil && !f.In.Contains(name) {
			continue
		}
		off, d := l.Policy.IsOff(access.Tools, name), l.Policy.Table.Decide(p, name)
		concealed := off || !d.Allowed && l.Policy.DenialOf(d) == access.Conceal
		if !admin {
			tool, _ = l.tools.item(p, name)
		}
		if admin || !concealed && tool != nil {
			entries = append(entries, Entry{tool, d.Allowed && !off, off, d.Missing()})
		}
	}
	return entries
}

type digests [3]digest // of everything that a caller sees, by kind

func (l *Lists) digests(p access.Principal, in *access.Set) digests {
	return digests{l.tools.visible(p, in, nil).digest, l.prompts.visible(p, nil, nil).digest,
		l.resources.visible(p, nil, nil).digest} // of templates too, which share their table
}

// ownTool makes a shallow copy of a tool share nothing that can be changed.
func ownTool(t *mcp.Tool) {
	if t.Annotations != nil {
		t.Annotations = new(*t.Annotations)
		for _, hint := range []**bool{&t.Annotations.DestructiveHint,
			&t.Annotations.OpenWorldHint} {
			if *hint != nil {
				*hint = new(**hint)
			}
		}
	}
	ownMetadata(&t.Meta, &t.Icons)
	for _, schema := range []*any{&t.InputSchema, &t.OutputSchema} {
		if raw, ok := (*schema).(json.RawMessage); ok {
			*schema = slices.Clone(raw)
		}
	}
}

// ownMetadata copies what an item of any kind may have.
func ownMetadata(meta *mcp.Meta, icons *[]mcp.Icon) {
	*meta, _ = ownJSON(map[string]any(*meta)).(map[string]any)
	*icons = slices.Clone(*icons)
	for i := range *icons {
		(*icons)[i].Sizes = slices.Clone((*icons)[i].Sizes)
	}
}

// ownJSON copies a decoded JSON value.
func ownJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		copied := make(map[string]any, len(v))
		for name, member := range v {
			copied[name] = ownJSON(member)
		}
		return copied
	case []any:
		copied := slices.Clone(v)
		for i := range copied {
			copied[i] = ownJSON(copied[i])
		}
		return copied
	case json.RawMessage:
		return slices.Clone(v)
	}
	return v
}
