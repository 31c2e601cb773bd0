package toollist

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The text of a server's error does not reach a terminal as it is.
func TestErrorsOfServersArePrintable(t *testing.T) {
	err := errors.New("no \"tool\": \x1b[2J\u202e")
	got := NetworkError(t.Context(), err)
	if want := `no "tool": \x1b[2J\u202e`; got.Error() != want || !errors.Is(got, err) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPrintedTextsOfServersAreInert(t *testing.T) {
	var b strings.Builder
	list := List{Tools: []Tool{{Name: "a\x1b", Description: "one\x1b[2J\ntwo",
		InputSchema: json.RawMessage(`{"properties":{"n\u001b":{"type":"integer"}}}`)}}}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "x\u202e\ny"},
		&mcp.ResourceLink{URI: "a:b", Name: "c"}}}
	if err := errors.Join(list.Print(&b), PrintResult(&b, result)); err != nil {
		t.Fatal(err)
	}
	result.StructuredContent = json.RawMessage(`{"big":12345678901234567890}`)
	if err := PrintResult(&b, result); err != nil {
		t.Fatal(err)
	}
	want := `a\x1b  n\x1b=integer  one\u001b[2J` + "\n" + `x\u202e` + "\ny\n" +
		`{"type":"resource_link","uri":"a:b","name":"c"}` + "\n" +
		"{\n  \"big\": 12345678901234567890\n}\n"
	if b.String() != want {
		t.Errorf("got\n%q\nwant\n%q", b.String(), want)
	}
}
