package identity

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Value is what a source gives the handlers of one message, such as a credential for calls to
// another service. Handlers read it with runtime.CallerValue until the message has its answer.
//
// Its content is never formatted, marshalled or logged: all of these show a mask. It is in no audit
// event, span or isolated process. The server's log and errors mask its secrets as well.
type Value struct {
	opaque
	open func() (content any, secrets []string) // a closure, which no printer can look into
}

// NewValue returns a value with a content of any type, which handlers have to name. secrets are the
// texts in it that logs and errors have to mask. A content that is a [Token], a string or a []byte
// is such a text itself.
func NewValue(content any, secrets ...string) Value {
	secrets = slices.Clone(secrets)
	switch c := content.(type) {
	case Token:
		secrets = append(secrets, c.Reveal())
	case string:
		secrets = append(secrets, c)
	case []byte:
		secrets = append(secrets, string(c))
	}
	return Value{open: func() (any, []string) { return content, secrets }}
}

// IsZero reports whether there is no value.
func (v Value) IsZero() bool { return v.open == nil }

// Content returns the content, nil for no value. It is for sources that wrap another one.
func (v Value) Content() any {
	if v.open == nil {
		return nil
	}
	content, _ := v.open()
	return content
}

// Secrets returns the texts that logs and errors have to mask.
func (v Value) Secrets() []string {
	if v.open == nil {
		return nil
	}
	_, secrets := v.open()
	return slices.Clone(secrets)
}

// Token is a bearer token. Formatted, marshalled or logged, it shows a mask: Reveal returns the
// text.
type Token struct {
	opaque
	text func() string
}

// NewToken returns a token.
func NewToken(text string) Token { return Token{text: func() string { return text }} }

// Reveal returns the text of the token, "" for the zero Token.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return t.text()
}

// opaque shows a mask, however it is printed.
type opaque struct{}

func (opaque) String() string                 { return redact.Mask }
func (opaque) GoString() string               { return redact.Mask }
func (opaque) Format(f fmt.State, _ rune)     { _, _ = io.WriteString(f, redact.Mask) }
func (opaque) MarshalText() ([]byte, error)   { return []byte(redact.Mask), nil }
func (opaque) MarshalJSON() ([]byte, error)   { return json.Marshal(redact.Mask) }
func (opaque) MarshalBinary() ([]byte, error) { return []byte(redact.Mask), nil }
func (opaque) LogValue() slog.Value           { return slog.StringValue(redact.Mask) }
