package invoke

import (
	"reflect"
	"strings"
	"testing"
)

func TestFormHasPlainFieldsAndSmallNumbers(t *testing.T) {
	type color string
	for _, test := range []struct{ form, want any }{
		{struct {
			A int64   `json:"a" jsonschema:"Amount"`
			B uint64  `json:"b,omitempty"`
			C color   `json:"c"`
			D float32 `json:"d"`
			E bool    `json:"e"`
			F int8    `json:"f"`
		}{}, `{"type":"object","properties":{` +
			`"a":{"type":"integer","description":"Amount"},"b":{"type":"integer","minimum":0},` +
			`"c":{"type":"string"},"d":{"type":"number"},"e":{"type":"boolean"},` +
			`"f":{"type":"integer","minimum":-128,"maximum":127}},` +
			`"required":["a","c","d","e","f"]}`},
		{struct{ A *int }{}, "A is neither a string, a number nor a bool"},
		{struct{ A struct{} }{}, "A is neither a string, a number nor a bool"},
		{struct{ A chan int }{}, "the form "},
		{map[string]string{}, "and map[string]string is not"},
	} {
		text, err := Form(reflect.TypeOf(test.form))
		if got := string(text); err == nil && got != test.want {
			t.Errorf("%T: %s", test.form, got)
		} else if err != nil && !strings.Contains(err.Error(), test.want.(string)) {
			t.Errorf("%T: %v", test.form, err)
		}
	}
}
