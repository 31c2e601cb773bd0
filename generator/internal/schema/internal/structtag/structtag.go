// Package structtag finds the mistakes in the text of a struct tag by which Go misses a part of it.
package structtag

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// Flaw is a mistake in the text of a struct tag, by which [reflect.StructTag] misses a part of it.
type Flaw struct {
	Offset        int // byte of the tag
	Message, Cure string
	Lost          string // the part of the tag that is missed, or empty
}

const (
	onePair = `write pairs, for example json:"name" jsonschema:"minimum=3"`
	noSpace = "write one space between two pairs"
	quoted  = `write jsonschema:"minimum=3"`
)

// Flaws lists the mistakes of a tag. It reads pairs as [reflect.StructTag.Lookup] does.
func Flaws(tag string) (list []Flaw) {
	seen := make([]string, 0, 4)
	for at := 0; ; {
		at += len(tag[at:]) - len(strings.TrimLeft(tag[at:], " "))
		if at == len(tag) {
			return list
		}
		rest := tag[at:]
		n := strings.IndexFunc(rest, endsKey)
		switch {
		case at > 0 && strings.ContainsRune(",;\t\r\n", rune(rest[0])):
			message := fmt.Sprintf("the struct tag has %q between two pairs", rest[:1])
			return append(list, Flaw{at, message, noSpace, rest})
		case n > 0 && rest[n] == ':' && !strings.HasPrefix(rest[n+1:], `"`):
			value := strings.TrimLeft(rest[n+1:], " ")
			value, _, _ = strings.Cut(value, " ")
			message := "the value of the tag key " + rest[:n] + " has no double quotes"
			cure := fmt.Sprintf("write %s:%q", rest[:n], strings.Trim(value, "\"'`"))
			return append(list, Flaw{at, message, cure, rest})
		case n <= 0 || rest[n] != ':' || strings.ContainsAny(rest[:n], noKey):
			word := strings.Fields(rest + " .")[0]
			if i := strings.IndexByte(word, '"'); i > 0 {
				word = word[:i]
			}
			message := fmt.Sprintf("the struct tag is not a list of pairs from %q on", word)
			return append(list, Flaw{at, message, onePair, rest})
		}
		key, value := rest[:n], closed(rest[n+1:])
		if value == "" {
			message := "the value of the tag key " + key + " has no closing quote"
			return append(list, Flaw{at, message, quoted, rest})
		}
		pair := rest[:n+1+len(value)]
		if _, err := strconv.Unquote(value); err != nil {
			message, cure := "the value of the tag key "+key+" is not a Go string", quoted
			if escape := badEscape(value); escape != "" {
				message, cure = message+": it has "+escape, `write \`+escape
			}
			list = append(list, Flaw{at + n + 1, message, cure, pair})
		}
		switch near := nearKey(key); {
		case near != key && near != "":
			shown := strings.Trim(strconv.QuoteToASCII(key), `"`)
			message := "the struct tag has the key " + shown + ", which no package reads"
			list = append(list, Flaw{at, message, "write " + near, near + pair[n:]})
		case near == key && slices.Contains(seen, key):
			message := "the struct tag has the key " + key + " twice, and Go reads only the first"
			list = append(list, Flaw{at, message, "write one", pair})
		}
		seen = append(seen, key)
		at += len(pair)
		if at < len(tag) && !strings.ContainsRune(" ,;\t\r\n", rune(tag[at])) {
			message := "the struct tag has no space between two pairs"
			list = append(list, Flaw{at, message, noSpace, ""})
		}
	}
}

// noKey are characters that no library has in a key. A key with one of them is a mistake.
const noKey = ",;=&|'`(){}[]<>\\"

func endsKey(c rune) bool { return c <= ' ' || c == ':' || c == '"' || c == 0x7f }

// closed is the quoted text at the start of s, or empty if its quote is not closed.
func closed(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1]
		}
	}
	return ""
}

// badEscape is the first escape of a quoted text that Go does not have, or empty.
func badEscape(text string) string {
	for text = text[1 : len(text)-1]; text != ""; {
		_, _, rest, err := strconv.UnquoteChar(text, '"')
		if err != nil {
			if text[0] == '\\' {
				return text[:2]
			}
			return ""
		}
		text = rest
	}
	return ""
}

// tagKeys are the keys that encoding/json and package schema read.
var tagKeys = []string{"json", "jsonschema", "jsonschema_description", "jsonschema_extras"}

// nearKey is the key of tagKeys that a key is, or is but for its writing or a slip. It is empty for
// the keys of others, such as bson, jsonb and jsonapi.
func nearKey(key string) string {
	if slices.Contains(tagKeys, key) {
		return key
	}
	plain := strings.NewReplacer("_", "", "-", "").Replace
	fold := plain(strings.ToLower(key))
	best, distance := "", 3
	for _, known := range tagKeys[1:] {
		if d := editdistance.Between(fold, plain(known)); d < distance {
			best, distance = known, d
		}
	}
	switch {
	case best != "":
		return best
	case strings.HasPrefix(fold, "jsonschema"):
		return "jsonschema"
	case slices.Contains(jsonSlips, fold):
		return "json"
	}
	return ""
}

// jsonSlips are the word json itself, with a letter left out or doubled, and with two swapped.
var jsonSlips = []string{
	"json", "jso", "jsn", "jon", "jjson", "jsson", "jsoon", "jsonn", "sjon", "josn", "jsno",
}
