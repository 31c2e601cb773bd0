package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"
)

// What a result repeats of an output is edited, and everything else stays as it is.
func TestContentOfAResultIsEdited(t *testing.T) {
	edit := func(doc []byte) ([]byte, error) {
		if bytes.Contains(doc, []byte("bad")) {
			return nil, errors.New("unreadable")
		}
		return bytes.ReplaceAll(doc, []byte(`,"pay":1`), nil), nil
	}
	for result, want := range map[string]string{
		`{}`:                                    `{}`,
		`{"structuredContent":{"a":1,"pay":1}}`: `{"structuredContent":{"a":1}}`,
		`{"_meta":{"a":1,"pay":1},"resultType":"complete","isError":true}`: "",
		`{"content":[{"type":"text","text":"{\"a\":1,\"pay\":1}"},{"type":"text","text":"a,` +
			`\"pay\":1"}]}`: `{"content":[` +
			`{"type":"text","text":"{\"a\":1}"},{"type":"text","text":"a,\"pay\":1"}]}`,
		`{"content":[{"text":"[{\"a\":\"\u003c\",\"pay\":1}]"},{"text":"[\"\u003c\"]"},` +
			`{"data":"[]"}]}`: `{"content":[` +
			`{"text":"[{\"a\":\"<\"}]"},{"text":"[\"\u003c\"]"},{"data":"[]"}]}`,
		`{"content":"a","\"":1}`:               "",
		`{"structuredContent":"bad"}`:          "error",
		`{"content":[{"text":"{\"bad\":1}"}]}`: "error",
		`{"content":[1]}`:                      "error",
		`[]`:                                   "error",
	} {
		got, err := EditContent([]byte(result), edit)
		switch {
		case want == "error":
			if err == nil {
				t.Errorf("%s becomes %s", result, got)
			}
			continue
		case want == "":
			want = result
		}
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s, %v, want %s", result, got, err, want)
		}
		message := `{"jsonrpc":"2.0","id":"7","result":`
		if got := string(EditResult([]byte(message+result+"}"), func(result []byte) ([]byte, error) {
			return EditContent(result, edit)
		})); got != message+want+"}" {
			t.Errorf("the message with %s becomes %s", result, got)
		}
	}
	failing := func([]byte) ([]byte, error) { return nil, errors.New("secret") }
	const broken = `{"jsonrpc":"2.0","id":"7","error":{"code":-32603,"message":"internal error"}}`
	if got := string(EditResult([]byte(`{"id":"7","result":{}}`), failing)); got != broken {
		t.Errorf("a failed edit becomes %s", got)
	}
	const notification = `{"jsonrpc":"2.0","method":"a","params":{"result":1}}`
	if got := string(EditResult([]byte(notification), failing)); got != notification {
		t.Errorf("a notification becomes %s", got)
	}
}

// An edit that changes nothing keeps all bytes of each result that the server encodes.
func TestEditedResultIsTheEncodedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := drawAny(t, 0)
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text},
			&mcp.ImageContent{Data: []byte(text), MIMEType: "image/png"}},
			IsError: rapid.Bool().Draw(t, "error"), Meta: mcp.Meta{"a": text}}
		if json.Valid([]byte(text)) {
			res.StructuredContent = json.RawMessage(text)
		}
		e, err := EncodeResult(res)
		if err != nil {
			t.Skip(err)
		}
		want := string(e.Append(nil))
		edited := 0
		got, err := EditContent([]byte(want), func(doc []byte) ([]byte, error) {
			edited++
			if !json.Valid(doc) {
				t.Errorf("%s is edited", doc)
			}
			return doc, nil
		})
		if err != nil || string(got) != want {
			t.Errorf("%s becomes\n%s, %v", want, got, err)
		}
		if n := strings.Count(want, `"structuredContent":`); edited < n {
			t.Errorf("%d edits of %s", edited, want)
		}
	})
}
