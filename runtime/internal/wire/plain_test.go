package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// drawText makes a JSON string, of characters that readers take for each other.
func drawText(t *rapid.T) string {
	if rapid.IntRange(0, 60).Draw(t, "long") == 0 {
		return `"` + strings.Repeat("ab\\n", 1<<rapid.IntRange(0, 14).Draw(t, "length")) + `"`
	}
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "name", "_meta", `\u0061`, `\ud800`,
		`\udc00`, `\ud83d\ude00`, "é", "\u2028", `\"`, `\\`, `\/`, `\n`, `\u0000`, "}", ","}), 0, 3)
	return `"` + strings.Join(parts.Draw(t, "text"), "") + `"`
}

// drawAny makes any JSON value, and now and then what is none.
func drawAny(t *rapid.T, depth int) string {
	most := 9
	if depth > 6 {
		most = 7
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return "null"
	case 1:
		return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "boolean")
	case 2, 3:
		return rapid.SampledFrom([]string{"0", "-0", "1.5", "1e3", "1E-3", "9007199254740993", "1e308",
			"1e309", "-1e999", "1e-999", "4.9e-325", "123456789012345678901234567890", "1.0", "01",
			"+1"}).Draw(t, "number")
	case 8:
		var items []string
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, drawAny(t, depth+1))
		}
		return "[" + strings.Join(items, " , ") + "]"
	case 9:
		return drawObject(t, depth+1, nil)
	}
	return drawText(t)
}

// drawObject makes an object with some of the members, and with others.
func drawObject(t *rapid.T, depth int, members []func(*rapid.T) string) string {
	var all []string
	for _, member := range members {
		if rapid.IntRange(0, 5).Draw(t, "has") > 0 {
			all = append(all, member(t))
		}
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "others") {
		all = append(all, drawText(t)+": "+drawAny(t, depth))
	}
	return "{" + strings.Join(rapid.Permutation(all).Draw(t, "order"), ",") + "}"
}

// member makes a member whose value is odd now and then.
func member(name string, value func(*rapid.T) string) func(*rapid.T) string {
	return func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return `"` + name + `":` + drawAny(t, 0)
		}
		return `"` + name + `":` + value(t)
	}
}

func object(members ...func(*rapid.T) string) func(*rapid.T) string {
	return func(t *rapid.T) string { return drawObject(t, 0, members) }
}

func one(values ...string) func(*rapid.T) string {
	return func(t *rapid.T) string { return rapid.SampledFrom(values).Draw(t, "value") }
}

// drawMeta makes the _meta of a message.
var drawMeta = object(
	member(mcp.MetaKeyProtocolVersion, one(`"2026-07-28"`, `"2026-07-28"`, `"2025-11-25"`)),
	member(mcp.MetaKeyClientInfo, object(member("name", drawText), member("version", drawText),
		member("title", drawText), member("icons", one(`[]`, `[{"src":"x"}]`, `[{"src":1}]`)))),
	member(mcp.MetaKeyClientCapabilities, one(`{}`, `{}`, `{"roots":{}}`, `{"roots":1}`, `{"x":1}`)),
	member("progressToken", one("1", `"a"`)))

// drawCall makes the params of a call.
func drawCall(t *rapid.T) string {
	members := []func(*rapid.T) string{member("name", drawText), member("arguments", object()),
		member("_meta", drawMeta)}
	if rapid.IntRange(0, 3).Draw(t, "input") == 0 {
		members = append(members, member("inputResponses", one(`{}`, `{"a":{"action":"accept"}}`)),
			member("requestState", drawText))
	}
	return drawObject(t, 0, members)
}

// said is what a message is understood as.
type said struct {
	Checked
	refused string // the response to one that is refused
}

func saidBy(params string) said {
	checked, refused := CheckMessage([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+
		params+`}`), redact.Masker{})
	if refused != nil {
		return said{checked, string(refused.Response(redact.Masker{}))}
	}
	return said{checked, ""}
}

