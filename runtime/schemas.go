package runtime

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// schemas is what was read of the schemas of a server while it is put together, by their text: tools of one type
// share them.
type schemas struct {
	inputs  map[string]inputSchema
	outputs map[string]outputSchema
}

// inputSchema is what a server needs to know of a tool's input.
type inputSchema struct {
	invalid error
	headers []headerBinding
	unbound error // why there are no headers
}

// outputSchema is what a server needs to know of a tool's output.
type outputSchema struct {
	shape   *decode.Shape
	invalid error
}

func newSchemas() schemas {
	return schemas{inputs: map[string]inputSchema{}, outputs: map[string]outputSchema{}}
}

func (s schemas) input(text string) inputSchema {
	read, known := s.inputs[text]
	if !known {
		if read.invalid = checkInput(text); read.invalid == nil {
			read.headers, read.unbound = headerBindings(text)
		}
		s.inputs[text] = read
	}
	return read
}

func (s schemas) output(text string) outputSchema {
	read, known := s.outputs[text]
	if !known {
		read.shape, read.invalid = decode.ParseShape(text)
		s.outputs[text] = read
	}
	return read
}

func checkInput(text string) error {
	var input struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(text), &input); err != nil {
		return fmt.Errorf("its input schema is not JSON (%w): run go generate", err)
	}
	if input.Type != "object" {
		return errors.New(`its input schema is not of type "object": run go generate`)
	}
	return nil
}
