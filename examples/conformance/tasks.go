package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
)

// The tools below are those of the scenarios of the extension io.modelcontextprotocol/tasks.

// Greet returns a greeting at once.
//
//mcp:tool output=text
func Greet(_ context.Context, name string) (string, error) { return "Hello, " + name + "!", nil }

// SlowCompute waits for some seconds.
//
//mcp:tool output=text task
//mcp:limit timeout=2m
func SlowCompute(ctx context.Context, seconds int, label string) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Duration(seconds) * time.Second):
		return fmt.Sprintf("%s: %d seconds", label, seconds), nil
	}
}

// FailingJob fails after a second.
//
//mcp:tool task=required
func FailingJob(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
		return errors.New("the job has failed")
	}
}

// ProtocolErrorJob fails with an error of JSON-RPC.
//
//mcp:tool task
func ProtocolErrorJob(context.Context) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job has crashed"}
}

type confirmation struct {
	Confirm bool `json:"confirm" jsonschema:"delete the file"`
}

// ConfirmDelete deletes a file if the user agrees.
//
//mcp:tool output=text elicits task
func ConfirmDelete(ctx context.Context, filename string) (string, error) {
	answer, err := runtime.Elicit[confirmation](ctx, "confirm", "Delete "+filename+"?")
	if err != nil || !answer.Confirm {
		return filename + " was kept.", err
	}
	return filename + " was deleted.", nil
}

// MultiInput requests two names at once.
//
//mcp:tool task
func MultiInput(_ context.Context, req *mcp.CallToolRequest,
	_ Nothing) (*mcp.CallToolResult, any, error) {
	first, second := field(req, "first", "name"), field(req, "second", "name")
	if first != "" && second != "" {
		return contents(text(first + " and " + second))
	}
	return request("", mcp.InputRequestMap{"first": askName, "second": askName})
}

type person struct {
	Name string `json:"name" jsonschema:"your name"`
}

// TestToolWithTask asks for a name, and then works in a task.
//
//mcp:tool output=text elicits task=answered
func TestToolWithTask(ctx context.Context) (string, error) {
	who, err := runtime.Elicit[person](ctx, "user_name", "What is your name?")
	return "Hello, " + who.Name + "!", err
}
