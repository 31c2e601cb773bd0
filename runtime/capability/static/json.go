package static

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// readJSON reads a JSON text. What readers of JSON do not agree about is refused before.
func readJSON(data []byte, bad *problems) value {
	if err := decode.Scan(data, decode.Limits{Bytes: maxBytes, Depth: maxDepth, Values: maxBytes, Levels: maxBytes}); err != nil {
		var e *decode.Error
		if errors.As(err, &e) {
			for _, p := range e.Problems {
				bad.add(0, p.Pointer, "%s", p.Message)
			}
			return value{}
		}
		bad.add(0, "", "%v", err)
		return value{}
	}
	r := jsonReader{data: data, line: 1, decoder: json.NewDecoder(bytes.NewReader(data))}
	r.decoder.UseNumber()
	v, err := r.value()
	if err != nil {
		bad.add(r.line, "", "%v", err)
	}
	return v
}

type jsonReader struct {
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

func (r *jsonReader) value() (value, error) {
	token, line, err := r.token()
	if err != nil {
		return value{}, err
	}
	v := value{kind: isNull, line: line}
	switch token := token.(type) {
	case string:
		v.kind, v.text = isText, token
	case json.Number:
		v.kind, v.text = isNumber, token.String()
	case bool:
		v.kind, v.text = isTruth, "false"
		if token {
			v.text = "true"
		}
	case json.Delim:
		v.kind = isList
		if token == '{' {
			v.kind = isMapping
		}
		for r.decoder.More() {
			var m member
			if v.kind == isMapping {
				name, line, err := r.token()
				if err != nil {
					return value{}, err
				}
				m.name, _ = name.(string) // as encoding/json has it
				m.line = line
			}
			if m.value, err = r.value(); err != nil {
				return value{}, err
			}
			if v.kind == isMapping {
				v.members = append(v.members, m)
			} else {
				v.items = append(v.items, m.value)
			}
		}
		_, _, err = r.token()
	}
	return v, err
}

// appendQuoted appends a text as JSON has it.
func appendQuoted(b []byte, text string) []byte {
	quoted, _ := json.Marshal(text) // no text fails
	return append(b, quoted...)
}
