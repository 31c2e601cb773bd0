package discovery

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Lists are the four lists of a server. Items are added before the first request.
type Lists struct {
	ListsConfig
	tools     *list[mcp.Tool]
	older     *list[mcp.Tool] // as versions before 2026-07-28 have them; may be tools
	prompts   *list[mcp.Prompt]
	resources *list[mcp.Resource]
	templates *list[mcp.ResourceTemplate]
}

// ListsConfig is what lists read.
type ListsConfig struct {
	Policy   *Policy
	PageSize int
	TTLMs    int  // how long clients may keep a list
	Clone    bool // something behind the guard could change the items
	// Adopted reports whether an adopted server lists what has this name; nil without one. The lists
	// have such items as they were listed at first, for a message that does not read them.
	Adopted func(access.Kind, string) bool
}

// NewLists returns empty lists.
func NewLists(c ListsConfig) *Lists {
	l := &Lists{ListsConfig: c}
	tools, resources := newNames(c.Policy, access.Tools), newNames(c.Policy, access.Resources)
	l.tools = newList(l, access.Tools, 0, tools, ownTool)
	if len(c.Policy.Table.Values)+len(c.Policy.Table.Fields) > 0 {
		l.tools.narrowBy(narrow)
	}
	l.tools.split = splitFields
	l.tools.shown = func(t *mcp.Tool) *mcp.Tool { return withOutput(t, false) }
	if l.older = l.tools; l.Adopted != nil {
		l.older = inSessions(l, l.tools)
	}
	l.prompts = newList(l, access.Prompts, 1, newNames(c.Policy, access.Prompts), func(p *mcp.Prompt) {
		p.Arguments = slices.Clone(p.Arguments)
		for i, a := range p.Arguments {
			p.Arguments[i] = new(*a)
		}
		ownMetadata(&p.Meta, &p.Icons)
	})
	l.resources = newList(l, access.Resources, 2, resources, func(r *mcp.Resource) {
		ownMetadata(&r.Meta, &r.Icons)
	})
	l.templates = newList(l, access.Resources, 3, resources, func(r *mcp.ResourceTemplate) {
		ownMetadata(&r.Meta, &r.Icons)
	})
	return l
}

// AdoptedItems holds the items that an adopted server lists to the client of one message, once they
// have been read. A message whose run was abandoned may still write to it.
type AdoptedItems struct{ atomic.Pointer[Items] }

// items returns what has been read. a may be nil.
func (a *AdoptedItems) items() Items {
	if a != nil {
		if items := a.Load(); items != nil {
			return *items
		}
	}
	return Items{}
}

// AddTool adds a tool if it has a rule. So do the other methods for their items.
func (l *Lists) AddTool(t *mcp.Tool) {
	if l.older == l.tools && withOutput(t, true) != t {
		l.older = inSessions(l, l.tools)
	}
	if l.older != l.tools {
		l.older.add(t.Name, t)
	}
	l.tools.add(t.Name, t)
}

// inSessions returns a list with the same tools as versions with sessions have them.
func inSessions(l *Lists, of *list[mcp.Tool]) *list[mcp.Tool] {
	older := newList(l, access.Tools, 0, of.names, of.own)
	older.items, older.count = slices.Clone(of.items), of.count
	if of.narrow != nil {
		older.narrowBy(of.narrow)
	}
	older.split = of.split
	older.shown = func(t *mcp.Tool) *mcp.Tool { return withOutput(t, true) }
	return older
}

// withOutput returns a tool with its output schema as some versions have it: itself, or a copy.
func withOutput(t *mcp.Tool, sessions bool) *mcp.Tool {
	schema := outputOf(t)
	switch {
	case schema.Natural == nil:
		return t
	case sessions:
		schema.Natural = schema.InSessions
	}
	shown := *t
	shown.OutputSchema = schema.Natural
	return &shown
}

// OutputForm returns how versions with sessions have the results of a tool of an adopted server.
func OutputForm(t *mcp.Tool) structured.Form { return outputOf(t).Form }

// outputOf returns the output schema of a tool. The form is ByValue for none, and for one that
// cannot be encoded. Natural is nil if every version has the schema as the tool has it.
func outputOf(t *mcp.Tool) (schema structured.Schema) {
	var text []byte
	switch s := t.OutputSchema.(type) {
	case nil:
		return schema
	case *jsonschema.Schema:
		if s == nil || s.Type == "object" {
			return structured.Schema{Form: structured.AsObject}
		}
	case map[string]any:
		if s["type"] == "object" {
			return structured.Schema{Form: structured.AsObject}
		}
	case json.RawMessage:
		text = s
	}
	defer func() { _ = recover() }() // of a method of the adopted server's
	if text == nil {
		var err error
		if text, err = wire.Marshal(t.OutputSchema); err != nil {
			return schema
		}
	}
	schema = wire.OutputSchema(text)
	if schema.Form == structured.AsObject && bytes.Equal(schema.Natural, text) {
		schema.Natural = nil
	}
	return schema
}

func (l *Lists) AddPrompt(p *mcp.Prompt)             { l.prompts.add(p.Name, p) }
func (l *Lists) AddResource(r *mcp.Resource)         { l.resources.add(r.URI, r) }
func (l *Lists) AddTemplate(t *mcp.ResourceTemplate) { l.templates.add(t.URITemplate, t) }

func (l *Lists) toolsFor(f Filter) *list[mcp.Tool] {
	if f.Sessions {
		return l.older
	}
	return l.tools
}

