package decode

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestScanAcceptsEveryKindOfValue(t *testing.T) {
	for _, doc := range []string{
		`null`, `true`, `false`, `0`, `-0`, `1.5`, `-12.25e+10`, `1E5`, `""`, `"a"`, `[]`, `{}`,
		" {\t\"a\" :\r\n [ 1 , 2 ] , \"b\" : { } } ",
		`"\"\\\/\b\f\n\r\t\u00e9"`, `"\ud83d\ude00"`, `"😀é"`, `{"a":{"a":1},"b":{"a":1}}`, `{"":1}`,
		strings.Repeat("[", DefaultDepth) + strings.Repeat("]", DefaultDepth),
		`1e400`, `1e-400`, `1e0000000000000000000001`,
	} {
		if err := Scan([]byte(doc), Limits{}); err != nil {
			t.Errorf("Scan(%q) = %v, want none", doc, err)
		}
	}
}

func TestScanRefusesAndNamesThePlace(t *testing.T) {
	for _, c := range []struct{ name, doc, want string }{
		{"empty text", ``, `(root): is not JSON: the text ends where a value is expected`},
		{"white space alone", "  \n", `(root): is not JSON: the text ends where a value is expected`},
		{"byte order mark", "\ufeff{}",
			`(root): is not JSON: '\ufeff' at byte 0 where a value is expected`},
		{"trailing data", `{} {}`, `(root): is not JSON: '{' at byte 3 where the end is expected`},
		{"trailing comma in an object", `{"a":1,}`,
			`(root): is not JSON: '}' at byte 7 where a name in quotes is expected`},
		{"trailing comma in an array", `{"a":[1,]}`,
			`/a/1: is not JSON: ']' at byte 8 where a value is expected`},
		{"missing comma", `{"a":[1 2]}`, `/a/1: is not JSON: '2' at byte 8 where ',' or ']' is expected`},
		{"missing colon", `{"a" 1}`, `/a: is not JSON: '1' at byte 5 where ':' is expected`},
		{"open object", `{`,
			`(root): is not JSON: the text ends where a first element or '}' is expected`},
		{"open string", `{"a":"b`, `/a: is not JSON: the text ends where '"' is expected`},
		{"open escape", `"\`, `(root): is not JSON: the text ends where an escape sequence is expected`},
		{"unknown escape", `"\x"`,
			`(root): is not JSON: 'x' at byte 2 where an escape sequence is expected`},
		{"short escape", `"\u12"`,
			`(root): is not JSON: '"' at byte 5 where four hexadecimal digits is expected`},
		{"cut escape", `"\u12`,
			`(root): is not JSON: the text ends where four hexadecimal digits is expected`},
		{"control character", "\"\n\"",
			`(root): is not JSON: '\n' at byte 1 where a string without control characters is expected`},
		{"misspelt literal", `{"a":nul}`, `/a: is not JSON: '}' at byte 8 where null is expected`},
		{"cut literal", `tru`, `(root): is not JSON: the text ends where true is expected`},
		{"leading zero", `01`, `(root): is not JSON: '1' at byte 1 where the end is expected`},
		{"minus alone", `-`, `(root): is not JSON: the text ends where a digit is expected`},
		{"point without digits", `1.`, `(root): is not JSON: the text ends where a digit is expected`},
		{"exponent without digits", `1e+`,
			`(root): is not JSON: the text ends where a digit is expected`},
		{"plus sign", `+1`, `(root): is not JSON: '+' at byte 0 where a value is expected`},
		{"NaN", `{"a":NaN}`, `/a: is not JSON: 'N' at byte 5 where a value is expected`},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", `/a: has a byte that is not UTF-8, 0xff at byte 6`},
		{"encoded surrogate", "\"\xed\xa0\x80\"", `(root): has a byte that is not UTF-8, 0xed at byte 1`},
		{"high surrogate alone", `["\ud800"]`, `/0: has half of a surrogate pair, \ud800 at byte 2`},
		{"low surrogate alone", `["\udc00"]`, `/0: has half of a surrogate pair, \udc00 at byte 2`},
		{"two high surrogates", `["\ud800\ud800"]`, `/0: has half of a surrogate pair, \ud800 at byte 2`},
		{"two low surrogates", `["\udc00\udc00"]`,
			`/0: has half of a surrogate pair, \udc00 at byte 2`},
		{"cut second surrogate", `["\ud800\u12"]`,
			`/0: is not JSON: '"' at byte 12 where four hexadecimal digits is expected`},
		{"surrogate in a name", `{"\udfff":1}`, `(root): has half of a surrogate pair, \udfff at byte 2`},
		{"duplicate name", `{"a":{"b":1,"b":2}}`, `/a/b: is twice in its object`},
		{"duplicate name in other spelling", `{"a":1,"\u0061":2}`, `/a: is twice in its object`},
		{"duplicate surrogate pair", `{"😀":1,"\ud83d\uDE00":2}`, `/😀: is twice in its object`},
		{"duplicate with simple escapes", `{"a\/b\n":1,"a/b\u000a":2}`,
			`/a~1b\u000a: is twice in its object`},
		{"escaped pointer", `{"a/b":{"~":[nope]}}`,
			`/a~1b/~0/0: is not JSON: 'o' at byte 14 where null is expected`},
		{"huge exponent", `{"a":[1,1e401]}`, `/a/1: 1e401 has an exponent beyond 400`},
		{"huge negative exponent", `1e-999999999999999999999`, `(root): 1e-999999999999999999999 has an exponent beyond 400`},
		{"huge exponent of a secret", `{"api_key":1e999}`, `/api_key: has an exponent beyond 400`},
		{"name never ended", `{"a`, `(root): is not JSON: the text ends where '"' is expected`},
		{"open array after an item", `[1`, `/1: is not JSON: the text ends where ',' or ']' is expected`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Scan([]byte(c.doc), Limits{})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Scan(%q) = %v, want an *Error", c.doc, err)
			}
			if err.Error() != c.want {
				t.Errorf("Scan(%q)\n got %s\nwant %s", c.doc, err, c.want)
			}
		})
	}
}

