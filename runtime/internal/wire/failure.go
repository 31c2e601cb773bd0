package wire

import (
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// ErrorResult is the result of a call that failed, for the model to read.
func ErrorResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// NilResult is the result of a tool that returned null, for a client that cannot receive it.
func NilResult(tool string) *mcp.CallToolResult {
	return ErrorResult(fmt.Sprintf("tool %s returned %v", tool, structured.ErrNull))
}

// ForbiddenTool is [Forbidden] as a tool's result.
func ForbiddenTool(name string, d access.Decision) *mcp.CallToolResult {
	return ErrorResult(fmt.Sprintf("403 Forbidden: tool %q %s", name, d.Missing()))
}

// FailureResult is the result of a call whose handler failed or reached a limit. Problems with the
// arguments and limits are for the model, which can correct its call.
func FailureResult(mask redact.Masker, failure error) *mcp.CallToolResult {
	text := MaskedWords(mask, failure)
	if errors.As(failure, new(*decode.Error)) || errors.As(failure, new(toolset.LimitError)) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{ForModel(1, text)}}
	}
	return ErrorResult(text)
}

// FailureOf returns why a call failed, and nil if it did not: its error, or the texts of a result
// that is an error.
func FailureOf(err error, res *mcp.CallToolResult) error {
	if err != nil || res == nil || !res.IsError {
		return err
	}
	var texts []string
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok && text != nil {
			texts = append(texts, text.Text)
		}
	}
	return errors.New(strings.Join(texts, "\n"))
}

// ForModel returns a text content for the model alone.
func ForModel(priority float64, text string) mcp.Content {
	return For("assistant", priority, &mcp.TextContent{Text: text})
}

// For returns a copy of a content, for an audience. It returns nil for a nil content, and for one
// of another type than results of tools and prompts have.
func For(audience mcp.Role, priority float64, content mcp.Content) mcp.Content {
	if request.IsNil(content) {
		return nil
	}
	var to **mcp.Annotations
	switch c := content.(type) {
	case *mcp.TextContent:
		c = new(*c)
		content, to = c, &c.Annotations
	case *mcp.ImageContent:
		c = new(*c)
		content, to = c, &c.Annotations
	case *mcp.AudioContent:
		c = new(*c)
		content, to = c, &c.Annotations
	case *mcp.ResourceLink:
		c = new(*c)
		content, to = c, &c.Annotations
	case *mcp.EmbeddedResource:
		c = new(*c)
		content, to = c, &c.Annotations
	default:
		return nil
	}
	annotations := mcp.Annotations{}
	if *to != nil {
		annotations = **to
	}
	annotations.Audience, annotations.Priority = []mcp.Role{audience}, Priority(priority)
	*to = &annotations
	return content
}

// Priority returns a priority within 0 and 1, and 0 for NaN.
func Priority(p float64) float64 {
	if !(p > 0) {
		return 0
	}
	return min(p, 1)
}
