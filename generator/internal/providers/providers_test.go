package providers

import (
	"slices"
	"strings"
	"testing"
)

// A test of generator/internal/systemtest compares the verdicts with the providers' libraries.
func TestCheckFindsEachPart(t *testing.T) {
	tests := []struct{ name, provider, schema, want string }{
		{"nothing", "openai", `{"type":"object","additionalProperties":false}`, ""},
		{"optional", "openai", `{"type":"object","properties":{"a/b":{"type":"string"}},
			"additionalProperties":false}`, "/properties/a~1b: the argument is optional and may not be null"},
		{"nested", "openai", `{"type":"object","properties":{"a":{"type":"array","items":
			{"type":"object","additionalProperties":true}}},"required":["a"],"additionalProperties":false}`,
			"/properties/a/items: the object is open: it takes properties of any name"},
		{"a cycle of references", "openai", `{"type":"object","$defs":{"n":{"$ref":"#/$defs/n"}},
			"properties":{"a":{"$ref":"#/$defs/n"}},"additionalProperties":false}`,
			"/properties/a: the argument is optional and may not be null"},
		{"a reference to another document", "openai", `{"type":"object","properties":
			{"a":{"$ref":"https://example.com"}},"required":["a"],"additionalProperties":false}`,
			`/properties/a: the reference "https://example.com" has no target`},
		{"properties without type", "openai", `{"type":"object","properties":{"a":{"properties":
			{"b":{"type":"string"}}}},"additionalProperties":false}`,
			"/properties/a: the argument is optional and may not be null; " +
				"/properties/a/properties/b: the argument is optional and may not be null"},
		{"any", "anthropic", `{"type":"object","properties":{"a":{"enum":[{}]},"b":{"const":[]},
			"c":{"enum":["x"]},"d":{"const":1}}}`,
			"/properties/a: the value has no type; /properties/b: the value has no type"},
		{"within a condition", "anthropic", `{"type":"object","properties":{"a":{"const":1}},"if":{},"then":true}`,
			""},
		{"a map of any", "anthropic", `{"type":"object","properties":{"a":{"type":"object"},"b":
			{"type":"object","enum":["x"]},"c":{"type":"object","additionalProperties":false}}}`,
			"/properties/a: the object is open: it takes properties of any name"},
		{"keywords", "gemini", `{"type":"object","properties":{"a":{"type":"array","items":
			{"type":"string","const":"x"}}}}`, "/properties/a/items: the keyword const is not supported"},
		{"a dialect", "gemini", `{"$schema":"x","type":"object","properties":{"a":{"const":1}}}`, ""},
	}
	for _, test := range tests {
		problems, err := Check(test.provider, "tool", []byte(test.schema))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range problems {
			got = append(got, p.Pointer+": "+p.Message)
			if p.Cure == "" {
				t.Errorf("%s: %s has no cure", test.name, p.Message)
			}
		}
		if text := strings.Join(got, "; "); text != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.name, text, test.want)
		}
	}
}

func TestCheckRefusesAnUnknownProviderAndBadJSON(t *testing.T) {
	if _, err := Check("cohere", "tool", []byte("{}")); err == nil ||
		!strings.Contains(err.Error(), "write anthropic, gemini, openai") {
		t.Error(err)
	}
	if _, err := Check("openai", "tool", []byte("{")); err == nil {
		t.Error("no error")
	}
	if want := []string{"anthropic", "gemini", "openai"}; !slices.Equal(Names(), want) {
		t.Errorf("%q", Names())
	}
}
