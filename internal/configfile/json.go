package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// ReadJSON reads a JSON text. Content that readers of JSON do not agree about is refused.
func ReadJSON(data []byte, bad *Problems) Value {
	if !checkUTF8(data, bad) {
		return Value{}
	}
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(data, new(json.RawMessage)), &syntax) {
		at := int(syntax.Offset)
		if at < len(data) {
			at-- // the byte that is wrong
		}
		bad.Add(lineOf(data, at), "", "is not JSON: %v", syntax)
		return Value{}
	}
	r := jsonReader{bad: bad, data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	return r.value("", 0)
}

// lineOf returns the line of an offset. The end of the text is in the last line that has any.
func lineOf(data []byte, offset int) int {
	before := data[:offset]
	if offset == len(data) {
		before = bytes.TrimRight(before, " \t\r\n")
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

type jsonReader struct {
	bad      *Problems
	decoder  *json.Decoder
	data     []byte
	at, line int // how far lines were counted
}

// token reads a token and its line: no token continues in a second line. The text is valid JSON.
func (r *jsonReader) token(pointer string) (json.Token, int) {
	token, _ := r.decoder.Token()
	end := int(r.decoder.InputOffset())
	raw := r.data[r.at:end]
	r.line += bytes.Count(raw, []byte("\n"))
	r.at = end
	const replaced = "\uFFFD" // by encoding/json, for half a surrogate pair
	if s, ok := token.(string); ok && strings.Count(s, replaced) > bytes.Count(raw, []byte(replaced)) {
		r.bad.Add(r.line, pointer, "has an escape of half a character: write the character itself")
	}
	return token, r.line
}

func (r *jsonReader) value(pointer string, depth int) Value {
	token, line := r.token(pointer)
	v := Value{Kind: Null, Line: line}
	switch token := token.(type) {
	case string:
		v.Kind, v.Text = Text, token
	case json.Number:
		v.Kind, v.Text = Number, token.String()
		if !fewDigits(v.Text) {
			r.bad.Add(line, pointer, longNumber)
		}
	case bool:
		v.Kind, v.Text = Truth, strconv.FormatBool(token)
	case json.Delim:
		v.Kind = List
		if token == '{' {
			v.Kind = Mapping
		}
		if depth++; depth > maxDepth {
			r.bad.Add(line, pointer, "is nested more than %d deep", maxDepth)
			r.skip()
			return v
		}
		first := firstNames{}
		for r.decoder.More() {
			if v.Kind == List {
				v.Items = append(v.Items, r.value(Pointer(pointer, strconv.Itoa(len(v.Items))), depth))
				continue
			}
			token, line := r.token(pointer)
			name, _ := token.(string)
			at := Pointer(pointer, name)
			isNew := first.add(r.bad, name, line, at)
			if held := r.value(at, depth); isNew {
				v.Members = append(v.Members, Member{name, line, held})
			}
		}
		r.token(pointer)
	}
	return v
}

// skip reads the rest of a list or mapping.
func (r *jsonReader) skip() {
	for open := 1; open > 0; {
		switch token, _ := r.token(""); token {
		case json.Delim('['), json.Delim('{'):
			open++
		case json.Delim(']'), json.Delim('}'):
			open--
		}
	}
}

// appendQuoted appends a text as JSON has it.
func appendQuoted(b []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // no text fails
	return append(b, quoted...)
}
