package bridge

import (
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// resultTypeField is where go-sdk keeps the resultType of a tool's result. Its dispatch sets it,
// and no method returns it.
var resultTypeField, hasResultType = func() (reflect.StructField, bool) {
	field, ok := reflect.TypeFor[mcp.CallToolResult]().FieldByName("resultType")
	return field, ok && len(field.Index) == 1 && field.Type.Kind() == reflect.String
}()

// preencoded returns the result of a call whose handler returned structured content and nothing
// more, which is encoded already. It returns nil for any other result.
func (b *Bridge) preencoded(c *carrier, res mcp.Result) *wire.Encoded {
	r, ok := res.(*mcp.CallToolResult)
	if !ok || c.report.Content == nil || !hasResultType ||
		len(b.Middleware) > 0 || !contains(r, c.report.Content) {
		return nil
	}
	content := c.report.Content
	if b.Adopted {
		// The middleware of an adopted server may have written to the bytes of the content.
		if !json.Valid(content.JSON) || !utf8.Valid(content.JSON) {
			return nil
		}
		content = wire.NewContent(content.JSON)
	}
	body := content.Whole
	resultType := reflect.ValueOf(r).Elem().Field(resultTypeField.Index[0]).String()
	if resultType != "" {
		body = append(append(append(body, `,"resultType":"`...), resultType...), '"')
	}
	return &wire.Encoded{Body: append(body, '}')}
}

// contains reports whether a result contains a content as it was made, and nothing else.
func contains(r *mcp.CallToolResult, content *wire.Content) bool {
	if r == nil || content.Whole == nil || r.Meta != nil || r.IsError ||
		r.InputRequests != nil || r.RequestState != "" {
		return false
	}
	if own, ok := r.StructuredContent.(*wire.Content); ok {
		return own == content && len(r.Content) == 0
	}
	raw, ok := r.StructuredContent.(json.RawMessage)
	if !ok || len(raw) != len(content.JSON) || &raw[0] != &content.JSON[0] || len(r.Content) != 1 {
		return false
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	return ok && text != nil && text.Meta == nil && text.Annotations == nil &&
		text.Text == string(raw)
}
