package runtime

import (
	"context"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ForModel is a text content for the model alone (specification 2025-11-25, server/resources, annotations): clients need not show it
// to people. Priority is between 0, for what may be left out, and 1, for what must not be.
func ForModel(priority float64, text string) *mcp.TextContent {
	return addressed(priority, text, "assistant")
}

// ForPerson is a text content for the person at the client. Priority is as in [ForModel].
func ForPerson(priority float64, text string) *mcp.TextContent {
	return addressed(priority, text, "user")
}

func addressed(priority float64, text string, audience mcp.Role) *mcp.TextContent {
	return &mcp.TextContent{Text: text, Annotations: &mcp.Annotations{Audience: []mcp.Role{audience}, Priority: priorityOf(priority)}}
}

// priorityOf is a priority within its bounds, 0 where it is no number.
func priorityOf(said float64) float64 {
	if !(said > 0) {
		return 0
	}
	return min(said, 1)
}

// maxAdvice bounds what one call is advised.
const maxAdvice = 16

type adviceKey struct{}

// Advise adds a content for the model, worded as fmt.Sprintf does, to the result of the call that a handler answers, as
// [ForModel] makes it: a hint on what to do next, what was left out, why a result is empty. Secrets in it are masked. It
// reports false where there is no such result, outside of a tool's call or after its end, and where there were 16 already.
func Advise(ctx context.Context, priority float64, format string, args ...any) bool {
	text := fmt.Sprintf(format, args...)
	if emit := emitterOf(ctx); emit != nil {
		return emit.advise(priority, text)
	}
	c, ok := ctx.Value(adviceKey{}).(*bounded)
	return ok && c.advise(ForModel(priority, c.record.server.opts.Masker.Text(text)))
}

// advise keeps a content for the result, unless the run is over.
func (c *bounded) advise(content mcp.Content) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || !c.advised || len(c.advice) >= maxAdvice {
		return false
	}
	c.advice = append(c.advice, content)
	return true
}

// taken is what was said, after which nothing more is.
func (c *bounded) taken() []mcp.Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advised = false
	return c.advice
}

// takes has the run take advice.
func (c *bounded) takes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advised = true
}

// advised is a result with more content.
func advised(res *mcp.CallToolResult, more []mcp.Content) *mcp.CallToolResult {
	res = shown(res).(*mcp.CallToolResult)
	c := *res
	c.Content = slices.Concat(c.Content, more)
	return &c
}
