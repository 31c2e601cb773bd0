package runtime

import (
	"encoding/json"
	"errors"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// tool is one tool as the server keeps it. Its Call is never nil.
type tool struct {
	Tool
	public  *mcp.Tool     // what lists show; shared and never written to
	output  *decode.Shape // nil without an output schema
	headers []headerBinding
}

// stub is what go-sdk gets to know of every tool. It needs no more than that for dispatch; with the
// real schema it would check headers against it before anybody has decided anything.
var stub = &jsonschema.Schema{Type: "object"}

// newTool checks a tool and reads its schemas.
func newTool(t Tool, schemas schemas) (*tool, error) {
	input := schemas.input(t.Input)
	if err := errors.Join(checkTool(t), input.invalid); err != nil {
		return nil, err
	}
	built := &tool{Tool: t, public: &mcp.Tool{
		Name:        t.Name,
		Title:       t.Title,
		Description: t.Description,
		Annotations: t.Annotations,
		InputSchema: json.RawMessage(t.Input),
	}}
	built.Timeout = toolTimeout(t)
	if t.Answer != nil {
		built.Call = t.Answer.Answer
	}
	errs := []error{input.unbound}
	if t.Output != "" {
		output := schemas.output(t.Output)
		errs = append(errs, output.invalid)
		built.output = output.shape
		built.public.OutputSchema = json.RawMessage(t.Output)
	}
	built.headers = input.headers
	return built, errors.Join(errs...)
}

// registered is the tool as go-sdk gets it.
func (t *tool) registered() *mcp.Tool {
	return &mcp.Tool{Name: t.Name, InputSchema: stub}
}
