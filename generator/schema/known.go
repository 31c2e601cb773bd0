package schema

import (
	"encoding/json"
	"go/constant"
	"go/types"

	"github.com/invopop/jsonschema"
)

// standard is a type of the standard library, or as widely known, whose JSON form is fixed.
type standard struct {
	rule   rule // under which clients get schema; ruleCount for types that the Reflector has right
	schema jsonschema.Schema
	// method is the one on a pointer receiver that makes the form, when values lack it.
	method method
}

var standards = map[string]standard{
	"time.Time":                {ruleCount, jsonschema.Schema{Type: "string", Format: "date-time"}, method{}},
	"encoding/json.RawMessage": {ruleCount, jsonschema.Schema{}, method{}},
	"encoding/json.Number":     {numberType, jsonschema.Schema{Type: "number"}, method{}},
	"math/big.Int":             {bigInteger, jsonschema.Schema{Type: "integer"}, marshalJSON},
	"log/slog.Level":           {textMarshaler, jsonschema.Schema{Type: "string"}, method{}},
	"net.IP":                   {ipText, jsonschema.Schema{Type: "string"}, method{}},
}

// uuids are types that write themselves as a UUID by a text method.
var uuids = map[string]bool{
	"github.com/google/uuid.UUID":   true,
	"github.com/gofrs/uuid.UUID":    true,
	"github.com/gofrs/uuid/v5.UUID": true,
}

func fullName(n *types.Named) string {
	if n.Obj().Pkg() == nil {
		return n.Obj().Name()
	}
	return n.Obj().Pkg().Path() + "." + n.Obj().Name()
}

// wellKnown reports types whose JSON form does not depend on their declaration.
func wellKnown(n *types.Named) bool {
	_, ok := standards[fullName(n)]
	return ok
}

// Standard reports whether a type is one of the standard library whose JSON form is fixed, and so a
// single value whatever its fields are, as time.Time.
func Standard(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && wellKnown(n)
}

// known makes the schema of a type with a fixed form. With rules off it knows the types that
// the Reflector knows.
func (p *pass) known(n *types.Named, at place) (*jsonschema.Schema, bool) {
	name := fullName(n)
	switch {
	case name == "net.IP" && !p.on.has(ipText):
		return &jsonschema.Schema{Type: "string", Format: "ipv4"}, true
	case name == "net/url.URL" && !p.on.has(urlObject):
		return &jsonschema.Schema{Type: "string", Format: "uri"}, true
	case uuids[name] && p.on.has(uuidFormat):
		return &jsonschema.Schema{Type: "string", Format: "uuid"}, true
	}
	std, ok := standards[name]
	if !ok || std.rule != ruleCount && !p.on.has(std.rule) {
		return nil, false
	}
	if std.method.name != "" {
		p.reachable(n, std.method, at)
	}
	s := std.schema
	return &s, true
}

// integerBounds is the range of an integer kind, as JSON numbers. int and uint count as 64
// bits: on a 32-bit machine the decoder refuses what does not fit.
func integerBounds(k types.BasicKind) (least, most json.Number) {
	switch k {
	case types.Int8:
		return "-128", "127"
	case types.Int16:
		return "-32768", "32767"
	case types.Int32:
		return "-2147483648", "2147483647"
	case types.Uint8:
		return "0", "255"
	case types.Uint16:
		return "0", "65535"
	case types.Uint32:
		return "0", "4294967295"
	case types.Uint, types.Uint64:
		return "0", "18446744073709551615"
	}
	return "-9223372036854775808", "9223372036854775807"
}

func constantString(c *types.Const) string { return constant.StringVal(c.Val()) }
