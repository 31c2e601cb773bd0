package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

var errDeep = fmt.Errorf("it is nested more than %d deep", maxDepth)

// ReadJSON reads a JSON text. What readers of JSON do not agree about is refused.
func ReadJSON(data []byte, bad *Problems) Value {
	limits := decode.Limits{Bytes: MaxBytes, Depth: maxDepth, Values: MaxBytes, Levels: MaxBytes}
	n, err := decode.ScanTo(data, limits)
	r := jsonReader{bad: bad, data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	v, problem := r.value("", 0)
	switch {
	case problem == nil && (err == nil || len(bad.All) > 0): // names that stand twice
		return v
	case err == nil || len(bad.All) > 0:
		bad.Add(r.line, "", "cannot be read as JSON: %v", problem)
		return Value{}
	}
	var e *decode.Error
	errors.As(err, &e)
	for _, p := range e.Problems {
		bad.Add(lineOf(data, n), p.Pointer, "%s", p.Message)
	}
	return Value{}
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

// token reads a token and the line it is in: no token goes over two.
func (r *jsonReader) token() (json.Token, int, error) {
	token, err := r.decoder.Token()
	end := int(r.decoder.InputOffset())
	r.line += bytes.Count(r.data[r.at:end], []byte("\n"))
	r.at = end
	return token, r.line, err
}

func (r *jsonReader) value(pointer string, depth int) (Value, error) {
	token, line, err := r.token()
	if err != nil {
		return Value{}, err
	}
	v := Value{Kind: Null, Line: line}
	switch token := token.(type) {
	case string:
		v.Kind, v.Text = Text, token
	case json.Number:
		v.Kind, v.Text = Number, token.String()
	case bool:
		v.Kind, v.Text = Truth, strconv.FormatBool(token)
	case json.Delim:
		if depth++; depth > maxDepth {
			return Value{}, errDeep
		}
		if token == '{' {
			v.Kind = Mapping
			err = r.mapping(&v, pointer, depth)
		} else {
			v.Kind = List
			err = r.list(&v, pointer, depth)
		}
		if err == nil {
			_, _, err = r.token()
		}
	}
	return v, err
}

func (r *jsonReader) list(v *Value, pointer string, depth int) error {
	for r.decoder.More() {
		item, err := r.value(decode.Pointer(pointer, strconv.Itoa(len(v.Items))), depth)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
	}
	return nil
}

func (r *jsonReader) mapping(v *Value, pointer string, depth int) error {
	first := firstNames{}
	for r.decoder.More() {
		token, line, err := r.token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // as encoding/json has it
		at := decode.Pointer(pointer, name)
		isNew := first.add(r.bad, name, line, at)
		held, err := r.value(at, depth)
		if err != nil {
			return err
		}
		if isNew {
			v.Members = append(v.Members, Member{name, line, held})
		}
	}
	return nil
}

// appendQuoted appends a text as JSON has it.
func appendQuoted(b []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // no text fails
	return append(b, quoted...)
}
