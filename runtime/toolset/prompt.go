package toolset

import (
	"context"
	"time"
)

// Prompt is one prompt: its listing and its handler.
type Prompt struct {
	Name, Title, Description string
	Arguments                []Argument
	Timeout                  time.Duration
	NonBlocking              bool // as of a Tool
	Elicits                  bool // the handler may ask the client: elicitation, sampling or roots
	// Get is the handler. The arguments of its call are a JSON object of strings.
	Get func(context.Context, Call) (PromptResult, error)
}

// Argument is an argument of a prompt. In the protocol each argument is a string.
type Argument struct {
	Name, Title, Description string
	Required                 bool
	Values                   []string  // the completions if Complete is nil; nil for any text
	Complete                 Completer // of //mcp:complete
}

// Completer completes the beginning of an argument's value.
type Completer func(ctx context.Context, begun string) ([]string, error)

// PromptResult is the result of a prompt's handler. Generated code writes it with one of the
// constructors; the server reads it.
type PromptResult struct {
	Native bool // the handler returned Result
	// Result is a *mcp.GetPromptResult, a mcp.Content or a slice of these; set if Native.
	Result any
	Text   string // set otherwise: the one message
}

// PromptText returns a prompt of one message from the user.
func PromptText(text string, err error) (PromptResult, error) {
	return PromptResult{Text: text}, err
}

// PromptNative returns a prompt that the handler made with go-sdk's types. Contents become messages
// from the user.
func PromptNative(res any, err error) (PromptResult, error) {
	return PromptResult{Native: true, Result: res}, err
}
