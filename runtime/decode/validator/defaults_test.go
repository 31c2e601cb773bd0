package validator

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
)

func TestDefaultsOfAbsentProperties(t *testing.T) {
	for _, c := range []struct{ name, schema, doc, want string }{
		{"absent", `{"properties":{"n":{"default":7}}}`, `{}`, `{"n":7}`},
		{"present", `{"properties":{"n":{"default":7}}}`, `{"n":1}`, `{"n":1}`},
		{"null is present", `{"properties":{"n":{"default":7}}}`, `{"n":null}`, `{"n":null}`},
		{"every kind", `{"properties":{"a":{"default":null},"b":{"default":[1,{"x":"y"}]},"c":{"default":{"z":false}}}}`, `{}`, `{"a":null,"b":[1,{"x":"y"}],"c":{"z":false}}`},
		{"nested object", `{"properties":{"o":{"properties":{"n":{"default":7}}}}}`, `{"o":{}}`, `{"o":{"n":7}}`},
		{"nested object that is absent", `{"properties":{"o":{"properties":{"n":{"default":7}}}}}`, `{}`, `{}`},
		{"items", `{"properties":{"l":{"items":{"properties":{"n":{"default":7}}}}}}`, `{"l":[{},{"n":1},3]}`, `{"l":[{"n":7},{"n":1},3]}`},
		{"prefixItems", `{"properties":{"l":{"prefixItems":[{"properties":{"n":{"default":7}}}],"items":{"properties":{"m":{"default":8}}}}}}`, `{"l":[{},{}]}`, `{"l":[{"n":7},{"m":8}]}`},
		{"prefixItems alone", `{"properties":{"l":{"prefixItems":[{"properties":{"n":{"default":7}}}]}}}`, `{"l":[{},{}]}`, `{"l":[{"n":7},{}]}`},
		{"additionalProperties", `{"properties":{"p":{}},"additionalProperties":{"properties":{"n":{"default":7}}}}`, `{"x":{},"p":{}}`, `{"p":{},"x":{"n":7}}`},
		{"patternProperties", `{"patternProperties":{"^x":{"properties":{"n":{"default":7}}}},"additionalProperties":{"properties":{"m":{"default":8}}}}`, `{"x":{},"y":{}}`, `{"x":{"n":7},"y":{"m":8}}`},
		{"reference", `{"properties":{"o":{"$ref":"#/$defs/O"}},"$defs":{"O":{"properties":{"n":{"default":7}}}}}`, `{"o":{}}`, `{"o":{"n":7}}`},
		{"default of the reference", `{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"default":7}}}`, `{}`, `{"n":7}`},
		{"default beside a reference wins", `{"properties":{"n":{"$ref":"#/$defs/N","default":1}},"$defs":{"N":{"default":7}}}`, `{}`, `{"n":1}`},
		{"root reference", `{"$ref":"#/$defs/O","$defs":{"O":{"properties":{"n":{"default":7}}}}}`, `{}`, `{"n":7}`},
		{"recursion", `{"properties":{"n":{"default":7},"next":{"$ref":"#"}}}`, `{"next":{"next":{"n":1}}}`, `{"n":7,"next":{"n":7,"next":{"n":1}}}`},
		{"allOf", `{"allOf":[{"properties":{"n":{"default":7}}},{"properties":{"n":{"default":8},"m":{"default":9}}}]}`, `{}`, `{"m":9,"n":7}`},
		{"the schema before its parts", `{"allOf":[{"properties":{"n":{"default":7}}}],"properties":{"n":{"default":1}}}`, `{}`, `{"n":1}`},
		{"anyOf", `{"properties":{"o":{"anyOf":[{"required":["x"],"properties":{"n":{"default":1}}},{"properties":{"n":{"default":2}}}]}}}`, `{"o":{}}`, `{"o":{"n":2}}`},
		{"oneOf with null", `{"properties":{"o":{"oneOf":[{"type":"null"},{"type":"object","properties":{"n":{"default":7}}}]},"p":{"oneOf":[{"type":"null"},{"type":"object","properties":{"n":{"default":7}}}]}}}`, `{"o":{},"p":null}`, `{"o":{"n":7},"p":null}`},
		{"then", `{"if":{"required":["x"]},"then":{"properties":{"n":{"default":1}}},"else":{"properties":{"n":{"default":2}}}}`, `{"x":0}`, `{"n":1,"x":0}`},
		{"else", `{"if":{"required":["x"]},"then":{"properties":{"n":{"default":1}}},"else":{"properties":{"n":{"default":2}}}}`, `{}`, `{"n":2}`},
		{"no else", `{"if":{"required":["x"]},"then":{"properties":{"n":{"default":1}}}}`, `{}`, `{}`},
		{"a default is not completed", `{"properties":{"o":{"default":{},"properties":{"n":{"default":7}}}}}`, `{}`, `{"o":{}}`},
		{"a default does not choose a branch", `{"properties":{"n":{"default":7}},"anyOf":[{"required":["n"],"properties":{"m":{"default":1}}},{"properties":{"m":{"default":2}}}]}`, `{}`, `{"m":2,"n":7}`},
		{"a recursive default ends", `{"allOf":[{"properties":{"c":{"default":{}}}},{"properties":{"c":{"$ref":"#"}}}]}`, `{}`, `{"c":{}}`},
		{"a cycle of references for a default", `{"properties":{"a":{"$ref":"#/$defs/A"},"n":{"default":7}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `{}`, `{"n":7}`},
		{"not under not", `{"not":{"required":["x"],"properties":{"n":{"default":7}}}}`, `{}`, `{}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := decoded[map[string]any](c.schema, c.doc); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestDefaultsFitTheGoTypeLikeAnyValue(t *testing.T) {
	type in struct {
		N    int    `json:"n"`
		Name string `json:"name"`
		List []int  `json:"list"`
	}
	schema := `{"properties":{"n":{"type":"integer","default":5.0},"name":{"default":"<&>"},"list":{"default":[1,2]}}}`
	if got, want := decoded[in](schema, ``), `{"n":5,"name":"\u003c\u0026\u003e","list":[1,2]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestADefaultIsNotSharedBetweenCalls(t *testing.T) {
	type in struct {
		O map[string]any `json:"o"`
		L []int          `json:"l"`
	}
	decoder := decoderOf[in](`{"properties":{"o":{"default":{"a":[1]}},"l":{"default":[1]}}}`)
	want := in{map[string]any{"a": []any{1.0}}, []int{1}}
	for range 3 {
		got, err := decoder(nil)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, %v", got, err)
		}
		got.O["a"].([]any)[0] = "changed"
		got.L[0] = 99
	}
}

func TestOneDecoderServesManyCallsAtOnce(t *testing.T) {
	type in struct {
		N    int            `json:"n"`
		M    int            `json:"m"`
		Next *in            `json:"next"`
		O    map[string]int `json:"o"`
	}
	decoder := decoderOf[in](`{"type":"object","properties":{"n":{"type":"integer","maximum":50},"m":{"default":1.0},
		"next":{"oneOf":[{"$ref":"#"},{"type":"null"}]},"o":{"default":{"a":1},"propertyNames":{"maxLength":1}}}}`)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 50 {
				n := i*50 + j
				doc, _ := json.Marshal(map[string]any{"n": n, "next": map[string]any{"N": 3}})
				got, err := decoder(doc)
				switch {
				case n > 50 && err == nil:
					t.Errorf("%s was accepted", doc)
				case n <= 50 && (err != nil || got.N != n || got.M != 1 || got.Next.M != 1 || got.Next.N != 0 || got.O["a"] != 1):
					t.Errorf("%s: got %+v, %v", doc, got, err)
				}
			}
		})
	}
	wait.Wait()
}
