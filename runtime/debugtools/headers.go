package debugtools

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPHeaders contains the HTTP request of a call.
type HTTPHeaders struct {
	// Available is true if the call came over HTTP. If not, message contains the reason and the
	// other fields are empty.
	Available bool   `json:"available"`
	Message   string `json:"message,omitempty"`
	// Headers by name, with credentials and other secrets masked. Several values of a header are
	// joined by commas.
	Headers map[string]string `json:"headers"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	// QueryString is the query string as sent, with secrets masked.
	QueryString string `json:"queryString"`
}

// GetHTTPHeaders returns the headers, method, path and query string of the HTTP request of this
// call, with secrets masked.
//
//mcp:tool readonly denial=conceal title="HTTP headers of this request"
func (i *Inspector) GetHTTPHeaders(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (
	*mcp.CallToolResult, HTTPHeaders, error,
) {
	req, mask := i.look(ctx)
	out := HTTPHeaders{Headers: map[string]string{}}
	if req.HTTP == nil {
		out.Message = noHTTP
		return indented(out)
	}
	out.Available = true
	out.Method, out.Path = req.HTTP.Method, mask.Text(req.HTTP.Path)
	out.QueryString = mask.Query(req.HTTP.Query)
	for name, values := range mask.Header(req.HTTP.Header) {
		out.Headers[mask.Text(name)] = strings.Join(values, ", ") // RFC 9110, section 5.3
	}
	return indented(out)
}