// A member that no method has keeps a call from being decoded in the first pass. All else is equal.
func TestPlainCallsAreUnderstoodAsOthersAre(t *testing.T) {
	plain := 0
	check := func(t rapid.TB, params string) {
		other := strings.TrimSuffix(params, "}") + `,"of no method":null}`
		if params == "{}" {
			other = `{"of no method":null}`
		}
		if got, want := saidBy(params), saidBy(other); !reflect.DeepEqual(got, want) {
			t.Fatalf("%.1000s is\n%+v\nand otherwise\n%+v", params, got, want)
		}
		if isPlain(params) {
			plain++
		}
		if isPlain(other) {
			t.Fatalf("%.1000s is plain", other)
		}
	}
	for _, params := range []string{`{}`, `{"name":"a"}`, `{"name":null}`, `{"name":1}`,
		`{"_meta":7}`, `{"name":"a","arguments":{}}`,
		`{"arguments":{"a":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`,
		`{"arguments":{"a":1,"a":2}}`, `{"name":"a","name":"b"}`, `{"name":"\ud800"}`,
		`{"name":"` + strings.Repeat("x", 1<<20) + `"}`, `{"_meta":{"a":1e999},"name":1}`,
		`{"_meta":{"a":1e999},"name":"a"}`, `{"_meta":{},"name":"a","arguments":null}`} {
		check(t, params)
	}
	rapid.Check(t, func(t *rapid.T) {
		for range 10 {
			check(t, drawCall(t))
		}
	})
	if plain < 20 {
		t.Errorf("%d calls were plain", plain)
	}
}

// isPlain reports whether params are decoded in the first pass.
func isPlain(params string) bool {
	if decode.Scan([]byte(params), Limits) != nil {
		return false
	}
	c := &Checked{Method: "tools/call"}
	c.plainCall(decode.Value(params))
	return c.Params != nil
}

// What a client tells of itself is left unchecked only if it fits the types.
func TestPlainClientsFitTheirTypes(t *testing.T) {
	plain := 0
	check := func(t rapid.TB, meta string) {
		if decode.Scan([]byte(meta), Limits) != nil {
			return
		}
		members, fits := objectOf(decode.Value(meta))
		if c := (&Checked{Meta: members}); !fits || !c.plainClient() {
			return
		}
		plain++
		if problems := clientProblems(decode.Value(meta)); len(problems) > 0 {
			t.Fatalf("%s is plain, and has %v", meta, problems)
		}
	}
	for _, info := range []string{`{}`, `{"name":"a","version":"1","title":"b"}`, `{"name":1}`,
		`{"version":null}`, `{"icons":1}`, `{"icons":"x"}`, `{"websiteUrl":1}`, `null`, `[]`} {
		for _, abilities := range []string{`{}`, `{"roots":1}`, `[]`, `null`} {
			check(t, `{"`+mcp.MetaKeyClientInfo+`":`+info+
				`,"`+mcp.MetaKeyClientCapabilities+`":`+abilities+`}`)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, drawMeta(t)) })
	if plain == 0 {
		t.Error("no client was plain")
	}
}

// compareObjects compares objectOf with encoding/json.
func compareObjects(t rapid.TB, text []byte) (compared bool) {
	text = bytes.TrimSpace(text)
	if decode.Value(text).Type() != "object" || decode.Scan(text, Limits) != nil {
		return false
	}
	var want map[string]any
	err := json.Unmarshal(text, &want)
	got, fits := objectOf(decode.Value(text))
	if fits != (err == nil) {
		t.Fatalf("%s fits: %t, and for encoding/json: %v", text, fits, err)
	}
	if fits && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is %#v, and for encoding/json %#v", text, got, want)
	}
	return true
}

func TestObjectsAreThoseOfEncodingJSON(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		for _, draw := range []func(*rapid.T) string{drawMeta, object()} {
			if compareObjects(t, []byte(draw(t))) {
				compared++
			}
		}
	})
	if compared == 0 {
		t.Error("no object was compared")
	}
}

func FuzzObjectsAreThoseOfEncodingJSON(f *testing.F) {
	for _, text := range []string{`{}`, ` {"a": [1, -0, 1e400, "\ud800", {"b": null}]} `,
		`{"name":"version","version":"\u006eame","progressToken":1.5}`, `{"a":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { compareObjects(t, text) })
}
