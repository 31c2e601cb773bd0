package runtime

//lint:file-ignore SA1019 sampling and roots are deprecated in 2026-07-28, and still in use

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
)

// The errors of [Elicit], [Sample] and [Roots], to compare with errors.Is. A handler that returns
// one of the last three ends its call with an error that names the missing MCP capability.
var (
	ErrDeclined        = invoke.ErrDeclined        // the person has declined or cancelled
	ErrCannotElicit    = invoke.ErrCannotElicit    // the client does not support forms
	ErrCannotSample    = invoke.ErrCannotSample    // the client does not support sampling
	ErrCannotListRoots = invoke.ErrCannotListRoots // the client does not support roots
)

// Elicit asks the person at the client of a call to fill in a form, in every version of MCP.
// The fields of the form are those of the struct T, of types such as string, int, float64 and bool.
// A jsonschema tag describes a field, and json:",omitempty" makes it optional.
//
// Without an answer Elicit returns an error that the handler has to return, as it is or wrapped.
// The handler then runs again with the answer, from its beginning and with all checks: change
// nothing before Elicit. The key distinguishes the questions of one handler. The answer fits the
// form, but the client can invent it: it is no proof of a person's consent.
//
// The handler needs elicits in its //mcp:tool, //mcp:prompt or //mcp:resource.
func Elicit[T any](ctx context.Context, key, message string) (answer T, err error) {
	form, err := invoke.Form(reflect.TypeFor[T]())
	if err != nil {
		return answer, err
	}
	return ElicitForm[T](ctx, key, message, form)
}

// ElicitForm is [Elicit] with a schema by hand, which may have enums, formats and limits. A form is
// flat: it has no objects, and lists of choices only. T can be any type that the answer decodes
// into, as map[string]any.
func ElicitForm[T any](ctx context.Context, key, message string,
	form json.RawMessage) (answer T, err error) {
	text, err := invoke.Elicit(ctx, key, message, form)
	if err == nil {
		err = json.Unmarshal(text, &answer)
	}
	return answer, err
}

// Sample asks the model at the client for a message, in every version of MCP. Like [Elicit] it
// returns an error without an answer, and then the handler runs again from its beginning: change
// nothing before Sample. The client can invent the message.
func Sample(ctx context.Context, key string,
	params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return invoke.Sample(ctx, key, params)
}

// Roots asks the client for the folders that it works in, in every version of MCP. Like [Elicit] it
// returns an error without an answer, and then the handler runs again from its beginning: change
// nothing before Roots. The client can invent the folders: they permit nothing.
func Roots(ctx context.Context) ([]*mcp.Root, error) { return invoke.Roots(ctx) }
