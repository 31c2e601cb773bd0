package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
)

const (
	minText = 4 // bytes of the shortest of Masker.Texts that counts
	minCut  = 8 // bytes of one at the end of a text that was cut
	// headText are so many bytes of a text that each of its forms has minCut bytes of them, whole
	// characters included.
	headText = 12
)

// form is one way in which an encoder writes a text.
type form int

// The forms of a text. The base64 forms are the characters that the text alone decides, if so many
// bytes come before it in a group of three: RFC 4648, sections 4 and 5.
const (
	plain form = iota
	asJSON
	asOtherJSON // without the escapes for HTML
	asGo
	asQuery
	asPath
	asLowerQuery // with escapes in lower case
	asLowerPath
	asLowerHex
	asUpperHex
	asBase64
	asBase64After1
	asBase64After2
	asURLBase64
	asURLBase64After1
	asURLBase64After2
	lastForm = asURLBase64After2
)

// The characters that JSON and Go leave as they are, those that URLs leave as they are (RFC 3986,
// section 2.3), and those that [url.PathEscape] leaves as they are.
var (
	quotable = set(func(c byte) bool {
		return ' ' <= c && c < 0x7f && strings.IndexByte("\"\\<>&", c) < 0
	})
	unreserved = set(func(c byte) bool { return letter[c] || c == '.' || c == '~' })
	pathSafe   = set(func(c byte) bool {
		return unreserved[c] || strings.IndexByte("$&+=:@", c) >= 0
	})
)

// base64Letters are the characters of both alphabets of base64.
var base64Letters = set(func(c byte) bool { return letter[c] || c == '+' || c == '/' })

// places returns the occurrences of a text in s, in all its forms. Its time does not depend on the
// length of a text that is not in s: only the beginnings of the forms are searched then.
func places(s, text string) (found []span) {
	if len(text) < minText {
		return nil
	}
	head := text[:min(len(text), headText)]
	asIs := plain // the last of the first forms that begin as the plain text does
	if runEnd(head, 0, &unreserved) == len(head) {
		asIs = asLowerPath
	} else if runEnd(head, 0, &quotable) == len(head) {
		asIs = asGo
	}
	var buffer [96]byte
	begins := false
	for f := plain; f <= lastForm; f++ {
		if f == plain || f > asIs {
			begin := f.append(buffer[:0], head)
			begins = strings.Contains(s, string(begin[:min(len(begin), minCut)]))
		}
		if begins {
			found = f.places(found, s, string(f.append(nil, text)), text)
		}
	}
	return found
}

// places adds the occurrences of a form of a text in s, and one at the end of s that was cut.
func (f form) places(found []span, s, whole, text string) []span {
	from := 0
	for {
		i := strings.Index(s[from:], whole)
		if i < 0 {
			break
		}
		begin := from + i
		from = begin + len(whole)
		found = append(found, f.widen(s, text, span{begin, from, Mask}))
	}
	if len(whole) <= minCut {
		return found
	}
	for i := max(from, len(s)-len(whole)+1); i <= len(s)-minCut; i++ {
		next := strings.Index(s[i:], whole[:minCut])
		if next < 0 {
			break
		}
		if i += next; strings.HasPrefix(whole, s[i:]) {
			return append(found, f.widen(s, text, span{i, len(s), Mask}))
		}
	}
	return found
}

// lead returns the number of bytes before the text in its group of three, for a form in base64.
func (f form) lead() int { return int(f-asBase64) % 3 }

// widen adds the characters of base64 that have bits of the text and of its neighbours.
func (f form) widen(s, text string, at span) span {
	if f < asBase64 {
		return at
	}
	if f.lead() > 0 && at.from > 0 && base64Letters[s[at.from-1]] {
		at.from--
	}
	if (f.lead()+len(text))%3 > 0 && at.to < len(s) && base64Letters[s[at.to]] {
		at.to++
	}
	return at
}

// append appends a text in a form.
func (f form) append(b []byte, text string) []byte {
	switch f {
	case asJSON, asOtherJSON:
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(f == asJSON)
		_ = encoder.Encode(text) // a string
		return append(b, out.Bytes()[1:out.Len()-2]...)
	case asGo:
		quoted := strconv.Quote(text)
		return append(b, quoted[1:len(quoted)-1]...)
	case asQuery, asLowerQuery:
		return appendURL(b, f == asLowerQuery, &unreserved, text)
	case asPath, asLowerPath:
		return appendURL(b, f == asLowerPath, &pathSafe, text)
	case asLowerHex, asUpperHex:
		for i := range len(text) {
			b = appendHex(b, f == asLowerHex, text[i])
		}
		return b
	case asBase64, asBase64After1, asBase64After2:
		return appendBase64(b, base64.RawStdEncoding, f.lead(), text)
	case asURLBase64, asURLBase64After1, asURLBase64After2:
		return appendBase64(b, base64.RawURLEncoding, f.lead(), text)
	}
	return append(b, text...)
}

// appendURL appends a text as [url.QueryEscape] and [url.PathEscape] escape it.
func appendURL(b []byte, lower bool, keeps *[256]bool, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case keeps[c]:
			b = append(b, c)
		case c == ' ' && !keeps['+']: // in a query
			b = append(b, '+')
		default:
			b = appendHex(append(b, '%'), lower, c)
		}
	}
	return b
}

func appendHex(b []byte, lower bool, c byte) []byte {
	digits := "0123456789ABCDEF"
	if lower {
		digits = "0123456789abcdef"
	}
	return append(b, digits[c>>4], digits[c&0xf])
}

// appendBase64 appends the characters that encode a text alone, behind lead bytes of others.
func appendBase64(b []byte, alphabet *base64.Encoding, lead int, text string) []byte {
	const bits = 6 // of one character
	group := append(make([]byte, lead, 64), text...)
	done := len(b)
	b = alphabet.AppendEncode(b, group)
	return append(b[:done], b[done+(lead*8+bits-1)/bits:done+len(group)*8/bits]...)
}
