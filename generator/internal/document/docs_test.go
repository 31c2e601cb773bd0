package document

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

func TestPlainHTMLUndoesWhatEncodingJSONEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`"\u003cb\u003e \u0026"`: `"<b> &"`,
		`"\\u003c"`:              `"\\u003c"`,
		`"\\\u003c"`:             `"\\<"`,
		`"\u2028 \n \u00e9"`:     `"\u2028 \n \u00e9"`,
		`"\""`:                   `"\""`,
	} {
		if got := string(PlainHTML([]byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestDocsStandBetweenMarkers(t *testing.T) {
	part := func(text string) string {
		return beginMarker + "\n\n" + text + "\n\n" + endMarker + "\n"
	}
	for _, tc := range []struct{ name, doc, want, without string }{
		{"no file", "", part("new"), ""},
		{"a file of ours", part("old"), part("new"), ""},
		{"other text around", "# Mine\n\n" + part("old") + "\nAfter.\n", "# Mine\n\n" +
			part("new") + "\nAfter.\n", "# Mine\n\nAfter.\n"},
		{"other text before", "# Mine\n\n" + part("old"), "# Mine\n\n" + part("new"), "# Mine\n"},
		{"other text after", part("old") + "\nAfter.\n", part("new") + "\nAfter.\n", "After.\n"},
		{"other text alone", "# Mine\n", "# Mine\n\n" + part("new"), "# Mine\n"},
		{"other text without a line end", "# Mine", "# Mine\n\n" + part("new"), "# Mine\n"},
		{"carriage returns", "# Mine\r\n\r\n" + strings.ReplaceAll(part("old"), "\n", "\r\n") +
			"After.\r\n", "# Mine\r\n\r\n" + part("new") + "After.\r\n", "# Mine\n\nAfter.\r\n"},
		{"a byte order mark", "\ufeff" + part("old"), part("new"), ""},
		{"markers spoken of", "See `<!-- mcpgen:begin -->` and `<!-- mcpgen:end -->`.\n",
			"See `<!-- mcpgen:begin -->` and `<!-- mcpgen:end -->`.\n\n" + part("new"),
			"See `<!-- mcpgen:begin -->` and `<!-- mcpgen:end -->`.\n"},
		{"a begin marker of another wording", "<!-- mcpgen:begin -->\nold\n<!-- mcpgen:end -->",
			part("new"), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := merge([]byte(tc.doc), "new\n\n")
			if err != nil || string(got) != tc.want {
				t.Errorf("merged: %q, %v", got, err)
			}
			again, err := merge(got, "new")
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("merged again: %q, %v", again, err)
			}
			rest, err := WithoutDocs(got)
			if err != nil || string(rest) != tc.without || (rest == nil) != (tc.without == "") {
				t.Errorf("taken out: %q, %v", rest, err)
			}
			if kept, err := WithoutDocs(rest); err != nil || !bytes.Equal(kept, rest) {
				t.Errorf("taken out of what is without: %q, %v", kept, err)
			}
		})
	}
}

func TestMarkersThatDoNotMatchAreLeftAlone(t *testing.T) {
	for _, doc := range []string{
		"<!-- mcpgen:begin -->\ntext", "text\n<!-- mcpgen:end -->",
		"<!-- mcpgen:end -->\n<!-- mcpgen:begin -->",
		"<!-- mcpgen:begin -->\n<!-- mcpgen:begin -->\n<!-- mcpgen:end -->",
		"<!-- mcpgen:begin -->\n<!-- mcpgen:end -->\n<!-- mcpgen:end -->",
	} {
		if _, err := WithoutDocs([]byte(doc)); !errors.Is(err, ErrMarkers) {
			t.Errorf("%q: %v", doc, err)
		}
		if _, err := Docs(model.Service{Package: "m/p", Name: "p"}, []byte(doc)); !errors.Is(err,
			ErrMarkers) {
			t.Errorf("%q: %v", doc, err)
		}
	}
}

func TestAnAuthorsTextIsNoMarkup(t *testing.T) {
	in := "# no heading\n<b> and <!-- mcpgen:end -->\n\tcode <b> <!-- mcpgen:end -->\n    code " +
		"<!-- x -->   \nplain\n"
	want := "\\# no heading\n\\<b> and \\<!-- mcpgen:end -->\n\tcode <b> <!-- mcpgen:end -->\n   " +
		" code <!-- x -->\nplain"
	if got := prose(in); got != want {
		t.Errorf("got %q", got)
	}
	if got, want := prose(`\<b> \\<b> \\\<b> a\`), `\<b> \\\<b> \\\<b> a\`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var b strings.Builder
	field := &jsonschema.Schema{Type: "string", Description: "text\n\n\t<img src=x>\n    <b>"}
	object := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	object.Properties.Set("f", field)
	writeArguments(&b, object, nil)
	if got := b.String(); !strings.Contains(got, `text \<img src=x> \<b> |`) {
		t.Errorf("got %s", got)
	}
	tool := model.Tool{Name: "t", Const: "ToolT", Description: in,
		Handler: model.Handler{Name: "T"}}
	doc, err := Docs(model.Service{Package: "m/p", Name: "p", Tools: []model.Tool{tool}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if merged, err := merge(doc, "new"); err != nil || string(merged) != beginMarker+"\n\nnew\n\n"+
		endMarker+"\n" {
		t.Errorf("the next run makes %q, %v", merged, err)
	}
}
