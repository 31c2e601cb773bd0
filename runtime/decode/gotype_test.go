package decode

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// touchy accepts true, refuses false and panics for other values.
type touchy bool

func (t *touchy) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true":
		return nil
	case "false":
		return errors.New("false")
	}
	panic("touchy")
}

type typed struct {
	Name   string           `json:"name,omitempty"`
	Count  int8             `json:"count"`
	Share  *float32         `json:"share"`
	On     bool             `json:"on"`
	List   []string         `json:"list"`
	Counts map[string]int64 `json:"counts"`
	Any    any              `json:"any"`
	Raw    json.RawMessage  `json:"raw"`
	Own    touchy           `json:"own"`
	Plain  string
	Hidden string `json:"-"`
	hidden string
}

func TestValuesFitGoTypes(t *testing.T) {
	words := map[reflect.Type]string{reflect.TypeFor[touchy](): "is false"}
	want := GoTypeOf(reflect.TypeFor[typed](), words)
	for doc, message := range map[string]string{
		`null`: ``,
		`{"name":"x","count":-128,"share":1e30,"on":true,"list":["a",null],"counts":{"a":1}}`: ``,
		`{"any":[1,{"a":"b"}],"raw":{"a":1e999},"own":true,"more":7,"Hidden":7,"hidden":7}`:   ``,
		`[]`:                       `: is an array, expected an object`,
		`{"name":7,"on":"x"}`:      `/name: is a number, expected a string|/on: is a string, expected a boolean`,
		`{"count":128}`:            `/count: is not an integer in range`,
		`{"count":1.5}`:            `/count: is not an integer in range`,
		`{"share":1e39}`:           `/share: ` + FloatRangeMessage(32),
		`{"list":["a",1]}`:         `/list/1: is a number, expected a string`,
		`{"counts":{"a/b":true}}`:  `/counts/a~1b: is a boolean, expected an integer`,
		`{"any":[1,{"a":1e999}]}`:  `/any/1/a: ` + FloatRangeMessage(64),
		`{"own":false,"Plain":[]}`: `/own: is false|/Plain: is an array, expected a string`,
		`{"own":7}`:                `/own: is false`,
	} {
		var got []string
		for _, p := range want.Check(Value(doc)) {
			got = append(got, p.Pointer+": "+p.Message)
		}
		if got := strings.Join(got, "|"); got != message {
			t.Errorf("%s: %s, want %s", doc, got, message)
		}
	}
	if got := GoTypeOf(reflect.TypeFor[touchy](), nil).Check(Value(`false`)); len(got) != 1 ||
		got[0].Message != RefusedMessage {
		t.Error(got)
	}
	many := Value("[" + strings.Repeat("1,", 10*MaxProblems) + "1]")
	if got := GoTypeOf(reflect.TypeFor[[]string](), nil).Check(many); len(got) != MaxProblems+1 {
		t.Errorf("%d problems", len(got))
	}
	_ = typed{}.hidden
}
