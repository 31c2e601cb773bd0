package decoderoracle

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// differ says where what a value encodes to is not the document it was decoded from. Absent
// properties may have got a value, their default or zero; empty ones may be left out.
func differ(at string, doc, back any) string {
	switch doc := doc.(type) {
	case map[string]any:
		back, ok := back.(map[string]any)
		if !ok {
			return at + " is no object any more"
		}
		for name, v := range doc {
			other, there := back[name]
			if !there {
				if !isEmpty(v) {
					return at + "/" + name + " is lost"
				}
				continue
			}
			if v == nil && isEmpty(other) {
				continue // null into what is no pointer is its zero value
			}
			if why := differ(at+"/"+name, v, other); why != "" {
				return why
			}
		}
		return ""
	case []any:
		back, ok := back.([]any)
		if !ok || len(back) != len(doc) {
			return at + " has other items"
		}
		for i := range doc {
			if doc[i] == nil && isEmpty(back[i]) {
				continue
			}
			if why := differ(fmt.Sprintf("%s/%d", at, i), doc[i], back[i]); why != "" {
				return why
			}
		}
		return ""
	case json.Number:
		if other, ok := back.(json.Number); ok && sameNumber(doc, other) {
			return ""
		}
	case string:
		if other, ok := back.(string); ok && (doc == other || sameTime(doc, other) || sameAddress(doc, other) || sameQuoted(doc, other) || sameBytes(doc, other)) {
			return ""
		}
	default:
		if doc == back {
			return ""
		}
	}
	return fmt.Sprintf("%s is %v instead of %v", at, back, doc)
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil && n == 0 || v == "false" {
			return true // by the string option
		}
		return v == "" || strings.HasPrefix(v, "0001-01-01T00:00:00")
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		for _, item := range v { // an array is as empty as its items
			if !isEmpty(item) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, item := range v {
			if !isEmpty(item) {
				return false
			}
		}
		return true
	}
	return false
}

// sameNumber allows for what a float32 cannot tell apart.
func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, okX := new(big.Rat).SetString(string(a))
	y, okY := new(big.Rat).SetString(string(b))
	if !okX || !okY {
		return false
	}
	if x.Cmp(y) == 0 {
		return true
	}
	if isWhole(a) && isWhole(b) && len(a) < 19 {
		f, _ := x.Float64()
		g, _ := y.Float64()
		return float32(f) == float32(g) && (f > 1<<24 || f < -1<<24)
	}
	f, _ := x.Float64()
	g, _ := y.Float64()
	return float32(f) == float32(g)
}

func isWhole(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

func sameTime(a, b string) bool {
	x, errX := time.Parse(time.RFC3339Nano, strings.ToUpper(a))
	y, errY := time.Parse(time.RFC3339Nano, strings.ToUpper(b))
	return errX == nil && errY == nil && x.Equal(y)
}

// sameQuoted allows for a number within a string in another writing.
func sameQuoted(a, b string) bool {
	return (strings.ContainsAny(a+b, ".eE") || len(a) > 8 && strings.HasSuffix(b, "00") || len(a) > 15 && sameFloat(a, b)) && decode.Scan([]byte(a), decode.Limits{}) == nil && sameNumber(json.Number(a), json.Number(b))
}

// sameFloat allows for what a float64 cannot tell apart: b is the shortest text of the one next to
// a, which of most integers that somebody lost digits of it is not.
func sameFloat(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	return err == nil && strconv.FormatFloat(x, 'f', -1, 64) == b
}

// sameBytes allows for line breaks and trailing bits in base64.
func sameBytes(a, b string) bool {
	x, errX := base64.StdEncoding.DecodeString(a)
	y, errY := base64.StdEncoding.DecodeString(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// sameAddress allows for an address in its shortest writing.
func sameAddress(a, b string) bool {
	return strings.Contains(a, ":") && strings.Contains(b, ":") && len(b) <= len(a)
}

// TestNullIsNilAsInEncodingJSON compares values that encode alike: a nil pointer and a pointer to
// null.
func TestNullIsNilAsInEncodingJSON(t *testing.T) {
	for _, doc := range []string{
		`{"raw":null,"any":null,"twice":null,"named":null,"list":[null,1,null],"by_name":{"a":null,"b":[null]},
			"some":null,"text":"x","null":null,"plain":null,"value":null,"deep":{}}`,
		`{"raw":{},"any":[null],"twice":"x","named":1,"list":[],"by_name":{},
			"some":[null],"text":"x","null":1,"plain":[null],"value":{"a":null},"deep":{"a":[[1]]}}`,
	} {
		got, err := decode.Arguments([]byte(doc), decodePointed)
		if err != nil {
			t.Fatal(err)
		}
		var want Pointed
		if err := json.Unmarshal([]byte(doc), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %#v\nwant %#v", doc, got, want)
		}
	}
	for doc, want := range map[string]string{
		`{"text":null}`: "/text: is null, expected a string",
		`{"some":1}`:    "/some: 1 is a number, expected null or an array",
	} {
		_, err := decode.Arguments([]byte(doc), decodePointed)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
}
