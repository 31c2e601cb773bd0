package ordered_test

import (
	"testing"

	"github.com/mcpgen/mcpgen/generator/internal/ordered"
)

func TestAnObjectKeepsItsOrder(t *testing.T) {
	const text = ` {"b" : [1, {"x": "<"}], "a\"": null, "b": 2} `
	o, err := ordered.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(o.Text()), `{"b":[1,{"x":"<"}],"a\"":null,"b":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(o.Find("b")); got != `[1,{"x":"<"}]` || o.Find("c") != nil {
		t.Errorf("b is %s, c is %s", got, o.Find("c"))
	}
	if first, last := text[o[0].At:][:3], text[o[2].At:]; first != `"b"` || last != `"b": 2} ` {
		t.Errorf("the names begin at %q and %q", first, last)
	}
	if got := string(ordered.Object{}.Text()); got != "{}" {
		t.Errorf("the empty object is %s", got)
	}
}

func TestOtherValuesAreErrors(t *testing.T) {
	for _, text := range []string{"", "[]", "null", `{"a"`, `{"a":`, `{1:2}`} {
		if o, err := ordered.Read([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, o)
		}
	}
}
