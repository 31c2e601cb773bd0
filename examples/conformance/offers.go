package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

// TestSimplePrompt has no arguments.
//
//mcp:prompt
func TestSimplePrompt(context.Context) (string, error) {
	return "This is a simple prompt for testing.", nil
}

// TestPromptWithArguments contains its arguments.
//
//mcp:prompt
func TestPromptWithArguments(_ context.Context, arg1, arg2 string) (string, error) {
	return fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", arg1, arg2), nil
}

// CompleteArg1 completes arg1.
//
//mcp:complete ref=test_prompt_with_arguments argument=arg1
func CompleteArg1(_ context.Context, begun string) ([]string, error) {
	return []string{begun + "1", begun + "2"}, nil
}

// CompleteArg2 completes arg2 to a value that begins with arg1.
//
//mcp:complete ref=test_prompt_with_arguments argument=arg2
func CompleteArg2(ctx context.Context, begun string) ([]string, error) {
	return []string{runtime.CompletionArguments(ctx)["arg1"] + begun}, nil
}

// ResourceURI is the input of [TestPromptWithEmbeddedResource].
type ResourceURI struct {
	ResourceURI string `json:"resourceUri"`
}

// TestPromptWithEmbeddedResource contains a resource.
//
//mcp:prompt
func TestPromptWithEmbeddedResource(_ context.Context, in ResourceURI) ([]mcp.Content, error) {
	return []mcp.Content{embedded(in.ResourceURI, "Embedded resource content for testing."),
		text("Please process the embedded resource above.")}, nil
}

// TestPromptWithImage contains an image.
//
//mcp:prompt
func TestPromptWithImage(context.Context) ([]mcp.Content, error) {
	return []mcp.Content{image(), text("Please analyze the image above.")}, nil
}

// StaticText is a text.
//
//mcp:resource uri=test://static-text mimetype=text/plain
func StaticText(context.Context) (string, error) {
	return "This is the content of the static text resource.", nil
}

// StaticBinary is an image.
//
//mcp:resource uri=test://static-binary mimetype=image/png
func StaticBinary(context.Context) ([]byte, error) { return png, nil }

// Template contains the variable of its URI.
//
//mcp:resource uri=test://template/{id}/data mimetype=application/json
func Template(_ context.Context, id string) (string, error) {
	return fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id), nil
}

// WatchedResource is what the suite subscribes to.
//
//mcp:resource uri=test://watched-resource mimetype=text/plain subscribe
func WatchedResource(context.Context) (string, error) { return "Watched resource content", nil }
