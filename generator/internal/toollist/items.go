package toollist

import (
	"context"
	"fmt"
	"iter"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Items lists the tools, prompts, resources and templates that the caller sees, in the form of the
// items of a boundary: "tool:NAME", "prompt:NAME" and "resource:URI".
func (s *Session) Items(ctx context.Context) (items []string, err error) {
	has := s.session.InitializeResult().Capabilities
	if has.Tools != nil {
		items, err = appendItems(ctx, items, "tools/list", s.session.Tools(ctx, nil),
			func(t *mcp.Tool) string { return "tool:" + t.Name })
	}
	if has.Prompts != nil && err == nil {
		items, err = appendItems(ctx, items, "prompts/list", s.session.Prompts(ctx, nil),
			func(p *mcp.Prompt) string { return "prompt:" + p.Name })
	}
	if has.Resources != nil && err == nil {
		items, err = appendItems(ctx, items, "resources/list", s.session.Resources(ctx, nil),
			func(r *mcp.Resource) string { return "resource:" + r.URI })
	}
	if has.Resources != nil && err == nil {
		items, err = appendItems(ctx, items, "resources/templates/list",
			s.session.ResourceTemplates(ctx, nil),
			func(r *mcp.ResourceTemplate) string { return "resource:" + r.URITemplate })
	}
	return items, err
}

func appendItems[T any](ctx context.Context, items []string, method string, list iter.Seq2[T,
	error],
	text func(T) string) ([]string, error) {
	for item, err := range list {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, NetworkError(ctx, err))
		}
		if items = append(items, text(item)); len(items) > maxTools {
			return nil, fmt.Errorf("the lists have more than %d items", maxTools)
		}
	}
	return items, nil
}
