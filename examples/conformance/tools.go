package main

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

//go:embed testdata/red.png
var png []byte

//go:embed testdata/silence.wav
var wav []byte

// Nothing is the input of a tool without arguments.
type Nothing struct{}

func contents(c ...mcp.Content) (*mcp.CallToolResult, any, error) {
	return &mcp.CallToolResult{Content: c}, nil, nil
}

func text(s string) *mcp.TextContent { return &mcp.TextContent{Text: s} }

func image() *mcp.ImageContent { return &mcp.ImageContent{Data: png, MIMEType: "image/png"} }

func embedded(uri, s string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{
		Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: s}}
}

// TestSimpleText returns a text.
//
//mcp:tool readonly
func TestSimpleText(context.Context) (*mcp.TextContent, error) {
	return text("This is a simple text response for testing."), nil
}

// TestImageContent returns an image.
//
//mcp:tool readonly
func TestImageContent(context.Context) (*mcp.ImageContent, error) { return image(), nil }

// TestAudioContent returns a sound.
//
//mcp:tool readonly
func TestAudioContent(context.Context) (*mcp.AudioContent, error) {
	return &mcp.AudioContent{Data: wav, MIMEType: "audio/wav"}, nil
}

// TestEmbeddedResource returns a resource.
//
//mcp:tool readonly
func TestEmbeddedResource(context.Context) (*mcp.EmbeddedResource, error) {
	return embedded("test://embedded-resource", "This is an embedded resource content."), nil
}

// TestMultipleContentTypes returns a text, an image and a resource.
//
//mcp:tool readonly
func TestMultipleContentTypes(context.Context) ([]mcp.Content, error) {
	return []mcp.Content{text("Multiple content types test:"), image(),
		embedded("test://mixed-content-resource", `{"test":"data","value":123}`)}, nil
}

// TestToolWithLogging logs three messages.
//
//mcp:tool readonly
func TestToolWithLogging(ctx context.Context) (string, error) {
	log := runtime.Logger(ctx)
	log.Info("Tool execution started")
	pause(ctx)
	log.Info("Tool processing data")
	pause(ctx)
	log.Info("Tool execution completed")
	return "The tool has logged three messages.", nil
}

// TestLoggingTool logs a message.
//
//mcp:tool readonly
func TestLoggingTool(ctx context.Context) (string, error) {
	runtime.Logger(ctx).Info("test_logging_tool was called")
	return "The tool has logged a message.", nil
}

// TestToolWithProgress reports progress three times.
//
//mcp:tool readonly
func TestToolWithProgress(ctx context.Context) (string, error) {
	progress := runtime.Progress(ctx)
	progress.Report(0, 100, "started")
	pause(ctx)
	progress.Report(50, 100, "half done")
	pause(ctx)
	progress.Report(100, 100, "done")
	return "The tool has reported its progress.", nil
}

// TestQuickProgress reports progress four times in quick succession.
//
//mcp:tool readonly
func TestQuickProgress(ctx context.Context) (string, error) {
	progress := runtime.Progress(ctx)
	for i := range 4 {
		progress.Report(float64(i+1), 4, "")
	}
	pause(ctx)
	return "The tool has reported its progress.", nil
}

// pause gives a client the time to read reports before the response.
func pause(ctx context.Context) {
	select {
	case <-time.After(60 * time.Millisecond):
	case <-ctx.Done():
	}
}

// TestStreamingElicitation reports progress and sends no request to the client.
//
//mcp:tool readonly
func TestStreamingElicitation(ctx context.Context) (string, error) {
	runtime.Progress(ctx).Report(1, 1, "done")
	return "The stream contains no request.", nil
}

// TestErrorHandling always fails.
//
//mcp:tool readonly
func TestErrorHandling(context.Context) error {
	return errors.New("this tool intentionally returns an error for testing")
}

// TestReconnection closes the stream of its call; the client gets the result on another one.
//
//mcp:tool readonly
func TestReconnection(ctx context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	}
	pause(ctx)
	return contents(text("Reconnection test completed successfully"))
}

// Contact is a person and how to reach it.
type Contact struct {
	Name          string  `json:"name,omitempty"`
	Address       Address `json:"address,omitzero"`
	ContactMethod string  `json:"contactMethod,omitempty"`
	Phone         string  `json:"phone,omitempty"`
	Email         string  `json:"email,omitempty"`
}

// Address is where a person lives.
type Address struct {
	Street string `json:"street,omitempty"`
	City   string `json:"city,omitempty"`
}

// JSONSchema has an input schema whose keywords the suite looks for in tools/list.
//
//mcp:tool name=json_schema_2020_12_tool readonly
//mcp:schema input=testdata/contact.json
func JSONSchema(_ context.Context, in Contact) (string, error) { return in.Name, nil }

// TestXMcpHeader has an argument that clients repeat in the header Mcp-Param-Region.
//
//mcp:tool readonly
func TestXMcpHeader(_ context.Context, in Mirrored) (string, error) { return in.Region, nil }

// Mirrored is the input of [TestXMcpHeader].
type Mirrored struct {
	Region string `json:"region,omitempty" jsonschema_extras:"x-mcp-header=Region"`
	Level  int    `json:"level,omitempty"`
}
