package document_test

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/document"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// TestDigestCoversThePermission has rules whose permissions have the same text. The table of the
// server has their verb, action and object.
func TestDigestCoversThePermission(t *testing.T) {
	seen := map[string]model.Access{}
	for _, access := range []model.Access{
		{Permission: "dcim.change_device", Verb: "partial_update", Action: "change", Object: "device"},
		{Permission: "dcim.change_device", Action: "change", Object: "device"},
		{Permission: "dcim.view_rack_group", Action: "view", Object: "rack_group"},
		{Permission: "dcim.view_rack_group", Action: "view_rack", Object: "group"},
	} {
		text, err := document.Manifest(model.Service{Prompts: []model.Prompt{
			{Tool: model.Tool{Name: "p", Access: access}}}})
		if err != nil {
			t.Fatal(err)
		}
		digest, err := document.Digest(text)
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[digest]; twice {
			t.Errorf("%+v and %+v have the same digest", access, other)
		}
		seen[digest] = access
	}
}

func TestDigestIsThatOfTheContent(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		d, err := document.Digest([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// The SHA-256 of {"a":[1,{"b":"<"}],"c":null}, as sha256sum computes it.
	const want = "sha256:4959cfb8272cf7cf843cadbc680de153fdf8b244526de98da1c0dc1c5514a2d1"
	const text = `{"a":[1,{"b":"<"}],"c":null}`
	for _, same := range []string{
		text, `{"c": null, "a": [1, {"b": "\u003c"}]}` + "\n",
		"{\r\n\t\"\\u0061\": [1, {\"b\": \"<\"}], \"c\": null }",
	} {
		if got := digest(same); got != want {
			t.Errorf("%s: %s", same, got)
		}
	}
	for _, other := range []string{
		`{"a":[1,{"b":"<"}]}`, `{"a":[{"b":"<"},1],"c":null}`, `{"a":[1,{"b":"< "}],"c":null}`,
		`{"a":[10000000000000000000000001,{"b":"<"}],"c":null}`,
		`{"a":[1,{"b":"<"}],"a":[1,{"b":"<"}],"c":null}`, `{"a":[1,{"b":"<","b":"<"}],"c":null}`,
		`{"a":[10000000000000000000000002,{"b":"<"}],"c":null}`, `{"a":[1,{"b":"<"}],"c":false}`,
	} {
		if digest(other) == want {
			t.Errorf("%s has the same digest", other)
		}
	}
	if digest(`[10000000000000000000000001]`) == digest(`[10000000000000000000000002]`) {
		t.Error("digits of a number do not count")
	}
	if digest(`{"a":1,"a":2}`) == digest(`{"a":2,"a":1}`) {
		t.Error("the order of equal keys does not count")
	}
}

func TestDigestNeedsOneSoundDocument(t *testing.T) {
	for text, want := range map[string]string{
		``:                          "unexpected end",
		`{"a":1`:                    "unexpected end",
		`{} {}`:                     "after top-level value",
		strings.Repeat("[", 20_000): "exceeded max depth",
	} {
		if _, err := document.Digest([]byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%.30s: %v, want %s", text, err, want)
		}
	}
}
