package debugtools

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPHeaders is the HTTP request by which a call came.
type HTTPHeaders struct {
	// Available says whether the call came by HTTP. If not, message says so and all else is empty.
	Available bool   `json:"available"`
	Message   string `json:"message,omitempty"`
	// Headers by name, with a mask in the place of credentials and other secrets. The values of one that was sent more than
	// once are joined by commas.
	Headers map[string]string `json:"headers"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	// QueryString is as it was sent, but for secrets.
	QueryString string `json:"queryString"`
}

// GetHTTPHeaders returns the headers, method, path and query string of the HTTP request by which this call has come, with secrets masked.
//
//mcp:tool readonly denial=conceal title="HTTP headers of this request"
func (i *Inspector) GetHTTPHeaders(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (*mcp.CallToolResult, HTTPHeaders, error) {
	req, mask := i.look(ctx)
	out := HTTPHeaders{Headers: map[string]string{}}
	if req.HTTP == nil {
		out.Message = noHTTP
		return indented(out)
	}
	out.Available = true
	out.Method, out.Path, out.QueryString = req.HTTP.Method, mask.Text(req.HTTP.Path), mask.Query(req.HTTP.Query)
	for name, values := range mask.Header(req.HTTP.Header) {
		out.Headers[mask.Text(name)] = strings.Join(values, ", ") // RFC 9110, section 5.3
	}
	return indented(out)
}
