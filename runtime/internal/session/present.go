package session

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// admit checks an allowed message against what the adopted server lists at present: the program may
// have changed the server since adoption.
func (s *Server) admit(ctx context.Context, x *Exchange, m *guard.Message) error {
	switch p := m.Params.(type) {
	case *mcp.CallToolParamsRaw:
		if m.HasSessions() || m.HTTP == nil {
			return nil
		}
		headers, err := s.headers.of(p.Name, func() error {
			_, err := s.present(ctx, x.do, metaOf(m), "tools/list")
			return err
		})
		if err != nil {
			return err
		}
		return headers.Check(m.Info, p.Arguments)
	case *mcp.ReadResourceParams:
		return s.admitURI(ctx, x, m, p.URI)
	case *mcp.SubscribeParams:
		return s.admitURI(ctx, x, m, p.URI)
	}
	return nil
}

// metaOf returns the _meta of a message for another one to the adopted server.
func metaOf(m *guard.Message) map[string]any {
	meta := maps.Clone(m.Meta)
	delete(meta, "progressToken")
	return meta
}

// admitURI refuses a URI that another resource or template answers than the one that was decided,
// unless the caller may read that one as well.
func (s *Server) admitURI(ctx context.Context, x *Exchange, m *guard.Message, uri string) error {
	items, err := s.present(ctx, x.do, metaOf(m), listsOf(access.Resources)...)
	if err != nil {
		return err
	}
	name := answering(items, uri)
	if name == m.Target.Name ||
		s.Guard.Policy.Decide(m.Principal, m.Catalog.ReadOnly, access.Resources, name).Allowed {
		return nil
	}
	return wire.UnknownResource(uri)
}

// answering returns the URI or template of what answers a URI, as go-sdk finds it: a resource comes
// first, then the first template in the order of their text. It is empty for none.
func answering(items *discovery.Items, uri string) string {
	if items.Resources[uri] != nil {
		return uri
	}
	for _, text := range slices.Sorted(maps.Keys(items.Templates)) {
		if t := template(text); t != nil && t.MatchString(uri) {
			return text
		}
	}
	return ""
}

// templates has the compiled templates of adopted servers, by their text.
var templates sync.Map

// template compiles a template; nil for one that go-sdk cannot have registered.
func template(text string) *regexp.Regexp {
	if known, ok := templates.Load(text); ok {
		return known.(*regexp.Regexp)
	}
	t, err := uritemplate.New(text)
	if err != nil {
		return nil
	}
	compiled := t.Regexp()
	templates.Store(text, compiled)
	return compiled
}

// headers has the bound headers of the adopted server's tools, and the forms of their results, as
// the server has listed them last.
type headers struct {
	mu     sync.Mutex
	byTool map[string]boundBy
}

type boundBy struct {
	tool    *mcp.Tool
	headers invoke.Headers
	err     error
	form    structured.Form
}

// form returns the form of a tool's results in versions with sessions.
func (h *headers) form(name string) structured.Form {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byTool[name].form
}

// note notes the tools of a list.
func (h *headers) note(tools map[string]*mcp.Tool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byTool == nil {
		h.byTool = map[string]boundBy{}
	}
	for name, t := range tools {
		if h.byTool[name].tool != t {
			bound, err := invoke.HeadersOf(t)
			h.byTool[name] = boundBy{t, bound, err, discovery.OutputForm(t)}
		}
	}
}

// of returns the headers of a tool. list reads the list of tools, and notes it.
func (h *headers) of(name string, list func() error) (invoke.Headers, error) {
	find := func() (boundBy, bool) {
		h.mu.Lock()
		defer h.mu.Unlock()
		b, ok := h.byTool[name]
		return b, ok
	}
	b, ok := find()
	if !ok {
		if err := list(); err != nil {
			return nil, err
		}
		b, _ = find()
	}
	return b.headers, b.err
}
