package invoke

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// textIn returns the string of a string type.
func textIn(out any) (text string, err error) {
	if isolated, ok := out.(json.RawMessage); ok {
		err = json.Unmarshal(isolated, &text)
		return text, err
	}
	if v := reflect.ValueOf(out); v.Kind() == reflect.String {
		return v.String(), nil
	}
	return "", fmt.Errorf("an output of type %T, which is not text", out)
}

// contents makes a result of an output that is content.
func (c *call) contents(out any) (*mcp.CallToolResult, error) {
	isolated, isIsolated := out.(json.RawMessage)
	switch {
	case c.tool.Returns == toolset.Bytes:
		data, isBytes := out.([]byte)
		if isIsolated {
			if err := json.Unmarshal(isolated, &data); err != nil {
				return nil, err
			}
		} else if !isBytes {
			return nil, fmt.Errorf("an output of type %T, which is not bytes", out)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{c.media(data)}}, nil
	case c.tool.Returns == toolset.SDKResult:
		res, ok := out.(*mcp.CallToolResult)
		switch {
		case !ok:
			return nil, fmt.Errorf("a result of type %T", out)
		case res == nil:
			res = &mcp.CallToolResult{}
		case res.InputRequests != nil:
			return nil, errors.New("a result with input requests, whose responses the handler cannot " +
				"read: take *mcp.CallToolRequest, or use runtime.Elicit")
		}
		return res, nil
	case isIsolated:
		if len(isolated) > 0 && isolated[0] != '[' {
			isolated = slices.Concat(json.RawMessage{'['}, isolated, json.RawMessage{']'})
		}
		res := &mcp.CallToolResult{}
		err := json.Unmarshal(slices.Concat([]byte(`{"content":`), isolated, []byte{'}'}), res)
		return res, err
	}
	list, err := contentsOf(out)
	return &mcp.CallToolResult{Content: list}, err
}

// contentsOf returns an output that is one content, or a slice of a content type.
func contentsOf(out any) (contents []mcp.Content, err error) {
	if one, ok := out.(mcp.Content); ok {
		return []mcp.Content{one}, nil
	}
	list := reflect.ValueOf(out)
	if list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("an output of type %T, which is not content", out)
	}
	for i := range list.Len() {
		one, _ := list.Index(i).Interface().(mcp.Content) // nil is an error of the caller's
		contents = append(contents, one)
	}
	return contents, nil
}

// media returns bytes as the content that their type has in the protocol.
func (c *call) media(data []byte) mcp.Content {
	mediaType := c.tool.MIMEType
	switch kind, _, _ := strings.Cut(mediaType, "/"); strings.ToLower(kind) {
	case "image":
		return &mcp.ImageContent{Data: data, MIMEType: mediaType}
	case "audio":
		return &mcp.AudioContent{Data: data, MIMEType: mediaType}
	case "text":
		if utf8.Valid(data) {
			return embedded(&mcp.ResourceContents{Text: string(data)}, c.name, mediaType)
		}
	}
	if data == nil {
		data = []byte{} // nil would be a resource of text
	}
	return embedded(&mcp.ResourceContents{Blob: data}, c.name, mediaType)
}

// embedded completes a resource. The protocol requires a URI, which nobody can read by.
func embedded(r *mcp.ResourceContents, tool, mediaType string) mcp.Content {
	r.URI, r.MIMEType = "tool:"+tool, mediaType
	return &mcp.EmbeddedResource{Resource: r}
}
