package configfile

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// ReadYAML reads one YAML document (YAML 1.2.2, core schema). Of what a reader could take in two
// ways nothing is taken: "yes" is text, and a number is written as JSON has it.
func ReadYAML(data []byte, bad *Problems) Value {
	if !checkUTF8(data, bad) {
		return Value{}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		bad.Add(1, "", "is not valid YAML: %v", err)
		return Value{}
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case err == io.EOF:
		bad.Add(1, "", "is empty: write its first key")
		return Value{}
	case err != nil:
		refuse(data, bad, err)
		return Value{}
	}
	if err := loader.Load(&second); err == nil {
		bad.Add(second.Line, "", "starts a second document: keep one")
	} else if err != io.EOF {
		refuse(data, bad, err)
	}
	r := yamlReader{bad}
	for _, root := range doc.Content {
		return r.value(root, "", 0)
	}
	return Value{Kind: Null, Line: 1}
}

// refuse adds the error of a loader.
func refuse(data []byte, bad *Problems, err error) {
	line, message := 0, err.Error()
	if e := (*yaml.LoadError)(nil); errors.As(err, &e) {
		line, message = e.Mark.Line, strings.TrimPrefix(e.Message, "yaml: ")
	}
	if line == 0 { // the loader does not return where a control character is
		at := bytes.IndexFunc(data, func(r rune) bool {
			return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r)
		})
		line = lineOf(data, max(at, 0))
	}
	bad.Add(line, "", "is not valid YAML: %s", message)
}

// checkUTF8 reports whether a text is UTF-8, and adds a problem if it is not.
func checkUTF8(data []byte, bad *Problems) bool {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			bad.Add(1+bytes.Count(data[:at], []byte("\n")), "", "is not UTF-8: convert it")
			return false
		}
		at += size
	}
	return true
}

type yamlReader struct{ bad *Problems }

func (r yamlReader) value(n *yaml.Node, pointer string, depth int) Value {
	v := Value{Kind: Null, Line: n.Line}
	switch {
	case depth > maxDepth:
		r.bad.Add(n.Line, pointer, "is nested more than %d deep", maxDepth)
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		r.bad.Add(n.Line, pointer, "is an anchor or an alias: write out its content")
	case n.Style&yaml.TaggedStyle != 0:
		r.bad.Add(n.Line, pointer, "has the tag %s: remove it, and quote strings", n.ShortTag())
	case n.Kind == yaml.SequenceNode:
		v.Kind = List
		for i, item := range n.Content {
			v.Items = append(v.Items, r.value(item, Pointer(pointer, strconv.Itoa(i)), depth+1))
		}
	case n.Kind == yaml.MappingNode:
		v.Kind = Mapping
		first := firstNames{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			name := Pointer(pointer, key.Value)
			if key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0 ||
				key.Anchor != "" || key.ShortTag() != "!!str" {
				r.bad.Add(key.Line, name, "has a name that is not clearly a string: quote it")
				continue
			}
			if !first.add(r.bad, key.Value, key.Line, name) {
				continue
			}
			v.Members = append(v.Members,
				Member{key.Value, key.Line, r.value(n.Content[i+1], name, depth+1)})
		}
	default:
		r.scalar(n, pointer, &v)
	}
	return v
}

// number is how JSON writes one (RFC 8259, section 6).
var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

const longNumber = "is not a JSON number: write it in fewer digits, or quote it"

// fewDigits reports whether exact arithmetic on a JSON number is fast. A float64 in full has fewer
// than 800 digits, and an exponent from -324 to 308.
func fewDigits(number string) bool {
	digits, exponent, has := strings.Cut(strings.ToLower(number), "e")
	e, err := strconv.Atoi(exponent)
	return len(digits) <= 800 && (!has || err == nil && -400 <= e && e <= 400)
}

func (r yamlReader) scalar(n *yaml.Node, pointer string, v *Value) {
	const plain = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle |
		yaml.LiteralStyle | yaml.FoldedStyle
	switch tag := n.ShortTag(); {
	case tag == "!!null":
	case tag == "!!bool":
		v.Kind, v.Text = Truth, strings.ToLower(n.Value)
	case n.Style&plain == 0 && number.MatchString(n.Value) && fewDigits(n.Value):
		v.Kind, v.Text = Number, n.Value
	case tag == "!!int" || tag == "!!float" || n.Style&plain == 0 && number.MatchString(n.Value):
		r.bad.Add(n.Line, pointer, longNumber)
	case tag == "!!str" || tag == "!!timestamp": // which the core schema does not know
		v.Kind, v.Text = Text, n.Value
	default:
		r.bad.Add(n.Line, pointer, "has the tag %s: quote it", tag)
	}
}
