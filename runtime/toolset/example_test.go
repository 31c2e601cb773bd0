package toolset_test

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// A field that tells absent from null, for partial updates.
func ExampleOptional() {
	type patch struct {
		Note toolset.Optional[string] `json:"note"`
	}
	handler := func(ctx context.Context, in patch) (string, error) {
		switch {
		case !in.Note.Present:
			return "the note stays", nil
		case in.Note.Null:
			return "the note is removed", nil
		}
		return "the note is " + in.Note.Value, nil
	}
	for _, in := range []patch{{}, {toolset.Optional[string]{Present: true, Null: true}},
		{toolset.Optional[string]{Present: true, Value: "new"}}} {
		text, _ := handler(context.Background(), in)
		fmt.Println(text)
	}
	// Output:
	// the note stays
	// the note is removed
	// the note is new
}