func TestScanFindsADuplicateAmongManyNames(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteByte('{')
	for i := range 5000 {
		doc.WriteString(strconv.Quote("k"+strconv.Itoa(i)) + ":1,")
	}
	sound := append(bytes.Clone(doc.Bytes()), `"end":1}`...)
	if err := Scan(sound, Limits{}); err != nil {
		t.Fatalf("5,001 different names: %v", err)
	}
	for _, name := range []string{"k0", "k24", "k25", "k4999"} {
		twice := append(bytes.Clone(doc.Bytes()), `"`+name+`":1}`...)
		err := Scan(twice, Limits{})
		if want := "/" + name + ": is twice in its object"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestScanKeepsItsLimits(t *testing.T) {
	digits := strings.Repeat("9", 801)
	for _, c := range []struct {
		name, doc string
		limits    Limits
		want      string
	}{
		{"bytes", `"12345"`, Limits{Bytes: 6}, `(root): is 7 bytes long, more than the maximum 6`},
		{"least depth", `[[]]`, Limits{Depth: 1},
			`/0: is nested deeper than the maximum of 1 levels`},
		{"depth of arrays", `[[[]]]`, Limits{Depth: 2}, `/0/0: is nested deeper than the maximum of 2 levels`},
		{"depth of objects", `{"a":[{"b":1}]}`, Limits{Depth: 2}, `/a/0: is nested deeper than the maximum of 2 levels`},
		{"values", `[1,2,3]`, Limits{Values: 3}, `/2: is one value more than the maximum of 3 in one document`},
		{"levels", `[1,[2,[3]]]`, Limits{Levels: 8}, `/1/1/0: is nested too deeply for so many values: their depths add up to more than the maximum 8`},
		{"digits", `{"n":` + digits + `}`, Limits{}, `/n: ` + digits[:64] + `… (801 bytes) has 801 digits, more than the maximum 800`},
		{"digits after the point", `0.` + digits, Limits{Digits: 3}, `(root): 0.` + digits[:62] + `… (803 bytes) has 802 digits, more than the maximum 3`},
		{"exponent", `1e-11`, Limits{Exponent: 10}, `(root): 1e-11 has an exponent beyond 10`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Scan([]byte(c.doc), c.limits); err == nil || err.Error() != c.want {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
		})
	}
	for _, c := range []struct {
		doc    string
		limits Limits
	}{
		{`"1234"`, Limits{Bytes: 6}},
		{`[[],[],[1]]`, Limits{Depth: 2}},
		{`[1]`, Limits{Depth: 1}},
		{`[1,2]`, Limits{Values: 3}},
		{`[1,[2,[3]]]`, Limits{Levels: 9}},
		{`1.25`, Limits{Digits: 3}},
		{`1e-10`, Limits{Exponent: 10}},
	} {
		if err := Scan([]byte(c.doc), c.limits); err != nil {
			t.Errorf("Scan(%s, %+v) = %v: at the limit is within it", c.doc, c.limits, err)
		}
	}
}

func TestScanEndsOnHostileDocuments(t *testing.T) {
	for name, doc := range map[string]string{
		"a million open brackets": strings.Repeat("[", 1<<20),
		"a million open objects":  strings.Repeat(`{"a":`, 1<<20),
		"a million values":        "[" + strings.Repeat("0,", 1<<20) + "0]",
		"a million digits":        strings.Repeat("9", 1<<20),
		"17 MiB":                  strings.Repeat(" ", 17<<20),
	} {
		err := Scan([]byte(doc), Limits{})
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
	if err := Scan([]byte(`{"a":"`+strings.Repeat("x", 10<<20)+`"}`), Limits{}); err != nil {
		t.Errorf("a string of 10 MiB is sound: %v", err)
	}
}

func TestScanAllocatesNothingForAnOrdinaryDocument(t *testing.T) {
	doc := []byte(`[1,-2.5e3,"text",true,null,[[]]]`)
	if n := testing.AllocsPerRun(100, func() { _ = Scan(doc, Limits{}) }); n > 1 {
		t.Errorf("%v allocations, want the lexer alone", n)
	}
}

// FuzzScanAgreesWithEncodingJSON holds that Scan refuses what encoding/json refuses, and
// otherwise only for one of the reasons it documents, each confirmed in another way.
func FuzzScanAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5e-3,"x\u00e9\ud83d\ude00",null,true,false,{}]}`, `[`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"",
		`1e999999999`, `01`, `-`, "\ufeff1", `[1,]`, `{"a" 1}`, ` 1 `, `nulll`, "\"\x7f\"", "\"\u2028\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_, fault := scan(doc, Limits{})
		valid := json.Valid(doc)
		switch {
		case fault == nil:
			if !valid {
				t.Fatalf("accepted %q, which encoding/json refuses", doc)
			}
			if !utf8.Valid(doc) {
				t.Fatalf("accepted %q, which is not UTF-8", doc)
			}
			if name, twice := duplicateName(doc); twice {
				t.Fatalf("accepted %q with %q twice", doc, name)
			}
			return
		case !valid:
			return
		}
		switch fault.rule {
		case notJSON:
			t.Fatalf("refused %q, which encoding/json accepts: %s", doc, fault.message)
		case notUTF8:
			// encoding/json puts U+FFFD in the place of what it cannot decode.
			if utf8.Valid(doc) && !bytes.Contains(bytes.ToLower(doc), []byte(`\ud`)) {
				t.Fatalf("refused %q as not UTF-8", doc)
			}
		case duplicate:
			if _, twice := duplicateName(doc); !twice {
				t.Fatalf("refused %q for a duplicate that encoding/json does not see", doc)
			}
		case tooLarge:
			if len(doc) < DefaultDepth && !bytes.ContainsAny(doc, "eE") {
				t.Fatalf("refused %q as too large", doc)
			}
		}
	})
}

// duplicateName finds a name that stands twice in one object, as encoding/json reads it.
func duplicateName(doc []byte) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil for an array
		value bool            // the next token of an object is a value
	}
	var stack []level
	for {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		var top *level
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			stack = stack[:len(stack)-1]
			continue
		}
		if top != nil && top.names != nil {
			if !top.value {
				name := token.(string)
				if top.names[name] {
					return name, true
				}
				top.names[name] = true
				top.value = true
				continue
			}
			top.value = false
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{names: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		}
	}
}

func TestScanReturnsWhereItStopped(t *testing.T) {
	for doc, want := range map[string]string{
		`{"a": [1]} `: `{"a": [1]} `, `{"a": !}`: `{"a": `, `{"a":1,"a":2}`: `{"a":1,"a":`, `[1`: `[1`,
		`[] []`: `[] `,
	} {
		if n, _ := ScanTo([]byte(doc), Limits{}); doc[:n] != want {
			t.Errorf("%s: stopped after %s", doc, doc[:n])
		}
	}
}
