package emit

import (
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// codecs has every codec, check and default once. Its schema does not contain all of them: package
// testdata/decoderoracle tests that codecs and schemas agree.
func codecs() testCase {
	const whole, base = "example.com/codecs.Whole", "Base"
	moment := expression("Time", "time", "time")
	addr := expression("Addr", "net/netip", "netip")
	text := func(checks ...model.Check) model.Codec {
		return model.Codec{Kind: model.StringCodec, Type: here("string"), Checks: checks}
	}
	scalar := func(kind model.CodecKind, typ string, checks ...model.Check) model.Codec {
		return model.Codec{Kind: kind, Type: here(typ), Checks: checks}
	}
	integer := func(typ, least, most string) model.Codec {
		return model.Codec{Kind: model.IntCodec, Type: here(typ), Least: least, Most: most}
	}
	ask := func(keyword string, values ...string) model.Check {
		return model.Check{Keyword: keyword, Values: values}
	}
	in := func(kind model.CodecKind, typ model.Expr, elem model.Codec, checks ...model.Check) model.Codec {
		return model.Codec{Kind: kind, Type: typ, Elem: &elem, Checks: checks}
	}
	keyed := func(key string, typ, keyType model.Expr, elem model.Codec, keys ...string) model.Codec {
		return model.Codec{Kind: model.MapCodec, Type: typ, Key: key, KeyType: keyType, Keys: keys, Elem: &elem}
	}
	quoted := func(c model.Codec, checks ...model.Check) model.Codec {
		c.Quoted, c.Checks = true, checks
		return c
	}
	object := model.Codec{Kind: model.ObjectCodec, Type: here("Whole"), Name: whole}
	boolean := scalar(model.BoolCodec, "bool")
	number := integer("int", "-9223372036854775808", "9223372036854775807")
	pointed := number
	pointed.Pointers = 1
	maybe := text()
	maybe.Pointers, maybe.Nullable = 1, true
	next := object
	next.Pointers = 2
	unsigned := model.Codec{Kind: model.UintCodec, Type: here("uint8"), Least: "0", Most: "255"}
	bigInt := model.Codec{Kind: model.BigIntCodec, Type: expression("Int", "math/big", "big"), Pointers: 1}
	raw := model.Codec{Kind: model.RawCodec, Type: expression("RawMessage", "encoding/json", "json")}
	colors := []string{"red", "blue"}

	o := model.Object{Name: whole, Type: here("Whole"), OneOf: [][]string{{"text"}, {"file"}}}
	add := func(name, field, fallback string, required bool, c model.Codec) {
		path := []model.Selector{{Name: field}}
		if field == "ID" {
			path = []model.Selector{{Name: base, Pointer: true}, {Name: field}}
		}
		o.Fields = append(o.Fields, model.ObjectField{Name: name, Path: path, Required: required, Default: fallback, Codec: c})
	}
	add("id", "ID", "", false, integer("int64", "1", "4094"))
	add("name", "Name", "", true, text(ask("minLength", "1"), ask("maxLength", "8"), ask("pattern", "^[a-z]+$")))
	add("color", "Color", "", true, scalar(model.StringCodec, "Color", ask("enum", colors...)))
	add("mail", "Mail", "", false, text(ask("format", "email")))
	add("on", "On", "true", false, boolean)
	add("small", "Small", "", true, unsigned)
	add("share", "Share", "", true, scalar(model.FloatCodec, "float64", ask("exclusiveMinimum", "0"), ask("multipleOf", "0.5")))
	add("number", "Number", "", true, model.Codec{Kind: model.NumeralCodec, Type: expression("Number", "encoding/json", "json")})
	add("big", "Big", "", true, bigInt)
	add("at", "At", `"2026-01-31T15:04:05Z"`, false, model.Codec{Kind: model.TimeCodec, Type: moment})
	add("addr", "Addr", "", true, model.Codec{Kind: model.TextCodec, Type: addr})
	add("blob", "Blob", "", true, model.Codec{Kind: model.BytesCodec, Type: here("[]byte")})
	add("octets", "Octets", "", true, model.Codec{Kind: model.NamedBytesCodec, Type: here("[]Octet")})
	add("sides", "Sides", "", true, in(model.ArrayCodec, here("[3]int"), number, ask("minItems", "3"), ask("maxItems", "3")))
	add("names", "Names", `["a","b"]`, false, in(model.ListCodec, here("[]string"), text(), ask("minItems", "1"), ask("uniqueItems")))
	add("keyed", "Keyed", "", true, keyed("string", here("map[string]Whole"), here("string"), object))
	add("shades", "Shades", "", true, keyed("enum", here("map[Color]*int"), here("Color"), pointed, colors...))
	add("counts", "Counts", "", true, keyed("int", here("map[int8]bool"), here("int8"), boolean))
	add("sizes", "Sizes", "", true, keyed("uint", here("map[uint16]bool"), here("uint16"), boolean))
	add("hosts", "Hosts", "", true, keyed("text", expression("map[", "", "", "Addr", "net/netip", "netip", "]bool", "", ""), addr, boolean))
	add("any", "Any", "", true, scalar(model.AnyCodec, "any"))
	add("either", "Either", "", true, scalar(model.AnyCodec, "any", ask("type", "string", "integer")))
	add("raw", "Raw", "", true, raw)
	add("quoted", "Quoted", `"7"`, false, quoted(integer("int16", "-32768", "32767"), ask("pattern", "^(0|-?[1-9][0-9]*)$")))
	add("ratio", "Ratio", "", true, quoted(scalar(model.FloatCodec, "float32"), ask("pattern", "^-?(0|[1-9][0-9]*)$"), ask("maxLength", "9")))
	add("count", "Count", "", true, quoted(model.Codec{Kind: model.UintCodec, Type: here("uint")}, ask("pattern", "^(0|[1-9][0-9]*)$")))
	add("sure", "Sure", "", true, quoted(boolean))
	add("maybe", "Maybe", `"x"`, false, maybe)
	add("next", "Next", "", false, next)
	add("text", "Text", "", false, text())
	add("file", "File", "", false, text())

	return testCase{
		name: "codecs",
		service: model.Service{
			Package: "example.com/codecs", Name: "codecs", Module: "example.com",
			Server: model.Server{Name: "codecs"},
			Roles:  model.Roles{Chains: [][]string{{"Viewer", "Member", "Manager", "Admin"}}},
			Tools: []model.Tool{{
				Name: "take", Const: "ToolTake", Handler: model.Handler{Name: "Take"}, Description: "Take takes it.",
				Access: model.Access{Public: true}, Limits: model.Limits{Timeout: 30 * time.Second},
				Input: model.Input{
					Kind: model.StructInput, Type: here("Whole"), Name: "whole", Codec: &object,
					Schema: schemaOf(`{"type":"object","properties":{"id":{"type":"integer"}}}`),
				},
			}},
			Objects:    []model.Object{o},
			Scope:      []string{"Base", "Blue", "Color", "Octet", "Red", "Take", "Whole"},
			Imports:    imports("big", "context", "json", "netip", "time"),
			HashInputs: model.HashInputs{Decls: map[string][]string{".": {"Base", "Color", "Octet", "Take", "Whole"}}},
		},
		facts: facts{
			handlers: []string{"Take"},
			types:    []string{"Base", "Color", "Octet", "Whole"},
			consts:   []string{"Red", "Blue"},
		},
	}
}