// Result returns the result of a list request. ok is false for another request.
func (l *Lists) Result(p access.Principal, f Filter,
	params mcp.Params) (res mcp.Result, ok bool, err error) {
	switch r := params.(type) {
	case *mcp.ListToolsParams:
		list, r := &mcp.ListToolsResult{}, cmp.Or(r, &mcp.ListToolsParams{})
		list.TTLMs = l.TTLMs
		list.Tools, list.NextCursor, err = l.toolsFor(f).page(p, f.In,
			f.Adopted.items().Tools, r.Cursor)
		if f.Note != "" {
			list.Meta = mcp.Meta{wire.MetaCatalogNote: f.Note}
		}
		res = list
	case *mcp.ListPromptsParams:
		list, r := &mcp.ListPromptsResult{}, cmp.Or(r, &mcp.ListPromptsParams{})
		list.TTLMs = l.TTLMs
		list.Prompts, list.NextCursor, err = l.prompts.page(p, nil, f.Adopted.items().Prompts, r.Cursor)
		res = list
	case *mcp.ListResourcesParams:
		list, r := &mcp.ListResourcesResult{}, cmp.Or(r, &mcp.ListResourcesParams{})
		list.TTLMs = l.TTLMs
		list.Resources, list.NextCursor, err = l.resources.page(p, nil,
			f.Adopted.items().Resources, r.Cursor)
		res = list
	case *mcp.ListResourceTemplatesParams:
		list, r := &mcp.ListResourceTemplatesResult{}, cmp.Or(r, &mcp.ListResourceTemplatesParams{})
		list.TTLMs = l.TTLMs
		list.ResourceTemplates, list.NextCursor, err = l.templates.page(p, nil,
			f.Adopted.items().Templates, r.Cursor)
		res = list
	default:
		return nil, false, nil
	}
	if err != nil {
		res = nil
	}
	return res, true, err
}

// Encode is [Lists.Result], encoded. ok is false if something could change the items, or if one of
// them cannot be encoded.
func (l *Lists) Encode(p access.Principal, f Filter,
	params mcp.Params) (e *wire.Encoded, ok bool, err error) {
	switch r := params.(type) {
	case *mcp.ListToolsParams:
		var meta mcp.Meta
		if f.Note != "" {
			meta = mcp.Meta{wire.MetaCatalogNote: f.Note}
		}
		return l.toolsFor(f).encode("tools", p, f.In, f.Adopted.items().Tools,
			cmp.Or(r, &mcp.ListToolsParams{}).Cursor, meta)
	case *mcp.ListPromptsParams:
		cursor := cmp.Or(r, &mcp.ListPromptsParams{}).Cursor
		return l.prompts.encode("prompts", p, nil, f.Adopted.items().Prompts, cursor, nil)
	case *mcp.ListResourcesParams:
		cursor := cmp.Or(r, &mcp.ListResourcesParams{}).Cursor
		return l.resources.encode("resources", p, nil, f.Adopted.items().Resources, cursor, nil)
	case *mcp.ListResourceTemplatesParams:
		cursor := cmp.Or(r, &mcp.ListResourceTemplatesParams{}).Cursor
		return l.templates.encode("resourceTemplates", p, nil, f.Adopted.items().Templates,
			cursor, nil)
	}
	return nil, false, nil
}

// Counts returns how many items the caller of a list method sees, and how many there are.
func (l *Lists) Counts(method string, p access.Principal, f Filter) (audit.Type, int, int) {
	now := f.Adopted.items()
	switch method {
	case "prompts/list":
		shown := l.prompts.visible(p, nil, now.Prompts)
		return audit.PromptList, shown.len(), l.prompts.total(now.Prompts)
	case "resources/list":
		shown := l.resources.visible(p, nil, now.Resources)
		return audit.ResourceList, shown.len(), l.resources.total(now.Resources)
	case "resources/templates/list":
		shown := l.templates.visible(p, nil, now.Templates)
		return audit.TemplateList, shown.len(), l.templates.total(now.Templates)
	}
	shown := l.toolsFor(f).visible(p, f.In, now.Tools)
	return audit.ToolList, shown.len(), l.tools.total(now.Tools)
}

// Totals returns how many tools, prompts, and resources with templates there are.
func (l *Lists) Totals() (tools, prompts, resources int) {
	return l.tools.count, l.prompts.count, l.resources.count + l.templates.count
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
	for i, name := range l.Policy.Table.All().All {
		tool := l.tools.items[i].item
		if tool == nil || f.In != nil && !f.In.Contains(name) {
			continue
		}
		off, d := l.Policy.IsOff(access.Tools, name), l.Policy.Table.Decide(p, name)
		concealed := off || !d.Allowed && l.Policy.DenialOf(d) == access.Conceal
		if !admin {
			tool = l.tools.item(p, i, name).item
		}
		if admin || !concealed && tool != nil {
			entries = append(entries, Entry{tool, d.Allowed && !off, off, d.Missing()})
		}
	}
	return entries
}

// digests are those of everything that a caller sees, by kind.
type digests [3]digest

// Seen returns the digests of everything that a caller sees, to compare.
func (l *Lists) Seen(p access.Principal) any { return l.digests(p, nil) }

func (l *Lists) digests(p access.Principal, in *access.Set) digests {
	return digests{l.tools.visible(p, in, nil).digest(), l.prompts.visible(p, nil, nil).digest(),
		l.resources.visible(p, nil, nil).digest()} // of templates too, which share their table
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
		if s, ok := (*schema).(*jsonschema.Schema); ok {
			*schema = s.CloneSchemas()
		} else {
			*schema = ownJSON(*schema)
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
